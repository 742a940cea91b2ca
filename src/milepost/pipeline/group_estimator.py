"""What the estimators for scikit-learn share: public inputs, fits that are counted, and labels in order."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from milepost._typing import AnyArray, IntArray
from milepost._validation import unmask
from milepost.answers.comparison import labels_at
from milepost.errors import MilepostError, warn
from milepost.mechanisms.base import Label
from milepost.privacy.guarantee import Guarantee
from milepost.spaces.base import Space

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
    from sklearn.utils import column_or_1d
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as reason:
    raise ImportError("milepost.sklearn needs scikit-learn 1.6 or later: pip install 'milepost[sklearn]'") from reason

__all__ = ["ClassifierMixin", "GroupEstimator", "TransformerMixin", "check_is_fitted", "sorted_labels"]


class GroupEstimator(BaseEstimator):  # type: ignore[misc]
    """A private estimator over groups of rows. Every fit spends (epsilon, delta), and says so from the second one on.

    A subclass has the parameters `space`, `epsilon` and `delta`, and sets `_fitted`, its release, when it is fitted.
    """

    _fitted: Any

    space: Space | None
    epsilon: float
    delta: float
    spent_: list[Guarantee]
    n_features_in_: int
    feature_names_in_: AnyArray

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "spent_")

    def _required_space(self) -> Space:
        """Return the space; refuse if it is missing, because it may not be derived from the rows."""
        if self.space is None:
            raise MilepostError(
                f"{type(self).__name__} needs space=: public bounds and a distance, such as mp.L1([(0, 10), (0, 10)]). "
                "Do not derive bounds from X, which would reveal rows: mp.find_bounds finds bounds privately."
            )
        return self.space

    def _required_labels(self, labels: Sequence[Label] | None, name: str) -> Sequence[Label]:
        """Return public labels; refuse if they are missing, because they may not be derived from the rows."""
        if labels is None:
            raise MilepostError(
                f"{type(self).__name__} needs {name}=[…], the public list of {name}. Do not derive it from y, which "
                "would reveal rows."
            )
        return labels

    def _private_rows(self, X: Any, *y: Any) -> Any:  # noqa: N803
        """Return the groups of rows, if they are given; refuse rows and groups that do not fit each other."""
        _check_array(X)
        validate_data(self, X, *y, skip_check_array=True)
        return column_or_1d(unmask(*y), warn=True) if y else None

    def _next_guarantee(self) -> Guarantee:
        """Return the guarantee of the next fit; warn if this estimator was fitted before."""
        guarantee = Guarantee(self.epsilon, self.delta)
        spent = [*getattr(self, "spent_", []), guarantee]
        if len(spent) > 1:
            warn(
                f"this estimator was fitted before, and another fit spends again: {_total(spent)} in total for a row "
                f"that is in all fits. To reuse a fit, call save(path) and {type(self).__name__}.load(path)."
            )
        return guarantee

    def _count_fit(self, guarantee: Guarantee) -> None:
        """Add the guarantee of a fit to those that were spent."""
        self.spent_ = [*getattr(self, "spent_", []), guarantee]

    def _check_rows(self, X: Any) -> None:  # noqa: N803
        """Refuse to go on if the estimator is not fitted, or X has other columns than in `fit`."""
        check_is_fitted(self)
        _check_array(X)
        validate_data(self, X, reset=False, skip_check_array=True)

    def _set_columns(self, space: Space) -> None:
        """Set the columns that `fit` would have seen, for an estimator that was read from a file."""
        if space.columns is not None:
            self.feature_names_in_ = np.array(space.columns, dtype=object)
        if not space.objects or space.columns is not None:
            self.n_features_in_ = space.width

    def save(self, path: str | Path) -> None:
        """Write the fitted estimator as one safetensors file, which holds released and public numbers only.

        Parameters
        ----------
        path : str or pathlib.Path
            The file, which is replaced if it exists. It appears complete or not at all.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the estimator is not fitted.
        MilepostError
            If the file cannot be written.

        Examples
        --------
        >>> import tempfile
        >>> import milepost as mp
        >>> model = mp.sklearn.NearestGroup(mp.L1([(0, 10)]), epsilon=1, classes=["low", "high"])
        >>> path = f"{tempfile.mkdtemp()}/model.milepost"
        >>> model.fit([[1.0], [9.0]] * 5000, ["low", "high"] * 5000).save(path)
        >>> mp.sklearn.NearestGroup.load(path).rule
        'means'
        """
        check_is_fitted(self)
        self._fitted.save(path)

    def __getstate__(self) -> dict[str, Any]:
        if hasattr(self, "spent_"):
            name = type(self).__name__
            raise MilepostError(
                f"a fitted {name} cannot be pickled or copied. Save it with save(path) and read it with "
                f"{name}.load(path); sklearn.base.clone returns an estimator that is not fitted."
            )
        state: dict[str, Any] = super().__getstate__()
        return state


def sorted_labels(labels: tuple[Label, ...]) -> tuple[AnyArray, IntArray]:
    """Return labels sorted, as scikit-learn does, if they are comparable; and the index of each in the given order."""
    comparable = len({type(label) for label in labels}) == 1
    order = sorted(range(len(labels)), key=lambda k: labels[k]) if comparable else list(range(len(labels)))
    indices = np.array(order, dtype=np.int64)
    return labels_at(labels, indices), indices


def _check_array(X: Any) -> None:  # noqa: N803
    """Refuse arrays that are no tables of numbers, in the words of scikit-learn."""
    if scipy.sparse.issparse(X):
        raise MilepostError("Sparse data is not supported: give rows as a dense array, such as X.toarray().")
    if not isinstance(X, np.ndarray) or X.dtype == object:
        return
    if np.iscomplexobj(X):
        raise MilepostError("Complex data not supported: give rows of real numbers.")
    if X.ndim == 1:
        raise MilepostError(
            "Expected 2D array, got 1D array instead. Reshape your data: X.reshape(-1, 1) for one column, "
            "X.reshape(1, -1) for one row."
        )
    if X.ndim == 2 and X.shape[1] == 0:
        raise MilepostError(f"Found array with 0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")


def _total(guarantees: Sequence[Guarantee]) -> str:
    """Return the sum of guarantees as text: the guarantee for a row that is in all of the fits."""
    epsilon = sum(guarantee.epsilon for guarantee in guarantees)
    delta = sum(guarantee.delta for guarantee in guarantees)
    return f"ε = {epsilon:g}" + (f", δ = {delta:g}" if delta else "")

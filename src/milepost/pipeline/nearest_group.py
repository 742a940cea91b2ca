"""A private scikit-learn classifier, `NearestGroup`: it predicts the class whose people are nearest on average."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from milepost._typing import AnyArray, FloatArray
from milepost._validation import unmask
from milepost.answers.comparison import labels_at, nearest_groups, nearest_probabilities
from milepost.errors import MilepostError, warn
from milepost.mechanisms.base import Label
from milepost.pipeline.release import release
from milepost.privacy.guarantee import Guarantee
from milepost.spaces.base import Space
from milepost.synopsis.serialization import load
from milepost.synopsis.synopsis import Synopsis

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils import column_or_1d
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as reason:
    raise ImportError("NearestGroup needs scikit-learn 1.6 or later: pip install 'milepost[sklearn]'") from reason


class NearestGroup(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A private classifier: it predicts the class with the smallest mean distance.

    Every `fit` is (epsilon, delta)-differentially private for one row, its point and its class, under the change that
    `neighbors` names. `predict` and `predict_proba` read the released synopsis only, and cost nothing.

    Another `fit` spends again. So does every fold of a cross-validation and every setting of a search; they fit
    clones, which do not know of each other. With k folds, a row is in k − 1 of the fits. Scores on private rows are not
    private.

    Parameters
    ----------
    space : Space
        The public space of the rows. It is required, and must not be derived from `X`, which would reveal rows of the
        table.
    epsilon : float, default 1
        The privacy parameter ε of every fit.
    delta : float, default 0
        The privacy parameter δ of every fit.
    classes : sequence of labels
        The public list of classes. It is required, and must not be derived from `y`. Rows of other classes belong to
        the class "other" if the list has it; otherwise they are left out.
    mechanism : str, default "auto"
        The mechanism of the release.
    neighbors : {"replace", "add-remove"}
        The change of the table that the guarantee protects.
    n : int, optional
        A public guess of the number of rows, as for `milepost.release`.
    failure_probability : float, default 0.05
        The probability that the errors do not hold, as for `milepost.release`.

    Attributes
    ----------
    classes_ : ndarray
        The classes, sorted if they are comparable.
    synopsis_ : Synopsis
        The release.
    spent_ : list of Guarantee
        The guarantee of every fit so far.
    n_features_in_ : int
        The number of columns of `X`.
    feature_names_in_ : ndarray
        The names of the columns, if `X` was a frame.

    Examples
    --------
    >>> import milepost as mp
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 10_000)
    >>> X = rng.normal(3 + 4 * y[:, None], 1, size=(10_000, 2))
    >>> model = mp.sklearn.NearestGroup(mp.L1([(0, 10), (0, 10)]), epsilon=1, classes=[0, 1]).fit(X, y)
    >>> model.predict([[2, 3], [8, 6]]).tolist()
    [0, 1]
    """

    classes_: AnyArray
    synopsis_: Synopsis
    spent_: list[Guarantee]
    n_features_in_: int
    feature_names_in_: AnyArray

    def __init__(
        self,
        space: Space | None = None,
        *,
        epsilon: float = 1.0,
        delta: float = 0.0,
        classes: Sequence[Label] | None = None,
        mechanism: str = "auto",
        neighbors: str = "replace",
        n: int | None = None,
        failure_probability: float = 0.05,
    ) -> None:
        self.space = space
        self.epsilon = epsilon
        self.delta = delta
        self.classes = classes
        self.mechanism = mechanism
        self.neighbors = neighbors
        self.n = n
        self.failure_probability = failure_probability

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803
        """Release the mean distances to every class; spend (epsilon, delta).

        Parameters
        ----------
        X : table
            The private rows, one a person, as `milepost.release` takes them.
        y : array-like
            The classes of the rows.

        Returns
        -------
        NearestGroup
            The fitted estimator.

        Raises
        ------
        MilepostError
            If `space` or `classes` is missing, or for any reason for which `milepost.release` refuses.

        Examples
        --------
        >>> import milepost as mp
        >>> model = mp.sklearn.NearestGroup(mp.L1([(0, 10)]), epsilon=1, classes=["low", "high"])
        >>> model.fit([[1.0], [9.0]] * 5000, ["low", "high"] * 5000).classes_.tolist()
        ['high', 'low']
        """
        space, classes = self._public_inputs()
        validate_data(self, X, y, skip_check_array=True)
        y = column_or_1d(unmask(y), warn=True)
        spent: list[Guarantee] = [*getattr(self, "spent_", []), Guarantee(self.epsilon, self.delta)]
        if len(spent) > 1:
            warn(
                f"this estimator was fitted before, and another fit spends again: {_total(spent)} in total for a row "
                "that is in all fits. To reuse a fit, call synopsis_.save(path) and NearestGroup.load(path)."
            )
        synopsis = release(
            X,
            space,
            epsilon=self.epsilon,
            delta=self.delta,
            mechanism=self.mechanism,
            neighbors=self.neighbors,
            groups=y,
            labels=classes,
            n=self.n,
            failure_probability=self.failure_probability,
        )
        return self._set_fitted(synopsis, [*spent[:-1], synopsis.guarantee])  # as the mechanism has spent it

    def predict(self, X: Any) -> AnyArray:  # noqa: N803
        """Return the nearest class of each row; this costs no privacy.

        Parameters
        ----------
        X : table
            The rows to classify, with the columns of `fit`.

        Returns
        -------
        ndarray
            One class a row.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the estimator is not fitted.
        MilepostError
            If the rows are not points of the space.

        Examples
        --------
        >>> import milepost as mp
        >>> model = mp.sklearn.NearestGroup(mp.L1([(0, 10)]), epsilon=1, classes=["low", "high"])
        >>> model.fit([[1.0], [9.0]] * 5000, ["low", "high"] * 5000).predict([[2.0], [7.0]]).tolist()
        ['low', 'high']
        """
        return nearest_groups(self._fitted_synopsis(X), X)[0]

    def predict_proba(self, X: Any) -> FloatArray:  # noqa: N803
        """Return the probability that each of `classes_` is the nearest, given the noise of the release.

        This is not the probability that a row belongs to a class: if the noise is small, the nearest class has a
        probability of 1, whether the prediction is right or wrong. The true distances are modeled as independent normal
        variables around the released distances, with the errors of the release. If a class with an uncertain distance
        would be likelier than the nearest class, the two share their probability, so that the class of `predict` always
        has the largest one. A class that is too small to differ from an empty class has probability 0.

        Parameters
        ----------
        X : table
            The rows to classify, with the columns of `fit`.

        Returns
        -------
        ndarray of shape (rows, classes)
            The probabilities, in the order of `classes_`.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the estimator is not fitted.
        MilepostError
            If the rows are not points of the space.

        Examples
        --------
        >>> import milepost as mp
        >>> model = mp.sklearn.NearestGroup(mp.L1([(0, 10)]), epsilon=1, classes=["low", "high"])
        >>> model = model.fit([[1.0], [9.0]] * 5000, ["low", "high"] * 5000)
        >>> model.predict_proba([[2.0]]).round(3).tolist()
        [[0.0, 1.0]]
        """
        probabilities = nearest_probabilities(self._fitted_synopsis(X), X)
        result: FloatArray = probabilities[:, self._order]
        return result

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Return a fitted estimator from the file of a release with groups.

        Parameters
        ----------
        path : str or Path
            A file that `synopsis_.save` or `Synopsis.save` wrote.

        Returns
        -------
        NearestGroup
            The fitted estimator.

        Raises
        ------
        MilepostError
            If the file is not a synopsis, or its release has no groups.

        Examples
        --------
        >>> import tempfile
        >>> import milepost as mp
        >>> model = mp.sklearn.NearestGroup(mp.L1([(0, 10)]), epsilon=1, classes=["low", "high"])
        >>> model = model.fit([[1.0], [9.0]] * 5000, ["low", "high"] * 5000)
        >>> path = f"{tempfile.mkdtemp()}/model.milepost"
        >>> model.synopsis_.save(path)
        >>> mp.sklearn.NearestGroup.load(path).predict([[2.0]]).tolist()
        ['low']
        """
        synopsis = load(path)
        labels, space = synopsis.groups.labels, synopsis.space
        result = cls(
            space,
            epsilon=synopsis.guarantee.epsilon,
            delta=synopsis.guarantee.delta,
            classes=list(labels),
            mechanism=synopsis.mechanism,
            neighbors=synopsis.change.neighbors,
        )
        if space.columns is not None:
            result.feature_names_in_ = np.array(space.columns, dtype=object)
        if not space.objects or space.columns is not None:
            result.n_features_in_ = space.width
        return result._set_fitted(synopsis, [synopsis.guarantee])

    def __getstate__(self) -> dict[str, Any]:
        if hasattr(self, "synopsis_"):
            raise MilepostError(
                "a fitted NearestGroup cannot be pickled or copied. Save its release with synopsis_.save(path) and "
                "read it with NearestGroup.load(path); sklearn.base.clone returns an estimator that is not fitted."
            )
        state: dict[str, Any] = super().__getstate__()
        return state

    def _public_inputs(self) -> tuple[Space, Sequence[Label]]:
        """Return the space and the classes; refuse if one is missing, because neither may be derived from the rows."""
        if self.space is None:
            raise MilepostError(
                "NearestGroup needs space=: public bounds and a distance, such as mp.L1([(0, 10), (0, 10)]). Do not "
                "derive bounds from X, which would reveal rows: mp.find_bounds finds bounds privately."
            )
        if self.classes is None:
            raise MilepostError(
                "NearestGroup needs classes=[…], the public list of classes. Do not derive it from y, which would "
                "reveal rows."
            )
        return self.space, self.classes

    def _set_fitted(self, synopsis: Synopsis, spent: list[Guarantee]) -> Self:
        """Set the attributes of a fitted estimator; sort its classes, as scikit-learn does, if they are comparable."""
        labels = synopsis.labels
        comparable = len({type(label) for label in labels}) == 1
        order = sorted(range(len(labels)), key=lambda k: labels[k]) if comparable else list(range(len(labels)))
        self._order = np.array(order)
        self.classes_ = labels_at(labels, self._order)
        self.synopsis_, self.spent_ = synopsis, spent
        return self

    def _fitted_synopsis(self, X: Any) -> Synopsis:  # noqa: N803
        """Return the synopsis; refuse if the estimator is not fitted, or X has other columns than in `fit`."""
        check_is_fitted(self, "synopsis_")
        validate_data(self, X, reset=False, skip_check_array=True)
        return self.synopsis_


def _total(guarantees: Sequence[Guarantee]) -> str:
    """Return the sum of guarantees as text: the guarantee for a row that is in all of the fits."""
    epsilon = sum(guarantee.epsilon for guarantee in guarantees)
    delta = sum(guarantee.delta for guarantee in guarantees)
    return f"ε = {epsilon:g}" + (f", δ = {delta:g}" if delta else "")

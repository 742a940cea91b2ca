"""A private scikit-learn classifier, `NearestGroup`: the class whose people are nearest on average."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from milepost._typing import AnyArray, FloatArray
from milepost._validation import unmask
from milepost.answers.comparison import labels_at, nearest_groups, nearest_probabilities
from milepost.errors import MilepostError, warn
from milepost.mechanisms.groups import Label
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
    """A classifier that takes the class with the smallest mean distance; `fit` releases the distances once.

    space, classes: public, and required. Neither may be read off X and y, which would reveal who is in the table. Rows
    of other classes belong to "other" if that is one of `classes`, else they are left out.
    epsilon, delta, mechanism, neighbors, n, failure_probability: as for `milepost.release`.

    Guarantee: every `fit` is (epsilon, delta)-differentially private for one row, point and class, changed as
    `neighbors` says. `predict` and `predict_proba` read the released synopsis only, and are free. Another `fit` spends
    again. So does every fold of a cross-validation and every setting of a search, on clones that do not know of each
    other: with k folds a row is in k − 1 of the fits. Scores on private rows are not private themselves.

    After `fit`: `classes_`, sorted; `synopsis_`; `spent_`, the guarantee of every fit so far; `n_features_in_` and, of
    a frame, `feature_names_in_`.

    >>> import milepost as mp
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 10_000)
    >>> X = rng.normal(3 + 4 * y[:, None], 1, size=(10_000, 2))
    >>> model = NearestGroup(mp.L1([(0, 10), (0, 10)]), epsilon=1, classes=[0, 1]).fit(X, y)
    >>> model.predict([[2, 3], [8, 6]]).tolist()
    [0, 1]
    """

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
        """Release the mean distances to every class; spends (epsilon, delta).

        X: a table as `milepost.release` takes it, one row a person. y: their classes.
        """
        space, classes = self._public_inputs()
        validate_data(self, X, y, skip_check_array=True)
        y = column_or_1d(unmask(y), warn=True)
        spent: list[Guarantee] = [*getattr(self, "spent_", []), Guarantee(self.epsilon, self.delta)]
        if len(spent) > 1:
            warn(
                f"this estimator was fitted before, and another fit spends again: {_total(spent)} in all for a row "
                "that all of its fits have seen; synopsis_.save(path) and NearestGroup.load(path) keep a fit for later"
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
        return self._set_fitted(synopsis, spent)

    def predict(self, X: Any) -> AnyArray:  # noqa: N803
        """Return the nearest class of each row."""
        return nearest_groups(self._fitted_synopsis(X), X)[0]

    def predict_proba(self, X: Any) -> FloatArray:  # noqa: N803
        """Return how likely each of `classes_` is the nearest, given the noise of the release.

        Not how likely a row belongs to a class: where the noise is small, the nearest class has a probability of 1,
        right or wrong. True distances are taken to lie around the released ones as their errors say, normally and
        independently. Where a class of uncertain distance would be likelier than the nearest one, the two share their
        probability, so that the largest is always that of `predict`. Classes too small to differ from empty ones have
        none.
        """
        probabilities = nearest_probabilities(self._fitted_synopsis(X), X)
        result: FloatArray = probabilities[:, self._order]
        return result

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Return a fitted estimator from a grouped synopsis that `synopsis_.save` or `Synopsis.save` wrote."""
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
                "a fitted NearestGroup is not pickled or copied: write what it released with "
                "estimator.synopsis_.save(path), a file that may be published, and read it with "
                "NearestGroup.load(path); sklearn.base.clone gives an unfitted one"
            )
        state: dict[str, Any] = super().__getstate__()
        return state

    def _public_inputs(self) -> tuple[Space, Sequence[Label]]:
        """Return the space and the classes, which must be given without a look at the rows."""
        if self.space is None:
            raise MilepostError(
                "NearestGroup needs a space: public bounds and a distance, such as mp.L1([(0, 10), (0, 10)]); bounds "
                "read off X would tell who is in it, and mp.find_bounds finds some privately"
            )
        if self.classes is None:
            raise MilepostError(
                "NearestGroup needs classes=[…], the public list of classes; classes found in y would tell who is in it"
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
        """Return the synopsis; refuse an unfitted estimator and columns of X that are not those of `fit`."""
        check_is_fitted(self, "synopsis_")
        validate_data(self, X, reset=False, skip_check_array=True)
        synopsis: Synopsis = self.synopsis_
        return synopsis


def _total(guarantees: Sequence[Guarantee]) -> str:
    """Return the sum of guarantees, as text: what they are together for a row that is in all of them."""
    epsilon = sum(guarantee.epsilon for guarantee in guarantees)
    delta = sum(guarantee.delta for guarantee in guarantees)
    return f"ε = {epsilon:g}" + (f", δ = {delta:g}" if delta else "")

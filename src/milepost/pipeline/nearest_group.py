"""A private scikit-learn classifier, `NearestGroup`: it predicts the class whose people are nearest."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np

from milepost._typing import AnyArray, BoolArray, FloatArray
from milepost._validation import did_you_mean
from milepost.answers.comparison import group_distances, labels_at, nearest_probabilities
from milepost.errors import MilepostError
from milepost.mechanisms.base import Label
from milepost.pipeline.class_means import release_class_means
from milepost.pipeline.group_estimator import ClassifierMixin, GroupEstimator, sorted_labels
from milepost.pipeline.release import release
from milepost.privacy.guarantee import Guarantee
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.base import Space
from milepost.storage.paths import local_path
from milepost.synopsis import file_format
from milepost.synopsis.class_means import CLASS_MEANS, ClassMeansRelease
from milepost.synopsis.serialization import load
from milepost.synopsis.synopsis import Synopsis


class FittedRule(Protocol):
    """What a rule has released, and what it says about points; no private data."""

    @property
    def space(self) -> Space:
        """The public space."""

    @property
    def labels(self) -> tuple[Label, ...]:
        """The labels of the classes."""

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of the release."""

    @property
    def change(self) -> ProtectedChange:
        """The change that the guarantee protects."""

    @property
    def synopsis(self) -> Synopsis | None:
        """The release, if it is a synopsis."""

    def scores(self, points: Any) -> tuple[FloatArray, BoolArray]:
        """Return how far points are from classes, float64[n, classes], and which classes may be predicted."""

    def probabilities(self, points: Any) -> FloatArray:
        """Return the probability that each class is the nearest, float64[n, classes]."""

    def save(self, path: str | Path) -> None:
        """Write the release to a file."""


@dataclass(frozen=True)
class DistanceRelease:
    """Mean distances to classes, as a synopsis has them."""

    synopsis: Synopsis

    @property
    def space(self) -> Space:
        """The public space."""
        return self.synopsis.space

    @property
    def labels(self) -> tuple[Label, ...]:
        """The labels of the classes; refuse a release without groups."""
        return self.synopsis.groups.labels

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of the release, as the mechanism has spent it."""
        return self.synopsis.guarantee

    @property
    def change(self) -> ProtectedChange:
        """The change that the guarantee protects."""
        return self.synopsis.change

    def scores(self, points: Any) -> tuple[FloatArray, BoolArray]:
        """Return the mean distances of points to classes, and which classes may be predicted."""
        return group_distances(self.synopsis, points)

    def probabilities(self, points: Any) -> FloatArray:
        """Return the probability that each class is the nearest, over the noise."""
        return nearest_probabilities(self.synopsis, points)

    def save(self, path: str | Path) -> None:
        """Write the synopsis to a file."""
        self.synopsis.save(path)


def fit_means(
    model: "NearestGroup", rows: Any, classes: Any, space: Space, labels: Sequence[Label], guarantee: Guarantee
) -> FittedRule:
    """Release noisy means of every class."""
    if model.mechanism != "auto":
        raise MilepostError(
            f'mechanism= is for rule="distance", and rule="means" has a mechanism of its own, got {model.mechanism!r}. '
            "Leave out mechanism=."
        )
    return release_class_means(rows, space, guarantee, model.neighbors, classes, labels, model.n)


def fit_distance(
    model: "NearestGroup", rows: Any, classes: Any, space: Space, labels: Sequence[Label], guarantee: Guarantee
) -> FittedRule:
    """Release the mean distances to every class."""
    return DistanceRelease(
        release(
            rows,
            space,
            epsilon=guarantee.epsilon,
            delta=guarantee.delta,
            mechanism=model.mechanism,
            neighbors=model.neighbors,
            groups=classes,
            labels=labels,
            n=model.n,
            failure_probability=model.failure_probability,
        )
    )


RULES: dict[str, Callable[..., FittedRule]] = {"means": fit_means, "distance": fit_distance}


class NearestGroup(ClassifierMixin, GroupEstimator):  # type: ignore[misc]
    """A private classifier: it predicts the nearest class.

    Every `fit` is (epsilon, delta)-differentially private for one row, its point and its class, under the change that
    `neighbors` names. What is predicted afterwards reads released numbers only, and costs nothing.

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
    rule : {"means", "distance"}
        What the nearest class is. "means": the class with the nearest noisy mean, in a space whose points are vectors;
        it is far more accurate if rows are few or ε is small. "distance": the class with the smallest mean distance,
        in any space; `synopsis_` then answers other questions, too.
    mechanism : str, default "auto"
        The mechanism of the release, for the rule "distance".
    neighbors : {"replace", "add-remove"}
        The change of the table that the guarantee protects.
    n : int, optional
        A public guess of the number of rows, as for `milepost.release`.
    failure_probability : float, default 0.05
        The probability that the errors of `synopsis_` do not hold, as for `milepost.release`.

    Attributes
    ----------
    classes_ : ndarray
        The classes, sorted if they are comparable.
    synopsis_ : Synopsis
        The release of the rule "distance"; another rule has none.
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

    def __init__(
        self,
        space: Space | None = None,
        *,
        epsilon: float = 1.0,
        delta: float = 0.0,
        classes: Sequence[Label] | None = None,
        rule: str = "means",
        mechanism: str = "auto",
        neighbors: str = "replace",
        n: int | None = None,
        failure_probability: float = 0.05,
    ) -> None:
        self.space = space
        self.epsilon = epsilon
        self.delta = delta
        self.classes = classes
        self.rule = rule
        self.mechanism = mechanism
        self.neighbors = neighbors
        self.n = n
        self.failure_probability = failure_probability

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803
        """Release what the rule needs to know of every class; spend (epsilon, delta).

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
            If `space` or `classes` is missing, the points of the space are not vectors and the rule needs them, or for
            any reason for which `milepost.release` refuses.

        Examples
        --------
        >>> import milepost as mp
        >>> model = mp.sklearn.NearestGroup(mp.L1([(0, 10)]), epsilon=1, classes=["low", "high"])
        >>> model.fit([[1.0], [9.0]] * 5000, ["low", "high"] * 5000).classes_.tolist()
        ['high', 'low']
        """
        space, labels = self._required_space(), self._required_labels(self.classes, "classes")
        if self.rule not in RULES:
            hint = did_you_mean(str(self.rule), RULES)
            raise MilepostError(f"rule= must be one of {', '.join(RULES)}, got {self.rule!r}{hint}")
        classes = self._private_rows(X, y)
        fitted = RULES[self.rule](self, X, classes, space, labels, self._next_guarantee())
        return self._set_fitted(fitted)

    def predict(self, X: Any) -> AnyArray:  # noqa: N803
        """Return the nearest class of each row; this costs no privacy.

        A class that is too small to differ from an empty class is not predicted, unless all classes are.

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
        scores = self._scores(X)
        return labels_at(self._fitted.labels, self._order[scores.argmin(axis=1)])

    def decision_function(self, X: Any) -> FloatArray:  # noqa: N803
        """Return how near each class is; larger is nearer.

        For the rule "means", this is the expected squared distance to the class mean, times −1; for the rule
        "distance", the mean distance, times −1. A class that is not predicted has −∞.

        Parameters
        ----------
        X : table
            The rows to classify, with the columns of `fit`.

        Returns
        -------
        ndarray of shape (rows, classes), or (rows,)
            The scores, in the order of `classes_`. For two classes, by how much the second is nearer than the first.

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
        >>> (model.decision_function([[2.0], [7.0]]) > 0).tolist()
        [True, False]
        """
        scores = -self._scores(X)
        return np.asarray(scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores)

    def predict_proba(self, X: Any) -> FloatArray:  # noqa: N803
        """Return the probability that each of `classes_` is the nearest, given the noise of the release.

        This is not the probability that a row belongs to a class: if the noise is small, the nearest class has a
        probability of 1, whether the prediction is right or wrong. Distances to classes are modeled as independent
        normal variables. For the rule "means", they are the squared distances to class means, about which the noise
        leaves a normal law around the released ones; for the rule "distance", the released distances, with the errors
        of the release. If a class with an uncertain distance would be likelier than the nearest class, the two share
        their probability, so that the class of `predict` always has the largest one. A class that is not predicted has
        probability 0.

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
        self._check_rows(X)
        return np.asarray(self._fitted.probabilities(X)[:, self._order])

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Return a fitted estimator from its file, or from the file of a release with groups.

        Parameters
        ----------
        path : str or Path
            A file that `save` or `Synopsis.save` wrote.

        Returns
        -------
        NearestGroup
            The fitted estimator.

        Raises
        ------
        MilepostError
            If the file is damaged, or its release has no groups.

        Examples
        --------
        >>> import tempfile
        >>> import milepost as mp
        >>> model = mp.sklearn.NearestGroup(mp.L1([(0, 10)]), epsilon=1, classes=["low", "high"])
        >>> path = f"{tempfile.mkdtemp()}/model.milepost"
        >>> model.fit([[1.0], [9.0]] * 5000, ["low", "high"] * 5000).save(path)
        >>> mp.sklearn.NearestGroup.load(path).predict([[2.0]]).tolist()
        ['low']
        """
        card, tensors = file_format.read(local_path(path, "Download the file first."))
        fitted: FittedRule
        if card.get("contents") == CLASS_MEANS:
            fitted, rule, mechanism = ClassMeansRelease.load(path, card, tensors), "means", "auto"
        else:
            synopsis = load(path)
            fitted, rule, mechanism = DistanceRelease(synopsis), "distance", synopsis.mechanism
        guarantee = fitted.guarantee
        result = cls(
            fitted.space,
            epsilon=guarantee.epsilon,
            delta=guarantee.delta,
            classes=list(fitted.labels),
            rule=rule,
            mechanism=mechanism,
            neighbors=fitted.change.neighbors,
        )
        result._set_columns(fitted.space)
        return result._set_fitted(fitted)

    def _set_fitted(self, fitted: FittedRule) -> Self:
        """Set the attributes of a fitted estimator."""
        self.classes_, self._order = sorted_labels(fitted.labels)
        self._fitted = fitted
        if hasattr(self, "synopsis_"):  # of an earlier fit, with another rule
            del self.synopsis_
        if fitted.synopsis is not None:
            self.synopsis_ = fitted.synopsis
        self._count_fit(fitted.guarantee)
        return self

    def _scores(self, X: Any) -> FloatArray:  # noqa: N803
        """Return how far rows are from classes, in the order of `classes_`: ∞ for a class that is not predicted."""
        self._check_rows(X)
        scores, eligible = self._fitted.scores(X)
        return np.asarray(np.where(eligible, scores, np.inf)[:, self._order])

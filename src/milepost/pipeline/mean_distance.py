"""A private scikit-learn transformer, `MeanDistance`: mean distances to groups of people as features."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from milepost._typing import AnyArray, FloatArray
from milepost.answers.comparison import group_distances
from milepost.errors import MilepostError
from milepost.mechanisms.base import Label
from milepost.pipeline.group_estimator import GroupEstimator, TransformerMixin, check_is_fitted, sorted_labels
from milepost.pipeline.release import release
from milepost.spaces.base import Space
from milepost.synopsis.serialization import load
from milepost.synopsis.synopsis import Synopsis

FEATURE = "mean_distance"


class MeanDistance(TransformerMixin, GroupEstimator):  # type: ignore[misc]
    """A private transformer: the mean distance of a row to each group of people is a feature.

    Every `fit` is (epsilon, delta)-differentially private for one row, its point and its group, under the change that
    `neighbors` names. `transform` reads the released synopsis only, and costs nothing. A later step of a pipeline that
    is fitted on the same private rows is not covered: fit it on public rows, or use `NearestGroup`.

    Parameters
    ----------
    space : Space
        The public space of the rows. It is required, and must not be derived from `X`, which would reveal rows of the
        table.
    epsilon : float, default 1
        The privacy parameter ε of every fit.
    delta : float, default 0
        The privacy parameter δ of every fit.
    groups : sequence of labels, optional
        The public list of groups that `y` names, which must not be derived from `y`. Rows of other groups belong to
        the group "other" if the list has it; otherwise they are left out. Without it, all rows are one group.
    mechanism : str, default "auto"
        The mechanism of the release.
    neighbors : {"replace", "add-remove"}
        The change of the table that the guarantee protects.
    n : int, optional
        A public guess of the number of rows, as for `milepost.release`.
    failure_probability : float, default 0.05
        The probability that the errors of `synopsis_` do not hold, as for `milepost.release`.

    Attributes
    ----------
    groups_ : ndarray
        The groups, sorted if they are comparable; empty without groups.
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
    >>> features = mp.sklearn.MeanDistance(mp.L1([(0, 10)]), epsilon=100, groups=["low", "high"])
    >>> features.fit([[1.0], [9.0]] * 5000, ["low", "high"] * 5000).transform([[2.0]]).round(1).tolist()
    [[7.0, 1.0]]
    """

    groups_: AnyArray
    synopsis_: Synopsis

    def __init__(
        self,
        space: Space | None = None,
        *,
        epsilon: float = 1.0,
        delta: float = 0.0,
        groups: Sequence[Label] | None = None,
        mechanism: str = "auto",
        neighbors: str = "replace",
        n: int | None = None,
        failure_probability: float = 0.05,
    ) -> None:
        self.space = space
        self.epsilon = epsilon
        self.delta = delta
        self.groups = groups
        self.mechanism = mechanism
        self.neighbors = neighbors
        self.n = n
        self.failure_probability = failure_probability

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803
        """Release the mean distances to every group; spend (epsilon, delta).

        Parameters
        ----------
        X : table
            The private rows, one a person, as `milepost.release` takes them.
        y : array-like, optional
            The groups of the rows; None for one group, of all rows.

        Returns
        -------
        MeanDistance
            The fitted transformer.

        Raises
        ------
        MilepostError
            If `space` is missing, only one of `groups` and `y` is given, or for any reason for which `milepost.release`
            refuses.

        Examples
        --------
        >>> import milepost as mp
        >>> features = mp.sklearn.MeanDistance(mp.L1([(0, 10)]), epsilon=1)
        >>> features.fit([[1.0], [9.0]] * 5000).get_feature_names_out().tolist()
        ['mean_distance']
        """
        space, options = self._required_space(), {}
        if y is None:
            if self.groups is not None:
                raise MilepostError("MeanDistance has groups=, and no y says which row is in which group. Give y.")
            self._private_rows(X)
        else:
            labels = self._required_labels(self.groups, "groups")
            options = {"groups": self._private_rows(X, y), "labels": labels}
        guarantee = self._next_guarantee()
        synopsis = release(
            X,
            space,
            epsilon=guarantee.epsilon,
            delta=guarantee.delta,
            mechanism=self.mechanism,
            neighbors=self.neighbors,
            n=self.n,
            failure_probability=self.failure_probability,
            **options,
        )
        return self._set_fitted(synopsis)

    def transform(self, X: Any) -> FloatArray:  # noqa: N803
        """Return the mean distances of rows to every group; this costs no privacy.

        Parameters
        ----------
        X : table
            The rows, with the columns of `fit`.

        Returns
        -------
        ndarray of shape (rows, groups)
            The mean distances, in the order of `groups_`; one column without groups.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the transformer is not fitted.
        MilepostError
            If the rows are not points of the space.

        Examples
        --------
        >>> import milepost as mp
        >>> features = mp.sklearn.MeanDistance(mp.L1([(0, 10)]), epsilon=100).fit([[1.0], [9.0]] * 5000)
        >>> features.transform([[5.0], [9.0]]).round(1).tolist()
        [[4.0], [4.0]]
        """
        self._check_rows(X)
        if not self.synopsis_.labels:
            return np.asarray(self.synopsis_.mean_distance(X), dtype=np.float64).reshape(-1, 1)
        distances, _ = group_distances(self.synopsis_, X)
        return np.asarray(distances[:, self._order])

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:  # noqa: ARG002
        """Return the names of the features: one for each group.

        Parameters
        ----------
        input_features : array-like of str, optional
            The names of the columns of `X`, which are not used.

        Returns
        -------
        ndarray of str
            ``mean_distance_`` and the label of each group, in the order of `groups_`; ``mean_distance`` without groups.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the transformer is not fitted.

        Examples
        --------
        >>> import milepost as mp
        >>> features = mp.sklearn.MeanDistance(mp.L1([(0, 10)]), epsilon=1, groups=["low", "high"])
        >>> features.fit([[1.0], [9.0]] * 5000, ["low", "high"] * 5000).get_feature_names_out().tolist()
        ['mean_distance_high', 'mean_distance_low']
        """
        check_is_fitted(self)
        names = [f"{FEATURE}_{label}" for label in self.groups_.tolist()] or [FEATURE]
        return np.array(names, dtype=object)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Return a fitted transformer from its file, or from the file of any release.

        Parameters
        ----------
        path : str or Path
            A file that `save` or `Synopsis.save` wrote.

        Returns
        -------
        MeanDistance
            The fitted transformer.

        Raises
        ------
        MilepostError
            If the file is not a synopsis.

        Examples
        --------
        >>> import tempfile
        >>> import milepost as mp
        >>> path = f"{tempfile.mkdtemp()}/features.milepost"
        >>> mp.sklearn.MeanDistance(mp.L1([(0, 10)]), epsilon=100).fit([[1.0], [9.0]] * 5000).save(path)
        >>> mp.sklearn.MeanDistance.load(path).transform([[5.0]]).round(1).tolist()
        [[4.0]]
        """
        synopsis = load(path)
        result = cls(
            synopsis.space,
            epsilon=synopsis.guarantee.epsilon,
            delta=synopsis.guarantee.delta,
            groups=list(synopsis.labels) or None,
            mechanism=synopsis.mechanism,
            neighbors=synopsis.change.neighbors,
        )
        result._set_columns(synopsis.space)
        return result._set_fitted(synopsis)

    def _set_fitted(self, synopsis: Synopsis) -> Self:
        """Set the attributes of a fitted transformer."""
        self.groups_, self._order = sorted_labels(synopsis.labels)
        self.synopsis_ = self._fitted = synopsis
        self._count_fit(synopsis.guarantee)
        return self

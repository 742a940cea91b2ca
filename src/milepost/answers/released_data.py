"""The content of one release, and the values and half-widths that follow from it."""

from dataclasses import dataclass, replace
from functools import cache
from importlib import metadata
from typing import Any, Self

import numpy as np

from milepost._typing import AnyArray
from milepost.answers.evaluation import Answers, evaluate, values_and_widths
from milepost.errors import MilepostError
from milepost.ingest.dataframes import FrameTemplate, shape_answers
from milepost.ingest.query_points import query_points
from milepost.mechanisms.base import CoordinateStatistic, Label, NoisyStatistic
from milepost.mechanisms.registry import coordinate_names
from milepost.mechanisms.table_model import TableModel
from milepost.privacy.guarantee import Guarantee
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.base import Space
from milepost.spaces.queries import Queries

FORMAT = 4  # of the card and the file


@dataclass(frozen=True, eq=False, repr=False)
class ReleasedData:
    """A release without its reports and its file, which the public class `Synopsis` adds."""

    space: Space
    statistic: NoisyStatistic
    guarantee: Guarantee
    change: ProtectedChange
    n: int  # rows, or weight in steps; a noisy number unless `change.public_total`
    queries: Queries | None = None  # the only points it answers, if they were given

    @property
    def mechanism(self) -> str:
        """Return the name of the mechanism that made the release."""
        return self.statistic.mechanism

    @property
    def labels(self) -> tuple[Label, ...]:
        """Return the labels of the groups; empty for a release without groups."""
        return self.statistic.labels

    @property
    def model(self) -> TableModel | None:
        """Return the private model of the table that answers use; None if the release has none."""
        return self.statistic.model

    @property
    def given_queries(self) -> AnyArray | None:
        """Return the only points it answers, as the space reads them; None if it answers any point.

        Weighted distances among the given queries are none of them.
        """
        return self.space.given_queries if self.queries is None else self.queries.single_points

    @property
    def confidence(self) -> float:
        """Return the confidence of reported errors: 0.95, or less for a failure probability above 5 %."""
        return min(0.95, self.statistic.confidence)

    @property
    def card(self) -> dict[str, Any]:
        """Return everything public about the release, as the file stores it.

        The card has n only if n is exact, so that its length does not depend on noise.
        """
        return {
            "format": FORMAT,
            "space": self.space.to_json(),
            "outside": self.space.clipping_rule,
            "guarantee": self.guarantee.to_json(),
            "change": self.change.to_json(),
            "n": self.n if self.change.public_total else None,
            "labels": list(self.labels),
            "mechanism": self.mechanism,
            "parameters": self.statistic.parameters(),
            "queries": None if self.queries is None else self.queries.to_json(),
            "versions": dict(_versions()),
        }

    def group(self, label: Any) -> Self:
        """Return the release of one group.

        Parameters
        ----------
        label : str, int or bool
            The label of the group.

        Returns
        -------
        Synopsis
            It answers about this group only. Its guarantee is that of all groups together.

        Raises
        ------
        MilepostError
            If the release has no groups, or no group of this label.

        Examples
        --------
        >>> import milepost as mp
        >>> people, sides = [[2.0], [8.0]] * 5000, ["low", "high"] * 5000
        >>> synopsis = mp.release(people, mp.L1({"age": (0, 10)}), epsilon=100, groups=sides, labels=["low", "high"])
        >>> abs(synopsis.group("low").mean_distance([3]) - 1) < 0.1
        True
        """
        statistic = self.statistic.group(label)
        return replace(self, statistic=statistic, n=statistic.total.size)

    def mean_distance(self, points: Any, *, group: Any = None, raw: bool = False) -> Any:
        """Return the average distance from each point to the people in the table; see `Synopsis.mean_distance`."""
        if group is not None:
            return self.group(group).mean_distance(points, raw=raw)
        batch, single, template = query_points(points, self.space)
        (values,) = evaluate(self, batch, lambda positions: (self.statistic.values(positions, raw),))
        return shape_answers(values, single, template, "mean_distance")

    def interval(
        self, points: Any, confidence: float = 0.95, *, group: Any = None, raw: bool = False
    ) -> tuple[Any, Any]:
        """Return the low and the high end of the interval of each answer.

        Parameters
        ----------
        points : point, array, list or frame
            As for `mean_distance`.
        confidence : float, default 0.95
            The probability that the interval of one answer holds the exact mean distance.
        group : label, optional
            Answer about this group only, in a release with groups.
        raw : bool, default False
            Return intervals around the estimates without post-processing.

        Returns
        -------
        low, high : float, numpy.ndarray or Series
            Two floats for one point; two Series of the frame's library, with its index, for a frame; else two arrays.
            The intervals include the bias of the mechanism. Low ends are at least 0.

        Raises
        ------
        MilepostError
            If the confidence is not between 0 and 1, or larger than the release allows.

        Examples
        --------
        >>> import milepost as mp
        >>> synopsis = mp.release([[2.0], [8.0]] * 5000, mp.L1({"age": (0, 10)}), epsilon=100)
        >>> low, high = synopsis.interval([2])
        >>> low <= synopsis.mean_distance([2]) <= high
        True
        >>> low, high = synopsis.interval([[2], [5]], confidence=0.99)
        >>> low.shape, high.shape
        ((2,), (2,))
        """
        if group is not None:
            return self.group(group).interval(points, confidence, raw=raw)
        batch, single, template = query_points(points, self.space)

        def ends(positions: AnyArray) -> Answers:
            values, widths = values_and_widths(self.statistic, positions, confidence, raw)
            return np.maximum(values - widths, 0), values + widths

        low, high = evaluate(self, batch, ends)
        return shape_answers(low, single, template, "low"), shape_answers(high, single, template, "high")

    def error(self, confidence: float = 0.95, uniform: bool = False, *, group: Any = None) -> float:
        """Return the half-width of the interval of one answer, or of all answers at once.

        Parameters
        ----------
        confidence : float, default 0.95
            The probability that the exact mean distance is within the half-width.
        uniform : bool, default False
            Return a half-width that holds for all answers at once.
        group : label, optional
            Return the half-width of this group; by default the largest of all groups.

        Returns
        -------
        float
            The half-width, in the unit of distances, with the bias of the mechanism.

        Examples
        --------
        >>> import milepost as mp
        >>> synopsis = mp.release([[2.0], [8.0]] * 5000, mp.L1({"age": (0, 10)}), epsilon=100)
        >>> synopsis.error() <= synopsis.error(uniform=True) < 0.1
        True
        """
        if group is not None:
            return self.group(group).error(confidence, uniform)
        return min(self.statistic.half_width(confidence, uniform), self.statistic.max_error)

    def center(self) -> Any:
        """Return the point with the smallest mean distance.

        Returns
        -------
        numpy.ndarray or object
            A point of the space; one of the given queries if the release has some.

        Examples
        --------
        >>> import milepost as mp
        >>> people = [[1.0], [4.0], [9.0]] * 5000
        >>> synopsis = mp.release(people, mp.L1({"age": (0, 10)}), epsilon=100)
        >>> abs(float(synopsis.center()[0]) - 4) < 0.5
        True
        """
        if self.given_queries is not None:
            if not len(self.given_queries):
                raise MilepostError("this release answers weighted distances only, and no point that could be a center")
            return self.space.user_point(
                self.given_queries[int(np.argmin(self.statistic.values(self.positions(self.given_queries))))]
            )
        if self.space.embedding_columns is not None and isinstance(self.statistic, CoordinateStatistic):
            # a sum over columns is smallest where each part is
            return self.space.user_point(self.space.point(self.coordinates.lowest_position()[None])[0])
        start = self.space.center
        steps = np.geomspace(0.25, 1e-4, 24) * self.space.diameter
        for step in steps.tolist():  # F is convex: search around the best point at shorter and shorter distances
            around = self.space.clip_points(np.vstack([start, self.space.points_around(start, step)]))
            start = around[int(np.argmin(self.statistic.values(self.positions(around))))]
        return start

    def read_points(self, points: Any) -> tuple[AnyArray, bool, FrameTemplate | None]:
        """Return positions of points as users write them, whether it was a single point, and the frame template."""
        batch, single, template = query_points(points, self.space)
        return self.positions(self.space.read_queries(batch)), single, template

    def positions(self, points: AnyArray) -> AnyArray:
        """Return embedding positions of points as the space reads them, or their indices among the given queries."""
        if self.queries is not None:
            return self.queries.find(self.space.clip_points(points))
        return self.statistic.positions(self.space, points)

    @property
    def groups(self) -> NoisyStatistic:
        """Return the statistic, which has one of each group; refuse a release without groups."""
        if not self.labels:
            raise MilepostError("this release has no groups; make one with groups='column' and labels=[…]")
        return self.statistic

    @property
    def coordinates(self) -> CoordinateStatistic:
        """Return the statistic; refuse one that does not estimate functions of embedding coordinates."""
        self.statistic.check_ungrouped()
        if not isinstance(self.statistic, CoordinateStatistic):
            raise MilepostError(
                f"a {self.mechanism} release knows no functions of single columns, which this answer needs; release "
                f"with one of {', '.join(coordinate_names())}"
            )
        return self.statistic


@cache
def _versions() -> tuple[tuple[str, str], ...]:
    """Return the versions of the software; cached, since the lookup takes milliseconds."""
    return tuple((name, metadata.version(name)) for name in ("milepost", "opendp", "numpy"))

"""The content of one release, and the values and half-widths that follow from it."""

from dataclasses import dataclass, replace
from functools import cache
from importlib import metadata
from typing import Any, Self

import numpy as np

from milepost._typing import AnyArray
from milepost.errors import MilepostError
from milepost.ingest.dataframes import FrameTemplate, shape_answers
from milepost.ingest.query_points import query_points
from milepost.mechanisms.base import CoordinateStatistic, Label, NoisyStatistic
from milepost.mechanisms.registry import coordinate_names
from milepost.privacy.guarantee import Guarantee
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.base import Space
from milepost.spaces.queries import Queries

FORMAT = 3  # of the card and the file


@dataclass(frozen=True, eq=False, repr=False)
class ReleasedData:
    """A release without its reports and its file, which the public class `Synopsis` adds.

    `guarantee` bounds what it reveals about the table for one change as in `change`, for any number of queries.
    """

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
    def given_queries(self) -> AnyArray | None:
        """Return the only points it answers, as the space reads them; None if it answers any point."""
        return self.space.given_queries if self.queries is None else self.queries.points

    @property
    def confidence(self) -> float:
        """Return 0.95, or less when the release was made with a failure probability above 5 %."""
        return min(0.95, self.statistic.confidence)

    @property
    def card(self) -> dict[str, Any]:
        """Return everything public about the release, as the file stores it.

        It has n only where n is exact, so that the length of the card does not depend on noise.
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
        """Return the release of one group; its guarantee is that of all groups together."""
        statistic = self.statistic.group(label)
        return replace(self, statistic=statistic, n=statistic.total.size)

    def mean_distance(self, points: Any, *, group: Any = None, raw: bool = False) -> Any:
        """Return the average distance from each point to the people in the table; see `Synopsis.mean_distance`."""
        if group is not None:
            return self.group(group).mean_distance(points, raw=raw)
        positions, single, template = self.read_points(points)
        return shape_answers(self.statistic.values(positions, raw), single, template, "mean_distance")

    def interval(self, points: Any, confidence: float = 0.95, *, group: Any = None, raw: bool = False) -> Any:
        """Return the low and high end of each answer, bias included.

        The result is a pair for one point; a frame with the columns "low" and "high" and the same index for a frame
        of points; else float64[k, 2].
        """
        if group is not None:
            return self.group(group).interval(points, confidence, raw=raw)
        positions, single, template = self.read_points(points)
        values, widths = self.statistic.values(positions, raw), self.statistic.half_widths(positions, confidence)
        widths = widths if raw else np.minimum(widths, self.statistic.max_error)
        bounds = np.column_stack([np.maximum(values - widths, 0), values + widths])
        if single:
            return float(bounds[0, 0]), float(bounds[0, 1])
        return bounds if template is None else template.frame({"low": bounds[:, 0], "high": bounds[:, 1]})

    def error(self, confidence: float = 0.95, uniform: bool = False, *, group: Any = None) -> float:
        """Return the half-width of one answer at this confidence, bias included; with uniform=True, of all at once.

        For a release with groups it is the largest of the groups' half-widths, unless a group is named.
        """
        if group is not None:
            return self.group(group).error(confidence, uniform)
        return min(self.statistic.half_width(confidence, uniform), self.statistic.max_error)

    def center(self) -> Any:
        """Return the point with the smallest average distance, float64[columns]; one of the queries if given."""
        if self.given_queries is not None:
            return self.space.user_point(
                self.given_queries[int(np.argmin(self.statistic.values(self.positions(self.given_queries))))]
            )
        if self.space.embedding_columns is not None:  # a sum over columns is smallest where each part is
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
        return (
            self.space.position(points) if self.queries is None else self.queries.find(self.space.clip_points(points))
        )

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
                f"a {self.mechanism} release knows distances to its queries only: this answer needs more; release "
                f"with one of {', '.join(coordinate_names())}"
            )
        return self.statistic


@cache
def _versions() -> tuple[tuple[str, str], ...]:
    """Return the versions a release is made with; cached, since the lookup takes milliseconds."""
    return tuple((name, metadata.version(name)) for name in ("milepost", "opendp", "numpy"))

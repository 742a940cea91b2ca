"""ReleasedData: what one release holds, and the values and half-widths that follow from it."""

from dataclasses import dataclass, replace
from functools import cache
from importlib import metadata
from typing import Any, Self

import numpy as np

from milepost._typing import AnyArray
from milepost.errors import MilepostError
from milepost.ingest.dataframes import Likeness, shaped
from milepost.ingest.query_points import query_points
from milepost.mechanisms.base import Answerer, HostAnswerer
from milepost.mechanisms.groups import Groups, Label
from milepost.mechanisms.registry import ANSWERERS
from milepost.privacy.guarantee import Guarantee
from milepost.privacy.protected_change import Change
from milepost.spaces.base import Space
from milepost.spaces.queries import Queries

FORMAT = 2  # of the card and the file


@dataclass(frozen=True, eq=False, repr=False)
class ReleasedData:
    """A release without its reports and its file: `Synopsis`, which users see, adds these.

    What it reveals about the table is bounded by `guarantee` for one change as in `change`, whoever asks what.
    """

    space: Space
    answerer: Answerer
    guarantee: Guarantee
    change: Change
    n: int  # rows, or weight in steps; a noisy number unless `change.public_total`
    queries: Queries | None = None  # the only points it answers, where these were given

    @property
    def mechanism(self) -> str:
        """The name of the mechanism that made it."""
        return self.answerer.mechanism

    @property
    def labels(self) -> tuple[Label, ...]:
        """The groups of a release that has some."""
        return self.answerer.labels if isinstance(self.answerer, Groups) else ()

    @property
    def known(self) -> AnyArray | None:
        """The only points it answers, as the space reads them; None for any."""
        return self.space.known if self.queries is None else self.queries.points

    @property
    def confidence(self) -> float:
        """0.95, or less when the release was made with a beta that does not promise as much."""
        return min(0.95, self.answerer.confidence)

    @property
    def card(self) -> dict[str, Any]:
        """All that is public about the release, as the file stores it.

        n only where it is exact, so that no number's length depends on noise.
        """
        return {
            "format": FORMAT,
            "space": self.space.to_json(),
            "outside": self.space.outside,
            "guarantee": self.guarantee.to_json(),
            "change": self.change.to_json(),
            "n": self.n if self.change.public_total else None,
            "labels": list(self.labels),
            "mechanism": self.mechanism,
            "parameters": self.answerer.parameters(),
            "queries": None if self.queries is None else self.queries.to_json(),
            "versions": dict(_versions()),
        }

    def group(self, label: Any) -> Self:
        """The release of one group alone; the guarantee is that of all groups together."""
        answerer = self.grouped.of(label)
        return replace(self, answerer=answerer, n=answerer.total.size)

    def mean_distance(self, points: Any, *, group: Any = None, raw: bool = False) -> Any:
        """Return the average distance from each point to the people in the table; see `Synopsis.mean_distance`."""
        if group is not None:
            return self.group(group).mean_distance(points, raw=raw)
        places, single, like = self.read(points)
        return shaped(self.answerer.values(places, raw), single, like, "mean_distance")

    def interval(self, points: Any, confidence: float = 0.95, *, group: Any = None, raw: bool = False) -> Any:
        """Low and high end of each answer, bias included.

        A pair for one point; a frame with the columns "low" and "high" where the points come in a frame, with its
        index; else float64[k, 2].
        """
        if group is not None:
            return self.group(group).interval(points, confidence, raw=raw)
        places, single, like = self.read(points)
        values, widths = self.answerer.values(places, raw), self.answerer.half_widths(places, confidence)
        widths = widths if raw else np.minimum(widths, self.answerer.most)
        ends = np.column_stack([np.maximum(values - widths, 0), values + widths])
        if single:
            return float(ends[0, 0]), float(ends[0, 1])
        return ends if like is None else like.frame({"low": ends[:, 0], "high": ends[:, 1]})

    def error(self, confidence: float = 0.95, uniform: bool = False, *, group: Any = None) -> float:
        """The half-width of one answer at this confidence, bias included; of all answers at once with uniform=True.

        Of a release with groups, that of the group with the largest, unless one is named.
        """
        if group is not None:
            return self.group(group).error(confidence, uniform)
        return min(self.answerer.half_width(confidence, uniform), self.answerer.most)

    def center(self) -> Any:
        """The point with the least average distance, float64[columns]; one of the queries where these are given."""
        if self.known is not None:
            return self.space.written(self.known[int(np.argmin(self.answerer.values(self.places(self.known))))])
        if self.space.host_columns is not None:  # a sum over columns is least where each part is
            lowest = np.array([polygon.lowest() for polygon in self.hosted.polygons()])
            for block in self.space.hosts.simplex:  # the commonest label
                shares = [polygon.heights[0] for polygon in self.hosted.polygons()[block]]
                lowest[block] = np.arange(len(shares)) == np.argmax(shares)
            return self.space.written(self.space.point(lowest[None])[0])
        start = self.space.center
        steps = np.geomspace(0.25, 1e-4, 24) * self.space.diameter
        for step in steps.tolist():  # F is convex: look around at ever shorter distances
            around = self.space.inside(np.vstack([start, self.space.around(start, step)]))
            start = around[int(np.argmin(self.answerer.values(self.places(around))))]
        return start

    def read(self, points: Any) -> tuple[AnyArray, bool, Likeness | None]:
        """Places of points as users write them, whether it was one single point, and their frame's likeness."""
        batch, single, like = query_points(points, self.space)
        return self.places(self.space.read_queries(batch)), single, like

    def places(self, points: AnyArray) -> AnyArray:
        """Host positions of points as the space reads them, or their numbers among the given queries."""
        return self.space.place(points) if self.queries is None else self.queries.find(self.space.inside(points))

    @property
    def grouped(self) -> Groups:
        """The answerers of all groups, of a release that has some."""
        if not isinstance(self.answerer, Groups):
            raise MilepostError("this release has no groups; make one with groups='column' and labels=[…]")
        return self.answerer

    @property
    def hosted(self) -> HostAnswerer:
        """The answerer, where it estimates functions of host coordinates."""
        if isinstance(self.answerer, Groups):
            self.answerer.refuse()
        if not isinstance(self.answerer, HostAnswerer):
            raise MilepostError(
                f"a {self.mechanism} release knows distances to its queries only: this answer needs more; release "
                f"with one of {', '.join(ANSWERERS)}"
            )
        return self.answerer


@cache
def _versions() -> tuple[tuple[str, str], ...]:
    """What a release is made with; to look it up takes milliseconds."""
    return tuple((name, metadata.version(name)) for name in ("milepost", "opendp", "numpy"))

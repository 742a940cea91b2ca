"""Candidate points ranked by mean distance, and which are farther than the best beyond the noise."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Any

import numpy as np
from rich.box import SIMPLE
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from milepost.answers import geojson
from milepost.answers.released_data import ReleasedData
from milepost.answers.text import point_text, with_unit
from milepost.errors import MilepostError
from milepost.ingest.query_points import named_queries
from milepost.spaces.base import Space


@dataclass(frozen=True)
class Site:
    """One candidate.

    rank: 1 for the smallest mean distance. point: as users write it. error: half-width of this answer alone.
    beyond_noise: whether it is farther than the first: their intervals, which hold for all sites jointly, are disjoint.
    """

    rank: int
    name: str
    point: Any
    mean_distance: float
    error: float
    beyond_noise: bool


@dataclass(frozen=True)
class Sites:
    """Sites, the nearest first; print them for a table.

    confidence: the confidence of each error, and of all comparisons together.
    """

    space: Space
    ranked: tuple[Site, ...]
    confidence: float

    def __iter__(self) -> Iterator[Site]:
        return iter(self.ranked)

    def __len__(self) -> int:
        return len(self.ranked)

    def __getitem__(self, position: int) -> Site:
        return self.ranked[position]

    def geojson(self) -> dict[str, Any]:
        """Return a FeatureCollection with a Point for each site."""
        geojson.check(self.space)
        fields = ("rank", "name", "mean_distance", "error", "beyond_noise")
        return geojson.collection(
            geojson.point(
                site.point,
                self.space.geographic,
                {field: getattr(site, field) for field in fields} | {"distance_unit": self.space.distance_unit},
            )
            for site in self
        )

    def table(self) -> Table:
        """Return the sites as a rich table."""
        table = Table(box=SIMPLE)
        for name in (
            "rank",
            "site",
            with_unit("mean distance", self.space.distance_unit),
            "± error",
            "farther than the first",
        ):
            table.add_column(name, justify="left" if name == "site" else "right")
        for site in self:
            verdict = "" if site.rank == 1 else "yes" if site.beyond_noise else "too close to call"
            table.add_row(str(site.rank), escape(site.name), f"{site.mean_distance:.5g}", f"{site.error:.2g}", verdict)
        return table

    def __str__(self) -> str:
        buffer = StringIO()
        Console(file=buffer, width=120).print(self.table())
        return "\n".join(line.rstrip() for line in buffer.getvalue().splitlines())


def rank_sites(synopsis: ReleasedData, points: Any, names: Sequence[Any] | None = None) -> Sites:
    """Rank sites by their mean distances; see `Synopsis.sites`."""
    space = synopsis.space
    queries, names, template = named_queries(space, points, names, "sites")
    user_points = [_user_point(space, query) for query in queries]
    if not user_points:
        raise MilepostError("there are no sites to rank; give at least one point")
    if names is None and template is not None and template.index is not None:
        names = [str(name) for name in template.index]
    site_names = [point_text(point) for point in user_points] if names is None else names
    values = np.asarray(synopsis.mean_distance(user_points))
    errors = synopsis.interval(user_points, synopsis.confidence)[:, 1] - values
    # joint confidence: each interval fails with an equal share, or the uniform error covers all answers
    each_confidence = 1 - (1 - synopsis.confidence) / len(user_points)
    if each_confidence <= synopsis.statistic.confidence:
        joint = synopsis.interval(user_points, each_confidence)[:, 1] - values
    else:
        joint = np.full(len(user_points), synopsis.error(synopsis.confidence, uniform=True))
    order = np.argsort(values, kind="stable").tolist()
    beyond = values - joint > values[order[0]] + joint[order[0]]
    ranked = tuple(
        Site(rank, site_names[i], user_points[i], float(values[i]), float(errors[i]), bool(beyond[i]))
        for rank, i in enumerate(order, start=1)
    )
    return Sites(space, ranked, synopsis.confidence)


def _user_point(space: Space, query: Any) -> Any:
    """Return a point as users write it, with a row of numbers as a tuple."""
    result = space.user_point(query)
    return tuple(result.tolist()) if isinstance(result, np.ndarray) else result

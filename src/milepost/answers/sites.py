"""Sites: candidate points, ranked by their mean distance, and which of them the noise can tell from the best."""

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

    rank: 1 for the least mean distance. point: as the space writes it. error: half-width of this answer alone.
    beyond_noise: whether it is farther than the first for sure: intervals that hold for all sites together do not meet.
    """

    rank: int
    name: str
    point: Any
    mean_distance: float
    error: float
    beyond_noise: bool


@dataclass(frozen=True)
class Sites:
    """Sites, the nearest first; print them for a table. confidence: of each error, and of all comparisons together."""

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
        """A FeatureCollection with a Point for each site."""
        geojson.check(self.space)
        words = ("rank", "name", "mean_distance", "error", "beyond_noise")
        return geojson.collection(
            geojson.point(
                site.point,
                self.space.geographic,
                {word: getattr(site, word) for word in words} | {"unit": self.space.unit},
            )
            for site in self
        )

    def table(self) -> Table:
        """The sites as a rich table."""
        table = Table(box=SIMPLE)
        for name in ("rank", "site", with_unit("mean distance", self.space.unit), "± error", "farther than the first"):
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
    """Sites in the order of their mean distances; see `Synopsis.sites`."""
    space = synopsis.space
    queries, names, like = named_queries(space, points, names, "sites")
    asked = [_written(space, query) for query in queries]
    if not asked:
        raise MilepostError("there are no sites to rank; give at least one point")
    if names is None and like is not None and like.index is not None:
        names = [str(name) for name in like.index]
    words = [point_text(point) for point in asked] if names is None else names
    values = np.asarray(synopsis.mean_distance(asked))
    errors = synopsis.interval(asked, synopsis.confidence)[:, 1] - values
    # all at once: each fails with an equal share, or the promise is about all answers anyway
    each = 1 - (1 - synopsis.confidence) / len(asked)
    if each <= synopsis.statistic.confidence:
        joint = synopsis.interval(asked, each)[:, 1] - values
    else:
        joint = np.full(len(asked), synopsis.error(synopsis.confidence, uniform=True))
    order = np.argsort(values, kind="stable").tolist()
    beyond = values - joint > values[order[0]] + joint[order[0]]
    ranked = tuple(
        Site(rank, words[i], asked[i], float(values[i]), float(errors[i]), bool(beyond[i]))
        for rank, i in enumerate(order, start=1)
    )
    return Sites(space, ranked, synopsis.confidence)


def _written(space: Space, query: Any) -> Any:
    """A point as its user writes it, rows of numbers as tuples."""
    result = space.user_point(query)
    return tuple(result.tolist()) if isinstance(result, np.ndarray) else result

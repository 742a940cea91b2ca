"""Candidate points ranked by mean distance, and which are farther than the best beyond the noise."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.box import SIMPLE
from rich.markup import escape
from rich.table import Table

from milepost._typing import AnyArray
from milepost.answers import geojson
from milepost.answers.evaluation import Answers, as_read, evaluate, values_and_widths
from milepost.answers.released_data import ReleasedData
from milepost.answers.text import point_text, table_text, with_unit
from milepost.errors import MilepostError
from milepost.ingest.query_points import named_queries
from milepost.spaces.base import Space


@dataclass(frozen=True)
class Site:
    """One candidate of a ranking.

    Attributes
    ----------
    rank : int
        1 for the smallest mean distance.
    name : str
        The name of the site.
    point : tuple or object
        The point, as users write it.
    mean_distance : float
        The mean distance of the point.
    error : float
        The half-width of this answer alone.
    beyond_noise : bool
        Whether the site is farther than the first one: their intervals, which hold for all sites jointly, are disjoint.

    Examples
    --------
    >>> import milepost as mp
    >>> synopsis = mp.release([[2.0], [8.0]] * 5000, mp.L1({"age": (0, 10)}), epsilon=100)
    >>> first, second = synopsis.sites({"inside": [5], "outside": [20]})
    >>> second.name, second.rank, second.beyond_noise
    ('outside', 2, True)
    """

    rank: int
    name: str
    point: Any
    mean_distance: float
    error: float
    beyond_noise: bool


@dataclass(frozen=True)
class Sites:
    """Candidates ranked by mean distance: a sequence of `Site`, the nearest first. Print it for a table.

    Attributes
    ----------
    space : Space
        The space of the points.
    ranking : tuple of Site
        The sites, the nearest first.
    confidence : float
        The confidence of each error, and of all comparisons together.

    Examples
    --------
    >>> import milepost as mp
    >>> people = [[2.0, 3.0], [8.0, 5.0]] * 5000
    >>> synopsis = mp.release(people, mp.L1({"x": (0, 10), "y": (0, 10)}), epsilon=100)
    >>> sites = synopsis.sites({"far": [10, 10], "near": [5, 4]})
    >>> [site.name for site in sites], len(sites), sites[1].beyond_noise
    (['near', 'far'], 2, True)
    """

    space: Space
    ranking: tuple[Site, ...]
    confidence: float

    @property
    def distance_unit(self) -> str:
        """Return the unit of distances; empty if the space has none."""
        return self.space.distance_unit

    def __iter__(self) -> Iterator[Site]:
        return iter(self.ranking)

    def __len__(self) -> int:
        return len(self.ranking)

    def __getitem__(self, position: int) -> Site:
        return self.ranking[position]

    def to_geojson(self) -> dict[str, Any]:
        """Return the sites as GeoJSON.

        Returns
        -------
        dict
            A FeatureCollection with a Point for each site.

        Raises
        ------
        MilepostError
            If points of the space are not pairs of numbers.

        Examples
        --------
        >>> import milepost as mp
        >>> people = [[45.76, 4.85], [45.78, 4.87]] * 5000
        >>> synopsis = mp.release(people, mp.GreatCircle((45.76, 4.85), radius_km=20), epsilon=100)
        >>> synopsis.sites({"station": (45.76, 4.86)}).to_geojson()["features"][0]["geometry"]
        {'type': 'Point', 'coordinates': [4.86, 45.76]}
        """
        geojson.check(self.space)
        fields = ("rank", "name", "mean_distance", "error", "beyond_noise")
        return geojson.collection(
            geojson.point(
                site.point,
                self.space.geographic,
                {field: getattr(site, field) for field in fields} | {"distance_unit": self.distance_unit},
            )
            for site in self
        )

    def __rich__(self) -> Table:
        table = Table(box=SIMPLE)
        distance = with_unit("mean distance", self.distance_unit)
        for name in ("rank", "site", distance, "± error", "farther than the first"):
            table.add_column(name, justify="left" if name == "site" else "right")
        for site in self:
            verdict = "" if site.rank == 1 else "yes" if site.beyond_noise else "too close to call"
            table.add_row(str(site.rank), escape(site.name), f"{site.mean_distance:.5g}", f"{site.error:.2g}", verdict)
        return table

    def __str__(self) -> str:
        return table_text(self, 120)


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
    # joint confidence: each interval fails with an equal share, or the uniform error covers all answers
    each_confidence = 1 - (1 - synopsis.confidence) / len(user_points)
    shared = each_confidence <= synopsis.statistic.confidence

    def answer(positions: AnyArray) -> Answers:
        values, widths = values_and_widths(synopsis.statistic, positions, synopsis.confidence)
        if not shared:
            return values, widths
        joint_widths = synopsis.statistic.half_widths(positions, each_confidence)
        return values, widths, np.minimum(joint_widths, synopsis.statistic.max_error)

    values, *widths = evaluate(synopsis, queries, answer, as_read)
    errors = values + widths[0] - values
    if shared:
        joint = values + widths[1] - values
    else:
        joint = np.full(len(values), synopsis.error(synopsis.confidence, uniform=True))
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

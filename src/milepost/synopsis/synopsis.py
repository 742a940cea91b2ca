"""Synopsis: space + answerer + card. A finite file that answers every query (the paper's offline setting)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from milepost._typing import AnyArray, FloatArray
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
from milepost.storage.paths import WRITTEN, local_path

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from milepost.comparison import Comparison
    from milepost.field import Contours, Grid
    from milepost.sites import Sites


@dataclass(frozen=True, eq=False)
class Synopsis:
    """A private release: `mean_distance` answers for any points, and asking is free.

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

    def group(self, label: Any) -> "Synopsis":
        """The synopsis of one group alone; the guarantee is that of all groups together."""
        answerer = self.grouped.of(label)
        return replace(self, answerer=answerer, n=answerer.total.size)

    def nearest(self, points: Any) -> Any:
        """The label of the group with the least mean distance from each point.

        One label for one point; a Series where the points come in a frame, as for `mean_distance`; else an array.
        """
        from milepost.comparison import nearest_groups

        return shaped(*nearest_groups(self, points), "nearest")

    def compare(self, points: Any, names: Sequence[Any] | None = None) -> "Comparison":
        """Distance and error to every group, the nearest, its margin, and how likely noise alone would change it.

        points: as for `mean_distance`, or a dict from names to points; names: what the table calls them.
        """
        from milepost.comparison import compare_groups

        return compare_groups(self, points, names)

    @property
    def known(self) -> AnyArray | None:
        """The only points it answers, as the space reads them; None for any."""
        return self.space.known if self.queries is None else self.queries.points

    def mean_distance(
        self,
        points: Any,
        *,
        group: Any = None,
        columns: Sequence[str | int] | None = None,
        raw: bool = False,
        lipschitz: bool = False,
    ) -> Any:
        """The average distance from each point to the people in the table.

        points: one point (gives a float), an array or list of points (an array), or a frame of pandas, GeoPandas or
        Polars (a Series of its library called "mean_distance", with a pandas frame's index, so that
        `frame.assign(far=synopsis.mean_distance(frame))` fits); a frame may have other columns, too.
        group: whose people, of a release with groups.
        columns: only these columns' part of the distance; points then have these columns only.
        raw: the estimate without post-processing.
        lipschitz: of a release for given queries in a metric, with the triangle inequality: answers of all queries are
        moved until no two differ by more than their points' distance. `error(uniform=True)` stays true, and where noise
        is large they are nearer on the whole; a single one's error may not hold.
        """
        if group is not None:
            return self.group(group).mean_distance(points, columns=columns, raw=raw, lipschitz=lipschitz)
        if lipschitz:
            return shaped(*self._lipschitz(points), "mean_distance")
        if columns is not None:
            from milepost.columnwise import part

            return shaped(*part(self, points, columns, raw), "mean_distance")
        places, single, like = self.read(points)
        return shaped(self.answerer.values(places, raw), single, like, "mean_distance")

    def _lipschitz(self, points: Any) -> tuple[FloatArray, bool, Likeness | None]:
        from milepost.mechanisms.query.lipschitz import lipschitz

        if self.known is None:
            raise MilepostError("lipschitz=True is for releases of given queries: this one answers any point as it is")
        batch, single, like = query_points(points, self.space)
        read = self.space.read_queries(batch)
        places = read if self.queries is None else self.queries.find(self.space.inside(read))
        values = self.answerer.values(self.places(self.known))
        moved = lipschitz(values, self.space.between(self.known, self.known), self.space.diameter)
        return moved[places], single, like

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

    @property
    def confidence(self) -> float:
        """0.95, or less when the release was made with a beta that does not promise as much."""
        return min(0.95, self.answerer.confidence)

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

    def cdf(self, column: str | int, values: Any) -> Any:
        """The share of people at or below each value of a column, from the slope of its part of the distance."""
        from milepost.columnwise import cdf

        return cdf(self, column, values)

    def quantile(self, column: str | int, q: Any) -> Any:
        """The value of a column that a share q of the people do not pass; of a column of steps, one of these."""
        from milepost.columnwise import quantile

        return quantile(self, column, q)

    def explain(self, point: Any) -> dict[str, float]:
        """Each column's share of one point's average distance; they add up to `mean_distance(point)`."""
        from milepost.columnwise import explain

        return explain(self, point)

    def grid(self, step: float | Sequence[float] | None = None) -> "Grid":
        """The field of a space with one or two numeric columns on a regular grid; NaN outside the space.

        step: between two points, in the units of the columns, for both or for each; about 100 × 100 by default.
        """
        from milepost.field import make_grid

        return make_grid(self, step)

    def contours(self, levels: int | Sequence[float] | None = None) -> "Contours":
        """Lines of equal mean distance on the default grid: (level, lines) pairs, with a `geojson()` of their own.

        levels: the distances, or about how many round ones; about 8 by default. Needs the `plots` extra.
        """
        from milepost.field import make_contours

        return make_contours(self.grid(), levels)

    def sites(self, points: Any, names: Sequence[Any] | None = None) -> "Sites":
        """Points ranked by their mean distance, and which are farther than the first beyond the noise.

        points: as for `mean_distance`, or a dict of them by name. names: one a point; by default a frame's index.
        """
        from milepost.sites import rank_sites

        return rank_sites(self, points, names)

    def plot(self, sites: Any = None, axes: "Axes | None" = None) -> "Figure":
        """A matplotlib figure: the field of two columns, the curve of one, else a bar for each column or query.

        sites: what `sites` gave, or points for it. axes: where to draw, not in a new figure. Needs the `plots` extra.
        """
        from milepost.picture import draw

        return draw(self, sites, axes)

    def _repr_html_(self) -> str:
        from milepost.card import html

        return html(self)

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

    @property
    def card(self) -> dict[str, Any]:
        """All that is public about the release, as the file stores it."""
        from milepost.synopsis.serialization import card_of

        return card_of(self)

    def statement(self) -> str:
        """One page for the people in the table: who is protected, how much, and what was treated as public."""
        from milepost.statement import statement

        return statement(self)

    def save(self, path: str | Path) -> None:
        """Write the synopsis as one safetensors file with its card; the file appears whole or not at all."""
        from milepost.synopsis.serialization import write

        write(self, local_path(path, WRITTEN))

    def __repr__(self) -> str:
        from milepost.card import size

        error = self.error(self.confidence)
        unit = f" {self.space.unit}" if self.space.unit else ""
        count = len(self.labels)
        groups = f", {count:,} group{'s' * (count > 1)}" if count else ""
        what = f"{self.space.kind}, {size(self, '=', '≈')}{groups}, {self.guarantee}, {self.mechanism}"
        return f"Synopsis({what}, ±{error:.4g}{unit})"

"""Synopsis: a release with all its questions, reports and its file (the paper's offline setting)."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from milepost._typing import FloatArray
from milepost.answers.columns import cdf, explain, part, quantile
from milepost.answers.comparison import Comparison, compare_groups, nearest_groups
from milepost.answers.grid import Contours, Grid, make_contours, make_grid
from milepost.answers.released_data import ReleasedData
from milepost.answers.sites import Sites, rank_sites
from milepost.errors import MilepostError
from milepost.ingest.dataframes import FrameTemplate, shape_answers
from milepost.ingest.query_points import query_points
from milepost.mechanisms.query.lipschitz import lipschitz
from milepost.reporting.description import size_formula
from milepost.reporting.html import html
from milepost.reporting.plotting.synopsis_plot import draw
from milepost.reporting.statement import statement
from milepost.storage.paths import WRITE_REMEDY, local_path
from milepost.synopsis import file_format

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SPACE = "space."  # before the names of a space's own tensors


class Synopsis(ReleasedData):
    """A private release: `mean_distance` answers for any points, and asking is free.

    What it reveals about the table is bounded by `guarantee` for one change as in `change`, whoever asks what.
    """

    def nearest(self, points: Any) -> Any:
        """The label of the group with the least mean distance from each point.

        One label for one point; a Series where the points come in a frame, as for `mean_distance`; else an array.
        """
        return shape_answers(*nearest_groups(self, points), "nearest")

    def compare(self, points: Any, names: Sequence[Any] | None = None) -> Comparison:
        """Distance and error to every group, the nearest, its margin, and how likely noise alone would change it.

        points: as for `mean_distance`, or a dict from names to points; names: what the table calls them.
        """
        return compare_groups(self, points, names)

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
            return shape_answers(*self._lipschitz(points), "mean_distance")
        if columns is not None:
            return shape_answers(*part(self, points, columns, raw), "mean_distance")
        return super().mean_distance(points, raw=raw)

    def _lipschitz(self, points: Any) -> tuple[FloatArray, bool, FrameTemplate | None]:
        if self.known is None:
            raise MilepostError("lipschitz=True is for releases of given queries: this one answers any point as it is")
        batch, single, like = query_points(points, self.space)
        read = self.space.read_queries(batch)
        places = read if self.queries is None else self.queries.find(self.space.inside(read))
        values = self.statistic.values(self.positions(self.known))
        moved = lipschitz(values, self.space.between(self.known, self.known), self.space.diameter)
        return moved[places], single, like

    def cdf(self, column: str | int, values: Any) -> Any:
        """The share of people at or below each value of a column, from the slope of its part of the distance."""
        return cdf(self, column, values)

    def quantile(self, column: str | int, q: Any) -> Any:
        """The value of a column that a share q of the people do not pass; of a column of steps, one of these."""
        return quantile(self, column, q)

    def explain(self, point: Any) -> dict[str, float]:
        """Each column's share of one point's average distance; they add up to `mean_distance(point)`."""
        return explain(self, point)

    def grid(self, step: float | Sequence[float] | None = None) -> Grid:
        """The field of a space with one or two numeric columns on a regular grid; NaN outside the space.

        step: between two points, in the units of the columns, for both or for each; about 100 × 100 by default.
        """
        return make_grid(self, step)

    def contours(self, levels: int | Sequence[float] | None = None) -> Contours:
        """Lines of equal mean distance on the default grid: (level, lines) pairs, with a `geojson()` of their own.

        levels: the distances, or about how many round ones; about 8 by default. Needs the `plots` extra.
        """
        return make_contours(self.grid(), levels)

    def sites(self, points: Any, names: Sequence[Any] | None = None) -> Sites:
        """Points ranked by their mean distance, and which are farther than the first beyond the noise.

        points: as for `mean_distance`, or a dict of them by name. names: one a point; by default a frame's index.
        """
        return rank_sites(self, points, names)

    def plot(self, sites: Any = None, axes: "Axes | None" = None) -> "Figure":
        """A matplotlib figure: the field of two columns, the curve of one, else a bar for each column or query.

        sites: what `sites` gave, or points for it. axes: where to draw, not in a new figure. Needs the `plots` extra.
        """
        return draw(self, sites, axes)

    def _repr_html_(self) -> str:
        return html(self)

    def statement(self) -> str:
        """One page for the people in the table: who is protected, how much, and what was treated as public."""
        return statement(self)

    def save(self, path: str | Path) -> None:
        """Write the synopsis as one safetensors file with its card; the file appears whole or not at all."""
        tensors = dict(self.statistic.tensors())
        if self.queries is None:
            tensors |= {f"{SPACE}{name}": tensor for name, tensor in self.space.tensors().items()}
        file_format.write(local_path(path, WRITE_REMEDY), self.card, tensors)

    def __repr__(self) -> str:
        error = self.error(self.confidence)
        unit = f" {self.space.unit}" if self.space.unit else ""
        count = len(self.labels)
        groups = f", {count:,} group{'s' * (count > 1)}" if count else ""
        what = f"{self.space.kind}, {size_formula(self, '=', '≈')}{groups}, {self.guarantee}, {self.mechanism}"
        return f"Synopsis({what}, ±{error:.4g}{unit})"

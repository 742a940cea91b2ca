"""The public object of a release: its queries, reports and file (the paper's offline setting)."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from milepost._typing import FloatArray
from milepost.answers.columns import cdf, explain, partial_distance, quantile
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

SPACE = "space."  # prefix of the names of the space's tensors


class Synopsis(ReleasedData):
    """A private release: `mean_distance` answers for any points, and asking is free.

    `guarantee` bounds what it reveals about the table for one change as in `change`, for any number of queries.
    """

    def nearest(self, points: Any) -> Any:
        """Return the label of the group with the smallest mean distance from each point.

        The result is one label for one point; a Series for a frame of points, as in `mean_distance`; else an array.
        """
        return shape_answers(*nearest_groups(self, points), "nearest")

    def compare(self, points: Any, names: Sequence[Any] | None = None) -> Comparison:
        """Compare points with all groups: distances, errors, the nearest, its margin, and how likely noise changes it.

        points: as for `mean_distance`, or a dict from names to points. names: their names in the table.
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
        """Return the average distance from each point to the people in the table.

        points: one point (gives a float), an array or list of points (an array), or a frame of pandas, GeoPandas or
        Polars (a Series of its library called "mean_distance", with a pandas frame's index, so that
        `frame.assign(far=synopsis.mean_distance(frame))` fits); a frame may have other columns, too.
        group: measure the distance to this group only, in a release with groups.
        columns: return only the part of the distance that these columns make up; points have only these columns.
        raw: return the estimate without post-processing.
        lipschitz: in a release for given queries in a metric with the triangle inequality, move the answers of all
        queries until no two differ by more than the distance of their points. `error(uniform=True)` stays true, and
        where noise is large the answers are closer to the truth on average; the error of a single one may not hold.
        """
        if group is not None:
            return self.group(group).mean_distance(points, columns=columns, raw=raw, lipschitz=lipschitz)
        if lipschitz:
            return shape_answers(*self._lipschitz(points), "mean_distance")
        if columns is not None:
            return shape_answers(*partial_distance(self, points, columns, raw), "mean_distance")
        return super().mean_distance(points, raw=raw)

    def _lipschitz(self, points: Any) -> tuple[FloatArray, bool, FrameTemplate | None]:
        if self.given_queries is None:
            raise MilepostError("lipschitz=True is for releases of given queries: this one answers any point as it is")
        batch, single, template = query_points(points, self.space)
        queries = self.space.read_queries(batch)
        indices = queries if self.queries is None else self.queries.find(self.space.clip_points(queries))
        values = self.statistic.values(self.positions(self.given_queries))
        smoothed = lipschitz(
            values, self.space.query_distances(self.given_queries, self.given_queries), self.space.diameter
        )
        return smoothed[indices], single, template

    def cdf(self, column: str | int, values: Any) -> Any:
        """Return the share of people at or below each value of a column, from the slope of its part of the distance."""
        return cdf(self, column, values)

    def quantile(self, column: str | int, q: Any) -> Any:
        """Return the q-quantile of a column; of a column with steps, one of its steps."""
        return quantile(self, column, q)

    def explain(self, point: Any) -> dict[str, float]:
        """Return each column's share of one point's average distance; the shares add up to `mean_distance(point)`."""
        return explain(self, point)

    def grid(self, step: float | Sequence[float] | None = None) -> Grid:
        """Return the mean distance on a regular grid over one or two numeric columns; NaN outside the space.

        step: the distance of grid lines in the units of the columns, one for both or one for each column; by default
        the grid has about 100 × 100 points.
        """
        return make_grid(self, step)

    def contours(self, levels: int | Sequence[float] | None = None) -> Contours:
        """Return lines of equal mean distance on the default grid: (level, lines) pairs, with a `geojson()` method.

        levels: the distances, or the approximate number of round ones; about 8 by default. Needs the `plots` extra.
        """
        return make_contours(self.grid(), levels)

    def sites(self, points: Any, names: Sequence[Any] | None = None) -> Sites:
        """Rank points by their mean distance, and say which are farther than the first beyond the noise.

        points: as for `mean_distance`, or a dict from names to points. names: one per point; by default a frame's
        index.
        """
        return rank_sites(self, points, names)

    def plot(self, sites: Any = None, axes: "Axes | None" = None) -> "Figure":
        """Draw a matplotlib figure: a map of two columns, a curve of one, else a bar for each column or query.

        sites: the result of `sites`, or points for it. axes: draw here instead of in a new figure. Needs the `plots`
        extra.
        """
        return draw(self, sites, axes)

    def _repr_html_(self) -> str:
        return html(self)

    def statement(self) -> str:
        """Return a page for the people in the table: who is protected, how much, and what was treated as public."""
        return statement(self)

    def save(self, path: str | Path) -> None:
        """Write the synopsis as one safetensors file with its card; the file appears complete or not at all."""
        tensors = dict(self.statistic.tensors())
        if self.queries is None:
            tensors |= {f"{SPACE}{name}": tensor for name, tensor in self.space.tensors().items()}
        file_format.write(local_path(path, WRITE_REMEDY), self.card, tensors)

    def __repr__(self) -> str:
        error = self.error(self.confidence)
        unit = f" {self.space.distance_unit}" if self.space.distance_unit else ""
        count = len(self.labels)
        groups = f", {count:,} group{'s' * (count > 1)}" if count else ""
        what = f"{self.space.kind}, {size_formula(self, '=', '≈')}{groups}, {self.guarantee}, {self.mechanism}"
        return f"Synopsis({what}, ±{error:.4g}{unit})"

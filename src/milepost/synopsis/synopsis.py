"""Synopsis: the public object of a release, with its queries, reports and file (the paper's offline setting)."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from milepost._typing import FloatArray
from milepost.answers.columns import cdf, explain, partial_distance, quantile
from milepost.answers.comparison import Comparison, compare_groups, nearest_groups
from milepost.answers.estimate import Estimate
from milepost.answers.expectations import expectation, mean, share, variance
from milepost.answers.grid import Contours, Grid, make_contours, make_grid
from milepost.answers.query_answers import estimate_queries
from milepost.answers.released_data import ReleasedData
from milepost.answers.sites import Sites, rank_sites
from milepost.errors import MilepostError
from milepost.ingest.dataframes import FrameTemplate, shape_answers
from milepost.ingest.query_points import query_points, read_queries
from milepost.mechanisms.query.lipschitz import lipschitz
from milepost.reporting.description import (
    Description,
    count_groups,
    describe,
    facts,
    size_formula,
    unit_suffix,
)
from milepost.reporting.html import html_image, html_table
from milepost.reporting.plotting.synopsis_plot import draw
from milepost.reporting.statement import statement
from milepost.spaces.queries import Queries
from milepost.storage.paths import WRITE_REMEDY, local_path
from milepost.synopsis import file_format

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SPACE, MODEL = "space.", "model."  # prefixes of the names of the tensors of the space, and of the model


class Synopsis(ReleasedData):
    """A private release, which answers any number of queries without further cost.

    `milepost.release` makes it from a private table, and `milepost.load` reads it from a file.

    Attributes
    ----------
    space : Space
        The space of the points.
    guarantee : Guarantee
        ε and δ: the bound of what all answers together reveal about one change of the table.
    change : ProtectedChange
        The change of the table that the guarantee protects.
    n : int
        The number of rows, or their weight in steps; noisy unless ``change.public_total``.
    statistic : NoisyStatistic
        The released integers, with the estimates that follow from them.
    queries : Queries or None
        The only points that the release answers, if they were given.

    Examples
    --------
    >>> import milepost as mp
    >>> people = [[2.0, 3.0], [8.0, 5.0]] * 5000
    >>> space = mp.L1({"east": (0, 10), "north": (0, 10)}, distance_unit="km")
    >>> synopsis = mp.release(people, space, epsilon=100)
    >>> abs(synopsis.mean_distance([5, 4]) - 4) < 0.1
    True
    """

    def nearest(self, points: Any) -> Any:
        """Return the label of the nearest group of each point.

        Parameters
        ----------
        points : point, array, list or frame
            As for `mean_distance`.

        Returns
        -------
        label, numpy.ndarray or Series
            One label for one point, a Series for a frame, else an array. The nearest group has the smallest mean
            distance. Groups that are too small to be told from an empty one are left out, with a warning.

        Raises
        ------
        MilepostError
            If the release has no groups.

        Examples
        --------
        >>> import milepost as mp
        >>> people, sides = [[2.0], [8.0]] * 5000, ["low", "high"] * 5000
        >>> synopsis = mp.release(people, mp.L1({"age": (0, 10)}), epsilon=100, groups=sides, labels=["low", "high"])
        >>> synopsis.nearest([1])
        'low'
        >>> synopsis.nearest([[1], [9]]).tolist()
        ['low', 'high']
        """
        return shape_answers(*nearest_groups(self, points), "nearest")

    def compare(self, points: Any, names: Sequence[Any] | None = None) -> Comparison:
        """Compare points with all groups of the release.

        Parameters
        ----------
        points : point, array, list, frame or dict
            As for `mean_distance`, or a dict from names to points.
        names : sequence, optional
            The names of the points in the printed table.

        Returns
        -------
        Comparison
            Distances and errors of each group, the nearest group, its margin, and the probability that noise alone
            makes another group nearest.

        Raises
        ------
        MilepostError
            If the release has no groups, or if there are no points.

        Examples
        --------
        >>> import milepost as mp
        >>> people, sides = [[2.0], [8.0]] * 5000, ["low", "high"] * 5000
        >>> synopsis = mp.release(people, mp.L1({"age": (0, 10)}), epsilon=100, groups=sides, labels=["low", "high"])
        >>> comparison = synopsis.compare([[1], [9]], names=["Ada", "Ben"])
        >>> comparison.nearest.tolist()
        ['low', 'high']
        >>> bool((comparison.margin > 5).all())
        True
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

        Parameters
        ----------
        points : point, array, list or frame
            One point, an array or list of points, or a frame of pandas, GeoPandas or Polars. A frame is read by the
            names of the space's columns and may have other columns.
        group : label, optional
            Measure the distance to this group only, in a release with groups.
        columns : sequence of str or int, optional
            Return only the part of the distance that these columns contribute. Points have only these columns.
        raw : bool, default False
            Return the estimates without post-processing.
        lipschitz : bool, default False
            Move the answers of all queries until no two differ by more than the distance of their points. This is for
            releases of given queries in a metric with the triangle inequality. `error(uniform=True)` still holds, and
            answers with large noise are more accurate on average; the error of a single answer may not hold.

        Returns
        -------
        float, numpy.ndarray or Series
            A float for one point; a Series called "mean_distance" with the index of the frame for a frame; else an
            array.

        Raises
        ------
        MilepostError
            If points do not fit the space, or if a release with groups is asked without `group`.

        Examples
        --------
        >>> import milepost as mp
        >>> people = [[2.0, 3.0], [8.0, 5.0]] * 5000
        >>> synopsis = mp.release(people, mp.L1({"east": (0, 10), "north": (0, 10)}), epsilon=100)
        >>> abs(synopsis.mean_distance([5, 4]) - 4) < 0.1
        True
        >>> synopsis.mean_distance([[5, 4], [0, 0]]).shape
        (2,)
        >>> abs(synopsis.mean_distance([5], columns=["east"]) - 3) < 0.1
        True
        """
        if group is not None:
            return self.group(group).mean_distance(points, columns=columns, raw=raw, lipschitz=lipschitz)
        if lipschitz:
            return shape_answers(*self._lipschitz(points), "mean_distance")
        if columns is not None:
            return shape_answers(*partial_distance(self, points, columns, raw), "mean_distance")
        return super().mean_distance(points, raw=raw)

    def weighted_points(self, *, group: Any = None) -> tuple[FloatArray, FloatArray]:
        """Return public points with weights that stand for the people, from a release of quadtree.

        They are an estimate: the corners of a grid, with non-negative shares of people that fit the noisy numbers best.
        Mean distances to them are about as exact as those of the release, and have no intervals.

        Parameters
        ----------
        group : label, optional
            Return the points of this group, in a release with groups.

        Returns
        -------
        points : numpy.ndarray
            float64[k, 2], as users write points of the space.
        weights : numpy.ndarray
            float64[k], positive, which add up to 1.

        Raises
        ------
        MilepostError
            If the release is none of quadtree.

        Examples
        --------
        >>> import milepost as mp
        >>> people = [[2.0, 3.0], [8.0, 5.0]] * 5000
        >>> space = mp.L2({"east": (0, 10), "north": (0, 10)})
        >>> synopsis = mp.release(people, space, epsilon=100, mechanism="quadtree")
        >>> points, weights = synopsis.weighted_points()
        >>> bool(abs(weights @ points[:, 0] - 5) < 0.1)
        True
        """
        statistic = self.statistic if group is None else self.statistic.group(group)
        statistic.check_ungrouped()
        return statistic.weighted_points()

    def _lipschitz(self, points: Any) -> tuple[FloatArray, bool, FrameTemplate | None]:
        if self.given_queries is None:
            raise MilepostError("lipschitz=True needs a release of given queries; this release answers any point")
        batch, single, template = query_points(points, self.space)
        queries = self.space.read_queries(batch)
        points_only = None if self.queries is None else Queries(self.given_queries, self.space)
        indices = queries if points_only is None else points_only.find(self.space.clip_points(queries))
        values = self.statistic.values(self.positions(self.given_queries))
        smoothed = lipschitz(
            values, self.space.query_distances(self.given_queries, self.given_queries), self.space.diameter
        )
        return smoothed[indices], single, template

    def estimate(self, query: Any, confidence: float = 0.95, *, group: Any = None) -> Estimate:
        """Return the answer to one query, a point or weighted distances, with its interval.

        Parameters
        ----------
        query : point or WeightedDistances
            A point, as for `mean_distance`, or a weighted sum of distances to several points. A release of given
            queries answers those, and weighted sums of the answers at its points.
        confidence : float, default 0.95
            The probability that the interval holds the number of the table.
        group : label, optional
            Answer about this group only, in a release with groups.

        Returns
        -------
        Estimate
            The mean over people and its interval. The interval of weighted distances that were not among the given
            queries adds up those of its points, at a confidence at which they hold together: it is wider than
            necessary.

        Raises
        ------
        MilepostError
            If the query does not fit the space, is not one query, or cannot be answered from the given queries.

        Examples
        --------
        >>> import milepost as mp
        >>> people = [[2.0, 3.0], [8.0, 5.0]] * 5000
        >>> synopsis = mp.release(people, mp.L1({"east": (0, 10), "north": (0, 10)}), epsilon=100)
        >>> abs(synopsis.estimate([5, 4]).value - 4) < 0.1
        True
        >>> both = mp.WeightedDistances([[5, 4], [2, 3]], weights=[2, 1])
        >>> abs(synopsis.estimate(both).value - 12) < 0.2
        True
        """
        if group is not None:
            return self.group(group).estimate(query, confidence)
        queries, _ = read_queries(query, self.space)
        if queries.count != 1:
            raise MilepostError(f"estimate takes one query, got {queries.count}; interval takes several points")
        return estimate_queries(self, queries, confidence)[0]

    def cdf(self, column: str | int, values: Any) -> Any:
        """Return the share of people at or below each value of a column.

        Parameters
        ----------
        column : str or int
            The name or the index of a column of numbers.
        values : float or array
            The values of the column.

        Returns
        -------
        float or numpy.ndarray
            Shares between 0 and 1, which never decrease. They follow from the slope of the column's part of the
            distance.

        Raises
        ------
        MilepostError
            If the space has no such column, or if the release has no estimate for single columns.

        Examples
        --------
        >>> import milepost as mp
        >>> people = [[1.0], [4.0], [4.0], [9.0]] * 5000
        >>> synopsis = mp.release(people, mp.L1({"age": (0, 10)}), epsilon=100)
        >>> abs(synopsis.cdf("age", 6) - 0.75) < 0.1
        True
        """
        return cdf(self, column, values)

    def quantile(self, column: str | int, q: Any) -> Any:
        """Return quantiles of a column.

        Parameters
        ----------
        column : str or int
            The name or the index of a column of numbers.
        q : float or array
            Probabilities between 0 and 1.

        Returns
        -------
        float or numpy.ndarray
            The quantiles; of a column with steps, values of these steps.

        Raises
        ------
        MilepostError
            If q is not between 0 and 1, or as for `cdf`.

        Examples
        --------
        >>> import milepost as mp
        >>> people = [[1.0], [4.0], [9.0]] * 5000
        >>> synopsis = mp.release(people, mp.L1({"age": (0, 10)}), epsilon=100)
        >>> abs(synopsis.quantile("age", 0.5) - 4) < 0.5
        True
        """
        return quantile(self, column, q)

    def mean(self, column: str | int, *, confidence: float = 0.95, group: Any = None) -> Estimate:
        """Return the mean of a column.

        Parameters
        ----------
        column : str or int
            The name or the index of a column of numbers. The mean of a flag is the share of people with it.
        confidence : float, default 0.95
            The probability that the interval holds the mean of the table.
        group : label, optional
            Return the mean of this group, in a release with groups.

        Returns
        -------
        Estimate
            The mean and its interval, within the bounds of the column. Values outside the bounds were moved to them.

        Raises
        ------
        MilepostError
            If the space has no such column of numbers, or if the release has no estimate for single columns.

        Examples
        --------
        >>> import milepost as mp
        >>> people = [[1.0], [4.0], [4.0], [9.0]] * 5000
        >>> synopsis = mp.release(people, mp.L1({"age": (0, 10)}), epsilon=100)
        >>> estimate = synopsis.mean("age")
        >>> abs(estimate.value - 4.5) < 0.1, estimate.error < 0.1
        (True, True)
        """
        if group is not None:
            return self.group(group).mean(column, confidence=confidence)
        return mean(self, column, confidence)

    def variance(self, column: str | int, *, confidence: float = 0.95, group: Any = None) -> Estimate:
        """Return the variance of a column.

        Parameters
        ----------
        column : str or int
            The name or the index of a column of numbers.
        confidence : float, default 0.95
            The probability that the interval holds the variance of the table.
        group : label, optional
            Return the variance of this group, in a release with groups.

        Returns
        -------
        Estimate
            The mean squared difference from the mean, without the bias that noise on the mean would add; and its
            interval. The square roots of all three numbers are the standard deviation and its interval.

        Raises
        ------
        MilepostError
            As for `mean`.

        Examples
        --------
        >>> import milepost as mp
        >>> people = [[1.0], [4.0], [4.0], [9.0]] * 5000
        >>> synopsis = mp.release(people, mp.L1({"age": (0, 10)}), epsilon=100)
        >>> abs(synopsis.variance("age").value - 8.25) < 0.1
        True
        """
        if group is not None:
            return self.group(group).variance(column, confidence=confidence)
        return variance(self, column, confidence)

    def share(
        self, column: str | int, low: Any, high: Any = None, *, confidence: float = 0.95, group: Any = None
    ) -> Estimate:
        """Return the share of people with low ≤ value ≤ high in a column, or with one label.

        Parameters
        ----------
        column : str or int
            The name or the index of a column.
        low, high : float
            The ends of the values, both included; ``-math.inf`` and ``math.inf`` for no limit. For a column of labels,
            `low` is the label, and there is no `high`.
        confidence : float, default 0.95
            The probability that the interval holds the share of the table.
        group : label, optional
            Return the share of this group, in a release with groups.

        Returns
        -------
        Estimate
            The share and its interval, between 0 and 1. In a column with a step it has noise only. In any other column
            the release does not tell values apart that are closer than its cells: the interval is as wide as the share
            of people near `low` and `high` needs.

        Raises
        ------
        MilepostError
            If `low` is above `high`, if the column has no such label, or as for `mean`.

        Examples
        --------
        >>> import milepost as mp
        >>> people = [[30.0, "a"], [40.0, "b"], [40.0, "b"], [90.0, "b"]] * 5000
        >>> space = mp.Gower({"age": mp.number(0, 100, step=1), "plan": mp.category(["a", "b"])})
        >>> synopsis = mp.release(people, space, epsilon=100)
        >>> abs(synopsis.share("age", 18, 65).value - 0.75) < 0.1
        True
        >>> abs(synopsis.share("plan", "a").value - 0.25) < 0.1
        True
        """
        if group is not None:
            return self.group(group).share(column, low, high, confidence=confidence)
        return share(self, column, low, high, confidence)

    def expectation(
        self,
        functions: Mapping[str | int, Callable[[FloatArray], Any]],
        *,
        confidence: float = 0.95,
        group: Any = None,
    ) -> Estimate:
        """Return the mean over people of a sum of functions, each of one column.

        Parameters
        ----------
        functions : dict from str or int to callable
            The function of each column, by its name or index; a column without one adds nothing. A function takes an
            array of values and returns as many finite numbers.
        confidence : float, default 0.95
            The probability that the interval holds the mean of the table.
        group : label, optional
            Return the mean of this group, in a release with groups.

        Returns
        -------
        Estimate
            The mean and its interval, which includes what functions do between the borders of cells. Functions are
            evaluated at 16 points of each cell, or at all steps of a column with a step: the interval does not include
            what they do only between these points.

        Raises
        ------
        MilepostError
            If a function raises an error or does not return as many finite numbers, or as for `mean`.

        Examples
        --------
        >>> import milepost as mp
        >>> people = [[20.0, 3.0], [60.0, 5.0]] * 5000
        >>> synopsis = mp.release(people, mp.L1({"age": (0, 100), "visits": (0, 10)}), epsilon=100)
        >>> fee = synopsis.expectation({"age": lambda age: 2.0 * (age < 30), "visits": lambda visits: 5 * visits})
        >>> abs(fee.value - 21) < 1
        True
        """
        if group is not None:
            return self.group(group).expectation(functions, confidence=confidence)
        return expectation(self, functions, confidence)

    def explain(self, point: Any) -> dict[str, float]:
        """Return the part of one point's mean distance that each column contributes.

        Parameters
        ----------
        point : point
            A single point.

        Returns
        -------
        dict of str to float
            The parts by column. They add up to ``mean_distance(point)``.

        Examples
        --------
        >>> import milepost as mp
        >>> people = [[2.0, 3.0], [8.0, 5.0]] * 5000
        >>> synopsis = mp.release(people, mp.L1({"east": (0, 10), "north": (0, 10)}), epsilon=100)
        >>> parts = synopsis.explain([5, 4])
        >>> abs(parts["east"] - 3) < 0.1, abs(parts["north"] - 1) < 0.1
        (True, True)
        """
        return explain(self, point)

    def grid(self, step: float | Sequence[float] | None = None) -> Grid:
        """Return the mean distance on a regular grid over a space of one or two numeric columns.

        Parameters
        ----------
        step : float or sequence of float, optional
            The distance of grid lines in the units of the columns: one number for both, or one for each column. By
            default the grid has 101 points along each column.

        Returns
        -------
        Grid
            The values, NaN outside the space, and their coordinates.

        Raises
        ------
        MilepostError
            If the space has other columns, or if the release answers only given queries.

        Examples
        --------
        >>> import milepost as mp
        >>> synopsis = mp.release([[2.0], [8.0]] * 5000, mp.L1({"age": (0, 10)}), epsilon=100)
        >>> grid = synopsis.grid(step=5)
        >>> grid.x.tolist(), grid.values.shape
        ([0.0, 5.0, 10.0], (3,))
        """
        return make_grid(self, step)

    def contours(self, levels: int | Sequence[float] | None = None) -> Contours:
        """Return lines of equal mean distance over a space of two numeric columns.

        Parameters
        ----------
        levels : int or sequence of float, optional
            The mean distances, or the approximate number of round ones; about 8 by default.

        Returns
        -------
        Contours
            Pairs of a level and its lines, with `Contours.to_geojson`.

        Raises
        ------
        MilepostError
            As for `grid`, or if the `plots` extra is not installed.

        Examples
        --------
        >>> import milepost as mp
        >>> people = [[2.0, 3.0], [8.0, 5.0]] * 5000
        >>> synopsis = mp.release(people, mp.L1({"east": (0, 10), "north": (0, 10)}), epsilon=100)
        >>> [level for level, lines in synopsis.contours([5, 7])]
        [5.0, 7.0]
        """
        return make_contours(self.grid(), levels)

    def sites(self, points: Any, names: Sequence[Any] | None = None) -> Sites:
        """Rank points by their mean distance.

        Parameters
        ----------
        points : array, list, frame or dict
            As for `mean_distance`, or a dict from names to points.
        names : sequence, optional
            A name for each point; by default the index of a frame, or the point itself.

        Returns
        -------
        Sites
            The points with their errors, the nearest first. `Site.beyond_noise` tells which are certainly farther than
            the first.

        Raises
        ------
        MilepostError
            If there are no points.

        Examples
        --------
        >>> import milepost as mp
        >>> people = [[2.0, 3.0], [8.0, 5.0]] * 5000
        >>> synopsis = mp.release(people, mp.L1({"east": (0, 10), "north": (0, 10)}), epsilon=100)
        >>> sites = synopsis.sites({"harbour": [10, 10], "station": [5, 4]})
        >>> sites[0].name, sites[1].beyond_noise
        ('station', True)
        """
        return rank_sites(self, points, names)

    def plot(self, sites: Any = None, axes: "Axes | None" = None) -> "Figure":
        """Draw the release: a map of two columns, a curve of one, else a bar for each column or query.

        Parameters
        ----------
        sites : Sites or points, optional
            The result of `sites`, or points for it, to draw.
        axes : matplotlib.axes.Axes, optional
            Draw here instead of in a new figure.

        Returns
        -------
        matplotlib.figure.Figure
            The figure; ``figure.savefig("map.png")`` writes it.

        Raises
        ------
        MilepostError
            If the `plots` extra is not installed, or if the space has no picture without `sites`.

        Examples
        --------
        >>> import milepost as mp
        >>> synopsis = mp.release([[2.0], [8.0]] * 5000, mp.L1({"age": (0, 10)}), epsilon=100)
        >>> synopsis.plot().axes[0].get_xlabel()
        'age'
        """
        return draw(self, sites, axes)

    def describe(self) -> Description:
        """Return the public facts about the release: space, size, guarantee, mechanism, errors and versions.

        Returns
        -------
        Description
            Print it, show it in a notebook, or take its attributes or `Description.to_json`.

        Examples
        --------
        >>> import milepost as mp
        >>> synopsis = mp.release([[2.0], [8.0]] * 5000, mp.L1({"age": (0, 10)}), epsilon=1)
        >>> description = synopsis.describe()
        >>> description.total, description.guarantee.epsilon, description.columns
        (10000, 1.0, ('age',))
        """
        return describe(self)

    def statement(self) -> str:
        """Return a page for the people in the table.

        Returns
        -------
        str
            Who is protected, how strongly, what is public, and how accurate answers are.

        Examples
        --------
        >>> import milepost as mp
        >>> synopsis = mp.release([[2.0], [8.0]] * 5000, mp.L1({"age": (0, 10)}), epsilon=1)
        >>> print(synopsis.statement())  # doctest: +ELLIPSIS
        Privacy statement
          Protected      Each single row of the table. A table with one row replaced by another ...
          Guarantee      ε = 1, for all answers of this file together. Accounting: pure ε; ...
          ...
        """
        return statement(self.describe())

    def save(self, path: str | Path) -> None:
        """Write the release as one safetensors file.

        Parameters
        ----------
        path : str or pathlib.Path
            The file, which is replaced if it exists. It appears complete or not at all.

        Raises
        ------
        MilepostError
            If the file cannot be written.

        Examples
        --------
        >>> import tempfile
        >>> import milepost as mp
        >>> synopsis = mp.release([[2.0], [8.0]] * 5000, mp.L1({"age": (0, 10)}), epsilon=1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     synopsis.save(f"{folder}/ages.milepost")
        ...     copy = mp.load(f"{folder}/ages.milepost")
        >>> copy.mean_distance([3]) == synopsis.mean_distance([3])
        True
        """
        tensors = dict(self.statistic.tensors())
        if self.queries is None:
            tensors |= {f"{SPACE}{name}": tensor for name, tensor in self.space.tensors().items()}
        if self.model is not None:
            tensors |= {f"{MODEL}{name}": tensor for name, tensor in self.model.tensors().items()}
        file_format.write(local_path(path, WRITE_REMEDY), self.card, tensors)

    def _repr_html_(self) -> str:
        try:
            picture = html_image(draw(self), "mean distance")
        except MilepostError:  # no matplotlib, or a space that has no picture: the table is enough
            picture = ""
        return f"<div>{html_table(facts(self.describe()))}{picture}</div>"

    def __repr__(self) -> str:
        description = self.describe()
        groups = f", {count_groups(len(self.labels))}" if self.labels else ""
        size = size_formula(description, "=", "≈") + groups
        error = f"±{description.error:.4g}{unit_suffix(description)}"
        return f"Synopsis({self.space.kind}, {size}, {self.guarantee}, {self.mechanism}, {error})"

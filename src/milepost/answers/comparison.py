"""Comparison of points with groups: distances, the nearest group, and the probability that noise changes it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import scipy
from rich.box import SIMPLE
from rich.markup import escape
from rich.table import Table

from milepost._typing import AnyArray, BoolArray, FloatArray, IntArray
from milepost.answers.evaluation import Answers, as_read, evaluate
from milepost.answers.released_data import ReleasedData
from milepost.answers.text import point_text, table_text, with_unit
from milepost.errors import MilepostError, warn
from milepost.ingest.dataframes import FrameTemplate
from milepost.ingest.query_points import named_queries, query_points
from milepost.mechanisms.base import Label, NoisyStatistic

ONE_SIGMA = math.erf(math.sqrt(0.5))  # probability that a normal variable is within one standard deviation
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(64)  # quadrature for an integral over one group's noise
TIE = 1e-12  # added to a share to make it the largest of several equal ones


@dataclass(frozen=True, eq=False)
class Comparison:
    """Points compared with the groups of a release; print it for a table.

    Attributes
    ----------
    labels : tuple
        The labels of the groups.
    points : list
        The points, as users write them.
    mean_distance, error : numpy.ndarray
        float64[points, groups]: the mean distance of each point from each group, and its half-width.
    detectable : numpy.ndarray
        bool[groups]: whether a group is larger than the noise of its count. A smaller group is nearest only if all
        groups are too small.
    nearest_index : numpy.ndarray
        int64[points]: the index of the nearest group.
    margin : numpy.ndarray
        float64[points]: by how much the nearest group is nearer than the next one.
    flip_probability : numpy.ndarray
        float64[points]: the probability that noise alone makes another group nearest, if the estimates were exact.
    confidence : float
        The confidence of each error.
    distance_unit : str
        The unit of distances; empty if the space has none.
    template : FrameTemplate or None
        The library and the index of the frame that held the points.
    names : list of str or None
        The names of the points.

    Examples
    --------
    >>> import milepost as mp
    >>> people, sides = [[2.0], [8.0]] * 5000, ["low", "high"] * 5000
    >>> synopsis = mp.release(people, mp.L1({"age": (0, 10)}), epsilon=100, groups=sides, labels=["low", "high"])
    >>> comparison = synopsis.compare({"Ada": [1], "Ben": [9]})
    >>> comparison.nearest.tolist()
    ['low', 'high']
    >>> comparison.mean_distance.shape
    (2, 2)
    """

    labels: tuple[Label, ...]
    points: list[Any]
    mean_distance: FloatArray
    error: FloatArray
    detectable: BoolArray
    nearest_index: IntArray
    margin: FloatArray
    flip_probability: FloatArray
    confidence: float
    distance_unit: str
    template: FrameTemplate | None = None
    names: list[str] | None = None

    @property
    def nearest(self) -> AnyArray:
        """Return the label of the nearest group of each point."""
        return labels_at(self.labels, self.nearest_index)

    def to_arrow(self) -> pa.Table:
        """Return the comparison as an Arrow table.

        Returns
        -------
        pyarrow.Table
            A row per point: nearest group, margin, flip probability, and each group's distance and error. A column
            has one type, so labels of different types become text.

        Examples
        --------
        >>> import milepost as mp
        >>> people, sides = [[2.0], [8.0]] * 5000, ["low", "high"] * 5000
        >>> synopsis = mp.release(people, mp.L1({"age": (0, 10)}), epsilon=100, groups=sides, labels=["low", "high"])
        >>> synopsis.compare([[1], [9]]).to_arrow().column_names[:4]
        ['nearest', 'margin', 'flip_probability', 'distance low']
        """
        columns: dict[str, Any] = {
            "nearest": pa.array(labels_at(self.labels, self.nearest_index, text=True).tolist()),
            "margin": self.margin,
            "flip_probability": self.flip_probability,
        }
        for k, label in enumerate(self.labels):
            columns |= {f"distance {label}": self.mean_distance[:, k], f"error {label}": self.error[:, k]}
        return pa.table(columns)

    def to_frame(self) -> Any:
        """Return the comparison as a data frame with the columns of `to_arrow`.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            A frame of the library that held the points, with their index; pandas by default.

        Examples
        --------
        >>> import milepost as mp
        >>> people, sides = [[2.0], [8.0]] * 5000, ["low", "high"] * 5000
        >>> synopsis = mp.release(people, mp.L1({"age": (0, 10)}), epsilon=100, groups=sides, labels=["low", "high"])
        >>> synopsis.compare([[1], [9]]).to_frame()["nearest"].tolist()
        ['low', 'high']
        """
        return (self.template or FrameTemplate("pandas")).frame(self.to_arrow().to_pydict())

    def __rich__(self) -> Table:
        table = Table(box=SIMPLE)
        table.add_column("point")
        for label, detectable in zip(self.labels, self.detectable, strict=True):
            heading = with_unit(f"to {label}", self.distance_unit) if detectable else f"to {label} (too small)"
            table.add_column(escape(heading), justify="right")
        for name in ("nearest", "margin", "noise could change it"):
            table.add_column(name, justify="right")
        for i, point in enumerate(self.points):
            name = point_text(point) if self.names is None else self.names[i]
            triples = zip(self.mean_distance[i], self.error[i], self.detectable, strict=True)
            cells = [
                f"{_digits(value, 4)} ± {_digits(error, 2)}" if detectable else "–"
                for value, error, detectable in triples
            ]
            winner = escape(str(self.labels[self.nearest_index[i]]))
            table.add_row(escape(name), *cells, winner, _digits(self.margin[i], 3), _percent(self.flip_probability[i]))
        return table

    def __str__(self) -> str:
        return table_text(self, 60 + 20 * len(self.labels))


def compare_groups(synopsis: ReleasedData, points: Any, names: Sequence[Any] | None = None) -> Comparison:
    """Compare every point with every group; see `Synopsis.compare`."""
    queries, point_names, template = named_queries(synopsis.space, points, names, "points")
    if not len(queries):
        raise MilepostError("there are no points to compare; give at least one")
    return replace(compare_queries(synopsis, queries), names=point_names, template=template)


def compare_queries(synopsis: ReleasedData, queries: AnyArray) -> Comparison:
    """Compare points, as the space reads them, with every group."""
    groups = synopsis.groups
    eligible = eligible_groups(groups)

    def answer(positions: AnyArray) -> Answers:
        distance = _distances(groups, positions)
        error, deviation = (_errors(groups, positions, level) for level in (synopsis.confidence, ONE_SIGMA))
        nearest, margin = _nearest_and_margin(distance, eligible)
        flip = np.clip(1 - _nearest_probability(distance, deviation, nearest, eligible), 0, 1)
        return *distance.T, *error.T, nearest, margin, flip

    *by_group, nearest, margin, flip = evaluate(synopsis, queries, answer, as_read)
    distance, error = (np.column_stack(by_group[k : k + len(eligible)]) for k in (0, len(eligible)))
    points = [synopsis.space.user_point(query) for query in queries]
    return Comparison(
        groups.labels,
        points,
        distance,
        error,
        eligible,
        nearest,
        margin,
        flip,
        synopsis.confidence,
        synopsis.space.distance_unit,
    )


def nearest_groups(synopsis: ReleasedData, points: Any) -> tuple[AnyArray, bool, FrameTemplate | None]:
    """Return the label of each point's nearest group, whether it was a single point, and the frame template."""
    groups = synopsis.groups
    batch, single, template = query_points(points, synopsis.space)
    eligible = eligible_groups(groups)

    def answer(positions: AnyArray) -> Answers:
        return (_nearest_and_margin(_distances(groups, positions), eligible)[0],)

    (nearest,) = evaluate(synopsis, batch, answer)
    return labels_at(groups.labels, nearest), single, template


def nearest_probabilities(synopsis: ReleasedData, points: Any) -> FloatArray:
    """Return the probability that each group is nearest, float64[k, groups], from the estimates and their errors.

    A row sums to 1, and its largest entry belongs to the nearest group by estimated distance. Groups that are too
    small have 0.
    """
    groups = synopsis.groups
    batch, _, _ = query_points(points, synopsis.space)
    eligible = eligible_groups(groups)

    def answer(positions: AnyArray) -> Answers:
        distance, deviation = _distances(groups, positions), _errors(groups, positions, ONE_SIGMA)
        return list(nearest_shares(distance, deviation, eligible).T)

    return np.column_stack(evaluate(synopsis, batch, answer))


def group_distances(synopsis: ReleasedData, points: Any) -> tuple[FloatArray, BoolArray]:
    """Return the mean distances of points to every group, float64[k, groups], and which groups may be the nearest."""
    groups = synopsis.groups
    batch, _, _ = query_points(points, synopsis.space)
    distances = evaluate(synopsis, batch, lambda positions: list(_distances(groups, positions).T))
    return np.column_stack(distances), eligible_groups(groups)


def nearest_shares(distance: FloatArray, deviation: FloatArray, eligible: BoolArray) -> FloatArray:
    """Return the probability that each group is nearest, where distances are independent normal variables.

    All are float64[n, groups]. A row sums to 1, and its largest entry belongs to the nearest eligible group. Groups
    that are not eligible have 0.
    """
    shares = np.zeros_like(distance)
    for k in np.flatnonzero(eligible).tolist():
        shares[:, k] = _nearest_probability(distance, deviation, np.full(len(distance), k), eligible)
    nearest, _ = _nearest_and_margin(distance, eligible)
    return _match_nearest(shares / shares.sum(axis=1, keepdims=True), nearest)


def labels_at(labels: tuple[Label, ...], indices: IntArray, text: bool = False) -> AnyArray:
    """Return labels by index, as an array of their type; mixed types give an array of objects, or of text."""
    mixed = len({type(label) for label in labels}) > 1
    label_array = np.array(
        [str(label) for label in labels] if mixed and text else labels, dtype=object if mixed else None
    )
    result: AnyArray = label_array[indices]
    return result


def eligible_groups(groups: NoisyStatistic) -> BoolArray:
    """Return which groups are larger than the noise of their counts, or all if none is; warn when some are not."""
    return large_groups(groups.labels, np.array([statistic.total.detectable for statistic in groups.statistics]))


def large_groups(labels: Sequence[Label], large: BoolArray) -> BoolArray:
    """Return which groups are large enough to be compared, or all if none is; warn when some are not."""
    if not large.all():
        small = ", ".join(repr(label) for label, is_large in zip(labels, large, strict=True) if not is_large)
        rest = "all groups are used" if not large.any() else "they are left out"
        warn(f"too small to tell from an empty group: {small}; {rest}")
    return large if large.any() else ~large


def _nearest_and_margin(distance: FloatArray, eligible: BoolArray) -> tuple[IntArray, FloatArray]:
    """Return the index of each point's nearest group, and by how much it is nearer than the next."""
    eligible_distance = np.where(eligible, distance, np.inf)
    nearest = np.argmin(eligible_distance, axis=1)
    ordered = np.sort(eligible_distance, axis=1)
    margin = ordered[:, 1] - ordered[:, 0] if distance.shape[1] > 1 else np.full(len(distance), np.inf)
    return nearest, margin


def _distances(groups: NoisyStatistic, positions: AnyArray) -> FloatArray:
    """Return every group's answers: float64[k, groups]."""
    return np.column_stack([statistic.values(positions) for statistic in groups.statistics])


def _errors(groups: NoisyStatistic, positions: AnyArray, confidence: float) -> FloatArray:
    """Return the half-widths of every group's answers: float64[k, groups]."""
    widths = [
        np.minimum(statistic.half_widths(positions, confidence), statistic.max_error) for statistic in groups.statistics
    ]
    return np.column_stack(widths)


def _nearest_probability(
    distance: FloatArray, deviation: FloatArray, nearest: IntArray, eligible: BoolArray
) -> FloatArray:
    """Return the probability that group `nearest` stays nearest when every distance gets fresh normal noise."""
    rows = np.arange(len(distance))
    mean, sigma = distance[rows, nearest], deviation[rows, nearest]
    result = np.zeros(len(distance))
    for node, weight in zip(NODES.tolist(), (WEIGHTS / WEIGHTS.sum()).tolist(), strict=True):
        value = mean + sigma * node
        beyond = scipy.special.ndtr((distance - value[:, None]) / np.maximum(deviation, 1e-300))
        beyond[rows, nearest] = 1.0
        result += weight * np.where(eligible, beyond, 1.0).prod(axis=1)
    return result


def _match_nearest(shares: FloatArray, nearest: IntArray) -> FloatArray:
    """Return the closest shares (in least squares) in which the largest of each row is the one at `nearest`."""
    result = shares.copy()
    for row in np.flatnonzero(shares.argmax(axis=1) != nearest).tolist():
        row_shares = result[row]
        order = np.argsort(-row_shares, kind="stable")
        rivals = order[order != nearest[row]]
        pooled, count = row_shares[nearest[row]], 1  # pool it with every rival above the mean of those before
        while count <= len(rivals) and row_shares[rivals[count - 1]] > pooled / count:
            pooled, count = pooled + row_shares[rivals[count - 1]], count + 1
        row_shares[rivals[: count - 1]] = pooled / count * (1 - TIE)
        row_shares[nearest[row]] = pooled / count * (1 + (count - 1) * TIE) + TIE
    result /= result.sum(axis=1, keepdims=True)
    return result


def _digits(number: float, digits: int) -> str:
    """Return a number with this many significant digits, without an exponent where possible."""
    if not 1e-4 <= abs(number) < 1e9:
        return f"{number:.{digits}g}"
    return np.format_float_positional(number, digits, unique=False, fractional=False, trim="-")


def _percent(share: float) -> str:
    return "< 0.1 %" if share < 0.001 else f"{100 * share:.2g} %"

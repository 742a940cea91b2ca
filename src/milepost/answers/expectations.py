"""Means, variances and shares of single columns, and means of sums of functions of one column each.

The mean of a function that is linear in each cell has noise only. Any other function lies between two such functions,
one below it and one above: the interval goes from the low end of the lower one's mean to the high end of the other's.
docs/how-to/columns.md.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from milepost._typing import FloatArray
from milepost.answers.columns import column_coordinates, column_indices, number_coordinate
from milepost.answers.estimate import Estimate
from milepost.answers.released_data import ReleasedData
from milepost.errors import MilepostError
from milepost.mechanisms.base import check_confidence
from milepost.mechanisms.coordinate.curves import Curves
from milepost.mechanisms.coordinate.noisy_means import NoisyMean, noisy_mean
from milepost.mechanisms.registry import curve_names

POINTS = 16  # of each cell, at which a function is evaluated
MEAN_SHARE = 0.1  # of the failure probability of a variance, for the mean that it is centered at
DENSITY = 2  # times as many people as evenly spread ones, where a function jumps
DIGITS = 12  # of a value of a column with steps

# functions of a coordinate that are linear in each cell, one below another, as heights at the borders of cells
FunctionPair: TypeAlias = tuple[FloatArray, FloatArray]


@dataclass(frozen=True, eq=False)
class ColumnCells:
    """The cells of a column of numbers in a release. i: its embedding coordinate."""

    curves: Curves
    i: int

    @property
    def count(self) -> int:
        """The number of cells."""
        return int(self.curves.embedding.span[self.i]) >> self.curves.bits[self.i]

    @property
    def low(self) -> float:
        """The low bound of the column."""
        return float(self.curves.embedding.low[self.i])

    @property
    def high(self) -> float:
        """The high bound of the column."""
        return float(self.curves.embedding.high[self.i])

    @property
    def on_borders(self) -> bool:
        """Whether records are on the borders of cells only, since the column has steps."""
        return int(self.curves.embedding.step[self.i]) % (1 << self.curves.bits[self.i]) == 0

    def values(self, points: int = 1) -> FloatArray:
        """Return the values of the column at the borders of cells and, with more points, evenly between them."""
        fractions = np.arange(self.count * points + 1) / (self.count * points)
        result = self.low + fractions * (self.high - self.low)
        result[-1] = self.high
        if self.on_borders and points == 1:  # 0.3, as people write it, rather than 0.1·3
            largest = max(abs(self.low), abs(self.high))
            result = np.round(result, DIGITS - math.ceil(math.log10(largest)))
        return np.clip(result, self.low, self.high)

    def place(self, value: float) -> float:
        """Return the place of a value in cells from the low bound, rounded to whole quanta; ±∞ beyond the bounds."""
        if not self.low <= value <= self.high:
            return math.copysign(math.inf, value - self.low)
        embedding, bits = self.curves.embedding, self.curves.bits[self.i]
        quanta = round((value - self.low) / (self.high - self.low) * int(embedding.span[self.i]))
        return quanta / (1 << bits)


def mean(synopsis: ReleasedData, column: str | int, confidence: float) -> Estimate:
    """Return the mean of a column; see `Synopsis.mean`."""
    cells, failure = _cells(synopsis, column), _failure(confidence)
    result = noisy_mean(cells.curves, {cells.i: cells.values()}, failure)
    return _estimate(result.value, result.low, result.high, confidence, cells.low, cells.high)


def variance(synopsis: ReleasedData, column: str | int, confidence: float) -> Estimate:
    """Return the variance of a column; see `Synopsis.variance`.

    With M the estimate of the mean and e its error, the estimate of E(x − M)² is that of E(x − μ)², less e². The noise
    of that is linear, and its law is the widest for a mean μ in the interval of the mean.
    """
    cells, failure = _cells(synopsis, column), _failure(confidence)
    values, curves = cells.values(), cells.curves
    center = noisy_mean(curves, {cells.i: values}, failure * MEAN_SHARE)

    def square(around: float) -> NoisyMean:
        return noisy_mean(curves, {cells.i: (values - around) ** 2}, failure * (1 - MEAN_SHARE))

    around = float(np.clip(center.value, cells.low, cells.high))
    ends = np.clip([center.low, center.high], cells.low, cells.high).tolist()
    half_width = max(square(end).half_width for end in (*ends, around))
    # a chord lies above a square by up to a quarter of the squared width of its cell
    above = 0.0 if cells.on_borders else ((cells.high - cells.low) / cells.count) ** 2 / 4
    released = square(center.value).value
    low, high = released - above - half_width, released + half_width + center.half_width**2
    value = released + center.variance - above / 2
    return _estimate(value, low, high, confidence, 0.0, ((cells.high - cells.low) / 2) ** 2)


def share(synopsis: ReleasedData, column: str | int, low: Any, high: Any, confidence: float) -> Estimate:
    """Return the share of people between two values of a column, or with a label; see `Synopsis.share`."""
    coordinates = column_coordinates(synopsis, [column])
    if len(coordinates) > 1:
        return label_share(synopsis, _label_coordinate(synopsis, column, low, high), confidence)
    cells = _cells(synopsis, column)
    first, last = (_threshold(name, value, column) for name, value in (("low", low), ("high", high)))
    if first > last:
        raise MilepostError(f"low must not be above high, got {low!r} and {high!r}")
    # of the people below the first value, and of those up to the last one; nobody is beyond the bounds
    below = -math.inf if first <= cells.low else cells.place(first)
    upto = math.inf if last >= cells.high else cells.place(last)
    if cells.on_borders:
        borders = np.arange(cells.count + 1)
        exact = np.asarray(borders <= upto, dtype=np.float64) - (borders < below)
        return _between(cells.curves, {cells.i: exact}, {cells.i: exact}, confidence, 0.0, 1.0)

    def bounds(width: int) -> FunctionPair:
        (low_upto, high_upto), (low_below, high_below) = (_up_to(cells, place, width) for place in (upto, below))
        return low_upto - high_below, high_upto - low_below

    lower, upper = _least_error(cells, bounds)
    return _between(cells.curves, {cells.i: lower}, {cells.i: upper}, confidence, 0.0, 1.0)


def label_share(synopsis: ReleasedData, i: int, confidence: float) -> Estimate:
    """Return the share of people with a label, by the embedding coordinate of the label."""
    result = noisy_mean(_curves(synopsis), {i: np.array([0.0, 1.0])}, _failure(confidence))
    return _estimate(result.value, result.low, result.high, confidence, 0.0, 1.0)


def expectation(
    synopsis: ReleasedData, functions: Mapping[str | int, Callable[[FloatArray], Any]], confidence: float
) -> Estimate:
    """Return the mean over people of a sum of functions of one column each; see `Synopsis.expectation`."""
    if not isinstance(functions, Mapping) or not functions:
        raise MilepostError(f"functions must be a dict from columns to functions, got {functions!r}")
    _failure(confidence)
    column_indices(synopsis, list(functions))  # each column once
    lower, upper = dict[int, FloatArray](), dict[int, FloatArray]()
    for column, function in functions.items():
        cells = _cells(synopsis, column)
        lower[cells.i], upper[cells.i] = _function_bounds(cells, function, column)
    ends = sum(float(part.min()) for part in lower.values()), sum(float(part.max()) for part in upper.values())
    return _between(_curves(synopsis), lower, upper, confidence, *ends)


def _between(
    curves: Curves,
    lower: Mapping[int, FloatArray],
    upper: Mapping[int, FloatArray],
    confidence: float,
    minimum: float,
    maximum: float,
) -> Estimate:
    """Return the mean of functions that are between others, which are linear in each cell, by coordinate."""
    failure = _failure(confidence)
    middle = {i: lower[i] / 2 + upper[i] / 2 for i in lower}
    value = noisy_mean(curves, middle, failure).value
    below, above = noisy_mean(curves, lower, failure), noisy_mean(curves, upper, failure)
    # the functions have noise of their own, which may change their order
    low, high = min(below.value, value) - below.half_width, max(above.value, value) + above.half_width
    return _estimate(value, low, high, confidence, minimum, maximum)


def _up_to(cells: ColumnCells, place: float, width: int) -> FunctionPair:
    """Return functions below and above that which is 1 up to a place and 0 beyond; they fall over `width` cells."""
    borders = np.arange(cells.count + 1)
    if math.isinf(place):
        constant = np.full(len(borders), float(place > 0))
        return constant, constant
    before, after = math.floor(place), math.ceil(place)
    width = max(1, min(width, before, cells.count - after))  # people may be at the bounds
    return np.clip((before - borders) / width, 0, 1), np.clip((after + width - borders) / width, 0, 1)


def _function_bounds(cells: ColumnCells, function: Any, column: str | int) -> FunctionPair:
    """Return functions below and above a function of users."""
    if cells.on_borders:
        exact = _evaluate(function, cells.values(), column)
        return exact, exact
    values = _evaluate(function, cells.values(POINTS), column)
    borders = np.arange(cells.count + 1)

    def bounds(width: int) -> FunctionPair:
        low, high = -_upper_function(-values, width * POINTS), _upper_function(values, width * POINTS)
        return np.interp(borders, borders[::width], low), np.interp(borders, borders[::width], high)

    return _least_error(cells, bounds)


def _least_error(cells: ColumnCells, bounds: Callable[[int], FunctionPair]) -> FunctionPair:
    """Return the bounds with the smallest error on evenly spread people, among those of 1, 2, 4, … cells of width.

    Where a function jumps, wider bounds have less noise and are farther apart. The choice does not depend on people.
    """

    def error(pair: FunctionPair) -> float:
        lower, upper = pair
        squares = [cells.curves.noises[cells.i].share_moments(np.diff(function))[0] for function in pair]
        return 2 * math.sqrt(max(squares)) + DENSITY * float(np.mean(upper - lower)) / 2

    best = bounds(1)
    if not np.any(best[0] < best[1]):
        return best
    least, width = error(best), 2
    while width <= cells.count // 2:
        wider = bounds(width)
        if error(wider) >= least:
            break
        best, least, width = wider, error(wider), 2 * width
    return best


def _upper_function(values: FloatArray, points: int) -> FloatArray:
    """Return heights at the borders of cells of a function that is linear in each cell, and not below the given one.

    values: of the given function at this number of points of each cell, and at the last border. In each cell the line
    is either the chord, raised by the largest difference, or at least the maximum: whichever raises the ends of the
    cell less. Between two points a difference may be larger by half of its change from one to the next.
    """
    inner = np.column_stack([values[:-1].reshape(-1, points), values[points::points]])
    left, right = inner[:, :1], inner[:, -1:]
    fractions = np.arange(points + 1) / points
    above = inner - (left * (1 - fractions) + right * fractions)
    scale = np.abs(inner).max(axis=1)
    above[np.abs(above) < 1e-13 * scale[:, None]] = 0  # rounding
    largest = above.max(axis=1)
    raised = np.where(largest > 0, largest + np.abs(np.diff(above, axis=1)).max(axis=1) / 2, 0)
    top = inner.max(axis=1)
    flat = (top - left[:, 0]) + (top - right[:, 0]) < 2 * raised
    starts, stops = np.where(flat, top, left[:, 0] + raised), np.where(flat, top, right[:, 0] + raised)
    return np.asarray(np.maximum(np.append(starts, -np.inf), np.insert(stops, 0, -np.inf)))


def _evaluate(function: Any, values: FloatArray, column: str | int) -> FloatArray:
    """Return a function of users at values of a column; refuse one that does not return as many numbers."""
    if not callable(function):
        raise MilepostError(f"the function of column {column!r} must be callable, got {function!r}")
    try:
        result = np.asarray(function(values.copy()))
    except Exception as error:  # a function of users may raise anything
        raise MilepostError(
            f"the function of column {column!r} must take an array of the column's values, and raised "
            f"{type(error).__name__}: {error}"
        ) from error
    if result.shape != values.shape or result.dtype.kind not in "biuf":
        raise MilepostError(
            f"the function of column {column!r} must return one number for each value of an array of {len(values)}, "
            f"got an array of {result.dtype} of shape {result.shape}"
        )
    numbers = result.astype(np.float64)
    if not np.isfinite(numbers).all():
        worst = float(values[int(np.argmin(np.isfinite(numbers)))])
        raise MilepostError(
            f"the function of column {column!r} must be finite between its bounds, and is not at {worst:g}"
        )
    return numbers


def _curves(synopsis: ReleasedData) -> Curves:
    """Return the released curves of single columns; refuse other releases."""
    statistic = synopsis.coordinates
    if not isinstance(statistic, Curves):
        raise MilepostError(
            f"a {synopsis.mechanism} release has no law of the noise of single columns, which this answer needs; "
            f"release with one of {', '.join(curve_names())}"
        )
    return statistic


def _cells(synopsis: ReleasedData, column: str | int) -> ColumnCells:
    return ColumnCells(_curves(synopsis), number_coordinate(synopsis, column))


def _label_coordinate(synopsis: ReleasedData, column: str | int, label: Any, high: Any) -> int:
    """Return the embedding coordinate of a label: the only one of its column that is not at its low end there."""
    if high is not None:
        raise MilepostError(f"column {column!r} has labels, which have no order: give one label, and no high")
    space = synopsis.space
    point = list(space.column_values(space.user_point(space.center)))
    point[column_indices(synopsis, [column])[0]] = label
    named = dict(zip(space.names, point, strict=True))
    positions, _, _ = synopsis.read_points(named if space.columns else tuple(point))
    coordinates = column_coordinates(synopsis, [column])
    return coordinates[int(np.argmax(positions[0, coordinates]))]


def _threshold(name: str, value: Any, column: str | int) -> float:
    """Return an end of an interval: a number, or ±∞."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or math.isnan(float(value)):
        raise MilepostError(f"{name} must be a number for column {column!r}, got {value!r}; ±math.inf has no limit")
    return float(value)


def _failure(confidence: float) -> float:
    check_confidence(confidence)
    return 1 - confidence


def _estimate(value: float, low: float, high: float, confidence: float, minimum: float, maximum: float) -> Estimate:
    """Return an estimate in the range that some table could have.

    A value outside is moved to the end of the range together with its interval, which would otherwise be as narrow as
    noise leaves it there, or empty.
    """
    inside = min(max(value, minimum), maximum)
    low, high = (min(max(end + (inside - value), minimum), maximum) for end in (low, high))
    return Estimate(inside, min(low, inside), max(high, inside), confidence)

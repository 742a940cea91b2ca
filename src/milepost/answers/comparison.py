"""Comparison: how far points are from every group, which group is nearest, and whether the noise could tell."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from io import StringIO
from typing import Any

import numpy as np
import pyarrow as pa
import scipy
from rich.box import SIMPLE
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from milepost._typing import AnyArray, BoolArray, FloatArray, IntArray
from milepost.answers.released_data import ReleasedData
from milepost.answers.text import point_text, with_unit
from milepost.errors import MilepostError, warn
from milepost.ingest.dataframes import FrameTemplate
from milepost.ingest.query_points import named_queries, query_points
from milepost.mechanisms.groups import Groups, Label

ONE_SIGMA = math.erf(math.sqrt(0.5))  # how often a normal number is within one standard deviation
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(64)  # of an integral over one group's noise
TIE = 1e-12  # by how much a share is moved so that it is the largest of several equal ones


@dataclass(frozen=True, eq=False)
class Comparison:
    """Points against groups; print it for a table, `arrow()` and `frame()` are ones for programs.

    distance, error: float64[k, groups], with the confidence of each error. seen: bool[groups], whether a group is
    larger than the noise of its count; others are too small to say anything and are never nearest while one is not.
    place: int64[k], of the nearest group. margin: float64[k], by how much it is nearer than the next one.
    flip: float64[k], the probability that noise alone would make another group nearest, if distances were as found.
    like: the frame that the points came in. names: of the points, where they have any.
    """

    labels: tuple[Label, ...]
    asked: list[Any]
    distance: FloatArray
    error: FloatArray
    seen: BoolArray
    nearest_index: IntArray
    margin: FloatArray
    flip: FloatArray
    confidence: float
    unit: str
    like: FrameTemplate | None = None
    names: list[str] | None = None

    @property
    def nearest(self) -> AnyArray:
        """The label of the nearest group of each point."""
        return labels_at(self.labels, self.nearest_index)

    def arrow(self) -> pa.Table:
        """A row a point: the nearest group, margin and flip, then distance and error of every group.

        A column has one type: labels of different types are text there.
        """
        columns: dict[str, Any] = {
            "nearest": pa.array(labels_at(self.labels, self.nearest_index, text=True).tolist()),
            "margin": self.margin,
            "flip": self.flip,
        }
        for k, label in enumerate(self.labels):
            columns |= {f"distance {label}": self.distance[:, k], f"error {label}": self.error[:, k]}
        return pa.table(columns)

    def frame(self) -> Any:
        """The same as a frame of the library that the points came in, with their index; of pandas for other points."""
        return (self.like or FrameTemplate("pandas")).frame(self.arrow().to_pydict())

    def table(self, most: int | None = None) -> Table:
        """The comparison as a rich table, of the first points only where `most` says of how many."""
        table = Table(box=SIMPLE)
        table.add_column("point")
        for label, seen in zip(self.labels, self.seen, strict=True):
            heading = with_unit(f"to {label}", self.unit) if seen else f"to {label} (too small)"
            table.add_column(escape(heading), justify="right")
        for name in ("nearest", "margin", "noise could change it"):
            table.add_column(name, justify="right")
        for i, point in enumerate(self.asked[:most]):
            name = point_text(point) if self.names is None else self.names[i]
            pairs = zip(self.distance[i], self.error[i], self.seen, strict=True)
            cells = [f"{_digits(value, 4)} ± {_digits(error, 2)}" if seen else "–" for value, error, seen in pairs]
            winner = escape(str(self.labels[self.nearest_index[i]]))
            table.add_row(escape(name), *cells, winner, _digits(self.margin[i], 3), _percent(self.flip[i]))
        return table

    def __str__(self) -> str:
        buffer = StringIO()
        Console(file=buffer, width=60 + 20 * len(self.labels)).print(self.table())
        return "\n".join(line.rstrip() for line in buffer.getvalue().splitlines())


def compare_groups(synopsis: ReleasedData, points: Any, names: Sequence[Any] | None = None) -> Comparison:
    """Every point against every group; see `Synopsis.compare`."""
    queries, words, like = named_queries(synopsis.space, points, names, "points")
    if not len(queries):
        raise MilepostError("there are no points to compare; give at least one")
    return replace(compare_queries(synopsis, queries), names=words, like=like)


def compare_queries(synopsis: ReleasedData, queries: AnyArray) -> Comparison:
    """The same of points as the space reads them."""
    groups = synopsis.groups
    places = synopsis.positions(queries)
    distance = np.column_stack([statistic.values(places) for statistic in groups.statistics])
    error, deviation = (_errors(groups, places, level) for level in (synopsis.confidence, ONE_SIGMA))
    seen = seen_groups(groups)
    place, margin = _winners(distance, seen)
    flip = np.clip(1 - _first(distance, deviation, place, seen), 0, 1)
    asked = [synopsis.space.user_point(query) for query in queries]
    return Comparison(
        groups.labels, asked, distance, error, seen, place, margin, flip, synopsis.confidence, synopsis.space.unit
    )


def nearest_groups(synopsis: ReleasedData, points: Any) -> tuple[AnyArray, bool, FrameTemplate | None]:
    """The label of the nearest group of each point, whether it was one single point, and their frame's likeness."""
    groups = synopsis.groups
    batch, single, like = query_points(points, synopsis.space)
    places = synopsis.positions(synopsis.space.read_queries(batch))
    distance = np.column_stack([statistic.values(places) for statistic in groups.statistics])
    return labels_at(groups.labels, _winners(distance, seen_groups(groups))[0]), single, like


def nearest_probabilities(synopsis: ReleasedData, points: Any) -> FloatArray:
    """How likely each group is the nearest, float64[k, groups], if true distances lie around those found as errors say.

    A row sums to 1 and its largest is that of the nearest group as found. Groups that are not seen have 0.
    """
    groups = synopsis.groups
    batch, _, _ = query_points(points, synopsis.space)
    places = synopsis.positions(synopsis.space.read_queries(batch))
    distance = np.column_stack([statistic.values(places) for statistic in groups.statistics])
    deviation, seen = _errors(groups, places, ONE_SIGMA), seen_groups(groups)
    shares = np.zeros_like(distance)
    for k in np.flatnonzero(seen).tolist():
        shares[:, k] = _first(distance, deviation, np.full(len(distance), k), seen)
    return _agreeing(shares / shares.sum(axis=1, keepdims=True), _winners(distance, seen)[0])


def labels_at(labels: tuple[Label, ...], places: IntArray, text: bool = False) -> AnyArray:
    """Labels as an array of their own type; where types are mixed, of objects, or of text."""
    mixed = len({type(label) for label in labels}) > 1
    known = np.array([str(label) for label in labels] if mixed and text else labels, dtype=object if mixed else None)
    result: AnyArray = known[places]
    return result


def seen_groups(groups: Groups) -> BoolArray:
    """Which groups are larger than the noise of their counts; says so when some are not."""
    seen = np.array([statistic.total.seen for statistic in groups.statistics])
    if not seen.all():
        small = ", ".join(repr(label) for label, large in zip(groups.labels, seen, strict=True) if not large)
        rest = "all of them are used" if not seen.any() else "they are passed over"
        warn(f"too small to be told from an empty group: {small}; {rest}")
    return seen if seen.any() else ~seen


def _winners(distance: FloatArray, seen: BoolArray) -> tuple[IntArray, FloatArray]:
    """The nearest group of each point, and by how much."""
    eligible = np.where(seen, distance, np.inf)
    place = np.argmin(eligible, axis=1)
    ordered = np.sort(eligible, axis=1)
    margin = ordered[:, 1] - ordered[:, 0] if distance.shape[1] > 1 else np.full(len(distance), np.inf)
    return place, margin


def _errors(groups: Groups, places: AnyArray, confidence: float) -> FloatArray:
    """Half-widths of every group's answers: float64[k, groups]."""
    widths = [
        np.minimum(statistic.half_widths(places, confidence), statistic.max_error) for statistic in groups.statistics
    ]
    return np.column_stack(widths)


def _first(distance: FloatArray, deviation: FloatArray, place: IntArray, seen: BoolArray) -> FloatArray:
    """The probability that the group at `place` is nearest when every distance gets fresh normal noise."""
    rows = np.arange(len(distance))
    mean, sigma = distance[rows, place], deviation[rows, place]
    result = np.zeros(len(distance))
    for node, weight in zip(NODES.tolist(), (WEIGHTS / WEIGHTS.sum()).tolist(), strict=True):
        at = mean + sigma * node
        beyond = scipy.special.ndtr((distance - at[:, None]) / np.maximum(deviation, 1e-300))
        beyond[rows, place] = 1.0
        result += weight * np.where(seen, beyond, 1.0).prod(axis=1)
    return result


def _agreeing(shares: FloatArray, place: IntArray) -> FloatArray:
    """Shares changed as little as need be (in squares) for the largest of a row to be the one at `place`."""
    result = shares.copy()
    for row in np.flatnonzero(shares.argmax(axis=1) != place).tolist():
        own = result[row]
        order = np.argsort(-own, kind="stable")
        rivals = order[order != place[row]]
        pooled, count = own[place[row]], 1  # with every rival that is above the mean of those before it
        while count <= len(rivals) and own[rivals[count - 1]] > pooled / count:
            pooled, count = pooled + own[rivals[count - 1]], count + 1
        own[rivals[: count - 1]] = pooled / count * (1 - TIE)
        own[place[row]] = pooled / count * (1 + (count - 1) * TIE) + TIE
    result /= result.sum(axis=1, keepdims=True)
    return result


def _digits(number: float, digits: int) -> str:
    """A number with so many digits, as a person writes it."""
    if not 1e-4 <= abs(number) < 1e9:
        return f"{number:.{digits}g}"
    return np.format_float_positional(number, digits, unique=False, fractional=False, trim="-")


def _percent(share: float) -> str:
    return "< 0.1 %" if share < 0.001 else f"{100 * share:.2g} %"

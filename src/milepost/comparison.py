"""Comparison: how far points are from every group, which group is nearest, and whether the noise could tell."""

import math
from dataclasses import dataclass
from io import StringIO
from typing import Any

import numpy as np
import pyarrow as pa
from rich.box import SIMPLE
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from scipy.special import ndtr

from milepost.arrays import AnyArray, BoolArray, FloatArray, IntArray
from milepost.card import labelled
from milepost.data import points as batch_of
from milepost.errors import MilepostError, warn
from milepost.mechanisms.groups import Groups, Label
from milepost.sites import spell
from milepost.synopsis import Synopsis

ONE_SIGMA = math.erf(math.sqrt(0.5))  # how often a normal number is within one standard deviation
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(64)  # of an integral over one group's noise


@dataclass(frozen=True, eq=False)
class Comparison:
    """Points against groups; print it for a table, `arrow()` is one for programs.

    distance, error: float64[k, groups], with the confidence of each error. seen: bool[groups], whether a group is
    larger than the noise of its count; others are too small to say anything and are never nearest while one is not.
    place: int64[k], of the nearest group. margin: float64[k], by how much it is nearer than the next one.
    flip: float64[k], the probability that noise alone would make another group nearest, if distances were as found.
    """

    labels: tuple[Label, ...]
    asked: list[Any]
    distance: FloatArray
    error: FloatArray
    seen: BoolArray
    place: IntArray
    margin: FloatArray
    flip: FloatArray
    confidence: float
    unit: str

    @property
    def nearest(self) -> AnyArray:
        """The label of the nearest group of each point."""
        return labels_at(self.labels, self.place)

    def arrow(self) -> pa.Table:
        """A row a point: the nearest group, margin and flip, then distance and error of every group.

        A column has one type: labels of different types are text there.
        """
        alike = len({type(label) for label in self.labels}) == 1
        labels = self.labels if alike else tuple(map(str, self.labels))
        columns: dict[str, Any] = {
            "nearest": pa.array([labels[k] for k in self.place]),
            "margin": self.margin,
            "flip": self.flip,
        }
        for k, label in enumerate(self.labels):
            columns |= {f"distance {label}": self.distance[:, k], f"error {label}": self.error[:, k]}
        return pa.table(columns)

    def table(self) -> Table:
        """The comparison as a rich table."""
        table = Table(box=SIMPLE)
        table.add_column("point")
        for label, seen in zip(self.labels, self.seen, strict=True):
            heading = labelled(f"to {label}", self.unit) if seen else f"to {label} (too small)"
            table.add_column(escape(heading), justify="right")
        for name in ("nearest", "margin", "noise could change it"):
            table.add_column(name, justify="right")
        for i, point in enumerate(self.asked):
            pairs = zip(self.distance[i], self.error[i], self.seen, strict=True)
            cells = [f"{value:.4g} ± {error:.2g}" if seen else "–" for value, error, seen in pairs]
            winner = escape(str(self.labels[self.place[i]]))
            table.add_row(escape(spell(point)), *cells, winner, f"{self.margin[i]:.3g}", _percent(self.flip[i]))
        return table

    def __str__(self) -> str:
        buffer = StringIO()
        Console(file=buffer, width=60 + 20 * len(self.labels)).print(self.table())
        return "\n".join(line.rstrip() for line in buffer.getvalue().splitlines())


def compare_groups(synopsis: Synopsis, points: Any) -> Comparison:
    """Every point against every group; see `Synopsis.compare`."""
    groups = grouped(synopsis)
    batch, _, _ = batch_of(points, synopsis.space)
    queries = synopsis.space.read_queries(batch)
    if not len(queries):
        raise MilepostError("there are no points to compare; give at least one")
    places = synopsis.places(queries)
    distance = np.column_stack([answerer.values(places) for answerer in groups.answerers])
    error, deviation = (
        np.column_stack(
            [np.minimum(answerer.half_widths(places, level), answerer.most) for answerer in groups.answerers]
        )
        for level in (synopsis.confidence, ONE_SIGMA)
    )
    seen = seen_groups(groups)
    place, margin = _winners(distance, seen)
    flip = _flips(distance, deviation, place, seen)
    asked = [synopsis.space.written(query) for query in queries]
    return Comparison(
        groups.labels, asked, distance, error, seen, place, margin, flip, synopsis.confidence, synopsis.space.unit
    )


def nearest_groups(synopsis: Synopsis, points: Any) -> tuple[AnyArray, bool, Any]:
    """The label of the nearest group of each point, whether it was one single point, and a pandas index."""
    groups = grouped(synopsis)
    batch, single, index = batch_of(points, synopsis.space)
    places = synopsis.places(synopsis.space.read_queries(batch))
    distance = np.column_stack([answerer.values(places) for answerer in groups.answerers])
    return labels_at(groups.labels, _winners(distance, seen_groups(groups))[0]), single, index


def grouped(synopsis: Synopsis) -> Groups:
    """The groups of a release that has some."""
    if not isinstance(synopsis.answerer, Groups):
        raise MilepostError("this release has no groups; make one with groups='column' and labels=[…]")
    return synopsis.answerer


def labels_at(labels: tuple[Label, ...], places: IntArray) -> AnyArray:
    """Labels as an array of their own type; of objects where they are mixed."""
    alike = len({type(label) for label in labels}) == 1
    known = np.array(labels) if alike else np.array(labels, dtype=object)
    result: AnyArray = known[places]
    return result


def seen_groups(groups: Groups) -> BoolArray:
    """Which groups are larger than the noise of their counts; says so when some are not."""
    seen = np.array([answerer.total.seen for answerer in groups.answerers])
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


def _flips(distance: FloatArray, deviation: FloatArray, place: IntArray, seen: BoolArray) -> FloatArray:
    """One less the probability that the winner stays first when every distance gets fresh normal noise."""
    rows = np.arange(len(distance))
    mean, sigma = distance[rows, place], deviation[rows, place]
    stays = np.zeros(len(distance))
    for node, weight in zip(NODES.tolist(), (WEIGHTS / WEIGHTS.sum()).tolist(), strict=True):
        at = mean + sigma * node
        beyond = ndtr((distance - at[:, None]) / np.maximum(deviation, 1e-300))
        beyond[rows, place] = 1.0
        stays += weight * np.where(seen, beyond, 1.0).prod(axis=1)
    return np.clip(1 - stays, 0, 1)


def _percent(share: float) -> str:
    return "< 0.1 %" if share < 0.001 else f"{100 * share:.2g} %"

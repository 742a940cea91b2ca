"""find_bounds: a private release of its own, for columns whose bounds nobody knows. docs/proofs/bounds.md."""

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from milepost._typing import FloatArray, IntArray
from milepost.errors import MilepostError, warn
from milepost.ingest import batches as tables
from milepost.ingest.aggregation import NO_ROW_COLUMNS
from milepost.ingest.batches import Columns
from milepost.ingest.column_selection import ColumnSelection
from milepost.ingest.geopandas import to_columns
from milepost.ingest.row_attributes import Role, RowColumns
from milepost.ingest.stream import Stream
from milepost.pipeline.open_table import is_spark_frame, open_table
from milepost.privacy.accounting.ledger import Ledger, spending
from milepost.privacy.guarantee import Guarantee
from milepost.privacy.noise import laplace, laplace_tail
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.bounds_provenance import BoundsProvenance
from milepost.spaces.lp import L1, L2
from milepost.statistics.magnitudes import MAX_VALUE, MIN_VALUE, SUBCELLS, Magnitudes, octave_borders

TOTAL_SHARE = 0.05  # of ε, for the number of rows; columns share the rest equally, and each halves its part
ROUGH_FAILURE = 5e-4  # that noise alone widens a range of powers of two, which would be by far too wide
FINE_FAILURE = 0.05  # that noise alone moves an end within that range
MAX_COLUMNS = 1 << 12  # as L2 has them: a space that cannot be built is refused before ε is spent
NEAR_ZERO = 16  # an end of the rough range that is nearer to 0 by this factor than the other is 0


def find_bounds(
    data: Any,
    columns: Columns = None,
    *,
    epsilon: float,
    neighbors: str = "replace",
    unit: Role = None,
    contributions: int = 1,
    metric: type[L1] | type[L2] = L1,
    coverage: float = 0.99,
    ledger: Ledger | None = None,
    dataset: str | None = None,
) -> L1 | L2:
    """A space with bounds that were found in the private table itself; spends epsilon, with delta = 0.

    The space is public afterwards, and its `found` says what it cost, which adds to whatever is released in it.

    data: as for `release`. columns: which of its columns to use, all by default; they must hold numbers. Infinite
    values count as very large ones.
    neighbors, unit, contributions: who is protected, as for `release`.
    metric: `L1` or `L2`.
    coverage: the share of the rows that each column's bounds should hold, roughly, with tails cut on both sides.
    ledger, dataset: the ledger that epsilon is charged to before the table is read, and the name of the budget.

    Guarantee: the bounds, and all noisy numbers behind them, are epsilon-differentially private.

    >>> import milepost as mp
    >>> ages = np.random.default_rng(0).integers(18, 91, 200_000)
    >>> space = mp.find_bounds(ages, epsilon=1)
    >>> space.low[0] < 20, 88 < space.high[0], space.found
    (True, True, BoundsProvenance(epsilon=1.0, neighbors='replace', columns=1, unit=None, contributions=1))
    """
    roles = RowColumns(unit=unit, contributions=contributions)
    guarantee, change = Guarantee(epsilon), roles.change(neighbors)
    if metric not in (L1, L2):
        raise MilepostError(f"metric must be mp.L1 or mp.L2, got {metric!r}")
    if isinstance(coverage, bool) or not isinstance(coverage, int | float) or not 0.5 <= coverage < 1:
        raise MilepostError(f"coverage must be a share of the rows, at least 0.5 and less than 1, got {coverage!r}")
    with spending(ledger, dataset, guarantee, "bounds", protects=change.protects) as charge:
        table = tables.open_stream(data) if unit is None else tables.rereadable(data)
        names, magnitudes = read_magnitudes(table, columns, roles)
        scales = Scales.of(guarantee, change, magnitudes.columns)
        charge.drawn()
        search = Search.run(magnitudes, scales, coverage)
    _say(search, names or tuple(map(str, range(magnitudes.columns))), guarantee)
    pairs = [reading.bounds for reading in search.columns]
    found = BoundsProvenance(guarantee.epsilon, change.neighbors, magnitudes.columns, change.unit, contributions)
    return metric(pairs if names is None else dict(zip(names, pairs, strict=True)), found=found)


def read_magnitudes(
    data: Any, columns: Columns = None, roles: RowColumns = NO_ROW_COLUMNS
) -> tuple[tuple[str, ...] | None, Magnitudes]:
    """Column names (None: by position) and the exact statistic of a table; bad rows are refused, nothing is spent."""
    placed = to_columns(data, L1([(0, 1), (0, 1)]))
    if placed is not data:
        data, roles = placed, roles.taken(data)
    names, width = _frame_columns(data, columns, roles) if is_spark_frame(data) else _columns(data, columns, roles)
    if names is not None and len(set(names)) < len(names):
        raise MilepostError(f"columns must be different ones, each with a name of its own, got {list(names)}")
    if width > MAX_COLUMNS:
        raise MilepostError(f"at most {MAX_COLUMNS} columns are supported, got {width}")
    ends = (-(2.0**MAX_VALUE), 2.0**MAX_VALUE)  # values outside are in the outermost cells either way
    everything = L1([ends] * width if names is None else dict.fromkeys(names, ends))
    return names, open_table(data, everything, roles.change("replace"), columns, roles, stream=True).magnitudes()


def _columns(data: Any, columns: Columns, roles: RowColumns) -> tuple[tuple[str, ...] | None, int]:
    """Names (None: by position) and number of a table's columns."""
    head = data.head() if isinstance(data, Stream) else data
    first, _ = next(tables.batches_with_cells(head, columns, beside=roles.extra_columns), (None, None))
    if first is None or not first.shape[1]:
        raise MilepostError("the table is empty; at least one row and one column are needed")
    return None if isinstance(first, np.ndarray) else tuple(first.schema.names), first.shape[1]


def _frame_columns(frame: Any, columns: Columns, roles: RowColumns) -> tuple[tuple[str, ...], int]:
    """Those of a Spark frame."""
    asked = [columns] if isinstance(columns, str | int) else columns
    positions = ColumnSelection(asked, extra=roles.extra_columns).points(frame.columns)
    return tuple(frame.columns[position] for position in positions), len(positions)


@dataclass(frozen=True)
class Scales:
    """Scales of the discrete Laplace noise on the number of rows and on each count of a column's two histograms."""

    total: float
    counts: float

    @classmethod
    def of(cls, guarantee: Guarantee, change: ProtectedChange, columns: int) -> "Scales":
        """One row is in one cell of a histogram: replaced, it leaves that one and enters another."""
        moved = (2 if change.replaces else 1) * change.contributions  # (S)
        each = guarantee.epsilon * (1 - TOTAL_SHARE) / columns / 2
        return cls(_up(change.contributions / (guarantee.epsilon * TOTAL_SHARE)), _up(moved / each))


@dataclass(frozen=True)
class Grid:
    """Public borders: of the rough histogram, and how many cells the fine one has from end to end, about."""

    rough: FloatArray = field(default_factory=octave_borders)
    cells: int = SUBCELLS

    def fine(self, low: float, high: float) -> FloatArray:
        """Multiples of a power of two from `low` or just below to `high` or just above, all borders of `Magnitudes`."""
        power = max(MIN_VALUE, math.ceil(math.log2((high - low) / self.cells)))
        first, last = math.floor(math.ldexp(low, -power)), math.ceil(math.ldexp(high, -power))
        return np.ldexp(np.arange(first, last + 1, dtype=np.float64), power)


@dataclass(frozen=True, eq=False)
class ColumnSearch:
    """One column: its noisy histograms, their borders, and the bounds that were read from them."""

    rough: IntArray
    borders: FloatArray
    fine: IntArray
    bounds: tuple[float, float]

    @property
    def blind(self) -> bool:
        """Whether the rough histogram showed nothing, so that the bounds are those of the whole grid."""
        return not len(self.fine)


@dataclass(frozen=True, eq=False)
class Search:
    """All noisy numbers of one release, and what was read from them.

    Input: `Magnitudes`. Output: this object. Guarantee: ε-differentially private for the ε and change of its scales.
    """

    total: int
    columns: tuple[ColumnSearch, ...]
    hides: float  # rows in one power of two that noise may hide
    outside: float  # rows that coverage lets lie outside of a column's bounds

    @classmethod
    def run(cls, magnitudes: Magnitudes, scales: Scales, coverage: float, grid: Grid | None = None) -> "Search":
        """Spend the budget of the scales."""
        grid = Grid() if grid is None else grid
        total = int(laplace(np.array([magnitudes.total]), scales.total)[0])  # (T)
        outside = (1 - coverage) * max(total, 1)
        columns = tuple(_read(magnitudes, i, scales.counts, outside / 2, grid) for i in range(magnitudes.columns))
        return cls(total, columns, hidden_count(scales.counts, len(grid.rough) - 1, ROUGH_FAILURE), outside)


def _read(magnitudes: Magnitudes, column: int, scale: float, tail: float, grid: Grid) -> ColumnSearch:
    """Powers of two first, then equal cells between those that were found; tail: rows to cut on either side."""
    rough = laplace(magnitudes.between(column, grid.rough), scale)  # (R)
    found = signal_range(rough, scale, tail, ROUGH_FAILURE, int(np.searchsorted(grid.rough, 0)))
    if found is None:
        whole = float(grid.rough[0]), float(grid.rough[-1])
        return ColumnSearch(rough, grid.rough[:0], rough[:0], whole)
    borders = grid.fine(*_toward_zero(float(grid.rough[found[0]]), float(grid.rough[found[1]])))
    fine = laplace(magnitudes.between(column, borders), scale)  # (F)
    # where noise hides more than a tail, bounds go beyond what is seen
    spread = hidden_count(scale, len(fine), FINE_FAILURE) / (4 * tail)
    low, high = signal_range(fine, scale, tail, FINE_FAILURE, int(np.searchsorted(borders, 0)), spread) or (
        0,
        len(fine),
    )
    return ColumnSearch(rough, borders, fine, (float(borders[low]), float(borders[high])))


def _toward_zero(low: float, high: float) -> tuple[float, float]:
    """The range down to 0 where that hardly widens it."""
    return (0.0 if 0 < low * NEAR_ZERO <= high else low), (0.0 if low <= high * NEAR_ZERO < 0 else high)


def _say(search: Search, names: tuple[str, ...], guarantee: Guarantee) -> None:
    """Warn, from noisy numbers only, where noise hides more rows than may lie outside."""
    more = search.hides / search.outside
    wanted = max(more, 2.0)
    remedy = (
        f"about {max(search.total, 1) * wanted:,.0f} rows, or epsilon = {guarantee.epsilon * wanted:.2g}, would do; "
        "fewer columns and a smaller coverage help, too"
    )
    blind = [name for name, column in zip(names, search.columns, strict=True) if column.blind]
    if blind:
        warn(
            f"no bounds were found for {', '.join(map(repr, blind))}: noise hides up to {search.hides:,.0f} rows of a "
            f"size. The bounds given are those of all numbers that are looked at, and of little use; {remedy}"
        )
    elif more > 1:
        warn(
            f"the table is small for epsilon = {guarantee.epsilon:g}: noise hides up to {search.hides:,.0f} rows of a "
            f"size, and only {search.outside:,.0f} may lie outside. Bounds may hold fewer rows, or be wide; {remedy}"
        )


def _up(scale: float) -> float:
    """Rounded up, by more than the error of the few float operations behind it."""
    return math.nextafter(scale * (1 + 1e-12), math.inf)


def signal_range(
    noisy: IntArray, scale: float, tail: float, failure: float, zero: int, spread: float = 0.0
) -> tuple[int, int] | None:
    """The first cell and the one after the last: about `tail` records, or what noise hides, lie beyond either end.

    noisy: counts with discrete Laplace noise of this scale each. None: no cell can be told from an empty one.
    failure: the probability with which noise alone moves an end. zero: the cell that starts at 0, which no end passes
    unless something is seen beyond. spread: how much wider than what is seen the ends are, as a share of its width.
    """
    found = detected_range(noisy, scale, failure / 2)
    if found is None:
        return None
    first, last, low, high = found
    more = math.ceil(min(spread * (high - low), len(noisy)))
    low, high = max(low - more, 0), min(high + more, len(noisy))
    low = max(low, zero) if first >= zero else low
    high = min(high, zero) if last <= zero else high
    inside = noisy[low:high]
    spared = [_spared(side, scale, tail, failure / 4) for side in (inside, inside[::-1])]
    return (low + spared[0], high - spared[1]) if sum(spared) < len(inside) else (low, high)


def detected_range(noisy: IntArray, scale: float, failure: float) -> tuple[int, int, int, int] | None:
    """The hull of the shortest windows whose noisy counts cannot be noise alone, and the same with as much around each.

    Windows of 1, 2, 4 … cells; one that holds a shorter one says nothing new. Ends of the second hull may lie outside.
    """
    count = len(noisy)
    known = np.zeros(count, dtype=bool)
    low, high = count, 0
    for length in _lengths(count):
        starts = np.arange(0, count, length)
        shown = np.add.reduceat(noisy, starts) > _limit(scale, count, length, failure)
        for start in starts[shown & ~np.logical_or.reduceat(known, starts)].tolist():
            known[start : start + length] = True
            low, high = min(low, start - length), max(high, start + 2 * length)
    if not known.any():
        return None
    places = np.flatnonzero(known)
    return int(places[0]), int(places[-1]) + 1, low, high


def hidden_count(scale: float, count: int, failure: float) -> float:
    """How many records one of `count` cells must have, at least, so that `ends` is likely to see it."""
    return _limit(scale, count, 1, failure / 2)


def _lengths(count: int) -> list[int]:
    return [1 << k for k in range(count.bit_length())]


def _limit(scale: float, count: int, length: int, failure: float) -> float:
    """What no window of this length passes by noise alone; all windows of all lengths share the failure."""
    return laplace_sum_tail(scale, length, failure / len(_lengths(count)) / math.ceil(count / length))


def _spared(noisy: IntArray, scale: float, tail: float, failure: float) -> int:
    """How many cells, from the first on, hold at most `tail` records together, unless with this probability."""
    margins = laplace_sum_tails(scale, len(noisy), failure / len(noisy))
    beyond = np.flatnonzero(np.cumsum(noisy) + margins > tail)
    return int(beyond[0]) if len(beyond) else 0


def laplace_sum_tail(scale: float, count: int, failure: float) -> float:
    """A number that the sum of `count` discrete Laplace draws passes with at most this probability."""
    if count == 1:
        return float(laplace_tail(scale, 2 * failure))
    return float(laplace_sum_tails(scale, count, failure)[-1])


@lru_cache(maxsize=256)
def laplace_sum_tails(scale: float, most: int, failure: float) -> FloatArray:
    """The same for 1, 2, … `most` draws, by Chernoff's bound: min over λ of (count·ln E[e^{λX}] − ln failure)/λ.

    E[e^{λX}] = (1 − r)²/((1 − re^λ)(1 − re^{−λ})), r = e^{−1/scale}, for λ < 1/scale.
    """
    rate = (1 - np.geomspace(1, 1e-3, 200)[1:]) / scale
    r = math.exp(-1 / scale)
    moment = 2 * math.log1p(-r) - np.log1p(-np.exp(rate - 1 / scale)) - np.log1p(-np.exp(-rate - 1 / scale))
    counts = np.arange(1, most + 1)[:, None]
    result = np.asarray(np.min((counts * moment - math.log(failure)) / rate, axis=1))
    result.setflags(write=False)
    return result

"""Private bounds of columns: `find_bounds`, its noisy histograms and how they are read. docs/proofs/bounds.md."""

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from milepost._typing import FloatArray, IntArray
from milepost.errors import MilepostError, warn
from milepost.ingest import batches as tables
from milepost.ingest.batches import Columns
from milepost.ingest.column_selection import ColumnSelection
from milepost.ingest.geopandas import to_columns
from milepost.ingest.row_attributes import Role, RowColumns
from milepost.ingest.stream import Stream
from milepost.ingest.table import NO_ROW_COLUMNS
from milepost.pipeline.open_table import is_spark_frame, open_table
from milepost.privacy.accounting.ledger import Ledger, spending
from milepost.privacy.guarantee import Guarantee
from milepost.privacy.noise import laplace, laplace_tail
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.bounds_provenance import BoundsProvenance
from milepost.spaces.lp import L1, L2
from milepost.statistics.magnitudes import MAX_VALUE, MIN_VALUE, SUBCELLS, Magnitudes, octave_borders

TOTAL_SHARE = 0.05  # of ε, for the number of rows; columns share the rest equally, and each halves its part
ROUGH_FAILURE = 5e-4  # probability that noise alone widens a range of powers of two, which would be far too wide
FINE_FAILURE = 0.05  # probability that noise alone moves an end within that range
MAX_COLUMNS = 1 << 12  # as L2 has them: a space that cannot be built is refused before ε is spent
NEAR_ZERO = 16  # an end of the rough range that is nearer to 0 by this factor than the other is 0


def find_bounds(
    data: Any,
    columns: Columns = None,
    *,
    epsilon: float,
    neighbors: str = "replace",
    privacy_unit: Role = None,
    contributions: int = 1,
    metric: type[L1] | type[L2] = L1,
    coverage: float = 0.99,
    ledger: Ledger | None = None,
    dataset: str | None = None,
) -> L1 | L2:
    """Return a space whose bounds come from the private table itself; spends epsilon, with delta = 0.

    The bounds, and all noisy numbers behind them, are epsilon-differentially private: the space is public afterwards.
    Its `bounds_provenance` holds what it cost, which adds to the cost of any release in it.

    Parameters
    ----------
    data : table
        As for `release`.
    columns : list of str or int, optional
        Which of its columns to use, all by default. They must hold numbers; infinite values count as very large ones.
    epsilon : float
        The privacy budget that is spent.
    neighbors, privacy_unit, contributions
        Who is protected, as for `release`.
    metric : type
        `L1` or `L2`.
    coverage : float
        Roughly the share of the rows that the bounds of each column should hold, with tails cut on both sides.
    ledger, dataset : Ledger, str
        The ledger that epsilon is charged to before the table is read, and the name of the budget.

    Returns
    -------
    L1 or L2
        The space of these columns, for `release` and `interactive`.

    Raises
    ------
    MilepostError
        If the table cannot be read. Nothing is spent then.

    Examples
    --------
    >>> import milepost as mp
    >>> ages = np.random.default_rng(0).integers(18, 91, 200_000)
    >>> space = mp.find_bounds(ages, epsilon=1)
    >>> space.low[0] < 20, 88 < space.high[0], space.bounds_provenance
    (True, True, BoundsProvenance(epsilon=1.0, neighbors='replace', columns=1, privacy_unit=None, contributions=1))
    """
    row_columns = RowColumns(privacy_unit=privacy_unit, contributions=contributions)
    guarantee, change = Guarantee(epsilon), row_columns.change(neighbors)
    if metric not in (L1, L2):
        raise MilepostError(f"metric must be mp.L1 or mp.L2, got {metric!r}")
    if isinstance(coverage, bool) or not isinstance(coverage, int | float) or not 0.5 <= coverage < 1:
        raise MilepostError(f"coverage must be a share of the rows, at least 0.5 and less than 1, got {coverage!r}")
    with spending(ledger, dataset, guarantee, "bounds", protects=change.protects) as charge:
        table = tables.open_stream(data) if privacy_unit is None else tables.rereadable(data)
        names, magnitudes = read_magnitudes(table, columns, row_columns)
        scales = Scales.of(guarantee, change, magnitudes.columns)
        charge.drawn()
        search = Search.run(magnitudes, scales, coverage)
    _warn_if_hidden(search, names or tuple(map(str, range(magnitudes.columns))), guarantee)
    pairs = [column.bounds for column in search.columns]
    provenance = BoundsProvenance(
        guarantee.epsilon, change.neighbors, magnitudes.columns, change.privacy_unit, contributions
    )
    return metric(pairs if names is None else dict(zip(names, pairs, strict=True)), bounds_provenance=provenance)


def read_magnitudes(
    data: Any, columns: Columns = None, row_columns: RowColumns = NO_ROW_COLUMNS
) -> tuple[tuple[str, ...] | None, Magnitudes]:
    """Return a table's column names (None: by position) and exact statistic; refuse bad rows, spend nothing."""
    coordinates = to_columns(data, L1([(0, 1), (0, 1)]))  # of a GeoPandas frame
    if coordinates is not data:
        data, row_columns = coordinates, row_columns.with_columns_of(data)
    read_columns = _frame_columns if is_spark_frame(data) else _columns
    names, width = read_columns(data, columns, row_columns)
    if names is not None and len(set(names)) < len(names):
        raise MilepostError(f"columns must have different names, got {list(names)}")
    if width > MAX_COLUMNS:
        raise MilepostError(f"at most {MAX_COLUMNS} columns are supported, got {width}")
    ends = (-(2.0**MAX_VALUE), 2.0**MAX_VALUE)  # values outside are in the outermost cells either way
    space = L1([ends] * width if names is None else dict.fromkeys(names, ends))
    return names, open_table(data, space, row_columns.change("replace"), columns, row_columns, stream=True).magnitudes()


def _columns(data: Any, columns: Columns, row_columns: RowColumns) -> tuple[tuple[str, ...] | None, int]:
    """Return the names (None: by position) and the number of a table's columns."""
    head = data.head() if isinstance(data, Stream) else data
    first = next(tables.batches(head, ColumnSelection(columns, extra=row_columns.extra_columns)), None)
    if first is None or not first.shape[1]:
        raise MilepostError("the table is empty; at least one row and one column are needed")
    return None if isinstance(first, np.ndarray) else tuple(first.schema.names), first.shape[1]


def _frame_columns(frame: Any, columns: Columns, row_columns: RowColumns) -> tuple[tuple[str, ...], int]:
    """Return the names and the number of a Spark frame's columns."""
    positions = ColumnSelection(columns, extra=row_columns.extra_columns).points(frame.columns)
    return tuple(frame.columns[position] for position in positions), len(positions)


@dataclass(frozen=True)
class Scales:
    """Scales of the discrete Laplace noise on the number of rows and on each count of a column's two histograms."""

    total: float
    counts: float

    @classmethod
    def of(cls, guarantee: Guarantee, change: ProtectedChange, columns: int) -> "Scales":
        """Return the scales that spend the guarantee.

        A row is in one cell of a histogram: replaced, it leaves that cell and enters another.
        """
        sensitivity = (2 if change.replaces else 1) * change.contributions  # (S)
        histogram_epsilon = guarantee.epsilon * (1 - TOTAL_SHARE) / columns / 2
        return cls(
            _round_up(change.contributions / (guarantee.epsilon * TOTAL_SHARE)),
            _round_up(sensitivity / histogram_epsilon),
        )


@dataclass(frozen=True)
class Grid:
    """Public borders of the rough histogram, and about how many cells the fine one has."""

    rough: FloatArray = field(default_factory=octave_borders)
    cells: int = SUBCELLS

    def fine(self, low: float, high: float) -> FloatArray:
        """Return multiples of a power of two that span `low` to `high`, all of them borders of `Magnitudes`."""
        power = max(MIN_VALUE, math.ceil(math.log2((high - low) / self.cells)))
        first, last = math.floor(math.ldexp(low, -power)), math.ceil(math.ldexp(high, -power))
        return np.ldexp(np.arange(first, last + 1, dtype=np.float64), power)


@dataclass(frozen=True, eq=False)
class ColumnSearch:
    """The noisy histograms of one column, their borders, and the bounds read from them."""

    rough: IntArray
    borders: FloatArray
    fine: IntArray
    bounds: tuple[float, float]

    @property
    def undetected(self) -> bool:
        """Return whether the rough histogram shows no signal, so that the bounds are those of the grid."""
        return not len(self.fine)


@dataclass(frozen=True, eq=False)
class Search:
    """All noisy numbers of one release, and the bounds read from them.

    Input: `Magnitudes`. Output: this object. Guarantee: ε-differentially private for the ε and change of its scales.
    """

    total: int
    columns: tuple[ColumnSearch, ...]
    hidden_rows: float  # rows in one power of two that noise may hide
    rows_outside: float  # rows that coverage lets lie outside of a column's bounds

    @classmethod
    def run(cls, magnitudes: Magnitudes, scales: Scales, coverage: float, grid: Grid | None = None) -> "Search":
        """Draw all noise, which spends the budget of the scales."""
        grid = Grid() if grid is None else grid
        total = int(laplace(np.array([magnitudes.total]), scales.total)[0])  # (T)
        outside = (1 - coverage) * max(total, 1)
        columns = tuple(
            _search_column(magnitudes, i, scales.counts, outside / 2, grid) for i in range(magnitudes.columns)
        )
        return cls(total, columns, hidden_count(scales.counts, len(grid.rough) - 1, ROUGH_FAILURE), outside)


def _search_column(magnitudes: Magnitudes, column: int, scale: float, tail: float, grid: Grid) -> ColumnSearch:
    """Search powers of two first, then equal cells within their range. tail: rows to cut on either side."""
    rough = laplace(magnitudes.between(column, grid.rough), scale)  # (R)
    octaves = signal_range(rough, scale, tail, ROUGH_FAILURE, int(np.searchsorted(grid.rough, 0)))
    if octaves is None:
        bounds = float(grid.rough[0]), float(grid.rough[-1])
        return ColumnSearch(rough, grid.rough[:0], rough[:0], bounds)
    borders = grid.fine(*_toward_zero(float(grid.rough[octaves[0]]), float(grid.rough[octaves[1]])))
    fine = laplace(magnitudes.between(column, borders), scale)  # (F)
    # where noise hides more than a tail, bounds go beyond the detected cells
    spread = hidden_count(scale, len(fine), FINE_FAILURE) / (4 * tail)
    low, high = signal_range(fine, scale, tail, FINE_FAILURE, int(np.searchsorted(borders, 0)), spread) or (
        0,
        len(fine),
    )
    return ColumnSearch(rough, borders, fine, (float(borders[low]), float(borders[high])))


def _toward_zero(low: float, high: float) -> tuple[float, float]:
    """Return the range, extended to 0 where that hardly widens it."""
    return (0.0 if 0 < low * NEAR_ZERO <= high else low), (0.0 if low <= high * NEAR_ZERO < 0 else high)


def _warn_if_hidden(search: Search, names: tuple[str, ...], guarantee: Guarantee) -> None:
    """Warn where noise hides more rows than may lie outside; reads noisy numbers only."""
    ratio = search.hidden_rows / search.rows_outside
    factor = max(ratio, 2.0)
    remedy = (
        f"about {max(search.total, 1) * factor:,.0f} rows, or epsilon = {guarantee.epsilon * factor:.2g}, would do; "
        "fewer columns and a smaller coverage help, too"
    )
    undetected = [name for name, column in zip(names, search.columns, strict=True) if column.undetected]
    if undetected:
        warn(
            f"no bounds were found for {', '.join(map(repr, undetected))}: noise hides up to {search.hidden_rows:,.0f} "
            f"rows of a size. The bounds given are those of all numbers that are looked at, and of little use; {remedy}"
        )
    elif ratio > 1:
        warn(
            f"the table is small for epsilon = {guarantee.epsilon:g}: noise hides up to {search.hidden_rows:,.0f} rows "
            f"of a size, and only {search.rows_outside:,.0f} may lie outside. Bounds may hold fewer rows, or be wide; "
            f"{remedy}"
        )


def _round_up(scale: float) -> float:
    """Round a scale up by more than the error of the few float operations behind it."""
    return math.nextafter(scale * (1 + 1e-12), math.inf)


def signal_range(
    noisy: IntArray, scale: float, tail: float, failure: float, zero: int, spread: float = 0.0
) -> tuple[int, int] | None:
    """Return the first cell and the one after the last; about `tail` records, or what noise hides, lie beyond either.

    noisy: counts with discrete Laplace noise of this scale each. None: no cell differs from an empty one.
    failure: the probability that noise alone moves an end. zero: the cell that starts at 0, which no end passes
    unless a cell beyond it is detected. spread: how much wider than the detected range the result is, as a share.
    """
    detected = detected_range(noisy, scale, failure / 2)
    if detected is None:
        return None
    first, last, low, high = detected
    margin = math.ceil(min(spread * (high - low), len(noisy)))
    low, high = max(low - margin, 0), min(high + margin, len(noisy))
    low = max(low, zero) if first >= zero else low
    high = min(high, zero) if last <= zero else high
    inside = noisy[low:high]
    tails = [_tail_cells(side, scale, tail, failure / 4) for side in (inside, inside[::-1])]
    return (low + tails[0], high - tails[1]) if sum(tails) < len(inside) else (low, high)


def detected_range(noisy: IntArray, scale: float, failure: float) -> tuple[int, int, int, int] | None:
    """Return the hull of the shortest windows that hold more than noise, and the hull with as much around each.

    Windows have 1, 2, 4 … cells; one that contains a detected shorter one adds nothing. The second hull may extend
    beyond the histogram.
    """
    count = len(noisy)
    detected = np.zeros(count, dtype=bool)
    low, high = count, 0
    for length in _lengths(count):
        starts = np.arange(0, count, length)
        above_limit = np.add.reduceat(noisy, starts) > _limit(scale, count, length, failure)
        for start in starts[above_limit & ~np.logical_or.reduceat(detected, starts)].tolist():
            detected[start : start + length] = True
            low, high = min(low, start - length), max(high, start + 2 * length)
    if not detected.any():
        return None
    cells = np.flatnonzero(detected)
    return int(cells[0]), int(cells[-1]) + 1, low, high


def hidden_count(scale: float, count: int, failure: float) -> float:
    """Return how many records one of `count` cells needs for `signal_range` to detect it probably."""
    return _limit(scale, count, 1, failure / 2)


def _lengths(count: int) -> list[int]:
    return [1 << k for k in range(count.bit_length())]


def _limit(scale: float, count: int, length: int, failure: float) -> float:
    """Return what no window of this length passes by noise alone; all windows of all lengths share the failure."""
    return laplace_sum_tail(scale, length, failure / len(_lengths(count)) / math.ceil(count / length))


def _tail_cells(noisy: IntArray, scale: float, tail: float, failure: float) -> int:
    """Return how many first cells hold at most `tail` records together, except with probability `failure`."""
    margins = laplace_sum_tails(scale, len(noisy), failure / len(noisy))
    beyond = np.flatnonzero(np.cumsum(noisy) + margins > tail)
    return int(beyond[0]) if len(beyond) else 0


def laplace_sum_tail(scale: float, count: int, failure: float) -> float:
    """Return a number that the sum of `count` discrete Laplace draws passes with at most this probability."""
    if count == 1:
        return float(laplace_tail(scale, 2 * failure))
    return float(laplace_sum_tails(scale, count, failure)[-1])


@lru_cache(maxsize=256)
def laplace_sum_tails(scale: float, max_count: int, failure: float) -> FloatArray:
    """Return the limits of `laplace_sum_tail` for 1, 2, … `max_count` draws, by Chernoff's bound.

    Each is the minimum over λ of (count·ln E[e^{λX}] − ln failure)/λ.

    E[e^{λX}] = (1 − r)²/((1 − re^λ)(1 − re^{−λ})), r = e^{−1/scale}, for λ < 1/scale.
    """
    rate = (1 - np.geomspace(1, 1e-3, 200)[1:]) / scale
    r = math.exp(-1 / scale)
    moment = 2 * math.log1p(-r) - np.log1p(-np.exp(rate - 1 / scale)) - np.log1p(-np.exp(-rate - 1 / scale))
    counts = np.arange(1, max_count + 1)[:, None]
    result = np.asarray(np.min((counts * moment - math.log(failure)) / rate, axis=1))
    result.setflags(write=False)
    return result

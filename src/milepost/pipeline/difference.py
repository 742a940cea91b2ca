"""difference and drift: how far apart tables are, from their releases. Nothing private is read or spent."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from milepost.answers.energy_distance import ComparedTables, energy_distance
from milepost.answers.released_data import ReleasedData
from milepost.errors import MilepostError
from milepost.ingest.aggregation import read_sketch
from milepost.ingest.batches import Columns
from milepost.mechanisms.base import check_confidence
from milepost.mechanisms.coordinate.cell_shares import CellShares
from milepost.mechanisms.coordinate.curves import Curves
from milepost.spaces.base import Space
from milepost.spaces.embeddings.embedding import QUANTUM_BITS, Embedding
from milepost.synopsis.difference import Difference, Drift
from milepost.synopsis.serialization import load

SUFFIX = ".milepost"  # of released files; other paths are public tables
FREE_FIELDS = ("directions", "bounds_provenance")  # of a space, in which two releases may differ


def difference(
    left: Any,
    right: Any,
    *,
    confidence: float = 0.95,
    columns: Columns = None,
    names: Sequence[str] = ("first", "second"),
) -> Difference:
    """Return the energy distance between two tables, from what was released of them; this costs no privacy.

    Parameters
    ----------
    left, right : Synopsis, path or table
        Two releases of the same space, or files of these, whose names end in ``.milepost``. Groups of a release are
        compared as ``mp.difference(synopsis.group("a"), synopsis.group("b"))``. One of both may be a public table, as
        `milepost.release` takes it. Releases may have different numbers of directions.
    confidence : float, default 0.95
        The confidence of the interval.
    columns : list of str or int, optional
        The columns of the points in a public table.
    names : sequence of str
        The names of both tables, for reports.

    Returns
    -------
    Difference
        The energy distance with its interval, two p-values, and what each column or direction adds.

    Raises
    ------
    MilepostError
        If the spaces differ, or a release has no cumulative shares: those of ``slopes`` and ``hats`` have.

    Examples
    --------
    >>> import milepost as mp
    >>> space = mp.L1({"age": (0, 10)}, step=1)
    >>> synopsis = mp.release([[2.0], [8.0]] * 5000, space, epsilon=20)
    >>> mp.difference(synopsis, [[2.0], [8.0]] * 100).value < 0.1
    True
    """
    check_confidence(confidence)
    if len(names) != 2:
        raise MilepostError(f"names must be two names, got {list(names)}")
    sides = [_open(side) for side in (left, right)]
    released = [side for side in sides if isinstance(side, ReleasedData)]
    if not released:
        raise MilepostError(
            "difference compares a release with another one or with a public table, got two tables; release the "
            "private one first, with mp.release"
        )
    shared = _shared_release(released, names)
    shares = [
        _shares(side, shared) if isinstance(side, ReleasedData) else _public_shares(side, shared, columns)
        for side in sides
    ]
    bits = np.max([side.bits for side in shares], axis=0).tolist()
    compared = [side.coarsen(bits) for side in shares]
    for side, name in zip(compared, names, strict=True):
        if side.total.value < 1:
            raise MilepostError(f"the noisy number of rows of {name!r} is below 1: the group is too small to compare")
    result = energy_distance(compared[0], compared[1], confidence)
    tables = ComparedTables(shared.space, compared[0], compared[1], shared, result.parts)
    return Difference(
        result.value,
        result.low,
        result.high,
        confidence,
        result.p_tables,
        result.p_population,
        tables.column_parts(),
        (str(names[0]), str(names[1])),
        (compared[0].total.size, compared[1].total.size),
        shared.space.distance_unit,
        tables,
    )


def drift(releases: Sequence[Any], labels: Sequence[str] | None = None, *, confidence: float = 0.95) -> Drift:
    """Return the differences of several releases to the first and to the one before; this costs no privacy.

    Parameters
    ----------
    releases : sequence of Synopsis or path
        Two releases or more of the same space, in order.
    labels : sequence of str, optional
        The name of each release; by default the names of the files, or 1, 2, …
    confidence : float, default 0.95
        The confidence of each interval.

    Returns
    -------
    Drift
        All differences, as a table and a picture.

    Raises
    ------
    MilepostError
        If there are fewer than two releases, or as for `difference`.

    Examples
    --------
    >>> import milepost as mp
    >>> space = mp.L1({"age": (0, 10)}, step=1)
    >>> weeks = [mp.release([[age], [8.0]] * 5000, space, epsilon=20) for age in (2.0, 2.0, 4.0)]
    >>> mp.drift(weeks, labels=["Mon", "Tue", "Wed"]).labels
    ('Mon', 'Tue', 'Wed')
    """
    if isinstance(releases, str | Path) or len(releases) < 2:
        raise MilepostError("drift needs a list of two releases or more")
    names = [_name(release, k) for k, release in enumerate(releases)] if labels is None else list(map(str, labels))
    if len(names) != len(releases):
        raise MilepostError(f"labels must name each of the {len(releases)} releases, got {len(names)} labels")
    sides = [_open(release) for release in releases]
    indices = range(1, len(sides))

    def to(base: int, k: int) -> Difference:
        return difference(sides[base], sides[k], confidence=confidence, names=(names[base], names[k]))

    to_first = tuple(to(0, k) for k in indices)
    return Drift(tuple(names), to_first, tuple(to_first[0] if k == 1 else to(k - 1, k) for k in indices))


def _name(release: Any, index: int) -> str:
    return Path(release).stem if isinstance(release, str | Path) else str(index + 1)


def _open(side: Any) -> Any:
    """Return a release of a path that ends in SUFFIX; everything else as it is."""
    if isinstance(side, str | Path) and Path(side).suffix == SUFFIX:
        return load(side)
    return side


def _shared_release(released: Sequence[ReleasedData], names: Sequence[str]) -> ReleasedData:
    """Return the release with the fewest coordinates; refuse releases of different spaces."""
    cards = [side.space.to_json() for side in released]
    fields = [{name: value for name, value in card.items() if name not in FREE_FIELDS} for card in cards]
    differing = sorted({name for card in fields for name in card if any(card.get(name) != c.get(name) for c in fields)})
    if differing:
        pairs = "; ".join(
            f"{name}: {_short(fields[0].get(name))} and {_short(fields[1].get(name))}" for name in differing
        )
        raise MilepostError(f"{names[0]!r} and {names[1]!r} must have the same space, but these differ: {pairs}")
    return min(released, key=lambda side: side.space.embedding.dimension)


def _short(value: Any) -> str:
    text = "none" if value in (None, "") else str(value)
    return text if len(text) <= 80 else text[:79] + "…"


def _shares(side: ReleasedData, shared: ReleasedData) -> CellShares:
    """Return the cell shares of a release, of the coordinates that it shares with another one."""
    statistic = side.statistic
    statistic.check_ungrouped()
    if not isinstance(statistic, Curves):
        raise MilepostError(
            f"a {side.mechanism} release has no cumulative shares of columns or directions, which difference compares; "
            "release with mechanism='slopes', which needs delta above 0, or with mechanism='hats'"
        )
    return _first(statistic.cell_shares(), shared.space.embedding, shared.space)


def _first(shares: CellShares, embedding: Embedding, space: Space) -> CellShares:
    own, count = shares.embedding, embedding.dimension
    if own.dimension == count:
        return shares
    if not all(
        np.array_equal(getattr(own, name)[:count], getattr(embedding, name)) for name in ("low", "high", "span")
    ):
        raise MilepostError(
            f"the directions of these releases in {space.kind} do not nest; release both with the same directions="
        )
    return shares.first(embedding)


def _public_shares(table: Any, shared: ReleasedData, columns: Columns) -> CellShares:
    """Return the exact cell shares of a public table, in the cells of a release."""
    statistic = shared.statistic
    if not isinstance(statistic, Curves):
        return _shares(shared, shared)  # which refuses
    sketch = read_sketch(table, shared.space, columns, cells=1 << (QUANTUM_BITS - min(statistic.bits)))
    return CellShares.of_sketch(shared.space.embedding, statistic.bits, sketch)

"""Reading: from a private table to its exact statistic, block by block."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from milepost import data as tables
from milepost.arrays import FloatArray
from milepost.data import Columns
from milepost.errors import MilepostError
from milepost.geometry import located
from milepost.spaces.base import Space
from milepost.spaces.queries import Queries
from milepost.statistics.sketch import Sketch
from milepost.statistics.sums import Sums

BLOCK = 1 << 23  # host coordinates, or distances, in memory at a time


def count(data: Any) -> int:
    """How many rows a table has; an empty one is refused."""
    return _refuse_empty(tables.count(data))


def records(data: Any, space: Space, columns: Columns, numbers: int) -> Iterator[FloatArray]:
    """The records of a table in blocks, for work that takes so many numbers a record, or one for each known query."""
    numbers = max(numbers, 1 if space.known is None else len(space.known))
    size, n, data = max(1, BLOCK // numbers), 0, located(data, space)
    for rows in tables.batches(
        data, columns, space.columns, aliases=space.aliases, objects=space.objects, width=space.width
    ):
        for start in range(0, len(rows), size):
            yield space.read(rows[start : start + size], n + start)
        n += len(rows)


def read_sketch(data: Any, space: Space, columns: Columns = None) -> Sketch:
    """The exact host statistic of a table; bad rows are refused and nothing is spent."""
    sketch = Sketch(space.hosts.dimension)
    with ThreadPoolExecutor(1) as pool:  # one block is added while the next is read
        added: Future[None] | None = None
        for block in records(data, space, columns, space.hosts.dimension):
            images = space.quantize(block)
            if added is not None:
                added.result()
            added = pool.submit(sketch.add, images)
        if added is not None:
            added.result()
    _refuse_empty(int(sketch.totals[0]))
    return sketch


def read_sums(data: Any, space: Space, queries: Queries, columns: Columns = None) -> Sums:
    """The exact sums of distances to given queries; bad rows are refused and nothing is spent."""
    sums = Sums(queries.count)
    for block in records(data, space, columns, queries.count):
        sums.add(queries.quantize(space.distance(block, queries.points)))
    _refuse_empty(int(sums.totals[0]))
    return sums


def check_count(read: int, counted: int) -> None:
    """Refuse a table that had other rows when it was read than when it was counted."""
    if read != counted:
        raise MilepostError("the table has changed while it was read; nothing was spent")


def _refuse_empty(n: int) -> int:
    if n == 0:
        raise MilepostError("the table is empty; at least one row is needed")
    return n

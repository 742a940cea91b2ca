"""Selection of each person's rows in a task, from rows that Spark has sorted by a hash of the person's id.

Spark sends all rows with the same hash to one task, next to each other, so that a task needs a few batches at a time.
The same rows are selected as `select_rows` selects, from the person's rows alone: rows that share a hash are compared
by the ids themselves.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from milepost._typing import AnyArray, BoolArray
from milepost.ingest.contribution_bounding import block_keys, order_keys, select_rows
from milepost.ingest.spark.rows import Batches, RowReader, merge_batches
from milepost.statistics.statistic_spec import RecordBlock


def bounded_blocks(rows: RowReader, batches: Batches, numbers: int) -> Iterator[RecordBlock]:
    """Yield the records of the rows that are used, of rows whose last columns are the person's id and its hash."""
    size, first_row = rows.block_rows(numbers), 0
    for batch in merge_whole_hashes(batches, rows.block_rows(1)):
        used = select_records(rows, batch, first_row)
        for start in range(0, len(used.points), size):
            yield used.select(slice(start, start + size))
        first_row += len(batch)


def select_records(rows: RowReader, batch: pa.RecordBatch, first_row: int) -> RecordBlock:
    """Return the records of a batch that are used; the batch has all rows of each of its persons."""
    ids, hashes = batch.columns[-2:]
    contributions = rows.row_columns.contributions
    if _comparable(ids):
        block = rows.read(batch, first_row, persons=False)
        selected = _select_runs(block, ids, hashes.to_numpy(), contributions)
        if selected is not None:
            return block.used(selected)
    block = rows.read(batch, first_row)
    selected = block.grouped
    selected[np.flatnonzero(selected)] = select_rows(block_keys(block), contributions)
    return block.used(selected)


def merge_whole_hashes(batches: Batches, rows: int) -> Batches:
    """Yield the same rows in batches of about this many, so that rows with the same hash are in one batch."""
    pending: pa.RecordBatch | None = None
    for part in merge_batches(batches, rows):
        batch = part if pending is None else pa.concat_batches([pending, part])
        hashes = batch.column(batch.num_columns - 1).to_numpy()
        borders = np.flatnonzero(hashes[1:] != hashes[:-1])
        last = 1 + int(borders[-1]) if len(borders) else 0  # where the rows with the last hash begin
        if last:
            yield batch.slice(0, last)
        pending = batch.slice(last)
    if pending is not None:
        yield pending


def _comparable(ids: pa.Array) -> bool:
    """Return whether ids are whole numbers or text, all present, so that equal ids are those of one person."""
    if ids.null_count:
        return False
    if pa.types.is_integer(ids.type):
        return True
    is_text = pa.types.is_string(ids.type) or pa.types.is_large_string(ids.type)
    return is_text and (len(ids) == 0 or pc.min(pc.binary_length(ids)).as_py() > 0)


def _select_runs(block: RecordBlock, ids: pa.Array, hashes: AnyArray, contributions: int) -> BoolArray | None:
    """Select the first rows of each person by order key; None where two persons have the same hash."""
    selected = block.grouped
    grouped = np.flatnonzero(selected)
    if len(grouped) < len(selected):
        hashes, ids = hashes[grouped], ids.filter(pa.array(selected))
    first = np.ones(len(grouped), dtype=bool)
    np.not_equal(hashes[1:], hashes[:-1], out=first[1:])
    if len(grouped) and not np.array_equal(pc.not_equal(ids[1:], ids[:-1]).to_numpy(zero_copy_only=False), first[1:]):
        return None
    counts = np.diff(np.append(np.flatnonzero(first), len(grouped)))
    candidates = grouped[np.repeat(counts > contributions, counts)]  # rows of people who have too many
    counts = counts[counts > contributions]
    if len(counts):
        owner = np.repeat(np.arange(len(counts), dtype=np.uint64), counts)
        keys = order_keys(block.points[candidates], block.groups[candidates], block.weights[candidates])
        rank = np.arange(len(candidates)) - np.repeat(np.cumsum(counts) - counts, counts)
        selected[candidates[_sort_within(owner, keys)[rank >= contributions]]] = False
    return selected


def _sort_within(owner: AnyArray, keys: AnyArray) -> AnyArray:
    """Return the order of rows by owner, which grows with the row, and then by key: uint64[n] each."""
    bits = np.uint64(int(owner[-1]).bit_length())
    if bits:
        leading = (owner << (np.uint64(64) - bits)) | (keys >> bits)
        order = np.argsort(leading)
        ordered = leading[order]
        if (ordered[1:] != ordered[:-1]).all():
            return np.asarray(order)
    return np.lexsort((keys, owner))

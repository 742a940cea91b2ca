"""Contribution bounding: selection of the rows of each person that are used, from that person's rows alone."""

from datetime import date
from decimal import Decimal
from hashlib import sha256
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa

from milepost._typing import AnyArray, FloatArray, IntArray
from milepost.errors import MilepostError
from milepost.spaces.objects import is_missing, normalize_cell, to_python_objects
from milepost.statistics.statistic_spec import RecordBlock

SALT = b"milepost: which rows of a person"  # public
NAME_BYTES, ORDER_KEY_BYTES = 16, 8  # bytes of an id's name, and of a row's order key
SHORT_ID_BYTES = NAME_BYTES - 1  # bytes of an id that is used as its name
TEXT_TYPES = (str, int, float, Decimal, bytes, date, UUID)  # equal values have equal text


def person_names(ids: Any, name: str, first_row: int) -> AnyArray:
    """Return the names of the ids in the column `name`: uint8[n, 16]; refuse missing ids.

    The name of a short id is the id and its length, that of a longer one a digest, so that no two people share one.
    """
    texts = _texts(ids, name, first_row)
    ends = np.frombuffer(texts.buffers()[1], np.int64)[texts.offset : texts.offset + len(texts) + 1]
    content = np.frombuffer(texts.buffers()[2] or b"", np.uint8)
    starts, lengths = ends[:-1, None], np.diff(ends)[:, None]
    missing = np.flatnonzero(lengths == 0)
    if len(missing):
        raise _no_id(first_row + int(missing[0]), name, "is missing", "drop such rows, or give each person an id")
    column = np.arange(SHORT_ID_BYTES)
    result = np.zeros((len(texts), NAME_BYTES), dtype=np.uint8)
    if len(texts):
        result[:, :SHORT_ID_BYTES] = np.where(
            column < lengths, content[np.minimum(starts + column, len(content) - 1)], 0
        )
        result[:, SHORT_ID_BYTES:] = lengths
    for row in np.flatnonzero(lengths > SHORT_ID_BYTES).tolist():
        digest = sha256(SALT + texts[row].as_py()).digest()[:SHORT_ID_BYTES]
        result[row] = np.frombuffer(digest + b"\xff", np.uint8)
    return result


def order_keys(points: FloatArray, group: IntArray, weight: IntArray) -> AnyArray:
    """Return the order key of each row, a hash of all that is used of it: uint64[n]."""
    numbers = np.ascontiguousarray((points + 0.0).T, dtype=np.float64).view(np.uint64)  # −0 + 0 is 0
    order_key = np.zeros(len(points), dtype=np.uint64)
    for column in (*numbers, group.astype(np.uint64), weight.astype(np.uint64)):
        order_key = _mix_bits(order_key ^ column)
    return order_key


def row_keys(person: AnyArray, points: FloatArray, group: IntArray, weight: IntArray) -> AnyArray:
    """Return the person's name and the order key of each row: uint8[n, 24]."""
    order_key = order_keys(points, group, weight)
    return np.hstack([person, order_key.astype(">u8").view(np.uint8).reshape(-1, ORDER_KEY_BYTES)])


def block_keys(block: RecordBlock) -> AnyArray:
    """Return the keys of the records of a block that are in a group."""
    return row_keys(np.asarray(block.person), block.points, block.groups, block.weights)[block.grouped]


def select_rows(keys: AnyArray, contributions: int) -> AnyArray:
    """Select the first rows of each person by order key, at most `contributions` each: bool[n].

    The selection depends on the person's rows alone, not on other people's rows or the order of rows, except among rows
    with the same order key, which are equal unless 64 bits happen to agree; of these the first ones are used.
    """
    names = keys[:, :NAME_BYTES].copy().view(np.uint64)
    name_hashes = _mix_bits(_mix_bits(names[:, 0]) ^ names[:, 1])
    order = np.argsort(name_hashes)
    first = _borders(name_hashes[order, None])
    name_borders = _borders(names[order])
    if not np.array_equal(first, name_borders):  # two people whose names have the same hash
        order = np.lexsort(names.T)
        first = _borders(names[order])
    del name_hashes, names, name_borders
    starts = np.flatnonzero(first)
    counts = np.diff(np.append(starts, len(order)))
    result = np.ones(len(order), dtype=bool)
    candidates = order[np.repeat(counts > contributions, counts)]  # rows of people who have too many
    if len(candidates):
        owner = np.repeat(np.arange(len(counts)), counts)[np.repeat(counts > contributions, counts)]
        order_keys = keys[candidates, NAME_BYTES:].copy().view(">u8").astype(np.uint64)[:, 0]
        by_rank = np.lexsort((candidates, order_keys, owner))
        owner_starts = np.flatnonzero(_borders(owner[:, None]))
        rank = np.arange(len(owner)) - np.repeat(owner_starts, np.diff(np.append(owner_starts, len(owner))))
        result[candidates[by_rank]] = rank < contributions
    return result


def _borders(rows: AnyArray) -> AnyArray:
    """Return which rows differ from the row before: bool[n]."""
    result = np.ones(len(rows), dtype=bool)
    result[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    return result


def _mix_bits(numbers: AnyArray) -> AnyArray:
    """Mix all 64 bits of each number, one to one: the last step of SplitMix64."""
    result = numbers + np.uint64(0x9E3779B97F4A7C15)
    result ^= result >> np.uint64(30)
    result *= np.uint64(0xBF58476D1CE4E5B9)
    result ^= result >> np.uint64(27)
    result *= np.uint64(0x94D049BB133111EB)
    result ^= result >> np.uint64(31)
    return np.asarray(result)


def _texts(ids: Any, name: str, first_row: int) -> pa.LargeBinaryArray:
    """Return ids as text, empty where they are missing."""
    if isinstance(ids, pa.Array):
        ids = ids.dictionary_decode() if pa.types.is_dictionary(ids.type) else ids
        if pa.types.is_integer(ids.type):
            ids = ids.cast(pa.string())
        if pa.types.is_string(ids.type) or pa.types.is_large_string(ids.type):
            return ids.cast(pa.large_string()).fill_null("").cast(pa.large_binary())
    texts = []
    for row, cell in enumerate(to_python_objects(ids, name)):
        text = cell if isinstance(cell, str) else _id_text(cell)
        if text is None:
            raise _no_id(first_row + row, name, "is neither text nor a number nor a date", "convert it to text")
        texts.append(text.encode("utf-8", "surrogatepass"))
    return pa.array(texts, pa.large_binary())


def _no_id(row: int, name: str, reason: str, remedy: str) -> MilepostError:
    return MilepostError(f"privacy_unit: the id of row {row + 1} in column {name!r} {reason}; {remedy}")


def _id_text(cell: Any) -> str | None:
    """Return an id as text, empty where it is missing; None for objects that may be equal but differ in their text."""
    if type(cell) is not int:
        cell = cell.item() if isinstance(cell, np.generic) else cell
        if is_missing(cell):
            return ""
        if not isinstance(cell, TEXT_TYPES):
            return None
        cell = normalize_cell(cell)
    try:
        return str(cell)
    except ValueError:  # a whole number of more digits than Python converts
        return hex(cell)

"""Contributions: which rows of one person are used, decided by that person's rows alone."""

from datetime import date
from decimal import Decimal
from hashlib import sha256
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa

from milepost._typing import AnyArray, FloatArray, IntArray
from milepost.errors import MilepostError
from milepost.spaces.objects import is_missing, plain, untyped

SALT = b"milepost: which rows of a person"  # public
NAME_BYTES, PLACE_BYTES = 16, 8  # what is kept of an id, and of a row
SHORT = NAME_BYTES - 1  # bytes of an id that is its own name
NAMED = (str, int, float, Decimal, bytes, date, UUID)  # equal ones are spelled alike


def person_names(ids: Any, name: str, first_row: int) -> AnyArray:
    """Names of ids, for rows of a column with this name: uint8[n, 16]; missing ones are refused.

    A short id is its own name, with its length; of a longer one it is a digest, so that no two people have the same.
    """
    texts = _texts(ids, name, first_row)
    ends = np.frombuffer(texts.buffers()[1], np.int64)[texts.offset : texts.offset + len(texts) + 1]
    content = np.frombuffer(texts.buffers()[2] or b"", np.uint8)
    starts, lengths = ends[:-1, None], np.diff(ends)[:, None]
    missing = np.flatnonzero(lengths == 0)
    if len(missing):
        raise _no_id(first_row + int(missing[0]), name, "is missing", "drop such rows, or give each an id of its own")
    column = np.arange(SHORT)
    result = np.zeros((len(texts), NAME_BYTES), dtype=np.uint8)
    if len(texts):
        result[:, :SHORT] = np.where(column < lengths, content[np.minimum(starts + column, len(content) - 1)], 0)
        result[:, SHORT:] = lengths
    for row in np.flatnonzero(lengths > SHORT).tolist():
        digest = sha256(SALT + texts[row].as_py()).digest()[:SHORT]
        result[row] = np.frombuffer(digest + b"\xff", np.uint8)
    return result


def row_keys(person: AnyArray, points: FloatArray, group: IntArray, weight: IntArray) -> AnyArray:
    """The person's name and a place among their rows, which all that is used of the row decides: uint8[n, 24]."""
    numbers = np.ascontiguousarray((points + 0.0).T, dtype=np.float64).view(np.uint64)  # −0 + 0 is 0
    place = np.zeros(len(person), dtype=np.uint64)
    for column in (*numbers, group.astype(np.uint64), weight.astype(np.uint64)):
        place = _mixed(place ^ column)
    return np.hstack([person, place.astype(">u8").view(np.uint8).reshape(-1, PLACE_BYTES)])


def select_rows(keys: AnyArray, contributions: int) -> AnyArray:
    """Which rows come first among those of their person, at most `contributions` each: bool[n].

    A person's rows alone decide it: neither other people's matter nor the order, but for rows of the same place, which
    are equal unless 64 bits happen to agree; among these the first ones are used.
    """
    names = keys[:, :NAME_BYTES].copy().view(np.uint64)
    mixed = _mixed(_mixed(names[:, 0]) ^ names[:, 1])
    order = np.argsort(mixed)
    first = _borders(mixed[order, None])
    same = _borders(names[order])
    if not np.array_equal(first, same):  # two people whose names are mixed alike
        order = np.lexsort(names.T)
        first = _borders(names[order])
    del mixed, names, same
    starts = np.flatnonzero(first)
    counts = np.diff(np.append(starts, len(order)))
    result = np.ones(len(order), dtype=bool)
    several = order[np.repeat(counts > contributions, counts)]
    if len(several):
        owner = np.repeat(np.arange(len(counts)), counts)[np.repeat(counts > contributions, counts)]
        places = keys[several, NAME_BYTES:].copy().view(">u8").astype(np.uint64)[:, 0]
        inside = np.lexsort((several, places, owner))
        begin = np.flatnonzero(_borders(owner[:, None]))
        rank = np.arange(len(owner)) - np.repeat(begin, np.diff(np.append(begin, len(owner))))
        result[several[inside]] = rank < contributions
    return result


def _borders(rows: AnyArray) -> AnyArray:
    """Where a row differs from the one before: bool[n]."""
    result = np.ones(len(rows), dtype=bool)
    result[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    return result


def _mixed(numbers: AnyArray) -> AnyArray:
    """All 64 bits of each number stirred, one to one: the last step of SplitMix64."""
    result = numbers + np.uint64(0x9E3779B97F4A7C15)
    result ^= result >> np.uint64(30)
    result *= np.uint64(0xBF58476D1CE4E5B9)
    result ^= result >> np.uint64(27)
    result *= np.uint64(0x94D049BB133111EB)
    result ^= result >> np.uint64(31)
    return np.asarray(result)


def _texts(ids: Any, name: str, first_row: int) -> pa.LargeBinaryArray:
    """Ids as they are spelled, empty where they are missing."""
    if isinstance(ids, pa.Array):
        ids = ids.dictionary_decode() if pa.types.is_dictionary(ids.type) else ids
        if pa.types.is_integer(ids.type):
            ids = ids.cast(pa.string())
        if pa.types.is_string(ids.type) or pa.types.is_large_string(ids.type):
            return ids.cast(pa.large_string()).fill_null("").cast(pa.large_binary())
    spelled = []
    for row, cell in enumerate(plain(ids, name)):
        text = cell if isinstance(cell, str) else _spelled(cell)
        if text is None:
            raise _no_id(first_row + row, name, "is neither text nor a number nor a date", "convert it to text")
        spelled.append(text.encode("utf-8", "surrogatepass"))
    return pa.array(spelled, pa.large_binary())


def _no_id(row: int, name: str, reason: str, remedy: str) -> MilepostError:
    return MilepostError(f"unit: the id of row {row + 1} in column {name!r} {reason}; {remedy}")


def _spelled(cell: Any) -> str | None:
    """An id as text, empty where it is missing; None for objects of which equal ones may be spelled differently."""
    if type(cell) is not int:
        cell = cell.item() if isinstance(cell, np.generic) else cell
        if is_missing(cell):
            return ""
        if not isinstance(cell, NAMED):
            return None
        cell = untyped(cell)
    try:
        return str(cell)
    except ValueError:  # a whole number of more digits than Python spells out
        return hex(cell)

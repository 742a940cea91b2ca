"""Contributions: which rows of one person are used, decided by that person's rows alone."""

import math
from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from hashlib import sha256
from typing import Any
from uuid import UUID

import numpy as np

from milepost.arrays import AnyArray, FloatArray, IntArray
from milepost.errors import MilepostError
from milepost.spaces.objects import untyped

SALT = b"milepost: which rows of a person"  # public
DIGEST_BYTES = 16  # of SHA-256: what is kept of a row and of an id
MISSING = ("NoneType", "NAType", "NaTType")
NAMED = (str, int, float, Decimal, bytes, date, UUID)  # equal ones are spelled alike


def persons(ids: Iterable[Any], name: str, first_row: int) -> AnyArray:
    """Digests of ids, for rows of a column with this name: uint8[n, 16]; missing ones are refused."""
    spelled = []
    for row, cell in enumerate(ids):
        text = cell if isinstance(cell, str) else _spelled(cell)
        if not text:
            missing = text is not None
            reason = "is missing" if missing else "is neither text nor a number nor a date"
            remedy = "drop such rows, or give each an id of its own" if missing else "convert it to text"
            raise MilepostError(f"unit: the id of row {first_row + row + 1} in column {name!r} {reason}; {remedy}")
        spelled.append(text.encode("utf-8", "surrogatepass"))
    return _digests(spelled)


def row_keys(person: AnyArray, points: FloatArray, group: IntArray, weight: IntArray) -> AnyArray:
    """Digests of the person and of all that is used of a row, one after the other: uint8[n, 32]."""
    whole = np.column_stack([group, weight]).astype("<i8")
    numbers = np.ascontiguousarray(points + 0.0, dtype="<f8")  # −0 + 0 is 0
    content = np.hstack([numbers.view(np.uint8), whole.view(np.uint8)])
    text, size = content.tobytes(), content.shape[1]
    return np.hstack([person, _digests(text[start : start + size] for start in range(0, len(text), size))])


def used(keys: AnyArray, contributions: int) -> AnyArray:
    """Which rows have the smallest digests among those of their person, at most `contributions` each: bool[n].

    A person's rows alone decide it: neither other people's matter nor the order, as rows of equal digests are equal.
    """
    numbers = keys.view(">u8").astype(np.uint64)  # in the order of their bytes
    order = np.lexsort(numbers.T[::-1])
    own = numbers[order, :2]
    first = np.ones(len(own), dtype=bool)
    first[1:] = (own[1:] != own[:-1]).any(axis=1)
    starts = np.flatnonzero(first)
    place = np.arange(len(own)) - np.repeat(starts, np.diff(np.append(starts, len(own))))
    result = np.zeros(len(own), dtype=bool)
    result[order] = place < contributions
    return result


def _spelled(cell: Any) -> str | None:
    """An id as text, empty where it is missing; None for objects of which equal ones may be spelled differently."""
    if type(cell) is not int:
        cell = cell.item() if isinstance(cell, np.generic) else cell
        if type(cell).__name__ in MISSING or (isinstance(cell, float | Decimal) and math.isnan(cell)):
            return ""
        if not isinstance(cell, NAMED):
            return None
        cell = untyped(cell)
    try:
        return str(cell)
    except ValueError:  # a whole number of more digits than Python spells out
        return hex(cell)


def _digests(texts: Iterable[bytes]) -> AnyArray:
    joined = b"".join([sha256(SALT + text).digest()[:DIGEST_BYTES] for text in texts])
    return np.frombuffer(joined, dtype=np.uint8).reshape(-1, DIGEST_BYTES)

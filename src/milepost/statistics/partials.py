"""Partial statistics as bytes: integers in as few bytes as they need, and records that are not counted yet.

Every message begins with a header: a mark, the version, the form of its content, a checksum, and the number of its
entries. Integers are exact in every form. Messages are as private as the rows that they come from.
"""

import struct
import zlib
from typing import Any

import numpy as np

from milepost._typing import AnyArray, IntArray
from milepost.errors import MilepostError
from milepost.statistics.statistic_spec import RecordBlock

MARK, VERSION = b"mps", 1
DENSE, SPARSE, RECORDS = 1, 2, 3  # forms: all integers, those that are not 0 with their gaps, and records
HEADER = struct.Struct("<3sBBIQ")  # mark, version, form, checksum, number of entries
DAMAGED = "a part of the statistic was damaged on its way between two tasks; read the table again"


def encode_integers(numbers: IntArray) -> bytes:
    """Return integers int64[n] as a message: all of them, or only those that are not 0, whichever is smaller."""
    size = _bytes_each(numbers)
    if np.count_nonzero(numbers) * (1 + size) < len(numbers) * size:
        filled = np.flatnonzero(numbers)
        gaps = np.diff(filled, prepend=-1) - 1  # zeros before each
        gap_size = _bytes_each(gaps)
        if len(filled) * (gap_size + size) < len(numbers) * size:
            return _message(SPARSE, len(filled), _pack(gaps, gap_size) + _pack(numbers[filled], size))
    return _message(DENSE, len(numbers), _pack(numbers, size))


def add_integers(message: Any, sums: IntArray) -> None:
    """Add the integers of a message to sums int64[n]; refuse a message that does not fit."""
    form, count, content = _content(message)
    if form == DENSE and count == len(sums):
        sums += _unpack(content, count)[0]
        return
    if form != SPARSE or count > len(sums):
        raise MilepostError(DAMAGED)
    gaps, rest = _unpack(content, count)
    index = np.cumsum(gaps.astype(np.int64) + 1) - 1
    if count and (gaps.min() < 0 or index[-1] >= len(sums)):
        raise MilepostError(DAMAGED)
    sums[index] += _unpack(rest, count)[0]


def encode_records(block: RecordBlock) -> bytes:
    """Return records with their groups and weights as a message, without their persons."""
    content = [struct.pack("<I", block.points.shape[1]), np.ascontiguousarray(block.points, dtype="<f8").tobytes()]
    for part in (block.group, block.weight):
        content.append(b"\0" if part is None else _pack(part, _bytes_each(part)))
    return _message(RECORDS, len(block.points), b"".join(content))


def decode_records(message: Any) -> RecordBlock:
    """Return the records of a message."""
    form, count, content = _content(message)
    if form != RECORDS:
        raise MilepostError(DAMAGED)
    (width,) = struct.unpack_from("<I", content)
    points = np.frombuffer(content, "<f8", count * width, offset=4).reshape(count, width).astype(np.float64)
    rest = content[4 + 8 * count * width :]
    parts: list[IntArray | None] = []
    for _ in ("group", "weight"):
        if rest[0]:
            part, rest = _unpack(rest, count)
            parts.append(part.astype(np.int64))
        else:
            parts.append(None)
            rest = rest[1:]
    return RecordBlock(points, *parts)


def record_bytes(block: RecordBlock) -> int:
    """Return about how many bytes a message of these records has."""
    return int(block.points.nbytes) + len(block.points) * sum(
        2 for part in (block.group, block.weight) if part is not None
    )


def _message(form: int, count: int, content: bytes) -> bytes:
    return HEADER.pack(MARK, VERSION, form, _checksum(form, count, content), count) + content


def _checksum(form: int, count: int, content: bytes | memoryview) -> int:
    return zlib.crc32(content, zlib.crc32(struct.pack("<BQ", form, count)))


def _content(message: Any) -> tuple[int, int, memoryview]:
    """Return the form, the number of entries and the content of a message; refuse one that is damaged or newer."""
    view = memoryview(message)
    if len(view) < HEADER.size:
        raise MilepostError(DAMAGED)
    mark, version, form, checksum, count = HEADER.unpack_from(view)
    if mark != MARK or version != VERSION:
        raise MilepostError("a part of the statistic has another format; install the same milepost on every executor")
    content = view[HEADER.size :]
    if _checksum(form, count, content) != checksum:
        raise MilepostError(DAMAGED)
    return form, count, content


def _bytes_each(numbers: IntArray) -> int:
    """Return how many bytes hold each of these integers: 1, 2, 4 or 8."""
    edges = (-1 - int(numbers.max(initial=0)), min(int(numbers.min(initial=0)), -1))
    return max(np.min_scalar_type(edge).itemsize for edge in edges)


def _pack(numbers: IntArray, size: int) -> bytes:
    return bytes([size]) + numbers.astype(f"<i{size}").tobytes()


def _unpack(content: memoryview, count: int) -> tuple[AnyArray, memoryview]:
    """Return packed integers, as they are, and the content after them."""
    size = content[0]
    if size not in (1, 2, 4, 8) or len(content) < 1 + count * size:
        raise MilepostError(DAMAGED)
    return np.frombuffer(content, f"<i{size}", count, offset=1), content[1 + count * size :]

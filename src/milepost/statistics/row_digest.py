"""Keyed digests of the rows that a pass over a table has read, which show if another pass reads other rows.

The hash of a row is SipHash-2-4 with 128 bits, a pseudorandom function, of the row's point as the space reads it, its
group and its weight. A digest is the sum of the hashes of all rows that enter a statistic, each 16 bits separately,
as integers that do not wrap around. So it does not depend on the order of rows, and digests of parts of a table add up.

Why two different tables have different digests: let d be how much more often the one table has some row than the other,
d ≠ 0. The digests are equal only if d·h = c for each 16-bit part h of this row's hash, where c depends on hashes of
other rows. One value of h at most does so, whatever d and c are: 2⁻¹²⁸ for all eight parts together, for rows that are
chosen without the key. Nothing that leaves the computer depends on the key but whether a pass is refused.
"""

import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from typing import Self

import numpy as np

from milepost._typing import AnyArray, FloatArray, IntArray
from milepost.errors import MilepostError
from milepost.statistics.statistic_spec import RecordBlock, StatisticSpec

KEY_BYTES = 32
PARTS = 8  # of 16 bits: sums of fewer than 2⁴⁷ rows fit 64 bits
ROWS = 1 << 15  # that are hashed at a time: 1 MB
START = 0x736F6D6570736575, 0x646F72616E646F6D ^ 0xEE, 0x6C7967656E657261, 0x7465646279746573  # SipHash's constants
CHANGED = "the table has changed while it was read; read it when nobody writes to it"
CHANGED_SESSION = (
    "the table has changed since the session began: its rows, or what is used of them, differ. Nothing was answered or "
    "spent. Put back the table as it was and ask again, or begin another session, which spends again"
)


class RowDigest:
    """The sum of the hashes of rows: int64[8]. Private."""

    def __init__(self) -> None:
        self.values = np.zeros(PARTS, dtype=np.int64)

    @classmethod
    def spec(cls, key: bytes) -> "StatisticSpec[RowDigest]":
        """Return the specification of the digest of rows. key: private."""
        return StatisticSpec(RowDigest, partial(_image, key))

    @property
    def arrays(self) -> tuple[IntArray, ...]:
        """Return all integers."""
        return (self.values,)

    def add(self, hashes: AnyArray) -> None:
        """Add rows with these hashes, uint64[n, 2]."""
        self.values += hashes.view(np.uint16).sum(axis=0, dtype=np.int64)

    def __add__(self, other: Self) -> "RowDigest":
        """Return the digest of both tables together."""
        result = RowDigest()
        result.values = self.values + other.values
        return result

    def to_bytes(self) -> bytes:
        """Return the sums as 64 bytes, from which the number of rows can be told."""
        return self.values.astype("<i8").tobytes()


@dataclass(eq=False)
class Fingerprint:
    """The sealed digest that every pass over a table must have: `expected`, or if that is empty the first pass's.

    changed: the error message where a pass has another digest. All else is private and never shown.
    """

    changed: str = CHANGED
    key: bytes = field(default_factory=lambda: secrets.token_bytes(KEY_BYTES), repr=False)
    expected: bytes = field(default=b"", repr=False)

    def check(self, digest: RowDigest) -> None:
        """Refuse the rows of this digest if they are not those of the table."""
        # sealed, because sums grow with the number of rows, and a store keeps this together with what was released
        seal = blake2b(digest.to_bytes(), key=self.key, person=b"milepost table", digest_size=32).digest()
        self.expected = self.expected or seal
        if not hmac.compare_digest(seal, self.expected):
            raise MilepostError(self.changed)


def _image(key: bytes, block: RecordBlock) -> tuple[AnyArray]:
    """Return the hashes of records."""
    return (row_hashes(key, block.points, block.group, block.weight),)


def row_hashes(key: bytes, points: FloatArray, group: IntArray | None, weight: IntArray | None) -> AnyArray:
    """Return SipHash-2-4-128 of each row, uint64[n, 2]; 0.0 and −0.0 are the same."""
    hash_key = np.frombuffer(blake2b(key=key, digest_size=16, person=b"milepost rows").digest(), dtype="<u8")
    result = np.empty((len(points), 2), dtype=np.uint64)
    for start in range(0, len(points), ROWS):
        rows = slice(start, start + ROWS)
        numbers = np.ascontiguousarray(points[rows].T, dtype=np.float64) + 0.0
        words = [*numbers.view(np.uint64)]
        words += [part[rows].astype(np.int64).view(np.uint64) for part in (group, weight) if part is not None]
        result[rows] = siphash(hash_key, words)
    return result


def siphash(key: AnyArray, words: Sequence[AnyArray]) -> AnyArray:
    """Return SipHash-2-4-128 (Aumasson and Bernstein, 2012) of n messages at a time: uint64[n, 2].

    key: uint64[2]. words: the first 64 bits of each message, uint64[n], then the next ones, and so on.
    """
    count = len(words[0])
    state = [np.full(count, start ^ int(key[k % 2]), dtype=np.uint64) for k, start in enumerate(START)]
    spare = np.empty(count, dtype=np.uint64)
    length = np.full(count, (8 * len(words) & 0xFF) << 56, dtype=np.uint64)
    for word in (*words, length):
        state[3] ^= word
        _rounds(state, spare, 2)
        state[0] ^= word
    result = np.empty((count, 2), dtype=np.uint64)
    for half, (k, mark) in enumerate(((2, 0xEE), (1, 0xDD))):
        state[k] ^= np.uint64(mark)
        _rounds(state, spare, 4)
        result[:, half] = state[0] ^ state[1] ^ state[2] ^ state[3]
    return result


def _rounds(state: list[AnyArray], spare: AnyArray, times: int) -> None:
    a, b, c, d = state
    for _ in range(times):
        a += b
        _rotate(b, 13, spare)
        b ^= a
        _rotate(a, 32, spare)
        c += d
        _rotate(d, 16, spare)
        d ^= c
        a += d
        _rotate(d, 21, spare)
        d ^= a
        c += b
        _rotate(b, 17, spare)
        b ^= c
        _rotate(c, 32, spare)


def _rotate(numbers: AnyArray, bits: int, spare: AnyArray) -> None:
    """Rotate each number to the left, in place."""
    np.left_shift(numbers, np.uint64(bits), out=spare)
    np.right_shift(numbers, np.uint64(64 - bits), out=numbers)
    np.bitwise_or(numbers, spare, out=numbers)

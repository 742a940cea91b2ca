"""Fingerprint: a digest tells one multiset of rows from another, whatever their order, batches and threads."""

from typing import Any

import numpy as np
import pytest

import milepost as mp
from milepost._typing import AnyArray
from milepost.ingest import batches, parallel
from milepost.ingest import table as table_module
from milepost.ingest.row_attributes import RowColumns
from milepost.ingest.table import Table
from milepost.statistics.row_digest import CHANGED, Fingerprint, RowDigest, row_hashes, siphash
from tests.mechanisms.contract import SPACES, patched, points

KEY = bytes(range(32))
ROWS = np.random.default_rng(3).random((40, 2))
GROUP = np.arange(40) % 3
WEIGHT = np.arange(40) % 5


def digest(rows: AnyArray, group: Any = GROUP, weight: Any = WEIGHT, key: bytes = KEY) -> bytes:
    result = RowDigest()
    result.add(row_hashes(key, rows, group, weight))
    return result.to_bytes()


@pytest.mark.parametrize(
    ("word_count", "tag"),
    [
        (1, "3b62a9ba6258f5610f83e264f31497b4"),
        (2, "6ee2a4ca67b054bbfd3315bf85230577"),
        (3, "2db479ae78bd50d8882a8a178a6132ad"),
        (7, "1938f2cf72d54ee97e94166fa91d2a36"),
    ],
)
def test_hashes_are_those_of_siphash(word_count: int, tag: str) -> None:
    """The reference vectors, which `openssl mac -macopt size:16 … SIPHASH` gives as well; two messages at a time."""
    key = np.frombuffer(bytes(range(16)), dtype="<u8")
    message = np.frombuffer(bytes(range(8 * word_count)), dtype="<u8")
    hashes = siphash(key, [np.array([0, word], dtype=np.uint64) for word in message])
    assert hashes[1].astype("<u8").tobytes().hex() == tag
    assert hashes[0].tobytes() != hashes[1].tobytes()


def test_order_and_parts_do_not_matter() -> None:
    order = np.random.default_rng(1).permutation(len(ROWS))
    assert digest(ROWS[order], GROUP[order], WEIGHT[order]) == digest(ROWS)
    parts = [RowDigest(), RowDigest()]
    for index, start in enumerate(range(0, len(ROWS), 7)):
        part = slice(start, start + 7)
        parts[index % 2].add(row_hashes(KEY, ROWS[part], GROUP[part], WEIGHT[part]))
    assert (parts[0] + parts[1]).to_bytes() == digest(ROWS)
    assert digest(np.where(ROWS > 0.5, 0.0, -0.0)) == digest(np.zeros_like(ROWS))


def with_value(array: AnyArray, row: int, value: float) -> AnyArray:
    result = array.copy()
    result[row] = value
    return result


def test_any_other_rows_have_another_digest() -> None:
    """A value, a group, a weight; rows that appear twice more, or as often as hashes could cancel, or elsewhere."""
    zeros = np.zeros((1 << 16, 2))
    digests = [
        digest(ROWS),
        digest(with_value(ROWS, 7, np.nextafter(ROWS[7], 2))),
        digest(ROWS, with_value(GROUP, 7, 2)),
        digest(ROWS, GROUP, with_value(WEIGHT, 7, 3)),
        digest(ROWS[:, ::-1]),
        digest(ROWS, None, None),
        digest(ROWS, key=KEY[::-1]),
        *(digest(np.vstack([ROWS, *[ROWS[:1]] * times]), None, None) for times in (1, 2, 4)),
        *(digest(zeros[:rows], None, None) for rows in (0, 1 << 14, 1 << 15, 1 << 16)),
        digest(ROWS[[0, 0, 1, 1]], None, None),
        digest(ROWS[[2, 2, 3, 3]], None, None),
        digest(ROWS[[0, 1, 2, 3]], None, None),
    ]
    assert len(set(digests)) == len(digests)


@pytest.mark.parametrize("name", [name for name in SPACES if name != "towns"])
def test_batches_and_threads_do_not_matter(name: str) -> None:
    """In every space: each row's hash is of that row alone."""
    space = SPACES[name]
    rows = points(space, np.random.default_rng(2).random((100, space.width)))
    weights = np.arange(100) % 4 / 3
    roles = RowColumns(row_weights=weights, max_row_weight=1.0)
    digests = set()
    for batch, block, cores in ((1 << 18, 1 << 22, 1), (7, 1 << 22, 5), (40, 3, 3), (1 << 18, 50, 2)):
        with patched(
            [
                (batches, "BATCH_ROWS", batch),
                (table_module, "BLOCK", block),
                (parallel, "processors", lambda n=cores: n),
            ]
        ):
            plain = Table(rows, space, roles.change("replace"), None, roles)
            digests.add(plain._aggregate(RowDigest.spec(KEY)).to_bytes())
            table = Table(rows, space, roles.change("replace"), None, roles, fingerprint=Fingerprint(key=KEY))
            table.in_memory()
            assert table.fingerprint is not None
            table.total()
    assert len(digests) == 1


def test_a_statistic_is_the_same_with_a_digest() -> None:
    space, roles = mp.L1([(0, 1), (0, 1)]), RowColumns(groups=list("abc" * 13 + "a"), labels=["a", "b"])
    plain = Table(ROWS, space, roles.change("replace"), None, roles)
    fixed = plain.with_fingerprint(Fingerprint())
    assert np.array_equal(plain.sketch(space).counts, fixed.sketch(space).counts)
    assert plain.total() == fixed.total() == 27


def test_the_first_digest_is_the_one_that_counts() -> None:
    empty_digest, full_digest = RowDigest(), RowDigest()
    full_digest.add(row_hashes(KEY, ROWS, None, None))
    fingerprint = Fingerprint()
    fingerprint.check(empty_digest)
    with pytest.raises(mp.MilepostError, match="changed while it was read"):
        fingerprint.check(full_digest)
    fingerprint.check(empty_digest)
    assert Fingerprint().key != fingerprint.key
    assert Fingerprint(key=KEY, expected=fingerprint.expected).expected == fingerprint.expected


def test_neither_key_nor_digest_is_shown() -> None:
    """And the digest that is kept does not tell the number of rows."""
    fingerprint = Fingerprint(key=KEY)
    fingerprint.check(RowDigest())
    assert repr(fingerprint) == f"Fingerprint(changed={CHANGED!r})"
    assert repr(KEY)[2:-1] not in repr(RowDigest.spec(KEY))
    assert any(fingerprint.expected)
    assert len(fingerprint.expected) == 32

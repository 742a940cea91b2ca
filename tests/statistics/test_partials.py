"""Messages between tasks: exact, small, and refused if a bit of them is wrong."""

import numpy as np
import pytest

from milepost.errors import MilepostError
from milepost.statistics.partials import HEADER, add_integers, decode_records, encode_integers, encode_records
from milepost.statistics.statistic_spec import RecordBlock

EDGES = [0, 127, 128, -128, -129, 2**15, -(2**15) - 1, 2**31, -(2**31), 2**63 - 1, -(2**63)]


def decoded(message: bytes, count: int) -> list[int]:
    sums = np.zeros(count, dtype=np.int64)
    add_integers(message, sums)
    result: list[int] = sums.tolist()
    return result


@pytest.mark.parametrize("edge", EDGES)
def test_integers_arrive_as_they_were_sent(edge: int) -> None:
    """In as few bytes as hold the largest one."""
    numbers = np.array([edge, 5, 1], dtype=np.int64)
    message = encode_integers(numbers)
    assert decoded(message, 3) == numbers.tolist()
    size = next(size for size in (1, 2, 4, 8) if -(2 ** (8 * size - 1)) <= edge < 2 ** (8 * size - 1))
    assert len(message) == HEADER.size + 1 + 3 * size


@pytest.mark.parametrize("edge", [edge for edge in EDGES if edge])
@pytest.mark.parametrize("position", [0, 300, 99_999])
def test_zeros_take_no_bytes(edge: int, position: int) -> None:
    numbers = np.zeros(100_000, dtype=np.int64)
    numbers[position], numbers[1000] = edge, 1
    message = encode_integers(numbers)
    assert decoded(message, len(numbers)) == numbers.tolist()
    assert len(message) < HEADER.size + 30


def test_messages_add_up() -> None:
    rng = np.random.default_rng(0)
    sums, expected = np.zeros(1000, dtype=np.int64), np.zeros(1000, dtype=np.int64)
    for share in (0.0, 0.001, 0.1, 0.9, 1.0):
        numbers = rng.integers(-(10**9), 10**9, 1000) * (rng.random(1000) < share)
        add_integers(encode_integers(numbers), sums)
        expected += numbers
    assert np.array_equal(sums, expected)


@pytest.mark.parametrize("count", [0, 1, 20])
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_records_arrive_as_they_were_sent(count: int, grouped: bool, weighted: bool) -> None:
    rng = np.random.default_rng(1)
    group = rng.integers(0, 70_000, count) if grouped else None
    weight = rng.integers(0, 1025, count) if weighted else None
    points = rng.normal(size=(3, count)).T
    points[:1] = [-0.0, np.inf, 5e-324]
    block = decode_records(memoryview(encode_records(RecordBlock(points, group, weight))))
    assert np.array_equal(block.points.view(np.int64), np.ascontiguousarray(points).view(np.int64))
    for here, there in ((group, block.group), (weight, block.weight)):
        assert (here is None) == (there is None)
        assert here is None or (there is not None and np.array_equal(here, there) and there.dtype == np.int64)


def test_a_damaged_message_is_refused() -> None:
    """Whichever byte is wrong, is missing, or whatever the message is added to."""
    sparse, dense = np.zeros(100, dtype=np.int64), np.arange(100)
    sparse[[3, 50]] = 7
    for numbers in (sparse, dense):
        message = encode_integers(numbers)
        for index in range(len(message)):
            wrong = bytearray(message)
            wrong[index] ^= 1
            with pytest.raises(MilepostError, match="part of the statistic"):
                add_integers(bytes(wrong), np.zeros(100, dtype=np.int64))
        for part in (message[:-1], message[: HEADER.size - 1], b""):
            with pytest.raises(MilepostError, match="part of the statistic"):
                add_integers(part, np.zeros(100, dtype=np.int64))
        with pytest.raises(MilepostError, match="damaged"):
            add_integers(message, np.zeros(40, dtype=np.int64))
        with pytest.raises(MilepostError, match="damaged"):
            decode_records(message)
    with pytest.raises(MilepostError, match="damaged"):
        add_integers(encode_records(RecordBlock(np.zeros((1, 1)))), np.zeros(1, dtype=np.int64))

"""Blocks of threads: each thread has its own arrays, and larger blocks only where it shares the processor."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np

from milepost._typing import AnyArray
from milepost.spaces.embeddings.thread_blocks import LARGER, block_numbers, scratch_array, use_larger_blocks


def test_blocks_are_larger_in_threads_that_share_the_processor_only() -> None:
    with ThreadPoolExecutor(1, initializer=use_larger_blocks) as pool:
        assert pool.submit(block_numbers, 10).result() == 10 * LARGER
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(block_numbers, 10).result() == 10
    assert block_numbers(10) == 10


def test_an_array_is_used_again_by_its_own_thread_only() -> None:
    """Two threads at once have different memory; one thread has the same for one name, and other memory for another."""
    both = Barrier(2)

    def arrays(_: int) -> list[AnyArray]:
        both.wait()
        return [scratch_array(name, shape) for name, shape in (("a", (4, 5)), ("a", (3, 2)), ("b", (4, 5)))]

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(arrays, range(2))
    assert [array.shape for array in first] == [(4, 5), (3, 2), (4, 5)]
    assert np.shares_memory(first[0], first[1])
    assert not np.shares_memory(first[0], first[2])
    assert not any(np.shares_memory(left, right) for left in first for right in second)


def test_arrays_of_two_types_do_not_share_memory() -> None:
    """Even if they have one name."""
    whole, real = scratch_array("a", (2, 3), np.int32), scratch_array("a", (2, 3))
    assert [str(array.dtype) for array in (whole, real)] == ["int32", "float64"]
    assert not np.shares_memory(whole, real)

"""Sums of the statistics of blocks of records, computed by several threads."""

import operator
import os
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from functools import reduce
from itertools import chain, islice
from queue import LifoQueue
from threading import Lock
from typing import Any, TypeAlias

from milepost.spaces.base import Space
from milepost.spaces.embeddings.thread_blocks import use_larger_blocks
from milepost.statistics.sketch import check_weight
from milepost.statistics.statistic_spec import RecordBlock, StatisticSpec

MAX_PARTS = 1 << 23  # integers of a statistic's array, up to which every thread has its own part

Task: TypeAlias = Callable[[], RecordBlock]
Part: TypeAlias = list[Any]  # one statistic of each specification


def processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def reading_threads(space: Space, specs: Sequence[StatisticSpec[Any]]) -> int:
    """Return how many blocks of records to work on at once."""
    one_block = not space.thread_safe or any(spec.uses_all_processors for spec in specs)
    return 1 if one_block else processors()


def aggregate(specs: Sequence[StatisticSpec[Any]], tasks: Generator[Task], threads: int) -> list[Any]:
    """Return the exact statistics of all blocks that the tasks read; any order of threads gives the same.

    A table whose total weight is too large is refused as soon as the blocks read so far show it.
    """
    parts: list[Part] = [[spec.empty() for spec in specs]]
    idle: LifoQueue[Part] = LifoQueue()
    idle.put(parts[0])
    largest = max((array.size for statistic in parts[0] for array in statistic.arrays), default=0)
    max_parts = threads if largest <= MAX_PARTS else 1
    lock = Lock()
    weight = 0

    def next_part() -> Part:
        with lock:  # a small table needs one part only
            if idle.empty() and len(parts) < max_parts:
                parts.append([spec.empty() for spec in specs])
                return parts[-1]
        return idle.get()

    def add(task: Task) -> None:
        nonlocal weight
        block = task()
        with lock:
            weight += block.total
            check_weight(weight)
        images = [spec.image(block) for spec in specs]
        part = next_part()
        try:
            for statistic, image in zip(part, images, strict=True):
                statistic.add(*image)
        finally:
            idle.put(part)

    _run(add, tasks, threads)
    return [reduce(operator.add, statistics) for statistics in zip(*parts, strict=True)]


def _run(work: Callable[[Task], None], tasks: Generator[Task], threads: int) -> None:
    """Call a function with every task; a few tasks are in memory at a time, and the first error in order is raised."""
    if processors() == 1:  # a thread would only read ahead, and has no memory that was used before
        with closing(tasks):
            for task in tasks:
                work(task)
        return
    with closing(tasks), ThreadPoolExecutor(threads, initializer=use_larger_blocks if threads > 1 else None) as pool:
        running: deque[Future[None]] = deque()
        first = list(islice(tasks, 2))
        if len(first) == 1:  # which needs no thread
            work(first.pop())
        try:
            for task in chain(first, tasks):
                running.append(pool.submit(work, task))
                if len(running) > threads:
                    running.popleft().result()
            while running:
                running.popleft().result()
        finally:
            for future in running:
                future.cancel()

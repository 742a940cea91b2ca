"""Answers at many points: for a block of them at a time, so that memory does not grow, and by several threads."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, TypeAlias

import numpy as np

from milepost._typing import AnyArray, FloatArray
from milepost.errors import collected_warnings, merge_warnings, warn
from milepost.ingest.batches import Batch
from milepost.mechanisms.base import NoisyStatistic
from milepost.mechanisms.coordinate.piecewise_linear import points_per_block
from milepost.privacy.noise import max_threads
from milepost.spaces.base import Space
from milepost.spaces.queries import Queries

MAX_THREADS = 8  # beyond which they mostly wait for the interpreter
MIN_BLOCKS = 4  # below which threads cost more than they save

Answers: TypeAlias = Sequence[AnyArray]  # one or several numbers for each point, an array of each


class Release(Protocol):
    """What `evaluate` needs of a release."""

    @property
    def space(self) -> Space:
        """The space of the points."""

    @property
    def queries(self) -> Queries | None:
        """The only points that it answers, if they were given."""

    def positions(self, points: AnyArray) -> AnyArray:
        """Return positions of points as the space reads them."""


def evaluate(
    release: Release,
    points: Batch,
    answer: Callable[[AnyArray], Answers],
    read: Callable[[Any, int], AnyArray] | None = None,
) -> Answers:
    """Return the answers at points: one or several arrays of k numbers.

    answer: takes the positions of a block of points. read: returns the points of a block as the space reads them, given
    the number of points before it; by default `Space.read_queries`.
    """
    space = release.space
    read_block = space.read_queries if read is None else read
    numbers = max(space.width, 1 if release.queries is not None else space.embedding.dimension)
    count = len(points) if np.shape(points) else 0  # one value alone, which is refused when it is read

    def block_answers(part: slice) -> Answers:
        return answer(release.positions(read_block(points[part] if count else points, part.start)))

    return evaluate_blocks(block_answers, count, points_per_block(numbers), space.thread_safe)


def values_and_widths(
    statistic: NoisyStatistic, positions: AnyArray, confidence: float, raw: bool = False
) -> tuple[FloatArray, FloatArray]:
    """Return the answers at positions and their half-widths, which are at most the largest error unless raw."""
    values, widths = statistic.values(positions, raw), statistic.half_widths(positions, confidence)
    return values, widths if raw else np.minimum(widths, statistic.max_error)


def as_read(points: AnyArray, first_row: int) -> AnyArray:  # noqa: ARG001
    """Return points that the space has read before: the argument `read` of `evaluate`."""
    return points


def evaluate_blocks(evaluate: Callable[[slice], Answers], count: int, rows: int, thread_safe: bool) -> Answers:
    """Return evaluate(points) for points 0..count, computed for `rows` of them at a time.

    Warnings of all blocks become one, and the first error in the order of the points is raised.
    """
    if count <= rows:
        return evaluate(slice(0, count))

    def collect(start: int) -> tuple[Answers, list[str]]:
        with collected_warnings() as messages:
            return evaluate(slice(start, min(start + rows, count))), messages

    def write(start: int) -> list[str]:
        answers, messages = collect(start)
        for result, part in zip(results, answers, strict=True):
            result[start : start + rows] = part
        return messages

    first, first_messages = collect(0)
    results = [np.empty(count, dtype=part.dtype) for part in first]
    for result, part in zip(results, first, strict=True):
        result[:rows] = part
    starts = range(rows, count, rows)
    threads = min(max_threads(), MAX_THREADS) if thread_safe and len(starts) >= MIN_BLOCKS else 1
    if threads == 1:
        messages = [write(start) for start in starts]
    else:
        with ThreadPoolExecutor(threads) as pool:
            messages = list(pool.map(write, starts))
    for message in merge_warnings([first_messages, *messages], count):
        warn(message)
    return results

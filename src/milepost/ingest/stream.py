"""Streams of batches of rows."""

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

from milepost.errors import MilepostError


class Stream:
    """Batches of rows: from an iterator, which can be read once, or in memory."""

    def __init__(self, batches: Iterable[Any]) -> None:
        self._batches = batches
        self._started = False

    @property
    def single_pass(self) -> bool:
        """Return whether it can be read once only."""
        return isinstance(self._batches, Iterator)

    def buffered(self) -> "Stream":
        """Return the stream with all its batches in memory."""
        return Stream(list(self)) if self.single_pass else self

    def head(self) -> "Stream":
        """Return a stream of the first batch, without removing that batch from this one."""
        first = list(itertools.islice(self._batches, 1))
        self._batches = itertools.chain(first, self._batches) if self.single_pass else self._batches
        return Stream(first)

    def __iter__(self) -> Iterator[Any]:
        if self.single_pass and self._started:
            raise MilepostError(
                "the iterator of batches was read already, and can be read once only; make a new iterator, or give a "
                "table, a file or a folder of files"
            )
        self._started = True
        return iter(self._batches)

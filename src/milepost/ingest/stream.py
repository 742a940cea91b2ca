"""Stream: rows that come batch by batch."""

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

from milepost.errors import MilepostError


class Stream:
    """Rows that come batch by batch: of an iterator, which can be read once, or batches in memory."""

    def __init__(self, batches: Iterable[Any]) -> None:
        self._batches = batches
        self._begun = False

    @property
    def single_pass(self) -> bool:
        """Whether it can be read once only."""
        return isinstance(self._batches, Iterator)

    def buffered(self) -> "Stream":
        """The same in memory."""
        return Stream(list(self)) if self.single_pass else self

    def head(self) -> "Stream":
        """Its first batch, which stays to be read."""
        first = list(itertools.islice(self._batches, 1))
        self._batches = itertools.chain(first, self._batches) if self.single_pass else self._batches
        return Stream(first)

    def __iter__(self) -> Iterator[Any]:
        if self.single_pass and self._begun:
            raise MilepostError(
                "the iterator of batches was read already, and can be read once only; make it anew, or give a table, "
                "a file or a folder of files"
            )
        self._begun = True
        return iter(self._batches)

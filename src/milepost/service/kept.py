"""Kept: what was worked out lately, so that it need not be again."""

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Any, Generic, TypeVar

Made = TypeVar("Made")


class Kept(Generic[Made]):
    """The values that were used last, by key."""

    def __init__(self, most: int) -> None:
        self._most, self._values, self._lock = most, OrderedDict[Any, Made](), Lock()

    def peek(self, key: Any) -> Made | None:
        """If it is there."""
        return self._values.get(key)

    def get(self, key: Any, make: Callable[[], Made]) -> Made:
        """Made where it is not there; perhaps twice, if two ask at once."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
        value = make()
        with self._lock:
            self._values[key] = value
            while len(self._values) > self._most:
                self._values.popitem(last=False)
        return value

"""The one exception of the library, and two kinds of it: bad input, refused before any budget is spent."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType, TracebackType


class MilepostError(ValueError):
    """What was expected, what came, and what to do; nothing has been spent or written."""


class LimitExceededError(MilepostError):
    """Raised when a limit, such as a session's `max_queries`, does not allow a request; nothing has changed."""


class BudgetExceededError(LimitExceededError):
    """Raised when a privacy budget is too small for a request; nothing has been charged."""


class ConflictError(MilepostError):
    """A name that stands for something else already."""


class AccuracyWarning(UserWarning):
    """The answer is private but weaker than the user may think: a wide error, or a query moved into the space."""


class SuppressFailures:
    """A context in which nothing that a user's code does with a private record is raised, SystemExit included.

    KeyboardInterrupt alone passes: it cannot be told from Ctrl-C at the terminal.
    """

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        """Whether to suppress what was raised."""
        return kind is not None and not issubclass(kind, KeyboardInterrupt)


_COLLECTED: ContextVar[list[str] | None] = ContextVar("collected", default=None)


@contextmanager
def collected_warnings() -> Iterator[list[str]]:
    """Collect the messages of this thread's warnings instead of showing them.

    `warnings.catch_warnings` would change the filters of all threads.
    """
    messages: list[str] = []
    token = _COLLECTED.set(messages)
    try:
        yield messages
    finally:
        _COLLECTED.reset(token)


def warn(message: str) -> None:
    """A AccuracyWarning that points at the line outside this package that led to it."""
    collected = _COLLECTED.get()
    if collected is not None:
        collected.append(message)
        return
    frame: FrameType | None = sys._getframe(1)
    level = 2
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] == __name__.split(".")[0]:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, AccuracyWarning, stacklevel=level)

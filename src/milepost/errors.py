"""Exceptions and warnings of the library: bad input is refused before any budget is spent."""

import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import chain
from types import FrameType, TracebackType


class MilepostError(ValueError):
    """Raised when an input is refused; nothing has been spent or written.

    The message names what is wrong, what was given, and what to do. It never quotes a private value.

    Examples
    --------
    >>> import milepost as mp
    >>> mp.Guarantee(0)
    Traceback (most recent call last):
        ...
    milepost.errors.MilepostError: epsilon= must be between 1e-09 and 1000, got 0
    """


class LimitExceededError(MilepostError):
    """Raised when a limit, such as a session's `max_queries`, does not allow a request; nothing has changed.

    Examples
    --------
    >>> import milepost as mp
    >>> session = mp.interactive([[1.0]] * 5000, mp.L1([(0, 10)]), epsilon=9, max_queries=1, mechanism="tangents")
    >>> session.ask_many([[1.0], [2.0]])
    Traceback (most recent call last):
        ...
    milepost.errors.LimitExceededError: 2 new queries were asked, and 1 of max_queries=1 is left. None was answered.
    """


class BudgetExceededError(LimitExceededError):
    """Raised when a privacy budget is too small for a request; nothing has been charged.

    Examples
    --------
    >>> import tempfile
    >>> import milepost as mp
    >>> ledger = mp.Ledger(f"{tempfile.mkdtemp()}/budget.ledger")
    >>> _ = ledger.create("homes", epsilon=1)
    >>> ledger.charge("homes", mp.Guarantee(2))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    milepost.errors.BudgetExceededError: the budget of 'homes' does not allow ε = 2. ...
    """


class ConflictError(MilepostError):
    """Raised when a name is already in use for something else.

    Examples
    --------
    >>> import milepost as mp
    >>> session = mp.interactive([[1.0]] * 5000, mp.L1([(0, 10)]), epsilon=9, max_queries=5, mechanism="tangents")
    >>> _ = session.ask([1.0], name="north")
    >>> session.ask([2.0], name="north")
    Traceback (most recent call last):
        ...
    milepost.errors.ConflictError: the question 'north' was asked about another point; give this point another name
    """


class AccuracyWarning(UserWarning):
    """Issued when an answer is private but less accurate than expected.

    The error may be as large as the space, or a query may lie outside the space and be moved into it.

    Examples
    --------
    >>> import warnings
    >>> import milepost as mp
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", mp.AccuracyWarning)
    ...     synopsis = mp.release([[1.0], [2.0]], mp.L1([(0, 10)]), epsilon=0.1)
    >>> [warning.category.__name__ for warning in caught]
    ['AccuracyWarning']
    """


class SuppressFailures:
    """Suppress all exceptions of a user's code that handles a private record, SystemExit included.

    Only KeyboardInterrupt passes: it cannot be distinguished from Ctrl-C at the terminal.
    """

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        """Return whether to suppress the exception."""
        return kind is not None and not issubclass(kind, KeyboardInterrupt)


_MESSAGES: ContextVar[list[str] | None] = ContextVar("messages", default=None)


@contextmanager
def collected_warnings() -> Iterator[list[str]]:
    """Collect the messages of this thread's warnings instead of showing them.

    `warnings.catch_warnings` would change the filters of all threads.
    """
    messages: list[str] = []
    token = _MESSAGES.set(messages)
    try:
        yield messages
    finally:
        _MESSAGES.reset(token)


def merge_warnings(block_messages: Sequence[Sequence[str]], count: int) -> list[str]:
    """Return the warnings about blocks of `count` points as warnings about all of them.

    The numbers in "3 of 100 points …" add up; a warning about a block as a whole remains if all blocks have it.
    """
    numbers: dict[str, int] = {}
    blocks: dict[str, int] = {}
    for message in chain.from_iterable(block_messages):
        counted = re.match(r"(\d+) of \d+ ", message)
        if counted:
            text = message[counted.end() :]
            numbers[text] = numbers.get(text, 0) + int(counted[1])
        else:
            blocks[message] = blocks.get(message, 0) + 1
    return [f"{number} of {count} {text}" for text, number in numbers.items()] + [
        message for message, number in blocks.items() if number == len(block_messages)
    ]


def warn(message: str) -> None:
    """Issue an AccuracyWarning that points at the line outside this package that caused it."""
    messages = _MESSAGES.get()
    if messages is not None:
        messages.append(message)
        return
    frame: FrameType | None = sys._getframe(1)
    level = 2
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] == __name__.split(".")[0]:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, AccuracyWarning, stacklevel=level)

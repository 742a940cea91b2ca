"""The one exception of the library, and two kinds of it: bad input, refused before any budget is spent."""

import sys
import warnings
from types import FrameType


class MilepostError(ValueError):
    """What was expected, what came, and what to do; nothing has been spent or written."""


class ExhaustedError(MilepostError):
    """A budget, or a number of queries, that does not allow what was asked; it stays as it was."""


class ConflictError(MilepostError):
    """A name that stands for something else already."""


class PromiseWarning(UserWarning):
    """The answer is private but weaker than the user may think: a wide error, or a query moved into the space."""


def warn(message: str) -> None:
    """A PromiseWarning that points at the line outside this package that led to it."""
    frame: FrameType | None = sys._getframe(1)
    level = 2
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] == __name__.split(".")[0]:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, PromiseWarning, stacklevel=level)

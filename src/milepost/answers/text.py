"""Points, numbers, units and tables as text."""

from collections.abc import Mapping
from io import StringIO
from typing import Any

import numpy as np
from rich.console import Console, RichCast

MAX_NUMBERS = 8  # numbers of a point that `point_text` shows


def point_text(point: Any) -> str:
    """Return a point as short text."""
    if isinstance(point, Mapping):
        return ", ".join(f"{name} {point_text(value)}" for name, value in point.items())
    if isinstance(point, tuple | list | np.ndarray):
        rest = f", … ({len(point)} in all)" if len(point) > MAX_NUMBERS else ""
        return ", ".join(point_text(value) for value in point[:MAX_NUMBERS]) + rest
    if not isinstance(point, float) or not 1e-4 <= abs(point) < 1e9:
        return f"{point:g}" if isinstance(point, float) else str(point)
    return np.format_float_positional(point, 5, unique=False, fractional=False, trim="-")


def with_unit(text: str, unit: str) -> str:
    """Append the unit, if there is one, to the name of a number."""
    return f"{text} ({unit})" if unit else text


def table_text(printable: RichCast, width: int) -> str:
    """Return an object that rich prints as a table as plain text, at most this wide."""
    buffer = StringIO()
    Console(file=buffer, width=width).print(printable)
    return "\n".join(line.rstrip() for line in buffer.getvalue().splitlines())

"""Checks of arguments that several layers make, and suggestions for misspelt names."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

import numpy as np

from milepost.errors import MilepostError


def did_you_mean(word: Any, known: Iterable[str]) -> str:
    """A question to put behind an error, or nothing.

    >>> did_you_mean("slope", ["slopes", "hats"]), did_you_mean("Magic", ["slopes", "hats"])
    ("; did you mean 'slopes'?", '')
    """
    spelt = {name.lower().replace("_", "-"): name for name in known}
    found = get_close_matches(str(word).lower().replace("_", "-"), spelt, n=1)
    return f"; did you mean {spelt[found[0]]!r}?" if found else ""


def check_whole(what: str, value: Any, minimum: int, maximum: int = 1 << 62) -> None:
    """Refuse what is no whole number within these bounds."""
    if isinstance(value, bool) or not isinstance(value, int) or not minimum <= value <= maximum:
        bounds = f"of at least {minimum}" if maximum == 1 << 62 else f"between {minimum} and {maximum:,}"
        raise MilepostError(f"{what} must be a whole number {bounds}, got {value!r}{integer_hint(value)}")


def integer_hint(value: Any) -> str:
    """How a float such as 1e5 is written as a whole number."""
    return f"; write {int(value):_}" if isinstance(value, float) and value.is_integer() else ""


def unmask(data: Any) -> Any:
    """Replace the hidden entries of masked arrays by missing ones: NaN among floats, else None.

    Every array or list from outside passes here before NumPy sees it: `np.asarray` would read what is under a mask.
    A list may hold masked rows. Fields of a structured array are apart, see `ingest/dataframes.py`.
    """
    if isinstance(data, list | tuple):
        masked = any(isinstance(entry, np.ma.MaskedArray) for entry in data)
        return [unmask(entry) for entry in data] if masked else data
    if not isinstance(data, np.ma.MaskedArray) or data.dtype.names is not None:
        return data
    hidden, shown = np.ma.getmaskarray(data), np.ma.getdata(data)
    if not hidden.any():
        return shown
    if not data.ndim:
        return None
    result = shown.copy() if shown.dtype.kind == "f" else shown.astype(object)
    result[hidden] = np.nan if shown.dtype.kind == "f" else None
    return result

"""Checks of arguments that several layers share, and suggestions for misspelt names."""

import sys
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

import numpy as np

from milepost.errors import MilepostError


def did_you_mean(word: Any, names: Iterable[str]) -> str:
    """Return a suggestion to append to an error message; empty if no name resembles the word.

    >>> did_you_mean("slope", ["slopes", "hats"]), did_you_mean("Magic", ["slopes", "hats"])
    ("; did you mean 'slopes'?", '')
    """
    by_key = {name.lower().replace("_", "-"): name for name in names}
    matches = get_close_matches(str(word).lower().replace("_", "-"), by_key, n=1)
    return f"; did you mean {by_key[matches[0]]!r}?" if matches else ""


def check_whole(what: str, value: Any, minimum: int, maximum: int = 1 << 62) -> None:
    """Refuse a value that is not a whole number within these bounds. what: the parameter's name, for the message."""
    if isinstance(value, bool) or not isinstance(value, int) or not minimum <= value <= maximum:
        bounds = f"of at least {minimum}" if maximum == 1 << 62 else f"between {minimum} and {maximum:,}"
        name = f"{what}=" if what.isidentifier() else what
        raise MilepostError(f"{name} must be a whole number {bounds}, got {value!r}{integer_hint(value)}")


def integer_hint(value: Any) -> str:
    """Return a hint on how to write a float such as 1e5 as a whole number; empty for other values."""
    return f"; write {int(value):_}" if isinstance(value, float) and value.is_integer() else ""


def unmask(data: Any) -> Any:
    """Replace the masked entries of arrays by missing values: NaN in arrays of floats, None in others.

    Call this on every array or list of a user before NumPy reads it: `np.asarray` would read the values under a mask.
    A list may hold masked rows. `ingest/dataframes.py` handles the fields of a structured array.
    """
    if "numpy.ma" not in sys.modules:  # no masked array exists, and to import the module takes 40 ms
        return data
    if isinstance(data, list | tuple):
        masked = any(isinstance(entry, np.ma.MaskedArray) for entry in data)
        return [unmask(entry) for entry in data] if masked else data
    if not isinstance(data, np.ma.MaskedArray) or data.dtype.names is not None:
        return data
    mask, values = np.ma.getmaskarray(data), np.ma.getdata(data)
    if not mask.any():
        return values
    if not data.ndim:
        return None
    result = values.copy() if values.dtype.kind == "f" else values.astype(object)
    result[mask] = np.nan if values.dtype.kind == "f" else None
    return result

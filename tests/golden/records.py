"""Records: results as JSON, and where two of them differ.

Integers, texts and truth values are compared exactly: whatever the library computes in integers is the same on every
computer. Floats are compared to RELATIVE: they come from NumPy, SciPy and BLAS, which add in another order, or have
other last bits of exp and sin, on another processor or in another version.
"""

import hashlib
import itertools
import json
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from milepost._typing import AnyArray

RELATIVE = 1e-12
NEAR_ZERO = 1e-12  # a difference that is always allowed: of sums that cancel
MAX_LISTED = 128  # numbers of an array that is stored as it is, or by its entries that are not 0
BLOCKS = 32  # of a larger array, each with a digest that says where a difference is
CELLS = 8  # of a larger array that are stored


def record(value: Any) -> Any:
    """Convert a value for JSON: arrays by `array_record`, texts of many lines as lists of lines."""
    if isinstance(value, np.ndarray):
        return array_record(value)
    if isinstance(value, np.generic):
        return record(value.item())
    if isinstance(value, dict):
        return {str(key): record(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [record(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, str) and "\n" in value:
        return value.splitlines()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)


def array_record(array: AnyArray) -> Any:
    """Return small arrays as lists, larger ones by the entries that are not 0, or digests of blocks and some cells."""
    if array.dtype.kind not in "iu" or array.size <= MAX_LISTED:
        return record(array.tolist())
    flat = np.ascontiguousarray(array, dtype="<i8").ravel()
    summary = {"shape": list(array.shape), "sum": int(flat.sum())}
    nonzero = np.flatnonzero(flat)
    if len(nonzero) <= MAX_LISTED:
        return summary | {"cells": {_cell_key(array, index): int(flat[index]) for index in nonzero.tolist()}}
    ends = np.linspace(0, flat.size, BLOCKS + 1).astype(int)
    digests = [hashlib.sha256(flat[a:b].tobytes()).hexdigest()[:12] for a, b in itertools.pairwise(ends)]
    sample = np.linspace(0, flat.size - 1, CELLS).astype(int).tolist()
    return summary | {"cells": {_cell_key(array, index): int(flat[index]) for index in sample}, "digests": digests}


def _cell_key(array: AnyArray, index: int) -> str:
    return ",".join(str(int(part)) for part in np.unravel_index(index, array.shape))


def differences(expected: Any, got: Any, path: str = "$") -> Iterator[str]:
    """Yield a line for each difference between two records."""
    if isinstance(expected, dict) and isinstance(got, dict):
        for key in sorted(expected.keys() | got.keys(), key=_order):
            at = f"{path}[{key!r}]" if "," in key or " " in key or "/" in key else f"{path}.{key}"
            if key not in got:
                yield f"{at}: expected {_shorten(expected[key])}, got nothing"
            elif key not in expected:
                yield f"{at}: expected nothing, got {_shorten(got[key])}"
            else:
                yield from differences(expected[key], got[key], at)
    elif isinstance(expected, list) and isinstance(got, list):
        for index, pair in enumerate(zip(expected, got, strict=False)):
            yield from differences(*pair, f"{path}[{index}]")
        if len(expected) != len(got):
            yield f"{path}: expected {len(expected)} entries, got {len(got)}"
    elif not _same(expected, got):
        yield f"{path}: expected {_shorten(expected)}, got {_shorten(got)}"


def _order(key: str) -> tuple[Any, ...]:
    """Sort cells in the order of an array, other keys by their letters."""
    parts = key.split(",")
    return (0, *map(int, parts)) if all(part.isdigit() for part in parts) else (1, key)


def _same(expected: Any, got: Any) -> bool:
    if type(expected) is not type(got):
        return False
    if isinstance(expected, float):
        return math.isclose(expected, got, rel_tol=RELATIVE, abs_tol=NEAR_ZERO)
    return bool(expected == got)


def _shorten(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 160 else f"{text[:160]}…"


def to_text(value: Any, indent: str = "") -> str:
    """Return JSON with sorted keys, one to a line; lists of numbers, and short ones, are a line each."""
    inner = f"{indent} "
    if isinstance(value, dict) and value:
        keys = sorted(value, key=_order)
        lines = (f"{inner}{json.dumps(key, ensure_ascii=False)}: {to_text(value[key], inner)}" for key in keys)
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    if isinstance(value, list) and any(isinstance(part, str | dict | list) for part in value):
        text = json.dumps(value, ensure_ascii=False)
        if len(text) > 100 or any(isinstance(part, dict) for part in value):
            return "[\n" + ",\n".join(f"{inner}{to_text(part, inner)}" for part in value) + f"\n{indent}]"
    return json.dumps(value, ensure_ascii=False)

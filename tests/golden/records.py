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
WHOLE = 128  # numbers up to which an array is stored as it is, or by those that are not 0
BLOCKS = 32  # of a larger array, each with a digest that says where a difference is
CELLS = 8  # of a larger array that are stored


def record(value: Any) -> Any:
    """What JSON can hold of a value: arrays by `array_record`, texts of many lines as lists of lines."""
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
    """Small arrays as lists; larger ones by what is not 0 or, where that is much, digests of blocks and a few cells."""
    if array.dtype.kind not in "iu" or array.size <= WHOLE:
        return record(array.tolist())
    flat = np.ascontiguousarray(array, dtype="<i8").ravel()
    about = {"shape": list(array.shape), "sum": int(flat.sum())}
    full = np.flatnonzero(flat)
    if len(full) <= WHOLE:
        return about | {"cells": {_place(array, at): int(flat[at]) for at in full.tolist()}}
    ends = np.linspace(0, flat.size, BLOCKS + 1).astype(int)
    digests = [hashlib.sha256(flat[a:b].tobytes()).hexdigest()[:12] for a, b in itertools.pairwise(ends)]
    places = np.linspace(0, flat.size - 1, CELLS).astype(int).tolist()
    return about | {"cells": {_place(array, at): int(flat[at]) for at in places}, "digests": digests}


def _place(array: AnyArray, at: int) -> str:
    return ",".join(str(int(part)) for part in np.unravel_index(at, array.shape))


def differences(expected: Any, got: Any, path: str = "$") -> Iterator[str]:
    """A line for each place where two records differ."""
    if isinstance(expected, dict) and isinstance(got, dict):
        for key in sorted(expected.keys() | got.keys(), key=_order):
            at = f"{path}[{key!r}]" if "," in key or " " in key or "/" in key else f"{path}.{key}"
            if key not in got:
                yield f"{at}: expected {_spelt(expected[key])}, got nothing"
            elif key not in expected:
                yield f"{at}: expected nothing, got {_spelt(got[key])}"
            else:
                yield from differences(expected[key], got[key], at)
    elif isinstance(expected, list) and isinstance(got, list):
        for place, pair in enumerate(zip(expected, got, strict=False)):
            yield from differences(*pair, f"{path}[{place}]")
        if len(expected) != len(got):
            yield f"{path}: expected {len(expected)} entries, got {len(got)}"
    elif not _same(expected, got):
        yield f"{path}: expected {_spelt(expected)}, got {_spelt(got)}"


def _order(key: str) -> tuple[Any, ...]:
    """Cells in the order of an array, other keys by their letters."""
    parts = key.split(",")
    return (0, *map(int, parts)) if all(part.isdigit() for part in parts) else (1, key)


def _same(expected: Any, got: Any) -> bool:
    if type(expected) is not type(got):
        return False
    if isinstance(expected, float):
        return math.isclose(expected, got, rel_tol=RELATIVE, abs_tol=NEAR_ZERO)
    return bool(expected == got)


def _spelt(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 160 else f"{text[:160]}…"


def written(value: Any, indent: str = "") -> str:
    """JSON with sorted keys, one to a line; lists of numbers, and short ones, are a line each."""
    inner = f"{indent} "
    if isinstance(value, dict) and value:
        keys = sorted(value, key=_order)
        lines = (f"{inner}{json.dumps(key, ensure_ascii=False)}: {written(value[key], inner)}" for key in keys)
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    if isinstance(value, list) and any(isinstance(part, str | dict | list) for part in value):
        text = json.dumps(value, ensure_ascii=False)
        if len(text) > 100 or any(isinstance(part, dict) for part in value):
            return "[\n" + ",\n".join(f"{inner}{written(part, inner)}" for part in value) + f"\n{indent}]"
    return json.dumps(value, ensure_ascii=False)

"""Limits of a mechanism's parameters and tensors in a file, which somebody may have edited."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from milepost._typing import AnyArray
from milepost.errors import MilepostError
from milepost.spaces.embeddings.embedding import QUANTUM_BITS
from milepost.statistics.sketch import MAX_TOTAL

MAX_MAGNITUDE = 1e150  # of distances, so that their squares are finite floats
MAX_SCALE = 1e60  # of noise scales and budget shares, so that their fourth powers are finite floats


@dataclass(frozen=True)
class Limit:
    """Bounds of a number, or of each number in a list.

    whole: integers only. above: the minimum itself is excluded. several: the value is a list.
    """

    minimum: float
    maximum: float
    whole: bool = False
    above: bool = False
    several: bool = False

    def allows(self, value: Any) -> bool:
        """Return whether a value, or each value of a list if `several`, is within the limits."""
        if self.several:
            return isinstance(value, list) and all(map(self._allows, value))
        return self._allows(value)

    def _allows(self, value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, int if self.whole else int | float):
            return False
        return self.minimum < value <= self.maximum if self.above else self.minimum <= value <= self.maximum


SCALE, COUNT = Limit(1 / MAX_SCALE, MAX_SCALE), Limit(0, 1 << 62, whole=True)
DISTANCE, ANY = Limit(0, MAX_MAGNITUDE, above=True), Limit(-MAX_MAGNITUDE, MAX_MAGNITUDE)
ANY_LIST = Limit(-MAX_MAGNITUDE, MAX_MAGNITUDE, several=True)
LIMITS = {
    "slopes": {"power": SCALE, "bits": Limit(0, QUANTUM_BITS, whole=True, several=True)},
    "hats": {
        "epsilons": Limit(1 / MAX_SCALE, MAX_SCALE, several=True),
        "bits": Limit(0, QUANTUM_BITS, whole=True, several=True),
    },
    "tangents": {"alpha": ANY},
    "scans": {"bits": Limit(0, QUANTUM_BITS, whole=True), "cells": COUNT, "alpha": ANY},
    "margins": {
        "n": Limit(1, MAX_TOTAL, whole=True),
        **dict.fromkeys(("alpha", "lattice"), DISTANCE),
        **dict.fromkeys(("updates", "queries", "sensitivity"), COUNT),
        "epsilon_test": SCALE,
        "failure_probability": Limit(0, 1, above=True),
        "threshold": Limit(-(1 << 62), 1 << 62, whole=True),
        **dict.fromkeys(("value_scale", "slope_scale", "margin", "gap"), ANY_LIST),
    },
    "total": {"scale": SCALE},
}
TYPES: dict[str, type] = {
    **dict.fromkeys(("deviations", "kurtoses", "space.weight", "space.measured"), np.float64),
    "space.query_positions": np.int32,
}
POSITIVE = ("deviations", "space.weight")
FLAGS = ("pure", "central")


def check_parameters(mechanism: str, parameters: Any) -> None:
    """Refuse parameters that no release has: text, lists in place of a number, and numbers beyond their bounds."""
    if not isinstance(parameters, dict):
        raise MilepostError(f"the card's numbers of {mechanism} are wrong")
    rules = LIMITS.get(mechanism, {})
    for name, value in parameters.items():
        if name in LIMITS:
            for part in value if isinstance(value, list) else [value]:
                check_parameters(name, part)
        elif not (rules[name].allows(value) if name in rules else name in FLAGS and isinstance(value, bool)):
            raise MilepostError(f"the card has a wrong {name} for {mechanism}")


def check_tensors(tensors: dict[str, AnyArray]) -> None:
    """Refuse tensors of types that no release has, and numbers out of range; a name may begin with a group's index."""
    for name, tensor in tensors.items():
        key = name if name.startswith("space.") else name.split(".")[-1]
        invalid = tensor.dtype != TYPES.get(key, np.int64)
        if not invalid and tensor.dtype == np.float64:
            minimum = 1 / MAX_MAGNITUDE if key in POSITIVE else -MAX_MAGNITUDE
            invalid = not ((tensor >= minimum) & (tensor <= MAX_MAGNITUDE)).all()
        if invalid:
            raise MilepostError(f"the file's tensor {name!r} has another type than a release, or numbers that are none")

"""Parameters: what the numbers of a mechanism may be in a file, which somebody may have edited."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from milepost._typing import AnyArray
from milepost.errors import MilepostError
from milepost.spaces.embeddings.embedding import QUANTUM_BITS
from milepost.statistics.sketch import MAX_TOTAL

MAX_ENTRIES = 1e150  # of distances, so that their squares are floats
SCALES = 1e60  # of noise and shares of a budget, so that fourth powers are


@dataclass(frozen=True)
class Limit:
    """A number within bounds, the least of them excluded where it is said to be above; or a list of such numbers."""

    minimum: float
    maximum: float
    whole: bool = False
    above: bool = False
    several: bool = False

    def allows(self, value: Any) -> bool:
        """Whether it is one, or several of them where several are meant."""
        if self.several:
            return isinstance(value, list) and all(map(self._allows, value))
        return self._allows(value)

    def _allows(self, value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, int if self.whole else int | float):
            return False
        return self.minimum < value <= self.maximum if self.above else self.minimum <= value <= self.maximum


SCALE, COUNT = Limit(1 / SCALES, SCALES), Limit(0, 1 << 62, whole=True)
DISTANCE, ANY = Limit(0, MAX_ENTRIES, above=True), Limit(-MAX_ENTRIES, MAX_ENTRIES)
EVERY = Limit(-MAX_ENTRIES, MAX_ENTRIES, several=True)
LIMITS = {
    "slopes": {"power": SCALE, "bits": Limit(0, QUANTUM_BITS, whole=True, several=True)},
    "hats": {
        "epsilons": Limit(1 / SCALES, SCALES, several=True),
        "bits": Limit(0, QUANTUM_BITS, whole=True, several=True),
    },
    "tangents": {"alpha": ANY},
    "scans": {"bits": Limit(0, QUANTUM_BITS, whole=True), "cells": COUNT, "alpha": ANY},
    "margins": {
        "n": Limit(1, MAX_TOTAL, whole=True),
        **dict.fromkeys(("alpha", "lattice"), DISTANCE),
        **dict.fromkeys(("updates", "queries", "sensitivity"), COUNT),
        "epsilon_test": SCALE,
        "beta": Limit(0, 1, above=True),
        "threshold": Limit(-(1 << 62), 1 << 62, whole=True),
        **dict.fromkeys(("value_scale", "slope_scale", "margin", "gap"), EVERY),
    },
    "total": {"scale": SCALE},
}
TYPES: dict[str, type] = {
    **dict.fromkeys(("deviations", "kurtoses", "space.weight", "space.measured"), np.float64),
    "space.places": np.int32,
}
POSITIVE = ("deviations", "space.weight")
FLAGS = ("pure", "central")


def check_parameters(mechanism: str, parameters: Any) -> None:
    """Refuse numbers that no release has: text, lists where a number is meant, and those beyond their bounds."""
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
    """Refuse other types than a release has, and numbers that are none; names may begin with a group's number."""
    for name, tensor in tensors.items():
        own = name if name.startswith("space.") else name.split(".")[-1]
        wrong = tensor.dtype != TYPES.get(own, np.int64)
        if not wrong and tensor.dtype == np.float64:
            least = 1 / MAX_ENTRIES if own in POSITIVE else -MAX_ENTRIES
            wrong = not ((tensor >= least) & (tensor <= MAX_ENTRIES)).all()
        if wrong:
            raise MilepostError(f"the file's tensor {name!r} has another type than a release, or numbers that are none")

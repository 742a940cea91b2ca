"""Limits of the parameters and tensors in a file, which anybody may have edited; each statistic declares its own."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from milepost._typing import AnyArray
from milepost.errors import MilepostError

MAX_MAGNITUDE = 1e150  # of distances, so that their squares are finite floats
MAX_SCALE = 1e60  # of noise scales and budget shares, so that their fourth powers are finite floats


@dataclass(frozen=True)
class NumberLimit:
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


@dataclass(frozen=True)
class FlagLimit:
    """True or false."""

    def allows(self, value: Any) -> bool:
        """Return whether a value is a bool."""
        return isinstance(value, bool)


@dataclass(frozen=True)
class RecordLimit:
    """A dict with limits of its values, or a list of such dicts if `several`."""

    limits: "ParameterLimits"
    several: bool = False

    def allows(self, value: Any) -> bool:
        """Return whether a value is such a dict, or a list of them."""
        if self.several:
            return isinstance(value, list) and all(map(self._allows, value))
        return self._allows(value)

    def _allows(self, value: Any) -> bool:
        return isinstance(value, dict) and wrong_parameter(self.limits, value) is None


@dataclass(frozen=True)
class TensorLimit:
    """The type of a tensor, and whether its numbers must be positive; floats are finite in any case."""

    dtype: type = np.int64
    positive: bool = False

    def allows(self, tensor: AnyArray) -> bool:
        """Return whether a tensor is of the type, and its floats are within the limits."""
        if tensor.dtype != self.dtype:
            return False
        if tensor.dtype != np.float64:
            return True
        minimum = 1 / MAX_MAGNITUDE if self.positive else -MAX_MAGNITUDE
        return bool(((tensor >= minimum) & (tensor <= MAX_MAGNITUDE)).all())


Limit: TypeAlias = NumberLimit | FlagLimit | RecordLimit
ParameterLimits: TypeAlias = Mapping[str, Limit]
TensorLimits: TypeAlias = Mapping[str, TensorLimit]

FLAG = FlagLimit()
SCALE, SCALES = NumberLimit(1 / MAX_SCALE, MAX_SCALE), NumberLimit(1 / MAX_SCALE, MAX_SCALE, several=True)
COUNT = NumberLimit(0, 1 << 62, whole=True)
DISTANCE = NumberLimit(0, MAX_MAGNITUDE, above=True)
REAL = NumberLimit(-MAX_MAGNITUDE, MAX_MAGNITUDE)
REALS = NumberLimit(-MAX_MAGNITUDE, MAX_MAGNITUDE, several=True)
INTEGERS, FLOATS, POSITIVE_FLOATS = TensorLimit(), TensorLimit(np.float64), TensorLimit(np.float64, positive=True)


def wrong_parameter(limits: ParameterLimits, parameters: dict[str, Any]) -> str | None:
    """Return the name of a parameter that has no limit or is beyond it; None if there is none."""
    for name, value in parameters.items():
        if name not in limits or not limits[name].allows(value):
            return name
    return None


def check_parameters(mechanism: str, limits: ParameterLimits, parameters: Any) -> None:
    """Refuse parameters that no release has: text, lists in place of a number, and numbers beyond their limits."""
    if not isinstance(parameters, dict):
        raise MilepostError(f"the card's parameters of {mechanism} are not a table of numbers")
    name = wrong_parameter(limits, parameters)
    if name is not None:
        raise MilepostError(f"the card has a wrong {name} for {mechanism}")


def check_tensors(limits: TensorLimits, tensors: Mapping[str, AnyArray]) -> None:
    """Refuse tensors that no release has: other names or types, and numbers beyond their limits."""
    for name, tensor in tensors.items():
        if name not in limits or not limits[name].allows(tensor):
            raise MilepostError(f"the file's tensor {name!r} has another name, type or range than that of a release")

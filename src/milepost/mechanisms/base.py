"""What every mechanism and its result have in common."""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, Self

from milepost.arrays import FloatArray, IntArray
from milepost.errors import MilepostError
from milepost.privacy.change import Change
from milepost.privacy.guarantee import Guarantee
from milepost.spaces.base import Hosts
from milepost.statistics.sketch import Sketch


@dataclass(frozen=True)
class Prediction:
    """What a mechanism would do, from public numbers only.

    error: 95 % half-width of one answer, in units of the distance. details: named numbers for the plan's table.
    """

    mechanism: str
    error: float
    details: dict[str, float | int | str] = field(default_factory=dict)


class Answerer(Protocol):
    """Noisy tensors and public numbers that give a value and its half-width."""

    mechanism: ClassVar[str]

    def value(self, positions: FloatArray) -> FloatArray:
        """The estimate of F at host positions float64[k, D] in quanta: float64[k]."""

    def half_width(self, confidence: float, uniform: bool) -> float:
        """How far an answer may be off at this confidence; of all answers at once when uniform."""

    def tensors(self) -> dict[str, IntArray]:
        """The released integers, as the file stores them."""

    def parameters(self) -> dict[str, Any]:
        """The public numbers, as the card stores them."""

    @classmethod
    def load(cls, hosts: Hosts, n: int, parameters: dict[str, Any], tensors: dict[str, IntArray]) -> Self:
        """The inverse of `tensors` and `parameters`."""


class Mechanism(Protocol):
    """A way to spend a guarantee on a statistic."""

    name: ClassVar[str]

    def predict(self, hosts: Hosts, n: int, change: Change, guarantee: Guarantee) -> Prediction:
        """The error it would have; no data is touched."""

    def run(self, sketch: Sketch, hosts: Hosts, change: Change, guarantee: Guarantee) -> Answerer:
        """Spend the guarantee."""


def check_confidence(confidence: float) -> None:
    """Refuse a confidence that is not a probability strictly between 0 and 1."""
    if not isinstance(confidence, int | float) or not 0 < confidence < 1:
        raise MilepostError(f"confidence must lie strictly between 0 and 1, got {confidence!r}; 0.95 is usual")

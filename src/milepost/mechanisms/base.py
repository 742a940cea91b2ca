"""What every mechanism and its result have in common."""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, Self

from milepost.arrays import FloatArray, IntArray
from milepost.errors import MilepostError
from milepost.mechanisms.polygon import Polygon
from milepost.privacy.change import Change
from milepost.privacy.guarantee import Guarantee
from milepost.spaces.base import QUANTUM_BITS, Hosts
from milepost.statistics.sketch import Sketch


@dataclass(frozen=True)
class Prediction:
    """What a mechanism would do, from public numbers only; distances unless said otherwise.

    error: 95 % half-width of one answer. rms: standard deviation of an answer. uniform: 95 % half-width of all answers
    at once. cells: of all coordinates together. size: bytes of the file, about. details: more numbers, by name.
    """

    mechanism: str
    error: float
    rms: float | None = None
    uniform: float | None = None
    cells: int | None = None
    size: int | None = None
    details: dict[str, float | int | str] = field(default_factory=dict)


class Answerer(Protocol):
    """Noisy tensors and public numbers that give a value and its half-width."""

    mechanism: ClassVar[str]
    extends: ClassVar[bool]  # whether a query outside the space is answered by linear continuation
    hosts: Hosts

    @property
    def confidence(self) -> float:
        """The largest confidence that `half_width` can be asked for."""

    def polygons(self, raw: bool = False) -> tuple[Polygon, ...]:
        """The estimate of each coordinate's function; without post-processing when raw."""

    def half_width(self, confidence: float, uniform: bool) -> float:
        """How far an answer may be off at this confidence, wherever; of all answers at once when uniform."""

    def half_widths(self, positions: FloatArray, confidence: float) -> FloatArray:
        """How far each of the answers at positions float64[k, D] may be off at this confidence."""

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

    def check(self, change: Change, guarantee: Guarantee) -> None:
        """Refuse a change or a guarantee that this mechanism cannot give."""

    def predict(self, hosts: Hosts, n: int, change: Change, guarantee: Guarantee) -> Prediction:
        """The error it would have; no data is touched."""

    def run(self, sketch: Sketch, hosts: Hosts, change: Change, guarantee: Guarantee) -> Answerer:
        """Spend the guarantee."""


def check_replace(name: str, change: Change) -> None:
    """Refuse a relation under which the number of rows is private."""
    if not change.public_total:
        raise MilepostError(
            f"{name} protects neighbors='replace' only: it is sized from the number of rows, which add-remove "
            "keeps private"
        )


def check_sketch(sketch: Sketch, hosts: Hosts) -> None:
    """Refuse a statistic that was not made for these hosts: nothing may be spent on it."""
    if sketch.dimension != hosts.dimension:
        raise MilepostError(
            f"the sketch has {sketch.dimension} coordinate{'s' * (sketch.dimension != 1)}, the space has "
            f"{hosts.dimension}"
        )
    if sketch.groups != 1:
        raise MilepostError(f"expected a sketch of one group, got {sketch.groups} groups")
    if not sketch.totals[0] > 0:
        raise MilepostError("the sketch has no records; at least one is needed")


def check_cells(sketch: Sketch, bits: int) -> None:
    """Refuse a sketch that is coarser than the cells that are needed."""
    if bits < sketch.bits:
        raise MilepostError(f"the sketch has {sketch.cells} cells, {1 << (QUANTUM_BITS - bits)} are needed")


def check_confidence(confidence: float) -> None:
    """Refuse a confidence that is not a probability strictly between 0 and 1."""
    if not isinstance(confidence, int | float) or not 0 < confidence < 1:
        raise MilepostError(f"confidence must lie strictly between 0 and 1, got {confidence!r}; 0.95 is usual")

"""The interface of mechanisms, their designs and the statistics that they release; `Mechanism` documents it."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, Protocol, Self, TypeAlias, TypeVar

import numpy as np

from milepost._typing import AnyArray, FloatArray, IntArray
from milepost.errors import MilepostError, warn
from milepost.mechanisms.coordinate.piecewise_linear import PiecewiseLinear, in_cache_blocks, sum_at
from milepost.mechanisms.table_model import TableModel
from milepost.mechanisms.totals import Total, check_total, check_total_scale
from milepost.privacy.guarantee import ZCDP, Guarantee
from milepost.privacy.noise import MAX_DRAWS, check_scale
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.base import Space
from milepost.spaces.embeddings.embedding import QUANTUM_BITS, CategoryBlock, Embedding
from milepost.spaces.queries import BORDER, Queries
from milepost.statistics.distance_sums import DistanceSums
from milepost.statistics.sketch import Sketch
from milepost.statistics.vertex_sums import VertexSums
from milepost.storage.file_limits import ParameterLimits, TensorLimits, check_parameters, check_tensors

Label: TypeAlias = str | int | bool


@dataclass(frozen=True)
class Prediction:
    """Errors and sizes that a mechanism would have, from public numbers only; errors are distances.

    error: 95 % half-width of one answer. rms: standard deviation of an answer. uniform: 95 % half-width of all answers
    at once. cells: number of cells of all coordinates together. size: approximate bytes of the file. details: more
    numbers, by name. coordinates: D, the number of embedding coordinates of the space. draws: of noise, for all groups
    together and at most; each takes about 10 µs of a processor. accounting: how the guarantee is spent, "pure",
    "gaussian" or "zcdp". planned_for: the tables that the error is planned for, as text; empty where it does not
    depend on the table. model: the private model that answers use, in a few words; empty without one.
    """

    mechanism: str
    error: float
    rms: float | None = None
    uniform: float | None = None
    cells: int | None = None
    size: int | None = None
    details: dict[str, float | int | str] = field(default_factory=dict)
    coordinates: int | None = None
    draws: int | None = None
    accounting: str = ""
    planned_for: str = ""
    model: str = ""


def session_name(mechanism: str, queries: int) -> str:
    """Return the name that a plan gives to a session with this number of queries."""
    return f"{mechanism}, {queries:,} queries"


class NoisyStatistic(ABC):
    """Noisy tensors and public numbers that give a value and its half-width; all of it is released.

    A query's position is its embedding position, float64[D] in quanta, or its index among given queries, or the query
    itself.
    mechanism: the name of the mechanism that released it. total: the number of records, exact or noisy.
    labels: of the groups; empty without groups. model: of the table, where answers use one. parameter_limits,
    tensor_limits: what a file of it may hold.
    """

    mechanism: str
    total: Total
    labels: tuple[Label, ...] = ()
    model: TableModel | None = None
    parameter_limits: ClassVar[ParameterLimits] = {}
    tensor_limits: ClassVar[TensorLimits] = {}

    @property
    def statistics(self) -> "tuple[NoisyStatistic, ...]":
        """The statistic of each group, in the order of `labels`; of a release without groups, this one alone."""
        return (self,)

    def group(self, label: Any) -> "NoisyStatistic":
        """Return the statistic of one group; refuse if there is none of this label."""
        raise MilepostError(
            f"this release has no groups, so none is {label!r}; make one with groups='column' and labels=[…]"
        )

    def check_ungrouped(self) -> None:
        """Refuse to answer for several groups at once."""
        if self.labels:
            raise self.grouped_error()

    def grouped_error(self) -> MilepostError:
        """Return the error that a query has to name a group."""
        return MilepostError(
            f"this release has the groups {', '.join(map(repr, self.labels))}: name one with group=…, or take one, as "
            f"in synopsis.group({self.labels[0]!r}); nearest and compare ask about all of them"
        )

    @property
    @abstractmethod
    def confidence(self) -> float:
        """The largest confidence that `half_width` accepts."""

    @property
    def has_uniform_error(self) -> bool:
        """Whether a half-width for all answers at once exists."""
        return True

    @property
    @abstractmethod
    def max_error(self) -> float:
        """The largest error that any answer can have, unless raw."""

    def positions(self, space: Space, points: AnyArray) -> AnyArray:
        """Return positions of points, as the space reads them, with all that answers need; by default embedded ones."""
        return space.position(points)

    def weighted_points(self) -> tuple[FloatArray, FloatArray]:
        """Return public points, as queries, and weights that stand for the people; by default there are none."""
        raise MilepostError(
            f"a {self.mechanism} release knows mean distances only, not where people are; release a two-dimensional "
            "space with mechanism='quadtree'"
        )

    @abstractmethod
    def values(self, positions: AnyArray, raw: bool = False) -> FloatArray:
        """Return the answers at positions; unless raw, clipped to the range of possible ones, which lowers errors."""

    @abstractmethod
    def half_width(self, confidence: float, uniform: bool = False) -> float:
        """Return a half-width that is valid at every position; for all answers at once when uniform."""

    @abstractmethod
    def half_widths(self, positions: AnyArray, confidence: float) -> FloatArray:
        """Return the half-width of each answer at positions."""

    @abstractmethod
    def tensors(self) -> dict[str, AnyArray]:
        """Return the released integers, as the file stores them, and public numbers that go with them."""

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """Return the public numbers, as the card stores them."""

    @classmethod
    def load(
        cls,
        mechanism: str,
        public: Any,  # noqa: ARG003
        n: int,  # noqa: ARG003
        parameters: dict[str, Any],  # noqa: ARG003
        tensors: dict[str, AnyArray],  # noqa: ARG003
    ) -> "NoisyStatistic":
        """Return the statistic that `tensors` and `parameters` were taken from; both are within their limits.

        public: the embedding or the given queries. n: the public number of records; 0 where it is private.
        """
        raise MilepostError(f"{mechanism} cannot load its files: {cls.__name__} has no `load`")

    @classmethod
    def from_file(
        cls, mechanism: str, public: Any, n: int, parameters: Any, tensors: dict[str, AnyArray]
    ) -> "NoisyStatistic":
        """Check the content of a file against the limits, then load it."""
        check_parameters(mechanism, cls.parameter_limits, parameters)
        check_tensors(cls.tensor_limits, tensors)
        return cls.load(mechanism, public, n, parameters, tensors)


class CoordinateStatistic(NoisyStatistic):
    """A statistic that estimates the function of every embedding coordinate."""

    extends: ClassVar[bool]  # whether a query outside the space is answered by linear continuation
    embedding: Embedding

    @property
    def max_error(self) -> float:
        """The largest error of an answer, unless raw: the answer and the truth are in the range of possible ones."""
        return self.embedding.sensitivity_bound

    @abstractmethod
    def functions(self, raw: bool = False) -> tuple[PiecewiseLinear, ...]:
        """Return the estimate of each coordinate's function; without post-processing when raw."""

    def values(self, positions: AnyArray, raw: bool = False) -> FloatArray:
        """Return answers at positions float64[k, D] in quanta; unless raw, in the range that some table has there."""

        def block_values(block: FloatArray) -> FloatArray:
            result = self.sum_estimates(block, raw)
            return result if raw else np.asarray(np.clip(result, *self.embedding.range(block)))

        return in_cache_blocks(block_values, self.clip_positions(positions))

    def sum_estimates(self, positions: FloatArray, raw: bool) -> FloatArray:
        """Return the sum of all coordinates' estimates at positions float64[k, D]."""
        return sum_at(self.functions(raw), self.embedding, positions, self.extends)

    def parts(self, positions: AnyArray, only: Sequence[int], raw: bool = False) -> FloatArray:
        """Return the sum of the estimates of the coordinates `only`."""
        return sum_at(self.functions(raw), self.embedding, self.clip_positions(positions), self.extends, only)

    def clip_positions(self, positions: FloatArray) -> FloatArray:
        """Return positions, moved to the border of the space where estimates do not continue outside."""
        if self.extends:
            return positions
        warn_outside(positions, self.embedding)
        return np.clip(positions, 0, self.embedding.span)

    def lowest_position(self) -> FloatArray:
        """Return the position float64[D] with the smallest estimate in each block; 1 at the most frequent label."""
        functions = self.functions()

        def most_frequent(block: CategoryBlock) -> list[float]:
            shares = [function.heights[0] for function in functions[block.coordinates]]
            return [float(k == np.argmax(shares)) for k in range(block.labels)]

        blocks = self.embedding.blocks
        return np.array([x for block in blocks for x in block.select(lambda i: [functions[i].argmin()], most_frequent)])


class ExactStatistic(Protocol):
    """A private statistic: exact integers of each group."""

    @property
    def groups(self) -> int:
        """The number of groups."""

    @property
    def totals(self) -> IntArray:
        """The number of records of each group, or their weight in steps."""


Public = TypeVar("Public")
Exact = TypeVar("Exact", bound=ExactStatistic)
Released = TypeVar("Released", bound=NoisyStatistic)


@dataclass(frozen=True, eq=False)
class Design(ABC, Generic[Exact, Released]):
    """All public numbers of a release: what `Mechanism.predict` computes without data, and `run` spends.

    A subclass adds its own fields, and implements `scales`, `prediction` and `add_noise`.
    mechanism: its name. n: the number of records of a group that noise and cells are sized for; the exact one where
    that is public. change: what the guarantee protects. total_scale: of the noise on the number of records, 0 where
    that is public; `BudgetSplit.total`. pure: whether that noise is Laplace noise, rather than Gaussian.
    """

    mechanism: str
    n: int
    change: ProtectedChange
    total_scale: float
    pure: bool

    @property
    @abstractmethod
    def scales(self) -> Collection[float]:
        """The noise scales of the statistic, or their extremes; `predict` refuses those that integers cannot hold."""

    @property
    @abstractmethod
    def prediction(self) -> Prediction:
        """The error to expect, for data that are evenly spread; computed when it is first needed."""

    @property
    def error(self) -> float:
        """The error of `prediction`; a subclass may compute it without the rest, which "auto" does not need."""
        return self.prediction.error

    @property
    def rms(self) -> float | None:
        """The standard deviation of `prediction`; a subclass may compute it without the rest."""
        return self.prediction.rms

    @property
    def group_draws(self) -> int | None:
        """The largest number of draws of noise for the statistic of one group; None where it is not known."""
        return None

    @property
    def draws(self) -> int | None:
        """The largest number of draws of noise, for all groups and their totals; None where it is not known."""
        if self.group_draws is None:
            return None
        return (self.change.groups or 1) * (self.group_draws + (self.total_scale > 0))

    @abstractmethod
    def add_noise(self, statistic: Exact, group: int, draw_total: Callable[[], Total]) -> Released:
        """Return the noisy statistic of a group. draw_total: returns the noisy total; call it once."""

    @abstractmethod
    def check_shape(self, statistic: Exact) -> None:
        """Refuse a statistic that was not made for this design."""

    def run(self, statistic: Exact, group: int = 0) -> Released:
        """Spend the guarantee on one of the groups that it covers together: check the statistic, then add noise."""
        self.check_shape(statistic)
        if statistic.groups != (self.change.groups or 1):
            raise MilepostError(
                f"expected a statistic of {self.change.groups or 'one'} group, got {statistic.groups} groups"
            )
        exact = int(statistic.totals[group])
        check_total(exact, self.n, self.change)
        return self.add_noise(statistic, group, lambda: Total.draw(exact, self.total_scale, self.pure))

    def check_scales(self) -> None:
        """Refuse noise that integers cannot hold, or more of it than the accounting allows for."""
        if (self.draws or 0) > MAX_DRAWS:
            raise MilepostError(f"a release may draw {MAX_DRAWS:,} numbers of noise at most, got {self.draws:,}")
        for scale in self.scales:
            check_scale(scale)
        check_total_scale(self.total_scale, self.pure)


@dataclass(frozen=True, eq=False)
class CoordinateDesign(Design[Sketch, CoordinateStatistic]):
    """A design on embedding coordinates. bits: coordinate i has cells of 2^bits[i] quanta."""

    embedding: Embedding
    bits: Sequence[int]

    def check_shape(self, statistic: Sketch) -> None:
        """Refuse a sketch of another embedding, or of coarser cells."""
        if statistic.dimension != self.embedding.dimension:
            raise MilepostError(
                f"the sketch has {statistic.dimension} coordinate{'s' * (statistic.dimension != 1)}, the space has "
                f"{self.embedding.dimension}"
            )
        if self.sketch_cells > statistic.cells:
            raise MilepostError(f"the sketch has {statistic.cells} cells, {self.sketch_cells} are needed")

    @property
    def sketch_cells(self) -> int:
        """The smallest number of cells of a sketch that has all cells of the design."""
        return 1 << (QUANTUM_BITS - min(self.bits))

    def coarsen(self, sketch: Sketch, group: int) -> dict[int, Sketch]:
        """Return all coordinates of one group, in cells of 2^b quanta, for each b of `bits`."""
        part = Sketch(sketch.dimension, cells=sketch.cells)
        one = slice(group, group + 1)
        part.counts, part.offsets, part.totals = sketch.counts[one], sketch.offsets[one], sketch.totals[one]
        return {b: part.coarsen(1 << (QUANTUM_BITS - b)) for b in set(self.bits)}

    def coordinate(self, sketch: Sketch, i: int, group: int) -> Sketch:
        """Return coordinate i of one group, in cells of 2^bits[i] quanta."""
        return sketch.only(i, group).coarsen(1 << (QUANTUM_BITS - self.bits[i]))


@dataclass(frozen=True, eq=False)
class QueryDesign(Design[DistanceSums, NoisyStatistic]):
    """A design for given queries."""

    queries: Queries

    @property
    def summands(self) -> int:
        """The number of sums; by default one for each query."""
        return self.queries.count

    @property
    def group_draws(self) -> int:
        """One for each query."""
        return self.queries.count

    def check_shape(self, statistic: DistanceSums) -> None:
        """Refuse sums of another count of numbers."""
        if statistic.count != self.summands:
            raise MilepostError(
                f"sums of {statistic.count} numbers do not fit these queries, which have {self.summands}"
            )


@dataclass(frozen=True, eq=False)
class ChartDesign(Design[VertexSums, NoisyStatistic]):
    """A design on the chart of a two-dimensional space. size: vertices along a side of the grid that it needs."""

    space: Space
    size: int

    def check_shape(self, statistic: VertexSums) -> None:
        """Refuse sums on another grid."""
        if statistic.size != self.size:
            raise MilepostError(f"the grid has {statistic.size} vertices a side, {self.size} are needed")


AnyDesign = TypeVar("AnyDesign", bound=Design[Any, Any])


class Mechanism(ABC, Generic[Public, AnyDesign]):
    """A way to spend a guarantee on a statistic; subclass `CoordinateMechanism`, `QueryMechanism` or `ChartMechanism`.

    A coordinate mechanism adds noise to the sketch of a table, the counts of records in cells of each embedding
    coordinate, and answers every point. A query mechanism adds noise to the exact sums of distances to given queries. A
    chart mechanism adds noise to the weights of records on the vertices of a grid over a two-dimensional space, and
    answers every point. None of them sees a record.

    A subclass has to give:

    - `name`, by which users, files and reports know it, and `pure`: whether it spends pure ε whatever δ is (a ledger
      then charges ε alone).
    - `all_gaussian`, if all of its noise is Gaussian where δ > 0: it then spends μ²/2, by the exact curve of Gaussian
      noise; else it spends ρ-zCDP. The guarantee that a design gets has the right one as its `budget`.
    - `statistic`: the class of what it releases. `SlopeCounts`, `HatSags` and `NoisySums` can be used as they are;
      another class declares the limits of its file, and loads it.
    - `design`: the public numbers of a release, a `Design` whose `add_noise` adds the noise. How large the noise has
      to be follows from `ProtectedChange.gaussian` or `ProtectedChange.laplace`, which split the budget between the
      sums and the total. All randomness has to come from `milepost.privacy.noise`.
    - `check`, if there are guarantees or changes that it cannot give.
    - `error_bound`, if its design takes long: "auto" then does not compute a design that cannot win.

    The base class ensures that `check` comes before a design, that no scale of noise overflows, that a statistic fits
    the design, groups and number of records included, before noise is drawn, and that the total of a group is drawn
    with the noise of the design.
    """

    name: str
    pure: bool
    statistic: type[NoisyStatistic]

    takes_model: ClassVar[bool] = False  # whether its statistic may answer with the help of a model of the table

    @property
    def all_gaussian(self) -> bool:
        """Whether all of its noise is Gaussian where δ > 0; a subclass declares that beside its `design`."""
        return False

    def accounted(self, guarantee: Guarantee) -> Guarantee:
        """Return the guarantee as this mechanism spends it.

        ε alone if it is `pure`; in zCDP where δ > 0 and not all of its noise is Gaussian. A subclass that has another
        `design` does not inherit `all_gaussian`, which is about the noise of that design.
        """
        if guarantee.pure or self.pure:
            return replace(guarantee, delta=0.0)
        methods = ("design", "all_gaussian")
        owner = next(cls for cls in type(self).__mro__ if any(method in vars(cls) for method in methods))
        declared = "all_gaussian" in vars(owner) and self.all_gaussian
        return guarantee if declared else replace(guarantee, accounting=ZCDP)

    def check(self, change: ProtectedChange, guarantee: Guarantee) -> None:
        """Refuse a change or a guarantee that this mechanism cannot give; by default it gives all."""

    def is_automatic(self, space: Space, queries: Queries | None, guarantee: Guarantee) -> bool:  # noqa: ARG002
        """Return whether "auto" considers it; by default wherever it can give the guarantee. queries: if given."""
        return True

    @abstractmethod
    def design(self, public: Public, n: int, change: ProtectedChange, guarantee: Guarantee) -> AnyDesign:
        """Return the design for n records a group. public: the embedding, the given queries, or the space."""

    def predict(self, public: Public, n: int, change: ProtectedChange, guarantee: Guarantee) -> AnyDesign:
        """Return the design, with the error to expect, without touching data; refuse what cannot be released."""
        self.check(change, guarantee)
        if not n > 0:
            raise MilepostError("the statistic has no records; at least one is needed")
        design = self.design(public, n, change, self.accounted(guarantee))
        design.check_scales()
        return design

    def error_bound(self, public: Public, n: int, change: ProtectedChange, guarantee: Guarantee) -> float:  # noqa: ARG002
        """Return a lower bound of the error of `predict`, from public numbers and in little time.

        "auto" leaves out a mechanism whose bound is above the error of another one. By default 0: never left out.
        """
        return 0.0

    def with_failure_probability(self, failure_probability: float) -> Self:  # noqa: ARG002
        """Return the mechanism for promises that fail with this probability; by default it makes none."""
        return self


class CoordinateMechanism(Mechanism[Embedding, CoordinateDesign]):
    """A mechanism on embedding coordinates, which answers every point."""


class QueryMechanism(Mechanism[Queries, QueryDesign]):
    """A mechanism for given queries: points and, if it takes them, weighted sums of distances to several points."""

    takes_weighted_distances: ClassVar[bool] = False

    def takes(self, queries: Queries | None) -> bool:
        """Return whether it answers queries of these kinds."""
        return queries is None or queries.functions is None or self.takes_weighted_distances

    def predict(self, public: Queries, n: int, change: ProtectedChange, guarantee: Guarantee) -> QueryDesign:
        """Return the design; refuse queries that it does not answer."""
        self.check_queries(public)
        return super().predict(public, n, change, guarantee)

    def check_queries(self, queries: Queries | None) -> None:
        """Refuse queries that it does not answer."""
        if not self.takes(queries):
            raise MilepostError(f"{self.name} answers points only, and there are weighted distances among the queries")

    def summands(self, queries: Queries, quanta: IntArray) -> IntArray:  # noqa: ARG002
        """Return each record's summands int64[n, m], within ±2²⁴, from its values int64[n, k] for the queries.

        A value is the distance to a point, or a function of several. Rows do not depend on each other; m follows from
        the queries. By default the values themselves are summed.
        """
        return quanta


class ChartMechanism(Mechanism[Space, ChartDesign]):
    """A mechanism on the chart of a two-dimensional space, which answers every point."""

    def with_size(self, size: int) -> Self:
        """Return the mechanism for a table that has been read on a grid with this many vertices a side."""
        raise MilepostError(f"{self.name} has no grid of {size} vertices a side")

    @property
    def size(self) -> int | None:
        """The number of vertices along a side, where that is fixed; None where it is chosen for the table."""
        return None


def warn_outside(positions: FloatArray, embedding: Embedding) -> None:
    """Warn that queries farther outside the space than rounding leaves them are answered at its border."""
    border = BORDER * embedding.span / 2
    outside = np.any((positions < -border) | (positions > embedding.span + border), axis=1)
    if outside.any():
        warn(
            f"{int(outside.sum())} of {len(positions)} query points lie outside the space; "
            "they are answered at its border"
        )


def check_delta(name: str, guarantee: Guarantee) -> None:
    """Refuse δ = 0, for a mechanism with Gaussian noise."""
    if guarantee.pure:
        raise MilepostError(f"{name} adds Gaussian noise and needs delta > 0")


def check_public_total(name: str, change: ProtectedChange) -> None:
    """Refuse a change under which the number of rows is private."""
    if not change.public_total:
        raise MilepostError(
            f"{name} needs a public number of rows, by which it divides: neighbors='replace', one row a person, and "
            "neither groups nor weights"
        )


def check_confidence(confidence: float) -> None:
    """Refuse a confidence that is not a probability strictly between 0 and 1."""
    if not isinstance(confidence, int | float) or not 0 < confidence < 1:
        raise MilepostError(f"confidence must lie strictly between 0 and 1, got {confidence!r}; 0.95 is usual")

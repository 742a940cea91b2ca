"""slopes: discrete Gaussian noise on cumulative counts, which are the slopes of F. docs/proofs/slopes.md.

Every answer, at every position, has the noise that one query alone would need.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from milepost._typing import FloatArray, IntArray
from milepost.errors import MilepostError
from milepost.mechanisms.base import CoordinateMechanism, NoisyStatistic, check_delta
from milepost.mechanisms.coordinate.categories import category_noises
from milepost.mechanisms.coordinate.count_origin import AnchorOrigin, CountOrigin, border_shares
from milepost.mechanisms.coordinate.curves import (
    BITS,
    CurveNoise,
    Curves,
    CurvesDesign,
    cell_bits,
    join_ragged,
    split_ragged,
    with_fewest_cells,
)
from milepost.mechanisms.coordinate.path_extremes import anchored_extremes, walk_extremes
from milepost.mechanisms.noise_quantiles import normal_quantile
from milepost.mechanisms.totals import Total
from milepost.privacy.guarantee import Guarantee
from milepost.privacy.noise import gaussian_deviation, gaussian_each
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.embeddings.anchor import Anchor
from milepost.spaces.embeddings.embedding import QUANTA, QUANTUM_BITS, CategoryBlock, Embedding
from milepost.statistics.sketch import Sketch
from milepost.storage.file_limits import (
    FLAG,
    INTEGERS,
    SCALE,
    NumberLimit,
    ParameterLimits,
    RecordLimit,
    TensorLimits,
)

SLACK = 1 + 1e-12  # rounding of a few float operations, always to the private side


@dataclass(frozen=True)
class AnchorSum:
    """The noisy sum of the records' mean distances to the embedding's anchor, in quanta.

    constant: c; the noise on it has a variance of c·power/2, as a distance. origin: the quanta that each record's
    distance is counted from; 0 where the total is public.
    """

    value: int
    constant: float
    origin: int

    @classmethod
    def deviation(cls, constant: float, power: float) -> float:
        """Return the standard deviation of the noise, as a distance."""
        return math.sqrt(constant * power / 2)


class SlopeCounts(Curves):
    """Noisy cumulative counts C_j, counted from an origin if any: n·F rises by 2C_j − n·2^bits across cell j.

    With an anchor sum, answers are counted from the embedding's anchor: each coordinate's curve less its mean over the
    anchor, and the mean distance to the anchor, which the sum gives.
    """

    approaches: ClassVar[bool] = True
    parameter_limits: ClassVar[ParameterLimits] = {
        "power": SCALE,
        "bits": BITS,
        "central": FLAG,
        "anchor": RecordLimit({"constant": SCALE, "origin": NumberLimit(0, QUANTA, whole=True)}),
        **Total.parameter_limits,
    }
    tensor_limits: ClassVar[TensorLimits] = {**Curves.tensor_limits, "anchor": INTEGERS}

    def __init__(
        self,
        mechanism: str,
        embedding: Embedding,
        total: Total,
        power: float,
        bits: Sequence[int],
        counts: list[IntArray],
        origin: CountOrigin | AnchorOrigin | None = None,
        anchor_sum: AnchorSum | None = None,
    ) -> None:
        self.power, self.counts, self.origin, self.anchor_sum = power, counts, origin, anchor_sum
        marks = None if origin is None else [origin.marks(i, b) for i, b in enumerate(bits)]
        full_counts = counts if marks is None else [c + total.size * m for c, m in zip(counts, marks, strict=True)]
        heights = _heights(embedding, total.size, bits, full_counts)
        origin_heights = None if marks is None else _heights(embedding, 1, bits, marks)
        noises = _noises(embedding, total.size, power, bits, anchor_sum is not None)
        if anchor_sum is not None and embedding.anchor is not None:
            anchor = embedding.anchor
            mean = anchor.low + anchor.quantum * (anchor_sum.value / total.size + anchor_sum.origin)
            heights = _from_anchor(embedding, bits, heights, mean)
            if origin_heights is not None:
                mean = anchor.low + anchor.quantum * anchor_sum.origin
                origin_heights = _from_anchor(embedding, bits, origin_heights, mean)
        super().__init__(mechanism, embedding, total, bits, heights, noises, origin_heights)

    @property
    def shared_variance(self) -> float:
        """The variance of the noise on the mean distance to the anchor."""
        if self.anchor_sum is None:
            return 0.0
        return (AnchorSum.deviation(self.anchor_sum.constant, self.power) / self.total.size) ** 2

    @property
    def anchored(self) -> bool:
        """Whether answers are counted from the embedding's anchor."""
        return self.anchor_sum is not None

    @property
    def max_variance(self) -> float | None:
        """The largest variance of the noise of counts at a query in the space; None for that of `noises` together."""
        return max_anchored_variance(self.embedding, self.power, self.total.size) if self.anchored else None

    def laws(self, inside: FloatArray, cell: IntArray, fraction: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the laws of all coordinates at once where all have the same kind of noise."""
        if self._anchored_cells is not None:
            squares, others, mean_signs = self._anchored_cells
            index = cell + self.first_cells
            own = 2 * fraction - 1 - mean_signs.take(index)
            return squares * (others.take(index) + own * own), np.zeros_like(fraction)
        if self._walks is None:
            return super().laws(inside, cell, fraction)
        variances, steps = self._walks
        return variances * _within(fraction, steps), np.zeros_like(fraction)

    @cached_property
    def _anchored_cells(self) -> tuple[FloatArray, FloatArray, FloatArray] | None:
        """The squared step of each coordinate; and of all cells, what other cells add at a position there, and means.

        None where answers are not counted from an anchor.
        """
        noises = [noise for noise in self._noise if isinstance(noise, AnchoredNoise)]
        if len(noises) < len(self._noise):
            return None
        others, mean_signs = (np.concatenate([getattr(n, name) for n in noises]) for name in ("others", "mean_signs"))
        return np.array([noise.step**2 for noise in noises]), others, mean_signs

    @cached_property
    def _walks(self) -> tuple[FloatArray, FloatArray] | None:
        """Variance at borders, and number of steps, of every coordinate; None where some have other noise."""
        walks = [noise for noise in self._noise if isinstance(noise, WalkNoise)]
        if len(walks) < len(self._noise):
            return None
        variances, steps = [walk.max_moments[0] for walk in walks], [walk.steps for walk in walks]
        return np.array(variances), np.array(steps, dtype=np.float64)

    def tensors(self) -> dict[str, IntArray]:
        """Return all noisy counts, coordinate after coordinate."""
        anchor = {} if self.anchor_sum is None else {"anchor": np.array([self.anchor_sum.value], dtype=np.int64)}
        return join_ragged(self.counts) | anchor | self.total.tensors()

    def parameters(self) -> dict[str, Any]:
        """Return the noise, the cells' sizes, the origin and the anchor."""
        parameters: dict[str, Any] = {"power": self.power, "bits": list(self.bits)}
        if isinstance(self.origin, CountOrigin):
            parameters["central"] = self.origin.central
        if self.anchor_sum is not None:
            parameters["anchor"] = {"constant": self.anchor_sum.constant, "origin": self.anchor_sum.origin}
        return parameters | self.total.parameters()

    @classmethod
    def load(
        cls, mechanism: str, public: Embedding, n: int, parameters: dict[str, Any], tensors: dict[str, IntArray]
    ) -> NoisyStatistic:
        """Return the counts of a file, checked against its card."""
        bits, counts = parameters["bits"], split_ragged(tensors)
        if [len(count) for count in counts] != [int(span) >> b for span, b in zip(public.span, bits, strict=True)]:
            raise MilepostError("the file's counts do not fit its space")
        total = Total.load(n, parameters, tensors)
        anchor_sum = _load_anchor_sum(public, parameters, tensors)
        origin: CountOrigin | AnchorOrigin | None = None
        if anchor_sum is not None and not total.public:
            origin = AnchorOrigin(public)
        elif "central" in parameters:
            origin = CountOrigin(public, parameters["central"])
        if total.public != (origin is None):
            raise MilepostError("the file's card has an origin of counts without a noisy total, or the reverse")
        return cls(mechanism, public, total, parameters["power"], bits, counts, origin, anchor_sum)


def curves_of(released: SlopeCounts, sketch: Sketch) -> list[FloatArray]:
    """Return the curves of an exact sketch of public points at the borders of a release's cells, as it counts them."""
    embedding, bits, n = released.embedding, released.bits, int(sketch.totals[0])
    cumulative = {b: sketch.coarsen(1 << (QUANTUM_BITS - b)).cumulative() for b in set(bits)}
    cells = [int(span) >> b for span, b in zip(embedding.span, bits, strict=True)]
    heights = _heights(embedding, n, bits, [cumulative[b][i, : cells[i]] for i, b in enumerate(bits)])
    if released.anchor_sum is None or sketch.anchor_sums is None:
        return heights
    anchor = require_anchor(embedding)
    return _from_anchor(embedding, bits, heights, anchor.low + anchor.quantum * (int(sketch.anchor_sums[0]) / n))


def _load_anchor_sum(
    embedding: Embedding, parameters: dict[str, Any], tensors: dict[str, IntArray]
) -> AnchorSum | None:
    """Return the anchor sum of a file, if it has one."""
    if ("anchor" in parameters) != ("anchor" in tensors):
        raise MilepostError("the file's card has an anchor without its sum, or the reverse")
    if "anchor" not in parameters:
        return None
    if embedding.anchor is None or tensors["anchor"].shape != (1,) or "central" in parameters:
        raise MilepostError("the file's anchor does not fit its space")
    return AnchorSum(int(tensors["anchor"][0]), parameters["anchor"]["constant"], parameters["anchor"]["origin"])


@dataclass(frozen=True, eq=False)
class SlopesDesign(CurvesDesign):
    """Noise of variance 2^bits·power/(2τᵢ) on every cumulative count of coordinate i.

    constant, origin: of the `AnchorSum` that is released, too; None where answers are not counted from the anchor.
    """

    power: float
    constant: float | None
    origin: int

    @cached_property
    def scales(self) -> list[float]:
        """σ of each coordinate's counts, and of the anchor sum."""
        counts = scales_of(self.embedding, self.power, self.bits)
        return counts if self.constant is None else [*counts, self._anchor_scale(self.constant)]

    def _anchor_scale(self, constant: float) -> float:
        """Return σ of the anchor sum in quanta, rounded up."""
        anchor = require_anchor(self.embedding)
        return AnchorSum.deviation(constant, self.power) / anchor.quantum * SLACK

    @cached_property
    def noises(self) -> Sequence[CurveNoise]:
        """The noise of each coordinate."""
        return _noises(self.embedding, self.n, self.power, self.bits, self.constant is not None)

    @property
    def noise_rms(self) -> float:
        """The standard deviation of an answer, on average over the space."""
        if self.constant is None:
            return deviation_of(self.embedding, self.n, self.power)
        anchor = require_anchor(self.embedding)
        width = 4 * anchor.typical - 2 * anchor.mean + self.constant
        return math.sqrt(width * self.power / 2) / self.n

    @property
    def max_noise_variance(self) -> float | None:
        """The largest variance of an answer's noise, where answers are counted from an anchor."""
        if self.constant is None:
            return None
        counts = max_anchored_variance(self.embedding, self.power, self.n)
        return counts + (AnchorSum.deviation(self.constant, self.power) / self.n) ** 2

    @property
    def group_draws(self) -> int:
        """One for each cell, and one for the anchor sum."""
        return sum(self.cells) + (self.constant is not None)

    def add_noise(self, statistic: Sketch, group: int, draw_total: Callable[[], Total]) -> SlopeCounts:
        """Add the noise to the counts of all coordinates, and to the anchor sum, at once."""
        embedding, exact = self.embedding, int(statistic.totals[group])
        origin = None if self.change.public_total else count_origin(embedding, self.constant is not None)
        cumulative = {bits: sketch.cumulative() for bits, sketch in self.coarsen(statistic, group).items()}

        def exact_counts(i: int) -> IntArray:
            counts = cumulative[self.bits[i]][i, : self.cells[i]]
            return counts if origin is None else counts - exact * origin.marks(i, self.bits[i])

        total, parts = draw_total(), [exact_counts(i) for i in range(embedding.dimension)]
        if self.constant is not None:
            parts.append(np.array([self._anchor_sum(statistic, group)]))
        sizes = [len(part) for part in parts]
        noisy = gaussian_each(np.concatenate(parts), np.repeat(self.scales, sizes))
        counts = np.split(noisy, np.cumsum(sizes)[:-1])
        anchor_sum = None
        if self.constant is not None:
            anchor_sum = AnchorSum(int(counts.pop()[0]), self.constant, self.origin)
        return SlopeCounts(self.mechanism, embedding, total, self.power, self.bits, counts, origin, anchor_sum)

    def _anchor_sum(self, statistic: Sketch, group: int) -> int:
        """Return the exact sum of the records' mean distances to the anchor, counted from the origin."""
        if statistic.anchor_sums is None:
            raise MilepostError("the sketch has no sums of mean distances to the anchor of the space")
        return int(statistic.anchor_sums[group]) - self.origin * int(statistic.totals[group])


@dataclass(frozen=True)
class Slopes(CoordinateMechanism):
    """Noise of variance 2^bits·power/(2τᵢ) on every cumulative count of coordinate i.

    Replacing a record at qᵢ by one at q′ᵢ changes the counts by at most 2^bits·|qᵢ − q′ᵢ| in squares, so it costs
    Στᵢ|qᵢ − q′ᵢ|/power ≤ ρ, or μ²/2, where power = sensitivity bound/ρ. Every answer has variance Σwᵢ·power/(2n²).
    Where the embedding has an anchor, counting answers from it may need less noise: docs/proofs/anchors.md.
    """

    name = "slopes"
    pure = False
    all_gaussian = True
    takes_model = True
    statistic = SlopeCounts

    def check(self, change: ProtectedChange, guarantee: Guarantee) -> None:  # noqa: ARG002
        """Refuse δ = 0."""
        check_delta(self.name, guarantee)

    def design(self, public: Embedding, n: int, change: ProtectedChange, guarantee: Guarantee) -> SlopesDesign:
        """Share the budget between counts and the total, and size cells for the noise."""
        split = split_of(public, change, guarantee)

        def make(bits: list[int]) -> SlopesDesign:
            totals = split.total, self.pure
            return SlopesDesign(self.name, n, change, *totals, public, bits, split.power, split.constant, split.origin)

        deviation = math.sqrt(split.width * split.power / 2) / n
        return with_fewest_cells(make, cell_bits(public, deviation, n, change.groups))


def _heights(embedding: Embedding, n: int, bits: Sequence[int], counts: Sequence[IntArray]) -> list[FloatArray]:
    """Return F at the borders of cells, of n records with these cumulative counts."""
    result = []
    for count, b, quantum in zip(counts, bits, embedding.quantum, strict=True):
        rises = 2 * count - (n << b)
        low = ((n << b) - count).sum()  # n·F at the low end
        result.append(np.concatenate([[low], low + np.cumsum(rises)]) * (float(quantum) / n))
    return result


@dataclass(frozen=True)
class WalkNoise:
    """Noise of one coordinate: ± a walk of `steps` Gaussian steps, of the same variance at every border."""

    deviation: float  # of every border
    steps: int
    bits: int
    count_share: float  # standard deviation of one count, as a share of all records

    @property
    def max_moments(self) -> tuple[float, float]:
        """Variance and excess kurtosis at every border, where the variance is largest."""
        return self.deviation**2, 0.0

    @property
    def share_variances(self) -> FloatArray:
        """The variance of every cell's share: counts have independent noise."""
        return np.array([self.count_share**2])

    @property
    def laplace(self) -> bool:
        """False: the noise is normal."""
        return False

    def variance(self, positions: FloatArray) -> FloatArray:
        """Return the variance at positions; it is less than at borders."""
        return np.asarray(self.deviation**2 * _within(np.modf(positions / (1 << self.bits))[0], self.steps))

    def kurtosis(self, positions: FloatArray) -> FloatArray:
        """Return zeros: a sum of Gaussian steps is normal."""
        return np.zeros(len(positions))

    def mass(self, failure: float) -> float:
        """Return the margin of a mass, which is the difference of two counts."""
        return normal_quantile(2 * failure) * math.sqrt(2) * self.count_share

    def share_moments(self, weights: FloatArray) -> tuple[float, float]:
        """Return the moments of a sum of independent counts."""
        return self.count_share**2 * float(weights @ weights), 0.0

    def extremes(self, generator: np.random.Generator, draws: int) -> FloatArray:
        """Return maxima and minima of walks."""
        return self.deviation * walk_extremes(self.steps, generator, draws)


def _within(fraction: FloatArray, steps: FloatArray | int) -> FloatArray:
    """Return the variance at fraction f of a cell ÷ that at borders: the cell's own step has (2f − 1)², not 1."""
    return np.asarray(1 - 4 * fraction * (1 - fraction) / steps)


@dataclass(frozen=True)
class SlopesSplit:
    """The split of a budget between counts, the anchor sum if there is one, and the total.

    power, total: as in `BudgetSplit`. width: the largest variance of an answer is width·power/(2n²). constant, origin:
    of the `AnchorSum`; None and 0 without one.
    """

    power: float
    total: float
    width: float
    constant: float | None = None
    origin: int = 0


def split_of(embedding: Embedding, change: ProtectedChange, guarantee: Guarantee) -> SlopesSplit:
    """Share the budget between counts, the anchor sum if it lessens the largest noise, and the total."""
    budget = guarantee.for_each(embedding.images_per_record).budget
    splits = [_plain_split(embedding, change, budget)]
    if embedding.anchor is not None and embedding.images_per_record == 1:
        splits += _anchored_splits(embedding, embedding.anchor, change, budget)
    return min(splits, key=lambda split: split.power * split.width)


def _plain_split(embedding: Embedding, change: ProtectedChange, budget: float) -> SlopesSplit:
    """Return the split without an anchor: a pair costs at most the sensitivity bound, one record its radius."""
    radius, width = CountOrigin.of(embedding).radius, _width(embedding)
    # an answer has the total's noise times |F − origin| ≤ Σw/2, on evenly spread tables about half of that
    off = embedding.total_width / 4 / math.sqrt(width * radius)
    split = change.gaussian(embedding.sensitivity_bound, radius, budget, off)
    return SlopesSplit(split.power, split.total, width)


def _anchored_splits(
    embedding: Embedding, anchor: Anchor, change: ProtectedChange, budget: float
) -> Iterator[SlopesSplit]:
    """Yield the split for each constant of the anchor."""
    # the marks of the origin are rounded to whole numbers, by at most one half each
    rounding = math.sqrt(embedding.total_width) / 2 ** (QUANTUM_BITS + 1) * embedding.cells(change.groups or 1)
    # with a public total no record is added
    origins = ((0, 1.0),) * len(anchor.pairs) if change.public_total else anchor.singles_by_constant
    for (constant, pair), (origin, squared) in zip(anchor.pairs, origins, strict=True):
        single, width = (math.sqrt(squared) + rounding) ** 2, 2 * anchor.mean + constant
        off = anchor.radius / 2 / math.sqrt(width * single)
        split = change.gaussian(pair, single, budget, off)
        yield SlopesSplit(split.power, split.total, width, constant, origin)


def count_origin(embedding: Embedding, anchored: bool) -> CountOrigin | AnchorOrigin:
    """Return the marks that counts start from where the total is private."""
    return AnchorOrigin(embedding) if anchored else CountOrigin.of(embedding)


def require_anchor(embedding: Embedding) -> Anchor:
    """Return the anchor of an embedding; refuse one without."""
    if embedding.anchor is None:
        raise MilepostError("the embedding of this space has no anchor")
    return embedding.anchor


def max_anchored_variance(embedding: Embedding, power: float, n: int) -> float:
    """Return the largest variance of the counts' noise at a query in the space, with answers counted from the anchor.

    It is power/(2n²) times four times the kernel of the anchor, which is largest at the border.
    """
    anchor = require_anchor(embedding)
    return 2 * anchor.mean * (1 + embedding.relative_error) * power / 2 / n**2


def deviation_of(embedding: Embedding, n: int, power: float) -> float:
    """Return the standard deviation of every answer: √(Σwᵢ·power/2)/n, a block of A labels adding 2w(1 − 1/A)."""
    return math.sqrt(_width(embedding) * power / 2) / n


def scales_of(embedding: Embedding, power: float, bits: Sequence[int]) -> list[float]:
    """Return σ of each coordinate's counts, rounded up."""
    squares = [(1 << b) * power / (2 * float(t)) for b, t in zip(bits, embedding.quantum, strict=True)]
    return [math.sqrt(square) * SLACK for square in squares]


def _width(embedding: Embedding) -> float:
    """Return Σwᵢ, to which a block of A labels adds 2w(1 − 1/A)."""
    return math.fsum(block.noise_width(float(embedding.spread[block.start])) for block in embedding.blocks)


def _from_anchor(
    embedding: Embedding, bits: Sequence[int], heights: Sequence[FloatArray], mean: float
) -> list[FloatArray]:
    """Return curves counted from the anchor: less their means over it, plus each coordinate's part of `mean`.

    mean: that of the records' distances to the anchor, which may be beyond the intervals of coordinates.
    """
    part = (mean - require_anchor(embedding).beyond) / embedding.dimension
    shares = [border_shares(embedding, i, b) for i, b in enumerate(bits)]
    return [height - float(share @ height) + part for height, share in zip(heights, shares, strict=True)]


@dataclass(frozen=True, eq=False)
class AnchoredNoise:
    """Noise of one coordinate whose curve is counted from its mean over the anchor.

    A count enters with its sign at the query, ±1, less its mean sign over the anchor.
    """

    step: float  # standard deviation of one count's noise, as a distance
    mean_signs: FloatArray  # of each cell
    bits: int
    count_share: float  # standard deviation of one count, as a share of all records

    @property
    def max_moments(self) -> tuple[float, float]:
        """The largest variance at a border, and no excess kurtosis."""
        return float(self._variances.max()), 0.0

    @cached_property
    def _variances(self) -> FloatArray:
        """The variance at each border."""
        below, above = self._sums
        return self.step**2 * (below + above)

    @cached_property
    def _sums(self) -> tuple[FloatArray, FloatArray]:
        """Squared signs of the cells below and above each border, less their means, added up."""
        below = np.concatenate([[0.0], np.cumsum((1 - self.mean_signs) ** 2)])
        above = np.cumsum(((1 + self.mean_signs) ** 2)[::-1])[::-1]
        return below, np.concatenate([above, [0.0]])

    @cached_property
    def others(self) -> FloatArray:
        """What the other cells add to the variance at a position in each cell, in squared steps."""
        below, above = self._sums
        return below[:-1] + above[1:]

    @property
    def share_variances(self) -> FloatArray:
        """The variance of every cell's share: counts have independent noise."""
        return np.array([self.count_share**2])

    @property
    def laplace(self) -> bool:
        """False: the noise is normal."""
        return False

    def variance(self, positions: FloatArray) -> FloatArray:
        """Return the variance at positions; in the cell of a position its own sign is between −1 and 1."""
        place = positions / (1 << self.bits)
        cell = np.clip(place.astype(np.int64), 0, len(self.mean_signs) - 1)
        own = 2 * (place - cell) - 1 - self.mean_signs[cell]
        return np.asarray(self.step**2 * (self.others[cell] + own**2))

    def kurtosis(self, positions: FloatArray) -> FloatArray:
        """Return zeros: a sum of Gaussian steps is normal."""
        return np.zeros(len(positions))

    def mass(self, failure: float) -> float:
        """Return the margin of a mass, which is the difference of two counts."""
        return normal_quantile(2 * failure) * math.sqrt(2) * self.count_share

    def share_moments(self, weights: FloatArray) -> tuple[float, float]:
        """Return the moments of a sum of independent counts."""
        return self.count_share**2 * float(weights @ weights), 0.0

    def extremes(self, generator: np.random.Generator, draws: int) -> FloatArray:
        """Return maxima and minima of the noise along the coordinate."""
        steps = len(self.mean_signs)
        return self.step * math.sqrt(steps) * anchored_extremes(self.mean_signs, generator, draws)


def _noises(
    embedding: Embedding, n: int, power: float, bits: Sequence[int], anchored: bool = False
) -> list[CurveNoise]:
    scales = [gaussian_deviation(scale) for scale in scales_of(embedding, power, bits)]
    shares = [scale / (n << b) for scale, b in zip(scales, bits, strict=True)]

    def walk(i: int) -> Sequence[CurveNoise]:
        if anchored:
            step = scales[i] * float(embedding.quantum[i]) / n
            signs = 1 - 2 * np.cumsum(border_shares(embedding, i, bits[i]))[:-1]
            return [AnchoredNoise(step, signs, bits[i], shares[i])]
        steps = int(embedding.span[i]) >> bits[i]
        deviation = scales[i] * math.sqrt(steps) * float(embedding.quantum[i]) / n
        return [WalkNoise(deviation, steps, bits[i], shares[i])]

    def labels(block: CategoryBlock) -> Sequence[CurveNoise]:
        return category_noises(embedding, block, shares[block.start], laplace=False)

    return [noise for block in embedding.blocks for noise in block.select(walk, labels)]

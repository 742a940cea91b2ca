"""tangents: the paper's mechanism, interactive (Theorem 1) and offline (Theorem 2). docs/proofs/tangents.md."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from typing import Any, ClassVar, Self

import numpy as np

from milepost._typing import FloatArray, IntArray
from milepost.errors import MilepostError
from milepost.mechanisms.base import (
    CoordinateDesign,
    CoordinateMechanism,
    CoordinateStatistic,
    NoisyStatistic,
    Prediction,
    check_confidence,
    check_public_total,
    session_name,
)
from milepost.mechanisms.coordinate.piecewise_linear import PiecewiseLinear
from milepost.mechanisms.noise_quantiles import normal_quantile
from milepost.mechanisms.paper import lemma3
from milepost.mechanisms.paper.game import Line, PrivateGame, reading
from milepost.mechanisms.paper.learners import ConvexLearner, DecomposableLearner
from milepost.mechanisms.paper.margins import CONVEX, SLACK, Margins, check_game, min_alpha, solve
from milepost.mechanisms.totals import Total
from milepost.privacy.guarantee import Guarantee
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.embeddings.embedding import QUANTUM_BITS, Embedding, box_sensitivity_bound, default_cells
from milepost.statistics.sketch import Sketch
from milepost.storage.file_limits import (
    COUNT,
    INTEGERS,
    REAL,
    NumberLimit,
    ParameterLimits,
    RecordLimit,
    TensorLimits,
)

TENSORS = ("coordinate", "border", "value", "count")


def convex_learner(embedding: Embedding, margins: Margins) -> DecomposableLearner:
    """Return the learner of a game over embedding positions in quanta."""
    return DecomposableLearner(
        [
            ConvexLearner(0.0, float(span), float(quantum), float(margin))
            for span, quantum, margin in zip(embedding.span, embedding.quantum, margins.margin, strict=True)
        ]
    )


def interactive_margins(
    embedding: Embedding, n: int, guarantee: Guarantee, max_queries: int, failure_probability: float
) -> Margins:
    """Return margins by Theorem 1 with constants: the minimum α for `max_queries` adaptive queries."""
    check_game(max_queries, failure_probability)
    return solve(
        CONVEX,
        embedding,
        n,
        _budget(embedding, guarantee),
        guarantee.pure,
        int(max_queries),
        float(failure_probability),
    )


def _budget(embedding: Embedding, guarantee: Guarantee) -> float:
    """Return ε or ρ for one image: the noise of tests is not Gaussian, so that the game spends zCDP."""
    shared = guarantee.for_each(embedding.images_per_record)
    return shared.epsilon_each if shared.pure else shared.rho


def interactive_error(embedding: Embedding, margins: Margins) -> float:
    """Return the promised error of an interactive game: half of α, snapping to cell borders, rounding of records."""
    snapping = float(np.sum(embedding.quantum)) * (1 << finest_bits(embedding.dimension)) / 2
    return (margins.alpha / 2 + snapping + embedding.bias) * SLACK


def interactive_prediction(embedding: Embedding, margins: Margins, guarantee: Guarantee) -> Prediction:
    """Return the promise of a session of `margins.queries` queries, and the paper's own α for comparison."""
    paper_alpha = lemma3.interactive_alpha(
        embedding.dimension, margins.n, guarantee, margins.queries, margins.failure_probability
    )
    error = interactive_error(embedding, margins)
    details = _details([margins], embedding.quantum[None], embedding.spread[None]) | {
        "paper's alpha": embedding.sensitivity_bound * paper_alpha
    }
    return Prediction(
        session_name(Tangents.name, margins.queries),
        error,
        uniform=error,
        details=details,
        coordinates=embedding.dimension,
    )


def finest_bits(dimension: int) -> int:
    """Return the bits of a cell of the sketch, which has 2^bits quanta."""
    return QUANTUM_BITS - (default_cells(dimension).bit_length() - 1)


@dataclass(frozen=True, eq=False)
class Scan:
    """One coordinate's offline game: query the borders of `cells` cells of 2^bits quanta, then release the lines."""

    margins: Margins
    bits: int
    cells: int
    alpha: float  # on the coordinate's interval: the game's α plus the grid's ωh/2


class TangentLines(CoordinateStatistic):
    """Lines of every coordinate, lowered to stay below F: the answer is their upper envelope plus α/2."""

    extends: ClassVar[bool] = False
    parameter_limits: ClassVar[ParameterLimits] = {
        "alpha": REAL,
        "scans": RecordLimit(
            {
                "bits": NumberLimit(0, QUANTUM_BITS, whole=True),
                "cells": COUNT,
                "alpha": REAL,
                "margins": RecordLimit(Margins.parameter_limits),
            },
            several=True,
        ),
    }
    tensor_limits: ClassVar[TensorLimits] = dict.fromkeys(TENSORS, INTEGERS)

    def __init__(self, mechanism: str, embedding: Embedding, scans: Sequence[Scan], lines: Sequence[Line]) -> None:
        self.mechanism, self.embedding, self.scans, self.lines = mechanism, embedding, tuple(scans), tuple(lines)
        self.total = Total(scans[0].margins.n)
        self.alpha = sum(scan.alpha for scan in scans)
        self.learners = [
            convex_learner(embedding.coordinate(i), scan.margins).learners[0] for i, scan in enumerate(self.scans)
        ]
        for line in self.lines:
            scan, coordinate = self.scans[line.coordinate], embedding.coordinate(line.coordinate)
            tangent = reading(np.array([line.value]), np.array([line.count]), coordinate, scan.margins.n)
            self.learners[line.coordinate].update(
                float(line.border << scan.bits), float(tangent.value[0]), float(tangent.slope[0])
            )

    @property
    def confidence(self) -> float:
        """The probability of the promised error: 1 − failure_probability."""
        return 1 - self.scans[0].margins.failure_probability * len(self.scans)

    def functions(self, raw: bool = False) -> tuple[PiecewiseLinear, ...]:  # noqa: ARG002
        """Return the upper envelopes, raised by half of each coordinate's α, raw or not."""
        pairs = zip(self.learners, self.scans, strict=True)
        return tuple(PiecewiseLinear(learner.nodes, learner.heights + scan.alpha / 2) for learner, scan in pairs)

    def half_width(self, confidence: float, uniform: bool = False) -> float:  # noqa: ARG002
        """Return α/2 and rounding, uniform or not: the promise is for all queries at once."""
        check_confidence(confidence)
        if confidence > self.confidence + 1e-9:
            raise MilepostError(
                f"this release promises its error with probability {self.confidence:g}, confidence {confidence:g} was "
                f"asked; release with failure_probability={1 - confidence:.2g} for that"
            )
        return self.alpha / 2 + self.embedding.bias

    def half_widths(self, positions: FloatArray, confidence: float) -> FloatArray:
        """Return the half-width, which is equal at all positions."""
        return np.full(len(positions), self.half_width(confidence))

    def tensors(self) -> dict[str, IntArray]:
        """Return each line's coordinate, cell border, noisy sum of distances and noisy count below, all integers."""
        return {name: np.array([getattr(line, name) for line in self.lines], dtype=np.int64) for name in TENSORS}

    def parameters(self) -> dict[str, Any]:
        """Return the public numbers of every coordinate's game."""
        scans = [
            {"bits": s.bits, "cells": s.cells, "alpha": s.alpha, "margins": s.margins.to_json()} for s in self.scans
        ]
        return {"alpha": self.alpha, "scans": scans}

    @classmethod
    def load(
        cls, mechanism: str, public: Embedding, n: int, parameters: dict[str, Any], tensors: dict[str, IntArray]
    ) -> NoisyStatistic:
        """Return the lines of a file, checked against its card."""
        scans = [Scan(**scan | {"margins": Margins.from_json(scan["margins"])}) for scan in parameters["scans"]]
        if len(scans) != public.dimension or any(scan.margins.n != n for scan in scans):
            raise MilepostError("the file's card describes other games than its space and n do")
        columns = [tensors[name] for name in TENSORS]
        if len({column.shape for column in columns}) != 1 or columns[0].ndim != 1:
            raise MilepostError("the file's tensors do not have one row a line")
        lines = [Line(*(int(number) for number in row)) for row in zip(*columns, strict=True)]
        for line in lines:
            if not (0 <= line.coordinate < len(scans) and 0 <= line.border <= scans[line.coordinate].cells):
                raise MilepostError("the file has a line outside its space")
        return cls(mechanism, public, scans, lines)


@dataclass(frozen=True, eq=False)
class TangentsDesign(CoordinateDesign):
    """The game of every coordinate. guarantee, failure_probability: for the paper's own α, to compare with."""

    scans: tuple[Scan, ...]
    guarantee: Guarantee
    failure_probability: float

    @property
    def scales(self) -> list[float]:
        """The noise scales of values and slopes; `solve` has checked them, and those of the tests."""
        games = [scan.margins for scan in self.scans]
        return [float(scale) for game in games for scale in (*game.value_scale, *game.slope_scale)]

    @cached_property
    def prediction(self) -> Prediction:
        """α of the offline mechanism, and the paper's own for comparison."""
        embedding, scans = self.embedding, self.scans
        alpha = sum(scan.alpha for scan in scans)
        error = min(alpha / 2 + embedding.bias, embedding.sensitivity_bound)
        paper_alpha = embedding.sensitivity_bound * lemma3.offline_alpha(
            embedding.dimension, self.n, self.guarantee, self.failure_probability
        )
        updates = sum(scan.margins.updates for scan in scans)
        return Prediction(
            self.mechanism,
            error,
            uniform=error,
            cells=sum(scan.cells for scan in scans),
            size=32 * updates + 1000 * embedding.dimension,
            details=_details([scan.margins for scan in scans], embedding.quantum[:, None], embedding.spread[:, None])
            | {"alpha": alpha, "paper's alpha": paper_alpha},
            coordinates=embedding.dimension,
        )

    @property
    def group_draws(self) -> int:
        """At most: a test of every border, and for every update a threshold, a value and a slope."""
        return sum(scan.cells + 2 + 3 * scan.margins.updates for scan in self.scans)

    def add_noise(self, statistic: Sketch, group: int, draw_total: Callable[[], Total]) -> TangentLines:  # noqa: ARG002
        """Query every coordinate's grid, coarse points first, and collect the lines; the total is public."""
        lines: list[Line] = []
        for i, scan in enumerate(self.scans):
            coordinate, borders = self.embedding.coordinate(i), self.coordinate(statistic, i, group).borders()
            game = PrivateGame(convex_learner(coordinate, scan.margins), borders, coordinate, scan.margins)
            for _ in game.ask(_coarse_first(scan.cells)[:, None]):
                pass
            lines += [Line(i, line.border, line.value, line.count) for line in game.lines]
        return TangentLines(self.mechanism, self.embedding, self.scans, lines)


@dataclass(frozen=True)
class Tangents(CoordinateMechanism):
    """Theorem 2: per coordinate, play the private game on a grid; the lines answer every query.

    The promise |answer − F| ≤ α/2 holds for all queries at once with probability 1 − failure_probability.
    max_cells: of the grid of a coordinate; by default the cells that a sketch of the space has.
    """

    failure_probability: float = 0.05
    max_cells: int | None = None
    name = "tangents"
    pure = False
    statistic = TangentLines

    def check(self, change: ProtectedChange, guarantee: Guarantee) -> None:  # noqa: ARG002
        """Refuse a private number of rows; accept any guarantee, pure or not."""
        check_public_total(self.name, change)
        check_game(1, self.failure_probability)

    def with_failure_probability(self, failure_probability: float) -> Self:
        """Return the mechanism for promises that fail with this probability."""
        return replace(self, failure_probability=failure_probability)

    def design(self, public: Embedding, n: int, change: ProtectedChange, guarantee: Guarantee) -> TangentsDesign:
        """Split the budget between the games of all coordinates."""
        scans = self.scans(public, n, guarantee)
        bits = [scan.bits for scan in scans]
        more = scans, guarantee, self.failure_probability
        return TangentsDesign(self.name, n, change, 0.0, guarantee.pure, public, bits, *more)

    def error_bound(self, public: Embedding, n: int, change: ProtectedChange, guarantee: Guarantee) -> float:  # noqa: ARG002
        """Return half of Σᵢ min over U of γᵢ + 2ηᵢ, and the error of the embedding, as if only values had noise.

        U updates need γᵢ > 2wᵢ/U² (Lemma 4), and leave each value ρᵢ/U or εᵢ/U: ηᵢ ≥ z·wᵢ/n·√(U/2ρᵢ), with z the
        quantile of a normal law at a failure no smaller than the game's, or ηᵢ ≥ z·wᵢ/n·U/εᵢ, with z that of a Laplace
        law. For any U > 0, a√U + c/U² ≥ 5/4·a^{4/5}(4c)^{1/5} and aU + c/U² ≥ 3/2·a^{2/3}(2c)^{1/3}.
        """
        width, budgets = public.spread, self._budgets(public, guarantee)
        failure, c = self.failure_probability / public.dimension / 4, 2 * width
        if guarantee.pure:
            a = 2 * math.log(1 / failure) * width / n / budgets
            alphas = 1.5 * a ** (2 / 3) * (2 * c) ** (1 / 3)
        else:
            a = 2 * normal_quantile(failure) * width / n / np.sqrt(2 * budgets)
            alphas = 1.25 * a ** (4 / 5) * (4 * c) ** (1 / 5)
        return min(float(alphas.sum()) / 2 * (1 - 1e-6) + public.bias, public.sensitivity_bound)

    def _budgets(self, embedding: Embedding, guarantee: Guarantee) -> FloatArray:
        """Return the coordinates' budgets: α is about w·A with A ∝ budget^{−2/5} (zCDP) or budget^{−2/3} (pure)."""
        parts: FloatArray = embedding.spread ** (3 / 5 if guarantee.pure else 5 / 7)
        return np.asarray(_budget(embedding, guarantee) * parts / parts.sum() / SLACK)

    def scans(self, embedding: Embedding, n: int, guarantee: Guarantee) -> tuple[Scan, ...]:
        """Return the games, with the budget split to minimise the sum of their α."""
        finest = finest_bits(embedding.dimension)
        if self.max_cells is not None:
            finest = max(finest, QUANTUM_BITS - (self.max_cells.bit_length() - 1))
        budgets = self._budgets(embedding, guarantee)
        # rounded down to 8 a doubling, so that many coordinates share few games
        classes = np.exp2(np.floor(np.log2(budgets) * 8) / 8) if embedding.dimension > 8 else budgets
        failure = self.failure_probability / embedding.dimension

        @cache
        def scan(span: int, step: int, budget: float, spread: float) -> Scan:
            coarsest = QUANTUM_BITS if step == 1 else step.bit_length() - 1
            unit = _scan(span, coarsest, finest, n, budget, guarantee.pure, failure)
            return Scan(unit.margins.rescale(spread), unit.bits, unit.cells, unit.alpha * spread * SLACK)

        columns = embedding.span, embedding.step, classes, embedding.spread
        return tuple(scan(*row) for row in zip(*(column.tolist() for column in columns), strict=True))


def _details(games: Sequence[Margins], quanta: FloatArray, spreads: FloatArray) -> dict[str, float | int | str]:
    """Return updates and the largest noise of the test, of a value and of a slope × width, as distances.

    quanta, spreads: those of each game's coordinates.
    """
    n = games[0].n
    return {
        "alpha": sum(game.alpha for game in games),
        "updates": sum(game.updates for game in games),
        "test": max(game.sensitivity * game.lattice / game.epsilon_test for game in games),
        "value": float(np.max(np.array([game.value_scale for game in games]) * quanta)) / n,
        "slope": float(np.max(np.array([game.slope_scale for game in games]) * spreads)) * 2 / n,
    }


@lru_cache(maxsize=512)
def _scan(span: int, coarsest: int, finest: int, n: int, budget: float, pure: bool, failure_probability: float) -> Scan:
    """Return the best grid of one coordinate of spread 1: finer costs more tests, coarser adds ωh/2 to α.

    Cells have 2^finest to 2^coarsest quanta, so that the last border is the end of the interval.
    """
    width = np.ones(1)
    quanta = np.array([span], dtype=np.int64)
    coordinate = Embedding(np.ones(1), np.zeros(1), width, box_sensitivity_bound(width / span, quanta), span=quanta)

    def alpha(bits: int) -> float:
        cells = span >> bits
        return min_alpha(CONVEX, coordinate, n, budget, pure, cells + 1, failure_probability)[0] + 0.5 / cells

    bits = min(coarsest, max(finest, QUANTUM_BITS - 6))
    best = alpha(bits)
    for direction in (-1, 1):
        while finest <= bits + direction <= coarsest and (next_alpha := alpha(bits + direction)) < best:
            best, bits = next_alpha, bits + direction
    cells = span >> bits
    margins = solve(CONVEX, coordinate, n, budget, pure, cells + 1, failure_probability)
    return Scan(margins, bits, cells, (margins.alpha + 0.5 / cells) * SLACK)


def _coarse_first(cells: int) -> IntArray:
    """Return the borders 0..cells, the coarsest dyadic ones first: early lines are then the most useful."""
    borders = np.arange(cells + 1, dtype=np.int64)
    level = np.where(borders == 0, cells + 1, borders & -borders)
    return borders[np.argsort(-level, kind="stable")]

"""tangents: the paper's mechanism, interactive (Theorem 1) and offline (Theorem 2). docs/proofs/tangents.md."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Self

import numpy as np

from milepost._typing import FloatArray, IntArray
from milepost.errors import MilepostError
from milepost.mechanisms.base import (
    HostAnswerer,
    Prediction,
    check_confidence,
    check_public_total,
    check_sketch,
    session_name,
)
from milepost.mechanisms.coordinate.piecewise_linear import Polygon
from milepost.mechanisms.paper import lemma3
from milepost.mechanisms.paper.game import Line, PrivateGame, reading
from milepost.mechanisms.paper.learners import ConvexLearner, DecomposableLearner
from milepost.mechanisms.paper.margins import CONVEX, SLACK, Margins, check_game, solve
from milepost.mechanisms.totals import Total
from milepost.privacy.guarantee import Guarantee
from milepost.privacy.protected_change import Change
from milepost.spaces.embeddings.embedding import QUANTUM_BITS, Hosts, default_cells, reach_of
from milepost.statistics.sketch import Sketch

TENSORS = ("coordinate", "border", "value", "count")


def convex_learner(hosts: Hosts, margins: Margins) -> DecomposableLearner:
    """The learner of a game over host positions in quanta."""
    return DecomposableLearner(
        [
            ConvexLearner(0.0, float(span), float(quantum), float(margin))
            for span, quantum, margin in zip(hosts.span, hosts.quantum, margins.margin, strict=True)
        ]
    )


def interactive_margins(hosts: Hosts, n: int, guarantee: Guarantee, max_queries: int, beta: float) -> Margins:
    """Theorem 1 with constants: the least α for `max_queries` adaptive queries."""
    check_game(max_queries, beta)
    budget = guarantee.for_each(hosts.changes).budget
    return solve(CONVEX, hosts, n, budget, guarantee.pure, int(max_queries), float(beta))


def interactive_error(hosts: Hosts, margins: Margins) -> float:
    """The promise of an interactive game: half of α, snapping to cell borders, rounding of records."""
    snapping = float(np.sum(hosts.quantum)) * (1 << finest_bits(hosts.dimension)) / 2
    return (margins.alpha / 2 + snapping + hosts.bias) * SLACK


def interactive_prediction(hosts: Hosts, margins: Margins, guarantee: Guarantee) -> Prediction:
    """What a session of `margins.queries` queries promises, with the paper's own α beside it."""
    paper = lemma3.interactive_alpha(hosts.dimension, margins.n, guarantee, margins.queries, margins.beta)
    error = interactive_error(hosts, margins)
    details = _details([margins], [hosts]) | {"paper's alpha": hosts.reach * paper}
    return Prediction(
        session_name(Tangents.name, margins.queries), error, uniform=error, details=details, coordinates=hosts.dimension
    )


def finest_bits(dimension: int) -> int:
    """A cell of the sketch has 2^bits quanta."""
    return QUANTUM_BITS - (default_cells(dimension).bit_length() - 1)


@dataclass(frozen=True, eq=False)
class Scan:
    """One coordinate's offline game: ask the borders of its `cells` cells of 2^bits quanta, then release the lines."""

    margins: Margins
    bits: int
    cells: int
    alpha: float  # over the whole coordinate: the game's α and the grid's ωh/2


@dataclass(frozen=True)
class Tangents:
    """Theorem 2: per coordinate, play the private game on a grid; the lines answer every query.

    The promise |answer − F| ≤ α/2 holds for all queries at once with probability 1 − beta.
    """

    name: ClassVar[str] = "tangents"
    pure: ClassVar[bool] = False
    beta: float = 0.05

    def check(self, change: Change, guarantee: Guarantee) -> None:  # noqa: ARG002
        """Any guarantee, pure or not; replace only."""
        check_public_total(self.name, change)
        check_game(1, self.beta)

    def scans(self, hosts: Hosts, n: int, guarantee: Guarantee, bits: int) -> tuple[Scan, ...]:
        """The games on cells of at least 2^bits quanta, with the budget split so that the sum of their α is least."""
        # one coordinate's α is w·A(budget) with A ∝ budget^{−2/5} (zCDP) or budget^{−2/3} (pure)
        parts: FloatArray = hosts.spread ** (3 / 5 if guarantee.pure else 5 / 7)
        budgets = guarantee.for_each(hosts.changes).budget * parts / parts.sum() / SLACK
        # rounded down to 8 a doubling, so that many coordinates share few games
        classes = np.exp2(np.floor(np.log2(budgets) * 8) / 8) if hosts.dimension > 8 else budgets
        beta = self.beta / hosts.dimension
        result = []
        for i in range(hosts.dimension):
            coarsest = QUANTUM_BITS if hosts.step[i] == 1 else int(hosts.step[i]).bit_length() - 1
            unit = _scan(int(hosts.span[i]), coarsest, bits, n, float(classes[i]), guarantee.pure, beta)
            spread = float(hosts.spread[i])
            result.append(Scan(unit.margins.scaled(spread), unit.bits, unit.cells, unit.alpha * spread * SLACK))
        return tuple(result)

    def predict(self, hosts: Hosts, n: int, change: Change, guarantee: Guarantee) -> Prediction:
        """α of the offline mechanism, with the paper's own beside it."""
        self.check(change, guarantee)
        scans = self.scans(hosts, n, guarantee, finest_bits(hosts.dimension))
        alpha = sum(scan.alpha for scan in scans)
        error = min(alpha / 2 + hosts.bias, hosts.reach)
        paper = hosts.reach * lemma3.offline_alpha(hosts.dimension, n, guarantee, self.beta)
        alone = [hosts.alone(i) for i in range(hosts.dimension)]
        updates = sum(scan.margins.updates for scan in scans)
        return Prediction(
            self.name,
            error,
            uniform=error,
            cells=sum(scan.cells for scan in scans),
            size=32 * updates + 1000 * hosts.dimension,
            details=_details([scan.margins for scan in scans], alone) | {"alpha": alpha, "paper's alpha": paper},
        )

    def run(
        self,
        sketch: Sketch,
        hosts: Hosts,
        change: Change,
        guarantee: Guarantee,
        n: int | None = None,
        group: int = 0,
    ) -> "TangentLines":
        """Ask every coordinate's grid, coarse points first, and keep the lines."""
        self.check(change, guarantee)
        n = check_sketch(sketch, hosts, change, n, group)
        scans = self.scans(hosts, n, guarantee, sketch.bits)
        lines: list[Line] = []
        for i, scan in enumerate(scans):
            alone = hosts.alone(i)
            borders = sketch.only(i).coarsen(1 << (QUANTUM_BITS - scan.bits)).borders()
            game = PrivateGame(convex_learner(alone, scan.margins), borders, alone, scan.margins)
            for _ in game.ask(_coarse_first(scan.cells)[:, None]):
                pass
            lines += [Line(i, line.border, line.value, line.count) for line in game.lines]
        return TangentLines(hosts, scans, lines)


class TangentLines(HostAnswerer):
    """Lines of every coordinate, lowered to stay below F: the answer is their upper envelope plus α/2."""

    mechanism: ClassVar[str] = Tangents.name
    extends: ClassVar[bool] = False

    def __init__(self, hosts: Hosts, scans: Sequence[Scan], lines: Sequence[Line]) -> None:
        self.hosts, self.scans, self.lines = hosts, tuple(scans), tuple(lines)
        self.total = Total(scans[0].margins.n)
        self.alpha = sum(scan.alpha for scan in scans)
        self.learners = [convex_learner(hosts.alone(i), scan.margins).learners[0] for i, scan in enumerate(self.scans)]
        for line in self.lines:
            scan, alone = self.scans[line.coordinate], hosts.alone(line.coordinate)
            seen = reading(np.array([line.value]), np.array([line.count]), alone, scan.margins.n)
            self.learners[line.coordinate].update(
                float(line.border << scan.bits), float(seen.value[0]), float(seen.slope[0])
            )

    @property
    def confidence(self) -> float:
        """The probability with which the promised error holds: 1 − beta."""
        return 1 - self.scans[0].margins.beta * len(self.scans)

    def polygons(self, raw: bool = False) -> tuple[Polygon, ...]:  # noqa: ARG002
        """The upper envelopes, raised by half of each coordinate's α; nothing is post-processed."""
        pairs = zip(self.learners, self.scans, strict=True)
        return tuple(Polygon(learner.nodes, learner.heights + scan.alpha / 2) for learner, scan in pairs)

    def half_width(self, confidence: float, uniform: bool = False) -> float:  # noqa: ARG002
        """α/2 and rounding: the promise is for all queries at once, so uniform or not is the same."""
        check_confidence(confidence)
        if confidence > self.confidence + 1e-9:
            raise MilepostError(
                f"this release promises its error with probability {self.confidence:g}, confidence {confidence:g} was "
                f"asked; release with beta={1 - confidence:.2g} for that"
            )
        return self.alpha / 2 + self.hosts.bias

    def half_widths(self, positions: FloatArray, confidence: float) -> FloatArray:
        """The same everywhere."""
        return np.full(len(positions), self.half_width(confidence))

    def tensors(self) -> dict[str, IntArray]:
        """One row a line: its coordinate, cell border, noisy sum of distances and noisy count below, all integers."""
        return {name: np.array([getattr(line, name) for line in self.lines], dtype=np.int64) for name in TENSORS}

    def parameters(self) -> dict[str, Any]:
        """The public numbers of every coordinate's game."""
        scans = [
            {"bits": s.bits, "cells": s.cells, "alpha": s.alpha, "margins": s.margins.to_json()} for s in self.scans
        ]
        return {"alpha": self.alpha, "scans": scans}

    @classmethod
    def load(cls, hosts: Hosts, n: int, parameters: dict[str, Any], tensors: dict[str, IntArray]) -> Self:
        """The lines of a file, checked against its card."""
        scans = [Scan(**scan | {"margins": Margins.from_json(scan["margins"])}) for scan in parameters["scans"]]
        if len(scans) != hosts.dimension or any(scan.margins.n != n for scan in scans):
            raise MilepostError("the file's card describes other games than its space and n do")
        columns = [tensors[name] for name in TENSORS]
        if len({column.shape for column in columns}) != 1 or columns[0].ndim != 1:
            raise MilepostError("the file's tensors do not have one row a line")
        lines = [Line(*(int(number) for number in row)) for row in zip(*columns, strict=True)]
        for line in lines:
            if not (0 <= line.coordinate < len(scans) and 0 <= line.border <= scans[line.coordinate].cells):
                raise MilepostError("the file has a line outside its space")
        return cls(hosts, scans, lines)


def _details(games: Sequence[Margins], hosts: Sequence[Hosts]) -> dict[str, float | int | str]:
    """Updates and the largest noise of each kind: of the test, of a value and of a slope × width, as distances."""
    pairs = list(zip(games, hosts, strict=True))
    return {
        "alpha": sum(game.alpha for game in games),
        "updates": sum(game.updates for game in games),
        "test": max(game.sensitivity * game.lattice / game.epsilon_test for game in games),
        "value": max(float(np.max(game.value_scale * part.quantum)) / game.n for game, part in pairs),
        "slope": max(float(np.max(game.slope_scale * part.spread)) * 2 / game.n for game, part in pairs),
    }


@lru_cache(maxsize=512)
def _scan(span: int, coarsest: int, finest: int, n: int, budget: float, pure: bool, beta: float) -> Scan:
    """The best grid of one coordinate of spread 1: finer costs more tests, coarser adds ωh/2 to α.

    Cells have 2^finest to 2^coarsest quanta, so that the last border is the end of the interval.
    """
    width = np.ones(1)
    quanta = np.array([span], dtype=np.int64)
    alone = Hosts(np.ones(1), np.zeros(1), width, reach_of(width / span, quanta), span=quanta)

    def at(bits: int) -> Scan:
        cells = span >> bits
        margins = solve(CONVEX, alone, n, budget, pure, cells + 1, beta)
        return Scan(margins, bits, cells, (margins.alpha + 0.5 / cells) * SLACK)

    best = at(min(coarsest, max(finest, QUANTUM_BITS - 6)))
    for direction in (-1, 1):
        while finest <= best.bits + direction <= coarsest and (tried := at(best.bits + direction)).alpha < best.alpha:
            best = tried
    return best


def _coarse_first(cells: int) -> IntArray:
    """The borders 0..cells, the coarsest dyadic ones first: early lines then serve most."""
    borders = np.arange(cells + 1, dtype=np.int64)
    level = np.where(borders == 0, cells + 1, borders & -borders)
    return borders[np.argsort(-level, kind="stable")]

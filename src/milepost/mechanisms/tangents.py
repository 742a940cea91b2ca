"""tangents: the paper's mechanism, interactive (Theorem 1) and offline (Theorem 2). docs/proofs/tangents.md."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Self

import numpy as np

from milepost.arrays import FloatArray, IntArray
from milepost.errors import MilepostError
from milepost.mechanisms import lemma3
from milepost.mechanisms.base import Prediction, check_confidence
from milepost.mechanisms.game import Line, PrivateGame, reading
from milepost.mechanisms.learners import ConvexLearner, DecomposableLearner
from milepost.mechanisms.margins import CONVEX, SLACK, Margins, check_game, solve
from milepost.privacy.change import Change
from milepost.privacy.guarantee import Guarantee
from milepost.spaces.base import QUANTA, Hosts, round_up
from milepost.statistics.sketch import Sketch, default_cells

TENSORS = ("coordinate", "border", "value", "count")


def convex_learner(hosts: Hosts, margins: Margins) -> DecomposableLearner:
    """The learner of a game over host positions in quanta."""
    return DecomposableLearner(
        [
            ConvexLearner(0.0, QUANTA, float(quantum), float(margin))
            for quantum, margin in zip(hosts.quantum, margins.margin, strict=True)
        ]
    )


def interactive_margins(hosts: Hosts, n: int, guarantee: Guarantee, max_queries: int, beta: float) -> Margins:
    """Theorem 1 with constants: the least α for `max_queries` adaptive queries."""
    check_game(max_queries, beta)
    return solve(CONVEX, hosts, n, guarantee.budget, guarantee.pure, int(max_queries), float(beta))


def interactive_error(hosts: Hosts, margins: Margins) -> float:
    """The promise of an interactive game: half of α, snapping to cell borders, rounding of records."""
    snapping = hosts.total / default_cells(hosts.dimension) / 2
    return (margins.alpha / 2 + snapping + hosts.rounding) * SLACK


@dataclass(frozen=True, eq=False)
class Scan:
    """One coordinate's offline game: ask its `cells + 1` grid points, then release the lines."""

    margins: Margins
    cells: int
    alpha: float  # over the whole coordinate: the game's α and the grid's ωh/2


@dataclass(frozen=True)
class Tangents:
    """Theorem 2: per coordinate, play the private game on a grid; the lines answer every query.

    The promise |answer − F| ≤ α/2 holds for all queries at once with probability 1 − beta.
    """

    name: ClassVar[str] = "tangents"
    beta: float = 0.05

    def check(self, change: Change) -> None:
        """Refuse a change that this mechanism cannot protect."""
        if not change.public_total:
            raise MilepostError(
                "tangents protects neighbors='replace' only: its tests and its grid are sized from the number of rows, "
                "which add-remove keeps private"
            )

    def scans(self, hosts: Hosts, n: int, guarantee: Guarantee, cells: int) -> tuple[Scan, ...]:
        """The games on grids of at most `cells` cells, with the budget split so that the sum of their α is least."""
        check_game(1, self.beta)
        # one coordinate's α is w·A(budget) with A ∝ budget^{−2/5} (zCDP) or budget^{−2/3} (pure)
        parts = hosts.spread ** (3 / 5 if guarantee.pure else 5 / 7)
        parts = parts / parts.sum() / SLACK
        return tuple(
            _scan(float(spread), n, guarantee.budget * float(part), guarantee.pure, self.beta / hosts.dimension, cells)
            for spread, part in zip(hosts.spread, parts, strict=True)
        )

    def predict(self, hosts: Hosts, n: int, change: Change, guarantee: Guarantee) -> Prediction:
        """α of the offline mechanism, with the paper's own beside it."""
        self.check(change)
        scans = self.scans(hosts, n, guarantee, default_cells(hosts.dimension))
        alpha = sum(scan.alpha for scan in scans)
        diameter = hosts.reach
        return Prediction(
            self.name,
            alpha / 2 + hosts.rounding,
            {
                "alpha": alpha,
                "updates": sum(scan.margins.updates for scan in scans),
                "grid points": sum(scan.cells + 1 for scan in scans),
                "test noise": max(
                    scan.margins.sensitivity * scan.margins.lattice / scan.margins.epsilon_test for scan in scans
                ),
                "value noise": max(
                    float(scan.margins.value_scale[0] * s / QUANTA / n)
                    for scan, s in zip(scans, hosts.spread, strict=True)
                ),
                "slope noise": max(float(scan.margins.slope_scale[0] * 2 / n) for scan in scans),
                "paper's alpha": diameter * lemma3.offline_alpha(hosts.dimension, n, guarantee, self.beta),
            },
        )

    def run(self, sketch: Sketch, hosts: Hosts, change: Change, guarantee: Guarantee) -> "TangentLines":
        """Ask every coordinate's grid, coarse points first, and keep the lines."""
        self.check(change)
        n = int(sketch.totals[0])
        scans = self.scans(hosts, n, guarantee, sketch.cells)
        lines: list[Line] = []
        for i, scan in enumerate(scans):
            alone = coordinate(hosts, i)
            borders = sketch.only(i).coarsen(scan.cells).borders()
            game = PrivateGame(convex_learner(alone, scan.margins), borders, alone, scan.margins)
            for _ in game.ask(_coarse_first(scan.cells)[:, None]):
                pass
            lines += [Line(i, line.border, line.value, line.count) for line in game.lines]
        return TangentLines(hosts, scans, lines)


class TangentLines:
    """Lines of every coordinate, lowered to stay below F: the answer is their upper envelope plus α/2."""

    mechanism: ClassVar[str] = Tangents.name

    def __init__(self, hosts: Hosts, scans: Sequence[Scan], lines: Sequence[Line]) -> None:
        self.hosts, self.scans, self.lines = hosts, tuple(scans), tuple(lines)
        self.alpha = sum(scan.alpha for scan in scans)
        self.learners = [
            convex_learner(coordinate(hosts, i), scan.margins).learners[0] for i, scan in enumerate(self.scans)
        ]
        for line in self.lines:
            scan, alone = self.scans[line.coordinate], coordinate(hosts, line.coordinate)
            seen = reading(np.array([line.value]), np.array([line.count]), alone, scan.margins.n)
            self.learners[line.coordinate].update(
                float(line.border * (QUANTA // scan.cells)), float(seen.value[0]), float(seen.slope[0])
            )

    def value(self, positions: FloatArray) -> FloatArray:
        """The envelope's middle; queries outside the space are answered at its border."""
        result: FloatArray = np.full(len(positions), self.alpha / 2)
        for i, learner in enumerate(self.learners):
            result += learner.predict(positions[:, i])
        return np.minimum(np.maximum(result, 0.0), self.hosts.reach)

    def half_width(self, confidence: float, uniform: bool = False) -> float:  # noqa: ARG002
        """α/2 and rounding: the promise is for all queries at once, so uniform or not is the same."""
        check_confidence(confidence)
        if confidence > self.confidence + 1e-9:
            raise MilepostError(
                f"this release promises its error with probability {self.confidence:g}, confidence {confidence:g} was "
                f"asked; release with beta={1 - confidence:.2g} for that"
            )
        return min(self.alpha / 2 + self.hosts.rounding, self.hosts.reach)

    @property
    def confidence(self) -> float:
        """The largest confidence that `half_width` can promise."""
        return 1 - self.scans[0].margins.beta * len(self.scans)

    def tensors(self) -> dict[str, IntArray]:
        """One row a line: its coordinate, cell border, noisy sum of distances and noisy count below, all integers."""
        return {name: np.array([getattr(line, name) for line in self.lines], dtype=np.int64) for name in TENSORS}

    def parameters(self) -> dict[str, Any]:
        """The public numbers of every coordinate's game."""
        scans = [{"cells": s.cells, "alpha": s.alpha, "margins": s.margins.to_json()} for s in self.scans]
        return {"alpha": self.alpha, "scans": scans}

    @classmethod
    def load(cls, hosts: Hosts, n: int, parameters: dict[str, Any], tensors: dict[str, IntArray]) -> Self:
        """The lines of a file, checked against its card."""
        scans = [Scan(Margins.from_json(s["margins"]), s["cells"], s["alpha"]) for s in parameters["scans"]]
        if len(scans) != hosts.dimension or any(scan.margins.n != n for scan in scans):
            raise MilepostError("the file's card describes other games than its space and n do")
        columns = [tensors[name] for name in TENSORS]
        if len({column.shape for column in columns}) != 1 or columns[0].ndim != 1:
            raise MilepostError("the file's tensors do not have one row a line")
        lines = [Line(*(int(number) for number in row)) for row in zip(*columns, strict=True)]
        if any(
            not (0 <= line.coordinate < len(scans) and 0 <= line.border <= scans[line.coordinate].cells)
            for line in lines
        ):
            raise MilepostError("the file has a line outside its space")
        return cls(hosts, scans, lines)


def coordinate(hosts: Hosts, i: int) -> Hosts:
    """Host coordinate i as hosts of its own."""
    part = slice(i, i + 1)
    return Hosts(hosts.weight[part], hosts.low[part], hosts.high[part], reach=round_up(hosts.spread[part]))


@lru_cache(maxsize=512)
def _scan(spread: float, n: int, budget: float, pure: bool, beta: float, most_cells: int) -> Scan:
    """The best grid of one coordinate: finer costs more tests, coarser adds ωh/2 = w/(2·cells) to α."""
    alone = Hosts(np.array([1.0]), np.array([0.0]), np.array([spread]), reach=round_up(np.array([spread])))

    def at(cells: int) -> Scan:
        margins = solve(CONVEX, alone, n, budget, pure, cells + 1, beta)
        return Scan(margins, cells, (margins.alpha + spread / cells / 2) * SLACK)

    cells = min(most_cells, 64)
    best = at(cells)
    for direction in (2.0, 0.5):
        while 1 <= (cells := int(best.cells * direction)) <= most_cells and (tried := at(cells)).alpha < best.alpha:
            best = tried
    return best


def _coarse_first(cells: int) -> IntArray:
    """The borders 0..cells, the coarsest dyadic ones first: early lines then serve most."""
    borders = np.arange(cells + 1, dtype=np.int64)
    level = np.where(borders == 0, cells, borders & -borders)
    return borders[np.argsort(-level, kind="stable")]

"""The iterative database construction game (Definition 3), played openly or, by Lemma 3, privately."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from milepost._typing import FloatArray, IntArray
from milepost.errors import MilepostError
from milepost.mechanisms.paper.learners import Learner, Reading
from milepost.mechanisms.paper.margins import Margins
from milepost.privacy.noise import discrete_gaussian, laplace
from milepost.privacy.sparse_vector import AboveThreshold
from milepost.spaces.embeddings.embedding import Embedding
from milepost.statistics.sketch import CellBorders


def play(
    learner: Learner,
    truth: Callable[[FloatArray], float],
    oracle: Callable[[FloatArray], Reading],
    adversary: Callable[[Learner], FloatArray | None],
    alpha: float,
) -> int:
    """Play without privacy until the adversary gives up (None); return the number of mistakes it has forced.

    A mistake is |F̂(y) − F(y)| > α (F − F̂ > α for a one-sided learner); the learner then learns the oracle's reading.
    """
    mistakes = 0
    while (point := adversary(learner)) is not None:
        error = truth(point) - float(learner.predict(point[None, :])[0])
        if (abs(error) if learner.two_sided else error) > alpha:
            mistakes += 1
            learner.update(point, oracle(point))
    return mistakes


@dataclass(frozen=True)
class Line:
    """One noisy reading of one coordinate, in integers: the only release of a game besides its tests."""

    coordinate: int
    border: int
    value: int
    count: int


class PrivateGame:
    """Lemma 3 for any learner: test each query by sparse vector, and read noisy values and slopes on a mistake.

    Input: the exact sums at cell borders. Output: for each query one bit, and on "above" D noisy values and counts.
    Guarantee: `margins.cost(embedding)` in ρ (or ε when pure) for replacing one record, however the queries are chosen.
    The compared value leaves this object only through AboveThreshold; the sums only through noise.
    """

    def __init__(self, learner: Learner, borders: CellBorders, embedding: Embedding, margins: Margins) -> None:
        if margins.n != borders.total:
            raise MilepostError(f"margins for {margins.n} records do not fit sums of {borders.total}")
        self.learner = learner
        self.margins = margins
        self.updates = 0
        self.epochs = 0  # number of epochs so far; each is paid for when it begins
        self.new_epochs = 0  # number of epochs that began with the last query
        self.lines: list[Line] = []
        self._borders = borders
        self._embedding = embedding
        self._signs = (1, -1) if learner.two_sided else (1,)
        # Σ τᵢ·Σ|qᵢ − t| as an exact integer: τᵢ are floats, so integers over one power of two
        ratios = [float(quantum).as_integer_ratio() for quantum in embedding.quantum]
        step = margins.lattice.as_integer_ratio()[1]
        fine = 1 << max(0, math.ceil(16 - math.log2(margins.lattice)))  # at least 2¹⁶ units in a step of the lattice
        finest = max([denominator for _, denominator in ratios] + [step, fine])
        self._weights = [numerator * (finest // denominator) for numerator, denominator in ratios]
        self._unit = finest.bit_length() - 1
        self._step = margins.n * int(math.ldexp(margins.lattice, self._unit))
        self._epoch: AboveThreshold | None = None

    @property
    def open(self) -> bool:
        """Whether queries are still tested: after `margins.updates` epochs the hypothesis is final."""
        return self._epoch is not None or self.epochs < self.margins.updates

    @property
    def last(self) -> list[Line]:
        """The lines of the last update."""
        return self.lines[-self._embedding.dimension :]

    def ask(self, borders: IntArray) -> Iterator[tuple[float, bool, bool]]:
        """Test queries at cell borders int64[k, D] in turn; yield for each (hypothesis, tested, updated)."""
        points = borders.astype(np.float64) * (1 << self._borders.bits)
        predictions = self.learner.predict(points)
        sums = self._borders.value[np.arange(self._embedding.dimension), borders].tolist()
        for index, border in enumerate(borders):
            tested, before = self.open, self.epochs
            updated = tested and self._above(sums[index], float(predictions[index]))
            self.new_epochs = self.epochs - before
            if updated:
                self._read(border)
                predictions[index:] = self.learner.predict(points[index:])
            yield float(predictions[index]), tested, updated

    def replay(self, epochs: int, rows: IntArray | None) -> None:
        """Continue from the release of another game on the same table: epochs it began, and a reading int64[3, D].

        rows: borders, noisy values and noisy counts of the reading. The other game has paid for its epochs.
        """
        self.epochs += epochs
        if rows is not None:
            self.updates += 1
            self._learn(*rows)

    def _above(self, sums: list[int], predicted: float) -> bool:
        """Test the exact sums of all coordinates at a query against the prediction."""
        if self._epoch is None:
            game = self.margins
            self._epoch = AboveThreshold(game.threshold, game.sensitivity, game.epsilon_test)
            self.epochs += 1
        exact = sum(weight * value for weight, value in zip(self._weights, sums, strict=True))
        error = exact - self.margins.n * math.floor(math.ldexp(predicted, self._unit))
        return any(self._epoch.above(sign * error // self._step) for sign in self._signs)

    def _read(self, border: IntArray) -> None:
        """Learn noisy values and counts of all coordinates; every "above" ends an epoch, also without a new line."""
        if self.updates >= self.margins.updates:
            raise MilepostError("all readings of this game are spent")
        self.updates += 1
        self._epoch = None
        game, embedding = self.margins, self._embedding
        coordinates = np.arange(embedding.dimension)
        value = _noisy(self._borders.value[coordinates, border], game.value_scale, game.pure)
        count = np.zeros_like(value)
        if game.slope_scale.size:
            count = _noisy(self._borders.below[coordinates, border], game.slope_scale, game.pure)
        self._learn(border, value, count)

    def _learn(self, border: IntArray, value: IntArray, count: IntArray) -> None:
        """Add lines and update the learner from a noisy reading at a border."""
        self.lines += [
            Line(i, int(border[i]), int(v), int(c)) for i, (v, c) in enumerate(zip(value, count, strict=True))
        ]
        point = border.astype(np.float64) * (1 << self._borders.bits)
        self.learner.update(point, reading(value, count, self._embedding, self.margins.n))

    def __reduce__(self) -> NoReturn:
        raise MilepostError("a game holds exact sums and a budget: it cannot be copied or pickled")


def reading(value: IntArray, count: IntArray, embedding: Embedding, n: int) -> Reading:
    """Return noisy integer sums as values and slopes (a distance a quantum) of the mean distance."""
    return Reading(value * embedding.quantum / n, embedding.quantum * (2 * count / n - 1))


def _noisy(sums: IntArray, scales: FloatArray, pure: bool) -> IntArray:
    result = np.empty_like(sums)
    for scale in np.unique(scales):
        chosen = scales == scale
        result[chosen] = (laplace if pure else discrete_gaussian)(sums[chosen], float(scale))
    return result

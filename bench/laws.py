"""The laws of ℓ₂: how the claimed error falls with n (Theorem 10), and how many directions that takes (Lemma 9).

Remark 7.1 takes the number of directions D that balances the embedding's error with the error of the ℓ₁ mechanism.
Random directions err by D^{−1/2} (Lemma 9 without its logarithm), an ℓ₁ mechanism over D coordinates by D^a·n^{−b}; the
sum is smallest at D ∝ n^{b/(a + 1/2)}, where both are ∝ n^{−b/(2a + 1)}:

    the paper    D^{9/5}·n^{−4/5} → n^{−4/23}     pure: D^{7/3}·n^{−2/3} → n^{−2/17}    (Theorems 1, 2 → 10)
    interactive  D^{4/5}·n^{−4/5} → n^{−4/13}     pure: D^{4/3}·n^{−2/3} → n^{−2/11}
    offline      D^{2/5}·n^{−4/5} → n^{−4/9}      pure: D^{2/3}·n^{−2/3} → n^{−2/7}

The paper lets each of the D coordinates be as wide as the whole space, and requires 1/D of the error of every reading.
Directions have wᵢ = ωᵢ(hiᵢ − loᵢ) ∝ 1/D. A game over all of them then reads D slopes × width, each with noise
∝ (1/D)√(DU)/n (pure: (1/D)·DU/n), in U = D/√α updates, which adds up to α = D·α^{−1/4}/n (pure: D²·α^{−1/2}/n).
Offline, each direction plays a separate game on 1/D of the budget, with α^{−1/2} updates instead of D times as many:
α = √D·α^{−1/4}/n (pure: D·α^{−1/2}/n). All of these hold up to logarithms.

Every α is the one for which the mechanism was solved, with its constants, and without data. "The paper's α" is that of
Lemma 3 with its constant 3000, at sizes where it is below the diameter, next to the error of the same directions.
Lemma 9 is about all pairs; the embedding's error here is the likely error of a pair, and the error of the worst of many
pairs where the output names it.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np
from scipy.optimize import minimize_scalar

import milepost as mp
from bench.run import Bounds, main
from milepost.mechanisms.paper import lemma3
from milepost.mechanisms.paper.tangents import Tangents, interactive_error, interactive_margins
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.embeddings.embedding import Embedding

WIDTH = 8
APPROXIMATE, PURE = mp.Guarantee(1.0, 1e-6), mp.Guarantee(1.0)
FAILURE_PROBABILITY, QUERIES = 0.05, 10_000
# with more directions, a sketch has 2²²/D cells each, so wide that rounding to their borders is visible
MAX_DIRECTIONS = 1 << 12
PAPER_SIZES = (10**24, 10**32)
# How much logarithms may change an exponent here. They change it most offline: log(D/β), the log of the grid and the
# whole number of a direction's lines make α ∝ D^{0.435}·n^{−0.771} between D = 64 and 512, which is −0.412, not −4/9.
# The rest is for the grid of D. The exponents of Theorem 10 are bounds without any tolerance.
LOGARITHMS = 0.05
DIRECTIONS = (64, 128, 256, 512, 1024, 2048, 4096)  # for Lemma 9

Promise = Callable[[Embedding, int], float]


@dataclass(frozen=True)
class Law:
    """A mechanism, its expected exponent, that of Theorem 10, and decades of n where the best D is inside the grid."""

    name: str
    promise: Promise
    ours: Fraction
    paper: Fraction
    decades: tuple[float, float]


def offline(guarantee: mp.Guarantee) -> Promise:
    """Return the error of a synopsis by tangents: α/2, the embedding and rounding."""
    return lambda embedding, n: (
        Tangents(FAILURE_PROBABILITY).predict(embedding, n, ProtectedChange(), guarantee).prediction.error
    )


def interactive(guarantee: mp.Guarantee) -> Promise:
    """Return the error of a session by tangents."""
    return lambda embedding, n: interactive_error(
        embedding, interactive_margins(embedding, n, guarantee, QUERIES, FAILURE_PROBABILITY)
    )


def laws() -> Iterator[Law]:
    """Yield the laws of interactive and offline mechanisms, (ε, δ) and pure."""
    paper, pure = Fraction(-4, 23), Fraction(-2, 17)
    yield Law("interactive", interactive(APPROXIMATE), Fraction(-4, 13), paper, (6.0, 9.0))
    yield Law("interactive, pure", interactive(PURE), Fraction(-2, 11), pure, (7.5, 11.0))
    yield Law("offline", offline(APPROXIMATE), Fraction(-4, 9), paper, (5.5, 7.5))
    yield Law("offline, pure", offline(PURE), Fraction(-2, 7), pure, (6.5, 10.0))


@cache
def ball(directions: int) -> mp.L2:
    """Return Theorem 10's space, of diameter 1."""
    return mp.L2(center=[0] * WIDTH, radius=0.5, directions=directions)


def grid() -> list[int]:
    """Return numbers of directions, about 2 for each doubling, as they are rounded."""
    blocks = MAX_DIRECTIONS // WIDTH
    return sorted({ball(WIDTH * round(2 ** (k / 2))).count for k in range(2 * blocks.bit_length() - 1)})


@dataclass(frozen=True)
class Best:
    """The number of directions with the smallest error at one n."""

    n: int
    directions: int
    error: float

    @property
    def embedding(self) -> float:
        """Return the share of the error that the embedding causes."""
        return ball(self.directions).embedding.relative_error * ball(self.directions).embedding.sensitivity_bound


def best_directions(law: Law, steps: int) -> list[Best]:
    """Return the best D for `steps` sizes a decade; D grows with n, so each search starts at the previous result."""
    results, candidates, index = [], grid(), 0
    low, high = law.decades
    for n in np.rint(np.logspace(low, high, round((high - low) * steps) + 1)).astype(np.int64).tolist():
        error = law.promise(ball(candidates[index]).embedding, n)
        while index + 1 < len(candidates):
            next_error = law.promise(ball(candidates[index + 1]).embedding, n)
            if next_error > error:
                break
            index, error = index + 1, next_error
        results.append(Best(n, candidates[index], error))
    return results


def exponent(x: Sequence[float], y: Sequence[float]) -> float:
    """Return the power of x that y follows, by least squares in logarithms."""
    return float(np.polyfit([math.log(value) for value in x], [math.log(value) for value in y], 1)[0])


def paper_error(width: int, n: int, guarantee: mp.Guarantee) -> float:
    """Return the error of Theorem 10 in a ball of diameter 1, at the D of Remark 7.1.

    It is the α of Lemma 3 and the error of directions, constant/√D with the likely constant of this library.
    """
    embedding = mp.L2(center=[0] * width, radius=0.5, directions=max(512, 8 * width)).embedding
    constant = embedding.relative_error * math.sqrt(embedding.dimension)

    def at(log_directions: float) -> float:
        directions = round(math.exp(log_directions))
        return constant / math.sqrt(directions) + lemma3.offline_alpha(directions, n, guarantee, FAILURE_PROBABILITY)

    # at small n the best D is at the lower end, and α is the same huge number for all large D: begin near the best
    grid, step = np.linspace(math.log(width), 60.0, 61, retstep=True)
    best = min(grid.tolist(), key=at)
    ends = max(math.log(width), best - step), best + step
    return min(at(best), float(minimize_scalar(at, bounds=ends, method="bounded").fun))


def paper_exponent(guarantee: mp.Guarantee) -> float:
    """Return the exponent of Remark 7.1 for the α of Lemma 3 and directions that err by constant/√D."""
    return exponent(PAPER_SIZES, [paper_error(WIDTH, n, guarantee) for n in PAPER_SIZES])


def print_theorem_10(law: Law, check: bool, bounds: Bounds) -> None:
    """Print the best D at each n, and the exponent of its error next to the derived exponents."""
    rows = best_directions(law, 2 if check else 4)
    for row in rows:
        assert WIDTH < row.directions < MAX_DIRECTIONS, "the best D is at an end: it says nothing of the law"
        rest = 2 * (row.error - row.embedding)
        print(f"{law.name:<18}{row.n:>16,}{row.directions:>6}{row.error:>9.3g}{row.embedding:>11.3g}{rest:>8.3g}")
    fitted = exponent([row.n for row in rows], [row.error for row in rows])
    growth = exponent([row.n for row in rows], [row.directions for row in rows])
    bounds.at_most(f"{law.name}: exponent against Theorem 10's", fitted, float(law.paper))
    cell = bounds.at_most(f"{law.name}: exponent", fitted, float(law.ours) + LOGARITHMS)
    print(
        f"{law.name:<18}error ∝ n^{cell} (derived: {law.ours} = {float(law.ours):.3f}; "
        f"Theorem 10: {law.paper} = {float(law.paper):.3f}), D ∝ n^{growth:.2f}\n",
        flush=True,
    )


def print_lemma_9(width: int, bounds: Bounds) -> None:
    """Print the power of 1/α by which D grows, for random pairs and for the worst of 10,000 (Definition 5).

    Above three columns rotations are whole from D = 8·d, and those in part are farther from the metric.
    """
    counts = [count for count in DIRECTIONS if width <= 3 or count >= 8 * width]
    distortions = [mp.L2(center=[0] * width, radius=0.5, directions=count).distortion() for count in counts]
    line = f"{width:>3}{counts[0]:>6}{distortions[0].likely:>10.2g}{distortions[-1].likely:>10.2g}"
    for name, alphas in (
        ("likely", [each.likely for each in distortions]),
        ("worst", [each.product - 1 for each in distortions]),
    ):
        inverse = [1 / alpha for alpha in alphas]
        lemma = exponent(inverse, [width * math.log(x) * x**2 for x in inverse])
        line += f"{bounds.at_most(f'Lemma 9, d = {width}, {name}', exponent(inverse, counts), lemma):>9}"
        line += f"{lemma:>9.3g}"
    print(line, flush=True)


def benchmark(check: bool, bounds: Bounds) -> None:
    """Check that errors fall at least as in Theorem 10 and about as derived, and that D grows at most as in Lemma 9."""
    print(f"ℓ₂ ball of diameter 1, d = {WIDTH}, ε = 1, δ = {APPROXIMATE.delta:g} or 0, β = {FAILURE_PROBABILITY:g}.")
    print(
        f"Interactive: {QUERIES:,} queries. error = α/2 + embedding, least over D; the embedding's is likely (95 %).\n"
    )
    print(f"{'tangents':<18}{'n':>16}{'D':>6}{'error':>9}{'embedding':>11}{'α':>8}")
    for law in laws():
        print_theorem_10(law, check, bounds)
    sizes = " and ".join(f"10^{round(math.log10(n))}" for n in PAPER_SIZES)
    exponents = (f"n^{paper_exponent(guarantee):.3f}" for guarantee in (APPROXIMATE, PURE))
    print(f"the paper's α with these directions, between n = {sizes}: error ∝ {', pure: '.join(exponents)}\n")
    print(f"Lemma 9: D = O(d·log(1/α)/α²). The power of 1/α from the first D to {DIRECTIONS[-1]}, and the lemma's.")
    print(f"{'d':>3}{'D':>6}{'α at D':>10}{'at 4096':>10}{'likely':>9}{'lemma':>9}{'worst':>9}{'lemma':>9}")
    for width in (2, 3, 8, 64):
        print_lemma_9(width, bounds)


if __name__ == "__main__":
    main(benchmark, __doc__ or "")

"""Margins: the noise of an interactive game, and the error α that follows. docs/proofs/tangents.md.

A game over D coordinates tests, on every query, whether F − F̂ is above a threshold (sparse vector); on "above" it reads
noisy values and slopes of all coordinates, at most `updates` times. `solve` finds the minimum α that the learner's
mistake bound, the noise tails at failure β and the budget allow together.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from milepost._typing import FloatArray, IntArray
from milepost.errors import MilepostError
from milepost.mechanisms.noise_quantiles import normal_quantile
from milepost.privacy import sparse_vector
from milepost.privacy.noise import check_scale, gaussian_tail, laplace_tail
from milepost.spaces.embeddings.embedding import Embedding
from milepost.statistics.sketch import MAX_TOTAL
from milepost.storage.file_limits import COUNT, DISTANCE, FLAG, REALS, SCALE, NumberLimit, ParameterLimits

SLACK = 1 + 1e-12  # rounding of a few float operations, always to the private side
LATTICE_STEPS = 1 << 10  # one record moves the tested value by about this many lattice steps


@dataclass(frozen=True)
class MarginRule:
    """The condition of a learner's proof on the margins: α = 2·η_test + Σᵢ (readings·ηᵢ + γᵢ).

    ηᵢ: the largest error of a noisy reading of coordinate i, anywhere on its interval when it has a slope.
    gap_power: γᵢ ∝ wᵢ^gap_power. lines(wᵢ/γᵢ): the number of mistakes that can be charged to a coordinate.
    max_ratio(lines): the largest wᵢ/γᵢ for which there are no more lines than that, if there is a formula.
    """

    readings: float
    slopes: bool
    gap_power: float
    lines: Callable[[FloatArray], IntArray]
    max_ratio: Callable[[FloatArray], FloatArray] | None = None


def _tangent_lines(ratio: FloatArray) -> IntArray:
    # any two tangents satisfy (g′ − g)(y′ − y) ≥ γ, so (T − 1)²γ ≤ 2w (Lemma 4)
    return np.floor(np.sqrt(2 * ratio) * (1 + 1e-9)).astype(np.int64) + 1


def _max_tangent_ratio(lines: FloatArray) -> FloatArray:
    return (lines / (1 + 1e-9)) ** 2 / 2 / SLACK


CONVEX = MarginRule(readings=2, slopes=True, gap_power=1 / 3, lines=_tangent_lines, max_ratio=_max_tangent_ratio)


@dataclass(frozen=True, eq=False)
class Margins:
    """All public numbers of one game. Distances unless noted otherwise; arrays are float64[D].

    queries: the number of tests that share the failure β (two a query where a learner errs on both sides).
    lattice: step g of the tested values floor((F − F̂)/g), any float; threshold and sensitivity count its steps.
    value_scale, slope_scale: noise parameters of the integer sums (quanta; records); no slopes are read where empty.
    margin: ηᵢ, which the error of no reading exceeds except with probability within β.
    """

    pure: bool
    n: int
    alpha: float
    updates: int
    failure_probability: float
    queries: int
    lattice: float
    sensitivity: int
    threshold: int
    epsilon_test: float
    value_scale: FloatArray
    slope_scale: FloatArray
    margin: FloatArray
    gap: FloatArray
    parameter_limits: ClassVar[ParameterLimits] = {
        "pure": FLAG,
        "n": NumberLimit(1, MAX_TOTAL, whole=True),
        **dict.fromkeys(("alpha", "lattice"), DISTANCE),
        **dict.fromkeys(("updates", "queries", "sensitivity"), COUNT),
        "epsilon_test": SCALE,
        "failure_probability": NumberLimit(0, 1, above=True),
        "threshold": NumberLimit(-(1 << 62), 1 << 62, whole=True),
        **dict.fromkeys(("value_scale", "slope_scale", "margin", "gap"), REALS),
    }

    def cost(self, embedding: Embedding) -> float:
        """Return the ρ of all epochs together, or ε when pure, from the noise parameters themselves."""
        test = self.epsilon_test if self.pure else self.epsilon_test**2 / 2
        value = _value_cost(self.value_scale, embedding, self.pure)
        slope = float(np.sum(1 / self.slope_scale if self.pure else 0.5 / self.slope_scale**2))
        return self.updates * (test + value + slope)

    def rescale(self, factor: float) -> "Margins":
        """Return the margins of the game on a coordinate `factor` times as wide: integers stay, distances grow."""
        return replace(
            self,
            alpha=self.alpha * factor,
            lattice=self.lattice * factor,
            margin=self.margin * factor,
            gap=self.gap * factor,
        )

    def to_json(self) -> dict[str, Any]:
        """Return the margins as the card stores them."""
        return {key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in vars(self).items()}

    @classmethod
    def from_json(cls, card: dict[str, Any]) -> "Margins":
        """Undo `to_json`."""
        fields: dict[str, Any] = {key: np.array(v) if isinstance(v, list) else v for key, v in card.items()}
        return cls(**fields)


def solve(
    rule: MarginRule, embedding: Embedding, n: int, budget: float, pure: bool, queries: int, failure_probability: float
) -> Margins:
    """Return the margins with minimum α for a game of `queries` queries on n public records."""
    _, updates = min_alpha(rule, embedding, n, budget, pure, queries, failure_probability)
    result = _with_updates(rule, embedding, n, budget, pure, queries, failure_probability, updates)
    for scale in (*result.value_scale, *result.slope_scale, *_test_scales(result)):
        check_scale(float(scale))
    return result


def min_alpha(
    rule: MarginRule, embedding: Embedding, n: int, budget: float, pure: bool, queries: int, failure_probability: float
) -> tuple[float, int]:
    """Return the α that `solve` finds, up to rounding of floats, and its number of updates."""
    game = rule, embedding, n, budget, pure, queries, failure_probability
    alphas_of = _Alphas(*game) if rule.slopes else lambda part: [_with_updates(*game, u).alpha for u in part.tolist()]
    low, alphas = embedding.dimension, dict[int, float]()
    candidates: Sequence[int] = _first_candidates(low)
    while candidates:
        for start in range(0, len(candidates), 16):
            part = candidates[start : start + 16]
            alphas |= zip(part, alphas_of(np.array(part)), strict=True)
            if alphas[part[-1]] > 8 * min(alphas.values()):
                break  # α grows from here on
        best = min(alphas, key=alphas.__getitem__)
        order = sorted(alphas)
        index = order.index(best)
        left, right = order[max(0, index - 1)], order[min(len(order) - 1, index + 1)]
        inner = {left + (right - left) * k // 17 for k in range(18)}
        candidates = sorted(inner - set(alphas))
    return alphas[best], best


class _Alphas:
    """The α of `_with_updates` for many numbers of updates at once, for a rule with slopes.

    The scales of all readings are proportional to a power of their budget, so that sums over coordinates are computed
    once.
    """

    def __init__(
        self,
        rule: MarginRule,
        embedding: Embedding,
        n: int,
        budget: float,
        pure: bool,
        queries: int,
        failure_probability: float,
    ) -> None:
        self._rule, self._embedding, self._budget, self._pure = rule, embedding, budget / SLACK, pure
        self._queries, self._failure = queries, failure_probability / 2
        self._lattice, self._sensitivity = _lattice(embedding, n)
        share = _value_share(rule, embedding, pure)
        value_scale, slope_scale = _value_scale(embedding, share, pure), _slope_scale(embedding, 1 - share, pure)
        value_step, slope_step = embedding.quantum / n, 2 * embedding.spread / n
        value, slope = value_scale * value_step, slope_scale * slope_step
        self._noise = float(np.sum(np.maximum(value, slope) if pure else np.hypot(value, slope)))
        self._steps = float(np.sum(value_step + slope_step)) / (1 if pure else 2)
        self._excess = 0.125 * (float(np.max(value_scale**-2.0)) + float(np.max(slope_scale**-2.0)))

    def __call__(self, updates: IntArray) -> list[float]:
        """Return α for each number of updates."""
        numbers = updates.astype(np.float64)
        shares = np.full(len(updates), 0.5)
        test, reading = self._margins(numbers, shares)
        power = 1 / 2 if self._pure else 2 / 3
        test_term, reading_term = (2 * test) ** power, (self._rule.readings * reading) ** power
        test, reading = self._margins(numbers, test_term / (test_term + reading_term))
        result: list[float] = (2 * test + (self._rule.readings * reading + self._gap_sums(numbers)) * SLACK).tolist()
        return result

    def _gap_sums(self, updates: FloatArray) -> FloatArray:
        """Return Σγᵢ for each number of updates."""
        rule, embedding = self._rule, self._embedding
        if rule.max_ratio is not None and embedding.dimension == 1:
            return np.asarray(embedding.spread[0] / rule.max_ratio(updates) * SLACK)
        return np.array([float(_gaps(rule, embedding, int(number)).sum()) for number in updates.tolist()])

    def _margins(self, updates: FloatArray, test_share: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the margins of tests and the sums of the margins of readings."""
        epoch = self._budget / updates
        test, rest = epoch * test_share, epoch * (1 - test_share) / SLACK
        epsilon = test if self._pure else np.sqrt(2 * test)
        threshold, query = np.array(sparse_vector.noise_scales(self._sensitivity, 1.0))[:, None] / epsilon
        tests = 1 + _laplace_tails(threshold, self._failure / 2 / updates)
        tests += _laplace_tails(query, self._failure / 2 / self._queries)
        failures = (self._failure / (updates * self._embedding.dimension)).tolist()
        if self._pure:
            tails = np.array([_laplace_sum_tail(failure / 2) for failure in failures]) + 1e-9
            return tests * self._lattice, self._noise / rest * tails + self._steps
        excesses = (self._excess * rest).tolist()
        pairs = zip(failures, excesses, strict=True)
        deviations = np.array([normal_quantile(failure / 2 * math.exp(-excess)) for failure, excess in pairs]) + 1e-9
        return tests * self._lattice, self._noise / np.sqrt(rest) * deviations + self._steps


def _laplace_tails(scales: FloatArray, failures: FloatArray | float) -> FloatArray:
    """Return `laplace_tail` of many scales."""
    tails = np.ceil(scales * np.log(2 / ((1 + np.exp(-1 / scales)) * failures)) - 1)
    return np.asarray(np.maximum(tails, 0.0))


@lru_cache(maxsize=16)
def _first_candidates(low: int) -> tuple[int, ...]:
    """Return numbers of updates to try first: a hundred up to 10⁵ times the smallest, in equal ratios."""
    return tuple(sorted({round(low * 10 ** (5 * k / 99)) for k in range(100)}))


def _lattice(embedding: Embedding, n: int) -> tuple[float, int]:
    """Return the step of tested values, and the number of steps that one record moves them by at most."""
    lattice = 2.0 ** math.floor(math.log2(embedding.sensitivity_bound / n / LATTICE_STEPS))
    sensitivity = math.ceil(embedding.sensitivity_bound / lattice / n * SLACK)
    return lattice, sensitivity


def _value_share(rule: MarginRule, embedding: Embedding, pure: bool) -> float:
    """Return the share of values in the budget of a reading.

    Values and slopes share by their noise at equal budget: the best shares for two Gaussians, and equal scales, within
    2 % of the best, for two Laplace laws.
    """
    value_noise = _value_scale(embedding, 1.0, pure)[0] * embedding.quantum[0]
    slope_noise = _slope_scale(embedding, 1.0, pure)[0] * 2 * embedding.spread[0] if rule.slopes else 0.0
    return float(value_noise / (value_noise + slope_noise))


def _test_scales(game: Margins) -> tuple[float, float]:
    return sparse_vector.noise_scales(game.sensitivity, game.epsilon_test)


def _with_updates(
    rule: MarginRule,
    embedding: Embedding,
    n: int,
    budget: float,
    pure: bool,
    queries: int,
    failure_probability: float,
    updates: int,
) -> Margins:
    epoch = budget / updates / SLACK
    lattice, sensitivity = _lattice(embedding, n)
    failure = failure_probability / 2 / (updates * embedding.dimension)
    values = _value_share(rule, embedding, pure)

    def noise(test_share: float) -> tuple[float, float, FloatArray, FloatArray, FloatArray]:
        """Return ε of the test and its margin; scales of values and slopes, and the margin of readings."""
        test, rest = epoch * test_share, epoch * (1 - test_share) / SLACK
        epsilon_test = test if pure else math.sqrt(2 * test)
        # 1 more step: the tested value is rounded down
        steps = 1 + sparse_vector.margin(sensitivity, epsilon_test, updates, queries, failure_probability / 2)
        value_scale = _value_scale(embedding, rest * values, pure)
        slope_scale = _slope_scale(embedding, rest * (1 - values), pure) if rule.slopes else np.empty(0)
        margin = _reading_margin(embedding, n, value_scale, slope_scale, pure, failure)
        return epsilon_test, steps * lattice, value_scale, slope_scale, margin

    # α adds c/√share (zCDP) or c/share (pure) over test and readings: the best shares go as c^{2/3} or √c
    _, test_margin, _, _, margin = noise(0.5)
    power = 1 / 2 if pure else 2 / 3
    test_term, reading_term = (2 * test_margin) ** power, (rule.readings * float(margin.sum())) ** power
    epsilon_test, test_margin, value_scale, slope_scale, margin = noise(test_term / (test_term + reading_term))

    gap = _gaps(rule, embedding, updates)
    alpha = 2 * test_margin + float(np.sum(rule.readings * margin + gap)) * SLACK
    return Margins(
        pure=pure,
        n=n,
        alpha=alpha,
        updates=updates,
        failure_probability=failure_probability,
        queries=queries,
        lattice=lattice,
        sensitivity=sensitivity,
        threshold=round((alpha - test_margin) / lattice),
        epsilon_test=epsilon_test,
        value_scale=value_scale,
        slope_scale=slope_scale,
        margin=margin,
        gap=gap,
    )


def _reading_margin(
    embedding: Embedding, n: int, value_scale: FloatArray, slope_scale: FloatArray, pure: bool, failure: float
) -> FloatArray:
    """Return ηᵢ with Pr[|value error ± slope error × width| > ηᵢ] ≤ failure: a bound for a noisy tangent everywhere.

    A discrete draw is within 1 (Laplace: a difference of rounded exponentials) or ½ (Gaussian) of a continuous one,
    up to a factor e^{1/(8σ²)} in probability for the Gaussian: docs/proofs/tangents.md.
    """
    value_step, slope_step = embedding.quantum / n, 2 * embedding.spread / n
    if not slope_scale.size:
        tail = laplace_tail if pure else gaussian_tail
        return np.array([tail(scale, failure) for scale in value_scale]) * value_step
    value, slope = value_scale * value_step, slope_scale * slope_step
    if pure:
        return np.maximum(value, slope) * (_laplace_sum_tail(failure / 2) + 1e-9) + value_step + slope_step
    excess = 0.125 * (float(np.max(value_scale**-2.0)) + float(np.max(slope_scale**-2.0)))
    deviations = normal_quantile(failure / 2 * math.exp(-excess)) + 1e-9
    result: FloatArray = np.hypot(value, slope) * deviations + (value_step + slope_step) / 2
    return result


@lru_cache(maxsize=4096)
def _laplace_sum_tail(failure: float) -> float:
    """Return s with Pr[|X + Y| > sb] = (1 + s/2)e^{−s} = failure, for two Laplace laws of scale b."""
    s = target = -math.log(failure)
    for _ in range(100):  # Newton's method on a convex function, from below its root
        step = (s - math.log1p(s / 2) - target) / (1 - 1 / (2 + s))
        s -= step
        if abs(step) <= 1e-15 * s:
            break
    return s


def _gaps(rule: MarginRule, embedding: Embedding, updates: int) -> FloatArray:
    """Return the minimum γᵢ ∝ wᵢ^gap_power for which the learner has at most `updates` lines."""
    shape: FloatArray = embedding.spread**rule.gap_power
    shape = shape / shape.sum()
    return _min_gap(rule, tuple((embedding.spread / shape).tolist()), updates) * shape


@lru_cache(maxsize=4096)
def _min_gap(rule: MarginRule, ratios: tuple[float, ...], updates: int) -> float:
    """Return the minimum γ with Σ lines(ratioᵢ/γ) ≤ updates."""
    ratio = np.array(ratios)
    if rule.max_ratio is not None and len(ratios) == 1:
        return float(ratio[0] / rule.max_ratio(np.array(updates, dtype=np.float64))) * SLACK
    # a coordinate needs at most one line once γᵢ > 2wᵢ, so `updates` ≥ D is always feasible
    high = float(ratio.max()) * 4
    low = high / (16.0 * updates**2)
    while rule.lines(ratio / low).sum() <= updates:
        low /= 4
    for _ in range(60):
        middle = math.sqrt(low) * math.sqrt(high)
        feasible = rule.lines(ratio / middle).sum() <= updates
        low, high = (low, middle) if feasible else (middle, high)
    return high * SLACK  # lines are computed again from γᵢ themselves


def _value_scale(embedding: Embedding, budget: float, pure: bool) -> FloatArray:
    """Return noise scales of Σ|qᵢ − t| in quanta, variance ∝ wᵢ as a distance, so that any pair costs ≤ budget."""
    return _scaled(*_value_shape(embedding, pure), budget, pure)


@lru_cache(maxsize=8)
def _value_shape(embedding: Embedding, pure: bool) -> tuple[FloatArray, float]:
    """Return scales in the right proportions, and their cost; `solve` needs them hundreds of times."""
    scale = embedding.span / np.sqrt(embedding.spread)
    return scale, _value_cost(scale, embedding, pure)


def _value_cost(scale: FloatArray, embedding: Embedding, pure: bool) -> float:
    """Return the cost of releasing all D values: sup of Σ|Δᵢ/bᵢ| or Σ Δᵢ²/(2σᵢ²) over Δᵢ ≤ wᵢ, ΣΔᵢ ≤ bound.

    bound: the sensitivity bound. Both sums are at most Σ Δᵢ·rateᵢ with rateᵢ = 1/bᵢ or wᵢ/(2σᵢ²) (as Δᵢ² ≤ wᵢΔᵢ), which
    is largest when the coordinates of the largest rates change first.
    """
    noise = scale * embedding.quantum  # as a distance
    rate = 1 / noise if pure else embedding.spread / (2 * noise**2)
    order = np.argsort(-rate)
    before = np.concatenate([[0.0], np.cumsum(embedding.spread[order])[:-1]])
    changes = np.clip(embedding.sensitivity_bound - before, 0, embedding.spread[order])
    return math.fsum((changes * rate[order]).tolist()) * SLACK


def _slope_scale(embedding: Embedding, budget: float, pure: bool) -> FloatArray:
    """Return noise scales of counts below a border, variance ∝ wᵢ as slope × width; a count changes by at most 1."""
    return _scaled(*_slope_shape(embedding, pure), budget, pure)


@lru_cache(maxsize=8)
def _slope_shape(embedding: Embedding, pure: bool) -> tuple[FloatArray, float]:
    """Return scales in the right proportions, and their cost."""
    scale = 1 / np.sqrt(embedding.spread)
    return scale, float(np.sum(1 / scale if pure else 0.5 / scale**2))


def _scaled(shape: FloatArray, cost: float, budget: float, pure: bool) -> FloatArray:
    """Return scales of this shape that cost the budget, where the shape itself costs `cost`."""
    return shape * (cost / budget) ** (1 if pure else 0.5) * SLACK


def check_game(queries: int, failure_probability: float, name: str = "max_queries") -> None:
    """Refuse a count of queries or a failure probability that no game can have."""
    if isinstance(queries, bool) or not isinstance(queries, int | np.integer) or not 1 <= queries <= 1 << 40:
        raise MilepostError(f"{name} must be a whole number of at least 1, got {queries!r}")
    if not isinstance(failure_probability, int | float) or not 1e-12 <= failure_probability < 1:
        raise MilepostError(
            f"failure_probability must lie between 1e-12 and 1 (0.05 is usual), got {failure_probability!r}"
        )

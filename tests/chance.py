"""Assertions about noise: each fails by chance at most once in 10⁹ runs, and surely where the noise has a wrong scale.

Every comparison of something noisy with its law goes through this module. The caller says how many *independent* draws
there are, what law is claimed, and which wrong law the comparison is there to catch (`against`). Limits follow from the
law, the draws and FALSE_ALARM; the probability of noticing `against` follows from the limits, and a comparison that
would notice it less often than POWER is refused before it looks at the data: it has too few draws to be a test.

The answers of one release share noise: a release with many queries is one draw. Where several numbers of one draw are
compared at once, `comparisons` says how many, and the limits share the false-alarm rate.

`tests/project/test_chance.py` lists all uses, and fails where a test takes a law from SciPy by itself.
"""

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from scipy import stats

from milepost._typing import FloatArray

FALSE_ALARM = 1e-9  # of one assertion
POWER = 0.999  # with which an assertion notices what it is against, at least

Law = Literal["gaussian", "laplace"]


class WeakTestError(Exception):
    """An assertion that would not notice what it is against: more draws are needed, or a coarser mistake."""


def rate_limits(draws: int, rate: float, comparisons: int = 1) -> tuple[int, int]:
    """The fewest and the most hits of a coin of this rate, each passed with FALSE_ALARM at most."""
    law = stats.binom(draws, rate)
    share = FALSE_ALARM / comparisons
    return int(law.ppf(share)), int(law.isf(share))


def assert_rate(
    hits: Any,
    draws: int,
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    against: float | None = None,
    comparisons: int = 1,
) -> None:
    """Of independent draws, as many hit as a rate between `at_least` and `at_most` allows.

    hits: a count, or the largest or smallest of several, or an array of them that share the false-alarm rate.
    against: a rate that must be noticed, below `at_least` or above `at_most`. Two sides share the false-alarm rate.
    """
    counts = np.atleast_1d(hits)
    comparisons = max(comparisons, counts.size) * (2 if at_least is not None and at_most is not None else 1)
    low = 0 if at_least is None else rate_limits(draws, at_least, comparisons)[0]
    high = draws if at_most is None else rate_limits(draws, at_most, comparisons)[1]
    if against is not None:
        law = stats.binom(draws, against)
        _require(law.cdf(high) - law.cdf(low - 1), f"a rate of {against:g} in {draws:,} draws")
    assert low <= counts.min(), f"{counts.min():,} of {draws:,} hit, which a rate of {at_least} hardly ever has"
    assert counts.max() <= high, f"{counts.max():,} of {draws:,} hit, which a rate of {at_most} hardly ever has"


def has_rate(hits: int, draws: int, *, at_least: float) -> bool:
    """Whether so many hits are not too few for a rate: for twins that are known to be wrong, which must not have it."""
    return hits >= rate_limits(draws, at_least)[0]


def assert_wrong_rate(hits: int, draws: int, *, at_least: float, truth: float) -> None:
    """Draws of a twin that is known to be wrong, which hits at a rate of `truth` at most, have no rate of `at_least`.

    It fails by chance as rarely as other assertions: with too few draws for that it is refused.
    """
    low, _ = rate_limits(draws, at_least)
    _require(stats.binom.sf(low - 1, draws, truth), f"a twin of rate {truth:g} in {draws:,} draws", 1 - FALSE_ALARM)
    assert hits < low, f"{hits:,} of {draws:,} hit, as if the rate were {at_least}"


def _size(values: Any, law: Law, freedom: int | None) -> tuple[float, Any]:
    """The size of draws in units of their scale, and its law: Σx² and χ², or Σ|x| and Γ."""
    flat = np.ravel(np.asarray(values, dtype=np.float64))
    count = len(flat) if freedom is None else freedom
    if law == "gaussian":
        return float(np.square(flat).sum()), stats.chi2(count)
    return float(np.abs(flat).sum()), stats.gamma(count)


def is_of_scale(values: Any, *, law: Law = "gaussian", freedom: int | None = None, comparisons: int = 1) -> bool:
    """Whether independent draws, in units of their claimed scale, are of that scale: false alarms FALSE_ALARM."""
    size, sizes = _size(values, law, freedom)
    share = FALSE_ALARM / 2 / comparisons
    return bool(sizes.ppf(share) <= size <= sizes.isf(share))


def assert_scale(
    values: Any,
    *,
    law: Law = "gaussian",
    against: float = 1.1,
    freedom: int | None = None,
    comparisons: int = 1,
    upper_only: bool = False,
) -> None:
    """Independent draws, in units of their claimed scale, are of that scale, neither smaller nor larger.

    against: a factor of the scale that must be noticed, and its inverse. freedom: degrees of freedom, where they are
    fewer than values. upper_only: the claimed scale is an upper bound, so that smaller draws are right too.
    Discrete noise of scale 8 or more is as good as continuous; below, divide by its own standard deviation.
    """
    size, sizes = _size(values, law, freedom)
    share = FALSE_ALARM / 2 / comparisons
    low, high = 0.0 if upper_only else sizes.ppf(share), sizes.isf(share)
    power = 2 if law == "gaussian" else 1
    for factor in (against,) if upper_only else (against, 1 / against):
        unit = factor**power
        _require(sizes.cdf(high / unit) - sizes.cdf(low / unit), f"a scale × {factor:.3g} in {np.size(values):,} draws")
    factor = (size / sizes.mean()) ** (1 / power)
    assert low <= size <= high, f"draws have {factor:.4g} times the scale that they claim"


def assert_wrong_scale(
    values: Any, factor: float, *, law: Law = "gaussian", freedom: int | None = None, comparisons: int = 1
) -> None:
    """Draws of a twin whose noise is `factor` times what it claims are not of that scale, but for FALSE_ALARM."""
    size, sizes = _size(values, law, freedom)
    share = FALSE_ALARM / 2 / comparisons
    low, high = sizes.ppf(share), sizes.isf(share)
    miss_probability = _scale_miss_probability(sizes, factor, law, share)
    _require(miss_probability, f"a twin of scale × {factor:.3g} in {np.size(values):,} draws", 1 - FALSE_ALARM)
    assert not low <= size <= high, f"draws of {factor:.3g} times the scale look right"


def _scale_miss_probability(sizes: Any, factor: float, law: Law, share: float) -> float:
    """How often draws of `factor` times their claimed scale stay within the limits of the right one."""
    unit = factor ** (2 if law == "gaussian" else 1)
    return float(sizes.cdf(sizes.isf(share) / unit) if factor > 1 else sizes.sf(sizes.ppf(share) / unit))


def scale_draws(factor: float, *, law: Law = "gaussian") -> int:
    """Draws with which `assert_wrong_scale` is sure of this factor, and `assert_scale` notices it."""
    draws = 16
    while _scale_miss_probability(_size(np.zeros(draws), law, None)[1], factor, law, FALSE_ALARM / 2) > FALSE_ALARM:
        draws = draws * 9 // 8
    return draws


def limit(*, law: Law = "gaussian", comparisons: int = 1) -> float:
    """How many standard deviations (Gaussian) or scales (Laplace) none of some draws passes, but for FALSE_ALARM."""
    share = FALSE_ALARM / comparisons
    return float(stats.norm.isf(share / 2)) if law == "gaussian" else -math.log(share)


def sure(answers: int = 1) -> float:
    """The confidence at which so many answers are all within their errors, but for FALSE_ALARM.

    For `synopsis.error(sure(3))`, where an error is known to be that of its law and something else is tested.
    """
    return 1 - FALSE_ALARM / answers


def tries(rate: float) -> int:
    """How many independent tries, each of which fails at this rate at most, do not all fail, but for FALSE_ALARM."""
    return math.ceil(math.log(FALSE_ALARM) / math.log(rate))


def assert_close(
    values: Any, expected: Any, deviation: Any, *, law: Law = "gaussian", slack: Any = 0.0, comparisons: int = 1
) -> None:
    """Every number is as near to what is expected as its deviation allows.

    One draw says little about a scale: where the scale itself is the question, `assert_scale` has the power.

    deviation: the standard deviation of each (Gaussian), or its scale (Laplace). slack: a bound of what is off besides.
    All numbers share the false-alarm rate; they need not be independent.
    """
    error = np.atleast_1d(np.abs(np.asarray(values, dtype=np.float64) - expected))
    bound = limit(law=law, comparisons=max(comparisons, error.size)) * np.asarray(deviation) + slack
    shares = error / np.broadcast_to(bound, error.shape)
    assert (error <= bound).all(), f"off by {shares.max():.4g} times what noise allows"


def is_unbiased(errors: Any, *, against: float) -> bool:
    """Whether the mean of independent errors may be 0, by Student's law: false alarms FALSE_ALARM.

    against: a bias, in the unit of the errors, that must be noticed.
    """
    values = np.ravel(np.asarray(errors, dtype=np.float64))
    count, deviation = len(values), float(values.std(ddof=1))
    most = float(stats.t.isf(FALSE_ALARM / 2, count - 1))
    shift = against * math.sqrt(count) / deviation
    _require(stats.nct.cdf(most, count - 1, shift), f"a bias of {against:.3g} in {count:,} errors")
    return bool(abs(float(values.mean())) * math.sqrt(count) <= most * deviation)


def confidence(comparisons: int = 1) -> float:
    """What to ask a promise for, so that one that is true is broken with FALSE_ALARM at most."""
    return 1 - FALSE_ALARM / comparisons


def assert_promised(synopsis: Any, points: Any, exact: Any, *, at_most: float, slack: float = 0.0) -> None:
    """All answers of a release are as near to the exact ones as it promises, but for FALSE_ALARM.

    at_most: what the promise may be, so that the comparison says something. slack: a bound of what is off besides.
    tangents promises at its `beta`, which must be FALSE_ALARM.
    """
    answers, truth = np.atleast_1d(synopsis.mean_distance(points)), np.atleast_1d(exact)
    max_confidence = synopsis.statistic.confidence
    if 1 - max_confidence > FALSE_ALARM * (1 + 1e-6):
        raise WeakTestError(
            f"a promise with a confidence of {max_confidence} is broken by chance; "
            "release with failure_probability=FALSE_ALARM"
        )
    error = float(synopsis.error(min(confidence(answers.size), max_confidence)))
    if not error <= at_most:
        raise WeakTestError(f"{error:.4g} is promised, and a comparison needs {at_most:.4g}")
    largest_error = float(np.abs(answers - truth).max())
    assert largest_error <= error + slack, f"off by {largest_error:.4g}, where {error:.4g} is promised"


def assert_fit(counts: Any, probabilities: Any, *, against: Sequence[Any] = (), comparisons: int = 1) -> None:
    """Counts in cells follow the law of these probabilities (Pearson's χ²). against: laws that must be noticed.

    Cells must be expected to have at least 25 counts, so that χ² is the law of the statistic in its tail, too.
    """
    counts, chance = np.asarray(counts, dtype=np.float64), np.asarray(probabilities, dtype=np.float64)
    draws = counts.sum()
    assert math.isclose(chance.sum(), 1, abs_tol=1e-9), "probabilities of all cells"
    if draws * chance.min() < 25:
        raise WeakTestError(f"a cell is expected to have {draws * chance.min():.3g} counts only; join cells")
    bound = stats.chi2.isf(FALSE_ALARM / comparisons, len(counts) - 1)
    for alternative in against:
        noncentrality = draws * float((np.square(np.asarray(alternative) - chance) / chance).sum())
        _require(stats.ncx2.cdf(bound, len(counts) - 1, noncentrality), "a wrong law")
    chi_square = float((np.square(counts - draws * chance) / (draws * chance)).sum())
    assert chi_square <= bound, (
        f"χ² of {chi_square:.4g} with {len(counts) - 1} degrees of freedom; at most {bound:.4g} by chance"
    )


def assert_wrong_fit(counts: Any, probabilities: Any, truth: Any) -> None:
    """Counts of a law `truth` do not follow the law of these probabilities, but for FALSE_ALARM."""
    chance, freedom = np.asarray(probabilities, dtype=np.float64), np.size(counts) - 1
    draws, bound = float(np.sum(counts)), stats.chi2.isf(FALSE_ALARM, freedom)
    noncentrality = draws * float((np.square(np.asarray(truth) - chance) / chance).sum())
    _require(
        stats.ncx2.cdf(bound, freedom, noncentrality), f"a twin of another law in {draws:,.0f} draws", 1 - FALSE_ALARM
    )
    chi_square = float((np.square(np.asarray(counts) - draws * chance) / (draws * chance)).sum())
    assert chi_square > bound, f"draws of another law look right: χ² of {chi_square:.4g}, {bound:.4g} by chance"


def draws_needed(rate: float, against: float) -> int:
    """The fewest draws with which `assert_rate` notices a wrong rate, for choosing the size of a test."""
    draws = 16
    while True:
        low, high = rate_limits(draws, rate)
        law = stats.binom(draws, against)
        if law.cdf(high) - law.cdf(low - 1) <= 1 - POWER:
            return draws
        draws = draws * 5 // 4


def _require(miss_probability: FloatArray | float, what: str, power: float = POWER) -> None:
    """Refuse a comparison that misses what it is against more often than 1 − power."""
    if not float(miss_probability) <= 1 - power:
        raise WeakTestError(f"{what} would be noticed with probability {1 - float(miss_probability):.4g} only")

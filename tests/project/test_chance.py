"""The module that all assertions about noise go through, and that they do."""

import ast
from collections import Counter
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from milepost._typing import FloatArray
from tests import ROOT, chance
from tests.chance import WeakTestError, assert_close, assert_fit, assert_rate, assert_scale

TESTS = ROOT / "tests"
ASSERTIONS = {name for name in dir(chance) if name.startswith("assert_")}
LAWS = {"scipy.stats"}  # which only `tests/chance.py` may draw limits from
SECOND_METHODS = {  # files that may, and why
    "auditing/test_report.py": "SciPy's exact binomial interval is a second method for Clopper and Pearson's bounds",
    "pipeline/test_histogram_ends.py": "the exact law of a sum of draws, against a bound of its tail",
}


def _uses() -> Counter[str]:
    """How often each file calls an assertion of `tests/chance.py`."""
    counts: Counter[str] = Counter()
    for path in sorted(TESTS.rglob("test_*.py")):
        text = path.read_text()
        if "chance" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            function = node.func if isinstance(node, ast.Call) else None
            name = (
                function.id
                if isinstance(function, ast.Name)
                else function.attr
                if isinstance(function, ast.Attribute)
                else ""
            )
            if name in ASSERTIONS:
                counts[str(path.relative_to(TESTS))] += 1
    return counts


def test_limits_are_passed_as_rarely_as_they_say() -> None:
    """Against the tails themselves."""
    low, high = chance.rate_limits(1000, 0.95)
    law = stats.binom(1000, 0.95)
    assert law.cdf(low - 1) <= chance.FALSE_ALARM < law.cdf(low)
    assert law.sf(high) <= chance.FALSE_ALARM < law.sf(high - 1)
    assert 2 * stats.norm.sf(chance.limit(comparisons=7)) * 7 == pytest.approx(chance.FALSE_ALARM)
    assert stats.laplace.sf(chance.limit(law="laplace")) * 2 == pytest.approx(chance.FALSE_ALARM)


def test_confidences_and_tries_are_as_rare() -> None:
    assert (1 - chance.sure(8)) * 8 == pytest.approx(chance.FALSE_ALARM, rel=1e-6)
    for rate in (0.01, 0.5, 0.9):
        assert rate ** chance.tries(rate) <= chance.FALSE_ALARM < rate ** (chance.tries(rate) - 1)


def test_a_wrong_rate_is_noticed() -> None:
    assert_rate(930, 1000, at_least=0.95, against=0.85)
    assert_rate([950, 960], 1000, at_least=0.95, at_most=0.99)
    with pytest.raises(AssertionError):
        assert_rate(800, 1000, at_least=0.95)
    with pytest.raises(AssertionError):
        assert_rate(999, 1000, at_most=0.95)
    with pytest.raises(WeakTestError):
        assert_rate(19, 20, at_least=0.95, against=0.9)


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_a_wrong_scale_is_noticed(law: chance.Law) -> None:
    """The middle of the law is accepted and ± 10 % are not; too few draws are no test."""
    middles = (np.arange(10_000) + 0.5) / 10_000
    values = (stats.norm if law == "gaussian" else stats.laplace).ppf(middles)
    assert_scale(values, law=law)
    for factor in (0.9, 1.1):
        assert not chance.is_of_scale(factor * values, law=law)
        with pytest.raises(AssertionError, match="times the scale"):
            assert_scale(factor * values, law=law)
    assert_scale(0.9 * values, law=law, upper_only=True)
    with pytest.raises(WeakTestError):
        assert_scale(values[::1000], law=law)


def test_a_twin_that_is_wrong_is_told_from_a_right_one() -> None:
    """And one that could look right by chance, with so few draws, is refused."""
    chance.assert_wrong_rate(800, 1000, at_least=0.95, truth=0.8)
    with pytest.raises(AssertionError):
        chance.assert_wrong_rate(940, 1000, at_least=0.95, truth=0.8)
    with pytest.raises(WeakTestError):
        chance.assert_wrong_rate(800, 1000, at_least=0.95, truth=0.9)
    values = stats.norm.ppf((np.arange(10_000) + 0.5) / 10_000)
    for factor in (0.9, 1.1):
        chance.assert_wrong_scale(factor * values, factor)
        with pytest.raises(AssertionError, match="look right"):
            chance.assert_wrong_scale(values, factor)
    with pytest.raises(WeakTestError):
        chance.assert_wrong_scale(values, 1.01)


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
@pytest.mark.parametrize("factor", [0.5, 0.9, 1.2])
def test_draws_are_as_many_as_a_scale_takes(law: chance.Law, factor: float) -> None:
    """Enough for both assertions; a fifth of them is not."""
    draws = chance.scale_draws(factor, law=law)
    values = (stats.norm if law == "gaussian" else stats.laplace).ppf((np.arange(draws) + 0.5) / draws)
    assert_scale(values, law=law, against=factor)
    chance.assert_wrong_scale(factor * values, factor, law=law)
    with pytest.raises(WeakTestError):
        chance.assert_wrong_scale(factor * values[::5], factor, law=law)


@dataclass
class Answers:
    """What `assert_promised` asks a release for: one that errs by 1 with a promise of 6 deviations of 0.2."""

    beta: float = 0.0

    @property
    def statistic(self) -> SimpleNamespace:
        return SimpleNamespace(confidence=1 - self.beta)

    def mean_distance(self, points: FloatArray) -> FloatArray:
        return points + 1

    def error(self, confidence: float) -> float:
        return float(0.2 * stats.norm.isf((1 - confidence) / 2))


def test_promises_are_limits_where_they_are_rarely_broken_and_narrow() -> None:
    points = np.zeros(3)
    chance.assert_promised(Answers(), points, points, at_most=2)
    with pytest.raises(AssertionError, match="off by 2"):
        chance.assert_promised(Answers(), points, points - 1, at_most=2)
    chance.assert_promised(Answers(), points, points - 1, at_most=2, slack=1)
    for synopsis, bound in ((Answers(beta=1e-6), 2.0), (Answers(), 1.0)):
        with pytest.raises(WeakTestError):
            chance.assert_promised(synopsis, points, points, at_most=bound)
    chance.assert_promised(Answers(beta=chance.FALSE_ALARM), points, points, at_most=2)


def test_what_is_far_off_is_noticed() -> None:
    assert_close([1.0, 2.0], [1.5, 2.5], 0.1)
    with pytest.raises(AssertionError):
        assert_close([1.0, 2.0], [1.5, 2.7], 0.1)
    assert_close([1.0, 2.0], [1.5, 2.7], 0.1, slack=0.2)


def test_a_wrong_law_is_noticed() -> None:
    even, odd = np.full(10, 0.1), np.array([0.08, 0.12] * 5)
    assert_fit(10_000 * even, even, against=[odd])
    with pytest.raises(AssertionError):
        assert_fit(10_000 * odd, even)
    chance.assert_wrong_fit(10_000 * odd, even, odd)
    with pytest.raises(AssertionError, match="look right"):
        chance.assert_wrong_fit(10_000 * even, even, odd)
    with pytest.raises(WeakTestError):
        chance.assert_wrong_fit(1000 * odd, even, odd)
    for draws, alternatives in ((100, []), (10_000, [even + np.array([0.001, -0.001] * 5)])):
        with pytest.raises(WeakTestError):
            assert_fit(draws * even, even, against=alternatives)


def test_every_assertion_about_noise_is_made_here() -> None:
    """No other test takes limits from SciPy's laws; the list of those that use this module is printed."""
    for path in sorted(TESTS.rglob("*.py")):
        name = str(path.relative_to(TESTS))
        text = path.read_text()
        if name in {"chance.py", "project/test_chance.py", *SECOND_METHODS} or "scipy" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import | ast.ImportFrom):
                origin = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
                modules = {f"{origin}{alias.name}" for alias in node.names} | {origin.rstrip(".")}
                assert not LAWS & modules, f"{name} takes limits from scipy.stats; use tests/chance.py"
    uses = _uses()
    print(*(f"{count:4d} {name}" for name, count in sorted(uses.items())), sep="\n")
    assert sum(uses.values()) > 0

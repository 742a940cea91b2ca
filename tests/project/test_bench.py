"""What the checks of benchmarks have in common: bounds that chance does not miss, and times taken by turns."""

import math
from functools import partial
from statistics import NormalDist

import numpy as np
import pytest

from bench import __main__ as bench
from bench.run import FALSE_ALARM, Bounds, chance_of, gaussian_factor, interleaved, squares_of
from milepost._typing import FloatArray

LOW_BY_CHANCE = 1.06  # a bound just above 1 that a measured RMSE may pass


def normal(count: int, scale: float) -> FloatArray:
    """Values that lie as normal ones do, without a draw."""
    return scale * np.array([NormalDist().inv_cdf((k + 0.5) / count) for k in range(count)])


def test_a_measured_rms_may_pass_its_bound_as_far_as_chance_goes_and_no_farther() -> None:
    for scale, failures in ((1.0, 0), (LOW_BY_CHANCE, 0), (2.0, 1)):
        bounds = Bounds()
        bounds.rms_at_most("noise", normal(200, scale) ** 2, 1.0)
        assert len(bounds.missed) == failures, scale


def test_a_bound_without_chance_is_a_bound() -> None:
    bounds = Bounds()
    assert bounds.at_most("claimed", 1.05, 1.05) == "1.05"
    assert bounds.at_most("claimed", 1.06, 1.05) == "1.06 > 1.05"
    assert bounds.missed == ["claimed: 1.06 is over 1.05"]


def test_chance_falls_with_the_number_of_releases_not_of_queries() -> None:
    few, many = (chance_of(normal(count, 1.0) ** 2) for count in (100, 400))
    assert 1.9 < few / many < 2.6
    errors = np.tile(normal(100, 1.0)[:, None], 50)  # all queries of a release have the same error
    assert math.isclose(chance_of(squares_of(errors)), few)


def test_few_gaussian_releases_may_pass_their_bound_as_far_as_chance_goes() -> None:
    assert math.isclose(gaussian_factor(1), NormalDist().inv_cdf(1 - FALSE_ALARM / 2), rel_tol=1e-6)
    assert 2.4 < gaussian_factor(10) < 2.6
    for rms, failures in ((1.6, 0), (1.6 * 4.5, 0), (1.6 * 4.6, 1)):
        bounds = Bounds()
        bounds.gaussian_rms_at_most("total", np.full(2, rms**2), 1.6)
        assert len(bounds.missed) == failures, rms


def test_functions_are_timed_by_turns() -> None:
    calls: list[str] = []
    times = interleaved({name: partial(calls.append, name) for name in "ab"}, 3)
    assert calls == ["a", "b"] * 3
    assert set(times) == {"a", "b"}


def test_a_check_prints_its_cpu_seconds_and_whether_it_failed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.executable", "/bin/echo")
    assert bench.check("speed") == []
    assert capsys.readouterr().out == "bench.speed --check, 0 CPU s\n-m bench.speed --check\n\n"
    monkeypatch.setattr("sys.executable", "/bin/false")
    assert bench.check("speed") == ["bench.speed: exit code 1"]
    assert capsys.readouterr().out == "bench.speed --check, 0 CPU s: FAILED\n\n"


@pytest.mark.parametrize(("name", "runs"), [("speed", 2), ("accuracy", 1)])
def test_only_a_timed_check_that_fails_runs_once_more(name: str, runs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    results = iter([["MISSED"], []])
    monkeypatch.setattr(bench, "check", lambda _: next(results))
    assert bench.failures(name) == ([] if runs == 2 else ["MISSED"])


def test_all_missed_bounds_are_named_at_the_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench, "check", lambda name: [f"bench.{name}: MISSED"] if name == "laws" else [])
    monkeypatch.setattr("sys.argv", ["bench", "--check"])
    assert bench.main() == 1
    assert capsys.readouterr().out == "bench.laws: MISSED\n"

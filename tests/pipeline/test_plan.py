"""Plan: numbers before data."""

import numpy as np
import pytest

import milepost as mp


def test_the_plan_is_what_the_release_promises() -> None:
    """The same error, to the bit."""
    space = mp.L1([(0, 10), (0, 3)])
    planned = mp.plan(space, n=50_000, epsilon=2, delta=1e-6, max_queries=100)
    by_name = {prediction.mechanism: prediction for prediction in planned.predictions}
    data = np.zeros((50_000, 2))
    assert by_name["tangents"].error == mp.release(data, space, epsilon=2, delta=1e-6, mechanism="tangents").error()
    session = mp.interactive(data, space, epsilon=2, delta=1e-6, max_queries=100, mechanism="tangents")
    assert by_name["tangents, 100 queries"].error == session.error


def test_the_table_shows_alpha_updates_noise_and_the_paper() -> None:
    """Printed, with no data."""
    text = str(mp.plan(mp.L1([(0, 1)]), n=100_000, epsilon=1, delta=1e-6, max_queries=10_000))
    for word in (
        "uniform",
        "draws",
        "bytes",
        "alpha",
        "updates",
        "test",
        "value",
        "slope",
        "paper's alpha",
        "10,000 queries",
    ):
        assert word in text


def test_the_paper_needs_hundreds_of_times_more() -> None:
    """DESIGN.md: the paper's own error at n = 10⁵ is hundreds of times the solved one."""
    predictions = mp.plan(mp.L1([(0, 1)]), n=100_000, epsilon=1, delta=1e-6).predictions
    tangents = next(p.details for p in predictions if p.mechanism == "tangents")
    assert 100 < float(tangents["paper's alpha"]) / float(tangents["alpha"]) < 1000


@pytest.mark.parametrize("n", [0, -1, 1.5, None, 1 << 38, True])
def test_impossible_sizes_are_refused(n: int) -> None:
    """n is a whole number of rows."""
    with pytest.raises(mp.MilepostError, match="n must"):
        mp.plan(mp.L1([(0, 1)]), n=n, epsilon=1)

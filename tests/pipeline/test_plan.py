"""Plan: numbers before data."""

import numpy as np
import pytest

import milepost as mp
from milepost.mechanisms.coordinate.curves import CONCENTRATION, Curves, CurvesDesign
from milepost.pipeline.selection import candidates
from milepost.privacy.guarantee import Guarantee
from milepost.privacy.protected_change import ProtectedChange
from tests.chance import assert_rate


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


@pytest.mark.slow
def test_a_table_as_dense_as_planned_for_keeps_the_plan() -> None:
    """All people in a sixth of every column.

    The plan has the median of the largest of all noisy masses. With noise, one of the sixth of the cells where people
    are passes it by that in at most a tenth of the releases, for each of two columns.
    """
    space = mp.L1([(0, 1)] * 2)
    best = mp.plan(space, n=20_000, epsilon=1, delta=1e-6).best
    assert f"up to {CONCENTRATION} times" in best.planned_for
    people = 0.4 + np.tile(np.linspace(0, 1 / CONCENTRATION, 20_000)[:, None], 2)
    kept = sum(mp.release(people, space, epsilon=1, delta=1e-6).error() <= best.error for _ in range(60))
    assert_rate(kept, 60, at_least=0.8, against=0.2)


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_where_cells_are_fine_every_table_keeps_the_plan(delta: float) -> None:
    """Also one whose people are all at the same place, in the middle of a cell: noise is then the only unknown."""
    space = mp.L1([(0, 1)] * 2)
    best = mp.plan(space, n=200, epsilon=0.5, delta=delta).best
    assert not best.planned_for
    people = np.full((200, 2), 0.5 + 2**-12)
    assert mp.release(people, space, epsilon=0.5, delta=delta).error() <= best.error * (1 + 1e-9)


@pytest.mark.parametrize(
    "space", [mp.L1([(0, 1)]), mp.L2([(0, 1)] * 2), mp.GreatCircle((45, 5), 20), mp.L2([(0, 1)] * 3)], ids=str
)
def test_the_plan_has_the_errors_of_the_embedding_that_the_release_reports(space: mp.Space) -> None:
    """That of answers counted from an anchor, too."""
    guarantee, change = Guarantee(1, 1e-6), ProtectedChange()
    choice, _ = candidates(space, None, "slopes").best(1000, change, guarantee)
    assert choice is not None
    assert isinstance(choice.design, CurvesDesign)
    people = np.full((1000, 2), (45, 5)) if space.kind == "great-circle" else np.full((1000, len(space.names)), 0.5)
    statistic = mp.release(people, choice.space, epsilon=1, delta=1e-6, mechanism="slopes").statistic
    assert isinstance(statistic, Curves)
    assert statistic.anchored == choice.design.anchored
    assert statistic._bias == choice.design._bias


def test_the_plan_says_which_tables_it_is_for() -> None:
    """Unless cells are steps, or so fine that it is for all tables."""
    words = f"hats, slopes: planned for tables whose people are up to {CONCENTRATION} times as dense as evenly spread"
    assert words in " ".join(str(mp.plan(mp.L1([(0, 1)]), n=100_000, epsilon=1, delta=1e-6)).split())
    assert "as dense" not in str(mp.plan(mp.L1([(0, 1)], step=0.1), n=100_000, epsilon=1, delta=1e-6))

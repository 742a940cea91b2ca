"""Plans, releases and what is reported of them say how the guarantee is spent."""

import re

import numpy as np
import pytest

import milepost as mp

PEOPLE = np.random.default_rng(2).uniform(0, 10, (5000, 2))
SPACE = mp.L1([(0, 10), (0, 10)])
pytestmark = pytest.mark.filterwarnings("ignore::milepost.AccuracyWarning")
USED = {"slopes": "gaussian", "hats": "pure", "tangents": "zcdp"}


@pytest.mark.parametrize("mechanism", USED)
def test_a_release_says_how_it_was_spent(mechanism: str) -> None:
    synopsis = mp.release(PEOPLE, SPACE, epsilon=1, delta=1e-6, mechanism=mechanism)
    assert synopsis.guarantee.accounting == synopsis.describe().accounting == USED[mechanism]
    assert synopsis.guarantee.pure == (mechanism == "hats")
    words = {
        "gaussian": "Accounting: exact Gaussian curve, μ = 0.2367; releases about the same people add up their μ².",
        "pure": "Accounting: pure ε; releases about the same people add up their ε.",
        "zcdp": "Accounting: zCDP, ρ = 0.02436; releases about the same people add up their ρ.",
    }
    assert words[USED[mechanism]] in synopsis.statement()
    assert re.search("accounting +(exact Gaussian curve, μ|pure ε|zCDP, ρ)", str(synopsis.describe()))


def test_a_private_number_of_rows_takes_a_part_of_the_guarantee() -> None:
    """So that no μ is stated."""
    synopsis = mp.release(PEOPLE, SPACE, epsilon=1, delta=1e-6, neighbors="add-remove")
    assert (
        "Accounting: exact Gaussian curve, and pure ε for a number of rows that was not given; releases"
        in synopsis.statement()
    )


def test_a_plan_for_a_budget_in_zcdp_has_its_noise() -> None:
    now, before = (mp.plan(SPACE, n=5000, epsilon=1, delta=1e-6, accounting=word) for word in (None, "zcdp"))
    for plan, accounting in ((now, USED), (before, {**USED, "slopes": "zcdp"})):
        assert {p.mechanism: p.accounting for p in plan.predictions} == accounting
    rms = [{p.mechanism: p.rms or 0.0 for p in plan.predictions} for plan in (now, before)]
    assert rms[1]["slopes"] == pytest.approx(1.07248 * rms[0]["slopes"], rel=1e-5)
    assert rms[1]["hats"] == rms[0]["hats"]
    with pytest.raises(mp.MilepostError, match="accounting= must be one of gaussian, zcdp, got 'zcpd'; did you mean"):
        mp.plan(SPACE, n=5000, epsilon=1, delta=1e-6, accounting="zcpd")

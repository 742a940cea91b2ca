"""No two neighbors cost more than is claimed, whatever the space, the mechanism and the relation."""

import pytest

from milepost.mechanisms.coordinate import slopes
from milepost.mechanisms.query.per_query import PerQuery
from tests.attacks.costs import KINDS, Case, Kind, cases, search
from tests.mechanisms.contract import patched

NEAR, FAR = ([case for case in cases() if case.fixture.far == far] for far in (False, True))


def cases_of(kind: Kind, cases_to_filter: list[Case]) -> list[Case]:
    return [case for case in cases_to_filter if case.kind == kind]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_no_pair_costs_more_than_is_claimed(kind: Kind) -> None:
    """A few cases of each mechanism; the slow test below has them all."""
    selected = cases_of(kind, NEAR)
    report = search(selected[:: max(1, len(selected) // 4)])
    assert not report.violations
    assert report.pairs[kind.name] > 30


@pytest.mark.slow
def test_no_pair_of_many_costs_more_than_is_claimed() -> None:
    """20,000 pairs and more in fifty spaces; of every mechanism some pair comes near the claim."""
    report = search(NEAR)
    print("\n".join(report.lines()))
    assert not report.violations
    assert not report.refused_spaces
    assert report.pairs.total() >= 2000
    assert set(report.pairs) == {kind.name for kind in KINDS}
    assert min(share for share, _ in report.max_shares.values()) > 0.7


def test_no_pair_far_from_0_costs_more_than_is_claimed() -> None:
    """A space that far from 0 is refused, or keeps its claim."""
    report = search(case for case in FAR if case.fixture.name == "l2, 1e16" and case.kind.mechanism == "slopes")
    assert not report.violations
    assert report.refused_spaces or report.pairs.total()


@pytest.mark.slow
def test_no_pair_of_many_far_from_0_costs_more_than_is_claimed() -> None:
    """At so many distances that some are just within what is accepted."""
    report = search(FAR)
    print("\n".join(report.lines()))
    assert not report.violations
    assert report.pairs.total() >= 200


def test_too_little_noise_is_seen() -> None:
    """The search finds a pair when noise is a tenth too small."""
    scales, slope_scales = PerQuery.scales, slopes.scales_of
    patches = [
        (PerQuery, "scales", lambda *args: (0.9 * scales(*args)[0], scales(*args)[1])),
        (slopes, "scales_of", lambda *args: [0.9 * scale for scale in slope_scales(*args)]),
    ]
    with patched(patches):
        for kind in KINDS:
            if kind.mechanism in ("gaussian", "laplace", "slopes"):
                assert search(cases_of(kind, NEAR)[:2]).violations

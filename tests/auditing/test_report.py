"""The auditor: it sees what is known to be wrong, and accuses nothing that is right."""

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import binomtest

import milepost as mp
from milepost._typing import FloatArray, IntArray
from milepost.auditing import Case, Concentrated, Gaussian, Outcomes, Pure, examine
from milepost.auditing.cases import noise_cases
from milepost.auditing.event import at_least, at_most, choose
from milepost.mechanisms.query.field import Innovations
from milepost.mechanisms.registry import MECHANISM_NAMES
from milepost.privacy import noise
from tests.auditing import bad_floats, bad_mechanisms
from tests.auditing.known_bad import MARGIN, known_bad_cases
from tests.auditing.sharpness import SHARPNESS, cached_cases
from tests.chance import FALSE_ALARM, assert_rate

WRONG = {known_case.case.pair: (known_case, samples) for known_case, samples in known_bad_cases()}
SLOW = "innovations against noisy answers"
RIGHT = bad_mechanisms.sparse_vectors()["Algorithm 1 is right"]


@pytest.fixture
def seeded_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the library's noise by seeded NumPy, so that tests of the auditor do not depend on chance."""
    generator = np.random.default_rng(0)

    def add(law: str, values: IntArray, scale: float) -> IntArray:
        shape = np.shape(values)
        draws = (
            bad_mechanisms.draw_laplace(generator, scale, shape)
            if law == "laplace"
            else generator.normal(0, scale, shape)
        )
        return np.asarray(values + np.rint(draws).astype(np.int64))

    monkeypatch.setattr(noise, "_add", add)


@pytest.mark.usefixtures("seeded_noise")
@pytest.mark.parametrize("name", [name for name in WRONG if name != SLOW])
def test_a_known_bad_mechanism_is_caught(name: str) -> None:
    """True losses over 1.15 × the claim are seen: simulations, and the shipped code with a line changed."""
    check_caught(name)


def check_caught(name: str) -> None:
    known_case, samples = WRONG[name]
    assert known_case.true_loss > MARGIN * known_case.case.claim.loss
    finding = examine(known_case.case, samples)
    assert finding.verdict == "violated"
    assert finding.measured < known_case.true_loss


def test_nothing_known_is_forgotten() -> None:
    """All of the issues: four sparse vectors, six noises, and the shipped code with one line changed."""
    assert len(WRONG) == 4 + 6 + 1 + 2 + 1 + 17


@pytest.mark.slow
@pytest.mark.usefixtures("seeded_noise")
def test_innovations_against_noisy_answers_are_caught() -> None:
    """The shipped session with one line changed; as it is, the same test does not accuse it."""
    check_caught(SLOW)
    assert examine(bad_mechanisms.against_noisy(Innovations).case, 1500).verdict == "consistent"


def test_low_bits_do_not_accuse_equal_tables() -> None:
    """Every float that the formula gives is known as one of its own."""
    left = bad_floats.float_laplace().case.left(100_000)
    assert left.kinds.all()


def test_the_right_sparse_vector_is_not_accused() -> None:
    assert RIGHT.true_loss <= RIGHT.case.claim.loss
    assert examine(RIGHT.case, 200_000).verdict == "consistent"


@pytest.mark.parametrize("name", ["half the Laplace noise", "half the Gaussian noise"])
def test_a_claim_that_is_just_true_is_not_accused(name: str) -> None:
    """The same draws with the claim they keep: measured close to it, and below."""
    known_case, _ = WRONG[name]
    claim = replace(known_case.case.claim, loss=known_case.true_loss * (1 + 1e-6))  # type: ignore[type-var]
    finding = examine(replace(known_case.case, claim=claim), 200_000)
    assert 0.85 < finding.ratio < 1


@pytest.mark.slow
def test_false_alarms_are_as_rare_as_promised() -> None:
    """Randomized response is exactly at its claim; of 2000 audits at a rate of 0.1, no more than that accuse it."""
    share = np.exp(1.0) / (1 + np.exp(1.0))
    generator = np.random.default_rng(5)

    def draw(chance: float) -> Callable[[int], Outcomes]:
        return lambda runs: Outcomes.of(kinds=generator.random(runs) < chance)

    case = Case("response", "yes and no", Pure(1.0), draw(share), draw(1 - share))
    alarms = sum(examine(case, 400, false_alarm=0.1).violated for _ in range(2000))
    assert_rate(alarms, 2000, at_most=0.1, against=0.2)


@pytest.mark.parametrize(("count", "runs"), [(0, 50), (1, 50), (20, 50), (49, 50), (50, 50)])
def test_bounds_are_clopper_and_pearson(count: int, runs: int) -> None:
    """A second method: scipy's exact binomial test."""
    interval = binomtest(count, runs).proportion_ci(confidence_level=1 - 2e-4, method="exact")
    assert at_least(np.array(count), runs, 1e-4) == pytest.approx(interval.low, abs=1e-12)
    assert at_most(np.array(count), runs, 1e-4) == pytest.approx(interval.high, abs=1e-12)


def gaussian_events(mu: float) -> tuple[FloatArray, FloatArray]:
    limits = np.linspace(-3, 3 + mu, 61)
    return ndtr(mu - limits), ndtr(-limits)


@pytest.mark.parametrize("mu", [0.1, 1.0, 3.0])
def test_bounds_of_exact_probabilities(mu: float) -> None:
    """On exact Gaussian events the Gaussian claim is reached everywhere, and ρ-zCDP is never exceeded."""
    likely, unlikely = gaussian_events(mu)
    np.testing.assert_allclose(Gaussian(1.0).refuted_below(likely, unlikely), mu, rtol=1e-7)
    concentrated = Concentrated(1.0).refuted_below(likely, unlikely)
    assert 0.75 * mu < concentrated.max() <= mu * (1 + 1e-9)
    assert Concentrated(1.0).refuted_below(unlikely, likely).max() == 0
    assert Pure(1.0).refuted_below(np.array([0.6, 0.2]), np.array([0.2, 0.6])).tolist() == pytest.approx([np.log(3), 0])


def test_a_gaussian_claim_is_tested_where_runs_can_see_it() -> None:
    """δ′ of the claimed profile at the chosen event is between 0.01 and 0.1, and the profile is the known one."""
    claim = Gaussian(1.0)
    # δ(ε) = Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ) at μ = 1, ε = 1
    assert claim.profile(ndtr(np.array([-1.5])))[0] == pytest.approx(ndtr(-0.5) - np.e * ndtr(-1.5))
    generator = np.random.default_rng(6)
    left, right = (Outcomes.of(score=generator.normal(mean, 1, 20_000)) for mean in (1.0, 0.0))
    event = choose(claim, left, right, 1e-6)
    assert event is not None
    unlikely = min(event.count(left), event.count(right)) / 20_000
    assert 0.009 < claim.profile(np.array([unlikely]))[0] < 0.11


def test_equal_tables_refute_nothing() -> None:
    generator = np.random.default_rng(7)

    def draw(runs: int) -> Outcomes:
        return Outcomes.of(kinds=generator.integers(0, 5, (runs, 2)), score=generator.normal(size=runs))

    assert examine(Case("none", "equal", Pure(0.01), draw, draw), 20_000).measured == 0


def test_a_report_shares_one_false_alarm_rate_and_prints_its_cases() -> None:
    """Known-bad cases among good ones; the table has a row for each."""
    report = mp.audit(samples=50_000, cases=[RIGHT.case, WRONG["half the Laplace noise"][0].case])
    assert [finding.verdict for finding in report.findings] == ["consistent", "violated"]
    assert report.violated
    assert sum(finding.false_alarm for finding in report.findings) == pytest.approx(1e-6)
    assert re.search(r"half the Laplace noise +ε ≤ 1.000 +ε ≥ 1.\d{3} +50,000 +1.\d\d +violated", str(report))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"samples": 10}, "samples= must"),
        ({"samples": True}, "samples= must"),
        ({"mechanism": "magic"}, "mechanism= must be one of .*, got 'magic'"),
    ],
)
def test_bad_arguments_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(mp.MilepostError, match=message):
        mp.audit(**arguments)  # type: ignore[arg-type]


@pytest.mark.slow
def test_the_shipped_noise_is_consistent_and_half_of_it_would_not_be() -> None:
    """The quick part of the next test. Of the claim 0.8 is seen, with a deviation of 0.02: half of it is far below."""
    for case in noise_cases():
        assert examine(case, 20_000, FALSE_ALARM).verdict == "consistent"
        assert examine(with_claim(case, 0.5), 20_000, FALSE_ALARM).verdict == "violated"


def with_claim(case: Case, share: float) -> Case:
    return replace(case, claim=replace(case.claim, loss=case.claim.loss * share))  # type: ignore[type-var]


@pytest.mark.slow
@pytest.mark.parametrize("name", SHARPNESS)
def test_the_shipped_mechanisms_are_consistent_and_the_cases_sharp(name: str) -> None:
    """No claim is refuted, and one that promised much less would be."""
    for finding, share, floor in SHARPNESS[name].examine_cases():
        assert not finding.violated, finding
        assert share > floor, finding


def test_every_mechanism_is_audited() -> None:
    """Every shipped case by one test."""
    assert {case.mechanism for case in cached_cases()} >= set(MECHANISM_NAMES)
    cases = [case for sharpness in SHARPNESS.values() for case in sharpness.cases]
    assert sorted(map(id, cases)) == sorted(map(id, cached_cases()))


def test_a_report_is_drawn() -> None:
    """A line for each case."""
    report = mp.audit(samples=5000, cases=[RIGHT.case, WRONG["half the Laplace noise"][0].case, *noise_cases()])
    axes = report.plot().axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()][-1] == "sparse-vector: Algorithm 1 is right"
    assert len(axes.get_yticks()) == 4

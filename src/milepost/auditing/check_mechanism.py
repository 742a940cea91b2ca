"""The contract of a mechanism: the cost of neighboring tables in exact arithmetic, files, predictions, intervals."""

import itertools
import tempfile
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from milepost._typing import IntArray
from milepost.auditing import fixtures
from milepost.auditing.case_matrix import RELATIONS, Relation, release_options
from milepost.auditing.check_space import CheckFailedError
from milepost.auditing.fixtures import Fixture
from milepost.auditing.noise_trace import replaced_noise
from milepost.auditing.scripted_noise import DifferentPathsError, NoiseScript
from milepost.auditing.worst_case_search import Rows
from milepost.errors import MilepostError, collected_warnings
from milepost.mechanisms.base import Prediction
from milepost.pipeline.release import exact_mean_distance, release
from milepost.pipeline.selection import candidates
from milepost.privacy.guarantee import Guarantee
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.lp import L1
from milepost.synopsis.serialization import load
from milepost.synopsis.synopsis import Synopsis

FIXTURES = (fixtures.steps, fixtures.plane, fixtures.line, fixtures.letters, fixtures.disc)
GUARANTEES = (Guarantee(1.5), Guarantee(2.0, 1e-6))
SCRIPTS: tuple[Sequence[bool], ...] = ((), (False,) * 1_000_000, (False, True) * 50)  # answers of threshold tests
MAX_PAIRS = 40  # of one fixture, relation and guarantee
ROWS, RELEASES = 400, 80
FALSE_ALARM = 1e-9
SPACE = L1([(0, 8), (0, 4)], step=1)
POINTS = ((0, 0), (4, 2), (8, 1))


def check_mechanism(mechanism: Any) -> float:
    """Check that a mechanism keeps its contract; raise `CheckFailedError` at the first part that it breaks.

    Releases of tiny neighboring tables are made twice, where the second one gets the noisy numbers of the first. What
    both cost together follows from the exact numbers that the mechanism hands to the library's noise, in rational
    arithmetic, at the pairs that are worst for built-in spaces, for each relation and guarantee that the mechanism
    accepts. Everything that is released must follow from noisy numbers: with the same ones, both releases are equal.
    Further: refusals before noise is drawn, predictions, answers, the stored file, and the coverage of intervals.

    Parameters
    ----------
    mechanism : str or mechanism object
        As `milepost.release` takes it. To save and load releases, register it first with
        `milepost.register_mechanism`. It must draw noise with `milepost.privacy.noise` in one thread.

    Returns
    -------
    float
        The largest share of the guarantee that a pair of tables costs: close to 1 where no budget is wasted.

    Raises
    ------
    CheckFailedError
        Where the mechanism breaks its contract.

    Examples
    --------
    >>> from milepost.testing import check_mechanism
    >>> check_mechanism("laplace") > 0.99
    True
    """
    shares = [
        share
        for make, name, guarantee in itertools.product(FIXTURES, RELATIONS, GUARANTEES)
        if (share := _check_pairs(mechanism, make(), name, guarantee)) is not None
    ]
    if not shares:
        raise CheckFailedError("the mechanism refuses every space, relation and guarantee that was tried")
    for guarantee in GUARANTEES:
        _check_release(mechanism, guarantee)
    return max(shares)


def _check_pairs(mechanism: Any, fixture: Fixture, name: str, guarantee: Guarantee) -> float | None:
    """Return the largest share of the guarantee that a pair costs, or None where the mechanism refuses this."""
    relation = RELATIONS[name]
    pairs = list(relation.pairs(fixture.positions))
    pairs = pairs[:: -(-len(pairs) // MAX_PAIRS)]
    scenario = f"{fixture.name}, {name}, {guarantee}"
    try:
        spent = candidates(fixture.space(), fixture.queries, mechanism).accounted(guarantee)
    except MilepostError:  # a space that the mechanism does not take
        return None
    budget = Fraction(spent.budget)
    shares: list[Fraction] = []
    for left, right in pairs:
        for answers in SCRIPTS:
            first = NoiseScript(answers)
            try:
                released = _released(mechanism, fixture, relation, guarantee, left, first)
            except MilepostError:
                if first.draws or first.tests:
                    raise CheckFailedError(f"{scenario}: a refused release has drawn noise") from None
                if shares:
                    raise CheckFailedError(f"{scenario}: one table is released and another refused") from None
                return None
            second = first.again()
            try:
                neighbor = _released(mechanism, fixture, relation, guarantee, right, second)
                cost = first.cost(second, spent.accounting)
            except DifferentPathsError as error:
                raise CheckFailedError(f"{scenario}: {error}") from None
            except MilepostError:
                raise CheckFailedError(f"{scenario}: one table is released and its neighbor refused") from None
            _require_equal(released, neighbor, scenario)
            shares.append(cost / budget)
            if cost > budget:
                raise CheckFailedError(
                    f"{scenario}: a pair of tables costs {float(cost / budget):.6g} of the budget; "
                    "the noise is too small, or does not cover what one record can change"
                )
            if not first.tests:
                break
    return float(max(shares))


def _released(
    mechanism: Any, fixture: Fixture, relation: Relation, guarantee: Guarantee, rows: Rows, script: NoiseScript
) -> Synopsis:
    options = release_options(fixture, relation, mechanism, guarantee, rows)
    with collected_warnings(), script.replacing_noise():
        return release(fixture.rows([row.position for row in rows]), fixture.space(), **options)


def _require_equal(left: Synopsis, right: Synopsis, scenario: str) -> None:
    """Refuse two releases that differ although all of their noisy numbers are the same."""
    first, second = left.statistic.tensors(), right.statistic.tensors()
    same = first.keys() == second.keys() and all(np.array_equal(first[name], second[name]) for name in first)
    if not same or left.card != right.card:
        raise CheckFailedError(
            f"{scenario}: what is released depends on a record besides the noisy numbers; "
            "add noise to it, or compute it from noisy numbers"
        )


def _prediction(mechanism: Any, guarantee: Guarantee) -> Prediction | None:
    """Return what the mechanism predicts for ordinary releases; None where it refuses the guarantee."""
    change = ProtectedChange()
    feasible, _ = candidates(SPACE, POINTS, mechanism).feasible(change, guarantee)
    choices, _ = feasible.choices(ROWS, change, guarantee)
    return choices[0].prediction if choices else None


def _check_release(mechanism: Any, guarantee: Guarantee) -> None:
    """Check prediction, intervals and the file of ordinary releases."""
    with replaced_noise(_refuse_noise):
        predicted = _prediction(mechanism, guarantee)
    if predicted is None:
        return
    table = np.random.default_rng(0).integers(0, [9, 5], (ROWS, 2))
    options: dict[str, Any] = {"epsilon": guarantee.epsilon, "delta": guarantee.delta, "mechanism": mechanism}
    if candidates(SPACE, POINTS, mechanism).query:
        options["queries"] = POINTS
    exact = np.asarray(exact_mean_distance(table, SPACE, POINTS))
    with collected_warnings():  # tables of few rows have large errors
        synopses = [release(table, SPACE, **options) for _ in range(RELEASES)]
    confidence = synopses[0].confidence
    hits = np.zeros(len(POINTS), dtype=np.int64)
    for synopsis in synopses:
        low, high = np.array([synopsis.interval(point, confidence) for point in POINTS]).T
        hits += (low <= exact) & (exact <= high)
    # an honest mechanism fails here less than once in 10⁹ checks
    limit = int(stats.binom(RELEASES, confidence).ppf(FALSE_ALARM / len(POINTS)))
    if hits.min() < limit:
        raise CheckFailedError(
            f"{guarantee}: intervals of {100 * confidence:g} % confidence cover the truth in {int(hits.min())} of "
            f"{RELEASES} releases only"
        )
    error = synopses[0].error(confidence)
    if not predicted.error / 3 <= error <= 3 * predicted.error:
        raise CheckFailedError(f"{guarantee}: predict promises {predicted.error:.3g}, and a release {error:.3g}")
    _check_file(synopses[0])


def _refuse_noise(law: str, values: IntArray, scale: float) -> IntArray:  # noqa: ARG001
    raise CheckFailedError("predict draws noise: a prediction must not cost anything")


def _check_file(synopsis: Synopsis) -> None:
    """Check that a file keeps every released number and answers alike."""
    with tempfile.TemporaryDirectory() as folder:
        synopsis.save(Path(folder) / "release.milepost")
        again = load(Path(folder) / "release.milepost")
    _require_equal(synopsis, again, "file")
    if not np.array_equal(np.asarray(again.mean_distance(POINTS)), np.asarray(synopsis.mean_distance(POINTS))):
        raise CheckFailedError("a loaded file answers differently from the release that it was saved from")

"""After a fork no noise is drawn twice, no session is asked twice, and a ledger counts both processes."""

import json
import subprocess
import sys
from typing import Any

import pytest

from tests import ROOT

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return the results of a fresh process and its forks."""
    command = [sys.executable, "-m", "tests.attacks.forked", str(tmp_path_factory.mktemp("forked"))]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)  # noqa: S603
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)  # type: ignore[no-any-return]


@pytest.mark.parametrize("what", ["draws", "releases"])
def test_both_processes_draw_noise_of_their_own(what: str, results: dict[str, Any]) -> None:
    """At a scale of 2⁵⁵ two draws are the same once in 10¹⁷, and there are 2·10⁷ pairs: a false alarm of 2·10⁻¹⁰.

    Answers of releases are sums with noise of scale 2³⁸ and more, the same once in 10¹¹: six are below 10⁻¹⁰.
    """
    here, there = results[what]
    assert len(here) == len(there)
    assert not any(a == b for a, b in zip(here, there, strict=True))
    if what == "draws":
        assert not set(here) & set(there)


@pytest.mark.parametrize("mechanism", ["tangents", "field"])
def test_a_session_in_memory_is_its_own_process_s(mechanism: str, results: dict[str, Any]) -> None:
    here, there = results[f"memory {mechanism}"]
    assert isinstance(here, float)
    assert "the parent process, and this process is a fork" in there


def test_a_session_that_spends_nothing_more_answers_in_both(results: dict[str, Any]) -> None:
    here, there = results["memory slopes"]
    assert isinstance(here, float)
    assert here == there


@pytest.mark.parametrize("mechanism", ["tangents", "field", "slopes"])
def test_a_store_is_one_session(mechanism: str, results: dict[str, Any]) -> None:
    """The same answers in both, and one number of questions: of five, one before, three after."""
    (here, there, _), remaining = results[f"store {mechanism}"]
    assert here == there
    assert remaining == (None if mechanism == "slopes" else 1)


def test_a_ledger_counts_both(results: dict[str, Any]) -> None:
    (charged, left), _ = results["ledger"]
    assert sum(charged) == 10
    assert left == "ε = 0"


def test_a_charge_is_given_back_or_drawn_for_and_not_both(results: dict[str, Any]) -> None:
    _, ((draw_result, refund_result), state) = results["ledger"]
    assert (draw_result is None) != (refund_result is None)
    assert state == ("drawn" if draw_result is None else "returned")

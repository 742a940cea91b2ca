"""Neighboring tables cannot be told apart by anything but noise.

The second table of a pair is released with what the noise functions returned for the first. Then nothing but the noise
may have told anything: refusals, warnings, the file to its last byte, card, statement, answers and transcript must be
the same, and so their lengths. This is more than equal lengths: whatever bypasses the noise shows.
"""

import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import milepost as mp
from milepost.mechanisms.registry import MECHANISM_NAMES
from milepost.mechanisms.totals import Total
from milepost.pipeline.selection import SESSIONS
from milepost.privacy import noise
from milepost.spaces.box import Box
from tests.attacks.cases import CASES, without_row
from tests.attacks.neighbors import Pair, Person, observe, pairs_of, refusals, release_outputs, session_outputs
from tests.mechanisms.contract import Transcript, patched

QUICK_NAMES = ("gaussian", "laplace")  # a millisecond each
WORKS: dict[str, Callable[..., Any]] = {"release": release_outputs, "session": session_outputs}
Observation = tuple[Any, list[str]]
REFUSED: dict[Any, str | None] = {}  # cache of `public_refusal`


def random_answers(random: np.random.Generator) -> list[bool]:
    """Return random answers of private threshold tests."""
    return [bool(above) for above in random.random(12) < 0.3]


def compare(pairs: Sequence[Pair], work: Callable[..., Any], folder: Path, answers: Sequence[bool] = ()) -> list[str]:
    """Check pairs with the same first table, and return the outcome of each in a word."""
    transcript = Transcript(answers)
    first = observe(work, pairs[0], pairs[0].first, folder, transcript)
    bad = refusals(pairs[0], pairs[0].first)
    public = public_refusal(pairs[0], work, folder)
    check_refused(first, transcript, bad, public)
    return [compare_with(first, transcript, bad, public, pair, work, folder) for pair in pairs]


def compare_with(
    first: Observation,
    transcript: Transcript,
    bad: list[str],
    public: str | None,
    pair: Pair,
    work: Callable[..., Any],
    folder: Path,
) -> str:
    """Check the second table of a pair against the observation of the first, and return the outcome in a word."""
    second_bad = refusals(pair, pair.second)
    second_transcript = Transcript() if bad or second_bad else transcript.again()
    second = observe(work, pair, pair.second, folder, second_transcript)
    check_refused(second, second_transcript, second_bad, public)
    if bad or second_bad:
        if pair.change == "replaced" and bad == second_bad:
            assert first == second
        return "refused"
    assert first == second
    if public is not None:
        assert first == (public, [])
        return "does not suit"
    assert not isinstance(first[0], str)
    assert [draw.values.shape for draw in transcript.draws] == [draw.values.shape for draw in second_transcript.draws]
    assert [(draw.law, draw.scale) for draw in transcript.draws] == [
        (draw.law, draw.scale) for draw in second_transcript.draws
    ]
    return "released"


def check_refused(observation: Observation, transcript: Transcript, bad: list[str], public: str | None) -> None:
    """Check that a row that cannot be read is refused before any noise, in a text about no other row."""
    if bad:
        assert without_row(str(observation[0])) in {public, *map(without_row, bad)}
        assert not transcript.draws


def public_refusal(pair: Pair, work: Callable[..., Any], folder: Path) -> str | None:
    """Return why no table can be released in this way; None where one can."""
    key = work, pair.kind, repr(pair.params)
    if key not in REFUSED:
        ordinary = replace(pair, container="rows")
        result, _ = observe(work, ordinary, [Person(row, "x", 1.0) for row in pair.case.rows[:5]], folder, Transcript())
        REFUSED[key] = result if isinstance(result, str) else None
    return REFUSED[key]


def compare_many(seed: int, count: int, work: str, mechanisms: Sequence[str], folder: Path) -> Counter[str]:
    """Check `count` pairs, some with each first table, and count their outcomes."""
    random, counts, pairs_per_table = np.random.default_rng(seed), Counter[str](), 4 if count < 100 else 10
    for _ in range(count // pairs_per_table):
        counts.update(
            compare(
                pairs_of(random, list(CASES), mechanisms, pairs_per_table), WORKS[work], folder, random_answers(random)
            )
        )
    return counts


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3))])
def test_pairs_give_the_same_release(seed: int, tmp_path: Path) -> None:
    counts = compare_many(seed, 40, "release", MECHANISM_NAMES, tmp_path)
    assert counts["released"] > 15


@pytest.mark.slow
def test_pairs_give_the_same_session(tmp_path: Path) -> None:
    counts = compare_many(9, 40, "session", list(SESSIONS), tmp_path)
    assert counts["released"] > 10


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 110))
def test_many_pairs_give_the_same_release(seed: int, tmp_path: Path) -> None:
    """9,600 of them with mechanisms that take a millisecond, 240 with any, and 160 sessions."""
    counts = compare_many(seed, 960, "release", QUICK_NAMES, tmp_path)
    counts += compare_many(seed, 24, "release", MECHANISM_NAMES, tmp_path)
    counts += compare_many(seed, 16, "session", list(SESSIONS), tmp_path)
    assert counts.total() == 1000
    assert counts["released"] > 400
    assert counts["refused"] > 20


# What the comparison must see, or it says nothing: ways in which a table may show through.


def outliers_are_refused(self: Box, batch: Any, first_row: int = 0) -> Any:
    points = read(self, batch, first_row)
    if (points == self.high).all(axis=1).any():
        raise mp.MilepostError("a private row is too far away")
    return points


def outliers_are_told(self: Box, batch: Any, first_row: int = 0) -> Any:
    points = read(self, batch, first_row)
    if (points == self.high).any():
        warnings.warn("some rows are far away", stacklevel=2)
    return points


def exact_total(exact: int, scale: float, pure: bool) -> Total:
    return Total(exact, scale, pure)


def longer_with_more(exact: int, scale: float, pure: bool) -> Total:
    total = draw(exact, scale, pure)
    noise.laplace(np.zeros(exact, dtype=np.int64), 2.0)
    return total


read, draw = Box.read, Total.draw
LEAKS: dict[str, tuple[Any, str, Any]] = {
    "a refusal": (Box, "read", outliers_are_refused),
    "a warning": (Box, "read", outliers_are_told),
    "an exact total": (Total, "draw", staticmethod(exact_total)),
    "the number of draws": (Total, "draw", staticmethod(longer_with_more)),
}


@pytest.mark.parametrize("leak", LEAKS)
def test_what_shows_through_is_seen(leak: str, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    tables = [pairs_of(random, ["l1", "l2", "lp"], QUICK_NAMES, 4) for _ in range(40)]

    def compare_all() -> None:
        for pairs in tables:
            compare(pairs, release_outputs, tmp_path)

    with patched([LEAKS[leak]]), pytest.raises((AssertionError, IndexError)):
        compare_all()

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
from tests.attacks.neighbors import Pair, Person, asked, pairs_of, refusals, released, seen
from tests.mechanisms.contract import Transcript, patched

QUICK_NAMES = ("gaussian", "laplace")  # a millisecond each
WORKS: dict[str, Callable[..., Any]] = {"release": released, "session": asked}
Seen = tuple[Any, list[str]]
REFUSED: dict[Any, str | None] = {}  # what was found out by `public_refusal`


def script(random: np.random.Generator) -> list[bool]:
    """Answers of private threshold tests."""
    return [bool(above) for above in random.random(12) < 0.3]


def compare(pairs: Sequence[Pair], work: Callable[..., Any], folder: Path, answers: Sequence[bool] = ()) -> list[str]:
    """Check pairs with the same first table; what became of each, in a word."""
    one = Transcript(answers)
    first = seen(work, pairs[0], pairs[0].first, folder, one)
    bad = refusals(pairs[0], pairs[0].first)
    unfit = public_refusal(pairs[0], work, folder)
    check_refused(first, one, bad, unfit)
    return [compare_with(first, one, bad, unfit, pair, work, folder) for pair in pairs]


def compare_with(
    first: Seen, one: Transcript, bad: list[str], unfit: str | None, pair: Pair, work: Callable[..., Any], folder: Path
) -> str:
    """Check the second table of a pair against what was seen of the first."""
    worse = refusals(pair, pair.second)
    other = Transcript() if bad or worse else one.again()
    second = seen(work, pair, pair.second, folder, other)
    check_refused(second, other, worse, unfit)
    if bad or worse:
        if pair.change == "replaced" and bad == worse:
            assert first == second
        return "refused"
    assert first == second
    if unfit is not None:
        assert first == (unfit, [])
        return "does not suit"
    assert not isinstance(first[0], str)
    assert [draw.values.shape for draw in one.draws] == [draw.values.shape for draw in other.draws]
    assert [(draw.law, draw.scale) for draw in one.draws] == [(draw.law, draw.scale) for draw in other.draws]
    return "released"


def check_refused(what: Seen, transcript: Transcript, bad: list[str], unfit: str | None) -> None:
    """A row that cannot be read is refused by itself: before any noise, in words about no other row."""
    if bad:
        assert without_row(str(what[0])) in {unfit, *map(without_row, bad)}
        assert not transcript.draws


def public_refusal(pair: Pair, work: Callable[..., Any], folder: Path) -> str | None:
    """Why nobody's table can be had in this way; None where it can."""
    key = work, pair.kind, repr(pair.words)
    if key not in REFUSED:
        ordinary = replace(pair, container="rows")
        result, _ = seen(work, ordinary, [Person(row, "x", 1.0) for row in pair.case.rows[:5]], folder, Transcript())
        REFUSED[key] = result if isinstance(result, str) else None
    return REFUSED[key]


def compare_many(seed: int, count: int, work: str, mechanisms: Sequence[str], folder: Path) -> Counter[str]:
    """So many pairs, some with each first table."""
    random, found, each = np.random.default_rng(seed), Counter[str](), 4 if count < 100 else 10
    for _ in range(count // each):
        found.update(compare(pairs_of(random, list(CASES), mechanisms, each), WORKS[work], folder, script(random)))
    return found


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3))])
def test_pairs_give_the_same_release(seed: int, tmp_path: Path) -> None:
    found = compare_many(seed, 40, "release", MECHANISM_NAMES, tmp_path)
    assert found["released"] > 15


@pytest.mark.slow
def test_pairs_give_the_same_session(tmp_path: Path) -> None:
    found = compare_many(9, 40, "session", SESSIONS, tmp_path)
    assert found["released"] > 10


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 110))
def test_many_pairs_give_the_same_release(seed: int, tmp_path: Path) -> None:
    """9,600 of them with mechanisms that take a millisecond, 240 with any, and 160 sessions."""
    found = compare_many(seed, 960, "release", QUICK_NAMES, tmp_path)
    found += compare_many(seed, 24, "release", MECHANISM_NAMES, tmp_path)
    found += compare_many(seed, 16, "session", SESSIONS, tmp_path)
    assert found.total() == 1000
    assert found["released"] > 400
    assert found["refused"] > 20


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
    found = draw(exact, scale, pure)
    noise.laplace(np.zeros(exact, dtype=np.int64), 2.0)
    return found


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

    def compared() -> None:
        for pairs in tables:
            compare(pairs, released, tmp_path)

    with patched([LEAKS[leak]]), pytest.raises((AssertionError, IndexError)):
        compared()

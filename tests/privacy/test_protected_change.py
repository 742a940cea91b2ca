"""Change: whoever one person is, in whichever groups and with whichever rows and weights, costs no more than promised.

Costs are searched for end to end, from a table and its neighbor through `mp.release`, in exact rational arithmetic: a
transcript of all noise (tests/mechanisms/contract.py) has the integers that noise was added to, and the scales.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, target
from hypothesis import strategies as st

import milepost as mp
from milepost.mechanisms import totals
from milepost.pipeline import selection
from milepost.pipeline.release import SIZE_SHARE
from milepost.privacy.protected_change import BudgetSplit, ProtectedChange
from milepost.statistics import sketch
from tests.mechanisms.contract import APPROXIMATE, PURE, QUICK, SPACES, Transcript, patched, places, points, silent
from tests.quick import examples, some_quick

MECHANISMS = {"slopes": APPROXIMATE, "hats": PURE, "gaussian": APPROXIMATE, "laplace": PURE}
LABELS = ["a", "b", "c"]
WHO: dict[str, dict[str, Any]] = {
    "one row": {},
    "groups": {"labels": LABELS},
    "one label": {"labels": LABELS[:1]},
    "row_weights": {"max_row_weight": 4.0},
    "3 rows": {"contributions": 3},
    "10 rows, groups": {"contributions": 10, "labels": LABELS},
    "3 rows, groups, weights": {"contributions": 3, "labels": LABELS, "max_row_weight": 4.0},
}
CASES = [
    (neighbors, who)
    for neighbors in ("replace", "add-remove")
    for who in WHO
    if (neighbors, who) != ("replace", "one row")
]
pytestmark = pytest.mark.filterwarnings("ignore::milepost.AccuracyWarning")
changes = pytest.mark.parametrize(("neighbors", "who"), CASES)
names = pytest.mark.parametrize("name", MECHANISMS)


@dataclass(frozen=True)
class Row:
    """A place in fractions of the columns' widths, a label and a weight."""

    position: Sequence[float]
    label: str = "a"
    weight: float = 4.0


@dataclass(frozen=True)
class Person:
    """Rows that one person has in the table; none at all where they are absent."""

    rows: list[Row] = field(default_factory=list)


def release(
    space: Any, people: Sequence[Person], name: str, neighbors: str, who: dict[str, Any], **overrides: Any
) -> Any:
    """The release of a table of people, sized for a public number of rows."""
    rows = [(number, row) for number, person in enumerate(people) for row in person.rows]
    options: dict[str, Any] = {"n": 40, "mechanism": name} | who | overrides
    if "labels" in who:
        options["groups"] = [row.label for _, row in rows]
    if "max_row_weight" in who:
        options["row_weights"] = [row.weight for _, row in rows]
    if "contributions" in who:
        options["privacy_unit"] = [number for number, _ in rows]
    table = points(space, [row.position for _, row in rows]) if rows else points(space, [[0.5] * space.width])[:0]
    if name not in ("gaussian", "laplace"):
        options.pop("queries", None)
    elif space.given_queries is None and "queries" not in options:
        options["queries"] = list(points(space, [[0.0] * space.width, [1.0] * space.width, [0.4] * space.width]))
    guarantee = MECHANISMS[name]
    return mp.release(
        table,
        space,
        epsilon=guarantee.epsilon,
        delta=guarantee.delta,
        neighbors=neighbors,
        **options,
    )


def transcripts(
    space: Any, pair: Sequence[Sequence[Person]], *args: Any, **overrides: Any
) -> tuple[list[Transcript], list[Any]]:
    """What a table and its neighbor hand to noise, the second given the first's answers; and what is released."""
    first = Transcript()
    both, synopses = [first, first.again()], []
    for transcript, people in zip(both, pair, strict=True):
        with transcript.listen():
            synopses.append(release(space, people, *args, **overrides))
    return both, synopses


def share(
    space: Any, pair: Sequence[Sequence[Person]], name: str, neighbors: str, who: dict[str, Any], **overrides: Any
) -> float:
    """The share of the budget that the change from one table to the other costs."""
    guarantee = MECHANISMS[name]
    (first, second), _ = transcripts(space, pair, name, neighbors, who, **overrides)
    draws = zip(first.draws, second.draws, strict=True)
    return float(sum((a.cost(b, guarantee.accounting) for a, b in draws), Fraction(0)) / Fraction(guarantee.budget))


def search(space: Any, name: str, neighbors: str, who: dict[str, Any], examples: int) -> None:
    """All rows and weights from end to end and group to group; then let Hypothesis look for what costs more."""
    rows = st.lists(
        st.builds(
            Row,
            st.lists(places, min_size=space.width, max_size=space.width),
            st.sampled_from([*LABELS, "unlisted"]),
            st.sampled_from([-1.0, 0.0, 0.002, 1.0, 3.999, 4.0, 7.5]),
        ),
        max_size=who.get("contributions", 1) + 2 if "contributions" in who else 1,
        min_size=1 if not who else 0,
    )
    others = [Person([Row([0.3] * space.width)]), Person([Row([0.9] * space.width, "b", 2.0)])]

    @settings(QUICK, max_examples=examples)
    @given(rows, rows)
    def no_change_costs_more(mine: list[Row], theirs: list[Row]) -> None:
        after = Person([] if neighbors == "add-remove" else theirs)
        budget_share = share(space, ([Person(mine), *others], [after, *others]), name, neighbors, who)
        assert budget_share <= 1, f"{budget_share:.12g} of the budget"
        target(budget_share)

    max_rows = who.get("contributions", 1)
    for position, label in ((0.0, "a"), (0.0, "b"), (1.0, "a")):
        mine, theirs = (
            [Row([coordinate] * space.width, group)] * max_rows
            for coordinate, group in ((position, "a"), (1 - position, label))
        )
        after = Person([] if neighbors == "add-remove" else theirs)
        assert share(space, ([Person(mine), *others], [after, *others]), name, neighbors, who) <= 1
    no_change_costs_more()


@pytest.mark.hypothesis
@changes
@names
def test_no_person_costs_more_than_the_budget(name: str, neighbors: str, who: str) -> None:
    search(SPACES["unequal weights"], name, neighbors, WHO[who], examples(8))


@pytest.mark.parametrize("space", some_quick(SPACES, ["unequal weights", "box", "letters"]))
@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
@names
def test_no_person_costs_more_in_any_space(name: str, neighbors: str, space: str) -> None:
    search(SPACES[space], name, neighbors, WHO["3 rows, groups, weights"], 2)


@changes
@names
def test_the_worst_person_uses_the_budget_up(name: str, neighbors: str, who: str) -> None:
    """Among a few places, from one group to another, with all rows and weights: the bounds are met."""
    space, rows = mp.L1([(0, 1)]), WHO[who].get("contributions", 1)
    others = [Person([Row([0.5])])] * 3

    def all_rows(position: float, label: str) -> Person:
        return Person([Row([position], label)] * rows)

    # where many levels of hats move at once: next to a third, as far as cells are fine
    positions = [0.0, *([round(2**k / 3) / 2**k for k in range(4, 10)] if name == "hats" else [])]
    max_share = max(
        share(space, ([all_rows(position, "a"), *others], [after, *others]), name, neighbors, WHO[who], queries=[[0.0]])
        for position in positions
        for after in (
            [Person()]
            if neighbors == "add-remove"
            else [Person(), *(all_rows(other, label) for other in (position, 1 - position) for label in "ab")]
        )
    )
    assert 0.99 < max_share <= 1


@names
@changes
def test_a_release_depends_on_the_table_through_noise_alone(
    name: str, neighbors: str, who: str, tmp_path: Path
) -> None:
    """Given the same noisy numbers, two neighbors give the same file, bit for bit: no exact number is in it."""
    assert _files_agree(name, neighbors, WHO[who], tmp_path)


@pytest.mark.parametrize("who", ["groups", "row_weights", "3 rows"])
@names
def test_an_exact_total_in_a_release_is_caught(name: str, who: str, tmp_path: Path) -> None:
    exact = classmethod(lambda cls, exact, scale, pure: cls(exact, scale, pure))
    with patched([(totals.Total, "draw", exact)]):
        assert not _files_agree(name, "add-remove", WHO[who], tmp_path)


def _files_agree(name: str, neighbors: str, who: dict[str, Any], folder: Path) -> bool:
    others = [Person([Row([0.1 * k], LABELS[k % 3], k)]) for k in range(6)]
    pair = [Person([Row([0.9], "a")]), *others], [Person([Row([0.2], "b")] if neighbors == "replace" else []), *others]
    _, synopses = transcripts(mp.L1([(0, 1)]), pair, name, neighbors, who, n=None)
    paths = [folder / f"{k}.milepost" for k in range(2)]
    for synopsis, path in zip(synopses, paths, strict=True):
        synopsis.save(path)
    return paths[0].read_bytes() == paths[1].read_bytes()


@names
def test_neighbors_give_files_of_one_size(name: str, tmp_path: Path) -> None:
    """Tables of 1, 2 and 200 rows, an empty one and one with an empty group, with fresh noise each."""
    people = [Person([Row([k / 200], LABELS[k % 2])]) for k in range(200)]
    sizes = set()
    for rows in (0, 1, 2, 200):
        release(mp.L1([(0, 1)]), people[:rows], name, "add-remove", WHO["groups"]).save(tmp_path / "x.milepost")
        sizes.add((tmp_path / "x.milepost").stat().st_size)
    assert len(sizes) == 1


@names
def test_the_size_is_told_by_a_share_of_epsilon(name: str) -> None:
    """One Laplace draw for the number of rows, moved by as many as a person has; the rest pays for answers."""
    people = [Person([Row([0.1 * k])]) for k in range(8)]
    both, _ = transcripts(mp.L1([(0, 1)]), (people, people[1:]), name, "add-remove", {}, n=None)
    first, second = (transcript.draws[0] for transcript in both)
    assert (first.law, first.values.tolist(), second.values.tolist()) == ("laplace", [8], [7])
    spent = first.cost(second, "pure")
    assert spent == pytest.approx(SIZE_SHARE * MECHANISMS[name].epsilon, rel=1e-9)
    left = mp.Guarantee((1 - SIZE_SHARE) * MECHANISMS[name].epsilon, MECHANISMS[name].delta)
    rest = zip(both[0].draws[1:], both[1].draws[1:], strict=True)
    assert sum(a.cost(b, left.accounting) for a, b in rest) <= left.budget


@given(
    st.sampled_from(["replace", "add-remove"]),
    st.integers(1, 20),
    st.sampled_from([None, 1, 2, 50]),
    st.sampled_from([None, 3.0]),
    st.floats(1e-3, 1e3),
    st.floats(0.05, 1.0),
    st.floats(1e-6, 100),
    st.floats(1e-3, 1e3),
)
def test_shares_of_a_budget_never_exceed_it(
    neighbors: str,
    rows: int,
    groups: int | None,
    max_row_weight: float | None,
    pair: float,
    part: float,
    budget: float,
    off: float,
) -> None:
    """Theorems 1 and 2 of docs/proofs/change.md in rational arithmetic; no more than rounding is left over."""
    change = ProtectedChange(neighbors, rows, max_row_weight=max_row_weight, groups=groups)
    single = part * pair
    ends = 2 if neighbors == "replace" and groups in (2, 50) else 1

    def costs(split: BudgetSplit, total: Fraction, times: int) -> Fraction:
        power = Fraction(split.power)
        pair_cost = Fraction(pair) / power if neighbors == "replace" else Fraction(0)
        return times * max(pair_cost, ends * (Fraction(single) / power + total))

    gaussian, laplace = change.gaussian(pair, single, budget, off), change.laplace(pair, single, budget, off)
    for split, total, times in (
        (gaussian, 1 / (2 * Fraction(gaussian.total) ** 2) if gaussian.total else Fraction(0), change.multiple**2),
        (laplace, 1 / Fraction(laplace.total) if laplace.total else Fraction(0), change.multiple),
    ):
        if change.public_total:
            assert split.total == 0
            assert (1 - 1e-9) * budget <= Fraction(pair) / Fraction(split.power) <= budget
        else:
            assert (1 - 1e-9) * budget <= costs(split, total, times) <= budget


def test_an_empty_table_is_answered_where_its_size_is_private() -> None:
    with Transcript().listen():  # without noise, which may look like a few rows
        synopsis = release(mp.L1([(0, 1)]), [], "slopes", "add-remove", {}, n=None)
    assert synopsis.error() == pytest.approx(synopsis.space.diameter)
    with silent(), pytest.raises(mp.MilepostError, match="empty"):
        mp.release(np.empty((0, 1)), mp.L1([(0, 1)]), epsilon=1)


@pytest.mark.parametrize("who", [who for who in WHO if who != "one row"])
def test_tangents_refuses_a_private_number_of_rows(who: str) -> None:
    people = [Person([Row([0.5])])] * 5
    with silent(), pytest.raises(mp.MilepostError, match="tangents needs a public number of rows"):
        release(mp.L1([(0, 1)]), people, "slopes", "replace", WHO[who], mechanism="tangents")


@pytest.mark.parametrize(
    ("labels", "message"), [("abc", "labels must be a list"), (None, "labels=\\[…\\]"), (5, "labels must be a list")]
)
def test_labels_that_are_no_list_are_refused(labels: Any, message: str) -> None:
    table = np.linspace(0, 1, 6)[:, None]
    with silent(), pytest.raises(mp.MilepostError, match=message):
        mp.release(table, mp.L1([(0, 1)]), epsilon=1, groups=list("abcabc"), labels=labels)


def test_nothing_is_spent_where_too_little_would_be_left() -> None:
    """The least epsilon there is has no share to give away for the number of rows."""
    with silent(), pytest.raises(mp.MilepostError, match="epsilon"):
        mp.release(np.zeros((3, 1)), mp.L1([(0, 1)]), epsilon=1e-9, neighbors="add-remove")


@names
def test_nothing_is_spent_on_a_table_that_does_not_fit(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sketch, "MAX_TOTAL", 2 * 1024)
    people = [Person([Row([0.5])])] * 3
    with silent(), pytest.raises(mp.MilepostError, match="at most 2"):
        release(mp.L1([(0, 1)]), people, name, "add-remove", WHO["row_weights"], n=None)


@pytest.mark.parametrize(
    ("space", "options", "message"),
    [
        (mp.L1([(0, 1)]), {"epsilon": 1e-8, "row_weights": [1.0] * 50, "max_row_weight": 1}, "epsilon= is too small"),
        (mp.L1([(0, 64)], step=1), {"epsilon": 1, "groups": [0] * 50, "labels": range(4000)}, "do not fit memory"),
    ],
)
def test_what_does_not_fit_is_refused_before_the_size_is_drawn(
    space: mp.L1, options: Any, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selection, "MAX_NUMBERS", 1 << 17)
    with silent(), pytest.raises(mp.MilepostError, match=message):
        mp.release(np.zeros((50, 1)), space, **options)

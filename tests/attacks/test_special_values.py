"""NaN, infinities, −0, subnormal, huge and missing values, as data and as queries, in every space × mechanism.

Either a refusal in fixed words, for which nothing is spent, or an answer that is a number.
"""

import json
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import milepost as mp
from milepost.mechanisms.registry import MECHANISM_NAMES
from milepost.spaces.objects import object_array
from milepost.spaces.registry import KINDS
from tests.attacks.cases import CASES, NEED_QUERIES, SPECIAL, Case, Row, finite, outcome, without_row

pytestmark = pytest.mark.filterwarnings("ignore::milepost.AccuracyWarning")

BUDGET: dict[str, Any] = {"epsilon": 1, "delta": 1e-6}
every_space = pytest.mark.parametrize("kind", CASES)
every_mechanism = pytest.mark.parametrize("mechanism", MECHANISM_NAMES)
# every mechanism in some spaces, and some mechanisms in every space: all are read alike
QUICK_SPACES, QUICK_MECHANISMS = ("l1", "hamming"), ("slopes", "gaussian", "field")
every_pair = pytest.mark.parametrize(
    ("kind", "mechanism"),
    [
        pytest.param(
            kind,
            name,
            marks=[pytest.mark.slow] * (kind not in QUICK_SPACES and name not in QUICK_MECHANISMS),
            id=f"{kind}-{name}",
        )
        for kind in CASES
        for name in MECHANISM_NAMES
    ],
)


@pytest.fixture
def ledger(tmp_path: Path) -> mp.Ledger:
    result = mp.Ledger(tmp_path / "ledger.db")
    result.create("people", rho=1000)
    return result


def release(case: Case, rows: Sequence[Row], mechanism: str, **options: Any) -> mp.Synopsis:
    """Release private rows, for a few queries where the mechanism needs to know them."""
    queries = case.user_queries if mechanism in NEED_QUERIES and case.space.given_queries is None else None
    return mp.release(case.table(rows), case.space, mechanism=mechanism, **BUDGET | {"queries": queries} | options)


@cache
def ordinary_release(kind: str, mechanism: str) -> Any:
    """Return the release of ordinary rows, or the refusal where the mechanism does not suit the space."""
    return outcome(release, CASES[kind], CASES[kind].rows, mechanism)


def special_rows(case: Case) -> Iterator[tuple[str, Row, bool]]:
    """Yield rows with one special value: its name, the row, and whether it must be refused."""
    for name, value in SPECIAL.items():
        for row in case.with_value(case.rows[0], value):
            yield name, row, case.refused(row)


def check_answers(case: Case, synopsis: mp.Synopsis) -> None:
    """Check that all answers of a release are numbers, within what any table could have."""
    queries = case.user_queries
    values, (low, high) = np.asarray(synopsis.mean_distance(queries)), synopsis.interval(queries)
    assert finite(values)
    assert finite(low)
    assert finite(high)
    assert ((values >= 0) & (values <= 2 * case.space.diameter)).all()
    assert (low <= values).all()
    assert (values <= high).all()
    assert finite(synopsis.mean_distance(queries, raw=True))
    assert 0 < synopsis.error() <= 2 * case.space.diameter
    json.dumps(synopsis.card, allow_nan=False)
    assert "nan" not in synopsis.statement().lower()


def test_every_space_has_a_case() -> None:
    assert {kind: case.space.kind for kind, case in CASES.items()} == {kind: kind for kind in KINDS}


@every_space
def test_a_row_is_read_as_if_it_were_alone(kind: str) -> None:
    """Whatever the other rows are; and its image lies in the space."""
    case = CASES[kind]
    space, good = case.space, [(name, row) for name, row, refused in special_rows(case) if not refused]
    rows = [*case.rows[:3], *(row for _, row in good), *case.ends]
    together = space.read(object_array(case.table(rows)) if space.objects else np.array(rows, dtype=object))
    assert finite(together)
    for row, image in zip(rows, together, strict=True):
        alone = space.read(object_array(case.table([row])) if space.objects else np.array([row], dtype=object))
        assert np.array_equal(alone[0], image), row  # NumPy may clip −0 to 0 or not: they are the same everywhere
    quanta = space.quantize(together)
    assert ((quanta >= 0) & (quanta <= space.embedding.span)).all()
    queries = space.read_queries(
        object_array(case.user_queries) if space.objects else np.array(case.queries, dtype=float)
    )
    distances = space.distance(together, queries)
    assert finite(distances)
    assert ((distances >= 0) & (distances <= space.diameter * (1 + 1e-9))).all()


@pytest.mark.parametrize("kind", ["l1", "l2", "lp"])
def test_a_row_outside_a_box_is_moved_to_its_end(kind: str) -> None:
    """By the definition of clipping, infinities and numbers beyond floats included."""
    case = CASES[kind]
    for name, row, refused in special_rows(case):
        if not refused:
            ends = zip(row, case.space.extent or (), strict=True)
            expected = [min(max(value, low), high) for value, (low, high) in ends]
            assert case.space.read(np.array([row], dtype=object))[0].tolist() == expected, name


@every_pair
def test_a_table_of_special_values_is_released_or_refused(kind: str, mechanism: str, ledger: mp.Ledger) -> None:
    """All that may be in a table at once; then each of those that may not, for which nothing is spent."""
    case, params = CASES[kind], {"ledger": ledger, "dataset": "people"}
    ordinary = ordinary_release(kind, mechanism)
    good = [row for _, row, refused in special_rows(case) if not refused]
    synopsis = outcome(release, case, [*case.rows, *good, *case.ends], mechanism, **params)
    if isinstance(ordinary, str):
        assert synopsis == ordinary
        assert ledger.spent("people").nano == 0
        return
    check_answers(case, synopsis)
    spent = ledger.spent("people").nano
    assert spent > 0
    for row in [row for _, row, refused in special_rows(case) if refused][:1]:
        first = outcome(release, case, [row, *case.rows], mechanism, **params)
        others = [outcome(release, case, rows, mechanism) for rows in ([*case.rows, row], [*case.ends, *good, row])]
        assert {without_row(text) for text in others} == {without_row(first)}
        assert "row 1;" in first or "row 1 " in first
    assert ledger.spent("people").nano == spent


@pytest.mark.slow
@every_mechanism
@every_space
def test_each_special_value_alone(kind: str, mechanism: str, ledger: mp.Ledger) -> None:
    """In each column, or in all at once, among other rows of two kinds: the same outcome, in the same words."""
    case, params = CASES[kind], {"ledger": ledger, "dataset": "people"}
    if isinstance(ordinary_release(kind, mechanism), str):
        return
    reads_all_rows = mechanism in ("slopes", "laplace")  # rows are read before a mechanism sees anything
    for name, row, refused in special_rows(case):
        if not reads_all_rows and len({*map(repr, row)}) > 1:
            continue
        charging = params if refused else {}
        first = outcome(release, case, [*case.rows, row], mechanism, **charging)
        if refused:
            other = [*case.ends, *case.rows[:5], row]
            second = outcome(release, case, other, mechanism)
            assert without_row(str(second)) == without_row(first), name
            assert f"row {len(case.rows) + 1}" in first
            assert ledger.spent("people").nano == 0, name
        else:
            check_answers(case, first)


@every_pair
def test_special_queries_are_answered_or_refused(kind: str, mechanism: str) -> None:
    """By any release; in words that do not depend on the table."""
    case = CASES[kind]
    synopsis = ordinary_release(kind, mechanism)
    if isinstance(synopsis, str):
        return
    other = release(case, [*case.ends, *case.ends], mechanism)
    for name, value in SPECIAL.items():
        for row in case.with_value(case.queries[0], value):
            (point,) = case.table([row])
            for ask, points in (("mean_distance", point), ("interval", [*case.user_queries, point])):
                result = outcome(getattr(synopsis, ask), points)
                other_result = outcome(getattr(other, ask), points)
                if isinstance(result, str):
                    assert result == other_result, (name, row)
                else:
                    assert finite(result), (name, row, result)
                    assert np.shape(result) == np.shape(other_result)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", NEED_QUERIES)
@every_space
def test_special_points_as_given_queries(kind: str, mechanism: str, ledger: mp.Ledger) -> None:
    """Refused before anything is spent, or answered by a number."""
    case = CASES[kind]
    if case.space.given_queries is not None or isinstance(ordinary_release(kind, mechanism), str):
        return
    spent = 0
    for name, value in SPECIAL.items():
        *_, row = case.with_value(case.queries[0], value)
        params = {"queries": [*case.user_queries, row], "ledger": ledger, "dataset": "people"}
        result = outcome(release, case, case.rows, mechanism, **params)
        if isinstance(result, str):
            assert ledger.spent("people").nano == spent, name
        else:
            assert finite(result.mean_distance([*case.user_queries, row])), name
            assert finite(result.error())
            spent = ledger.spent("people").nano


@every_pair
def test_sessions_spend_no_question_on_a_refusal(kind: str, mechanism: str, ledger: mp.Ledger) -> None:
    """Special rows in the table, special points asked: a number, or a refusal that leaves all as it was."""
    case, params = CASES[kind], {**BUDGET, "max_queries": 40, "ledger": ledger, "dataset": "people"}
    good = [row for _, row, refused in special_rows(case) if not refused]

    def open_session(rows: Sequence[Row]) -> mp.Session:
        return mp.interactive(case.table(rows), case.space, mechanism=mechanism, **params)

    session, spent = outcome(open_session, [*case.rows, *good, *case.ends]), ledger.spent("people").nano
    if isinstance(session, str):
        assert spent == 0
        assert session == outcome(open_session, case.rows)
        return
    for name, value in SPECIAL.items():
        *_, row = case.with_value(case.queries[0], value)
        before = session.remaining, session.asked
        result = outcome(session.ask, row)
        if isinstance(result, str):
            assert (session.remaining, session.asked) == before, name
        else:
            assert finite([result.value, result.error]), name
            assert 0 <= result.error <= 2 * case.space.diameter
    bad = [row for _, row, refused in special_rows(case) if refused]
    if bad:
        assert isinstance(outcome(open_session, [*case.rows, bad[0]]), str)
    assert ledger.spent("people").nano == spent


@every_pair
def test_tables_without_rows(kind: str, mechanism: str, ledger: mp.Ledger) -> None:
    """Refused where the number of rows is public; where it is private, an empty table is one like others."""
    case, params = CASES[kind], {"ledger": ledger, "dataset": "people"}
    empty: Any = [] if case.space.objects else np.empty((0, case.space.width))
    queries = case.user_queries if mechanism in NEED_QUERIES and case.space.given_queries is None else None

    def release_table(table: Any, **more: Any) -> mp.Synopsis:
        return mp.release(table, case.space, mechanism=mechanism, queries=queries, **BUDGET | more)

    if isinstance(ordinary_release(kind, mechanism), str):
        return
    assert outcome(release_table, empty, **params) == "the table is empty; at least one row is needed"
    assert ledger.spent("people").nano == 0
    private = outcome(release_table, case.table(case.rows), neighbors="add-remove")
    nobody = outcome(release_table, empty, neighbors="add-remove")
    if isinstance(private, str):
        assert nobody == private
    else:
        check_answers(case, nobody)


@every_space
def test_questions_without_points(kind: str) -> None:
    """No points have no answers, or are refused in the same words whatever the table is."""
    case = CASES[kind]
    synopsis, other = (release(case, rows, "slopes") for rows in (case.rows, case.ends))
    nothing: list[Any] = [[], np.empty((0, case.space.width)), np.empty(0)]
    for empty in nothing:
        result, other_result = (outcome(each.mean_distance, empty) for each in (synopsis, other))
        assert result == other_result if isinstance(result, str) else np.shape(result) == np.shape(other_result) == (0,)

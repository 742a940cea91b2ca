"""A session is on one table: whatever reads it again must read the same rows, or is refused before noise is drawn."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import milepost as mp
from milepost._typing import AnyArray
from milepost.ingest import record_source
from milepost.ingest.record_source import RowSource
from milepost.ingest.stream import Stream
from milepost.pipeline.interactive import stored_card
from milepost.sessions.session import Session
from tests.mechanisms.contract import silent
from tests.sessions.tables import steps_of

pytestmark = pytest.mark.filterwarnings("ignore::milepost.AccuracyWarning")

PEOPLE = np.random.default_rng(5).uniform(0, 10, (60, 2))
REPLACED = PEOPLE.copy()
REPLACED[0] = [10, 10]  # another person in the place of one, so that as many rows are read
BOX = mp.L2([(0, 10), (0, 10)])  # has no sketch: rows are kept, or read again if they are too many
PARAMS: dict[str, Any] = {"epsilon": 40, "delta": 1e-6, "max_queries": 9, "mechanism": "field"}


class Readings:
    """A table that is another one each time that it is read: `tables` in turn, the last one for good."""

    def __init__(self, *tables: Any) -> None:
        self.tables, self.count = tables, 0

    def __iter__(self) -> Iterator[Any]:
        table = self.tables[min(self.count, len(self.tables) - 1)]
        self.count += 1
        return iter([table])

    def now(self, table: Any) -> None:
        """Read this one from now on."""
        self.tables = (table,)


@pytest.fixture
def read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any table is too large for memory."""
    monkeypatch.setattr(record_source, "MAX_NUMBERS", -(1 << 62))  # a noisy total may be small, or below 0


def begin_session(readings: Readings, **params: Any) -> Session:
    session = mp.interactive(Stream(readings), BOX, **PARAMS | params)
    source = session._engine._source  # type: ignore[attr-defined]
    assert isinstance(source, RowSource)
    assert source.table.records is None
    return session


@pytest.mark.usefixtures("read_again")
@pytest.mark.parametrize("with_store", [False, True])
def test_a_person_in_every_second_reading(with_store: bool, tmp_path: Path) -> None:
    """Refused before noise is drawn; nothing is spent, and the session goes on when the table is back."""
    readings = Readings(PEOPLE)
    session = begin_session(readings, **({"store": tmp_path / "s.db"} if with_store else {}))
    first = session.ask([1, 2], name="first")
    for _ in range(3):
        readings.now(REPLACED)
        with (
            pytest.raises(mp.MilepostError, match=r"changed since the session began|session on another table"),
            silent(),
        ):
            session.ask([3, 4])
        assert session.remaining == 8
        readings.now(PEOPLE[::-1])  # in another order
        assert session.ask([1, 2]) == replace(first, updated=False, tested=False)
    assert session.ask([3, 4]).remaining == 7
    assert [name for name, _, _ in session.transcript()] == ["first"]


OTHER_TABLES: dict[str, AnyArray] = {
    "a row replaced": REPLACED,
    "equal rows twice more": np.vstack([PEOPLE[:-2], PEOPLE[[0, 0]]]),
    "a pair moved": np.vstack([PEOPLE[:-4], PEOPLE[[-2, -2, -1, -1]]]),
    "the last bit": np.nextafter(PEOPLE, 0),
}


@pytest.mark.usefixtures("read_again")
@pytest.mark.parametrize("name", OTHER_TABLES)
def test_rows_that_count_alike_are_told_apart(name: str) -> None:
    readings = Readings(PEOPLE)
    session = begin_session(readings)
    session.ask([1, 2])
    readings.now(OTHER_TABLES[name])
    with pytest.raises(mp.MilepostError, match="changed since the session began"), silent():
        session.ask([3, 4])


@pytest.mark.usefixtures("read_again")
@pytest.mark.parametrize(
    "params",
    [
        {"row_weights": "w", "max_row_weight": 4.0},
        {"privacy_unit": "id", "contributions": 2},
        {
            "privacy_unit": "id",
            "contributions": 2,
            "row_weights": "w",
            "max_row_weight": 4.0,
            "neighbors": "add-remove",
        },
    ],
)
def test_weights_and_persons(params: dict[str, Any]) -> None:
    """Two weights swapped, which leaves the total; rows moved under the places that were chosen."""
    table = pd.DataFrame({"x": PEOPLE[:, 0], "y": PEOPLE[:, 1], "id": np.arange(60) // 5, "w": np.arange(60) % 4})
    readings = Readings(table)
    session = mp.interactive(Stream(readings), mp.L2({"x": (0, 10), "y": (0, 10)}), **PARAMS | params)
    session.ask([1, 2])
    other_table = table.copy()
    if "row_weights" in params:
        other_table["w"] = table["w"].to_numpy()[::-1]
    else:
        other_table = table.iloc[np.roll(np.arange(60), 1)]
    readings.now(other_table)
    with pytest.raises(mp.MilepostError, match="changed since the session began"), silent():
        session.ask([3, 4])
    readings.now(table)
    assert session.ask([3, 4]).remaining == 7


@pytest.mark.usefixtures("read_again")
@pytest.mark.parametrize("name", ["people.csv", "people.parquet", "folder"])
def test_a_file_that_is_rewritten(name: str, tmp_path: Path) -> None:
    """Between two questions of a session, and before another process goes on with it."""
    path, store = tmp_path / name, tmp_path / "s.db"

    def write(table: pd.DataFrame, path: Path) -> None:
        if path.suffix == ".csv":
            table.to_csv(path)
        elif path.suffix == ".parquet":
            table.to_parquet(path)
        else:
            path.mkdir(exist_ok=True)
            table[:20].to_parquet(path / "1.parquet")
            table[20:].to_parquet(path / "2.parquet")

    tables = [pd.DataFrame(rows, columns=["x", "y"]) for rows in (PEOPLE, REPLACED)]
    write(tables[0], path)
    session = mp.interactive(path, mp.L2({"x": (0, 10), "y": (0, 10)}), store=store, **PARAMS)
    value = session.ask([1, 2]).value
    write(tables[1], path)
    with pytest.raises(mp.MilepostError, match="another table"), silent():
        session.ask([3, 4])
    with pytest.raises(mp.MilepostError, match="another table"), silent():
        mp.resume(store, path)
    write(tables[0].iloc[::-1], path)
    assert mp.resume(store, path).ask([1, 2]).value == value
    assert session.ask([3, 4]).remaining == 7


KINDS: dict[str, tuple[Any, str]] = {
    "rows in memory": (BOX, "field"),
    "a sketch": (mp.L1([(0, 10), (0, 10)]), "field"),
    "the game": (mp.L1([(0, 10), (0, 10)]), "tangents"),
    "a synopsis": (mp.L1([(0, 10), (0, 10)]), "slopes"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_store_knows_is_what_its_sums_are_of(kind: str, tmp_path: Path) -> None:
    """The pass that makes the sums is checked, of a table that changes while a session is begun, or gone on with."""
    space, mechanism = KINDS[kind]
    store, params = tmp_path / "s.db", PARAMS | {"mechanism": mechanism}
    ledger = mp.Ledger(tmp_path / "ledger.db")
    ledger.create("people", rho=1000)
    for tables in ((PEOPLE, REPLACED), (PEOPLE, REPLACED, PEOPLE), (PEOPLE, PEOPLE[1:], PEOPLE)):
        with pytest.raises(mp.MilepostError, match=r"changed|another table"), silent():
            mp.interactive(Stream(Readings(*tables)), space, store=store, ledger=ledger, dataset="people", **params)
    assert ledger.spent("people").nano == 0
    session = mp.interactive(PEOPLE, space, store=store, ledger=ledger, dataset="people", **params)
    value = session.ask([1, 2]).value
    readings = Readings(PEOPLE, REPLACED)
    assert mp.resume(store, Stream(readings)).ask([1, 2]).value == value
    assert readings.count == 1  # nothing is read that is not checked
    with pytest.raises(mp.MilepostError, match="another table"), silent():
        mp.resume(store, Stream(Readings(REPLACED, PEOPLE)))


@pytest.mark.usefixtures("read_again")
def test_nothing_that_leaves_has_the_digest(tmp_path: Path) -> None:
    """Neither errors, answers, the transcript nor the card; the store has the digest, and not its key."""
    store, readings = tmp_path / "s.db", Readings(PEOPLE)
    session = begin_session(readings, store=store)
    session.ask([1, 2], name="first")
    readings.now(REPLACED)
    with pytest.raises(mp.MilepostError) as error:
        session.ask([3, 4])
    fingerprint = session._engine._source._fixed_table.fingerprint  # type: ignore[attr-defined]
    output = f"{error.value!r} {session!r} {session.transcript()} {stored_card(store)} {steps_of(store)} {fingerprint}"
    for private in (fingerprint.key, fingerprint.expected):
        for text in (private.hex(), repr(private)[2:-1], str(list(private))[1:-1]):
            assert text not in output
    content = b"".join(file.read_bytes() for file in tmp_path.iterdir() if not file.name.endswith(".key"))
    assert fingerprint.expected in content
    assert fingerprint.key not in content


def test_a_release_whose_rows_move_between_its_passes(tmp_path: Path) -> None:
    """Chosen by their places: had they moved, three rows of one person would be used instead of one."""
    table = pd.DataFrame({"x": [9.0, 9.0, 9.0, 1.0, 2.0, 3.0], "who": list("aaabcd")})
    other_order = table.iloc[[3, 4, 5, 0, 1, 2]]
    ledger = mp.Ledger(tmp_path / "ledger.db")
    ledger.create("people", rho=1000)
    params: dict[str, Any] = {"privacy_unit": "who", "epsilon": 9, "ledger": ledger, "dataset": "people"}
    with pytest.raises(mp.MilepostError, match="changed while it was read"), silent():
        mp.release(Stream(Readings(table, other_order)), mp.L1({"x": (0, 10)}), **params)
    assert ledger.spent("people").nano == 0
    assert mp.release(Stream(Readings(table)), mp.L1({"x": (0, 10)}), **params).n == 4

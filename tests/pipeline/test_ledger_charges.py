"""Releases, sessions and bounds that are charged to a ledger."""

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import milepost as mp
from milepost.ingest import batches
from milepost.mechanisms.coordinate.slopes import SlopesDesign
from milepost.privacy.accounting.budget import NANO
from milepost.privacy.gaussian_curve import mu_of, mu_of_pure
from milepost.privacy.guarantee import rho_of

pytestmark = pytest.mark.filterwarnings("ignore::milepost.AccuracyWarning")

PEOPLE = np.random.default_rng(1).uniform(0, 10, (2000, 2))
SPACE = mp.L1([(0, 10), (0, 10)])
POINTS = [[1, 2], [3, 4]]
BOTH: dict[str, Any] = {"epsilon": 1, "delta": 1e-6}


@pytest.fixture
def ledger(tmp_path: Path) -> mp.Ledger:
    """`homes` of ε = 8, δ = 1e-6, and `names` of pure ε = 3."""
    new_ledger = mp.Ledger(tmp_path / "ledger.db")
    new_ledger.create("homes", epsilon=8, delta=1e-6)
    new_ledger.create("names", epsilon=3)
    return new_ledger


def release(people: Any, ledger: mp.Ledger | None, dataset: str | None = "homes", **params: Any) -> mp.Synopsis:
    return mp.release(people, SPACE, ledger=ledger, dataset=dataset, **BOTH | params)


def begin_session(people: Any, ledger: mp.Ledger | None, dataset: str | None = "homes", **params: Any) -> mp.Session:
    return mp.interactive(people, SPACE, max_queries=20, ledger=ledger, dataset=dataset, **BOTH | params)


def find_bounds(people: Any, ledger: mp.Ledger | None, dataset: str | None = "homes", **params: Any) -> mp.L1 | mp.L2:
    return mp.find_bounds(people, ledger=ledger, dataset=dataset, **{"epsilon": 1} | params)


CALLS: dict[str, Callable[..., object]] = {"release": release, "session": begin_session, "bounds": find_bounds}


def states(ledger: mp.Ledger, dataset: str = "homes") -> list[str]:
    return [entry.state for entry in ledger.history(dataset)]


def nano(price: float) -> Any:
    """Each charge is rounded up to a billionth."""
    return pytest.approx(price * NANO, abs=5)


def price_of(epsilon: float) -> float:
    """μ² of (ε, 1e-6)."""
    return mu_of(epsilon, 1e-6) ** 2


def price_of_pure(epsilon: float) -> float:
    """μ² of pure ε."""
    return mu_of_pure(epsilon) ** 2


@pytest.mark.parametrize("call", CALLS)
def test_a_charge_is_settled_once(ledger: mp.Ledger, call: str) -> None:
    CALLS[call](PEOPLE, ledger)
    (entry,) = ledger.history("homes")
    assert (entry.state, entry.protects) == ("settled", "replace, row")
    price = price_of_pure(1) if call == "bounds" else price_of(1)
    assert entry.cost.nano == nano(price)
    assert ledger.spent("homes").nano == entry.cost.nano


@pytest.mark.parametrize("call", CALLS)
def test_it_is_charged_before_the_table_is_read(
    ledger: mp.Ledger, call: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A file whose last row is bad: the charge is there while it is read, and given back, as no noise was drawn."""
    path = tmp_path / "homes.csv"
    path.write_text("\n".join(["x,y", *(f"{x},{y}" for x, y in PEOPLE.tolist()), "1,nan", ""]))
    observations: list[list[str]] = []
    parts = batches.batches_with_cells

    def observed_batches(*arguments: Any, **options: Any) -> Iterator[Any]:
        observations.append(states(ledger))
        return parts(*arguments, **options)

    monkeypatch.setattr(batches, "batches_with_cells", observed_batches)
    with pytest.raises(mp.MilepostError):
        CALLS[call](path, ledger)
    assert observations
    assert all(observation == ["reserved"] for observation in observations)
    assert states(ledger) == ["returned"]
    assert ledger.spent("homes").nano == 0


@pytest.mark.parametrize("call", CALLS)
def test_a_cap_that_would_be_passed_is_told_before_the_table_is_touched(ledger: mp.Ledger, call: str) -> None:
    """Not even whether there is a file."""
    with pytest.raises(mp.MilepostError, match=r"does not allow .*Nothing was read or charged"):
        CALLS[call](Path("nowhere.csv"), ledger, epsilon=9)
    assert states(ledger) == []
    with pytest.raises(mp.MilepostError, match="nowhere"):
        CALLS[call](Path("nowhere.csv"), ledger)
    assert states(ledger) in (["returned"], [])


@pytest.mark.parametrize("call", CALLS)
def test_an_iterator_is_not_read_before_it_is_charged(ledger: mp.Ledger, call: str) -> None:
    """Its first row sees the charge; where the cap would be passed, none is taken."""
    observations = []

    def rows() -> Iterator[list[float]]:
        observations.append(states(ledger))
        yield from PEOPLE.tolist()

    with pytest.raises(mp.MilepostError, match="Nothing was read or charged"):
        CALLS[call](rows(), ledger, epsilon=9)
    assert not observations
    CALLS[call](rows(), ledger)
    assert observations == [["reserved"]]


@pytest.mark.parametrize("call", ["release", "session"])
def test_what_fails_after_noise_stays_spent(ledger: mp.Ledger, call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    add_noise = SlopesDesign.add_noise

    def failing(*arguments: Any) -> Any:
        add_noise(*arguments)
        raise MemoryError

    monkeypatch.setattr(SlopesDesign, "add_noise", failing)
    with pytest.raises(MemoryError):
        CALLS[call](PEOPLE, ledger, mechanism="slopes")
    assert states(ledger) == ["drawn"]
    assert ledger.spent("homes").nano == nano(price_of(1))


def test_a_count_that_was_drawn_stays_spent(ledger: mp.Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """The noisy number of rows is noise, too."""
    monkeypatch.setattr(import_module("milepost.pipeline.release"), "run_release", failing)
    with pytest.raises(MemoryError):
        release(PEOPLE, ledger, neighbors="add-remove")
    assert states(ledger) == ["drawn"]


def failing(*_: Any, **__: Any) -> Any:
    raise MemoryError


@pytest.mark.parametrize("call", ["release", "session"])
def test_a_private_number_of_rows_is_a_part_of_its_own(ledger: mp.Ledger, call: str) -> None:
    """2 % of ε, pure, and the rest; one part where n is told."""
    CALLS[call](PEOPLE, ledger, neighbors="add-remove")
    CALLS[call](PEOPLE, ledger, neighbors="add-remove", n=2000)
    first, second = ledger.history("homes")
    assert first.guarantees == (mp.Guarantee(0.02), mp.Guarantee(0.98, 1e-6))
    assert first.cost.nano == nano(price_of_pure(0.02) + price_of(0.98))
    assert second.guarantees == (mp.Guarantee(1, 1e-6),)
    assert {first.protects, second.protects} == {"add-remove, row"}


@pytest.mark.parametrize("name", ["hats", "laplace"])
def test_pure_mechanisms_cost_what_they_spend(ledger: mp.Ledger, name: str) -> None:
    """ε whatever δ is: μ² of pure ε, and ε of a pure cap."""
    params: dict[str, Any] = {"mechanism": name, "queries": POINTS if name == "laplace" else None}
    assert release(PEOPLE, ledger, **params).mechanism == name
    release(PEOPLE, ledger, "names", **params)
    assert ledger.spent("homes").nano == nano(price_of_pure(1))
    assert ledger.spent("names").nano == NANO


def test_a_session_of_a_pure_mechanism_costs_what_it_spends(ledger: mp.Ledger) -> None:
    assert begin_session(PEOPLE, ledger, mechanism="hats").mechanism == "hats"
    assert ledger.spent("homes").nano == nano(price_of_pure(1))


@pytest.mark.parametrize("rows", [3, 200, 2000])
@pytest.mark.parametrize("queries", [None, POINTS])
def test_auto_takes_nothing_pure_on_a_ledger(ledger: mp.Ledger, rows: int, queries: Any) -> None:
    """It would cost the budget many times more; without a ledger it may."""
    for epsilon in (0.1, 2):
        assert release(PEOPLE[:rows], ledger, queries=queries, epsilon=epsilon).mechanism not in ("laplace", "hats")
    session = mp.interactive(
        PEOPLE[:rows], SPACE, max_queries=20, ledger=ledger, dataset="homes", epsilon=0.1, delta=1e-6
    )
    assert session.mechanism not in ("laplace", "hats")
    assert ledger.spent("homes").nano == nano(2 * price_of(0.1) + price_of(2))
    mechanisms = {
        release(PEOPLE[:rows], None, None, queries=queries, epsilon=epsilon).mechanism for epsilon in (0.1, 2)
    }
    assert not mechanisms.isdisjoint({"laplace", "hats"}) or rows > 3 or queries is None


@pytest.fixture
def zcdp(ledger: mp.Ledger) -> mp.Ledger:
    """`homes` of (1, 1e-6) in a ledger that counts ρ."""
    new_ledger = mp.Ledger(ledger.path.with_name("zcdp.db"))
    new_ledger.create("homes", epsilon=1, delta=1e-6, accounting="zcdp")
    return new_ledger


@pytest.mark.parametrize("call", ["release", "session"])
def test_a_zcdp_budget_is_spent_as_rho(ledger: mp.Ledger, zcdp: mp.Ledger, call: str) -> None:
    """A release may take the whole cap, with the noise of ρ: 7.2 % more than by the exact curve."""
    spent: list[Any] = [CALLS[call](PEOPLE, each) for each in (zcdp, ledger)]
    assert [each.guarantee.accounting for each in spent] == ["zcdp", "gaussian"]
    assert zcdp.spent("homes").nano == nano(rho_of(1, 1e-6))
    assert zcdp.remaining("homes").nano == 0
    if call == "release":
        powers = [each.statistic.power for each in spent]
        assert powers[0] / powers[1] == pytest.approx(1.0725**2, rel=1e-3)


@pytest.mark.parametrize("call", ["release", "session"])
def test_what_is_not_gaussian_is_refused_by_a_gaussian_budget(ledger: mp.Ledger, zcdp: mp.Ledger, call: str) -> None:
    """tangents spends ρ, and is charged to a budget that counts ρ."""
    with pytest.raises(mp.MilepostError, match="takes no charge that is spent as zCDP"):
        CALLS[call](PEOPLE, ledger, mechanism="tangents")
    assert ledger.history("homes") == ()
    CALLS[call](PEOPLE, zcdp, mechanism="tangents")
    assert zcdp.spent("homes").nano == nano(rho_of(1, 1e-6))


@pytest.mark.parametrize("call", CALLS)
def test_pure_guarantees_fit_a_pure_cap(ledger: mp.Ledger, call: str) -> None:
    CALLS[call](PEOPLE, ledger, "names", **{} if call == "bounds" else {"delta": 0.0})
    assert ledger.spent("names").nano == NANO
    if call != "bounds":
        with pytest.raises(mp.MilepostError, match="pure"):
            CALLS[call](PEOPLE, ledger, "names")


def test_a_session_that_goes_on_costs_nothing(ledger: mp.Ledger, tmp_path: Path) -> None:
    """By the same call or `resume`; even where nothing is left."""
    params: dict[str, Any] = {"store": tmp_path / "homes.db", "epsilon": 8}
    value = begin_session(PEOPLE, ledger, **params).ask([1, 2]).value
    assert ledger.remaining("homes").nano == 0
    assert begin_session(PEOPLE, ledger, **params).ask([1, 2]).value == value
    assert mp.resume(params["store"], PEOPLE).ask([1, 2]).value == value
    assert states(ledger) == ["settled"]
    with pytest.raises(mp.MilepostError, match="nothing is left"):
        begin_session(PEOPLE, ledger, store=tmp_path / "other.db")
    with pytest.raises(mp.MilepostError, match="has no session yet"):
        mp.resume(tmp_path / "other.db", PEOPLE)


@pytest.mark.parametrize("call", CALLS)
def test_ledger_and_dataset_go_together(ledger: mp.Ledger, call: str) -> None:
    for arguments, message in (
        ((ledger, None), "ledger= was given without dataset="),
        ((None, "homes"), "dataset= was given without ledger="),
    ):
        with pytest.raises(mp.MilepostError, match=message):
            CALLS[call](PEOPLE, *arguments)
    with pytest.raises(mp.MilepostError, match="no dataset 'towns'"):
        CALLS[call](PEOPLE, ledger, "towns")
    assert states(ledger) == []


@pytest.mark.parametrize("call", CALLS)
def test_what_protects_somebody_else_does_not_add_up(ledger: mp.Ledger, call: str) -> None:
    CALLS[call](PEOPLE, ledger, epsilon=0.5)
    with pytest.raises(mp.MilepostError, match="'replace, row', and this charge protects 'add-remove, row'"):
        CALLS[call](PEOPLE, ledger, epsilon=0.5, neighbors="add-remove")
    assert states(ledger) == ["settled"]


@pytest.fixture
def session_store(ledger: mp.Ledger, tmp_path: Path) -> Path:
    """The store of a session in a folder beside its ledger."""
    (tmp_path / "sessions").mkdir()
    store = tmp_path / "sessions" / "homes.db"
    begin_session(PEOPLE, ledger, store=store, mechanism="field").close()
    return store


def test_a_session_goes_on_where_its_ledger_knows_it(ledger: mp.Ledger, session_store: Path, tmp_path: Path) -> None:
    """Also when both have moved, or the ledger alone, and it is said where."""
    mp.resume(session_store, PEOPLE)
    begin_session(PEOPLE, ledger, store=session_store)
    folder = tmp_path.rename(tmp_path.with_name("moved"))
    mp.resume(folder / "sessions" / "homes.db", PEOPLE)
    elsewhere = (folder / "ledger.db").rename(folder / "elsewhere.db")
    with pytest.raises(mp.MilepostError, match="there is no such ledger"):
        mp.resume(folder / "sessions" / "homes.db", PEOPLE)
    mp.resume(folder / "sessions" / "homes.db", PEOPLE, ledger=mp.Ledger(elsewhere))
    assert states(mp.Ledger(elsewhere)) == ["settled"]


def test_a_session_is_refused_where_its_ledger_has_lost_it(ledger: mp.Ledger, session_store: Path) -> None:
    ((entry,), path) = ledger.history("homes"), ledger.path
    path.unlink()
    with pytest.raises(mp.MilepostError, match=r"charged to 'homes' in .*ledger.db, and there is no such ledger"):
        mp.resume(session_store, PEOPLE)
    assert not path.exists()
    other = mp.Ledger(path)
    other.create("names", epsilon=3)
    for _ in range(2):  # without the dataset, and with a dataset that was not charged
        with pytest.raises(mp.MilepostError, match=f"does not know charge {entry.id} to 'homes'"):
            mp.resume(session_store, PEOPLE)
        with pytest.raises(mp.MilepostError, match=f"does not know charge {entry.id} to 'homes'"):
            begin_session(PEOPLE, other, store=session_store)
        other.create("homes", epsilon=8, delta=1e-6)
    other.charge("homes", entry.guarantees, label=entry.token).settle()
    mp.resume(session_store, PEOPLE)


def test_a_session_is_charged_once_and_to_one(ledger: mp.Ledger, session_store: Path, tmp_path: Path) -> None:
    with pytest.raises(mp.MilepostError, match="charged to 'homes', not 'names'"):
        begin_session(PEOPLE, ledger, "names", store=session_store)
    free = tmp_path / "free.db"
    begin_session(PEOPLE, None, None, store=free)
    mp.resume(free, PEOPLE)
    with pytest.raises(mp.MilepostError, match="begun without a ledger"):
        begin_session(PEOPLE, ledger, store=free)
    assert states(ledger) == ["settled"]

"""Ledger: what is charged, refused, given back and kept."""

import re
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import milepost as mp
from milepost import Guarantee, Ledger, MilepostError
from milepost.privacy.accounting import ledger as module
from milepost.privacy.accounting.budget import NANO
from milepost.privacy.accounting.ledger import Charge, spending
from milepost.privacy.gaussian_curve import mu_of_pure
from tests import ROOT
from tests.docs.test_guides import blocks, run


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """`homes` with a Gaussian cap, `schools` with a zCDP cap of the same words, `names` with a pure one of ε = 1."""
    result = Ledger(tmp_path / "ledger.db")
    result.create("homes", epsilon=3, delta=1e-6)
    result.create("schools", epsilon=3, delta=1e-6, accounting="zcdp")
    result.create("names", epsilon=1)
    return result


def states(ledger: Ledger, dataset: str) -> list[str]:
    return [entry.state for entry in ledger.history(dataset)]


def test_pure_charges_add_up_to_the_cap(ledger: Ledger) -> None:
    """Ten tenths fit 1, and then not a billionth more; the refusal says what is spent, asked and left."""
    for k in range(10):
        assert ledger.charge("names", Guarantee(0.1), "laplace", label=f"week {k}").id == k + 1
    assert (ledger.spent("names").epsilon(), ledger.remaining("names").nano) == (1.0, 0)
    with pytest.raises(
        MilepostError, match=r"'names' does not allow ε = 1e-09\. .* ε = 1 is spent and nothing is left\."
    ):
        ledger.charge("names", Guarantee(1e-9))
    assert [entry.label for entry in ledger.history("names")] == [f"week {k}" for k in range(10)]


def test_charges_of_all_kinds_add_up_as_mu_squared(ledger: Ledger) -> None:
    """(ε, δ) as its μ², pure ε as that of its noise, several together as one charge; refusals tell μ² and ε."""
    ledger.charge("homes", Guarantee(1, 1e-6))
    ledger.charge("homes", Guarantee(0.3))
    ledger.charge("homes", [Guarantee(0.02), Guarantee(0.98, 1e-9)])
    parts = (Guarantee(1, 1e-6).mu ** 2, mu_of_pure(0.3) ** 2, mu_of_pure(0.02) ** 2 + Guarantee(0.98, 1e-9).mu ** 2)
    assert ledger.spent("homes").mu ** 2 == pytest.approx(sum(parts), abs=3 / NANO)
    assert [entry.cost.nano / NANO for entry in ledger.history("homes")] == pytest.approx(parts, abs=1 / NANO)
    assert all(entry.cost.nano / NANO >= part for entry, part in zip(ledger.history("homes"), parts, strict=True))
    assert ledger.spent("homes").nano + ledger.remaining("homes").nano == ledger.account("homes").cap.nano
    with pytest.raises(MilepostError) as error:
        ledger.charge("homes", Guarantee(2.5, 1e-6))
    spent, left = ledger.spent("homes"), ledger.remaining("homes")
    assert "does not allow ε = 2.5, δ = 1e-06 (μ² = 0.301758)" in str(error.value)
    assert f"cap, ε = 3, δ = 1e-06, {spent} is spent and {left} is left. Nothing was read or charged." in str(
        error.value
    )
    assert f"ε = {left.epsilon():.4g} at δ = 1e-06" in str(left)


def test_charges_of_all_kinds_add_up_as_rho(ledger: Ledger) -> None:
    """zCDP as its ρ, Gaussian noise as μ²/2, pure ε as ε²/2, several together as one charge."""
    zcdp = Guarantee(1, 1e-6, accounting="zcdp")
    ledger.charge("schools", zcdp)
    ledger.charge("schools", Guarantee(0.3))
    ledger.charge("schools", [Guarantee(0.02), Guarantee(0.98, 1e-9)])
    parts = (zcdp.rho, 0.045, 0.0002 + Guarantee(0.98, 1e-9).mu ** 2 / 2)
    assert ledger.spent("schools").rho == pytest.approx(sum(parts), abs=3 / NANO)
    assert [entry.cost.rho for entry in ledger.history("schools")] == pytest.approx(parts, abs=1 / NANO)
    assert all(entry.cost.rho >= part for entry, part in zip(ledger.history("schools"), parts, strict=True))
    with pytest.raises(MilepostError, match=r"does not allow ε = 2.5, δ = 1e-06 \(ρ = 0.132753\)"):
        ledger.charge("schools", Guarantee(2.5, 1e-6, accounting="zcdp"))


def test_history_keeps_how_each_guarantee_was_spent(ledger: Ledger) -> None:
    charged = [Guarantee(0.1), Guarantee(0.1, 1e-6), Guarantee(0.1, 1e-6, accounting="zcdp")]
    for guarantee in charged:
        ledger.charge("schools", guarantee)
    assert [entry.guarantees for entry in ledger.history("schools")] == [(guarantee,) for guarantee in charged]


def test_zcdp_is_refused_on_a_gaussian_budget_before_anything_is_written(ledger: Ledger) -> None:
    before = ledger.path.read_bytes()
    for charge in (Guarantee(1e-3, 1e-6, accounting="zcdp"), [Guarantee(0.1), Guarantee(1, 1e-6, accounting="zcdp")]):
        with pytest.raises(MilepostError, match="takes no charge that is spent as zCDP"):
            ledger.charge("homes", charge)
    assert ledger.path.read_bytes() == before


@pytest.mark.parametrize(("dataset", "accounting"), [("homes", "gaussian"), ("schools", "zcdp")])
def test_the_whole_cap_can_be_spent_at_once(ledger: Ledger, dataset: str, accounting: str) -> None:
    """Although a cap is rounded down and a charge up, and only then."""
    whole = Guarantee(3, 1e-6, accounting=accounting)
    ledger.charge(dataset, whole).refund()
    ledger.charge(dataset, whole)
    assert ledger.remaining(dataset).nano == 0
    ledger.create("other", epsilon=3, delta=1e-6, accounting=accounting)
    ledger.charge("other", Guarantee(1e-6))
    with pytest.raises(MilepostError, match="does not allow"):
        ledger.charge("other", whole)


def test_a_pure_cap_refuses_delta_and_a_rho_cap_tells_no_epsilon_of_its_own(ledger: Ledger) -> None:
    with pytest.raises(MilepostError, match="takes charges with delta=0 only"):
        ledger.charge("names", Guarantee(0.1, 1e-6))
    account = ledger.create("zcdp", rho=0.1)
    ledger.charge("zcdp", Guarantee(0.1))
    assert str(ledger.remaining("zcdp")) == "ρ = 0.095"
    assert ledger.remaining("zcdp").epsilon(1e-6) < account.remaining.epsilon(1e-6)
    with pytest.raises(MilepostError, match="delta"):
        ledger.remaining("zcdp").epsilon()


def test_the_same_dataset_again_changes_nothing_and_another_cap_is_refused(ledger: Ledger) -> None:
    ledger.charge("homes", Guarantee(1, 1e-6))
    assert ledger.create("homes", epsilon=3, delta=1e-6).spent.nano > 0
    for arguments in ({"epsilon": 4, "delta": 1e-6}, {"epsilon": 3}, {"rho": ledger.account("schools").cap.rho}):
        for dataset in ("homes", "schools"):
            with pytest.raises(MilepostError, match=f"'{dataset}' already has a cap of ε = 3, δ = 1e-06"):
                ledger.create(dataset, **arguments)
    assert [account.name for account in ledger.datasets()] == ["homes", "schools", "names"]


def test_the_accounting_of_a_dataset_is_fixed(ledger: Ledger) -> None:
    """Without a word it stays, whatever a new dataset would get; another word is refused."""
    accountings = {"homes": "gaussian", "schools": "zcdp", "names": "pure"}
    assert {account.name: account.accounting for account in ledger.datasets()} == accountings
    for dataset, other in (("homes", "zcdp"), ("schools", "gaussian")):
        for accounting in (None, accountings[dataset]):
            same = ledger.create(dataset, epsilon=3, delta=1e-6, accounting=accounting)
            assert same.accounting == accountings[dataset]
        with pytest.raises(
            MilepostError, match=f"already has accounting='{accountings[dataset]}', which never changes"
        ):
            ledger.create(dataset, epsilon=3, delta=1e-6, accounting=other)
    assert ledger.create("names", epsilon=1, accounting="pure").accounting == "pure"


@pytest.mark.parametrize("name", ["", " homes", "a/b", "_a", ".a", "a\n", "a" * 65, "e\u0301", "a'b", "a b", 3, None])
def test_a_bad_name_is_refused(ledger: Ledger, name: str) -> None:
    for call in (lambda: ledger.create(name, epsilon=1), lambda: ledger.history(name), lambda: ledger.spent(name)):
        with pytest.raises(MilepostError, match="dataset= must be a name of up to 64 letters"):
            call()


@pytest.mark.parametrize("name", ["homes-2024.v1", "Häuser", "7", "a_b", "住宅", "a" * 64])
def test_a_good_name_is_taken(ledger: Ledger, name: str) -> None:
    ledger.create(name, epsilon=1)
    assert ledger.datasets()[-1].name == name


def test_an_unknown_dataset_is_refused_with_those_there_are(ledger: Ledger) -> None:
    with pytest.raises(MilepostError, match=r"no dataset 'home' \(it has: homes, schools, names\); create the dataset"):
        ledger.charge("home", Guarantee(1))


@pytest.mark.parametrize("texts", [{"what": "a\nb"}, {"label": "x" * 201}, {"label": 3}, {"protects": "\x1b[2J"}])
def test_texts_are_single_lines(ledger: Ledger, texts: dict[str, str]) -> None:
    with pytest.raises(MilepostError, match="one line"):
        ledger.charge("names", Guarantee(0.1), **texts)


@pytest.mark.parametrize("guarantee", [(), 1.0, "1", [1.0], None])
def test_what_is_no_guarantee_is_refused(ledger: Ledger, guarantee: Guarantee) -> None:
    with pytest.raises(MilepostError, match="guarantee= must be a Guarantee or a list of them"):
        ledger.charge("names", guarantee)
    assert states(ledger, "names") == []


@pytest.mark.parametrize("path", ["a\0b", 3, None, b"x"])
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(MilepostError, match="path of a file"):
        Ledger(path)


@pytest.mark.parametrize("wait", [-1, float("nan"), "1", True, None, 1e9])
def test_a_bad_wait_is_refused(tmp_path: Path, wait: float) -> None:
    with pytest.raises(MilepostError, match="wait"):
        Ledger(tmp_path / "ledger.db", wait=wait)


def test_nothing_is_made_before_a_budget_is(tmp_path: Path) -> None:
    """A mistyped path is no empty ledger; a folder that is not there is said."""
    absent = Ledger(tmp_path / "typo.db")
    for call in (absent.datasets, lambda: absent.charge("homes", Guarantee(1)), lambda: absent.spent("homes")):
        with pytest.raises(MilepostError, match=r"there is no ledger .*typo\.db"):
            call()
    with pytest.raises(MilepostError, match="epsilon"):
        absent.create("homes", epsilon=-1)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(MilepostError, match="there is no folder"):
        Ledger(tmp_path / "nowhere" / "ledger.db").create("homes", epsilon=1)


def test_a_path_may_have_any_letters_and_a_later_chdir_does_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ledger = Ledger("a b?mode=ro#é%41.db")
    monkeypatch.chdir("/")
    ledger.create("homes", epsilon=1)
    assert [path.name for path in tmp_path.iterdir()] == ["a b?mode=ro#é%41.db"]


class ReleaseError(Exception):
    """Of a release."""


def test_a_failure_before_noise_gives_the_budget_back(ledger: Ledger) -> None:
    """The entry stays, as one that does not count."""
    with pytest.raises(ReleaseError), ledger.spending("names", Guarantee(1), "release", label="bad file"):
        raise ReleaseError
    assert ledger.spent("names").nano == 0
    (entry,) = ledger.history("names")
    assert (entry.state, entry.counts, entry.cost.nano, entry.label) == ("returned", False, NANO, "bad file")
    with ledger.spending("names", Guarantee(1)):
        pass
    assert states(ledger, "names") == ["returned", "settled"]


@pytest.mark.parametrize("failure", [ReleaseError, KeyboardInterrupt, SystemExit])
def test_a_failure_after_noise_keeps_the_charge(ledger: Ledger, failure: type[BaseException]) -> None:

    def release() -> None:
        with ledger.spending("names", Guarantee(0.4)) as charge:
            charges.append(charge)
            charge.drawn()
            charge.drawn()
            raise failure

    charges: list[Charge] = []
    with pytest.raises(failure):
        release()
    assert ledger.spent("names").epsilon() == 0.4
    assert states(ledger, "names") == ["drawn"]
    with pytest.raises(MilepostError, match="charge 1 is drawn and cannot become returned"):
        charges[0].refund()


def test_a_block_that_ends_is_spent_whether_or_not_it_named_its_noise(ledger: Ledger) -> None:
    with ledger.spending("names", Guarantee(0.4)) as first:
        first.drawn()
    with ledger.spending("names", Guarantee(0.4)) as second:
        pass
    assert states(ledger, "names") == ["settled", "settled"]
    for charge in (first, second):
        with pytest.raises(MilepostError, match="cannot become returned"):
            charge.refund()


def test_what_was_given_back_pays_for_no_noise(ledger: Ledger) -> None:
    charge = ledger.charge("names", Guarantee(1))
    charge.refund()
    charge.refund()  # once only
    assert ledger.remaining("names").nano == NANO
    with pytest.raises(MilepostError, match="is returned and cannot become drawn"):
        charge.drawn()
    with pytest.raises(MilepostError, match="is returned and cannot become settled"):
        charge.settle()


def test_an_answer_is_not_lost_when_the_ledger_cannot_note_that_it_is_done(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is charged and drawn, which is all that counts."""

    def release() -> str:
        with ledger.spending("names", Guarantee(0.4)) as charge:
            charge.drawn()
            monkeypatch.setattr(Charge, "settle", lambda _: charge.refund())  # which is refused
            return "answer"

    with pytest.warns(mp.AccuracyWarning, match="charge 1 of 'names' is spent, but"):
        assert release() == "answer"
    assert states(ledger, "names") == ["drawn"]


def test_a_refund_that_fails_is_noted_beside_the_failure(ledger: Ledger, tmp_path: Path) -> None:
    def release() -> None:
        with ledger.spending("names", Guarantee(0.4)):
            (tmp_path / "ledger.db").rename(tmp_path / "elsewhere.db")
            raise ReleaseError

    with pytest.raises(ReleaseError) as error:
        release()
    assert "budget of charge 1 was not refunded: there is no ledger" in error.value.__notes__[0]
    assert Ledger(tmp_path / "elsewhere.db").spent("names").epsilon() == 0.4


def test_a_backup_that_is_put_back_meanwhile_stops_the_release(ledger: Ledger, tmp_path: Path) -> None:
    """The charge is not in it, so no noise may be drawn for it; not even if another has its number."""
    backup = (tmp_path / "ledger.db").read_bytes()
    charge = ledger.charge("names", Guarantee(0.4))
    (tmp_path / "new.db").write_bytes(backup)
    (tmp_path / "new.db").replace(tmp_path / "ledger.db")
    with pytest.raises(MilepostError, match=r"charge 1 is no longer in .*: another file"):
        charge.drawn()
    ledger.charge("names", Guarantee(0.1))
    with pytest.raises(MilepostError, match=r"charge 1 is no longer in .*: another file"):
        charge.drawn()
    assert states(ledger, "names") == ["reserved"]


def test_charges_that_protect_others_do_not_add_up(ledger: Ledger) -> None:
    ledger.charge("names", Guarantee(0.1), protects="replace, row").refund()
    ledger.charge("names", Guarantee(0.1), protects="replace, customer_id")
    ledger.charge("names", Guarantee(0.1), protects="replace, customer_id")
    ledger.charge("names", Guarantee(0.1))
    with pytest.raises(
        MilepostError, match="protect 'replace, customer_id', and this charge protects 'add-remove, row'"
    ):
        ledger.charge("names", Guarantee(0.1), protects="add-remove, row")
    assert ledger.spent("names").nano == 300_000_000


def test_a_clock_that_jumps_is_harmless(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Order goes by numbers; times are told as the clock gave them."""
    times = [f"{year}-01-01T00:00:00Z" for year in (2040, 1970, 2026, 1999)]
    clock = iter(times)
    monkeypatch.setattr(module, "_now", lambda: next(clock))
    for _ in times:
        ledger.charge("names", Guarantee(0.25))
    assert [(entry.id, entry.charged) for entry in ledger.history("names")] == list(
        zip(range(1, 5), times, strict=True)
    )
    with pytest.raises(MilepostError, match="nothing is left"):
        ledger.charge("names", Guarantee(0.25))


def test_without_a_ledger_nothing_is_noted(ledger: Ledger) -> None:
    """One way to write it for callers, with a ledger or without."""
    with spending(None, None, Guarantee(1)) as charge:
        charge.drawn()
    with spending(ledger, "names", Guarantee(0.5), "slopes", label="spring") as charge:
        charge.drawn()
    assert ledger.spent("names").epsilon() == 0.5
    with pytest.raises(MilepostError, match="ledger= was given without dataset="):
        spending(ledger, None, Guarantee(1))
    with pytest.raises(MilepostError, match="dataset= was given without ledger="):
        spending(None, "names", Guarantee(1))


def test_one_object_serves_many_threads(ledger: Ledger) -> None:
    """Room for ten: ten of forty get in."""

    def attempt(_: int) -> bool:
        with suppress(MilepostError), ledger.spending("names", Guarantee(0.1)) as charge:
            charge.drawn()
            return True
        return False

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(attempt, range(40))) == 10
    assert ledger.remaining("names").nano == 0
    assert states(ledger, "names") == ["settled"] * 10


STEPS = st.lists(
    st.tuples(st.sampled_from(["keep", "settle", "refund", "fail", "fail after noise"]), st.floats(1e-9, 1.5)),
    min_size=1,
    max_size=8,
)


@settings(max_examples=25)
@given(steps=STEPS, pure=st.booleans())
def test_integer_totals_are_exact_over_any_charges(steps: list[tuple[str, float]], pure: bool) -> None:
    """Against a list of integers; after every refusal the rest works as before."""
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger(Path(folder) / "ledger.db")
        cap = (ledger.create("homes", epsilon=2.5) if pure else ledger.create("homes", rho=1.25)).cap.nano
        costs: list[int] = []
        entries = 0
        for step, epsilon in steps:
            value = Fraction(repr(epsilon)) * NANO if pure else Fraction(repr(epsilon)) ** 2 * NANO / 2
            price = -(-value.numerator // value.denominator)
            fits = sum(costs) + price <= cap
            try:
                if step.startswith("fail"):
                    with ledger.spending("homes", Guarantee(epsilon)) as charge:
                        if "noise" in step:
                            charge.drawn()
                        raise ReleaseError
                charge = ledger.charge("homes", Guarantee(epsilon))
                if step != "keep":
                    getattr(charge, step)()
                assert fits
            except ReleaseError:
                assert fits
            except MilepostError:
                assert not fits
            entries += fits
            costs += [price] * (fits and step not in ("refund", "fail"))
            account = ledger.account("homes")
            assert (account.spent.nano, account.remaining.nano, account.entries) == (
                sum(costs),
                cap - sum(costs),
                entries,
            )
        assert [entry.cost.nano for entry in ledger.history("homes") if entry.counts] == costs


NUMBER = r"(?<![\w.])\d+(?:\.\d+)?(?:e-?\d+)?(?![\w.])"


def test_the_guide_prints_what_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All words, times apart, and numbers to a tenth of a percent: nothing here has noise."""
    monkeypatch.chdir(tmp_path)
    guide = ROOT / "docs" / "ledger.md"
    names: dict[str, Any] = {}
    output = ""
    texts = 0
    for language, text in blocks(guide.read_text()):
        if language != "text":
            output = run(language, text, names)
            continue
        expected, actual = (re.sub(r"\d{4}-\d\d-\d\dT[\d:]+Z", "time", content) for content in (text, output))
        assert re.sub(f"─|{NUMBER}", "", expected).split() == re.sub(f"─|{NUMBER}", "", actual).split()
        numbers = [list(map(float, re.findall(NUMBER, content))) for content in (expected, actual)]
        assert numbers[0] == pytest.approx(numbers[1], rel=1e-3)
        texts += 1
    assert texts == 5
    for link in re.findall(r"\]\(([^)#]+)", guide.read_text()):
        assert (guide.parent / link).exists()

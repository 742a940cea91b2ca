"""`milepost ledger`: budgets from the command line."""

import csv
import re
from pathlib import Path
from typing import Any

import pytest
import typer

import milepost as mp
from milepost import cli
from tests import ROOT
from tests.commands import Run, runner


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command line in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return runner(capsys)


@pytest.fixture
def ledger(run: Run) -> mp.Ledger:
    """`homes` of ε = 3, δ = 1e-6 and `names` of ε = 1 in ledger.db, with charges."""
    assert run("ledger create ledger.db homes --epsilon 3 --delta 1e-6").code == 0
    assert run("ledger create ledger.db names --epsilon 1").code == 0
    new_ledger = mp.Ledger("ledger.db")
    new_ledger.charge(
        "names", mp.Guarantee(0.25), "laplace", label="[bold]spring, 2026[/bold]", protects="replace, row"
    ).settle()
    new_ledger.charge("names", mp.Guarantee(0.5)).refund()
    return new_ledger


def test_create_makes_the_librarys_budgets(run: Run, ledger: mp.Ledger) -> None:
    assert [account.name for account in ledger.datasets()] == ["homes", "names"]
    result = run("ledger create ledger.db more --rho 0.1 --delta 1e-6")
    assert result.out.startswith(
        "more in ledger.db: a cap of ρ = 0.1 with zcdp accounting, of which ρ = 0.1 (ε = 2.142 at δ = 1e-06) is left"
    )
    result = run("ledger create ledger.db schools --epsilon 3 --delta 1e-6 --accounting zcdp")
    assert result.out.startswith("schools in ledger.db: a cap of ε = 3, δ = 1e-06 with zcdp accounting, of which ρ = ")
    accountings = {account.name: account.accounting for account in ledger.datasets()}
    assert accountings == {"homes": "gaussian", "names": "pure", "more": "zcdp", "schools": "zcdp"}
    assert run("ledger create ledger.db homes --epsilon 3 --delta 1e-6").code == 0


def test_show_prints_caps_and_totals(run: Run, ledger: mp.Ledger) -> None:
    lines = run("ledger show ledger.db").out.splitlines()
    cells = [re.split(r"\s{2,}", line.strip()) for line in lines if "ε =" in line]
    assert cells == [
        ["homes", "ε = 3, δ = 1e-06", "gaussian", "0", str(ledger.spent("homes")), str(ledger.remaining("homes"))],
        ["names", "ε = 1, δ = 0", "pure", "2", "ε = 0.25", "ε = 0.75"],
    ]
    elsewhere = f"ε = {ledger.remaining('homes').epsilon(1e-9):.4g} at δ = 1e-09"
    assert elsewhere in run("ledger show ledger.db --delta 1e-9").out


@pytest.mark.usefixtures("ledger")
def test_history_prints_or_writes_every_charge(run: Run) -> None:
    printed = run("ledger history ledger.db names").out
    assert printed.index("settled") < printed.index("returned")
    assert "[bold]spring, 2026[/bold]" in printed
    assert run("ledger history ledger.db names --csv charges.csv").out == "wrote charges.csv: 2 charges\n"
    with Path("charges.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["state"] for row in rows] == ["settled", "returned"]
    assert rows[0] | {"charged": ""} == {
        "id": "1",
        "charged": "",
        "state": "settled",
        "guarantee": "ε = 0.25",
        "accounting": "pure",
        "cost": "ε = 0.25",
        "what": "laplace",
        "label": "[bold]spring, 2026[/bold]",
        "protects": "replace, row",
    }


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("create ledger.db homes --epsilon 4", "already has a cap of ε = 3, δ = 1e-06"),
        ("create ledger.db homes --epsilon 3 --delta 1e-6 --accounting zcdp", "already has --accounting gaussian"),
        ("create ledger.db other --epsilon 3 --accounting zcdp", "--accounting zcdp does not go with this cap"),
        ("create ledger.db other --epsilon 3 --delta 0.1 --accounting zdcp", "got 'zdcp'; did you mean 'zcdp'?"),
        ("create ledger.db other", "got neither"),
        ("create ledger.db other --epsilon 1 --rho 1", "got both"),
        ("create ledger.db a/b --epsilon 1", "--dataset must be a name of up to 64 letters"),
        ("create ledger.db other --epsilon nan", "--epsilon must be"),
        ("create nowhere/ledger.db other --epsilon 1", "no folder"),
        ("show nowhere.db", "there is no ledger"),
        ("show ledger.db --delta 2", "--delta must be"),
        ("show text.csv", "is not a ledger"),
        ("history ledger.db cars", "has no dataset 'cars'"),
        ("history ledger.db homes --csv text.csv", "exists already"),
        ("history ledger.db homes --csv ledger.db --force", "is the ledger itself"),
    ],
)
@pytest.mark.usefixtures("ledger")
def test_bad_input_is_one_line_and_exit_code_2(run: Run, line: str, message: str) -> None:
    Path("text.csv").write_text("lat,lon\n1,2\n")
    before = {path: path.read_bytes() for path in Path().iterdir()}
    result = run(f"ledger {line}")
    assert (result.code, result.out, len(result.err.splitlines())) == (2, "", 1)
    assert message in result.err
    assert {path: path.read_bytes() for path in Path().iterdir()} == before


def test_every_option_is_documented() -> None:
    """In the section of docs/cli.md, with each command under it."""
    section = (ROOT / "docs" / "cli.md").read_text().split("## milepost ledger\n")[1].split("\n## ")[0]
    group: Any = typer.main.get_command(cli.app)
    for name, command in group.commands["ledger"].commands.items():
        assert f"- `{name}` " in section
        for parameter in command.params:
            assert parameter.param_type_name == "argument" or set(parameter.opts) <= set(re.findall(r"--\w+", section))

"""`milepost ledger create | show | history`."""

import csv as tables
from collections.abc import Iterable, Sequence
from io import StringIO
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE
from rich.markup import escape
from rich.table import Table

import milepost as mp
from milepost.cli.examples import epilog
from milepost.cli.options import ForceOption, Option, expand_groups, options
from milepost.cli.terminal import check_output, console, progress
from milepost.storage.atomic_file import atomic_write

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Budgets of private datasets, and what is spent.",
)

LedgerArgument = Annotated[Path, typer.Argument(metavar="LEDGER", help="The ledger's file, such as ledger.db.")]
DatasetArgument = Annotated[str, typer.Argument(metavar="DATASET", help="The name of the dataset in the ledger.")]
CAP = options(
    "epsilon",
    "delta",
    "rho",
    "accounting",
    epsilon=Option(float, "The cap's ε.", section=None),
    delta=Option(float, "The cap's δ; 0 takes pure ε only.", section=None, default=0.0),
    rho=Option(float, "The cap as ρ of zCDP, instead of ε.", section=None),
    accounting=Option(str, "What a cap with δ adds up: gaussian (μ², the default) or zcdp (ρ).", section=None),
)
SHOWN_DELTA = options("delta", delta=Option(float, "The δ at which μ² and ρ are also shown as ε.", section=None))


@app.command(epilog=epilog("ledger create"))
@expand_groups
def create(ledger: LedgerArgument, dataset: DatasetArgument, cap: Annotated[dict[str, Any], CAP]) -> None:
    """Give a dataset a budget, for good; the file is made where there is none."""
    with progress(f"Creating {dataset}"):
        account = mp.Ledger(ledger).create(dataset, **cap)
        left = str(account.remaining)
    typer.echo(
        f"{dataset} in {ledger}: a cap of {account.cap} with {account.accounting} accounting, of which {left} is left"
    )


@app.command(epilog=epilog("ledger show"))
@expand_groups
def show(ledger: LedgerArgument, shown: Annotated[dict[str, Any], SHOWN_DELTA]) -> None:
    """Print every dataset's cap and accounting, and what is spent and left."""
    with progress(f"Reading {ledger}"):
        delta, rows = shown["delta"], []
        for account in mp.Ledger(ledger).datasets():
            amounts = account.spent, account.remaining
            amount_texts = map(str, amounts) if delta is None else (amount.at(delta) for amount in amounts)
            rows.append((account.name, str(account.cap), account.accounting, f"{account.entries:,}", *amount_texts))
    _print(("dataset", "cap", "accounting", "charges", "spent", "left"), rows)


@app.command(epilog=epilog("ledger history"))
def history(
    ledger: LedgerArgument,
    dataset: DatasetArgument,
    csv: Annotated[Path | None, typer.Option("--csv", help="Write the charges to this file.")] = None,
    force: ForceOption = False,
) -> None:
    """Print every charge of a dataset, in order, those that were given back included."""
    if csv is not None:
        check_output(csv, force)
        if csv.exists() and ledger.exists() and csv.samefile(ledger):
            raise mp.MilepostError(f"{csv} is the ledger itself; choose another output")
    names = ("id", "charged", "state", "guarantee", "accounting", "cost", "what", "label", "protects")
    rows = []
    for entry in mp.Ledger(ledger).history(dataset):
        spent = " and ".join(map(str, entry.guarantees)), entry.accounting, entry.cost.number
        rows.append((str(entry.id), entry.charged, entry.state, *spent, entry.what, entry.label, entry.protects))
    if csv is None:
        _print(names, rows)
        return
    text = StringIO(newline="")
    tables.writer(text).writerows([names, *rows])
    with atomic_write(csv) as stream:
        stream.write(text.getvalue().encode())
    typer.echo(f"wrote {csv}: {len(rows):,} charges")


def _print(names: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    table = Table(box=SIMPLE)
    for name in names:
        table.add_column(name)
    for row in rows:
        table.add_row(*map(escape, row))
    console(300).print(table)

"""`milepost columns`."""

import json
import math
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import typer
from rich.box import SIMPLE
from rich.markup import escape
from rich.table import Table

import milepost as mp
from milepost.answers.column_estimates import ColumnEstimate, column_estimates, is_category, share_estimate
from milepost.cli.options import GROUP, ConfidenceOption, JsonOption, SynopsisArgument, described, load_synopsis
from milepost.cli.terminal import console
from milepost.mechanisms.base import Label

SHARE: Any = typer.Option(
    "--share-of",
    metavar="NAME=LOW:HIGH",
    help="The share of people between two values of a column, or plan=basic: those with a label; may be given many "
    "times.",
)

Row = tuple[Label | None, ColumnEstimate]  # group and estimate


def columns(
    file: SynopsisArgument,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="COLUMNS", help="The columns; by default all of them.")
    ] = None,
    share_of: Annotated[list[str] | None, SHARE] = None,
    group: Annotated[str | None, described(GROUP, "One group of a file that has some; by default all of them.")] = None,
    confidence: ConfidenceOption = 0.95,
    as_json: JsonOption = False,
) -> None:
    """Print means, variances and shares of single columns; asking is free."""
    synopsis = load_synopsis(file, group, any_group=True)
    labels: Sequence[Label | None] = synopsis.labels or [group]
    rows = [
        (label, estimate)
        for label in labels
        for estimate in _estimates(synopsis.group(label) if synopsis.labels else synopsis, names, share_of, confidence)
    ]
    if as_json:
        typer.echo(json.dumps([_json_row(*row) for row in rows], ensure_ascii=False, indent=2))
    else:
        console().print(_table(rows, confidence))


def _estimates(
    synopsis: mp.Synopsis, names: Sequence[str] | None, shares: Sequence[str] | None, confidence: float
) -> Iterator[ColumnEstimate]:
    """Yield the estimates of columns, all of them where no shares are asked for, then the shares."""
    if names or not shares:
        yield from column_estimates(synopsis, names or None, confidence)
    for text in shares or ():
        column, equals, value = text.rpartition("=")
        if not equals:
            raise mp.MilepostError(f"--share-of must be name=low:high or name=label, got {text!r}")
        category = is_category(synopsis, column)
        low, high = (None, None) if category else _ends(text, column, value)
        yield share_estimate(synopsis, column, low, high, value if category else None, confidence)


def _ends(text: str, column: str, value: str) -> tuple[float | None, float | None]:
    """Return the ends of an interval such as 18:65, 18: or :65."""
    low, colon, high = value.partition(":")
    try:
        ends = [float(end) if end.strip() else None for end in (low, high)]
    except ValueError:
        colon = ""
    if not colon:
        raise mp.MilepostError(f"column {column!r} has numbers: --share-of must be {column}=low:high, got {text!r}")
    return ends[0], ends[1]


def _json_row(group: Label | None, estimate: ColumnEstimate) -> dict[str, Any]:
    row = estimate.to_json()
    return row if group is None else {"group": group} | row


def _table(rows: Sequence[Row], confidence: float) -> Table:
    """Return a printable table, with the standard deviation below each variance."""
    table = Table(box=SIMPLE, caption=f"{100 * confidence:g} % confidence", caption_justify="left")
    grouped = rows[0][0] is not None
    for name in ("group", "column", "")[not grouped :]:
        table.add_column(name)
    for name in ("value", "low", "high"):
        table.add_column(name, justify="right")
    for group, estimate in rows:
        cells = [escape(str(group))] * grouped + [escape(estimate.column)]
        numbers = estimate.value, estimate.low, estimate.high
        table.add_row(*cells, escape(estimate.question), *_texts(*numbers))
        if estimate.statistic == "variance":
            table.add_row(*cells, "standard deviation", *_texts(*map(math.sqrt, numbers)))
    return table


def _texts(value: float, low: float, high: float) -> list[str]:
    """Return an estimate and its ends, all with the decimals that show two digits of the interval."""
    width = max(high - value, value - low)
    decimals = min(max(0, 1 - math.floor(math.log10(width))), 15) if width > 0 else 4
    return [f"{number:.{decimals}f}" for number in (value, low, high)]

"""`milepost difference`."""

import csv
import json
from pathlib import Path
from typing import Annotated, Any

import typer

import milepost as mp
from milepost.cli.options import (
    PLOT,
    ConfidenceOption,
    ForceOption,
    JsonOption,
    Option,
    described,
    load_synopsis,
    options,
    split_names,
)
from milepost.cli.terminal import check_output, console, progress
from milepost.pipeline.difference import SUFFIX
from milepost.reporting.plotting import style

GROUPS = Option(
    str,
    "Two groups to compare, separated by a comma: of one file, or one of each file. A file without groups has an empty "
    "one: ,south.",
    section=None,
    metavar="A,B",
)
COLUMNS = Option(str, "The columns of a public table.", section=None)


def difference(
    arguments: Annotated[dict[str, Any], options("groups", "columns", groups=GROUPS, columns=COLUMNS)],
    first: Annotated[Path, typer.Argument(metavar="FIRST", help="A file that `milepost release` wrote.")],
    second: Annotated[
        Path | None, typer.Argument(metavar="SECOND", help="Another such file, or a public table: CSV or Parquet.")
    ] = None,
    confidence: ConfidenceOption = 0.95,
    as_json: JsonOption = False,
    plot: Annotated[Path | None, described(PLOT, "Draw where the tables differ: .png, .svg or .pdf.")] = None,
    force: ForceOption = False,
) -> None:
    """Print how different two tables are, from what was released of them; this costs nothing."""
    check_picture(plot, force)
    groups, columns = arguments["groups"], arguments["columns"]
    if second is None and groups is None:
        raise mp.MilepostError("give a second file, or two groups of one file with --groups north,south")
    other = first if second is None else second
    labels = _labels(groups)
    sides = [_side(path, label) for path, label in zip((first, other), labels, strict=True)]
    names = [_name(path, label, one_file=second is None) for path, label in zip((first, other), labels, strict=True)]
    with progress("Comparing"):
        result = mp.difference(*sides, confidence=confidence, columns=split_names(columns), names=names)
    if plot is not None:
        style.save(result.plot(), plot)
    if as_json:
        typer.echo(json.dumps(result.to_json(), ensure_ascii=False, indent=2))
    else:
        console().print(result)


def check_picture(plot: Path | None, force: bool) -> None:
    """Refuse a picture that cannot be drawn or written, before the work begins."""
    if plot is not None:
        style.check_plot_path(plot)
        check_output(plot, force)


def _labels(groups: str | None) -> list[str | None]:
    """Return two labels of `--groups`, quoted as in CSV; None for a file without groups."""
    if groups is None:
        return [None, None]
    labels = [label.strip() or None for row in csv.reader([groups], skipinitialspace=True) for label in row]
    if len(labels) != 2:
        raise mp.MilepostError(f"--groups must name two groups, such as north,south, got {groups}")
    return labels


def _side(path: Path, group: str | None) -> mp.Synopsis | str:
    """Return a release, or one group of it; the path of a public table."""
    if path.suffix != SUFFIX:
        if group is not None:
            raise mp.MilepostError(f"{path} is no released file, so that it has no group {group!r}")
        return str(path)
    synopsis = load_synopsis(path, group, any_group=True)
    if synopsis.labels:
        labels = ", ".join(map(str, synopsis.labels))
        raise mp.MilepostError(f"{path} has groups ({labels}). Name the one of each side with --groups A,B")
    return synopsis


def _name(path: Path, group: str | None, *, one_file: bool) -> str:
    return path.stem if group is None else group if one_file else f"{path.stem}: {group}"

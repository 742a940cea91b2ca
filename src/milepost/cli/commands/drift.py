"""`milepost drift`."""

import json
from pathlib import Path
from typing import Annotated

import typer

import milepost as mp
from milepost.cli.commands.difference import check_picture
from milepost.cli.options import GROUP, PLOT, ConfidenceOption, ForceOption, JsonOption, described, load_synopsis
from milepost.cli.terminal import console, progress
from milepost.pipeline.difference import SUFFIX
from milepost.reporting.plotting import style


def drift(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILES", help="Released files in order, or a folder of them, by name.")
    ],
    group: Annotated[str | None, described(GROUP, "The group to compare, of files that have some.")] = None,
    confidence: ConfidenceOption = 0.95,
    as_json: JsonOption = False,
    plot: Annotated[Path | None, described(PLOT, "Draw the differences: .png, .svg or .pdf.")] = None,
    force: ForceOption = False,
) -> None:
    """Print how released tables differ from the first one and from the one before; this costs nothing."""
    check_picture(plot, force)
    paths = [path for file in files for path in (sorted(file.glob(f"*{SUFFIX}")) if file.is_dir() else [file])]
    releases = [load_synopsis(path, group, any_group=False) for path in paths]
    if len(paths) < 2:
        found = f" besides {paths[0]}" if paths else f" that ends in {SUFFIX}"
        raise mp.MilepostError(f"drift compares two files or more, and found none{found}")
    with progress("Comparing"):
        result = mp.drift(releases, [path.stem for path in paths], confidence=confidence)
    if plot is not None:
        style.save(result.plot(), plot)
    if as_json:
        typer.echo(json.dumps(result.to_arrow().to_pylist(), ensure_ascii=False, indent=2))
    else:
        console().print(result)

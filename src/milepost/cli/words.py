"""Words: what several commands make of the words that they are given."""

from pathlib import Path

import milepost as mp
from milepost.asked import group_of


def loaded(file: Path, group: str | None, *, any_group: bool) -> mp.Synopsis:
    """A synopsis, or the group of it that is asked about; any_group: whether none has to be."""
    synopsis = mp.load(file)
    if group is not None:
        return group_of(synopsis, group)
    if synopsis.labels and not any_group:
        listed = ", ".join(map(str, synopsis.labels))
        raise mp.MilepostError(
            f"{file} has groups ({listed}): say which with --group {synopsis.labels[0]}; "
            "`milepost query --nearest` compares all of them"
        )
    return synopsis


def names_of(columns: str | None) -> list[str] | None:
    """Names of columns, separated by commas."""
    return None if columns is None else [name.strip() for name in columns.split(",")]

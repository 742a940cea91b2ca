"""Words: what several commands make of the words that they are given."""

from pathlib import Path

import milepost as mp


def loaded(file: Path, group: str | None, *, any_group: bool) -> mp.Synopsis:
    """A synopsis, or the group of it that is asked about; any_group: whether none has to be."""
    synopsis = mp.load(file)
    if group is not None:
        return synopsis.group({str(label): label for label in synopsis.labels}.get(group, group))
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


def ledger_of(path: Path | None) -> mp.Ledger | None:
    """The ledger of `--ledger`."""
    return None if path is None else mp.Ledger(path)


def check_weights(weights: str | None, max_weight: float | None) -> None:
    """Refuse what columns count in the distance where the column of rows' weights is meant."""
    if weights is not None and "=" in weights and max_weight is None:
        raise mp.MilepostError(
            f"--weights is the column of rows' weights, with --max-weight; what a column counts in the distance is "
            f"--distance-weights {weights}"
        )

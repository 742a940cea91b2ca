"""Format numbers of files: refuse a file that another version wrote, and name the version that reads it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from milepost.errors import MilepostError


def check_format(path: str | Path, found: Any, current: int, readers: Mapping[int, str], remedy: str) -> None:
    """Refuse a file whose format is not the current one.

    Parameters
    ----------
    path : str or Path
        The file, for the message.
    found, current : int
        The format of the file, and the format that this version reads.
    readers : mapping of int to str
        The version that reads each older format.
    remedy : str
        What to do about an older file, apart from using the version that reads it.

    Raises
    ------
    MilepostError
        If the formats differ. The message names a version that reads the file.
    """
    if found == current and not isinstance(found, bool):
        return
    message = f"{path} has format {found!r}, and this version reads format {current}."
    if isinstance(found, int) and found > current:
        raise MilepostError(f"{message} A newer version wrote it: update milepost.")
    reader = readers.get(found, "a version before 0.1.0") if isinstance(found, int) else "another version"
    raise MilepostError(f"{message} It was written by {reader}, which reads it: use that version, or {remedy}.")

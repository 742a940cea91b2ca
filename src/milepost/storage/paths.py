"""Paths of local files; addresses such as s3://… are refused."""

import os
import re
from pathlib import Path

from milepost.errors import MilepostError

ADDRESS = re.compile(
    r"([A-Za-z][A-Za-z0-9+.-]+):(/+)(.*)", re.DOTALL
)  # a scheme has two letters or more: C:/ is a drive
READ_REMEDY = "Download the file first; in Python, you can also read it with pyarrow or pandas and pass the frame."
WRITE_REMEDY = "Write a local file, then copy it there."


def local_path(path: str | os.PathLike[str], remedy: str) -> Path:
    """Return the path of a local file or folder; refuse an address such as s3a://bucket/homes.parquet.

    pathlib turns two slashes into one, so the error message restores an address that came as a Path.
    remedy: a sentence for the message.
    """
    text = os.fspath(path)
    match = ADDRESS.fullmatch(text)
    if match is None or Path(f"{match[1]}:").exists():
        return Path(text)
    scheme, slashes, rest = match.groups()
    address = text if len(slashes) > 1 else f"{scheme}://{'/' if scheme == 'file' else ''}{rest}"
    raise MilepostError(f"{address} is an address, not the path of a local file. {remedy}")

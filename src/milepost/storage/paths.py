"""Paths of local files; addresses are refused."""

import os
import re
from pathlib import Path

from milepost.errors import MilepostError

ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(/+)(.*)", re.DOTALL)  # two letters or more: C:/ is a drive
READ_REMEDY = "download it first; in Python a table can also be read with pyarrow or pandas, and its frame given"
WRITE_REMEDY = "write a file here, and copy it there"


def local_path(path: str | os.PathLike[str], remedy: str) -> Path:
    """Return the path of a local file or folder; refuse an address such as s3a://bucket/homes.parquet.

    pathlib turns two slashes into one: the error restores an address that came as a Path.
    """
    text = os.fspath(path)
    match = ADDRESS.fullmatch(text)
    if match is None or Path(f"{match[1]}:").exists():
        return Path(text)
    scheme, slashes, rest = match.groups()
    address = text if len(slashes) > 1 else f"{scheme}://{'/' if scheme == 'file' else ''}{rest}"
    raise MilepostError(f"{address} is an address, and only files of this computer are used; {remedy}")

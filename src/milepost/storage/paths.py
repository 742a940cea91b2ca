"""Paths: files of this computer, told from addresses."""

import os
import re
from pathlib import Path

from milepost.errors import MilepostError

ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(/+)(.*)", re.DOTALL)  # two letters or more: C:/ is a drive
READ_REMEDY = "download it first; in Python a table can also be read with pyarrow or pandas, and its frame given"
WRITE_REMEDY = "write a file here, and copy it there"


def local_path(given: str | os.PathLike[str], remedy: str) -> Path:
    """The path of a file or folder here; an address, such as s3a://bucket/homes.parquet, is refused.

    pathlib makes one slash of two, so that an address which came as a Path is spelled out again.
    """
    text = os.fspath(given)
    found = ADDRESS.fullmatch(text)
    if found is None or Path(f"{found[1]}:").exists():
        return Path(text)
    scheme, slashes, rest = found.groups()
    address = text if len(slashes) > 1 else f"{scheme}://{'/' if scheme == 'file' else ''}{rest}"
    raise MilepostError(f"{address} is an address, and only files of this computer are used; {remedy}")

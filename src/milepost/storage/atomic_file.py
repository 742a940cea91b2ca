"""Atomic writes: a file appears complete or not at all."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from milepost.errors import MilepostError
from milepost.storage.paths import WRITE_REMEDY, local_path


@contextmanager
def atomic_write(path: Path) -> Iterator[BinaryIO]:
    """Yield a stream into a temporary file next to `path`; the file replaces `path` when its content is on the disk.

    If an exception is raised, Ctrl-C included, `path` stays as it was and the temporary file is removed. A process that
    is killed may leave the temporary file, whose name begins with a dot.
    """
    path = local_path(path, WRITE_REMEDY)
    if path.is_dir() or not path.name:
        raise MilepostError(f"{path} is a folder; give the name of a file in this folder")
    if not path.parent.is_dir():
        raise MilepostError(f"{path} cannot be written: there is no folder {path.parent}")
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with temporary.open("xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError):
            raise MilepostError(f"{path} cannot be written: {error.strerror or error}") from None
        raise

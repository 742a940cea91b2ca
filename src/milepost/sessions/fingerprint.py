"""The fingerprint by which a store recognizes the table of its session, and the file of its key next to it."""

import os
import secrets
import tempfile
from contextlib import suppress
from pathlib import Path

from milepost.errors import MilepostError
from milepost.statistics.row_digest import KEY_BYTES, Fingerprint


def store_fingerprint(path: Path, expected: bytes = b"") -> Fingerprint:
    """Return the fingerprint of a store's table. expected: the digest in the store, once its session is begun.

    Without the key, a digest does not reveal whether a given table is this one.
    """
    changed = (
        f"{path} holds a session on another table: rows, or what is used of them, differ. Nothing was answered or "
        "spent. Open the table it was begun with"
    )
    return Fingerprint(changed, store_key(path, create=False), expected)


def store_key(path: Path, *, create: bool) -> bytes:
    """Return the key of a store, from a file next to it that only its owner may read; create it with the store."""
    key_path = path.with_name(f"{path.name}.key")
    if create and not key_path.exists():
        try:
            _create_key(key_path)
        except OSError as error:
            raise MilepostError(f"{key_path} cannot be written: {error.strerror}") from None
    try:
        key = key_path.read_bytes()
    except OSError:
        raise MilepostError(
            f"{key_path} cannot be read: it holds the key by which {path.name} knows its table; put it back beside it"
        ) from None
    if len(key) != KEY_BYTES:
        raise MilepostError(
            f"{key_path} is damaged: a key has {KEY_BYTES} bytes, it has {len(key)}; put a backup there"
        )
    return key


def _create_key(path: Path) -> None:
    """Write a new key to the disk, atomically; the store's write transaction keeps other processes out."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")  # which only its owner may read
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(secrets.token_bytes(KEY_BYTES))
            stream.flush()
            os.fsync(stream.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    with suppress(OSError):  # where folders cannot be opened
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

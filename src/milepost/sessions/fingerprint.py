"""The fingerprint by which a store recognizes the table of its session, and the key file next to the store."""

import os
import secrets
import tempfile
from contextlib import suppress
from pathlib import Path

from milepost.errors import MilepostError
from milepost.statistics.row_digest import KEY_BYTES, Fingerprint


def store_fingerprint(path: Path, expected: bytes = b"") -> Fingerprint:
    """Return the fingerprint that recognizes the table of a store.

    Without the key, a digest does not reveal whether a given table is the private one.
    expected: the digest in the store; empty until the session is begun.
    """
    changed = (
        f"{path} holds a session on another table: the rows, or the columns in use, differ. Nothing was answered or "
        "spent. Give the table with which the session was begun."
    )
    return Fingerprint(changed, store_key(path, create=False), expected)


def store_key(path: Path, *, create: bool) -> bytes:
    """Return the key of a store, from a file next to the store. create: write the file if it does not exist.

    Only the owner may read the file.
    """
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
            f"{key_path} cannot be read: it holds the key by which {path.name} recognizes its table. Restore the file "
            "next to the store."
        ) from None
    if len(key) != KEY_BYTES:
        raise MilepostError(
            f"{key_path} is damaged: it has {len(key)} bytes, and a key has {KEY_BYTES}. Restore it from a backup."
        )
    return key


def _create_key(path: Path) -> None:
    """Write a new key to the disk, atomically; the store's write transaction excludes other processes."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")  # only the owner may read this file
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(secrets.token_bytes(KEY_BYTES))
            stream.flush()
            os.fsync(stream.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    with suppress(OSError):  # some systems cannot open folders
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

"""Fingerprint of a store: by which it knows the table that its session was begun with, and the key's file beside it."""

import os
import secrets
import tempfile
from contextlib import suppress
from pathlib import Path

from milepost.errors import MilepostError
from milepost.statistics.row_digest import KEY_BYTES, Fingerprint


def store_fingerprint(path: Path, expected: bytes = b"") -> Fingerprint:
    """Return the fingerprint of a store's table. expected: the digest that the store has, once its session is begun.

    Without the key nobody can tell from a digest whether a table that they have in mind is this one.
    """
    changed = (
        f"{path} holds a session on another table: rows, or what is used of them, differ. Nothing was answered or "
        "spent. Open the table it was begun with"
    )
    return Fingerprint(changed, store_key(path, create=False), expected)


def store_key(path: Path, *, create: bool) -> bytes:
    """The key of a store, from the file beside it, which only its owner may read; made with the store."""
    place = path.with_name(f"{path.name}.key")
    if create and not place.exists():
        try:
            _make_key(place)
        except OSError as error:
            raise MilepostError(f"{place} cannot be written: {error.strerror}") from None
    try:
        key = place.read_bytes()
    except OSError:
        raise MilepostError(
            f"{place} cannot be read: it holds the key by which {path.name} knows its table; put it back beside it"
        ) from None
    if len(key) != KEY_BYTES:
        raise MilepostError(f"{place} is damaged: a key has {KEY_BYTES} bytes, it has {len(key)}; put a backup there")
    return key


def _make_key(place: Path) -> None:
    """As a whole or not at all, and on the disk; nobody else does so now, because the store is being written."""
    handle, name = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}-")  # which only its owner may read
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(secrets.token_bytes(KEY_BYTES))
            stream.flush()
            os.fsync(stream.fileno())
        Path(name).replace(place)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    with suppress(OSError):  # where folders cannot be opened
        folder = os.open(place.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

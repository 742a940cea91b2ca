"""Fingerprint: whether a table is the one that a session was begun with, told by a keyed digest of its records."""

import hmac
import os
import secrets
import tempfile
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from milepost.errors import MilepostError
from milepost.reading import blocks
from milepost.table import Table

KEY_BYTES = 32


def fingerprint(table: Table, key: bytes) -> bytes:
    """HMAC-SHA-256 of all records that are used, in their order, as the space reads them, and their weights.

    Without the key nobody can tell from it whether a table that they have in mind is this one.
    """
    digest = hmac.new(key, digestmod=sha256)
    rows = 0
    for block in blocks(table.data, table.space, table.columns, 1, table.roles, table.chosen):
        digest.update((block.points + 0.0).tobytes())
        digest.update(b"" if block.weight is None else block.weight.tobytes())
        rows += len(block.points)
    digest.update(rows.to_bytes(8, "big"))
    return digest.digest()


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

"""Fingerprint: whether a table is the one that a session was begun with, told by a keyed digest of its records."""

import hmac
import os
import secrets
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
            handle = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "wb") as stream:
                stream.write(secrets.token_bytes(KEY_BYTES))
                stream.flush()
                os.fsync(stream.fileno())
        except FileExistsError:
            pass  # another process was quicker
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

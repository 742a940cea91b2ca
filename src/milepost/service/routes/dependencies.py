"""Access: which key a request came with, and what its role allows."""

from typing import Annotated

from fastapi import Depends, Request

from milepost.service.auth import CURATOR
from milepost.service.database import Key
from milepost.service.errors import RefusedError


async def caller(request: Request) -> Key:
    """The key, which the gate has found."""
    key: Key = request.state.key
    return key


async def curator(request: Request) -> Key:
    """The same, refused unless it is a curator's."""
    key = await caller(request)
    if key.role != CURATOR:
        raise RefusedError("forbidden")
    return key


Caller = Annotated[Key, Depends(caller)]
Curator = Annotated[Key, Depends(curator)]


def reach(key: Key) -> str | None:
    """Whose sessions a key may look at; None for all."""
    return None if key.role == CURATOR else key.name

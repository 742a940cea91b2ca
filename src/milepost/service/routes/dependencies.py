"""Access: which key a request came with, and what its role allows."""

from typing import Annotated

from fastapi import Depends, Request

from milepost.service.auth import CURATOR
from milepost.service.database import ApiKey
from milepost.service.errors import RefusedError


async def current_key(request: Request) -> ApiKey:
    """The key, which the gate has found."""
    key: ApiKey = request.state.key
    return key


async def curator_key(request: Request) -> ApiKey:
    """The same, refused unless it is a curator's."""
    key = await current_key(request)
    if key.role != CURATOR:
        raise RefusedError("forbidden")
    return key


Caller = Annotated[ApiKey, Depends(current_key)]
Curator = Annotated[ApiKey, Depends(curator_key)]


def visible_owner(key: ApiKey) -> str | None:
    """Whose sessions a key may look at; None for all."""
    return None if key.role == CURATOR else key.name

"""Dependencies of routes: the key of a request, and the permissions of its role."""

from typing import Annotated

from fastapi import Depends, Request

from milepost.service.auth import CURATOR
from milepost.service.database import ApiKey
from milepost.service.errors import RefusedError


async def current_key(request: Request) -> ApiKey:
    """Return the key of a request, which the middleware has checked."""
    key: ApiKey = request.state.key
    return key


async def curator_key(request: Request) -> ApiKey:
    """Return the key of a request, and refuse one that is not a curator's."""
    key = await current_key(request)
    if key.role != CURATOR:
        raise RefusedError("forbidden")
    return key


Caller = Annotated[ApiKey, Depends(current_key)]
Curator = Annotated[ApiKey, Depends(curator_key)]


def visible_owner(key: ApiKey) -> str | None:
    """Return the analyst whose sessions a key may see, or None for all."""
    return None if key.role == CURATOR else key.name

"""Spaces: what a point is, how far two points are, and the map of points into weighted ℓ₁."""

from typing import Any

from milepost.errors import MilepostError
from milepost.spaces.base import Hosts, Space
from milepost.spaces.lp import L1

__all__ = ["L1", "Hosts", "Space", "space_from_json"]

KINDS: dict[str, type[L1]] = {L1.kind: L1}


def space_from_json(card: dict[str, Any]) -> Space:
    """The space that `to_json` described."""
    kind = card.get("kind")
    if kind not in KINDS:
        raise MilepostError(f"unknown space {kind!r}; this version knows {', '.join(KINDS)}")
    return KINDS[kind].from_json(card)

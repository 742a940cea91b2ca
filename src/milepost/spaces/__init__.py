"""Spaces: what a point is, how far two points are, and the map of points into weighted ℓ₁."""

from typing import Any

from milepost._typing import AnyArray
from milepost.errors import MilepostError
from milepost.spaces.angular import Angular
from milepost.spaces.arbitrary import AnyMetric
from milepost.spaces.base import Hosts, Space
from milepost.spaces.lp import L1, L2, Lp
from milepost.spaces.sphere import GreatCircle
from milepost.spaces.table import Gower, Hamming

__all__ = [
    "L1",
    "L2",
    "Angular",
    "AnyMetric",
    "Gower",
    "GreatCircle",
    "Hamming",
    "Hosts",
    "Lp",
    "Space",
    "space_from_json",
]

KINDS: dict[str, type[L1 | L2 | Lp | GreatCircle | Angular | Gower | Hamming | AnyMetric]] = {
    kind.kind: kind for kind in (L1, L2, Lp, GreatCircle, Angular, Gower, Hamming, AnyMetric)
}


def space_from_json(card: dict[str, Any], tensors: dict[str, AnyArray]) -> Space:
    """The space that `to_json` and `tensors` described."""
    kind = card.get("kind")
    if kind not in KINDS:
        raise MilepostError(f"unknown space {kind!r}; this version knows {', '.join(KINDS)}")
    return KINDS[kind].from_json(card, tensors)

"""All spaces by the kind that a card names."""

from typing import Any

from milepost._typing import AnyArray
from milepost.errors import MilepostError
from milepost.spaces.angular import Angular
from milepost.spaces.arbitrary import AnyMetric
from milepost.spaces.base import Space
from milepost.spaces.geographic import GreatCircle
from milepost.spaces.lp import L1, L2, Lp
from milepost.spaces.mixed import Gower, Hamming

KINDS: dict[str, type[L1 | L2 | Lp | GreatCircle | Angular | Gower | Hamming | AnyMetric]] = {
    kind.kind: kind for kind in (L1, L2, Lp, GreatCircle, Angular, Gower, Hamming, AnyMetric)
}


def space_from_json(card: dict[str, Any], tensors: dict[str, AnyArray]) -> Space:
    """Return the space that `to_json` and `tensors` described."""
    kind = card.get("kind")
    if kind not in KINDS:
        raise MilepostError(f"unknown space {kind!r}; this version knows {', '.join(KINDS)}")
    return KINDS[kind].from_json(card, tensors)

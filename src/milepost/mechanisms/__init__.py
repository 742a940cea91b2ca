"""Mechanisms: noise on a statistic. None of them sees a record or a metric."""

from milepost.mechanisms.base import Answerer, Mechanism
from milepost.mechanisms.hats import Hats, HatSags
from milepost.mechanisms.slopes import SlopeCounts, Slopes
from milepost.mechanisms.tangents import TangentLines, Tangents

__all__ = ["ANSWERERS", "NAMES", "Answerer", "Mechanism", "mechanisms"]

ANSWERERS: dict[str, type[Answerer]] = {
    answerer.mechanism: answerer for answerer in (SlopeCounts, HatSags, TangentLines)
}
NAMES = tuple(ANSWERERS)


def mechanisms(beta: float) -> dict[str, Mechanism]:
    """Every mechanism by name; beta is the failure probability of those that promise a worst case."""
    return {Slopes.name: Slopes(), Hats.name: Hats(), Tangents.name: Tangents(beta)}

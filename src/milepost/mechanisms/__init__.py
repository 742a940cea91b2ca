"""Mechanisms: noise on a statistic. None of them sees a record or a metric."""

from milepost.mechanisms.base import Answerer, DirectMechanism, HostAnswerer, HostMechanism
from milepost.mechanisms.hats import Hats, HatSags
from milepost.mechanisms.per_query import LAWS, NoisySums, PerQuery
from milepost.mechanisms.slopes import SlopeCounts, Slopes
from milepost.mechanisms.tangents import TangentLines, Tangents

__all__ = ["ANSWERERS", "DIRECT_ANSWERERS", "NAMES", "Answerer", "direct_mechanisms", "mechanisms"]

ANSWERERS: dict[str, type[HostAnswerer]] = {
    answerer.mechanism: answerer for answerer in (SlopeCounts, HatSags, TangentLines)
}
DIRECT_ANSWERERS: dict[str, type[NoisySums]] = dict.fromkeys(LAWS, NoisySums)
NAMES = (*ANSWERERS, *DIRECT_ANSWERERS)


def mechanisms(beta: float) -> dict[str, HostMechanism]:
    """Those that work on host coordinates, by name; beta is the failure probability of those with a worst case."""
    return {Slopes.name: Slopes(), Hats.name: Hats(), Tangents.name: Tangents(beta)}


def direct_mechanisms() -> dict[str, DirectMechanism]:
    """Those that work on exact distances to given queries, by name."""
    return {name: PerQuery(name) for name in LAWS}

"""Mechanisms: noise on a statistic. None of them sees a record or a metric."""

from milepost.mechanisms.base import Answerer, DirectMechanism, HostAnswerer, HostMechanism
from milepost.mechanisms.field import Field
from milepost.mechanisms.hats import Hats, HatSags
from milepost.mechanisms.net import Net
from milepost.mechanisms.per_query import LAWS, PerQuery
from milepost.mechanisms.slopes import SlopeCounts, Slopes
from milepost.mechanisms.tangents import TangentLines, Tangents

__all__ = ["ANSWERERS", "DIRECT", "NAMES", "Answerer", "mechanisms", "spends_epsilon"]

ANSWERERS: dict[str, type[HostAnswerer]] = {
    answerer.mechanism: answerer for answerer in (SlopeCounts, HatSags, TangentLines)
}
DIRECT: dict[str, DirectMechanism] = {
    Field.name: Field(),
    **{name: PerQuery(name) for name in LAWS},
    Net.name: Net(),
}
NAMES = (*ANSWERERS, *DIRECT)


def spends_epsilon(name: str) -> bool:
    """Whether a mechanism is pure ε whatever δ is."""
    return (mechanisms(beta=0.05) | DIRECT)[name].pure


def mechanisms(beta: float) -> dict[str, HostMechanism]:
    """Those that work on host coordinates, by name; beta is the failure probability of those with a worst case."""
    return {Slopes.name: Slopes(), Hats.name: Hats(), Tangents.name: Tangents(beta)}

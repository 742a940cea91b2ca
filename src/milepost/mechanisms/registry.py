"""All mechanisms by name: those on embedding coordinates, and those for given queries."""

from milepost.mechanisms.base import DirectMechanism, HostAnswerer, HostMechanism
from milepost.mechanisms.coordinate.hats import Hats, HatSags
from milepost.mechanisms.coordinate.slopes import SlopeCounts, Slopes
from milepost.mechanisms.paper.tangents import TangentLines, Tangents
from milepost.mechanisms.query.field import Field
from milepost.mechanisms.query.net import Net
from milepost.mechanisms.query.per_query import LAWS, PerQuery

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

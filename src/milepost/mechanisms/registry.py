"""All mechanisms by name: those on embedding coordinates, and those for given queries."""

from milepost.mechanisms.base import CoordinateMechanism, CoordinateStatistic, QueryMechanism
from milepost.mechanisms.coordinate.hats import Hats, HatSags
from milepost.mechanisms.coordinate.slopes import SlopeCounts, Slopes
from milepost.mechanisms.paper.tangents import TangentLines, Tangents
from milepost.mechanisms.query.field import Field
from milepost.mechanisms.query.net import Net
from milepost.mechanisms.query.per_query import LAWS, PerQuery

COORDINATE_STATISTICS: dict[str, type[CoordinateStatistic]] = {
    statistic.mechanism: statistic for statistic in (SlopeCounts, HatSags, TangentLines)
}


QUERY_MECHANISMS: dict[str, QueryMechanism] = {
    Field.name: Field(),
    **{name: PerQuery(name) for name in LAWS},
    Net.name: Net(),
}


MECHANISM_NAMES = (*COORDINATE_STATISTICS, *QUERY_MECHANISMS)


def spends_epsilon(name: str) -> bool:
    """Return whether a mechanism spends pure ε whatever δ is."""
    return (coordinate_mechanisms(failure_probability=0.05) | QUERY_MECHANISMS)[name].pure


def coordinate_mechanisms(failure_probability: float) -> dict[str, CoordinateMechanism]:
    """Return the mechanisms on embedding coordinates, by name; failure_probability: that of tangents."""
    return {Slopes.name: Slopes(), Hats.name: Hats(), Tangents.name: Tangents(failure_probability)}

"""All mechanisms by name: those on embedding coordinates, those for given queries, and those of users."""

from typing import Any, TypeAlias

from milepost._typing import AnyArray
from milepost._validation import did_you_mean
from milepost.errors import MilepostError
from milepost.mechanisms.base import ChartMechanism, CoordinateMechanism, NoisyStatistic, QueryMechanism
from milepost.mechanisms.coordinate.curves import Curves
from milepost.mechanisms.coordinate.hats import Hats
from milepost.mechanisms.coordinate.slopes import Slopes
from milepost.mechanisms.paper.tangents import Tangents
from milepost.mechanisms.planar.quadtree import Quadtree
from milepost.mechanisms.query.basis import Basis
from milepost.mechanisms.query.field import Field
from milepost.mechanisms.query.net import Net
from milepost.mechanisms.query.per_query import LAWS, PerQuery
from milepost.privacy.guarantee import Guarantee
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.base import Space
from milepost.spaces.queries import Queries

AnyMechanism: TypeAlias = CoordinateMechanism | QueryMechanism | ChartMechanism
AUTO = "auto"

_BUILT_IN: tuple[AnyMechanism, ...] = (
    Slopes(),
    Hats(),
    Quadtree(),
    Tangents(),
    Basis(),
    Field(),
    *map(PerQuery, LAWS),
    Net(),
)
MECHANISMS = {mechanism.name: mechanism for mechanism in _BUILT_IN}
MECHANISM_NAMES = tuple(MECHANISMS)  # of the mechanisms that "auto" selects from
_registered = dict(MECHANISMS)  # and those of users


def register_mechanism(mechanism: AnyMechanism) -> None:
    """Register a mechanism, so that `release` takes its name and `load` reads its files.

    Parameters
    ----------
    mechanism
        An object of a subclass of `CoordinateMechanism`, `QueryMechanism` or `ChartMechanism`.

    Raises
    ------
    MilepostError
        If another mechanism has its name, or it is no mechanism.

    Examples
    --------
    >>> import milepost as mp
    >>> from milepost.mechanisms.coordinate.slopes import Slopes
    >>> class FlatSlopes(Slopes):
    ...     name = "flat-slopes"
    >>> mp.register_mechanism(FlatSlopes())
    """
    check_mechanism(mechanism)
    if mechanism.name in _registered:
        raise MilepostError(f"there is a mechanism {mechanism.name!r} already; give this one another name")
    _registered[mechanism.name] = mechanism


def check_mechanism(mechanism: Any) -> None:
    """Refuse an object that is no mechanism, and one that has the name of another."""
    if not isinstance(mechanism, AnyMechanism):
        raise MilepostError(
            "mechanism must be a name or an object of CoordinateMechanism, QueryMechanism or ChartMechanism, got "
            f"{mechanism!r}"
        )
    name = getattr(mechanism, "name", None)
    if not isinstance(name, str) or not name.isprintable() or not 1 <= len(name) <= 100 or name == AUTO:
        raise MilepostError(f"the name of a mechanism must be 1 to 100 letters and not {AUTO!r}, got {name!r}")
    if name in _registered and type(_registered[name]) is not type(mechanism):
        raise MilepostError(f"there is a mechanism {name!r} already; give this one another name")


def mechanism_named(name: str, failure_probability: float) -> AnyMechanism:
    """Return the mechanism of a name, for promises that fail with this probability."""
    if name not in _registered:
        suggestion = did_you_mean(name, [AUTO, *_registered])
        raise MilepostError(f"unknown mechanism {name!r}; choose from {AUTO}, {', '.join(_registered)}{suggestion}")
    return _registered[name].with_failure_probability(failure_probability)


def is_registered(name: Any) -> bool:
    """Return whether there is a mechanism of this name."""
    return name in _registered


def load_statistic(
    name: str, space: Space, queries: Queries | None, n: int, parameters: Any, tensors: dict[str, AnyArray]
) -> NoisyStatistic:
    """Return the statistic that a mechanism of this name has released; n: as for `NoisyStatistic.load`."""
    mechanism = _registered[name]
    takes = isinstance(mechanism, QueryMechanism) and mechanism.takes(queries)
    if takes != (queries is not None):
        raise MilepostError(f"the file's card has queries that {name} does not answer, or lacks those that it does")
    embedded = isinstance(mechanism, CoordinateMechanism)
    public = queries if queries is not None else space.embedding if embedded else space
    return mechanism.statistic.from_file(name, public, n, parameters, tensors)


def curve_names() -> list[str]:
    """Return the names of the mechanisms that release curves of single coordinates, with a known law of noise."""
    names = coordinate_names()
    return [name for name in names if issubclass(_registered[name].statistic, Curves)]


def coordinate_names() -> list[str]:
    """Return the names of the mechanisms that answer every point."""
    return [name for name, mechanism in _registered.items() if isinstance(mechanism, CoordinateMechanism)]


def capable_names(
    change: ProtectedChange, guarantee: Guarantee, query: bool, queries: Queries | None = None
) -> list[str]:
    """Return the names of the mechanisms that can give a guarantee: those for given queries, or those for any point.

    queries: the given ones, if any; mechanisms that do not answer them are left out.
    """
    result = []
    for name, mechanism in _registered.items():
        if isinstance(mechanism, QueryMechanism) == query:
            try:
                mechanism.check(change, guarantee)
                if isinstance(mechanism, QueryMechanism):
                    mechanism.check_queries(queries)
            except MilepostError:
                continue
            result.append(name)
    return result


def check_accounting(name: str, guarantee: Guarantee) -> None:
    """Refuse a card whose guarantee is spent in a way that its mechanism does not have."""
    spent = _registered[name].accounted(guarantee)
    if not spent.pure and spent.accounting != guarantee.accounting:
        raise MilepostError(f"the file's card has accounting {guarantee.accounting!r}, which {name} does not have")


def spends_epsilon(name: str) -> bool:
    """Return whether a mechanism spends pure ε whatever δ is; of one that is not registered, the weaker is assumed."""
    return name in _registered and _registered[name].pure

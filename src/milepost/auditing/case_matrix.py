"""Matrix: every mechanism that is noise on fixed numbers, by relation, guarantee and space, as users release it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations, product
from typing import Any, NamedTuple

from milepost.auditing import fixtures
from milepost.auditing.case import Case
from milepost.auditing.claims import Claim, Pure, gaussian
from milepost.auditing.fixtures import Fixture
from milepost.auditing.worst_case_search import Rows, Search, SearchedCase
from milepost.pipeline.interactive import interactive
from milepost.pipeline.release import release
from milepost.privacy.guarantee import Guarantee

PURE, ZCDP = Guarantee(3.0), Guarantee(7.0, 1e-6)
LABELS = ["a", "b"]
MAX_WEIGHT = 8.0


class Record(NamedTuple):
    """A record."""

    position: Any
    group: str = "a"
    weight: float = MAX_WEIGHT
    person: str = "somebody"


def rests(place: Any, other: Any) -> list[Rows]:
    """The rest of a table: one record in another place, so that the mover's cell is else empty; or a duplicate."""
    return [(Record(other, person="another"),), (Record(place, person="another"),)]


def replaced(places: Sequence[Any]) -> Iterator[tuple[Rows, Rows]]:
    """One record is in one place or another; it may be the only one."""
    for left, right in combinations(places, 2):
        for rest in [(), *rests(left, places[0])]:
            yield (*rest, Record(left)), (*rest, Record(right))


def added(places: Sequence[Any]) -> Iterator[tuple[Rows, Rows]]:
    """One record is there or not; in one of the groups where there are any."""
    for place in places:
        for rest in rests(place, places[0]):
            yield (*rest, Record(place)), rest


def grouped(places: Sequence[Any]) -> Iterator[tuple[Rows, Rows]]:
    """One record goes to another group, another place, or both."""
    for left, right in product(places, repeat=2):
        for group in LABELS:
            if (left, "a") != (right, group):
                rest = rests(left, places[0])[0]
                yield (*rest, Record(left)), (*rest, Record(right, group))


def weighted(places: Sequence[Any]) -> Iterator[tuple[Rows, Rows]]:
    """One record of the largest weight, or more, moves, or loses its weight."""
    for left, right in product(places, repeat=2):
        rest = rests(left, places[0])[0]
        yield (*rest, Record(left)), (*rest, Record(right, weight=0.0))
        if left != right:
            yield (*rest, Record(left, weight=9 * MAX_WEIGHT)), (*rest, Record(right))


def owned(places: Sequence[Any]) -> Iterator[tuple[Rows, Rows]]:
    """All rows of one person, three of which two count, go from one place to another, or to nowhere."""
    for left, right in combinations(places, 2):
        rest = rests(left, places[0])[0]
        yield (*rest, *[Record(left)] * 3), (*rest, *[Record(right)] * 3)
        yield (*rest, *[Record(left)] * 3), rest


class Relation(NamedTuple):
    """Pairs of neighboring tables, and what a release is told about them."""

    pairs: Callable[[Sequence[Any]], Iterator[tuple[Rows, Rows]]]
    said: dict[str, Any]
    roles: dict[str, str]  # from a release's word to a row's


GROUPS, WEIGHTS = {"labels": LABELS, "n": 1}, {"max_weight": MAX_WEIGHT, "n": 1}
RELATIONS = {
    "replace": Relation(replaced, {}, {}),
    "add-remove": Relation(added, {"neighbors": "add-remove", "n": 1}, {}),
    "replace, groups": Relation(grouped, GROUPS, {"groups": "group"}),
    "add-remove, groups": Relation(added, GROUPS | {"neighbors": "add-remove"}, {"groups": "group"}),
    "replace, weights": Relation(weighted, WEIGHTS, {"weights": "weight"}),
    "replace, two rows a person": Relation(owned, {"contributions": 2, "n": 1}, {"unit": "person"}),
}


def release_search(world: Fixture, relation: Relation, mechanism: str, guarantee: Guarantee) -> Search:
    """A search over the releases of a world's tables."""
    space = world.space()
    queries: dict[str, Any] = (
        {} if mechanism in ("slopes", "hats") or world.queries is None else {"queries": world.queries}
    )

    def run(rows: Rows) -> object:
        columns: dict[str, Any] = {
            word: [getattr(row, field) for row in rows] for word, field in relation.roles.items()
        }
        table = world.rows([row.position for row in rows])
        told: dict[str, Any] = {"epsilon": guarantee.epsilon, "delta": guarantee.delta, "mechanism": mechanism}
        return release(table, space, **told, **queries, **relation.said, **columns)

    return Search(run, relation.pairs(world.places))


def session_search(world: Fixture, relation: Relation, guarantee: Guarantee) -> Search:
    """A search over field's sessions: the world's queries are asked one after the other."""
    space = world.space()

    def run(rows: Rows) -> object:
        table = world.rows([row.position for row in rows])
        told: dict[str, Any] = {"epsilon": guarantee.epsilon, "delta": guarantee.delta, "mechanism": "field"}
        session = interactive(table, space, max_queries=len(world.queries), **told, **relation.said)
        return [session.ask(point) for point in world.queries]

    return Search(run, relation.pairs(world.places))


OTHERS = ("add-remove", "replace, groups", "replace, weights", "replace, two rows a person")
HOSTS = (fixtures.steps, fixtures.plane, fixtures.disc, fixtures.angles, fixtures.letters)


def slopes_cases() -> Iterator[Case]:
    """Steps, a plane, directions, labels and the earth; other relations on steps."""
    yield from _cases("slopes", ZCDP, (*HOSTS, fixtures.earth), (*OTHERS, "add-remove, groups"))


def hats_cases() -> Iterator[Case]:
    """The same spaces, and an interval of many cells; other relations on steps."""
    yield from _cases("hats", PURE, (*HOSTS, fixtures.line), (*OTHERS, "add-remove, groups"))


def gaussian_cases() -> Iterator[Case]:
    """Distances to queries in two spaces."""
    yield from _cases("gaussian", ZCDP, (fixtures.steps, fixtures.objects))


def laplace_cases() -> Iterator[Case]:
    """Distances to queries in two spaces."""
    yield from _cases("laplace", PURE, (fixtures.steps, fixtures.objects))


def net_cases() -> Iterator[Case]:
    """Pure and not, of queries that are near each other."""
    yield from _cases("net", PURE, (fixtures.objects, fixtures.line), OTHERS[:2])
    yield from _cases("net", ZCDP, (fixtures.objects, fixtures.line), OTHERS[:2])


def field_cases() -> Iterator[Case]:
    """All queries at once in three spaces, and one after the other in a session."""
    yield from _cases("field", ZCDP, (fixtures.steps, fixtures.earth, fixtures.letters))
    for name in ("replace", "add-remove"):
        search = session_search(replace(fixtures.line(), places=(0.0, 1.0, 0.5)), RELATIONS[name], ZCDP)
        yield SearchedCase.of("field", f"line, session, {name}", gaussian(ZCDP.rho), search)


def _cases(
    mechanism: str, guarantee: Guarantee, spaces: Sequence[Callable[[], Fixture]], others: Sequence[str] = OTHERS
) -> Iterator[Case]:
    """All spaces with a replaced record, the first one with other relations too."""
    claim: Claim = Pure(guarantee.epsilon) if guarantee.pure else gaussian(guarantee.rho)
    for make, name in [*((make, "replace") for make in spaces), *((spaces[0], name) for name in others)]:
        world = make()
        search = release_search(world, RELATIONS[name], mechanism, guarantee)
        yield SearchedCase.of(mechanism, f"{world.name}, {name}", claim, search)

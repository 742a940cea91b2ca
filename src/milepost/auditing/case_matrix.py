"""Cases of every mechanism that adds noise to fixed numbers, by neighboring relation, guarantee and space."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations, product
from typing import Any, NamedTuple

from milepost.auditing import fixtures
from milepost.auditing.case import Case
from milepost.auditing.claims import Claim, Gaussian, Pure
from milepost.auditing.fixtures import Fixture
from milepost.auditing.worst_case_search import Rows, Search, SearchedCase
from milepost.pipeline.interactive import interactive
from milepost.pipeline.release import release
from milepost.pipeline.selection import candidates
from milepost.privacy.guarantee import Guarantee

PURE, APPROXIMATE = Guarantee(3.0), Guarantee(7.0, 1e-6)
LABELS = ["a", "b"]
MAX_WEIGHT = 8.0


class Record(NamedTuple):
    """A record of a table, with the columns that some of the relations need."""

    position: Any
    group: str = "a"
    weight: float = MAX_WEIGHT
    person: str = "somebody"


def other_rows(position: Any, other: Any) -> list[Rows]:
    """Return two tables for the other rows: a row at `other`, so that the cell of `position` is empty; a duplicate."""
    return [(Record(other, person="another"),), (Record(position, person="another"),)]


def replacement_pairs(positions: Sequence[Any]) -> Iterator[tuple[Rows, Rows]]:
    """Yield pairs in which one record, sometimes the only one, moves from one position to another."""
    for left, right in combinations(positions, 2):
        for rest in [(), *other_rows(left, positions[0])]:
            yield (*rest, Record(left)), (*rest, Record(right))


def addition_pairs(positions: Sequence[Any]) -> Iterator[tuple[Rows, Rows]]:
    """Yield pairs in which one record is present or absent."""
    for position in positions:
        for rest in other_rows(position, positions[0]):
            yield (*rest, Record(position)), rest


def group_pairs(positions: Sequence[Any]) -> Iterator[tuple[Rows, Rows]]:
    """Yield pairs in which one record changes its group, its position, or both."""
    for left, right in product(positions, repeat=2):
        for group in LABELS:
            if (left, "a") != (right, group):
                rest = other_rows(left, positions[0])[0]
                yield (*rest, Record(left)), (*rest, Record(right, group))


def weight_pairs(positions: Sequence[Any]) -> Iterator[tuple[Rows, Rows]]:
    """Yield pairs in which a record moves or loses its weight; its weight is the maximum, or above it and clipped."""
    for left, right in product(positions, repeat=2):
        rest = other_rows(left, positions[0])[0]
        yield (*rest, Record(left)), (*rest, Record(right, weight=0.0))
        if left != right:
            yield (*rest, Record(left, weight=9 * MAX_WEIGHT)), (*rest, Record(right))


def person_pairs(positions: Sequence[Any]) -> Iterator[tuple[Rows, Rows]]:
    """Yield pairs in which all three rows of one person, two of which count, move or disappear."""
    for left, right in combinations(positions, 2):
        rest = other_rows(left, positions[0])[0]
        yield (*rest, *[Record(left)] * 3), (*rest, *[Record(right)] * 3)
        yield (*rest, *[Record(left)] * 3), rest


class Relation(NamedTuple):
    """Pairs of neighboring tables, and the parameters of `release` for them.

    record_fields: for each parameter of `release` that takes a column, the field of a record that holds it.
    """

    pairs: Callable[[Sequence[Any]], Iterator[tuple[Rows, Rows]]]
    params: dict[str, Any]
    record_fields: dict[str, str]


GROUPS, WEIGHTS = {"labels": LABELS, "n": 1}, {"max_row_weight": MAX_WEIGHT, "n": 1}
RELATIONS = {
    "replace": Relation(replacement_pairs, {}, {}),
    "add-remove": Relation(addition_pairs, {"neighbors": "add-remove", "n": 1}, {}),
    "replace, groups": Relation(group_pairs, GROUPS, {"groups": "group"}),
    "add-remove, groups": Relation(addition_pairs, GROUPS | {"neighbors": "add-remove"}, {"groups": "group"}),
    "replace, weights": Relation(weight_pairs, WEIGHTS, {"row_weights": "weight"}),
    "replace, two rows a person": Relation(person_pairs, {"contributions": 2, "n": 1}, {"privacy_unit": "person"}),
}


def release_options(
    fixture: Fixture, relation: Relation, mechanism: Any, guarantee: Guarantee, rows: Rows
) -> dict[str, Any]:
    """Return the options with which `release` takes a table of these rows."""
    options: dict[str, Any] = {"epsilon": guarantee.epsilon, "delta": guarantee.delta, "mechanism": mechanism}
    if fixture.queries is not None and candidates(fixture.space(), fixture.queries, mechanism).query:
        options["queries"] = fixture.queries
    columns = {name: [getattr(row, field) for row in rows] for name, field in relation.record_fields.items()}
    return options | relation.params | columns


def release_search(fixture: Fixture, relation: Relation, mechanism: str, guarantee: Guarantee) -> Search:
    """Return a search over the releases of a fixture's tables."""
    space = fixture.space()

    def run(rows: Rows) -> object:
        options = release_options(fixture, relation, mechanism, guarantee, rows)
        return release(fixture.rows([row.position for row in rows]), space, **options)

    return Search(run, relation.pairs(fixture.positions))


def session_search(fixture: Fixture, relation: Relation, guarantee: Guarantee) -> Search:
    """Return a search over sessions of `field`, which answer the fixture's queries one after the other."""
    space = fixture.space()

    def run(rows: Rows) -> object:
        table = fixture.rows([row.position for row in rows])
        options: dict[str, Any] = {"epsilon": guarantee.epsilon, "delta": guarantee.delta, "mechanism": "field"}
        session = interactive(table, space, max_queries=len(fixture.queries), **options, **relation.params)
        return [session.ask(point) for point in fixture.queries]

    return Search(run, relation.pairs(fixture.positions))


OTHER_RELATIONS = ("add-remove", "replace, groups", "replace, weights", "replace, two rows a person")
EMBEDDED = (fixtures.steps, fixtures.plane, fixtures.disc, fixtures.angles, fixtures.letters)


def slopes_cases() -> Iterator[Case]:
    """Yield cases of slopes on steps, a plane, directions, labels and the earth; other relations on steps.

    On a disc, a ball and the earth answers are counted from an anchor; a row is also added there.
    """
    spaces = (*EMBEDDED, fixtures.ball, fixtures.earth)
    yield from _cases("slopes", APPROXIMATE, spaces, (*OTHER_RELATIONS, "add-remove, groups"))
    for make in (fixtures.disc, fixtures.ball, fixtures.earth):
        yield _case("slopes", APPROXIMATE, make, "add-remove")


def hats_cases() -> Iterator[Case]:
    """Yield cases of hats on steps, a plane, directions, labels and an interval; other relations on steps."""
    yield from _cases("hats", PURE, (*EMBEDDED, fixtures.line), (*OTHER_RELATIONS, "add-remove, groups"))


def gaussian_cases() -> Iterator[Case]:
    """Yield cases of Gaussian noise on distances to queries in two spaces, at a narrow range, and on weighted sums."""
    yield from _cases("gaussian", APPROXIMATE, (fixtures.steps, fixtures.objects, fixtures.middle, fixtures.sums))
    yield _case("gaussian", APPROXIMATE, fixtures.sums, "add-remove")


def laplace_cases() -> Iterator[Case]:
    """Yield cases of Laplace noise on distances to queries in two spaces, at a narrow range, and on weighted sums."""
    yield from _cases("laplace", PURE, (fixtures.steps, fixtures.objects, fixtures.middle, fixtures.sums))
    yield _case("laplace", PURE, fixtures.sums, "add-remove")


def net_cases() -> Iterator[Case]:
    """Yield cases of net with pure and approximate guarantees, for queries that are near each other."""
    yield from _cases("net", PURE, (fixtures.objects, fixtures.line), OTHER_RELATIONS[:2])
    yield from _cases("net", APPROXIMATE, (fixtures.objects, fixtures.line), OTHER_RELATIONS[:2])


def basis_cases() -> Iterator[Case]:
    """Yield cases of basis in a universe, on squares and on the earth; other relations in the universe."""
    spaces = (fixtures.universe, fixtures.square, fixtures.plane, fixtures.disc, fixtures.earth)
    yield from _cases("basis", PURE, spaces, (*OTHER_RELATIONS, "add-remove, groups"))
    yield _case("basis", PURE, fixtures.square, "add-remove")


def field_cases() -> Iterator[Case]:
    """Yield cases of field with all queries at once, weighted sums among them, and one after the other in a session.

    With a pure guarantee the worst queries of a session are those whose innovations change by the same amount.
    """
    line = replace(fixtures.line(), positions=(0.0, 1.0, 0.5))
    worst = replace(line, queries=[[(2 - math.sqrt(2)) / 4], [0.0]])
    for guarantee, fixture, sums in ((APPROXIMATE, line, fixtures.sums), (PURE, worst, fixtures.difference)):
        yield from _cases("field", guarantee, (fixtures.steps, fixtures.earth, fixtures.letters, sums))
        for asked, name in product((fixture, sums()), ("replace", "add-remove")):
            search = session_search(asked, RELATIONS[name], guarantee)
            yield SearchedCase.of("field", f"{asked.name}, session, {name}", _claim(guarantee), search)


def quadtree_cases() -> Iterator[Case]:
    """Yield cases of quadtree in a plane, a disc and on the earth, with both laws; other relations in a plane.

    A corner of the space is a corner of the cells of every level: a record there has all of its weight at one of them.
    """
    yield from _cases("quadtree", PURE, (fixtures.plane, fixtures.disc, fixtures.earth))
    yield from _cases("quadtree", APPROXIMATE, (fixtures.plane, fixtures.disc), OTHER_RELATIONS[:2])


def _cases(
    mechanism: str,
    guarantee: Guarantee,
    spaces: Sequence[Callable[[], Fixture]],
    others: Sequence[str] = OTHER_RELATIONS,
) -> Iterator[Case]:
    """Yield a case for each space with a replaced record, and cases of other relations on the first space."""
    for make, name in [*((make, "replace") for make in spaces), *((spaces[0], name) for name in others)]:
        yield _case(mechanism, guarantee, make, name)


def _case(mechanism: str, guarantee: Guarantee, make: Callable[[], Fixture], relation: str) -> Case:
    """Return the case of a space and a relation."""
    fixture = make()
    search = release_search(fixture, RELATIONS[relation], mechanism, guarantee)
    return SearchedCase.of(mechanism, f"{fixture.name}, {relation}", _claim(guarantee), search)


def _claim(guarantee: Guarantee) -> Claim:
    return Pure(guarantee.epsilon) if guarantee.pure else Gaussian(guarantee.mu)

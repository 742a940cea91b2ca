"""`python -m tests.attacks.costs`: what pairs of neighboring tables cost, exactly, as a share of what is claimed.

A case is a space, a mechanism and a relation. One person's rows take every position in the space that is worth trying
(opposite corners, the borders of a ball, the middle, what is outside, a few at random), in every group, with every
weight; the rest of the table stays. Each table is released with noise that is recorded instead of drawn, and the cost
of every two neighbors among them follows from the integers and scales that the noise functions received, in rational
arithmetic. A space or a release that is refused is counted separately, and is no pair.
"""

import argparse
import itertools
import math
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import milepost as mp
from milepost._typing import FloatArray
from milepost.mechanisms.registry import mechanism_named
from milepost.spaces.base import Space
from milepost.spaces.embeddings.projected import Projected
from tests.mechanisms.contract import Transcript, pairs
from tests.spaces.farthest_pair import farthest_pair

TOLERANCE = 1e-9  # of a share: claims are floats, costs are exact
MAX_WEIGHT = 8.0
LABELS = ["a", "b"]
STRANGER = "nobody knows"  # no label of any column


# spaces


@dataclass(frozen=True)
class SpaceFixture:
    """A space, and positions of a record in it; the first two are a pair that should cost the most.

    far: whether its bounds are so far from 0 that they may be refused. single: whether a row is one object.
    """

    name: str
    make: Callable[[], Space]
    positions: Callable[[Any], Sequence[Any]]
    far: bool = False
    single: bool = False

    @property
    def has_columns(self) -> bool:
        """Whether the distances that records can have are public: in a plane, or with a universe; or it is refused."""
        try:
            space = self.make()
        except mp.MilepostError:
            return True
        return space.chart is not None or getattr(space, "records", None) is not None


def box_positions(space: Any) -> list[tuple[float, ...]]:
    """Return the corners farthest apart in embedding coordinates, others, the middle, outside, and inside."""
    low, high = np.array(space.low), np.array(space.high)
    random = np.random.default_rng(len(low))
    farthest = farthest_pair(space) if isinstance(space, Projected) else np.stack([low, high])
    inside = low + (high - low) * random.random(len(low))
    rows = [
        *farthest,
        np.where(np.arange(len(low)) % 2, low, high),
        high,
        low / 2 + high / 2,
        np.full(len(low), math.inf),
        inside,
    ]
    return _different(rows)


def ball_positions(space: Any) -> list[tuple[float, ...]]:
    """Return both ends of the longest diameter in the embedding, ends of others, the centre, outside, and inside."""
    random = np.random.default_rng(space.width)
    first, even = np.eye(space.width)[0], np.ones(space.width) / math.sqrt(space.width)
    sides = [even, first, first * 0, 1e6 * even, random.uniform(-0.5, 0.5, space.width)]
    return _different([*farthest_pair(space), *(space.center + space.radius * side for side in sides)])


def cap_positions(space: Any) -> list[tuple[float, ...]]:
    """Return the ends of two diameters, the centre, its antipode, and a point between."""
    south, north, west, east = (space.points_around(space.center, space.radius_km)[k] for k in (2, 0, 3, 1))
    antipode = np.array([-space.latitude, space.longitude + 180])
    half = space.points_around(space.center, space.radius_km / 2)[0]
    return _different([south, north, west, east, space.center, antipode, half])


def angle_positions(space: Any) -> list[tuple[float, ...]]:
    """Return opposite vectors, axes, the zero vector, and vectors of very different sizes."""
    random = np.random.default_rng(space.width).standard_normal((2, space.width))
    first = np.eye(space.width)[0]
    rows = [random[0], -random[0], first, -first, np.zeros(space.width), random[1] * 1e300, random[1] * -1e-300]
    return _different(rows)


def table_positions(space: Any) -> list[tuple[Any, ...]]:
    """Return rows that differ in every column, and in some."""
    ends = []
    for part in space.parts:
        low, high = (getattr(part, side, None) for side in ("low", "high"))
        names = [part.user_point(k) for k in range(2)] if low is None else [low, high]
        ends.append((*names, STRANGER if getattr(part, "labels", ()) else names[0]))
    first, second, third = (tuple(column[k] for column in ends) for k in range(3))
    mixed = tuple((first, second)[k % 2][k] for k in range(len(ends)))
    return list(dict.fromkeys([first, second, third, mixed]))


def _different(rows: Iterable[FloatArray]) -> list[tuple[float, ...]]:
    return list(dict.fromkeys(tuple(np.asarray(row).tolist()) for row in rows))


def numbers(count: int) -> Callable[[Any], list[int]]:
    return lambda _: list(range(count))


ROADS = [[0, 1, 4, 9], [1, 0, 3, 2], [4, 3, 0, 1], [9, 2, 1, 0]]  # no triangle inequality, and beyond the diameter
CROSSED = [[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 0.1], [1, 0, 0.1, 0]]  # near queries, records that tell them apart


def space_fixtures() -> list[SpaceFixture]:
    """Return every kind of space, of ordinary and of extreme shape."""
    box, ball, cap, angle, table = box_positions, ball_positions, cap_positions, angle_positions, table_positions
    thin = {"a thousand millionth": 1e-9, "a column at the limit": 2e-15, "constant": 0.0}
    result = [
        SpaceFixture("l1, one column", lambda: mp.L1([(0, 1)]), box),
        SpaceFixture("l1, weights", lambda: mp.L1([(0, 100), (-1, 1), (5, 6)], weights=[0.02, 3, 1]), box),
        SpaceFixture("l1, steps", lambda: mp.L1([(18, 90), (0, 2.2)], step=[1, 0]), box),
        SpaceFixture("l1, huge", lambda: mp.L1([(-4e98, 4e98), (0, 1e98)]), box),
        SpaceFixture("l1, tiny", lambda: mp.L1([(-4e-99, 4e-99), (0, 1e-98)]), box),
        SpaceFixture("l2, one column", lambda: mp.L2([(0, 1)]), box),
        SpaceFixture("l2, clipped", lambda: mp.L2([(0, 1)] * 4, directions=8, clip=0.5), box),
        SpaceFixture("l2, huge", lambda: mp.L2([(-4e98, 4e98)] * 3, directions=8), box),
        SpaceFixture("l2, tiny", lambda: mp.L2([(-4e-99, 4e-99)] * 3, directions=8), box),
        SpaceFixture("l2, many columns", lambda: mp.L2([(0, 1)] * 20, directions=20), box),
        SpaceFixture("ball, clipped", lambda: mp.L2(center=[0] * 4, radius=1, directions=8, clip=0.5), ball),
        SpaceFixture("ball, huge", lambda: mp.L2(center=[1e98, 0, 0], radius=4e99, directions=8), ball),
        SpaceFixture("ball, tiny", lambda: mp.L2(center=[1e-99, 0, 0], radius=4e-98, directions=8), ball),
        SpaceFixture("cap", lambda: mp.GreatCircle((52, 13), 300, directions=8), cap),
        SpaceFixture("cap, a metre", lambda: mp.GreatCircle((52, 13), 1e-3, directions=8), cap),
        SpaceFixture("cap, at a pole", lambda: mp.GreatCircle((90, 0), 3000, directions=8), cap),
        SpaceFixture("cap, half of the earth", lambda: mp.GreatCircle((-80, 179), 10_007, directions=8), cap),
        *(SpaceFixture(f"angles, {d}", partial(mp.Angular, d, directions=max(8, d)), angle) for d in (1, 2, 3, 8)),
        SpaceFixture(
            "gower", lambda: mp.Gower([mp.number(0, 9), mp.category(["a", "b"]), mp.flag()], weights=[1, 2, 0.5]), table
        ),
        SpaceFixture("gower, steps", lambda: mp.Gower([mp.number(0, 9, step=1), mp.number(-1, 1)]), table),
        SpaceFixture("gower, far", lambda: mp.Gower([mp.number(1e15, 1e15 + 2), mp.flag()]), table, far=True),
        SpaceFixture("gower, thin", lambda: mp.Gower([mp.number(0, 1e-90), mp.flag()], weights=[1e-8, 1]), table),
        SpaceFixture("hamming", lambda: mp.Hamming(["ACGT", "AB"]), table),
        SpaceFixture("hamming, five letters", lambda: mp.Hamming(["ACGT"] * 5), table),
    ]
    for name, width in thin.items():
        pairs = [(0.0, 1.0), (0.0, width), (-1.0, 0.0)]
        result += [
            SpaceFixture(f"l1, {name}", partial(mp.L1, pairs), box),
            SpaceFixture(f"l2, {name}", partial(mp.L2, pairs, directions=8), box),
            SpaceFixture(f"lp, {name}", partial(mp.Lp, 1.5, pairs, directions=8), box),
        ]
    for d in (2, 3, 8):
        result += [
            SpaceFixture(f"l2, {d} columns", partial(mp.L2, [(0, 1)] * d, directions=8), box),
            SpaceFixture(f"ball, {d} columns", partial(mp.L2, center=[0] * d, radius=1, directions=8), ball),
            SpaceFixture(
                f"ball at its farthest, {d} columns",
                partial(mp.L2, center=[0.66 * (1 << 22) / math.sqrt(d)] * d, radius=1 / 3, directions=8),
                ball,
            ),
        ]
    for p in (1.01, 1.5, 1.99):
        result.append(SpaceFixture(f"lp, {p}", partial(mp.Lp, p, [(0, 1), (-1, 4)], directions=8), box))
    for k in (4, 20, 22, 24, 32, 44, 52, 53):  # bounds about 2^k widths away from 0
        low = 2.0 * 2**k / 3
        high = math.nextafter(low + 2, math.inf)  # so that the middle is no float, and is rounded
        boxes: dict[str, Callable[[], Space]] = {
            "l1": partial(mp.L1, [(low, high)] * 2),
            "l2": partial(mp.L2, [(low, high)] * 8, directions=64),
            "l2, one of two columns": partial(mp.L2, [(-high, -low), (0, 1)], directions=8),
            "lp": partial(mp.Lp, 1.5, [(low, high)] * 3, directions=8),
        }
        result += [SpaceFixture(f"{name}, 2^{k} widths away", make, box, far=True) for name, make in boxes.items()]
    result.append(SpaceFixture("l2, 1e16", lambda: mp.L2([(1e16, 1e16 + 2)] * 8, directions=64), box, far=True))
    metrics: list[tuple[str, Any, dict[str, Any]]] = [
        ("roads", ROADS, {}),
        ("crossed", CROSSED, {}),
        ("roads, universe", ROADS, {"universe": list(range(4))}),
    ]
    for name, matrix, params in metrics:
        make = partial(mp.AnyMetric, mp.precomputed(matrix), 4, [2, 3, 0], repetitions=2, **params)
        result.append(SpaceFixture(f"any, {name}", make, numbers(4), single=True))
    result.append(SpaceFixture("degrees", partial(mp.Angular, 3, directions=8, angle_unit="degrees"), angle))
    return result


# relations


class Row(NamedTuple):
    """A record."""

    position: Any
    group: str = "a"
    weight: float = MAX_WEIGHT
    person: str = "somebody"


@dataclass(frozen=True)
class Relation:
    """Rows that one person may have, and parameters of the release. Under `add-remove` the person may have none."""

    name: str
    options: Callable[[Sequence[Any]], Iterable[tuple[Row, ...]]]
    params: dict[str, Any]
    columns: dict[str, str] = field(default_factory=dict)  # from a parameter of release to a field of Row

    @property
    def replaces(self) -> bool:
        """Whether rows are replaced by others, rather than there or not."""
        return self.params.get("neighbors") != "add-remove"

    @property
    def plain(self) -> bool:
        """Whether the number of rows is public."""
        return self.replaces and not self.params


def one_row(positions: Sequence[Any]) -> list[tuple[Row, ...]]:
    return [(Row(position),) for position in positions]


def any_group(positions: Sequence[Any]) -> list[tuple[Row, ...]]:
    """Return a row in either group at either end, in one group elsewhere, and in none."""
    ends = [(Row(position, group),) for position in positions[:2] for group in LABELS]
    return [*ends, *[(Row(position),) for position in positions[2:]], (Row(positions[0], "nowhere"),)]


def any_weight(positions: Sequence[Any]) -> list[tuple[Row, ...]]:
    """Return the largest weight everywhere; more, less and none at the ends."""
    others = [
        (Row(position, weight=weight),)
        for position in positions[:2]
        for weight in (9 * MAX_WEIGHT, 0.0, MAX_WEIGHT / 3)
    ]
    return [*one_row(positions), *others]


def many_rows(positions: Sequence[Any]) -> list[tuple[Row, ...]]:
    """Return three rows, of which two count, in one position or two; one; and none."""
    first, second = positions[:2]
    return [(), (Row(first),), (Row(first), Row(second)), *[(Row(position),) * 3 for position in positions]]


def everything(positions: Sequence[Any]) -> list[tuple[Row, ...]]:
    """Return several rows with groups and weights."""
    first, second = positions[:2]
    single_position = [(Row(position, group),) * 3 for position in positions[:4] for group in LABELS]
    return [
        (),
        *single_position,
        (Row(first, "a"), Row(second, "b")),
        (Row(first, weight=0.0), Row(second, weight=99.0)),
    ]


GROUPS: dict[str, Any] = {"labels": LABELS, "n": 3}
WEIGHTS: dict[str, Any] = {"max_row_weight": MAX_WEIGHT, "n": 3}
ROWS: dict[str, Any] = {"contributions": 2, "n": 3}
ADDED = {"neighbors": "add-remove"}
REPLACE = Relation("replace", one_row, {})
ADD_REMOVE = Relation("add-remove", one_row, {"n": 3} | ADDED)
OTHERS = [
    Relation(f"{name}{', add-remove' if added else ''}", options, params | added, columns)
    for added in ({}, ADDED)
    for name, options, params, columns in (
        ("groups", any_group, GROUPS, {"groups": "group"}),
        ("row_weights", any_weight, WEIGHTS, {"row_weights": "weight"}),
        ("two rows a person", many_rows, ROWS, {"privacy_unit": "person"}),
        (
            "groups, weights, two rows",
            everything,
            GROUPS | WEIGHTS | ROWS,
            {"groups": "group", "row_weights": "weight", "privacy_unit": "person"},
        ),
    )
]
SIZED = Relation("add-remove, of a size that is drawn", one_row, ADDED)


# mechanisms


@dataclass(frozen=True)
class Kind:
    """A mechanism, whether pure, and whether queries come one by one."""

    mechanism: str
    pure: bool
    session: bool = False

    @property
    def name(self) -> str:
        """For the report."""
        return f"{self.mechanism}, {'pure' if self.pure else 'zCDP'}{', session' * self.session}"

    def takes(self, relation: Relation) -> bool:
        """Return whether a relation suits: tangents needs a public n, sessions no groups, a noisy n needs pure ε."""
        if self.mechanism == "tangents" and not relation.plain:
            return False
        if self.session and "labels" in relation.params:
            return False
        return self.pure or relation is not SIZED


KINDS = [
    Kind("slopes", pure=False),
    Kind("hats", pure=True),
    Kind("tangents", pure=True),
    Kind("tangents", pure=False),
    Kind("tangents", pure=True, session=True),
    Kind("tangents", pure=False, session=True),
    Kind("field", pure=False),
    Kind("field", pure=False, session=True),
    Kind("field", pure=True),
    Kind("field", pure=True, session=True),
    Kind("net", pure=True),
    Kind("net", pure=False),
    Kind("basis", pure=True),
    Kind("quadtree", pure=True),
    Kind("quadtree", pure=False),
    Kind("gaussian", pure=False),
    Kind("laplace", pure=True),
]
EPSILONS = (1.0, 0.1, 8.0)


@dataclass(frozen=True)
class Case:
    """A space, a mechanism, a relation, and a guarantee."""

    fixture: SpaceFixture
    kind: Kind
    relation: Relation
    epsilon: float

    @property
    def name(self) -> str:
        """For the report."""
        return f"{self.kind.name}: {self.fixture.name}: {self.relation.name}"


def cases() -> list[Case]:
    """Return every mechanism in every space, by replaced and added rows, and in turn by one of the other relations."""
    result, turns = list[Case](), itertools.cycle([*OTHERS, SIZED])
    games = itertools.cycle(kind for kind in KINDS if kind.mechanism == "tangents")
    for index, fixture in enumerate(space_fixtures()):
        skipped = [next(games) for _ in range(3 if fixture.far else 1)]  # of four kinds of games
        for kind in KINDS:
            if (kind in skipped) or (kind.session and fixture.far):
                continue
            if kind.mechanism in ("basis", "quadtree") and not fixture.has_columns:
                continue
            relations = [ADD_REMOVE, next(turns)] if fixture.far else [REPLACE, ADD_REMOVE, next(turns)]
            relations = [REPLACE] if kind.mechanism == "tangents" else relations
            epsilon = EPSILONS[(index + KINDS.index(kind)) % len(EPSILONS)]
            result += [Case(fixture, kind, relation, epsilon) for relation in relations if kind.takes(relation)]
    return result


# the search


@dataclass
class Report:
    """Costs as shares of claims: how many, and the largest of each mechanism, with where it was found."""

    pairs: Counter[str] = field(default_factory=Counter)
    max_shares: dict[str, tuple[float, str]] = field(default_factory=dict)
    refusals: Counter[str] = field(default_factory=Counter)
    spaces: set[str] = field(default_factory=set)
    refused_spaces: dict[str, str] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)

    def add(self, case: Case, share: float) -> None:
        """Add the share of one pair."""
        name = case.kind.name
        self.pairs[name] += 1
        self.max_shares[name] = max(self.max_shares.get(name, (0.0, "")), (share, case.name))
        if share > 1 + TOLERANCE:
            self.violations.append(f"{share:.9f} {case.name}")

    def lines(self) -> Iterator[str]:
        """Yield the lines of a table, and what was refused."""
        for name, (share, case_name) in sorted(self.max_shares.items()):
            yield f"{name:24} {self.pairs[name]:6} pairs, largest {share:.9f}  ({case_name})"
        share, case_name = max(self.max_shares.values())
        yield f"{'overall':24} {self.pairs.total():6} pairs, largest {share:.9f}  ({case_name})"
        refused_text = f"{len(self.refused_spaces)} were refused, and {self.refusals.total()} cases of others"
        yield f"{len(self.spaces)} spaces; {refused_text}"


def search(selected: Iterable[Case]) -> Report:
    """Return the cost of every pair of some cases."""
    report, spaces = Report(), dict[str, Any]()
    for case in selected:
        if case.fixture.name not in spaces:
            try:
                spaces[case.fixture.name] = case.fixture.make()
                report.spaces.add(case.fixture.name)
            except mp.MilepostError as refusal:
                spaces[case.fixture.name] = None
                report.refused_spaces[case.fixture.name] = str(refusal)
        if spaces[case.fixture.name] is None:
            continue
        try:
            shares = list(costs(case, spaces[case.fixture.name]))
        except mp.MilepostError as refusal:
            report.refusals[f"{case.kind.name}: {refusal}"] += 1
            continue
        for share in shares:
            report.add(case, share)
    return report


def costs(case: Case, space: Any) -> Iterator[float]:
    """Yield the cost of every two neighbors, as a share of the claim."""
    positions = list(case.fixture.positions(space))
    rest = (Row(positions[0], person="another"), Row(positions[-1], "b", person="a third"))
    options = [() if not case.relation.replaces else None, *case.relation.options(positions)]
    guarantee = mp.Guarantee(case.epsilon, 0.0 if case.kind.pure else 1e-6)
    spent = mechanism_named(case.kind.mechanism, 0.05).accounted(guarantee)
    queries = _queries(case, space, positions)
    transcripts = list[Transcript]()
    for rows in options:
        if rows is not None:
            transcripts.append(transcripts[0].again() if transcripts else Transcript())
            with transcripts[-1].listen(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                _run(case, space, (*rest, *rows), guarantee, queries)
    neighbors = (
        itertools.combinations(transcripts, 2)
        if case.relation.replaces
        else ((transcripts[0], transcript) for transcript in transcripts[1:])
    )
    for left, right in neighbors:
        draws, epochs = pairs(left, right)
        cost = sum((a.cost(b, spent.accounting) for a, b in draws), Fraction(0))
        cost += sum((a.cost(b, spent.accounting) for a, b in epochs), Fraction(0))
        yield float(cost / Fraction(spent.budget))


def _queries(case: Case, space: Any, positions: Sequence[Any]) -> list[Any]:
    """Return the queries that best tell the first two positions apart, for the mechanism; else some positions."""
    if case.fixture.single:
        return list(space.queries)
    queries = [position for position in positions if _is_query(space, position)]
    if case.kind.mechanism in ("gaussian", "laplace"):  # all distances change by the diameter at once
        return queries[:1] * 3
    if case.kind.mechanism == "tangents" and hasattr(space, "low"):  # values, and counts, change at every reading
        first, second = (np.array(position) for position in positions[:2])
        return [tuple((first + (second - first) * (k / 64)).tolist()) for k in range(1, 13)]
    if case.kind.mechanism == "field" and case.kind.pure and case.relation is REPLACE:  # the bound of several is √k
        return queries[:1]
    return queries[:5]


def _is_query(space: Any, position: Sequence[Any]) -> bool:
    """Return whether a position may be a query."""
    if any(cell in (math.inf, -math.inf, STRANGER) for cell in position):
        return False
    return any(position) if space.kind == "angular" else space.kind != "great-circle" or position[0] != -space.latitude


def _run(case: Case, space: Any, rows: Sequence[Row], guarantee: mp.Guarantee, queries: list[Any]) -> None:
    params: dict[str, Any] = dict(case.relation.params)
    for param, column in case.relation.columns.items():
        params[param] = [getattr(row, column) for row in rows]
    params |= {"epsilon": guarantee.epsilon, "delta": guarantee.delta, "mechanism": case.kind.mechanism}
    table = [row.position for row in rows]
    if case.kind.session:
        with mp.interactive(table, space, max_queries=len(queries), **params) as session:
            session.ask_many(queries)
        return
    if case.kind.mechanism not in ("slopes", "hats", "tangents") and space.given_queries is None:
        params["queries"] = queries
    mp.release(table, space, **params)


def main() -> None:
    """Search all cases, or those whose name has one of the given texts, and print the largest costs."""
    parser = argparse.ArgumentParser(prog="python -m tests.attacks.costs", description=main.__doc__)
    parser.add_argument("names", nargs="*", help="only cases whose name has one of these in it")
    parser.add_argument("--refused", action="store_true", help="print what was refused, and why")
    options = parser.parse_args()
    start = time.process_time()
    report = search(case for case in cases() if not options.names or any(name in case.name for name in options.names))
    print("\n".join(report.lines()))
    if options.refused:
        for name, why in report.refused_spaces.items():
            print(f"{name}: {why}")
        for why, count in report.refusals.most_common():
            print(f"{count} × {why}")
    print("\n".join(report.violations))
    print(f"{time.process_time() - start:.0f} s of CPU time")


if __name__ == "__main__":
    main()

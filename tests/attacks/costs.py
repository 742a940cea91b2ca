"""`python -m tests.attacks.costs`: what pairs of neighboring tables cost, exactly, as a share of what is claimed.

A case is a space, a mechanism and a relation. One person's rows take every place of the space that is worth trying
(opposite corners, the borders of a ball, the middle, what is outside, a few at random), in every group, with every
weight; the rest of the table stays. Each table is released with noise that is written down instead of drawn, and the
cost of every two neighbors among them follows from the integers and scales that the noise was asked for, in rational
arithmetic. A space or a release that is refused is counted apart, and is no pair.
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
class World:
    """A space, and where a record may stand in it; the first two places are a pair that should cost the most.

    far: whether its bounds are so far from 0 that they may be refused. single: whether a row is one object.
    """

    name: str
    make: Callable[[], Space]
    places: Callable[[Any], Sequence[Any]]
    far: bool = False
    single: bool = False


def box_places(space: Any) -> list[tuple[float, ...]]:
    """Opposite corners that are farthest apart in embedding coordinates, others, the middle, beyond, and inside."""
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


def ball_places(space: Any) -> list[tuple[float, ...]]:
    """Both ends of the diameter that is longest in the embedding, ends of others, the centre, beyond, and inside."""
    random = np.random.default_rng(space.width)
    first, even = np.eye(space.width)[0], np.ones(space.width) / math.sqrt(space.width)
    sides = [even, first, first * 0, 1e6 * even, random.uniform(-0.5, 0.5, space.width)]
    return _different([*farthest_pair(space), *(space.center + space.radius * side for side in sides)])


def cap_places(space: Any) -> list[tuple[float, ...]]:
    """Ends of two diameters, the centre, its antipode, and something on the way."""
    south, north, west, east = (space.around(space.center, space.radius_km)[k] for k in (2, 0, 3, 1))
    antipode = np.array([-space.latitude, space.longitude + 180])
    half = space.around(space.center, space.radius_km / 2)[0]
    return _different([south, north, west, east, space.center, antipode, half])


def angle_places(space: Any) -> list[tuple[float, ...]]:
    """Opposite vectors, axes, one of zeros, and of unlike sizes."""
    random = np.random.default_rng(space.width).standard_normal((2, space.width))
    first = np.eye(space.width)[0]
    rows = [random[0], -random[0], first, -first, np.zeros(space.width), random[1] * 1e300, random[1] * -1e-300]
    return _different(rows)


def table_places(space: Any) -> list[tuple[Any, ...]]:
    """Rows that differ in every column, and in some."""
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


def worlds() -> list[World]:
    """Every kind of space, of ordinary and of extreme shape."""
    box, ball, cap, angle, table = box_places, ball_places, cap_places, angle_places, table_places
    thin = {"a thousand millionth": 1e-9, "a column at the limit": 2e-15, "constant": 0.0}
    result = [
        World("l1, one column", lambda: mp.L1([(0, 1)]), box),
        World("l1, weights", lambda: mp.L1([(0, 100), (-1, 1), (5, 6)], weights=[0.02, 3, 1]), box),
        World("l1, steps", lambda: mp.L1([(18, 90), (0, 2.2)], step=[1, 0]), box),
        World("l1, huge", lambda: mp.L1([(-4e98, 4e98), (0, 1e98)]), box),
        World("l1, tiny", lambda: mp.L1([(-4e-99, 4e-99), (0, 1e-98)]), box),
        World("l2, one column", lambda: mp.L2([(0, 1)]), box),
        World("l2, clipped", lambda: mp.L2([(0, 1)] * 4, directions=8, clip=0.5), box),
        World("l2, huge", lambda: mp.L2([(-4e98, 4e98)] * 3, directions=8), box),
        World("l2, tiny", lambda: mp.L2([(-4e-99, 4e-99)] * 3, directions=8), box),
        World("l2, many columns", lambda: mp.L2([(0, 1)] * 20, directions=20), box),
        World("ball, clipped", lambda: mp.L2(center=[0] * 4, radius=1, directions=8, clip=0.5), ball),
        World("ball, huge", lambda: mp.L2(center=[1e98, 0, 0], radius=4e99, directions=8), ball),
        World("ball, tiny", lambda: mp.L2(center=[1e-99, 0, 0], radius=4e-98, directions=8), ball),
        World("cap", lambda: mp.GreatCircle((52, 13), 300, directions=8), cap),
        World("cap, a metre", lambda: mp.GreatCircle((52, 13), 1e-3, directions=8), cap),
        World("cap, at a pole", lambda: mp.GreatCircle((90, 0), 3000, directions=8), cap),
        World("cap, half of the earth", lambda: mp.GreatCircle((-80, 179), 10_007, directions=8), cap),
        *(World(f"angles, {d}", partial(mp.Angular, d, directions=max(8, d)), angle) for d in (1, 2, 3, 8)),
        World(
            "gower", lambda: mp.Gower([mp.number(0, 9), mp.category(["a", "b"]), mp.flag()], weights=[1, 2, 0.5]), table
        ),
        World("gower, steps", lambda: mp.Gower([mp.number(0, 9, step=1), mp.number(-1, 1)]), table),
        World("gower, far", lambda: mp.Gower([mp.number(1e15, 1e15 + 2), mp.flag()]), table, far=True),
        World("gower, thin", lambda: mp.Gower([mp.number(0, 1e-90), mp.flag()], weights=[1e-8, 1]), table),
        World("hamming", lambda: mp.Hamming(["ACGT", "AB"]), table),
        World("hamming, five letters", lambda: mp.Hamming(["ACGT"] * 5), table),
    ]
    for name, width in thin.items():
        pairs = [(0.0, 1.0), (0.0, width), (-1.0, 0.0)]
        result += [
            World(f"l1, {name}", partial(mp.L1, pairs), box),
            World(f"l2, {name}", partial(mp.L2, pairs, directions=8), box),
            World(f"lp, {name}", partial(mp.Lp, 1.5, pairs, directions=8), box),
        ]
    for d in (2, 3, 8):
        result += [
            World(f"l2, {d} columns", partial(mp.L2, [(0, 1)] * d, directions=8), box),
            World(f"ball, {d} columns", partial(mp.L2, center=[0] * d, radius=1, directions=8), ball),
            World(
                f"ball at its farthest, {d} columns",
                partial(mp.L2, center=[0.66 * (1 << 22) / math.sqrt(d)] * d, radius=1 / 3, directions=8),
                ball,
            ),
        ]
    for p in (1.01, 1.5, 1.99):
        result.append(World(f"lp, {p}", partial(mp.Lp, p, [(0, 1), (-1, 4)], directions=8), box))
    for k in (4, 20, 22, 24, 32, 44, 52, 53):  # bounds so many powers of two widths away
        low = 2.0 * 2**k / 3
        high = math.nextafter(low + 2, math.inf)  # so that the middle is no float, and is rounded
        boxes: dict[str, Callable[[], Space]] = {
            "l1": partial(mp.L1, [(low, high)] * 2),
            "l2": partial(mp.L2, [(low, high)] * 8, directions=64),
            "l2, one of two columns": partial(mp.L2, [(-high, -low), (0, 1)], directions=8),
            "lp": partial(mp.Lp, 1.5, [(low, high)] * 3, directions=8),
        }
        result += [World(f"{name}, 2^{k} widths away", make, box, far=True) for name, make in boxes.items()]
    result.append(World("l2, 1e16", lambda: mp.L2([(1e16, 1e16 + 2)] * 8, directions=64), box, far=True))
    metrics: list[tuple[str, Any, dict[str, Any]]] = [
        ("roads", ROADS, {}),
        ("crossed", CROSSED, {}),
        ("roads, universe", ROADS, {"universe": list(range(4))}),
    ]
    for name, matrix, words in metrics:
        make = partial(mp.AnyMetric, mp.precomputed(matrix), 4, [2, 3, 0], repetitions=2, **words)
        result.append(World(f"any, {name}", make, numbers(4), single=True))
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
    """What rows one person may have, and what a release is told. Under `add-remove` the person may have none."""

    name: str
    options: Callable[[Sequence[Any]], Iterable[tuple[Row, ...]]]
    words: dict[str, Any]
    roles: dict[str, str] = field(default_factory=dict)  # from a release's word to a row's

    @property
    def replaces(self) -> bool:
        """Whether rows are replaced by others, rather than there or not."""
        return self.words.get("neighbors") != "add-remove"

    @property
    def plain(self) -> bool:
        """Whether the number of rows is public."""
        return self.replaces and not self.words


def one_row(places: Sequence[Any]) -> list[tuple[Row, ...]]:
    return [(Row(place),) for place in places]


def any_group(places: Sequence[Any]) -> list[tuple[Row, ...]]:
    """In either group at either end, in one of them elsewhere, and in none."""
    ends = [(Row(place, group),) for place in places[:2] for group in LABELS]
    return [*ends, *[(Row(place),) for place in places[2:]], (Row(places[0], "nowhere"),)]


def any_weight(places: Sequence[Any]) -> list[tuple[Row, ...]]:
    """The largest weight everywhere; more, less and none at the ends."""
    others = [(Row(place, weight=weight),) for place in places[:2] for weight in (9 * MAX_WEIGHT, 0.0, MAX_WEIGHT / 3)]
    return [*one_row(places), *others]


def many_rows(places: Sequence[Any]) -> list[tuple[Row, ...]]:
    """Three rows, of which two count, in one place or two; one; and none."""
    first, second = places[:2]
    return [(), (Row(first),), (Row(first), Row(second)), *[(Row(place),) * 3 for place in places]]


def everything(places: Sequence[Any]) -> list[tuple[Row, ...]]:
    """Groups, weights and rows."""
    first, second = places[:2]
    alone = [(Row(place, group),) * 3 for place in places[:4] for group in LABELS]
    return [(), *alone, (Row(first, "a"), Row(second, "b")), (Row(first, weight=0.0), Row(second, weight=99.0))]


GROUPS: dict[str, Any] = {"labels": LABELS, "n": 3}
WEIGHTS: dict[str, Any] = {"max_weight": MAX_WEIGHT, "n": 3}
ROWS: dict[str, Any] = {"contributions": 2, "n": 3}
ADDED = {"neighbors": "add-remove"}
REPLACE = Relation("replace", one_row, {})
ADD_REMOVE = Relation("add-remove", one_row, {"n": 3} | ADDED)
OTHERS = [
    Relation(f"{name}{', add-remove' if added else ''}", options, words | added, roles)
    for added in ({}, ADDED)
    for name, options, words, roles in (
        ("groups", any_group, GROUPS, {"groups": "group"}),
        ("weights", any_weight, WEIGHTS, {"weights": "weight"}),
        ("two rows a person", many_rows, ROWS, {"unit": "person"}),
        (
            "groups, weights, two rows",
            everything,
            GROUPS | WEIGHTS | ROWS,
            {"groups": "group", "weights": "weight", "unit": "person"},
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
        """tangents needs a public number of rows, sessions have no groups, and a drawn size is a part of pure ε."""
        if self.mechanism == "tangents" and not relation.plain:
            return False
        if self.session and "labels" in relation.words:
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
    Kind("net", pure=True),
    Kind("net", pure=False),
    Kind("gaussian", pure=False),
    Kind("laplace", pure=True),
]
EPSILONS = (1.0, 0.1, 8.0)


@dataclass(frozen=True)
class Case:
    """A space, a mechanism, a relation, and a guarantee."""

    world: World
    kind: Kind
    relation: Relation
    epsilon: float

    @property
    def name(self) -> str:
        """For the report."""
        return f"{self.kind.name}: {self.world.name}: {self.relation.name}"


def cases() -> list[Case]:
    """Every mechanism in every space, by replaced and by added rows, and in turn by one of the other relations."""
    result, turns = list[Case](), itertools.cycle([*OTHERS, SIZED])
    games = itertools.cycle(kind for kind in KINDS if kind.mechanism == "tangents")
    for at, world in enumerate(worlds()):
        skipped = [next(games) for _ in range(3 if world.far else 1)]  # of four kinds of games
        for kind in KINDS:
            if (kind in skipped) or (kind.session and world.far):
                continue
            relations = [ADD_REMOVE, next(turns)] if world.far else [REPLACE, ADD_REMOVE, next(turns)]
            relations = [REPLACE] if kind.mechanism == "tangents" else relations
            epsilon = EPSILONS[(at + KINDS.index(kind)) % len(EPSILONS)]
            result += [Case(world, kind, relation, epsilon) for relation in relations if kind.takes(relation)]
    return result


# the search


@dataclass
class Report:
    """Costs as shares of claims: how many, and the largest of each mechanism, with where it was found."""

    pairs: Counter[str] = field(default_factory=Counter)
    largest: dict[str, tuple[float, str]] = field(default_factory=dict)
    refused: Counter[str] = field(default_factory=Counter)
    spaces: set[str] = field(default_factory=set)
    refused_spaces: dict[str, str] = field(default_factory=dict)
    too_much: list[str] = field(default_factory=list)

    def add(self, case: Case, share: float) -> None:
        """One pair."""
        name = case.kind.name
        self.pairs[name] += 1
        self.largest[name] = max(self.largest.get(name, (0.0, "")), (share, case.name))
        if share > 1 + TOLERANCE:
            self.too_much.append(f"{share:.9f} {case.name}")

    def lines(self) -> Iterator[str]:
        """A table, and what was refused."""
        for name, (share, where) in sorted(self.largest.items()):
            yield f"{name:24} {self.pairs[name]:6} pairs, largest {share:.9f}  ({where})"
        share, where = max(self.largest.values())
        yield f"{'overall':24} {self.pairs.total():6} pairs, largest {share:.9f}  ({where})"
        refused = f"{len(self.refused_spaces)} were refused, and {self.refused.total()} cases of others"
        yield f"{len(self.spaces)} spaces; {refused}"


def search(chosen: Iterable[Case]) -> Report:
    """The cost of every pair of some cases."""
    report, made = Report(), dict[str, Any]()
    for case in chosen:
        if case.world.name not in made:
            try:
                made[case.world.name] = case.world.make()
                report.spaces.add(case.world.name)
            except mp.MilepostError as refusal:
                made[case.world.name] = None
                report.refused_spaces[case.world.name] = str(refusal)
        if made[case.world.name] is None:
            continue
        try:
            shares = list(costs(case, made[case.world.name]))
        except mp.MilepostError as refusal:
            report.refused[f"{case.kind.name}: {refusal}"] += 1
            continue
        for share in shares:
            report.add(case, share)
    return report


def costs(case: Case, space: Any) -> Iterator[float]:
    """The cost of every two neighbors, as a share of the claim."""
    places = list(case.world.places(space))
    rest = (Row(places[0], person="another"), Row(places[-1], "b", person="a third"))
    options = [() if not case.relation.replaces else None, *case.relation.options(places)]
    guarantee = mp.Guarantee(case.epsilon, 0.0 if case.kind.pure else 1e-6)
    asked = _queries(case, space, places)
    taken = list[Transcript]()
    for rows in options:
        if rows is not None:
            taken.append(taken[0].again() if taken else Transcript())
            with taken[-1].listen(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                _run(case, space, (*rest, *rows), guarantee, asked)
    neighbors = itertools.combinations(taken, 2) if case.relation.replaces else ((taken[0], one) for one in taken[1:])
    for left, right in neighbors:
        draws, epochs = pairs(left, right)
        cost = sum((a.cost(b, case.kind.pure) for a, b in draws), Fraction(0))
        cost += sum((a.cost(b, case.kind.pure) for a, b in epochs), Fraction(0))
        yield float(cost / Fraction(guarantee.budget))


def _queries(case: Case, space: Any, places: Sequence[Any]) -> list[Any]:
    """The points that tell the first two places apart the most, for the mechanism; else some of the places."""
    if case.world.single:
        return list(space.queries)
    asked = [place for place in places if _askable(space, place)]
    if case.kind.mechanism in ("gaussian", "laplace"):  # all distances change by the diameter at once
        return asked[:1] * 3
    if case.kind.mechanism == "tangents" and hasattr(space, "low"):  # values, and counts, change at every reading
        first, second = (np.array(place) for place in places[:2])
        return [tuple((first + (second - first) * (k / 64)).tolist()) for k in range(1, 13)]
    return asked[:5]


def _askable(space: Any, place: Sequence[Any]) -> bool:
    """Whether it is a point that a query may be."""
    if any(cell in (math.inf, -math.inf, STRANGER) for cell in place):
        return False
    return any(place) if space.kind == "angular" else space.kind != "great-circle" or place[0] != -space.latitude


def _run(case: Case, space: Any, rows: Sequence[Row], guarantee: mp.Guarantee, asked: list[Any]) -> None:
    words: dict[str, Any] = dict(case.relation.words)
    for word, column in case.relation.roles.items():
        words[word] = [getattr(row, column) for row in rows]
    words |= {"epsilon": guarantee.epsilon, "delta": guarantee.delta, "mechanism": case.kind.mechanism}
    table = [row.position for row in rows]
    if case.kind.session:
        with mp.interactive(table, space, max_queries=len(asked), **words) as session:
            session.ask_many(asked)
        return
    if case.kind.mechanism not in ("slopes", "hats", "tangents") and space.known is None:
        words["queries"] = asked
    mp.release(table, space, **words)


def main() -> None:
    """Search all cases, or those whose name has the given words, and print the largest costs."""
    parser = argparse.ArgumentParser(prog="python -m tests.attacks.costs", description=main.__doc__)
    parser.add_argument("words", nargs="*", help="only cases whose name has one of these in it")
    parser.add_argument("--refused", action="store_true", help="print what was refused, and why")
    said = parser.parse_args()
    start = time.process_time()
    report = search(case for case in cases() if not said.words or any(word in case.name for word in said.words))
    print("\n".join(report.lines()))
    if said.refused:
        for name, why in report.refused_spaces.items():
            print(f"{name}: {why}")
        for why, count in report.refused.most_common():
            print(f"{count} × {why}")
    print("\n".join(report.too_much))
    print(f"{time.process_time() - start:.0f} s of CPU time")


if __name__ == "__main__":
    main()

"""Cases of private totals: somebody is added, or goes to another group; the outcome is every number of every group."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from milepost.arrays import AnyArray, FloatArray
from milepost.audit.case import Case, Draw, Outcomes, laplace_ratio
from milepost.audit.claims import Pure
from milepost.audit.curves import CELLS, sag_scales
from milepost.mechanisms import schauder
from milepost.mechanisms.hats import Hats, HatSags
from milepost.mechanisms.per_query import MIDDLE, PerQuery
from milepost.privacy.change import Change
from milepost.privacy.guarantee import Guarantee
from milepost.spaces.base import QUANTA, QUANTUM_BITS
from milepost.spaces.lp import L1
from milepost.spaces.queries import Queries
from milepost.statistics.sketch import Sketch
from milepost.statistics.sums import Sums

NAME, LINE, SIZE = "private-total", L1([(0, 1)]), 1
CHANGES = {
    "one record more": Change("add-remove"),
    "one record to another group": Change(groups=2),
    "a record of weight 1024 to another group": Change(max_weight=1.0, groups=2),
}


def people_cases() -> Iterator[Case]:
    """At pure ε, where the claim is met: a place, or a distance, at which sums and total move by all that is paid."""
    for tables, change in CHANGES.items():
        yield laplace_case(tables, change, Guarantee(3.0))
    for tables, change in list(CHANGES.items())[:2]:
        yield hats_case(tables, change, Guarantee(4.0))


def _pair(change: Change) -> list[tuple[int, int]]:
    """Group and weight of the person in the two tables."""
    weight = change.multiple
    return [(0, weight), (1, weight)] if change.groups else [(0, weight), (0, 0)]


def laplace_case(tables: str, change: Change, guarantee: Guarantee) -> Case:
    """A distance to one query that goes to the diameter, or from it."""
    queries, mechanism = Queries(np.zeros((1, 1)), LINE), PerQuery("laplace")
    pair = []
    for group, weight in _pair(change):
        sums = Sums(queries.count, change.groups or 1)
        sums.add(np.full((1, queries.count), QUANTA), np.array([group]), np.array([weight]))
        pair.append(sums)

    def released(sums: Sums) -> FloatArray:
        made = [mechanism.run(sums, queries, change, guarantee, n=SIZE, group=group) for group in range(sums.groups)]
        return _joined((one.sums, one.total.value) for one in made)

    scale, total = mechanism.scales(queries, change, guarantee)
    exact = [_joined(zip(sums.values - sums.totals[:, None] * MIDDLE, sums.totals, strict=True)) for sums in pair]
    scales = np.tile(np.append(np.full(queries.count, scale), total), pair[0].groups)
    draws = [_draw(partial(released, sums), exact, scales) for sums in pair]
    return Case(NAME, f"laplace, {tables}", Pure(guarantee.epsilon), *draws)


def hats_case(tables: str, change: Change, guarantee: Guarantee) -> Case:
    """A record at the place where most coefficients move."""
    mechanism = Hats()

    def sketch_at(place: int, group: int, weight: int) -> Sketch:
        sketch = Sketch(1, change.groups or 1, CELLS)
        sketch.add(np.array([[place]]), np.array([group]), np.array([weight]))
        return sketch

    def released(sketch: Sketch) -> list[HatSags]:
        groups = range(sketch.groups)
        return [mechanism.run(sketch, LINE.hosts, change, guarantee, n=SIZE, group=group) for group in groups]

    made = released(sketch_at(0, 0, 0))[0]
    scale, bits = sag_scales(made, 0), made.bits[0]

    def sags(sketch: Sketch, group: int) -> AnyArray:
        values = sketch.coarsen(1 << (QUANTUM_BITS - bits)).borders(group).value[0]
        result = schauder.analyse(values)
        result[0] -= sketch.totals[group] * (QUANTA // 2)
        return result

    places = range(0, QUANTA + 1, 1 << bits)
    worst = max(places, key=lambda place: float(np.sum(np.abs(sags(sketch_at(place, 0, 1), 0)) / scale)))
    pair = [sketch_at(worst, group, weight) for group, weight in _pair(change)]
    exact = [_joined((sags(side, group), side.totals[group]) for group in range(side.groups)) for side in pair]
    scales = np.tile(np.append(scale, made.total.scale), pair[0].groups)

    def noisy(sketch: Sketch) -> FloatArray:
        return _joined((found.sags[0], found.total.value) for found in released(sketch))

    draws = [_draw(partial(noisy, sketch), exact, scales) for sketch in pair]
    return Case(NAME, f"hats, {tables}", Pure(guarantee.epsilon), *draws)


def _draw(released: Callable[[], FloatArray], exact: Sequence[FloatArray], scales: FloatArray) -> Draw:
    """Runs on one table, each reduced to ln of its likelihood ratio."""
    return lambda runs: Outcomes.of(
        score=np.array([laplace_ratio(released(), exact[0], exact[1], scales) for _ in range(runs)])
    )


def _joined(groups: Iterator[tuple[AnyArray, int]] | Sequence[tuple[AnyArray, int]]) -> FloatArray:
    """All numbers and the total of each group, one after the other."""
    return np.concatenate([np.append(numbers, total) for numbers, total in groups]).astype(np.float64)

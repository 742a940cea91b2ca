"""Metrics of one's own: RMSE of every mechanism ÷ single, and whether "auto" takes the right one.

single: the worst-placed query alone, a Gaussian of deviation diameter/(n√(2ρ)), or Laplace noise of scale diameter/(nε)
with δ = 0. Errors are against exact mean distances, so they have embeddings in them; answers are as users get them.
Noise is drawn again and again on one statistic. Bounds: the error that is predicted for auto is the least, and its RMSE
is at most 1.3 × that of any other, but for chance.
"""

import builtins
import keyword
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.spatial import cKDTree

import milepost as mp
from bench.accuracy import DELTA, EPSILON
from bench.run import Bounds, chance_of, main, squares_of
from bench.spaces import rms
from milepost._typing import FloatArray
from milepost.ingest.aggregation import read_sketch, read_sums
from milepost.mechanisms.query.lipschitz import lipschitz
from milepost.pipeline.selection import Choice, QueryChoice, candidates
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.embeddings.embedding import QUANTUM_BITS

# where queries have noise of their own, chance adds a sixth to the bound with 60 releases, an eighth with 100
RELEASES, CHECKED = 200, 60
BOUND = 1.3  # of auto's RMSE ÷ the least
PREDICTED = "tangents"  # too slow to be released many times
LENGTH = 12  # the longest edit distance that counts


@dataclass(frozen=True, eq=False)
class Table:
    """A metric, the records and the queries."""

    name: str
    space: mp.AnyMetric
    records: list[Any]
    universe: list[Any]  # all records that there may be

    @property
    def known(self) -> "Table":
        """The same with a public universe, which `field` needs."""
        space = self.space
        assert space.metric is not None
        known = mp.AnyMetric(space.metric, space.diameter, list(space.queries), universe=self.universe)
        return Table(f"{self.name}*", known, self.records, self.universe)

    def truth(self) -> FloatArray:
        """Exact mean distances to the queries."""
        return np.asarray(mp.exact(self.records, self.space, list(self.space.queries)))

    def single(self, guarantee: mp.Guarantee) -> float:
        """The deviation of one query answered alone."""
        unit = math.sqrt(2) / guarantee.epsilon if guarantee.pure else 1 / math.sqrt(2 * guarantee.rho)
        return self.space.diameter / len(self.records) * unit


def names() -> list[str]:
    """Words of Python itself: keywords, built-in names, modules of the standard library and their parts."""
    found = {*keyword.kwlist, *dir(builtins), *sys.stdlib_module_names}
    return sorted({part.lower() for name in found for part in name.strip("_").split("_") if len(part) > 2})


def words(n: int, count: int) -> Table:
    """Edit distance between words of Python, some of them much more frequent than others."""
    known = names()
    rng = np.random.default_rng(0)
    shuffled = rng.permutation(len(known))
    weights = 1 / (1.0 + np.arange(len(known)))
    drawn = shuffled[rng.choice(len(known), n, p=weights / weights.sum())]
    queries = [known[k] for k in rng.permutation(len(known))[:count]]
    return Table("words", mp.AnyMetric(mp.edit_distance, LENGTH, queries), [known[k] for k in drawn], known)


def graph_table(name: str, lengths: Any, diameter: float, n: int, count: int) -> Table:
    """Shortest ways in a public graph; records crowd around one node."""
    rng = np.random.default_rng(1)
    metric, nodes = mp.shortest_path(lengths), lengths.shape[0]
    away = metric.matrix(list(range(nodes)), [0])[:, 0]
    weights = np.exp(-4 * away / diameter)
    records = rng.choice(nodes, n, p=weights / weights.sum()).tolist()
    queries = rng.permutation(nodes)[:count].tolist()
    return Table(name, mp.AnyMetric(metric, diameter, queries), records, list(range(nodes)))


def roads(n: int, count: int) -> Table:
    """Random places with roads to their six nearest, each up to a half longer than straight."""
    rng = np.random.default_rng(2)
    places = rng.random((10 * count, 2))
    far, near = cKDTree(places).query(places, 7)
    detours = far[:, 1:] * rng.uniform(1, 1.5, (len(places), 6))
    left = np.repeat(np.arange(len(places)), 6)
    shape = len(places), len(places)
    lengths = coo_array((detours.ravel(), (left, near[:, 1:].ravel())), shape=shape).tocsr()
    return graph_table("roads", lengths, 2.0, n, count)


def branches(n: int, count: int) -> Table:
    """A random tree: every node hangs on an earlier one."""
    rng = np.random.default_rng(3)
    nodes = 5 * count
    parents = [int(rng.integers(0, node)) for node in range(1, nodes)]
    lengths = rng.random(nodes - 1) + 0.1
    depth = np.zeros(nodes)
    for node, parent in enumerate(parents, 1):
        depth[node] = depth[parent] + lengths[node - 1]
    edges = coo_array((lengths, (np.arange(1, nodes), parents)), shape=(nodes, nodes)).tocsr()
    return graph_table("tree", edges, 2 * float(depth.max()), n, count)


def uniform(n: int, count: int) -> Table:
    """All distances are 1: nothing is near anything, and every query is on its own."""
    rng = np.random.default_rng(4)
    space = mp.AnyMetric(lambda x, y: float(x != y), 1, list(range(count)))
    return Table("uniform", space, rng.integers(0, 2 * count, n).tolist(), list(range(2 * count)))


TABLES = (words, roads, branches, uniform)


def answers(choice: Choice, table: Table, guarantee: mp.Guarantee, releases: int) -> FloatArray:
    """At all queries: float64[releases, queries]."""
    made: Iterator[FloatArray]
    if isinstance(choice, QueryChoice):
        queries, direct = choice.queries, choice.mechanism
        sums = read_sums(table.records, choice.space, queries, counted=direct.counted)
        places = np.arange(queries.count)
        made = (direct.run(sums, queries, ProtectedChange(), guarantee).values(places) for _ in range(releases))
    else:
        embedding, mechanism = choice.space.embedding, choice.mechanism
        sketch = read_sketch(table.records, choice.space)
        first: Any = mechanism.run(sketch, embedding, ProtectedChange(), guarantee)
        coarse = sketch.coarsen(1 << (QUANTUM_BITS - min(first.bits)))  # exact, and quick
        placed = choice.space.position(np.arange(len(table.space.queries)))
        others = (mechanism.run(coarse, embedding, ProtectedChange(), guarantee) for _ in range(releases - 1))
        made = (statistic.values(placed) for statistic in chain([first], others))
    return np.array([*made])


def rows(table: Table, guarantee: mp.Guarantee, releases: int, few: int, bounds: Bounds) -> None:
    """One line a mechanism, the least predicted error first."""
    able, _ = candidates(table.space).feasible(ProtectedChange(), guarantee)
    choices, _ = able.choices(len(table.records), ProtectedChange(), guarantee)
    truth, single = table.truth(), table.single(guarantee)
    best = min(choice.prediction.error for choice in choices)
    squares: dict[str, FloatArray] = {}
    measured: dict[str, float] = {}
    moved: dict[str, float] = {}
    apart = table.space.between(table.space.known, table.space.known)
    name = f"{table.name}, δ = {guarantee.delta:g}"
    for place, choice in enumerate(choices):
        mechanism = choice.prediction.mechanism
        if mechanism != PREDICTED:
            count = releases if isinstance(choice, QueryChoice) else few
            found = answers(choice, table, guarantee, count)
            squares[mechanism] = squares_of((found - truth) / single)
            measured[mechanism] = math.sqrt(squares[mechanism].mean())
            near = np.array([lipschitz(row, apart, table.space.diameter) for row in found[:few]])
            moved[mechanism] = rms(near - truth) / single
        print(
            f"{table.name if not place else '':<9}{f'{guarantee.delta:g}' if not place else '':>7}  {mechanism:<10}"
            f"{choice.prediction.error / single:>11.3g}"
            + (f"{measured[mechanism]:>10.3g}" if mechanism in measured else f"{'':>10}"),
            flush=True,
        )
    auto = mp.plan(table.space, n=len(table.records), epsilon=guarantee.epsilon, delta=guarantee.delta).best
    predicted = bounds.at_most(f"{name}: predicted for auto ÷ least", auto.error / best, 1.0)
    own = squares[auto.mechanism]
    for other, theirs in squares.items():
        # of a difference of squares whose expectation is 0; slopes and hats are released a few times, and far above
        more = (chance_of(own) + BOUND**2 * (chance_of(theirs) if len(theirs) == len(own) else 0.0)) / theirs.mean()
        part = measured[auto.mechanism] / measured[other]
        bounds.at_most(f"{name}: RMSE of auto ÷ {other}", part, BOUND, math.sqrt(BOUND**2 + more) - BOUND)
    ratio = f"{measured[auto.mechanism] / min(measured.values()):.3g}"
    gain = 1 - moved[auto.mechanism] / math.sqrt(own[:few].mean())
    said = f"predicted {predicted} × the least, RMSE {ratio} × the least, {100 * gain:.1f} % less with lipschitz=True"
    print(f"{'':<16}  auto is {auto.mechanism}: {said}")


def promised(name: str, space: mp.AnyMetric, universe: list[Any]) -> None:
    """The error of the worst query ÷ that of one query alone, with δ and without, and with a public universe (*)."""
    known = mp.AnyMetric(space.metric, space.diameter, list(space.queries), universe=universe)
    alone = mp.AnyMetric(lambda x, y: float(x != y), space.diameter, [0])
    cells = []
    for mechanism, law, delta, made in (
        ("gaussian", "gaussian", DELTA, space),
        ("net", "gaussian", DELTA, space),
        ("field", "gaussian", DELTA, known),
        ("laplace", "laplace", 0.0, space),
        ("net", "laplace", 0.0, space),
    ):
        errors = []
        for one, wanted in ((made, mechanism), (alone, law)):
            found = candidates(one, mechanism=wanted).choices(10**5, ProtectedChange(), mp.Guarantee(EPSILON, delta))[0]
            errors.append(found[0].prediction.error)
        cells.append(f"{errors[0] / errors[1]:>10.3g}")
    print(f"{name:<26}{len(space.queries):>6}{len(universe):>6}{''.join(cells)}", flush=True)


def promises(size: int) -> None:
    """Larger metrics, of which only promises are printed; docs/proofs/net.md and universe.md show them at full size."""
    heads = "".join(f"{name:>10}" for name in ("gaussian", "net", "field*", "laplace", "net"))
    print(f"{'promised ÷ one alone':<26}{'k':>6}{'N':>6}{heads}")
    rng = np.random.default_rng(5)
    places = rng.random((25 * size, 2))
    apart = np.linalg.norm(places[:, None] - places[None], axis=2)
    everyone = list(range(25 * size))
    promised("places in a square", mp.AnyMetric(mp.precomputed(apart), math.sqrt(2), everyone), everyone)
    known = names()
    words = mp.AnyMetric(mp.edit_distance, LENGTH, known[: 10 * size])
    promised("words", words, known[: 20 * size])
    line = np.abs(np.subtract.outer(np.arange(float(5 * size)), np.arange(float(5 * size))))
    nodes = list(range(5 * size))
    promised("path", mp.AnyMetric(mp.precomputed(line), 5.0 * size, nodes), nodes)
    grid = np.array([(x, y) for x in range(size) for y in range(size)], dtype=float)
    steps = np.abs(grid[:, None] - grid[None]).sum(axis=2)
    corners = list(range(size**2))
    promised("square grid of roads", mp.AnyMetric(mp.precomputed(steps), 2.0 * size, corners), corners)
    apart_all = 1 - np.eye(5 * size)
    promised("uniform", mp.AnyMetric(mp.precomputed(apart_all), 1, nodes), nodes)


def benchmark(check: bool, bounds: Bounds) -> None:
    """Words, roads, a tree and a uniform metric, with δ and without, and with a public universe (*)."""
    n, count, few = (2_000, 30, 2) if check else (20_000, 200, 20)
    releases = CHECKED if check else RELEASES
    print(f"ε = {EPSILON:g}, {n:,} records, {count} queries; {releases} releases, {few} of slopes and hats. ÷ single:")
    print(f"{'metric':<9}{'δ':>7}  {'mechanism':<10}{'predicted ±':>11}{'RMSE':>10}")
    for make in TABLES:
        table = make(n, count)
        for delta in (DELTA, 0.0):
            rows(table, mp.Guarantee(EPSILON, delta), releases, few, bounds)
        rows(table.known, mp.Guarantee(EPSILON, DELTA), releases, few, bounds)
    promises(4 if check else 20)


if __name__ == "__main__":
    main(benchmark, __doc__ or "")

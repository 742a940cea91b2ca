"""User-defined metrics: measure the RMSE of every mechanism ÷ single, and whether "auto" chooses the right one.

single: the worst-placed query alone, a Gaussian of deviation diameter/(n·μ), or Laplace noise of scale diameter/(nε)
with δ = 0. Errors are measured against exact mean distances, so they include the error of embeddings; answers are as
users get them. Noise is drawn many times on one statistic. Bounds: auto has the smallest predicted error, and its RMSE
is at most 1.3 × the RMSE of any other mechanism, up to chance.
"""

import builtins
import keyword
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
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
from milepost.pipeline.selection import Choice, CoordinateChoice, QueryChoice, candidates
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.embeddings.embedding import QUANTUM_BITS

# if every query has independent noise, chance adds a sixth to the bound with 60 releases, an eighth with 100
RELEASES, CHECKED = 200, 60
BOUND = 1.3  # the bound on auto's RMSE ÷ the smallest
PREDICTED = "tangents"  # too slow for many releases
LENGTH = 12  # the longest edit distance that counts


@dataclass(frozen=True, eq=False)
class Table:
    """A metric, records and queries."""

    name: str
    space: mp.AnyMetric
    records: list[Any]
    universe: list[Any]  # all possible records

    @property
    def with_universe(self) -> "Table":
        """Return this table with a public universe, which `field` needs."""
        space = self.space
        assert space.metric is not None
        with_universe = mp.AnyMetric(space.metric, space.diameter, list(space.queries), universe=self.universe)
        return Table(f"{self.name}*", with_universe, self.records, self.universe)

    def truth(self) -> FloatArray:
        """Return the exact mean distances to the queries."""
        return np.asarray(mp.exact_mean_distance(self.records, self.space, list(self.space.queries)))

    def single(self, guarantee: mp.Guarantee) -> float:
        """Return the deviation of one query answered alone."""
        unit = math.sqrt(2) / guarantee.epsilon if guarantee.pure else 1 / guarantee.mu
        return self.space.diameter / len(self.records) * unit


def names() -> list[str]:
    """Return words of Python: keywords, built-in names, modules of the standard library and parts of their names."""
    identifiers = {*keyword.kwlist, *dir(builtins), *sys.stdlib_module_names}
    return sorted({part.lower() for name in identifiers for part in name.strip("_").split("_") if len(part) > 2})


def words(n: int, count: int) -> Table:
    """Return a table of words of Python with the edit distance; some words are much more frequent than others."""
    vocabulary = names()
    rng = np.random.default_rng(0)
    shuffled = rng.permutation(len(vocabulary))
    weights = 1 / (1.0 + np.arange(len(vocabulary)))
    indices = shuffled[rng.choice(len(vocabulary), n, p=weights / weights.sum())]
    queries = [vocabulary[k] for k in rng.permutation(len(vocabulary))[:count]]
    return Table("words", mp.AnyMetric(mp.edit_distance, LENGTH, queries), [vocabulary[k] for k in indices], vocabulary)


def graph_table(name: str, lengths: Any, diameter: float, n: int, count: int) -> Table:
    """Return a table with shortest paths in a public graph; records are concentrated around one node."""
    rng = np.random.default_rng(1)
    metric, nodes = mp.shortest_path(lengths), lengths.shape[0]
    away = metric.matrix(list(range(nodes)), [0])[:, 0]
    weights = np.exp(-4 * away / diameter)
    records = rng.choice(nodes, n, p=weights / weights.sum()).tolist()
    queries = rng.permutation(nodes)[:count].tolist()
    return Table(name, mp.AnyMetric(metric, diameter, queries), records, list(range(nodes)))


def roads(n: int, count: int) -> Table:
    """Return random points with roads to their six nearest neighbors; a road is up to 1.5 times the straight line."""
    rng = np.random.default_rng(2)
    points = rng.random((10 * count, 2))
    far, near = cKDTree(points).query(points, 7)
    detours = far[:, 1:] * rng.uniform(1, 1.5, (len(points), 6))
    left = np.repeat(np.arange(len(points)), 6)
    shape = len(points), len(points)
    lengths = coo_array((detours.ravel(), (left, near[:, 1:].ravel())), shape=shape).tocsr()
    return graph_table("roads", lengths, 2.0, n, count)


def branches(n: int, count: int) -> Table:
    """Return a random tree: the parent of every node is an earlier node."""
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
    """Return a table where all distances are 1."""
    rng = np.random.default_rng(4)
    space = mp.AnyMetric(lambda x, y: float(x != y), 1, list(range(count)))
    return Table("uniform", space, rng.integers(0, 2 * count, n).tolist(), list(range(2 * count)))


TABLES = (words, roads, branches, uniform)


def answers(choice: Choice, table: Table, guarantee: mp.Guarantee, releases: int) -> FloatArray:
    """Return the answers at all queries: float64[releases, queries]."""
    released_values: Iterator[FloatArray]
    if isinstance(choice, QueryChoice):
        queries, direct = choice.queries, choice.mechanism
        sums = read_sums(table.records, choice.space, queries, transform=direct.summands)
        indices = np.arange(queries.count)
        query_design = direct.predict(queries, int(sums.totals[0]), ProtectedChange(), guarantee)
        released_values = (query_design.run(sums).values(indices) for _ in range(releases))
    else:
        assert isinstance(choice, CoordinateChoice)  # words and roads have no chart
        sketch = read_sketch(table.records, choice.space)
        design = choice.mechanism.predict(choice.space.embedding, int(sketch.totals[0]), ProtectedChange(), guarantee)
        sketch = sketch.coarsen(1 << (QUANTUM_BITS - min(design.bits)))  # exact, and quick
        positions = choice.space.position(np.arange(len(table.space.queries)))
        released_values = (design.run(sketch).values(positions) for _ in range(releases))
    return np.array([*released_values])


def rows(table: Table, guarantee: mp.Guarantee, releases: int, few: int, bounds: Bounds) -> None:
    """Print a line for each mechanism, in the order of predicted errors."""
    feasible, _ = candidates(table.space).feasible(ProtectedChange(), guarantee)
    choices, _ = feasible.choices(len(table.records), ProtectedChange(), guarantee)
    truth, single = table.truth(), table.single(guarantee)
    best = min(choice.prediction.error for choice in choices)
    squares: dict[str, FloatArray] = {}
    measured: dict[str, float] = {}
    lipschitz_rms: dict[str, float] = {}
    apart = table.space.query_distances(table.space.given_queries, table.space.given_queries)
    name = f"{table.name}, δ = {guarantee.delta:g}"
    for index, choice in enumerate(choices):
        mechanism = choice.prediction.mechanism
        if mechanism != PREDICTED:
            count = releases if isinstance(choice, QueryChoice) else few
            values = answers(choice, table, guarantee, count)
            squares[mechanism] = squares_of((values - truth) / single)
            measured[mechanism] = math.sqrt(squares[mechanism].mean())
            lipschitz_values = np.array([lipschitz(row, apart, table.space.diameter) for row in values[:few]])
            lipschitz_rms[mechanism] = rms(lipschitz_values - truth) / single
        print(
            f"{table.name if not index else '':<9}{f'{guarantee.delta:g}' if not index else '':>7}  {mechanism:<10}"
            f"{choice.prediction.error / single:>11.3g}"
            + (f"{measured[mechanism]:>10.3g}" if mechanism in measured else f"{'':>10}"),
            flush=True,
        )
    auto = mp.plan(table.space, n=len(table.records), epsilon=guarantee.epsilon, delta=guarantee.delta).best
    predicted = bounds.at_most(f"{name}: predicted for auto ÷ least", auto.error / best, 1.0)
    own = squares[auto.mechanism]
    for other, theirs in squares.items():
        # a difference of squares with expectation 0; slopes and hats have few releases, and are far above
        more = (chance_of(own) + BOUND**2 * (chance_of(theirs) if len(theirs) == len(own) else 0.0)) / theirs.mean()
        part = measured[auto.mechanism] / measured[other]
        bounds.at_most(f"{name}: RMSE of auto ÷ {other}", part, BOUND, math.sqrt(BOUND**2 + more) - BOUND)
    ratio = f"{measured[auto.mechanism] / min(measured.values()):.3g}"
    gain = 1 - lipschitz_rms[auto.mechanism] / math.sqrt(own[:few].mean())
    summary = (
        f"predicted {predicted} × the least, RMSE {ratio} × the least, {100 * gain:.1f} % less with lipschitz=True"
    )
    print(f"{'':<16}  auto is {auto.mechanism}: {summary}")


def print_promise(name: str, space: mp.AnyMetric, universe: list[Any]) -> None:
    """Print the error of the worst query ÷ that of one query alone, with and without δ, and with a universe (*)."""
    with_universe = mp.AnyMetric(space.metric, space.diameter, list(space.queries), universe=universe)
    alone = mp.AnyMetric(lambda x, y: float(x != y), space.diameter, [0])
    cells = []
    for mechanism, law, delta, metric in (
        ("gaussian", "gaussian", DELTA, space),
        ("net", "gaussian", DELTA, space),
        ("field", "gaussian", DELTA, with_universe),
        ("laplace", "laplace", 0.0, space),
        ("net", "laplace", 0.0, space),
    ):
        errors, guarantee = [], mp.Guarantee(EPSILON, delta)
        for compared, only in ((metric, mechanism), (alone, law)):
            choices, _ = candidates(compared, mechanism=only).choices(10**5, ProtectedChange(), guarantee)
            errors.append(choices[0].prediction.error)
        cells.append(f"{errors[0] / errors[1]:>10.3g}")
    print(f"{name:<26}{len(space.queries):>6}{len(universe):>6}{''.join(cells)}", flush=True)


def print_promises(size: int) -> None:
    """Print the claimed errors for larger metrics; docs/proofs/net.md and universe.md show them at full size."""
    heads = "".join(f"{name:>10}" for name in ("gaussian", "net", "field*", "laplace", "net"))
    print(f"{'promised ÷ one alone':<26}{'k':>6}{'N':>6}{heads}")
    rng = np.random.default_rng(5)
    points = rng.random((25 * size, 2))
    apart = np.linalg.norm(points[:, None] - points[None], axis=2)
    records = list(range(25 * size))
    print_promise("places in a square", mp.AnyMetric(mp.precomputed(apart), math.sqrt(2), records), records)
    vocabulary = names()
    edit_space = mp.AnyMetric(mp.edit_distance, LENGTH, vocabulary[: 10 * size])
    print_promise("words", edit_space, vocabulary[: 20 * size])
    line = np.abs(np.subtract.outer(np.arange(float(5 * size)), np.arange(float(5 * size))))
    nodes = list(range(5 * size))
    print_promise("path", mp.AnyMetric(mp.precomputed(line), 5.0 * size, nodes), nodes)
    grid = np.array([(x, y) for x in range(size) for y in range(size)], dtype=float)
    steps = np.abs(grid[:, None] - grid[None]).sum(axis=2)
    corners = list(range(size**2))
    print_promise("square grid of roads", mp.AnyMetric(mp.precomputed(steps), 2.0 * size, corners), corners)
    apart_all = 1 - np.eye(5 * size)
    print_promise("uniform", mp.AnyMetric(mp.precomputed(apart_all), 1, nodes), nodes)


def benchmark(check: bool, bounds: Bounds) -> None:
    """Measure words, roads, a tree and a uniform metric, with and without δ, and with a public universe (*)."""
    n, count, few = (2_000, 30, 2) if check else (20_000, 200, 20)
    releases = CHECKED if check else RELEASES
    print(f"ε = {EPSILON:g}, {n:,} records, {count} queries; {releases} releases, {few} of slopes and hats. ÷ single:")
    print(f"{'metric':<9}{'δ':>7}  {'mechanism':<10}{'predicted ±':>11}{'RMSE':>10}")
    for make in TABLES:
        table = make(n, count)
        for delta in (DELTA, 0.0):
            rows(table, mp.Guarantee(EPSILON, delta), releases, few, bounds)
        rows(table.with_universe, mp.Guarantee(EPSILON, DELTA), releases, few, bounds)
    print_promises(4 if check else 20)


if __name__ == "__main__":
    main(benchmark, __doc__ or "")

"""Cases of gaussian, laplace, net and field: noisy sums of distances to queries, or of their differences."""

from collections.abc import Iterator, Sequence

import numpy as np

from milepost.arrays import AnyArray, FloatArray, IntArray
from milepost.audit.case import Case, Draw, Outcomes, gaussian_ratio, laplace_ratio
from milepost.audit.claims import Claim, Pure, concentrated, gaussian
from milepost.mechanisms.field import Field, Innovations
from milepost.mechanisms.net import Net, Noise, Shapes
from milepost.mechanisms.per_query import PerQuery
from milepost.privacy.change import Change
from milepost.privacy.guarantee import Guarantee
from milepost.reading import read_sums
from milepost.spaces.base import QUANTA
from milepost.spaces.lp import L1
from milepost.spaces.queries import Queries
from milepost.statistics.sums import Sums


def per_query_cases() -> Iterator[Case]:
    """One of two records moves from end to end, and with it the distance to each of three queries at one end."""
    space = L1([(0, 1)])
    queries = Queries(np.zeros((3, 1)), space)
    pair = [read_sums([[mover], [0.5]], space, queries) for mover in (0, 1)]
    for name, guarantee in (("gaussian", Guarantee(6.0, 1e-6)), ("laplace", Guarantee(3.0))):
        claim: Claim = Pure(guarantee.epsilon) if guarantee.pure else concentrated(guarantee.rho)
        left, right = (_draw(PerQuery(name), sums, pair, queries, guarantee) for sums in pair)
        yield Case(name, "sums, one of 2 records from end to end", claim, left, right)


def net_cases() -> Iterator[Case]:
    """One of two records goes from one end of all distances to the other, and turns the order of near queries round.

    No metric has such a record. In a tree all differences move by all that is paid for, in a mesh nearly so.
    """
    space = L1([(0, 1)])
    queries = Queries(np.array([[0.5], [0.502], [0.504], [0.506]]), space)
    shapes, steps = Shapes.of(queries), np.arange(queries.count) * (QUANTA // 400)
    for pure, guarantee in ((False, Guarantee(7.0, 1e-6)), (True, Guarantee(4.0))):
        claim: Claim = Pure(guarantee.epsilon) if pure else gaussian(guarantee.rho)
        noise = Noise.of(shapes.tree if pure else shapes.mesh, Change(), guarantee, pure)
        tables = f"differences of {queries.count} near queries, one of 2 records from end to end"
        yield net_case(f"{tables}, {'pure' if pure else 'Gaussian'}", claim, noise, queries, (steps, QUANTA - steps))


def net_case(tables: str, claim: Claim, noise: Noise, queries: Queries, movers: Sequence[IntArray]) -> Case:
    """A record at one of two rows of distances, int64[k] in quanta, beside one in the middle; all noisy links."""
    rest = np.full(queries.count, QUANTA // 2)
    pair = [noise.shape.links.counted(np.array([mover, rest])).sum(axis=0) for mover in movers]
    exact, scale = [side.astype(np.float64) for side in pair], noise.unit * noise.shape.scales
    ratio = laplace_ratio if noise.pure else gaussian_ratio

    def draw(side: IntArray) -> Draw:
        return lambda runs: Outcomes.of(
            score=np.array([ratio(noise.added(side), exact[0], exact[1], scale) for _ in range(runs)])
        )

    return Case(Net.name, tables, claim, draw(pair[0]), draw(pair[1]))


def _draw(mechanism: PerQuery, sums: Sums, pair: list[Sums], queries: Queries, guarantee: Guarantee) -> Draw:
    ratio = laplace_ratio if guarantee.pure else gaussian_ratio
    scale, _ = mechanism.scales(queries, Change(), guarantee)
    exact = [side.values[0].astype(np.float64) for side in pair]

    def score() -> float:
        return ratio(mechanism.run(sums, queries, Change(), guarantee).sums, exact[0], exact[1], scale)

    return lambda runs: Outcomes.of(score=np.array([score() for _ in range(runs)]))


def field_cases() -> Iterator[Case]:
    """One of two records moves from end to end; both ends are asked about, one after the other, and a point between."""
    space, guarantee, points = L1([(0, 1)]), Guarantee(6.0, 1e-6), np.array([[0.0], [0.1], [1.0]])
    noise = Field().noise(space, len(points), Change(), guarantee)
    pair = [read_sums([[mover], [0.5]], space, Queries(points, space)) for mover in (0, 1)]
    exact = [_innovations(Innovations(noise, 2), points, sums, exact=True) for sums in pair]

    def draw(sums: Sums) -> Draw:
        def score() -> float:
            found = _innovations(Innovations(noise, 2), points, sums, exact=False)
            return gaussian_ratio(found, exact[0], exact[1], noise.scale)

        return lambda runs: Outcomes.of(score=np.array([score() for _ in range(runs)]))

    yield Case("field", "a session, one of 2 records from end to end", gaussian(guarantee.rho), *map(draw, pair))


def _innovations(innovations: Innovations, points: AnyArray, sums: Sums, exact: bool) -> FloatArray:
    """After asking one point after the other: what an analyst can work out of the answers, or what is behind them."""
    for place, value in enumerate(sums.values[0].tolist()):
        innovations.ask(points[place : place + 1], [value])
    return np.array(innovations.exact if exact else innovations.noisy, dtype=np.float64)

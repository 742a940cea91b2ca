"""Cases of gaussian, laplace and field: noisy sums of distances to queries."""

from collections.abc import Iterator

import numpy as np

from milepost.arrays import AnyArray, FloatArray
from milepost.audit.case import Case, Draw, Outcomes, gaussian_ratio, laplace_ratio
from milepost.audit.claims import Claim, Pure, concentrated, gaussian
from milepost.mechanisms.field import Field, Innovations
from milepost.mechanisms.per_query import PerQuery
from milepost.privacy.change import Change
from milepost.privacy.guarantee import Guarantee
from milepost.reading import read_sums
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

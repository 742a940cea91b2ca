"""Cases of gaussian and laplace: noisy sums of distances to given queries."""

from collections.abc import Iterator

import numpy as np

from milepost.audit.case import Case, Draw, Outcomes, gaussian_ratio, laplace_ratio
from milepost.audit.claims import Claim, Pure, concentrated
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

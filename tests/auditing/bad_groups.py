"""Groups that are paid for wrongly: the shipped noise on sums, with another idea of what a move costs."""

import math
from dataclasses import replace
from functools import partial

import numpy as np

from milepost.auditing import Case, Outcomes, Pure
from milepost.auditing.case import Draw
from milepost.mechanisms.query.noisy_sums import NoisySums
from milepost.mechanisms.query.per_query import PerQuery
from milepost.privacy.guarantee import Guarantee
from milepost.privacy.protected_change import BudgetSplit, ProtectedChange
from milepost.spaces.embeddings.embedding import QUANTA
from milepost.spaces.lp import L1
from milepost.spaces.queries import Queries
from milepost.statistics.distance_sums import DistanceSums
from tests.auditing.bad_mechanisms import KnownCase, case_from_traces
from tests.mechanisms.contract import run_mechanism

QUERIES = Queries(np.zeros((1, 1)), L1([(0, 1)]))


class OneEnded(ProtectedChange):
    """A change between two groups whose cost is counted in one of them."""

    def _split(self, pair: float, single: float, budget: float, share: float) -> tuple[float, float]:
        return ProtectedChange(groups=1)._split(pair / 2, single, budget, share)


class Uncounted(ProtectedChange):
    """A change between groups that forgets how many are in each: the sums have all of ε, the counts no noise."""

    def laplace(self, pair: float, single: float, epsilon: float, off: float) -> BudgetSplit:
        return replace(super().laplace(pair, single, epsilon, off), total=0.0)


def release_groups(change: ProtectedChange, guarantee: Guarantee, group: int) -> list[NoisySums]:
    """Release both groups; one of them has the only person, as far from the query as possible."""
    sums = DistanceSums(1, 2)
    sums.add(np.full((1, 1), QUANTA), np.array([group]), np.array([1]))
    return [run_mechanism(PerQuery("laplace"), sums, QUERIES, change, guarantee, n=1, group=which) for which in (0, 1)]


def one_ended() -> KnownCase:
    """Leaving a group and entering another cost ε each, where both together should."""
    guarantee, change = Guarantee(2.0), OneEnded(groups=2)
    runs = [partial(release_groups, change, guarantee, group) for group in (0, 1)]
    return case_from_traces("groups", "a move that is paid in one group only", Pure(guarantee.epsilon), *runs)


def uncounted() -> KnownCase:
    """The exact number of people in a group tells at once who has left it."""
    guarantee, change = Guarantee(1.0), Uncounted(groups=2)

    def draw(group: int) -> Draw:
        def kind() -> int:
            first, second = (sums.total.value for sums in release_groups(change, guarantee, group))
            return 2 * first + second

        return lambda runs: Outcomes.of(kinds=np.array([kind() for _ in range(runs)]))

    case = Case("groups", "numbers of people in groups without noise", Pure(guarantee.epsilon), draw(0), draw(1))
    return KnownCase(case, math.inf)

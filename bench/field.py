"""field: measure errors ÷ single after 1, 100 and 3000 adaptive queries, and the time of one query.

single: the worst-placed query alone, a Gaussian of deviation diameter/(n·μ). A session asks queries one by one, a
tenth of them around the smallest answer so far. Then the noise of this session is drawn many times, with OpenDP's noise
on its innovations, and the errors of all answers are pooled. --check asks fewer queries and draws noise less often; the
claimed deviation at the worst position, which does not depend on noise, is for the same number of queries.
"""

import math
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np

import milepost as mp
from bench.accuracy import DELTA, EPSILON
from bench.run import Bounds, interleaved, main, squares_of
from milepost._typing import FloatArray
from milepost.ingest.aggregation import read_sums
from milepost.ingest.query_points import read_queries
from milepost.mechanisms.query.cholesky import NUGGET, CholeskyFactor
from milepost.mechanisms.query.field import FRACTION_BITS, Field, Innovations
from milepost.privacy.noise import gaussian
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.base import Space
from milepost.spaces.queries import Queries

GUARANTEE = mp.Guarantee(EPSILON, DELTA)
ROWS, MANY, LARGE = 2_000, 3_000, 1_000_000
COUNTS = {1: 40_000, 100: 2_000, MANY: 2_000}  # the number of queries, and of draws of their noise
CHECKED = {1: 2_000, 100: 500, 300: 200}
ROUNDS = 5  # the number of queries that are timed
NEAR = 0.01  # diameters between two near points
RECORDS = 400_000  # numbers of records among which the range of a weighted sum is found
MEAN_BOUND, SLACK = 4.2, 1.02  # of a mean of ten points; on the theory of a difference


@dataclass(frozen=True)
class Case:
    """A space, and the bound on its ratio."""

    name: str
    space: Space
    bound: float

    def points(self, rng: np.random.Generator, count: int) -> FloatArray:
        """Return uniform points: in the ball or box, or in all directions."""
        if isinstance(self.space, mp.Angular):
            return rng.standard_normal((count, self.space.width))
        if isinstance(self.space, mp.L1):
            return rng.random((count, self.space.width))
        vectors = rng.standard_normal((count, self.space.width))
        lengths = rng.random((count, 1)) ** (1 / self.space.width)
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True) * lengths)

    def border(self, rng: np.random.Generator, count: int) -> FloatArray:
        """Return points at the border of the ball, at corners of the box, or in all directions."""
        points = self.points(rng, count)
        if isinstance(self.space, mp.L1):
            return np.rint(points)
        return np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True))


CASES = (
    *(Case(f"ℓ₂ ball, d = {d}", mp.L2(center=[0.0] * d, radius=1), 1.3) for d in (2, 10, 100)),
    Case("ℓ₁ box, d = 10", mp.L1([(0, 1)] * 10), 1.05),
    Case("sphere, d = 64", mp.Angular(64), 1.05),
)


CLAIMED: dict[str, tuple[Space, float]] = {  # only the worst position of these is printed
    "cap of 40 km": (mp.GreatCircle((52.5, 13.4), 40), 1.3),
    "hemisphere": (mp.GreatCircle((52.5, 13.4), 10_007), 1.05),
    "ℓp box, p = 1.5, d = 10": (mp.Lp(1.5, [(0, 1)] * 10), 1.5),
    "6 labels": (mp.Hamming(["abcdef"]), math.sqrt(2)),
}


def open_session(people: FloatArray, space: Space) -> mp.Session:
    """Open a session of MANY queries."""
    return mp.interactive(people, space, epsilon=EPSILON, delta=DELTA, max_queries=MANY, mechanism="field")


def adaptive(case: Case, rng: np.random.Generator, count: int) -> FloatArray:
    """Return points as an analyst asks about them in a session: each depends on the answers so far."""
    people = case.points(rng, ROWS)
    points = case.points(rng, count)
    with open_session(people, case.space) as session:
        best = points[0], math.inf
        for index in range(count):
            if index % 10 == 9:
                near = best[0] + 0.1 * rng.standard_normal(case.space.width) / math.sqrt(case.space.width)
                points[index] = case.space.clip_points(near[None])[0]
            answer = session.ask(points[index])
            if answer.value < best[1]:
                best = points[index], answer.value
    return points


def squares(case: Case, points: FloatArray, releases: int) -> FloatArray:
    """Return the mean squares ÷ single² of a session at these points, one for each draw of its noise."""
    people = case.points(np.random.default_rng(1), ROWS)
    queries = Queries(points, case.space)
    sums = read_sums(people, case.space, queries)
    noise = Field().noise(case.space, len(points), ProtectedChange(), GUARANTEE)
    session = Innovations(noise, ROWS)
    first, _, _ = session.ask(points, sums.values[0].tolist())
    factor = CholeskyFactor(noise.kernel, len(points), noise.unit)
    factor.extend(points)
    rows = factor.rows(0, len(points))
    unit = noise.quantum / ROWS
    anchors = noise.anchors(points) * unit * ROWS
    truth = sums.values[0] * unit

    def errors(noisy: FloatArray) -> FloatArray:
        return np.asarray(rows @ noisy / (1 << FRACTION_BITS) * unit + (anchors - truth)[:, None])

    # the answers of the session, which rounds them to quanta
    same = errors(np.array(session.noisy, dtype=np.float64)[:, None])[:, 0]
    assert np.abs(same - (first * unit + anchors - truth)).max() < 2 * unit
    single = case.space.diameter / ROWS / GUARANTEE.mu
    exact = np.array(session.exact)
    noisy_parts = (gaussian(np.tile(exact, len(part)), noise.scale) for part in np.array_split(range(releases), 20))
    each = [squares_of(errors(part.reshape(-1, len(exact)).T.astype(np.float64)).T) for part in noisy_parts]
    return np.concatenate(each) / single**2


def worst_deviation(space: Space) -> float:
    """Return the claimed deviation ÷ single at the worst position, for MANY queries."""
    noise = Field().noise(space, MANY, ProtectedChange(), GUARANTEE)
    return noise.deviation / (space.diameter / GUARANTEE.mu)


def weighted_sums(case: Case, bounds: Bounds) -> None:
    """Print claimed deviations of weighted sums ÷ that at the worst position, and ÷ the sum's own single.

    The own single is a Gaussian for the range of the sum's values, alone. Deviations do not depend on noise: with S the
    largest squared norm of a pair they are √(S·wᵀCw)/(n·μ). A difference of two points at a distance d has values
    within ±d, and √(S/d) times its own single, but for the nugget. The range of a mean distance is found among records
    at the border.
    """
    rng, space = np.random.default_rng(3), case.space
    spread = case.points(rng, 10)
    near = np.vstack([spread[0], spread[0] + NEAR * space.diameter * np.eye(space.width)[0]])
    pairs = {f"d(x, a) − d(x, b), {name}": points for name, points in (("near", near), ("far", spread[:2]))}
    sums = [mp.WeightedDistances(spread, np.full(10, 0.1))]
    queries, _ = read_queries([*sums, *(mp.WeightedDistances(pair, [1, -1]) for pair in pairs.values())], space)
    noise = Field().noise(space, queries.count, ProtectedChange(), GUARANTEE)
    _, lengths, _ = Innovations(noise, 1).ask(queries.combinations, [0] * queries.count)
    deviations = lengths * noise.quantum * queries.factors
    records = space.read(np.vstack([case.border(rng, RECORDS // space.width), spread]))
    values = queries.evaluate(space.distance(records, queries.points))[:, 0] * queries.quantum
    apart = [float(space.query_distances(pair[:1], pair[1:])[0, 0]) for pair in pairs.values()]
    ranges = [float(np.ptp(values)), *(2 * distance for distance in apart)]
    nugget = NUGGET * noise.kernel.max_variance
    limits = [MEAN_BOUND, *(SLACK * math.sqrt(noise.kernel.pair * (far + nugget)) / far for far in apart)]
    for name, deviation, width, limit in zip(["mean of 10", *pairs], deviations, ranges, limits, strict=True):
        own = bounds.at_most(f"{case.name}, {name}, own single", deviation * GUARANTEE.mu / width, limit)
        point = bounds.at_most(f"{case.name}, {name}, worst place", deviation / noise.deviation, 1.5)
        print(f"{case.name:<18}{name:<26}{point:>12}{own:>12}   (bound {limit:.2f})")


def benchmark(check: bool, bounds: Bounds) -> None:
    """Measure errors and time; --check asks and draws less often, and times the parts of a query separately."""
    counts = CHECKED if check else COUNTS
    print(f"RMSE ÷ single, ε = {EPSILON:g}, δ = {DELTA:g}; ± is one standard error")
    print(f"{'':<18}{'worst place':>12}" + "".join(f"{f'{count:,} queries':>20}" for count in counts))
    for number, case in enumerate(CASES):
        points = adaptive(case, np.random.default_rng(number), max(counts))
        cells = []
        for count, releases in counts.items():
            each = squares(case, points[:count], releases)
            error = each.std() / math.sqrt(releases * 4 * each.mean())
            cells.append(f"{bounds.rms_at_most(f'{case.name}, {count}', each, case.bound)} ± {error:.3f}")
        worst_cell = bounds.at_most(f"{case.name}, worst place", worst_deviation(case.space), case.bound)
        print(
            f"{case.name:<18}{worst_cell:>12}" + "".join(f"{cell:>20}" for cell in cells) + f"   (bound {case.bound})"
        )
    for name, (space, bound) in CLAIMED.items():
        print(f"{name:<24}{bounds.at_most(name, worst_deviation(space), bound):>6}   (bound {bound:.3g})")
    print("weighted sums of distances: deviation ÷ the worst place, and ÷ own single")
    for case in CASES:
        weighted_sums(case, bounds)
    print(f"one query after {MANY:,}, at n = {LARGE:,}")
    for case in (CASES[0], CASES[3]):
        speed(case, check, bounds)


def speed(case: Case, check: bool, bounds: Bounds) -> None:
    """Print the time of a query ÷ the time of NumPy's mean distance over the same table."""
    rng = np.random.default_rng(9)
    people, points = case.points(rng, LARGE), case.points(rng, MANY)
    power = 1 if isinstance(case.space, mp.L1) else 2
    already_asked = len(points) - ROUNDS
    with ExitStack() as stack:
        # with --check: the sums of a large table, and the innovation after many queries
        tables = (people, people[:ROWS]) if check else (people,)
        sessions = [stack.enter_context(open_session(table, case.space)) for table in tables]
        sessions[-1].ask_many(points[:already_asked])
        unasked = [iter(points[already_asked:]) for _ in sessions]  # not asked before
        functions = {
            str(k): lambda session=session, fresh_points=fresh_points: session.ask(next(fresh_points))
            for k, (session, fresh_points) in enumerate(zip(sessions, unasked, strict=True))
        }
        times = interleaved(
            functions | {"brute": lambda: np.linalg.norm(people - points[0], ord=power, axis=1).mean()}, ROUNDS
        )
    brute = times.pop("brute")
    query_time = sum(times.values())
    share = bounds.time_at_most(f"{case.name}: time of a query ÷ brute force", query_time / brute, 3.0)
    print(f"{case.name:<18} {1e3 * query_time:7.1f} ms, brute force {1e3 * brute:.1f} ms, ratio {share} (bound 3)")


if __name__ == "__main__":
    main(benchmark, __doc__ or "")

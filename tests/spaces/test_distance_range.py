"""Ranges: the distances of all records to a query lie in its range, which is no wider than it has to be."""

import pickle
from typing import Any

import numpy as np
import pytest

import milepost as mp
from milepost.mechanisms.query.field import Field
from milepost.mechanisms.query.net import Net
from milepost.mechanisms.query.per_query import PerQuery
from milepost.spaces.embeddings.embedding import QUANTA
from milepost.spaces.queries import Queries
from milepost.spaces.registry import KINDS
from tests.spaces.farthest_record import PATH, RANGE_CASES
from tests.spaces.hour_of_day import HourOfDay

cases = pytest.mark.parametrize("name", RANGE_CASES)


def test_every_space_has_a_case() -> None:
    assert {type(make().space) for make in RANGE_CASES.values()} >= {*KINDS.values()} - {HourOfDay}


@cases
def test_no_record_is_outside_the_range(name: str) -> None:
    """Corners, borders, records that are moved inside, the extremes and random ones: nothing is clipped."""
    case = RANGE_CASES[name]()
    queries = case.queries
    extremes = [record for query in range(queries.count) for record in case.extremes(query)]
    distances = case.distances([*case.records, *extremes])
    low, high = case.space.distance_range(queries.points)
    error = case.space.distance_error + 1e-3 * queries.quantum
    assert ((low >= 0) & (low <= high) & (high <= case.space.diameter)).all()
    assert ((distances >= low - error) & (distances <= high + error)).all()
    quanta = np.clip(np.rint(distances * (QUANTA / case.space.diameter)), 0, QUANTA)
    assert np.array_equal(clipped(queries, distances), quanta)


@cases
def test_some_record_attains_each_end_of_the_range(name: str) -> None:
    case = RANGE_CASES[name]()
    queries, tolerance = case.queries, 1e-6 * case.space.diameter
    low, high = case.space.distance_range(queries.points)
    for query in range(queries.count):
        nearest, farthest = case.distances(list(case.extremes(query)))[:, query]
        assert nearest <= low[query] + tolerance
        assert farthest >= high[query] - tolerance


@cases
def test_the_range_has_room_in_quanta(name: str) -> None:
    """One quantum at each end, besides the rounding of points, and never beyond 0..2²⁴."""
    queries = RANGE_CASES[name]().queries
    low, high = queries.space.distance_range(queries.points)
    room = 2 + queries.space.distance_error / queries.quantum
    assert ((queries.low >= 0) & (queries.low < queries.high) & (queries.high <= QUANTA)).all()
    assert (queries.low <= low / queries.quantum).all()
    assert (queries.low > low / queries.quantum - room - 1e-6).all()
    assert (queries.high >= np.minimum(high / queries.quantum, QUANTA)).all()
    assert (queries.high < high / queries.quantum + room + 1e-6).all()


def test_queries_outside_a_universe_have_a_smallest_distance() -> None:
    queries = RANGE_CASES["universe"]().queries
    low, high = queries.space.distance_range(queries.points)
    assert low.tolist() == [4, 0, 0, 2]
    assert high.tolist() == [9, 5, 3, 7]


@pytest.mark.parametrize("distance", [0.0, 2.0, 4.0])
def test_a_range_is_never_empty(distance: float) -> None:
    """A universe of one record, even at the distance 0 or as far as the diameter."""
    space = mp.AnyMetric(lambda x, y: 0.0 if x == y else distance, 4, ["query"], universe=["record"])
    queries = Queries(space.given_queries, space)
    assert 0 <= queries.low[0] < queries.high[0] <= QUANTA
    assert queries.high[0] - queries.low[0] <= 2


class Between(HourOfDay):
    """Hours of the day that claim a range, whatever their distances are; hour 5 has none."""

    range: Any = (2.0, 3.0)

    def distance(self, records: Any, queries: Any) -> Any:
        return np.where(records == 5, np.nan, super().distance(records, queries))

    def distance_range(self, queries: Any) -> Any:
        return tuple(np.full((len(queries), *np.shape(end)), end) for end in self.range)


def clipped(queries: Queries, distances: Any) -> Any:
    """What `gaussian` and `laplace` sum up."""
    return PerQuery("gaussian").summands(queries, queries.quantize(distances))


def test_distances_outside_the_range_are_moved_to_its_ends() -> None:
    """NaN to the upper end."""
    queries = Queries(np.array([[0.0], [7.0], [12.0]]), Between())
    distances = np.array(Between().distance(np.arange(24.0)[:, None], queries.points))
    distances[0] = [-np.inf, -1.0, np.inf]
    inside = np.clip(np.nan_to_num(distances, nan=3.0), 2, 3) / queries.quantum
    quanta = clipped(queries, distances)
    assert np.abs(quanta - inside).max() <= 3
    assert ((quanta >= queries.low) & (quanta <= queries.high)).all()


def test_a_range_does_not_change_what_other_mechanisms_sum_up() -> None:
    """field rests on distances that belong together, which ends of unlike ranges would tear apart."""
    queries = Queries(np.array([[0.0], [7.0], [12.0]]), Between())
    quanta = queries.quantize(np.array([[-1.0, 0.0, 12.0], [1.0, np.nan, 5.0]]))
    assert quanta.tolist() == [[0, 0, QUANTA], [round(QUANTA / 12), QUANTA, round(QUANTA * 5 / 12)]]
    for mechanism in (Field(), Net()):
        no_ranges = Queries(queries.points, HourOfDay())
        assert np.array_equal(mechanism.summands(queries, quanta), mechanism.summands(no_ranges, quanta))


def test_each_query_has_its_own_ends() -> None:
    """Distances that some queries may have and others may not."""
    queries = RANGE_CASES["universe"]().queries
    for distance in (np.inf, np.nan, 11.0, 8.0, 6.0, 4.0, 3.0, 1.0, 0.0, -1.0):
        exact = np.inf if np.isnan(distance) else distance / queries.quantum
        nearest = np.clip(exact, queries.low, queries.high)
        assert clipped(queries, np.full((2, queries.count), distance)).tolist() == [np.rint(nearest).tolist()] * 2


@pytest.mark.parametrize("outside", [(-5.0, -4.0), (13.0, 14.0), (-np.inf, np.inf), (12.0, 12.0), (0.0, 0.0)])
def test_a_range_outside_the_distances_is_moved_to_them(outside: tuple[float, float]) -> None:
    space = Between()
    space.range = outside
    queries = Queries(np.zeros((1, 1)), space)
    assert 0 <= queries.low[0] < queries.high[0] <= QUANTA


@pytest.mark.parametrize(
    "wrong", [(3.0, 2.0), (np.nan, 2.0), (0.0, np.nan), (0.0,), (0.0, 1.0, 2.0), (0.0, [1.0, 2.0])]
)
def test_a_range_that_is_none_is_refused(wrong: Any) -> None:
    space = Between()
    space.range = wrong
    with pytest.raises(mp.MilepostError, match="smallest and the largest distance"):
        _ = Queries(np.zeros((1, 1)), space).low


def test_a_subclass_with_its_own_distance_does_not_inherit_the_range() -> None:
    """The square of a distance is not in the range of the distance."""

    class Squared(mp.L1):
        def distance(self, records: Any, queries: Any) -> Any:
            return super().distance(records, queries) ** 2

    class SquaredBetween(Squared):
        def distance_range(self, queries: Any) -> Any:
            return tuple(end**2 for end in super().distance_range(queries))

    half = np.array([[0.5]])
    assert Queries(half, Squared([(0, 1)])).high[0] == QUANTA
    assert Queries(half, SquaredBetween([(0, 1)])).high[0] == pytest.approx(QUANTA / 4, abs=2)


def test_a_copy_on_another_computer_has_the_same_range() -> None:
    """Which may round otherwise: a record there must not be clipped to a wider range than noise was made for."""
    queries = Queries(np.array([[7.0]]), Between())
    copy = pickle.loads(pickle.dumps(queries))  # noqa: S301
    copy.space.range = (0.0, 12.0)
    assert (copy.low[0], copy.high[0]) == (queries.low[0], queries.high[0])


def test_a_file_keeps_the_ranges_of_a_universe(tmp_path: Any) -> None:
    """Its answers are clipped to them, although it has no universe."""
    space = mp.AnyMetric(mp.precomputed(PATH), 11, [0, 6], universe=[5, 6, 7])
    synopsis = mp.release([5, 6], space, epsilon=0.001, delta=1e-6, mechanism="gaussian")
    synopsis.save(tmp_path / "one.milepost")
    again = mp.load(tmp_path / "one.milepost")
    low, high = again.space.distance_range(np.arange(2))
    assert (low.tolist(), high.tolist()) == ([5, 0], [7, 1])
    assert again.mean_distance([0, 6]).tolist() == synopsis.mean_distance([0, 6]).tolist()
    again.save(tmp_path / "two.milepost")
    assert (tmp_path / "two.milepost").read_bytes() == (tmp_path / "one.milepost").read_bytes()

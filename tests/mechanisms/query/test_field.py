"""field: no change costs more than the budget, whatever is asked in whichever order; answers have the law they claim.

Costs are exact: Σ ΔE²/(2σ²), or Σ |ΔE|/b under pure ε, over all that a table and its neighbor hand to the noise
functions, the total's included.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, target
from hypothesis import strategies as st

import milepost as mp
from milepost._typing import AnyArray, FloatArray, IntArray
from milepost.ingest import record_source
from milepost.ingest.aggregation import read_sums
from milepost.mechanisms.query import field
from milepost.mechanisms.query.cholesky import NUGGET, CholeskyFactor
from milepost.mechanisms.query.field import Field, FieldNoise, Innovations
from milepost.privacy import noise as noise_functions
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.kernels.kernel import Kernel
from milepost.spaces.queries import Queries
from milepost.statistics.distance_sums import DistanceSums
from tests.auditing.bad_mechanisms import AgainstNoisy, equal_steps
from tests.chance import assert_rate, assert_scale, assert_wrong_scale
from tests.drawn_ahead import drawn_ahead
from tests.mechanisms.contract import (
    APPROXIMATE,
    GUARANTEES,
    PURE,
    QUICK,
    SPACES,
    Transcript,
    guarantees,
    inside,
    opposites,
    patched,
    places,
    points,
    run_mechanism,
    silent,
)
from tests.privacy.test_protected_change import CASES, LABELS, WHO, Person, Row
from tests.quick import some_quick

KERNELS = {name: space for name, space in SPACES.items() if name != "towns"}
MAX_QUERIES = 40
pytestmark = pytest.mark.filterwarnings("ignore::milepost.AccuracyWarning")
spaces = pytest.mark.parametrize(
    "name", some_quick(KERNELS, ["unequal weights", "steps", "disc", "box", "cap", "angles", "letters"])
)


def clusters(width: int, max_points: int = MAX_QUERIES) -> st.SearchStrategy[list[list[float]]]:
    """Points in fractions of the columns' widths: some places, and copies around them that are hardly apart."""
    point = st.lists(places, min_size=width, max_size=width)
    cluster = st.tuples(point, st.integers(1, 12), st.sampled_from([0.0, 1e-12, 1e-9, 1e-6, 1e-3, 0.1]))

    def spread(specs: list[tuple[list[float], int, float]]) -> list[list[float]]:
        rng = np.random.default_rng(len(specs))
        rows = [np.array(center) + size * rng.uniform(-1, 1, (count, width)) for center, count, size in specs]
        result: list[list[float]] = np.clip(np.concatenate(rows), -0.1, 1.1)[:max_points].tolist()
        return result

    return st.lists(cluster, min_size=1, max_size=6).map(spread)


def queries_at(space: Any, rows: Any) -> AnyArray:
    """Points of the space at fractions, as a user would give them; those of a cap within its border."""
    queries = points(space, rows)
    return np.clip(queries, [-90, -360], [90, 360]) if isinstance(space, mp.GreatCircle) else queries


def share_of_budget(first: Transcript, second: Transcript, guarantee: mp.Guarantee = APPROXIMATE) -> Fraction:
    return first.cost(second, guarantee.accounting) / Fraction(guarantee.budget)


def pair_cost(
    space: Any,
    query_points: Any,
    tables: Sequence[Any],
    change: ProtectedChange = ProtectedChange(),  # noqa: B008
    guarantee: mp.Guarantee = APPROXIMATE,
) -> Fraction:
    """The share of the budget that one table and its neighbor, both arrays of records, cost at some points."""
    queries = Queries(np.asarray(space.clip_points(space.read_queries(query_points))), space)
    first = Transcript()
    second = first.again()
    for transcript, table in zip((first, second), tables, strict=True):
        sums = read_sums(table, space, queries, empty=True)
        with transcript.listen():
            run_mechanism(Field(), sums, queries, change, guarantee, n=None if change.public_total else 5)
    return share_of_budget(first, second, guarantee)


# No change costs more than the budget.


def search(space: Any, examples: int, change: ProtectedChange, guarantee: mp.Guarantee = APPROXIMATE) -> None:
    """Opposite ends, asked about at both; then let Hypothesis look for records, tables and points that cost more."""
    ends = queries_at(space, [[0.0] * space.width, [1.0] * space.width])
    for left, right in opposites(space):
        for neighbor_tables in ((left, right),) if change.replaces else ((left, left[:0]), (right, right[:0])):
            assert pair_cost(space, ends, neighbor_tables, change, guarantee) <= 1
    record = st.lists(places, min_size=space.width, max_size=space.width)

    @settings(QUICK, max_examples=examples)
    @given(record, record, st.lists(record, max_size=3), clusters(space.width))
    def no_pair_costs_more(left: list[float], right: list[float], rest: Any, fractions: Any) -> None:
        pair = [left], [right] if change.replaces else []
        tables = [
            points(space, [*records, *rest]) if [*records, *rest] else points(space, [left])[:0] for records in pair
        ]
        share = float(pair_cost(space, queries_at(space, fractions), tables, change, guarantee))
        assert share <= 1, f"{share:.12g} of the budget"
        target(share)

    no_pair_costs_more()


@spaces
@guarantees
@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
def test_no_pair_costs_more_than_the_budget(name: str, kind: str, neighbors: str) -> None:
    search(KERNELS[name], 8, ProtectedChange(neighbors), GUARANTEES[kind])


@pytest.mark.slow
@spaces
@guarantees
@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
def test_no_pair_costs_more_than_the_budget_after_a_long_search(name: str, kind: str, neighbors: str) -> None:
    search(KERNELS[name], 150, ProtectedChange(neighbors), GUARANTEES[kind])


MORE: dict[str, Any] = {
    "ball, d = 10": mp.L2(center=[1] * 10, radius=1e6),
    "cap of a metre": mp.GreatCircle((-33, 151), 1e-3),
    "half of the earth": mp.GreatCircle((0, -179.9), 10007.5),
    "pole": mp.GreatCircle((90, 0), 3000),
    "lp 1.01": mp.Lp(1.01, [(0, 1)] * 3),
    "lp 1.99, flat": mp.Lp(1.99, [(0, 1), (0, 1e-9), (5, 5)]),
    "flat box": mp.L2([(0, 1e6), (0, 1e-3)]),
    "far ball": mp.L2(center=[4e6, -4e6], radius=1),
    "many angles": mp.Angular(40),
    "many angles, degrees": mp.Angular(40, angle_unit="degrees"),
    "products": mp.L2([(0, 1)] * 15 + [(1e6, 1e6 + 3)]),
    "products in a ball": mp.L2(center=[1e3] * 20, radius=1e-3),
    "tiny": mp.L1([(0, 1e-90), (1e9, 1e9)]),
}


@pytest.mark.parametrize("name", MORE)
def test_no_pair_costs_more_than_the_budget_in_odd_spaces(name: str) -> None:
    search(MORE[name], 12, ProtectedChange())


@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_vectors_of_any_length_cost_no_more(size: float) -> None:
    """Seven vectors of one direction are one point, however long they are."""
    query_points = np.array([[size * k, 0, 0] for k in range(1, 8)])
    tables = [np.array([[end, 0.0, 0.0]]) for end in (1, -1)]
    with np.errstate(all="ignore"):
        assert pair_cost(mp.Angular(3), query_points, tables) <= 1


FAR: dict[str, Callable[[Any], Any]] = {
    "l1": mp.L1,
    "l2": mp.L2,
    "lp": lambda bounds: mp.Lp(1.01, bounds),
    "gower": lambda bounds: mp.Gower([mp.number(*pair) for pair in bounds]),
}


@pytest.mark.parametrize("kind", FAR)
@pytest.mark.parametrize("steps", [3, 9, 33, 1001])
def test_boxes_far_from_0_cost_no_more(kind: str, steps: int) -> None:
    """A box a few steps of a float wide is refused; the farthest that is not costs no more than the budget."""
    with pytest.raises(mp.MilepostError, match="subtract an offset"):
        FAR[kind]([(2.0**30, 2.0**30 + steps * 2.0**-22)] * 2)
    low, high = 2.0**30, 2.0**30 + 256 + steps / 16
    rng = np.random.default_rng(0)
    near = [low + (high - low) * rng.random((60, 2)) * size for size in (1.0, 0.3)]
    query_points = np.vstack([[[low, low], [high, high]], *near, *[low + high - part for part in near]])
    tables = [np.array([[end, end]]) for end in (low, high)]
    share = pair_cost(FAR[kind]([(low, high)] * 2), query_points, tables)
    assert 0.9 < share <= 1, float(share)


def release(
    space: Any,
    people: Sequence[Person],
    neighbors: str,
    who: dict[str, Any],
    queries: AnyArray,
    guarantee: mp.Guarantee = APPROXIMATE,
) -> mp.Synopsis:
    """The release of a table of people, sized for a public number of rows."""
    rows = [(number, row) for number, person in enumerate(people) for row in person.rows]
    roles: dict[str, tuple[str, Any]] = {
        "labels": ("groups", [row.label for _, row in rows]),
        "max_row_weight": ("row_weights", [row.weight for _, row in rows]),
        "contributions": ("privacy_unit", [number for number, _ in rows]),
    }
    role_columns: dict[str, Any] = dict(role for option, role in roles.items() if option in who)
    table = points(space, [row.position for _, row in rows]) if rows else points(space, [[0.5] * space.width])[:0]
    options: dict[str, Any] = {"mechanism": "field", "neighbors": neighbors, "queries": queries, "n": 40}
    return mp.release(table, space, epsilon=guarantee.epsilon, delta=guarantee.delta, **options, **who, **role_columns)


@pytest.mark.parametrize(("neighbors", "who"), CASES)
@pytest.mark.parametrize("name", ["unequal weights", "disc"])
@guarantees
def test_no_person_costs_more_than_the_budget(name: str, neighbors: str, who: str, kind: str) -> None:
    """Contributions, weights and groups, with all that a release draws, through `mp.release`."""
    space = KERNELS[name]
    roles = WHO[who]
    rows = st.lists(
        st.builds(
            Row,
            st.lists(places, min_size=space.width, max_size=space.width),
            st.sampled_from([*LABELS, "unlisted"]),
            st.sampled_from([-1.0, 0.0, 0.002, 1.0, 4.0, 7.5]),
        ),
        max_size=roles["contributions"] + 2 if "contributions" in roles else 1,
    )
    others = [Person([Row([0.3] * space.width)]), Person([Row([0.9] * space.width, "b", 2.0)])]

    @settings(QUICK, max_examples=5)
    @given(rows, rows, clusters(space.width, max_points=8))
    def no_change_costs_more(mine: list[Row], theirs: list[Row], fractions: Any) -> None:
        first = Transcript()
        second = first.again()
        after = Person(theirs if neighbors == "replace" else [])
        for transcript, person in ((first, Person(mine)), (second, after)):
            with transcript.listen():
                release(space, [person, *others], neighbors, roles, queries_at(space, fractions), GUARANTEES[kind])
        share = float(share_of_budget(first, second, GUARANTEES[kind]))
        assert share <= 1, f"{share:.12g} of the budget"
        target(share)

    no_change_costs_more()


class Noisy(Transcript):
    """A first run with noise of some size, as a script has it: what is asked next depends on it."""

    def __init__(self, seed: int, size: float) -> None:
        super().__init__()
        self._rng, self._size = np.random.default_rng(seed), size

    def _add(self, law: str, values: IntArray, scale: float) -> IntArray:
        output = super()._add(law, values, scale)
        output += np.rint(self._size * scale * self._rng.standard_normal(output.shape)).astype(np.int64)
        self.draws[-1] = replace(self.draws[-1], output=output.copy())
        return output


def ask_adaptively(session: mp.Session, space: Any, rows: Sequence[list[float]], sizes: Sequence[int]) -> None:
    """In batches of these sizes; each is moved by what was answered before."""
    start, shift = 0, 0.0
    for size in [*sizes, len(rows)]:
        batch = np.array(rows[start : start + size])
        if not len(batch):
            break
        queries = queries_at(space, np.clip(batch + shift, -0.1, 1.1))
        answers = session.ask_many(list(queries))
        shift = (answers[-1].value / space.diameter - 0.5) * 1e-3
        start += size


def search_sessions(
    space: Any, examples: int, neighbors: str, guarantee: mp.Guarantee, copies: int = 1, **roles: Any
) -> None:
    """Let Hypothesis look for a person of so many equal rows, and points asked in some order, that cost too much."""
    record = st.lists(places, min_size=space.width, max_size=space.width)

    @settings(QUICK, max_examples=examples)
    @given(
        record,
        record,
        st.lists(record, min_size=1, max_size=3),
        clusters(space.width, max_points=20),
        st.lists(st.integers(1, 7), max_size=6),
        st.integers(0, 99),
        st.sampled_from([0.0, 1.0, 30.0]),
    )
    def no_session_costs_more(
        left: list[float], right: list[float], rest: Any, fractions: Any, sizes: list[int], seed: int, size: float
    ) -> None:
        first = Noisy(seed, size)
        second = first.again()
        pair = [left] * copies, [right] * copies if neighbors == "replace" else []
        for transcript, records in zip((first, second), pair, strict=True):
            role_columns = {option: role(len(records), len(rest)) for option, role in roles.items() if callable(role)}
            plain = {option: role for option, role in roles.items() if not callable(role)}
            with transcript.listen(), patched([(record_source, "MAX_CELLS", 1 << 12)]):
                session = mp.interactive(
                    points(space, [*records, *rest]),
                    space,
                    epsilon=guarantee.epsilon,
                    delta=guarantee.delta,
                    max_queries=MAX_QUERIES,
                    mechanism="field",
                    neighbors=neighbors,
                    **role_columns,
                    **plain,
                    n=None if neighbors == "replace" and not roles else 4,
                )
                ask_adaptively(session, space, fractions, sizes)
        share = float(share_of_budget(first, second, guarantee))
        assert share <= 1, f"{share:.12g} of the budget"
        target(share)

    no_session_costs_more()


@spaces
@guarantees
@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
def test_no_session_costs_more_than_the_budget(name: str, kind: str, neighbors: str) -> None:
    """Asked in batches and one at a time, adaptively, with noise or without."""
    search_sessions(KERNELS[name], 4, neighbors, GUARANTEES[kind])


@pytest.mark.slow
@spaces
@guarantees
@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
def test_no_session_costs_more_than_the_budget_after_a_long_search(name: str, kind: str, neighbors: str) -> None:
    search_sessions(KERNELS[name], 40, neighbors, GUARANTEES[kind])


@pytest.mark.parametrize("name", ["steps", "cap"])
@guarantees
def test_no_session_with_weights_costs_more_than_the_budget(name: str, kind: str) -> None:
    for neighbors in ("replace", "add-remove"):
        search_sessions(
            KERNELS[name],
            8,
            neighbors,
            GUARANTEES[kind],
            row_weights=lambda own, rest: [4.0] * own + [1.0] * rest,
            max_row_weight=4.0,
        )


@pytest.mark.parametrize("name", ["steps", "disc"])
@guarantees
def test_no_session_with_persons_costs_more_than_the_budget(name: str, kind: str) -> None:
    for neighbors in ("replace", "add-remove"):
        search_sessions(
            KERNELS[name],
            6,
            neighbors,
            GUARANTEES[kind],
            copies=3,
            privacy_unit=lambda own, rest: [0] * own + [*range(1, rest + 1)],
            contributions=3,
        )


def test_a_session_goes_on_after_a_failure() -> None:
    """Noise that could not be drawn, or an interrupt then: what is asked afterwards costs no more, and is answered."""
    space, noise = SPACES["disc"], Field().noise(SPACES["disc"], 6, ProtectedChange(), APPROXIMATE)
    query_points = np.array([[1.0, -2.0], [1.0, 0.9], [2.0, -3.0], [0.0, -2.0]])
    first = Transcript()
    second = first.again()

    def raise_interrupt(*_: Any) -> IntArray:
        raise KeyboardInterrupt

    answers = []
    for transcript, record in ((first, [1.0, 1.0]), (second, [1.0, -5.0])):
        sums = read_sums(np.array([record]), space, Queries(query_points, space)).values[0].tolist()
        innovations = Innovations(noise, 1)
        with transcript.listen():
            innovations.ask(query_points[:1], sums[:1])
            with patched([(noise_functions, "_add", raise_interrupt)]), pytest.raises(KeyboardInterrupt):
                innovations.ask(query_points[1:2], sums[1:2])
            answers = innovations.ask(query_points[2:], sums[2:])[0].tolist()
    assert share_of_budget(first, second) <= 1
    exact = read_sums(np.array([[1.0, 1.0]]), space, Queries(query_points[2:], space)).values[0] - noise.anchors(
        query_points[2:]
    )
    assert answers == pytest.approx(exact, abs=64)  # without noise


# The budget is spent, so that a little less noise would be seen.


def worst(space: Any, pair: Any, query_points: Any, change: ProtectedChange = ProtectedChange()) -> Fraction:  # noqa: B008
    return pair_cost(space, np.array(query_points), [np.array([record]) for record in pair], change)


def ball(width: int, count: int = 60) -> tuple[Any, Any, AnyArray]:
    """Opposite points of the border, asked about at both and on the way between them."""
    space = mp.L2(center=[0] * width, radius=1)
    query_points = np.zeros((count, width))
    query_points[:, 0] = np.linspace(-1, 1, count)
    return space, ([-1.0] + [0.0] * (width - 1), [1.0] + [0.0] * (width - 1)), query_points


LINE = mp.L1([(0, 1)])
TIGHT: dict[str, tuple[tuple[Any, Any, Any], Fraction]] = {
    "l1": ((LINE, ([0.0], [1.0]), [[0.0], [1.0]]), Fraction(98, 100)),
    "box": ((mp.L1([(0, 1)] * 5), ([0.0] * 5, [1.0] * 5), [[0.0] * 5]), Fraction(98, 100)),
    "angles": ((mp.Angular(3), ([1.0, 0, 0], [-1.0, 0, 0]), [[1.0, 0, 0]]), Fraction(98, 100)),
    "degrees": (
        (mp.Angular(3, angle_unit="degrees"), ([1.0, 0, 0], [-1.0, 0, 0]), [[1.0, 0, 0]]),
        Fraction(98, 100),
    ),
    "disc": (ball(2), Fraction(9, 10)),
    "ball, d = 10": (ball(10), Fraction(9, 10)),
    "products": (ball(20), Fraction(9, 10)),
}


@pytest.mark.parametrize("name", TIGHT)
def test_the_budget_is_spent_on_the_worst_pair(name: str) -> None:
    case, min_share = TIGHT[name]
    assert min_share <= worst(*case) <= 1


def test_the_budget_is_spent_on_one_record_added() -> None:
    """The total's share included."""
    tables = [np.array([[0.0], [0.3]]), np.array([[0.3]])]
    assert Fraction(98, 100) <= pair_cost(LINE, np.array([[0.0]]), tables, ProtectedChange("add-remove")) <= 1


# Under pure ε, on the points whose innovations change alike: Σ|ΔE| is then √k times the length of the change.


@pytest.mark.parametrize("count", [1, 2, 5, 12])
def test_pure_epsilon_is_spent_on_the_worst_pair(count: int) -> None:
    query_points, tables = equal_steps(count), [np.array([[0.0], [0.3]]), np.array([[1.0], [0.3]])]
    assert Fraction(98, 100) <= pair_cost(LINE, query_points, tables, guarantee=PURE) <= 1
    change = ProtectedChange("add-remove")
    shares = [pair_cost(LINE, query_points, [table, table[1:]], change, PURE) for table in tables]
    assert Fraction(98, 100) <= max(shares) <= 1


@pytest.mark.parametrize("name", ["box", "angles", "disc", "ball, d = 10"])
def test_pure_epsilon_is_spent_at_one_point(name: str) -> None:
    """At one end of the worst pair; on a disc one point does not see the whole change."""
    (space, pair, query_points), _ = TIGHT[name]
    tables = [np.array([record]) for record in pair]
    assert Fraction(8, 10) <= pair_cost(space, np.array(query_points)[:1], tables, guarantee=PURE) <= 1


@pytest.mark.parametrize("count", [2, 5])
def test_noise_for_one_point_is_too_small_for_several(count: int) -> None:
    """Without √k, which `max_points` stands for, the cost is √k times ε."""
    of = FieldNoise.of

    def for_one(kernel: Kernel, max_points: int, *args: Any) -> FieldNoise:
        return replace(of(kernel, 1, *args), max_points=max_points)

    with patched([(FieldNoise, "of", for_one)]):
        share = pair_cost(LINE, equal_steps(count), [np.array([[0.0]]), np.array([[1.0]])], guarantee=PURE)
    assert share == pytest.approx(math.sqrt(count), rel=0.02)


def test_a_session_under_pure_epsilon_costs_no_more_wherever_it_goes() -> None:
    """An analyst who looks for points whose innovations change alike, after noisy answers to others."""
    space, guarantee = LINE, PURE
    noise = Field().noise(space, 12, ProtectedChange(), guarantee)
    first = Noisy(5, 1.0)
    second = first.again()
    for transcript, record in ((first, 0.0), (second, 1.0)):
        innovations = Innovations(noise, 1)
        with transcript.listen():
            for place in (0.7, 0.9, *equal_steps(9).ravel()):
                shift = 1e-6 * (innovations.noisy[-1] % 7 if innovations.noisy else 0)
                query = np.array([[place + shift]])
                innovations.ask(query, read_sums([[record]], space, Queries(query, space)).values[0].tolist())
    assert Fraction(6, 10) <= share_of_budget(first, second, guarantee) <= 1


def spoilt(space: Any, change: Callable[[Kernel], Kernel]) -> Any:
    """The same space with other kernels."""
    result = type(space).from_json(space.to_json(), space.tensors())
    result.__dict__["kernels"] = tuple(change(kernel) for kernel in space.kernels)
    return result


SPOILT: dict[str, Callable[[Kernel], Kernel]] = {
    "pair": lambda kernel: replace(kernel, pair=0.9 * kernel.pair),
    "half": lambda kernel: replace(
        kernel, half=lambda query_points: kernel.half(query_points) - 0.02 * kernel.max_variance
    ),
    "apart": lambda kernel: replace(kernel, apart=lambda left, right: 1.3 * kernel.apart(left, right)),
}


@pytest.mark.parametrize("name", TIGHT)
def test_a_pair_that_is_too_small_is_seen(name: str) -> None:
    (space, pair, query_points), _ = TIGHT[name]
    assert worst(spoilt(space, lambda kernel: kernel), pair, query_points) == worst(space, pair, query_points)
    assert worst(spoilt(space, SPOILT["pair"]), pair, query_points) > 1


def over_the_disc() -> AnyArray:
    """Points on rings around the centre."""
    turns = 2 * math.pi * np.arange(12) / 12
    ring = np.column_stack([np.cos(turns), np.sin(turns)])
    return np.vstack([away * ring for away in (0.05, 0.3, 0.6, 0.9, 1.0)])


HALF: dict[str, tuple[Any, Any, Any]] = {
    "l1": (LINE, ([0.0], [1.0]), [[0.0]]),
    "angles": (mp.Angular(3), ([1.0, 0, 0], [-1.0, 0, 0]), [[1.0, 0, 0]]),
    "disc": (ball(2)[0], ([0.0, 0.0], [1.0, 0.0]), over_the_disc()),
}


@pytest.mark.parametrize("name", HALF)
def test_a_constant_that_is_too_small_is_seen(name: str) -> None:
    """A variance that lacks 4 % of the largest: between the centre and the border of a disc the constant matters."""
    space, pair, query_points = HALF[name]
    assert worst(space, pair, query_points) <= 1
    assert worst(spoilt(space, SPOILT["half"]), pair, query_points) > 1


def test_distances_that_are_too_large_are_seen() -> None:
    """A covariance of longer distances than the records have: nearby points are then less alike than they should be."""
    query_points = np.linspace(0, 0.3, 30)[:, None]
    assert worst(LINE, ([0.0], [1.0]), query_points) <= 1
    assert worst(spoilt(LINE, SPOILT["apart"]), ([0.0], [0.3]), query_points) <= 1
    assert worst(spoilt(LINE, SPOILT["apart"]), ([0.0], [1.0]), query_points) > 1


def test_a_single_that_is_too_small_is_seen() -> None:
    tables = [np.array([[0.0], [0.3]]), np.array([[0.3]])]
    small = spoilt(LINE, lambda kernel: replace(kernel, single=0.9 * kernel.single))
    assert pair_cost(small, np.array([[0.0]]), tables, ProtectedChange("add-remove")) > 1
    other = spoilt(LINE, lambda kernel: replace(kernel, anchor=lambda query_points: kernel.anchor(query_points) + 0.05))
    assert pair_cost(other, np.array([[0.0]]), tables, ProtectedChange("add-remove")) > 1


def coarse(query_points: AnyArray, rng: np.random.Generator, guarantee: mp.Guarantee = APPROXIMATE) -> Fraction:
    """The worst of some pairs of records from end to end, in a table of others."""
    rest = rng.random((3, 1))
    return max(
        pair_cost(LINE, query_points, [np.vstack([[[left]], rest]), np.vstack([[[right]], rest])], guarantee=guarantee)
        for left, right in ((0.0, 1.0), (0.0, 0.999), (0.001, 1.0), (1.0, 0.0), (0.002, 0.9995))
    )


@pytest.mark.parametrize("bits", [2, 3, 5])
def test_rounding_of_innovations_is_paid_for(bits: int) -> None:
    """With innovations of few bits: within the budget, and beyond it when rounding is left out."""
    rng, of = np.random.default_rng(bits), FieldNoise.of
    violations = 0
    with patched([(field, "STEP_BITS", bits)]):
        for _ in range(6):
            query_points = np.concatenate([[[0.0], [1.0]], rng.random((30, 1))])
            assert coarse(query_points, rng) <= 1
            with patched([(FieldNoise, "of", lambda *args: replace_split(of, *args))]):
                violations += coarse(query_points, rng) > 1
    assert violations


@pytest.mark.parametrize("bits", [2, 3, 5])
def test_rounding_of_innovations_is_paid_for_under_pure_epsilon(bits: int) -> None:
    """At two points whose innovations change alike, where √2 times the length of the change is reached."""
    rng, of = np.random.default_rng(0), FieldNoise.of
    violations = 0
    with patched([(field, "STEP_BITS", bits)]):
        for _ in range(6):
            query_points = equal_steps(2) + 1e-3 * rng.random((2, 1))
            assert coarse(query_points, rng, PURE) <= 1
            with patched([(FieldNoise, "of", lambda *args: replace_split(of, *args))]):
                violations += coarse(query_points, rng, PURE) > 1
    assert violations


def replace_split(of: Callable[..., FieldNoise], *args: Any) -> FieldNoise:
    kernel, max_points, _, change, guarantee = args
    pair, single = kernel.pair, kernel.single
    if guarantee.pure:
        pair, single = (math.sqrt(max_points * square) for square in (pair, single))
    split = (change.laplace if guarantee.pure else change.gaussian)(pair, single, guarantee.budget, 0.5)
    return replace(of(*args), split=split)


@guarantees
def test_innovations_against_noisy_answers_are_seen(kind: str) -> None:
    """Each step then has the noise of an innovation only, and what came before does not count for it."""
    guarantee = GUARANTEES[kind]
    space, query_points = LINE, np.array([[0.0], [1e-3], [2e-3], [3e-3]])
    noise = Field().noise(space, 4, ProtectedChange(), guarantee)
    costs = []
    for innovations_kind in (Innovations, AgainstNoisy):
        first = Noisy(3, 1.0)
        second = first.again()
        for transcript, record in ((first, 0.0), (second, 1.0)):
            sums = read_sums(np.array([[record]]), space, Queries(query_points, space)).values[0].tolist()
            innovations = innovations_kind(noise, 1)
            with transcript.listen():
                for index, value in enumerate(sums):
                    innovations.ask(query_points[index : index + 1], [value])
        costs.append(share_of_budget(first, second, guarantee))
    assert costs[0] <= 1 < costs[1]


# Answers have the law that they claim.

RELEASES = 4000
LAWS: dict[str, tuple[Any, AnyArray]] = {
    "l1": (mp.L1([(0, 1), (0, 3)]), np.array([[0, 0], [1, 3], [0.5, 1], [0.5, 1.1], [0.2, 2], [0.9, 0.1]])),
    "disc": (SPACES["disc"], np.array([[1, -2], [1, 0.9], [1.2, -2], [3, -3], [-1.9, -2], [1, -4]])),
    "cap": (SPACES["cap"], np.array([[80, 170], [80.5, 170], [60, 170], [85, -60], [70, 100], [75, -150]])),
}


def claimed_covariance(noise: FieldNoise, query_points: AnyArray) -> FloatArray:
    """The covariance of noisy sums, in the units of the distance."""
    kernel = noise.kernel
    half = kernel.half(query_points)
    result = half[:, None] + half[None] - 2 * kernel.apart(query_points, query_points)
    result[np.diag_indices(len(query_points))] = 2 * half + NUGGET * kernel.max_variance
    return np.asarray(noise.innovation_deviation**2 * result)


def directions(covariance: FloatArray, others: Sequence[FloatArray] = ()) -> list[FloatArray]:
    """Matrices that make errors of this covariance independent standard normal numbers.

    All at once; each of them alone; for each pair, (z ± z′)/√2, whose squares differ by the product z·z′; and for each
    of the others, where its variance differs most from 1.
    """
    white = np.linalg.inv(np.linalg.cholesky(covariance))
    projections = [direction[None] @ white for direction in (*np.eye(len(white)), *_pairs(len(white)))]
    for other in others:
        values, vectors = np.linalg.eigh(white @ other @ white.T)
        projections.append(vectors[:, np.argmax(np.abs(np.log(values)))][None] @ white)
    return [white, *projections]


def clearest_direction(candidates: Sequence[FloatArray], other: FloatArray) -> tuple[FloatArray, float]:
    """The direction in which errors of another covariance are seen best, and the one scale that they have in it."""
    best, scale, max_signal = candidates[0], 1.0, 0.0
    for direction in candidates:
        variances = np.linalg.eigvalsh(direction @ other @ direction.T)
        signal = math.sqrt(len(variances)) * abs(math.log(variances[0]))
        if math.isclose(variances[0], variances[-1], rel_tol=1e-6) and signal > max_signal:
            best, scale, max_signal = direction, math.sqrt(variances[0]), signal
    return best, scale


def assert_covariance(errors: FloatArray, covariance: FloatArray, against: Sequence[FloatArray]) -> None:
    """Errors float64[n, k] are normal with this covariance; each of the others would be noticed."""
    candidates = directions(covariance, against)
    for direction in candidates:
        assert_scale(errors @ direction.T, against=1.2, comparisons=len(candidates))
    for other in against:
        direction, factor = clearest_direction(candidates, other)
        assert_scale(errors @ direction.T, against=factor, comparisons=len(candidates))


def assert_other_covariance(errors: FloatArray, covariance: FloatArray, truth: FloatArray) -> None:
    """Errors of one covariance are not taken for those of another."""
    candidates = directions(covariance, [truth])
    direction, factor = clearest_direction(candidates, truth)
    assert_wrong_scale(errors @ direction.T, factor, comparisons=len(candidates))


def _pairs(width: int) -> list[FloatArray]:
    unit = np.eye(width) / math.sqrt(2)
    return [unit[i] + sign * unit[j] for i in range(width) for j in range(i) for sign in (1, -1)]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["disc", "l1", "cap"])
def test_answers_have_the_covariance_that_they_claim(name: str) -> None:
    """Others are told from it: 15 % more or less variance, distances 15 % longer, noise that is independent."""
    space, rows = LAWS[name]
    queries = Queries(space.clip_points(space.read_queries(rows.astype(np.float64))), space)
    noise = Field().noise(space, 6, ProtectedChange(), APPROXIMATE)
    people = points(space, np.random.default_rng(0).random((50, 2)))
    sums = read_sums(people, space, queries)
    exact = sums.values[0] - 50 * noise.anchors(queries.points)
    with drawn_ahead():
        releases = [Innovations(noise, 50).ask(queries.points, sums.values[0].tolist()) for _ in range(RELEASES)]
    errors = np.array([answers - exact for answers, _, _ in releases]) * noise.quantum
    right = claimed_covariance(noise, queries.points)
    assert releases[0][1] * noise.quantum == pytest.approx(np.sqrt(np.diag(right)), rel=1e-6)
    longer = replace(noise.kernel, apart=lambda left, other: 1.15 * noise.kernel.apart(left, other))
    wrong = [
        1.15 * right,
        right / 1.15,
        np.diag(np.diag(right)),
        claimed_covariance(replace(noise, kernel=longer), queries.points),
    ]
    wrong = [wrong_covariance for wrong_covariance in wrong if np.linalg.eigvalsh(wrong_covariance).min() > 0]
    assert_covariance(errors, right, against=wrong)
    for wrong_covariance in wrong:
        assert_other_covariance(errors, wrong_covariance, right)
    independent = np.random.default_rng(1).standard_normal(errors.shape) * np.sqrt(np.diag(right))
    assert_other_covariance(independent, right, np.diag(np.diag(right)))


@pytest.mark.slow
def test_the_constant_is_what_it_is_claimed_to_be() -> None:
    """c, the variance that all answers share, is not twice as much, nor absent: at a ring and its centre.

    c is a fifth and more of the variance of the most sensitive direction.
    """
    space = SPACES["disc"]
    turns = 2 * math.pi * np.arange(5) / 5
    rows = np.vstack([[[1, -2]], np.array([1, -2]) + 2.9 * np.column_stack([np.cos(turns), np.sin(turns)])])
    queries = Queries(space.clip_points(rows), space)
    noise = Field().noise(space, 6, ProtectedChange(), APPROXIMATE)
    constant = float(2 * (noise.kernel.half(rows) - 2 * (noise.kernel.anchor(rows) - 2 / math.pi * 3))[0])
    sums = read_sums(rows, space, queries)
    exact = sums.values[0] - 6 * noise.anchors(rows)
    with drawn_ahead():
        differences = [Innovations(noise, 6).ask(rows, sums.values[0].tolist())[0] - exact for _ in range(10_000)]
    errors, right = np.array(differences) * noise.quantum, claimed_covariance(noise, rows)
    wrong = [right + noise.split.power / 2 * more for more in (constant, -constant)]
    assert_covariance(errors, right, against=wrong)
    for wrong_covariance in wrong:
        assert_other_covariance(errors, wrong_covariance, right)


def claimed_kurtoses(covariance: FloatArray) -> FloatArray:
    """3·Σℓ⁴/(Σℓ²)² of sums of independent Laplace draws that have this covariance, in the order of the points."""
    rows = np.linalg.cholesky(covariance)
    return np.asarray(3 * (rows**4).sum(axis=1) / (rows**2).sum(axis=1) ** 2)


@pytest.mark.parametrize("name", LAWS)
def test_answers_say_their_deviations_and_kurtoses(name: str) -> None:
    """Of sums of Laplace draws; those of Gaussian ones are 0."""
    space, rows = LAWS[name]
    query_points = space.clip_points(space.read_queries(rows.astype(np.float64)))
    for guarantee in (PURE, APPROXIMATE):
        noise = Field().noise(space, 8, ProtectedChange(), guarantee)
        covariance, session = claimed_covariance(noise, query_points), Innovations(noise, 0)
        parts = [session.ask(query_points[part], [0] * count) for part, count in ((slice(2), 2), (slice(2, None), 4))]
        _, deviations, kurtoses = map(np.concatenate, zip(*parts, strict=True))
        assert deviations * noise.quantum == pytest.approx(np.sqrt(np.diag(covariance)), rel=1e-6)
        assert kurtoses == pytest.approx(claimed_kurtoses(covariance) if guarantee.pure else np.zeros(6), abs=1e-6)
    assert claimed_kurtoses(covariance)[0] == pytest.approx(3)
    assert claimed_kurtoses(covariance).min() < 2.5


@pytest.mark.slow
@pytest.mark.parametrize("name", LAWS)
def test_answers_under_pure_epsilon_have_the_law_that_they_claim(name: str) -> None:
    """Whitened, errors are independent Laplace draws, and no normal ones; half-widths cover as often as they say."""
    space, rows = LAWS[name]
    query_points = space.clip_points(space.read_queries(rows.astype(np.float64)))
    queries, change = Queries(query_points, space), ProtectedChange()
    noise = Field().noise(space, 6, change, PURE)
    sums = read_sums(points(space, np.random.default_rng(0).random((50, 2))), space, queries)
    with drawn_ahead():
        releases = [run_mechanism(Field(), sums, queries, change, PURE) for _ in range(RELEASES)]
    truth = sums.values[0] * noise.quantum / 50
    errors = np.array([release.values(np.arange(6), raw=True) for release in releases]) - truth
    covariance = claimed_covariance(noise, query_points)
    draws = math.sqrt(2) * 50 * np.linalg.solve(np.linalg.cholesky(covariance), errors.T)  # of scale 1
    assert_scale(draws, law="laplace", against=1.08)
    for draw in draws:
        assert_scale(draw, law="laplace", against=1.25, comparisons=len(draws))
    # a normal law of the same variance has 0.0125 beyond its quantile of 0.002, and almost nothing beyond this one
    beyond = np.count_nonzero(np.abs(draws) > math.log(500))
    assert_rate(draws.size - beyond, draws.size, at_least=0.998, at_most=0.998, against=0.9999)
    widths = releases[0].half_widths(np.arange(6), 0.95)
    assert_rate((np.abs(errors) <= widths).sum(axis=0), RELEASES, at_least=0.95, against=0.9)
    assert_rate((np.abs(errors) <= widths / 2).sum(axis=0), RELEASES, at_most=0.79, against=0.86)


# Predictions, refusals.


def test_the_prediction_under_pure_epsilon_is_no_less_than_the_release_says() -> None:
    """It takes the kurtosis of one draw for every answer: the first one has it, and others have up to a tenth less."""
    for name in ("steps", "disc", "cap", "angles"):
        space = KERNELS[name]
        query_points = inside(space, [[k / 7] * space.width for k in range(8)])
        queries = Queries(np.asarray(space.clip_points(space.read_queries(query_points))), space)
        for change in (ProtectedChange(), ProtectedChange("add-remove")):
            with silent():
                prediction = Field().predict(queries, 3000, change, PURE).prediction
            sums = read_sums(points(space, [[0.3] * space.width] * 3000), space, queries)
            with Transcript().listen():
                released = run_mechanism(Field(), sums, queries, change, PURE)
            assert released.total.pure or change.public_total
            if change.public_total:
                assert prediction.rms == pytest.approx(released.deviation, rel=1e-6)
                for uniform, predicted in ((False, prediction.error), (True, prediction.uniform)):
                    half_width = released.half_width(0.95, uniform=uniform)
                    assert half_width * (1 - 1e-6) <= predicted <= 1.1 * half_width


@spaces
def test_the_prediction_is_what_the_release_says(name: str) -> None:
    space = KERNELS[name]
    query_points = inside(space, [[k / 7] * space.width for k in range(8)])
    queries = Queries(np.asarray(space.clip_points(space.read_queries(query_points))), space)
    with silent():
        prediction = Field().predict(queries, 300, ProtectedChange(), APPROXIMATE).prediction
    sums = read_sums(points(space, [[0.3] * space.width] * 300), space, queries)
    noisy_sums = run_mechanism(Field(), sums, queries, ProtectedChange(), APPROXIMATE)
    assert prediction.rms == pytest.approx(noisy_sums.deviation, rel=1e-6)
    assert prediction.error == pytest.approx(min(noisy_sums.half_width(0.95), space.diameter), rel=1e-6)
    assert prediction.uniform == pytest.approx(min(noisy_sums.half_width(0.95, uniform=True), space.diameter), rel=1e-6)


def test_what_cannot_be_is_refused_before_spending() -> None:
    queries = Queries(np.array([[0.0], [1.0]]), LINE)
    sums = read_sums([[0.5]], LINE, queries)
    towns = SPACES["towns"]
    cases: list[tuple[Callable[[], Any], str]] = [
        (
            lambda: run_mechanism(Field(), sums, Queries(towns.given_queries, towns), ProtectedChange(), APPROXIMATE),
            "negative type",
        ),
        (
            lambda: run_mechanism(Field(), sums, Queries(np.zeros((3, 1)), LINE), ProtectedChange(), APPROXIMATE),
            "2 numbers do not fit these queries, which have 3",
        ),
        (lambda: run_mechanism(Field(), DistanceSums(2), queries, ProtectedChange(), APPROXIMATE), "no records"),
        (lambda: run_mechanism(Field(), sums, queries, ProtectedChange(), APPROXIMATE, n=2), "has changed"),
        (lambda: Field().predict(queries, 0, ProtectedChange("add-remove"), APPROXIMATE), "no records"),
        (lambda: run_mechanism(Field(), sums, queries, ProtectedChange(groups=3), APPROXIMATE, n=1), "group"),
        (lambda: Field().noise(LINE, 8193, ProtectedChange(), APPROXIMATE), "8,192"),
        (lambda: Field().noise(LINE, 5, ProtectedChange(), mp.Guarantee(1e-12, 1e-6)), "epsilon"),
        (lambda: Field().noise(LINE, 5, ProtectedChange(), mp.Guarantee(1e-9)), "does not fit 64-bit integers"),
    ]
    with silent():
        for call, message in cases:
            with pytest.raises(mp.MilepostError, match=message):
                call()


def test_the_answers_without_noise_are_the_exact_sums() -> None:
    """To what an innovation's rounding is in quanta of a sum."""
    for name in ("disc", "cap", "angles", "table"):
        space = KERNELS[name]
        rows = np.random.default_rng(0).random((30, space.width))
        query_points = np.asarray(space.clip_points(space.read_queries(inside(space, rows))))
        queries = Queries(query_points, space)
        sums = read_sums(points(space, rows), space, queries)
        with Transcript().listen():
            noisy_sums = run_mechanism(Field(), sums, queries, ProtectedChange(), APPROXIMATE)
        exact = sums.values[0] - 30 * noisy_sums.anchors
        assert np.abs(noisy_sums.sums - exact).max() <= 24
        assert noisy_sums.values(np.arange(30), raw=True) == pytest.approx(
            mp.exact_mean_distance(points(space, rows), space, inside(space, rows)),
            abs=2 * queries.bias + queries.quantum,
        )


def test_a_factor_of_the_noise_has_its_unit() -> None:
    """A row times innovations is in 2⁻³⁴ quanta: unit²·ℓℓᵀ is the covariance, λ included."""
    noise = Field().noise(LINE, 3, ProtectedChange(), APPROXIMATE)
    query_points = np.array([[0.0], [0.3], [1.0]])
    factor = CholeskyFactor(noise.kernel, 3, noise.unit)
    factor.extend(query_points)
    rows = factor.rows(0, 3)
    covariance = 1 - 2 * np.abs(query_points - query_points.T) + NUGGET * np.eye(3)
    assert noise.unit**2 * (rows @ rows.T) == pytest.approx(covariance, rel=1e-6)

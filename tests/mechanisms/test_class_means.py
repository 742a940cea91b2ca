"""Noisy class means: no pair of neighbors costs more than the guarantee, the worst pair costs all of it, and what is
made of noisy numbers does what it says.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import milepost as mp
from milepost._typing import AnyArray, FloatArray
from milepost.auditing.noise_trace import replaced_noise
from milepost.auditing.scripted_noise import NoiseScript
from milepost.ingest.row_attributes import RowColumns
from milepost.ingest.table import Table
from milepost.mechanisms.class_means import COUNT_SHARES, MAX_SHARE, ClassMeans, ClassMeansDesign, SumNoise
from milepost.mechanisms.totals import Total
from milepost.privacy.guarantee import Guarantee
from milepost.privacy.protected_change import ProtectedChange
from milepost.sklearn import NearestGroup
from milepost.statistics.ball_points import BallGrid
from tests.chance import Law, assert_scale, scale_draws

GUARANTEES = {"gaussian": Guarantee(1.0, 1e-6), "pure": Guarantee(1.0)}
LABELS = ["a", "b"]


def ball(width: int) -> mp.L2:
    return mp.L2(center=[0] * width, radius=100)


def design_of(space: mp.L2, guarantee: Guarantee, neighbors: str, total: int = 100_000) -> ClassMeansDesign:
    grid = BallGrid(np.asarray(space.center), float(space.radius or 0))
    return ClassMeansDesign.of(guarantee, ProtectedChange(neighbors, groups=len(LABELS)), grid, total)


def cost(runs: list[Callable[[], Any]], accounting: str) -> Fraction:
    """μ²/2 or ε of all integers that reach the noise, along the same outcomes, in rational arithmetic."""
    first = NoiseScript()
    with first.replacing_noise():
        runs[0]()
    second = first.again()
    with second.replacing_noise():
        runs[1]()
    return first.cost(second, accounting)


Rows = list[tuple[FloatArray, str]]


def design_cost(design: ClassMeansDesign, space: mp.L2, left: Rows, right: Rows, neighbors: str) -> Fraction:
    def run(rows: Rows) -> Callable[[], Any]:
        columns = RowColumns(groups=[label for _, label in rows], labels=LABELS)
        table = Table(np.array([point for point, _ in rows]), space, columns.change(neighbors), None, columns)
        return lambda: design.run(table)

    return cost([run(left), run(right)], "pure" if design.noise.pure else "gaussian")


def middle_rows(width: int, others: int = 1000) -> Rows:
    """Rows in the middle of the ball, so that the centre is there."""
    return [(np.zeros(width), label) for label in LABELS] * (others // 2)


def pole(width: int, sign: float, diagonal: bool) -> FloatArray:
    """A point of the border: where ℓ₁ is longest for Laplace noise on the centre, or at the end of an axis."""
    axis = np.ones(width) / math.sqrt(width) if diagonal else np.eye(width)[0]
    return sign * 100 * axis


@pytest.mark.parametrize("law", GUARANTEES)
@pytest.mark.parametrize("width", [1, 2, 50])
class TestCost:
    """In exact arithmetic, at the worst pairs: opposite points of the border, in one class and from class to class."""

    def test_the_worst_pairs_cost_all_of_it_and_no_more(self, width: int, law: str) -> None:
        guarantee, space, rest = GUARANTEES[law], ball(width), middle_rows(width)
        budget = Fraction(guarantee.budget)
        diagonal = law == "pure"
        here, there = ((pole(width, sign, diagonal), label) for sign, label in ((1.0, "a"), (-1.0, "b")))
        swap = design_of(space, guarantee, "replace")
        assert swap.center is not None
        pairs = {
            "class to class": ([*rest, here], [*rest, there], "replace"),
            "in one class": ([*rest, here], [*rest, (there[0], "a")], "replace"),
            "added": ([*rest, here], rest, "add-remove"),
            "removed": (rest, [*rest, there], "add-remove"),
        }
        for name, (left, right, neighbors) in pairs.items():
            found = design_cost(design_of(space, guarantee, neighbors), space, left, right, neighbors)
            assert found <= budget, name
            if not (guarantee.pure and name == "in one class"):  # the sizes of two classes then cost nothing
                assert found > budget * Fraction(99, 100), name

    def test_scales_that_forget_something_cost_more(self, width: int, law: str) -> None:
        """That a row may change its class or its side; that the centre is paid for; and one percent."""
        guarantee, space, rest = GUARANTEES[law], ball(width), middle_rows(width)
        here, there = ((pole(width, sign, law == "pure"), label) for sign, label in ((1.0, "a"), (-1.0, "b")))
        right = design_of(space, guarantee, "replace")
        center = right.center
        assert center is not None
        one = SumNoise.of(
            ProtectedChange(groups=1),
            right.reach,
            width,
            guarantee.budget,
            guarantee.pure,
            COUNT_SHARES[guarantee.pure],
        )
        added = design_of(space, guarantee, "add-remove")
        wrong = [
            replace(right, noise=one),
            replace(right, noise=added.noise),
            replace(right, noise=replace(right.noise, count=one.count)),
            replace(right, noise=replace(right.noise, sums=0.97 * right.noise.sums, count=0.97 * right.noise.count)),
            replace(right, center=replace(center, sums=center.sums / 8)),
        ]
        for design in wrong:
            assert design_cost(design, space, [*rest, here], [*rest, there], "replace") > Fraction(guarantee.budget)


PLACES = st.sampled_from([0.0, 1e-9, 3.0, 45.0, -45.0, 100.0, -100.0, 70.71, math.inf, -math.inf, 1e300])
LABELLED = st.tuples(st.tuples(PLACES, PLACES), st.sampled_from([*LABELS, "none"]))


@given(
    st.lists(LABELLED, min_size=1, max_size=5),
    LABELLED,
    st.sampled_from([(0.1, 1e-6), (1.0, 1e-6), (100.0, 0.5), (0.1, 0.0), (50.0, 0.0)]),
    st.sampled_from([1, 10, 10**7]),
)
def test_no_pair_of_neighbors_costs_more_than_the_guarantee(
    rows: list[Any], other: Any, parameters: tuple[float, float], total: int
) -> None:
    """Replaced, added or removed, in whatever class or none, whatever the rows are, with and without a centre."""
    guarantee, space = Guarantee(*parameters), ball(2)
    named: Rows = [(np.array(point), label) for point, label in [*rows, other]]
    whole, replaced, removed = [*named[:-1], named[0]], named, named[:-1]
    for neighbors, pairs in {
        "replace": [(whole, replaced)],
        "add-remove": [(replaced, removed), (removed, replaced)],
    }.items():
        design = design_of(space, guarantee, neighbors, total)
        for left, right in pairs:
            assert design_cost(design, space, left, right, neighbors) <= Fraction(guarantee.budget)


@pytest.mark.parametrize(
    ("options", "accounting"),
    [
        ({"epsilon": 1.0, "delta": 1e-6, "n": 500}, "gaussian"),
        ({"epsilon": 1.0, "n": 500}, "pure"),
        ({"epsilon": 1.0}, "pure"),
        ({"epsilon": 1.0, "neighbors": "add-remove"}, "pure"),
    ],
)
def test_a_fit_costs_no_more_than_its_guarantee(options: dict[str, Any], accounting: str) -> None:
    """With the noisy number of rows, if there is one; and both tables then write the same file."""
    rest, labels = [[0.0], [0.0]] * 250, LABELS * 250
    swap = options.get("neighbors", "replace") == "replace"
    sides = [([*rest, [1.0]], [*labels, "a"]), ([*rest, [-1.0]], [*labels, "b"]) if swap else (rest, labels)]
    saved: list[Any] = []

    def fit(x: Any, y: Any) -> None:
        model = NearestGroup(mp.L2([(-1, 1)]), classes=LABELS, **options).fit(x, y)
        saved.append([*model._fitted.means.tensors().values(), model._fitted.card])

    found = cost([lambda side=side: fit(*side) for side in sides], accounting)  # type: ignore[misc]
    budget = Fraction(Guarantee(1.0, options.get("delta", 0.0)).budget)
    assert Fraction(3, 4) * budget < found <= budget
    for left, right in zip(*saved, strict=True):
        assert np.array_equal(left, right) if isinstance(left, np.ndarray) else left == right


class TestDesign:
    """What is bought depends on public numbers."""

    def test_a_centre_is_bought_where_noise_leaves_it(self) -> None:
        space, guarantee = ball(13), GUARANTEES["gaussian"]
        shares = []
        for total in (10, 50, 200, 400, 1000, 10**6):
            design = design_of(space, guarantee, "add-remove", total)
            whole = SumNoise.of(
                ProtectedChange("add-remove", groups=1), design.grid.max_length, 13, guarantee.budget, pure=False
            )
            shares.append(0.0 if design.center is None else (whole.sums / design.center.sums) ** 2)
        assert shares[:2] == [0, 0]
        assert all(0.0199 < share <= MAX_SHARE for share in shares[2:])
        assert shares[2:] == sorted(shares[2:], reverse=True)

    def test_one_column_is_not_clipped_and_many_are(self) -> None:
        reaches = {width: design_of(ball(width), GUARANTEES["gaussian"], "replace").reach for width in (1, 4, 400)}
        steps = 1 << 20
        assert reaches == {1: steps, 4: round(0.7 * steps), 400: round(0.43 * steps)}
        pure = design_of(ball(4), GUARANTEES["pure"], "replace")
        assert pure.reach == round(0.7 * 2 * steps)  # in ℓ₁

    def test_the_noise_on_sums_has_the_scale_of_the_design(self) -> None:
        """And so says `deviation`, which predictions use."""
        laws: dict[str, Law] = {"gaussian": "gaussian", "pure": "laplace"}
        for name, law in laws.items():
            noise = design_of(ball(2), GUARANTEES[name], "replace").noise
            zeros = np.zeros((1, scale_draws(1.2, law=law)), dtype=np.int64)
            drawn = noise.draw(zeros, [0])[0][0]
            assert_scale(drawn / (noise.deviation / (math.sqrt(2) if noise.pure else 1)), against=1.2, law=law)


def means_of(sums: Any, counts: list[int], deviation: float = 1.0, scale: float = 1e-3) -> ClassMeans:
    """Class means with little noise on sizes."""
    array = np.array(sums, dtype=np.int64)
    totals = tuple(Total(count, scale) for count in counts)
    return ClassMeans(np.zeros(array.shape[1]), 0.5, 10**6, array, totals, deviation)


class TestShrunk:
    """What is believed of means, from noisy numbers."""

    def test_without_noise_they_are_the_means(self) -> None:
        means = means_of([[1000, 0], [0, 4000]], [100, 200], deviation=1e-6)
        assert_allclose(means.shrunk.means, [[5, 0], [0, 10]], rtol=1e-6)
        squares, deviations = means.squared_distances(np.array([[5.0, 0.0], [0.0, 0.0]]))
        assert_allclose(squares, [[0, 125], [25, 100]], atol=1e-4)
        assert deviations.max() < 1e-4

    def test_noise_draws_them_to_each_other(self) -> None:
        """The more noise, the nearer to the mean of all, the larger the variance: a small class more than others."""
        spreads, variances = [], []
        for deviation in (1.0, 300.0, 3000.0):
            model = means_of([[1000, 0], [0, 1000], [-80, -80]], [100, 100, 10], deviation).shrunk
            spreads.append(np.linalg.norm(model.means - model.means.mean(axis=0), axis=1))
            variances.append(model.variances)
        assert (spreads[0] > spreads[1]).all()
        assert (spreads[1] > spreads[2]).all()
        assert all(variance[2] > variance[0] for variance in variances[1:])

    def test_a_class_that_may_be_empty_is_left_out(self) -> None:
        """Where it is also small beside others; and none is if all may be."""
        assert means_of([[0]] * 3, [1000, 900, 20], scale=30.0).detectable.tolist() == [True, True, False]
        assert means_of([[0]] * 3, [40, 45, 50], scale=30.0).detectable.tolist() == [True] * 3
        none = means_of([[0]] * 2, [-5, -9], scale=30.0)
        assert none.detectable.tolist() == [False, False]
        assert none.shrunk.eligible.tolist() == [True, True]
        assert np.isfinite(none.shrunk.means).all()

    def test_deviations_are_those_of_the_law_around_the_means(self) -> None:
        """Drawn from a seeded generator: squared distances to means have these expectations and variances."""
        means = means_of([[1000, 0], [0, 1000]], [100, 100], deviation=200.0)
        model, point = means.shrunk, np.array([[3.0, -2.0]])
        expected, deviations = means.squared_distances(point)
        draws = np.random.default_rng(1).normal(size=(200_000, 2, 2)) * np.sqrt(model.variances)[:, None] + model.means
        squares = ((point[0] - draws) ** 2).sum(axis=2)
        assert_allclose(squares.mean(axis=0), expected[0], rtol=0.01)
        assert_allclose(squares.std(axis=0), deviations[0], rtol=0.01)


def rows_of(classes: int, width: int, n: int = 400) -> tuple[AnyArray, AnyArray]:
    rng = np.random.default_rng(4)
    y = rng.integers(0, classes, n)
    return np.clip((y[:, None] + 0.5) / classes + rng.normal(0, 0.02, (n, width)), 0, 1), y


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
@pytest.mark.parametrize(("classes", "width"), [(1, 1), (2, 1), (5, 2), (3, 784)])
@pytest.mark.filterwarnings("ignore::milepost.AccuracyWarning")
def test_without_noise_the_nearest_mean_is_predicted(delta: float, neighbors: str, classes: int, width: int) -> None:
    """Also for an empty class, one row, and none at all."""
    x, y = rows_of(classes, width)
    model = NearestGroup(
        mp.L2([(0, 1)] * width), epsilon=100, delta=delta, classes=[*range(classes + 1)], neighbors=neighbors
    )
    with replaced_noise(lambda law, values, scale: np.array(values, dtype=np.int64)):  # noqa: ARG005
        assert model.fit(x, y).score(x, y) == 1
    for rows in (1, 0):
        few = NearestGroup(mp.L2([(0, 1)] * width), epsilon=3, delta=delta, classes=[*range(classes)], n=10)
        probabilities = few.fit(x[:rows], y[:rows]).predict_proba(x)
        assert_allclose(probabilities.sum(axis=1), 1)
        assert set(few.predict(x).tolist()) <= set(range(classes))

"""What a private model of a table costs, in exact arithmetic, at the pairs of neighbors that move its numbers most."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import milepost as mp
from milepost._typing import FloatArray
from milepost.auditing.cases import CLUSTER_WEIGHT, DISC, ModelTable, model_scales
from milepost.auditing.scripted_noise import NoiseScript
from milepost.ingest.row_attributes import RowColumns
from milepost.ingest.table import Table
from milepost.mechanisms.coordinate.slopes import Slopes
from milepost.mechanisms.table_model import (
    GROUP_SHARE,
    MAX_AXES,
    MAX_COMPONENTS,
    SHARES,
    STEPS,
    ModelScales,
    fit_model,
    noisy_covariances,
    noisy_group_weights,
    noisy_moments,
    noisy_products,
    noisy_step,
)
from milepost.pipeline.private_model import MAX_WIDTH, MODEL_SHARE
from milepost.pipeline.selection import coordinate_choice
from milepost.privacy.guarantee import ZCDP, Guarantee
from milepost.privacy.noise import gaussian_deviation
from milepost.privacy.protected_change import ProtectedChange
from milepost.statistics.model_sums import BASIS_BITS, MODEL_STEPS, Clusters, model_grid

USUAL = Guarantee(1.0, 1e-6).with_share(MODEL_SHARE)
GRID = model_grid(DISC)
HALF = MODEL_STEPS // 2
SIDES = [[0.5, 0.0], [0.0, 0.5]]  # centres, half a radius away from points of the border
X, Y = (1.0, 0.0), (0.0, 1.0)
PLACES = st.floats(allow_nan=False) | st.integers(-2, 2).map(float)

# pairs of a row's places, the step, and whether they cost all of its share: by the row that is replaced or added
WORST = {
    "antipodal": (X, (-1.0, 0.0), "sums", 1.0),
    "antipodal, products": (X, (-1.0, 0.0), "products", 0.0),
    "orthogonal": (X, Y, "products", 1.0),
    "orthogonal, sums": (X, Y, "sums", 0.5),
    "added": (X, None, "sums", 1.0),
    "added, products": (X, None, "products", 1.0),
    "one cluster, antipodal": ((0.5, -1.0), (0.5, 1.0), "clusters", 1.0),
    "another cluster": (X, Y, "clusters", 1.0),
    "added to a cluster": (X, None, "clusters", 1.0),
    "added at a centre": ((0.5, 0.0), None, "clusters", 0.5),
    "one cluster, orthogonal": ((1.0, 0.0), (0.5, -0.5), "covariances", 1.0),
    "one cluster, antipodal, products": ((0.5, -0.5), (0.5, 0.5), "covariances", 0.0),
    "another cluster, products": (X, Y, "covariances", 1.0),
    "added to a cluster, products": (X, None, "covariances", 1.0),
}
CHANGES = {
    "one row": {},
    "three rows": {"contributions": 3, "privacy_unit": "person"},
    "weights": {"max_row_weight": 8.0},
    "both": {"contributions": 3, "privacy_unit": "person", "max_row_weight": 8.0},
}


def tables(change: ProtectedChange, *places: tuple[float, ...] | None) -> list[Table]:
    """Tables of the same other rows, and of a person with all rows at one place, of the largest weight."""
    result = []
    for place in places:
        count = 0 if place is None else change.contributions
        rows = np.array([*SIDES, *[place] * count], dtype=np.float64)
        roles = RowColumns(
            privacy_unit=None if change.privacy_unit is None else [1, 2, *[3] * count],
            contributions=change.contributions,
            row_weights=None if change.max_row_weight is None else [change.max_row_weight] * len(rows),
            max_row_weight=change.max_row_weight,
        )
        result.append(Table(rows, DISC, change, row_columns=roles))
    return result


def cost(left: Callable[[], object], right: Callable[[], object], accounting: str = "gaussian") -> Fraction:
    """μ²/2 of all integers that reach the noise, along the same outcomes."""
    first = NoiseScript()
    second = first.again()
    for run, script in ((left, first), (right, second)):
        with script.replacing_noise():
            run()
    return first.cost(second, accounting)


def step_of(name: str, table: Table, scales: ModelScales) -> object:
    """Add noise to the numbers of one step; of the moments, to the sums or to the products alone."""
    clusters = Clusters(
        GRID, np.eye(2, dtype=np.int64) << BASIS_BITS, np.rint(np.array(SIDES) * MODEL_STEPS).astype(np.int64), HALF
    )
    if name == "clusters":
        return noisy_step(table.cluster_sums(clusters), clusters, scales)
    if name == "covariances":
        return noisy_covariances(table.cluster_products(clusters), clusters, scales, np.ones(2))
    moments = table.point_moments(GRID)
    other = moments.products if name == "sums" else moments.sums
    other[:] = 0
    return noisy_moments(moments, scales, 1)


class TestSteps:
    @pytest.mark.parametrize("rows", CHANGES)
    @pytest.mark.parametrize("pair", WORST)
    def test_no_pair_costs_more_than_the_step_and_the_worst_cost_all_of_it(self, pair: str, rows: str) -> None:
        """All rows of a person at one place, and then at another one or nowhere."""
        first, second, name, share = WORST[pair]
        change = ProtectedChange("add-remove" if second is None else "replace", **CHANGES[rows])  # type: ignore[arg-type]
        scales = ModelScales.of(USUAL, change, GRID, 1000)
        left, right = tables(change, first, second)
        spent = cost(lambda: step_of(name, left, scales), lambda: step_of(name, right, scales))
        budget = Fraction(USUAL.budget) * Fraction(SHARES[name]) / (STEPS if name == "clusters" else 1)
        assert spent <= share * budget + budget / 10**9
        assert spent <= budget
        assert spent >= Fraction(99, 100) * Fraction(share) * budget

    @pytest.mark.parametrize("name", SHARES)
    def test_a_row_that_disappears_costs_no_more_than_one_that_is_replaced(self, name: str) -> None:
        """Where a person has several rows or a weight, `replace` also allows fewer of them."""
        change = ProtectedChange(max_row_weight=8.0)
        scales = ModelScales.of(USUAL, change, GRID, 1000)
        left, right = tables(change, X, None)
        spent = cost(lambda: step_of(name, left, scales), lambda: step_of(name, right, scales))
        assert 0 < spent <= Fraction(USUAL.budget) * Fraction(SHARES[name])

    @pytest.mark.parametrize("rows", CHANGES)
    @pytest.mark.parametrize(
        ("left", "right", "share"),
        [((X, "a"), (X, "b"), 1.0), ((X, "a"), (Y, "a"), 1.0), ((X, "a"), (Y, "b"), 1.0), ((X, "a"), None, 0.5)],
        ids=["another group", "another cluster", "both", "no group"],
    )
    def test_the_counts_of_groups_cost_their_share_at_most(
        self, left: Any, right: Any, share: float, rows: str
    ) -> None:
        """All rows of a person in one group and cluster, and then in another one or in none."""
        change = ProtectedChange(groups=2, **CHANGES[rows])  # type: ignore[arg-type]
        scales = ModelScales.of(USUAL, change, GRID, 1000)
        assert scales.groups is not None
        clusters = Clusters(GRID, np.eye(2, dtype=np.int64) << BASIS_BITS, np.array([[HALF, 0], [0, HALF]]), HALF)

        def counts(mover: Any) -> Callable[[], object]:
            place, group = (X, "neither") if mover is None else mover
            count = change.contributions
            roles = RowColumns(
                groups=["a", "b", *[group] * count],
                labels=["a", "b"],
                privacy_unit=None if change.privacy_unit is None else [1, 2, *[3] * count],
                contributions=count,
                row_weights=None if change.max_row_weight is None else [8.0] * (count + 2),
                max_row_weight=change.max_row_weight,
            )
            table = Table(np.array([*SIDES, *[place] * count]), DISC, change, row_columns=roles)
            return lambda: noisy_group_weights(table.cluster_counts(clusters), float(scales.groups or 0), np.ones(2))

        spent, budget = cost(counts(left), counts(right)), Fraction(USUAL.budget) * Fraction(GROUP_SHARE)
        assert spent <= share * budget + budget / 10**9
        assert Fraction(99, 100) * Fraction(share) * budget <= spent <= budget

    def test_shares_are_of_one_budget(self) -> None:
        assert sum(map(Fraction, SHARES.values())) <= 1 + Fraction(1, 10**15)

    def test_groups_take_their_share_from_all_others(self) -> None:
        alone, grouped = (
            ModelScales.of(USUAL, ProtectedChange("add-remove", groups=groups), GRID, 10**6) for groups in (None, 3)
        )
        assert alone.groups is None
        for name in SHARES:
            ratio = getattr(alone, name) / getattr(grouped, name)
            assert ratio**2 <= (1 - GROUP_SHARE) * (1 + 1e-9)

    def test_the_budget_of_groups_is_that_of_their_rows_together(self) -> None:
        """Who leaves all groups removes a row, so that the total is not public."""
        groups = ProtectedChange(groups=3)
        assert groups.sums_power(1.0, 2.0, 0.5) == ProtectedChange(contributions=1, groups=1).sums_power(1.0, 2.0, 0.5)
        assert groups.sums_power(1.0, 2.0, 0.5) == pytest.approx(2 / 0.5)
        assert ProtectedChange().sums_power(1.0, 2.0, 0.5) == pytest.approx(1 / 0.5)
        assert ProtectedChange("add-remove").sums_power(4.0, 2.0, 0.5) == pytest.approx(2 / 0.5)

    def test_products_that_stand_twice_have_less_noise_each(self) -> None:
        """σ on the diagonal and σ/√2 above it, drawn once for both of its places."""
        script, products = NoiseScript(), np.arange(18).reshape(2, 3, 3)
        products = products + products.transpose(0, 2, 1)
        with script.replacing_noise():
            noisy = noisy_products(products, 1000.0)
        assert np.array_equal(noisy, products)
        off, diagonal = sorted(script.draws, key=lambda draw: draw.scale)
        assert (off.scale, diagonal.scale) == (gaussian_deviation(1000 / np.sqrt(2)), gaussian_deviation(1000.0))
        assert diagonal.values.tolist() == [int(part[i, i]) for part in products for i in range(3)]
        assert len(off.values) == 2 * 3


class TestFit:
    """All steps: axes, centres and the reach follow from the noisy numbers before."""

    RELATIONS: tuple[tuple[str, Any, Any], ...] = (("replace", (X,), (Y,)), ("add-remove", (X,), ()))

    @pytest.mark.parametrize(("neighbors", "left", "right"), RELATIONS)
    @pytest.mark.parametrize("accounting", ["gaussian", "zcdp"])
    def test_the_worst_pair_costs_nearly_all_of_the_budget(
        self, neighbors: str, left: Any, right: Any, accounting: str
    ) -> None:
        """With and without noise. Of a replaced row no pair is the worst for sums and for products."""
        guarantee = Guarantee(1.0, 1e-6, accounting=accounting)
        scales, budget = model_scales(guarantee, neighbors), Fraction(guarantee.budget)
        for run in range(4):
            first = NoiseScript.drawn(lambda: ModelTable(left).fit(scales)) if run else NoiseScript()
            if not run:
                with first.replacing_noise():
                    ModelTable(left).fit(scales)
            second = first.again()
            with second.replacing_noise():
                ModelTable(right).fit(scales)
            share = first.cost(second, accounting) / budget
            assert share <= 1
            assert share > (0.94 if neighbors == "replace" else 0.98)

    @pytest.mark.parametrize(("neighbors", "left", "right"), RELATIONS)
    def test_neighbors_with_the_same_noisy_numbers_have_the_same_model(
        self, neighbors: str, left: Any, right: Any
    ) -> None:
        """Nothing exact is read beside them."""
        scales, models = model_scales(Guarantee(1.0, 1e-6), neighbors), []
        first = NoiseScript.drawn(lambda: models.append(ModelTable(left).fit(scales)))
        with first.again().replacing_noise():
            models.append(ModelTable(right).fit(scales))
        one, other = (model.tensors() for model in models)
        assert all(np.array_equal(one[name], other[name]) for name in one)

    def test_scales_that_forget_something_cost_more(self) -> None:
        """The other row of a pair, the other cluster, that steps share a budget, and shares themselves."""
        guarantee = Guarantee(1.0, 1e-6)
        scales, budget = model_scales(guarantee, "add-remove"), Fraction(guarantee.budget)

        def share(wrong: ModelScales) -> float:
            return float(cost(lambda: ModelTable((X,)).fit(wrong), lambda: ModelTable(()).fit(wrong)) / budget)

        assert 0.98 < share(scales) <= 1
        for name in SHARES:
            assert share(replace(scales, **{name: getattr(scales, name) / 1.2})) > 1
        assert share(replace(scales, clusters=scales.clusters / np.sqrt(STEPS))) > 1.7
        replaced = model_scales(guarantee, "replace")
        spent = cost(lambda: ModelTable((X,)).fit(scales), lambda: ModelTable((Y,)).fit(scales))
        assert spent > 1.8 * budget
        assert cost(lambda: ModelTable((X,)).fit(replaced), lambda: ModelTable((Y,)).fit(replaced)) <= budget

    @settings(max_examples=25, deadline=None)
    @given(st.tuples(PLACES, PLACES), st.tuples(PLACES, PLACES), st.sampled_from([0.1, 1.0, 100.0]))
    def test_no_pair_of_neighbors_costs_more_than_the_budget(
        self, row: tuple[float, float], other: tuple[float, float], epsilon: float
    ) -> None:
        """Replaced, added or removed, infinite ones included."""
        guarantee = Guarantee(epsilon, 1e-6)
        swap, add = (model_scales(guarantee, relation) for relation in ("replace", "add-remove"))
        one, two, none = ModelTable((row,)), ModelTable((other,)), ModelTable(())
        assert cost(lambda: one.fit(swap), lambda: two.fit(swap)) <= Fraction(guarantee.budget)
        assert cost(lambda: none.fit(add), lambda: two.fit(add)) <= Fraction(guarantee.budget)

    def test_one_component_leaves_the_steps_of_k_means_out(self) -> None:
        """Their budget is not spent; the number of components is public."""
        scales = replace(model_scales(Guarantee(1.0, 1e-6), "add-remove"), components=1)
        script = NoiseScript.drawn(lambda: ModelTable((X,)).fit(scales))
        assert [len(draw.values) for draw in script.draws] == [2, 1, 2, 1, 2]
        spent = cost(lambda: ModelTable((X,)).fit(scales), lambda: ModelTable(()).fit(scales))
        assert spent <= (1 - Fraction(SHARES["clusters"])) * Fraction(Guarantee(1.0, 1e-6).budget) * (
            1 + Fraction(1, 10**9)
        )

    def test_an_empty_table_has_a_model_of_noise(self) -> None:
        """Where the number of rows is private, nothing is refused."""
        change = ProtectedChange("add-remove")
        table = Table(np.empty((0, 2)), DISC, change)
        scales = model_scales(Guarantee(1.0, 1e-6), "add-remove")
        model = fit_model(table, table.point_moments(GRID), scales, GRID, 2 * CLUSTER_WEIGHT)
        assert np.isfinite(model.means).all()

    def test_a_model_has_fewer_draws_than_the_proof_allows_for(self) -> None:
        width, axes = MAX_WIDTH, MAX_AXES
        triangle = [size * (size + 1) // 2 for size in (width, axes)]
        assert width + triangle[0] + MAX_COMPONENTS * (STEPS * (axes + 1) + triangle[1]) < 2**20


class RenamedSlopes(Slopes):
    """A subclass with a design of its own, which has not declared that all of its noise is Gaussian."""

    name = "renamed"

    def design(self, *arguments: Any, **options: Any) -> Any:
        return super().design(*arguments, **options)


@pytest.mark.parametrize("mechanism", [Slopes(), RenamedSlopes()])
def test_a_model_is_counted_as_the_rest_of_the_release_is(mechanism: Slopes) -> None:
    """In zCDP, where the mechanism spends that: a share of μ²/2 would be more than that share of ρ."""
    space, guarantee = mp.L2(center=[0] * 4, radius=1, directions=8), Guarantee(1.0, 1e-6)
    spent = mechanism.accounted(guarantee)
    assert (spent.accounting == ZCDP) == (type(mechanism) is RenamedSlopes)
    choice = coordinate_choice(mechanism, space, 10**6, ProtectedChange(), guarantee, "faster", model=True)
    assert choice.model is not None
    expected = ModelScales.of(spent.with_share(MODEL_SHARE), ProtectedChange(), model_grid(space), 10**6)
    assert choice.model.scales == expected


def test_the_release_beside_a_model_has_the_rest_of_the_budget() -> None:
    """Its design is that of a guarantee with this share, for the same embedding."""
    space, change, guarantee = mp.L2(center=[0] * 4, radius=1, directions=8), ProtectedChange(), Guarantee(1.0, 1e-6)
    choice = coordinate_choice(Slopes(), space, 10**6, change, guarantee, "faster", model=True)
    assert choice.model is not None
    embedding = choice.model.embedding(choice.space.embedding)
    rest = Slopes().predict(embedding, 10**6, change, guarantee.with_share(1 - MODEL_SHARE))
    assert choice.error == rest.error
    assert choice.error > Slopes().predict(embedding, 10**6, change, guarantee).error


class TestRelease:
    """The model and the rest of a release together."""

    SPACE = mp.L2(center=[0] * 4, radius=1, directions=8)

    @staticmethod
    def rows(*places: int) -> FloatArray:
        """Two clusters, and rows at ends of axes."""
        return np.vstack([np.repeat(0.3 * np.eye(4)[:2], 150, axis=0), np.eye(4)[list(places)]])

    @pytest.mark.parametrize(
        ("options", "left", "right"),
        [
            ({}, [0], [1]),
            ({"neighbors": "add-remove", "n": 301}, [0], []),
            ({"contributions": 2, "n": 301}, [0, 0, 0], [1, 1]),
            ({"max_row_weight": 8.0, "n": 602}, [0], [1]),
            ({"labels": ["a", "b"], "n": 301}, [0], [1]),
        ],
        ids=["replace", "add-remove", "two rows", "weights", "groups"],
    )
    def test_model_and_release_together_cost_no_more_than_the_guarantee(
        self, options: dict[str, Any], left: list[int], right: list[int]
    ) -> None:
        """The neighbor gets the outcomes of the first table, and both release the same file."""
        first = NoiseScript()
        files, scripts = [], [first, first.again()]
        for places, script in zip((left, right), scripts, strict=True):
            extra: dict[str, Any] = {}
            if "contributions" in options:
                extra["privacy_unit"] = [*range(300), *[-1] * len(places)]
            if "max_row_weight" in options:
                extra["row_weights"] = [8.0] * (300 + len(places))
            if "labels" in options:
                extra["groups"] = [*["a", "b"] * 150, *["ab"[place] for place in places]]
            with script.replacing_noise(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                synopsis = mp.release(
                    self.rows(*places), self.SPACE, epsilon=200, delta=1e-6, mechanism="slopes", model=True,
                    effort="faster", **options, **extra,
                )  # fmt: skip
            assert synopsis.model is not None
            tensors = synopsis.statistic.tensors() | synopsis.model.tensors()
            files.append((synopsis.card, {name: tensor.tolist() for name, tensor in tensors.items()}))
        assert files[0] == files[1]
        budget = Fraction(synopsis.guarantee.budget)
        assert 0.2 < first.cost(scripts[1], "gaussian") / budget <= 1
        model = first.draws[: 3 + STEPS + 2 + ("labels" in options)]
        spent = sum((a.cost(b, "gaussian") for a, b in zip(model, scripts[1].draws, strict=False)), Fraction(0))
        assert 0.8 * MODEL_SHARE < spent / budget <= MODEL_SHARE

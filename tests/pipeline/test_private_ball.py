"""ball_share: what a private ball costs, what it finds, what it records, and that nothing else leaks."""

import json
import math
import warnings
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import milepost as mp
from milepost._typing import FloatArray, IntArray
from milepost.auditing.noise_trace import NoiseTrace
from milepost.auditing.scripted_noise import NoiseScript
from milepost.pipeline import private_ball
from milepost.pipeline.private_ball import RADII, BallScales, BallSearch, ball_of, grid_of, squared_radii
from milepost.privacy.guarantee import Guarantee
from milepost.privacy.protected_change import ProtectedChange
from milepost.reporting.dp_registry import registry_entry
from milepost.spaces.bounds_provenance import BallProvenance, BoundsProvenance
from milepost.statistics.ball_points import STEPS, DistanceCounts, PointSums, grid_center, squared_lengths
from milepost.statistics.statistic_spec import RecordBlock
from tests.chance import assert_promised, assert_rate, assert_scale

LARGE: dict[str, Any] = {"epsilon": 30.0, "delta": 1e-6}  # little noise, for small tables
USUAL: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6}
SPACE = mp.L2(center={"x": 0, "y": 0}, radius=100)
PLAIN = mp.L2(center=[0, 0], radius=100)
places = st.floats(allow_nan=False) | st.integers(-101, 101).map(float)


def people(n: int = 20_000, width: int = 2, seed: int = 0) -> FloatArray:
    """A cluster of radius about 4, at a distance of 30 from the centre of the given ball."""
    generator = np.random.default_rng(seed)
    return 30 / math.sqrt(width) + 2 / math.sqrt(width) * generator.normal(size=(n, width))


def frame(n: int = 400) -> pd.DataFrame:
    return pd.DataFrame(people(n), columns=["x", "y"])


def radius_of(synopsis: mp.Synopsis) -> float:
    """The radius of the ball that a release was made in."""
    assert isinstance(synopsis.space, mp.L2)
    assert synopsis.space.radius is not None
    return synopsis.space.radius


def exact_sums(rows: FloatArray, space: mp.L2 = PLAIN, weight: IntArray | None = None) -> PointSums:
    spec = PointSums.spec(space, grid_of(space))
    result = spec.empty()
    result.add(*spec.image(RecordBlock(space.read(rows), weight=weight)))
    return result


def exact_counts(
    rows: FloatArray, space: mp.L2 = PLAIN, weight: IntArray | None = None
) -> Callable[[IntArray], DistanceCounts]:
    def around(center: IntArray) -> DistanceCounts:
        spec = DistanceCounts.spec(grid_of(space), center, squared_radii())
        result = spec.empty()
        result.add(*spec.image(RecordBlock(space.read(rows), weight=weight)))
        return result

    return around


def search(rows: FloatArray, scales: BallScales, space: mp.L2 = PLAIN) -> BallSearch:
    return BallSearch.run(exact_sums(rows, space), exact_counts(rows, space), scales)


def ball_cost(left: FloatArray, right: FloatArray, scales: BallScales, space: mp.L2 = PLAIN) -> Fraction:
    """μ²/2 of all integers that reach the noise, along the same outcomes, in rational arithmetic."""
    first = NoiseScript()
    with first.replacing_noise():
        search(left, scales, space)
    second = first.again()
    with second.replacing_noise():
        search(right, scales, space)
    return first.cost(second, "gaussian")


def worst_pair(width: int, others: int = 300) -> tuple[FloatArray, FloatArray, FloatArray]:
    """A row moves from a pole to the other; all others are at the first, so that the centre is there, too."""
    pole = np.zeros((1, width))
    pole[0, 0] = 100.0
    rest = np.repeat(pole, others, axis=0)
    return np.vstack([rest, pole]), np.vstack([rest, -pole]), rest


class TestCost:
    """In exact arithmetic, at the worst pair: poles of the ball, inside and outside of every radius that is tested."""

    @pytest.mark.parametrize("width", [1, 2, 50])
    @pytest.mark.parametrize("accounting", ["gaussian", "zcdp"])
    def test_the_worst_pair_costs_all_of_it_and_no_more(self, width: int, accounting: str) -> None:
        space = mp.L2(center=[0] * width, radius=100)
        left, right, rest = worst_pair(width)
        guarantee = Guarantee(1.0, 1e-6, accounting=accounting).with_share(0.1)
        budget = Fraction(guarantee.budget)
        scales = {
            relation: BallScales.of(guarantee, ProtectedChange(relation), grid_of(space))
            for relation in ("replace", "add-remove")
        }
        cost = ball_cost(left, right, scales["replace"], space)
        assert cost <= budget
        assert cost > budget * Fraction(9999, 10_000)
        # the row that is added lies at the other pole: outside of every radius
        cost = ball_cost(right, rest, scales["add-remove"], space)
        assert cost <= budget
        assert cost > budget * Fraction(9999, 10_000)

    def test_scales_that_forget_something_cost_more(self) -> None:
        """That a replaced record moves by 2R, that seven counts share a budget, and the share itself."""
        left, right, _ = worst_pair(2)
        whole = Guarantee(1.0, 1e-6)
        budget = Fraction(whole.with_share(0.1).budget)
        right_scales = BallScales.of(whole.with_share(0.1), ProtectedChange(), grid_of(PLAIN))
        assert ball_cost(left, right, right_scales) <= budget
        one_record = BallScales.of(whole.with_share(0.1), ProtectedChange("add-remove"), grid_of(PLAIN))
        for wrong in (
            replace(right_scales, sums=one_record.sums),
            replace(right_scales, count=right_scales.count / math.sqrt(private_ball.COMPARISONS)),
            BallScales.of(whole, ProtectedChange(), grid_of(PLAIN)),
            replace(right_scales, sums=0.99 * right_scales.sums),
            replace(right_scales, count=0.99 * right_scales.count),
        ):
            assert ball_cost(left, right, wrong) > budget

    @pytest.mark.parametrize("mechanism", ["slopes", "tangents"])
    def test_ball_and_release_together_cost_no_more_than_the_guarantee(self, mechanism: str) -> None:
        """The neighbor gets the outcomes of the first table, and both release the same file."""
        left, right, _ = worst_pair(1, others=600)
        space = mp.L2(center=[0], radius=100)
        cost, files, scripts = self.release_cost(left, right, space, LARGE | {"mechanism": mechanism})
        assert 0 < cost <= 1
        assert files[0] == files[1]
        draws = scripts[0].draws
        assert [draw.law for draw in draws[:8]] == ["gaussian"] * 8

    OTHERS: ClassVar[dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]]] = {
        "add-remove": ({"neighbors": "add-remove"}, {}, {"removed": True}),
        "groups": ({"labels": ["a", "b"]}, {"groups": ("a", "b")}, {}),
        "out of all groups": ({"labels": ["a"]}, {"groups": ("a", "b")}, {}),
        "weights": ({"max_row_weight": 8.0}, {"row_weights": (8.0, 8.0)}, {}),
        "a weight that is lost": ({"max_row_weight": 8.0}, {"row_weights": (8.0, 0.0)}, {}),
    }

    @pytest.mark.parametrize("name", OTHERS)
    def test_no_person_costs_more_than_the_guarantee(self, name: str) -> None:
        """With groups, weights, several rows, or a number of rows that is private, which is given here."""
        options, columns, pair = self.OTHERS[name]
        left, right, rest = worst_pair(1, others=600)
        right = rest if pair.get("removed") else right
        per_side = [
            {role: [values[0]] * (len(rows) - 1) + [values[side]] for role, values in columns.items()}
            for side, rows in enumerate((left, right))
        ]
        space = mp.L2(center=[0], radius=100)
        cost, files, _ = self.release_cost(left, right, space, LARGE | options | {"n": 1200}, per_side)
        assert 0.05 < cost <= 1
        assert files[0] == files[1]

    def test_the_number_of_rows_in_groups_is_hidden(self) -> None:
        """A row leaves all groups: the centre, which is a quotient, is that of the first table all the same."""
        rest = np.full((600, 1), 50.0)
        sides = [{"groups": ["a"] * 600 + [label]} for label in ("a", "none")]
        rows, space = np.vstack([rest, [[100.0]]]), mp.L2(center=[0], radius=100)
        cost, files, _ = self.release_cost(rows, rows, space, LARGE | {"labels": ["a", "b"], "n": 1200}, sides)
        assert 0.05 < cost <= 1
        assert files[0] == files[1]

    @given(
        st.lists(st.tuples(places, places), min_size=1, max_size=6),
        st.tuples(places, places),
        st.sampled_from([(0.1, 1e-6), (1.0, 1e-6), (100.0, 0.5)]),
    )
    def test_no_pair_of_neighbors_costs_more_than_the_share(
        self, rows: list[tuple[float, float]], other: tuple[float, float], parameters: tuple[float, float]
    ) -> None:
        """Replaced, added or removed, whatever the rows are, infinite ones included."""
        guarantee = Guarantee(*parameters).with_share(0.3)
        whole, replaced, removed = (np.array(part, dtype=np.float64) for part in (
            [*rows, rows[0]], [*rows, other], rows))  # fmt: skip
        swap, add = (BallScales.of(guarantee, ProtectedChange(r), grid_of(PLAIN)) for r in ("replace", "add-remove"))
        assert ball_cost(whole, replaced, swap) <= Fraction(guarantee.budget)
        assert ball_cost(replaced, removed, add) <= Fraction(guarantee.budget)
        assert ball_cost(removed, replaced, add) <= Fraction(guarantee.budget)

    @pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
    def test_all_rows_of_a_person_are_paid_for(self, neighbors: str) -> None:
        left, right, rest = worst_pair(1, others=900)
        tables = [np.vstack([rest, *[pair[-1:]] * 3]) for pair in (left, right)]
        ids = [*range(len(rest)), *[-1] * 3]
        per_side: list[dict[str, Any]] = [{"privacy_unit": ids}, {"privacy_unit": ids}]
        if neighbors == "add-remove":
            tables[1], per_side[1] = rest, {"privacy_unit": ids[:-3]}
        options = LARGE | {"contributions": 2, "neighbors": neighbors, "n": 900}
        cost, files, _ = self.release_cost(tables[0], tables[1], mp.L2(center=[0], radius=100), options, per_side)
        assert 0.05 < cost <= 1
        assert files[0] == files[1]

    @staticmethod
    def release_cost(
        left: FloatArray,
        right: FloatArray,
        space: mp.L2,
        options: dict[str, Any],
        per_side: list[dict[str, Any]] | None = None,
    ) -> tuple[Fraction, list[Any], list[NoiseScript]]:
        """The cost as a share of the budget, what was released, and the scripts of both runs."""
        first = NoiseScript()
        scripts, files = [first, first.again()], []
        for side, (rows, script) in enumerate(zip((left, right), scripts, strict=True)):
            extra = {} if per_side is None else per_side[side]
            with script.replacing_noise(), warnings.catch_warnings():
                warnings.simplefilter("error")
                synopsis = mp.release(rows, space, ball_share=0.2, **options, **extra)
            assert isinstance(synopsis.space.bounds_provenance, BallProvenance)
            tensors = (
                {name: tensor.tolist() for name, tensor in synopsis.statistic.tensors().items()}
                if not synopsis.labels
                else str(synopsis.describe())
            )
            files.append((synopsis.card, tensors))
        guarantee = synopsis.guarantee
        return first.cost(scripts[1], guarantee.accounting) / Fraction(guarantee.budget), files, scripts


def test_noise_after_a_ball_is_that_of_the_rest_of_the_budget() -> None:
    """1/√0.8 times the scales of a release with all of it: the search draws a vector, and seven numbers, before."""
    rows, space = people(400, 1), mp.L2(center=[0], radius=100)
    shapes = [
        NoiseTrace.of(lambda options=options: mp.release(rows, space, **LARGE, **options)).shape  # type: ignore[misc]
        for options in ({"mechanism": "slopes"}, {"ball_share": 0.2})
    ]
    (_, plain, count), *_ = shapes[0]
    (_, rest, same), *_ = shapes[1][8:]
    assert len(shapes[1]) == len(shapes[0]) + 8
    assert (rest / plain) ** 2 * 0.8 == pytest.approx(count / same, rel=1e-3)


def scales_of(rows: FloatArray, share: float = 0.1, **options: Any) -> BallScales:
    space = mp.L2(center=[0] * rows.shape[1], radius=100)
    return BallScales.of(Guarantee(**USUAL | options).with_share(share), ProtectedChange(), grid_of(space))


class TestWhatItFinds:
    RUNS = 100

    @pytest.mark.parametrize(
        "width", [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(16, marks=pytest.mark.slow)]
    )
    def test_the_ball_is_small_and_holds_the_rows(self, width: int) -> None:
        """The cluster has a radius of about 8; the radius found is below 12 and all but a few rows are inside."""
        rows, space = people(width=width), mp.L2(center=[0] * width, radius=100)
        scales = scales_of(rows)
        sums, counts = exact_sums(rows, space), exact_counts(rows, space)
        small = held = 0
        for _ in range(self.RUNS):
            found = BallSearch.run(sums, counts, scales)
            radius = math.sqrt(squared_radii()[found.radius]) / STEPS * 100 if found.radius < RADII else 100
            small += radius < 12
            held += counts(found.center).beyond(found.radius) <= scales.rows_outside if found.radius < RADII else True
        assert_rate(small, self.RUNS, at_least=0.95, against=0.6)
        assert_rate(held, self.RUNS, at_least=1 - private_ball.FAILURE, against=0.6)

    def test_errors_shrink_with_the_radius(self) -> None:
        """One release each: the radius may be one step of the search off, and is still several times smaller."""
        rows = people(width=1)
        usual = mp.release(rows, mp.L2(center=[0], radius=100), **USUAL)
        found = [mp.release(rows, mp.L2(center=[0], radius=100), ball_share=0.1, **USUAL) for _ in range(16)]
        smaller = sum(radius_of(synopsis) < 26 and usual.error() / synopsis.error() > 3 for synopsis in found)
        assert_rate(smaller, 16, at_least=0.95, against=0.1)

    def test_intervals_hold_for_the_rows_as_they_were_moved(self) -> None:
        rows, points = people(width=1), [[20.0], [30.0], [33.0], [60.0]]
        synopsis = mp.release(rows, mp.L2(center=[0], radius=100), ball_share=0.1, **USUAL)
        exact = mp.exact_mean_distance(rows, synopsis.space, points)
        assert_promised(synopsis, points, exact, at_most=0.05 * radius_of(synopsis))

    def test_the_new_ball_is_in_reach_of_the_given_one(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Whatever the noise is: the centre is in the given ball, and the radius no larger than the given one."""
        generator = np.random.default_rng(0)

        def wild(values: IntArray, scale: float) -> IntArray:  # noqa: ARG001
            return generator.integers(-(2**62), 2**62, len(values)) >> generator.integers(0, 60)

        monkeypatch.setattr(private_ball, "gaussian", wild)
        for width in (1, 3):
            rows, space = people(300, width), mp.L2(center=[7] * width, radius=100)
            for _ in range(50):
                found = search(rows, scales_of(rows), space)
                assert int(squared_lengths(found.center[None])[0]) <= STEPS**2
                provenance = BallProvenance(1.0, "replace", width, delta=1e-6, share=0.1, given_radius=100.0)
                ball = ball_of(space, found, provenance)
                assert ball.radius is not None
                assert 0 < ball.radius <= 100
                assert np.linalg.norm(ball.center - 7) <= 100 * (1 + 1e-9)

    def test_a_spread_out_table_leaves_the_given_ball(self) -> None:
        """All of the rows are at the border: no smaller ball holds them, and the card says that it was searched."""
        angle = np.linspace(0, 2 * math.pi, 20_000)
        rows = 100 * np.column_stack([np.cos(angle), np.sin(angle)])
        found = [search(rows, scales_of(rows)) for _ in range(30)]
        assert_rate(sum(one.radius == RADII for one in found), 30, at_least=0.9, against=0.2)
        ball = ball_of(
            PLAIN,
            replace(found[0], radius=RADII),
            BallProvenance(1.0, "replace", 2, delta=1e-6, share=0.1, given_radius=100.0),
        )
        assert (ball.center.tolist(), ball.radius) == ([0, 0], 100)

    @pytest.mark.parametrize("offset", [0.0, 1e8, -3e8])
    def test_a_ball_far_from_zero_is_not_made_too_small(self, offset: float) -> None:
        """Where all rows are one point, noise shrinks the ball as far as rounding allows, and the space accepts it."""
        rows = np.full((600, 1), offset)
        space = mp.L2(center=[offset], radius=100)
        with NoiseScript().replacing_noise():
            synopsis = mp.release(rows, space, ball_share=0.2, **LARGE)
        assert radius_of(synopsis) == pytest.approx(max(100 * 18 / STEPS, abs(offset) / 2**22), rel=0.3)

    def test_the_mean_is_rounded_to_the_grid(self) -> None:
        assert grid_center(np.array([10, -25]), 10).tolist() == [1, -2]
        assert grid_center(np.array([2**40, 0]), 1).tolist() == [STEPS, 0]
        assert grid_center(np.array([-(2**62), 2**62]), 1).tolist() == [-741455, 741455]


class TestSmallTables:
    @pytest.mark.filterwarnings("ignore::milepost.AccuracyWarning")
    @pytest.mark.parametrize("n", [1, 2, 100, 1000])
    def test_the_given_ball_stays_and_the_release_has_the_whole_budget(self, n: int) -> None:
        with pytest.warns(mp.AccuracyWarning, match="too small for a private ball"):
            synopsis = mp.release(people(n), PLAIN, ball_share=0.1, **USUAL)
        assert (radius_of(synopsis), synopsis.space.bounds_provenance) == (100, None)
        traces = [
            NoiseTrace.of(lambda options=options: mp.release(people(n), PLAIN, **USUAL, **options))  # type: ignore[misc]
            for options in ({"ball_share": 0.1}, {"mechanism": "slopes"})
        ]
        assert traces[0].shape == traces[1].shape

    @pytest.mark.filterwarnings("ignore::milepost.AccuracyWarning")
    @pytest.mark.parametrize("n", [1, 30, 500])
    @pytest.mark.parametrize(
        "options",
        [
            {"neighbors": "add-remove"},
            {"neighbors": "add-remove", "n": 5000},
            {"groups": lambda n: ["a"] * n, "labels": ["a", "b"]},
            {"row_weights": lambda n: [0.5] * n, "max_row_weight": 1.0, "n": 20_000},
        ],
        ids=["noisy size", "given size", "groups", "weights"],
    )
    def test_a_private_number_of_rows_never_fails(self, n: int, options: dict[str, Any]) -> None:
        """Given as too large, the ball is searched in noise: whatever it is, there is a synopsis."""
        parameters = {name: value(n) if callable(value) else value for name, value in options.items()}
        synopsis = mp.release(people(n), PLAIN, ball_share=0.1, **USUAL, **parameters)
        assert 0 < radius_of(synopsis) <= 100


class TestRefusals:
    @pytest.mark.parametrize("share", [0, -0.1, 0.5, 1, math.nan, math.inf, True, "0.1"])
    def test_a_share_must_be_a_small_part(self, share: Any) -> None:
        with pytest.raises(mp.MilepostError, match="ball_share= must be a share"):
            mp.release(people(), PLAIN, ball_share=share, **USUAL)
        with pytest.raises(mp.MilepostError, match="ball_share= must be a share"):
            mp.plan(PLAIN, n=20_000, ball_share=share, **USUAL)

    @pytest.mark.parametrize(
        ("space", "options", "message"),
        [
            (mp.L2([(0, 10), (0, 10)]), {}, "needs a ball"),
            (mp.L1([(0, 10), (0, 10)]), {}, "needs a ball"),
            (mp.GreatCircle(center=(52, 13), radius_km=30), {}, "needs a ball"),
            (PLAIN, {"delta": 0.0}, "needs delta= above 0"),
            (PLAIN, {"queries": [[1, 2]]}, "cannot be used with queries="),
            (PLAIN, {"mechanism": "hats"}, "hats spends pure epsilon"),
        ],
    )
    def test_what_does_not_fit_is_refused_before_anything_is_charged(
        self, space: mp.Space, options: dict[str, Any], message: str, tmp_path: Path
    ) -> None:
        ledger = mp.Ledger(tmp_path / "ledger.db")
        ledger.create("homes", epsilon=8, delta=1e-6)
        with pytest.raises(mp.MilepostError, match=message):
            mp.release(people(), space, ball_share=0.1, ledger=ledger, dataset="homes", **USUAL | options)
        assert ledger.spent("homes").nano == 0

    def test_an_iterator_is_refused(self, tmp_path: Path) -> None:
        ledger = mp.Ledger(tmp_path / "ledger.db")
        ledger.create("homes", epsilon=8, delta=1e-6)
        batches = iter(np.array_split(people(), 4))
        with pytest.raises(mp.MilepostError, match="can be read once only"):
            mp.release(batches, PLAIN, ball_share=0.1, ledger=ledger, dataset="homes", **USUAL)
        assert ledger.spent("homes").nano == 0
        assert len(next(batches)) == 5000  # nothing was read


class TestLedger:
    @pytest.fixture
    def ledger(self, tmp_path: Path) -> mp.Ledger:
        ledger = mp.Ledger(tmp_path / "ledger.db")
        ledger.create("homes", epsilon=8, delta=1e-6)
        ledger.create("counted", epsilon=8, delta=1e-6, accounting="zcdp")
        return ledger

    @pytest.mark.parametrize("dataset", ["homes", "counted"])
    def test_the_whole_guarantee_is_charged_once(self, ledger: mp.Ledger, dataset: str) -> None:
        synopsis = mp.release(people(width=1), mp.L2(center=[0], radius=100), ball_share=0.1, ledger=ledger,
                              dataset=dataset, **USUAL)  # fmt: skip
        (entry,) = ledger.history(dataset)
        other = mp.release(people(width=1), mp.L2(center=[0], radius=100), mechanism="slopes", ledger=ledger,
                           dataset=dataset, **USUAL)  # fmt: skip
        assert [one.cost for one in ledger.history(dataset)] == [entry.cost] * 2
        assert synopsis.guarantee == other.guarantee
        assert synopsis.guarantee.share == 1
        assert synopsis.card["guarantee"] == other.card["guarantee"]

    def test_it_is_charged_before_the_first_pass_and_drawn_before_the_first_noise(
        self, ledger: mp.Ledger, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        states: list[str] = []
        draw = private_ball.BallSearch.run

        def look(*args: Any) -> BallSearch:
            states.append(ledger.history("homes")[0].state)
            return draw(*args)

        monkeypatch.setattr(BallSearch, "run", look)
        mp.release(people(), PLAIN, ball_share=0.1, ledger=ledger, dataset="homes", **USUAL)
        assert states == ["drawn"]

    def test_a_row_that_cannot_be_read_costs_nothing(self, ledger: mp.Ledger, tmp_path: Path) -> None:
        rows = people()
        rows[-1, 1] = math.nan
        with pytest.raises(mp.MilepostError, match="NaN"):
            mp.release(rows, PLAIN, ball_share=0.1, ledger=ledger, dataset="homes", **USUAL)
        path = tmp_path / "people.csv"
        path.write_text("x,y\n" + "1,2\n" * 9000 + "1,here\n")
        with pytest.raises(mp.MilepostError):
            mp.release(path, SPACE, ball_share=0.1, ledger=ledger, dataset="homes", **USUAL)
        assert ledger.spent("homes").nano == 0


class TestTables:
    def test_files_arrays_and_streams_give_the_same(self, tmp_path: Path) -> None:
        table = frame(600)
        table.to_csv(tmp_path / "people.csv", index=False)
        table.to_parquet(tmp_path / "people.parquet")
        files = []
        for data in (table, tmp_path / "people.csv", tmp_path / "people.parquet", table.iloc[::-1]):
            with NoiseScript().replacing_noise():
                synopsis = mp.release(data, SPACE, ball_share=0.2, **LARGE)
            files.append((synopsis.space, radius_of(synopsis), synopsis.statistic.parameters()))
        assert files[1:] == files[:1] * 3
        assert files[0][1] < 15

    def test_columns_directions_and_units_stay(self) -> None:
        space = mp.L2(center={"y": 0, "x": 0}, radius=100, directions=16, clip=0.9, distance_unit="km")
        with NoiseScript().replacing_noise():
            ball = mp.release(frame(), space, ball_share=0.2, **LARGE).space
        assert isinstance(ball, mp.L2)
        assert (ball.columns, ball.directions, ball.clip, ball.distance_unit) == (("y", "x"), 16, 0.9, "km")

    def test_a_row_in_no_group_does_not_move_the_ball(self) -> None:
        rows = frame(600)
        both = pd.concat([rows.assign(kind="a"), rows.assign(x=-90.0, kind="c")])
        options: dict[str, Any] = LARGE | {"groups": "kind", "labels": ["a", "b"], "n": 600, "ball_share": 0.2}
        balls = []
        for table in (rows.assign(kind="a"), both):
            with NoiseScript().replacing_noise():
                balls.append(mp.release(table, SPACE, **options).space)
        assert balls[0] == balls[1]

    @pytest.mark.filterwarnings("ignore::milepost.AccuracyWarning")
    def test_weights_draw_the_centre(self) -> None:
        """Rows of weight 0 count as none."""
        rows = frame(800)
        heavy = pd.concat([rows.assign(weight=2.0), rows.assign(x=-90.0, weight=0.0)])
        with NoiseScript().replacing_noise():
            ball = mp.release(
                heavy, SPACE, ball_share=0.2, row_weights="weight", max_row_weight=2.0, n=1600, **LARGE
            ).space
        assert isinstance(ball, mp.L2)
        assert np.linalg.norm(ball.center - rows.mean().to_numpy()) < 0.1
        assert ball.radius is not None
        assert ball.radius < 15


class TestRecord:
    @pytest.fixture
    def synopsis(self) -> mp.Synopsis:
        space = mp.L2(center={"x": 0, "y": 0}, radius=100, distance_unit="km")
        with NoiseScript().replacing_noise():
            return mp.release(frame(), space, ball_share=0.2, **LARGE)

    def test_the_card_and_the_reports_say_so(self, synopsis: mp.Synopsis) -> None:
        record = BallProvenance(30.0, "replace", 2, delta=1e-6, share=0.2, given_radius=100.0)
        assert synopsis.space.bounds_provenance == record
        description, statement = str(synopsis.describe()), synopsis.statement()
        for text in (description, statement):
            assert "entre and radius found privately with 20 % of the budget, within a given ball of radius 100" in text
            assert f"rows farther than {radius_of(synopsis):.4g} km from the centre were moved to its border" in text
        assert "ε = 30, δ = 1e-06" in description
        assert "The guarantee includes this." in statement
        assert "adds to the guarantee" not in statement
        assert synopsis.describe().to_json()["bounds_provenance"]["share"] == 0.2
        entry = json.dumps(registry_entry(synopsis.describe()), ensure_ascii=False)
        assert "found privately with 20 % of the budget" in entry
        assert "and a private centre and radius" in entry

    def test_the_file_keeps_it(self, synopsis: mp.Synopsis, tmp_path: Path) -> None:
        synopsis.save(tmp_path / "homes.milepost")
        copy = mp.load(tmp_path / "homes.milepost")
        assert copy.space == synopsis.space
        assert copy.guarantee == synopsis.guarantee
        assert copy.statement() == synopsis.statement()

    def test_a_ball_that_is_used_again_is_an_earlier_one(self, synopsis: mp.Synopsis) -> None:
        """Its release adds up with the next, and once more with the one after that."""
        again = mp.release(frame(), synopsis.space, **LARGE)
        assert "of an earlier release of ε = 30, δ = 1e-06" in again.statement()
        assert "adds to the guarantee" in again.statement()
        with mp.interactive(frame(), synopsis.space, max_queries=5, **LARGE) as session:
            assert session.ask(synopsis.space.center).error > 0
        with NoiseScript().replacing_noise():
            smaller = mp.release(frame(), again.space, ball_share=0.2, **LARGE)
        provenance = smaller.space.bounds_provenance
        assert isinstance(provenance, BallProvenance)
        assert provenance.given == again.space.bounds_provenance
        assert provenance.adds_up
        assert "adds to the guarantee" in smaller.statement()
        assert BoundsProvenance.of(json.loads(json.dumps(provenance.to_json()))) == provenance

    def test_a_given_ball_that_was_found_keeps_its_record(self) -> None:
        space = mp.L2(center=[0, 0], radius=100, bounds_provenance=BoundsProvenance(0.5, "replace", 2))
        with NoiseScript().replacing_noise():
            synopsis = mp.release(people(400), space, ball_share=0.2, **LARGE)
        assert "the bounds of 2 columns by a release of ε = 0.5" in synopsis.statement()
        assert "This adds to the guarantee of this file." in synopsis.statement()

    @pytest.mark.parametrize(
        "changes",
        [{"share": 0}, {"share": 2}, {"delta": "x"}, {"given_radius": -1}, {"earlier": 1}, {"given": {}}, {"more": 1}],
    )
    def test_a_bad_record_is_refused(self, changes: dict[str, Any]) -> None:
        record = {"epsilon": 1, "neighbors": "replace", "columns": 2, "delta": 1e-6, "share": 0.1, "given_radius": 100}
        assert isinstance(BoundsProvenance.of(record), BallProvenance)
        with pytest.raises(mp.MilepostError, match="bounds_provenance"):
            BoundsProvenance.of(record | changes)

    def test_a_record_has_no_endless_depth(self) -> None:
        """A file may say anything: ten thousand balls, each within the one before, are refused and not read."""
        fields = {"epsilon": 1, "neighbors": "replace", "columns": 2, "delta": 1e-6, "share": 0.1, "given_radius": 100}
        record: dict[str, Any] = dict(fields)
        for _ in range(15):
            record = fields | {"given": record}
        provenance = BoundsProvenance.of(record)
        assert isinstance(provenance, BallProvenance)
        assert provenance.searches == 16
        with pytest.raises(mp.MilepostError, match="16 balls"):
            replace(provenance, given=provenance)
        for _ in range(10_000):
            record = fields | {"given": record}
        with pytest.raises(mp.MilepostError, match="16 balls"):
            BoundsProvenance.of(record)


class TestPlan:
    def test_errors_are_those_of_the_rest_of_the_budget(self) -> None:
        whole, rest = (mp.plan(PLAIN, n=100_000, ball_share=share, **USUAL) for share in (None, 0.19))
        best = {p.mechanism: p for p in whole.predictions}["slopes"]
        assert rest.best.mechanism == "slopes"
        assert rest.best.rms == pytest.approx((best.rms or 0) / 0.9, rel=0.05)
        assert (rest.guarantee, rest.ball_share) == (whole.guarantee, 0.19)
        assert whole.ball_note is None
        assert set(rest.refused) >= {"hats", "tangents"}

    def test_a_note_says_what_the_share_finds(self) -> None:
        plan = mp.plan(mp.L2(center=[0, 0], radius=100, distance_unit="km"), n=100_000, ball_share=0.1, **USUAL)
        note = plan.ball_note
        assert note in plan.notes
        assert note is not None
        assert note.startswith("ball: 10 % of the budget finds a centre, off by about 0.0")
        assert f"at half of 100 km the smallest is ± {plan.best.error / 2:.3g} km" in note
        assert "rows beyond it" in str(plan)

    def test_the_centre_is_off_as_much_as_it_says(self) -> None:
        """The root mean square of 100 searches, of which each has two coordinates."""
        rows = people()
        scales = scales_of(rows)
        sums, counts = exact_sums(rows), exact_counts(rows)
        centers = np.array([BallSearch.run(sums, counts, scales).center for _ in range(100)])
        assert_scale((centers - sums.values / len(rows)) / (scales.sums / len(rows)), against=1.7)

    def test_a_small_table_is_told(self) -> None:
        plan = mp.plan(PLAIN, n=1000, ball_share=0.1, **USUAL)
        assert "too small for a private ball" in str(plan.ball_note)
        plain = mp.plan(PLAIN, n=1000, **USUAL)
        assert plan.best.error == {p.mechanism: p.error for p in plain.predictions}["slopes"]

    @pytest.mark.slow
    def test_an_error_is_planned_for_with_the_rest(self) -> None:
        plans = [mp.plan(PLAIN, n=100_000, error=0.2, delta=1e-6, ball_share=share) for share in (None, 0.3)]
        assert plans[0].guarantee.epsilon < plans[1].guarantee.epsilon

    def test_a_session_has_none(self) -> None:
        with pytest.raises(mp.MilepostError, match="for releases"):
            mp.plan(PLAIN, n=1000, ball_share=0.1, max_queries=10, **USUAL)
        with pytest.raises(mp.MilepostError, match="pure"):
            mp.plan(PLAIN, n=1000, ball_share=0.1, mechanism="hats", **USUAL)

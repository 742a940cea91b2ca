"""find_bounds: a release of its own. What it costs, what it finds, what it records, and that nothing else leaks."""

import shlex
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import milepost as mp
from milepost._typing import FloatArray, IntArray
from milepost.ingest.row_attributes import RowColumns
from milepost.pipeline import find_bounds
from milepost.pipeline.find_bounds import Grid, Scales, Search, read_magnitudes
from milepost.pipeline.space_spec import options_of, read_space, space_from_options, toml_of
from milepost.privacy.guarantee import Guarantee
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.bounds_provenance import BoundsProvenance
from milepost.statistics.magnitudes import Magnitudes, edges, octave_borders
from tests.chance import assert_rate
from tests.quick import some_quick

values = st.floats(allow_nan=False) | st.integers(-300, 300).map(float)
tables = st.integers(1, 3).flatmap(lambda d: st.lists(st.lists(values, min_size=d, max_size=d), min_size=2, max_size=9))


def magnitudes_of(rows: Any, width: int) -> Magnitudes:
    result = Magnitudes(width)
    result.add(np.asarray(rows, dtype=np.float64).reshape(-1, width))
    return result


Call = tuple[IntArray, float]


class NoiseTranscript:
    """The noise function, with outcomes that are recorded on one table and then forced on another."""

    def __init__(self, outcomes: Iterator[IntArray] | None = None) -> None:
        self.calls: list[Call] = []
        self.outcomes: list[IntArray] = []
        self._forced = outcomes

    def __call__(self, exact: IntArray, scale: float) -> IntArray:
        self.calls.append((exact.copy(), scale))
        # with little noise on the first table, something is found and the cells depend on it
        outcome = 40 * exact if self._forced is None else next(self._forced)
        self.outcomes.append(outcome)
        return outcome


def cost_of(left: Magnitudes, right: Magnitudes, scales: Scales) -> Fraction:
    """Σ‖change‖₁/scale over all integers that reach the noise, along the same outcomes, in rational arithmetic."""
    first = NoiseTranscript()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(find_bounds, "laplace", first)
        Search.run(left, scales, 0.99)
        second = NoiseTranscript(iter(first.outcomes))
        patch.setattr(find_bounds, "laplace", second)
        Search.run(right, scales, 0.99)
    assert len(first.calls) == len(second.calls)
    cost = Fraction(0)
    for (a, scale), (b, same) in zip(first.calls, second.calls, strict=True):
        assert scale == same
        assert a.shape == b.shape
        cost += Fraction(int(np.abs(a - b).sum())) / Fraction(scale)
    return cost


@given(tables, st.data())
def test_no_pair_of_neighbors_costs_more_than_epsilon(rows: list[list[float]], data: st.DataObject) -> None:
    """Replaced, added or removed: whatever the rows are, infinite ones included."""
    width, epsilon = len(rows[0]), data.draw(st.sampled_from([0.1, 1.0, 30.0]))
    other = data.draw(st.lists(values, min_size=width, max_size=width))
    full_table = magnitudes_of(rows, width)
    replaced, removed = magnitudes_of([other, *rows[1:]], width), magnitudes_of(rows[1:], width)
    swap, add = (
        Scales.of(Guarantee(epsilon), ProtectedChange(relation), width) for relation in ("replace", "add-remove")
    )
    assert cost_of(full_table, replaced, swap) <= Fraction(epsilon)
    assert cost_of(full_table, removed, add) <= Fraction(epsilon)
    assert cost_of(removed, full_table, add) <= Fraction(epsilon)


@pytest.mark.parametrize("relation", ["replace", "add-remove"])
@pytest.mark.parametrize("width", [1, 3])
def test_the_worst_pair_costs_all_of_it(relation: str, width: int) -> None:
    """So a scale that is a tenth too small, or that of the other relation, would be caught by the test before."""
    rows = np.full((40, width), 1.0)
    full_table = magnitudes_of(rows, width)
    other = magnitudes_of(np.vstack([rows[1:], np.full((1, width), 1.5)]) if relation == "replace" else rows[1:], width)
    scales = Scales.of(Guarantee(1.0), ProtectedChange(relation), width)
    # 1 and 1.5 have the same power of two: only the cells tell them apart
    share = 0.475 if relation == "replace" else 1
    assert float(cost_of(full_table, other, scales)) == pytest.approx(share)
    if relation == "replace":
        far = magnitudes_of(np.vstack([rows[1:], np.full((1, width), -np.inf)]), width)
        assert float(cost_of(full_table, far, scales)) == pytest.approx(0.95)
        forgetful = Scales.of(Guarantee(1.0), ProtectedChange("add-remove"), width)
        assert cost_of(full_table, far, forgetful) > 1
    else:
        assert cost_of(full_table, other, replace(scales, counts=0.9 * scales.counts)) > 1


@pytest.mark.parametrize("relation", ["replace", "add-remove"])
@pytest.mark.filterwarnings("ignore::milepost.AccuracyWarning")
@pytest.mark.parametrize("rows", [1, 3])
def test_no_person_costs_more_than_epsilon(relation: str, rows: int) -> None:
    """One with more rows than are used, replaced by another or taken away: three rows move, and cost all of ε."""
    frame = pd.DataFrame({"income": [1.0] * 5 + [1.5] * 20, "person": ["x"] * 5 + list(range(20))})
    other = frame.assign(income=np.where(frame.person == "x", -np.inf, frame.income))
    other = other if relation == "replace" else other[other.person != "x"]
    roles = RowColumns(privacy_unit="person", contributions=rows)
    pair = [read_magnitudes(side, "income", roles)[1] for side in (frame, other)]
    assert pair[0].total == 20 + rows
    scales = Scales.of(Guarantee(1.0), roles.change(relation), 1)
    cost = cost_of(pair[0], pair[1], scales)
    assert 0.94 < cost <= 1
    space = mp.find_bounds(frame, "income", epsilon=100, privacy_unit="person", contributions=rows, neighbors=relation)
    assert space.bounds_provenance == BoundsProvenance(100.0, relation, 1, "person", rows)
    assert "person" in mp.release(frame, space, epsilon=1, columns="income").statement()


@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
def test_nothing_depends_on_the_table_but_through_noise(neighbors: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the outcomes of the noise held fixed, tables of other sizes and values give the same space and warnings."""
    noisy = {1: np.array([5000]), 202: np.r_[np.zeros(120, dtype=np.int64), 4000, 300, np.zeros(80, dtype=np.int64)]}

    def fixed(exact: IntArray, scale: float) -> IntArray:  # noqa: ARG001
        return np.asarray(noisy.get(len(exact), np.arange(len(exact)) % 50))

    monkeypatch.setattr(find_bounds, "laplace", fixed)
    generator = np.random.default_rng(0)
    outputs = []
    for table in ([[3.0]], generator.normal(size=(5000, 1)), np.full((77, 1), np.inf), generator.pareto(0.1, (9, 1))):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            outputs.append((mp.find_bounds(table, epsilon=0.1, neighbors=neighbors), [str(w.message) for w in caught]))
    assert all(output == outputs[0] for output in outputs)
    assert outputs[0][1]


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """No noise, where a test is about something else: noise shows what is not there once in some thousand columns."""
    monkeypatch.setattr(find_bounds, "laplace", lambda exact, _: exact)


COLUMNS: dict[str, Callable[[np.random.Generator, int], FloatArray]] = {
    "lognormal": lambda generator, n: generator.lognormal(0, 1, n),
    "normal": lambda generator, n: generator.normal(0, 1, n),
    "uniform": lambda generator, n: generator.uniform(0, 10, n),
    "constant": lambda generator, n: np.full(n, 5.0),  # noqa: ARG005
    "zero": lambda generator, n: np.zeros(n),  # noqa: ARG005
    "ages": lambda generator, n: generator.integers(18, 91, n).astype(np.float64),
    "years": lambda generator, n: generator.integers(1990, 2021, n).astype(np.float64),
    "counts": lambda generator, n: generator.poisson(3, n).astype(np.float64),
    "negative": lambda generator, n: -generator.lognormal(3, 0.5, n),
    "huge": lambda generator, n: generator.normal(1e12, 1e11, n),
    "tiny": lambda generator, n: generator.exponential(1e-6, n),
    "heavy": lambda generator, n: generator.pareto(1, n),
}
# n, epsilon: the least share held, and the largest width ÷ that of the exact quantiles, up to a cell at either end
ENOUGH = {(100_000, 1.0): (0.985, 1.5), (10_000, 1.0): (0.965, 3.0), (100_000, 0.1): (0.965, 3.0)}
RUNS = 24


def share_and_width(column: FloatArray, search: Search) -> tuple[float, float]:
    low, high = search.columns[0].bounds
    first, last = np.quantile(column, [0.005, 0.995])
    cell = float(np.diff(search.columns[0].borders)[0]) if len(search.columns[0].borders) else np.inf
    return float(np.mean((column >= low) & (column <= high))), (high - low - 2 * cell) / (last - first + cell)


@pytest.mark.parametrize("name", some_quick(COLUMNS, ["ages"]))
def test_bounds_hold_the_rows_and_are_not_wide(name: str) -> None:
    """24 releases each, of which nine of ten must be good; of 100 that were measured, 99 or 100 were.

    A heavy tail, of which a few rows reach far, may have bounds twice as wide as the others.
    """
    for (n, epsilon), (min_share, widest) in ENOUGH.items():
        column = COLUMNS[name](np.random.default_rng(0), n)
        magnitudes = magnitudes_of(column, 1)
        good = 0
        for run in range(RUNS):
            change = ProtectedChange(("replace", "add-remove")[run % 2])
            search = Search.run(magnitudes, Scales.of(Guarantee(epsilon), change, 1), 0.99)
            share, relative_width = share_and_width(column, search)
            assert search.columns[0].bounds[0] < search.columns[0].bounds[1]
            assert search.hidden_rows < search.rows_outside
            good += share >= min_share and relative_width <= widest * (2 if name == "heavy" else 1)
        assert_rate(good, RUNS, at_least=0.9, against=0.1)


def test_bounds_are_on_the_public_grid() -> None:
    """Ends of cells of the statistic, so that no record is moved across a bound by rounding."""
    grid, rough = Grid(), octave_borders()
    for first in range(0, len(rough) - 1, 7):
        for last in range(first + 1, len(rough), 5):
            borders = grid.fine(float(rough[first]), float(rough[last]))
            assert np.isin(borders, edges()).all()
            assert borders[0] <= rough[first] < rough[last] <= borders[-1]
            assert len(borders) <= 259


@pytest.mark.usefixtures("silent")
def test_a_table_that_is_too_small_says_so_and_what_would_help() -> None:
    """1000 rows at ε = 1 are held, but that is not sure; 50 at ε = 0.01 are less than noise would be."""
    rows = np.random.default_rng(0).normal(50, 5, 1000)
    with pytest.warns(mp.AccuracyWarning, match=r"small for epsilon = 1: noise hides up to 6\d rows.*epsilon = \d+"):
        space = mp.find_bounds(rows, epsilon=1)
    assert np.mean((rows >= space.low[0]) & (rows <= space.high[0])) > 0.95
    with pytest.warns(mp.AccuracyWarning, match=r"no bounds were found for '0', '1'.*would do"):
        space = mp.find_bounds(rows[:100].reshape(50, 2), epsilon=0.01)
    assert space.extent == ((-(2.0**60), 2.0**60),) * 2


@pytest.mark.usefixtures("silent")
def test_infinite_values_are_large_ones() -> None:
    """A few are outside the bounds; where half of the rows are infinite the bounds go to the end of the grid."""
    rows = np.random.default_rng(0).uniform(1, 2, 100_000)
    rows[:50] = np.inf
    rows[50:100] = -np.inf
    assert all(abs(end) < 100 for end in mp.find_bounds(rows, epsilon=1).extent[0])
    rows[:50_000] = np.inf
    assert mp.find_bounds(rows, epsilon=1).high[0] == 2.0**60


FORMATS = ["pandas", "polars", "arrow", "csv", "parquet"]


@pytest.mark.parametrize("kind", FORMATS)
def test_every_format_gives_the_same_statistic(kind: str, homes: pd.DataFrame, tmp_path: Path) -> None:
    """Names are kept; columns are chosen by name or position; text is refused."""
    homes.to_csv(tmp_path / "homes.csv", index=False)
    arrow = pa.Table.from_pandas(homes, preserve_index=False)
    pq.write_table(arrow, tmp_path / "homes.parquet")
    table = {"pandas": homes, "polars": pl.from_pandas(homes), "arrow": arrow}.get(kind, tmp_path / f"homes.{kind}")
    expected = magnitudes_of(homes[["east", "north"]].to_numpy(), 2)
    for columns in (["east", "north"], [3, 1]):
        names, magnitudes = read_magnitudes(table, columns)
        assert names == ("east", "north")
        np.testing.assert_array_equal(magnitudes.counts, expected.counts)
    with pytest.raises(mp.MilepostError, match="street"):
        mp.find_bounds(table, epsilon=1)


@pytest.mark.usefixtures("silent")
def test_a_frame_gives_names_and_an_array_positions(homes: pd.DataFrame) -> None:
    space = mp.find_bounds(homes, ["east", "north"], epsilon=1)
    assert space.columns == ("east", "north")
    assert mp.find_bounds(homes, "north", epsilon=1).columns == ("north",)
    assert mp.find_bounds(homes[["east", "north"]].to_numpy(), epsilon=1).columns is None
    assert mp.find_bounds(iter([[1.0], [2.0]] * 10_000), epsilon=1).width == 1
    assert 0 < mp.release(homes, space, epsilon=1, delta=1e-6).mean_distance([5, 5]) < 20


def test_points_of_a_map_are_read() -> None:
    """A projected GeoDataFrame gives the two columns of a plane."""
    geopandas = pytest.importorskip("geopandas")
    points = np.random.default_rng(0).uniform(5e5, 6e5, (20_000, 2))
    frame = geopandas.GeoDataFrame(geometry=geopandas.points_from_xy(*points.T), crs=25833)
    space = mp.find_bounds(frame, epsilon=1, metric=mp.L2)
    assert space.width == 2
    assert mp.release(frame, space, epsilon=1).n == 20_000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"epsilon": 0}, "epsilon= must"),
        ({"neighbors": "swap"}, "neighbors= must"),
        ({"metric": mp.GreatCircle}, "metric must"),
        ({"coverage": 1}, "coverage must"),
        ({"coverage": 0.4}, "coverage must"),
        ({"coverage": True}, "coverage must"),
        ({"columns": ["a", "a"]}, "columns must have different names"),
        ({"columns": ["c"]}, "no column 'c'"),
        ({"data": pd.DataFrame({"a": [1.0, np.nan]})}, "'a' has a missing value or NaN in row 2"),
        ({"data": np.array([[1.0], [np.nan]])}, "'0' has a missing value or NaN in row 2"),
        ({"data": np.empty((0, 2))}, "empty"),
        ({"data": np.zeros((1, 4097))}, "4096 columns"),
        ({"data": np.empty((2, 0))}, "empty"),
    ],
)
def test_bad_input_is_refused_before_noise(
    arguments: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(find_bounds, "laplace")
    params: dict[str, Any] = {"data": pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]}), "epsilon": 1} | arguments
    with pytest.raises(mp.MilepostError, match=message):
        mp.find_bounds(params.pop("data"), **params)


@pytest.mark.parametrize("metric", [mp.L1, pytest.param(mp.L2, marks=pytest.mark.slow)])
def test_the_record_stays_with_the_space(metric: Any, homes: pd.DataFrame, tmp_path: Path) -> None:
    """In the card, in a file and its statement, in a space file, in an equal space; not where bounds are public."""
    space = mp.find_bounds(homes, ["east", "north"], epsilon=0.5, neighbors="add-remove", metric=metric)
    record = BoundsProvenance(0.5, "add-remove", 2)
    assert space.bounds_provenance == record
    synopsis = mp.release(homes, space, epsilon=1, delta=1e-6, mechanism="slopes")
    synopsis.save(tmp_path / "homes.milepost")
    copy = mp.load(tmp_path / "homes.milepost")
    assert isinstance(copy.space, metric)
    assert copy.space.bounds_provenance == record
    assert copy.card["space"]["bounds_provenance"] == {"epsilon": 0.5, "neighbors": "add-remove", "columns": 2}
    line = next(line for line in copy.statement().splitlines() if line.startswith("  Bounds"))
    assert "ε = 0.5 for one row added or removed. This adds to the guarantee" in line
    (tmp_path / "homes.toml").write_text(toml_of(space))
    assert read_space(tmp_path / "homes.toml") == space

    public = metric(dict(zip(space.names, space.extent, strict=True)))
    assert public != space
    assert "bounds_provenance" not in public.to_json()
    assert "Bounds" not in mp.release(homes, public, epsilon=1, delta=1e-6, mechanism="slopes").statement()
    assert metric(dict(zip(space.names, space.extent, strict=True)), bounds_provenance=space.bounds_provenance) == space
    assert metric.from_json(public.to_json(), {}).bounds_provenance is None


def test_a_space_file_and_options_keep_odd_names_and_all_digits(tmp_path: Path) -> None:
    pairs = {'a "b" = \x7f\n\\': (-0.1, 1e300 / 3e250), "é c": (2**-40, 0.1 + 0.2)}
    for space in (mp.L1(pairs, bounds_provenance=BoundsProvenance(0.1, "replace", 2)), mp.L2([(-1, 1), (0, 2.0**60)])):
        (tmp_path / "odd.toml").write_text(toml_of(space), encoding="utf-8")
        copy = read_space(tmp_path / "odd.toml")
        assert (copy.columns, copy.extent) == (space.columns, space.extent)
    space = mp.L1({"é c": (-(2**-40), 0.1 + 0.2), "d": (0, 1e18)})
    options = shlex.split(options_of(space))
    assert space_from_options(options[1], {"bounds": options[3::2]}) == space


@pytest.mark.parametrize(
    "record",
    [
        {"epsilon": 0, "neighbors": "replace", "columns": 1},
        {"epsilon": True, "neighbors": "replace", "columns": 1},
        {"epsilon": 1, "neighbors": "swap", "columns": 1},
        {"epsilon": 1, "neighbors": "replace", "columns": 0},
        {"epsilon": 1, "neighbors": "replace"},
        "yes",
    ],
)
def test_a_record_that_is_none_is_refused(record: Any) -> None:
    with pytest.raises(mp.MilepostError, match="bounds_provenance"):
        mp.L1([(0, 1)], bounds_provenance=record)

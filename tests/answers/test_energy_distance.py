"""Energy distances of releases: exact without noise, with the law of the noise, in every space."""

import numpy as np
import pytest

import milepost as mp
from milepost._typing import FloatArray
from milepost.answers.energy_distance import Resolution, energy_distance, rise_variance
from milepost.ingest.aggregation import read_sketch
from milepost.mechanisms.coordinate.cell_shares import CellShares, coarse_variances
from milepost.mechanisms.coordinate.curves import Curves
from milepost.mechanisms.totals import Total
from milepost.spaces.embeddings.embedding import QUANTUM_BITS
from tests.chance import assert_rate, assert_scale

DELTA = 1e-6
GENERATOR = np.random.default_rng(11)
LEFT, RIGHT = GENERATOR.normal(0.4, 0.1, (1500, 6)), GENERATOR.normal(0.45, 0.12, (1200, 6))
RELEASES = 40
HUGE = 1000.0  # ε whose noise is far below the differences here


def exact_energy(space: mp.Space, left: FloatArray, right: FloatArray) -> float:
    """Return the energy distance from all pairs."""
    read = [space.read(rows) for rows in (left, right)]
    (a, b), queries = read, [space.read_queries(rows) for rows in (left, right)]
    between, within = (
        space.distance(a, queries[1]),
        [space.distance(x, y) for x, y in zip((a, b), queries, strict=True)],
    )
    return float(2 * between.mean() - within[0].mean() - within[1].mean())


def shares_of(synopsis: mp.Synopsis) -> CellShares:
    assert isinstance(synopsis.statistic, Curves)
    return synopsis.statistic.cell_shares()


@pytest.mark.parametrize(
    ("space", "columns", "mechanism", "tolerance"),
    [
        (mp.L1([(0, 1)] * 3, weights=[1, 2, 0.5]), 3, "slopes", 0.003),
        (mp.L1([(0, 1)] * 2, step=1 / 64), 2, "slopes", 0.02),
        (mp.L1([(0, 1)]), 1, "hats", 0.003),
        (mp.L2([(0, 1)] * 2, directions=64), 2, "slopes", 0.01),
        (mp.L2([(0, 1)] * 3, directions=128), 3, "slopes", 0.02),
        (mp.L2([(0, 1)] * 6, directions=192), 6, "slopes", 0.1),
        (mp.Lp(1.5, [(0, 1)] * 3, directions=128), 3, "slopes", 0.2),
        (mp.Angular(6), 6, "slopes", 0.08),
        (mp.GreatCircle((0.4, 0.4), radius_km=120, directions=32), 2, "slopes", 0.02),
    ],
    ids=lambda value: getattr(value, "kind", str(value)),
)
def test_without_noise_it_is_the_distance_of_all_pairs(
    space: mp.Space, columns: int, mechanism: str, tolerance: float
) -> None:
    left, right = LEFT[:, :columns], RIGHT[:, :columns]
    releases = [
        mp.release(rows, space, epsilon=HUGE, delta=0 if mechanism == "hats" else DELTA, mechanism=mechanism)
        for rows in (left, right)
    ]
    truth = exact_energy(releases[0].space, left, right)
    assert abs(mp.difference(*releases).value / truth - 1) < tolerance


def test_labels_add_the_squared_differences_of_their_shares() -> None:
    space = mp.Gower({"colour": mp.category(["red", "green", "blue"]), "size": mp.number(0, 1)})
    left = [{"colour": colour, "size": 0.5} for colour in ("red", "green", "blue")] * 600
    right = [{"colour": "red", "size": 0.5}] * 600 + [{"colour": "green", "size": 0.5}] * 400
    releases = [mp.release(table, space, epsilon=HUGE, delta=DELTA) for table in (left, right)]
    shares = np.array([1 / 3, 1 / 3, 1 / 3]) - np.array([0.6, 0.4, 0])
    difference = mp.difference(*releases)
    assert isinstance(difference.parts, dict)
    weight = space.diameter / 2  # of each of two columns
    assert difference.parts["colour"] == pytest.approx(weight * float(shares @ shares), rel=1e-3)
    assert abs(difference.parts["size"]) < 1e-6


def test_the_law_of_equal_tables_is_that_of_chi_squared() -> None:
    """Cell shares with independent noise of a known scale: their squares follow the law that p-values use."""
    embedding, draws = mp.L1([(0, 1)] * 2).embedding, 400
    bits, variance = (18, 18), 1e-6
    generator = np.random.default_rng(3)
    noise = (np.array([variance]),) * 2
    base = np.tile((np.arange(64) + 0.5) / 64, 2)
    p_values = []
    for _ in range(draws):
        sides = [
            CellShares(
                embedding, bits, base + generator.normal(0, variance**0.5, 128), Total(10_000), None, noise, False
            )
            for _ in range(2)
        ]
        p_values.append(energy_distance(sides[0], sides[1], 0.95).p_tables)
    assert_rate(int(np.count_nonzero(np.array(p_values) < 0.05)), draws, at_most=0.05, against=0.2)


def test_coarse_variances_drop_the_finest_levels() -> None:
    assert coarse_variances(np.array([4.0]), 4).tolist() == [1.0]
    assert coarse_variances(np.array([8.0, 8.0, 4.0, 2.0]), 4).tolist() == [2.0, 2.0]


def test_shares_have_the_noise_that_they_claim() -> None:
    """The shares of released cells differ from the exact ones by noise of the claimed variance, for both mechanisms."""
    rows = np.random.default_rng(6).random((5_000, 2))
    for mechanism, delta in (("slopes", DELTA), ("hats", 0.0)):
        synopsis = mp.release(rows, mp.L1([(0, 1)] * 2), epsilon=1, delta=delta, mechanism=mechanism)
        shares = shares_of(synopsis)
        public = mp.difference(synopsis, rows)
        assert public.value < public.high
        exact = public.tables.right
        errors = (shares.values - exact.values).reshape(2, -1)
        if mechanism == "hats":
            errors = np.array([haar(row) for row in errors])
            levels = np.repeat(
                np.arange(len(shares.variances[0])), [1, *(1 << np.arange(len(shares.variances[0]) - 1))]
            )
            deviations = np.sqrt(np.array(shares.variances) / 2)[:, levels]  # the scale of a Laplace draw
        else:
            deviations = np.sqrt(np.array(shares.variances))
        assert_scale((errors / deviations).ravel(), law="laplace" if mechanism == "hats" else "gaussian", against=1.5)


def haar(values: FloatArray) -> FloatArray:
    """Return the coefficients of orthonormal Haar functions: the constant's, then level after level."""
    details = []
    while len(values) > 1:
        details.append((values[0::2] - values[1::2]) / np.sqrt(2))
        values = (values[0::2] + values[1::2]) / np.sqrt(2)
    return np.concatenate([values, *reversed(details)])


def test_private_totals_are_in_the_law() -> None:
    """Groups of equal tables: the noise of their totals moves all shares, and the p-value knows it."""
    rows = np.tile(np.linspace(0, 1, 500), 4)[:, None]
    groups = np.repeat(["a", "b"], 1000)
    rejected = 0
    for _ in range(RELEASES):
        synopsis = mp.release(rows, mp.L1([(0, 1)]), epsilon=1, delta=DELTA, groups=groups, labels=["a", "b"], n=2000)
        rejected += mp.difference(synopsis.group("a"), synopsis.group("b")).p_tables < 0.05
    assert_rate(rejected, RELEASES, at_most=0.05, against=0.9)


def exact_shares(columns: list[FloatArray], bits: int) -> CellShares:
    """Return the exact cell shares of a table, in cells of 2^bits quanta."""
    space = mp.L1([(0, 1)] * len(columns))
    sketch = read_sketch(np.column_stack(columns), space, cells=1 << (QUANTUM_BITS - bits))
    return CellShares.of_sketch(space.embedding, (bits,) * len(columns), sketch)


def finest(left: list[FloatArray], right: list[FloatArray]) -> Resolution:
    """Return two tables in 256 cells of each column."""
    sides = [exact_shares(columns, QUANTUM_BITS - 8) for columns in (left, right)]
    return Resolution(sides[0], sides[1], np.ones(len(left), dtype=np.int64))


def line_energy(left: FloatArray, right: FloatArray) -> float:
    return exact_energy(mp.L1([(0, 1)]), left[:, None], right[:, None])


TIGHT_PAIRS = {
    "moved in a cell": (np.full(50, 0.3), np.full(50, 0.3005)),
    "to the other end of a cell": (np.full(50, 65 / 64 / 4 + 1e-6), np.full(50, 66 / 64 / 4 - 1e-6)),
    "at the border": (np.zeros(50), np.where(np.arange(50) < 5, 0.01, 0.0)),
    "at both borders": (np.zeros(50), np.ones(50)),
    "some of them": (np.tile([0.2, 0.8], 25), np.tile([0.203, 0.8], 25)),
    "cluster": (GENERATOR.normal(0.5, 0.002, 200), GENERATOR.normal(0.501, 0.002, 200)),
    "spread": (GENERATOR.random(200), GENERATOR.random(200)),
}


@pytest.mark.parametrize("name", TIGHT_PAIRS)
def test_cells_never_hide_more_than_their_limit(name: str) -> None:
    """Without noise: what cells see, and what they may hide, hold the exact distance between them."""
    left, right = TIGHT_PAIRS[name]
    truth = line_energy(left, right)
    sides = [exact_shares([column], QUANTUM_BITS - 8) for column in (left, right)]
    for merged in (1, 4, 16, 64):
        resolution = Resolution(sides[0], sides[1], np.array([merged]))
        total, root = resolution.cell_limits
        assert resolution.value <= truth + 1e-9
        assert truth <= resolution.value + total + 1e-9
        assert root <= total


def test_the_limit_of_what_cells_hide_is_reached() -> None:
    """An atom that moves from the beginning of a cell to its middle: the limit is at most twice the worst case."""
    left, right = np.full(50, 1e-9), np.full(50, 1 / 512)
    resolution = finest([left], [right])
    hidden = line_energy(left, right) - resolution.value
    assert resolution.cell_limits[0] / 2 < hidden <= resolution.cell_limits[0]


def test_many_cells_together_hide_less_than_the_sum_of_their_limits() -> None:
    one = finest([np.full(50, 0.3)], [np.full(50, 0.3005)])
    many = finest(*([GENERATOR.random(400) for _ in range(4)] for _ in range(2)))
    assert one.cell_limits[1] > 0.5 * one.cell_limits[0]
    assert many.cell_limits[1] < 0.1 * many.cell_limits[0]


@pytest.mark.parametrize("levels", [1, 4, 6])
def test_the_noise_of_rises_follows_from_that_of_levels(levels: int) -> None:
    variances = np.array([4.0]) if levels == 1 else GENERATOR.random(levels)
    cells = 64 if levels == 1 else 1 << (levels - 1)
    spectrum = np.full(cells, 4.0)
    if levels > 1:
        spectrum = variances[np.repeat(np.arange(levels), [1, *(1 << np.arange(levels - 1))])]
    transform = np.array([haar(unit) for unit in np.eye(cells)])  # row j: the coefficients of cell j
    covariance = transform * spectrum @ transform.T
    pairs = np.array([(j - 1, j + 1) for j in range(1, cells - 1)])
    mean = np.mean([covariance[a, a] + covariance[b, b] - 2 * covariance[a, b] for a, b in pairs.tolist()])
    assert rise_variance(variances) == pytest.approx(mean, rel=0.35)  # pairs across the ends are missing


@pytest.mark.slow
def test_intervals_hold_what_cells_hide() -> None:
    """An atom that moves inside of a cell: no cell sees it, and intervals do not say that the tables are the same."""
    space, missed = mp.L1([(0, 1)]), 0
    for _ in range(RELEASES):
        left, right = (
            mp.release(np.full((4_000, 1), place), space, epsilon=1, mechanism="hats") for place in (0.3, 0.3005)
        )
        missed += mp.difference(left, right).high < 0.001  # twice the shift
    assert_rate(missed, RELEASES, at_most=0.05, against=0.9)

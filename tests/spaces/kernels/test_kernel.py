"""Kernels: norms are bounded from above, heights are the means they stand for, and noise is hardly more than needed.

Every bound is checked in two ways: by the formula of the Hilbert space's norm, at records that are random or at the
ends of the space, and by δᵀ(C + tI)⁻¹δ on many points, which is never more than that norm, whatever t > 0 is.
"""

import math
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad

import milepost as mp
from milepost._typing import AnyArray, FloatArray
from milepost.spaces.geographic import EARTH_KM, QUARTER_KM
from milepost.spaces.kernels import reference_measures
from milepost.spaces.kernels.kernel import Kernel, Reference
from milepost.spaces.kernels.reference_measures import around_ball, corners
from tests import chance
from tests.chance import assert_close
from tests.mechanisms.contract import SPACES, patched, points

KERNELS: dict[str, Any] = {name: space for name, space in SPACES.items() if name != "towns"} | {
    "interval": mp.L2(center=[5], radius=2),
    "ball, d = 3": mp.L2(center=[0, 0, 0], radius=1),
    "ball, d = 9": mp.L2(center=[1] * 9, radius=0.01),
    "ball, d = 10": mp.L2(center=[1] * 10, radius=1e6),
    "ball, d = 100": mp.L2(center=[0] * 100, radius=1),
    "cube, d = 20": mp.L2([(0, 1)] * 20),
    "lp 1.01": mp.Lp(1.01, [(0, 1)] * 5),
    "lp 1.99": mp.Lp(1.99, [(0, 1), (0, 10), (-3, 3)]),
    "cap of a metre": mp.GreatCircle((-33, 151), 1e-3),
    "half of the earth": mp.GreatCircle((0, -179.9), QUARTER_KM),
    "cap at the pole": mp.GreatCircle((90, 0), 2000),
    "city": mp.GreatCircle((52.5, 13.4), 40),
    "many angles": mp.Angular(50),
    "degrees": mp.Angular(3, angle_unit="degrees"),
}
spaces = pytest.mark.parametrize("name", KERNELS)


def reference_of(space: Any) -> Reference:
    """The measure behind a space's kernels."""
    references: list[Reference] = []

    def record(reference: Reference) -> tuple[Kernel, ...]:
        references.append(reference)
        return ()

    with patched([(Reference, "kernels", record)]):
        type(space).kernels.func(space)
    return references[0]


def constant_of(kernel: Kernel, reference: Reference, queries: AnyArray) -> float:
    """c of a kernel, from half = 2r + c/2."""
    return float(2 * (kernel.half(queries) - 2 * reference.height(queries))[0])


def rows_of(space: Any, count: int, seed: int = 0) -> FloatArray:
    """Fractions of columns: corners, both ends, the middle, the middles of sides, points near the ends, random ones."""
    rng = np.random.default_rng(seed)
    width = space.width
    ends = np.array([[0.0] * width, [1.0] * width, [0.5] * width, [0.5] * (width - 1) + [1.0], [-9.0] * width])
    mixed = rng.choice([0.0, 0.5, 1.0, -9.0, 9.0, 1e-9, 1 - 1e-9], (count, width))
    return np.concatenate([ends, rng.integers(0, 2, (count, width)), mixed, rng.random((count, width))])


def queries_of(space: Any, rows: FloatArray) -> AnyArray:
    """The same as queries, those outside moved to the border."""
    queries = points(space, rows)
    if isinstance(space, mp.GreatCircle):
        queries = np.clip(queries, [-90, -360], [90, 360])
    return np.asarray(space.clip_points(space.read_queries(queries)))


def covariance(kernel: Kernel, queries: AnyArray) -> FloatArray:
    half = kernel.half(queries)
    result = half[:, None] + half[None] - 2 * kernel.apart(queries, queries)
    np.fill_diagonal(result, 2 * half)
    return np.asarray(result)


def sample_kernels(kernels: tuple[Kernel, ...]) -> list[Kernel]:
    """The extremes, and the one that `field` would take."""
    best = min(kernels, key=lambda kernel: kernel.pair * kernel.max_variance)
    return [*dict.fromkeys([kernels[0], kernels[-1], best])]


@spaces
def test_public_distances_are_the_records(name: str) -> None:
    """`between` of points is the `distance` of records at the same places, and a metric's."""
    space = KERNELS[name]
    rows = rows_of(space, 30)
    queries, records = queries_of(space, rows), space.read(points(space, rows))
    if isinstance(space, mp.GreatCircle):  # whose records have latitudes beyond the poles, and queries have not
        records = space.read(queries)
    tolerance = space.kernels[0].distance_error
    between = space.query_distances(queries, queries)
    # the cap leaves queries within 1e-6 radii of the border where they are
    slack = 1e-6 * space.diameter if isinstance(space, mp.GreatCircle) else 0.0
    assert np.abs(between - space.distance(records, queries)).max() <= 2 * tolerance + 2 * slack
    assert np.abs(between - between.T).max() <= 2 * tolerance
    assert np.abs(np.diag(between)).max() <= tolerance
    assert between.max() <= space.diameter + tolerance + slack


def test_public_distances_of_an_arbitrary_metric() -> None:
    space = SPACES["towns"]
    known = space.given_queries
    assert np.array_equal(space.query_distances(known, known[:2]), space.distance(space.read(known), known[:2]))
    assert space.kernels == ()


@pytest.mark.parametrize("size", [1e200, 1e-200, 5e-324 * 2**40, 1e308])
def test_angles_of_queries_do_not_depend_on_lengths(size: float) -> None:
    """Vectors whose squares are beyond floats have the angles of unit vectors, as records' distances have."""
    space = mp.Angular(3)
    vectors = np.array([[1.0, 0, 0], [0.8, 0.6, 0], [-1, 0, 0], [0, 0.6, -0.8]])
    expected = space.query_distances(vectors, vectors)
    with np.errstate(all="ignore"):
        results = [space.query_distances(vectors * size, vectors * other) for other in (1, size)]
    errors = [float(np.abs(angles - expected).max()) for angles in results]
    assert max(errors) <= space.kernels[0].distance_error


@spaces
def test_norms_of_records_are_within_the_bounds(name: str) -> None:
    """d + (r − r′)²/c ≤ pair and r + (r − mean)²/c ≤ single; and C(y, y) ≤ max_variance."""
    space = KERNELS[name]
    reference = reference_of(space)
    queries = queries_of(space, rows_of(space, 60))
    height, distances = reference.height(queries), space.query_distances(queries, queries)
    slack = 1e-5 * space.diameter if isinstance(space, mp.GreatCircle) else 0.0  # queries that stay 1e-6 radii outside
    for kernel in sample_kernels(space.kernels):
        constant = constant_of(kernel, reference, queries)
        rise = (height[:, None] - height[None]) ** 2
        single = (height - reference.mean) ** 2
        if constant < 1e-9 * space.diameter:
            assert rise.max() <= (1e-9 * space.diameter) ** 2
            assert single.max() <= (1e-9 * space.diameter) ** 2
            constant = math.inf
        factor = 1 + slack / min(constant, space.diameter)
        assert (distances + rise / constant).max() <= kernel.pair * factor + 2 * kernel.distance_error + slack
        assert (height + single / constant).max() <= kernel.single * factor + 2 * kernel.distance_error + slack
        assert 2 * kernel.half(queries).max() <= kernel.max_variance + 8 * kernel.distance_error + 4 * slack
        assert kernel.anchor(queries) == pytest.approx(height + reference.mean, abs=1e-12 * space.diameter)


@spaces
def test_norms_on_points_are_within_the_bounds(name: str) -> None:
    """δᵀ(C + tI)⁻¹δ of differences, and of distances counted from anchors, on 95 points; C is positive semidefinite."""
    space = KERNELS[name]
    queries = queries_of(space, rows_of(space, 30, seed=1))
    records = space.read(points(space, rows_of(space, 10, seed=2)))
    distances = space.distance(records, queries)
    for kernel in sample_kernels(space.kernels):
        matrix = covariance(kernel, queries)
        values, vectors = np.linalg.eigh(matrix)
        assert values.min() >= -8 * len(queries) * (kernel.distance_error + 1e-15 * kernel.max_variance)
        ridge = max(1e-8 * kernel.max_variance, 1e3 * kernel.distance_error)

        def norms(functions: FloatArray, values: FloatArray = values, vectors: FloatArray = vectors) -> FloatArray:
            return np.asarray(((functions @ vectors) ** 2 / (np.maximum(values, 0) + ridge)).sum(axis=1))  # noqa: B023

        pairs = (distances[:, None] - distances[None]).reshape(-1, len(queries))
        rounding = 1 + 2 * kernel.distance_error * math.sqrt(len(queries) / ridge / kernel.pair)
        assert norms(pairs).max() <= kernel.pair * rounding**2 * (1 + 1e-6)
        rounding = 1 + 2 * kernel.distance_error * math.sqrt(len(queries) / ridge / kernel.single)
        assert norms(distances - kernel.anchor(queries)).max() <= kernel.single * rounding**2 * (1 + 1e-6)


def test_bounds_that_are_too_small_would_be_seen() -> None:
    """On ℓ₁ and angles a single point shows that neither could be 1 % less, nor the constant."""
    for name in ("one column", "unequal weights", "angles", "steps"):
        (kernel,) = KERNELS[name].kernels
        space = KERNELS[name]
        ends = points(space, [[0.0] * space.width, [1.0] * space.width])
        queries = space.read_queries(ends)
        distances = space.distance(space.read(ends), queries)
        matrix = covariance(kernel, queries)
        assert (distances[0] - distances[1])[0] ** 2 / matrix[0, 0] >= 0.999 * kernel.pair
        assert (distances[0] - kernel.anchor(queries))[0] ** 2 / matrix[0, 0] >= 0.999 * kernel.single


# a category of many labels is nearly twice as far from ν as from any one of them: √2
RATIOS = {"l1": 1.01, "angular": 1.01, "gower": 1.42, "hamming": 1.42, "l2": 1.3, "lp": 1.5, "great-circle": 1.2}


def ratio(space: Any) -> float:
    """The deviation of field's noise ÷ that of one query's, rounding aside."""
    return min(math.sqrt(kernel.pair * kernel.max_variance) for kernel in space.kernels) / float(space.diameter)


@spaces
def test_a_field_has_little_more_noise_than_one_query(name: str) -> None:
    assert 1 - 1e-9 <= ratio(KERNELS[name]) <= RATIOS[KERNELS[name].kind]


@pytest.mark.parametrize(
    "width",
    [1, 2, 3, 4, 9, 10, 11, 64, *(pytest.param(width, marks=pytest.mark.slow) for width in (1000, 4096))],
)
def test_in_every_dimension(width: int) -> None:
    for space in (
        mp.L2(center=[0] * width, radius=1),
        mp.L2([(0, 1)] * width),
        mp.L2([(0, 1)] * (width - 1) + [(0, 99)]),
    ):
        assert ratio(space) <= 1.3
    assert ratio(mp.L1([(0, 1)] * width)) <= 1.01
    assert ratio(mp.Angular(width)) <= 1.01
    for p in (1.01, 1.5, 1.99) if width > 1 else ():
        assert ratio(mp.Lp(p, [(0, 1)] * width)) <= 1.5


@pytest.mark.parametrize("p", [1.01, 1.5, 1.99])
def test_one_column_is_a_line_whatever_p_is(p: float) -> None:
    assert ratio(mp.Lp(p, [(0, 1)])) <= 1.01


@pytest.mark.parametrize("radius", [1e-3, 1, 40, 1000, 5000, 9000, QUARTER_KM])
def test_in_caps_of_every_size(radius: float) -> None:
    assert ratio(mp.GreatCircle((47, 11), radius)) <= 1.2


# heights


def to_sphere(width: int, share: float) -> float:
    """The mean distance to the unit sphere, by integration over the angle from the centre."""
    if width == 1:
        return (abs(1 - share) + abs(1 + share)) / 2
    middle, half_range = math.pi / 2, min(math.pi / 2, 30 / math.sqrt(width))

    def density(angle: float) -> float:
        return math.sin(angle) ** (width - 2)

    def weighted(angle: float) -> float:
        return density(angle) * math.sqrt(max(1 + share**2 - 2 * share * math.cos(angle), 0.0))

    integrals = [
        quad(f, middle - half_range, middle + half_range, limit=500, epsabs=0, epsrel=1e-12)[0]
        for f in (weighted, density)
    ]
    return float(integrals[0] / integrals[1])


@pytest.mark.parametrize("width", [1, 2, 3, 4, 9, 10, 11, 100, 4096])
def test_heights_of_balls(width: int) -> None:
    """Against an integral of its own, on both sides of the change of formula at 10 dimensions; between their bounds."""
    space = mp.L2(center=[0] * width, radius=2)
    reference = around_ball(space.center, 2.0, space.query_distances, 1e-11)
    shares = [0.0, 1e-6, 0.1, 0.5, 0.9, 0.999, 1.0]
    queries = np.zeros((len(shares), width))
    queries[:, 0] = np.array(shares) * 2
    heights = reference.height(queries)
    expected = [2 * to_sphere(width, share) - to_sphere(width, 1.0) for share in shares]
    assert reference.mean == pytest.approx(to_sphere(width, 1.0), abs=reference_measures.ACCURACY)
    assert heights == pytest.approx(expected, abs=2 * reference_measures.ACCURACY)
    for distance, height in zip(np.array(shares) * 2, expected, strict=True):
        ring = min(int(np.searchsorted(reference.away, distance, side="right")) - 1, len(reference.low) - 1)
        assert reference.low[ring] - 1e-9 <= height <= reference.high[ring] + 1e-9


def test_the_height_of_a_ball_is_a_mean_over_its_border() -> None:
    """Against random points of the border, of a fixed seed; a height that is 1 % of the radius off is seen."""
    rng = np.random.default_rng(0)
    for width in (2, 5):
        border = rng.standard_normal((250_000, width))
        border /= np.linalg.norm(border, axis=1, keepdims=True)
        space = mp.L2(center=[0] * width, radius=1)
        reference = reference_of(space)
        queries = np.array([[0.3] + [0.1] * (width - 1), [0.0] * (width - 1) + [1.0]])
        distances = space.query_distances(queries, border)
        expected, deviation = distances.mean(axis=1), distances.std(axis=1) / math.sqrt(len(border))
        assert (chance.limit(comparisons=2) * deviation < 0.01).all()
        assert_close(reference.height(queries) + reference.mean, expected, deviation, slack=1e-9)


def haversine(left: AnyArray, right: AnyArray) -> FloatArray:
    """Great-circle distances in km by another formula."""
    (a, b), (c, d) = (np.radians(part).T for part in (left, right))
    square = np.sin((a[:, None] - c[None]) / 2) ** 2
    square += np.cos(a)[:, None] * np.cos(c)[None] * np.sin((b[:, None] - d[None]) / 2) ** 2
    return np.asarray(2 * EARTH_KM * np.arcsin(np.sqrt(np.minimum(square, 1))))


def destination(center: tuple[float, float], distances: AnyArray, turn: AnyArray) -> FloatArray:
    """Places at distances from a centre and turns from north, by vectors."""
    (sine, sine_turn), (cosine, cosine_turn) = np.sin(np.radians(center)), np.cos(np.radians(center))
    up = np.array([cosine * cosine_turn, cosine * sine_turn, sine])
    north = np.array([-sine * cosine_turn, -sine * sine_turn, cosine])
    east = np.array([-sine_turn, cosine_turn, 0.0])
    angle = distances[:, None] / EARTH_KM
    side = np.cos(turn)[:, None] * north + np.sin(turn)[:, None] * east
    x, y, z = (np.cos(angle) * up + np.sin(angle) * side).T
    return np.asarray(np.degrees(np.column_stack([np.arctan2(z, np.hypot(x, y)), np.arctan2(y, x)])))


CAPS: list[tuple[tuple[float, float], float]] = [
    ((0.0, 0.0), 1e-3),
    ((52.5, 13.4), 40),
    ((-60.0, 179.99), 3000),
    ((89.9, 20.0), 500),
    ((90.0, 0.0), 2000),
    ((-90.0, 50.0), 2000),
    ((10.0, -180.0), QUARTER_KM),
]


@pytest.mark.parametrize(("center", "radius"), CAPS)
def test_heights_of_caps(center: tuple[float, float], radius: float) -> None:
    """Against means of haversines to 64 places of the border, and between the bounds of each ring, everywhere."""
    space = mp.GreatCircle(center, radius)
    reference = reference_of(space)
    rng = np.random.default_rng(0)
    # at most as far as the border, at random turns and where r turns round: at a place, and between two
    distances = np.concatenate([[0.0, radius, radius, radius], radius * np.sqrt(rng.random(300)), np.full(50, radius)])
    turns = np.concatenate([[0.0, 0.0, math.pi / 64, 1.0], rng.random(350) * 2 * math.pi])
    queries = space.clip_points(space.read_queries(destination(center, distances, turns)))
    border = destination(center, np.full(64, radius), 2 * math.pi / 64 * np.arange(64))
    slack = 1e-7 * radius + 3e-7  # haversines of a place and its antipode are good to √ε radians
    mean = haversine(border, border).mean() / 2
    expected = haversine(queries, border).mean(axis=1) - mean
    heights = reference.height(queries)
    assert reference.mean == pytest.approx(mean, abs=slack)
    assert np.abs(heights - expected).max() <= slack
    rings = np.minimum(np.searchsorted(reference.away, distances, side="right") - 1, len(reference.low) - 1)
    assert (heights >= reference.low[rings] - 1e-9 * radius).all()
    assert (heights <= reference.high[rings] + 1e-9 * radius).all()
    assert (reference.high - reference.low).max() <= 0.2 * radius


@pytest.mark.parametrize("p", [1.01, 1.5, 1.99])
@pytest.mark.parametrize("width", [1, 2, 3, 40])
def test_heights_of_boxes(p: float, width: int) -> None:
    """ν is on pairs of opposite corners; r is the mean distance to them less half of their own, within its bounds."""
    rng = np.random.default_rng(0)
    bounds = [(0.0, float(high)) for high in rng.uniform(0.1, 5, width)]
    space = mp.Lp(p, bounds)
    half = np.array([high / 2 for _, high in bounds])
    targets: list[AnyArray] = []

    def spy(left: AnyArray, right: AnyArray) -> FloatArray:
        targets.append(right)
        return space.query_distances(left, right)

    reference = corners(p, space.center, half, spy, 1e-12)
    offsets = targets[0] - half
    assert np.abs(offsets) == pytest.approx(np.tile(half, (128, 1)))
    assert offsets[:64] == pytest.approx(-offsets[64:])
    queries = space.clip_points(points(space, rows_of(space, 50)))

    def lengths(left: AnyArray) -> FloatArray:
        return np.asarray((np.abs(left[:, None] - (offsets + half)[None]) ** p).sum(axis=2) ** (1 / p))

    mean = lengths(offsets + half).mean() / 2
    assert reference.mean == pytest.approx(mean)
    heights = reference.height(queries)
    assert heights == pytest.approx(lengths(queries).mean(axis=1) - mean, abs=1e-9)
    assert reference.low[0] - 1e-9 <= heights.min()
    assert heights.max() <= reference.high[0] + 1e-9

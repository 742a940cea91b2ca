"""L2 and Lp: exact images, a reach that no pair passes, and distances near the metric's."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import milepost as mp
from milepost._typing import FloatArray
from milepost.mechanisms.base import CoordinateMechanism
from milepost.mechanisms.registry import MECHANISMS
from milepost.pipeline.selection import coordinate_choice
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.embeddings.directions import UNIT, length_factor, max_sum, sphere
from milepost.spaces.embeddings.embedding import QUANTA
from milepost.spaces.embeddings.projected import Projected
from milepost.spaces.registry import space_from_json
from tests.chance import FALSE_ALARM
from tests.mechanisms.contract import Transcript
from tests.spaces.farthest_pair import beyond_the_border, farthest_pair

SPACES: dict[str, Projected] = {
    "disc": mp.L2(center=[1, -2], radius=3),
    "square": mp.L2({"x": (0, 10), "y": (-5, 5)}),
    "flat box": mp.L2([(0, 1), (0, 100), (2, 2)]),
    "ball, d = 3": mp.L2(center=[0, 0, 0], radius=1),
    "line": mp.L2([(3, 7)]),
    "box, d = 10": mp.L2([(0, 1)] * 10, directions=80),
    "ball, d = 64": mp.L2(center=[0] * 64, radius=1, directions=512),
    "clipped ball": mp.L2(center=[0] * 20, radius=1, clip=0.5, directions=160),
    "lp": mp.Lp(1.5, [(0, 1)] * 4, directions=200),
    "lp, d = 1": mp.Lp(1.3, [(0, 1)]),
}
every_space = pytest.mark.parametrize("name", SPACES)


def points_of(space: Projected, generator: np.random.Generator, count: int) -> FloatArray:
    """Rows in and around the space, corners and the centre among them."""
    low, high = np.array(space.low), np.array(space.high)
    rows = generator.uniform(low - 0.3 * (high - low), high + 0.3 * (high - low), (count, space.width))
    corners = np.where(generator.random((count, space.width)) < 0.5, low, high)
    rows[: count // 3] = corners[: count // 3]
    rows[count // 3] = space.center
    return space.read(rows)


@every_space
@pytest.mark.parametrize("count", [1, 2, 7, 500])
def test_an_image_depends_on_its_own_record_only(name: str, count: int) -> None:
    """quantize(P)[i] == quantize(P[i:i+1])[0], bit for bit, at any batch size."""
    space = SPACES[name]
    points = points_of(space, np.random.default_rng(count), max(3, count))[:count]
    images = space.quantize(points)
    for i in range(min(count, 40)):
        assert np.array_equal(space.quantize(points[i : i + 1])[0], images[i])
    assert np.array_equal(space.quantize(np.asfortranarray(points)), images)
    assert images.min() >= 0
    assert images.max() <= QUANTA


@every_space
@pytest.mark.parametrize("count", [1, 2, 7, 500])
def test_a_distance_depends_on_its_own_pair_only(name: str, count: int) -> None:
    """Bit for bit, at any batch size: the sums of gaussian and laplace are made of these."""
    space = SPACES[name]
    generator = np.random.default_rng(count)
    points, queries = points_of(space, generator, max(3, count))[:count], points_of(space, generator, 9)
    distances = space.distance(points, queries)
    for i in range(min(count, 40)):
        assert np.array_equal(space.distance(points[i : i + 1], queries)[0], distances[i])
        assert space.distance(points[i : i + 1], queries[4:5])[0, 0] == distances[i, 4]
    assert np.array_equal(space.distance(np.asfortranarray(points), queries), distances)


@every_space
@settings(max_examples=10)
@given(seed=st.integers(0, 2**32 - 1))
def test_no_pair_passes_the_reach(name: str, seed: int) -> None:
    """Σ τ|q − q′| ≤ reach in rational arithmetic: of the farthest pair, at corners, borders and opposite ends."""
    space = SPACES[name]
    embedding = space.embedding
    generator = np.random.default_rng(seed)
    low, high = np.array(space.low), np.array(space.high)
    direction = generator.standard_normal(space.width)
    ends = space.center + np.outer([-1, 1], direction / np.linalg.norm(direction)) * np.linalg.norm(high - low)
    quanta = space.quantize(space.read(np.vstack([ends, farthest_pair(space), points_of(space, generator, 9)])))
    pairs = [(0, 1), (2, 3), *[(int(a), int(b)) for a, b in generator.integers(0, len(quanta), (5, 2))]]
    for a, b in pairs:
        embedded_distance = sum(
            Fraction(t) * abs(int(x) - int(y))
            for t, x, y in zip(embedding.quantum.tolist(), quanta[a], quanta[b], strict=True)
        )
        assert embedded_distance <= Fraction(embedding.sensitivity_bound)


@pytest.mark.parametrize("directions", [4, 8, 16, 32])
def test_rounding_beyond_the_border_of_a_ball_is_allowed_for(directions: int) -> None:
    """A record in a disc whose integers lie outside of it; in whole numbers, products stay in their interval and reach.

    Without the √d for rounding they would not: 2^bits alone is too short.
    """
    space = mp.L2(center=[0, 0], radius=1, directions=directions)
    ball, thetas = 1 << space._bits, space.thetas.tolist()

    def products(along: FloatArray) -> list[int]:
        record = beyond_the_border(space, along / np.linalg.norm(along))
        assert np.array_equal(space.read(record[None])[0], record)
        assert sum(Fraction(x) ** 2 for x in record.tolist()) <= 1
        integers = [round(Fraction(x) * ball) for x in record.tolist()]
        assert sum(x * x for x in integers) > ball * ball
        assert space.position(record[None]).max() <= QUANTA
        return [abs(sum(t * x for t, x in zip(theta, integers, strict=True))) for theta in thetas]

    farthest, _ = farthest_pair(space)
    product_sum = 2 * sum(products(farthest))  # from there to the opposite
    assert Fraction(max_sum(space.thetas)) * UNIT * 2 * ball < product_sum <= Fraction(space._product_bound())
    outside = 0
    for k, (theta, half) in enumerate(zip(space.thetas.astype(np.float64), space._halves.tolist(), strict=True)):
        product = products(theta)[k]
        assert product <= half
        outside += product > math.ceil(ball * np.linalg.norm(theta) * (1 + 1e-9))
    assert outside >= directions / 2  # along an axis no record can be


SEARCH_SPACES: dict[str, Projected | mp.L1] = {
    **SPACES,
    "rotations in part": mp.L2(center=[0] * 20, radius=1, directions=64),
    "few directions": mp.L2(center=[0, 0], radius=1, directions=2),
    "oblong": mp.L2([(0, 1), (0, 7)], directions=8),
    "lp, d = 2": mp.Lp(1.2, [(0, 1), (-3, 3)]),
    "l1 with weights": mp.L1([(0, 1), (-5, 5)], weights=[3, 0.1]),
    "l1 with steps": mp.L1([(0, 12), (0, 1)], weights=[1, 7], step=[1, 0]),
}


def ends_of(space: Projected | mp.L1, generator: np.random.Generator, count: int) -> tuple[FloatArray, FloatArray]:
    """Pairs of rows: opposite ends in every direction (in the plane, even ones), opposite corners, borders, random."""
    low, high = np.array(space.low), np.array(space.high)
    quarter = count // 4
    directions = generator.standard_normal((quarter, space.width))
    if space.width == 2:
        angle = math.pi * (np.arange(quarter) + generator.random()) / quarter
        directions = np.column_stack([np.cos(angle), np.sin(angle)])
    offsets = directions / np.linalg.norm(directions, axis=1, keepdims=True) * np.linalg.norm(high - low)
    low_end = generator.random((quarter, space.width)) < 0.5
    inside = generator.uniform(low, high, (4 * quarter, space.width))
    on_border = generator.random((2 * quarter, space.width)) < 0.5
    borders = np.where(on_border, np.where(generator.random(on_border.shape) < 0.5, low, high), inside[: 2 * quarter])
    return (
        np.vstack(
            [space.center - offsets, np.where(low_end, low, high), borders[:quarter], inside[2 * quarter :][:quarter]]
        ),
        np.vstack([space.center + offsets, np.where(low_end, high, low), borders[quarter:], inside[3 * quarter :]]),
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", SEARCH_SPACES)
def test_no_pair_of_many_passes_the_reach(name: str) -> None:
    """10⁵ pairs, the farthest again in rational arithmetic; some pair comes near, at most √(π/2) short in a ball.

    Rotations in part are not equally dense in all directions, and the bound is less sharp.
    """
    space = SEARCH_SPACES[name]
    embedding = space.embedding
    generator = np.random.default_rng(0)
    max_distance = 0.0
    for _ in range(20):  # blocks of bounded memory
        left, right = (space.quantize(space.read(rows)) for rows in ends_of(space, generator, 5000))
        differences = np.abs(left - right)
        for k in np.argsort(differences @ embedding.quantum)[-5:]:
            exact = sum(Fraction(t) * int(q) for t, q in zip(embedding.quantum.tolist(), differences[k], strict=True))
            assert exact <= Fraction(embedding.sensitivity_bound)
            max_distance = max(max_distance, float(exact))
    bounded = isinstance(space, Projected) and space.radius is not None and space.width > 2  # not computed exactly
    if isinstance(space, Projected):
        left, right = space.quantize(space.read(farthest_pair(space)))
        pairs = zip(embedding.quantum.tolist(), np.abs(left - right), strict=True)
        exact = sum(Fraction(t) * int(q) for t, q in pairs)
        assert max_distance * (1 - (1e-3 if bounded else 1e-6)) <= exact <= Fraction(embedding.sensitivity_bound)
    share = 0.6 if name == "rotations in part" else 0.8 if bounded else 0.95
    assert max_distance >= share * embedding.sensitivity_bound


@pytest.mark.parametrize(("name", "max_ratio"), [("disc", 1.3), ("square", 1.3), ("line", 1.001)])
def test_noise_is_near_that_of_a_single_query(name: str, max_ratio: float) -> None:
    """std ÷ single of slopes is √(Σw·reach)/diameter."""
    space = SPACES[name]
    assert math.sqrt(space.embedding.total_width * space.embedding.sensitivity_bound) / space.diameter <= max_ratio


def test_the_sum_over_directions_is_exact_in_the_plane() -> None:
    """D equal angles: sup Σ|⟨θ, v⟩| = 1/sin(π/2D), reached in the middle between two directions' normals."""
    for count in (4, 8, 64):
        assert max_sum(sphere(2, count, 0)) == pytest.approx(1 / math.sin(math.pi / 2 / count), rel=1e-4)


@every_space
def test_embedded_distances_are_near_the_metric(name: str) -> None:
    """Lemma 9: within the measured distortion, pair by pair (two quanta of rounding a direction)."""
    space = SPACES[name]
    if space.clip < 1:
        return
    points = points_of(space, np.random.default_rng(0), 60)
    quanta = space.quantize(points)
    embedded = (np.abs(quanta[:, None] - quanta[None]) * space.embedding.quantum).sum(axis=2)
    exact = space.distance(points, points)
    slack = 2 * float(np.sum(space.embedding.quantum)) + 1e-6 * space.diameter
    distortion = space.distortion()
    assert (embedded <= exact * distortion.expansion * 1.15 + slack).all()
    assert (embedded >= exact / distortion.contraction / 1.15 - slack).all()


@pytest.mark.parametrize("directions", [1, 2, 3, 8, 24, 128])
@pytest.mark.parametrize("width", [2, 3])
def test_no_pair_deviates_more_than_even_directions_say(width: int, directions: int) -> None:
    """Where the mean of |⟨θ, v⟩| is least, at the normals of two directions, and largest, at sums of ±θ.

    In space the normals are those of every pair; the largest are found by ascents from there.
    """
    space = mp.L2(center=[0] * width, radius=1, directions=directions)
    units, distortion = space.thetas / UNIT, space.distortion()
    if width == 2:
        normals = units[:, ::-1] * [1, -1]
    else:
        normals = np.cross(units[:, None], units[None]).reshape(-1, 3)
        normals = normals[np.linalg.norm(normals, axis=1) > 1e-9]
        normals = np.vstack([normals, units, np.eye(3)])
    normals = normals / np.linalg.norm(normals, axis=1, keepdims=True)
    minimum = float((np.abs(normals @ units.T).mean(axis=1) * space.factor).min())
    assert 1 / distortion.contraction <= minimum + 1e-12
    ends = normals
    for _ in range(30):
        sums = np.sign(ends @ units.T) @ units
        ends = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-9)
    maximum = float((np.abs(ends @ units.T).mean(axis=1) * space.factor).max())
    assert maximum <= distortion.expansion
    deviation = max(maximum - 1, 1 - minimum)
    assert deviation <= space.embedding.relative_error == distortion.largest <= 1.05 * deviation + 2e-4


def test_more_directions_are_closer() -> None:
    """In the plane the deviation falls as D², for whole rotations as √D; Lemma 9 and Remark 7.1."""
    plane = [mp.L2(center=[0, 0], radius=1, directions=d).distortion().largest for d in (16, 32, 64)]
    assert plane[0] / plane[1] == pytest.approx(4, rel=0.1)
    assert plane[2] == pytest.approx((math.pi / 128) ** 2 / 3, rel=0.1)
    high = [mp.L2(center=[0] * 16, radius=1, directions=d).distortion().likely for d in (128, 512, 2048)]
    assert high[0] > high[1] > high[2]
    assert high[0] / high[2] == pytest.approx(4, rel=0.4)


@pytest.mark.slow
def test_the_plan_balances_embedding_and_noise() -> None:
    """Remark 7.1: each mechanism gets its own number of directions, more for larger tables, near the best there is."""
    space, guarantee = mp.L2(center=[0, 0], radius=1), mp.Guarantee(1, 1e-6)
    counts: dict[str, list[int]] = {"slopes": [], "tangents": []}
    for name, numbers in counts.items():
        mechanism = MECHANISMS[name]
        assert isinstance(mechanism, CoordinateMechanism)
        for n in (10**5, 10**6):
            choice = coordinate_choice(mechanism, space, n, ProtectedChange(), guarantee)
            assert choice.prediction.coordinates == choice.space.embedding.dimension
            numbers.append(choice.space.embedding.dimension)
            if n == 10**6:
                others = [space.with_directions(count).embedding for count in (8, 16, 32, 64, 128, 256, 512)]
                best = min(
                    mechanism.predict(embedding, n, ProtectedChange(), guarantee).prediction.error
                    for embedding in others
                )
                assert best * (1 - 1e-9) <= choice.prediction.error <= 1.02 * best
        assert numbers[0] < numbers[1]
    assert all(few < many for few, many in zip(counts["tangents"], counts["slopes"], strict=True))
    fixed = mp.plan(mp.L2(center=[0, 0], radius=1, directions=32), n=10**4, epsilon=1, delta=1e-6)
    assert {p.coordinates for p in fixed.predictions} == {32}


@pytest.mark.parametrize("max_distortion", [0.1, 0.01, 0.001, 0.0001])
def test_distortion_chooses_the_directions(max_distortion: float) -> None:
    """The first number of the list that comes within `distortion` of the metric; the plan then keeps it."""
    space = mp.L2(center=[0, 0], radius=1, distortion=max_distortion)
    counts = space.counts(space.count)
    assert space.count in counts
    assert space.embedding.relative_error == space.distortion().largest <= max_distortion
    for fewer in counts[: counts.index(space.count)]:
        assert space.with_directions(fewer).embedding.relative_error > max_distortion
    assert list(space.size_variants(10**6)) == [space]


@pytest.mark.slow
def test_a_distortion_of_random_directions_is_the_likely_one() -> None:
    """Above three columns, and for Lp, 95 % of public pairs keep it; one column needs one direction."""
    for space in (mp.L2([(0, 1)] * 10, distortion=0.05), mp.Lp(1.5, [(0, 1)] * 3, distortion=0.05)):
        assert space.embedding.relative_error <= 0.05
        assert space.embedding.relative_error == pytest.approx(space.distortion().likely, rel=0.1)
        assert space.distortion().likely < space.distortion().largest
    assert mp.L2([(0, 1)], distortion=0.05).count == 1
    with pytest.raises(mp.MilepostError, match="share of distances"):
        mp.L2([(0, 1)] * 2, distortion=0)
    with pytest.raises(mp.MilepostError, match="not both"):
        mp.L2([(0, 1)] * 2, directions=8, distortion=0.1)


def test_spaces_are_equal_when_their_arguments_are() -> None:
    """However the centre is written."""
    assert mp.L2(center=np.zeros(2), radius=1) == mp.L2(center=[0, 0], radius=1)
    assert mp.L2(center=np.zeros(2), radius=1) != mp.L2(center=[0, 0], radius=1, directions=512)
    assert mp.Lp(1.3, [(0, 1)] * 2) != mp.Lp(1.5, [(0, 1)] * 2)


def test_the_length_factor() -> None:
    """c_1 = 1, c_2 = π/2, c_3 = 2."""
    assert [length_factor(d) for d in (1, 2, 3)] == pytest.approx([1, math.pi / 2, 2])
    assert np.linalg.norm(sphere(7, 56, 3) / UNIT, axis=1) == pytest.approx(np.ones(56), abs=1e-4)


def test_clipping_moves_distances_by_less_than_it_says() -> None:
    """The bound holds for the records that projections hit hardest: along a direction."""
    wide, narrow = (mp.L2(center=[0] * 20, radius=1, clip=c, directions=100) for c in (1.0, 0.3))
    points = np.vstack([narrow.thetas[:20] / UNIT, np.random.default_rng(0).standard_normal((50, 20))])
    points = narrow.read(points)
    queries = np.zeros((1, 20))

    def host(space: mp.L2) -> FloatArray:
        differences = np.abs(space.quantize(points) - space.quantize(queries))
        return np.asarray((differences * space.embedding.quantum).sum(axis=1))

    assert (
        np.abs(host(wide) - host(narrow)).max() <= narrow.embedding.clipping_error + narrow.embedding.bias * 1e-6 + 1e-4
    )
    assert narrow.embedding.total_width < 0.4 * wide.embedding.total_width


@every_space
def test_json_round_trip(name: str) -> None:
    """The card gives the same space back: the same images."""
    space = SPACES[name]
    loaded_space = space_from_json(space.to_json(), space.tensors())
    points = points_of(space, np.random.default_rng(1), 20)
    assert loaded_space.to_json() == space.to_json()
    assert np.array_equal(loaded_space.quantize(points), space.quantize(points))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "bounds"),
        ({"bounds": [(0, 1)], "radius": 1}, "either bounds"),
        ({"center": [0, 0], "radius": -1}, "radius"),
        ({"center": [0, 0], "radius": math.nan}, "radius"),
        ({"center": [0, math.inf], "radius": 1}, "center"),
        ({"center": "here", "radius": 1}, "center"),
        ({"bounds": [(1, 0)]}, "reversed"),
        ({"bounds": [(0, 1)] * 2, "directions": 0}, "directions"),
        ({"bounds": [(0, 1)] * 2, "clip": 0}, "clip"),
        ({"bounds": [(0, 1)] * 2, "random_state": -1}, "random_state"),
    ],
)
def test_bad_arguments_are_refused(arguments: dict[str, object], message: str) -> None:
    """The error names the argument."""
    with pytest.raises(mp.MilepostError, match=message):
        mp.L2(**arguments)


@pytest.mark.parametrize("p", [1, 2, 0.5, 3, math.nan, "x"])
def test_bad_powers_are_refused(p: object) -> None:
    """1 and 2 have spaces of their own."""
    with pytest.raises(mp.MilepostError, match="p must"):
        mp.Lp(p, [(0, 1)] * 2)


def test_the_center_is_the_geometric_median() -> None:
    """Found by search, since F is convex."""
    people = np.random.default_rng(0).normal([2, -1], 0.5, (20_000, 2))
    with Transcript().listen():  # without noise
        synopsis = mp.release(people, mp.L2(center=[0, 0], radius=6, directions=16), epsilon=100, delta=1e-6)
    assert synopsis.center() == pytest.approx(np.array([2, -1]), abs=0.05)
    with pytest.raises(mp.MilepostError, match="columns"):
        synopsis.explain([0, 0])


def test_a_session_takes_l2() -> None:
    """Remark 8.2: projections do not depend on queries, so the interactive setting works."""
    people = np.random.default_rng(0).normal(0, 0.3, (50_000, 2))
    space = mp.L2(center=[0, 0], radius=1, directions=16)
    arguments: dict[str, Any] = {"epsilon": 50, "delta": 1e-6, "max_queries": 100, "mechanism": "tangents"}
    with mp.interactive(people, space, **arguments, failure_probability=FALSE_ALARM) as session:
        answer = session.ask([0.1, 0.2])
        assert abs(answer.value - mp.exact_mean_distance(people, space, [0.1, 0.2])) <= answer.error


@pytest.mark.parametrize(
    "space",
    [
        mp.L2(center=[0.0] * 10, radius=1, directions=20),
        mp.L2([(0, 1 + j) for j in range(6)], directions=16, clip=0.4),
        mp.Lp(1.5, [(-1, 1)] * 5, directions=32),
        mp.GreatCircle((80, 170), 3000, directions=8),
    ],
    ids=lambda space: space.kind,
)
def test_answers_are_where_some_table_could_have_them(space: mp.L2 | mp.Lp | mp.GreatCircle) -> None:
    """Mean embedded distances of any record are in the range, no wider than the sensitivity bound, outside too."""
    rng, embedding = np.random.default_rng(0), space.embedding
    low, high = np.array(space.extent).T
    rows = low + (high - low) * np.vstack([rng.integers(0, 2, (50, len(low))), rng.random((50, len(low)))])
    positions = space.position((low + high) / 2 + (rows - (low + high) / 2) * np.linspace(0, 1, 100)[:, None])
    lower, upper = embedding.range(positions)
    for image in space.quantize(space.read(rows)):
        distance = np.abs(positions - image) @ embedding.quantum
        assert (lower * (1 - 1e-12) <= distance).all()
        assert (distance <= upper * (1 + 1e-12)).all()
    assert (upper - lower).max() <= embedding.sensitivity_bound * (1 + 1e-6)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::milepost.AccuracyWarning")
@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
def test_an_interval_covers_where_noise_drowns_the_answer(neighbors: str) -> None:
    """An answer is off by no more than the reach, which is all that is promised then."""
    space = mp.L2(center=[0.0] * 10, radius=1, directions=20)
    table = np.random.default_rng(0).standard_normal((30, 10)) / 20
    for _ in range(20):
        synopsis = mp.release(table, space, epsilon=0.01, delta=1e-6, mechanism="slopes", neighbors=neighbors)
        low, high = synopsis.interval([0.0] * 10)
        assert low <= mp.exact_mean_distance(table, space, [0.0] * 10) <= high


@pytest.mark.parametrize("height", np.linspace(0.1, 0.9, 12).tolist())
def test_rounding_of_images_is_in_the_reach(height: float) -> None:
    """Of opposite corners, whose images are rounded apart in about half of these boxes."""
    space = mp.L2([(0, 1), (0, height)], directions=4)
    embedding = space.embedding
    left, right = space.quantize(space.read(farthest_pair(space)))
    moves = zip(embedding.quantum.tolist(), np.abs(left - right).tolist(), strict=True)
    assert sum(Fraction(quantum) * move for quantum, move in moves) <= Fraction(embedding.sensitivity_bound)

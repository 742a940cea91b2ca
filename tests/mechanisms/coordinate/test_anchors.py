"""Anchored slopes: what a person costs, exactly, from the integers and scales that reach the noise function."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import pytest

import milepost as mp
from milepost._typing import AnyArray, FloatArray
from milepost.auditing.scripted_noise import NoiseScript
from milepost.mechanisms.coordinate import slopes
from milepost.mechanisms.coordinate.slopes import Slopes, SlopesDesign
from milepost.mechanisms.totals import Total
from milepost.privacy.guarantee import GAUSSIAN
from milepost.privacy.protected_change import WEIGHT_STEPS, ProtectedChange
from milepost.spaces.embeddings.anchor import Anchor
from milepost.spaces.embeddings.projected import Projected
from milepost.statistics.sketch import Sketch
from milepost.statistics.statistic_spec import RecordBlock
from tests.mechanisms.contract import patched

GUARANTEE = mp.Guarantee(1, 1e-6)
ROWS = 10**5  # of a table that cells are made for; a person's own rows are enough for the cost
STARTS = 8
COUNTS = ((2, 32), (3, 32), (4, 32), (10, 80), (64, 64))  # columns and directions


def ball(width: int, directions: int) -> mp.L2:
    return mp.L2(center=[0.5] * width, radius=2, directions=directions)


def box(width: int, directions: int) -> mp.L2:
    return mp.L2([(0, 1 + j / width) for j in range(width)], directions=directions, random_state=2)


SPACES: dict[str, Callable[[], Any]] = {
    **{f"ball, d = {d}": partial(ball, d, count) for d, count in COUNTS},
    **{f"box, d = {d}": partial(box, d, count) for d, count in COUNTS},
    "intervals of five deviations": partial(ball, 30, 64),
    "clipped": lambda: mp.L2(center=[0] * 5, radius=1, directions=40, clip=0.9),
    "flat box": lambda: mp.L2([(0, 1), (0, 1e-6), (3, 4), (0, 0)], directions=32),
    "far from 0": lambda: mp.L2([(2.0**21, 2.0**21 + 1.1)] * 4, directions=32),
    **{f"cap, {km} km": partial(mp.GreatCircle, (52, 13), km, 32) for km in (40, 1000, 6000)},
}
CHANGES = {
    "replace": ProtectedChange(),
    "add-remove": ProtectedChange("add-remove"),
    "groups": ProtectedChange(groups=2),
    "groups, add-remove": ProtectedChange("add-remove", groups=2),
    "row weights": ProtectedChange(max_row_weight=1.0),
}
MIN_SHARES = {"flat box": 0.89, "far from 0": 0.89}  # of the budget; else 0.9


class Row(NamedTuple):
    """One row of the person."""

    point: FloatArray
    group: int = 0
    weight: int = 1


@cache
def worst_points(name: str) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Both ends of the longest diameter in the embedding, the middle, and a place half-way: x ← Σ θ·sign⟨θ, x⟩."""
    space = SPACES[name]()
    middle = space.center
    if not isinstance(space, Projected):
        ends = space.points_around(middle, space.radius_km)
        return ends[0], ends[2], middle, space.points_around(middle, space.radius_km / 2)[0]
    half = (np.array(space.high) - np.array(space.low)) / 2
    thetas = space.thetas * (half if space.radius is None else 1.0)
    vectors = np.random.default_rng(0).standard_normal((STARTS, space.width))
    for _ in range(60):
        vectors = np.sign(vectors @ thetas.T) @ thetas
        if space.radius is None:
            vectors = np.where(vectors < 0, -1.0, 1.0)
    vectors *= half if space.radius is None else space.radius / np.linalg.norm(vectors, axis=1, keepdims=True)
    farthest = vectors[np.abs(vectors @ space.thetas.T).sum(axis=1).argmax()]
    return middle + farthest, middle - farthest, middle, middle + farthest / 2


def persons(name: str, change: ProtectedChange) -> list[list[Row]]:
    """Rows that a person may have; under add-remove the first are none."""
    farthest, opposite, middle, half = worst_points(name)
    weight = WEIGHT_STEPS if change.max_row_weight is not None else 1
    rows = [[Row(point, 0, weight)] for point in (farthest, opposite, middle, half)]
    if change.groups is not None:
        rows += [[Row(point, 1, weight)] for point in (opposite, middle)]
    if change.replaces and not change.public_total:
        rows.append([Row(farthest, 0, 0)])
    return rows if change.replaces else [[], *rows]


def trace(space: Any, design: SlopesDesign, rows: Sequence[Row], earlier: NoiseScript | None) -> NoiseScript:
    """What the noise functions get from these rows."""
    groups = design.change.groups or 1
    spec = Sketch.spec(space, groups, design.sketch_cells)
    sketch = spec.empty()
    if rows:
        points = space.read(np.array([row.point for row in rows]))
        group, weight = (np.array([getattr(row, field) for row in rows]) for field in ("group", "weight"))
        sketch.add(*spec.image(RecordBlock(points, group, weight)))
    script = NoiseScript() if earlier is None else earlier.again()
    with script.replacing_noise():
        for which in range(groups):
            total = partial(Total.draw, int(sketch.totals[which]), design.total_scale, design.pure)
            design.add_noise(sketch, which, total)
    return script


def shares(name: str, change: ProtectedChange) -> list[float]:
    """The costs of pairs of neighbors as shares of the budget, in exact rational arithmetic."""
    space = SPACES[name]()
    design = Slopes().design(space.embedding, ROWS, change, GUARANTEE)
    assert design.constant is not None
    scripts: list[NoiseScript] = []
    for rows in persons(name, change):
        scripts.append(trace(space, design, rows, scripts[0] if scripts else None))
    pairs = [(a, b) for i, a in enumerate(scripts) for b in scripts[i + 1 :]] if change.replaces else []
    pairs = pairs or [(scripts[0], other) for other in scripts[1:]]
    return [float(left.cost(right, GAUSSIAN) / GUARANTEE.budget) for left, right in pairs]


@pytest.mark.parametrize("relation", CHANGES)
@pytest.mark.parametrize("name", SPACES)
def test_no_person_costs_more_than_the_budget(name: str, relation: str) -> None:
    """Antipodal where the embedding is longest, from the border to the middle, added, removed, and moved to a group."""
    costs = shares(name, CHANGES[relation])
    assert max(costs) <= 1 + 1e-9
    assert max(costs) >= MIN_SHARES.get(name, 0.9)


def pair_without_heights(self: Anchor, constant: float) -> float:  # noqa: ARG001
    return float(self._apart.max())


def unscaled(_: mp.L2, integers: FloatArray) -> FloatArray:
    return np.ones(len(integers))


def single_without_heights(self: Anchor, constant: float, origins: FloatArray) -> FloatArray:  # noqa: ARG001
    return np.full(len(origins), self.singles.max())


WRONG: dict[str, tuple[str, str, list[tuple[Any, str, Any]]]] = {
    "an anchor that costs nothing": ("ball, d = 4", "replace", [(Anchor, "pair", pair_without_heights)]),
    "the same of a cap": ("cap, 1000 km", "replace", [(Anchor, "pair", pair_without_heights)]),
    "the same of a record that is added": ("ball, d = 4", "add-remove", [(Anchor, "_singles", single_without_heights)]),
    "records that are not scaled": ("ball, d = 64", "replace", [(mp.L2, "_scale_factors", unscaled)]),
    "the same in a box": ("box, d = 64", "replace", [(mp.L2, "_scale_factors", unscaled)]),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_cost_is_seen(what: str) -> None:
    name, relation, patches = WRONG[what]
    with patched(patches):
        assert max(shares(name, CHANGES[relation])) > 1.001


@pytest.mark.parametrize("name", ["ball, d = 2", "ball, d = 64", "cap, 40 km"])
@pytest.mark.parametrize("relation", ["replace", "add-remove"])
def test_less_noise_is_seen(name: str, relation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenth less, on counts and the anchor sum."""
    scales, deviation = slopes.scales_of, slopes.AnchorSum.deviation
    monkeypatch.setattr(slopes, "scales_of", lambda *args: [0.9 * scale for scale in scales(*args)])
    monkeypatch.setattr(slopes.AnchorSum, "deviation", lambda *args: 0.9 * deviation(*args))
    assert max(shares(name, CHANGES[relation])) > 1.001


@pytest.mark.parametrize("name", SPACES)
def test_a_mean_distance_to_the_anchor_depends_on_its_own_record_only(name: str) -> None:
    """Bit for bit, at any batch size and layout, and within 0..2²⁴."""
    space = SPACES[name]()
    low, high = np.array(space.extent).T
    rows = low + (high - low) * np.random.default_rng(0).uniform(-0.1, 1.1, (500, len(low)))
    points = space.read(np.vstack([rows, *worst_points(name)]))
    positions = space.anchor_positions(points)
    assert positions.dtype == np.int32
    assert 0 <= positions.min() <= positions.max() <= 1 << 24
    for count in (1, 2, 7):
        parts = [space.anchor_positions(points[start : start + count]) for start in range(0, len(points), count)]
        assert np.array_equal(np.concatenate(parts), positions)
    assert np.array_equal(space.anchor_positions(np.asfortranarray(points)), positions)


def test_lengths_of_records_are_the_same_in_any_batch() -> None:
    """In a box of many columns squared lengths exceed 2⁵³: the order of additions is that of the columns."""
    space = box(64, 128)
    points = space.read(np.random.default_rng(1).random((300, 64)) * 2)
    integers = space._integers(points)
    squares = space._squares(integers)
    assert squares.max() > 2.0**53
    alone = np.concatenate([space._squares(space._integers(points[i : i + 1])) for i in range(len(points))])
    assert np.array_equal(alone, squares)
    with patched([(mp.L2, "_squares", lambda _, rows: (rows[:, :-1] ** 2).sum(axis=1))]):
        alone = np.concatenate([space._squares(space._integers(points[i : i + 1])) for i in range(len(points))])
        assert not np.array_equal(alone, space._squares(integers))


@pytest.mark.parametrize("name", ["ball, d = 64", "box, d = 64"])
def test_records_are_scaled_alone(name: str) -> None:
    """Factors of records that are scaled, and of others, are the same in any batch; sums of products are exact."""
    space = SPACES[name]()
    farthest, opposite, middle, half = worst_points(name)
    low, high = np.array(space.extent).T
    rows = low + (high - low) * np.random.default_rng(0).random((60, len(low)))
    points = space.read(np.vstack([farthest, opposite, middle, half, rows]))
    integers = space._integers(points)
    factors = space._scale_factors(integers)
    assert (factors[[0, 1, 3]] < 1).all()
    assert factors[2] == 1
    for i in range(len(points)):
        assert space._scale_factors(integers[i : i + 1])[0] == factors[i]
    for i, row in enumerate(integers[:4, :-1].astype(np.int64).tolist()):
        products = [abs(sum(t * x for t, x in zip(theta, row, strict=True))) for theta in space.thetas.tolist()]
        allowed = space._expansion * math.hypot(*row) * (1 << 17) * len(products) / space.factor
        assert float(factors[i]) * sum(products) <= allowed * (1 + 1e-12)


def anchored_sketch(space: Any, points: AnyArray, **columns: Any) -> Sketch:
    spec = Sketch.spec(space, columns.pop("groups", 1), 16)
    sketch = spec.empty()
    sketch.add(*spec.image(RecordBlock(space.read(points), columns.get("group"), columns.get("weight"))))
    return sketch


def test_sums_of_parts_add_up() -> None:
    """By groups and weights, merged, repeated and coarsened; a sketch without sums is refused."""
    space, generator = ball(3, 16), np.random.default_rng(0)
    points = generator.uniform(-2, 3, (90, 3))
    group, weight = generator.integers(0, 2, 90), generator.integers(0, WEIGHT_STEPS + 1, 90)
    whole = anchored_sketch(space, points, groups=2, group=group, weight=weight)
    positions = space.anchor_positions(space.read(points)).astype(np.int64)
    exact = [int((positions * weight)[group == which].sum()) for which in (0, 1)]
    assert whole.anchor_sums is not None
    assert whole.anchor_sums.tolist() == exact
    parts = [
        anchored_sketch(space, points[part], groups=2, group=group[part], weight=weight[part])
        for part in (slice(0, 1), slice(1, 50), slice(50, 90))
    ]
    merged = parts[0] + parts[1] + parts[2]
    assert all(np.array_equal(a, b) for a, b in zip(merged.arrays, whole.arrays, strict=True))
    for other, times in ((whole.coarsen(4), 1), (whole.repeat(3), 3)):
        assert other.anchor_sums is not None
        assert other.anchor_sums.tolist() == [times * total for total in exact]
    assert whole.only(0).anchor_sums is None
    with pytest.raises(mp.MilepostError, match="does not add up"):
        _ = whole + Sketch(whole.dimension, 2, 16)
    with pytest.raises(mp.MilepostError, match="records themselves"):
        Sketch(2, cells=16, anchored=True).add(np.zeros((1, 2), dtype=np.int32))


def test_records_with_several_images_have_no_anchor_sum() -> None:
    """Its cost is that of one image of a record."""
    embedding = replace(ball(2, 8).embedding, images_per_record=2)
    assert Slopes().design(embedding, ROWS, ProtectedChange(), GUARANTEE).constant is None

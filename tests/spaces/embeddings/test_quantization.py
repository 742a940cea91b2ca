"""Quantization: records become the same whole numbers however many rows and coordinates are computed at a time."""

import math
from typing import Any

import numpy as np
import pytest

import milepost as mp
from milepost._typing import FloatArray, ImageArray
from milepost.spaces.embeddings import quantization
from milepost.spaces.embeddings.embedding import QUANTA, Embedding
from milepost.spaces.embeddings.quantization import (
    MAX_PACKED,
    RECORD,
    CoordinateSpace,
    Rounding,
    image_parts,
    unpack_sums,
)
from milepost.statistics import sketch as sketch_module
from milepost.statistics.sketch import RecordImages, Sketch

RANDOM = np.random.default_rng(0)
HALVES = [0.0, 0.5, 1.5, 2.5, QUANTA - 1.5, QUANTA - 0.5, QUANTA + 0.0]
NEAR_HALVES = [math.nextafter(half, end) for half in HALVES for end in (-math.inf, math.inf)]
SPACES: dict[str, tuple[Any, Any]] = {
    "L1": (mp.L1([(0, 1), (2, 5), (3, 3)]), RANDOM.uniform(-1, 6, (333, 3))),
    "L1 with steps": (mp.L1([(0, 9), (0, 1)], step=[1, 0]), RANDOM.uniform(-1, 10, (333, 2))),
    "L2 box": (mp.L2([(0, 1), (0, 2)], directions=37), RANDOM.uniform(-1, 3, (333, 2))),
    "L2 box, clipped": (mp.L2([(0, 1)] * 9, directions=40, clip=0.2), RANDOM.random((333, 9))),
    "L2 ball": (mp.L2(center=[1, 2, 3, 4], radius=2, directions=33), RANDOM.uniform(-1, 6, (333, 4))),
    "Lp": (mp.Lp(1.5, [(0, 1)] * 3, directions=33), RANDOM.random((333, 3))),
    "great circle": (mp.GreatCircle((52, 13), 40, 31), RANDOM.uniform((51.5, 12), (52.5, 14), (333, 2))),
    "half of the globe": (mp.GreatCircle((90, 0), 10_000, 31), RANDOM.uniform((-90, -180), (90, 180), (333, 2))),
    "angles": (mp.Angular(7, 29), RANDOM.standard_normal((333, 7))),
    "mixed": (
        mp.Gower([mp.number(0, 9), mp.number(0, 9, step=1), mp.category(["a", "b"]), mp.flag()]),
        np.array([[k / 7, k % 10, "abc"[k % 3], k % 2 == 0] for k in range(70)], dtype=object),
    ),
}
by_space = pytest.mark.parametrize("name", SPACES)


def small_blocks(monkeypatch: pytest.MonkeyPatch, numbers: int, rows: int) -> None:
    """Make blocks so small that records and coordinates end in the middle of one."""
    for module in (quantization, sketch_module):
        monkeypatch.setattr(module, "CACHE_NUMBERS", numbers)
    for name in ("CACHE_ROWS", "MIN_PRODUCT_ROWS", "MAX_PRODUCT_ROWS"):
        monkeypatch.setattr(quantization, name, rows)


def rounded(space: mp.Space, points: FloatArray) -> FloatArray:
    """Round positions in the plainest way."""
    assert isinstance(space, CoordinateSpace)
    embedding = space.embedding
    steps = np.clip(np.rint(space.all_positions(points) / embedding.step), 0, embedding.span // embedding.step)
    return np.asarray(steps * embedding.step)


@by_space
def test_images_are_positions_rounded_to_even_and_clipped(name: str) -> None:
    """As `np.rint` rounds them."""
    space, rows = SPACES[name]
    points = space.read(rows)
    images = space.quantize(points)
    assert images.dtype == np.int32
    np.testing.assert_array_equal(images, rounded(space, points))


@by_space
@pytest.mark.parametrize(("numbers", "rows"), [(1, 1), (50, 7), (1000, 100), (1 << 17, 1 << 13)])
def test_no_size_of_blocks_changes_an_image_or_a_sketch(
    name: str, numbers: int, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With and without groups and weights, for many cells and few."""
    space, table = SPACES[name]
    points = space.read(table[: 40 * rows])
    images = space.quantize(points)
    group, weight = np.arange(len(points)) % 3, np.arange(len(points)) % 5
    cells = [64, 1 << 12] if space.embedding.step.max() == 1 else [space.embedding.cells()]
    expected = []
    for count in cells:
        for extra in ((), (group,), (None, weight), (group, weight)):
            sketch = Sketch(space.embedding.dimension, 3, count)
            sketch.add(images, *extra)
            expected.append((count, extra, sketch))
    small_blocks(monkeypatch, numbers, rows)
    np.testing.assert_array_equal(space.quantize(points), images)
    for count, extra, sketch in expected:
        result = Sketch(space.embedding.dimension, 3, count)
        result.add(RecordImages(space, points), *extra)
        for left, right in zip(result.arrays, sketch.arrays, strict=True):
            np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize("values", [HALVES, NEAR_HALVES, [-0.4, -0.5, QUANTA + 0.5, -7.0, QUANTA + 9.0, -1e9, 2e9]])
def test_rounding_is_that_of_rint(values: list[float]) -> None:
    """Ties to even; positions outside of the interval are moved to its ends."""
    embedding = Embedding(np.ones(1), np.zeros(1), np.ones(1), 1.0)
    images, packed = Rounding(embedding).apply(np.array([values]), slice(0, 1))
    expected = np.clip(np.rint(values), 0, QUANTA)
    np.testing.assert_array_equal(images[0], expected)
    np.testing.assert_array_equal(packed[0] - RECORD, expected)


@pytest.mark.parametrize("records", [0, 1, 2, 511, 512, 513, 1 << 18, MAX_PACKED])
@pytest.mark.parametrize("image", [0, 1, QUANTA // 3, QUANTA])
def test_packed_sums_hold_counts_and_sums(records: int, image: int) -> None:
    """Up to the most records, all at the far end; sums wrap around 2⁶⁴."""
    total = np.array([(int(RECORD) + image) * records % (1 << 64)], dtype=np.uint64)
    counts, sums = unpack_sums(total)
    assert (counts.tolist(), sums.tolist()) == ([records], [records * image])


@pytest.mark.parametrize("numbers", [50, 1 << 17])
@pytest.mark.parametrize("width", [64, 128])
def test_records_that_are_scaled_down_are_counted_where_they_are(
    width: int, numbers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are counted at provisional positions first, which are then taken from the sums."""
    space = mp.L2(center=[0.0] * width, radius=1, directions=2 * width)
    farthest = space.thetas / np.linalg.norm(space.thetas, axis=1, keepdims=True)
    farthest = np.sign(farthest[:width] @ farthest[:width].T) @ farthest[:width]  # far on all of a rotation
    points = space.read(np.vstack([RANDOM.standard_normal((60, width)), space.thetas[:9], farthest[:20]]))
    positions, others = space.provisional_positions(points)
    space.all_positions(points, positions)
    scaled = np.flatnonzero(space._scale_factors(space._integers(points)) < 1)
    np.testing.assert_array_equal(others(), scaled)
    assert 0 < len(scaled) < len(points)
    images, group = space.quantize(points), np.arange(len(points)) % 3
    small_blocks(monkeypatch, numbers, 100)
    for extra in ((), (group,)):
        sketch, expected = (Sketch(space.embedding.dimension, 3, 16) for _ in range(2))
        sketch.add(RecordImages(space, points), *extra)
        expected.add(images, *extra)
        for left, right in zip(sketch.arrays, expected.arrays, strict=True):
            np.testing.assert_array_equal(left, right)


class Unscaled(mp.L2):
    """A space with its own positions of records."""

    def record_positions(self, points: FloatArray) -> quantization.CoordinatePositions:
        return self._positions(self._integers(points))


def test_a_subclass_with_its_own_positions_is_counted_by_them() -> None:
    """Its base class must not take records for scaled ones."""
    space = Unscaled(center=[0.0] * 64, radius=1, directions=128)
    assert len(space.provisional_positions(space.read(space.thetas[:9]))[1]()) == 0


class Shifted(mp.L1):
    """A space with its own images, one quantum beside those of its base class."""

    def quantize(self, points: FloatArray) -> ImageArray:
        images: ImageArray = super().quantize(points) ^ 1
        return images


def test_a_subclass_with_its_own_images_is_counted_by_them() -> None:
    space = Shifted([(0, 1)])
    points = space.read(RANDOM.random((9, 1)))
    ((_, images, packed),) = image_parts(space, points)
    np.testing.assert_array_equal(images.T, space.quantize(points))
    np.testing.assert_array_equal(packed.T - RECORD, space.quantize(points))
    assert not np.array_equal(images.T, mp.L1([(0, 1)]).quantize(points))

"""`check_space` accepts every built-in space, and notices spaces that break their contract."""

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest

import milepost as mp
from milepost._typing import AnyArray
from milepost.auditing.check_space import CheckFailedError, check_space
from milepost.spaces import registry
from milepost.spaces.embeddings.anchor import Anchor
from milepost.spaces.embeddings.embedding import Embedding
from tests.spaces.hour_of_day import HourOfDay

ROADS = [[0, 1, 4], [1, 0, 3], [4, 3, 0]]
HOURS = np.arange(24.0)[:, None]
VECTORS = np.random.default_rng(0).standard_normal((60, 24))
SPACES: dict[str, list[tuple[Any, Any]]] = {  # of each kind, with records where a space has no extent
    "l1": [
        (mp.L1([(0, 1)]), None),
        (mp.L1({"a": (0, 100), "b": (-1, 1), "c": (5, 6)}, weights={"a": 0.02, "b": 3}), None),
        (mp.L1({"age": (18, 90), "height": (0, 2.2)}, step={"age": 1}), None),
        (mp.L1([(0, 1)] * 40), None),
    ],
    "l2": [
        (mp.L2(center=[1, -2], radius=3), None),
        (mp.L2([(0, 1), (0, 5), (2, 3)], directions=5), None),
        (mp.L2([(0, 1)] * 8), None),
    ],
    "lp": [(mp.Lp(1.5, [(0, 1), (-1, 4)]), None)],
    "great-circle": [(mp.GreatCircle((80, 170), 3000), None), (mp.GreatCircle((0, 0), 40, directions=4), None)],
    "angular": [
        (mp.Angular(3, directions=6), VECTORS[:, :3]),
        (mp.Angular(24), VECTORS),
        (mp.Angular(3, directions=6, angle_unit="degrees"), VECTORS[:, :3]),
        (mp.Angular(24, angle_unit="degrees"), VECTORS),
    ],
    "gower": [
        (
            mp.Gower([mp.number(0, 9, step=1), mp.category(["a", "b", "c"]), mp.flag()], weights=[1, 2, 0.5]),
            [[4, "a", True], [-1, "b", False], [9, "c", True], [0, "new", False]],
        )
    ],
    "hamming": [
        (mp.Hamming(["ACGT"] * 6), [[letter] * 6 for letter in "ACGT"]),
        (mp.Hamming(["ab", "xyz"]), [["a", "x"], ["b", "y"], ["b", "z"]]),
    ],
    "any": [
        (mp.AnyMetric(mp.precomputed(ROADS), 4, list(range(len(ROADS))), repetitions=2), None),
        (mp.AnyMetric(mp.edit_distance, 8, ["colour", "centre", "metre", "metric"]), ["", "colour", "zzzzzzzzz"]),
    ],
}
CASES = [pytest.param(*case, id=f"{kind} {k}") for kind, cases in SPACES.items() for k, case in enumerate(cases)]
TIGHT = [
    case
    for case in CASES
    if case.id
    in ("l1 0", "l1 1", "l1 2", "l1 3", "l2 0", "angular 0", "angular 2", "gower 0", "hamming 0", "hamming 1")
]


def test_every_kind_is_checked() -> None:
    built_in = {kind for kind, space in registry.KINDS.items() if space.__module__.startswith("milepost.")}
    assert built_in == set(SPACES), "a space has no case here"


@pytest.fixture(autouse=True)
def kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget what a test registers."""
    monkeypatch.setattr(registry, "KINDS", dict(registry.KINDS))


def test_the_example_space_keeps_its_contract() -> None:
    mp.register_space(HourOfDay)
    assert check_space(HourOfDay(), HOURS) > 0.999
    short = with_embedding(HourOfDay(), sensitivity_bound=0.99 * HourOfDay.embedding.sensitivity_bound)
    with pytest.raises(CheckFailedError, match="sensitivity_bound is too small"):
        check_space(short, HOURS)


@pytest.mark.parametrize(("space", "records"), CASES)
def test_every_space_keeps_its_contract(space: Any, records: Any) -> None:
    assert 0.3 < check_space(space, records) <= 1


def with_embedding(space: Any, **changes: Any) -> Any:
    """Return a copy of a space whose embedding has other fields."""

    def embedding(_: Any) -> Embedding:
        original: Embedding = space.embedding
        return dataclasses.replace(original, **changes)

    kind = type(f"Wrong{type(space).__name__}", (type(space),), {"embedding": property(embedding)})
    result: Any = object.__new__(kind)
    vars(result).update(vars(space))
    return result


@pytest.mark.parametrize(("space", "records"), TIGHT)
def test_a_bound_that_is_one_per_cent_too_small_is_noticed(space: Any, records: Any) -> None:
    """Where the bound is attained: boxes, labels, mixed tables, discs and angles of few directions."""
    short = with_embedding(space, sensitivity_bound=0.99 * space.embedding.sensitivity_bound)
    with pytest.raises(CheckFailedError, match="sensitivity_bound is too small"):
        check_space(short, records)


class ShortPair(Anchor):
    """A pair costs one per cent less than it does."""

    def pair(self, constant: float) -> float:
        return 0.99 * super().pair(constant)


class ShortSingle(Anchor):
    """A record costs three per cent less than it does."""

    def _singles(self, constant: float, origins: AnyArray) -> Any:
        return 0.97 * super()._singles(constant, origins)


class Rounded(mp.L2):
    """The mean distance to the anchor is rounded by the number of records."""

    def anchor_positions(self, points: AnyArray) -> Any:
        return super().anchor_positions(points) // len(points) * len(points)


@pytest.mark.parametrize("space", [mp.L2(center=[1, -2], radius=3, directions=64), mp.GreatCircle((0, 0), 40, 64)])
@pytest.mark.parametrize(("kind", "message"), [(ShortPair, "pair.*is too small"), (ShortSingle, "single.*too small")])
def test_an_anchor_that_costs_too_little_is_noticed(space: Any, kind: type[Anchor], message: str) -> None:
    anchor = space.embedding.anchor
    wrong = kind(**{field.name: getattr(anchor, field.name) for field in dataclasses.fields(anchor)})
    with pytest.raises(CheckFailedError, match=message):
        check_space(with_embedding(space, anchor=wrong))


def test_an_anchor_that_looks_at_other_rows_is_noticed() -> None:
    with pytest.raises(CheckFailedError, match="anchor_positions depends on other rows"):
        check_space(Rounded(center=[0, 0], radius=1, directions=8))


class CentredVectors(mp.L2):
    """The vectors of a model have the mean of the batch taken off."""

    def vectors(self, points: AnyArray) -> Any:
        return points - 0.01 * points.mean(axis=0)


class LongVectors(mp.L2):
    """Vectors that are longer than the ball that should hold them."""

    stretch = 1.5

    def vectors(self, points: AnyArray) -> Any:
        return self.stretch * points


class NoVectors(LongVectors):
    """Vectors that are no numbers."""

    stretch = np.nan


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (CentredVectors, "vectors depends on other rows"),
        (LongVectors, "leaves the enclosing_ball"),
        (NoVectors, "leaves the enclosing_ball"),
    ],
)
def test_vectors_of_a_model_that_break_their_contract_are_noticed(kind: type[mp.L2], message: str) -> None:
    with pytest.raises(CheckFailedError, match=message):
        check_space(kind(center=[0, 0], radius=3, directions=8))


class Centred(mp.L1):
    """Subtracts the mean of the batch."""

    def quantize(self, points: AnyArray) -> Any:
        return super().quantize(points - 0.01 * points.mean(axis=0))


class ByOrder(mp.L1):
    """The first row of a batch is moved."""

    def read(self, batch: Any, first_row: int = 0) -> Any:
        points = super().read(batch, first_row).copy()
        points[0] += 0.25
        return np.clip(points, 0, 1)


class Normalised(mp.L1):
    """Distances are divided by the largest of the batch."""

    def distance(self, records: AnyArray, queries: AnyArray) -> Any:
        distances = super().distance(records, queries)
        return distances / max(1.0, float(distances.max()))


class Dithered(mp.L1):
    """Rounds at random."""

    def quantize(self, points: AnyArray) -> Any:
        return super().quantize(points + np.random.default_rng().uniform(-1e-3, 1e-3, points.shape))


class Drifting(mp.L1):
    """Gives another image from call to call, the same for all rows."""

    calls = itertools.count()

    def quantize(self, points: AnyArray) -> Any:
        return super().quantize(points + 1e-3 * (next(self.calls) % 2))


class Outside(mp.L1):
    """Leaves its interval."""

    def quantize(self, points: AnyArray) -> Any:
        return super().quantize(points) + 1


class Narrow(mp.L1):
    """Has a diameter that distances exceed."""

    @property
    def diameter(self) -> float:
        return 0.5 * super().diameter


class Forgetful(mp.L1):
    """Comes back from its card with other bounds."""

    @classmethod
    def from_json(cls, card: dict[str, Any], tensors: Any) -> Any:
        return super().from_json(card | {"bounds": [[0, 2]] * len(card["bounds"])}, tensors)


class Lenient(mp.L1):
    """Takes a missing value for 0."""

    def read(self, batch: Any, first_row: int = 0) -> Any:
        return super().read(np.nan_to_num(batch), first_row)


class Careless(mp.L1):
    """Raises an error that is not the library's."""

    def read_queries(self, batch: Any, first_row: int = 0) -> Any:
        if np.isnan(batch).any():
            raise ZeroDivisionError
        return super().read_queries(batch, first_row)


class Far(mp.L1):
    """Measures a distance that its embedding does not have."""

    def distance(self, records: AnyArray, queries: AnyArray) -> Any:
        return 0.5 * super().distance(records, queries)


class TooNear(mp.L1):
    """Has a range that ends before the farthest record."""

    def distance_range(self, queries: AnyArray) -> Any:
        low, high = super().distance_range(queries)
        return low, 0.99 * high


class TooFar(mp.L1):
    """Has a range that begins after the nearest record."""

    def distance_range(self, queries: AnyArray) -> Any:
        low, high = super().distance_range(queries)
        return low + 0.01, high


class Beyond(mp.L1):
    """Has a range that goes beyond the diameter."""

    def distance_range(self, queries: AnyArray) -> Any:
        low, high = super().distance_range(queries)
        return low, 2 * high


class OneRange(mp.L1):
    """Has one range for all queries."""

    def distance_range(self, queries: AnyArray) -> Any:
        low, high = super().distance_range(queries)
        return low[:1], high.max(keepdims=True)


class Ranked(mp.L1):
    """Has the widest range of all queries for each of them."""

    def distance_range(self, queries: AnyArray) -> Any:
        low, high = super().distance_range(queries)
        return low, np.full(len(high), high.max())


class Squared(mp.L1):
    """Has the square of a distance, and the range of the distance, which is not that of the square."""

    def distance(self, records: AnyArray, queries: AnyArray) -> Any:
        return super().distance(records, queries) ** 2 / self.diameter


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (TooNear, "distance_range does not hold: record"),
        (TooFar, "distance_range does not hold: record"),
        (Beyond, "at most the diameter"),
        (OneRange, "two arrays of numbers of shape"),
        (Ranked, "distance_range depends on other queries"),
        (Squared, "embedded distances are"),  # the range is not at fault: the default is used
        (Centred, "quantize depends on other rows"),
        (ByOrder, "read depends on other rows"),
        (Normalised, "distance depends on other records"),
        (Dithered, "quantize is not deterministic"),
        (Drifting, "quantize is not deterministic"),
        (Outside, "quantize leaves the interval"),
        (Narrow, "exceeds the diameter"),
        (Forgetful, "from_json"),
        (Lenient, "read must refuse a missing value"),
        (Careless, "read_queries must refuse a missing value with a MilepostError, and raises ZeroDivisionError"),
        (Far, "embedded distances are"),
    ],
)
def test_a_space_that_breaks_its_contract_is_noticed(kind: Any, message: str) -> None:
    with pytest.raises(CheckFailedError, match=message):
        check_space(kind([(0, 1), (0, 1)]))


def test_a_space_without_an_extent_needs_records() -> None:
    with pytest.raises(mp.MilepostError, match="records="):
        check_space(mp.Angular(3))
    with pytest.raises(mp.MilepostError, match="records="):
        check_space(HourOfDay())
    with pytest.raises(CheckFailedError, match="at least two records"):
        check_space(mp.L1([(0, 1)]), records=[[0.5]])

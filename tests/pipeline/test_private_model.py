"""Private models: bought where public numbers say that they help, stored in the file, and shown."""

from typing import Any

import numpy as np
import pytest

import milepost as mp
from milepost._typing import FloatArray
from milepost.auditing.noise_trace import record_noise
from milepost.errors import MilepostError
from milepost.pipeline.private_model import plan_model
from milepost.privacy.protected_change import ProtectedChange
from milepost.synopsis import file_format

BALL = mp.L2(center=[0] * 8, radius=1, directions=64)
GUARANTEE = mp.Guarantee(1, 1e-6)


def clusters(count: int, width: int = 8) -> FloatArray:
    """Two clusters around opposite points."""
    generator = np.random.default_rng(count)
    centers = np.array([[0.4], [-0.4]]) * np.ones(width) / np.sqrt(width)
    return np.asarray(centers[generator.integers(0, 2, count)] + 0.03 * generator.standard_normal((count, width)))


@pytest.mark.parametrize(
    ("space", "n", "change", "guarantee"),
    [
        (BALL, 100_000, ProtectedChange(), mp.Guarantee(1)),
        (BALL, 200, ProtectedChange(), GUARANTEE),
        (mp.L2(center=[0] * 3, radius=1), 100_000, ProtectedChange(), GUARANTEE),
        (mp.L1([(0, 1)] * 8), 100_000, ProtectedChange(), GUARANTEE),
        (mp.GreatCircle((52.5, 13.4), 40), 100_000, ProtectedChange(), GUARANTEE),
        (mp.L2(center=[0] * 2000, radius=1, directions=2000), 100_000, ProtectedChange(), GUARANTEE),
    ],
    ids=["pure ε", "few rows", "even directions", "exact embedding", "no vectors", "too wide"],
)
def test_there_is_no_model_where_it_cannot_help(
    space: Any, n: int, change: ProtectedChange, guarantee: mp.Guarantee
) -> None:
    assert plan_model(space, n, change, guarantee) is None


def test_the_number_of_components_grows_with_the_table() -> None:
    few, many = (plan_model(BALL, n, ProtectedChange(), GUARANTEE) for n in (10_000, 1_000_000))
    assert few is not None
    assert many is not None
    assert 1 <= few.scales.components < many.scales.components
    assert many.left < few.left


def test_a_plan_counts_all_draws_of_the_model() -> None:
    plan = mp.plan(BALL, n=100_000, epsilon=1, delta=1e-6, mechanism="slopes", model=True).best
    with record_noise() as calls:
        synopsis = mp.release(clusters(100_000), BALL, epsilon=1, delta=1e-6, mechanism="slopes", model=True)
    drawn = sum(call.values.size for call in calls)
    assert synopsis.model is not None
    assert plan.draws is not None
    empty = 16 - synopsis.model.components  # clusters that have no covariance
    assert drawn == plan.draws - empty * 8 * 9 // 2


def test_auto_buys_a_model_only_if_that_lessens_the_error() -> None:
    for n, bought in ((100, False), (1_000_000, True)):
        plan = mp.plan(BALL, n=n, epsilon=1, delta=1e-6, mechanism="slopes")
        assert bool(plan.best.model) == bought
        without = mp.plan(BALL, n=n, epsilon=1, delta=1e-6, mechanism="slopes", model=False)
        assert not without.best.model
        assert plan.best.error <= without.best.error
    assert "with a private model, 16 components, 15 % of the budget" in str(plan)
    assert plan.best.size is not None
    assert plan.best.size <= 16e6


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"neighbors": "add-remove"},
        {"privacy_unit": [k // 2 for k in range(20_000)], "contributions": 2},
        {"row_weights": [1.0, 0.5] * 10_000, "max_row_weight": 1.0},
    ],
    ids=["replace", "add-remove", "contributions", "weights"],
)
def test_a_model_finds_clusters_and_is_in_the_file(options: dict[str, Any], tmp_path: Any) -> None:
    table = clusters(20_000)
    # with so large an epsilon, limits are hundreds of standard deviations of the noise away
    synopsis = mp.release(table, BALL, epsilon=200, delta=1e-6, mechanism="slopes", model=True, **options)
    model = synopsis.model
    assert model is not None
    assert np.abs(model.mean - table.mean(axis=0)).max() < 0.05
    sides = model.means @ np.ones(8) / np.sqrt(8)
    assert float(model.weights[np.abs(np.abs(sides) - 0.4) < 0.15].sum()) > 0.8
    assert 0 < model.mean_error < 0.01
    synopsis.save(tmp_path / "table.milepost")
    loaded = mp.load(tmp_path / "table.milepost")
    queries = clusters(20)
    assert np.array_equal(loaded.mean_distance(queries), synopsis.mean_distance(queries))
    assert np.array_equal(loaded.interval(queries), synopsis.interval(queries))
    assert loaded.model is not None
    assert np.array_equal(loaded.model.means, model.means)
    description = loaded.describe()
    assert description.model is not None
    assert description.model.components == model.components
    assert "component" in str(description)
    assert description.to_json()["model"]["mean"] == model.mean.tolist()


def test_groups_share_components_and_have_their_own_weights(tmp_path: Any) -> None:
    table = clusters(20_000)
    sides = ["up" if row.sum() > 0 else "down" for row in table]
    synopsis = mp.release(
        table, BALL, epsilon=200, delta=1e-6, mechanism="slopes", model=True, groups=sides, labels=["up", "down"]
    )
    queries, path = clusters(20), tmp_path / "table.milepost"
    synopsis.save(path)
    loaded = mp.load(path)
    assert synopsis.model is not None
    assert loaded.model is not None
    assert np.array_equal(loaded.model.weights, synopsis.model.weights)
    assert float(synopsis.model.weights.sum()) == pytest.approx(1)
    for label, sign in (("up", 1), ("down", -1)):
        group, saved = synopsis.group(label), tmp_path / f"{label}.milepost"
        assert group.model is not None
        assert np.array_equal(group.model.means, synopsis.model.means)
        inside = sign * group.model.means @ np.ones(8) > 0
        assert float(group.model.weights[inside].sum()) > 0.99  # noise is a hundred times less
        assert 0 < group.model.weights_error < 1e-3
        group.save(saved)
        for again in (loaded.group(label), mp.load(saved)):
            assert np.array_equal(again.mean_distance(queries), group.mean_distance(queries))
            assert np.array_equal(again.interval(queries), group.interval(queries))
    table_of_groups = loaded.compare(queries)
    assert np.array_equal(table_of_groups.mean_distance[:, 0], synopsis.group("up").mean_distance(queries))


@pytest.mark.parametrize(
    "damage", [lambda w: w[:, :-1], lambda w: w[:-1], lambda w: w[0], lambda w: -w, lambda w: 2 * w]
)
def test_a_file_with_damaged_weights_of_groups_is_refused(damage: Any, tmp_path: Any) -> None:
    path = tmp_path / "table.milepost"
    options: dict[str, Any] = {"groups": [0, 1, 2, 3] * 5_000, "labels": [0, 1, 2, 3], "mechanism": "slopes"}
    mp.release(clusters(20_000), BALL, epsilon=8, delta=1e-6, model=True, **options).save(path)
    card, tensors = file_format.read(path)
    file_format.write(path, card, tensors | {"model.group_weights": damage(tensors["model.group_weights"])})
    with pytest.raises(MilepostError):
        mp.load(path)


def test_a_group_without_people_has_the_weights_of_all() -> None:
    synopsis = mp.release(
        clusters(20_000), BALL, epsilon=1, delta=1e-6, mechanism="slopes", model=True, groups=["a"] * 20_000,
        labels=["a", "b"],
    )  # fmt: skip
    model = synopsis.group("b").model
    assert model is not None
    assert model.weights_error > 0.01  # of any number, or of a weight that is noise
    assert float(model.weights.sum()) == pytest.approx(1)
    assert np.isfinite(synopsis.group("b").mean_distance(clusters(5))).all()


def test_angles_have_models_too() -> None:
    table = clusters(20_000)
    synopsis = mp.release(table, mp.Angular(8, directions=64), epsilon=8, delta=1e-6, mechanism="slopes", model=True)
    assert synopsis.model is not None
    low, high = synopsis.interval(table[:5])
    assert (low < high).all()


def test_a_release_without_a_model_has_none(tmp_path: Any) -> None:
    synopsis = mp.release(clusters(2_000), BALL, epsilon=8, delta=1e-6, mechanism="slopes", model=False)
    assert synopsis.model is None
    assert synopsis.describe().model is None
    synopsis.save(tmp_path / "table.milepost")
    assert not [name for name in file_format.read(tmp_path / "table.milepost")[1] if name.startswith("model")]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "yes"}, "model= must be True, False or None, got 'yes'"),
        ({"model": True, "mechanism": "hats", "delta": 0.0}, "delta= above 0"),
    ],
)
def test_a_model_that_cannot_be_had_is_refused(options: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"epsilon": 1, "delta": 1e-6, "mechanism": "slopes"} | options
    with pytest.raises(MilepostError, match=message.replace("(", r"\(").replace(")", r"\)")):
        mp.release(np.zeros((100, 8)), BALL, **arguments)


def test_a_stream_is_read_once_and_has_no_model() -> None:
    batches = [clusters(500) for _ in range(4)]
    with pytest.raises(MilepostError, match="an iterator of batches can be read once only"):
        mp.release(iter(batches), BALL, epsilon=50, delta=1e-6, mechanism="slopes", model=True)
    assert mp.release(iter(batches), BALL, epsilon=50, delta=1e-6, mechanism="slopes").model is None


def test_a_bad_row_is_refused_before_anything_is_spent(tmp_path: Any) -> None:
    table = clusters(20_000)
    table[-1, 0] = np.nan
    ledger = mp.Ledger(tmp_path / "ledger")
    ledger.create("texts", epsilon=8, delta=1e-6)
    with pytest.raises(MilepostError, match="missing"):
        mp.release(table, BALL, epsilon=8, delta=1e-6, mechanism="slopes", model=True, ledger=ledger, dataset="texts")
    assert ledger.spent("texts").nano == 0


@pytest.mark.parametrize("name", ["means", "covariances", "axes", "numbers", "weights"])
def test_a_file_with_a_damaged_model_is_refused(name: str, tmp_path: Any) -> None:
    path = tmp_path / "table.milepost"
    mp.release(clusters(20_000), BALL, epsilon=8, delta=1e-6, mechanism="slopes", model=True).save(path)
    card, tensors = file_format.read(path)
    for damage in (tensors[f"model.{name}"][..., :-1], np.full_like(tensors[f"model.{name}"], np.nan), None):
        parts = dict(tensors) | {f"model.{name}": damage}
        file_format.write(path, card, {key: part for key, part in parts.items() if part is not None})
        with pytest.raises(MilepostError):
            mp.load(path)

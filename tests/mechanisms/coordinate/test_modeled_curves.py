"""Answers with the help of a model: exact where the model is the table, unbiased and covered whatever the model is."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import milepost as mp
from milepost._typing import FloatArray
from milepost.errors import MilepostError
from milepost.mechanisms.coordinate.modeled_curves import DRAWS, ControlVariate, ModeledCurves, with_model
from milepost.mechanisms.table_model import TableModel
from milepost.spaces.base import Space
from tests.chance import assert_rate, assert_wrong_rate, is_unbiased

WIDTH, ROWS = 6, 64
ALMOST_NO_NOISE = {"epsilon": 1000, "delta": 1e-6, "mechanism": "slopes", "model": False}


def space(directions: int, seed: int = 0) -> mp.L2:
    return mp.L2(center=[0] * WIDTH, radius=1, directions=directions, random_state=seed)


def vectors(count: int, seed: int = 1) -> FloatArray:
    return np.random.default_rng(seed).uniform(-0.35, 0.35, (count, WIDTH))


def model_at(points: FloatArray) -> TableModel:
    """A model whose draws are at these points, each as often as any other."""
    count = len(points)
    shares, mean = np.full(count, 1 / count), points.mean(axis=0)
    nothing = np.zeros((count, 1, 1))
    return TableModel(shares, points, mean, np.eye(1, points.shape[1]), nothing, 0.0, 0.0, 0.0, 0.0)


def modeled(synopsis: mp.Synopsis, model: TableModel) -> mp.Synopsis:
    """The same release, with another model."""
    statistic = synopsis.statistic
    base = statistic.base if isinstance(statistic, ModeledCurves) else statistic
    (answers,) = with_model(synopsis.space, [base], model)
    return replace(synopsis, statistic=answers)


@pytest.mark.parametrize("make", [lambda: space(64), lambda: mp.Angular(WIDTH, directions=64)], ids=["l2", "angular"])
def test_a_model_that_is_the_table_leaves_noise_only(make: Callable[[], Space]) -> None:
    table, queries = np.repeat(vectors(ROWS), DRAWS // ROWS, axis=0), vectors(20, 2)
    synopsis = mp.release(table, make(), **ALMOST_NO_NOISE)  # type: ignore[arg-type]
    exact = mp.exact_mean_distance(table, synopsis.space, queries)
    without = np.abs(synopsis.mean_distance(queries) - exact).max()
    answers = modeled(synopsis, model_at(vectors(ROWS))).mean_distance(queries)
    assert without > 3e-3  # 64 directions are few
    assert np.abs(answers - exact).max() < 1e-4


@pytest.mark.parametrize("make", [lambda: space(64), lambda: mp.Angular(WIDTH, directions=64)], ids=["l2", "angular"])
def test_groups_whose_weights_are_right_have_noise_only(make: Callable[[], Space]) -> None:
    """Three groups of the same 16 places, which occur in each as often as its weights say."""
    places, queries = vectors(16), vectors(20, 2)
    counts = np.array([[512] * 16, [0] * 8 + [1024] * 8, [8192] + [0] * 15])
    tables = [np.repeat(places, group, axis=0) for group in counts]
    rows = np.concatenate(tables)
    labels = np.repeat(["a", "b", "c"], [len(table) for table in tables])
    grouped = mp.release(rows, make(), groups=labels, labels=["a", "b", "c"], **ALMOST_NO_NOISE)  # type: ignore[arg-type]
    weights = counts / counts.sum(axis=1, keepdims=True)
    model = replace(model_at(places), group_weights=weights, group_errors=np.zeros(3))
    answers = with_model(grouped.space, grouped.statistic.statistics, model)
    wrong = with_model(
        grouped.space, grouped.statistic.statistics, replace(model, group_weights=model.group_weights[::-1])
    )
    for k, table in enumerate(tables):
        exact = mp.exact_mean_distance(table, grouped.space, queries)
        positions = answers[k].positions(grouped.space, queries)
        assert np.abs(answers[k].values(positions) - exact).max() < 2e-4
        assert k == 1 or np.abs(wrong[k].values(positions) - exact).max() > 2e-3


def test_a_model_of_other_groups_does_not_fit() -> None:
    grouped = mp.release(
        vectors(90),
        space(64),
        groups=[0, 1, 2] * 30,
        labels=[0, 1, 2],
        **ALMOST_NO_NOISE,  # type: ignore[arg-type]
    )
    for model in (
        model_at(vectors(4)),
        replace(model_at(vectors(4)), group_weights=np.full((2, 4), 0.25), group_errors=np.zeros(2)),
    ):
        with pytest.raises(MilepostError, match="model does not fit its groups"):
            with_model(grouped.space, grouped.statistic.statistics, model)


def test_draws_have_the_moments_of_the_model() -> None:
    generator = np.random.default_rng(3)
    axes = np.linalg.qr(generator.standard_normal((WIDTH, 2)))[0].T
    weights, means = np.array([0.25, 0.75]), generator.uniform(-0.2, 0.2, (2, WIDTH))
    covariances = np.array([np.diag([0.01, 0.0]), [[0.02, 0.01], [0.01, 0.02]]])
    model = TableModel(weights, means, weights @ means, axes, covariances, 1e-4, 0.0, 0.0, 0.0)
    draws = model.draws(DRAWS, 5)
    assert np.array_equal(draws, model.draws(DRAWS, 5))
    assert not np.array_equal(draws, model.draws(DRAWS, 6))
    first, second = draws[: DRAWS // 4], draws[DRAWS // 4 :]
    for part, mean, covariance in zip((first, second), means, covariances, strict=True):
        np.testing.assert_allclose(part.mean(axis=0), mean, atol=1e-12)  # partners cancel
        np.testing.assert_allclose(np.cov((part - mean) @ axes.T, rowvar=False), covariance, atol=2e-3)
        outside = (part - mean) - ((part - mean) @ axes.T) @ axes
        assert math.isclose(float((outside**2).sum(axis=1).mean()), 4e-4, rel_tol=0.1)


def test_answers_do_not_depend_on_the_other_points_of_a_batch() -> None:
    synopsis = mp.release(vectors(500), space(64), epsilon=1, delta=1e-6, mechanism="slopes", model=False)
    answers = modeled(synopsis, model_at(vectors(3)))
    queries = vectors(50, 4)
    low, high = answers.interval(queries)
    for k in (0, 7, 49):
        assert answers.mean_distance(queries[k]) == answers.mean_distance(queries)[k]
        assert answers.interval(queries[k]) == (low[k], high[k])


def test_all_questions_of_a_release_go_through_the_model() -> None:
    table = np.repeat(vectors(ROWS), DRAWS // ROWS, axis=0)
    synopsis = mp.release(table, space(64), **ALMOST_NO_NOISE)  # type: ignore[arg-type]
    answers = modeled(synopsis, model_at(vectors(ROWS)))
    queries = vectors(5, 2)
    exact = mp.exact_mean_distance(table, synopsis.space, queries)
    sites = answers.sites(dict(zip("abcde", queries, strict=True)))
    assert [site.name for site in sites] == [name for _, name in sorted(zip(exact, "abcde", strict=True))]
    center = answers.center()
    assert answers.mean_distance(center) <= answers.mean_distance(queries).min() + 1e-9


def test_a_model_does_not_fit_even_directions() -> None:
    plane = mp.release(np.zeros((50, 2)), mp.L2([(0, 1)] * 2), epsilon=1, delta=1e-6, mechanism="slopes")
    with pytest.raises(MilepostError, match="model does not fit its mechanism"):
        with_model(plane.space, [plane.statistic], model_at(np.zeros((1, 2))))


def test_no_half_width_holds_for_all_points_at_once() -> None:
    synopsis = mp.release(vectors(500), space(64), epsilon=1, delta=1e-6, mechanism="slopes", model=False)
    answers = modeled(synopsis, model_at(vectors(3)))
    assert answers.error() > 0
    with pytest.raises(MilepostError, match="no half-width holds for all points at once"):
        answers.error(uniform=True)


BORDER = np.eye(1, WIDTH) * 0.999
WRONG = {"one component at the border": BORDER, "the table's own two atoms": vectors(2, 9), "elsewhere": vectors(8, 11)}


@pytest.mark.slow
def test_a_wrong_model_has_no_bias_and_intervals_cover(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each release has rotations of its own. The table has two atoms, of which one is asked about."""
    monkeypatch.setattr("milepost.mechanisms.coordinate.modeled_curves.DRAWS", 8)  # of models that are atoms
    atoms = vectors(2, 9)
    table = atoms[np.arange(400) % 2]
    queries = np.vstack([atoms[:1], vectors(1, 10)])
    exact = mp.exact_mean_distance(table, space(8), queries)
    runs, bias = 150, 0.03  # of distances of about 0.7
    errors: dict[str, list[float]] = {name: [] for name in WRONG}
    hits = {name: np.zeros(2, dtype=int) for name in WRONG}
    narrow_hits = 0  # of a twin whose intervals are a tenth as wide
    for seed in range(runs):
        released = mp.release(table, space(64, seed), epsilon=10, delta=1e-6, mechanism="slopes", model=False)
        for name, model in WRONG.items():
            answers = modeled(released, model_at(model))
            low, high = answers.interval(queries)
            # away from atoms: at one there is interpolation, which intervals count
            errors[name].append(float((answers.mean_distance(queries) - exact)[1]))
            hits[name] += (low <= exact) & (exact <= high)
        narrow_hits += abs(errors["elsewhere"][-1]) <= (high - low)[1] / 20
    for name in WRONG:
        assert is_unbiased(errors[name], against=bias), name
        assert not is_unbiased(np.array(errors[name]) + 2 * bias, against=bias), name
        for count in hits[name].tolist():
            assert_rate(count, runs, at_least=0.93)
    assert_wrong_rate(narrow_hits, runs, at_least=0.93, truth=0.5)


def test_the_draws_are_records_of_the_space() -> None:
    far = ControlVariate(space(64), model_at(10 * BORDER))
    assert np.linalg.norm(far.draws, axis=1).max() <= 1

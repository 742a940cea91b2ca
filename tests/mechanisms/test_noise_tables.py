"""The shipped tables of noise are those that `tools/noise_tables.py` computes, and stand for the laws themselves."""

import numpy as np
import pytest

from milepost.mechanisms.coordinate.path_extremes import MAX_LEVELS, hat_extremes, walk_extremes
from milepost.mechanisms.noise_quantiles import (
    FAILURES,
    KURTOSES,
    compute_quantiles,
    min_mixture_quantile,
    mixture_quantile,
    noise_tables,
)
from tools.noise_tables import (
    PARTS,
    PATHS,
    SECOND_DIFFERENCE_LEVELS,
    STRATA,
    extremes,
    mixture,
    second_difference,
    walk_paths,
)

DRAWS = 8192


def slow_above(levels: range, quick: int) -> list[object]:
    """Return levels as parameters, those above `quick` marked as slow."""
    return [level if level <= quick else pytest.param(level, marks=pytest.mark.slow) for level in levels]


def test_tables_have_the_shapes_that_are_read() -> None:
    shapes = {name: table.shape for name, table in noise_tables().items()}
    assert shapes == {
        "mixture": (len(FAILURES), len(KURTOSES)),
        "walks": (MAX_LEVELS + 1, STRATA * PARTS, 2),
        "hats": (MAX_LEVELS + 1, STRATA * PARTS, 2),
        "second_differences": (SECOND_DIFFERENCE_LEVELS + 1,),
    }


@pytest.mark.parametrize("kind", PATHS)
@pytest.mark.parametrize("level", slow_above(range(MAX_LEVELS + 1), 1))
def test_extremes_are_computed_again(kind: str, level: int) -> None:
    """From the same seeds, to the digits of 16-bit floats."""
    assert noise_tables()[kind][level] == pytest.approx(extremes(kind, level), rel=1e-3, abs=1e-6)


@pytest.mark.parametrize("levels", slow_above(range(SECOND_DIFFERENCE_LEVELS + 1), 8))
def test_second_differences_are_computed_again(levels: int) -> None:
    table = noise_tables()["second_differences"]
    assert table[levels] == pytest.approx(second_difference(levels), rel=1e-9)


def test_second_differences_fall_with_more_levels() -> None:
    """So that the last one is large enough for levels that are not tabulated."""
    table = noise_tables()["second_differences"]
    assert (np.diff(table[4:]) < 0).all()


@pytest.mark.slow
def test_quantiles_are_computed_again() -> None:
    assert noise_tables()["mixture"] == pytest.approx(mixture(), rel=1e-6)


@pytest.mark.parametrize("failure", [0.045, 0.3, pytest.param(1e-4, marks=pytest.mark.slow)])
def test_quantiles_between_tabulated_failures(failure: float) -> None:
    """A cubic has three digits or more; and no quantile is below the bound that "auto" prunes with."""
    quantiles = mixture_quantile(KURTOSES, failure)
    assert quantiles == pytest.approx(compute_quantiles(failure), rel=5e-4 if failure > 0.1 else 2e-5)
    assert quantiles.min() >= min_mixture_quantile(failure)


@pytest.mark.parametrize("failure", FAILURES[1::8].tolist())
def test_no_quantile_is_below_the_bound(failure: float) -> None:
    assert mixture_quantile(np.linspace(0, 3, 200), failure).min() >= min_mixture_quantile(failure)


@pytest.mark.parametrize("steps", [3, 6, 12])
def test_walks_between_tabulated_numbers_of_steps(steps: int) -> None:
    """Against a simulation with a fixed seed, to 1 %: the same generator gives the same numbers everywhere."""
    generator = np.random.default_rng(steps)
    walk = np.cumsum(generator.standard_normal((100_000, steps)), axis=1) / np.sqrt(steps)
    path = 2 * np.concatenate([np.zeros((len(walk), 1)), walk], axis=1) - walk[:, -1:]
    drawn = walk_extremes(steps, generator, DRAWS)
    for simulated, tabulated in (
        (path.max(axis=1), drawn[:, 0]),
        (np.abs(path).max(axis=1), np.abs(drawn).max(axis=1)),
    ):
        for share in (0.5, 0.955, 0.99):
            assert np.quantile(tabulated, share) == pytest.approx(np.quantile(simulated, share), rel=0.015)


@pytest.mark.parametrize("draws", [1024, DRAWS])
def test_extremes_are_on_both_sides_of_zero_and_mirror_images(draws: int) -> None:
    for drawn in (
        walk_extremes(64, np.random.default_rng(0), draws),
        hat_extremes(14, np.random.default_rng(0), draws),
    ):
        assert drawn.shape == (draws, 2)
        assert (drawn[:, 0] >= 0).all()
        assert (drawn[:, 1] <= 0).all()
        assert drawn[:, 0].mean() == pytest.approx(-drawn[:, 1].mean(), rel=0.05)


def test_a_walk_of_one_step_is_a_normal_draw_and_its_negative() -> None:
    """Both extremes of a single cell are the same number."""
    paths = walk_paths(0, np.random.default_rng(0), 10)
    assert paths[:, 0] == pytest.approx(-paths[:, 1])
    drawn = walk_extremes(1, np.random.default_rng(0), DRAWS)
    assert drawn[:, 0] == pytest.approx(-drawn[:, 1])
    assert np.quantile(drawn[:, 0], 0.95) == pytest.approx(1.96, rel=0.01)

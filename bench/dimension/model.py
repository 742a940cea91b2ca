"""The total error of releases in many dimensions with a private model of the table: RMSE ÷ single, noise included.

single: the worst-placed query answered alone, a Gaussian of deviation diameter/(n·μ). Every run has a table and a
rotation of its own. Errors are those at rows of the same kind that are not in the table, and at points spread evenly.

The bounds are stated at n = 10⁵ and D = 8192. They leave √(bound² − noise²) for the error of directions, where noise is
the largest by formula with the budget that the model leaves. That error ÷ single grows with n and with the deviation of
random directions, a known function of D and d. So n and D give the bound at another size; 25,000 rows and 512
directions have the same n/√D. This assumes that the model explains as much of a smaller table, which is not proved:
the noise on the model ÷ the number of rows is four times as large there.

A release is one draw, and a row has few: --check fails where Gaussian errors within the bound would fail once in 10⁹
checks. That allows a row of four releases 3.4 times its bound, so all rows ÷ their bounds are checked together as well.
Without a model they have 3 to 12 times the bound at that size.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bench.dimension.tables import (
    CASES,
    GUARANTEE,
    Case,
    Released,
    Table,
    angles,
    digits,
    mixture,
    root,
)
from bench.laws import paper_error
from bench.run import Bounds, gaussian_factor, main
from milepost._typing import FloatArray
from milepost.mechanisms.coordinate.slopes import split_of
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.embeddings.embedding import Embedding

DIRECTIONS: int | None = None  # of the space at full size; None: the library chooses
MODEL_SHARE = 0.15  # of the budget, for the model
N, STATED_DIRECTIONS = 100_000, 8192  # where bounds are stated
FEW_BOUND, MANY_BOUND, FEW = 1.6, 2.6, 16  # RMSE ÷ single, and the largest dimension that counts as few
RUNS = 3
CHECK_N, CHECK_DIRECTIONS, CHECK_RUNS = 25_000, 512, 4
MANY_ROWS, MANY_ROWS_RUNS = 1_000_000, 1
CHECK_CASES = (
    Case("mixture, d = 8", 8, mixture),
    Case("mixture, d = 64", 64, mixture),
    Case("digits, d = 64", 64, digits),
)  # a model of 384 columns needs more rows
# a million rows of 384 columns take 3 GB, and the table is read several times
MANY_ROWS_CASES = tuple(case for case in CASES if case.dimension <= 64)
# RMSE ÷ single at data-like and at uniform queries of commit cb0f754, before anchors and models, 2 releases each, by
#   git worktree add /tmp/before cb0f754 && PYTHONPATH=/tmp/before/src python -m bench.dimension.tables
BEFORE = {
    "mixture, d = 4": (13.1, 45.0),  # D = 512, 4 CPU s
    "mixture, d = 8": (30.1, 58.5),  # D = 512, 4 CPU s
    "mixture, d = 16": (28.6, 79.3),  # D = 512, 4 CPU s
    "mixture, d = 64": (30.5, 91.3),  # D = 512, 5 CPU s
    "mixture, d = 384": (12.9, 36.4),  # D = 3072, 50 CPU s
    "digits, d = 64": (36.4, 54.9),  # D = 512, 4 CPU s
    "texts, d = 384": (12.1, 24.3),  # D = 3072, 50 CPU s
    "texts, angles": (37.5, 30.1),  # D = 1536, 6 CPU s
}
HEAD = (
    f"  {'table':<20}{'D':>6}{'model':>16}{'bound':>7}{'without':>14}{'before':>13}{'noise':>7}{'plain':>7}"
    f"{'sampling':>10}{'Theorem 10':>12}{'CPU s':>12}"
)


@dataclass(frozen=True)
class Measured:
    """Releases of the tables of a case, with the model and without, and the sampling error ÷ single."""

    with_model: Sequence[Released]
    without: Sequence[Released]
    sampling: float

    @classmethod
    def of(cls, case: Case, n: int, directions: int | None, runs: int, without: int) -> "Measured":
        """Release a table for each run, the first few also without a model."""
        auto, plain, sampling = [], [], []
        for run in range(runs):
            table = Table.of(case, n, directions, run)
            sampling.append((table.sampling / table.single) ** 2)
            auto.append(table.release(model=None))
            if run < without:
                plain.append(table.release(model=False))
        return cls(auto, plain, root(sampling))


def noise_ratio(embedding: Embedding, diameter: float, share: float = 1.0) -> float:
    """Return the largest noise of an answer ÷ single, with a share of the budget."""
    split = split_of(embedding, ProtectedChange(), GUARANTEE)
    return math.sqrt(split.power * split.width / 2 / share) * GUARANTEE.mu / diameter


def stated_bound(case: Case) -> float:
    """Return the bound on RMSE ÷ single at n = N and STATED_DIRECTIONS."""
    return FEW_BOUND if case.dimension <= FEW else MANY_BOUND


def bound_at(case: Case, n: int, directions: int) -> float:
    """Return the bound that the stated one implies at another size, if the model explains as much of the table."""
    stated, here = (case.space(case.dimension, count, 0) for count in (STATED_DIRECTIONS, directions))
    noise = noise_ratio(stated.embedding, stated.diameter, 1 - MODEL_SHARE)
    growth = n / N * here.embedding.rotation_deviation / stated.embedding.rotation_deviation
    rest = math.sqrt(stated_bound(case) ** 2 - noise**2) * growth
    return math.hypot(noise_ratio(here.embedding, here.diameter, 1 - MODEL_SHARE), rest)


def model_rows(check: bool, bounds: Bounds) -> None:
    """Print total errors with the model and without, next to the bounds and to what others would have."""
    n, runs = (CHECK_N, CHECK_RUNS) if check else (N, RUNS)
    print(f"\nTotal RMSE ÷ single at data-like / uniform queries, n = {n:,}, {runs} tables with a rotation each.")
    print("noise, plain: the largest noise ÷ single by formula without a model, counted from an anchor or not. before:")
    print(
        "commit cb0f754, n = 10⁵. sampling: the table's sampling error ÷ single. Theorem 10: the paper's α ÷ diameter."
    )
    if check:
        print(f"Bounds: those at n = {N:,}, D = {STATED_DIRECTIONS}, at this n and D; {runs} releases", end=" ")
        print(f"may reach {gaussian_factor(runs):.1f} times as much by chance.")
    print(HEAD)
    shares = []
    without = 0 if check else runs  # a check has no time for both
    for case in CHECK_CASES if check else CASES:
        directions = CHECK_DIRECTIONS if check else DIRECTIONS
        measured = Measured.of(case, n, directions, runs, without)
        bound = bound_at(case, n, CHECK_DIRECTIONS) if check else stated_bound(case)
        _print_row(case, n, bound, measured, bounds)
        shares += _shares(measured, bound)
    _check_together(n, shares, bounds)
    if not check:
        many_rows(bounds)


def many_rows(bounds: Bounds) -> None:
    """Print the errors at a million rows, which are at most the sampling error of the table."""
    print(f"n = {MANY_ROWS:,}: the bound is the sampling error of the table")
    print(HEAD)
    shares = []
    for case in MANY_ROWS_CASES:
        measured = Measured.of(case, MANY_ROWS, DIRECTIONS, MANY_ROWS_RUNS, 0)
        _print_row(case, MANY_ROWS, measured.sampling, measured, bounds)
        shares += _shares(measured, measured.sampling)
    _check_together(MANY_ROWS, shares, bounds)


def _print_row(case: Case, n: int, bound: float, measured: Measured, bounds: Bounds) -> None:
    """Print one line, and check the errors with the model."""
    name = f"{case.name}, n = {n:,}: RMSE ÷ single"
    cells = ["–", "–"]
    if measured.with_model:
        near, spread = _squares(measured.with_model)
        cells = [
            bounds.gaussian_rms_at_most(f"{name}, data-like queries", near, bound),
            bounds.gaussian_rms_at_most(f"{name}, uniform queries", spread, bound),
        ]
    releases = [*measured.with_model, *measured.without]
    directions = releases[0].directions
    space = case.space(case.dimension, directions, 0)
    plain = noise_ratio(replace(space.embedding, anchor=None), space.diameter)
    theorem = "–" if case.space is angles else f"{paper_error(case.dimension, n, GUARANTEE):.2g}"
    unused = " (auto: no model)" * any(not each.model for each in measured.with_model)
    seconds = [
        f"{np.mean([each.seconds for each in part]):.0f}" if part else "–"
        for part in (measured.with_model, measured.without)
    ]
    print(
        f"  {case.name:<20}{directions:>6}{' / '.join(cells):>16}{bound:>7.3g}{_pair(_roots(measured.without)):>14}"
        f"{_pair(BEFORE.get(case.name) if n == N else None):>13}{noise_ratio(space.embedding, space.diameter):>7.3g}"
        f"{plain:>7.3g}{measured.sampling:>10.3g}{theorem:>12}{' / '.join(seconds):>12}{unused}",
        flush=True,
    )


def _shares(measured: Measured, bound: float) -> list[tuple[float, float]]:
    """Return the squares of errors ÷ bound of each release with the model, at both kinds of queries."""
    return [(each.near / bound**2, each.spread / bound**2) for each in measured.with_model]


def _check_together(n: int, shares: list[tuple[float, float]], bounds: Bounds) -> None:
    """Check the errors ÷ bounds of all tables of one size."""
    if not shares:
        return
    for name, squares in zip(("data-like", "uniform"), np.array(shares).T, strict=True):
        label = f"model, n = {n:,}: RMSE ÷ bound of all tables, {name} queries"
        cell = bounds.gaussian_rms_at_most(label, squares, 1.0)
        print(f"  all tables together, {name} queries: RMSE ÷ bound {cell}, {len(squares)} releases")


def _squares(releases: Sequence[Released]) -> tuple[FloatArray, FloatArray]:
    return np.array([each.near for each in releases]), np.array([each.spread for each in releases])


def _roots(releases: Sequence[Released]) -> tuple[float, float] | None:
    return (root([each.near for each in releases]), root([each.spread for each in releases])) if releases else None


def _pair(values: tuple[float, float] | None) -> str:
    return "–" if values is None else f"{values[0]:.3g} / {values[1]:.3g}"


if __name__ == "__main__":
    main(model_rows, __doc__ or "")

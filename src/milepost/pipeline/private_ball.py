"""A private ball: a centre and a radius, found in the table with a share of a release's budget. docs/proofs/ball.md."""

import math
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeVar, cast

import numpy as np

from milepost._typing import IntArray
from milepost.errors import MilepostError, warn
from milepost.ingest.table import Table, check_count
from milepost.mechanisms.totals import Total, check_total_scale
from milepost.privacy.guarantee import Guarantee
from milepost.privacy.noise import check_scale, gaussian
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.base import Space
from milepost.spaces.bounds_provenance import BallProvenance
from milepost.spaces.lp import L2
from milepost.spaces.numeric import MAX_OFFSET
from milepost.statistics.ball_points import STEPS, BallGrid, DistanceCounts, PointSums, grid_center

MAX_SHARE = 0.5  # of the budget
CENTER_SHARE = 0.25  # of the ball's budget, for the centre; the rest pays for the radius
FAILURE = 0.01  # probability that more rows lie outside than `BallScales.rows_outside`
MAX_OUTSIDE = 0.05  # of the rows: where noise may hide more, the given ball stays
PER_OCTAVE = 8  # radii to choose from, between one and its half
COMPARISONS = 7  # of the binary search
RADII = (1 << COMPARISONS) - 1  # to choose from, besides the given one
MIN_RADIUS = 1e-99  # of a space

AnySpace = TypeVar("AnySpace", bound=Space)


def check_ball_share(share: Any, space: Space, guarantee: Guarantee, queries: Any) -> None:
    """Refuse a share, a space or a guarantee with which no private ball can be found."""
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share < MAX_SHARE:
        raise MilepostError(
            f"ball_share= must be a share of the budget, above 0 and below {MAX_SHARE:g}, got {share!r}. Try 0.1."
        )
    if not isinstance(space, L2) or space.radius is None:
        raise MilepostError(
            f"ball_share= needs a ball, as mp.L2(center=…, radius=…) gives it, got the space {space.kind!r} "
            + ("with bounds=." if isinstance(space, L2) else "that has none.")
        )
    if guarantee.pure:
        raise MilepostError("ball_share= needs delta= above 0: its noise is Gaussian. Use a small delta, such as 1e-6.")
    if queries is not None:
        raise MilepostError(
            "ball_share= cannot be used with queries=: some may lie outside the ball that is found. Leave out queries, "
            "and ask the synopsis for any point."
        )


def check_accounting(guarantee: Guarantee, spent: Guarantee, mechanism: str) -> None:
    """Refuse a mechanism that spends pure ε, which has no budget to share with Gaussian noise."""
    if spent.pure and not guarantee.pure:
        raise MilepostError(
            f"ball_share= shares the budget of (epsilon, delta), and {mechanism} spends pure epsilon. Use "
            "mechanism='slopes' or 'auto'."
        )


def as_given(space: AnySpace) -> AnySpace:
    """Return a space for another release: a ball that a release found for itself is an earlier one's from then on."""
    provenance = space.bounds_provenance
    if not isinstance(provenance, BallProvenance) or provenance.earlier:
        return space
    result = copy(space)
    object.__setattr__(result, "bounds_provenance", replace(provenance, earlier=True))
    return result


@dataclass(frozen=True)
class BallScales:
    """Scales σ of the Gaussian noise on the sums, on the total number of rows (0 if it is public), and on each count.

    The sums and the total are drawn once, and a count `COMPARISONS` times.
    """

    sums: float
    total: float
    count: float

    @classmethod
    def of(cls, guarantee: Guarantee, change: ProtectedChange, grid: BallGrid) -> "BallScales":
        """Return the scales that spend the budget of a guarantee, which is the ball's share of another one."""
        single = float(grid.max_length**2)  # (S)
        split = change.all_groups.gaussian(
            4 * single, single, CENTER_SHARE * guarantee.budget, 1 / (2 * math.sqrt(grid.width))
        )
        count = change.count_scale((1 - CENTER_SHARE) * guarantee.budget / COMPARISONS)
        return cls(math.sqrt(split.power / 2), split.total, count)

    def check(self) -> None:
        """Refuse noise that integers cannot hold."""
        check_scale(self.sums)
        check_total_scale(self.total, pure=False)
        check_total_scale(self.count, pure=False)

    @property
    def hidden_rows(self) -> float:
        """Return how many rows the noise of a count may hide, in steps of their weight."""
        return Total.of(0, self.count, pure=False).tail(2 * FAILURE / COMPARISONS)

    @property
    def rows_outside(self) -> float:
        """Return how many rows lie outside of the ball, at most and probably, in steps of their weight.

        That is as few as noise can tell, whatever the number of rows: clipping k rows moves a mean distance by about
        k/n of the radius, and so does the noise of the release for some k between 10 and 100.
        """
        return 2 * self.hidden_rows

    def too_few(self, total: int) -> bool:
        """Return whether noise may hide too large a part of a total, so that the given ball is the better one."""
        return self.rows_outside > MAX_OUTSIDE * total


@dataclass(frozen=True, eq=False)
class BallSearch:
    """All noisy numbers of one search, and the ball read from them.

    Input: `PointSums`, and `DistanceCounts` around the noisy centre. Output: this object. Guarantee: the budget of the
    scales, for the change that they were made for.

    counts: the index of a radius and the noisy number of rows beyond it, in the order of the search. radius: the index
    of the smallest one that holds enough rows; RADII, which is the given one, if none does.
    """

    sums: IntArray
    total: Total
    center: IntArray
    counts: tuple[tuple[int, int], ...]
    radius: int

    @classmethod
    def run(cls, exact: PointSums, distances: Callable[[IntArray], DistanceCounts], scales: BallScales) -> "BallSearch":
        """Draw all noise, which spends the budget of the scales. distances: reads the counts around a centre."""
        total = Total.draw(int(exact.totals[0]), scales.total, pure=False)  # (T)
        sums = gaussian(exact.values, scales.sums)  # (M)
        center = grid_center(sums, total.size)
        around, hidden = distances(center), scales.hidden_rows
        low, high, counts = -1, RADII, []
        for _ in range(COMPARISONS):
            middle = (low + high) // 2
            noisy = Total.draw(around.beyond(middle), scales.count, pure=False).value  # (C)
            counts.append((middle, noisy))
            low, high = (low, middle) if noisy <= hidden else (middle, high)
        return cls(sums, total, center, tuple(counts), high)


@lru_cache(maxsize=1)
def squared_radii() -> IntArray:
    """Return the squares of the radii to choose from, in steps of the grid: int64[RADII], in increasing order."""
    steps = STEPS * 2.0 ** ((np.arange(RADII) - RADII) / PER_OCTAVE)
    result = np.floor(steps**2).astype(np.int64)
    result.setflags(write=False)
    return result


def grid_of(space: Space) -> BallGrid:
    """Return the grid over a ball; `check_ball_share` has refused other spaces."""
    ball = cast(L2, space)
    return BallGrid(np.asarray(ball.center, dtype=np.float64), float(ball.radius or 0))


def check_noise(space: Space, change: ProtectedChange, guarantee: Guarantee) -> None:
    """Refuse a guarantee, which is the ball's share of another one, whose noise does not fit integers."""
    BallScales.of(guarantee, change, grid_of(space)).check()


def find_ball(
    table: Table, guarantee: Guarantee, share: float, total: int, epsilon: float, drawing: Callable[[], None]
) -> L2 | None:
    """Spend a share of a guarantee's budget on a smaller ball; return it, or None where the given one stays.

    It stays, and nothing is spent, where the table is too small. It also stays, and the share is spent, where no
    smaller ball holds enough rows; it is then returned with its provenance. total: the public, given or noisy number of
    rows, in steps of their weight. epsilon: of the whole release. drawing: called before noise is drawn.
    """
    space, change = cast(L2, table.space), table.change
    grid = grid_of(space)
    scales = BallScales.of(guarantee.with_share(share), change, grid)
    if scales.too_few(total):
        warn(too_few_text(scales, change, total))
        return None
    scales.check()
    provenance = BallProvenance(
        epsilon,
        change.neighbors,
        space.width,
        change.privacy_unit,
        change.contributions,
        delta=guarantee.delta,
        share=float(share),
        given_radius=grid.radius,
        given=space.bounds_provenance,
    )
    exact = table.point_sums(grid)  # every row is read: one that is bad is refused before anything is spent
    if change.public_total:
        check_count(int(exact.totals[0]), total)
    drawing()
    search = BallSearch.run(exact, lambda center: table.distance_counts(grid, center, squared_radii()), scales)
    return ball_of(space, search, provenance)


def ball_of(space: L2, search: BallSearch, provenance: BallProvenance) -> L2:
    """Return the ball that a search found, or the given one with the record that it was searched."""
    grid = grid_of(space)
    center, radius = grid.center, grid.radius
    if search.radius < RADII:
        # a row that was counted as inside is inside: rounding moves it by √d/2 steps
        steps = math.sqrt(int(squared_radii()[search.radius])) + math.sqrt(grid.width)
        smaller = max(grid.radius * steps / STEPS, min_radius(grid))
        if smaller < radius:
            center, radius = grid.points(search.center), smaller
    return L2(
        center=space.by_column(center.tolist()),
        radius=radius,
        directions=space.directions,
        clip=space.clip,
        random_state=space.random_state,
        distance_unit=space.distance_unit,
        bounds_provenance=provenance,
    )


def min_radius(grid: BallGrid) -> float:
    """Return a radius that no space around a point of the ball refuses as too small beside its distance from 0."""
    corner = np.abs(grid.center) + 2 * grid.radius
    return max(float(np.linalg.norm(corner)) / MAX_OFFSET, MIN_RADIUS)


def too_few_text(scales: BallScales, change: ProtectedChange, total: int) -> str:
    """Return why a table is too small for a private ball; from public numbers."""
    needed = change.rows(math.ceil(scales.rows_outside / MAX_OUTSIDE))
    return (
        f"the table is too small for a private ball: noise hides {100 * MAX_OUTSIDE:g} % of {needed:,} rows, and there "
        f"are about {change.rows(total):,}. The given ball stays, and the release has the whole budget. A larger "
        "epsilon= or ball_share= would help"
    )


def budget_left(space: Space, n: int, change: ProtectedChange, guarantee: Guarantee, share: float) -> Guarantee:
    """Return the guarantee with the budget that a ball leaves for a release of n rows: all if the given one stays."""
    scales = BallScales.of(guarantee.with_share(share), change, grid_of(space))
    return guarantee if scales.too_few(change.weight(n)) else guarantee.with_share(1 - share)


def plan_note(space: Space, n: int, change: ProtectedChange, guarantee: Guarantee, share: float, error: float) -> str:
    """Return what a plan says about a private ball. guarantee: the whole one. error: of the best mechanism."""
    grid = grid_of(space)
    scales = BallScales.of(guarantee.with_share(share), change, grid)
    total = change.weight(n)
    if scales.too_few(total):
        return too_few_text(scales, change, total)
    unit = f" {space.distance_unit}" if space.distance_unit else ""
    off = math.sqrt(grid.width) * scales.sums / total * grid.radius / STEPS
    outside = change.rows(math.ceil(scales.rows_outside))
    return (
        f"ball: {100 * share:g} % of the budget finds a centre, off by about {off:.2g}{unit}, and a radius, with about "
        f"{outside:,} rows beyond it at most. All errors shrink with the radius: at half of {grid.radius:g}{unit} the "
        f"smallest is ± {error / 2:.3g}{unit}"
    )

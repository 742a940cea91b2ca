"""Whether a release buys a private model of its table, from public numbers; and the passes over the table for it."""

import math
from dataclasses import dataclass, replace

from milepost.errors import MilepostError
from milepost.ingest.table import Table
from milepost.mechanisms.base import Prediction
from milepost.mechanisms.table_model import MAX_AXES, STEPS, ModelScales, TableModel, fit_model
from milepost.privacy.guarantee import Guarantee
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.base import Space
from milepost.spaces.embeddings.embedding import Embedding
from milepost.statistics.ball_points import BallGrid
from milepost.statistics.model_sums import PointMoments, model_grid

MODEL_SHARE = 0.15  # of the budget
MAX_WIDTH = 1 << 10  # columns: a model has a noisy product of every two of them
MIN_LEFT = 0.05  # of the errors of directions: a model that noise does not spoil leaves about this share of them
GROUP_LEFT = 0.1  # the same for one group, which has its own weights of components that are shared
NOISE_LEFT = 2.0  # how much more it leaves for each share of the squared radius that noise adds to the covariance
MAX_LEFT = 0.5  # a model that leaves more is not bought
MIN_ROWS = 5_000  # from which on a model is planned for: with fewer rows noise takes most of what it gains
MAX_DIRECTIONS = {"faster": 1 << 10, "balanced": 1 << 13, "closer": 1 << 14}  # that are tried with a model, by effort


@dataclass(frozen=True, eq=False)
class ModelPlan:
    """A model that a release buys. total: the public number of rows, or about that, in steps of their weight."""

    space: Space
    grid: BallGrid
    scales: ModelScales
    total: int
    groups: int | None = None

    @property
    def left(self) -> float:
        """Return the planned share of the errors of random directions and of cells that the model leaves."""
        noise = self.scales.products * math.sqrt(2 * self.grid.width) / self.total / self.grid.max_length**2
        return min((MIN_LEFT if self.groups is None else GROUP_LEFT) + NOISE_LEFT * noise, 1.0)

    def embedding(self, embedding: Embedding) -> Embedding:
        """Return an embedding whose errors are planned with the model."""
        return replace(embedding, error_left=self.left)

    def extend(self, prediction: Prediction) -> Prediction:
        """Return the prediction of the rest of the release, with the model's part of the file."""
        numbers = (self.scales.components + MAX_AXES) * self.grid.width + (self.groups or 0) * self.scales.components
        size = None if prediction.size is None else prediction.size + 8 * numbers
        draws = None if prediction.draws is None else prediction.draws + self.draws
        return replace(prediction, size=size, draws=draws, model=self.summary)

    @property
    def draws(self) -> int:
        """Return the largest number of draws of noise for the model."""
        width, axes, components = self.grid.width, min(self.grid.width, MAX_AXES), self.scales.components
        products = [size * (size + 1) // 2 for size in (width, axes)]
        steps = STEPS if components > 1 else 0
        return width + products[0] + components * (steps * (axes + 1) + products[1] + (self.groups or 0))

    @property
    def summary(self) -> str:
        """Return the model in a few words."""
        components = f"{self.scales.components} components" if self.scales.components > 1 else "one component"
        return f"{components}, {100 * MODEL_SHARE:g} % of the budget"

    def read(self, table: Table) -> PointMoments:
        """Read the moments of the table."""
        return table.point_moments(self.grid)

    def fit(self, table: Table, moments: PointMoments) -> TableModel:
        """Spend the model's share of the budget: add noise to the moments, then read and add noise by steps."""
        return fit_model(table, moments, self.scales, self.grid, self.total)


def plan_model(
    space: Space, n: int, change: ProtectedChange, guarantee: Guarantee, wanted: bool = False
) -> ModelPlan | None:
    """Return the model that a release of n rows with this guarantee may buy; None where it cannot help.

    It can help where directions are random, records are vectors, and noise leaves more than half of it. wanted: whether
    to buy it even if noise leaves less.
    """
    total = n * (change.groups or 1)
    if guarantee.pure or not (wanted or change.rows(total) >= MIN_ROWS):
        return None
    if not suits_model(space):
        return None
    grid = model_grid(space)
    scales = ModelScales.of(guarantee.with_share(MODEL_SHARE), change, grid, total)
    try:
        scales.check()
    except MilepostError:
        return None
    plan = ModelPlan(space, grid, scales, total, change.groups)
    return plan if wanted or plan.left <= MAX_LEFT else None


def suits_model(space: Space) -> bool:
    """Return whether the directions of a space are random, and its records vectors that are not too long."""
    ball = space.enclosing_ball
    return ball is not None and len(ball[0]) <= MAX_WIDTH and space.embedding.rotations is not None


def no_model_reason(space: Space, guarantee: Guarantee) -> str:
    """Return why a release has no model, for somebody who asked for one."""
    if guarantee.pure:
        return "a model shares the budget of (epsilon, delta). Use delta= above 0, or leave out model="
    if not suits_model(space):
        return (
            f"a model lessens errors of random directions: those of L2, Lp and Angular of 4 to {MAX_WIDTH:,} columns. "
            "Leave out model="
        )
    return "the noise of a model does not fit 64-bit integers. Use a larger epsilon=, or leave out model="

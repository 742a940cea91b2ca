"""A private model of a table: clusters with their covariances, from noisy moments and a few noisy k-means steps.

What is modelled is taken away from the error of random directions (`coordinate/modeled_curves.py`), and the model is
worth looking at by itself. docs/proofs/model.md.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol

import numpy as np

from milepost._typing import AnyArray, FloatArray, IntArray
from milepost.errors import MilepostError
from milepost.mechanisms.totals import FINENESS
from milepost.privacy.guarantee import Guarantee
from milepost.privacy.noise import check_scale, gaussian, gaussian_deviation, gaussian_each
from milepost.privacy.protected_change import ProtectedChange
from milepost.statistics.ball_points import BallGrid
from milepost.statistics.model_sums import (
    BASIS_BITS,
    ClusterCounts,
    ClusterProducts,
    Clusters,
    ClusterSums,
    PointMoments,
)

STEPS = 3  # of k-means
SHARES = {"sums": 0.08, "products": 0.22, "clusters": 0.4, "covariances": 0.3}  # of a model's budget
GROUP_SHARE = 0.2  # of a model's budget, where there are groups, for their weights; the others share the rest
MAX_COMPONENTS = 16
MAX_AXES = 16  # of the subspace in which there are clusters
START_SEED = 0  # of the first centres
START_AXES = 6  # in which the first centres differ
FEW_COLUMNS = 8  # up to which all axes are used
CENTER_NOISE = 0.1  # radii: more components are taken only if noise moves their centres no farther, at FEW_COLUMNS
MIN_COUNT = 4.0  # standard deviations of a count's noise, below which a cluster is taken to be empty
MIN_GROUP_COUNT = 2.0  # the same for the cluster of one group
REACH = 2.0  # standard deviations of the distance to the nearest centre, to which residuals are clipped
MIN_REACH = 16  # steps of the grid
MAX_REACH = 1 << 11  # steps of the grid, of residuals: twice its radius


@dataclass(frozen=True)
class ModelScales:
    """Scales σ of Gaussian noise on the numbers of a model; and how many components it has.

    sums, products: of the moments, in steps of the grid. clusters: of the sums of residuals ÷ their reach, and of
    counts, of one step of k-means. covariances: of products of residuals ÷ the square of their reach. A product of two
    different columns has σ/√2. groups: of the counts of each group's clusters; None without groups.
    """

    sums: float
    products: float
    clusters: float
    covariances: float
    components: int
    groups: float | None = None

    @classmethod
    def of(cls, guarantee: Guarantee, change: ProtectedChange, grid: BallGrid, total: int) -> "ModelScales":
        """Return the scales that spend the budget of a guarantee, which is the model's share of another one.

        total: the public number of rows, or about that, in steps of their weight.
        """
        square, grouped = float(grid.max_length**2), change.groups is not None
        rest = 1 - GROUP_SHARE if grouped else 1.0

        def scale_of(pair: float, single: float, share: float) -> float:
            return math.sqrt(change.sums_power(pair, single, share * guarantee.budget) / 2)

        def scale(pair: float, single: float, name: str, parts: int = 1) -> float:
            return scale_of(pair, single, rest * SHARES[name] / parts)

        clusters = scale(4.0, 2.0, "clusters", STEPS)  # (C)
        components = int(CENTER_NOISE * total / (clusters * math.sqrt(FEW_COLUMNS)))
        return cls(
            scale(4 * square, square, "sums"),  # (S)
            scale(2 * square**2, square**2, "products"),  # (P)
            clusters,
            scale(2.0, 1.0, "covariances"),  # (V)
            min(max(components, 1), MAX_COMPONENTS),
            scale_of(2.0, 1.0, GROUP_SHARE) if grouped else None,  # (G)
        )

    def check(self) -> None:
        """Refuse noise that integers cannot hold."""
        groups = [] if self.groups is None else [FINENESS * self.groups]
        for scale in (self.sums, self.products, MAX_REACH * self.clusters, MAX_REACH**2 * self.covariances, *groups):
            check_scale(scale)


@dataclass(frozen=True, eq=False)
class TableModel:
    """What a release says about where the people of a table are: a mixture of normal laws.

    It is private: it was made from noisy numbers, with a share of the release's budget.

    Parameters
    ----------
    weights : array
        float64[k]: the share of each component, about as large as a cluster of people.
    means : array
        float64[k, columns]: the mean of each component.
    mean : array
        float64[columns]: the mean of all people.
    axes : array
        float64[p, columns]: orthonormal directions in which people vary most.
    covariances : array
        float64[k, p, p]: the covariance of each component along the axes.
    outside : float
        The variance in every direction that is orthogonal to the axes.
    mean_error, means_error, weights_error : float
        The standard deviations of noise: of a column of `mean`, of the mean of a component of average weight along an
        axis, and of a weight.
    group_weights : array
        float64[groups, k]: the share of each component in each group, in the order of the labels; no rows without
        groups. The model of one group has its share as `weights`, and everything else of all groups together.
    group_errors : array
        float64[groups]: the standard deviation of the noise on a weight of each group.
    """

    weights: FloatArray
    means: FloatArray
    mean: FloatArray
    axes: FloatArray
    covariances: FloatArray
    outside: float
    mean_error: float
    means_error: float
    weights_error: float
    group_weights: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    group_errors: FloatArray = field(default_factory=lambda: np.empty(0))

    ARRAYS: ClassVar[tuple[str, ...]] = ("weights", "means", "mean", "axes", "covariances")
    GROUP_ARRAYS: ClassVar[tuple[str, ...]] = ("group_weights", "group_errors")
    NUMBERS: ClassVar[tuple[str, ...]] = ("outside", "mean_error", "means_error", "weights_error")

    @property
    def components(self) -> int:
        """The number of components."""
        return len(self.weights)

    @property
    def grouped(self) -> bool:
        """Whether groups have weights of their own."""
        return len(self.group_weights) > 0

    def of_group(self, index: int) -> "TableModel":
        """Return the model of one group."""
        return replace(self, weights=self.group_weights[index], weights_error=float(self.group_errors[index]))

    def of_all(self, sizes: Sequence[int]) -> "TableModel":
        """Return the model of all groups together. sizes: the noisy number of people of each."""
        shares = np.maximum(np.asarray(sizes, dtype=np.float64), 1) @ self.group_weights
        return replace(self, weights=shares / shares.sum())

    def labels(self, count: int) -> IntArray:
        """Return the component of each of the draws, in order: by their exact shares, equal ones with groups."""
        shares = np.full(self.components, 1 / self.components) if self.grouped else self.weights
        return np.searchsorted(np.cumsum(shares)[:-1], (np.arange(count) + 0.5) / count)

    def draws(self, count: int, seed: int) -> FloatArray:
        """Return public draws of the model, float64[count, columns]; the same ones for a seed.

        They have the components of `labels`, and every draw has a partner on the other side of its component's mean.
        """
        generator = np.random.default_rng([seed, count, self.components])
        label = self.labels(count)
        half = -(-count // 2)
        outside, along = (generator.standard_normal((half, size)) for size in self.axes.shape[::-1])
        steps = np.empty((2 * half, len(self.mean)))
        outside -= (outside @ self.axes.T) @ self.axes
        steps[0::2] = math.sqrt(self.outside) * outside
        steps[1::2] = -steps[0::2]
        result = self.means[label] + steps[:count]
        signed = np.repeat(along, 2, axis=0)
        signed[1::2] *= -1
        for k, covariance in enumerate(self.covariances):
            values, vectors = np.linalg.eigh(covariance)
            shape = vectors * np.sqrt(np.maximum(values, 0))
            result[label == k] += (signed[:count][label == k] @ shape.T) @ self.axes
        return np.asarray(result)

    def tensors(self) -> dict[str, AnyArray]:
        """Return all numbers, as the file stores them."""
        numbers = np.array([getattr(self, name) for name in self.NUMBERS])
        names = (*self.ARRAYS, *self.GROUP_ARRAYS) if self.grouped else self.ARRAYS
        return {name: np.ascontiguousarray(getattr(self, name)) for name in names} | {"numbers": numbers}

    @classmethod
    def load(cls, tensors: dict[str, AnyArray], width: int) -> "TableModel":
        """Return the model of a file; refuse one that does not fit vectors of this width."""
        numbers = tensors["numbers"]
        arrays = {name: tensors[name] for name in cls.ARRAYS}
        k, p = len(arrays["weights"]), len(arrays["axes"])
        arrays["group_weights"] = groups = tensors.get("group_weights", np.empty((0, k)))
        arrays["group_errors"] = errors = tensors.get("group_errors", np.empty(0))
        shapes = {
            "weights": (k,),
            "means": (k, width),
            "mean": (width,),
            "axes": (p, width),
            "covariances": (k, p, p),
            "group_weights": (len(groups), k),
            "group_errors": (len(groups),),
        }
        shares = np.vstack([arrays["weights"], groups]) if groups.shape == shapes["group_weights"] else groups
        everything = [*arrays.values(), numbers]
        if (
            any(arrays[name].shape != shape for name, shape in shapes.items())
            or numbers.shape != (len(cls.NUMBERS),)
            or any(part.dtype != np.float64 or not np.isfinite(part).all() for part in everything)
            or min(float(part.min(initial=0)) for part in (shares, numbers, errors)) < 0
            or k < 1
            or float(np.abs(shares.sum(axis=1) - 1).max()) > 1e-6
        ):
            raise MilepostError("the file's model does not fit its space")
        model: Any = dict(arrays) | dict(zip(cls.NUMBERS, numbers.tolist(), strict=True))
        return cls(**model)


class ModelTable(Protocol):
    """What a model reads of a table, besides its moments."""

    def cluster_sums(self, clusters: Clusters) -> ClusterSums:
        """Return the exact sums of residuals, by cluster."""

    def cluster_products(self, clusters: Clusters) -> ClusterProducts:
        """Return the exact products of residuals, by cluster."""

    def cluster_counts(self, clusters: Clusters) -> ClusterCounts:
        """Return the exact weight of records, by group and cluster."""


def fit_model(table: ModelTable, moments: PointMoments, scales: ModelScales, grid: BallGrid, total: int) -> TableModel:
    """Draw all noise of a model, which spends the budget of its scales, and return the model.

    table: reads sums over clusters around public centres. moments: that were read before. total: as for the scales. The
    first centres are public draws around the noisy mean.
    """
    mean, products = noisy_moments(moments, scales, total)
    covariance = products - np.outer(mean, mean)
    axes = main_axes(covariance, scales.products / total)
    basis = np.rint(axes * (1 << BASIS_BITS)).astype(np.int64)
    middle, inner = axes @ mean, _positive(axes @ covariance @ axes.T)
    values, vectors = np.linalg.eigh(inner)
    generator = np.random.default_rng([START_SEED, scales.components])
    starts = generator.standard_normal((scales.components, len(axes))) * np.sqrt(np.maximum(values, 0))
    starts[:, : max(len(axes) - START_AXES, 0)] = 0
    centers = middle + (starts - starts.mean(axis=0)) @ vectors.T
    weights, spread = np.full(len(centers), 1 / len(centers)), float(np.trace(inner))
    for _ in range(STEPS if len(centers) > 1 else 0):
        clusters = Clusters(grid, basis, _on_grid(centers, grid), _reach(spread))
        weights, centers = noisy_step(table.cluster_sums(clusters), clusters, scales)
        between = float(weights @ ((centers - weights @ centers) ** 2).sum(axis=1))
        spread = max(float(np.trace(inner)) - between, 0.05 * float(np.trace(inner)))
    weights, centers = weights[weights > 0], centers[weights > 0]
    clusters = Clusters(grid, basis, _on_grid(centers, grid), _reach(spread))
    covariances = noisy_covariances(table.cluster_products(clusters), clusters, scales, weights * total)
    group_weights, group_errors = np.empty((0, len(weights))), np.empty(0)
    if scales.groups is not None:
        group_weights, group_errors = noisy_group_weights(table.cluster_counts(clusters), scales.groups, weights)
    rest = max(float(np.trace(covariance)) - float(np.trace(axes @ covariance @ axes.T)), 0.0)
    unit = grid.radius / grid.steps
    reach = clusters.reach if len(weights) > 1 else 0
    return TableModel(
        weights,
        grid.center + unit * (mean - middle @ axes + centers @ axes),
        grid.center + unit * mean,
        axes,
        unit**2 * covariances,
        unit**2 * rest / max(grid.width - len(axes), 1),
        unit * gaussian_deviation(scales.sums) / total,
        unit * reach * scales.clusters * len(weights) / total,
        scales.clusters / total if len(weights) > 1 else 0.0,
        group_weights,
        group_errors,
    )


def noisy_moments(moments: PointMoments, scales: ModelScales, total: int) -> tuple[FloatArray, FloatArray]:
    """Add noise to the sums and to the products; return the mean and the mean product, in steps."""
    sums = gaussian(moments.sums, scales.sums)
    (products,) = noisy_products(moments.products[None], scales.products)
    return sums / total, products / total


def noisy_products(products: IntArray, scale: float) -> IntArray:
    """Add noise to symmetric matrices int64[k, m, m]: σ on the diagonal, σ/√2 on what stands there twice."""
    rows, columns = np.triu_indices(products.shape[1])
    scales = np.where(rows == columns, scale, scale / math.sqrt(2))
    upper = products[:, rows, columns]
    noisy = gaussian_each(upper.reshape(-1), np.tile(scales, len(products))).reshape(upper.shape)
    result = np.empty_like(products)
    result[:, rows, columns] = result[:, columns, rows] = noisy
    return result


def noisy_step(exact: ClusterSums, clusters: Clusters, scales: ModelScales) -> tuple[FloatArray, FloatArray]:
    """Add noise to the sums and counts of clusters; return their weights and new centres, in steps.

    A cluster that may be empty has no weight, and stays where it is. The count has `reach` times the noise of a sum's
    unit, so that it is multiplied by that.
    """
    numbers = np.column_stack([exact.sums, clusters.reach * exact.counts])
    noisy = gaussian(numbers.reshape(-1), clusters.reach * scales.clusters).reshape(numbers.shape)
    counts = noisy[:, -1] / clusters.reach
    used = counts > MIN_COUNT * scales.clusters
    if not used.any():
        used = counts >= counts.max()
    weights = np.where(used, np.maximum(counts, 1.0), 0.0)
    moved = clusters.centers + noisy[:, :-1] / np.maximum(weights, 1.0)[:, None]
    lengths = np.maximum(np.linalg.norm(moved, axis=1, keepdims=True) / clusters.grid.steps, 1)
    return weights / weights.sum(), np.where(used[:, None], moved / lengths, clusters.centers)


def noisy_covariances(exact: ClusterProducts, clusters: Clusters, scales: ModelScales, sizes: FloatArray) -> FloatArray:
    """Add noise to the products of clusters of these sizes; return their covariances, float64[k, p, p] in steps.

    Those of small clusters are drawn to the mean of all, as far as noise rules.
    """
    scale = clusters.reach**2 * scales.covariances
    noisy = noisy_products(exact.products, scale)
    pooled = noisy.sum(axis=0) / sizes.sum()
    own = noisy / sizes[:, None, None]
    noise = (scale / sizes) ** 2 * clusters.axes * (clusters.axes + 1) / 2
    signal = np.maximum(((own - pooled) ** 2).sum(axis=(1, 2)) - noise, 0)
    share = signal / np.maximum(signal + noise, 1e-300)
    return np.array([_positive((1 - part) * pooled + part * each) for part, each in zip(share, own, strict=True)])


def noisy_group_weights(exact: ClusterCounts, scale: float, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Add noise to the counts of each group's clusters; return the share of each cluster, and the noise on a share.

    They are float64[groups, k] and float64[groups]. weights: the shares of all groups together, which a group has whose
    own counts may be noise; any other share is as likely there.
    """
    noisy = gaussian(FINENESS * exact.counts.reshape(-1), FINENESS * scale).reshape(exact.counts.shape)
    used = np.where(noisy > MIN_GROUP_COUNT * FINENESS * scale, noisy, 0.0)
    totals = used.sum(axis=1)
    shares = np.where(totals[:, None] > 0, used, weights)
    deviation = gaussian_deviation(FINENESS * scale)
    errors = np.where(totals > 0, deviation / np.maximum(totals, deviation), 1.0)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True)), errors


def main_axes(covariance: FloatArray, deviation: float) -> FloatArray:
    """Return the directions of largest variance, as far as they are above noise: float64[p, columns].

    deviation: of the noise on an entry of the diagonal. The largest eigenvalue of noise alone is about √(2d) of them.
    """
    values, vectors = np.linalg.eigh(covariance)
    width = len(values)
    count = int((values > math.sqrt(2 * width) * deviation).sum()) if width > FEW_COLUMNS else width
    return np.asarray(vectors[:, ::-1][:, : min(max(count, 1), MAX_AXES)].T)


def _reach(spread: float) -> int:
    """Return the length to which residuals are clipped. spread: the mean square of residuals, from noisy numbers."""
    return min(max(round(REACH * math.sqrt(max(spread, 0.0))), MIN_REACH), MAX_REACH)


def _on_grid(centers: FloatArray, grid: BallGrid) -> IntArray:
    """Return centres as integers of the grid, not far outside of the ball."""
    return np.rint(np.clip(centers, -2 * grid.steps, 2 * grid.steps)).astype(np.int64)


def _positive(matrix: FloatArray) -> FloatArray:
    """Return the nearest symmetric matrix without negative eigenvalues."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.asarray((vectors * np.maximum(values, 0)) @ vectors.T)

"""net: differences of distances between near queries, each with noise of its own size. docs/proofs/net.md.

Two queries that are near one another are about equally far from any record, so that little noise hides a record in the
difference of their sums. A difference is clipped to the queries' public distance: privacy does not rest on the triangle
inequality, which is the user's promise.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from milepost._typing import FloatArray, IntArray
from milepost.mechanisms.base import Prediction, QueryDesign, QueryMechanism
from milepost.mechanisms.noise_quantiles import min_mixture_quantile
from milepost.mechanisms.query.links import MIDDLE, Links, lengths_between
from milepost.mechanisms.query.mesh import Mesh
from milepost.mechanisms.query.noisy_sums import NoisySums
from milepost.mechanisms.query.tree import Tree
from milepost.mechanisms.totals import Total
from milepost.privacy.guarantee import Guarantee
from milepost.privacy.noise import ETA, gaussian_each, laplace_each
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.embeddings.embedding import QUANTA
from milepost.spaces.queries import Queries
from milepost.statistics.distance_sums import DistanceSums

SLACK = 1 + 1e-12  # rounding of a few float operations, always to the private side


class LinkDesign(Protocol):
    """Links with noise of relative scales, and the noise of the queries' sums: mesh and tree."""

    @property
    def links(self) -> Links:
        """The links whose differences are summed."""

    @property
    def scales(self) -> FloatArray:
        """The relative scale of each link's noise."""

    @property
    def variances(self) -> FloatArray:
        """The variances of the queries' sums."""

    @property
    def kurtoses(self) -> FloatArray:
        """The excess kurtoses of the queries' sums."""

    def sums(self, noisy: IntArray) -> IntArray:
        """Return the queries' sums from noisy links."""


@dataclass(frozen=True, eq=False)
class NetDesign(QueryDesign):
    """The noise that a guarantee allows, of scale unit·shape.scales: on the mesh with δ > 0, else on the tree."""

    designs: "LinkDesigns"
    unit: float

    @property
    def shape(self) -> LinkDesign:
        """The links that get noise."""
        return self.designs.shape(self.pure)

    @property
    def summands(self) -> int:
        """The number of links, those of both shapes together."""
        return len(self.designs)

    @property
    def group_draws(self) -> int:
        """One for each link that gets noise."""
        return len(self.shape.links)

    @property
    def scales(self) -> tuple[float, float]:
        """The largest and the smallest scale of a link."""
        return self.unit * float(self.shape.scales.max()), self.unit * float(self.shape.scales.min())

    @cached_property
    def prediction(self) -> Prediction:
        """The error; where the number of rows is public, the release reports exactly the same."""
        total = Total.of(self.n, self.total_scale, self.pure)
        return self.noisy_sums(total, np.full(self.queries.count, -total.size * (QUANTA // 4))).prediction()

    def add_noise(self, statistic: DistanceSums, group: int, draw_total: Callable[[], Total]) -> NoisySums:
        """Add the noise to the links, and solve for the sums of distances."""
        total = draw_total()
        return self.noisy_sums(
            total, self.shape.sums(self.noisy_links(statistic.values[group, self.designs.part(self.pure)]))
        )

    def noisy_links(self, exact: IntArray) -> IntArray:
        """Return the links with noise, each of its own scale."""
        return (laplace_each if self.pure else gaussian_each)(exact, self.unit * self.shape.scales)

    def noisy_sums(self, total: Total, sums: IntArray) -> NoisySums:
        """Return sums together with the law of their noise."""
        # a sum follows its links with a share of at most 1 each, so that η of every link adds at most this
        extra = 0.0 if self.pure else ETA * math.sqrt(self.group_draws)
        deviations = np.hypot(self.unit * np.sqrt(self.shape.variances), extra)
        anchors = np.full(self.queries.count, MIDDLE)
        return NoisySums(self.mechanism, self.queries, total, sums, anchors, deviations, self.shape.kurtoses)


def noise_scales(shape: LinkDesign, change: ProtectedChange, guarantee: Guarantee, pure: bool) -> tuple[float, float]:
    """Return the unit of the links' scales, and the scale of the total's noise.

    Replacing a record changes a link by at most twice its length, adding one by its length.
    """
    moves = shape.links.lengths / shape.scales
    deviation = math.sqrt(float(shape.variances.max()))
    if pure:  # an answer has about a quarter of the total's noise, in diameters
        single = math.fsum(moves)
        off = QUANTA / 4 / (single * deviation / math.sqrt(2))
        split = change.laplace(2 * single, single, guarantee.epsilon, off)
        return split.power * SLACK, split.total
    single = math.fsum(moves**2)
    split = change.gaussian(4 * single, single, guarantee.budget, QUANTA / 4 / (math.sqrt(single) * deviation))
    return math.sqrt(split.power / 2) * SLACK, split.total


@dataclass(frozen=True, eq=False)
class LinkDesigns:
    """Both designs for some queries; a record's summands follow the links of the mesh, then those of the tree.

    lengths: between the queries, as `lengths_between` returns them. The tree is made when it is first needed.
    """

    mesh: Mesh
    lengths: IntArray

    @cached_property
    def tree(self) -> Tree:
        """The tree, of links of the mesh."""
        return Tree.of(self.lengths, self.mesh.links)

    @classmethod
    def of(cls, queries: Queries) -> "LinkDesigns":
        """Return the designs, computed once for each list of queries; copies on other computers have the same links."""
        if Net.name not in queries.mechanism_cache:
            lengths = lengths_between(queries)
            queries.mechanism_cache[Net.name] = cls(Mesh.of(lengths), lengths)
        result: LinkDesigns = queries.mechanism_cache[Net.name]
        return result

    def __len__(self) -> int:
        return len(self.mesh.links) + len(self.tree.links)

    def shape(self, pure: bool) -> LinkDesign:
        """Return the tree if pure, else the mesh."""
        return self.tree if pure else self.mesh

    def part(self, pure: bool) -> slice:
        """Return the slice of the tree's links if pure, else of the mesh's."""
        return slice(len(self.mesh.links), None) if pure else slice(len(self.mesh.links))


@dataclass(frozen=True)
class Net(QueryMechanism):
    """Noise on differences: Gaussian with δ > 0, pure ε otherwise, whatever the distance is."""

    name = "net"
    pure = False
    all_gaussian = True
    statistic = NoisySums

    def summands(self, queries: Queries, quanta: IntArray) -> IntArray:
        """Return differences along links, clipped to the links' lengths."""
        designs = LinkDesigns.of(queries)
        return np.concatenate([design.links.differences(quanta) for design in (designs.mesh, designs.tree)], axis=1)

    def error_bound(self, public: Queries, n: int, change: ProtectedChange, guarantee: Guarantee) -> float:
        """Return the error of one query alone, which no number of queries can have less than.

        Every path from a query ends in a link to the root, whose length is half the diameter. Conductances of these
        links are in sum at most budget/(2·length²), and the resistance of all links cannot be less than theirs; the
        scale of one of them is at least 2·length/ε where costs add up. Half of that where only adding is protected.
        """
        budget = guarantee.budget / change.multiple ** (1 if guarantee.pure else 2)
        deviation = math.sqrt(2) / budget if guarantee.pure else math.sqrt(1 / (2 * budget))
        error = min_mixture_quantile(0.05) * deviation * (1.0 if change.replaces else 0.5) * public.diameter / n
        return min(error, public.max_range)

    def design(self, public: Queries, n: int, change: ProtectedChange, guarantee: Guarantee) -> NetDesign:
        """Return the noise of the mesh with δ > 0, else of the tree."""
        designs, pure = LinkDesigns.of(public), guarantee.pure
        unit, total = noise_scales(designs.shape(pure), change, guarantee, pure)
        return NetDesign(self.name, n, change, total, pure, public, designs, unit)

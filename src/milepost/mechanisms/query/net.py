"""net: differences of distances between near queries, each with noise of its own size. docs/proofs/net.md.

Two queries that are near one another are about equally far from any record, so that little noise hides a record in the
difference of their sums. A difference is clipped to the queries' public distance: privacy does not rest on the triangle
inequality, which is the user's promise.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from milepost._typing import FloatArray, IntArray
from milepost.mechanisms.base import Prediction, check_sums
from milepost.mechanisms.query.links import MIDDLE, Links, lengths_between
from milepost.mechanisms.query.mesh import Mesh
from milepost.mechanisms.query.noisy_sums import NoisySums
from milepost.mechanisms.query.tree import Tree
from milepost.mechanisms.totals import Total, check_total_scale
from milepost.privacy.guarantee import Guarantee
from milepost.privacy.noise import check_scale, gaussian, laplace
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
class NetNoise:
    """The noise that a guarantee allows: of scale unit·scales on the links, and of scale `total` on the total."""

    design: LinkDesign
    pure: bool
    unit: float
    total: float

    @classmethod
    def of(cls, shape: LinkDesign, change: ProtectedChange, guarantee: Guarantee, pure: bool) -> "NetNoise":
        """Return the noise; replacing a record changes a link by at most twice its length, adding one by its length."""
        moves = shape.links.lengths / shape.scales
        deviation = math.sqrt(float(shape.variances.max()))
        if pure:  # an answer has about a quarter of the total's noise, in diameters
            single = math.fsum(moves)
            off = QUANTA / 4 / (single * deviation / math.sqrt(2))
            split = change.laplace(2 * single, single, guarantee.epsilon, off)
            return cls(shape, pure, split.power * SLACK, split.total)
        single = math.fsum(moves**2)
        split = change.gaussian(4 * single, single, guarantee.rho, QUANTA / 4 / (math.sqrt(single) * deviation))
        return cls(shape, pure, math.sqrt(split.power / 2) * SLACK, split.total)

    def check(self) -> None:
        """Refuse noise that does not fit, before data is touched."""
        for scale in (self.unit * float(self.design.scales.max()), self.unit * float(self.design.scales.min())):
            check_scale(scale)
        check_total_scale(self.total)

    def add_noise(self, exact: IntArray) -> IntArray:
        """Return the links with noise, drawn for all links of one scale together."""
        add: Callable[[IntArray, float], IntArray] = laplace if self.pure else gaussian
        result = np.empty_like(exact)
        for scale in np.unique(self.design.scales).tolist():
            chosen = self.design.scales == scale
            result[chosen] = add(exact[chosen], self.unit * scale)
        return result

    def noisy_sums(self, queries: Queries, total: Total, sums: IntArray) -> NoisySums:
        """Return sums together with the law of their noise."""
        deviations = self.unit * np.sqrt(self.design.variances)
        anchors = np.full(queries.count, MIDDLE)
        return NoisySums(Net.name, queries, total, sums, anchors, deviations, self.design.kurtoses)

    def prediction(self, queries: Queries, n: int) -> Prediction:
        """Return the error for n records; the noise is known beforehand, the noisy total to divide by is not."""
        total = Total(n, self.total, self.pure)
        return self.noisy_sums(queries, total, np.full(queries.count, -total.size * (QUANTA // 4))).prediction()


@dataclass(frozen=True, eq=False)
class LinkDesigns:
    """Both designs for some queries; a record's summands follow the links of the mesh, then those of the tree."""

    mesh: Mesh
    tree: Tree

    @classmethod
    def of(cls, queries: Queries) -> "LinkDesigns":
        """Return the designs, computed once for each list of queries; copies on other computers have the same links."""
        if Net.name not in queries.mechanism_cache:
            lengths = lengths_between(queries)
            mesh = Mesh.of(lengths)
            queries.mechanism_cache[Net.name] = cls(mesh, Tree.of(lengths, mesh.links))
        result: LinkDesigns = queries.mechanism_cache[Net.name]
        return result

    def __len__(self) -> int:
        return len(self.mesh.links) + len(self.tree.links)

    def part(self, pure: bool) -> slice:
        """Return the slice of the tree's links if pure, else of the mesh's."""
        return slice(len(self.mesh.links), None) if pure else slice(len(self.mesh.links))

    def noise(self, change: ProtectedChange, guarantee: Guarantee) -> NetNoise:
        """Return the noise of the mesh with δ > 0, else of the tree."""
        noise = NetNoise.of(self.tree if guarantee.pure else self.mesh, change, guarantee, guarantee.pure)
        noise.check()
        return noise


@dataclass(frozen=True)
class Net:
    """Noise on differences: ρ-zCDP with δ > 0, pure ε otherwise, whatever the distance is."""

    name: ClassVar[str] = "net"
    pure: ClassVar[bool] = False

    def check(self, change: ProtectedChange, guarantee: Guarantee) -> None:
        """Accept any change and any guarantee."""

    def predict(self, queries: Queries, n: int, change: ProtectedChange, guarantee: Guarantee) -> Prediction:
        """Return the error; where the number of rows is public, the release reports exactly the same."""
        return LinkDesigns.of(queries).noise(change, guarantee).prediction(queries, n)

    def summands(self, queries: Queries, quanta: IntArray) -> IntArray:
        """Return differences along links, clipped to the links' lengths."""
        designs = LinkDesigns.of(queries)
        return np.concatenate([design.links.differences(quanta) for design in (designs.mesh, designs.tree)], axis=1)

    def run(
        self,
        sums: DistanceSums,
        queries: Queries,
        change: ProtectedChange,
        guarantee: Guarantee,
        n: int | None = None,
        group: int = 0,
    ) -> NoisySums:
        """Add the noise, and solve for the sums of distances."""
        designs = LinkDesigns.of(queries)
        exact = check_sums(sums, len(designs), change, n, group)
        noise = designs.noise(change, guarantee)
        total = Total.draw(exact, noise.total, noise.pure)
        noisy_links = noise.add_noise(sums.values[group, designs.part(noise.pure)])
        return noise.noisy_sums(queries, total, noise.design.sums(noisy_links))

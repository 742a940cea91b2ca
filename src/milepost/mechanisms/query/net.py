"""net: differences of distances between near queries, each with noise of its own size. docs/proofs/net.md.

Two queries that are near one another are about equally far from any record, so that little noise hides a record in the
difference of their sums. A difference counts for no more than the queries' public distance: privacy does not rest on
the triangle inequality, which is the user's promise.
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
    """Links with noise of relative scales, and what the queries' sums have of it: mesh and tree."""

    @property
    def links(self) -> Links:
        """What is counted."""

    @property
    def scales(self) -> FloatArray:
        """Of each link's noise."""

    @property
    def variances(self) -> FloatArray:
        """Of the queries' sums."""

    @property
    def kurtoses(self) -> FloatArray:
        """The excess kurtoses of their noise."""

    def sums(self, noisy: IntArray) -> IntArray:
        """From noisy links to the queries' sums."""


@dataclass(frozen=True, eq=False)
class NetNoise:
    """What a guarantee pays for: links with noise of scale unit·scales on each, and the scale of the total's."""

    shape: LinkDesign
    pure: bool
    unit: float
    total: float

    @classmethod
    def of(cls, shape: LinkDesign, change: ProtectedChange, guarantee: Guarantee, pure: bool) -> "NetNoise":
        """A replaced record moves a link by at most twice its length, one record more by its length."""
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
        for scale in (self.unit * float(self.shape.scales.max()), self.unit * float(self.shape.scales.min())):
            check_scale(scale)
        check_total_scale(self.total)

    def added(self, exact: IntArray) -> IntArray:
        """Noise on every link; those of one scale together."""
        add: Callable[[IntArray, float], IntArray] = laplace if self.pure else gaussian
        result = np.empty_like(exact)
        for scale in np.unique(self.shape.scales).tolist():
            chosen = self.shape.scales == scale
            result[chosen] = add(exact[chosen], self.unit * scale)
        return result

    def noisy(self, queries: Queries, total: Total, sums: IntArray) -> NoisySums:
        """Sums with the noise that those of this shape have."""
        deviations = self.unit * np.sqrt(self.shape.variances)
        anchors = np.full(queries.count, MIDDLE)
        return NoisySums(Net.name, queries, total, sums, anchors, deviations, self.shape.kurtoses)

    def prediction(self, queries: Queries, n: int) -> Prediction:
        """For n records; the noise is known beforehand but, where the total is private, not what is divided by."""
        total = Total(n, self.total, self.pure)
        return self.noisy(queries, total, np.full(queries.count, -total.size * (QUANTA // 4))).prediction()


@dataclass(frozen=True, eq=False)
class LinkDesigns:
    """Both shapes of some queries; a record is counted along the links of the mesh, then along those of the tree."""

    mesh: Mesh
    tree: Tree

    @classmethod
    def of(cls, queries: Queries) -> "LinkDesigns":
        """Found once for each list of queries; a copy that other computers count along has the same links."""
        if Net.name not in queries.for_queries:
            lengths = lengths_between(queries)
            mesh = Mesh.of(lengths)
            queries.for_queries[Net.name] = cls(mesh, Tree.of(lengths, mesh.links))
        result: LinkDesigns = queries.for_queries[Net.name]
        return result

    def __len__(self) -> int:
        return len(self.mesh.links) + len(self.tree.links)

    def part(self, pure: bool) -> slice:
        """Where the links of a shape stand."""
        return slice(len(self.mesh.links), None) if pure else slice(len(self.mesh.links))

    def noise(self, change: ProtectedChange, guarantee: Guarantee) -> NetNoise:
        """With δ > 0 that of the mesh, else the tree's."""
        found = NetNoise.of(self.tree if guarantee.pure else self.mesh, change, guarantee, guarantee.pure)
        found.check()
        return found


@dataclass(frozen=True)
class Net:
    """Noise on differences: ρ-zCDP with δ > 0, pure ε otherwise, whatever the distance is."""

    name: ClassVar[str] = "net"
    pure: ClassVar[bool] = False

    def check(self, change: ProtectedChange, guarantee: Guarantee) -> None:
        """Any change and any guarantee."""

    def predict(self, queries: Queries, n: int, change: ProtectedChange, guarantee: Guarantee) -> Prediction:
        """To the bit what the release will say, where the number of rows is public."""
        return LinkDesigns.of(queries).noise(change, guarantee).prediction(queries, n)

    def counted(self, queries: Queries, quanta: IntArray) -> IntArray:
        """Differences along links, cut to the links' lengths."""
        shapes = LinkDesigns.of(queries)
        return np.concatenate([shape.links.counted(quanta) for shape in (shapes.mesh, shapes.tree)], axis=1)

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
        shapes = LinkDesigns.of(queries)
        exact = check_sums(sums, len(shapes), change, n, group)
        noise = shapes.noise(change, guarantee)
        total = Total.draw(exact, noise.total, noise.pure)
        noisy = noise.added(sums.values[group, shapes.part(noise.pure)])
        return noise.noisy(queries, total, noise.shape.sums(noisy))

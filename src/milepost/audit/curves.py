"""Cases of slopes and hats: one record moves, and the outcome is every released number."""

from collections.abc import Iterator, Sequence

import numpy as np

from milepost.arrays import FloatArray
from milepost.audit.case import Case, Draw, Outcomes, gaussian_ratio, laplace_ratio, sketch_of
from milepost.audit.claims import Claim, Pure, gaussian
from milepost.mechanisms import schauder
from milepost.mechanisms.base import HostMechanism
from milepost.mechanisms.hats import Hats, HatSags
from milepost.mechanisms.slopes import SlopeCounts, Slopes, scales_of
from milepost.privacy.change import Change
from milepost.privacy.guarantee import Guarantee
from milepost.spaces.base import QUANTA, QUANTUM_BITS, Space
from milepost.spaces.lp import L1, L2
from milepost.statistics.sketch import Sketch

CELLS = 64  # of the sketches: enough for tables of two records


def slopes_cases() -> Iterator[Case]:
    """The ends of the space, where the claim is reached exactly; steps; and a pair inside, which pays by its distance.

    A pair at distance d costs ρ·d/reach by the proof, so that is the claim of the third case. Last, two ends of a disc,
    in the middle between two directions, where the sum over directions is largest; images lie inside cells, so that the
    loss is 0.986 of the claim.
    """
    guarantee = Guarantee(7.0, 1e-6)
    plane, steps, line = L1([(0, 1), (0, 1)]), L1([(0, 4)], step=1), L1([(0, 1)])
    cases: tuple[tuple[Space, tuple[Sequence[float], Sequence[float]], float, str], ...] = (
        (plane, ([0, 0], [1, 1]), 1.0, "one of 2 records from corner to corner, d = 2"),
        (steps, ([0], [4]), 1.0, "one of 2 records from end to end, in steps"),
        (line, ([0.3], [0.9]), 0.6, "one of 2 records by 0.6 of the interval"),
        (L2(center=[0, 0], radius=1, directions=4), ([0, -1], [0, 1]), 1.0, "one of 2 records across a disc"),
    )
    for space, ends, distance, tables in cases:
        pair = [sketch_of(space, [end, ends[0]], CELLS) for end in ends]
        made = Slopes().run(pair[0], space.hosts, Change(), guarantee)
        scales = scales_of(space.hosts, made.power, list(made.bits))
        scale = np.repeat(scales, [len(counts) for counts in made.counts])
        exact = [_counts(sketch, made) for sketch in pair]
        claim = gaussian(guarantee.rho * distance)
        draws = [_draw(Slopes(), space, sketch, guarantee, exact, scale) for sketch in pair]
        yield Case(Slopes.name, tables, claim, *draws)


def _counts(sketch: Sketch, made: SlopeCounts) -> FloatArray:
    parts = [
        sketch.only(i).coarsen(1 << (QUANTUM_BITS - made.bits[i])).cumulative()[0, : len(noisy)]
        for i, noisy in enumerate(made.counts)
    ]
    return np.concatenate(parts).astype(np.float64)


def hats_cases() -> Iterator[Case]:
    """In each coordinate the pair of places of largest loss, found by trying all pairs of cell borders."""
    guarantee = Guarantee(5.0)
    for space, tables in (
        (L1([(0, 1)]), "the only record, between the worst two places"),
        (L1([(0, 1), (0, 1)], weights=[1, 3]), "the only record, between the worst two places, d = 2"),
    ):
        dimension = space.hosts.dimension
        made = Hats().run(sketch_of(space, [[0] * dimension], CELLS), space.hosts, Change(), guarantee)
        scales = [sag_scales(made, i) for i in range(dimension)]
        places = [_worst_places(scale) for scale in scales]
        pair = [sketch_of(space, [[place[side] for place in places]], CELLS) for side in (0, 1)]
        exact = [_sags(sketch, made) for sketch in pair]
        claim: Claim = Pure(guarantee.epsilon)
        draws = [_draw(Hats(), space, sketch, guarantee, exact, np.concatenate(scales)) for sketch in pair]
        yield Case(Hats.name, tables, claim, *draws)


def sag_scales(made: HatSags, i: int) -> FloatArray:
    """The scale of each coefficient's noise in coordinate i."""
    levels = QUANTUM_BITS - made.bits[i]
    sizes = [part.stop - part.start for part in schauder.parts(levels)]
    return np.repeat(schauder.scales(levels) * (QUANTA / made.epsilons[i]), sizes)


def _worst_places(scale: FloatArray) -> tuple[float, float]:
    """Two shares of the interval with the largest Σ|change of a sag|/scale."""
    borders = np.arange(len(scale) + 1) * (QUANTA // len(scale))
    marks = schauder.analyse(np.abs(borders[:, None] - borders)) / scale
    losses = np.abs(marks[:, None] - marks).sum(axis=2)
    left, right = np.unravel_index(np.argmax(losses), losses.shape)
    return float(borders[left] / QUANTA), float(borders[right] / QUANTA)


def _sags(sketch: Sketch, made: HatSags) -> FloatArray:
    parts = [
        schauder.analyse(sketch.only(i).coarsen(1 << (QUANTUM_BITS - bits)).borders().value[0])
        for i, bits in enumerate(made.bits)
    ]
    return np.concatenate(parts).astype(np.float64)


def _draw(
    mechanism: HostMechanism,
    space: Space,
    sketch: Sketch,
    guarantee: Guarantee,
    exact: Sequence[FloatArray],
    scale: FloatArray,
) -> Draw:
    ratio = laplace_ratio if guarantee.pure else gaussian_ratio

    def score() -> float:
        released = mechanism.run(sketch, space.hosts, Change(), guarantee).tensors()
        return ratio(released["numbers"], exact[0], exact[1], scale)

    return lambda runs: Outcomes.of(score=np.array([score() for _ in range(runs)]))

"""The noise of anchored slopes ÷ single: the worst by its formula in balls, boxes and caps, tied to measurement.

single: the worst-placed query answered alone, a Gaussian of deviation diameter/(n·μ). The formula does not depend on
noise. At some sizes the noise of real releases is measured at a query on the border: the same exact sketch is released
twice, and the differences of each coordinate are compared with their law, whose sum is the formula.
"""

import math

import numpy as np
from scipy import stats

import milepost as mp
from bench.run import FALSE_ALARM, Bounds
from milepost.mechanisms.coordinate.slopes import Slopes, max_anchored_variance, split_of
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.base import Space
from milepost.statistics.sketch import Sketch
from milepost.statistics.statistic_spec import RecordBlock

GUARANTEE = mp.Guarantee(1, 1e-6)
CHANGES = {
    "replace": ProtectedChange(),
    "add-remove": ProtectedChange("add-remove"),
    "3 groups": ProtectedChange(groups=3),
}
BALL_BOUNDS = {2: 1.16, 4: 1.25, 10: 1.25, 64: 1.25, 768: 1.25}
MEASURED = (2, 10, 64)
N = 100  # records of a measured release: few, so that it has few cells


def directions_for(dimension: int) -> int:
    """Return a number of directions at which random ones are close to their mean."""
    return 256 if dimension < 4 else max(2048, 8 * dimension)


def ratio(space: Space, change: ProtectedChange) -> tuple[float, bool]:
    """Return the largest deviation of an answer's noise ÷ single, and whether answers are counted from an anchor."""
    split = split_of(space.embedding, change, GUARANTEE)
    single = space.diameter / math.sqrt(2 * GUARANTEE.budget)
    return math.sqrt(split.power * split.width / 2) / single, split.constant is not None


def noise_rows(check: bool, bounds: Bounds) -> None:
    """Print the largest noise of balls, boxes and caps, and compare it with measurement."""
    print("Largest noise of an answer ÷ single, by formula (n of groups: of one group)")
    print(f"  {'space':<16}" + "".join(f"{name:>12}" for name in CHANGES))
    for dimension, bound in BALL_BOUNDS.items():
        count = directions_for(dimension)
        spaces = {
            "ball": mp.L2(center=[0] * dimension, radius=1, directions=count),
            "box": mp.L2([(0, 1)] * dimension, directions=count),
        }
        for name, space in spaces.items():
            _row(f"{name}, d = {dimension}", space, bounds, bound)
    for radius in (40, 1000, 3000, 6000, 10_000):
        _row(f"cap, {radius:,} km", mp.GreatCircle((52.5, 13.4), radius, directions=256), bounds, 1.16)
    print("Measured ÷ claimed deviation of the coordinates' noise in real releases, at a query on the border")
    for dimension in MEASURED:
        _measure(dimension, 5_000 if check else 50_000, bounds)


def _row(name: str, space: Space, bounds: Bounds, bound: float) -> None:
    ratios = {key: ratio(space, change) for key, change in CHANGES.items()}
    cells = [bounds.at_most(f"{name}: noise ÷ single", ratios["replace"][0], bound)]
    cells += [f"{ratios[key][0]:.3g}" for key in ratios if key != "replace"]
    print(f"  {name:<16}" + "".join(f"{cell:>12}" for cell in cells) + "  anchored" * ratios["replace"][1])


def _measure(dimension: int, draws: int, bounds: Bounds) -> None:
    """Compare the noise of each coordinate of real releases with its law, and the law of their sum with the formula.

    The exact sketch is the same, so that two releases differ by noise alone. Coordinates have independent noise, but
    for the mean distance to the anchor, of which each has a D-th: less than 10⁻³ of its variance.
    """
    generator = np.random.default_rng(dimension)
    count = 16 if dimension == 2 else 8 * dimension
    space = mp.L2(center=[0] * dimension, radius=1, directions=count)
    people = 0.3 * generator.standard_normal((N, dimension)) / math.sqrt(dimension)
    sketch = Sketch.spec(space).of(RecordBlock(space.read(people)))
    border = generator.standard_normal((1, dimension))
    position = space.position(border / np.linalg.norm(border))[0]
    design = Slopes().design(space.embedding, N, ProtectedChange(), GUARANTEE)
    variances = np.array([float(noise.variance(position[[i]])[0]) for i, noise in enumerate(design.noises)])
    squares, pairs = 0.0, -(-draws // count)
    for _ in range(pairs):
        first, second = (
            np.array([float(part.at(position[i])) for i, part in enumerate(design.run(sketch).functions(raw=True))])
            for _ in range(2)
        )
        squares += float(((first - second) ** 2 / (2 * variances)).sum())
    freedom = pairs * count
    factor = math.sqrt(squares / freedom)
    low, high = (math.sqrt(stats.chi2(freedom).ppf(p) / freedom) for p in (FALSE_ALARM, 1 - FALSE_ALARM))
    bounds.at_most(f"d = {dimension}: measured ÷ claimed noise", factor, high)
    bounds.at_most(f"d = {dimension}: claimed ÷ measured noise", 1 / factor, 1 / low)
    shared = (design.max_noise_variance or 0.0) - max_anchored_variance(space.embedding, design.power, N)
    here = math.sqrt(float(variances.sum()) + shared) / math.sqrt(design.max_noise_variance or math.inf)
    bounds.at_most(f"d = {dimension}: noise at the border ÷ the largest by formula", here, 1.02)
    print(
        f"  d = {dimension:<4} D = {count:<6}{factor:>8.3f} in {freedom:,} draws{here:>8.3f} of the largest by formula"
    )

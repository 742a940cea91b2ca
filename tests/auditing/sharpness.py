"""How much of each claim the slow audit must see; `python -m tests.auditing.sharpness` resamples what it sees.

A case is sharp where the audit measures much of the loss that is claimed: it would refute a claim of less. The floors
in SHARPNESS lie SAFE standard deviations or more below the mean of resampled runs, so that noise fails none of them.
"""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from statistics import mean, stdev

from milepost.auditing import Case, examine
from milepost.auditing.cases import shipped_cases
from milepost.auditing.report import Finding
from tests.chance import FALSE_ALARM
from tests.drawn_ahead import drawn_ahead

SAFE = 6.1  # standard deviations: a normal law passes them once in 10⁹ runs
FEW, MANY, OF_FEW = 15_000, 80_000, 0.2  # where many numbers differ, fewer samples are drawn: then MANY are requested


@cache
def cached_cases() -> list[Case]:
    """Return the shipped cases; the search for their worst tables runs once."""
    return shipped_cases()


@dataclass(frozen=True)
class Sharpness:
    """How many samples of a mechanism's cases are requested, and the share of the claim that they must see.

    Of the pair's true loss where it is known. Of the tangents' offline claim little is seen: it divides its budget
    among epochs that no pair of tables is known to use up.
    """

    mechanism: str
    samples: int
    floor: float
    pair: str = ""  # how the name of the pair begins

    @property
    def cases(self) -> list[Case]:
        return [case for case in cached_cases() if case.mechanism == self.mechanism and case.pair.startswith(self.pair)]

    def examine_cases(self) -> Iterator[tuple[Finding, float, float]]:
        """Yield for each case the finding, the share of the claim that the audit saw, and the floor for this share."""
        cases = self.cases
        for case in cases:
            few = case.exact is not None and case.samples(self.samples) < FEW
            with drawn_ahead():
                finding = examine(case, MANY if few else self.samples, FALSE_ALARM / len(cases))
            yield finding, finding.measured / (case.exact or case.claim.loss), OF_FEW if few else self.floor


SHARPNESS = {
    **{
        name: Sharpness(name, 30_000, 0.35)
        for name in ("slopes", "hats", "laplace", "net", "basis", "field", "quadtree")
    },
    "gaussian": Sharpness("gaussian", 30_000, 0.5),
    "noise": Sharpness("noise", 100_000, 0.8),
    "sparse-vector": Sharpness("sparse-vector", 100_000, 0.3),
    "bounds": Sharpness("bounds", 2000, 0.12),
    "ball": Sharpness("ball", 8000, 0.08),
    "model": Sharpness("model", 3000, 0.08),
    "class-means": Sharpness("class-means", 3000, 0.1),
    "tangents, two coordinates": Sharpness("tangents", 4000, 0.01, "lines, one of 205"),
    "tangents, one coordinate": Sharpness("tangents", 2000, 0.01, "lines, one of 71"),
    "tangents, two points": Sharpness("tangents", 2000, 0.02, "lines, one of 101"),
    "tangents, sessions": Sharpness("tangents", 2000, 0.14, "session"),
}


def main() -> None:
    """Print how far each floor is below what is seen; exit 1 where one is too near."""
    parser = argparse.ArgumentParser(prog="python -m tests.auditing.sharpness", description=__doc__)
    parser.add_argument("names", nargs="*", help="which; all of them if none are given", metavar="name")
    parser.add_argument("--runs", type=int, default=20)
    options = parser.parse_args()
    too_near = False
    for name in options.names or SHARPNESS:
        runs = [[*SHARPNESS[name].examine_cases()] for _ in range(options.runs)]
        for case in zip(*runs, strict=True):
            shares, floor = [share for _, share, _ in case], case[0][2]
            deviations = (mean(shares) - floor) / max(stdev(shares), 1e-12)
            too_near |= deviations < SAFE
            print(f"{name}: {case[0][0].case.pair}: {mean(shares):.3f} ± {stdev(shares):.3f},", end=" ")
            print(f"floor {floor:g}, {deviations:.1f} standard deviations away", flush=True)
    sys.exit(too_near)


if __name__ == "__main__":
    main()

"""`python -m bench.peers`: compare Milepost with the alternatives at equal ε, δ and neighboring relation.

Without options: create the peers' environment if it does not exist, run everything, and print the tables.
"""

import argparse
import math
import sys

from bench.accuracy import EPSILON
from bench.peers import city, environment, milepost_release, page
from bench.peers.comparison import QUICK, SPACES, Scope, compare, single
from bench.peers.job import PLACES, Job, Table
from bench.peers.results import PATH, Results
from bench.run import Bounds, squares_of

# Pure ε, L2 in the plane: for 1,000 people, the rms error is 2.9 × single by its analytic variance. If all errors of a
# release were one Gaussian draw, the measured rms of 200 releases would exceed the true one by a factor of 1.31 with
# probability 1e-9 (`gaussian_factor`): 2.9 × 1.31 = 3.8. The errors are several draws, so false alarms are rarer still.
PLANAR_RELEASES, PLANAR_BOUND = 200, 4.0


def planar_error() -> float:
    """Return Milepost's typical error ÷ single under pure ε for 1,000 people in the plane with L2.

    The error is measured at every twentieth place, which takes a twentieth of the time.
    """
    job = Job("l2", 2, 1_000, PLACES, EPSILON, 0.0, "replace", PLANAR_RELEASES)
    table = city.table_of(job)
    some = Table(table.people, table.places[::20], table.means[::20])
    squares = squares_of(milepost_release.answer(job, some).answers - some.means)
    return math.sqrt(squares.mean()) / single(job)


def check() -> int:
    """Run a small size with the peers of the development environment; return 1 if Milepost is not ahead as expected."""
    print("Only OpenDP, NumPy and SciPy, which development needs anyway: mbi and JAX would take a minute to install.")
    results = Results(compare(QUICK))
    bounds = Bounds()
    for approximate in (True, False):
        ours = results.typical("Milepost", 10_000, approximate)
        words = f"10,000 places, {'δ = 1e-6' if approximate else 'pure ε'}: Milepost ÷"
        flat = ours / results.typical("OpenDP, per query", 10_000, approximate)
        print(f"{words} OpenDP per query {bounds.at_most(f'{words} OpenDP per query', flat, 0.1)} (bound 0.1)")
        print(f"{words} OpenDP tree {ours / results.typical('OpenDP, tree', 10_000, approximate):.3g}")
    words = "all places, pure ε, L2 in the plane, 1,000 people: Milepost ÷ single"
    print(f"{words} {bounds.at_most(words, planar_error(), PLANAR_BOUND)} (bound {PLANAR_BOUND:g})")
    for miss in bounds.missed:
        print("MISSED", miss)
    return 1 if bounds.missed else 0


def main() -> int:
    """Parse the arguments and run the command."""
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__)
    parser.add_argument("--check", action="store_true", help="a small size; exit 1 when a bound is missed")
    parser.add_argument("--setup", action="store_true", help="only set up .venv-peers")
    parser.add_argument("--write", action="store_true", help="run, then write the results, the page and the picture")
    parser.add_argument("--redraw", action="store_true", help="write page and picture from the stored results")
    parser.add_argument("--headline", action="store_true", help="print the README's table from the stored results")
    parser.add_argument("--only", action="append", help="with --write: run this file again, keep what others found")
    metrics = tuple(dict.fromkeys(metric for metric, _ in SPACES))
    parser.add_argument("--space", action="append", choices=metrics, help="with --only: run only this kind of space")
    options = parser.parse_args()
    if options.space and not options.only:
        parser.error("--space needs --only")  # without it, the results of other spaces would be lost
    if options.check:
        return check()
    if options.setup:
        for package, why in environment.set_up().items():
            print(f"{package} does not install: {why}")
        return 0
    if options.headline:
        print(page.headline(Results.load()))
        return 0
    scope = Scope(spaces=tuple(space for space in SPACES if space[0] in (options.space or metrics)))
    results = Results.load() if options.redraw else Results(compare(scope, tuple(options.only or ())))
    if options.only and PATH.is_file():
        results = Results.load().merge(results)
    if options.write or options.redraw:
        results.save()
        results = Results.load()  # rounded as stored, so that the page and the output agree
        page.write(results)
    print(page.everything(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())

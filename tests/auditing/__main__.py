"""`python -m tests.auditing`: the long audit, and what is known to be wrong. Exit code 1 unless all is as it should."""

import argparse
import math
import sys
from pathlib import Path

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

import milepost as mp
from milepost.auditing import Case, examine
from milepost.reporting.plotting import style
from tests.auditing.known_bad import known_bad_cases


def print_known_bad(console: Console) -> bool:
    """Audit the mechanisms that are known to be wrong, print a table, and return whether all were caught."""
    table = Table(title="Known to be wrong: caught", box=SIMPLE, title_justify="left")
    for name in ("mechanism", "what is wrong"):
        table.add_column(name)
    for name in ("claim", "true loss", "measured", "samples"):
        table.add_column(name, justify="right")
    table.add_column("verdict")
    all_caught = True
    for known_case, samples in known_bad_cases():
        finding = examine(known_case.case, samples)
        claim, loss = known_case.case.claim, "∞" if math.isinf(known_case.true_loss) else f"{known_case.true_loss:.3f}"
        numbers = f"{claim.symbol} ≤ {claim.loss:.3f}", loss, f"{claim.symbol} ≥ {finding.measured:.3f}"
        all_caught &= finding.violated
        verdict = "caught" if finding.violated else "MISSED"
        table.add_row(known_case.case.mechanism, known_case.case.pair, *numbers, f"{samples:,}", verdict)
    console.print(table)
    return all_caught


def main() -> None:
    """Print both tables, and draw the first."""
    parser = argparse.ArgumentParser(prog="python -m tests.auditing", description=__doc__)
    parser.add_argument("--samples", type=int, default=1_000_000, help="of each table")
    parser.add_argument("--plot", type=Path, help="where to draw the findings")
    options = parser.parse_args()
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 170)

    def print_progress(case: Case) -> None:
        print(f"{case.mechanism}: {case.pair}", file=sys.stderr, flush=True)

    report = mp.audit(samples=options.samples, progress=print_progress)
    console.print(report.table("The shipped mechanisms"))
    if options.plot is not None:
        style.check_plot_path(options.plot)
        style.save(report.plot(), options.plot)
    sys.exit(0 if print_known_bad(console) and not report.violated else 1)


if __name__ == "__main__":
    main()

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
from tests.auditing.known_bad import wrong


def caught(console: Console) -> bool:
    """Try what is known to be wrong, and print it; whether all of it was caught."""
    table = Table(title="Known to be wrong: caught", box=SIMPLE, title_justify="left")
    for name in ("mechanism", "what is wrong"):
        table.add_column(name)
    for name in ("claim", "true loss", "measured", "samples"):
        table.add_column(name, justify="right")
    table.add_column("verdict")
    every = True
    for known, samples in wrong():
        finding = examine(known.case, samples)
        claim, loss = known.case.claim, "∞" if math.isinf(known.true_loss) else f"{known.true_loss:.3f}"
        numbers = f"{claim.symbol} ≤ {claim.loss:.3f}", loss, f"{claim.symbol} ≥ {finding.measured:.3f}"
        every &= finding.violated
        verdict = "caught" if finding.violated else "MISSED"
        table.add_row(known.case.mechanism, known.case.pair, *numbers, f"{samples:,}", verdict)
    console.print(table)
    return every


def main() -> None:
    """Both tables, and a picture of the first."""
    parser = argparse.ArgumentParser(prog="python -m tests.auditing", description=__doc__)
    parser.add_argument("--samples", type=int, default=1_000_000, help="of each table")
    parser.add_argument("--plot", type=Path, help="where to draw the findings")
    said = parser.parse_args()
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 170)

    def tell(case: Case) -> None:
        print(f"{case.mechanism}: {case.pair}", file=sys.stderr, flush=True)

    report = mp.audit(samples=said.samples, progress=tell)
    console.print(report.table("The shipped mechanisms"))
    if said.plot is not None:
        style.check_plot_path(said.plot)
        style.save(report.plot(), said.plot)
    sys.exit(0 if caught(console) and not report.violated else 1)


if __name__ == "__main__":
    main()

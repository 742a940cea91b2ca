"""The auditor, and the report of its findings."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from milepost._validation import did_you_mean
from milepost.auditing.case import Case
from milepost.auditing.cases import shipped_cases
from milepost.auditing.event import at_least, at_most, choose
from milepost.errors import MilepostError
from milepost.reporting.plotting import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FALSE_ALARM = 1e-6  # of a whole report, if every claim is true
MIN_SAMPLES = 100
MAX_SHARE = 2.0  # end of the axis; a wrong mechanism may be far beyond


@dataclass(frozen=True)
class Finding:
    """One case, audited: the loss is at least `measured`, except with probability `false_alarm`.

    hits: counts of the event on the table that gives it more often, and on the other, in `tested` runs of each.
    A lower bound can refute a claim and never proves one: "consistent" means that this test saw nothing wrong.
    """

    case: Case
    measured: float
    hits: tuple[int, int]
    tested: int
    samples: int
    false_alarm: float

    @property
    def ratio(self) -> float:
        """Return the measured lower bound as a share of the claim."""
        return self.measured / self.case.claim.loss

    @property
    def exact_ratio(self) -> float | None:
        """Return the pair's true loss as a share of the claim, if it is known."""
        return None if self.case.exact is None else self.case.exact / self.case.claim.loss

    @property
    def violated(self) -> bool:
        """Return whether the claim is refuted, by the measurement or by a known true loss that is larger."""
        return max(self.ratio, self.exact_ratio or 0.0) > 1 + 1e-9

    @property
    def verdict(self) -> str:
        """Return `violated` or `consistent`."""
        return "violated" if self.violated else "consistent"


@dataclass(frozen=True)
class Report:
    """Findings for all cases, with one false-alarm rate for all of them together; print it for a table."""

    findings: tuple[Finding, ...]
    samples: int

    @property
    def violated(self) -> bool:
        """Return whether any claim is refuted."""
        return any(finding.violated for finding in self.findings)

    def table(self, title: str = "") -> Table:
        """Return the report as a rich table; its column `exact` is the true loss of the pair of tables, if known."""
        alarm = sum(finding.false_alarm for finding in self.findings)
        summary = f"{self.samples:,} samples of each table, false-alarm rate {alarm:.2g}"
        table = Table(title=f"{title}: {summary}" if title else summary, box=SIMPLE, title_justify="left")
        for name in ("mechanism", "tables"):
            table.add_column(name)
        for name in ("claim", "exact", "measured", "samples", "share"):
            table.add_column(name, justify="right")
        table.add_column("verdict")
        for finding in self.findings:
            case = finding.case
            symbol, exact = case.claim.symbol, "" if case.exact is None else f"{case.exact:.3f}"
            claim, measured = f"{symbol} ≤ {case.claim.loss:.3f}", f"{symbol} ≥ {finding.measured:.3f}"
            samples, share = f"{finding.samples:,}", f"{finding.ratio:.2f}"
            table.add_row(case.mechanism, case.pair, claim, exact, measured, samples, share, finding.verdict)
        return table

    def plot(self) -> "Figure":
        """Draw the share of its claim that was measured in each case. Needs the `plots` extra."""
        return _draw(self)

    def __str__(self) -> str:
        buffer = StringIO()
        Console(file=buffer, width=170).print(self.table())
        return "\n".join(line.rstrip() for line in buffer.getvalue().splitlines())


def audit(
    *,
    samples: int = 5000,
    mechanism: str | None = None,
    cases: Sequence[Case] | None = None,
    progress: Callable[[Case], object] = lambda _: None,
) -> Report:
    """Try to refute the privacy claims of the mechanisms, by running each many times on two neighboring tables.

    samples: the number of runs on each table, half to choose an event and half to test it; fewer if noise cannot be
    drawn for many runs at once. mechanism: audit only this one. cases: audit these instead of the shipped ones.
    progress: called with each case before it runs.

    Tables are synthetic and noise is unseeded. True claims are all reported "consistent" with probability 1 − 1e-6;
    the converse does not hold: an audit can only refute.

    >>> import milepost as mp
    >>> mp.audit(samples=1000, mechanism="noise").violated
    False
    """
    if isinstance(samples, bool) or not isinstance(samples, int | np.integer) or samples < MIN_SAMPLES:
        raise MilepostError(f"samples must be a whole number of at least {MIN_SAMPLES}, got {samples!r}")
    selected_cases = list(shipped_cases() if cases is None else cases)
    if mechanism is not None:
        names = list(dict.fromkeys(case.mechanism for case in selected_cases))
        if mechanism not in names:
            hint = did_you_mean(mechanism, names)
            raise MilepostError(f"unknown mechanism {mechanism!r}; choose from {', '.join(names)}{hint}")
        selected_cases = [case for case in selected_cases if case.mechanism == mechanism]
    findings = []
    for case in selected_cases:
        progress(case)
        findings.append(examine(case, int(samples), FALSE_ALARM / len(selected_cases)))
    return Report(tuple(findings), int(samples))


def examine(case: Case, samples: int, false_alarm: float = FALSE_ALARM) -> Finding:
    """Choose an event on the first half of the runs and bound the loss by the second half's counts alone."""
    runs = case.samples(samples)
    left, right = case.draw(runs)
    first, second = slice(0, runs // 2), slice(runs // 2, runs)
    test_runs = runs - runs // 2
    event = choose(case.claim, left.part(first), right.part(first), false_alarm)
    if event is None:
        return Finding(case, 0.0, (0, 0), test_runs, runs, false_alarm)
    likely, unlikely = (left, right) if event.left else (right, left)
    hits = event.count(likely.part(second)), event.count(unlikely.part(second))
    # each of the two bounds fails with half the rate
    low = at_least(np.array(hits[0]), test_runs, false_alarm / 2)
    high = at_most(np.array(hits[1]), test_runs, false_alarm / 2)
    return Finding(case, float(case.claim.refuted_below(low, high)), hits, test_runs, runs, false_alarm)


def _draw(report: Report) -> "Figure":
    """Draw a line for each case: the measured share, and a mark for the pair's true loss if it is known."""
    count = len(report.findings)
    figure = style.figure_class()(figsize=(9, 1.5 + 0.2 * count), layout="constrained")
    axes: Any = figure.subplots()
    style.clean_axes(axes)
    for row, finding in enumerate(reversed(report.findings)):
        color = style.OTHER if finding.violated else style.ANSWER
        axes.plot([0, min(finding.ratio, MAX_SHARE)], [row, row], color=color, lw=1.2)
        axes.plot(min(finding.ratio, MAX_SHARE), row, color=color, marker="o", ms=4)
        if finding.exact_ratio is not None:
            axes.plot(min(finding.exact_ratio, MAX_SHARE), row, color=style.LINES, marker="|", ms=9)
    axes.axvline(1, color=style.INK, lw=1)
    labels = [f"{finding.case.mechanism}: {finding.case.pair}" for finding in reversed(report.findings)]
    axes.set_yticks(range(count), [style.plain_label(label, 64) for label in labels], fontsize=7)
    axes.set_xlim(0, MAX_SHARE if report.violated else 1.1)
    axes.set_xlabel("share of the claim: measured at least (dot), exactly on this pair (mark)")
    axes.set_title(f"{report.samples:,} samples of each table", color=style.INK, fontsize=11, loc="left")
    return figure

"""The audit, and the report of its findings."""

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

FALSE_ALARM = 1e-6  # the probability that a report refutes any claim although all are true
MIN_SAMPLES = 100
MAX_SHARE = 2.0  # the end of the axis; the share of a wrong mechanism may be far larger


@dataclass(frozen=True)
class Finding:
    """The result of auditing one case: the loss is at least `measured`, except with probability `false_alarm`.

    A lower bound can refute a claim but never prove it: "consistent" means that this test found nothing wrong.

    Attributes
    ----------
    case : Case
        The mechanism, the pair of neighboring tables, and the claim.
    measured : float
        The lower bound on the loss.
    hits : tuple of int
        How often the event occurred on the table where it is likelier, and on the other table.
    tested : int
        The number of runs on each table in which `hits` were counted.
    samples : int
        The number of runs on each table, including those that chose the event.
    false_alarm : float
        The probability that `measured` exceeds the true loss.
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
    """The findings of an audit, with one false-alarm rate for all of them together; print it for a table.

    Attributes
    ----------
    findings : tuple of Finding
        One finding a case.
    samples : int
        The number of runs that were requested for each table.

    Examples
    --------
    >>> import milepost as mp
    >>> report = mp.audit(samples=1000, mechanism="noise")
    >>> [finding.verdict for finding in report.findings]
    ['consistent', 'consistent']
    """

    findings: tuple[Finding, ...]
    samples: int

    @property
    def violated(self) -> bool:
        """Return whether any claim is refuted."""
        return any(finding.violated for finding in self.findings)

    def table(self, title: str = "") -> Table:
        """Return the report as a table of the package rich.

        Parameters
        ----------
        title : str, optional
            The beginning of the title.

        Returns
        -------
        rich.table.Table
            One row a case; the column "exact" is the true loss of the pair of tables, if it is known.

        Examples
        --------
        >>> import milepost as mp
        >>> mp.audit(samples=1000, mechanism="noise").table("Noise").row_count
        2
        """
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
        """Draw the measured share of the claim in each case.

        Returns
        -------
        matplotlib.figure.Figure
            A line for each case, and a mark for the true loss if it is known.

        Raises
        ------
        MilepostError
            If Matplotlib is missing: `pip install 'milepost[plots]'` installs it.

        Examples
        --------
        >>> import milepost as mp
        >>> len(mp.audit(samples=1000, mechanism="noise").plot().axes)
        1
        """
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
    """Try to refute the privacy claims of the mechanisms: run each many times on two neighboring tables.

    The tables are synthetic, and the noise is not seeded. If all claims are true, all are reported "consistent" with
    probability 1 − 1e-6. The converse does not hold: an audit can only refute.

    Parameters
    ----------
    samples : int, default 5000
        The number of runs on each table: half choose an event, half test it. Mechanisms that cannot draw the noise of
        many runs at once run less often.
    mechanism : str, optional
        Audit this mechanism only.
    cases : sequence of Case, optional
        Audit these cases instead of the shipped ones.
    progress : callable, optional
        A function that is called with each case before it runs.

    Returns
    -------
    Report
        The findings; print it for a table.

    Raises
    ------
    MilepostError
        If `samples` is below 100, or there is no such mechanism.

    Examples
    --------
    >>> import milepost as mp
    >>> mp.audit(samples=1000, mechanism="noise").violated
    False
    """
    if isinstance(samples, bool) or not isinstance(samples, int | np.integer) or samples < MIN_SAMPLES:
        raise MilepostError(f"samples= must be a whole number of at least {MIN_SAMPLES}, got {samples!r}")
    selected_cases = list(shipped_cases() if cases is None else cases)
    if mechanism is not None:
        names = list(dict.fromkeys(case.mechanism for case in selected_cases))
        if mechanism not in names:
            hint = did_you_mean(mechanism, names)
            raise MilepostError(f"mechanism= must be one of {', '.join(names)}, got {mechanism!r}{hint}")
        selected_cases = [case for case in selected_cases if case.mechanism == mechanism]
    findings = []
    for case in selected_cases:
        progress(case)
        findings.append(examine(case, int(samples), FALSE_ALARM / len(selected_cases)))
    return Report(tuple(findings), int(samples))


def examine(case: Case, samples: int, false_alarm: float = FALSE_ALARM) -> Finding:
    """Audit one case: choose an event on the first half of the runs, and bound the loss by the second half alone.

    Parameters
    ----------
    case : Case
        The mechanism, the pair of neighboring tables, and the claim.
    samples : int
        The number of runs on each table.
    false_alarm : float
        The probability that the measured loss exceeds the true loss.

    Returns
    -------
    Finding
        The lower bound on the loss, and the counts behind it.
    """
    runs = case.samples(samples)
    left, right = case.draw(runs)
    first, second = slice(0, runs // 2), slice(runs // 2, runs)
    test_runs = runs - runs // 2
    event = choose(case.claim, left.part(first), right.part(first), false_alarm)
    if event is None:
        return Finding(case, 0.0, (0, 0), test_runs, runs, false_alarm)
    likely, unlikely = (left, right) if event.left else (right, left)
    hits = event.count(likely.part(second)), event.count(unlikely.part(second))
    # each of the two bounds fails with half the false-alarm rate
    low = at_least(np.array(hits[0]), test_runs, false_alarm / 2)
    high = at_most(np.array(hits[1]), test_runs, false_alarm / 2)
    return Finding(case, float(case.claim.refuted_below(low, high)), hits, test_runs, runs, false_alarm)


def _draw(report: Report) -> "Figure":
    """Draw a line for each case, as long as the measured share, and a mark for the true loss if it is known."""
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

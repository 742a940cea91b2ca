"""Picture: how much of each claim an audit has seen. Needs the `plots` extra (matplotlib)."""

from typing import TYPE_CHECKING, Any

from milepost.reporting.plotting import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from milepost.auditing.report import Report

FARTHEST = 2.0  # of the axis; what is known to be wrong may be far beyond


def plot(report: "Report") -> "Figure":
    """A line for each case: the share that was measured, and a mark for the pair's true loss where it is known."""
    count = len(report.findings)
    figure = style.figure_class()(figsize=(9, 1.5 + 0.2 * count), layout="constrained")
    axes: Any = figure.subplots()
    style.clean(axes)
    for place, finding in enumerate(reversed(report.findings)):
        color = style.OTHER if finding.violated else style.ANSWER
        axes.plot([0, min(finding.ratio, FARTHEST)], [place, place], color=color, lw=1.2)
        axes.plot(min(finding.ratio, FARTHEST), place, color=color, marker="o", ms=4)
        if finding.exact_ratio is not None:
            axes.plot(min(finding.exact_ratio, FARTHEST), place, color=style.LINES, marker="|", ms=9)
    axes.axvline(1, color=style.INK, lw=1)
    labels = [f"{one.case.mechanism}: {one.case.pair}" for one in reversed(report.findings)]
    axes.set_yticks(range(count), [style.plain(label, 64) for label in labels], fontsize=7)
    axes.set_xlim(0, FARTHEST if report.violated else 1.1)
    axes.set_xlabel("share of the claim: measured at least (dot), exactly on this pair (mark)")
    axes.set_title(f"{report.samples:,} samples of each table", color=style.INK, fontsize=11, loc="left")
    return figure

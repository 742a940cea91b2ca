"""Plots: what a release knows of each coordinate, as a picture. Needs the `plots` extra (matplotlib)."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from milepost.arrays import FloatArray
from milepost.errors import MilepostError
from milepost.mechanisms.tangents import TangentLines
from milepost.synopsis import Synopsis

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, EXACT, LINES, ANSWER, OTHER = "#333333", "#111111", "#d99a3d", "#2f6fb0", "#c0392b"
SUFFIXES = (".png", ".svg", ".pdf")


def check_picture(path: Path) -> None:
    """Make a picture's folder, and refuse one that could not be drawn or saved, before the work begins."""
    if path.suffix.lower() not in SUFFIXES:
        raise MilepostError(f"{path}: a picture's name must end in {', '.join(SUFFIXES)}")
    figure_class()
    path.parent.mkdir(parents=True, exist_ok=True)


def save(figure: "Figure", path: Path) -> None:
    """Write the picture at README width."""
    figure.savefig(path, dpi=160, facecolor="white")


def plot_lines(
    synopsis: Synopsis,
    exact: Sequence[FloatArray],
    grids: Sequence[FloatArray],
    names: Sequence[str],
    unit: str,
    other: Synopsis,
) -> "Figure":
    """Each coordinate's mean distance: the exact curve, the released lines below it, and the answer with its band.

    exact[i]: the true curve at the positions grids[i], in the coordinate's own unit. NOT PRIVATE: show made-up data.
    other: a release by another mechanism, whose error is drawn beside.
    """
    answerer = synopsis.answerer
    if not isinstance(answerer, TangentLines):
        raise MilepostError(f"only a tangents release has lines to draw, got {synopsis.mechanism}")
    figure = figure_class()(figsize=(10, 6), layout="constrained")
    count = answerer.hosts.dimension
    axes: Any = figure.subplots(2, count, squeeze=False, sharex="col", sharey="row", height_ratios=[3, 1.3])
    for i in range(count):
        half = answerer.scans[i].alpha / 2
        low, high = answerer.hosts.low[i], answerer.hosts.high[i]
        quanta = (grids[i] - low) / (high - low) * answerer.hosts.span[i]
        answer = answerer.learners[i].predict(quanta) + half
        _upper(axes[0, i], grids[i], exact[i], answer, half, _lines(answerer, i, quanta))
        axes[0, i].set_title(f"{names[i]} part of the distance", color=INK, fontsize=12, loc="left")
        better = other.hosted.polygons()[i].at(quanta)
        _lower(axes[1, i], grids[i], answer - exact[i], half, better - exact[i])
        axes[1, i].set_xlabel(f"position of the query, {names[i]} ({unit})")
        axes[1, i].set_xlim(low, high)
    least, most = min(curve.min() for curve in exact), max(curve.max() for curve in exact)
    axes[0, 0].set_ylim(least - 0.35 * (most - least), most + 0.06 * (most - least))
    widest = max(scan.alpha for scan in answerer.scans) / 2
    axes[1, 0].set_ylim(-1.35 * widest, 1.35 * widest)
    axes[0, 0].set_ylabel(f"mean distance ({unit})")
    axes[1, 0].set_ylabel(f"answer − exact ({unit})")
    axes[0, 0].plot([], [], color=OTHER, lw=1.4, label=f"{other.mechanism}, error only")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False, fontsize=11)
    return figure


def plot_errors(curves: dict[str, list[tuple[int, float]]], diameter: float, n: int, guarantee: str) -> "Figure":
    """Predicted error against the number of rows, one curve a mechanism."""
    figure = figure_class()(figsize=(7, 4.5), layout="constrained")
    axes: Any = figure.subplots()
    clean(axes)
    for name, points in curves.items():
        sizes, errors = zip(*points, strict=True)
        axes.loglog(sizes, errors, lw=1.8, marker="o", ms=3, label=name)
    axes.axhline(diameter, color="#999999", lw=1, ls=":", label="the diameter")
    axes.axvline(n, color="#999999", lw=1)
    axes.set_xlabel("rows in the table, n")
    axes.set_ylabel("error ± of one answer, 95 %")
    axes.set_title(f"Error to expect, {guarantee}", color=INK, fontsize=12, loc="left")
    axes.legend(frameon=False)
    return figure


def _lines(answerer: TangentLines, i: int, quanta: FloatArray) -> list[FloatArray]:
    return [height + slope * (quanta - anchor) for anchor, height, slope in answerer.learners[i].lines]


def _upper(
    axes: "Axes", grid: FloatArray, exact: FloatArray, answer: FloatArray, half: float, lines: list[FloatArray]
) -> None:
    clean(axes)
    for k, line in enumerate(lines):
        axes.plot(grid, line, color=LINES, lw=1, alpha=0.8, label=None if k else "released lines")
    axes.fill_between(grid, answer - half, answer + half, color=ANSWER, alpha=0.25, lw=0, label="promised band")
    axes.plot(grid, answer, color=ANSWER, lw=1.8, label="tangents' answer")
    axes.plot(grid, exact, color=EXACT, lw=1.2, ls=(0, (4, 2)), label="exact")


def _lower(axes: "Axes", grid: FloatArray, difference: FloatArray, half: float, other: FloatArray) -> None:
    clean(axes)
    axes.axhspan(-half, half, color=ANSWER, alpha=0.18, lw=0)
    axes.axhline(0, color=EXACT, lw=1.2, ls=(0, (4, 2)))
    axes.plot(grid, difference, color=ANSWER, lw=1.4)
    axes.plot(grid, other, color=OTHER, lw=1.4)


def clean(axes: "Axes") -> None:
    """Light axes, so that the data stand out."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color("#999999")
    axes.tick_params(colors=INK, labelsize=10)
    axes.grid(color="#eeeeee", lw=0.8)
    axes.set_axisbelow(True)


def plain(text: str, most: int = 28) -> str:
    """Text of any origin as a short label on one line, in which a dollar is a dollar and no formula."""
    line = " ".join(text.split())
    return (line if len(line) <= most else line[: most - 1] + "…").replace("$", r"\$")


def figure_class() -> type["Figure"]:
    """matplotlib's Figure, which no window manager knows; refused where the extra is missing."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MilepostError("pictures need matplotlib: pip install 'milepost[plots]'") from None
    return Figure

"""A picture of the predicted errors of a plan."""

from typing import TYPE_CHECKING, Any

from milepost.reporting.plotting.style import INK, clean_axes, figure_class

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_errors(curves: dict[str, list[tuple[int, float]]], diameter: float, n: int, guarantee: str) -> "Figure":
    """Draw the predicted error against the number of rows, one curve per mechanism."""
    figure = figure_class()(figsize=(7, 4.5), layout="constrained")
    axes: Any = figure.subplots()
    clean_axes(axes)
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

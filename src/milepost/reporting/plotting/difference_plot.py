"""Pictures of the difference between two tables, and of how it grows over several."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from milepost.answers.cumulative_shares import cumulative_shares
from milepost.answers.energy_distance import ComparedTables
from milepost.answers.estimate import Estimate
from milepost.answers.grid import make_grid
from milepost.answers.text import with_unit
from milepost.reporting.plotting.style import ANSWER, INK, LINES, clean_axes, figure_class, plain_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_CURVES = 4  # columns or directions that differ most
MAX_BARS = 20
COLORS = "RdBu"


def draw_difference(tables: ComparedTables, names: tuple[str, str], title: str, unit: str) -> "Figure":
    """Draw a map of the difference of mean distances, or the cumulative shares of both tables."""
    extent = tables.space.extent
    if extent is not None and len(extent) == 2 and all(high > low for low, high in extent):
        figure = figure_class()(figsize=(7.2, 5), layout="compressed")
        axes = figure.subplots()
        _map(axes, tables, names, unit)
    else:
        curves = cumulative_shares(tables, MAX_CURVES)
        if not curves:
            return _bars(tables, title, unit)
        figure = figure_class()(figsize=(7.2, 1.2 + 2.6 * len(curves)), layout="compressed")
        for axes, curve in zip(np.atleast_1d(figure.subplots(len(curves))), curves, strict=True):
            clean_axes(axes)
            axes.plot(curve.positions, curve.left, color=ANSWER, lw=1.8, label=plain_label(names[0]))
            axes.plot(curve.positions, curve.right, color=LINES, lw=1.8, label=plain_label(names[1]))
            axes.set_xlabel(plain_label(curve.name), color=INK)
            axes.set_ylabel("share at or below", color=INK)
        figure.axes[0].legend(frameon=False, fontsize=9)
    figure.axes[0].set_title(title, color=INK, fontsize=11, loc="left")
    return figure


def _bars(tables: ComparedTables, title: str, unit: str) -> "Figure":
    """Draw what the columns or directions that differ most add to the energy distance."""
    parts = tables.column_parts()
    number = "" if tables.space.columns else "column "
    named = (
        {f"{number}{name}": part for name, part in parts.items()}
        if isinstance(parts, dict)
        else {f"direction {k}": part for k, part in enumerate(parts.tolist())}
    )
    largest = sorted(named.items(), key=lambda item: -item[1])[:MAX_BARS]
    figure = figure_class()(figsize=(7.2, 1.2 + 0.3 * len(largest)), layout="compressed")
    axes = figure.subplots()
    clean_axes(axes)
    axes.barh(range(len(largest)), [part for _, part in largest], 0.7, color=ANSWER)
    axes.set_yticks(range(len(largest)), [plain_label(name) for name, _ in largest])
    axes.invert_yaxis()
    axes.set_xlabel(with_unit("part of the energy distance", unit), color=INK)
    axes.set_title(title, color=INK, fontsize=11, loc="left")
    return figure


def _map(axes: "Axes", tables: ComparedTables, names: tuple[str, str], unit: str) -> None:
    """Draw where people of the second table are farther or nearer on average."""
    grid = make_grid(tables.released)
    if grid.y is None:
        raise TypeError("a map has two columns")
    values = tables.mean_distance_differences(grid.points).reshape(grid.values.shape)
    values = np.where(np.isnan(grid.values), np.nan, values)
    largest = max(float(np.nanmax(np.abs(values))), 1e-300)
    clean_axes(axes)
    picture = axes.pcolormesh(grid.x, grid.y, values, cmap=COLORS, vmin=-largest, vmax=largest, shading="nearest")
    bar = axes.figure.colorbar(picture, ax=axes)
    text = f"mean distance to {plain_label(names[1])}, less that to {plain_label(names[0])}"
    bar.set_label(with_unit(text, unit), color=INK)
    bar.outline.set_visible(False)
    axes.grid(visible=False)
    axes.set_xlabel(plain_label(grid.axis_names[0]), color=INK)
    axes.set_ylabel(plain_label(grid.axis_names[1]), color=INK)


def draw_drift(labels: Sequence[str], series: Mapping[str, Sequence[Estimate]], unit: str) -> "Figure":
    """Draw estimates of the second and every later label, with their intervals as bands."""
    figure = figure_class()(figsize=(7.2, 4), layout="compressed")
    axes = figure.subplots()
    clean_axes(axes)
    x = np.arange(1, len(labels))
    for (name, estimates), color in zip(series.items(), (ANSWER, LINES), strict=True):
        values, low, high = (np.array([getattr(e, part) for e in estimates]) for part in ("value", "low", "high"))
        axes.fill_between(x, low, high, color=color, alpha=0.2, lw=0)
        axes.errorbar(x, values, [values - low, high - values], color=color, lw=1.8, marker="o", ms=4, label=name)
    axes.set_xticks(x, [plain_label(label) for label in labels[1:]], rotation=30, ha="right")
    axes.set_ylim(bottom=0)
    axes.set_ylabel(with_unit("energy distance", unit), color=INK)
    axes.legend(frameon=False, fontsize=9)
    return figure

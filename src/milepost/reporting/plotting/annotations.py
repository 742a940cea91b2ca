"""Annotations of a picture: the centre, ranked sites with numbers that do not overlap, and a legend."""

import math
from typing import TYPE_CHECKING

import numpy as np

from milepost._typing import FloatArray
from milepost.answers.sites import Site, Sites
from milepost.reporting.plotting.style import ANSWER, INK, OTHER, plain_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.path import Path
    from matplotlib.text import Text

MAX_LEGEND_SITES = 12  # with a line in the legend and a number
FAR = "#777777"
SIZE = 14  # points across a number's badge
OFFSETS = [(radius, turn) for radius in (14, 21, 30, 42) for turn in (45, 135, -45, -135, 0, 180, 90, -90)]


def mark_center(axes: "Axes", position: FloatArray, center: Site, unit: str) -> None:
    """Draw a star at the centre."""
    text = f"centre  ({center.name})  {answer(center, unit)}"
    axes.scatter(
        position[0], position[1], marker="*", s=190, color=OTHER, edgecolor="white", linewidth=0.9, zorder=6, label=text
    )


def mark_sites(axes: "Axes", sites: Sites | tuple[()], positions: FloatArray, avoid: FloatArray) -> FloatArray:
    """Draw a dot at each of positions float64[k, 2] and numbers at the first ones, clear of `avoid`.

    Return the positions of everything drawn, in points. Call it last, when the layout is final.
    """
    if sites:
        colors = [color(site) for site in sites]
        x, y = positions.T
        axes.scatter(x, y, s=26, c=colors, edgecolor="white", linewidth=0.8, zorder=5, gid="sites")
    axes.figure.figure.draw_without_rendering()  # computes the layout, which the transforms below need
    points = 72 / axes.figure.figure.dpi
    occupied = list(axes.transData.transform(np.vstack([avoid, positions])) * points)
    low, high = _window(axes)
    for site, position in list(zip(sites, positions, strict=True))[:MAX_LEGEND_SITES]:
        spot = axes.transData.transform(position) * points
        offsets = [np.array([r * math.cos(math.radians(t)), r * math.sin(math.radians(t))]) for r, t in OFFSETS]
        # capped at SIZE, so that the first offset with enough clearance is taken
        clearances = [min(_clearance(spot + shift, occupied, low, high), SIZE) for shift in offsets]
        offset = offsets[int(np.argmax(clearances))]
        occupied.append(spot + offset)
        axes.annotate(
            str(site.rank),
            position,
            (offset[0], offset[1]),
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=8.5,
            color="white",
            zorder=7,
            bbox={"boxstyle": "circle,pad=0.22", "fc": color(site), "ec": "white", "lw": 0.8},
            arrowprops={"arrowstyle": "-", "color": color(site), "lw": 0.8, "shrinkA": 0, "shrinkB": 2},
        )
    return np.array(occupied)


def _window(axes: "Axes") -> tuple[FloatArray, FloatArray]:
    """Return the lower left and upper right corner between which a number fits into the axes, in points."""
    window, points = axes.get_window_extent(), 72 / axes.figure.figure.dpi
    return np.array(window.p0) * points + SIZE / 2, np.array(window.p1) * points - SIZE / 2


def _clearance(spot: FloatArray, occupied: list[FloatArray], low: FloatArray, high: FloatArray) -> float:
    """Return the distance of a spot from what is already drawn; negative outside the axes."""
    if (spot < low).any() or (spot > high).any():
        return -1.0
    return float(np.linalg.norm(np.array(occupied) - spot, axis=1).min())


def place_labels(axes: "Axes", labels: list["Text"], border: "Path", occupied: FloatArray) -> None:
    """Give the labels of contour lines a light background, and remove those outside the border or on another mark."""
    points, spots, window = 72 / axes.figure.figure.dpi, list(occupied), _window(axes)
    for label in labels:
        spot = axes.transData.transform(label.get_position()) * points
        if border.contains_point(label.get_position()) and _clearance(spot, spots, *window) > SIZE:
            label.set_bbox({"boxstyle": "round,pad=0.1", "fc": "white", "ec": "none", "alpha": 0.6})
            spots.append(spot)
        else:
            label.remove()


def legend(axes: "Axes", sites: Sites | None, on_right: bool = False) -> None:
    """Draw a legend below or on the right: the centre, then rank, name, mean distance and error of the first sites."""
    from matplotlib.lines import Line2D
    from matplotlib.transforms import offset_copy

    handles, labels = axes.get_legend_handles_labels()
    for site in list(sites or [])[:MAX_LEGEND_SITES]:
        handles.append(Line2D([], [], marker="o", ls="", color=color(site), markeredgecolor="white", ms=8))
        labels.append(
            f"{site.rank}  {plain_label(site.name)}  {answer(site, sites.space.distance_unit if sites else '')}"
        )
    if sites is not None and len(sites) > MAX_LEGEND_SITES:
        handles.append(Line2D([], [], ls=""))
        labels.append(f"and {len(sites) - MAX_LEGEND_SITES} more, farther away")
    if sites is not None and any(site.beyond_noise for site in sites):
        handles.append(Line2D([], [], ls=""))
        labels.append("grey: farther than the first,\nbeyond the noise")
    axes.legend(
        handles,
        labels,
        loc="upper left",
        bbox_to_anchor=(1.08, 1) if on_right else (0, 0),
        bbox_transform=offset_copy(
            axes.transAxes, axes.figure.figure, *((68, 0) if on_right else (0, -40)), units="points"
        ),
        borderaxespad=0,
        frameon=False,
        fontsize=9,
        labelcolor=INK,
        ncols=1 if on_right or len(handles) < 4 else 2,
        handletextpad=0.3,
    )


def color(site: Site) -> str:
    """Return blue for a site that may be the nearest, grey for one that is not."""
    return FAR if site.beyond_noise else ANSWER


def answer(site: Site, unit: str) -> str:
    """Return the mean distance and its error, with as many decimals as the error justifies."""
    decimals = min(max(0, 1 - math.floor(math.log10(site.error))), 12) if site.error > 0 else 3
    return f"{site.mean_distance:.{decimals}f} ± {site.error:.{decimals}f}{' ' * bool(unit)}{unit}"

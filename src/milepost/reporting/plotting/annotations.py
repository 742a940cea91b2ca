"""Marks: the centre and ranked sites on a picture, each with a number that covers no other, and a legend."""

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

MAX_LISTED = 12  # sites with a line in the legend, and a number
FAR = "#777777"
SIZE = 14  # points across a number's badge
AWAY = [(radius, turn) for radius in (14, 21, 30, 42) for turn in (45, 135, -45, -135, 0, 180, 90, -90)]


def mark_center(axes: "Axes", place: FloatArray, center: Site, unit: str) -> None:
    """A star at the centre."""
    words = f"centre  ({center.name})  {answer(center, unit)}"
    axes.scatter(
        place[0], place[1], marker="*", s=190, color=OTHER, edgecolor="white", linewidth=0.9, zorder=6, label=words
    )


def mark_sites(axes: "Axes", sites: Sites | tuple[()], places: FloatArray, avoid: FloatArray) -> FloatArray:
    """A dot at each of places float64[k, 2], and numbers at the first ones, clear of `avoid`; where all are, in points.

    To be called last, when the layout is settled.
    """
    if sites:
        colors = [color(site) for site in sites]
        x, y = places.T
        axes.scatter(x, y, s=26, c=colors, edgecolor="white", linewidth=0.8, zorder=5, gid="sites")
    axes.figure.figure.draw_without_rendering()  # now it is known where on the page they are
    points = 72 / axes.figure.figure.dpi
    taken = list(axes.transData.transform(np.vstack([avoid, places])) * points)
    low, high = _window(axes)
    for site, place in list(zip(sites, places, strict=True))[:MAX_LISTED]:
        at = axes.transData.transform(place) * points
        offsets = [np.array([r * math.cos(math.radians(t)), r * math.sin(math.radians(t))]) for r, t in AWAY]
        rooms = [min(_room(at + away, taken, low, high), SIZE) for away in offsets]  # the first that has enough
        offset = offsets[int(np.argmax(rooms))]
        taken.append(at + offset)
        axes.annotate(
            str(site.rank),
            place,
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
    return np.array(taken)


def _window(axes: "Axes") -> tuple[FloatArray, FloatArray]:
    """Lower left and upper right between which a number fits into the axes, in points."""
    window, points = axes.get_window_extent(), 72 / axes.figure.figure.dpi
    return np.array(window.p0) * points + SIZE / 2, np.array(window.p1) * points - SIZE / 2


def _room(spot: FloatArray, taken: list[FloatArray], low: FloatArray, high: FloatArray) -> float:
    """How far a spot is from what is there; none outside the axes."""
    if (spot < low).any() or (spot > high).any():
        return -1.0
    return float(np.linalg.norm(np.array(taken) - spot, axis=1).min())


def place_labels(axes: "Axes", labels: list["Text"], border: "Path", taken: FloatArray) -> None:
    """Give the labels of contour lines a light ground, and remove those outside the border or on another mark."""
    points, spots, window = 72 / axes.figure.figure.dpi, list(taken), _window(axes)
    for label in labels:
        spot = axes.transData.transform(label.get_position()) * points
        if border.contains_point(label.get_position()) and _room(spot, spots, *window) > SIZE:
            label.set_bbox({"boxstyle": "round,pad=0.1", "fc": "white", "ec": "none", "alpha": 0.6})
            spots.append(spot)
        else:
            label.remove()


def legend(axes: "Axes", sites: Sites | None, beside: bool = False) -> None:
    """The centre, and a line for each of the first sites: rank, name, mean distance and error; below, or beside."""
    from matplotlib.lines import Line2D
    from matplotlib.transforms import offset_copy

    handles, labels = axes.get_legend_handles_labels()
    for site in list(sites or [])[:MAX_LISTED]:
        handles.append(Line2D([], [], marker="o", ls="", color=color(site), markeredgecolor="white", ms=8))
        labels.append(f"{site.rank}  {plain_label(site.name)}  {answer(site, sites.space.unit if sites else '')}")
    if sites is not None and len(sites) > MAX_LISTED:
        handles.append(Line2D([], [], ls=""))
        labels.append(f"and {len(sites) - MAX_LISTED} more, farther away")
    if sites is not None and any(site.beyond_noise for site in sites):
        handles.append(Line2D([], [], ls=""))
        labels.append("grey: farther than the first,\nbeyond the noise")
    axes.legend(
        handles,
        labels,
        loc="upper left",
        bbox_to_anchor=(1.08, 1) if beside else (0, 0),
        bbox_transform=offset_copy(
            axes.transAxes, axes.figure.figure, *((68, 0) if beside else (0, -40)), units="points"
        ),
        borderaxespad=0,
        frameon=False,
        fontsize=9,
        labelcolor=INK,
        ncols=1 if beside or len(handles) < 4 else 2,
        handletextpad=0.3,
    )


def color(site: Site) -> str:
    """Blue for sites that may be the nearest, grey for those that are not."""
    return FAR if site.beyond_noise else ANSWER


def answer(site: Site, unit: str) -> str:
    """The mean distance with as many digits as its error is worth."""
    places = min(max(0, 1 - math.floor(math.log10(site.error))), 12) if site.error > 0 else 3
    return f"{site.mean_distance:.{places}f} ± {site.error:.{places}f}{' ' * bool(unit)}{unit}"

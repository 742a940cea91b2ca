"""The picture of a synopsis: a map of the mean distance, a curve with its error band, or bars."""

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from milepost._typing import FloatArray
from milepost.answers.columns import explain
from milepost.answers.grid import Grid, border_of, level_values, make_grid
from milepost.answers.released_data import ReleasedData
from milepost.answers.sites import Site, Sites, rank_sites
from milepost.answers.text import with_unit
from milepost.errors import MilepostError
from milepost.reporting.description import describe, error_text, size_formula
from milepost.reporting.plotting import annotations
from milepost.reporting.plotting.style import ANSWER, INK, LINES, clean_axes, figure_class, plain_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_BARS = 30
MANY_POINTS = 1000  # of which the centre is the best, at most
COLORS = "GnBu"
MAX_ASPECT = 4  # ratio of the sides beyond which a picture true to scale would be a strip


def draw(synopsis: ReleasedData, sites: Any = None, axes: "Axes | None" = None) -> "Figure":
    """Draw a synopsis; see `Synopsis.plot`."""
    figure = figure_class()(layout="compressed") if axes is None else axes.figure.figure
    ranked = sites if isinstance(sites, Sites) or sites is None else rank_sites(synopsis, sites)
    space, fixed_points = synopsis.space, synopsis.given_queries
    extent = () if fixed_points is not None or space.extent is None else space.extent
    if ranked is None and fixed_points is not None and not len(fixed_points):
        raise MilepostError("this release answers weighted distances only: it has no points to draw")
    if ranked is None and fixed_points is not None:
        ranked = rank_sites(synopsis, [space.user_point(point) for point in fixed_points])
    if not extent and ranked is None and space.embedding_columns is None:
        raise MilepostError(f"a release in {space.kind} has no picture without sites; give sites=[…]")
    is_map = len(extent) == 2 and all(high > low for low, high in extent)
    if axes is None:
        bars = 0 if extent and len(extent) < 3 else min(MAX_BARS, space.width if ranked is None else len(ranked))
        figure.set_size_inches(9 if is_map and ranked is not None else 7.2, max(5, 1.2 + 0.23 * bars))
        axes = figure.subplots()
    clean_axes(axes)
    axes.set_title(_title(synopsis), color=INK, fontsize=11, loc="left")
    if is_map:
        _field(axes, synopsis, ranked)
    elif len(extent) == 1:
        _curve(axes, synopsis, ranked)
    elif ranked is not None:
        _site_bars(axes, ranked)
    elif space.embedding_columns is not None:
        _column_bars(axes, synopsis)
    else:
        _end_bars(axes, synopsis, extent)
    return figure


def _field(axes: "Axes", synopsis: ReleasedData, sites: Sites | None) -> None:
    """Draw filled contours, their levels, the centre and the sites."""
    grid = make_grid(synopsis)
    if grid.y is None:
        raise TypeError("a field has two columns")
    levels = level_values(grid.values)
    step = levels[1] - levels[0] if len(levels) > 1 else max(abs(levels[0]), 1e-9)
    bands = [levels[0] - step, *levels, levels[-1] + step]
    values, border = _extended_values(synopsis, grid), border_of(synopsis.space, grid)
    fill = axes.contourf(grid.x, grid.y, values, levels=bands, cmap=COLORS)
    lines = axes.contour(grid.x, grid.y, values, levels=levels, colors="white", linewidths=0.8)
    (edge,) = axes.fill(border[:, 0], border[:, 1], fc="none", ec="#999999", lw=0.8, zorder=3)
    for part in (fill, lines):
        part.set_clip_path(edge)
    bar = axes.figure.colorbar(fill, cax=axes.inset_axes((1.03, 0, 0.04, 1)), ticks=levels)
    bar.set_label(with_unit("mean distance", grid.distance_unit), color=INK)
    bar.ax.tick_params(colors=INK, labelsize=9)
    bar.outline.set_visible(False)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    axes.set_aspect(_aspect(synopsis, grid))
    axes.set_xlabel(_axis_label(grid.axis_names[0], grid.geographic), color=INK)
    axes.set_ylabel(_axis_label(grid.axis_names[1], grid.geographic), color=INK)
    if grid.geographic:
        axes.xaxis.set_major_formatter(lambda turn, _: f"{(turn + 180) % 360 - 180:g}".replace("-", "−"))
    center = _center(synopsis)
    positions = _plot_positions(grid, np.array([center.point, *(site.point for site in sites or [])]))
    annotations.mark_center(axes, positions[0], center, grid.distance_unit)
    annotations.legend(axes, sites, on_right=sites is not None)
    labels = axes.clabel(lines, fmt=lambda level: f"{level:g}", fontsize=8.5, colors=INK, inline=False)
    occupied = annotations.mark_sites(axes, sites or (), positions[1:], positions[:1])
    annotations.place_labels(axes, labels, edge.get_path(), occupied)


def _curve(axes: "Axes", synopsis: ReleasedData, sites: Sites | None) -> None:
    """Draw the mean distance along the only column, with the band that holds everywhere at once."""
    grid = make_grid(synopsis)
    unit, share = grid.distance_unit, f"{100 * synopsis.confidence:g} %"
    band = synopsis.error(synopsis.confidence, uniform=True)
    low, high = np.maximum(grid.values - band, 0), grid.values + band
    axes.fill_between(grid.x, low, high, color=ANSWER, alpha=0.25, lw=0, label=f"band of all answers at once, {share}")
    axes.plot(grid.x, grid.values, color=ANSWER, lw=1.8, label="private answer")
    center = _center(synopsis)
    annotations.mark_center(axes, np.array([center.point[0], center.mean_distance]), center, unit)
    axes.set_xlim(grid.x[0], grid.x[-1])
    axes.set_xlabel(_axis_label(grid.axis_names[0], False), color=INK)
    axes.set_ylabel(with_unit("mean distance", unit), color=INK)
    annotations.legend(axes, sites)
    positions = np.array([[site.point[0], site.mean_distance] for site in sites or ()]).reshape(-1, 2)
    annotations.mark_sites(axes, sites or (), positions, np.column_stack([grid.x, grid.values]))


def _site_bars(axes: "Axes", sites: Sites) -> None:
    """Draw a bar with its error for each site, the nearest on top."""
    nearest = list(sites)[:MAX_BARS]
    heights = [site.mean_distance for site in nearest]
    errors = np.array([[min(site.error, site.mean_distance), site.error] for site in nearest]).T
    _bars(
        axes,
        [plain_label(site.name) for site in nearest],
        heights,
        [annotations.color(site) for site in nearest],
        [annotations.answer(site, "") for site in nearest],
        [site.mean_distance + site.error for site in nearest],
    )
    axes.errorbar(heights, range(len(nearest)), xerr=errors, fmt="none", ecolor=INK, capsize=2, lw=1)
    axes.set_xlabel(with_unit("mean distance", sites.space.distance_unit), color=INK)
    notes = [f"the {MAX_BARS} nearest of {len(sites):,}"] if len(sites) > MAX_BARS else []
    notes += ["grey: farther than the first, beyond the noise"] if any(site.beyond_noise for site in nearest) else []
    if notes:
        axes.set_xlabel(f"{axes.get_xlabel()}\n{'; '.join(notes)}")


def _column_bars(axes: "Axes", synopsis: ReleasedData) -> None:
    """Draw each column's part of the mean distance of the centre."""
    center = synopsis.center()
    parts = sorted(explain(synopsis, center).items(), key=lambda part: -part[1])[:MAX_BARS]
    heights = [height for _, height in parts]
    _bars(
        axes,
        [_axis_label(name, False) for name, _ in parts],
        heights,
        [ANSWER] * len(parts),
        [f"{height:.3g}" for height in heights],
        heights,
    )
    axes.set_xlabel(with_unit("part of the centre's mean distance", synopsis.space.distance_unit), color=INK)
    axes.set_ylabel(_columns_label(len(parts), synopsis.space.width), color=INK)


def _end_bars(axes: "Axes", synopsis: ReleasedData, extent: tuple[tuple[float, float], ...]) -> None:
    """Draw how much the mean distance rises from the middle of the space to both ends of each column."""
    middle = np.asarray(synopsis.space.center)
    rises = np.zeros((len(extent), 2))
    for side in (0, 1):
        ends = np.tile(middle, (len(extent), 1))
        np.fill_diagonal(ends, [pair[side] for pair in extent])
        rises[:, side] = synopsis.mean_distance(ends) - synopsis.mean_distance(middle)
    order = np.argsort(-np.abs(rises[:, 0] - rises[:, 1]), kind="stable")[:MAX_BARS]
    names = [_axis_label(synopsis.space.names[i], False) for i in order]
    for side, (text, color) in enumerate([("at the low end", LINES), ("at the high end", ANSWER)]):
        axes.barh(np.arange(len(order)) + 0.2 * (2 * side - 1), rises[order, side], 0.38, color=color, label=text)
    axes.set_yticks(range(len(order)), names)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.set_xlabel(
        with_unit("mean distance, less that in the middle of the space", synopsis.space.distance_unit), color=INK
    )
    axes.set_ylabel(_columns_label(len(order), len(extent)), color=INK)
    annotations.legend(axes, None)


def _bars(
    axes: "Axes", names: list[str], heights: list[float], colors: list[str], texts: list[str], ends: list[float]
) -> None:
    """Draw horizontal bars from the top, each with a text at its end."""
    axes.barh(range(len(names)), heights, 0.7, color=colors)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlim(0, 1.18 * max([*ends, 1e-12]))
    axes.grid(visible=False, axis="y")
    for row, (end, text) in enumerate(zip(ends, texts, strict=True)):
        axes.annotate(text, (end, row), (4, 0), textcoords="offset points", va="center", fontsize=8.5, color=INK)


def _center(synopsis: ReleasedData) -> Site:
    """Return the centre with the uniform error, since it was chosen by its answer.

    Where there is none, the error is that of the best of many points.
    """
    center = synopsis.center()
    (site,) = rank_sites(synopsis, [center])
    if synopsis.statistic.has_uniform_error:
        return replace(site, error=synopsis.error(synopsis.confidence, uniform=True))
    low, high = synopsis.interval(center, 1 - (1 - synopsis.confidence) / MANY_POINTS)
    return replace(site, error=max(high - site.mean_distance, site.mean_distance - low))


def _title(synopsis: ReleasedData) -> str:
    description = describe(synopsis)
    first = f"Mean distance, {size_formula(description, ' = ', ' ≈ ')}, {description.guarantee}"
    return f"{first}\n{description.mechanism}, {error_text(description)}"


def _axis_label(name: str, geographic: bool) -> str:
    if geographic:
        return {"lat": "latitude (°)", "lon": "longitude (°)"}.get(name, f"{name} (°)")
    return f"column {name}" if name.isdigit() else plain_label(name)


def _columns_label(bar_count: int, column_count: int) -> str:
    return "column" if bar_count == column_count else f"{bar_count} of {column_count:,} columns"


def _aspect(synopsis: ReleasedData, grid: Grid) -> float | Literal["auto"]:
    """Return the aspect at which equal distances look equal, unless the picture would be a strip."""
    if grid.y is None:
        return "auto"
    if grid.geographic:
        return 1 / max(math.cos(math.radians(float(grid.y[0] + grid.y[-1]) / 2)), 0.1)
    weights = synopsis.space.embedding.weight if synopsis.space.embedding_columns is not None else np.ones(2)
    if len(weights) < 2:  # a column without weight
        return "auto"
    aspect = float(weights[1] / weights[0])
    sides = aspect * float((grid.y[-1] - grid.y[0]) / (grid.x[-1] - grid.x[0]))
    return aspect if 1 / MAX_ASPECT <= sides <= MAX_ASPECT else "auto"


def _plot_positions(grid: Grid, points: FloatArray) -> FloatArray:
    """Return points as x and y of the picture, with longitudes shifted by full turns into its range."""
    if not grid.geographic:
        return points
    middle = float(grid.x[0] + grid.x[-1]) / 2
    return np.column_stack([points[:, 1] + 360 * np.rint((middle - points[:, 1]) / 360), points[:, 0]])


def _extended_values(synopsis: ReleasedData, grid: Grid) -> FloatArray:
    """Return the grid's values, extended from the border outwards, so that the colour reaches the border."""
    result = grid.values.ravel().copy()
    outside = np.flatnonzero(np.isnan(result))
    if len(outside):
        result[outside] = synopsis.mean_distance(synopsis.space.clip_points(grid.points[outside]))
    return result.reshape(grid.values.shape)

"""The mean distance over a space of one or two columns, on a grid and as contour lines."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from milepost._typing import AnyArray, FloatArray
from milepost.answers import geojson
from milepost.answers.released_data import ReleasedData
from milepost.errors import MilepostError
from milepost.spaces.base import Space

SIDE = 100  # steps along a column by default
MAX_POINTS = 1 << 20
LEVELS = 8


@dataclass(frozen=True, eq=False)
class Grid:
    """Mean distances on a regular grid over a space of one or two columns.

    Attributes
    ----------
    x : numpy.ndarray
        float64[x]: the coordinates of the grid along the first axis; longitudes if `geographic`.
    y : numpy.ndarray or None
        float64[y]: the coordinates along the second axis; None for a space of one column.
    values : numpy.ndarray
        float64[y, x] or float64[x]: the mean distances; NaN outside the space.
    axis_names : tuple of str
        The names of the columns along x and y.
    distance_unit : str
        The unit of the values; empty if the space has none.
    geographic : bool
        Whether coordinates are degrees of longitude and latitude.

    Examples
    --------
    >>> import milepost as mp
    >>> people = [[2.0, 3.0], [8.0, 5.0]] * 5000
    >>> grid = mp.release(people, mp.L1({"x": (0, 10), "y": (0, 6)}), epsilon=100).grid(step=2)
    >>> grid.axis_names, grid.x.tolist(), grid.y.tolist()
    (('x', 'y'), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0], [0.0, 2.0, 4.0, 6.0])
    >>> grid.values.shape, grid.points.shape
    ((4, 6), (24, 2))
    """

    x: FloatArray
    y: FloatArray | None
    values: FloatArray
    axis_names: tuple[str, ...]
    distance_unit: str
    geographic: bool = False

    @property
    def points(self) -> FloatArray:
        """Return the points float64[k, columns], one per entry of `values.ravel()`, in the order of the columns."""
        return _points(self.x, self.y, self.geographic)


@dataclass(frozen=True, eq=False)
class Contours:
    """Lines of equal mean distance: a sequence of (level, lines) pairs.

    Attributes
    ----------
    levels : tuple of float
        The mean distances.
    lines : tuple of tuple of numpy.ndarray
        The lines of each level; a line is float64[k, 2] of x and y.
    axis_names : tuple of str
        The names of the columns along x and y.
    distance_unit : str
        The unit of the levels; empty if the space has none.
    geographic : bool
        Whether x and y are degrees of longitude and latitude.

    Examples
    --------
    >>> import milepost as mp
    >>> people = [[2.0, 3.0], [8.0, 5.0]] * 5000
    >>> contours = mp.release(people, mp.L1({"x": (0, 10), "y": (0, 10)}), epsilon=100).contours([5, 7])
    >>> contours.levels
    (5.0, 7.0)
    >>> for level, lines in contours:
    ...     print(level, lines[0].shape[1])
    5.0 2
    7.0 2
    """

    levels: tuple[float, ...]
    lines: tuple[tuple[FloatArray, ...], ...]
    axis_names: tuple[str, ...]
    distance_unit: str
    geographic: bool = False

    def __iter__(self) -> Iterator[tuple[float, tuple[FloatArray, ...]]]:
        return zip(self.levels, self.lines, strict=True)

    def __len__(self) -> int:
        return len(self.levels)

    def __getitem__(self, position: int) -> tuple[float, tuple[FloatArray, ...]]:
        return self.levels[position], self.lines[position]

    def to_geojson(self) -> dict[str, Any]:
        """Return the lines as GeoJSON.

        Returns
        -------
        dict
            A FeatureCollection with a MultiLineString for each level that has lines.

        Examples
        --------
        >>> import milepost as mp
        >>> people = [[2.0, 3.0], [8.0, 5.0]] * 5000
        >>> contours = mp.release(people, mp.L1({"x": (0, 10), "y": (0, 10)}), epsilon=100).contours([5])
        >>> contours.to_geojson()["features"][0]["properties"]
        {'mean_distance': 5.0, 'distance_unit': ''}
        """
        return geojson.collection(
            geojson.lines(parts, self.geographic, {"mean_distance": level, "distance_unit": self.distance_unit})
            for level, parts in self
            if parts
        )


def make_grid(synopsis: ReleasedData, step: float | Sequence[float] | None = None) -> Grid:
    """Evaluate the mean distance on a grid; see `Synopsis.grid`."""
    space = synopsis.space
    axes = _axis_values(space, _extent(synopsis), step)
    x, y = (axes[0], None) if len(axes) == 1 else axes[::-1] if space.geographic else axes
    points = _points(x, y, space.geographic)
    inside = np.flatnonzero(_is_inside(space, points))
    values = np.full(len(points), np.nan)
    if len(inside):
        values[inside] = synopsis.mean_distance(points[inside])
    axis_names = space.names[::-1] if space.geographic else space.names
    shape = (len(x),) if y is None else (len(y), len(x))
    return Grid(x, y, values.reshape(shape), axis_names, space.distance_unit, space.geographic)


def make_contours(grid: Grid, levels: Any = None) -> Contours:
    """Trace lines of equal value on a grid of two columns; see `Synopsis.contours`."""
    if grid.y is None or min(grid.values.shape) < 2:
        raise MilepostError("contours need a grid of two columns with at least two points along each")
    try:
        from contourpy import LineType, contour_generator
    except ImportError:
        raise MilepostError("contours need matplotlib: pip install 'milepost[plots]'") from None
    generator = contour_generator(grid.x, grid.y, grid.values, line_type=LineType.Separate)
    heights = tuple(level_values(grid.values, levels))
    lines = tuple(tuple(np.asarray(line) for line in generator.lines(height)) for height in heights)
    return Contours(heights, lines, grid.axis_names, grid.distance_unit, grid.geographic)


def level_values(values: FloatArray, levels: Any = None) -> list[float]:
    """Return the contour levels: the given numbers, or about `levels` round numbers (eight by default)."""
    is_count = isinstance(levels, int) and not isinstance(levels, bool)
    if levels is None or is_count:
        count = LEVELS if levels is None else levels
        if not 1 <= count <= 1000:
            raise MilepostError(f"levels must be 1 to 1,000, or a list of distances, got {levels!r}")
        return _round_levels(float(np.nanmin(values)), float(np.nanmax(values)), count)
    try:
        result = sorted({float(level) for level in levels})
    except (TypeError, ValueError):
        raise MilepostError(f"levels must be a number of levels or a list of distances, got {levels!r}") from None
    if not result or not all(math.isfinite(level) for level in result):
        raise MilepostError(f"levels must be finite distances, at least one, got {levels!r}")
    return result


def border_of(space: Space, grid: Grid) -> FloatArray:
    """Return the border of a space of two columns as a polygon of x and y, float64[k, 2].

    The space must be an interval along every x.
    """
    if grid.y is None:
        raise MilepostError("a border needs a grid of two columns")
    (left, right), (low, high) = (grid.x[0], grid.x[-1]), (grid.y[0], grid.y[-1])
    if not np.isnan(grid.values).any():
        return np.array([(left, low), (right, low), (right, high), (left, high)])
    x = (left + right) / 2 - (right - left) / 2 * np.cos(np.linspace(0, np.pi, 2 * SIDE))  # dense where it is steep
    y = np.linspace(low, high, SIDE + 1)
    inside = _is_inside(space, _points(x, y, grid.geographic)).reshape(len(y), len(x))
    x, inside = x[inside.any(axis=0)], inside[:, inside.any(axis=0)]
    sides = []
    for row_index, outward in ((inside.argmax(axis=0), -1), (SIDE - inside[::-1].argmax(axis=0), 1)):
        near, far = y[row_index], y[np.clip(row_index + outward, 0, SIDE)]
        for _ in range(20):
            middle = (near + far) / 2
            pair = (middle, x) if grid.geographic else (x, middle)
            within = _is_inside(space, np.column_stack(pair))
            near, far = np.where(within, middle, near), np.where(within, far, middle)
        sides.append(np.column_stack([x, near]))
    return np.vstack([sides[0], sides[1][::-1]])


def _is_inside(space: Space, points: FloatArray) -> AnyArray:
    return np.asarray((space.clip_points(points) == points).all(axis=1))


def _round_levels(low: float, high: float, count: int) -> list[float]:
    """Return about `count` round numbers between two numbers."""
    if not high > low:
        return [low]
    power = math.floor(math.log10((high - low) / count))
    step, digits = next(
        (factor * 10.0**power, max(0, (factor == 2.5) - power))
        for factor in (1, 2, 2.5, 5, 10)
        if factor * 10.0**power >= (high - low) / count * (1 - 1e-9)
    )
    multiples = range(math.ceil(low / step), math.floor(high / step) + 1)
    return [round(multiple * step, digits) for multiple in multiples] or [(low + high) / 2]


def _extent(synopsis: ReleasedData) -> tuple[tuple[float, float], ...]:
    space = synopsis.space
    if synopsis.queries is not None or space.given_queries is not None:
        raise MilepostError(
            "a grid needs a release of any points; this one answers its given queries only. Use sites() or plot()"
        )
    if space.extent is None or len(space.extent) > 2:
        raise MilepostError(
            f"a grid needs a space of one or two numeric columns; this one ({space.kind}) has {', '.join(space.names)}"
        )
    return space.extent


def _axis_values(space: Space, extent: tuple[tuple[float, float], ...], step: Any) -> list[FloatArray]:
    """Return the grid coordinates along each column, from its low end."""
    widths = [high - low for low, high in extent]
    if step is None:
        steps = [width / SIDE for width in widths]
    else:
        try:
            steps = [float(number) for number in np.broadcast_to(np.asarray(step, dtype=np.float64), len(extent))]
        except (TypeError, ValueError):
            raise MilepostError(f"step must be a number, or one for each of {', '.join(space.names)}") from None
        if not all(0 < number < math.inf for number in steps):
            raise MilepostError(f"step must be positive, in the units of the columns, got {step!r}")
    counts = [
        1 + math.floor(width / spacing * (1 + 1e-12)) if width else 1
        for width, spacing in zip(widths, steps, strict=True)
    ]
    if math.prod(counts) > MAX_POINTS:
        raise MilepostError(
            f"step={step} makes a grid of {' × '.join(f'{count:,}' for count in counts)} points; the limit is "
            f"{MAX_POINTS:,}. Give a larger step"
        )
    triples = zip(extent, steps, counts, strict=True)
    return [np.minimum(low + spacing * np.arange(count), high) for (low, high), spacing, count in triples]


def _points(x: FloatArray, y: FloatArray | None, geographic: bool) -> FloatArray:
    if y is None:
        return x[:, None]
    across, up = np.meshgrid(x, y)
    pair = (up, across) if geographic else (across, up)
    return np.column_stack([part.ravel() for part in pair])

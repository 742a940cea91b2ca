"""Columnwise: what a synopsis says about single columns: their shares, quantiles and parts of a distance."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from milepost._typing import FloatArray, IntArray
from milepost.answers.released_data import ReleasedData
from milepost.errors import MilepostError
from milepost.ingest.dataframes import FrameTemplate
from milepost.ingest.query_points import query_points
from milepost.mechanisms.coordinate.piecewise_linear import PiecewiseLinear, nearest_feasible
from milepost.spaces.numeric import read_matrix


def part(
    synopsis: ReleasedData, points: Any, columns: Sequence[str | int], raw: bool
) -> tuple[FloatArray, bool, FrameTemplate | None]:
    """Some columns' part of the distance; points have these columns only, the others stand in the middle."""
    space = synopsis.space
    if space.objects:
        raise MilepostError("columns=[…] takes spaces of numbers; explain(point) has every column's part")
    coordinates, places = _coordinates(synopsis, columns), _places(synopsis, columns)
    names = tuple(space.names[place] for place in places)
    batch, single, like = query_points(points, space, names)
    given = read_matrix(batch, names if space.columns else None, len(names))
    whole = np.tile(space.center, (len(given), 1))
    whole[:, places] = given
    return synopsis.coordinates.parts(space.position(space.read_queries(whole)), coordinates, raw), single, like


def cdf(synopsis: ReleasedData, column: str | int, values: Any) -> Any:
    """The share of people at or below each value of a column, from the slope of its part of the distance."""
    i = _coordinate(synopsis, column)
    embedding = synopsis.space.embedding
    at = _numbers(values, f"values of column {column!r}")
    positions = (at - embedding.low[i]) / (embedding.high[i] - embedding.low[i]) * embedding.span[i]
    shares = (_possible(synopsis, i).slope(np.atleast_1d(positions)) / embedding.quantum[i] + 1) / 2
    shares = np.where(
        np.atleast_1d(at) < embedding.low[i], 0, np.where(np.atleast_1d(at) >= embedding.high[i], 1, shares)
    )
    shares = np.clip(shares, 0, 1)
    return float(shares[0]) if at.ndim == 0 else shares


def quantile(synopsis: ReleasedData, column: str | int, q: Any) -> Any:
    """The value of a column that a share q of the people do not pass; of a column of steps, one of these."""
    i = _coordinate(synopsis, column)
    wanted = _numbers(q, "q")
    if not ((wanted >= 0) & (wanted <= 1)).all():
        raise MilepostError(f"q must lie between 0 and 1, got {q!r}")
    embedding, polygon = synopsis.space.embedding, _possible(synopsis, i)
    shares = np.maximum.accumulate((np.diff(polygon.heights) / np.diff(polygon.nodes) / embedding.quantum[i] + 1) / 2)
    shares = np.clip(shares, 0, 1)
    if embedding.step[i] > 1:  # between two steps the slope is the share at or below the first
        positions = polygon.nodes[np.searchsorted(shares, wanted)]
        positions = np.rint(positions / embedding.step[i]) * embedding.step[i]  # tangents cross between steps
    else:  # in a cell it is about the share below the middle
        middles = (polygon.nodes[:-1] + polygon.nodes[1:]) / 2
        positions = np.interp(wanted, np.r_[0.0, shares, 1.0], np.r_[0.0, middles, polygon.nodes[-1]])
    result = embedding.low[i] + positions / embedding.span[i] * (embedding.high[i] - embedding.low[i])
    return float(result) if wanted.ndim == 0 else result


def explain(synopsis: ReleasedData, point: Any) -> dict[str, float]:
    """Each column's share of one point's average distance; they add up to `mean_distance(point)`."""
    columns = _host_columns(synopsis)
    positions, _, _ = synopsis.read_points(point)
    if len(positions) != 1:
        raise MilepostError(f"explain takes one point, got {len(positions)}")
    embedding, statistic = synopsis.space.embedding, synopsis.coordinates
    positions = statistic.reached(positions)
    whole = float(statistic.values(positions)[0])
    shares = np.array([statistic.parts(positions, [i])[0] for i in range(embedding.dimension)])
    # the whole is moved into its possible range, and the columns with it, by their widths
    shares += (whole - shares.sum()) * embedding.spread / embedding.spread.sum()
    result = dict.fromkeys(synopsis.space.names, 0.0)
    for column, share in zip(columns.tolist(), shares.tolist(), strict=True):
        result[synopsis.space.names[column]] += share
    return result


def _possible(synopsis: ReleasedData, i: int) -> PiecewiseLinear:
    """The curve of embedding coordinate i with slopes that some table could have, so that shares do not fall."""
    return nearest_feasible(synopsis.coordinates.functions(raw=True)[i], float(synopsis.space.embedding.quantum[i]))


def _coordinates(synopsis: ReleasedData, columns: Sequence[str | int]) -> list[int]:
    """Embedding coordinates of columns; those without width or weight have none."""
    places = _places(synopsis, columns)
    return [i for i, column in enumerate(_host_columns(synopsis).tolist()) if column in places]


def _places(synopsis: ReleasedData, columns: Sequence[str | int]) -> list[int]:
    """Where columns, by name or by position, stand in the space."""
    if not isinstance(columns, Sequence) or isinstance(columns, str) or not len(columns):
        raise MilepostError(f"columns must be a list of column names, got {columns!r}")
    names = synopsis.space.names
    places = []
    for column in columns:
        if str(column) in names:
            places.append(names.index(str(column)))
        elif isinstance(column, int) and not isinstance(column, bool) and 0 <= column < len(names):
            places.append(column)
        else:
            raise MilepostError(f"the space has no column {column!r}; it has {', '.join(names)}")
    if len(set(places)) < len(places):
        raise MilepostError(f"columns must name each column once, got {list(columns)}")
    return places


def _coordinate(synopsis: ReleasedData, column: str | int) -> int:
    found = _coordinates(synopsis, [column])
    if not found:
        raise MilepostError(f"column {column!r} has no width or no weight, so nothing was released about it")
    if len(found) > 1:
        raise MilepostError(f"column {column!r} has labels, which have no order: ask mean_distance or explain")
    return found[0]


def _host_columns(synopsis: ReleasedData) -> IntArray:
    columns = synopsis.space.embedding_columns
    _ = synopsis.coordinates
    if columns is None:
        raise MilepostError(f"a {synopsis.space.kind} release knows distances, not columns: this answer needs columns")
    return columns


def _numbers(values: Any, what: str) -> FloatArray:
    try:
        result = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise MilepostError(f"{what} must be numbers, got {values!r}") from None
    if np.isnan(result).any():
        raise MilepostError(f"{what} must be numbers, got NaN")
    return result

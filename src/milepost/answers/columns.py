"""Answers about single columns: shares, quantiles and each column's part of a distance."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from milepost._typing import AnyArray, FloatArray, IntArray
from milepost.answers.evaluation import Answers, evaluate, evaluate_blocks
from milepost.answers.released_data import ReleasedData
from milepost.errors import MilepostError
from milepost.ingest.dataframes import FrameTemplate
from milepost.ingest.query_points import query_points
from milepost.mechanisms.coordinate.piecewise_linear import PiecewiseLinear, nearest_feasible, points_per_block
from milepost.spaces.numeric import read_matrix


def partial_distance(
    synopsis: ReleasedData, points: Any, columns: Sequence[str | int], raw: bool
) -> tuple[FloatArray, bool, FrameTemplate | None]:
    """Return the part of the mean distance that some columns contribute; points have only these columns.

    The other columns get the values of the center of the space, which does not change the result.
    """
    space = synopsis.space
    if space.objects:
        raise MilepostError(
            f"columns= needs a space of numbers, this one is {space.kind}; explain(point) gives every column's part"
        )
    coordinates, indices = column_coordinates(synopsis, columns), column_indices(synopsis, columns)
    names = tuple(space.names[index] for index in indices)
    batch, single, template = query_points(points, space, names)

    def read(block: Any, first_row: int) -> AnyArray:
        values = read_matrix(block, names if space.columns else None, len(names))
        matrix = np.tile(space.center, (len(values), 1))
        matrix[:, indices] = values
        return space.read_queries(matrix, first_row)

    def answer(positions: AnyArray) -> Answers:
        return (synopsis.coordinates.parts(positions, coordinates, raw),)

    (values,) = evaluate(synopsis, batch, answer, read)
    return values, single, template


def cdf(synopsis: ReleasedData, column: str | int, values: Any) -> Any:
    """Return the share of people at or below each value of a column; see `Synopsis.cdf`."""
    i = number_coordinate(synopsis, column)
    embedding, curve = synopsis.space.embedding, _feasible_curve(synopsis, i)
    thresholds = _numbers(values, f"values of column {column!r}")
    low, high, flat = embedding.low[i], embedding.high[i], thresholds.ravel()

    def shares(part: slice) -> Answers:
        block = flat[part]
        slopes = curve.slope((block - low) / (high - low) * embedding.span[i])
        result = np.where(block < low, 0, np.where(block >= high, 1, (slopes / embedding.quantum[i] + 1) / 2))
        return (np.clip(result, 0, 1),)

    (result,) = evaluate_blocks(shares, flat.size, points_per_block(1), thread_safe=True)
    return float(result[0]) if thresholds.ndim == 0 else result.reshape(thresholds.shape)


def quantile(synopsis: ReleasedData, column: str | int, q: Any) -> Any:
    """Return the q-quantile of a column; see `Synopsis.quantile`."""
    i = number_coordinate(synopsis, column)
    probabilities = _numbers(q, "q")
    if not ((probabilities >= 0) & (probabilities <= 1)).all():
        raise MilepostError(f"q must lie between 0 and 1, got {q!r}")
    embedding, polygon = synopsis.space.embedding, _feasible_curve(synopsis, i)
    shares = np.maximum.accumulate((np.diff(polygon.heights) / np.diff(polygon.nodes) / embedding.quantum[i] + 1) / 2)
    shares = np.clip(shares, 0, 1)
    if embedding.step[i] > 1:  # between two steps the slope is the share at or below the first
        positions = polygon.nodes[np.searchsorted(shares, probabilities)]
        positions = np.rint(positions / embedding.step[i]) * embedding.step[i]  # tangents cross between steps
    else:  # in a cell it is about the share below the middle
        middles = (polygon.nodes[:-1] + polygon.nodes[1:]) / 2
        positions = np.interp(probabilities, np.r_[0.0, shares, 1.0], np.r_[0.0, middles, polygon.nodes[-1]])
    result = embedding.low[i] + positions / embedding.span[i] * (embedding.high[i] - embedding.low[i])
    return float(result) if probabilities.ndim == 0 else result


def explain(synopsis: ReleasedData, point: Any) -> dict[str, float]:
    """Return the part of one point's mean distance that each column contributes; see `Synopsis.explain`."""
    columns = _embedding_columns(synopsis)
    positions, _, _ = synopsis.read_points(point)
    if len(positions) != 1:
        raise MilepostError(f"explain takes one point, got {len(positions)}")
    embedding, statistic = synopsis.space.embedding, synopsis.coordinates
    positions = statistic.clip_positions(positions)
    total = float(statistic.values(positions)[0])
    shares = np.array([statistic.parts(positions, [i])[0] for i in range(embedding.dimension)])
    # `values` clips the total to its feasible range: spread the difference over the columns by their widths
    shares += (total - shares.sum()) * embedding.spread / embedding.spread.sum()
    result = dict.fromkeys(synopsis.space.names, 0.0)
    for column, share in zip(columns.tolist(), shares.tolist(), strict=True):
        result[synopsis.space.names[column]] += share
    return result


def _feasible_curve(synopsis: ReleasedData, i: int) -> PiecewiseLinear:
    """Return the curve of embedding coordinate i with slopes that some table could have, so that shares never fall."""
    return nearest_feasible(synopsis.coordinates.functions(raw=True)[i], float(synopsis.space.embedding.quantum[i]))


def column_coordinates(synopsis: ReleasedData, columns: Sequence[str | int]) -> list[int]:
    """Return the embedding coordinates of columns; a column without width or weight has none."""
    indices = column_indices(synopsis, columns)
    return [i for i, column in enumerate(_embedding_columns(synopsis).tolist()) if column in indices]


def column_indices(synopsis: ReleasedData, columns: Sequence[str | int]) -> list[int]:
    """Return the indices in the space of columns that are given by name or by index."""
    if not isinstance(columns, Sequence) or isinstance(columns, str) or not len(columns):
        raise MilepostError(f"columns must be a list of column names, got {columns!r}")
    names = synopsis.space.names
    indices = []
    for column in columns:
        if str(column) in names:
            indices.append(names.index(str(column)))
        elif isinstance(column, int) and not isinstance(column, bool) and 0 <= column < len(names):
            indices.append(column)
        else:
            raise MilepostError(f"the space has no column {column!r}; it has {', '.join(names)}")
    if len(set(indices)) < len(indices):
        raise MilepostError(f"columns must name each column once, got {list(columns)}")
    return indices


def number_coordinate(synopsis: ReleasedData, column: str | int) -> int:
    """Return the embedding coordinate of a column of numbers; refuse one of labels, or one without width."""
    coordinates = column_coordinates(synopsis, [column])
    if not coordinates:
        raise MilepostError(f"column {column!r} has no width or no weight, so nothing was released about it")
    if len(coordinates) > 1:
        raise MilepostError(
            f"column {column!r} has labels, which have no order; use mean_distance, explain or share(column, label)"
        )
    return coordinates[0]


def _embedding_columns(synopsis: ReleasedData) -> IntArray:
    columns = synopsis.space.embedding_columns
    _ = synopsis.coordinates
    if columns is None:
        raise MilepostError(
            f"a release in {synopsis.space.kind} has no estimates for single columns, which this answer needs; release "
            "in a space whose distance is a sum over columns, such as mp.L1 or mp.Gower"
        )
    return columns


def _numbers(values: Any, name: str) -> FloatArray:
    try:
        result = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise MilepostError(f"{name} must be numbers, got {values!r}") from None
    if np.isnan(result).any():
        raise MilepostError(f"{name} must be numbers, got NaN")
    return result

"""Means, variances and shares of several columns at once, as the command line and HTTP list them."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from milepost.answers.columns import column_coordinates, column_indices
from milepost.answers.estimate import Estimate
from milepost.answers.expectations import label_share, mean, share, variance
from milepost.answers.released_data import ReleasedData
from milepost.errors import MilepostError
from milepost.mechanisms.coordinate.curves import Curves
from milepost.spaces.base import Space


@dataclass(frozen=True)
class ColumnEstimate(Estimate):
    """A mean, a variance or a share of one column.

    statistic: "mean", "variance" or "share". between: the ends of the values that a share counts; None for no limit.
    label: that a share counts, in a column of labels.
    """

    column: str
    statistic: str
    between: tuple[float | None, float | None] | None = None
    label: str | None = None

    @property
    def question(self) -> str:
        """What the number is, as text."""
        if self.label is not None:
            return f"share of {self.label}"
        if self.between is None:
            return self.statistic
        low, high = self.between
        if low is None or high is None:
            return f"share of {'all' if low is high else f'{high:g} or less' if low is None else f'{low:g} or more'}"
        return f"share from {low:g} to {high:g}"


def has_curves(synopsis: ReleasedData) -> bool:
    """Return whether a release has cumulative shares of columns or directions, which differences compare."""
    statistic = synopsis.statistic.group(synopsis.labels[0]) if synopsis.labels else synopsis.statistic
    return isinstance(statistic, Curves)


def has_columns(synopsis: ReleasedData) -> bool:
    """Return whether a release answers questions about single columns."""
    return has_curves(synopsis) and synopsis.space.embedding_columns is not None


def is_category(synopsis: ReleasedData, column: str | int) -> bool:
    """Return whether a column has labels."""
    return len(column_coordinates(synopsis, [column])) > 1


def column_estimates(
    synopsis: ReleasedData, columns: Sequence[str | int] | None, confidence: float
) -> list[ColumnEstimate]:
    """Return the mean and the variance of columns of numbers, and the share of each label of other columns.

    columns: by name or index; None for all about which something was released.
    """
    if columns is None:
        names: list[str] = [name for name in synopsis.space.names if column_coordinates(synopsis, [name])]
    else:
        names = [synopsis.space.names[index] for index in column_indices(synopsis, columns)]
    labels = _labels(synopsis.space)
    return [estimate for name in names for estimate in _estimates(synopsis, name, labels, confidence)]


def share_estimate(
    synopsis: ReleasedData, column: str | int, low: Any, high: Any, label: str | None, confidence: float
) -> ColumnEstimate:
    """Return the share of people between two values of a column, None for no limit, or of those with a label."""
    (index,) = column_indices(synopsis, [column])
    name = synopsis.space.names[index]
    if label is not None:
        labels = _labels(synopsis.space)
        coordinates = {labels[i]: i for i in column_coordinates(synopsis, [column]) if i in labels}
        if label not in coordinates:
            known = f"it has {', '.join(coordinates)}" if coordinates else "it has numbers"
            raise MilepostError(f"column {name!r} has no label {label!r}; {known}")
        return _named(label_share(synopsis, coordinates[label], confidence), name, "share", label=label)
    ends = -math.inf if low is None else low, math.inf if high is None else high
    return _named(share(synopsis, column, *ends, confidence), name, "share", between=(low, high))


def _estimates(
    synopsis: ReleasedData, name: str, labels: dict[int, str], confidence: float
) -> Iterator[ColumnEstimate]:
    coordinates = column_coordinates(synopsis, [name])
    if len(coordinates) > 1:
        for i in coordinates:
            yield _named(label_share(synopsis, i, confidence), name, "share", label=labels[i])
    else:
        yield _named(mean(synopsis, name, confidence), name, "mean")
        yield _named(variance(synopsis, name, confidence), name, "variance")


def _named(estimate: Estimate, column: str, statistic: str, **params: Any) -> ColumnEstimate:
    return ColumnEstimate(estimate.value, estimate.low, estimate.high, estimate.confidence, column, statistic, **params)


def _labels(space: Space) -> dict[int, str]:
    """Return the label of each embedding coordinate of a category."""
    columns = space.embedding_columns
    blocks = [(block, block.size) for block in space.embedding.blocks if block.size > 1]
    result: dict[int, str] = {}
    for k in range(max((size for _, size in blocks), default=0)):  # the k-th label of every category at once
        positions = np.zeros((1, space.embedding.dimension))
        chosen = [block.start + min(k, size - 1) for block, size in blocks]
        positions[0, chosen] = space.embedding.span[chosen]
        values = space.column_values(space.user_point(space.point(positions)[0]))
        result |= {i: str(values[columns[i]]) for i in chosen if columns is not None}
    return result

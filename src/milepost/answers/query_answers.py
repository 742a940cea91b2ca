"""Answers to queries: points, and weighted sums of distances to several points."""

from dataclasses import replace

import numpy as np

from milepost._typing import AnyArray, FloatArray
from milepost.answers.estimate import Estimate
from milepost.answers.evaluation import values_and_widths
from milepost.answers.released_data import ReleasedData
from milepost.mechanisms.base import NoisyStatistic, check_confidence
from milepost.spaces.queries import Queries


def estimate_queries(released: ReleasedData, queries: Queries, confidence: float) -> list[Estimate]:
    """Return the estimates of queries; see `Synopsis.estimate`."""
    values, widths = query_answers(released, queries, confidence)
    low = np.where(queries.non_negative, np.maximum(values - widths, 0), values - widths)
    numbers = zip(values.tolist(), low.tolist(), (values + widths).tolist(), strict=True)
    return [Estimate(value, start, end, confidence) for value, start, end in numbers]


def query_answers(released: ReleasedData, queries: Queries, confidence: float) -> tuple[FloatArray, FloatArray]:
    """Return the answers of queries and their half-widths, with the queries' factors.

    A release of given queries answers those and, if it has all points of a weighted sum, that sum of its answers.
    """
    check_confidence(confidence)
    statistic, given = released.statistic, released.queries
    if given is not None:
        queries = replace(queries, points=released.space.clip_points(queries.points))
        if queries in given or Queries(queries.points, queries.space) not in given:
            indices = given.find_queries(queries)
            values, widths = values_and_widths(statistic, indices, confidence)
            ratios = queries.factors / given.factors[indices]
            return values * ratios, widths * ratios
    positions = released.positions(queries.points)
    if queries.functions is None:
        return values_and_widths(statistic, positions, confidence)
    sums = queries.combinations
    points = np.concatenate([np.full(count, count) for count in np.diff(sums.starts)])
    widths = np.minimum(_joint_widths(statistic, positions, confidence, points), statistic.max_error)
    sizes = replace(sums, weights=np.abs(sums.filled_weights))
    return sums.sums(statistic.values(positions)) * queries.factors, sizes.sums(widths) * queries.factors


def _joint_widths(statistic: NoisyStatistic, positions: AnyArray, confidence: float, points: AnyArray) -> FloatArray:
    """Return half-widths of answers that hold together for all points of a query, whatever law their errors have.

    points: for each position, the number of points of its query.
    """
    result = np.empty(len(positions))
    for count in np.unique(points).tolist():
        of_count, each = points == count, 1 - (1 - confidence) / count
        if each <= statistic.confidence:
            result[of_count] = statistic.half_widths(positions[of_count], each)
        else:
            result[of_count] = statistic.half_width(confidence, uniform=True)
    return result

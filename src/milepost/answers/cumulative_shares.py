"""Cumulative shares of two compared tables, as pictures show them."""

from dataclasses import dataclass

import numpy as np
import scipy

from milepost._typing import FloatArray
from milepost.answers.energy_distance import ComparedTables

MAX_POINTS = 128  # of a curve; the mean over the cells of a point has less noise than each of them


@dataclass(frozen=True, eq=False)
class CumulativeShares:
    """The share of people at or below positions along a column or a direction, in each of two tables."""

    name: str
    positions: FloatArray
    left: FloatArray
    right: FloatArray


def cumulative_shares(tables: ComparedTables, count: int) -> list[CumulativeShares]:
    """Return the curves of the columns or directions that differ most; none where labels or flags differ most."""
    curves = tables.largest_curves(count)
    parts = tables.column_parts()
    if isinstance(parts, dict) and max(parts, key=lambda name: parts[name]) not in {name for name, *_ in curves}:
        return []
    return [
        CumulativeShares(name, _merge(positions), _possible(_merge(left)), _possible(_merge(right)))
        for name, positions, left, right in curves
    ]


def _possible(shares: FloatArray) -> FloatArray:
    """Return the nearest shares that a table could have: they never fall, and are between 0 and 1."""
    return np.asarray(np.clip(scipy.optimize.isotonic_regression(shares).x, 0, 1))


def _merge(values: FloatArray) -> FloatArray:
    """Return means of neighboring values, MAX_POINTS of them at most."""
    width = -(-len(values) // MAX_POINTS)
    firsts = np.arange(0, len(values), width)
    return np.asarray(np.add.reduceat(values, firsts) / np.diff(np.append(firsts, len(values))))

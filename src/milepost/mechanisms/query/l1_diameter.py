"""The largest ℓ₁ distance between points, up to a small share and never too small.

Points are split into halves again and again. Two groups of points can be no farther apart than their centres and their
radii together, so that most pairs of groups need no closer look.
"""

from dataclasses import dataclass

import numpy as np

from milepost._typing import AnyArray, FloatArray, IntArray

TOLERANCE = 1 / 256  # share by which a result may be too large
WORK = 1 << 33  # differences that are computed at most, about ten seconds; what is left then counts with its bound
FIRST_GROUPS = 64
SPLIT_COORDINATES = 12  # with the largest ranges, of which groups are split along one
STARTS, ASCENTS = 16, 4  # of the search for two points that are far apart
BLOCK = 1 << 20  # differences in memory at a time


@dataclass(frozen=True)
class FarPair:
    """Two points, by index, and their distance with the slacks of both."""

    left: int
    right: int
    length: float


def l1_diameter(points: FloatArray, slacks: FloatArray) -> float:
    """Return at least the largest ‖x − y‖₁ + slack(x) + slack(y) over points float64[N, k] and slacks float64[N].

    Points are rounded to float32, and the result includes what this and all sums may be off. The tolerance and `WORK`
    make it larger, too, never smaller.
    """
    order = np.argsort(-np.ptp(points, axis=0))
    rounded = np.ascontiguousarray(points[:, order], dtype=np.float32)
    rounding = (points.shape[1] + 8) * 2.0**-21 * float(np.abs(points).sum(axis=1).max())
    best = max(pair.length for pair in far_pairs(rounded, slacks))
    return float(_search(rounded, slacks, best) * (1 + 1e-9) + rounding)


def far_pairs(points: AnyArray, slacks: FloatArray) -> list[FarPair]:
    """Return pairs of points that are far apart, found from points that are spread by going to the farthest one."""
    result, nearest, start = [], np.full(len(points), np.inf), 0
    for _ in range(min(STARTS, len(points))):
        distances = _distances_from(points, points[start])
        nearest = np.minimum(nearest, distances)
        here = start
        for _ in range(ASCENTS):
            other = int((distances + slacks).argmax())
            result.append(FarPair(here, other, float(distances[other] + slacks[other] + slacks[here])))
            if len(result) > 1 and result[-1].length <= max(pair.length for pair in result[:-1]):
                break
            here, distances = other, _distances_from(points, points[other])
        start = int(nearest.argmax())
    return result


def farthest_from(points: AnyArray, slacks: FloatArray, place: FloatArray) -> tuple[int, float]:
    """Return the index of the point with the largest ‖x − place‖₁ + slack(x), and this number."""
    lengths = _distances_from(points, place) + slacks
    return int(lengths.argmax()), float(lengths.max())


def _distances_from(points: AnyArray, place: FloatArray) -> FloatArray:
    """Return the ℓ₁ distances of all points from a place."""
    result = np.empty(len(points))
    rows = max(1, BLOCK // points.shape[1])
    for first in range(0, len(points), rows):
        part = points[first : first + rows] - place
        result[first : first + rows] = np.abs(part, out=part).sum(axis=1)
    return result


def _search(points: AnyArray, slacks: FloatArray, best: float) -> float:
    """Return an upper bound within the tolerance. best: a value that two points have."""
    depth = max(0, (len(points) - 1).bit_length())
    groups = np.resize(np.arange(len(points)), 1 << depth)[None]  # some points twice
    left = right = np.zeros(1, dtype=np.int64)
    bound, work = 0.0, WORK // points.shape[1]
    for level in range(depth + 1):
        if level:
            groups = _split(points, groups)
            left, right = _child_pairs(left, right)
        if len(groups) < FIRST_GROUPS and level < depth:
            continue
        centers, radii = _balls(points, slacks, groups)
        work -= len(left)
        distances = _pair_distances(points, centers[left], centers[right])
        best = max(best, float((distances + slacks[centers[left]] + slacks[centers[right]]).max()))
        bounds = distances + radii[left] + radii[right]
        open_pairs = bounds > best * (1 + TOLERANCE)
        if level == depth or work < 4 * np.count_nonzero(open_pairs):
            open_pairs[:] = False
        bound = max(bound, float(bounds[~open_pairs].max(initial=0)))
        left, right = left[open_pairs], right[open_pairs]
        if not len(left):
            break
    return max(best, bound)


def _split(points: AnyArray, groups: IntArray) -> IntArray:
    """Return groups int64[m, size] in halves, along the coordinate in which each is widest: int64[2m, size/2]."""
    values = points[groups, :SPLIT_COORDINATES]
    widest = np.ptp(values, axis=1).argmax(axis=1)
    order = np.argsort(np.take_along_axis(values, widest[:, None, None], axis=2)[:, :, 0], axis=1, kind="stable")
    return np.asarray(np.take_along_axis(groups, order, axis=1).reshape(2 * len(groups), -1))


def _child_pairs(left: IntArray, right: IntArray) -> tuple[IntArray, IntArray]:
    """Return all pairs of halves of pairs of groups, each once."""
    lefts = np.concatenate([2 * left, 2 * left, 2 * left + 1, 2 * left + 1])
    rights = np.concatenate([2 * right, 2 * right + 1, 2 * right, 2 * right + 1])
    ordered = lefts <= rights
    return lefts[ordered], rights[ordered]


def _balls(points: AnyArray, slacks: FloatArray, groups: IntArray) -> tuple[IntArray, FloatArray]:
    """Return a point in the middle of each group, and the largest distance from it with its slack."""
    if groups.shape[1] == 1:
        return groups[:, 0], slacks[groups[:, 0]]
    centers, radii = np.empty(len(groups), dtype=np.int64), np.empty(len(groups))
    rows = max(1, BLOCK // (groups.shape[1] * points.shape[1]))
    for first in range(0, len(groups), rows):
        part = groups[first : first + rows]
        members = points[part]
        middle = np.abs(members - members.mean(axis=1, keepdims=True)).sum(axis=2).argmin(axis=1)
        index = np.arange(len(part))
        members -= members[index, middle][:, None].copy()
        distances = np.abs(members, out=members).sum(axis=2) + slacks[part]
        centers[first : first + rows], radii[first : first + rows] = part[index, middle], distances.max(axis=1)
    return centers, radii


def _pair_distances(points: AnyArray, left: IntArray, right: IntArray) -> FloatArray:
    """Return the ℓ₁ distances of pairs of points."""
    result = np.empty(len(left))
    rows = max(1, BLOCK // 8 // points.shape[1])
    for first in range(0, len(left), rows):
        part = points[left[first : first + rows]]
        part -= points[right[first : first + rows]]
        result[first : first + rows] = np.abs(part, out=part).sum(axis=1)
    return result

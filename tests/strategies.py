"""Shared Hypothesis strategies: convex functions on an interval, tables of quanta, adversaries."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from milepost._typing import FloatArray


@dataclass(frozen=True)
class Convex:
    """A convex, 1-Lipschitz function [0, 1] → [0, 1] with a subgradient."""

    value: Callable[[FloatArray], FloatArray]
    slope: Callable[[FloatArray], FloatArray]
    text: str

    def __repr__(self) -> str:
        return self.text


def mean_distance(points: list[float]) -> Convex:
    """F(u) = mean |x − u|: the functions that tables give."""
    x = np.array(points)

    def value(u: FloatArray) -> FloatArray:
        return np.asarray(np.abs(x[:, None] - np.atleast_1d(u)[None]).mean(axis=0))

    def slope(u: FloatArray) -> FloatArray:
        return np.asarray(np.sign(np.atleast_1d(u)[None] - x[:, None]).mean(axis=0))

    return Convex(value, slope, f"mean_distance({points})")


def maximum_of_lines(lines: list[tuple[float, float]]) -> Convex:
    """max over (slope, intercept), lifted to be at least 0."""
    a, b = (np.array(column) for column in zip(*lines, strict=True))
    grid = np.linspace(0, 1, 4097)
    lift = -min(0.0, float((a[:, None] * grid + b[:, None]).max(axis=0).min()))

    def at(u: FloatArray) -> FloatArray:
        return np.asarray(a[:, None] * np.atleast_1d(u)[None] + b[:, None])

    return Convex(
        lambda u: np.asarray(at(u).max(axis=0) + lift), lambda u: np.asarray(a[at(u).argmax(axis=0)]), f"max({lines})"
    )


def hyperbola(center: float, width: float) -> Convex:
    """A smooth |u − center|."""
    return Convex(
        lambda u: np.sqrt((np.atleast_1d(u) - center) ** 2 + width**2) - width * 0.5,
        lambda u: (np.atleast_1d(u) - center) / np.sqrt((np.atleast_1d(u) - center) ** 2 + width**2),
        f"hyperbola({center}, {width})",
    )


def parabola(center: float) -> Convex:
    """(u − ½)² stretched to slope ±1 at the ends when centred: the worst case of the mistake bound."""
    return Convex(
        lambda u: (np.atleast_1d(u) - center) ** 2 / (2 * max(center, 1 - center)),
        lambda u: (np.atleast_1d(u) - center) / max(center, 1 - center),
        f"parabola({center})",
    )


unit = st.floats(0, 1, allow_subnormal=False)
convex_functions = st.one_of(
    st.lists(unit, min_size=1, max_size=20).map(mean_distance),
    st.lists(st.tuples(st.floats(-1, 1), st.floats(-0.5, 0.5)), min_size=1, max_size=8).map(maximum_of_lines),
    st.builds(hyperbola, unit, st.floats(1e-3, 1)),
    unit.map(parabola),
)


@dataclass(frozen=True)
class Visit:
    """A row of a table with roles: whose it is, its group's label, its weight, where it was."""

    person: int
    label: int
    weight: float
    east: float
    north: float


# few values each, so that persons have several rows and rows are often the same; some lie outside
visits = st.lists(
    st.builds(
        Visit,
        person=st.integers(0, 4),
        label=st.integers(0, 3),
        weight=st.sampled_from([-1.0, 0.0, 0.3, 1.0, 2.0, 2.5, 4.0, 9.0]),
        east=st.sampled_from([-3.0, -0.0, 0.0, 0.1, 2.5, 7.77, 10.0, 11.0]),
        north=st.sampled_from([0.0, 1 / 3, 5.0, 9.99]),
    ),
    max_size=40,
)

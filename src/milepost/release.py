"""release, interactive and exact: from a table to answers."""

import warnings
from typing import Any

import numpy as np

from milepost.data import Columns, batches
from milepost.data import points as query_points
from milepost.errors import MilepostError, PromiseWarning
from milepost.mechanisms import MECHANISMS
from milepost.mechanisms.margins import check_game
from milepost.mechanisms.tangents import Tangents, interactive_error, interactive_margins
from milepost.privacy.change import Change
from milepost.privacy.guarantee import Guarantee
from milepost.session import Session
from milepost.spaces.base import Space
from milepost.statistics.sketch import Sketch
from milepost.synopsis import Synopsis


def release(
    data: Any,
    space: Space,
    *,
    epsilon: float,
    delta: float = 0.0,
    mechanism: str = "auto",
    neighbors: str = "replace",
    columns: Columns = None,
    beta: float = 0.05,
) -> Synopsis:
    """A synopsis of a private table that answers every query; spends (epsilon, delta) once.

    data: an array, a pandas frame, an Arrow table or the path of a CSV file. columns: which of its columns to use.
    beta: the probability with which the promised error may fail.

    >>> import milepost as mp
    >>> homes = np.random.default_rng(0).uniform(0, 10, size=(200_000, 2))
    >>> synopsis = mp.release(homes, mp.L1([(0, 10), (0, 10)]), epsilon=1, delta=1e-6)
    >>> abs(synopsis.mean_distance([5, 5]) - 5) < synopsis.error() + 0.1
    True
    """
    guarantee, change = Guarantee(epsilon, delta), Change(neighbors)
    check_game(1, beta)
    chosen = choose(mechanism)(beta=beta)
    chosen.check(change)
    sketch = read_sketch(data, space, columns)
    n = int(sketch.totals[0])
    warn_wide(chosen.predict(space.hosts, n, change, guarantee).error, space, n)
    return Synopsis(space, chosen.run(sketch, space.hosts, change, guarantee), guarantee, change, n)


def interactive(
    data: Any,
    space: Space,
    *,
    epsilon: float,
    delta: float = 0.0,
    max_queries: int,
    beta: float = 0.05,
    mechanism: str = "auto",
    neighbors: str = "replace",
    columns: Columns = None,
) -> Session:
    """A session that answers up to `max_queries` queries, chosen one after another; spends (epsilon, delta) once."""
    guarantee, change = Guarantee(epsilon, delta), Change(neighbors)
    check_game(max_queries, beta)
    choose(mechanism)(beta=beta).check(change)
    sketch = read_sketch(data, space, columns)
    n = int(sketch.totals[0])
    margins = interactive_margins(space.hosts, n, guarantee, max_queries, beta)
    warn_wide(interactive_error(space.hosts, margins), space, n)
    return Session(sketch, space, guarantee, change, margins)


def exact(data: Any, space: Space, points: Any, *, columns: Columns = None) -> Any:
    """The true mean distances. NOT PRIVATE: for the curator's own comparison, never for publication."""
    batch, single, _ = query_points(points, space.width)
    queries = space.read_queries(batch)
    sums, n = np.zeros(len(queries)), 0
    for rows in batches(data, columns, space.columns):
        records = space.read(rows, n)
        sums += space.distance(records, queries).sum(axis=0)
        n += len(records)
    _refuse_empty(n)
    return float(sums[0] / n) if single else sums / n


def read_sketch(data: Any, space: Space, columns: Columns = None) -> Sketch:
    """The exact statistic of a table, batch by batch; bad rows are refused and nothing is spent."""
    sketch = Sketch(space.hosts.dimension)
    n = 0
    for rows in batches(data, columns, space.columns):
        records = space.read(rows, n)
        sketch.add(space.quantize(records))
        n += len(records)
    _refuse_empty(n)
    return sketch


def choose(mechanism: str) -> type[Tangents]:
    """The mechanism of this name; "auto" takes the one with the smallest predicted error."""
    if mechanism == "auto":
        return Tangents
    if mechanism not in MECHANISMS:
        raise MilepostError(f"unknown mechanism {mechanism!r}; choose from auto, {', '.join(MECHANISMS)}")
    return MECHANISMS[mechanism]


def warn_wide(error: float, space: Space, n: int) -> None:
    """Say when the predicted error is more than a quarter of the diameter."""
    if error > space.diameter / 4:
        warnings.warn(
            f"the predicted error, {error:.3g}, is more than a quarter of the diameter {space.diameter:.3g}; "
            f"more rows than {n:,} or a larger epsilon would help: mp.plan shows how much",
            PromiseWarning,
            stacklevel=3,
        )


def _refuse_empty(n: int) -> None:
    if n == 0:
        raise MilepostError("the table is empty; at least one row is needed")

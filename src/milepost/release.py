"""release, interactive and exact: from a table to answers."""

import warnings
from typing import Any

import numpy as np

from milepost.data import Columns, batches
from milepost.data import points as query_points
from milepost.errors import MilepostError, PromiseWarning
from milepost.mechanisms import Mechanism, mechanisms
from milepost.mechanisms.margins import check_game
from milepost.mechanisms.tangents import Tangents, interactive_error, interactive_margins
from milepost.privacy.change import Change
from milepost.privacy.guarantee import Guarantee
from milepost.session import Session, SynopsisSession, TangentSession
from milepost.spaces.base import Space
from milepost.statistics.sketch import Sketch
from milepost.synopsis import Synopsis

BLOCK = 1 << 23  # host coordinates in memory at a time


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

    data: an array, a pandas or Polars frame, an Arrow table, or the path of a CSV or Parquet file.
    columns: which of its columns to use.
    beta: the probability with which the promised error may fail.

    >>> import milepost as mp
    >>> homes = np.random.default_rng(0).uniform(0, 10, size=(200_000, 2))
    >>> synopsis = mp.release(homes, mp.L1([(0, 10), (0, 10)]), epsilon=1, delta=1e-6)
    >>> abs(synopsis.mean_distance([5, 5]) - 5) < synopsis.error() + 0.1
    True
    """
    guarantee, change = Guarantee(epsilon, delta), Change(neighbors)
    candidates = choose(mechanism, beta, change, guarantee)
    sketch = read_sketch(data, space, columns)
    return _release(sketch, space, candidates, change, guarantee)


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
    """A session that answers queries chosen one after another; spends (epsilon, delta) once.

    "tangents" answers up to `max_queries` of them by the interactive game of Theorem 1. Other mechanisms make a
    synopsis that answers any number; "auto" takes whichever has the smallest predicted error.
    """
    guarantee, change = Guarantee(epsilon, delta), Change(neighbors)
    check_game(max_queries, beta)
    candidates = choose(mechanism, beta, change, guarantee)
    sketch = read_sketch(data, space, columns)
    n = int(sketch.totals[0])
    if Tangents.name in candidates:
        del candidates[Tangents.name]
        margins = interactive_margins(space.hosts, n, guarantee, max_queries, beta)
        error = interactive_error(space.hosts, margins)
        if all(other.predict(space.hosts, n, change, guarantee).error > error for other in candidates.values()):
            warn_wide(error, space, n)
            return TangentSession(sketch, space, guarantee, change, margins)
    return SynopsisSession(_release(sketch, space, candidates, change, guarantee))


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
    size, n = max(1, BLOCK // space.hosts.dimension), 0
    for rows in batches(data, columns, space.columns):
        records = space.read(rows, n)
        for start in range(0, len(records), size):
            sketch.add(space.quantize(records[start : start + size]))
        n += len(records)
    _refuse_empty(n)
    return sketch


def choose(mechanism: str, beta: float, change: Change, guarantee: Guarantee) -> dict[str, Mechanism]:
    """The mechanism of this name, or all that fit for "auto"; refused when none does."""
    check_game(1, beta)
    known = mechanisms(beta)
    if mechanism != "auto":
        if mechanism not in known:
            raise MilepostError(f"unknown mechanism {mechanism!r}; choose from auto, {', '.join(known)}")
        known[mechanism].check(change, guarantee)
        return {mechanism: known[mechanism]}
    fitting = dict(known)
    for name, candidate in known.items():
        try:
            candidate.check(change, guarantee)
        except MilepostError as error:
            del fitting[name]
            if not fitting:
                raise MilepostError(f"no mechanism fits: {error}") from None
    return fitting


def _release(
    sketch: Sketch, space: Space, candidates: dict[str, Mechanism], change: Change, guarantee: Guarantee
) -> Synopsis:
    """Spend the guarantee on the candidate with the smallest predicted error."""
    n = int(sketch.totals[0])
    predictions = [candidate.predict(space.hosts, n, change, guarantee) for candidate in candidates.values()]
    best = min(predictions, key=lambda prediction: prediction.error)
    warn_wide(best.error, space, n)
    answerer = candidates[best.mechanism].run(sketch, space.hosts, change, guarantee)
    return Synopsis(space, answerer, guarantee, change, n)


def warn_wide(error: float, space: Space, n: int) -> None:
    """Say when the predicted error is more than a quarter of the diameter."""
    if error > space.diameter / 4:
        warnings.warn(
            f"the predicted error, {error:.3g}, is more than a quarter of the diameter {space.diameter:.3g}; "
            f"more rows than {n:,} or a larger epsilon would help: mp.plan shows how much",
            PromiseWarning,
            stacklevel=4,
        )


def _refuse_empty(n: int) -> None:
    if n == 0:
        raise MilepostError("the table is empty; at least one row is needed")

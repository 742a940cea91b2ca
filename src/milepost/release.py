"""release, interactive and exact: from a table to answers."""

from typing import Any

import numpy as np

from milepost.choice import Candidates, candidates, check_oblivious, no_choice, session_choice
from milepost.data import Columns
from milepost.data import points as query_points
from milepost.errors import warn
from milepost.mechanisms.margins import check_game
from milepost.mechanisms.tangents import Tangents, interactive_error
from milepost.privacy.change import Change
from milepost.privacy.guarantee import Guarantee
from milepost.reading import check_count, count, read_sketch, records
from milepost.session import Session, SynopsisSession, TangentSession
from milepost.spaces.base import Space
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
    queries: Any = None,
    beta: float = 0.05,
) -> Synopsis:
    """A synopsis of a private table that answers every query; spends (epsilon, delta) once.

    data: an array, a pandas or Polars frame, an Arrow table, or the path of a CSV or Parquet file; for an AnyMetric,
    a list of objects, too.
    columns: which of its columns to use.
    queries: the only points that will be asked about, where these are known. "gaussian" and "laplace" need them; "auto"
    then takes one of these where that is more exact, and the synopsis answers these points and no others.
    beta: the probability with which the promised error may fail.

    >>> import milepost as mp
    >>> homes = np.random.default_rng(0).uniform(0, 10, size=(200_000, 2))
    >>> synopsis = mp.release(homes, mp.L1([(0, 10), (0, 10)]), epsilon=1, delta=1e-6)
    >>> abs(synopsis.mean_distance([5, 5]) - 5) < synopsis.error() + 0.1
    True
    """
    guarantee, change = Guarantee(epsilon, delta), Change(neighbors)
    fitting = _fitting(candidates(space, queries, mechanism, beta), change, guarantee)
    data = _settled(data)
    return _release(data, columns, fitting, count(data), change, guarantee)


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
    check_oblivious(space)
    guarantee, change = Guarantee(epsilon, delta), Change(neighbors)
    check_game(max_queries, beta)
    fitting = _fitting(candidates(space, None, mechanism, beta), change, guarantee)
    data = _settled(data)
    n = count(data)
    if Tangents.name in fitting.hosts:
        del fitting.hosts[Tangents.name]
        variant, margins = session_choice(space, n, guarantee, max_queries, beta)
        error = interactive_error(variant.hosts, margins)
        others, _ = fitting.choices(n, change, guarantee)
        if all(other.prediction.error > error for other in others):
            sketch = read_sketch(data, variant, columns)
            check_count(int(sketch.totals[0]), n)
            warn_wide(error, variant.hosts.bias, space, n)
            return TangentSession(sketch, variant, guarantee, change, margins)
    return SynopsisSession(_release(data, columns, fitting, n, change, guarantee))


def exact(data: Any, space: Space, points: Any, *, columns: Columns = None) -> Any:
    """The true mean distances. NOT PRIVATE: for the curator's own comparison, never for publication."""
    batch, single, _ = query_points(points, space)
    queries = space.read_queries(batch)
    sums, n, data = np.zeros(len(queries)), 0, _settled(data)
    for block in records(data, space, columns, max(1, len(queries))):
        sums += space.distance(block, queries).sum(axis=0)
        n += len(block)
    count(data)
    return float(sums[0] / n) if single else sums / n


def _fitting(possible: Candidates, change: Change, guarantee: Guarantee) -> Candidates:
    """Those that can give this guarantee; refused when none can."""
    fitting, refused = possible.fitting(change, guarantee)
    if not fitting.hosts and not fitting.direct:
        raise no_choice(refused)
    return fitting


def _release(
    data: Any, columns: Columns, fitting: Candidates, n: int, change: Change, guarantee: Guarantee
) -> Synopsis:
    """Spend the guarantee on the choice with the smallest predicted error."""
    choices, refused = fitting.choices(n, change, guarantee)
    if not choices:
        raise no_choice(refused)
    spend = choices[0].prepare(data, columns, n, change, guarantee)
    warn_wide(choices[0].prediction.error, choices[0].bias, fitting.space, n)
    return spend()


def _settled(data: Any) -> Any:
    """A table that can be read twice."""
    return list(data) if hasattr(data, "__next__") else data


def warn_wide(error: float, bias: float, space: Space, n: int) -> None:
    """Say when the predicted error is more than a quarter of the diameter, and what would help."""
    if error <= space.diameter / 4:
        return
    remedy = f"more rows than {n:,} or a larger epsilon would help: mp.plan shows how much"
    if bias > error / 2:
        remedy = "most of it is the embedding's: gaussian or laplace, with queries=[…], have none"
    warn(f"the predicted error, {error:.3g}, is more than a quarter of the diameter {space.diameter:.3g}; {remedy}")

"""Releases: from a private table to a synopsis, and the exact answers to compare with."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from milepost._validation import check_whole
from milepost.errors import MilepostError, warn
from milepost.ingest.aggregation import records
from milepost.ingest.batches import Columns, open_stream
from milepost.ingest.dataframes import shape_answers
from milepost.ingest.query_points import query_points
from milepost.ingest.row_attributes import Role, RowColumns
from milepost.ingest.table import Table, check_some
from milepost.mechanisms.base import Label
from milepost.mechanisms.registry import AnyMechanism, capable_names
from milepost.pipeline.open_table import is_spark_frame, open_table
from milepost.pipeline.private_ball import as_given, check_accounting, check_ball_share, check_noise, find_ball
from milepost.pipeline.selection import (
    Candidates,
    Choice,
    SessionChoice,
    candidates,
    mechanism_name,
    no_choice,
)
from milepost.privacy.accounting.ledger import Ledger, spending
from milepost.privacy.guarantee import PURE, Guarantee
from milepost.privacy.noise import laplace
from milepost.privacy.protected_change import SLACK, ProtectedChange
from milepost.spaces.base import Space, require_space
from milepost.statistics.sketch import MAX_TOTAL, check_weight
from milepost.synopsis.serialization import counted_synopsis
from milepost.synopsis.synopsis import Synopsis

EXPECTED_ROWS = 1_000_000  # of an iterator of batches, where n is not given
SIZE_SHARE = 0.02  # of ε, for the noisy number of rows that a release is sized from


def release(
    data: Any,
    space: Space,
    *,
    epsilon: float,
    delta: float = 0.0,
    mechanism: str | AnyMechanism = "auto",
    neighbors: str = "replace",
    columns: Columns = None,
    queries: Any = None,
    groups: Role = None,
    labels: Sequence[Label] = (),
    privacy_unit: Role = None,
    contributions: int = 1,
    row_weights: Role = None,
    max_row_weight: float | None = None,
    n: int | None = None,
    failure_probability: float = 0.05,
    ball_share: float | None = None,
    effort: str = "balanced",
    model: bool | None = None,
    ledger: Ledger | None = None,
    dataset: str | None = None,
) -> Synopsis:
    """Release a synopsis of a private table, which answers every query; spend (epsilon, delta) once.

    Parameters
    ----------
    data : table
        An array, a pandas or Polars frame, an Arrow table or dataset, a Spark frame, the path of a CSV or Parquet file,
        of a folder of such files, or a pattern such as ``"homes/*.parquet"``. An iterator of batches is read once and
        never held in memory. For an `AnyMetric`, also a list of objects.
    space : Space
        What a point is and how far apart two points are. It is public.
    epsilon : float
        The ε of the guarantee.
    delta : float
        The δ of the guarantee; 0 is pure ε.
    mechanism : str or mechanism object
        ``"auto"`` takes the mechanism with the smallest predicted error. Else a name, or an object of a class of
        milepost or of your own; see `milepost.mechanisms.base.Mechanism`.
    neighbors : str
        ``"replace"``, or ``"add-remove"`` where it is private whether a person is in the table at all.
    columns : list of str or int, optional
        The columns of the points; by default those that the space names, or all that have no other role.
    queries : list of points, optional
        The only points to answer, and `WeightedDistances` among them. Mechanisms for given queries need them.
        ``"auto"`` then takes one of these if its error is smaller, and the synopsis answers these queries and no
        others.
    groups, labels : column and list, optional
        The column of each row's group, and the public list of groups. One release answers for all groups. Rows with
        other labels belong to the group "other" if that is listed; else they are left out.
    privacy_unit, contributions : column and int, optional
        The column that identifies the person of a row, and the largest number of rows of one person that are used.
    row_weights, max_row_weight : column and float, optional
        The column of each row's weight, and the public maximum to which larger weights are cut.
    n : int, optional
        The approximate number of rows, if that is private but roughly known; by default 2 % of epsilon pays for it. For
        an iterator of batches, the number of rows for which embedding coordinates are chosen, by default a million.
    failure_probability : float
        The probability with which a promised error may fail. A mechanism object has its own.
    ball_share : float, optional
        For an `L2` with a centre and a radius, and δ > 0: the share of the budget, below 0.5, that finds a smaller ball
        with all rows but the few that noise hides. The rest is spent in that ball, and all noise shrinks with its
        radius. Rows outside are moved to its border. The table is read two more times.
    effort : {"balanced", "faster", "closer"}
        How many embedding coordinates to try, where the space leaves their number open: "faster" takes a few, "closer"
        as many as lessen the error. Their number has no effect on privacy.
    model : bool, optional
        Whether a share of the budget buys a private model of the table, which takes away most of the error of random
        directions; the table is read five more times. By default where that lessens the predicted error of an `L2`, an
        `Lp` or an `Angular` of four or more columns without groups, and δ > 0. False leaves it out.
    ledger, dataset : Ledger and str, optional
        The ledger that is charged before the table is read, and the name of the budget. With δ > 0, the noise is
        calibrated by the accounting of that budget, and ``"auto"`` leaves out mechanisms that spend pure ε, which
        would cost many times more, and those that the accounting cannot count.

    Returns
    -------
    Synopsis
        It answers without cost. Save it as a file, and share it.

    Raises
    ------
    MilepostError
        If an argument or a row is bad. Nothing is spent then.
    BudgetExceededError
        If the ledger does not allow the guarantee. Nothing is charged then.

    Examples
    --------
    >>> import milepost as mp
    >>> homes = np.random.default_rng(0).uniform(0, 10, size=(200_000, 2))
    >>> synopsis = mp.release(homes, mp.L1([(0, 10), (0, 10)]), epsilon=1, delta=1e-6)
    >>> abs(synopsis.mean_distance([5, 5]) - 5) < synopsis.error() + 0.1
    True
    """
    require_space(space)
    space = as_given(space)
    row_columns = RowColumns(groups, labels, privacy_unit, contributions, row_weights, max_row_weight)
    guarantee = Guarantee(epsilon, delta, accounting=accounting_of(ledger, dataset))
    change = row_columns.change(neighbors)
    if ball_share is not None:
        check_ball_share(ball_share, space, guarantee, queries)
    possible = candidates(space, queries, mechanism, failure_probability, effort, model)
    if (ledger is not None or ball_share is not None) and mechanism == "auto" and not guarantee.pure:
        possible = possible.charged_as(guarantee)
    feasible, refused = possible.feasible(change, guarantee)
    if feasible.empty:
        raise no_choice(refused, possible.others(change, guarantee))
    if ball_share is not None:
        check_accounting(guarantee, feasible.accounted(guarantee), mechanism_name(mechanism))
    table = open_table(data, space, change, columns, row_columns, stream=True)
    if model and table.single_pass:
        raise MilepostError("model= reads the table again, and an iterator of batches can be read once only")
    cost = charges(feasible.accounted(guarantee), change, n)
    with spending(ledger, dataset, cost, mechanism_name(mechanism), protects=change.protects) as charge:
        if ball_share is not None:
            return release_in_ball(table, feasible, feasible.accounted(guarantee), n, ball_share, charge.drawn)
        if table.single_pass:  # how it is read cannot wait for the number of its rows
            feasible = replace(feasible, model=False)
            expected = group_size(change.weight(n or EXPECTED_ROWS), change)
            feasible = best_choice(feasible, expected, change, guarantee).only(feasible)
            n = None if change.public_total else n
        if feasible.single_statistic and not table.countable:
            table = feasible.read(table)  # and counted on the way
        size = size_release(table, lambda n, left: best_choice(feasible, n, change, left), guarantee, n, charge.drawn)
        return run_release(table, feasible, size, guarantee, charge.drawn)


def release_in_ball(
    table: Table, feasible: Candidates, guarantee: Guarantee, n: int | None, share: float, drawing: Callable[[], None]
) -> Synopsis:
    """Find a smaller ball with a share of the budget, and spend the rest in it (docs/proofs/ball.md).

    guarantee: as the mechanism spends it. Where the table is too small for a ball of its own, the given one stays, and
    the release has the whole budget.
    """
    if table.single_pass:
        raise MilepostError("ball_share= reads the table three times, and an iterator of batches can be read once only")

    def choose(n: int, left: Guarantee) -> Choice:
        check_noise(table.space, table.change, left.with_share(share))
        return best_choice(feasible, n, table.change, left.with_share(1 - share))

    size = size_release(table, choose, guarantee, n, drawing)
    ball = find_ball(table, size.left, share, size.total, guarantee.epsilon, drawing)
    if ball is None:
        return run_release(table, feasible, size, guarantee, drawing)
    rest = replace(size, left=size.left.with_share(1 - share))
    return run_release(table.in_space(ball), replace(feasible, space=ball), rest, guarantee, drawing)


def accounting_of(ledger: Ledger | None, dataset: str | None) -> str:
    """Return the accounting of the budget that a guarantee with δ > 0 is charged to; empty for the default."""
    if not isinstance(ledger, Ledger) or dataset is None:
        return ""
    try:
        accounting = ledger.account(dataset).accounting
    except MilepostError:  # nothing can be charged there, which the charge itself reports
        return ""
    return "" if accounting == PURE else accounting


def charges(guarantee: Guarantee, change: ProtectedChange, n: int | None) -> list[Guarantee]:
    """Return the guarantees that a release charges to a ledger. guarantee: as the mechanism spends it."""
    if change.public_total or n is not None or guarantee.pure:
        return [guarantee]
    spent = SIZE_SHARE * guarantee.epsilon
    return [Guarantee(spent), replace(guarantee, epsilon=guarantee.epsilon - spent)]


@dataclass(frozen=True)
class Size:
    """The number of records, or weight in steps, that a release is sized for, and the guarantee left to spend on it."""

    total: int
    left: Guarantee


def size_release(
    table: Table,
    choose: Callable[[int, Guarantee], Any],
    guarantee: Guarantee,
    n: int | None,
    drawing: Callable[[], None],
) -> Size:
    """Return the exact number of rows where it is public; else n if given, or a noisy number for a share of ε.

    choose: refuses a number of rows and a guarantee that no mechanism fits. drawing: called before noise is drawn.
    """
    change = table.change
    if change.public_total:
        if n is not None:
            raise MilepostError("n is for tables whose number of rows is private; leave it out here, it is counted")
        total = table.total()
        check_weight(total)
        return Size(total, guarantee)
    if n is not None:
        check_whole("n", n, 1, MAX_TOTAL // change.steps)
        return Size(change.weight(n), guarantee)
    spent = SIZE_SHARE * guarantee.epsilon
    left = replace(guarantee, epsilon=guarantee.epsilon - spent)
    choose(1, left)  # noise that does not fit is refused before anything is spent
    exact = table.total()  # every row is read: one that is bad is refused before anything is spent
    check_weight(exact)
    drawing()
    noisy = int(laplace(np.array([exact]), change.multiple / spent * SLACK)[0])
    return Size(min(max(noisy, 1), MAX_TOTAL), left)


def exact_mean_distance(data: Any, space: Space, points: Any, *, columns: Columns = None) -> Any:
    """Return the true mean distances. NOT PRIVATE: for the curator's own comparison, never for publication.

    Parameters
    ----------
    data : table
        The private table, as `release` takes it, but for Spark frames.
    space : Space
        What a point is and how far apart two points are.
    points : point, list of points or frame
        Where to measure.
    columns : list of str or int, optional
        The columns of the points in the table.

    Returns
    -------
    float, array or Series
        In the shape of `Synopsis.mean_distance`.

    Examples
    --------
    >>> import milepost as mp
    >>> mp.exact_mean_distance([[2.0, 3.0], [8.0, 5.0]], mp.L1([(0, 10), (0, 10)]), [5, 5])
    4.0
    """
    require_space(space)
    if is_spark_frame(data):
        raise MilepostError(
            "exact reads rows on this computer, got a Spark frame; give it one that fits, by toPandas()"
        )
    batch, single, like = query_points(points, space)
    queries = space.read_queries(batch)
    sums, n = np.zeros(len(queries)), 0
    for block in records(open_stream(data), space, columns, max(1, len(queries))):
        sums += space.distance(block, queries).sum(axis=0)
        n += len(block)
    check_some(n)
    return shape_answers(sums / n, single, like, "exact")


def best_choice(feasible: Candidates, n: int, change: ProtectedChange, guarantee: Guarantee) -> Choice:
    """Return the choice with the smallest predicted error; refuse if there is none."""
    best, refused = feasible.best(n, change, guarantee)
    if best is None:
        raise no_choice(refused)
    return best


def group_size(total: int, change: ProtectedChange) -> int:
    """Return the number of records of each group that a mechanism is sized for."""
    return max(1, total // (change.groups or 1))


def run_release(
    table: Table, feasible: Candidates, size: Size, guarantee: Guarantee, drawing: Callable[[], None]
) -> Synopsis:
    """Spend the guarantee on the choice with the smallest predicted error."""
    change = table.change
    n = group_size(size.total, change)
    best = best_choice(feasible, n, change, size.left)
    spend = best.prepare(table)
    factor = 1.0 if feasible.queries is None else float(feasible.queries.factors.max())
    warn_large_error(best, table, n, size.left, factor)
    spent = best.mechanism.accounted(guarantee)
    drawing()
    if change.public_total:
        return Synopsis(best.space, spend()[0], spent, change, n, best.queries)
    return counted_synopsis(best.space, spend(), table.row_columns.labels, spent, change, best.queries)


def warn_large_error(
    choice: Choice | SessionChoice, table: Table, n: int, guarantee: Guarantee, factor: float = 1.0
) -> None:
    """Warn if the predicted error for n records is more than a quarter of the diameter, and name a remedy.

    factor: the largest factor of a query, on the diameter.
    """
    error, diameter = choice.error, table.space.diameter * factor
    if error <= diameter / 4:
        return
    rows = table.change.rows(n)
    remedy = f"more rows than {rows:,} or a larger epsilon would help: mp.plan shows how much"
    if choice.bias > error / 2:
        exact = capable_names(table.change, guarantee, query=True)
        remedy = f"most of it comes from the embedding, which queries=[…] avoids, with {' or '.join(exact)}"
    warn(f"the predicted error, {error:.3g}, is more than a quarter of the diameter {diameter:.3g}; {remedy}")

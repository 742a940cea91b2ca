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
from milepost.mechanisms.groups import Label
from milepost.mechanisms.registry import AnyMechanism, capable_names
from milepost.pipeline.open_table import is_spark_frame, open_table
from milepost.pipeline.selection import (
    Candidates,
    Choice,
    SessionChoice,
    candidates,
    mechanism_name,
    no_choice,
)
from milepost.privacy.accounting.ledger import Ledger, spending
from milepost.privacy.guarantee import Guarantee
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
    ledger: Ledger | None = None,
    dataset: str | None = None,
) -> Synopsis:
    """Return a synopsis of a private table, which answers every query; spends (epsilon, delta) once.

    data: an array, a pandas or Polars frame, an Arrow table or dataset, the path of a CSV or Parquet file, of a folder
    of such files, or a pattern ("homes/*.parquet"), or an iterator of batches, which is read once and never held in
    memory; for an AnyMetric, a list of objects, too.
    columns: which of its columns to use; by default those of the space's names, or all that have no other role here.
    mechanism: a name, "auto" for the one with the smallest predicted error, or an object: one of milepost's, or that of
    a class of your own (see `milepost.mechanisms.base.Mechanism`).
    queries: the only points that will be asked about, where these are known. Mechanisms for given queries need them;
    "auto" then takes one of these where that is more exact, and the synopsis answers these points and no others.
    neighbors: "replace", or "add-remove" where it is private whether somebody is in the table at all.
    groups, labels: the column of each row's group, and the public list of groups; one release answers for all of them.
    Rows with other labels belong to the group "other" if that is listed, else they are left out.
    privacy_unit, contributions: the column that identifies the person of a row, and how many rows of one are used at
    most.
    row_weights, max_row_weight: the column of each row's weight, and the public maximum that larger ones are cut to.
    n: about how many rows there are, where that is private but roughly known; by default 2 % of epsilon pays for it.
    Of an iterator of batches, for how many rows embedding coordinates are chosen; by default a million.
    failure_probability: the probability with which the promised error may fail; a mechanism object has its own.
    ledger, dataset: the ledger that the guarantee is charged to before the table is read, and the name of the budget.
    With δ > 0, "auto" then leaves out what spends ε whatever δ is, which would cost a budget in ρ many times more.

    >>> import milepost as mp
    >>> homes = np.random.default_rng(0).uniform(0, 10, size=(200_000, 2))
    >>> synopsis = mp.release(homes, mp.L1([(0, 10), (0, 10)]), epsilon=1, delta=1e-6)
    >>> abs(synopsis.mean_distance([5, 5]) - 5) < synopsis.error() + 0.1
    True
    """
    require_space(space)
    row_columns = RowColumns(groups, labels, privacy_unit, contributions, row_weights, max_row_weight)
    guarantee, change = Guarantee(epsilon, delta), row_columns.change(neighbors)
    possible = candidates(space, queries, mechanism, failure_probability)
    if ledger is not None and mechanism == "auto" and not guarantee.pure:
        possible = possible.spending_rho
    feasible, refused = possible.feasible(change, guarantee)
    if feasible.empty:
        raise no_choice(refused, possible.others(change, guarantee))
    table = open_table(data, space, change, columns, row_columns, stream=True)
    cost = charges(guarantee, change, n, feasible.pure)
    with spending(ledger, dataset, cost, mechanism_name(mechanism), protects=change.protects) as charge:
        if table.single_pass:  # how it is read cannot wait for the number of its rows
            expected = group_size(change.weight(n or EXPECTED_ROWS), change)
            feasible = best_choice(feasible, expected, change, guarantee).only(feasible)
            n = None if change.public_total else n
        if feasible.single_statistic and not table.countable:
            table = feasible.read(table)  # and counted on the way
        size = size_release(table, lambda n, left: best_choice(feasible, n, change, left), guarantee, n, charge.drawn)
        return run_release(table, feasible, size, guarantee, charge.drawn)


def charges(guarantee: Guarantee, change: ProtectedChange, n: int | None, pure: bool) -> list[Guarantee]:
    """Return the guarantees that a release charges to a ledger. pure: whether it spends ε whatever δ is."""
    whole = replace(guarantee, delta=0.0) if pure else guarantee
    if change.public_total or n is not None or whole.pure:
        return [whole]
    spent = SIZE_SHARE * guarantee.epsilon
    return [Guarantee(spent), replace(whole, epsilon=guarantee.epsilon - spent)]


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
    """Return the true mean distances, shaped as those of `Synopsis.mean_distance`.

    NOT PRIVATE: for the curator's own comparison, never for publication.
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
    choices, refused = feasible.choices(n, change, guarantee)
    if not choices:
        raise no_choice(refused)
    return choices[0]


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
    warn_large_error(best, table, n, size.left)
    drawing()
    if change.public_total:
        return Synopsis(best.space, spend()[0], guarantee, change, n, best.queries)
    return counted_synopsis(best.space, spend(), table.row_columns.labels, guarantee, change, best.queries)


def warn_large_error(choice: Choice | SessionChoice, table: Table, n: int, guarantee: Guarantee) -> None:
    """Warn if the predicted error for n records is more than a quarter of the diameter, and name a remedy."""
    error, diameter = choice.prediction.error, table.space.diameter
    if error <= diameter / 4:
        return
    rows = table.change.rows(n)
    remedy = f"more rows than {rows:,} or a larger epsilon would help: mp.plan shows how much"
    if choice.bias > error / 2:
        exact = capable_names(table.change, guarantee, query=True)
        remedy = f"most of it comes from the embedding, which queries=[…] avoids, with {' or '.join(exact)}"
    warn(f"the predicted error, {error:.3g}, is more than a quarter of the diameter {diameter:.3g}; {remedy}")

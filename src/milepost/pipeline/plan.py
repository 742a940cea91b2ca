"""Plans: the error to expect of each mechanism, computed without data."""

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import cached_property
from io import StringIO
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from milepost._validation import check_whole, integer_hint
from milepost.errors import MilepostError
from milepost.mechanisms.base import Prediction, session_name
from milepost.mechanisms.paper.margins import check_game
from milepost.mechanisms.registry import AUTO, AnyMechanism
from milepost.pipeline.private_ball import budget_left, check_accounting, check_ball_share, plan_note
from milepost.pipeline.selection import (
    SESSIONS,
    candidates,
    check_oblivious,
    mechanism_name,
    no_choice,
    session_choices,
)
from milepost.privacy.guarantee import ACCOUNTING_NAMES, MAX_EPSILON, MIN_EPSILON, Guarantee
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.base import Space, require_space
from milepost.statistics.sketch import MAX_TOTAL

if TYPE_CHECKING:
    from matplotlib.figure import Figure


Value: TypeAlias = float | int | str | None


class Replan(Protocol):
    """A function that makes the plan for another number of rows or ε."""

    def __call__(self, n: int, epsilon: float, names: Collection[str] | None = None, /) -> "Plan":
        """Return the plan of all mechanisms, or of those named."""


@dataclass(frozen=True)
class Plan:
    """Predictions for one space, number of rows and guarantee; print it for a table.

    Attributes
    ----------
    space, n, guarantee, change
        What was planned for.
    predictions : tuple of Prediction
        The error and the size of each mechanism, the smallest error first.
    refused : dict of str to str
        Why a mechanism cannot give this guarantee, by its name.
    replan : callable
        The plan for another number of rows and ε.
    next_sizes : callable
        Returns the next larger number of embedding coordinates and its error, of the best mechanism, by its name; empty
        where there is none.
    ball_share : float or None
        The share of the budget that finds a smaller ball first. Errors are those in the given ball, with the rest.

    Examples
    --------
    >>> import milepost as mp
    >>> plan = mp.plan(mp.L1([(0, 10)]), n=1000, epsilon=1)
    >>> plan.best.mechanism, sorted(plan.refused)
    ('hats', ['slopes'])
    >>> plan.replan(10_000, 1).best.error < plan.best.error
    True
    """

    space: Space
    n: int
    guarantee: Guarantee
    change: ProtectedChange
    predictions: tuple[Prediction, ...]
    refused: dict[str, str]
    replan: "Replan"
    next_sizes: Callable[[], dict[str, tuple[int, float]]] = dict
    ball_share: float | None = None

    @property
    def best(self) -> Prediction:
        """Return the prediction of the mechanism that "auto" would take for a release."""
        return self.predictions[0]

    def tables(self) -> list[Table]:
        """Return the plan as rich tables: one row a mechanism, and the numbers behind a worst-case promise."""
        groups = f" in {self.change.groups} groups" if self.change.groups else ""
        title = f"{self.space.kind}, diameter {self.space.diameter:g}, n = {self.n:,}{groups}, {self.guarantee}"
        title += "" if self.change.public_total else f"; protects {self.change}"
        rows: list[tuple[str, list[Value]]] = [
            (p.mechanism, [p.error, p.rms, p.uniform, p.coordinates, p.draws, p.size]) for p in self.predictions
        ]
        result = [_table(title, ["error ±", "rms", "uniform ±", "coordinates", "draws", "bytes"], rows)]
        detailed = [p for p in self.predictions if p.details]
        if detailed:
            names = list(detailed[0].details)
            rows = [(p.mechanism, [p.details[name] for name in names]) for p in detailed]
            result.append(
                _table("behind the worst-case promise: α, updates at most, noise, the paper's α", names, rows)
            )
        return result

    def plot(self) -> "Figure":
        """Return a matplotlib figure of the error against n, for every mechanism."""
        from milepost.reporting.plotting.plan_plot import plot_errors

        sizes = sorted({int(10 ** (k / 2)) for k in range(4, 17)} | {self.n})
        curves: dict[str, list[tuple[int, float]]] = {}
        for n in sizes:
            for prediction in self.replan(n, self.guarantee.epsilon).predictions:
                curves.setdefault(prediction.mechanism, []).append((n, prediction.error))
        return plot_errors(curves, self.space.diameter, self.n, str(self.guarantee))

    @cached_property
    def notes(self) -> list[str]:
        """Return what the tables leave out: accounting, margins, sizes, the ball, and weak promises."""
        result = [self._accounting_note, *self._table_notes]
        result += [f"{p.mechanism}: with a private model, {p.model}" for p in self.predictions if p.model]
        for name, (coordinates, error) in self.next_sizes().items():
            note = f"{name}: {self.best.coordinates:,} embedding coordinates; {coordinates:,} would give ± {error:.3g}"
            result.append(note + " (effort='closer')" * (error < self.best.error))
        if self.ball_note is not None:
            result.append(self.ball_note)
        for prediction in self.predictions:
            if float(prediction.details.get("alpha", 0)) >= self.space.diameter:
                rows = self._rows_for(prediction.mechanism)
                then = "nor with any number of rows" if rows is None else f"it would be from about n = {rows:,} on"
                promise = f"its promise α is no better than the diameter, {self.space.diameter:g}"
                result.append(f"{prediction.mechanism}: {promise}; {then}")
        return result + [f"{name}: {reason}" for name, reason in self.refused.items()]

    @property
    def ball_note(self) -> str | None:
        """Return what `ball_share` finds, and how errors change with the radius; None without a share."""
        if self.ball_share is None:
            return None
        return plan_note(self.space, self.n, self.change, self.guarantee, self.ball_share, self.best.error)

    @property
    def _accounting_note(self) -> str:
        """Return how each mechanism spends the guarantee."""
        names: dict[str, list[str]] = {}
        for prediction in self.predictions:
            names.setdefault(prediction.accounting, []).append(prediction.mechanism.split(",")[0])
        parts = [f"{ACCOUNTING_NAMES[key]} ({', '.join(dict.fromkeys(names[key]))})" for key in names]
        return f"accounting: {'; '.join(parts)}"

    @property
    def _table_notes(self) -> list[str]:
        """Return the tables that errors are planned for, where they depend on the table."""
        names: dict[str, list[str]] = {}
        for prediction in self.predictions:
            if prediction.planned_for:
                names.setdefault(prediction.planned_for, []).append(prediction.mechanism)
        return [f"{', '.join(names[tables])}: planned for {tables}" for tables in names]

    def _rows_for(self, mechanism: str) -> int | None:
        """Return about the minimum n, to two digits, at which a mechanism promises less than the diameter."""

        def excess(log_n: float) -> float:
            other = self.replan(round(math.exp(log_n)), self.guarantee.epsilon, [mechanism])
            return math.log(float(other.predictions[-1].details["alpha"]) / self.space.diameter)

        # in logarithms α falls about linearly with n: go on from the last two, at most a thousandfold at a time
        log_n, slope, last = math.log(self.n), -0.7, None
        while log_n < math.log(MAX_TOTAL):
            off = excess(log_n)
            if -0.05 < off < 0:
                digits = int(10 ** max(0, len(str(round(math.exp(log_n)))) - 2))
                return min(-(-round(math.exp(log_n)) // digits) * digits, MAX_TOTAL)
            if last is not None and last[0] != log_n:
                slope = min(max((off - last[1]) / (log_n - last[0]), -2.0), -0.4)
            last = log_n, off
            log_n += min(-(off + 0.02) / slope, math.log(1000))
        return None

    def __str__(self) -> str:
        buffer = StringIO()
        console = Console(file=buffer, width=120)
        console.print(*self.tables(), sep="\n")
        for note in self.notes:
            console.print(f"  {note}", markup=False)
        return "\n".join(line.rstrip() for line in buffer.getvalue().splitlines())


def plan(
    space: Space,
    *,
    n: int,
    epsilon: float | None = None,
    delta: float = 0.0,
    error: float | None = None,
    max_queries: int | None = None,
    queries: Any = None,
    mechanism: str | AnyMechanism = "auto",
    failure_probability: float = 0.05,
    neighbors: str = "replace",
    groups: int | None = None,
    contributions: int = 1,
    accounting: str | None = None,
    ball_share: float | None = None,
    effort: str = "balanced",
    model: bool | None = None,
) -> Plan:
    """Predict the error of every mechanism, without data.

    Parameters
    ----------
    space : Space
        What a point is and how far apart two points are.
    n : int
        The number of rows.
    epsilon : float, optional
        The ε of the guarantee. Give either it or `error`.
    delta : float
        The δ of the guarantee; 0 is pure ε.
    error : float, optional
        Plan for the smallest ε at which the best mechanism has this error.
    max_queries : int, optional
        Also show an interactive session of this many queries.
    queries : list of points, optional
        The only points to answer, or `WeightedDistances`; also show the mechanisms for given queries. Errors are then
        those of the query with the largest one.
    mechanism : str or mechanism object
        Plan for this one only; ``"auto"`` shows all.
    failure_probability, neighbors
        As for `release`.
    groups : int, optional
        The number of groups of about equal size. Errors are those of one group.
    contributions : int
        The largest number of rows of one person.
    accounting : {"gaussian", "zcdp"}, optional
        The accounting of the budget that will be charged; Gaussian noise is 7 % larger for "zcdp" at (1, 1e-6).
    ball_share : float, optional
        The share of the budget that finds a smaller ball first, as for `release`. Errors are those in the given ball,
        with the rest of the budget. A note of the plan says what the share finds.
    effort : {"balanced", "faster", "closer"}
        How many embedding coordinates to try, as for `release`. A note of the plan says what the next larger number
        would give.
    model : bool, optional
        Whether a share of the budget buys a private model of the table, as for `release`.

    Returns
    -------
    Plan
        The predictions, the smallest error first. Print it for a table.

    Examples
    --------
    >>> import milepost as mp
    >>> mp.plan(mp.L1([(0, 1)] * 10), n=100_000, epsilon=1, delta=1e-6).best.mechanism
    'slopes'
    """
    require_space(space)
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or not 1 <= n <= MAX_TOTAL:
        raise MilepostError(f"n must be a whole number of rows between 1 and {MAX_TOTAL:,}, got {n!r}{integer_hint(n)}")
    if (epsilon is None) == (error is None):
        raise MilepostError("give either epsilon, to see the error, or error, to see the least epsilon")
    if groups is not None:
        check_whole("groups", groups, 1, n)
    check_whole("contributions", contributions, 1)
    change = ProtectedChange(neighbors, contributions, None if contributions == 1 else "person", groups=groups)
    check_game(1 if max_queries is None else max_queries, failure_probability)
    sessions = [name for name in SESSIONS if max_queries is not None and mechanism in (AUTO, name)]
    possible = candidates(space, queries, AUTO if sessions else mechanism, failure_probability, effort, model)
    possible = possible.only(None if mechanism == AUTO else {mechanism_name(mechanism)})
    if max_queries is not None:
        check_oblivious(space)
    if ball_share is not None:
        check_ball_share(ball_share, space, Guarantee(1.0, delta), queries)
        if max_queries is not None:
            raise MilepostError("ball_share= is for releases: a session has none. Leave out max_queries=.")

    def at(n: int, epsilon: float, names: Collection[str] | None = None) -> Plan:
        guarantee = Guarantee(epsilon, delta, accounting=accounting or "")
        chosen = possible.only(names)
        if ball_share is not None:
            chosen = chosen.charged_as(guarantee) if mechanism == AUTO else chosen
            spent = chosen.accounted(guarantee)
            check_accounting(guarantee, spent, mechanism_name(mechanism))
            guarantee = budget_left(space, n, change, spent, ball_share)
        feasible, refused = chosen.feasible(change, guarantee)
        left_out = possible.only(names).any_point - chosen.any_point
        refused |= dict.fromkeys(
            sorted(left_out), "it does not spend Gaussian noise, with which a ball shares the budget"
        )
        group_rows = max(1, n // (groups or 1))
        choices, unfit = feasible.choices(group_rows, change, guarantee)
        predictions = [choice.prediction for choice in choices]
        if max_queries is not None and groups is None:
            session_names = [name for name in sessions if names is None or session_name(name, max_queries) in names]
            promised, reasons = session_choices(
                space, n, change, guarantee, max_queries, failure_probability, session_names
            )
            predictions += [choice.prediction for choice in promised]
            refused |= {name: reason for name, reason in reasons.items() if name not in refused}
        if not predictions:
            raise no_choice(refused | unfit, possible.others(change, guarantee))
        whole = replace(guarantee, share=1.0)

        def next_sizes() -> dict[str, tuple[int, float]]:
            sizes = {c.mechanism.name: feasible.next_size(c, group_rows, change, guarantee) for c in choices[:1]}
            return {name: size for name, size in sizes.items() if size is not None}

        return Plan(space, n, whole, change, tuple(predictions), refused | unfit, at, next_sizes, ball_share)

    n = int(n)
    return at(n, epsilon if epsilon is not None else _min_epsilon(at, n, error))


def _min_epsilon(again: Replan, n: int, error: float | None) -> float:
    """Return the smallest ε, to 0.1 %, at which the best mechanism's error is at most `error`."""
    if isinstance(error, bool) or not isinstance(error, int | float) or not 0 < error < math.inf:
        raise MilepostError(f"error must be a positive distance, got {error!r}")
    target = error
    first = again(n, 1.0).predictions
    near = [p.mechanism for p in first if p.error < 10 * first[0].error]  # others do not catch up

    def excess(log_epsilon: float) -> float:
        return math.log(again(n, math.exp(log_epsilon), near).best.error / target)

    low, high = math.log(MIN_EPSILON * 1000), math.log(MAX_EPSILON)
    if excess(high) > 0:
        raise MilepostError(
            f"no epsilon gives an error of {error:g} at this n: even epsilon = {MAX_EPSILON:g} has "
            f"{again(n, MAX_EPSILON, near).best.error:.3g}"
        )
    # in logarithms error falls about linearly with ε: aim at the crossing from the last two tries, a little to its
    # other side, so that the bracket closes from both; after some tries halve it
    guess, slope, last = 0.0, 1.0, (high, math.nan)
    for attempt in range(100):
        if not high - low > 1e-3:
            break
        if attempt > 10 or not low < guess < high:
            guess = (low + high) / 2
        off = excess(guess)
        low, high = (low, guess) if off <= 0 else (guess, high)
        steepness = (last[1] - off) / (guess - last[0])
        slope = min(max(steepness, 0.2), 2.0) if attempt and math.isfinite(steepness) else slope
        last = guess, off
        guess += off / slope + math.copysign(4e-4, off)
    return math.exp(high)


def _table(title: str, columns: list[str], rows: list[tuple[str, list[Value]]]) -> Table:
    table = Table(title=title, box=SIMPLE, title_justify="left", title_style="", padding=(0, 1, 0, 0))
    table.add_column("mechanism")
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    for name, values in rows:
        table.add_row(name, *(_number(value) for value in values))
    return table


def _number(value: Value) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else f"{value:.3g}"

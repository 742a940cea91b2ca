"""Selection of a mechanism by its predicted error, for releases and sessions; no choice depends on data."""

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, TypeAlias, TypeVar

import numpy as np

from milepost._validation import did_you_mean
from milepost.errors import MilepostError
from milepost.ingest.query_points import read_queries
from milepost.ingest.record_source import max_query_shift, open_source
from milepost.ingest.table import Table, check_count
from milepost.mechanisms.base import (
    ChartDesign,
    ChartMechanism,
    CoordinateDesign,
    CoordinateMechanism,
    NoisyStatistic,
    Prediction,
    QueryDesign,
    QueryMechanism,
)
from milepost.mechanisms.coordinate.modeled_curves import with_model
from milepost.mechanisms.noise_quantiles import normal_quantile
from milepost.mechanisms.paper.margins import Margins, check_game
from milepost.mechanisms.paper.tangents import Tangents, interactive_error, interactive_margins, interactive_prediction
from milepost.mechanisms.query.field import Field, FieldNoise, session_prediction
from milepost.mechanisms.registry import (
    AUTO,
    MECHANISM_NAMES,
    AnyMechanism,
    capable_names,
    check_mechanism,
    mechanism_named,
)
from milepost.mechanisms.totals import check_total
from milepost.pipeline.private_model import (
    MAX_DIRECTIONS,
    MODEL_SHARE,
    ModelPlan,
    no_model_reason,
    plan_model,
    suits_model,
)
from milepost.privacy.guarantee import Guarantee
from milepost.privacy.protected_change import ProtectedChange
from milepost.sessions.engine import Engine
from milepost.sessions.engines.field import FieldEngine
from milepost.sessions.engines.game import GameEngine
from milepost.spaces.base import Space, chart_of, require_chart
from milepost.spaces.embeddings.embedding import Embedding
from milepost.spaces.queries import Queries, move_inside

PredictedError = TypeVar("PredictedError")
MAX_NUMBERS = 1 << 26  # of a sketch, two of them for each cell, coordinate and group: 1 GB
FASTER, BALANCED, CLOSER = "faster", "balanced", "closer"
# more embedding coordinates are taken only for an error below this share of that with fewer
WORTH = {FASTER: 0.9, BALANCED: 0.97, CLOSER: 0.99}
FASTER_SHARE = 4  # an effort of "faster" takes no more than this part of the default number of coordinates

ANY_POINT = 0.95  # the factor on an error if any number of any points can be asked


def combined_error_factor(queries: Queries | None) -> float:
    """Return how many times the error of one point the widest interval of a query has, from answers at its points.

    The interval of a weighted sum of m answers is the sum of intervals that fail m times less often.
    """
    if queries is None or queries.functions is None:
        return 1.0
    quantiles = np.array([normal_quantile(0.05 / function.count) for function in queries.functions])
    return float((queries.factors * quantiles).max() / normal_quantile(0.05))


def multiply_errors(prediction: Prediction, factor: float) -> Prediction:
    """Return a prediction whose errors are multiplied by a factor."""
    errors = {name: getattr(prediction, name) for name in ("error", "rms", "uniform")}
    return replace(prediction, **{name: error * factor for name, error in errors.items() if error is not None})


@dataclass(frozen=True)
class CoordinateChoice:
    """A mechanism on embedding coordinates, as many as suit it (Remark 7.1). error_factor: on errors of points."""

    mechanism: CoordinateMechanism
    accounting: str
    space: Space
    design: CoordinateDesign
    model: ModelPlan | None = None
    error_factor: float = 1.0
    queries: ClassVar[None] = None

    @property
    def prediction(self) -> Prediction:
        """Return the error to expect, the number of draws, the accounting, and the model if there is one."""
        prediction = replace(self.design.prediction, draws=self.design.draws, accounting=self.accounting)
        prediction = multiply_errors(prediction, self.error_factor)
        return prediction if self.model is None else self.model.extend(prediction)

    @property
    def error(self) -> float:
        """Return the error alone, which may take less time than the prediction."""
        return self.design.error * self.error_factor

    @property
    def bias(self) -> float:
        """Return the part of the error that no number of rows reduces."""
        return self.space.embedding.bias * self.error_factor

    def only(self, others: "Candidates") -> "Candidates":
        """Return those of the others that need the same statistic."""
        return replace(others, space=self.space, query={})

    def prepare(self, table: Table) -> Callable[[], Sequence[NoisyStatistic]]:
        """Read the table; return a function that spends the guarantee of the design, group by group."""
        sketch = table.sketch(self.space, self.design.sketch_cells)
        moments = None if self.model is None else self.model.read(table)

        def spend() -> Sequence[NoisyStatistic]:
            model = None if self.model is None or moments is None else self.model.fit(table, moments)
            noisy = [self.design.run(sketch, group) for group in range(sketch.groups)]
            return with_model(self.space, noisy, model)

        return spend


@dataclass(frozen=True)
class QueryChoice:
    """A mechanism on exact distances to given queries."""

    mechanism: QueryMechanism
    accounting: str
    space: Space
    queries: Queries
    design: QueryDesign

    @property
    def prediction(self) -> Prediction:
        """Return the error to expect, the number of draws and the accounting."""
        return replace(self.design.prediction, draws=self.design.draws, accounting=self.accounting)

    @property
    def error(self) -> float:
        """Return the error alone, which may take less time than the prediction."""
        return self.design.error

    @property
    def bias(self) -> float:
        """Return the part of the error that no number of rows reduces."""
        return self.queries.bias

    def only(self, others: "Candidates") -> "Candidates":
        """Return this one alone: others need other statistics of the same distances."""
        return others.only({self.mechanism.name})

    def prepare(self, table: Table) -> Callable[[], Sequence[NoisyStatistic]]:
        """Read the table; return a function that spends the guarantee of the design, group by group."""
        sums = table.sums(self.queries, self.mechanism.summands)
        return lambda: [self.design.run(sums, group) for group in range(sums.groups)]


@dataclass(frozen=True)
class ChartChoice:
    """A mechanism on the chart of a two-dimensional space. error_factor: on errors of points."""

    mechanism: ChartMechanism
    accounting: str
    space: Space
    design: ChartDesign
    error_factor: float = 1.0
    queries: ClassVar[None] = None
    bias: ClassVar[float] = 0.0  # the part of the error that no number of rows reduces

    @property
    def prediction(self) -> Prediction:
        """Return the error to expect, the number of draws and the accounting."""
        prediction = replace(self.design.prediction, draws=self.design.draws, accounting=self.accounting)
        return multiply_errors(prediction, self.error_factor)

    @property
    def error(self) -> float:
        """Return the error alone."""
        return self.design.error * self.error_factor

    def only(self, others: "Candidates") -> "Candidates":
        """Return this one alone, on the same grid: others need other statistics."""
        chart: dict[str, ChartMechanism] = {self.mechanism.name: self.mechanism.with_size(self.design.size)}
        return replace(others, coordinate={}, query={}, chart=chart)

    def prepare(self, table: Table) -> Callable[[], Sequence[NoisyStatistic]]:
        """Read the table; return a function that spends the guarantee of the design, group by group."""
        sums = table.vertex_sums(require_chart(self.space), self.design.size)
        return lambda: [self.design.run(sums, group) for group in range(sums.groups)]


Choice: TypeAlias = CoordinateChoice | QueryChoice | ChartChoice


@dataclass(frozen=True)
class Candidates:
    """The mechanisms that may be used, by name and by the statistic they need, and the queries of those that need them.

    model: whether answers use a private model of the table; None to decide by the predicted error. automatic: whether
    they are those of "auto", rather than one that was given.
    """

    space: Space
    coordinate: dict[str, CoordinateMechanism]
    query: dict[str, QueryMechanism]
    queries: Queries | None
    effort: str = BALANCED
    model: bool | None = None
    chart: dict[str, ChartMechanism] = field(default_factory=dict)
    automatic: bool = False

    @property
    def mechanisms(self) -> dict[str, AnyMechanism]:
        """Return all of them, by name."""
        return {**self.coordinate, **self.chart, **self.query}

    @property
    def any_point(self) -> set[str]:
        """Return the names of those that answer every point."""
        return {*self.coordinate, *self.chart}

    def only(self, names: Collection[str] | None) -> "Candidates":
        """Return the candidates of these names; all of them for None."""
        if names is None:
            return self
        coordinate = {name: mechanism for name, mechanism in self.coordinate.items() if name in names}
        chart = {name: mechanism for name, mechanism in self.chart.items() if name in names}
        query = {name: mechanism for name, mechanism in self.query.items() if name in names}
        return replace(self, coordinate=coordinate, chart=chart, query=query)

    @property
    def empty(self) -> bool:
        """Return whether there is no candidate."""
        return not self.mechanisms

    def others(self, change: ProtectedChange, guarantee: Guarantee) -> list[str]:
        """Return the names of mechanisms that are no candidates, and can give this guarantee for the same queries."""
        kinds = [bool(self.query)] if self.queries is None else [False, True]
        capable = [name for query in kinds for name in capable_names(change, guarantee, query, self.queries)]
        return [name for name in capable if name not in self.mechanisms and self._has_chart(name)]

    def _has_chart(self, name: str) -> bool:
        """Return whether the space has what a mechanism of this name needs."""
        return chart_of(self.space) is not None or not isinstance(mechanism_named(name, 0.05), ChartMechanism)

    def accounted(self, guarantee: Guarantee) -> Guarantee:
        """Return the guarantee as they spend it; as it is given where they differ, or there is none.

        Those of a release that is charged do not differ: one is named, or `charged_as` has left the others out.
        """
        return accounted(self.mechanisms.values(), guarantee)

    def charged_as(self, guarantee: Guarantee) -> "Candidates":
        """Return the candidates that spend a guarantee as it is given, which is how its budget counts it.

        The others spend pure ε, which would cost many times more, or cannot be charged at all.
        """
        spent = {name: mechanism.accounted(guarantee) for name, mechanism in self.mechanisms.items()}
        return self.only({name for name in spent if spent[name] == guarantee})

    @property
    def single_statistic(self) -> bool:
        """Return whether they all need the same statistic, whatever the number of rows."""
        if self.query or self.chart:
            return len(self.mechanisms) == 1 and all(mechanism.size is not None for mechanism in self.chart.values())
        variants = self.space.size_variants(1)
        return len(variants) == 1 and variants[0] is self.space and not self._may_model

    @property
    def _may_model(self) -> bool:
        """Return whether a model may be bought, for which the table is read again."""
        takes_model = any(mechanism.takes_model for mechanism in self.coordinate.values())
        return self.model is not False and takes_model and suits_model(self.space)

    def read(self, table: Table) -> Table:
        """Read the single statistic of a table, and return the table with it."""
        if self.queries is not None:
            for mechanism in self.query.values():
                return table.with_statistic(table.sums(self.queries, mechanism.summands))
        for chart_mechanism in self.chart.values():
            if chart_mechanism.size is not None:
                return table.with_statistic(table.vertex_sums(require_chart(self.space), chart_mechanism.size))
        return table.with_statistic(table.sketch(self.space))

    def feasible(self, change: ProtectedChange, guarantee: Guarantee) -> tuple["Candidates", dict[str, str]]:
        """Return the candidates that can give this guarantee, and why the others cannot."""
        refused: dict[str, str] = {}
        possible = self.mechanisms
        if self.automatic:
            possible = {name: m for name, m in possible.items() if m.is_automatic(self.space, self.queries, guarantee)}
            unfit = {name for name, mechanism in self.query.items() if not mechanism.takes(self.queries)}
            possible = {name: m for name, m in possible.items() if name not in unfit}
        for name, mechanism in possible.items():
            try:
                mechanism.check(change, guarantee)
                if name in self.query:
                    self.query[name].check_queries(self.queries)
            except MilepostError as reason:
                refused[name] = str(reason)
        return self.only(set(possible) - set(refused)), refused

    def choices(self, n: int, change: ProtectedChange, guarantee: Guarantee) -> tuple[list[Choice], dict[str, str]]:
        """Return what each would do with n rows, the smallest error first, and why some cannot."""
        choices: list[Choice] = []
        refused: dict[str, str] = {}
        for name in self.mechanisms:
            try:
                choices.append(self._choice(name, n, change, guarantee))
            except MilepostError as reason:  # its noise would not fit
                refused[name] = str(reason)
        choices.sort(key=self._rank)
        return choices, refused

    def best(self, n: int, change: ProtectedChange, guarantee: Guarantee) -> tuple[Choice | None, dict[str, str]]:
        """Return the first of `choices`, and why some cannot; None where none can.

        It is found without a design for mechanisms whose bounds show that they have more error than another one.
        """
        best: Choice | None = None
        refused: dict[str, str] = {}
        for name in self.mechanisms:
            try:
                if best is not None and not self._may_beat(best, name, n, change, guarantee):
                    continue
                choice = self._choice(name, n, change, guarantee)
            except MilepostError as reason:
                refused[name] = str(reason)
            else:
                best = choice if best is None or self._rank(choice) < self._rank(best) else best
        return best, refused

    def _choice(self, name: str, n: int, change: ProtectedChange, guarantee: Guarantee) -> Choice:
        """Return what one of them would do with n rows; refuse noise that does not fit."""
        if name in self.coordinate:
            sizes = n, change, guarantee
            choice = coordinate_choice(self.coordinate[name], self.space, *sizes, self.effort, self.model)
            return replace(choice, error_factor=self._error_factor)
        if name in self.chart:
            chart = chart_choice(self.chart[name], self.space, n, change, guarantee, self.model)
            return replace(chart, error_factor=self._error_factor)
        mechanism, queries = self.query[name], self.queries
        if queries is None:
            raise MilepostError(f"{name} answers given points only")
        design, accounting = mechanism.predict(queries, n, change, guarantee), mechanism.accounted(guarantee).accounting
        return QueryChoice(mechanism, accounting, self.space, queries, design)

    def next_size(
        self, choice: Choice, n: int, change: ProtectedChange, guarantee: Guarantee
    ) -> tuple[int, float] | None:
        """Return the next larger number of embedding coordinates than that of a choice, and its error.

        None where the choice has no embedding coordinates, or no more than it has.
        """
        if not isinstance(choice, CoordinateChoice):
            return None
        used = choice.space.embedding.dimension
        for variant in sized_variants(self.space, n, CLOSER):
            if variant.embedding.dimension > used:
                embedding = variant.embedding if choice.model is None else choice.model.embedding(variant.embedding)
                rest = guarantee if choice.model is None else guarantee.with_share(1 - MODEL_SHARE)
                return embedding.dimension, choice.mechanism.predict(
                    embedding, n, change, rest
                ).error * choice.error_factor
        return None

    def _may_beat(self, best: Choice, name: str, n: int, change: ProtectedChange, guarantee: Guarantee) -> bool:
        """Return whether a mechanism's lower bound is not above the error of the best so far, in some size."""
        limit, _ = self._rank(best)
        if name in self.query:
            mechanism, queries = self.query[name], self.queries
            spent = mechanism.accounted(guarantee)
            bound = 0.0 if queries is None else mechanism.error_bound(queries, n, change, spent)
            return self._promise(bound, any_point=False) <= limit
        if name in self.chart:
            chart = self.chart[name]
            bound = chart.error_bound(self.space, n, change, chart.accounted(guarantee)) * self._error_factor
            return self._promise(bound, any_point=True) <= limit
        coordinate = self.coordinate[name]
        for variant in sized_variants(self.space, n, self.effort):
            embedding = variant.embedding
            factor = self._error_factor
            bound = coordinate.error_bound(embedding, n, change, coordinate.accounted(guarantee)) * factor
            if self._promise(bound, any_point=True) <= limit:
                return True
            if self._promise(bound - embedding.bias * factor, any_point=True) > limit:
                break  # more coordinates are closer to the metric, and have no less noise
        return False

    @cached_property
    def _error_factor(self) -> float:
        """The factor on the errors of points, of a mechanism that answers every point."""
        return combined_error_factor(self.queries)

    def _promise(self, error: float, any_point: bool) -> float:
        """Return the error that is compared: a mechanism that answers every point may have a little more."""
        factor = ANY_POINT if any_point and self.space.given_queries is None else 1.0
        return factor * min(error, self._max_error)

    @property
    def _max_error(self) -> float:
        return (self.space.diameter if self.queries is None else self.queries.max_range) * (1 - 1e-6)

    def _rank(self, choice: Choice) -> tuple[float, float]:
        """Return the promised error and, among promises no better than the range of distances, the noise."""
        error, rms = choice.error, choice.design.rms
        factor = self._error_factor if choice.queries is None else 1.0
        noise = math.inf if rms is None else rms * factor
        return self._promise(error, choice.queries is None), noise if error >= self._max_error else 0.0


def accounted(mechanisms: Iterable[AnyMechanism], guarantee: Guarantee) -> Guarantee:
    """Return a guarantee as all of these mechanisms spend it; as it is given where they differ, or there is none."""
    spent = {mechanism.accounted(guarantee) for mechanism in mechanisms}
    return spent.pop() if len(spent) == 1 else guarantee


def candidates(
    space: Space,
    queries: Any = None,
    mechanism: str | AnyMechanism = AUTO,
    failure_probability: float = 0.05,
    effort: str = BALANCED,
    model: bool | None = None,
) -> Candidates:
    """Return the mechanism given by name or as an object, or all of them for "auto".

    failure_probability: that of a mechanism given by name; an object has its own.
    """
    if model is not None and not isinstance(model, bool):
        raise MilepostError(f"model= must be True, False or None, got {model!r}")
    if effort not in WORTH:
        raise MilepostError(f"effort= must be one of {', '.join(WORTH)}, got {effort!r}{did_you_mean(effort, WORTH)}")
    check_game(1, failure_probability)
    points = read_given_queries(space, queries)
    selected = _selected(mechanism, failure_probability)
    coordinate = {m.name: m for m in selected if isinstance(m, CoordinateMechanism)}
    query = {m.name: m for m in selected if isinstance(m, QueryMechanism)}
    chart = {m.name: m for m in selected if isinstance(m, ChartMechanism)}
    if chart and chart_of(space) is None:
        if len(selected) == 1:
            require_chart(space)
        chart = {}
    if points is None and query:
        if not coordinate:
            session = ", or ask one by one in mp.interactive" if {*query} & {*SESSIONS} else ""
            raise MilepostError(f"{', '.join(query)} answers given points only: name them with queries=[…]{session}")
        query = {}
    return Candidates(space, coordinate, query, points, effort, model, chart, mechanism == AUTO)


def _selected(mechanism: str | AnyMechanism, failure_probability: float) -> list[AnyMechanism]:
    if not isinstance(mechanism, str):
        check_mechanism(mechanism)
        return [mechanism]
    names = MECHANISM_NAMES if mechanism == AUTO else (mechanism,)
    return [mechanism_named(name, failure_probability) for name in names]


def mechanism_name(mechanism: str | AnyMechanism) -> str:
    """Return the name of a mechanism given by name or as an object; "auto" stays."""
    return mechanism if isinstance(mechanism, str) else mechanism.name


def read_given_queries(space: Space, queries: Any) -> Queries | None:
    """Return the only queries that will be asked: those given, or the points of the space itself."""
    if queries is None:
        return None if space.given_queries is None else Queries(space.given_queries, space)
    if isinstance(queries, int | float | str):
        raise MilepostError(
            f"queries must be a list of points, got {queries!r}; max_queries= of mp.interactive limits their number"
        )
    if hasattr(queries, "__len__") and not len(queries):
        raise MilepostError("queries must be a list of points, got none")
    given, single = read_queries(queries, space)
    if single:
        raise MilepostError("queries must be a list of points; put a single one in a list")
    return replace(given.with_points_as_given(), points=move_inside(space, given.points))


def sized_variants(space: Space, n: int, effort: str) -> Sequence[Space]:
    """Return the variants of a space that an effort tries, from few embedding coordinates to many."""
    variants = space.size_variants(n)
    if effort == CLOSER:
        return [*variants, *space.larger_variants()]
    if effort == FASTER and len(variants) > 1:
        limit = variants[-1].embedding.dimension // FASTER_SHARE
        return [variants[0], *(variant for variant in variants[1:] if variant.embedding.dimension <= limit)]
    return variants


def modeled_variants(space: Space, n: int, effort: str, groups: int = 1) -> Sequence[Space]:
    """Return the variants of a space that an effort tries with a model, which lets more coordinates pay.

    Every group has noise on all of its cells: with groups, the largest number is shared between them.
    """
    limit = MAX_DIRECTIONS[effort]
    first, *others = space.size_variants(n)
    few = [variant for variant in others if variant.embedding.dimension <= limit]
    if (space.embedding.step > 1).all():  # coordinates of one cell take one draw each
        limit = limit * 3 // 2
    return [first, *few, *space.larger_variants(max(limit // groups, 1))]


def best_size(
    variants: Sequence[Space],
    n: int,
    promise: Callable[[Embedding], tuple[float, PredictedError]],
    worth: float = 1.0,
) -> tuple[Space, PredictedError]:
    """Return the space with the number of coordinates of smallest error (Remark 7.1), and the details of its promise.

    variants: from few coordinates to many. promise: returns the error on an embedding, and its details. worth: take
    more coordinates only for an error below this share of that with fewer.
    """
    best: tuple[float, Space, PredictedError] | None = None
    for variant in variants:
        error, details = promise(variant.embedding)
        if best is None or error < worth * best[0]:
            best = error, variant, details
        elif error - variant.embedding.bias > best[0]:
            break  # more coordinates are closer to the metric, and have no less noise
    if best is None:
        raise MilepostError(f"the space offers no embedding coordinates for {n} rows")
    return best[1:]


def coordinate_choice(
    mechanism: CoordinateMechanism,
    space: Space,
    n: int,
    change: ProtectedChange,
    guarantee: Guarantee,
    effort: str = BALANCED,
    model: bool | None = None,
) -> CoordinateChoice:
    """Return the mechanism with the number of embedding coordinates that suits it, and with a model if that is better.

    model: whether answers use a private model of the table; None to decide by the predicted error.
    """
    plan: ModelPlan | None = None
    if mechanism.takes_model and model is not False:
        spent = mechanism.accounted(guarantee)  # the model's share is counted as the rest is
        plan = plan_model(space, n, change, spent, wanted=model is True)
    if plan is None and model:
        raise MilepostError(f"{mechanism.name}: {no_model_reason(space, guarantee)}")
    if plan is None:
        return _sized_choice(mechanism, space, n, change, guarantee, effort)
    rest = guarantee.with_share(1 - MODEL_SHARE)
    modeled = _sized_choice(mechanism, space, n, change, rest, effort, plan)
    if model is None:
        plain = _sized_choice(mechanism, space, n, change, guarantee, effort)
        return plain if plain.error <= modeled.error else modeled
    return modeled


def chart_choice(
    mechanism: ChartMechanism,
    space: Space,
    n: int,
    change: ProtectedChange,
    guarantee: Guarantee,
    model: bool | None = None,
) -> ChartChoice:
    """Return the mechanism with the grid that suits it; it takes no model of the table."""
    if model:
        raise MilepostError(f"{mechanism.name}: it takes no model of the table; leave out model=")
    design = mechanism.predict(space, n, change, guarantee)
    return ChartChoice(mechanism, mechanism.accounted(guarantee).accounting, space, design)


def _sized_choice(
    mechanism: CoordinateMechanism,
    space: Space,
    n: int,
    change: ProtectedChange,
    guarantee: Guarantee,
    effort: str,
    plan: ModelPlan | None = None,
) -> CoordinateChoice:
    """Return the mechanism with the number of embedding coordinates that suits it, with this model or with none."""

    def promise(embedding: Embedding) -> tuple[float, CoordinateDesign]:
        embedding = embedding if plan is None else plan.embedding(embedding)
        groups = change.groups or 1
        if embedding.cells(groups) * embedding.dimension * groups > MAX_NUMBERS:
            raise MilepostError(
                f"{groups:,} groups and {embedding.dimension:,} coordinates of up to {embedding.cells(groups):,} steps "
                "do not fit memory; use fewer labels, or a larger step"
            )
        design = mechanism.predict(embedding, n, change, guarantee)
        return design.error, design

    accounting = mechanism.accounted(guarantee).accounting
    variants = sized_variants(space, n, effort)
    if plan is not None:
        variants = modeled_variants(space, n, effort, change.groups or 1)
    return CoordinateChoice(mechanism, accounting, *best_size(variants, n, promise, WORTH[effort]), plan)


def check_oblivious(space: Space) -> None:
    """Refuse a session where the embedding depends on the queries."""
    if not space.oblivious:
        raise MilepostError(
            f"space {space.kind!r} has no sessions: its embedding is made for given queries (Remark 8.2 of the "
            "paper); name them in the space and use mp.release"
        )


def no_choice(refused: dict[str, str], others: Sequence[str] = ()) -> MilepostError:
    """Return the error that no mechanism is left, with the reasons; others: names of mechanisms to take instead."""
    if len(refused) > 1:
        reasons = "; ".join(reason.rstrip(".") for reason in refused.values())
        return MilepostError(f"no mechanism fits: {reasons}")
    names = " or ".join(filter(None, [", ".join(others[:-1]), *others[-1:]]))
    return MilepostError("".join(refused.values()) + (f"; use {names}" if names else ""))


@dataclass(frozen=True)
class StartedSession:
    """A session that has read its table. engine: makes the engine. n: the public number of records.

    total: the released total, from which another process resumes.
    """

    engine: Callable[[], Engine]
    n: int
    total: int


@dataclass(frozen=True)
class GameChoice:
    """The interactive game of Theorem 1, on as many embedding coordinates as suit it."""

    mechanism: ClassVar[AnyMechanism] = Tangents()
    space: Space
    margins: Margins
    prediction: Prediction

    @property
    def bias(self) -> float:
        """Return the part of the error that no number of rows reduces."""
        return self.space.embedding.bias

    @property
    def error(self) -> float:
        """Return the promised error."""
        return self.prediction.error

    @property
    def numbers(self) -> list[Any]:
        """Return all numbers that its noise depends on: a session resumes only with the same ones."""
        game = self.margins
        tests = game.alpha, game.threshold, game.sensitivity, game.epsilon_test, game.lattice
        return [*tests, game.updates, game.cost(self.space.embedding)]

    def begin(self, table: Table, n: int, drawing: Callable[[], None], total: int | None = None) -> StartedSession:  # noqa: ARG002
        """Read the table."""
        sketch = table.sketch(self.space)
        check_count(int(sketch.totals[0]), n)
        drawing()
        return StartedSession(lambda: GameEngine(sketch, self.space, self.margins), n, n)


@dataclass(frozen=True)
class FieldChoice:
    """Correlated noise on exact distances."""

    mechanism: ClassVar[AnyMechanism] = Field()
    space: Space
    noise: FieldNoise
    prediction: Prediction

    @property
    def bias(self) -> float:
        """Return the quantum, which is next to nothing."""
        return self.noise.quantum

    @property
    def error(self) -> float:
        """Return the promised error."""
        return self.prediction.error

    @property
    def numbers(self) -> list[Any]:
        """Return all numbers that its noise depends on: a session resumes only with the same ones."""
        noise = self.noise
        return [noise.max_points, noise.quantum, noise.step, noise.scale, noise.kernel.max_variance, noise.split.total]

    def begin(self, table: Table, n: int, drawing: Callable[[], None], total: int | None = None) -> StartedSession:
        """Read the table, and draw the total where it is private. total: the one that was drawn before."""
        source = open_source(table, n)
        check_total(source.total, n, table.change)
        if total is None:
            drawing()
            noisy_total = self.noise.draw_total(source.total)
        else:
            noisy_total = self.noise.total(total)
        size, value = noisy_total.size, noisy_total.value
        return StartedSession(lambda: FieldEngine(source, self.space, self.noise, noisy_total), size, value)


SessionChoice: TypeAlias = GameChoice | FieldChoice


def session_choices(
    space: Space,
    n: int,
    change: ProtectedChange,
    guarantee: Guarantee,
    max_queries: int,
    failure_probability: float,
    names: Collection[str],
) -> tuple[list[SessionChoice], dict[str, str]]:
    """Return what each of these mechanisms promises for n rows, the smallest error first, and why some cannot."""
    choices: list[SessionChoice] = []
    refused: dict[str, str] = {}
    for name in names:
        try:
            mechanism = mechanism_named(name, failure_probability)
            mechanism.check(change, guarantee)
            spent = mechanism.accounted(guarantee)
            choice = SESSIONS[name](space, n, change, spent, max_queries, failure_probability)
            choices.append(replace(choice, prediction=replace(choice.prediction, accounting=spent.accounting)))
        except MilepostError as reason:
            refused[name] = str(reason)
    choices.sort(key=lambda choice: choice.error)
    return choices, refused


def _game_choice(
    space: Space,
    n: int,
    change: ProtectedChange,  # noqa: ARG001
    guarantee: Guarantee,
    max_queries: int,
    failure_probability: float,
) -> GameChoice:
    def promise(embedding: Embedding) -> tuple[float, Margins]:
        margins = interactive_margins(embedding, n, guarantee, max_queries, failure_probability)
        return interactive_error(embedding, margins), margins

    variant, margins = best_size(sized_variants(space, n, BALANCED), n, promise)
    return GameChoice(variant, margins, interactive_prediction(variant.embedding, margins, guarantee))


def _field_choice(
    space: Space,
    n: int,
    change: ProtectedChange,
    guarantee: Guarantee,
    max_queries: int,
    failure_probability: float,  # noqa: ARG001
) -> FieldChoice:
    noise = Field().noise(space, max_queries, change, guarantee)
    return FieldChoice(space, noise, session_prediction(noise, n, space.diameter, max_query_shift(space)))


# the mechanisms that answer queries one by one, and how each is sized for a number of queries
SESSIONS: dict[str, Callable[[Space, int, ProtectedChange, Guarantee, int, float], SessionChoice]] = {
    Tangents.name: _game_choice,
    Field.name: _field_choice,
}

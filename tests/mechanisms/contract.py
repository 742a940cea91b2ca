"""The contract of every mechanism: one suite, inherited by each of them (tests/mechanisms/test_contract.py).

Privacy is checked from outside. `Transcript` stands in for the noise functions and writes down what a mechanism hands
them: integers and scales. A second run on a neighboring table gets the answers of the first, so that both take the same
path, and the cost of the pair follows from the differences and the scales alone, in exact rational arithmetic.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings, target
from hypothesis import strategies as st

import milepost as mp
from milepost._typing import AnyArray, FloatArray, IntArray
from milepost.auditing.noise_trace import replaced_noise
from milepost.auditing.scripted_noise import Draw, NoiseScript, ThresholdTest
from milepost.mechanisms.base import CoordinateMechanism, CoordinateStatistic
from milepost.privacy import noise
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.columns import Column, Number
from milepost.spaces.embeddings.embedding import QUANTA, Embedding
from milepost.spaces.embeddings.projected import Projected
from milepost.spaces.mixed import MixedTable
from milepost.spaces.objects import object_array
from milepost.statistics.sketch import Sketch
from milepost.statistics.statistic_spec import RecordBlock
from tests.chance import Law, assert_scale, assert_wrong_scale, scale_draws
from tests.spaces.farthest_pair import farthest_pair

APPROXIMATE, PURE = mp.Guarantee(1, 1e-6), mp.Guarantee(1)
GUARANTEES = {"approximate": APPROXIMATE, "pure": PURE}
ROADS = [[0, 1, 4, 9], [1, 0, 3, 2], [4, 3, 0, 1], [9, 2, 1, 0]]  # no triangle inequality, and beyond the diameter
SPACES: dict[str, Any] = {
    "one column": mp.L1([(0, 1)]),
    "unequal weights": mp.L1({"a": (0, 100), "b": (-1, 1), "c": (5, 6)}, weights={"a": 0.02, "b": 3}),
    "steps": mp.L1({"age": (18, 90), "height": (0, 2.2)}, step={"age": 1}),
    "one cell": mp.L1([(0, 3)], step=3),
    "a column without width": mp.L1([(7, 7), (0.1, 0.7)]),
    "disc": mp.L2(center=[1, -2], radius=3, directions=4),
    "box": mp.L2([(0, 1), (0, 5), (2, 3)], directions=5),
    "lp": mp.Lp(1.5, [(0, 1), (-1, 4)], directions=4),
    "cap": mp.GreatCircle((80, 170), 3000, directions=4),
    "angles": mp.Angular(3, directions=6),
    "table": mp.Gower([mp.number(0, 9, step=1), mp.category(["a", "b", "c"]), mp.flag()], weights=[1, 2, 0.5]),
    "letters": mp.Hamming(["ACGT", "AB"]),
    "towns": mp.AnyMetric(mp.precomputed(ROADS), 4, list(range(len(ROADS))), repetitions=2),
}
CELLS = 1 << 12
ROWS = 3000

guarantees = pytest.mark.parametrize("kind", GUARANTEES)
spaces = pytest.mark.parametrize("name", SPACES)


class Transcript(NoiseScript):
    """A run without noise or, after an earlier one, with that one's answers."""

    def again(self) -> "Transcript":
        """For the neighboring table."""
        return Transcript(self._answers, self)

    def listen(self) -> AbstractContextManager[None]:
        """While this lasts, every draw and every test of the library goes here."""
        return self.replacing_noise()


def pairs(
    first: Transcript, second: Transcript
) -> tuple[list[tuple[Draw, Draw]], list[tuple[ThresholdTest, ThresholdTest]]]:
    return list(zip(first.draws, second.draws, strict=True)), list(zip(first.tests, second.tests, strict=True))


@contextmanager
def patched(changes: Sequence[tuple[Any, str, Any]]) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for owner, name, value in changes:
            patch.setattr(owner, name, value)
        yield


@contextmanager
def silent() -> Iterator[None]:
    """No noise may be drawn: what is refused has spent nothing."""

    def never(*_: Any) -> Any:
        pytest.fail("noise was drawn")

    with patched([(noise, "_add", never)]):
        yield


def points(space: Any, fractions: Any) -> AnyArray:
    """The points at fractions of the columns' widths; outside 0..1 they are clipped, or moved, when read."""
    rows = np.atleast_2d(np.array(fractions, dtype=np.float64))
    if isinstance(space, mp.AnyMetric):
        return object_array([int(f * len(ROADS)) for f in rows[:, 0].clip(0, 0.99)])
    if isinstance(space, MixedTable):
        cells = [[_cell(part, f) for part, f in zip(space.parts, row, strict=True)] for row in rows.tolist()]
        return np.array(cells, dtype=object)
    if isinstance(space, mp.Angular):
        return np.where((2 * rows - 1).any(axis=1, keepdims=True), 2 * rows - 1, 1.0)
    low, high = np.array(space.extent).T
    return np.asarray(low + rows * (high - low))


def opposites(space: Any) -> list[tuple[AnyArray, AnyArray]]:
    """Pairs of records as far apart as there are: opposite corners, and the farthest in embedding coordinates."""
    result = [(points(space, [0.0] * space.width), points(space, [1.0] * space.width))]
    if isinstance(space, Projected):
        left, right = farthest_pair(space)
        result.append((left[None], right[None]))
    return result


def inside(space: Any, fractions: Any) -> AnyArray:
    """The same as queries, in the disc or cap where the columns' corners are not."""
    queries = points(space, fractions)
    return queries if space.objects else np.asarray(space.clip_points(space.read_queries(queries)))


def _cell(part: Column, fraction: float) -> Any:
    """A number, a label, or true or false."""
    inside = min(max(fraction, 0.0), 1.0)
    if isinstance(part, Number):
        return part.low + fraction * (part.high - part.low)
    return part.user_point(min(int(inside * max(part.size, 2)), max(part.size, 2) - 1))


def run_mechanism(
    mechanism: Any,
    statistic: Any,
    public: Any,
    change: ProtectedChange,
    guarantee: mp.Guarantee,
    n: int | None = None,
    group: int = 0,
) -> Any:
    """Return what a mechanism releases of one group, sized for n records; by default for those that the group has."""
    size = max(int(statistic.totals[group]), 1) if n is None else n
    return mechanism.predict(public, size, change, guarantee).run(statistic, group)


def sketch_of(space: Any, table: AnyArray, times: int = 1, cells: int = CELLS) -> Sketch:
    """The statistic of a table, through the front door of the space: reading, clipping and rounding included."""
    spec = Sketch.spec(space, cells=cells)
    sketch = spec.empty()
    sketch.add(*spec.image(RecordBlock(space.read(table))))
    return sketch.repeat(times)


@lru_cache(maxsize=64)
def even(space: Any, n: int) -> Sketch:
    """n records spread evenly over every column, in an order of its own each."""
    order = np.random.default_rng(0)
    columns = [order.permutation((np.arange(n) + 0.5) / n) for _ in range(space.width)]
    return sketch_of(space, points(space, np.column_stack(columns)))


# places where rounding, borders of cells and the ends of the interval meet
places = st.one_of(
    st.sampled_from([0.0, 1.0, -0.1, 1.1, 0.5, 1 / 3, 0.5 / QUANTA, 1 - 0.5 / QUANTA, 0.5 + 1.5 / QUANTA]),
    st.integers(0, 64).map(lambda k: k / 64),
    st.floats(0, 1, allow_subnormal=False),
)
QUICK = settings(
    phases=(Phase.generate, Phase.target),
    database=None,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)


class Contract:
    """What a mechanism must keep; a subclass says which one it is, and how its noise can be spoilt."""

    mechanism: ClassVar[CoordinateMechanism]
    refuses_pure: ClassVar[bool] = False
    fixed_size: ClassVar[bool] = True  # whether the file's size depends on public numbers only
    quick: ClassVar[Sequence[str]] = tuple(SPACES)  # spaces that the quick tests take; the slow ones take the others
    tight: ClassVar[float]  # at least this share of the budget is spent on the worst pair

    def mutations(self, factor: float) -> dict[str, Sequence[tuple[Any, str, Any]]]:
        """Ways to draw `factor` times the noise: what to patch."""
        raise NotImplementedError

    def short_reach(self, embedding: Embedding) -> tuple[Embedding, Sequence[tuple[Any, str, Any]]]:
        """Embedding, or what to patch, so that records reach further than the noise was made for."""
        raise NotImplementedError

    def spent(self, guarantee: mp.Guarantee) -> mp.Guarantee:
        """The guarantee as the mechanism spends it."""
        return self.mechanism.accounted(guarantee)

    def offered(self) -> list[mp.Guarantee]:
        """The guarantees that it gives."""
        return [g for g in GUARANTEES.values() if not (g.pure and self.refuses_pure)]

    def guarantee(self, kind: str) -> mp.Guarantee:
        """One of the guarantees that it gives."""
        assert GUARANTEES[kind] in self.offered()
        return GUARANTEES[kind]

    def run(
        self, sketch: Sketch, space: Any, guarantee: mp.Guarantee, embedding: Embedding | None = None
    ) -> CoordinateStatistic:
        released: CoordinateStatistic = run_mechanism(
            self.mechanism, sketch, embedding or space.embedding, ProtectedChange(), guarantee
        )
        return released

    def release(self, sketch: Sketch, space: Any, guarantee: mp.Guarantee) -> mp.Synopsis:
        statistic = self.run(sketch, space, guarantee)
        return mp.Synopsis(space, statistic, self.spent(guarantee), ProtectedChange(), int(sketch.totals[0]))

    def cost(self, first: Transcript, second: Transcript, statistic: CoordinateStatistic, accounting: str) -> Fraction:  # noqa: ARG002
        """What two runs on neighboring tables cost together: everything that they drew."""
        return first.cost(second, accounting)

    def pair_cost(
        self,
        space: Any,
        guarantee: mp.Guarantee,
        pair: tuple[AnyArray, AnyArray],
        rest: Sketch | None = None,
        script: Sequence[bool] = (),
        embedding: Embedding | None = None,
    ) -> float:
        """The share of the budget that replacing one record by another costs; never more than 1, exactly."""
        spent = self.spent(guarantee)
        budget = spent.budget
        first = Transcript(script)
        second = first.again()
        for transcript, record in zip((first, second), pair, strict=True):
            sketch = sketch_of(space, record)
            with transcript.listen():
                statistic = self.run(sketch if rest is None else sketch + rest, space, guarantee, embedding)
        cost = self.cost(first, second, statistic, spent.accounting)
        assert cost <= Fraction(budget), f"a pair of records costs {float(cost / Fraction(budget)):.12g} of the budget"
        return float(cost / Fraction(budget))

    def search(self, space: Any, guarantee: mp.Guarantee, examples: int, embedding: Embedding | None = None) -> None:
        """Opposite corners; then let Hypothesis look for records, and a table around them, that cost more."""
        for left, right in opposites(space):
            self.pair_cost(space, guarantee, (left, right), embedding=embedding)
        record = st.lists(places, min_size=space.width, max_size=space.width)

        @settings(QUICK, max_examples=examples)
        @given(
            record,
            record,
            st.lists(record, min_size=3, max_size=3),
            st.sampled_from([0, 1, 1000]),
            st.lists(st.booleans()),
        )
        def no_pair_costs_more(
            left: list[float], right: list[float], rest: list[list[float]], times: int, script: list[bool]
        ) -> None:
            others = sketch_of(space, points(space, rest), times) if times else None
            pair = points(space, left), points(space, right)
            target(self.pair_cost(space, guarantee, pair, others, script, embedding))

        no_pair_costs_more()

    def worst(self, space: Any, guarantee: mp.Guarantee, embedding: Embedding | None = None) -> float:
        """The largest cost over pairs of dyadic points, the same in every column, opposite corners among them."""
        grid = np.arange(17) / 16
        return max(
            self.pair_cost(
                space,
                guarantee,
                (points(space, [a] * space.width), points(space, [b] * space.width)),
                embedding=embedding,
            )
            for a in grid
            for b in grid
            if b - a >= 0.5
        )

    def refuses(self, check: Callable[[], object]) -> bool:
        """Whether a check finds a pair that costs too much."""
        try:
            check()
        except AssertionError as failure:
            return "of the budget" in str(failure)
        return False

    @spaces
    def test_the_private_input_is_left_alone(self, name: str) -> None:
        space = SPACES[name]
        sketch = even(space, ROWS)
        originals = [array.copy() for array in (sketch.counts, sketch.offsets, sketch.totals)]
        for guarantee in self.offered():
            self.run(sketch, space, guarantee)
        for before, after in zip(originals, (sketch.counts, sketch.offsets, sketch.totals), strict=True):
            assert np.array_equal(before, after)

    def test_a_delta_of_zero_is_honoured(self) -> None:
        """Refused by name before anything is drawn, or kept without any Gaussian noise."""
        space = SPACES["unequal weights"]
        sketch = even(space, ROWS)
        if self.refuses_pure:
            with silent():
                for call in (
                    lambda: self.mechanism.check(ProtectedChange(), PURE),
                    lambda: self.run(sketch, space, PURE),
                    lambda: self.mechanism.predict(space.embedding, ROWS, ProtectedChange(), PURE),
                ):
                    with pytest.raises(mp.MilepostError, match=r"needs delta > 0"):
                        call()
            return

        def no_gaussian(law: str, values: IntArray, scale: float) -> IntArray:
            assert law == "laplace"
            return draw(law, values, scale)

        draw = noise._add
        with patched([(noise, "_add", no_gaussian)]):
            self.run(sketch, space, PURE)

    @spaces
    @guarantees
    def test_no_pair_costs_more_than_the_budget(self, kind: str, name: str) -> None:
        """Searched in exact arithmetic, from what the mechanism itself hands to the noise functions."""
        self.search(SPACES[name], self.guarantee(kind), examples=8)

    @pytest.mark.slow
    @spaces
    @guarantees
    def test_no_pair_costs_more_than_the_budget_after_a_long_search(self, kind: str, name: str) -> None:
        self.search(SPACES[name], self.guarantee(kind), examples=60)

    @guarantees
    def test_the_budget_is_spent_and_no_more(self, kind: str) -> None:
        """The worst of a grid of pairs comes close to the budget, so a little too much would be seen."""
        for name in ("one column", "unequal weights"):
            assert self.tight <= self.worst(SPACES[name], self.guarantee(kind)) <= 1

    @guarantees
    def test_too_little_noise_is_seen(self, kind: str) -> None:
        """Half the noise of any kind, or a tenth less, and the search above fails."""
        guarantee = self.guarantee(kind)
        space, column = SPACES["unequal weights"], SPACES["one column"]
        for factor in (0.5, 0.9):
            for what, changes in self.mutations(factor).items():
                with patched(changes):
                    assert self.refuses(lambda: self.worst(space, guarantee)), (factor, what)
                    if factor == 0.5:
                        assert self.refuses(lambda: self.search(column, guarantee, examples=100)), what

    @guarantees
    def test_a_reach_that_is_too_short_is_seen(self, kind: str) -> None:
        """Noise made for less than the records can move, rounding included."""
        guarantee = self.guarantee(kind)
        space = SPACES["unequal weights"]
        embedding, changes = self.short_reach(space.embedding)
        with patched(changes):
            assert self.refuses(lambda: self.worst(space, guarantee, embedding))

    def measure(
        self, sketch: Sketch, space: Any, guarantee: mp.Guarantee
    ) -> Callable[[CoordinateStatistic], FloatArray]:
        """From a release to the errors of its numbers, in units of the scales that the cost was computed with."""
        transcript = Transcript()
        with transcript.listen():
            statistic = self.run(sketch, space, guarantee)
        exact = statistic.tensors()["numbers"]
        with replaced_noise(lambda _, values, scale: np.full(values.size, round(scale * (1 << 10)))):
            scales = self.run(sketch, space, guarantee).tensors()["numbers"] / (1 << 10)  # in the order of the numbers
        for draw in transcript.draws:
            assert np.array_equal(exact[np.abs(scales / draw.scale - 1) < 1e-9], draw.values)
        assert scales.min() > 10
        return lambda released: np.asarray((released.tensors()["numbers"] - exact) / scales)

    def releases(self, sketch: Sketch, space: Any, guarantee: mp.Guarantee) -> AbstractContextManager[None]:  # noqa: ARG002
        """Anything to arrange while many releases are drawn."""
        return patched([])

    @guarantees
    def test_noise_has_the_scale_that_was_paid_for(self, kind: str) -> None:
        """Over many releases, whose numbers have noise of their own each; 10 % less noise is rejected."""
        guarantee = self.guarantee(kind)
        space = SPACES["steps"]
        sketch = even(space, ROWS)
        to_errors = self.measure(sketch, space, guarantee)
        law: Law = "laplace" if self.spent(guarantee).pure else "gaussian"
        numbers = scale_draws(0.9, law=law)

        def errors() -> FloatArray:
            parts: list[FloatArray] = []
            with self.releases(sketch, space, guarantee):
                while sum(part.size for part in parts) < numbers:
                    parts.append(to_errors(self.run(sketch, space, guarantee)))
            return np.concatenate(parts)

        assert_scale(errors(), law=law, against=1.1)
        changes = [change for several in self.mutations(0.9).values() for change in several]
        with patched(changes):
            assert_wrong_scale(errors(), 0.9, law=law)

    @spaces
    def test_a_file_keeps_every_number(self, name: str, tmp_path: Path) -> None:
        """Tensors, public numbers and answers, to the bit."""
        space = SPACES[name]
        for guarantee in self.offered():
            synopsis = self.release(even(space, ROWS), space, guarantee)
            synopsis.save(tmp_path / "file.milepost")
            again = mp.load(tmp_path / "file.milepost")
            assert again.card == synopsis.card
            assert again.statistic.parameters() == synopsis.statistic.parameters()
            tensors, others = synopsis.statistic.tensors(), again.statistic.tensors()
            assert tensors.keys() == others.keys()
            assert all(np.array_equal(tensors[key], others[key]) for key in tensors)
            queries = inside(space, np.random.default_rng(0).random((50, space.width)))
            for raw in (False, True):
                assert np.array_equal(again.mean_distance(queries, raw=raw), synopsis.mean_distance(queries, raw=raw))
            assert np.array_equal(again.interval(queries), synopsis.interval(queries))
            for uniform in (False, True)[: 1 + synopsis.statistic.has_uniform_error]:
                assert again.error(uniform=uniform) == synopsis.error(uniform=uniform)

    def test_bad_input_is_refused_before_spending(self) -> None:
        """Sketches that do not fit, an unknown number of rows: an error, and no noise drawn."""
        space, other = SPACES["unequal weights"], SPACES["one column"]
        good = even(space, ROWS)
        empty = Sketch(3, cells=CELLS)
        grouped = Sketch(3, groups=2, cells=CELLS)
        grouped.add(np.zeros((5, 3), dtype=np.int64), group=np.arange(5) % 2)
        coarse = good.repeat(300).coarsen(2)
        cases: list[tuple[Callable[[], Any], str]] = [
            (lambda: self.run(even(other, ROWS), space, APPROXIMATE), "1 coordinate.* 3"),
            (lambda: self.run(good, other, APPROXIMATE), "3 coordinates.* 1"),
            (lambda: self.run(empty, space, APPROXIMATE), "no records"),
            (lambda: self.run(grouped, space, APPROXIMATE), "groups"),
            (lambda: self.mechanism.predict(space.embedding, 0, ProtectedChange(), APPROXIMATE), "no records"),
            (
                lambda: run_mechanism(
                    self.mechanism, good, space.embedding, ProtectedChange(groups=2), APPROXIMATE, n=9
                ),
                "group|rows",
            ),
            (
                lambda: run_mechanism(
                    self.mechanism, good, space.embedding, ProtectedChange(), APPROXIMATE, n=ROWS + 1
                ),
                "has changed",
            ),
            (lambda: self.run(coarse, space, APPROXIMATE), "cells"),
        ]
        with silent():
            for call, message in cases:
                with pytest.raises(mp.MilepostError, match=message):
                    call()

    @spaces
    def test_every_released_number_is_an_integer(self, name: str) -> None:
        """What is released is int64, and answers follow from it and the card: floats are made when a file is read."""
        space = SPACES[name]
        for guarantee in self.offered():
            sketch = even(space, ROWS)
            statistic = self.run(sketch, space, guarantee)
            tensors = statistic.tensors()
            assert all(tensor.dtype == np.int64 for tensor in tensors.values())
            parameters = json.loads(json.dumps(statistic.parameters()))
            again = type(statistic).load(statistic.mechanism, space.embedding, ROWS, parameters, tensors)
            assert isinstance(again, CoordinateStatistic)
            for left, right in zip(statistic.functions(), again.functions(), strict=True):
                assert np.array_equal(left.heights, right.heights)

    @spaces
    def test_order_and_data_do_not_show(self, name: str, tmp_path: Path) -> None:
        """The statistic does not depend on the order of rows; shape, size and public numbers not on the rows at all."""
        space = SPACES[name]
        generator = np.random.default_rng(0)
        table = points(space, generator.random((ROWS, space.width)))
        first, second = sketch_of(space, table), sketch_of(space, generator.permutation(table))
        assert np.array_equal(first.counts, second.counts)
        assert np.array_equal(first.offsets, second.offsets)
        everybody = sketch_of(space, points(space, [0.0] * space.width), ROWS)
        guarantee = self.offered()[0]
        cards, sizes = [], []
        for sketch in (first, second, everybody):
            synopsis = self.release(sketch, space, guarantee)
            synopsis.save(tmp_path / "file.milepost")
            cards.append(synopsis.card)
            sizes.append((tmp_path / "file.milepost").stat().st_size)
        assert cards[0] == cards[1] == cards[2]
        assert not self.fixed_size or sizes[0] == sizes[1] == sizes[2]

    @spaces
    @guarantees
    def test_tables_of_every_kind_are_answered(self, kind: str, name: str) -> None:
        """One record, equal records, records at both ends: finite answers in range, with an error to match."""
        guarantee, space = self.guarantee(kind), SPACES[name]
        ends = [[0.0] * space.width, [1.0] * space.width]
        queries = inside(space, [[k / 7] * space.width for k in range(8)])
        for table, times in (([[0.3] * space.width], 1), ([[0.3] * space.width], ROWS), (ends, 1), (ends, ROWS // 2)):
            sketch = sketch_of(space, points(space, table), times)
            synopsis = self.release(sketch, space, guarantee)
            values, (low, high) = synopsis.mean_distance(queries), synopsis.interval(queries)
            assert np.all((values >= 0) & (values <= max(space.diameter, space.embedding.total_width) * (1 + 1e-9)))
            assert np.all((low <= values) & (values <= high))
            assert 0 < synopsis.error() <= space.embedding.sensitivity_bound
            if synopsis.statistic.has_uniform_error:
                assert synopsis.error() <= synopsis.error(uniform=True) <= space.embedding.sensitivity_bound

    @spaces
    @guarantees
    def test_predictions_are_public_and_come_true(self, kind: str, name: str) -> None:
        """Made without data, the same whatever was released before; on spread data the error is within 25 % of them.

        Where directions are random, they are made for people at one place: on spread data the error is smaller.
        """
        guarantee, space = self.guarantee(kind), SPACES[name]
        n = 20_000
        with silent():
            prediction = self.mechanism.predict(space.embedding, n, ProtectedChange(), guarantee).prediction
        sketch = sketch_of(space, points(space, [[k / 250] * space.width for k in range(250)]), n // 250)
        with Transcript().listen():  # without noise
            statistic = self.run(sketch, space, guarantee)
            self.run(sketch_of(space, points(space, [0.0] * space.width), n), space, guarantee)
        assert self.mechanism.predict(space.embedding, n, ProtectedChange(), guarantee).prediction == prediction
        confidence = min(0.95, statistic.confidence)
        if not statistic.has_uniform_error:
            assert prediction.uniform is None
            assert prediction.error / 10 <= statistic.half_width(confidence) <= prediction.error
        for uniform, error in ((False, prediction.error), (True, prediction.uniform)):
            if not statistic.has_uniform_error:
                break
            assert min(statistic.half_width(confidence, uniform), statistic.max_error) == pytest.approx(error, rel=0.25)
        if self.fixed_size and prediction.size is not None:
            size = sum(tensor.nbytes for tensor in statistic.tensors().values())
            assert 0.5 * size <= prediction.size <= 2 * size + 4000

"""A mechanism written outside the package: released, planned, saved, loaded, charged, asked in a session."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import milepost as mp
from milepost.mechanisms import registry
from milepost.mechanisms.base import Prediction, QueryDesign, QueryMechanism
from milepost.mechanisms.coordinate.slopes import Slopes
from milepost.mechanisms.query.net import Net
from milepost.mechanisms.query.noisy_sums import NoisySums
from milepost.mechanisms.totals import Total
from milepost.privacy.gaussian_curve import mu_of_pure
from milepost.privacy.guarantee import Guarantee
from milepost.privacy.noise import laplace
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.embeddings.embedding import QUANTA
from milepost.spaces.queries import Queries
from milepost.statistics.distance_sums import DistanceSums
from tests.mechanisms.contract import Transcript

LINE = mp.L1([(0, 1)])
ROWS = np.linspace(0, 1, 400)[:, None]
POINTS = [[0.0], [0.25], [1.0]]


@dataclass(frozen=True, eq=False)
class RoughDesign(QueryDesign):
    """Laplace noise of one scale on sums of distances, which are counted from 0."""

    scale: float

    @property
    def scales(self) -> tuple[float]:
        return (self.scale,)

    @cached_property
    def prediction(self) -> Prediction:
        total = Total(self.n, self.total_scale, self.pure)
        return self.released(total, np.zeros(self.queries.count, dtype=np.int64)).prediction()

    def add_noise(self, statistic: DistanceSums, group: int, draw_total: Callable[[], Total]) -> NoisySums:
        return self.released(draw_total(), laplace(statistic.values[group], self.scale))

    def released(self, total: Total, sums: Any) -> NoisySums:
        ones = np.ones(self.queries.count)
        law = math.sqrt(2) * self.scale * ones, 3.0 * ones
        return NoisySums(self.mechanism, self.queries, total, sums, 0 * sums, *law)


class Rough(QueryMechanism):
    """Each of k sums changes by at most 2²⁴ quanta, whether a record is replaced or added: k·2²⁴ in ℓ₁."""

    name = "rough"
    pure = True
    statistic = NoisySums

    def design(self, public: Queries, n: int, change: ProtectedChange, guarantee: Guarantee) -> RoughDesign:
        split = change.laplace(public.count, public.count, guarantee.epsilon, 1 / (2 * public.count))
        return RoughDesign(self.name, n, change, split.total, self.pure, public, QUANTA * split.power)


class OtherSlopes(Slopes):
    """A coordinate mechanism, which answers every point."""

    name = "other-slopes"


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget what a test registers."""
    monkeypatch.setattr(registry, "_registered", dict(registry._registered))


@pytest.mark.parametrize("options", [{}, {"neighbors": "add-remove", "n": 400}, {"groups": ["a", "b"] * 200}])
def test_a_query_mechanism_is_released_saved_and_loaded(options: dict[str, Any], tmp_path: Path) -> None:
    labels: dict[str, Any] = {"labels": ["a", "b"], "n": 400} if "groups" in options else {}
    with Transcript().listen():  # without noise
        synopsis = mp.release(ROWS, LINE, epsilon=1, mechanism=Rough(), queries=POINTS, **options, **labels)
    assert synopsis.mechanism == "rough"
    exact = mp.exact_mean_distance(ROWS, LINE, POINTS)
    parts = [synopsis.group(label) for label in synopsis.labels] or [synopsis]
    for part in parts:
        assert np.allclose(part.mean_distance(POINTS), exact, atol=0.01)
        low, high = part.interval(POINTS)
        assert np.all((low <= exact + 0.01) & (exact - 0.01 <= high))
    path = tmp_path / "rough.milepost"
    synopsis.save(path)
    with pytest.raises(mp.MilepostError, match=r"mechanism 'rough', which is not known here; register it"):
        mp.load(path)
    mp.register_mechanism(Rough())
    assert mp.load(path).card == synopsis.card
    assert mp.release(ROWS, LINE, epsilon=1, mechanism="rough", queries=POINTS).mechanism == "rough"


@pytest.mark.filterwarnings("ignore::milepost.AccuracyWarning")
@pytest.mark.parametrize("change", [{}, {"neighbors": "add-remove", "n": 3}])
def test_a_record_costs_no_more_than_epsilon(change: dict[str, Any]) -> None:
    """From what the mechanism hands to the noise functions, the total's noise included."""
    tables = [[[0.0], [0.5], [0.5]], [[1.0], [0.5], [0.5]]] if not change else [[[0.5]], [[0.5], [1.0]]]
    first = Transcript()
    transcripts = first, first.again()
    for transcript, rows in zip(transcripts, tables, strict=True):
        with transcript.listen():
            mp.release(rows, LINE, epsilon=1, mechanism=Rough(), queries=[[0.0], [0.0]], **change)
    costs = [draw.cost(other, "pure") for draw, other in zip(*(t.draws for t in transcripts), strict=True)]
    assert 1 - 1e-9 <= sum(costs) <= 1


def test_plans_and_ledgers_take_the_object(tmp_path: Path) -> None:
    """A budget of pure ε is charged by what the mechanism declares."""
    plan = mp.plan(LINE, n=400, epsilon=1, delta=1e-6, mechanism=Rough(), queries=POINTS)
    assert [prediction.mechanism for prediction in plan.predictions] == ["rough"]
    ledger = mp.Ledger(tmp_path / "ledger.db")
    ledger.create("homes", epsilon=3)
    charged: dict[str, Any] = {"epsilon": 1, "delta": 1e-6, "ledger": ledger, "dataset": "homes"}
    synopsis = mp.release(ROWS, LINE, mechanism=Rough(), queries=POINTS, **charged)
    (entry,) = ledger.history("homes")
    assert (entry.what, entry.guarantees) == ("rough", (mp.Guarantee(1),))
    with pytest.raises(mp.MilepostError, match="delta"):
        mp.release(ROWS, LINE, mechanism=OtherSlopes(), **charged)
    assert plan.best.error == pytest.approx(synopsis.error(), rel=0.2)


def test_a_coordinate_mechanism_answers_in_sessions() -> None:
    with mp.interactive(ROWS, LINE, epsilon=1, delta=1e-6, max_queries=3, mechanism=OtherSlopes()) as session:
        assert session.mechanism == "other-slopes"
        assert abs(session.ask([0.5]).value - 0.25) < 0.5
        assert session.remaining is None


def test_what_is_no_mechanism_is_refused() -> None:
    class Taken(Slopes):
        name = "hats"

    class Auto(Slopes):
        name = "auto"

    cases: list[tuple[Any, str]] = [
        (Taken(), "there is a mechanism 'hats' already"),
        (Auto(), "name of a mechanism"),
        (Slopes, "must be a name or an object"),
        (7, "must be a name or an object"),
    ]
    for mechanism, message in cases:
        with pytest.raises(mp.MilepostError, match=message):
            mp.release(ROWS, LINE, epsilon=1, delta=1e-6, mechanism=mechanism)
        with pytest.raises(mp.MilepostError, match=message):
            mp.register_mechanism(mechanism)
    with pytest.raises(mp.MilepostError, match="there is a mechanism 'slopes' already"):
        mp.register_mechanism(Slopes())
    with pytest.raises(mp.MilepostError, match="rough answers given points only"):
        mp.interactive(ROWS, LINE, epsilon=1, max_queries=3, mechanism=Rough())


def test_a_subclass_does_not_inherit_that_its_noise_is_gaussian(tmp_path: Path) -> None:
    """Its own design may add other noise, for which its base has not spoken."""

    class Steeper(Slopes):
        name = "steeper"

        def design(self, public: Any, n: int, change: ProtectedChange, guarantee: Guarantee) -> Any:
            return super().design(public, n, change, guarantee)

    class Renamed(Slopes):
        name = "renamed"

    class Declared(Steeper):
        all_gaussian = True

        def design(self, public: Any, n: int, change: ProtectedChange, guarantee: Guarantee) -> Any:
            return super().design(public, n, change, guarantee)

    class TreeNet(Net):
        name = "tree-net"
        pure = True

    both = Guarantee(1, 1e-6)
    words = [mechanism.accounted(both).accounting for mechanism in (Steeper(), Renamed(), Declared(), TreeNet())]
    assert words == ["zcdp", "gaussian", "gaussian", "pure"]
    ledger = mp.Ledger(tmp_path / "budget.ledger")
    ledger.create("homes", epsilon=20, delta=1e-6)
    mp.release(ROWS, LINE, epsilon=1, delta=1e-6, mechanism=TreeNet(), queries=POINTS, ledger=ledger, dataset="homes")
    assert ledger.spent("homes").mu == pytest.approx(mu_of_pure(1.0), rel=1e-6)

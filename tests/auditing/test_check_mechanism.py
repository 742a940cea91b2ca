"""`check_mechanism` accepts every built-in mechanism, and notices those that break their contract."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from milepost.auditing.check_mechanism import check_mechanism
from milepost.auditing.check_space import CheckFailedError
from milepost.errors import MilepostError
from milepost.mechanisms import registry
from milepost.mechanisms.base import CoordinateMechanism, QueryMechanism
from milepost.mechanisms.coordinate.hats import Hats
from milepost.mechanisms.coordinate.slopes import Slopes
from milepost.mechanisms.query.noisy_sums import NoisySums
from milepost.mechanisms.query.per_query import PerQuery, PerQueryDesign
from milepost.mechanisms.registry import MECHANISM_NAMES, register_mechanism
from milepost.mechanisms.totals import Total
from milepost.privacy.noise import laplace
from milepost.statistics.distance_sums import DistanceSums

# the share of the budget that the worst pair spends, at least
TIGHT = {
    "slopes": 0.999,
    "hats": 0.999,
    "tangents": 0.5,
    "field": 0.99,
    "net": 0.999,
    "basis": 0.9,
    "quadtree": 0.999,
    "gaussian": 0.999,
    "laplace": 0.999,
}


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget what a test registers."""
    monkeypatch.setattr(registry, "_registered", dict(registry._registered))


def test_every_mechanism_is_checked() -> None:
    assert set(MECHANISM_NAMES) == set(TIGHT), "a registered mechanism has no case here"


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name == "gaussian" else pytest.mark.slow) for name in TIGHT]
)
def test_every_mechanism_keeps_its_contract(name: str) -> None:
    assert TIGHT[name] < check_mechanism(name) <= 1


class QuietSlopes(Slopes):
    """Nine tenths of the noise."""

    name = "quiet-slopes"

    def design(self, *args: Any) -> Any:
        design = super().design(*args)
        return dataclasses.replace(design, power=0.81 * design.power)


class QuietHats(Hats):
    """Nine tenths of the noise."""

    name = "quiet-hats"

    def design(self, *args: Any) -> Any:
        design = super().design(*args)
        return dataclasses.replace(design, epsilons=[epsilon / 0.9 for epsilon in design.epsilons])


Change = Callable[[PerQueryDesign, DistanceSums, int, Callable[[], Total]], NoisySums]


@dataclasses.dataclass(frozen=True, eq=False)
class SpoiltDesign(PerQueryDesign):
    """Noise for each query, spoilt by a function."""

    change_noise: Change | None = None

    def add_noise(self, statistic: DistanceSums, group: int, draw_total: Callable[[], Total]) -> NoisySums:
        if self.change_noise is None:
            return super().add_noise(statistic, group, draw_total)
        return self.change_noise(self, statistic, group, draw_total)


class Spoilt(QueryMechanism):
    """Noise for each query, spoilt by a function."""

    statistic = NoisySums

    def __init__(self, law: str, change: Change | None = None, factor: float = 1.0, pure: bool | None = None) -> None:
        self.base, self.change_noise, self.factor = PerQuery(law), change, factor
        self.name, self.pure = f"spoilt-{law}", self.base.pure if pure is None else pure

    def check(self, *args: Any) -> None:
        self.base.check(*args)

    def design(self, public: Any, n: int, change: Any, guarantee: Any) -> SpoiltDesign:
        scales, total = self.base.scales(public, change, guarantee)
        law = self.base.law
        return SpoiltDesign(
            self.name, n, change, total, self.pure, public, law, self.factor * scales, change_noise=self.change_noise
        )


def leaks_first_sum(
    design: PerQueryDesign, statistic: DistanceSums, group: int, draw: Callable[[], Total]
) -> NoisySums:
    """Release one sum as it is."""
    noisy = PerQueryDesign.add_noise(design, statistic, group, draw)
    noisy.sums[0] = statistic.values[group, 0]
    return noisy


def shrinks_noise(design: PerQueryDesign, statistic: DistanceSums, group: int, draw: Callable[[], Total]) -> NoisySums:
    """Draw the right noise, and take a tenth of it away."""
    noisy = PerQueryDesign.add_noise(design, statistic, group, draw)
    exact = statistic.values[group]
    noisy.sums[:] = exact + np.rint(0.9 * (noisy.sums - exact)).astype(np.int64)
    return noisy


def scales_by_data(design: PerQueryDesign, statistic: DistanceSums, group: int, draw: Callable[[], Total]) -> NoisySums:
    """Let the scale of the noise depend on the table."""
    factor = 1 + 1e-3 * float(statistic.values[group].sum() % 7)
    own = dataclasses.replace(design, sum_scales=factor * design.sum_scales)
    return PerQueryDesign.add_noise(own, statistic, group, draw)


def refuses_some_tables(
    design: PerQueryDesign, statistic: DistanceSums, group: int, draw: Callable[[], Total]
) -> NoisySums:
    """Refuse tables whose first sum is not 0."""
    if statistic.values[group, 0]:
        raise MilepostError("this table does not suit")
    return PerQueryDesign.add_noise(design, statistic, group, draw)


def promises_too_much(
    design: PerQueryDesign, statistic: DistanceSums, group: int, draw: Callable[[], Total]
) -> NoisySums:
    """Report a tenth of the noise."""
    noisy = PerQueryDesign.add_noise(design, statistic, group, draw)
    noisy.deviations = noisy.deviations / 10
    return noisy


@pytest.mark.parametrize(
    ("mechanism", "message"),
    [
        (QuietSlopes(), r"costs 1\.2\d+ of the budget"),
        (QuietHats(), r"costs 1\.1\d+ of the budget"),
        (Spoilt("gaussian", factor=0.9), r"costs 1\.2\d+ of the budget"),
        (Spoilt("laplace", factor=0.9), r"costs 1\.1\d+ of the budget"),
        (Spoilt("laplace", leaks_first_sum), "depends on a record besides the noisy numbers"),
        (Spoilt("laplace", shrinks_noise), "depends on a record besides the noisy numbers"),
        (Spoilt("laplace", scales_by_data), "paths differ"),
        (Spoilt("laplace", refuses_some_tables), "one table is released and"),
        (Spoilt("gaussian", pure=True), "Gaussian noise hides a record under a pure guarantee"),
        (Spoilt("gaussian", promises_too_much), "cover the truth in"),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_a_mechanism_that_breaks_its_contract_is_noticed(
    mechanism: CoordinateMechanism | QueryMechanism, message: str
) -> None:
    register_mechanism(mechanism)
    with pytest.raises(CheckFailedError, match=message):
        check_mechanism(mechanism)


class Chatty(Slopes):
    """Draws noise before it refuses, or while it predicts."""

    name = "chatty"

    def check(self, change: Any, guarantee: Any) -> None:
        laplace(np.zeros(1, dtype=np.int64), 10.0)
        super().check(change, guarantee)


class Shy(Slopes):
    """Accepts nothing."""

    name = "shy"

    def check(self, change: Any, guarantee: Any) -> None:  # noqa: ARG002
        raise MilepostError("never")


def test_noise_before_a_refusal_is_noticed() -> None:
    with pytest.raises(CheckFailedError, match="a refused release has drawn noise"):
        check_mechanism(Chatty())


def test_a_mechanism_that_refuses_everything_is_noticed() -> None:
    with pytest.raises(CheckFailedError, match="refuses every space"):
        check_mechanism(Shy())


def test_a_mechanism_must_be_registered_for_its_files() -> None:
    with pytest.raises(MilepostError, match="register"):
        check_mechanism(Spoilt("gaussian"))

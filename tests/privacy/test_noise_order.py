"""Order: a guarantee is charged, then said to be drawn on, and only then is noise drawn, whatever is asked for."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import milepost as mp
from milepost._typing import IntArray
from milepost.auditing.noise_trace import record_noise
from milepost.pipeline.release import SIZE_SHARE
from milepost.privacy import noise
from milepost.privacy.accounting.ledger import Charge

ROWS, LINE = np.linspace(0, 1, 50)[:, None], mp.L1([(0, 1)])
PRIVATE: dict[str, Any] = {"neighbors": "add-remove"}

CALLS: dict[str, Callable[..., Any]] = {
    "slopes": lambda **options: mp.release(ROWS, LINE, epsilon=5, delta=1e-6, mechanism="slopes", **options),
    "slopes, size": lambda **options: mp.release(
        ROWS, LINE, epsilon=5, delta=1e-6, mechanism="slopes", **PRIVATE, **options
    ),
    "hats": lambda **options: mp.release(ROWS, LINE, epsilon=5, mechanism="hats", **options),
    "tangents": lambda **options: mp.release(ROWS, LINE, epsilon=5, mechanism="tangents", **options),
    "laplace, size": lambda **options: mp.release(
        ROWS, LINE, epsilon=5, mechanism="laplace", queries=[[0]], **PRIVATE, **options
    ),
    "session of tangents": lambda **options: mp.interactive(
        ROWS, LINE, epsilon=5, mechanism="tangents", max_queries=3, **options
    ).ask([0]),
    "session of field": lambda **options: mp.interactive(
        ROWS, LINE, epsilon=5, delta=1e-6, mechanism="field", max_queries=3, n=50, **PRIVATE, **options
    ).ask([0]),
    "session of field, pure": lambda **options: mp.interactive(
        ROWS, LINE, epsilon=5, mechanism="field", max_queries=3, n=50, **PRIVATE, **options
    ).ask([0]),
    "session of field, size": lambda **options: mp.interactive(
        ROWS, LINE, epsilon=5, delta=1e-6, mechanism="field", max_queries=3, **PRIVATE, **options
    ).ask([0]),
    "bounds": lambda **options: mp.find_bounds(ROWS, epsilon=5, **options),
}


@pytest.mark.filterwarnings("ignore::milepost.AccuracyWarning")
@pytest.mark.parametrize("name", CALLS)
def test_noise_is_drawn_after_it_is_charged_and_said(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Were the process to end at any moment, what was drawn would be spent for good."""
    ledger = mp.Ledger(tmp_path / "ledger.db")
    ledger.create("homes", rho=100)
    order: list[str] = []
    add, charge_drawn = noise._add, Charge.drawn

    def traced_add(law: str, values: IntArray, scale: float) -> IntArray:
        states = [entry.state for entry in ledger.history("homes")]
        order.append("noise" if states == ["drawn"] else f"noise of a charge that is {states}")
        return add(law, values, scale)

    def traced_drawn(self: Charge) -> None:
        order.append("drawn")
        charge_drawn(self)

    monkeypatch.setattr(noise, "_add", traced_add)
    monkeypatch.setattr(Charge, "drawn", traced_drawn)
    CALLS[name](ledger=ledger, dataset="homes")
    assert order[0] == "drawn"
    noises = {event for event in order if event != "drawn"}
    # a session's answers come from a charge that is settled, and stays spent
    allowed = {"noise", "noise of a charge that is ['settled']"} if "session" in name else {"noise"}
    assert noises
    assert noises <= allowed


@pytest.mark.parametrize(("contributions", "share"), [(1, 1.0), (3, 3.0)])
def test_the_size_of_a_private_table_has_noise_for_all_rows_of_a_person(contributions: int, share: float) -> None:
    """Its scale is that of a share of ε, and what follows is sized for the rest."""
    unit: dict[str, Any] = {"privacy_unit": [str(row) for row in range(50)], "contributions": contributions}
    with record_noise() as calls:
        mp.release(ROWS, LINE, epsilon=5.0, mechanism="laplace", queries=[[0]], **PRIVATE, **unit)
    size, *rest = calls
    assert size.values.tolist() == [50]
    assert size.scale == pytest.approx(share / (SIZE_SHARE * 5.0), rel=1e-9)
    spent = sum(
        share * abs(sensitivity) / call.scale for call, sensitivity in zip(rest, (1, noise_of_one_more()), strict=True)
    )
    assert spent == pytest.approx((1 - SIZE_SHARE) * 5.0, rel=1e-9)


def noise_of_one_more() -> int:
    """By how much one record more moves a sum of distances that is counted from the middle, in quanta."""
    return 1 << 23

"""`check_mechanism` accepts every built-in mechanism, and notices those that break their contract."""

import pytest

from milepost.auditing.check_mechanism import check_mechanism
from milepost.mechanisms.registry import MECHANISM_NAMES

TIGHT = {
    "slopes": 0.999,
    "hats": 0.999,
    "tangents": 0.5,
    "field": 0.99,
    "net": 0.999,
    "gaussian": 0.999,
    "laplace": 0.999,
}


def test_every_mechanism_is_checked() -> None:
    assert set(MECHANISM_NAMES) == set(TIGHT), "a registered mechanism has no case here"


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow) for name in TIGHT])
def test_every_mechanism_keeps_its_contract(name: str) -> None:
    assert TIGHT[name] < check_mechanism(name) <= 1

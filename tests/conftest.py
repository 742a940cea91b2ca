"""Shared fixtures: one small private table that every test may read."""

import gc
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
from hypothesis import settings

from milepost import L1

# all tests there are slow; tests/test_requirements.py sees to it that `make test-all` has what they need
NEEDED = {"playwright": "browser", "schemathesis": "service/test_openapi.py", "sphinx": "docs/test_site.py"}
collect_ignore = [part for package, part in NEEDED.items() if find_spec(package) is None]

settings.register_profile("steady", deadline=None, derandomize=True, max_examples=40)
settings.load_profile("steady")


def pytest_collection_finish() -> None:
    """Spare the garbage collector thousands of tests that live to the end: a sixth of the time."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


@pytest.fixture
def homes() -> pd.DataFrame:
    """20,000 people with an id, some text, and two coordinates in km."""
    rng = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "id": np.arange(20_000),
            "north": rng.normal(6, 2, 20_000),
            "street": ["Elm"] * 20_000,
            "east": rng.beta(2, 4, 20_000) * 10,
        }
    )


@pytest.fixture
def city() -> L1:
    """The space of those homes."""
    return L1({"east": (0, 10), "north": (0, 10)})

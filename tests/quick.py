"""Parameters of which the quick tests take some, and the slow tests the others."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def some_quick(names: Iterable[str], quick: Collection[str]) -> list[Any]:
    """All names, as parameters of a test; those that are not `quick` are slow."""
    every = list(names)
    assert set(quick) <= set(every), "unknown names"
    return [pytest.param(name, marks=[] if name in quick else [pytest.mark.slow]) for name in every]

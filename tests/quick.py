"""How much the quick tests take of what the slow tests take whole: parameters, and examples of searches."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest
from hypothesis import settings


def some_quick(names: Iterable[str], quick: Collection[str]) -> list[Any]:
    """All names, as parameters of a test; those that are not `quick` are slow."""
    all_names = list(names)
    assert set(quick) <= set(all_names), "unknown names"
    return [pytest.param(name, marks=[] if name in quick else [pytest.mark.slow]) for name in all_names]


def examples(max_examples: int) -> int:
    """How many examples a search tries: `max_examples` among the slow tests, and fewer among the quick ones.

    Hypothesis marks its tests `hypothesis`, and `make slow` repeats them with the profile `long`, which has 100.
    A test that is not `given` anything itself must have that mark to be repeated.
    """
    return max(1, round(max_examples * settings().max_examples / 100))

"""A registry that a test may add to."""

import pytest

from milepost.spaces import registry
from milepost.spaces.base import Space


@pytest.fixture
def kinds(monkeypatch: pytest.MonkeyPatch) -> dict[str, type[Space]]:
    """Return a copy of the registry, which takes its place during a test."""
    copy = dict(registry.KINDS)
    monkeypatch.setattr(registry, "KINDS", copy)
    return copy

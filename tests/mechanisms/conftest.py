"""What the contract suite does not ask: a pure guarantee of a mechanism that refuses it (a test of its own says so)."""

import pytest

from tests.mechanisms.contract import GUARANTEES


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the combinations that no mechanism offers, instead of skipping them as if they were tests."""
    left_out = [item for item in items if isinstance(item, pytest.Function) and _refused(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def _refused(item: pytest.Function) -> bool:
    kind = item.callspec.params.get("kind") if hasattr(item, "callspec") else None
    return bool(getattr(item.cls, "refuses_pure", False)) and kind in GUARANTEES and GUARANTEES[kind].pure

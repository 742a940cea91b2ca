"""Which combinations of the contract suite are asked at all, and which of them are slow."""

import pytest

from tests.mechanisms.contract import GUARANTEES, SPACES


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what is slow; leave out what no mechanism offers, instead of skipping it as if it were a test.

    That a mechanism refuses a pure guarantee has a test of its own.
    """
    for item in items:
        if isinstance(item, pytest.Function) and _slow(item):
            item.add_marker(pytest.mark.slow)
    left_out = [item for item in items if isinstance(item, pytest.Function) and _refused(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def _slow(item: pytest.Function) -> bool:
    name = item.callspec.params.get("name") if hasattr(item, "callspec") else None
    return name in SPACES and name not in getattr(item.cls, "quick", SPACES)


def _refused(item: pytest.Function) -> bool:
    kind = item.callspec.params.get("kind") if hasattr(item, "callspec") else None
    return bool(getattr(item.cls, "refuses_pure", False)) and kind in GUARANTEES and GUARANTEES[kind].pure

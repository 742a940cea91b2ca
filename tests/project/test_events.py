"""Waiting ends when the event is there, and with an error where it never comes."""

import asyncio

import pytest

from tests import events
from tests.events import HangError, wait_in_loop, wait_until


def test_a_wait_ends_with_its_event() -> None:
    results = iter([False, False, True])
    wait_until(lambda: next(results))
    later_results = iter([False, True])
    asyncio.run(wait_in_loop(lambda: next(later_results)))
    assert [*results, *later_results] == []


def test_what_never_happens_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "PATIENCE", -1)
    with pytest.raises(HangError, match="the end of days did not happen"):
        wait_until(lambda: False, "the end of days")
    with pytest.raises(HangError, match="did not happen"):
        asyncio.run(wait_in_loop(lambda: False))

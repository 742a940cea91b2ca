"""Examples in docstrings do what they show."""

import doctest
import importlib
from pathlib import Path

import pytest

import milepost
from milepost.auditing import report
from milepost.auditing.cases import noise_cases
from tests import chance

PACKAGE = Path(milepost.__file__).parent


def test_the_examples_are_true(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every module that has some.

    The audit of the noise makes no other cases than its own, and its false alarms are as rare as those of tests.
    """
    monkeypatch.setattr(report, "shipped_cases", noise_cases)
    monkeypatch.setattr(report, "FALSE_ALARM", chance.FALSE_ALARM)
    failed, count = [], 0
    for path in sorted(PACKAGE.rglob("*.py")):
        if ">>> " in path.read_text(encoding="utf-8"):
            name = ".".join(["milepost", *path.relative_to(PACKAGE).with_suffix("").parts]).removesuffix(".__init__")
            result = doctest.testmod(importlib.import_module(name))
            failed += [name] * bool(result.failed)
            count += result.attempted
    assert failed == []
    assert count > 50

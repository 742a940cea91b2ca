"""Examples in docstrings do what they show."""

import doctest
import importlib
import pkgutil

import pytest

import milepost

MODULES = [module.name for module in pkgutil.walk_packages(milepost.__path__, "milepost.")]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_are_true(name: str) -> None:
    """Of every module."""
    assert doctest.testmod(importlib.import_module(name)).failed == 0

"""The public names come when they are used, and behave as if they had always been there."""

import ast
import json
import pickle
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

import milepost

HEAVY = ("numpy", "pyarrow", "rich", "scipy", "sqlite3")


def fresh(code: str) -> Any:
    """What a new interpreter prints, as JSON."""
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    return json.loads(process.stdout)


def test_the_table_has_the_names_that_type_checkers_see() -> None:
    tree = ast.parse(Path(milepost.__file__).read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    module_of = {
        alias.name: node.module for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    extras = [name for name, module in module_of.items() if module == "milepost"]
    assert extras == list(milepost._DOORS)
    module_of = {name: module for name, module in module_of.items() if name not in extras}
    assert module_of == milepost._MODULE_OF
    assert sorted(module_of) == sorted(milepost.__all__)


def test_an_import_loads_nothing_and_a_star_everything() -> None:
    code = f"""
import json, sys, milepost
before = [name for name in {HEAVY} if name in sys.modules]
listed = [name for name in milepost.__all__ if name not in dir(milepost)]
from milepost import *
import milepost.cli
missing = [name for name in milepost.__all__ if name not in globals()]
print(json.dumps([before, listed, missing, release.__module__, "scipy.special" in sys.modules]))
"""
    assert fresh(code) == [[], [], [], "milepost.pipeline.release", False]


def test_no_module_has_the_name_of_a_public_function() -> None:
    """Python sets a loaded module as an attribute of its package, in place of what has its name."""
    root = Path(milepost.__file__).parent
    modules = {path.stem for path in root.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert modules & {*milepost.__all__} == set()


def test_the_help_loads_no_command() -> None:
    code = f"""
import contextlib, io, json, sys
from milepost import cli
with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
    cli.main(["--help"])
print(json.dumps([name for name in {(*HEAVY, "milepost.cli.commands.plan")} if name in sys.modules]))
"""
    assert fresh(code) == []


def test_extras_need_no_import_of_their_own() -> None:
    assert milepost.spark.__name__ == "milepost.spark"
    assert {"sklearn", "spark", "testing"} <= set(dir(milepost))


def test_names_are_pickled() -> None:
    for value in (getattr(milepost, name) for name in milepost.__all__):
        if isinstance(value, type | FunctionType):
            assert pickle.loads(pickle.dumps(value)) is value  # noqa: S301


@pytest.mark.parametrize("name", ["relase", "errors_", "__wrapped__"])
def test_a_name_that_is_not_there(name: str) -> None:
    with pytest.raises(AttributeError, match=f"module 'milepost' has no attribute '{name}'"):
        getattr(milepost, name)


def test_the_version_is_that_of_the_package() -> None:
    assert milepost.__version__ == metadata.version("milepost")

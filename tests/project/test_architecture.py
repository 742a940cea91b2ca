"""The package keeps to its layers: imports point one way, and a folder has few modules."""

from pathlib import Path

import pytest

from tools.architecture import (
    LEVELS,
    MAX_MODULES,
    MAX_PARAMETERS,
    PACKAGE,
    carrier_types,
    folder_sizes,
    import_cycle,
    import_graph,
    layer,
    longest_signature,
    module_files,
    repeated_options,
    report,
    upward_edges,
)

ROOT = {"", "_typing", "_validation", "errors", "sklearn", "spark", "testing"}  # no other module stands in the root


def test_no_import_points_up() -> None:
    """Imports inside of functions and under TYPE_CHECKING included."""
    assert upward_edges(import_graph(module_files())) == []


def test_no_modules_import_each_other() -> None:
    assert import_cycle(import_graph(module_files())) == []


def test_every_module_is_in_a_layer() -> None:
    assert {layer(module) for module in module_files()} == set(LEVELS)


def test_folders_are_small() -> None:
    files = module_files()
    assert {folder: count for folder, count in folder_sizes(files).items() if count > MAX_MODULES} == {}
    assert {module for module, path in files.items() if path.parent.name == PACKAGE} == ROOT


@pytest.mark.parametrize(
    "text",
    [
        "from milepost.pipeline.release import release",
        "import milepost.pipeline.release",
        "from milepost.pipeline import release",
        "def late():\n    from milepost.pipeline import release\n    return release",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from milepost.pipeline.release import release",
    ],
)
def test_an_import_that_points_up_is_noticed(text: str, tmp_path: Path) -> None:
    for name, content in {"pipeline/release.py": "", "privacy/noise.py": text}.items():
        (tmp_path / PACKAGE / name).parent.mkdir(parents=True)
        (tmp_path / PACKAGE / name).write_text(content)
    (edge,) = upward_edges(import_graph(module_files(tmp_path)))
    assert edge == ("privacy.noise", "pipeline.release")


MODULE = """
from typing import Generic, Protocol, TypeVar
T = TypeVar("T")
class Carrier(Generic[T]):
    class Inner: ...
class Reader(Protocol[T]): ...
class ReadingError(ValueError): ...
def local() -> None:
    class Local: ...
"""


def test_carrier_types_are_counted_without_exceptions_and_protocols(tmp_path: Path) -> None:
    for name, content in {
        "ingest/spark/table.py": MODULE,
        "privacy/noise.py": MODULE,
        "statistics/sums.py": "",
    }.items():
        (tmp_path / PACKAGE / name).parent.mkdir(parents=True)
        (tmp_path / PACKAGE / name).write_text(content)
    assert sorted(carrier_types(tmp_path)) == ["Carrier", "Inner", "Local"]
    assert "carrier types from table to sketch: 3" in list(report(tmp_path))
    assert "Table" in carrier_types()


def test_no_option_is_declared_twice(tmp_path: Path) -> None:
    assert repeated_options() == []
    commands = tmp_path / PACKAGE / "cli"
    commands.mkdir(parents=True)
    (commands / "one.py").write_text('a = typer.Option("--delta", "-d")\nTABLE = {"max_rows": Option(int, "")}')
    assert repeated_options(tmp_path) == []
    (commands / "two.py").write_text('def f(a=typer.Option("--delta"), b=typer.Option("--max-rows")): ...')
    assert repeated_options(tmp_path) == ["--delta", "--max-rows"]


def test_no_function_has_too_many_parameters() -> None:
    count, name = longest_signature()
    assert count <= MAX_PARAMETERS, name


def test_a_circle_is_noticed() -> None:
    assert set(import_cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}})) == {"a", "b", "c"}

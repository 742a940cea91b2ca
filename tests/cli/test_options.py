"""Options of the command line are declared once, and errors of the library name them."""

import ast
import inspect
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer

from milepost import cli
from milepost.cli.options import OPTIONS, Option, expand_groups, in_options, options
from milepost.spaces.registry import named_spaces
from tests.commands import runner

SOURCE = Path(cli.__file__).parents[1]
MAX_PARAMETERS = 20


def declarations() -> Iterator[str]:
    """Yield every option that is declared: in the table, by a field of a space, and by a call of `typer.Option`."""
    yield from (f"--{name.replace('_', '-')}" for name in OPTIONS)
    fields = {field.name: field for space in named_spaces().values() for field in space.fields or ()}
    yield from (field.option for field in fields.values() if field.on_command_line and not field.shared_option)
    for path in sorted((SOURCE / "cli").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "Option":
                names = [argument.value for argument in node.args if isinstance(argument, ast.Constant)]
                yield from (name for name in names if isinstance(name, str) and name.startswith("--"))


def test_no_option_is_declared_twice() -> None:
    assert {name for name, count in Counter(declarations()).items() if count > 1} <= {"--plot"}  # in `show`, too


def test_no_function_has_many_parameters() -> None:
    longest = max(
        (len(node.args.posonlyargs + node.args.args + node.args.kwonlyargs), f"{path.name}: {node.name}")
        for path in (SOURCE / "cli").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
    )
    assert longest <= (MAX_PARAMETERS, "")


def test_a_group_of_options_becomes_one_dict() -> None:
    """With the defaults of the table, or without any where all are optional."""
    found: list[Any] = []

    def command(
        table: Annotated[str, typer.Argument()],
        arguments: Annotated[
            dict[str, Any], options("delta", "columns", delta=Option(int, "Another.", "A", default=3))
        ],
        left_out: Annotated[dict[str, Any], options("neighbors", optional=True)],
        force: bool = False,
    ) -> None:
        """Do something."""
        found.append((table, arguments, left_out, force))

    expanded = expand_groups(command)
    assert expanded.__doc__ == command.__doc__
    assert list(inspect.signature(expanded).parameters) == ["table", "delta", "columns", "neighbors", "force"]
    app = typer.Typer()
    app.command()(expanded)
    typer.main.get_command(app).main(["a.csv", "--columns", "x", "--force"], standalone_mode=False)
    assert found == [("a.csv", {"delta": 3, "columns": "x"}, {"neighbors": None}, True)]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("columns=[…] picks columns of a table", "--columns A,B picks columns of a table"),
        ("groups needs labels=[…], a public list", "--groups needs --labels A,B, a public list"),
        ("make one with groups='column' and labels=[…]", "make one with --groups column and --labels A,B"),
        (
            "contributions=3 rows of whom? Say with privacy_unit=… whose",
            "--contributions 3 rows of whom? Say with --privacy-unit COLUMN whose",
        ),
        ("or give ledger=, if it is elsewhere", "or give --ledger, if it is elsewhere"),
        ("radius_km must lie between 1 and 2", "--radius-km must lie between 1 and 2"),
        ("row_weights needs max_row_weight", "--row-weights needs --max-row-weight"),
        ("the table has 3 columns, n = 4", "the table has 3 columns, n = 4"),
        ("--weights a=2 and step 1 of column 'n'", "--weights a=2 and step 1 of column 'n'"),
        ("give sites=[…] to compare points", "give sites=[…] to compare points"),
        ("bounds_provenance must have epsilon", "bounds_provenance must have epsilon"),
    ],
)
def test_messages_name_options(message: str, expected: str) -> None:
    assert in_options(message) == expected


def test_errors_and_help_use_options(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    run = runner(capsys)
    (tmp_path / "a.csv").write_text("x,y,z\n1,2,3\n")
    result = run(f"release {tmp_path}/a.csv --space l1 --bounds 0:1 --bounds 0:1 --epsilon 1 -o {tmp_path}/a.milepost")
    assert "name the ones to use with --columns A,B" in result.err
    text = run("release --help").out
    assert re.findall(r"^(\w[\w ]+):$", text, re.MULTILINE) == [
        "Arguments",
        "Options",
        "Space",
        "Guarantee",
        "Rows and people",
        "Budget",
    ]

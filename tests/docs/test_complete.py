"""Everything public is documented: Python names, commands, options, addresses, settings, refusals."""

import doctest
import inspect
import re
import shlex
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import pytest
import typer

import milepost
import milepost.sklearn
import milepost.spark
from docs._ext import addresses, commands, contents, docstrings, limits
from milepost.cli.examples import EXAMPLES
from milepost.service.errors import CODES
from milepost.service.settings import Settings
from tests import ROOT

PAGE = (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
ENTRY = re.compile(r"^\.\. (?:auto(?:function|class|exception)|py:data):: ([\w.]+)\n((?:   :.*\n)*)", re.MULTILINE)
ENTRIES = dict(ENTRY.findall(PAGE))  # the options of each name
INNER = {  # public for the rest of the library only
    "milepost.Synopsis": {"coordinates", "groups", "positions", "read_points"},
    "milepost.Session": {"go_on"},
    "milepost.WeightedDistances": {"function"},
}


def object_named(name: str) -> Any:
    """A class or function by its whole name."""
    module, _, last = name.rpartition(".")
    return getattr(__import__(module, fromlist=[last]), last)


def members(cls: type) -> Iterator[tuple[str, Any]]:
    """What a class of this library has that is for everybody."""
    bases = [base for base in cls.__mro__ if base.__module__.split(".")[0] == cls.__module__.split(".")[0]]
    for name in dict.fromkeys(name for base in bases for name in vars(base)):
        member = inspect.getattr_static(cls, name)
        if not name.startswith("_") and (callable(member) or isinstance(member, property | classmethod | staticmethod)):
            yield name, member


def undocumented(cls: type) -> list[str]:
    """Members without a docstring, which the page then would not show."""
    return [name for name, member in members(cls) if not inspect.getdoc(member)]


def helpless(app: typer.Typer) -> list[str]:
    """Commands and options without a word of help."""
    problems = []
    for name, command in commands.walk(typer.main.get_command(app)):
        problems += [] if command.help else [name]
        problems += [f"{name} {param.opts[0]}" for param in command.params if not param.help]
    return problems


def test_every_public_name_is_on_the_page() -> None:
    expected = {f"milepost.{name}" for name in milepost.__all__}
    expected |= {f"milepost.sklearn.{name}" for name in milepost.sklearn.__all__}
    expected |= {f"milepost.spark.{name}" for name in milepost.spark.__all__}
    assert expected <= set(ENTRIES)
    assert all(inspect.getdoc(object_named(name)) for name in ENTRIES)


def test_every_public_member_is_on_the_page() -> None:
    """Of every class that the page shows, unless it is a space, whose inside is the library's own."""
    classes = [name for name in ENTRIES if inspect.isclass(object_named(name))]
    assert classes
    for name in classes:
        cls, options = object_named(name), ENTRIES[name]
        left_out = set(re.findall(r"\w+", "".join(re.findall(r":exclude-members:(.*)", options))))
        assert left_out == INNER.get(name, set()), name
        assert undocumented(cls) == [], name
        if name.startswith("milepost.") and name.count(".") == 1 and not hasattr(cls, "quantize"):
            assert ":members:\n" in options or not [*members(cls)], name


def test_an_undocumented_member_is_noticed() -> None:
    class Odd:
        def said(self) -> None:
            """What it does."""

        def unsaid(self) -> None: ...

        @property
        def silent(self) -> int:
            return 0

    assert undocumented(Odd) == ["unsaid", "silent"]


def test_every_command_and_option_is_on_the_page_with_its_help() -> None:
    text = commands.markdown()
    for name, command in commands.walk():
        section = text.split(f"## {name}\n")[1].split("\n## ")[0]
        assert command.help in section
        for param in command.params:
            labels = (
                [f"`{label}`" for label in param.opts] if param.param_type_name == "option" else [f"`{param.metavar}`"]
            )
            assert all(label in section for label in labels), (name, param.name)
            assert commands.code_options(param.help) in section, (name, param.name)
    assert helpless(milepost.cli.app) == []


def test_an_option_without_help_is_noticed() -> None:
    app = typer.Typer()

    @app.command()
    def silent(size: int = 1) -> None:
        """What it does."""

    @app.command()
    def unsaid() -> None: ...

    assert helpless(app) == ["milepost silent --size", "milepost unsaid"]


def test_every_command_has_examples_that_it_takes() -> None:
    """The same as in docs/cli.md; what they name need not be there."""
    guide = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    for name, command in commands.walk():
        subcommand = name.removeprefix("milepost ")
        section = guide.split(f"\n## milepost {subcommand.split()[0]}\n")[1].split("\n## ")[0]
        own_examples = [
            example for example in EXAMPLES[subcommand] if example.startswith(f"{name} ") or example == name
        ]
        assert own_examples, name
        for example in EXAMPLES[subcommand]:
            assert f"\n    {example}\n" in section, example
        for example in own_examples:
            command.make_context(name, shlex.split(example.removeprefix(name)))


@pytest.mark.slow
def test_the_names_that_audit_takes_are_listed() -> None:
    """In its help and in docs/cli.md: as its refusal of another one lists them."""
    with pytest.raises(milepost.MilepostError, match="must be one of") as refusal:
        milepost.audit(mechanism="none of these")
    names = str(refusal.value).partition("must be one of ")[2].partition(", got ")[0].split(", ")
    text = dict(commands.walk())["milepost audit"]
    help_text = next(param.help for param in text.params if param.name == "mechanism")
    assert re.findall(r"[a-z-]{3,}", help_text.partition(": ")[2]) == names
    assert ", ".join(f"`{name}`" for name in names) in (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")


def test_every_address_is_on_the_page() -> None:
    """With its words; and every shape that it takes or gives, field by field."""
    document = addresses.document()
    text = addresses.markdown(document)
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            section = text.split(f"### `{method.upper()} {path}`\n")[1].split("\n### ")[0]
            assert operation["description"]
            assert operation["description"] in section
    for name, schema in document["components"]["schemas"].items():
        section = text.split(f"### {name}\n")[1].split("\n### ")[0]
        assert schema.get("description"), name
        assert all(f"| `{field}` |" in section for field in schema.get("properties", {}))
    sentence = (
        (ROOT / "docs" / "reference" / "http.md").read_text(encoding="utf-8").split("may be refused")[1].split(";")[0]
    )
    assert set(re.findall(r"`(\w+)`", sentence)) == set().union(*addresses.usual(document).values())


def test_every_setting_and_refusal_is_on_the_page() -> None:
    settings, refusals = limits.settings(), limits.refusals()
    for setting in fields(Settings):
        assert re.search(
            rf"^\| `{setting.name}` \|.*\| {re.escape(setting.metadata['description'])} \|$", settings, re.MULTILINE
        )
    assert [
        name for name, code in CODES.items() if f"| `{name}` | {code.status} | {code.message} |" not in refusals
    ] == []


def test_what_is_generated_has_its_place() -> None:
    pages = [page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "reference").glob("*.md")]
    for mark in ("commands", "addresses", "settings", "refusals"):
        assert "".join(pages).count(f"\n<!-- generated: {mark} -->\n") == 1, mark


def test_every_page_is_in_the_navigation_once() -> None:
    """Of docs, and those beside it."""
    docs = ROOT / "docs"
    sections = contents.sections((docs / "index.md").read_text(encoding="utf-8"))
    paths = [(docs / f"{page}.md").resolve() for pages in sections.values() for page in pages]
    pages = [page for page in docs.rglob("*.md") if "_build" not in page.parts and page != docs / "index.md"]
    assert sorted(paths) == sorted([*pages, *ROOT.glob("*.md")])


def test_the_examples_of_docstrings_are_true() -> None:
    assert [module for module in (addresses, commands, contents, docstrings) if doctest.testmod(module).failed] == []

"""The list of commands for `milepost --help`, and a group that loads the module of a command when it is called."""

from collections.abc import MutableMapping
from functools import cache
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from milepost.cli.examples import epilog

COMMANDS = {  # in the order of the help, each with a line that fits one of a narrow terminal
    "demo": "Find a place for a clinic, with made-up people.",
    "plan": "Print the error to expect, before any data is touched.",
    "bounds": "Spend ε to find bounds that nobody knows.",
    "release": "Spend (ε, δ) once: a file that answers every query.",
    "query": "Answer from a released file; asking is free.",
    "ask": "Ask one question after another, in a kept session.",
    "show": "Print what is public about a released file, or draw it.",
    "columns": "Print means, variances and shares of columns.",
    "difference": "Tell how different two released tables are.",
    "drift": "Tell how several released tables differ, in order.",
    "audit": "Try to refute the privacy claims.",
    "serve": "Serve releases and sessions over HTTP, with a page.",
    "ledger": "Budgets of private datasets, and what is spent.",
    "keys": "Keys of people and programs who use a service.",
}


class SectionedCommand(TyperCommand):
    """A command whose help lists options in sections."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options, those of a section together."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None:
                default = "Arguments" if param.param_type_name == "argument" else "Options"
                sections.setdefault(getattr(param, "rich_help_panel", None) or default, []).append(record)
        first = {"Arguments": 0, "Options": 1}
        for title in sorted(sections, key=lambda title: first.get(title, 2)):
            with formatter.section(title):
                formatter.write_dl(sections[title])


def command(name: str) -> Any:
    """Return a command or group of commands, with options for all spaces that are registered."""
    from milepost.spaces.registry import named_spaces  # loads NumPy, which the list of commands does not need

    return _command(name, tuple(named_spaces()))


@cache
def _command(name: str, _: tuple[str, ...]) -> Any:
    """Return a command or group of commands, from `app` or the function of its name in the module of its name."""
    module = import_module(f"milepost.cli.commands.{name}")
    app = getattr(module, "app", None)
    if app is None:
        from milepost.cli.options import expand_groups

        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        app.command(name, cls=SectionedCommand, epilog=epilog(name))(expand_groups(getattr(module, name)))
    click_command = typer.main.get_command(app)
    click_command.name = name
    return click_command


class CommandGroup(TyperGroup):
    """All commands; the help takes their names and lines from the table, and does not load them."""

    @property
    def commands(self) -> MutableMapping[str, Any]:
        """Every command, loaded."""
        return {name: command(name) for name in COMMANDS}

    @commands.setter
    def commands(self, _: MutableMapping[str, Any]) -> None:
        """Ignore the commands that Typer has registered: there are none."""

    def list_commands(self, _: Any) -> list[str]:
        """Return the names of all commands, in order."""
        return list(COMMANDS)

    def get_command(self, _: Any, cmd_name: str) -> Any:
        """Return a command by its name, or None if there is none."""
        return command(cmd_name) if cmd_name in COMMANDS else None

    def format_commands(self, _: Any, formatter: Any) -> None:
        """Write the table of commands as a section of the help."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

"""The list of commands for `milepost --help`, and a group that loads the module of a command when it is called."""

from collections.abc import MutableMapping
from functools import cache
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from milepost.cli.examples import epilog

COMMANDS = {  # in the order of the help, each with a line that fits one of a narrow terminal
    "demo": "Find a place for a clinic, with made-up people.",
    "plan": "Print the error to expect, before any data is touched.",
    "bounds": "Spend ε to find bounds that nobody knows.",
    "release": "Spend (ε, δ) once: a file that answers every query.",
    "query": "Answer from a released file; asking is free.",
    "ask": "Ask one question after another, in a kept session.",
    "show": "Print what is public about a released file, or draw it.",
    "audit": "Try to refute the privacy claims.",
    "serve": "Serve releases and sessions over HTTP, with a page.",
    "ledger": "Budgets of private datasets, and what is spent.",
    "keys": "Keys of people and programs who use a service.",
}


@cache
def command(name: str) -> Any:
    """Return a command or group of commands, from `app` or the function of its name in the module of its name."""
    module = import_module(f"milepost.cli.commands.{name}")
    app = getattr(module, "app", None)
    if app is None:
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        app.command(name, epilog=epilog(name))(getattr(module, name))
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

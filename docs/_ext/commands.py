"""Write the help of every command as Markdown."""

import re
from collections.abc import Iterator
from typing import Any

import typer

from milepost import cli
from milepost.cli.examples import EXAMPLES, wrap_command


def walk(command: Any = None, name: str = "milepost") -> Iterator[tuple[str, Any]]:
    """Yield every command that is not a group, with its full name, such as "milepost ledger create"."""
    command = typer.main.get_command(cli.app) if command is None else command
    for word, one in command.commands.items():
        if hasattr(one, "commands"):
            yield from walk(one, f"{name} {word}")
        else:
            yield f"{name} {word}", one


def markdown() -> str:
    """Return the page below its introduction."""
    return "\n\n".join(section(name, command) for name, command in walk())


def section(name: str, command: Any) -> str:
    """Describe one command: its help, usage, examples, arguments and options."""
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.params if one.param_type_name == "option" and not one.hidden]
    words = " ".join(one.metavar if one.required else f"[{one.metavar}]" for one in arguments)
    parts = [f"## {name}", command.help, f"```text\n{name} [OPTIONS] {words}".rstrip() + "\n```"]
    examples = [line for example in EXAMPLES[name.removeprefix("milepost ")] for line in wrap_command(example)]
    parts.append("\n".join(["```text", *examples, "```"]))
    if arguments:
        rows = [f"| `{one.metavar}` | {code_options(one.help)} |" for one in arguments]
        parts.append("\n".join(["| argument | what it is |", "|---|---|", *rows]))
    rows = [f"| {_spelled(one, command)} | {code_options(one.help)} | {_default(one)} |" for one in options]
    parts.append("\n".join(["| option | meaning | default |", "|---|---|---|", *rows]))
    guide = name.split()[1]
    parts.append(f"More: [`milepost {guide}`](../cli.md#milepost-{guide}).")
    return "\n\n".join(parts)


def _spelled(option: Any, command: Any) -> str:
    """Return the names of an option and the placeholder of its value, as `--help` prints them."""
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    shown = option.get_help_record(command.context_class(command))[0]
    return names if option.is_flag else f"{names} `{shown.split()[-1]}`"


def _default(option: Any) -> str:
    if option.required:
        return "required"
    if option.default is None or option.default is False:
        return ""
    return f"`{option.opts[0] if option.is_flag else option.default}`"


def code_options(text: str | None) -> str:
    """Return a help text as Markdown for a cell of a table, with the options in it as code.

    >>> code_options("With --serve: a|b.")
    'With `--serve`: a\\\\|b.'
    """
    return re.sub(r"(?<![\w`-])--[a-z][\w-]*", r"`\g<0>`", text or "").replace("|", "\\|")

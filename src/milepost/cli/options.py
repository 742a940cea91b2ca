"""The options and arguments of commands, each declared once, and groups of options that a command takes as one dict."""

import inspect
import re
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import typer
from typer.models import OptionInfo

import milepost as mp
from milepost.spaces.fields import SpaceField
from milepost.spaces.registry import named_spaces

SPACE, GUARANTEE, ROWS, BUDGET = "Space", "Guarantee", "Rows and people", "Budget"  # sections of `--help`
REQUIRED = inspect.Parameter.empty


@dataclass(frozen=True)
class Option:
    """An option that several commands have; the name of the parameter gives that of the option.

    section: of `--help`. default: None where the option may be left out.
    """

    type: Any
    help: str
    section: str | None
    metavar: str | None = None
    default: Any = None

    def parameter(self, name: str) -> inspect.Parameter:
        """Return the parameter of a Typer command."""
        declared = option_name(name) + (f"/--no-{option_name(name)[2:]}" if self.type is bool else "")
        info = typer.Option(declared, help=self.help, metavar=self.metavar, rich_help_panel=self.section)
        annotation: Any = self.type | None if self.default is None else self.type
        return inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=self.default, annotation=Annotated[annotation, info]
        )


OPTIONS = {
    "epsilon": Option(float, "The ε of the guarantee.", GUARANTEE, default=REQUIRED),
    "error": Option(float, "Find the smallest ε with this error instead.", GUARANTEE),
    "delta": Option(float, "The δ of the guarantee; 0 is pure ε.", GUARANTEE, default=0.0),
    "mechanism": Option(
        str,
        "auto (the smallest predicted error), slopes, hats, quadtree, tangents, field, net, basis, gaussian or "
        "laplace.",
        GUARANTEE,
        default="auto",
    ),
    "neighbors": Option(
        str,
        "replace, or add-remove where it is private whether somebody is in the table at all.",
        GUARANTEE,
        default="replace",
    ),
    "accounting": Option(
        str,
        "gaussian (the default), or zcdp: the accounting of the budget that will be charged.",
        GUARANTEE,
    ),
    "failure_probability": Option(
        float, "The probability with which the promised error may fail.", GUARANTEE, default=0.05
    ),
    "ball_share": Option(
        float,
        "For l2 with a centre and a radius: the share of the budget that finds a smaller ball first, such as 0.1.",
        GUARANTEE,
    ),
    "effort": Option(
        str,
        "faster, balanced or closer: how many embedding coordinates to try, which costs time and no privacy.",
        GUARANTEE,
        default="balanced",
    ),
    "model": Option(
        bool,
        "Buy a private model of the table with a share of the budget, or not; by default where it lessens errors.",
        GUARANTEE,
    ),
    "max_queries": Option(int, "How many different points a session may be asked about.", GUARANTEE),
    "queries": Option(
        Path, "A CSV or Parquet file of the only points to ask about; edit needs it.", SPACE, metavar="FILE"
    ),
    "columns": Option(str, "Columns of the table or of POINTS to use, in the order of the space.", ROWS, metavar="A,B"),
    "n": Option(int, "About how many rows the table has, where that is private but roughly known.", ROWS),
    "groups": Option(str, "The column of each row's group.", ROWS, metavar="COLUMN"),
    "labels": Option(str, "The public list of groups, with quotes as in CSV.", ROWS, metavar="A,B"),
    "privacy_unit": Option(str, "The column that says whose row it is.", ROWS, metavar="COLUMN"),
    "contributions": Option(int, "The largest number of rows of one person that are used.", ROWS, default=1),
    "row_weights": Option(str, "The column of each row's weight.", ROWS, metavar="COLUMN"),
    "max_row_weight": Option(float, "The public maximum to which larger weights are cut.", ROWS),
    "ledger": Option(Path, "The ledger that is charged before the table is read.", BUDGET, metavar="FILE"),
    "dataset": Option(str, "The name of the budget in the ledger.", BUDGET),
}


def option_name(parameter: str) -> str:
    """Return the option of a parameter.

    >>> option_name("max_row_weight")
    '--max-row-weight'
    """
    return f"--{parameter.replace('_', '-')}"


# groups of options, which a command takes as one dict


@dataclass(frozen=True)
class OptionGroup:
    """The options of a parameter that is a dict of their values by name."""

    parameters: Callable[[], list[inspect.Parameter]]


def options(*names: str, optional: bool = False, **changed: Option) -> OptionGroup:
    """Return a group of options by name. optional: whether all may be left out. changed: options instead of others."""
    table = {name: changed[name] if name in changed else OPTIONS[name] for name in names}
    if optional:
        table = {name: replace(option, default=None) for name, option in table.items()}
    return OptionGroup(lambda: [option.parameter(name) for name, option in table.items()])


def _space_parameters(optional: bool) -> Iterator[inspect.Parameter]:
    """Yield `--space` and an option for each field of a space that the command line has."""
    spaces = named_spaces()
    help_text = f"The distance: {', '.join(spaces)}, or a file.toml."
    yield Option(str, help_text, SPACE, default=None if optional else REQUIRED).parameter("space")
    fields: dict[str, dict[str, SpaceField]] = {}
    for kind, space in spaces.items():
        for field in space.fields or ():
            if field.on_command_line and not field.shared_option:
                fields.setdefault(field.name, {})[kind] = field
    for name, by_space in fields.items():
        texts: dict[str, list[str]] = {}
        for kind, field in by_space.items():
            texts.setdefault(field.help, []).append(kind)
        help_text = " ".join(f"For {', '.join(kinds)}: {text[0].lower()}{text[1:]}" for text, kinds in texts.items())
        value_type = next(iter(by_space.values())).value_type
        yield Option(value_type.option_type, help_text, SPACE, value_type.metavar).parameter(name)


SpaceOptions = Annotated[dict[str, Any], OptionGroup(lambda: list(_space_parameters(optional=False)))]
OptionalSpaceOptions = Annotated[dict[str, Any], OptionGroup(lambda: list(_space_parameters(optional=True)))]


def expand_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with an option for each one of its groups, as Typer reads it."""
    groups: dict[str, list[str]] = {}
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        group = next((part for part in get_args(parameter.annotation) if isinstance(part, OptionGroup)), None)
        if get_origin(parameter.annotation) is Annotated and group is not None:
            expanded = group.parameters()
            groups[parameter.name] = [part.name for part in expanded]
            parameters += expanded
        else:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))

    def call(**values: Any) -> None:
        arguments = {name: {part: values.pop(part) for part in parts} for name, parts in groups.items()}
        command(**values, **arguments)

    call.__name__, call.__doc__ = command.__name__, command.__doc__
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    vars(call)["__signature__"] = inspect.Signature(parameters)
    return call


def in_options(message: str) -> str:
    """Return a message of the library with options instead of arguments.

    >>> in_options("name the ones to use with columns=[…]")
    'name the ones to use with --columns A,B'
    >>> in_options("max_queries must be at least 1")
    '--max-queries must be at least 1'
    >>> in_options("samples= must be at least 100, and ledger= needs dataset=.")
    '--samples must be at least 100, and --ledger needs --dataset.'
    >>> in_options("release in a space such as mp.L1 or mp.Gower, with mp.release")
    'release in a space such as --space l1 or --space gower, with `milepost release`'
    """
    kinds = {space.__name__: f"--space {kind}" for kind, space in named_spaces().items()}
    commands = {"release": "`milepost release`", "plan": "`milepost plan`", "interactive": "`milepost ask`"}
    message = re.sub(r"\bmp\.(\w+)\b(?![(\w])", lambda match: (kinds | commands).get(match[1], match[0]), message)
    all_fields = [field for space in named_spaces().values() for field in space.fields or ()]
    fields = {field.name for field in all_fields if field.on_command_line}
    names = "|".join(sorted({*OPTIONS, *fields}, key=len, reverse=True))

    def written(match: re.Match[str]) -> str:
        name, value = match[1], match[2] or ""
        if "…" in value:
            value = (OPTIONS[name].metavar if name in OPTIONS else None) or name.upper()
        return " ".join(part for part in (option_name(name), value.strip("'")) if part)

    message = re.sub(rf"(?<![\w.=-])({names})=(\[…\]|…|'[^']*'|\w+(?:\.\w+)*)?", written, message)
    message = re.sub(r"(?<![\w.=-])([a-z_]+)=(?![^\s.,;:)])", lambda match: option_name(match[1]), message)
    message = re.sub(rf"^({names})(?= must| needs| names)", lambda match: option_name(match[1]), message)
    # a name with an underscore is no word of a sentence
    return re.sub(rf"(?<![\w.-])({names})(?!\w)", lambda m: option_name(m[1]) if "_" in m[1] else m[1], message)


# options and arguments that a command takes as parameters


def described(info: OptionInfo, text: str) -> Any:
    """Return an option with another help text, for a command in which it means something more particular."""
    result = copy(info)
    result.help = text
    return result


OUTPUT: Any = typer.Option("--output", "-o", help="The file to write.")
PLOT: Any = typer.Option("--plot", help="Draw it too: .png, .svg or .pdf.")
GROUP: Any = typer.Option("--group", metavar="LABEL", help="One group of a file that has some.")
PORT: Any = typer.Option("--port", help="The port to listen at; 0 takes a free one.")
DATA_DIR: Any = typer.Option("--data-dir", help="The folder of keys, budgets, releases and tables.")
ForceOption = Annotated[bool, typer.Option("--force", help="Replace a file that exists.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the numbers as JSON.")]
ConfidenceOption = Annotated[float, typer.Option("--confidence", help="The confidence of the interval.")]
GroupOption = Annotated[str | None, GROUP]
AtOption = Annotated[
    list[str] | None,
    typer.Option("--at", metavar="X,Y", help="One point, in the order of the space; may be given many times."),
]
AnswersOption = Annotated[Path | None, described(OUTPUT, "Write the answers to this file: .csv, .txt or .parquet.")]
PointsArgument = Annotated[
    Path | None, typer.Argument(metavar="POINTS", help="The points to ask about: CSV with a header, or Parquet.")
]
TableArgument = Annotated[
    Path,
    typer.Argument(
        metavar="TABLE", help="The private table: CSV with a header, or Parquet; a folder, or a quoted pattern."
    ),
]
SynopsisArgument = Annotated[Path, typer.Argument(metavar="FILE", help="A file that `milepost release` wrote.")]


def load_synopsis(file: Path, group: str | None, *, any_group: bool) -> mp.Synopsis:
    """Return a synopsis, or one group of it. any_group: whether a synopsis with groups needs no `--group`."""
    synopsis = mp.load(file)
    if group is not None:
        return synopsis.group({str(label): label for label in synopsis.labels}.get(group, group))
    if synopsis.labels and not any_group:
        labels = ", ".join(map(str, synopsis.labels))
        raise mp.MilepostError(
            f"{file} has groups ({labels}). Choose one with --group {synopsis.labels[0]}, or compare all of them with "
            "`milepost query --nearest`"
        )
    return synopsis


def split_names(columns: str | None) -> list[str] | None:
    """Split names of columns at commas."""
    return None if columns is None else [name.strip() for name in columns.split(",")]


def open_ledger(path: Path | None) -> mp.Ledger | None:
    """Return the ledger of `--ledger`."""
    return None if path is None else mp.Ledger(path)


def check_row_weights(row_weights: str | None, max_row_weight: float | None) -> None:
    """Refuse weights of the distance where `--row-weights` expects the column of rows' weights."""
    if row_weights is not None and "=" in row_weights and max_row_weight is None:
        raise mp.MilepostError(
            f"--row-weights must be the column of rows' weights, got {row_weights}. For the weight of a column in the "
            f"distance give --weights {row_weights}"
        )

"""Spaces as the command line, TOML files and requests describe them; the fields of each space say how."""

import shlex
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from milepost._validation import did_you_mean
from milepost.errors import MilepostError
from milepost.ingest.batches import batches
from milepost.ingest.column_selection import ColumnSelection
from milepost.spaces.base import Space
from milepost.spaces.box import BOUNDS
from milepost.spaces.fields import OBJECTS, check_fields, toml_value
from milepost.spaces.lp import L1, L2
from milepost.spaces.objects import objects_of
from milepost.spaces.registry import named_spaces


def space_from_options(kind: str, options: Mapping[str, Any], queries: Path | None = None) -> Space:
    """Return the space of `--space l1 --bounds age=18:90 --weights age=2`, or of `--space file.toml`.

    options: the values of the options, by name; empty ones count as not given. queries: the file of `--queries`, which
    some spaces need and all others allow.

    >>> space_from_options("l1", {"bounds": ["age=18:90", "visits=0:40"]}).diameter
    112.0
    """
    given = {name: value for name, value in options.items() if value not in (None, (), [])}
    if Path(kind).suffix.lower() == ".toml":
        if given:
            option = f"--{next(iter(given)).replace('_', '-')}"
            raise MilepostError(f"{option} belongs in {kind}, as the space comes from that file")
        return read_space(Path(kind))
    space_class = _space_class(kind)
    fields = {field.name: field for field in space_class.fields or ()}
    if queries is not None and "queries" in fields:
        given["queries"] = str(queries)
    check_fields(kind, list(fields.values()), given, on_command_line=True)
    values = {name: fields[name].value_type.read(fields[name].option, value) for name, value in given.items()}
    return space_class.from_options(_with_objects(space_class, values))


def read_space(path: Path) -> Space:
    """Return the space of a TOML file: `space = "l1"`, a table or list `bounds`, and the space's other fields."""
    try:
        spec = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise MilepostError(f"there is no file {path}") from None
    except OSError as error:
        raise MilepostError(f"{path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise MilepostError(f"{path} is not a TOML file: {error}") from None
    return space_from_spec(spec, str(path))


def space_from_spec(spec: Mapping[str, Any], name: str = "a space") -> Space:
    """Return the space of a TOML file's or JSON object's content. name: what errors call it.

    >>> space_from_spec({"space": "l1", "bounds": {"age": [18, 90]}}).diameter
    72.0
    """
    values = dict(spec)
    kind = values.pop("space", None)
    if not isinstance(kind, str):
        raise MilepostError(f'{name} must name its space, such as space = "l1"')
    space_class = _space_class(kind)
    check_fields(kind, space_class.fields or (), values, on_command_line=False)
    return space_class.from_fields(_with_objects(space_class, values))


def options_of(space: L1 | L2) -> str:
    """Return a box as command-line options, which leave out how its bounds were found.

    >>> options_of(L1({"age": (16, 92.5)}))
    '--space l1 --bounds age=16:92.5'
    """
    bounds = space.by_column(space.extent)
    parts = [bounds] if isinstance(bounds, dict) else bounds  # without names, the option is given once for each column
    texts = [text for part in parts for text in BOUNDS.value_type.texts(part)]
    return " ".join([f"--space {space.kind}", *(f"{BOUNDS.option} {shlex.quote(text)}" for text in texts)])


def toml_of(space: L1 | L2) -> str:
    """Return the bounds of a box, and how they were found, as the TOML that `read_space` reads."""
    card = space.to_json()
    lines = [f"space = {toml_value(space.kind)}"]
    if space.columns is None:
        lines.append(f"bounds = {toml_value(card['bounds'])}")
    for name in ("bounds", "bounds_provenance"):
        if isinstance(card.get(name), Mapping):
            lines += ["", f"[{name}]", *(f"{toml_value(key)} = {toml_value(part)}" for key, part in card[name].items())]
    return "\n".join(lines) + "\n"


def _space_class(kind: str) -> type[Space]:
    spaces = named_spaces()
    if kind not in spaces:
        raise MilepostError(
            f"unknown space {kind!r}; choose from {', '.join(spaces)}, or give a file.toml{did_you_mean(kind, spaces)}"
        )
    return spaces[kind]


def _with_objects(space_class: type[Space], values: dict[str, Any]) -> dict[str, Any]:
    """Return values in which the path of a file of objects is replaced by the objects."""
    for field in space_class.fields or ():
        path = values.get(field.name)
        if field.value_type is OBJECTS and isinstance(path, str | Path):
            rows = [item for batch in batches(path, ColumnSelection(width=1)) for item in objects_of(batch)]
            values = values | {field.name: rows}
    return values

"""Fields: the parameters of a space, declared once for files, the command line, HTTP and forms."""

import csv
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from milepost.errors import MilepostError


@dataclass(frozen=True)
class ValueType:
    """How the value of a field is written.

    schema: the JSON schema of the value in TOML and JSON.
    option_type: the Python type of the command-line option; `list[str]` for an option that is given several times.
    metavar: what `--help` calls the value of the option; None for the name of its type.
    read: returns the value of the field from the name and the value of the option.
    separator: what stands between the parts of a value on the command line.
    """

    schema: Mapping[str, Any]
    option_type: Any
    metavar: str | None = None
    read: Callable[[str, Any], Any] = lambda _, value: value
    separator: str = ","

    def texts(self, value: Any) -> list[str]:
        """Return a value as the texts of its option, one each time that the option is given.

        >>> INTERVALS.texts({"age": (18, 90)}), POINT.texts([52.5, 13.4])
        (['age=18:90'], ['52.5,13.4'])
        """
        if isinstance(value, Mapping):
            return [f"{name}={self._text(part)}" for name, part in value.items()]
        return [self._text(value)]

    def _text(self, value: Any) -> str:
        if isinstance(value, list | tuple):
            return self.separator.join(map(self._text, value))
        return f"{value:.17g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class SpaceField:
    """One parameter of a space, for TOML files, the command line, HTTP and forms.

    Parameters
    ----------
    name : str
        The argument of the constructor, and the key in TOML and JSON; the option is `--name-with-dashes`.
    value_type : ValueType
        How the value is written: `NUMBER`, `TEXT`, `INTERVALS` and the others of `milepost.spaces.fields`.
    help : str
        One sentence that says what the value is.
    example : object
        A value, as JSON.
    required : bool, default False
        Whether a space needs it.
    or_else : tuple of str, default ()
        Names of other fields, of which one is enough instead of this required one.
    in_files : bool, default True
        Whether TOML files and JSON objects have it.
    on_command_line : bool, default True
        Whether it is an option.
    shared_option : bool, default False
        Whether commands have an option of this name for any space, so that the space adds none.

    Examples
    --------
    >>> import milepost as mp
    >>> from milepost.spaces.fields import NUMBER
    >>> mp.SpaceField("radius_km", NUMBER, "The radius, in km.", 40).option_example
    '--radius-km 40'
    """

    name: str
    value_type: ValueType
    help: str
    example: Any
    required: bool = False
    or_else: tuple[str, ...] = ()
    in_files: bool = True
    on_command_line: bool = True
    shared_option: bool = False

    @property
    def option(self) -> str:
        """The name of the command-line option."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def option_example(self) -> str:
        """The example as a user types it on the command line."""
        return f"{self.option} {self.value_type.texts(self.example)[0]}"

    @property
    def toml_example(self) -> str:
        """The example as a line of a TOML file."""
        if isinstance(self.example, Mapping):
            name, value = next(iter(self.example.items()))
            return f"{name} = {toml_value(value)} under [{self.name}]"
        return f"{self.name} = {toml_value(self.example)}"

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the value."""
        return {**self.value_type.schema, "description": self.help, "examples": [self.example]}


def toml_value(value: Any) -> str:
    """Return a value as TOML writes it.

    >>> toml_value({"number": [18, 90]}), toml_value("a"), toml_value(True)
    ('{number = [18, 90]}', '"a"', 'true')
    """
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name} = {toml_value(part)}" for name, part in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    if isinstance(value, str):  # as in JSON, except for one character
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return json.dumps(value)


def check_fields(kind: str, fields: Sequence[SpaceField], names: Iterable[str], *, on_command_line: bool) -> None:
    """Refuse names that are not fields of a space, and missing ones. Errors call a field as the user writes it."""
    usable = {field.name: field for field in fields if (field.on_command_line if on_command_line else field.in_files)}
    given = set(names)
    written = {name: field.option if on_command_line else name for name, field in usable.items()}
    for name in names:
        if name not in usable:
            unknown = f"--{name.replace('_', '-')}" if on_command_line else name
            known = f"it has {', '.join(written.values())}" if written else "it has no parameters"
            raise MilepostError(f"space {kind} has no {unknown}; {known}")
    for field in usable.values():
        if field.required and not given & {field.name, *field.or_else}:
            *others, last = (written[name] for name in (field.name, *field.or_else))
            needed = f"{', '.join(others)} or {last}" if others else last
            example = field.option_example if on_command_line else field.toml_example
            raise MilepostError(f"space {kind} needs {needed}, such as {example}")


def spec_schema(kind: str, description: str, fields: Sequence[SpaceField]) -> dict[str, Any]:
    """Return the JSON schema of the object that describes a space: `{"space": kind, …}`."""
    in_files = [field for field in fields if field.in_files]
    required = [field for field in in_files if field.required]
    schema: dict[str, Any] = {
        "title": kind,
        "description": description,
        "type": "object",
        "properties": {"space": {"const": kind}, **{field.name: field.schema for field in in_files}},
        "required": ["space", *(field.name for field in required if not field.or_else)],
        "additionalProperties": False,
    }
    for field in required:
        if field.or_else:
            schema["anyOf"] = [{"required": [name]} for name in (field.name, *field.or_else)]
    return schema


def values_by_column(option: str, texts: Sequence[str], read: Callable[[str, str], Any]) -> Any:
    """Return `name=value` texts as a dict, or bare values as a list."""
    pairs = [text.rpartition("=")[::2] for text in texts]
    names = [name for name, _ in pairs]
    values = [read(option, text) for _, text in pairs]
    if not any(names):
        return values
    if not all(names):
        raise MilepostError(f"{option} must name every column or none, got {' '.join(texts)}")
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise MilepostError(f"{option} names the column {repeated!r} twice")
    return dict(zip(names, values, strict=True))


def split_labels(option: str, text: str) -> list[str]:
    """Split labels at commas; a label that contains a comma is in quotes, as in a CSV file.

    >>> split_labels("--labels", 'north, "east, or so",south')
    ['north', 'east, or so', 'south']
    """
    try:
        labels = [label.strip() for row in csv.reader([text], skipinitialspace=True, strict=True) for label in row]
    except csv.Error:
        labels = []
    if not labels or not all(labels):
        raise MilepostError(f"{option} must give labels separated by commas, such as a,b, got {text!r}")
    return labels


def _number(option: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise MilepostError(f"{option}: {text!r} is not a number") from None


def _pair(option: str, text: str) -> tuple[float, float]:
    low, colon, high = text.partition(":")
    if not colon:
        raise MilepostError(f"{option} must be name=low:high or low:high, got {text!r}")
    return _number(option, low), _number(option, high)


def _by_column(read: Callable[[str, str], Any]) -> Callable[[str, Any], Any]:
    return lambda option, texts: values_by_column(option, texts, read)


def _point(option: str, texts: Sequence[str]) -> Any:
    """Return a point from `x=1 y=2`, from `1 2` or from `1,2`."""
    parts = [part for text in texts for part in ([text] if "=" in text else text.split(","))]
    return values_by_column(option, parts, _number)


def _columns_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of one value per column, by name or by position."""
    return {"anyOf": [{"type": "object", "additionalProperties": schema}, {"type": "array", "items": schema}]}


_NUMBER_SCHEMA = {"type": "number"}
_LABELS_SCHEMA = {"type": "array", "items": {"type": ["string", "number", "boolean"]}}
_PAIR_SCHEMA = {"type": "array", "items": _NUMBER_SCHEMA, "minItems": 2, "maxItems": 2}
_COLUMN_SCHEMA = {
    "anyOf": [
        {
            "type": "object",
            "properties": {"number": _PAIR_SCHEMA, "step": _NUMBER_SCHEMA},
            "required": ["number"],
            "additionalProperties": False,
        },
        {
            "type": "object",
            "properties": {"category": _LABELS_SCHEMA},
            "required": ["category"],
            "additionalProperties": False,
        },
        {"const": "flag"},
    ]
}

NUMBER = ValueType(_NUMBER_SCHEMA, float)
INTEGER = ValueType({"type": "integer"}, int)
TEXT = ValueType({"type": "string"}, str)
BOOLEAN = ValueType({"type": "boolean"}, bool)
INTERVALS = ValueType(_columns_schema(_PAIR_SCHEMA), list[str], "NAME=LOW:HIGH", _by_column(_pair), separator=":")
NUMBERS = ValueType(_columns_schema(_NUMBER_SCHEMA), list[str], "NAME=NUMBER", _by_column(_number))
POINT = ValueType(_columns_schema(_NUMBER_SCHEMA), list[str], "NAME=NUMBER", _point)
LABELS = ValueType(_columns_schema(_LABELS_SCHEMA), list[str], "NAME=A,B", _by_column(split_labels))
ALPHABETS = ValueType(_columns_schema({"anyOf": [{"type": "string"}, _LABELS_SCHEMA]}), list[str])
COLUMN_TYPES = ValueType(_columns_schema(_COLUMN_SCHEMA), list[str])
NAMES = ValueType({"type": "array", "items": {"type": "string"}}, list[str], "NAME")
OBJECTS = ValueType({"type": "array", "items": {"type": "string"}}, str)  # or, outside HTTP, the path of a file of them
RECORD = ValueType({"type": "object"}, str)  # that milepost itself writes

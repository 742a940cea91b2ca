"""Spaces as the command line and TOML files describe them."""

import csv
import json
import shlex
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from milepost.errors import MilepostError
from milepost.ingest.batches import batches
from milepost.ingest.column_selection import ColumnSelection
from milepost.spaces.angular import Angular
from milepost.spaces.arbitrary import AnyMetric
from milepost.spaces.base import Space
from milepost.spaces.columns import Column, category, flag, number
from milepost.spaces.geographic import GreatCircle
from milepost.spaces.lp import L1, L2, Lp
from milepost.spaces.metrics import edit_distance
from milepost.spaces.mixed import Gower, Hamming
from milepost.spaces.objects import objects_of


def edit(queries: Any, **params: Any) -> AnyMetric:
    """Return a space of text by edit distance. queries: a list of texts, or the path of a file with a column of it."""
    if isinstance(queries, str | Path):
        queries = [text for batch in batches(queries, ColumnSelection(width=1)) for text in objects_of(batch)]
    return AnyMetric(edit_distance, queries=queries, **params)


def gower(columns: Any, weights: Any = None) -> Gower:
    """Return the space of columns such as `age = {number = [18, 90]}`, `plan = {category = ["a"]}`, `pays = "flag"`."""
    if isinstance(columns, Mapping):
        return Gower({name: _column(name, spec) for name, spec in columns.items()}, weights)
    if not isinstance(columns, list):
        raise MilepostError(f"columns must be a table or a list, got {columns!r}")
    return Gower([_column(str(index), spec) for index, spec in enumerate(columns)], weights)


def gower_of_options(
    number: Any = (), category: Any = (), flag: Sequence[str] = (), step: Any = (), weights: Any = None
) -> Gower:
    """Return a mixed space from options, where columns come by kind: numbers, then categories, then flags."""
    for option, value in (("number", number), ("category", category), ("step", step)):
        if value and not isinstance(value, Mapping):
            raise MilepostError(f"--{option} must name its column, such as {EXAMPLES[option][0]}")
    names = [*number, *category, *flag]
    for name in (*names, *step):
        if names.count(name) > 1:
            raise MilepostError(f"the column {name!r} is named twice")
        if name in step and name not in number:
            raise MilepostError(f"--step names {name!r}, which is no --number")
    steps = {name: {"step": step[name]} for name in step}
    columns: dict[str, Any] = {name: {"number": pair} | steps.get(name, {}) for name, pair in dict(number).items()}
    columns |= {name: {"category": labels} for name, labels in dict(category).items()}
    return gower(columns | dict.fromkeys(flag, "flag"), weights)


def hamming_of_options(alphabet: str, length: int) -> Hamming:
    """Return the space of sequences over one alphabet: letters, or labels with commas between."""
    if not length > 0:
        raise MilepostError(f"--length must be a whole number of at least 1, got {length}")
    return Hamming([split_labels("--alphabet", alphabet) if "," in alphabet else alphabet] * length)


def _column(name: str, spec: Any) -> Column:
    """Return one column of a mixed table."""
    if spec == "flag":
        return flag()
    params = dict(spec) if isinstance(spec, Mapping) else {}
    if params.keys() == {"category"}:
        return category(params["category"])
    pair = params.get("number")
    if isinstance(pair, list | tuple) and len(pair) == 2 and params.keys() <= {"number", "step"}:
        return number(*pair, step=params.get("step"))
    raise MilepostError(
        f'column {name!r} must be {{number = [low, high]}}, {{category = ["a", "b"]}} or "flag", got {spec!r}'
    )


@dataclass(frozen=True)
class SpaceSpec:
    """The parameters that may describe a space, and groups of them of which one each is required."""

    make: Callable[..., Space]
    params: tuple[str, ...]
    required: tuple[tuple[str, ...], ...]


SPACES = {
    "l1": SpaceSpec(L1, ("bounds", "weights", "step", "distance_unit", "bounds_provenance"), (("bounds",),)),
    "l2": SpaceSpec(
        L2,
        ("bounds", "center", "radius", "directions", "distortion", "clip", "distance_unit", "bounds_provenance"),
        (("bounds", "center"),),
    ),
    "lp": SpaceSpec(
        Lp,
        ("p", "bounds", "directions", "distortion", "clip", "distance_unit", "bounds_provenance"),
        (("bounds",), ("p",)),
    ),
    "great-circle": SpaceSpec(GreatCircle, ("center", "radius_km", "directions"), (("center",), ("radius_km",))),
    "angular": SpaceSpec(Angular, ("dim", "directions", "columns"), (("dim",),)),
    "gower": SpaceSpec(gower, ("columns", "weights"), (("columns",),)),
    "hamming": SpaceSpec(Hamming, ("alphabets",), (("alphabets",),)),
    "edit": SpaceSpec(edit, ("queries", "diameter", "repetitions", "calibrate"), (("queries",), ("diameter",))),
}
OPTIONS = SPACES | {  # where the command line has other parameters than a file
    "gower": SpaceSpec(
        gower_of_options, ("number", "category", "flag", "step", "weights"), (("number", "category", "flag"),)
    ),
    "hamming": SpaceSpec(hamming_of_options, ("alphabet", "length"), (("alphabet",), ("length",))),
}
FILE_ONLY = ("bounds_provenance",)  # a record that milepost writes
OPTION_NAMES: dict[str, str] = {}
EXAMPLES = {
    "bounds": ("--bounds age=18:90, once a column", "age = [18, 90] under [bounds]"),
    "center": ("--center 52.5,13.4", "center = [52.5, 13.4]"),
    "radius_km": ("--radius-km 40", "radius_km = 40"),
    "dim": ("--dim 64", "dim = 64"),
    "p": ("--p 1.5", "p = 1.5"),
    "queries": ("--queries words.csv", 'queries = ["colour", "centre"]'),
    "diameter": ("--diameter 12", "diameter = 12"),
    "columns": ("", "age = {number = [18, 90]} under [columns]"),
    "number": ("--number age=18:90, or --category plan=a,b or --flag member, once a column", ""),
    "category": ("--category plan=a,b", ""),
    "step": ("--step age=1", ""),
    "alphabets": ("", 'alphabets = ["ACGT", "ACGT"]'),
    "alphabet": ("--alphabet ACGT", ""),
    "length": ("--length 8", ""),
}


def space_from_options(kind: str, options: Mapping[str, Any], queries: Path | None = None) -> Space:
    """Return the space of `--space l1 --bounds age=18:90 --weights age=2`, or of `--space file.toml`.

    options: the values of the options, by name; empty ones count as not given. queries: the file of `--queries`, for a
    space of objects.

    >>> space_from_options("l1", {"bounds": ["age=18:90", "visits=0:40"]}).diameter
    112.0
    """
    values = {name: value for name, value in options.items() if value not in (None, (), [])}
    if Path(kind).suffix.lower() == ".toml":
        if values:
            raise MilepostError(
                f"{_display_name(next(iter(values)), '--')} belongs in {kind}, as the space comes from that file"
            )
        return read_space(Path(kind))
    if "center" in values:  # 52.5,13.4 as well as 52.5 and 13.4
        values["center"] = [part for text in values["center"] for part in ([text] if "=" in text else text.split(","))]
    readers: dict[str, Callable[[str, str], Any]] = {
        "bounds": _pair,
        "number": _pair,
        "category": split_labels,
        "weights": _number,
        "step": _number,
        "center": _number,
    }
    params = {
        name: _by_name(_display_name(name, "--"), value, readers[name]) if name in readers else value
        for name, value in values.items()
    }
    if queries is not None and kind in SPACES and "queries" in SPACES[kind].params:
        params["queries"] = queries
    return _build(kind, params, "--")


def read_space(path: Path) -> Space:
    """Return the space of a TOML file: `space = "l1"`, a table or list `bounds`, and the space's other parameters."""
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
    params = dict(spec)
    kind = params.pop("space", None)
    if not isinstance(kind, str):
        raise MilepostError(f'{name} must name its space, such as space = "l1"')
    return _build(kind, params, "")


def options_of(space: L1 | L2) -> str:
    """Return a box as command-line options, which leave out how its bounds were found.

    >>> options_of(L1({"age": (16, 92.5)}))
    '--space l1 --bounds age=16:92.5'
    """
    names = [""] * space.width if space.columns is None else [f"{name}=" for name in space.columns]
    pairs = [f"{name}{low:.17g}:{high:.17g}" for name, (low, high) in zip(names, space.extent, strict=True)]
    return f"--space {space.to_json()['kind']} " + " ".join(f"--bounds {shlex.quote(pair)}" for pair in pairs)


def toml_of(space: L1 | L2) -> str:
    """Return the bounds of a box, and how they were found, as the TOML that `read_space` reads."""
    card = space.to_json()
    lines = [f"space = {_quoted(card['kind'])}"]
    if space.columns is None:
        lines += [f"bounds = {card['bounds']}"]
    else:
        lines += ["", "[bounds]", *(f"{_quoted(name)} = {pair}" for name, pair in card["bounds"].items())]
    if space.bounds_provenance is not None:
        lines += ["", "[bounds_provenance]"]
        lines += [
            f"{k} = {_quoted(v) if isinstance(v, str) else v}" for k, v in space.bounds_provenance.to_json().items()
        ]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """Return a TOML string: as in JSON, but for one character that TOML escapes."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _build(kind: str, params: dict[str, Any], dashes: str) -> Space:
    """Return the space; refuse unknown and missing parameters. dashes: "--" on the command line, else empty."""
    if kind not in SPACES:
        raise MilepostError(f"unknown space {kind!r}; choose from {', '.join(SPACES)}, or give a file.toml")
    spec = OPTIONS[kind] if dashes else SPACES[kind]
    unknown = [name for name in params if name not in spec.params]
    if unknown:
        allowed = [name for name in spec.params if not (dashes and name in FILE_ONLY)]
        names = ", ".join(_display_name(name, dashes) for name in allowed)
        raise MilepostError(f"space {kind} has no {_display_name(unknown[0], dashes)}; it may have {names}")
    for group in spec.required:
        if not any(name in params for name in group):
            example = EXAMPLES[group[0]][0 if dashes else 1]
            raise MilepostError(f"space {kind} needs {_display_name(group[0], dashes)}, such as {example}")
    return spec.make(**params)


def _display_name(name: str, dashes: str) -> str:
    return f"{dashes}{OPTION_NAMES.get(name, name).replace('_', '-')}" if dashes else name


def _by_name(option: str, texts: Sequence[str], read: Callable[[str, str], Any]) -> Any:
    """Return `name=value` texts as a dict, or bare values as a list."""
    pairs = [text.rpartition("=")[::2] for text in texts]
    names = [name for name, _ in pairs]
    values = [read(option, text) for _, text in pairs]
    if not any(names):
        return values
    if not all(names):
        raise MilepostError(f"{option} must give a name to every column or to none, got {' '.join(texts)}")
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise MilepostError(f"{option} names the column {repeated!r} twice")
    return dict(zip(names, values, strict=True))


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
        raise MilepostError(f"{option} must give labels with commas between, such as a,b, got {text!r}")
    return labels

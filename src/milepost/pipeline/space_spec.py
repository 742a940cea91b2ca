"""Words: a space as the command line and TOML files spell it."""

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
from milepost.spaces.angular import Angular
from milepost.spaces.arbitrary import AnyMetric
from milepost.spaces.base import Space
from milepost.spaces.columns import Column, category, flag, number
from milepost.spaces.geographic import GreatCircle
from milepost.spaces.lp import L1, L2, Lp
from milepost.spaces.metrics import edit_distance
from milepost.spaces.mixed import Gower, Hamming
from milepost.spaces.objects import objects_of


def edit(queries: Any, **words: Any) -> AnyMetric:
    """Text by edit distance, asked about at some words: a list, or the path of a file with a column of them."""
    if isinstance(queries, str | Path):
        queries = [word for batch in batches(queries, objects=True) for word in objects_of(batch)]
    return AnyMetric(edit_distance, queries=queries, **words)


def gower(columns: Any, weights: Any = None) -> Gower:
    """A mixed table as a file spells it: `age = {number = [18, 90]}`, `plan = {category = ["a"]}`, `pays = "flag"`."""
    if isinstance(columns, Mapping):
        return Gower({name: _column(name, words) for name, words in columns.items()}, weights)
    if not isinstance(columns, list):
        raise MilepostError(f"columns must be a table or a list, got {columns!r}")
    return Gower([_column(str(place), words) for place, words in enumerate(columns)], weights)


def gower_of_options(
    number: Any = (), category: Any = (), flag: Sequence[str] = (), step: Any = (), weights: Any = None
) -> Gower:
    """The same from the command line, where columns come by kind: numbers, then categories, then flags."""
    for option, given in (("number", number), ("category", category), ("step", step)):
        if given and not isinstance(given, Mapping):
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


def hamming_of_options(alphabet: str, places: int) -> Hamming:
    """Sequences over one alphabet, letters or labels with commas between, which is the same at every place."""
    if not places > 0:
        raise MilepostError(f"--places must be a whole number of at least 1, got {places}")
    return Hamming([split_labels("--alphabet", alphabet) if "," in alphabet else alphabet] * places)


def _column(name: str, words: Any) -> Column:
    """One column of a mixed table."""
    if words == "flag":
        return flag()
    given = dict(words) if isinstance(words, Mapping) else {}
    if given.keys() == {"category"}:
        return category(given["category"])
    pair = given.get("number")
    if isinstance(pair, list | tuple) and len(pair) == 2 and given.keys() <= {"number", "step"}:
        return number(*pair, step=given.get("step"))
    raise MilepostError(
        f'column {name!r} must be {{number = [low, high]}}, {{category = ["a", "b"]}} or "flag", got {words!r}'
    )


@dataclass(frozen=True)
class SpaceSpec:
    """The words that may describe a space, and those of which each group needs one."""

    make: Callable[..., Space]
    params: tuple[str, ...]
    needed: tuple[tuple[str, ...], ...]


SPACES = {
    "l1": SpaceSpec(L1, ("bounds", "weights", "step", "unit", "found"), (("bounds",),)),
    "l2": SpaceSpec(
        L2,
        ("bounds", "center", "radius", "directions", "distortion", "clip", "unit", "found"),
        (("bounds", "center"),),
    ),
    "lp": SpaceSpec(Lp, ("p", "bounds", "directions", "distortion", "clip", "unit", "found"), (("bounds",), ("p",))),
    "great-circle": SpaceSpec(GreatCircle, ("center", "radius_km", "directions"), (("center",), ("radius_km",))),
    "angular": SpaceSpec(Angular, ("dim", "directions", "columns"), (("dim",),)),
    "gower": SpaceSpec(gower, ("columns", "weights"), (("columns",),)),
    "hamming": SpaceSpec(Hamming, ("alphabets",), (("alphabets",),)),
    "edit": SpaceSpec(edit, ("queries", "diameter", "repetitions", "calibrate"), (("queries",), ("diameter",))),
}
OPTIONS = SPACES | {  # where the command line has other words than a file
    "gower": SpaceSpec(
        gower_of_options, ("number", "category", "flag", "step", "weights"), (("number", "category", "flag"),)
    ),
    "hamming": SpaceSpec(hamming_of_options, ("alphabet", "places"), (("alphabet",), ("places",))),
}
FILE_ONLY = ("found",)  # a record, which is written rather than given
SPELLED = {"unit": "distance-unit", "weights": "distance-weights"}  # rows of a table have a unit and weights, too
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
    "places": ("--places 8", ""),
}


def space_from_options(kind: str, words: Mapping[str, Any], queries: Path | None = None) -> Space:
    """The space of `--space l1 --bounds age=18:90 --distance-weights age=2`, or of `--space file.toml`.

    words: the options as given, by name; empty ones count as not given. queries: the file of `--queries`, of which a
    space of objects is made.

    >>> space_from_options("l1", {"bounds": ["age=18:90", "visits=0:40"]}).diameter
    112.0
    """
    given = {word: value for word, value in words.items() if value not in (None, (), [])}
    if Path(kind).suffix.lower() == ".toml":
        if given:
            raise MilepostError(
                f"{_spelled(next(iter(given)), '--')} belongs in {kind}, as the space comes from that file"
            )
        return read_space(Path(kind))
    if "center" in given:  # 52.5,13.4 as well as 52.5 and 13.4
        given["center"] = [part for text in given["center"] for part in ([text] if "=" in text else text.split(","))]
    readers: dict[str, Callable[[str, str], Any]] = {
        "bounds": _pair,
        "number": _pair,
        "category": split_labels,
        "weights": _number,
        "step": _number,
        "center": _number,
    }
    read = {
        word: _by_name(_spelled(word, "--"), value, readers[word]) if word in readers else value
        for word, value in given.items()
    }
    if queries is not None and kind in SPACES and "queries" in SPACES[kind].params:
        read["queries"] = queries
    return _build(kind, read, "--")


def read_space(path: Path) -> Space:
    """The space of a TOML file: `space = "l1"`, a table or list `bounds`, and the space's other words."""
    try:
        words = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise MilepostError(f"there is no file {path}") from None
    except OSError as error:
        raise MilepostError(f"{path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise MilepostError(f"{path} is not a TOML file: {error}") from None
    return space_from_spec(words, str(path))


def space_from_spec(words: Mapping[str, Any], whose: str = "a space") -> Space:
    """The space of such words, as a TOML file or a JSON object holds them; whose: what errors call it.

    >>> space_from_spec({"space": "l1", "bounds": {"age": [18, 90]}}).diameter
    72.0
    """
    rest = dict(words)
    kind = rest.pop("space", None)
    if not isinstance(kind, str):
        raise MilepostError(f'{whose} must name its space, such as space = "l1"')
    return _build(kind, rest, "")


def options_of(space: L1 | L2) -> str:
    """A box as the command line spells it; the record of how its bounds were found is not among the options.

    >>> options_of(L1({"age": (16, 92.5)}))
    '--space l1 --bounds age=16:92.5'
    """
    names = [""] * space.width if space.columns is None else [f"{name}=" for name in space.columns]
    pairs = [f"{name}{low:.17g}:{high:.17g}" for name, (low, high) in zip(names, space.extent, strict=True)]
    return f"--space {space.to_json()['kind']} " + " ".join(f"--bounds {shlex.quote(pair)}" for pair in pairs)


def toml_of(space: L1 | L2) -> str:
    """The bounds of a box, and how they were found, as `read_space` reads them."""
    card = space.to_json()
    lines = [f"space = {_quoted(card['kind'])}"]
    if space.columns is None:
        lines += [f"bounds = {card['bounds']}"]
    else:
        lines += ["", "[bounds]", *(f"{_quoted(name)} = {pair}" for name, pair in card["bounds"].items())]
    if space.found is not None:
        lines += ["", "[found]"]
        lines += [f"{k} = {_quoted(v) if isinstance(v, str) else v}" for k, v in space.found.to_json().items()]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """A TOML string: JSON's, but for one character that TOML wants escaped."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _build(kind: str, words: dict[str, Any], dashes: str) -> Space:
    """The space, once its words are known to fit; dashes: how the user wrote them."""
    if kind not in SPACES:
        raise MilepostError(f"unknown space {kind!r}; choose from {', '.join(SPACES)}, or give a file.toml")
    vocabulary = OPTIONS[kind] if dashes else SPACES[kind]
    unknown = [word for word in words if word not in vocabulary.params]
    if unknown:
        words_known = [word for word in vocabulary.params if not (dashes and word in FILE_ONLY)]
        known = ", ".join(_spelled(word, dashes) for word in words_known)
        raise MilepostError(f"space {kind} has no {_spelled(unknown[0], dashes)}; it may have {known}")
    for group in vocabulary.needed:
        if not any(word in words for word in group):
            example = EXAMPLES[group[0]][0 if dashes else 1]
            raise MilepostError(f"space {kind} needs {_spelled(group[0], dashes)}, such as {example}")
    return vocabulary.make(**words)


def _spelled(word: str, dashes: str) -> str:
    return f"{dashes}{SPELLED.get(word, word).replace('_', '-')}" if dashes else word


def _by_name(option: str, texts: Sequence[str], value: Any) -> Any:
    """`name=value` texts as a dict, or bare values as a list."""
    named = [text.rpartition("=")[::2] for text in texts]
    names = [name for name, _ in named]
    values = [value(option, text) for _, text in named]
    if not any(names):
        return values
    if not all(names):
        raise MilepostError(f"{option} must give a name to every column or to none, got {' '.join(texts)}")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise MilepostError(f"{option} names the column {twice!r} twice")
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
    """Labels with commas between; one that has a comma itself stands in quotes, as in a CSV file.

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

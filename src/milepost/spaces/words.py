"""Words: a space as the command line and TOML files spell it."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from milepost.errors import MilepostError
from milepost.spaces import KINDS, Space

WORDS = {"l1": ("bounds", "weights", "step"), "l2": ("bounds", "center", "radius", "directions", "clip")}
WORDS["lp"] = ("p", "bounds", "directions", "clip")


def space_from_options(kind: str, words: Mapping[str, Any]) -> Space:
    """The space of `--space l1 --bounds age=18:90 --weights age=2`, or of `--space file.toml`.

    words: the options as given, by name; empty ones count as not given.

    >>> space_from_options("l1", {"bounds": ["age=18:90", "visits=0:40"]}).diameter
    112.0
    """
    given = {word: value for word, value in words.items() if value not in (None, (), [])}
    if Path(kind).suffix.lower() == ".toml":
        if given:
            raise MilepostError(f"--{next(iter(given))} belongs in {kind}, as the space comes from that file")
        return read_space(Path(kind))
    readers = {"bounds": _pair, "weights": _number, "step": _number, "center": _number}
    return _build(
        kind,
        {
            word: _by_name(f"--{word}", value, readers[word]) if word in readers else value
            for word, value in given.items()
        },
        "--",
    )


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
    kind = words.pop("space", None)
    if not isinstance(kind, str):
        raise MilepostError(f'{path} must name its space, such as space = "l1"')
    return _build(kind, words, "")


def _build(kind: str, words: dict[str, Any], dashes: str) -> Space:
    """The space, once its words are known to fit; dashes: how the user wrote them."""
    if kind not in KINDS:
        raise MilepostError(f"unknown space {kind!r}; choose from {', '.join(KINDS)}, or give a file.toml")
    fitting = WORDS[kind]
    unknown = [word for word in words if word not in fitting]
    if unknown:
        known = ", ".join(f"{dashes}{word}" for word in fitting)
        raise MilepostError(f"space {kind} has no {dashes}{unknown[0]}; it may have {known}")
    if "bounds" not in words and "center" not in words:
        example = "--bounds age=18:90" if dashes else "age = [18, 90] under [bounds]"
        raise MilepostError(f"space {kind} needs {dashes}bounds for every column, such as {example}")
    if kind == "lp" and "p" not in words:
        raise MilepostError(f"space lp needs {dashes}p between 1 and 2")
    return KINDS[kind](**words)


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

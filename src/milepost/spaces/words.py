"""Words: a space as the command line and TOML files spell it."""

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from milepost.errors import MilepostError
from milepost.spaces import KINDS, Space

WORDS = ("bounds", "weights", "step")


def space_from_options(
    kind: str, bounds: Sequence[str] = (), weights: Sequence[str] = (), step: Sequence[str] = ()
) -> Space:
    """The space of `--space l1 --bounds age=18:90 --weights age=2`, or of `--space file.toml`.

    >>> space_from_options("l1", ["age=18:90", "visits=0:40"]).diameter
    112.0
    """
    if Path(kind).suffix.lower() == ".toml":
        if bounds or weights or step:
            raise MilepostError(f"--bounds, --weights and --step belong in {kind}, as the space comes from that file")
        return read_space(Path(kind))
    if not bounds and kind in KINDS:
        raise MilepostError(f"--space {kind} needs --bounds for every column, such as --bounds age=18:90")
    words = {"bounds": _by_name("--bounds", bounds, _pair)}
    for word, texts in (("weights", weights), ("step", step)):
        if texts:
            words[word] = _by_name(f"--{word}", texts, _number)
    return _build(kind, words)


def read_space(path: Path) -> Space:
    """The space of a TOML file: `space = "l1"`, a table or list `bounds`, and perhaps `weights` and `step`."""
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
    unknown = [word for word in words if word not in WORDS]
    if unknown:
        raise MilepostError(f"{path} has the unknown word {unknown[0]!r}; it may have space, {', '.join(WORDS)}")
    if "bounds" not in words:
        raise MilepostError(f"{path} needs bounds for every column, such as age = [18, 90] under [bounds]")
    return _build(kind, words)


def _build(kind: str, words: dict[str, Any]) -> Space:
    if kind not in KINDS:
        raise MilepostError(f"unknown space {kind!r}; choose from {', '.join(KINDS)}, or give a file.toml")
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

"""Print the public interface: the signature of every public name, and of the public members of its classes.

`python -m tools.public_api` prints it; `--write` stores it in `tests/project/public_api.txt`, which a test compares.
"""

import enum
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import milepost as mp
from milepost import errors

SNAPSHOT = Path(__file__).parents[1] / "tests" / "project" / "public_api.txt"
DOORS = ("sklearn", "spark", "testing")  # public modules, each with names of its own


def public_api() -> list[str]:
    """Return one line per public name, and an indented one per public member of a class."""
    lines: list[str] = []
    for module in (mp, *(getattr(mp, door) for door in DOORS)):
        for name in sorted(module.__all__):
            lines += _lines(f"{module.__name__}.{name}", getattr(module, name))
    return lines


def _lines(path: str, value: Any) -> Iterator[str]:
    """Yield the lines of a function, or of a class and its members."""
    if not isinstance(value, type):
        yield f"{path}{_signature(value)}" if callable(value) else f"{path}: {type(value).__name__}"
        return
    bases = ", ".join(base.__name__ for base in value.__bases__ if base is not object and base.__name__ != "Generic")
    constructor = "" if issubclass(value, Exception | enum.Enum) else _signature(value)
    yield f"class {path}{constructor}" + f" < {bases}" * bool(bases)
    for name in sorted(_members(value)):
        member = inspect.getattr_static(value, name, None)
        if isinstance(member, staticmethod | classmethod):
            yield f"    {name}{_signature(getattr(value, name))}"
        elif inspect.isfunction(member):
            yield f"    {name}{_signature(member)}"
        else:
            yield f"    {name}"


def _members(value: type) -> set[str]:
    """Return the names of public members that this package defines, fields of dataclasses included."""
    result: set[str] = set()
    for base in value.__mro__:
        if base.__module__.split(".")[0] == mp.__name__ and base.__module__ != errors.__name__:
            result |= {name for name in (*vars(base), *inspect.get_annotations(base)) if not name.startswith("_")}
    return result


def _signature(value: Any) -> str:
    """Return names, order, kinds and defaults of the parameters; types print differently from Python to Python."""
    try:
        signature = inspect.signature(value)
    except ValueError:  # of a class without a constructor in Python
        return "(…)"
    parameters = [
        parameter.replace(annotation=parameter.empty, default=_default(parameter.default))
        for parameter in signature.parameters.values()
    ]
    return str(signature.replace(parameters=parameters, return_annotation=signature.empty))


def _default(value: Any) -> Any:
    """Return a default that prints the same in every process."""
    named = isinstance(value, type) or inspect.isfunction(value)
    return _Name(value.__name__) if named and value is not inspect.Parameter.empty else value


class _Name(str):
    """A text that prints without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def main() -> None:
    """Print the interface, or store it."""
    text = "\n".join(public_api()) + "\n"
    if sys.argv[1:] == ["--write"]:
        SNAPSHOT.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()

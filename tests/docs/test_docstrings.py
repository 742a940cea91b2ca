"""Public names have numpydoc docstrings: a summary, every parameter, and an example that runs.

`tests/docs/test_doctests.py` runs the examples.
"""

import dataclasses
import doctest
import inspect
import re
from collections.abc import Iterator
from typing import Any

import pytest

import milepost
import milepost.sklearn
import milepost.spark
import milepost.testing

SECTION = re.compile(r"^([A-Z][A-Za-z ]+)\n-{3,}$", re.MULTILINE)


def public_names() -> Iterator[tuple[str, Any]]:
    """Yield the public functions and classes with their names."""
    for module in (milepost, milepost.sklearn, milepost.spark, milepost.testing):
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isfunction(value) or inspect.isclass(value):
                yield f"{module.__name__}.{name}", value


def sections(text: str) -> dict[str, str]:
    """Return the numpydoc sections of a docstring."""
    parts = SECTION.split(text)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def documented_names(section: str) -> list[str]:
    """Return the names that a section such as Parameters describes; one line may describe several."""
    lines = [line for line in section.splitlines() if line.strip() and not line.startswith(" ")]
    return [name.strip().lstrip("*") for line in lines for name in line.partition(" : ")[0].split(",")]


def parameters(value: Any) -> list[str]:
    """Return the names of a function's or a constructor's parameters; an exception has none."""
    if inspect.isclass(value) and issubclass(value, BaseException):
        return []
    return [name for name in inspect.signature(value).parameters if name not in {"self", "cls"}]


def attributes(cls: type) -> set[str]:
    """Return the names that an Attributes section may describe."""
    fields = {field.name for field in dataclasses.fields(cls)} if dataclasses.is_dataclass(cls) else set()
    annotated = {name for base in cls.__mro__ for name in inspect.get_annotations(base)}
    return fields | annotated | {name for name in dir(cls) if not name.startswith("_")}


def problems(value: Any) -> list[str]:
    """Return what a docstring lacks."""
    text = inspect.cleandoc(value.__doc__ or "")
    summary, by_name = text.partition("\n")[0], sections(text)
    messages = []
    if not re.match(r"[A-Z]", summary) or not summary.endswith("."):
        messages.append("the first line is a sentence: a capital letter, a period")
    if "Attributes" in by_name and set(documented_names(by_name["Attributes"])) - attributes(value):
        messages.append("Attributes names what the class does not have")
    described = documented_names(by_name.get("Parameters", ""))
    if described != parameters(value) and ("Parameters" in by_name or not _needs_no_parameters(value, by_name)):
        messages.append(f"Parameters describes {described}, the signature has {parameters(value)}")
    if not doctest.DocTestParser().get_examples(by_name.get("Examples", "")):
        messages.append("Examples has no doctest")
    return messages


def _needs_no_parameters(value: Any, by_name: dict[str, str]) -> bool:
    """Whether a class inherits its constructor, or is a result whose Attributes are described instead."""
    return inspect.isclass(value) and ("Attributes" in by_name or "__init__" not in vars(value))


@pytest.mark.parametrize(("name", "value"), [pytest.param(*pair, id=pair[0]) for pair in public_names()])
def test_a_public_name_has_a_numpydoc_docstring(name: str, value: Any) -> None:
    assert problems(value) == [], name


class TestProblems:
    """Each kind of mistake is found."""

    @staticmethod
    def good(size: int, *rest: int, **options: int) -> int:
        """Return the size.

        Parameters
        ----------
        size : int
            How large: it is returned.
        *rest, **options
            More, which count one each.

        Examples
        --------
        >>> TestProblems.good(1)
        1
        """
        return size + len(rest) + len(options)

    def test_a_complete_docstring_has_none(self) -> None:
        assert problems(self.good) == []

    @pytest.mark.parametrize(
        ("old", "new", "complaint"),
        [
            ("Return the size.", "return the size.", "a capital letter"),
            ("Return the size.", "Return the size", "a period"),
            ("size : int", "length : int", "Parameters describes"),
            ("*rest, **options", "**options", "Parameters describes"),
            ("Parameters\n        ----------", "Arguments\n        ---------", "Parameters describes"),
            (">>> ", "", "no doctest"),
            ("Examples\n        --------", "", "no doctest"),
        ],
    )
    def test_a_defect_is_noticed(self, old: str, new: str, complaint: str) -> None:
        def changed(size: int, *rest: int, **options: int) -> int:
            return self.good(size, *rest, **options)

        assert self.good.__doc__
        assert old in self.good.__doc__
        changed.__doc__ = self.good.__doc__.replace(old, new)
        assert any(complaint in message for message in problems(changed))

    def test_attributes_must_exist(self) -> None:
        @dataclasses.dataclass
        class Result:
            """A result.

            Attributes
            ----------
            size : int
                How large.

            Examples
            --------
            >>> 1
            1
            """

            size: int

        assert problems(Result) == []
        assert Result.__doc__
        Result.__doc__ = Result.__doc__.replace("size : int", "length : int")
        assert problems(Result) == ["Attributes names what the class does not have"]

"""Docstrings: plain words with Markdown's backticks, as the reStructuredText that autodoc reads."""

import inspect
import re
from collections.abc import Collection
from typing import Any

import milepost

ARRAY = re.compile(r"(~?numpy\.ndarray)\[tuple\[~?typing\.Any, \.\.\.\], ~?numpy\.dtype\[~?[\w.]+\]\]")
CLASS = re.compile(r"<class '[\w.]*?(\w+)'>")


def marked_up(text: str, names: Collection[str] = ()) -> str:
    """A docstring: what says `name: …` of one of these names becomes an item of a list; nothing else is markup.

    >>> print(marked_up("As `release` does. n: how many\\nrows there are.", ["n"]))
    As :py:obj:`release <milepost.release>` does.
    <BLANKLINE>
    - **n**: how many rows there are.
    """
    return "\n\n".join(_block(block, names) for block in re.split(r"\n\s*\n", text.strip("\n")))


def names_of(thing: Any) -> list[str]:
    """Parameters of a function, fields of a class."""
    try:
        found = list(inspect.signature(thing).parameters)
    except (TypeError, ValueError):
        found = []
    return found + (list(inspect.get_annotations(thing)) if inspect.isclass(thing) else [])


def short_signature(signature: str | None) -> str | None:
    """Arrays of any shape are arrays, which the docstring describes; defaults that are no code become some."""
    if signature is None:
        return None
    return CLASS.sub(r"\1", ARRAY.sub(r"\1", signature)).replace("<factory>", "...")


def _block(block: str, names: Collection[str]) -> str:
    if block.startswith(">>> "):
        return block
    if all(line.startswith("    ") for line in block.splitlines()):
        return f"::\n\n{block}"
    joined = " ".join(line.strip() for line in block.splitlines())
    start, items = split_items(joined, names)
    listed = [f"- **{inline(name)}**: {inline(said)}" for name, said in items]
    return "\n\n".join(part for part in (inline(start), "\n".join(listed)) if part)


def split_items(text: str, names: Collection[str]) -> tuple[str, list[tuple[str, str]]]:
    """What a text says before it says `name: …` of some of these names, and what it says of each.

    >>> split_items("A budget. share: how much is spent. left, cap: in words.", ["share", "cap", "left"])
    ('A budget.', [('share', 'how much is spent.'), ('left, cap', 'in words.')])
    """
    known = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
    if not known:
        return text, []
    start, *items = re.split(rf"(?:^|(?<=[.;] ))((?:{known})(?:, (?:{known}))*): ", text)
    return re.sub(";$", ".", start.strip()), [
        (name, said.strip()) for name, said in zip(items[::2], items[1::2], strict=True)
    ]


def inline(text: str) -> str:
    """A line of words: code in backticks, pages of docs as links, and everything else as it is."""
    parts = re.split(r"(`[^`]+`|docs/[\w/-]+\.md)", text)
    result = ""
    for place, part in enumerate(parts):
        if place % 2 == 0:
            result += re.sub(r"([\\*_|])", r"\\\1", part)
            continue
        before, after = parts[place - 1][-1:], parts[place + 1][:1]
        touching = (
            "\\ " if before.strip() else "",
            "\\ " if after.strip() else "",
        )  # lets markup touch what is around it
        result += _marked(part).join(touching)
    return result


def _marked(part: str) -> str:
    """Code, which may be a public name, or a page."""
    if not part.startswith("`"):
        return f":doc:`/{part.removesuffix('.md')}`"
    code = part[1:-1]
    name = code.removeprefix("milepost.")
    return f":py:obj:`{code} <milepost.{name}>`" if name in milepost.__all__ else f"``{code}``"

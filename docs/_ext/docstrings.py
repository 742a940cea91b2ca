"""Prepare docstrings for Sphinx: backticks and links to pages as reStructuredText; napoleon reads their sections."""

import re

import milepost

ARRAY = re.compile(r"(~?numpy\.ndarray)\[tuple\[~?typing\.Any, \.\.\.\], ~?numpy\.dtype\[~?[\w.]+\]\]")
CLASS = re.compile(r"<class '[\w.]*?(\w+)'>")
DOCTEST = re.compile(r"^ *>>> .*(?:\n *\S.*)*", re.MULTILINE)
MARKUP = re.compile(r"((?::[\w:]+:)?(?<!`)`{1,2}[^`]+`{1,2}|docs/[\w/-]+\.md)")


def to_rest(text: str) -> str:
    """Return a docstring as reStructuredText, with its doctests and the layout of its lines unchanged.

    >>> print(to_rest("Return |x| for `n` or ``m`` rows, as `release` does."))
    Return \\|x\\| for ``n`` or ``m`` rows, as :py:obj:`release <milepost.release>` does.
    """
    result, end = "", 0
    for doctest in DOCTEST.finditer(text):
        result += inline(text[end : doctest.start()]) + doctest[0]
        end = doctest.end()
    return result + inline(text[end:])


def inline(text: str) -> str:
    """Return words as reStructuredText: code in backticks, pages of docs as links, everything else as it is."""
    parts = MARKUP.split(text)
    result = ""
    for index, part in enumerate(parts):
        if index % 2 == 0:
            result += re.sub(r"([\\*|]|_(?!\w))", r"\\\1", part)
            continue
        before, after = parts[index - 1][-1:], parts[index + 1][:1]
        # An escaped space lets markup touch the characters around it.
        result += ("\\ " if before.strip() else "") + _role(part) + ("\\ " if after.strip() else "")
    return result


def short_signature(signature: str | None) -> str | None:
    """Shorten the types of arrays, whose shapes the docstring describes, and write defaults as code."""
    if signature is None:
        return None
    return CLASS.sub(r"\1", ARRAY.sub(r"\1", signature)).replace("<factory>", "...")


def _role(part: str) -> str:
    """Return the role for code, which may be a public name, or for a page; leave a role as it is."""
    if part.startswith(":"):
        return part
    if not part.startswith("`"):
        return f":doc:`/{part.removesuffix('.md')}`"
    code = " ".join(part.strip("`").split())
    name = code.removeprefix("milepost.")
    return f":py:obj:`{code} <milepost.{name}>`" if name in milepost.__all__ else f"``{code}``"

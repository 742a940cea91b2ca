"""Extend Sphinx for the site: generated parts of pages, navigation, docstrings and signatures."""

import re
from typing import Any

from sphinx.application import Sphinx

from docs._ext import addresses, commands, contents, docstrings, limits

GENERATED = {
    "commands": commands.markdown,
    "addresses": addresses.markdown,
    "settings": limits.settings,
    "refusals": limits.refusals,
}
MADE = {"Charge", "Plan", "Session", "Space", "Synopsis"}  # results of calls: users construct none of them


def filled(text: str) -> str:
    """Replace the marks of a page, such as `<!-- generated: settings -->`, by what the code gives."""
    return re.sub(r"^<!-- generated: (\w+) -->$", lambda mark: GENERATED[mark[1]](), text, flags=re.MULTILINE)


def _read(_: Sphinx, name: str, source: list[str]) -> None:
    if name.startswith("docs/reference/"):
        source[0] = filled(source[0])
    if name == "docs/index":
        source[0] = contents.with_navigation(source[0])


def _outdated(_: Sphinx, env: Any, *__: Any) -> list[str]:
    """Return pages with generated parts: the code may have changed where their text did not."""
    return [name for name in env.found_docs if "<!-- generated: " in env.doc2path(name).read_text(encoding="utf-8")]


def _docstring(_: Sphinx, what: str, __: str, ___: Any, ____: Any, lines: list[str]) -> None:
    text = docstrings.to_rest("\n".join(lines))
    if what in {"attribute", "property"}:  # napoleon takes the words before a colon in the first line for a type
        text = re.sub(r"^([^\n:]*:) ", r"\1\n", text)
    lines[:] = text.splitlines()


def _signature(
    _: Sphinx, what: str, name: str, __: Any, ___: Any, signature: str | None, back: str | None
) -> tuple[str | None, str | None]:
    if what == "class" and name.rpartition(".")[2] in MADE:
        return "", None
    return docstrings.short_signature(signature), docstrings.short_signature(back)


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the extension, when Sphinx loads it."""
    app.connect("env-get-outdated", _outdated)
    app.connect("source-read", _read)
    app.connect("autodoc-process-docstring", _docstring, priority=400)  # before napoleon, whose priority is 500
    app.connect("autodoc-process-signature", _signature)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

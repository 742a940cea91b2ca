"""The site: what Sphinx is told besides docs/conf.py."""

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
MADE = {"Charge", "Plan", "Session", "Space", "Synopsis"}  # what calls give: nobody makes one by hand


def filled(text: str) -> str:
    """A page with what is generated from the code in place of its marks, `<!-- generated: settings -->`."""
    return re.sub(r"^<!-- generated: (\w+) -->$", lambda mark: GENERATED[mark[1]](), text, flags=re.MULTILINE)


def _read(_: Sphinx, name: str, source: list[str]) -> None:
    if name.startswith("docs/reference/"):
        source[0] = filled(source[0])
    if name == "docs/index":
        source[0] = contents.with_navigation(source[0])


def _outdated(_: Sphinx, env: Any, *__: Any) -> list[str]:
    """Pages whose text did not change, but the code may have."""
    return [name for name in env.found_docs if "<!-- generated: " in env.doc2path(name).read_text(encoding="utf-8")]


def _docstring(_: Sphinx, what: str, __: str, thing: Any, ___: Any, lines: list[str]) -> None:
    if what == "class" or callable(thing):
        lines[:] = docstrings.marked_up("\n".join(lines), docstrings.names_of(thing)).splitlines()
    else:
        lines[:] = docstrings.marked_up("\n".join(lines)).splitlines()


def _signature(
    _: Sphinx, what: str, name: str, __: Any, ___: Any, signature: str | None, back: str | None
) -> tuple[str | None, str | None]:
    if what == "class" and name.rpartition(".")[2] in MADE:
        return "", None
    return docstrings.short_signature(signature), docstrings.short_signature(back)


def setup(app: Sphinx) -> dict[str, Any]:
    """What Sphinx calls."""
    app.connect("env-get-outdated", _outdated)
    app.connect("source-read", _read)
    app.connect("autodoc-process-docstring", _docstring)
    app.connect("autodoc-process-signature", _signature)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

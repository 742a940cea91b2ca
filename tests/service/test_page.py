"""Every refusal of the service has a sentence on the page."""

import re
from importlib.resources import files

from milepost.service import errors

PAGE = files("milepost.service") / "static"


def test_every_code_has_a_sentence() -> None:
    """None is left to the fixed message, which is for programs."""
    text = (PAGE / "api_error.js").read_text()
    table = text.partition("const SENTENCES = {")[2].partition("};")[0]
    codes = set(re.findall(r"^  ([a-z_]+):", table, flags=re.MULTILINE))
    assert codes == set(errors.CODES) | {"network"}


def test_nothing_is_taken_from_elsewhere() -> None:
    """No script, style or picture of another host, and nothing inline, which the policy would refuse."""
    text = (PAGE / "index.html").read_text()
    assert re.findall(r'(?:src|href)="(?!/static/|#)', text) == []
    assert re.findall(r"<script(?![^>]*src=)|<style|\sstyle=|\son[a-z]+=", text) == []


def test_every_library_has_its_licence() -> None:
    table = (PAGE / "vendor" / "README.md").read_text()
    for path in (PAGE / "vendor").iterdir():
        assert f"`{path.name}`" in table or path.name == "README.md"

"""The pages that trust rests on: what they cite exists, what they say of values is so, what they print is printed."""

import ast
import contextlib
import inspect
import io
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import milepost as mp
from milepost.ingest.contribution_bounding import NAME_BYTES, ORDER_KEY_BYTES, SHORT_ID_BYTES
from milepost.mechanisms.query.links import MAX_QUERIES
from milepost.mechanisms.query.mesh import CORE
from milepost.mechanisms.registry import MECHANISM_NAMES
from milepost.pipeline.release import SIZE_SHARE
from milepost.pipeline.selection import SESSIONS
from milepost.privacy.noise import MAX_SCALE
from milepost.privacy.protected_change import WEIGHT_STEPS
from milepost.service.settings import Settings
from milepost.service.workers import THREADS
from tests import ROOT
from tests.attacks import special_values
from tests.docs.test_paper import collected

DOCS = ROOT / "docs"
PROOFS = sorted((DOCS / "proofs").glob("*.md"))
TRUST = [DOCS / name for name in ("guarantee.md", "attack-model.md", "known-limitations.md", "special-values.md")]
PAGES = [*TRUST, *PROOFS, ROOT / "SECURITY.md"]

CITED = re.compile(r"`(src/[^`]+\.py)`:\s((?:`(?!src/)[^`]+`(?:,\s)?)+)")
PROVED = {  # what has to have a page, by where that is
    "slopes": "slopes",
    "hats": "hats",
    "tangents": "tangents",
    "field": "field",
    "net": "net",
    "basis": "basis",
    "quadtree": "quadtree",
    "gaussian": "per-query",
    "laplace": "per-query",
    "accounting": "gaussian",
    "L1": "slopes",
    "L2": "projections",
    "Lp": "projections",
    "GreatCircle": "sphere",
    "Angular": "sphere",
    "Gower": "tables",
    "Hamming": "tables",
    "AnyMetric": "bourgain",
    "universe": "universe",
    "AboveThreshold": "sparse-vector",
    "release": "composition",
    "session": "composition",
    "ledger": "composition",
    "add-remove": "change",
    "anchor": "anchors",
    "rotation": "rotations",
    "find_bounds": "bounds",
    "ball_share": "ball",
    "model": "model",
    "NearestGroup": "class-means",
    "service": "service",
}


@cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(text_of(path))


def definition_of(module: ast.AST, name: str) -> ast.AST | None:
    """A function, class, method, field or constant of a file, by its name: `scales_of`, `ProtectedChange._split`."""
    scope: ast.AST | None = module
    for part in name.split("."):
        scope = next((node for node in getattr(scope, "body", ()) if part in _names(node)), None)
    return scope


def _names(node: ast.AST) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return {name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}
    return set()


def holds(scope: ast.AST, line: str) -> bool:
    """Whether an expression or a statement stands there, however it is laid out."""
    try:
        (statement,) = ast.parse(line).body
    except (SyntaxError, ValueError):
        return False
    dump = ast.dump(statement.value if isinstance(statement, ast.Expr) else statement)
    return any(ast.dump(node) == dump for node in ast.walk(scope))


def problems(text: str) -> list[str]:
    """What a page cites that is not there."""
    messages = []
    for path, cited in CITED.findall(text):
        if not (ROOT / path).is_file():
            messages.append(f"there is no {path}")
            continue
        scope: ast.AST | None = None
        for item in re.findall(r"`([^`]+)`", cited):
            definition = definition_of(tree(ROOT / path), item) if re.fullmatch(r"[\w.]+", item) else None
            if definition is None and (scope is None or not holds(scope, item)):
                messages.append(f"{path} has no {item}")
            scope = definition or scope
    for path, test in re.findall(r"`(tests/[\w/]+\.py)(?:::([\w:]+))?`", text):
        if not (ROOT / path).is_file() or (test and test not in collected(ROOT / path)):
            messages.append(f"there is no {path}::{test}")
    messages += [f"there is no test {name}" for name in re.findall(r"`(test_\w+)`", text) if name not in all_tests()]
    for path in re.findall(r"`([\w/]+\.py)`", text):
        if not any((ROOT / folder / path).is_file() for folder in ("", "src/milepost")):
            messages.append(f"there is no {path}")
    for module in re.findall(r"`milepost((?:\.[a-z_]+)+)`", text):
        path = (ROOT / "src/milepost").joinpath(*module.strip(".").split("."))
        if not (path.is_dir() or path.with_suffix(".py").is_file()):
            messages.append(f"there is no milepost{module}")
    identifiers = re.findall(r"`(\w*_[a-z]\w*)`", text)  # Prometheus adds _total to what it counts
    messages += [f"nothing is called {name}" for name in identifiers if name.removesuffix("_total") not in all_words()]
    for owner, name in re.findall(r"`([A-Z]\w*[a-z]\w*)\.(\w+)", text):
        if classes(owner) and not has(owner, name):
            messages.append(f"{owner} has no {name}")
    messages += [f"there is no bench {name}" for name in re.findall(r"bench\.(\w+)", text) if not _bench(name)]
    return messages


def _bench(name: str) -> bool:
    return any((ROOT / "bench" / part).is_file() for part in (f"{name}.py", f"{name}/__main__.py")) or name == "py"


@cache
def all_words() -> frozenset[str]:
    """Of all files of the library and its tests."""
    sources = [path for folder in ("src", "tests") for path in (ROOT / folder).rglob("*.py")]
    return frozenset(word for path in sources for word in re.findall(r"\w+", text_of(path)))


@cache
def classes(name: str) -> list[ast.ClassDef]:
    """Of the library, those that have this name."""
    files = [path for path in (ROOT / "src").rglob("*.py") if f"\nclass {name}" in text_of(path)]
    return [node for path in files for node in tree(path).body if isinstance(node, ast.ClassDef) and node.name == name]


def has(owner: str, name: str) -> bool:
    """Whether a class has a method or a field of this name, or one from which it is made."""
    for node in classes(owner):
        parts = [part for part in ast.walk(node) if isinstance(part, ast.Attribute)]
        attributes = {part.attr for part in parts if isinstance(part.ctx, ast.Store)}
        if definition_of(node, name) is not None or name in attributes:
            return True
        if any(has(base.id, name) for base in node.bases if isinstance(base, ast.Name)):
            return True
    return False


@cache
def all_tests() -> frozenset[str]:
    names_by_file = [
        re.findall(r"^ *def (test_\w+)", text_of(path), re.MULTILINE) for path in (ROOT / "tests").rglob("*.py")
    ]
    return frozenset(name for names in names_by_file for name in names)


def test_what_is_cited_exists() -> None:
    """Files, names and lines of code, and ids of tests."""
    problems_by_page = {page.stem: problems(page.read_text(encoding="utf-8")) for page in PAGES}
    assert {page: messages for page, messages in problems_by_page.items() if messages} == {}


@pytest.mark.parametrize("page", PROOFS, ids=lambda page: page.stem)
def test_every_proof_cites_lines_of_code(page: Path) -> None:
    """At least four, with labels, besides its words."""
    lines = re.findall(r"^- \[[^\]]+\] (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert len(lines) >= 4
    assert all(CITED.search(line) for line in lines)


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        (
            "`src/milepost/privacy/noise.py`",
            "`src/milepost/privacy/gone.py`",
            "there is no src/milepost/privacy/gone.py",
        ),
        ("`ProtectedChange._split`", "`ProtectedChange._gone`", "has no ProtectedChange._gone"),
        ("`exact_fraction(epsilon) ** 2 / 2`", "`exact_fraction(epsilon) ** 2`", ""),
        (
            "`exact_fraction(epsilon) ** 2 / 2`",
            "`exact_fraction(epsilon) ** 2 / 4`",
            "has no exact_fraction(epsilon) ** 2 / 4",
        ),
        ("`self.epochs += 1`", "`self.epochs += 2`", "has no self.epochs += 2"),
        (
            "`tests/privacy/accounting/test_budget.py`",
            "`tests/privacy/test_gone.py`",
            "there is no tests/privacy/test_gone.py",
        ),
    ],
)
def test_a_stale_citation_is_noticed(old: str, new: str, complaint: str) -> None:
    """A file, a name, a line or a test that is not there; a part of a line that is there is no mistake."""
    text = (DOCS / "proofs" / "composition.md").read_text(encoding="utf-8")
    assert old in text
    messages = problems(text.replace(old, new))
    assert any(complaint in message for message in messages) if complaint else not messages


def test_everything_that_spends_has_a_proof() -> None:
    """Mechanisms, spaces and compositions: each has a page that names it, linked from the index."""
    named = {name: getattr(mp, name) for name in mp.__all__}
    spaces = {name for name, cls in named.items() if hasattr(cls, "quantize") and not inspect.isabstract(cls)}
    assert spaces | set(MECHANISM_NAMES) | set(SESSIONS) <= set(PROVED)
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    for name, page in PROVED.items():
        assert f"(proofs/{page}.md)" in index, name
        assert name.lower() in (DOCS / "proofs" / f"{page}.md").read_text(encoding="utf-8").lower(), name
    assert {page.stem for page in PROOFS} == set(PROVED.values())


def test_pages_are_linked() -> None:
    """From the index."""
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    for page in TRUST:
        assert f"({page.name})" in index
    assert "(../SECURITY.md)" in index


FIGURES = {  # what pages say in passing, with the numbers that the code has
    "guarantee.md": [f"{100 * SIZE_SHARE:g} % of ε pay for a noisy number", f"in {WEIGHT_STEPS} steps"],
    "known-limitations.md": [
        f"keeps {NAME_BYTES + ORDER_KEY_BYTES + 16 + 3} bytes a row",  # with a hash, two of a weight, and a mark
        f"Ids of more than {SHORT_ID_BYTES} bytes",
        f"by {8 * SHORT_ID_BYTES} bits of SHA-256",
        f"Up to {CORE:,} queries are linked",
        f"More than {MAX_QUERIES:,} are refused",
        f"`max_body` ({Settings().max_body >> 20} MB)",
        f"; {Settings().max_connections} of them make others wait",
        f"a row counts up to {WEIGHT_STEPS} steps",
    ],
    "proofs/composition.md": [f"noise of scale m/({SIZE_SHARE}·ε)"],
}


def test_figures_are_the_codes() -> None:
    """A constant that changes changes its page."""
    for page, phrases in FIGURES.items():
        text = " ".join(text_of(DOCS / page).split())
        assert [phrase for phrase in phrases if phrase not in text] == []
    assert THREADS == 4  # "Four threads for all"
    assert 2**63 / MAX_SCALE == 256  # "e⁻²⁵⁶"


@pytest.mark.parametrize("page", [DOCS / "guarantee.md", DOCS / "known-limitations.md"], ids=lambda page: page.stem)
def test_examples_print_what_is_shown(page: Path) -> None:
    """Each block of Python is followed by what it prints, to the letter: none of it is noisy."""
    text = page.read_text(encoding="utf-8")
    examples = re.findall(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    assert len(examples) == text.count("```python")
    for code, expected in examples:
        printed, names = io.StringIO(), dict[str, Any]()
        with contextlib.redirect_stdout(printed):
            exec(code, names)  # noqa: S102
        assert printed.getvalue() == expected


TABLES = special_values.tables(special_values.PAGE.read_text(encoding="utf-8"))


@pytest.mark.parametrize(("heading", "column"), special_values.CALLS)
def test_special_values_are_as_the_page_says(heading: str, column: str) -> None:
    """Every cell of every row."""
    assert [fault for row in TABLES[heading] for fault in special_values.faults(heading, row, column)] == []


def test_every_table_of_values_is_complete() -> None:
    """The page has every column that can be tried, and numbers have every special one."""
    columns = {(heading, column) for heading, rows in TABLES.items() for column in [*rows[0]][1:]}
    assert columns == set(special_values.CALLS)
    for heading in ("Private numbers", "Queries that are numbers"):
        values = {row["value"].strip("`") for row in TABLES[heading]}
        assert values >= {"nan", "inf", "-inf", "-0.0", "5e-324", "None", "''"}


@pytest.mark.parametrize(
    ("heading", "row"),
    [
        ("Private numbers", {"value": "`inf`", "L1, L2, Lp": "refused"}),
        ("Private numbers", {"value": "`nan`", "Gower": "as 10"}),
        ("Private numbers", {"value": "`-0.0`", "Angular": "as 1"}),
        ("Queries that are numbers", {"value": "`20`", "L1 by slopes": "as 10"}),
        ("Groups, persons and weights", {"value": "`'zzz'`", "groups": "as 'other'", "privacy_unit": "as 1"}),
        ("Small tables", {"table": "`1` row", "find_bounds": "refused"}),
    ],
)
def test_a_wrong_row_is_noticed(heading: str, row: dict[str, str]) -> None:
    """Refused or not, and as what."""
    assert special_values.faults(heading, row)

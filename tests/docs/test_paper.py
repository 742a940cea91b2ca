"""docs/paper.md: every statement has a row, every module and every test it names exists."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests import ROOT

PAGE = ROOT / "docs" / "paper.md"

# the paper's environments in their order; theorems, lemmas and corollaries share one counter
STATEMENTS = (
    [f"Definition {k}" for k in range(1, 7)]
    + [f"Figure {k}" for k in range(1, 4)]
    + ["Theorem 1", "Theorem 2", "Remark 2.1", "Lemma 3", "Lemma 4", "Lemma 5", "Lemma 6"]
    + ["Theorem 7", "Remark 7.1", "Theorem 8", "Remark 8.1", "Remark 8.2", "Lemma 9", "Theorem 10"]
    + ["Theorem 11", "Lemma 12", "Lemma 13", "Corollary 14", "Theorem 15", "Remark 15.1"]
    + ["Conjecture", "Non-convex claim"]
)


def rows(text: str) -> dict[str, list[str]]:
    """The table's rows by statement: what it says, code, test."""
    result: dict[str, list[str]] = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|") or cells[0] == "statement" or set(cells[0]) <= {"-"}:
            continue
        assert len(cells) == 4, f"a row must have 4 cells: {line}"
        assert cells[0] not in result, f"{cells[0]} has two rows"
        result[cells[0]] = cells[1:]
    return result


@cache
def collected(path: Path) -> frozenset[str]:
    """Names of a test file as pytest would collect them: `test_x` and `TestY::test_x`."""
    names = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        inside = [f"{node.name}::{part.name}" for part in functions(node)] if isinstance(node, ast.ClassDef) else []
        names.update(inside)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
    return frozenset(name for name in names if name.split("::")[-1].startswith("test_"))


def functions(node: ast.ClassDef) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [part for part in node.body if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef)]


def problems(text: str) -> list[str]:
    """Everything wrong with a page; empty when it may stand."""
    table = rows(text)
    messages = [f"{name} has no row" for name in STATEMENTS if name not in table]
    messages += [f"{name} is no statement of the paper" for name in table if name not in STATEMENTS]
    for name, (what, code, test) in table.items():
        modules, tests = re.findall(r"`([^`]*)`", code), re.findall(r"`([^`]*)`", test)
        if not what:
            messages.append(f"{name} does not say what it is")
        if not modules:
            messages.append(f"{name} names no code: {code!r}")
        if not tests:
            messages.append(f"{name} names no test: {test!r}")
        messages += [f"{name}: there is no {path}" for path in modules if not (ROOT / path).is_file()]
        for node in tests:
            path, _, function = node.partition("::")
            if not (ROOT / path).is_file() or function not in collected(ROOT / path):
                messages.append(f"{name}: there is no test {node}")
    return messages


def test_every_statement_has_a_row_whose_code_and_tests_exist() -> None:
    """The page is complete and nothing in it is stale."""
    assert problems(PAGE.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("| Lemma 4 |", "| Lemma 44 |", "Lemma 4 has no row"),
        ("src/milepost/sessions/session.py", "src/milepost/gone.py", "there is no src/milepost/gone.py"),
        ("::test_exact_learner_keeps", "::test_nothing_keeps", "there is no test"),
        ("tests/mechanisms/paper/test_game.py::", "tests/mechanisms/test_gone.py::", "there is no test"),
        (
            "| `tests/mechanisms/paper/test_margins.py::test_offline_alpha_takes_no_query_count` |",
            "| later |",
            "names no test",
        ),
        ("| `src/milepost/privacy/guarantee.py` |", "| later |", "names no code"),
    ],
)
def test_a_stale_page_is_noticed(old: str, new: str, complaint: str) -> None:
    """Each kind of mistake is found."""
    text = PAGE.read_text(encoding="utf-8")
    assert old in text
    assert any(complaint in problem for problem in problems(text.replace(old, new)))


def test_methods_of_classes_are_found(tmp_path: Path) -> None:
    """`Class::test` ids are supported, other functions and nested ones are not tests."""
    file = tmp_path / "test_x.py"
    file.write_text(
        "def test_a(): ...\ndef helper(): ...\nclass TestB:\n    def test_c(self): ...\n    def other(self): ...\n"
    )
    assert collected(file) == {"test_a", "TestB::test_c"}

"""The list of mutations fits the source: what it breaks is there, once, and so are the tests that must notice."""

import ast
from pathlib import Path

import pytest

from tests.mutations import Mutation, mutations

ROOT = Path(__file__).parents[1]
CRITICAL = {  # files without which a guarantee would not hold; each has a mutation
    "privacy/noise.py",
    "privacy/guarantee.py",
    "privacy/change.py",
    "privacy/sparse_vector.py",
    "privacy/budget.py",
    "privacy/ledger.py",
    "privacy/account.py",
    "mechanisms/slopes.py",
    "mechanisms/hats.py",
    "mechanisms/field.py",
    "mechanisms/net.py",
    "mechanisms/per_query.py",
    "mechanisms/margins.py",
    "mechanisms/game.py",
    "mechanisms/totals.py",
    "mechanisms/anchors.py",
    "spaces/base.py",
    "spaces/projected.py",
    "spaces/directions.py",
    "spaces/sphere.py",
    "spaces/angular.py",
    "spaces/kernels.py",
    "release.py",
    "bounds.py",
    "sessions/session.py",
    "sessions/store.py",
    "service/desk.py",
    "service/allowance.py",
}


@pytest.mark.parametrize("mutation", mutations(), ids=lambda one: f"{one.file}: {one.what}")
def test_a_mutation_fits_the_source(mutation: Mutation) -> None:
    """The list has to follow the code, or it would try nothing."""
    source = (ROOT / "src" / "milepost" / mutation.file).read_text()
    broken = mutation.applied(source)
    assert ast.dump(ast.parse(broken)) != ast.dump(ast.parse(source))
    named = [argument.split("::")[0] for argument in mutation.arguments if argument.startswith("tests/")]
    assert named
    assert all((ROOT / name).is_file() for name in named)


def test_every_critical_file_is_broken() -> None:
    assert {mutation.file for mutation in mutations()} >= CRITICAL


def test_a_text_that_is_not_there_once_is_refused() -> None:
    with pytest.raises(ValueError, match="2 times"):
        Mutation("a.py", "twice", "x", "y", "tests/test_a.py").applied("x + x")

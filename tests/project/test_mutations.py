"""The list of mutations fits the source: what it breaks is there, once, and so are the tests that must notice."""

import ast
from functools import cache

import pytest

from tests import ROOT
from tests.mutations import Mutation, mutations

CRITICAL = {  # files without which a guarantee would not hold; each has a mutation
    "privacy/noise.py",
    "privacy/guarantee.py",
    "privacy/protected_change.py",
    "privacy/sparse_vector.py",
    "privacy/accounting/budget.py",
    "privacy/accounting/ledger.py",
    "privacy/accounting/account.py",
    "mechanisms/coordinate/slopes.py",
    "mechanisms/coordinate/hats.py",
    "mechanisms/query/field.py",
    "mechanisms/query/net.py",
    "mechanisms/query/basis.py",
    "mechanisms/query/l1_diameter.py",
    "spaces/charts/representative_columns.py",
    "mechanisms/query/per_query.py",
    "mechanisms/paper/margins.py",
    "mechanisms/paper/game.py",
    "mechanisms/totals.py",
    "mechanisms/table_model.py",
    "mechanisms/coordinate/count_origin.py",
    "spaces/embeddings/anchor.py",
    "spaces/embeddings/embedding.py",
    "spaces/embeddings/projected.py",
    "spaces/embeddings/directions.py",
    "spaces/geographic.py",
    "spaces/lp.py",
    "spaces/angular.py",
    "spaces/kernels/kernel.py",
    "statistics/sketch.py",
    "statistics/model_sums.py",
    "pipeline/release.py",
    "pipeline/find_bounds.py",
    "pipeline/private_ball.py",
    "pipeline/private_model.py",
    "sessions/session.py",
    "sessions/store.py",
    "service/sessions.py",
    "service/auth.py",
}


def faults(mutation: Mutation) -> list[str]:
    """Why a mutation would try nothing."""
    source = (ROOT / "src" / "milepost" / mutation.file).read_text()
    try:
        mutant = mutation.applied(source)
    except ValueError as error:
        return [str(error)]
    paths = [argument.split("::")[0] for argument in mutation.arguments if argument.startswith("tests/")]
    missing = [f"there is no {name}" for name in paths if not (ROOT / name).is_file()]
    changed = dump(mutant) != dump(source)
    return [*missing, *["it names no tests"] * (not paths), *["it changes nothing"] * (not changed)]


@cache
def dump(source: str) -> str:
    return ast.dump(ast.parse(source))


def test_mutations_fit_the_source() -> None:
    """The list has to follow the code, or it would try nothing."""
    results = {f"{mutation.file}: {mutation.what}": faults(mutation) for mutation in mutations()}
    assert {name: messages for name, messages in results.items() if messages} == {}
    assert len(results) > 100


def test_a_mutation_that_tries_nothing_is_noticed() -> None:
    for old, new, tests, message in (
        ("import math\n", "import  math\n", "tests/pipeline/test_histogram_ends.py", "changes nothing"),
        ("import math\n", "\n", "tests/test_gone.py", "no tests/test_gone"),
        ("import math\n", "\n", "-k noise", "names no tests"),
        ("nowhere to be found", "", "tests/pipeline/test_histogram_ends.py", "0 times"),
    ):
        (fault,) = faults(Mutation("privacy/noise.py", "it", old, new, tests))
        assert message in fault


def test_every_critical_file_is_broken() -> None:
    assert {mutation.file for mutation in mutations()} >= CRITICAL


def test_a_text_that_is_not_there_once_is_refused() -> None:
    with pytest.raises(ValueError, match="2 times"):
        Mutation("a.py", "twice", "x", "y", "tests/test_a.py").applied("x + x")

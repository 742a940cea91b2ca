"""Noise comes from one module; whatever else is random is public, or a name, and is listed here with its reason."""

import ast

import pytest

from tests import ROOT

SOURCE = ROOT / "src" / "milepost"

NOISE = {"privacy/noise.py": "draws it", "privacy/guarantee.py": "asks OpenDP what a guarantee costs; draws nothing"}
SEEDED = {  # NumPy's generators, each with a public seed
    "demo/clinic.py": "made-up people",
    "service/server.py": "made-up people",
    "mechanisms/coordinate/path_extremes.py": "how far noise goes along a coordinate, from noise of a known law",
    "mechanisms/coordinate/curves.py": "how wide the band of all answers is, from noise of a known law",
    "mechanisms/coordinate/hats.py": "the same",
    "mechanisms/coordinate/slopes.py": "the same",
    "mechanisms/coordinate/categories.py": "the same",
    "mechanisms/coordinate/faber_schauder.py": "the same",
    "answers/energy_distance.py": "p-values of noise of a known law",
    "spaces/geographic.py": "public pairs, to measure distortion",
    "spaces/lp.py": "public points, to measure mean distances to the anchor",
    "spaces/angular.py": "the same",
    "spaces/embeddings/projected.py": "the same",
    "spaces/kernels/reference_measures.py": "public points of a reference measure",
    "spaces/embeddings/bourgain.py": "public sets of queries",
    "spaces/embeddings/directions.py": "public directions",
    "mechanisms/table_model.py": "public draws of a model, and the first centres of its clusters",
}
NAMES = {  # the system's generator, for what must not be guessed or must not meet another
    "storage/atomic_file.py": "names of temporary files",
    "sessions/fingerprint.py": "the key of a store",
    "statistics/row_digest.py": "the key of a digest that lives as long as its table",
    "privacy/accounting/ledger.py": "tokens of charges",
    "service/auth.py": "keys",
    "service/jobs.py": "ids of jobs",
}
FORBIDDEN = {"random", "numpy.random", "scipy.stats", "os.urandom", "uuid.uuid1", "uuid.uuid4"}


def faults(path: str, source: str) -> list[str]:
    """What a file takes that it must not."""
    result, seeded = [], set[ast.AST]()
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _name(node.func) == "np.random.default_rng":
            seeded |= set(ast.walk(node.func))
            if not node.args or path not in SEEDED:
                result.append(f"line {node.lineno}: a generator without a seed, or in a file that has none")
    for node in ast.walk(tree):
        for name in _imported_modules(node):
            if name in FORBIDDEN:
                result.append(f"imports {name}")
            if name == "opendp" and path not in NOISE:
                result.append("imports opendp")
            if name == "secrets" and path not in NAMES:
                result.append("imports secrets")
        if isinstance(node, ast.Attribute) and node not in seeded and _name(node) == "np.random":
            result.append(f"line {node.lineno}: np.random")
        if isinstance(node, ast.Attribute) and (node.attr == "rvs" or _name(node) in FORBIDDEN):
            result.append(f"line {node.lineno}: {node.attr}")
    return result


def _imported_modules(node: ast.AST) -> list[str]:
    """Modules, and names of modules, that an import takes; opendp's parts are opendp."""
    if isinstance(node, ast.Import):
        modules = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and not node.level:
        modules = [str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)]
    else:
        return []
    return ["opendp" if name.split(".")[0] == "opendp" else name for name in modules]


def _name(node: ast.AST) -> str:
    """np.random.default_rng of its tree."""
    if isinstance(node, ast.Attribute):
        return f"{_name(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else "?"


def _without_types(source: str) -> str:
    """`np.random.Generator` names a type, and draws nothing."""
    return source.replace("np.random.Generator", "Generator")


def test_randomness_is_where_it_may_be() -> None:
    """In every file but those of the audit, which draws from known-bad mechanisms, too, and releases nothing."""
    paths = sorted(path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py"))
    faults_by_path = {path: faults(path, _without_types((SOURCE / path).read_text())) for path in paths}
    assert {path: wrong for path, wrong in faults_by_path.items() if wrong and not path.startswith("auditing/")} == {}


@pytest.mark.parametrize(
    "source",
    [
        "import random",
        "from random import gauss",
        "from numpy import random",
        "import numpy.random as r",
        "from numpy.random import default_rng",
        "import numpy as np\nnp.random.normal()",
        "import numpy as np\nnp.random.default_rng()",
        "import numpy as np\nnp.random.default_rng(0)",
        "from scipy import stats",
        "from scipy.stats import norm",
        "import os\nos.urandom(8)",
        "from os import urandom",
        "import uuid\nuuid.uuid4()",
        "import secrets",
        "import opendp.prelude as dp",
        "law.rvs(10)",
    ],
)
def test_it_would_be_seen(source: str) -> None:
    assert faults("mechanisms/paper/tangents.py", source)


def test_every_exception_is_used() -> None:
    """A file that is listed and has no need of it is taken off the list."""
    for path, word in [*((path, "opendp") for path in NOISE), *((path, "secrets") for path in NAMES)]:
        text = (SOURCE / path).read_text()
        assert f"import {word}" in text or f"from {word}." in text, path
    for path in SEEDED:
        assert "np.random" in (SOURCE / path).read_text(), path

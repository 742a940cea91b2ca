"""Tables in many dimensions, and the errors of releases of them: mixtures, images of digits, and texts.

`python -m bench.dimension.tables` prints the errors of releases without a model. It needs public names only, so an
older version of the library on PYTHONPATH prints its own: that is how `BEFORE` in `bench.dimension.model` was measured.
"""

import ast
import importlib.util
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

import milepost as mp
from milepost._typing import FloatArray

EPSILON, DELTA = 1.0, 1e-6
GUARANTEE = mp.Guarantee(EPSILON, DELTA)
SUPPORTED = "model" in signature(mp.release).parameters  # whether this version of the library has a model
QUERIES = 64  # of each kind
SEED = 24
CLUSTERS = 8
JITTER = 0.05  # the length of what is added to a row that is drawn again, as a share of the radius
TEXT_DIMENSION = 384
MIN_WORDS = 20
PACKAGES = ("numpy", "scipy", "sklearn", "pandas")  # whose docstrings are the texts
SAMPLED = 10_000  # rows from which the spread of distances is computed

MakeRows = Callable[[np.random.Generator, int, int], FloatArray]


def into_ball(rows: FloatArray) -> FloatArray:
    """Return the rows, those outside the unit ball moved to its border."""
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1))


def mixture(generator: np.random.Generator, n: int, dimension: int) -> FloatArray:
    """Return clusters of unequal sizes, each with long and short axes of its own, in the unit ball."""
    labels = generator.choice(CLUSTERS, n, p=generator.dirichlet(np.full(CLUSTERS, 3.0)))
    rows = np.empty((n, dimension))
    for k in range(CLUSTERS):
        center = generator.standard_normal(dimension)
        center *= generator.uniform(0.3, 0.6) / np.linalg.norm(center)
        axes = np.linalg.qr(generator.standard_normal((dimension, dimension)))[0]
        scales = np.arange(1, dimension + 1) ** -0.5
        scales *= generator.uniform(0.2, 0.4) / np.linalg.norm(scales)
        inside = labels == k
        rows[inside] = center + generator.standard_normal((int(inside.sum()), dimension)) @ (scales[:, None] * axes)
    return into_ball(rows)


def resampled(generator: np.random.Generator, n: int, rows: FloatArray) -> FloatArray:
    """Return rows drawn with replacement, each moved a little."""
    moves = generator.standard_normal((n, rows.shape[1])) * (JITTER / math.sqrt(rows.shape[1]))
    return into_ball(rows[generator.integers(0, len(rows), n)] + moves)


def digits(generator: np.random.Generator, n: int, dimension: int) -> FloatArray:
    """Return images of handwritten digits, centred and scaled into the unit ball, resampled."""
    images = load_digits().data[:, :dimension]
    images = images - images.mean(axis=0)
    return resampled(generator, n, images / np.linalg.norm(images, axis=1).max())


def texts(generator: np.random.Generator, n: int, dimension: int) -> FloatArray:
    """Return docstrings of all packages as vectors, resampled."""
    return resampled(generator, n, text_vectors(PACKAGES, dimension))


def docstrings(package: str) -> Iterator[str]:
    """Yield the docstrings of an installed package, without its tests, that have a few words."""
    spec = importlib.util.find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    for path in sorted(Path(spec.origin).parent.rglob("*.py")):
        if "tests" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                text = ast.get_docstring(node, clean=False) or ""
                if len(text.split()) >= MIN_WORDS:
                    yield text


@cache
def text_vectors(packages: tuple[str, ...], dimension: int) -> FloatArray:
    """Return different docstrings by TF-IDF and truncated SVD; no vector is longer than 1."""
    documents = sorted({text for package in packages for text in docstrings(package)})
    matrix = TfidfVectorizer(max_features=5_000, sublinear_tf=True, stop_words="english").fit_transform(documents)
    return np.asarray(TruncatedSVD(dimension, n_iter=2, random_state=0).fit_transform(matrix))


def uniform(generator: np.random.Generator, n: int, dimension: int) -> FloatArray:
    """Return points spread evenly over the unit ball; as vectors, they have all directions."""
    points = generator.standard_normal((n, dimension))
    lengths = generator.random(n) ** (1 / dimension)
    return np.asarray(points * (lengths / np.linalg.norm(points, axis=1))[:, None])


def ball(dimension: int, directions: int | None, seed: int) -> mp.L2:
    """Return the unit ball."""
    return mp.L2(center=[0] * dimension, radius=1, directions=directions, random_state=seed)


def angles(dimension: int, directions: int | None, seed: int) -> mp.Angular:
    """Return angles between vectors."""
    return mp.Angular(dimension, directions=directions, random_state=seed)


@dataclass(frozen=True)
class Case:
    """A kind of table and its space."""

    name: str
    dimension: int
    rows: MakeRows
    space: Callable[[int, int | None, int], Any] = ball


CASES = (
    *(Case(f"mixture, d = {dimension}", dimension, mixture) for dimension in (4, 8, 16, 64, 384)),
    Case("digits, d = 64", 64, digits),
    Case("texts, d = 384", TEXT_DIMENSION, texts),
    Case("texts, angles", TEXT_DIMENSION, texts, angles),
)


@dataclass(frozen=True, eq=False)
class Table:
    """A table with a rotation of its own, queries of both kinds, and the exact mean distances at them.

    queries: QUERIES more rows of the same kind, which are not in the table, then as many points spread evenly.
    sampling: how far mean distances of the table are from those of the world it was drawn from, rms over queries.
    """

    space: Any
    people: FloatArray
    queries: FloatArray
    truth: FloatArray
    sampling: float

    @classmethod
    def of(cls, case: Case, n: int, directions: int | None, run: int) -> "Table":
        """Make the table of one run."""
        generator = np.random.default_rng([SEED, run, case.dimension])
        rows = case.rows(generator, n + QUERIES, case.dimension)
        people, queries = rows[:n], np.concatenate([rows[n:], uniform(generator, QUERIES, case.dimension)])
        space = case.space(case.dimension, directions, run)
        truth = np.asarray(mp.exact_mean_distance(people, space, queries))
        spread = space.distance(space.read(people[:SAMPLED]), space.read_queries(queries)).std(axis=0)
        return cls(space, people, queries, truth, math.sqrt(np.mean(spread**2) / n))

    @property
    def single(self) -> float:
        """The deviation of one query answered alone."""
        return float(self.space.diameter) / len(self.people) / GUARANTEE.mu

    def release(self, model: bool | None) -> "Released":
        """Release the table with its public rotation. model: None lets the library decide."""
        options: dict[str, Any] = {"model": model} if SUPPORTED else {}
        start = time.process_time()
        synopsis = mp.release(self.people, self.space, epsilon=EPSILON, delta=DELTA, **options)
        taken = time.process_time() - start
        errors = (np.asarray(synopsis.mean_distance(self.queries)) - self.truth) / self.single
        squares = np.square(errors).reshape(2, QUERIES).mean(axis=1)
        used = getattr(synopsis, "model", None) is not None
        return Released(float(squares[0]), float(squares[1]), synopsis.space.embedding.dimension, used, taken)


@dataclass(frozen=True)
class Released:
    """The mean squares of errors ÷ single at both kinds of queries, D, whether a model was used, and CPU seconds."""

    near: float
    spread: float
    directions: int
    model: bool
    seconds: float


def root(values: list[float]) -> float:
    """Return the root of the mean of squares."""
    return math.sqrt(np.mean(values))


def main() -> None:
    """Print the errors of releases without a model, as constants of `bench.dimension.model`."""
    runs = 2
    print(f"RMSE ÷ single of {runs} releases at {QUERIES} data-like and {QUERIES} uniform queries, n = 100,000")
    for case in CASES:
        releases = [Table.of(case, 100_000, None, run).release(model=False) for run in range(runs)]
        near, spread = root([each.near for each in releases]), root([each.spread for each in releases])
        seconds = np.mean([each.seconds for each in releases])
        line = f'    "{case.name}": ({near:.3g}, {spread:.3g}),'
        print(f"{line:<44}# D = {releases[0].directions}, {seconds:.0f} CPU s", flush=True)


if __name__ == "__main__":
    main()

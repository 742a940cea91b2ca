"""Spaces that use an embedding: measure the error of embedded distances, and the errors of slopes ÷ single.

single: the worst-placed query alone, a Gaussian of deviation diameter/(n·μ). Errors are measured against the exact
metric, so they include noise, interpolation and embedding; the embedding's part alone is the error of the exact means
of embedded distances. A checked ratio has 2000 releases with OpenDP's noise, or 200 with --check.
"""

import math
import re
import warnings
from collections import Counter
from dataclasses import dataclass
from pydoc_data.topics import topics

import numpy as np
from scipy import stats
from sklearn.datasets import load_digits
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

import milepost as mp
from bench.accuracy import ASSERTED, CHECKED, DELTA, EPSILON
from bench.accuracy import exact as exact_l1
from bench.run import FALSE_ALARM, Bounds, main, squares_of
from milepost._typing import AnyArray, FloatArray
from milepost.ingest.aggregation import read_sketch, records
from milepost.mechanisms.coordinate.slopes import Slopes
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.base import Space
from milepost.spaces.embeddings.embedding import QUANTUM_BITS
from milepost.spaces.embeddings.projected import Projected
from milepost.spaces.objects import object_array
from milepost.statistics.sketch import Sketch

GUARANTEE = mp.Guarantee(EPSILON, DELTA)
QUERIES = 100
FEW = 5  # releases where nothing is checked


@dataclass(frozen=True, eq=False)
class Table:
    """A space, a table of points in it, queries, and the exact mean distances at them."""

    name: str
    space: Projected
    people: FloatArray
    queries: FloatArray
    truth: FloatArray

    @classmethod
    def of(cls, name: str, space: Projected, people: FloatArray, queries: FloatArray) -> "Table":
        """Create a table with the truth by brute force."""
        return cls(name, space, people, queries, space.distance(people, queries).mean(axis=0))

    def embedding(self) -> FloatArray:
        """Return the errors of the exact mean embedded distances; records are rounded, queries are not."""
        quantum = self.space.embedding.quantum
        return (
            exact_l1(self.space.quantize(self.people) * quantum, self.space.position(self.queries) * quantum)
            - self.truth
        )

    def released(self, sketch: Sketch, releases: int) -> FloatArray:
        """Return the errors of slopes: float64[releases, queries]."""
        return released(self.space, sketch, self.queries, releases) - self.truth

    def single(self, n: int) -> float:
        """Return the deviation of one query answered alone."""
        return single(self.space, n)


def released(space: Space, sketch: Sketch, queries: AnyArray, releases: int) -> FloatArray:
    """Return the answers of slopes: float64[releases, queries]."""
    positions = space.position(queries)
    design = Slopes().predict(space.embedding, int(sketch.totals[0]), ProtectedChange(), GUARANTEE)
    sketch = sketch.coarsen(1 << (QUANTUM_BITS - min(design.bits)))  # exact, and quick
    statistics = (design.run(sketch) for _ in range(releases))
    return np.array([each.values(positions, raw=True) for each in statistics])


def single(space: Space, n: int) -> float:
    """Return the deviation of one query answered alone."""
    return space.diameter / n / GUARANTEE.mu


def claimed(space: Space, n: int) -> float:
    """Return the claimed deviation of an answer of slopes ÷ single."""
    deviation = Slopes().predict(space.embedding, n, ProtectedChange(), GUARANTEE).prediction.rms
    assert deviation is not None
    return deviation / single(space, n)


def rms(values: FloatArray) -> float:
    """Return the root of the mean square."""
    return float(np.sqrt(np.mean(np.square(values))))


def row(table: Table, n: int, ratio: str, of_mean: str, of_pair: str) -> None:
    """Print a line: RMSE, noise alone and embedding alone, ÷ single; the embedding in % of F and of a pair."""
    embedding = rms(table.embedding()) / table.single(n)
    print(
        f"{table.name:<13}{table.space.width:>4}{table.space.embedding.dimension:>6}{n:>9,}"
        f"{ratio:>8}{claimed(table.space, n):>8.3g}{embedding:>11.3g}{of_mean:>9}{of_pair:>10}",
        flush=True,
    )


def pair_deviation(space: Projected, left: FloatArray, right: FloatArray) -> float:
    """Return the relative deviation of embedded distances, rms over pairs of rows, in %."""
    embedded = np.abs(space.quantize(left) - space.quantize(right)) @ space.embedding.quantum
    return 100 * rms(embedded / space.norm(left - right) - 1)


def plane_rows(check: bool, bounds: Bounds) -> None:
    """Print disc and square, with RMSE ÷ single ≤ 1.3; the rows are few, so that noise dominates the embedding."""
    n, directions = (300, 32) if check else (1_000, 64)
    generator = np.random.default_rng(0)
    spaces = {
        "disc": mp.L2(center=[0, 0], radius=1, directions=directions),
        "square": mp.L2([(-1, 1), (-1, 1)], directions=directions),
    }
    for name, space in spaces.items():
        inside = generator.uniform(-1, 1, (10 * QUERIES, 2))
        if space.radius is not None:
            inside = inside[np.linalg.norm(inside, axis=1) <= space.radius]
        people = space.read(generator.normal([0.2, -0.1], 0.4, (n, 2)))
        table = Table.of(f"ℓ₂ {name}", space, people, inside[:QUERIES])
        errors = table.released(read_sketch(people, space), CHECKED if check else ASSERTED) / table.single(n)
        combined = math.hypot(claimed(space, n), rms(table.embedding()) / table.single(n))
        bounds.at_most(f"{table.name}: noise, as claimed, and embedding ÷ single", combined, 1.3)
        row(
            table,
            n,
            bounds.rms_at_most(f"{table.name}: RMSE ÷ single", squares_of(errors), 1.3),
            f"{100 * rms(table.embedding() / table.truth):.2g}",
            f"{pair_deviation(space, people, people[::-1]):.2g}",
        )


def digit_rows(check: bool, bounds: Bounds) -> None:
    """Print 8 × 8 images of digits as points of [0, 16]^64, each 56 times; the embedding is within 0.5 % of F."""
    digits, times = np.asarray(load_digits().data, dtype=np.float64), 56
    space = mp.L2([(0, 16)] * digits.shape[1])
    table = Table.of("ℓ₂ digits", space, digits, digits)
    sketch = read_sketch(digits, space).repeat(times)
    n = int(sketch.totals[0])
    error = rms(table.released(sketch, 1 if check else FEW)) / table.single(n)
    embedding_percent = 100 * rms(table.embedding() / table.truth)
    shuffled = np.random.default_rng(0).permutation(digits)
    apart = (digits != shuffled).any(axis=1)
    row(
        table,
        n,
        f"{error:.3g}",
        bounds.at_most("digits: embedding, % of F", embedding_percent, 0.5),
        f"{pair_deviation(space, digits[apart], shuffled[apart]):.2g}",
    )


def stable_rows(check: bool, bounds: Bounds) -> None:
    """Print ℓp for p = 1.5; tilted stable directions are within 3 % of F and of single pairs."""
    width, n = 10, 2_000
    space = mp.Lp(1.5, [(0, 1)] * width)
    generator = np.random.default_rng(0)
    people, queries = generator.beta(2, 3, (n, width)), generator.random((QUERIES, width))
    table = Table.of("ℓp, p = 1.5", space, people, queries)
    error = rms(table.released(read_sketch(people, space), 1 if check else FEW)) / table.single(n)
    row(
        table,
        n,
        f"{error:.3g}",
        bounds.at_most("p = 1.5: embedding, % of F", 100 * rms(table.embedding() / table.truth), 3.0),
        bounds.at_most("p = 1.5: % of a pair", pair_deviation(space, people, generator.permutation(people)), 3.0),
    )


def noise_rows(check: bool, bounds: Bounds) -> None:
    """Print the RMSE of slopes ÷ single for caps, tables and angles, where the embedding is small against the noise."""
    generator = np.random.default_rng(0)
    n = 300 if check else 1_000
    labels = [f"label {k}" for k in range(49)]  # and `other`
    numbers = mp.Gower([mp.number(0, 1), mp.flag()])
    category = mp.Gower([mp.category(labels)])
    cap = mp.GreatCircle((52.5, 13.4), 40, directions=32)
    near = generator.normal([52.5, 13.4], [0.1, 0.15], (n + QUERIES, 2))
    mixed = [(x, x > y) for x, y in generator.beta(2, 3, (n + QUERIES, 2)).tolist()]
    plans = [[label] for label in generator.choice(labels, n + QUERIES)]
    for name, space, rows, bound in (
        ("great circle", cap, near, 1.4),
        ("Gower, numbers", numbers, mixed, 1.05),
        ("Gower, labels", category, plans, 1.45),
    ):
        queries = space.read_queries(object_array(list(rows[n:])) if space.objects else rows[n:])
        truth = space.distance(next(records(rows[:n], space, None, 1)), queries).mean(axis=0)
        answers = released(space, read_sketch(rows[:n], space), queries, CHECKED if check else ASSERTED)
        bounds.at_most(f"{name}: noise ÷ single, as claimed", claimed(space, n), bound)
        squares = squares_of((answers - truth) / single(space, n))
        ratio = bounds.rms_at_most(f"{name}: RMSE ÷ single", squares, bound)
        print(f"{name:<17}{space.embedding.dimension:>6}{n:>9,}{ratio:>8}", flush=True)


def angle_rows(check: bool, bounds: Bounds) -> None:
    """Print angles between texts, TF-IDF and SVD of pages of Python's documentation; the error next to its bound."""
    matrix = TfidfVectorizer(max_features=5_000).fit_transform(topics.values())
    vectors = TruncatedSVD(32, random_state=0).fit_transform(matrix)
    vectors = vectors[np.linalg.norm(vectors, axis=1) > 0]
    space = mp.Angular(32)
    truth = mp.exact_mean_distance(vectors, space, vectors)
    n = len(vectors) * (100 if check else 1_000)
    synopsis = mp.release(np.repeat(vectors, n // len(vectors), axis=0), space, epsilon=EPSILON, delta=DELTA)
    error = np.abs(synopsis.mean_distance(vectors) - truth)
    promised, p95 = synopsis.error(), float(np.quantile(error, 0.95))
    # all texts share the noise of one release: it may reach this many deviations
    draws = stats.norm.isf(FALSE_ALARM / 2 / len(vectors)) * claimed(synopsis.space, n) * single(synopsis.space, n)
    ratio = bounds.at_most("angles: 95 % ÷ promise", p95 / promised, 1.0, draws / promised)
    print(
        f"{'angles of texts':<17}{synopsis.space.embedding.dimension:>6}{n:>9,}   rms error {rms(error):.3g}, "
        f"95 % of them within {p95:.3g}, promised ± {promised:.3g}; ÷ promise {ratio}"
    )


def documentation_words() -> list[str]:
    """Return every word of Python's documentation, in the order of the text."""
    return re.findall(r"[a-z]{3,}", " ".join(topics.values()).lower())


def edit_rows(check: bool, bounds: Bounds) -> None:
    """Print the edit distance to frequent long words: the RMSE of every mechanism, next to Bourgain + tangents.

    Each mechanism is released once. The bound is on the claimed error; the errors of gaussian and laplace, which are
    independent, must be as large as predicted.
    """
    words = documentation_words()[: 20_000 if check else None]
    queries = [word for word, _ in Counter(word for word in words if len(word) > 4).most_common(100)]
    print(f"\nedit distance, diameter 12, {len(words):,} words, {len(queries)} queries; tangents is the paper's way")
    print(f"{'mechanism':<26}{'D':>6}{'promise ±':>11}{'RMSE':>10}{'÷ tangents':>12}")
    truth, tangents_rms, promise = None, math.nan, math.nan
    for mechanism, calibrate in (
        ("tangents", False),
        ("slopes", False),
        ("hats", False),
        ("slopes", True),
        ("hats", True),
        ("gaussian", False),
        ("laplace", False),
    ):
        space = mp.AnyMetric(mp.edit_distance, diameter=12, queries=queries, calibrate=calibrate)
        truth = mp.exact_mean_distance(words, space, queries) if truth is None else truth
        pure = mechanism in {"hats", "laplace"}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", mp.AccuracyWarning)  # the error of the embedding is shown
            synopsis = mp.release(words, space, epsilon=EPSILON, delta=0 if pure else DELTA, mechanism=mechanism)
        errors, promised = synopsis.mean_distance(queries) - truth, synopsis.error(synopsis.confidence)
        if mechanism == "tangents":
            tangents_rms, promise = rms(errors), promised
        direct = synopsis.queries is not None
        if direct:
            plan = mp.plan(space, n=len(words), epsilon=EPSILON, delta=0 if pure else DELTA, queries=queries)
            planned = next(each.rms for each in plan.predictions if each.mechanism == mechanism)
            assert planned is not None
            bounds.at_most(f"edit distance: promise of {mechanism} ÷ that of tangents", promised / promise, 0.1)
            bounds.rms_at_most(f"edit distance: RMSE of {mechanism} ÷ planned", (errors / planned) ** 2, 1.0)
        name = mechanism + (", calibrated" if calibrate else "") + (", ε" if pure else ", ε, δ")
        size = "" if direct else f"{space.embedding.dimension}"
        print(
            f"{name:<26}{size:>6}{promised:>11.3g}{rms(errors):>10.3g}{rms(errors) / tangents_rms:>12.3g}", flush=True
        )


ROWS = (plane_rows, digit_rows, stable_rows, noise_rows, angle_rows, edit_rows)


def benchmark(check: bool, bounds: Bounds) -> None:
    """Print the rows of every space."""
    print(f"slopes, ε = {EPSILON:g}, δ = {DELTA:g}. RMSE, noise and embedding ÷ single; the embedding, rms, in %.")
    print(f"{'space':<13}{'d':>4}{'D':>6}{'n':>9}{'RMSE':>8}{'noise':>8}{'embedding':>11}{'% of F':>9}{'% a pair':>10}")
    for rows in ROWS:
        rows(check, bounds)


if __name__ == "__main__":
    main(benchmark, __doc__ or "")

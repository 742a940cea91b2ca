"""The contract of a space, checked on records: rows alone, determinism, sensitivity at its worst, files, bad input."""

import itertools
import json
import tempfile
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from milepost._typing import AnyArray
from milepost.auditing.scripted_noise import NoiseScript
from milepost.errors import MilepostError, collected_warnings
from milepost.ingest.batches import space_batches
from milepost.ingest.query_points import query_points
from milepost.mechanisms.coordinate.count_origin import border_shares
from milepost.pipeline.plan import plan
from milepost.pipeline.release import exact_mean_distance, release
from milepost.spaces.base import Space, distance_range, require_space
from milepost.spaces.embeddings.embedding import QUANTA, QUANTUM_BITS, Embedding
from milepost.spaces.objects import object_array
from milepost.spaces.queries import Queries
from milepost.synopsis.serialization import load

BATCHES = (1, 2, 7)  # rows that are read together
REPEATS = 5
MAX_CORNERS = 64
MAX_VALUES = 12  # of one column, that the search for the worst pair tries
MAX_COLUMNS = 48  # that one sweep of the search changes
STARTS, SWEEPS = 12, 4  # of the search
MAX_QUERIES = 12
TOLERANCE = 1e-9  # of distances, relative to the diameter
VECTOR_TOLERANCE = 1e-3  # of lengths of vectors: a ball far from 0 is rounded, and longer ones are clipped
CONSTANTS = 4  # of an anchor, at which its costs are checked
ANCHOR_LEVELS = 8  # of the cells in which they are, as a power of two


class CheckFailedError(AssertionError):
    """Raised when a space or a mechanism breaks its contract; the message says which part, and where.

    Examples
    --------
    >>> from milepost.testing import CheckFailedError
    >>> issubclass(CheckFailedError, AssertionError)
    True
    """


def check_space(space: Space, records: Any = None) -> float:
    """Check that a space keeps its contract; raise `CheckFailedError` at the first part that it breaks.

    Everything that privacy rests on is checked on records: a record's image depends on that record alone and is the
    same each time, images are integers inside the embedding's intervals, and no pair of records is farther apart in
    the embedding than `sensitivity_bound`, which is searched for at the worst pairs. The same is checked of the
    embedding's anchor and of the vectors of a private model, if it has them. A bound that is too small adds too little
    noise, silently. Further: distances and their ranges, queries, plan, release, the stored file, and bad input.

    Parameters
    ----------
    space : Space
        The space to check. To save and load it, register its class first with `milepost.register_space`.
    records : list or array, optional
        Rows as a private table would have them, a few dozen, with extremes among them. The search for the worst pair
        also combines their columns. By default corners, random points and points far outside of `space.extent`;
        a space without an extent needs them.

    Returns
    -------
    float
        The largest share of `sensitivity_bound` that a pair attains: close to 1 where the bound is tight.

    Raises
    ------
    CheckFailedError
        Where the space breaks its contract.

    Examples
    --------
    >>> import milepost as mp
    >>> from milepost.testing import check_space
    >>> check_space(mp.L1([(0, 10), (0, 5)])) > 0.999
    True
    """
    require_space(space)
    rows = list(default_records(space) if records is None else records)
    _require(len(rows) >= 2, f"check_space needs at least two records, got {len(rows)}")
    points = _check_reading(space, rows)
    images = _check_images(space, points)
    share = _check_sensitivity(space, rows, images)
    _check_anchor(space, points, images)
    _check_vectors(space, points)
    queries = _check_queries(space, rows, points)
    _check_distances(space, points, queries)
    _check_ranges(space, points, queries)
    _check_embedded_distances(space, points, images, queries)
    _check_json(space, queries)
    _check_releases(space, rows, queries)
    _check_bad_input(space, rows)
    return share


def default_records(space: Space) -> AnyArray:
    """Return corners, random points and points far outside of a space's extent, or the points that it was given."""
    if space.given_queries is not None:
        return object_array([space.user_point(query) for query in space.given_queries])
    if space.extent is None:
        raise MilepostError(
            "check_space needs records for a space without an extent. "
            "Give a list of rows as a private table would have them, with extremes among them: records=[…]"
        )
    low, high = np.array(space.extent, dtype=np.float64).T
    generator = np.random.default_rng(0)
    width, corners = len(low), itertools.product((0.0, 1.0), repeat=len(low))
    fractions = [
        np.array(list(corners)) if 1 << width <= MAX_CORNERS else generator.integers(0, 2, (MAX_CORNERS, width))
    ]
    fractions += [np.full((1, width), share) for share in (0.5, 1 / 3)]
    fractions += [generator.random((48, width)), generator.normal(0.5, 50, (48, width))]
    return np.asarray(low + np.concatenate(fractions) * (high - low))


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise CheckFailedError(message)


def _table(rows: Sequence[Any], space: Space) -> Any:
    """Return rows as one table."""
    return np.array(rows) if isinstance(rows[0], np.ndarray) and not space.objects else list(rows)


def _read(space: Space, rows: Sequence[Any]) -> AnyArray:
    """Return the records of a private table as the space reads them."""
    return np.concatenate([space.read(batch) for batch, _ in space_batches(_table(rows, space), space)])


def _check_reading(space: Space, rows: Sequence[Any]) -> AnyArray:
    """Check that `read` gives one record a row, whatever other rows are in the batch."""
    points = _read(space, rows)
    _require(len(points) == len(rows), f"read returns {len(points)} records for {len(rows)} rows")
    for size, start in _batches(len(rows)):
        part = _read(space, rows[start : start + size])
        _require(
            _same(part, points[start : start + size]),
            f"read depends on other rows: row {start + 1} in a batch of {size} differs from the same row in the table",
        )
    _require(_same(_read(space, rows[::-1]), points[::-1]), "read depends on the order of rows")
    return points


def _check_images(space: Space, points: AnyArray) -> AnyArray:
    """Check that `quantize` is deterministic, looks at one record at a time, and stays inside the intervals."""
    embedding = space.embedding
    images = np.asarray(space.quantize(points))
    shape = len(points), embedding.dimension
    _require(images.shape == shape, f"quantize must return an array of shape {shape}, got {images.shape}")
    _require(images.dtype.kind == "i", f"quantize must return integers, got {images.dtype}")
    for _ in range(REPEATS):
        _require(_same(space.quantize(points), images), "quantize is not deterministic: a second call differs")
    for size, start in _batches(len(points)):
        part = slice(start, start + size)
        _require(
            _same(space.quantize(points[part]), images[part]),
            f"quantize depends on other rows: record {start + 1} in a batch of {size} differs from the same record in "
            "the table",
        )
    _require(_same(space.quantize(points[::-1]), images[::-1]), "quantize depends on the order of records")
    _require(bool((images >= 0).all() and (images <= embedding.span).all()), "quantize leaves the interval 0..span")
    _require(not (images % embedding.step).any(), "quantize must return multiples of the embedding's step")
    return images


def _check_sensitivity(space: Space, rows: Sequence[Any], images: AnyArray) -> float:
    """Check that no pair is farther apart than `sensitivity_bound`, in exact arithmetic at the worst pairs."""
    embedding = space.embedding
    bound = Fraction(embedding.sensitivity_bound)
    _require(bound > 0, f"sensitivity_bound must be positive, got {embedding.sensitivity_bound!r}")
    worst = max(
        (_exact_distance(embedding, left, right), number)
        for number, (left, right) in enumerate(_far_pairs(space, rows, images))
    )[0]
    _require(
        worst <= bound,
        f"sensitivity_bound is too small: it is {embedding.sensitivity_bound:.9g}, and a pair of records is "
        f"{float(worst):.9g} apart in the embedding, so that noise would be too small",
    )
    return float(worst / bound)


def _check_anchor(space: Space, points: AnyArray, images: AnyArray) -> None:
    """Check the mean distances of records to the anchor, and that no pair and no record costs more than it says."""
    anchor, embedding = space.embedding.anchor, space.embedding
    if anchor is None:
        return
    positions = np.asarray(space.anchor_positions(points))
    _require(positions.shape == (len(points),), "anchor_positions must return one number for each record")
    _require(positions.dtype.kind == "i", f"anchor_positions must return integers, got {positions.dtype}")
    _require(bool((positions >= 0).all() and (positions <= QUANTA).all()), "anchor_positions leaves 0..2²⁴")
    for size, start in _batches(len(points)):
        part = slice(start, start + size)
        _require(
            _same(space.anchor_positions(points[part]), positions[part]),
            f"anchor_positions depends on other rows: record {start + 1} in a batch of {size} differs from the same "
            "record in the table",
        )
    weighted = images * embedding.quantum
    apart = np.stack([np.abs(weighted - one).sum(axis=1) for one in weighted])
    heights = anchor.quantum * positions
    rises = (heights[:, None] - heights) ** 2
    singles = _anchor_singles(embedding, images)
    for constant in anchor.constants[:: max(1, len(anchor.constants) // CONSTANTS)]:
        pair = float((apart + rises / constant).max())
        _require(
            pair <= anchor.pair(constant) * (1 + TOLERANCE),
            f"the anchor's pair({constant:.3g}) is too small: it is {anchor.pair(constant):.9g}, and a pair of records "
            f"costs {pair:.9g}, so that noise would be too small",
        )
        origin = anchor.best_origin(constant)
        single = float((singles + (anchor.quantum * (positions - origin)) ** 2 / constant).max())
        _require(
            single <= anchor.single(constant, origin) * (1 + TOLERANCE),
            f"the anchor's single({constant:.3g}) is too small: it is {anchor.single(constant, origin):.9g}, and a "
            f"record costs {single:.9g}, so that noise would be too small",
        )


def _check_vectors(space: Space, points: AnyArray) -> None:
    """Check that `vectors` looks at one record at a time, and stays inside the ball that encloses the space."""
    if space.enclosing_ball is None:
        return
    center, radius = space.enclosing_ball
    vectors = np.asarray(space.vectors(points))
    shape = len(points), len(center)
    _require(vectors.shape == shape, f"vectors must return an array of shape {shape}, got {vectors.shape}")
    lengths = np.linalg.norm((vectors - center) / radius, axis=1)
    _require(bool((lengths <= 1 + VECTOR_TOLERANCE).all()), "vectors leaves the enclosing_ball")
    for size, start in _batches(len(points)):
        part = slice(start, start + size)
        _require(
            _same(space.vectors(points[part]), vectors[part]),
            f"vectors depends on other rows: record {start + 1} in a batch of {size} differs from the same record in "
            "the table",
        )


def _anchor_singles(embedding: Embedding, images: AnyArray) -> AnyArray:
    """Return Σ τᵢ·2⁻ᵇ·‖marks − mean marks of the anchor‖² for each record, in cells of 2ᵇ quanta."""
    bits = QUANTUM_BITS - ANCHOR_LEVELS
    ends = (np.arange(1, (1 << ANCHOR_LEVELS) + 1)) << bits
    result = np.zeros(len(images))
    for i, quantum in enumerate(embedding.quantum.tolist()):
        marks = np.clip(ends - images[:, i, None], 0, 1 << bits) / (1 << bits)
        shares = np.cumsum(border_shares(embedding, i, bits))[:-1]
        result += quantum * (1 << bits) * ((marks - shares) ** 2).sum(axis=1)
    return result


def _far_pairs(space: Space, rows: Sequence[Any], images: AnyArray) -> Iterator[tuple[AnyArray, AnyArray]]:
    """Yield the farthest pairs of images of the rows, and those that a search over combined columns finds."""
    weighted = images * space.embedding.quantum
    distances = np.stack([np.abs(weighted - one).sum(axis=1) for one in weighted])
    order = np.argsort(distances, axis=None)[::-1][: 4 * STARTS]
    pairs = [tuple(int(index) for index in np.unravel_index(flat, distances.shape)) for flat in order]
    for left, right in pairs:
        yield images[left], images[right]
    columns = _column_values(rows)
    if columns is None:
        return
    generator = np.random.default_rng(1)
    starts = [*pairs[: STARTS // 2], *generator.integers(0, len(rows), (STARTS, 2)).tolist()][:STARTS]
    for left, right in starts:
        yield _climb(space, columns, [list(rows[left]), list(rows[right])], generator)


def _column_values(rows: Sequence[Any]) -> list[list[Any]] | None:
    """Return some values of each column, extremes among them; None where rows are no sequences of one length."""
    if not all(isinstance(row, list | tuple | np.ndarray) for row in rows) or len({len(row) for row in rows}) != 1:
        return None
    result = []
    for cells in zip(*rows, strict=True):
        try:
            values = sorted(set(cells))
        except TypeError:  # numbers and text in one column
            values = list(dict.fromkeys(cells))
        picked = np.unique(np.linspace(0, len(values) - 1, MAX_VALUES).round().astype(int)).tolist()
        result.append([values[index] for index in picked])
    return result


def _climb(
    space: Space, columns: list[list[Any]], pair: list[list[Any]], generator: np.random.Generator
) -> tuple[AnyArray, AnyArray]:
    """Return the images of a pair after changing one column at a time to the values that are farthest apart."""
    best, result = -1.0, (np.empty(0), np.empty(0))
    for _ in range(SWEEPS):
        before = best
        for column in generator.permutation(len(columns))[:MAX_COLUMNS].tolist():
            values = columns[column]
            variants = [[*row[:column], value, *row[column + 1 :]] for row in pair for value in values]
            images = space.quantize(
                _read(space, [np.array(row) for row in variants] if _numeric(variants) else variants)
            )
            weighted = images * space.embedding.quantum
            left, right = weighted[: len(values)], weighted[len(values) :]
            distances = np.abs(left[:, None] - right[None]).sum(axis=2)
            i, j = (int(index) for index in np.unravel_index(distances.argmax(), distances.shape))
            if distances[i, j] > best:
                best, result = float(distances[i, j]), (images[i], images[len(values) + j])
                pair = [variants[i], variants[len(values) + j]]
        if best <= before:
            break
    return result


def _numeric(rows: list[list[Any]]) -> bool:
    return all(isinstance(cell, int | float | np.number) for cell in rows[0])


def _exact_distance(embedding: Embedding, left: AnyArray, right: AnyArray) -> Fraction:
    """Return Σ τ|q − q′| exactly."""
    triples = zip(embedding.quantum.tolist(), left.tolist(), right.tolist(), strict=True)
    return sum((Fraction(quantum) * abs(a - b) for quantum, a, b in triples if a != b), Fraction(0))


def _check_queries(space: Space, rows: Sequence[Any], points: AnyArray) -> AnyArray:
    """Check that queries are read alone, and that their positions are where the same records are."""
    embedding = space.embedding
    if space.given_queries is not None:
        queries, images = np.asarray(space.given_queries[:MAX_QUERIES]), None
    else:
        batches = {
            index: batch for index in range(len(rows)) if (batch := _query_batch(space, rows[index])) is not None
        }
        indices = list(batches)[:MAX_QUERIES]
        _require(bool(indices), "read_queries refuses all records")
        alone = np.concatenate([space.read_queries(batches[index]) for index in indices])
        together, _, _ = query_points(_table([rows[index] for index in indices], space), space)
        _require(_same(space.read_queries(together), alone), "read_queries depends on other queries")
        queries, images = np.asarray(space.clip_points(alone)), space.quantize(points[indices])
    positions = np.asarray(space.position(queries))
    shape = len(queries), embedding.dimension
    _require(positions.shape == shape, f"position must return an array of shape {shape}, got {positions.shape}")
    _require(bool(np.isfinite(positions).all()), "position must return finite numbers")
    alone = np.concatenate([space.position(queries[[k]]) for k in range(len(queries))])
    _require(bool(np.allclose(alone, positions, rtol=1e-12, atol=1e-3)), "position depends on other queries")
    if images is not None:
        off = np.abs(np.clip(positions, 0, embedding.span) - images) / embedding.step
        _require(
            bool((off <= 0.5 + 1e-3).all()),
            f"position and quantize disagree: a query is {float(off.max()):.3g} steps from the same record",
        )
    return queries


def _query_batch(space: Space, row: Any) -> Any:
    """Return a row as a batch of one query, or None where it is no query, such as one with an unknown label."""
    try:
        batch, _, _ = query_points(_table([row], space), space)
        space.read_queries(batch)
    except MilepostError:
        return None
    return batch


def _check_distances(space: Space, points: AnyArray, queries: AnyArray) -> None:
    """Check that distances are finite numbers in 0..diameter that depend on one record and one query each."""
    diameter = space.diameter
    _require(
        isinstance(diameter, float | int) and 0 < diameter < np.inf, f"diameter must be positive, got {diameter!r}"
    )
    distances = np.asarray(space.distance(points, queries))
    shape = len(points), len(queries)
    _require(distances.shape == shape, f"distance must return an array of shape {shape}, got {distances.shape}")
    _require(bool(np.isfinite(distances).all() and (distances >= 0).all()), "distance must be finite and at least 0")
    quantize = Queries(queries, space).quantize
    for size, start in _batches(len(points)):
        part = slice(start, start + size)
        _require(
            _same(quantize(space.distance(points[part], queries)), quantize(distances[part])),
            f"distance depends on other records: record {start + 1} in a batch of {size} differs from the same record "
            "in the table",
        )
    if space.given_queries is None:
        largest = float(distances.max())
        _require(
            largest <= diameter * (1 + TOLERANCE), f"a distance of {largest:.9g} exceeds the diameter, {diameter:.9g}"
        )
    between = np.asarray(space.query_distances(queries, queries))
    own = float(np.abs(np.diagonal(between)).max())
    _require(own <= diameter * 1e-6, f"the distance of a query to itself must be 0, got {own:.3g}")
    _require(bool(np.allclose(between, between.T, rtol=1e-6, atol=diameter * 1e-6)), "query_distances is not symmetric")


def _check_ranges(space: Space, points: AnyArray, queries: AnyArray) -> None:
    """Check that distances lie within `distance_range`, whose ends are numbers within 0..diameter for each query."""
    ends = [np.asarray(end) for end in distance_range(space, queries)]
    shape = (len(queries),)
    _require(
        [end.shape for end in ends] == [shape, shape] and all(end.dtype.kind in "iuf" for end in ends),
        f"distance_range must return two arrays of numbers of shape {shape}",
    )
    low, high = ends
    _require(
        bool(((low >= 0) & (low <= high) & (high <= space.diameter)).all()),
        "distance_range must return numbers of which the first are at least 0 and nowhere above the second, and the "
        "second at most the diameter",
    )
    alone = np.concatenate([distance_range(space, queries[[k]]) for k in range(len(queries))], axis=1)
    _require(
        bool(np.allclose(alone, ends, rtol=0, atol=TOLERANCE * space.diameter)),
        "distance_range depends on other queries",
    )
    allowed = space.distance_error + TOLERANCE * space.diameter
    distances = np.minimum(np.asarray(space.distance(points, queries)), space.diameter)
    outside = np.argwhere((distances < low - allowed) | (distances > high + allowed))
    if len(outside):
        record, query = (int(index) for index in outside[0])
        raise CheckFailedError(
            f"distance_range does not hold: record {record + 1} is {distances[record, query]:.9g} from a query whose "
            f"range is {low[query]:.9g} to {high[query]:.9g}, so that answers would be wrong"
        )


def _check_embedded_distances(space: Space, points: AnyArray, images: AnyArray, queries: AnyArray) -> None:
    """Check that mean distances by the embedding are as close to the metric's as the embedding promises."""
    embedding = space.embedding
    offsets = np.abs(images[:, None, :] - np.asarray(space.position(queries))[None])
    embedded = (offsets * embedding.quantum).sum(axis=2).mean(axis=0)
    means = space.distance(points, queries).mean(axis=0)
    allowed = embedding.bias + _rounding(embedding) + TOLERANCE * space.diameter
    error = float(np.median(np.abs(embedded - means)))
    _require(
        error <= allowed,
        f"embedded distances are {error:.3g} from the metric's on average, and the embedding promises {allowed:.3g}: "
        "check weight, low and high, or declare relative_error",
    )


def _rounding(embedding: Embedding) -> float:
    """Return how far records that are not on the embedding's steps may be moved."""
    return float((embedding.quantum * (embedding.step - 1)).sum()) / 2


def _check_json(space: Space, queries: AnyArray) -> None:
    """Check that a space is the same after its card was written and read."""
    card = json.loads(json.dumps(space.to_json(), allow_nan=False))
    _require(isinstance(card, dict), f"to_json must return a dict, got {type(card).__name__}")
    _require(card.get("kind") == space.kind, f"to_json must hold kind={space.kind!r}, got {card.get('kind')!r}")
    again = type(space).from_json(card, dict(space.tensors()))
    _require(again.diameter == space.diameter, "from_json(to_json()) has another diameter")
    _require(_same(again.position(queries), space.position(queries)), "from_json(to_json()) has other positions")
    for name in ("weight", "low", "high", "span", "step", "sensitivity_bound"):
        _require(
            _same(getattr(again.embedding, name), getattr(space.embedding, name)),
            f"from_json(to_json()) has an embedding with another {name}",
        )


def _check_releases(space: Space, rows: Sequence[Any], queries: AnyArray) -> None:
    """Check plan, releases without noise against exact answers, and their files."""
    table, points = _table(rows, space), [space.user_point(query) for query in queries]
    plan(space, n=len(rows), epsilon=1, delta=1e-6)
    exact = np.asarray(exact_mean_distance(table, space, points))
    given = None if space.given_queries is not None else points
    for mechanism, asked in (("slopes", None), ("hats", None), ("gaussian", given)):
        with collected_warnings(), NoiseScript().replacing_noise():
            synopsis = release(table, space, epsilon=1, delta=1e-6, mechanism=mechanism, queries=asked)
        answers = np.asarray(synopsis.mean_distance(points, raw=True))
        off = float(np.median(np.abs(answers - exact)))
        allowed = synopsis.error(synopsis.confidence) + _rounding(synopsis.space.embedding)
        _require(off <= allowed, f"{mechanism} without noise is {off:.3g} off where it promises {allowed:.3g}")
        with tempfile.TemporaryDirectory() as folder:
            synopsis.save(Path(folder) / "space.milepost")
            again = load(Path(folder) / "space.milepost")
        _require(
            _same(again.mean_distance(points), synopsis.mean_distance(points)),
            f"a file of {mechanism} answers differently from the release that it was saved from",
        )


def _check_bad_input(space: Space, rows: Sequence[Any]) -> None:
    """Check that missing values and rows of a wrong length get a MilepostError, for records and queries."""
    row = rows[0]
    if space.objects or not isinstance(row, np.ndarray) or row.dtype.kind not in "iuf":
        return
    missing, long = row.astype(np.float64), np.append(row, row[:1])
    missing[0] = np.nan
    for what, bad in (("a missing value", missing), ("one value too many", long)):
        for name, read in (("read", space.read), ("read_queries", space.read_queries)):
            try:
                read(np.array([bad]))
            except MilepostError:
                continue
            except Exception as error:
                raise CheckFailedError(
                    f"{name} must refuse {what} with a MilepostError, and raises {type(error).__name__}"
                ) from error
            raise CheckFailedError(f"{name} must refuse {what} with a MilepostError")


def _batches(count: int) -> Iterator[tuple[int, int]]:
    """Yield sizes and starts of batches of rows."""
    for size in BATCHES:
        for start in range(0, count, max(size, count // 24)):
            yield size, start


def _same(left: Any, right: Any) -> bool:
    """Return whether two arrays are equal to the last bit."""
    first, second = np.asarray(left), np.asarray(right)
    return first.shape == second.shape and bool(np.array_equal(first, second, equal_nan=first.dtype.kind == "f"))

"""AnyMetric: objects of any kind with a user-defined distance, and the queries that can be asked."""

import contextlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa

from milepost._typing import AnyArray, FloatArray, ImageArray, IntArray
from milepost._validation import check_whole
from milepost.errors import MilepostError, SuppressFailures
from milepost.spaces.base import Space
from milepost.spaces.charts.representative_columns import RepresentativeColumns
from milepost.spaces.embeddings.bourgain import Calibration, Subsets, draw, measure, paper_repetitions
from milepost.spaces.embeddings.embedding import QUANTA, Distortion, Embedding, box_sensitivity_bound
from milepost.spaces.fields import BOOLEAN, INTEGER, NUMBER, OBJECTS, SpaceField
from milepost.spaces.kernels.kernel import Kernel
from milepost.spaces.kernels.universe import Universe
from milepost.spaces.metrics import NAMED, Metric, check_distances, edit_distance, pairwise
from milepost.spaces.objects import is_missing, json_of, key, object_list, objects_of
from milepost.storage.file_limits import FLOATS, POSITIVE_FLOATS, TensorLimit, TensorLimits

REPETITIONS = 32
MAX_QUERIES = 1 << 16
SAMPLE = 128  # queries on whose pairs the distance is checked and distortion is measured
BLOCK = 1 << 22  # distances in memory at a time


@dataclass(frozen=True, init=False, eq=False)
class AnyMetric(Space):
    """Any objects, with any distance between them, asked about at `queries` only (Figure 3, Theorem 15).

    A private record on which the distance fails is as far as the diameter from all queries. Among the queries, of
    which up to 128 are tried, a failure or NaN is an error.

    Parameters
    ----------
    distance : Metric or callable
        Returns the distance of two objects, a float; or, with `batches`, of two lists of objects, a matrix with a row
        for each object of the first. Private objects come one at a time, unless a `Metric` promises more.
        `edit_distance`, `jaccard`, `precomputed(matrix)` and `shortest_path(graph)` are ready ones.
    diameter : float
        The largest distance; longer ones, and NaN, count as this.
    queries : list
        The points that can be asked about: text, numbers, tuples, lists, arrays of numbers, or anything hashable.
    batches : bool, default False
        Whether `distance` takes two lists of objects.
    repetitions : int or "paper", default 32
        K of Figure 3, for mechanisms that work on embedding coordinates; "paper" for ⌈512(log₂k + log₂n)⌉.
    calibrate : bool, default False
        Whether embedded distances, which fall short of the metric's, are multiplied by the factor that is right on
        average on pairs of queries.
    random_state : int, default 0
        The seed of the sets of queries.
    universe : list, optional
        A public list of all possible records, queries or not. A private record that is not in it counts as the first
        in it. With δ > 0, `field` then has noise that is optimised for these records: about as much for all queries
        as for one or two. With δ = 0, `basis` does the same.

    Examples
    --------
    >>> import milepost as mp
    >>> mp.AnyMetric(mp.edit_distance, diameter=12, queries=["colour", "centre"]).embedding.dimension
    4
    """

    kind: ClassVar[str] = "any"
    spec_name: ClassVar[str] = "edit"
    fields: ClassVar[tuple[SpaceField, ...]] = (
        SpaceField(
            "queries", OBJECTS, "The only points to ask about.", ["colour", "centre"], required=True, shared_option=True
        ),
        SpaceField("diameter", NUMBER, "The largest distance; longer ones count as this.", 12, required=True),
        SpaceField("repetitions", INTEGER, "How often sets of queries are drawn.", 32, on_command_line=False),
        SpaceField(
            "calibrate",
            BOOLEAN,
            "Whether embedded distances are scaled to be right on average.",
            True,
            on_command_line=False,
        ),
    )
    tensor_limits: ClassVar[TensorLimits] = {
        "weight": POSITIVE_FLOATS,
        "measured": FLOATS,
        "query_positions": TensorLimit(np.int32),
    }
    objects: ClassVar[bool] = True
    oblivious: ClassVar[bool] = False
    thread_safe: ClassVar[bool] = False  # a user's function may not be thread-safe

    metric: Metric | None  # None in a space from a file that cannot name its metric
    _diameter: float
    queries: tuple[Any, ...]
    repetitions: int | str
    calibrate: bool
    random_state: int
    records: int | None  # the size of the universe; None where any object may be a record
    _universe: Universe | None = field(repr=False)

    def __init__(
        self,
        distance: Metric | Callable[..., Any] | None,
        diameter: float,
        queries: Sequence[Any],
        *,
        batches: bool = False,
        repetitions: int | str = REPETITIONS,
        calibrate: bool = False,
        random_state: int = 0,
        universe: Sequence[Any] | None = None,
    ) -> None:
        if not callable(distance):
            raise MilepostError(f"distance must be a function of two objects, got {distance!r}")
        _check_diameter(diameter)
        if not isinstance(distance, Metric):
            distance = Metric(distance) if batches else pairwise(distance)
        points = tuple(object_list(queries))
        if not 1 <= len(points) <= MAX_QUERIES:
            raise MilepostError(f"queries must be 1 to {MAX_QUERIES:,} points to ask about, got {len(points)}")
        is_integer = isinstance(repetitions, int) and not isinstance(repetitions, bool)
        if repetitions != "paper" and not (is_integer and 1 <= int(repetitions) <= 1 << 16):
            raise MilepostError(f'repetitions must be a whole number of at least 1, or "paper", got {repetitions!r}')
        check_whole("random_state", random_state, 0)
        records = None if universe is None else object_list(universe)
        self._set(
            {
                "metric": distance,
                "_diameter": float(diameter),
                "queries": points,
                "repetitions": repetitions,
                "calibrate": bool(calibrate),
                "random_state": random_state,
                "records": None if records is None else len(records),
                "_universe": None,
            }
        )
        _ = self._indices  # refuses queries that have no key
        self._check()
        if records is not None:
            self._set({"_universe": Universe.of(records, points, self.diameter, self._matrix)})

    def _set(self, fields: dict[str, Any]) -> None:
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @classmethod
    def from_fields(cls, values: Mapping[str, Any]) -> Self:
        """Return a space of text by edit distance."""
        return cls(edit_distance, **values)

    # points

    @property
    def diameter(self) -> float:
        """The largest distance between two points; longer ones count as this."""
        return self._diameter

    @property
    def width(self) -> int:
        """1: a point is one object."""
        return 1

    @property
    def names(self) -> tuple[str, ...]:
        """The heading of queries in a table."""
        return ("query",)

    @property
    def clipping_rule(self) -> str:
        """The rule for private values outside the space."""
        if self.records is not None:
            return (
                f"a record that is not one of the {self.records:,} of the public universe counts as the first of them"
            )
        return "distances beyond the diameter, and those that the function cannot give, count as the diameter"

    @property
    def given_queries(self) -> IntArray:
        """The indices of the queries."""
        return np.arange(len(self.queries))

    @cached_property
    def _indices(self) -> dict[Hashable, int]:
        """The index of each query in the list, the first of equal ones."""
        return {key(query): index for index, query in reversed(list(enumerate(self.queries)))}

    def is_point(self, point: Any) -> bool:
        """Return whether an object is one of the queries."""
        with contextlib.suppress(MilepostError):
            return key(point) in self._indices
        return False

    def user_point(self, query: AnyArray) -> Any:
        """Return the query itself."""
        return self.queries[int(query)]

    def parse(self, text: str) -> str:
        """Return the text itself."""
        return text

    def column_values(self, query: Any) -> tuple[Any, ...]:
        """Return the text of a query."""
        return (str(query),)

    def clip_points(self, queries: AnyArray) -> AnyArray:
        """Return queries unchanged: all are inside."""
        return queries

    def read(self, batch: pa.RecordBatch | AnyArray, first_row: int = 0) -> FloatArray:
        """Return the distances of private objects to the queries: float64[n, k], within 0..diameter."""
        if self.metric is None:
            raise MilepostError("this space came from a file, which answers its queries but cannot read records")
        records = objects_of(batch)
        for row, record in enumerate(records):
            if is_missing(record):
                raise MilepostError(f"private rows must be objects, but row {first_row + row + 1} is missing; drop it")
        if self._universe is not None:
            return self._universe.read(records)
        if self.metric.row_independent:
            with SuppressFailures():  # anything that the user's function raises on a private record
                return self._clip(self._matrix(records))
        return np.concatenate([np.empty((0, len(self.queries))), *(self._read_one(record) for record in records)])

    def _read_one(self, record: Any) -> FloatArray:
        """Return the distances of a record; silently the diameter where the function fails."""
        with SuppressFailures():
            return self._clip(self._matrix([record]))
        return np.full((1, len(self.queries)), self.diameter)

    def _clip(self, distances: FloatArray) -> FloatArray:
        np.nan_to_num(distances, copy=False, nan=self.diameter, posinf=self.diameter)
        return np.clip(distances, 0, self.diameter, out=distances)

    def read_queries(self, batch: pa.RecordBatch | AnyArray, first_row: int = 0) -> IntArray:
        """Return the indices of objects in the list of queries; refuse others."""
        indices = [self._indices.get(key(point)) for point in objects_of(batch)]
        if None in indices:
            row = indices.index(None)
            unknown = f"{objects_of(batch)[row]!r} (row {first_row + row + 1})"
            raise MilepostError(
                f"{unknown} is not one of the {len(self.queries):,} queries "
                "of this space: its embedding was made for them, so nothing is known about other points (Remark 15.1); "
                "make a release with it in queries"
            )
        return np.array(indices, dtype=np.int64)

    # distances

    def _matrix(self, objects: Sequence[Any], queries: Sequence[Any] | None = None) -> FloatArray:
        """Return the distances that the function gives, checked for shape."""
        if self.metric is None:
            raise MilepostError("this space came from a file and has no distance function")
        to = self.queries if queries is None else queries
        batches = [objects] if self.metric.row_independent else [[item] for item in objects]
        distances = np.concatenate([np.array(self.metric.matrix(batch, to), dtype=np.float64) for batch in batches])
        if distances.shape != (len(objects), len(to)):
            raise MilepostError(f"distance must give {len(objects)} × {len(to)} numbers, got shape {distances.shape}")
        return distances

    def query_distances(self, left: AnyArray, right: AnyArray) -> FloatArray:
        """Return the distances of queries to queries, given by index."""
        return self._clip(self._matrix([self.queries[k] for k in left], [self.queries[k] for k in right]))

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """Covariances that are optimised for a universe; none without one, since nothing is known about the metric."""
        return () if self._universe is None else self._universe.kernels

    @property
    def _sample(self) -> IntArray:
        """Indices of some of the queries, spread over the list."""
        count = len(self.queries)
        return np.arange(min(count, SAMPLE)) * count // min(count, SAMPLE)

    def _check(self) -> None:
        """Refuse a function that is not a distance between the queries."""
        sample = [self.queries[k] for k in self._sample]
        try:
            distances = self._matrix(sample, sample)
        except (MilepostError, KeyboardInterrupt):
            raise
        except BaseException as error:
            raise MilepostError(
                f"distance fails on the queries: {type(error).__name__}: {error}; it must take two objects, or two "
                "batches with batches=True"
            ) from error
        check_distances(distances, sample, self.diameter)

    def distance(self, records: FloatArray, queries: AnyArray) -> FloatArray:
        """Return the distances of records to some of the queries, given by index."""
        return np.asarray(records[:, queries])

    def distance_range(self, queries: AnyArray) -> tuple[FloatArray, FloatArray]:
        """Return the smallest and the largest distance of the universe to each query; without one, the default."""
        low, high = self._query_ranges[:, queries]
        return low, high

    @cached_property
    def _query_ranges(self) -> FloatArray:
        """The range of distances to each of all queries: float64[2, k]."""
        if self._universe is None:
            return np.array(super().distance_range(self.given_queries))
        return np.array([self._universe.columns.min(axis=0), self._universe.columns.max(axis=0)])

    def representative_columns(self, queries: AnyArray, max_numbers: int) -> RepresentativeColumns | None:  # noqa: ARG002
        """Return the columns of the universe, of which every record has one; None without a universe."""
        return None if self._universe is None else RepresentativeColumns(self._universe.columns[:, queries])

    # embedding coordinates

    def size_variants(self, n: int) -> Sequence[Self]:
        """Return the space, with the number of repetitions for n rows where these are those of the paper."""
        if self.repetitions != "paper":
            return (self,)
        result = object.__new__(type(self))
        fields = vars(self) | {"repetitions": paper_repetitions(len(self.queries), n)}
        result._set(fields)
        return (result,)

    @property
    def _subsets(self) -> Subsets:
        if not isinstance(self.repetitions, int):
            raise MilepostError('repetitions="paper" needs the number of rows: space.size_variants(n)[0] has it')
        return draw(len(self.queries), self.repetitions, self.random_state)

    @cached_property
    def embedding(self) -> Embedding:
        """One embedding coordinate per set of queries: the distance to its nearest member, within 0..diameter.

        The sensitivity bound is that of the box, so that privacy does not rest on the triangle inequality. The
        relative error is one that 95 % of the pairs of queries keep: no other public points can be measured.
        """
        weight = self._weight * self._calibration.factor
        high = np.full(len(weight), self.diameter)
        span = np.full(len(weight), QUANTA, dtype=np.int64)
        quantum = weight * high / span
        rounding = float(quantum.sum()) / 2  # of a query
        return Embedding(
            weight,
            np.zeros(len(weight)),
            high,
            box_sensitivity_bound(quantum, span),
            self.distortion().likely,
            clipping_error=rounding,
        )

    @cached_property
    def _weight(self) -> FloatArray:
        return self._subsets.weight

    def distortion(self) -> Distortion:
        """Return expansion and contraction (Definition 5) on pairs of queries, the only public points."""
        return self._calibration.distortion

    @cached_property
    def _calibration(self) -> Calibration:
        """Embedded distances ÷ exact ones, over pairs of some queries that are apart."""
        sample = self._sample
        distances = self._clip(self._matrix([self.queries[k] for k in sample]))
        images = self.quantize(distances) * (self.diameter / QUANTA)
        return measure(distances[:, sample], np.asarray(images), self._weight, self.calibrate)

    @cached_property
    def query_positions(self) -> IntArray:
        """Embedding positions of the queries in quanta: int64[k, D]."""
        rows = max(1, BLOCK // max(len(self.queries), len(self._weight)))
        starts = range(0, len(self.queries), rows)
        parts = [self.quantize(self._clip(self._matrix(self.queries[start : start + rows]))) for start in starts]
        return np.concatenate(parts).astype(np.int64)

    def position(self, queries: AnyArray) -> FloatArray:
        """Return the embedding positions of queries, given by index."""
        return self.query_positions[queries].astype(np.float64)

    def quantize(self, points: FloatArray) -> ImageArray:
        """Return the embedding positions of records, given by their distances to the queries."""
        nearest = self._subsets.nearest(points)
        return np.rint(nearest * (QUANTA / self.diameter)).astype(np.int32)

    # the file

    def to_json(self) -> dict[str, Any]:
        """Return the JSON that the card stores; queries that JSON cannot represent are stored as indices.

        Of a universe it has the size and the ranges of distances. A file answers without the universe, but reads no
        records.
        """
        try:
            queries = [json_of(query) for query in self.queries]
        except TypeError:
            queries = list(range(len(self.queries)))
        universe = (
            {} if self.records is None else {"universe": self.records, "query_ranges": self._query_ranges.tolist()}
        )
        return {
            "kind": self.kind,
            "metric": None if self.metric is None or self.records is not None else self.metric.name,
            "diameter": self.diameter,
            "queries": queries,
            "repetitions": self.repetitions,
            "calibrate": self.calibrate,
            "random_state": self.random_state,
            **universe,
        }

    def tensors(self) -> dict[str, AnyArray]:
        """Return positions of the queries, weights and calibration, with which a file answers without the metric."""
        calibration = [self._calibration.factor, *vars(self.distortion()).values()]
        return {
            "query_positions": self.query_positions.astype(np.int32),
            "weight": self._weight,
            "measured": np.array(calibration),
        }

    @classmethod
    def from_json(cls, card: dict[str, Any], tensors: dict[str, AnyArray]) -> Self:
        """Return the space that `to_json` and `tensors` described."""
        result = object.__new__(cls)
        _check_diameter(card["diameter"])
        fields = {key: card[key] for key in ("repetitions", "calibrate", "random_state")}
        result._set(
            fields
            | {"_diameter": card["diameter"], "metric": NAMED.get(card["metric"]), "queries": tuple(card["queries"])}
        )
        result._set({"records": card.get("universe"), "_universe": None})
        if tensors:
            positions, weight, numbers = (tensors[name] for name in ("query_positions", "weight", "measured"))
            if positions.shape != (len(result.queries), len(weight)) or numbers.shape != (4,):
                raise MilepostError("the file's embedding positions do not fit its queries")
            factor, *distortion = numbers.tolist()
            if not min(factor, *distortion[:2]) > 0:
                raise MilepostError("the file's distortion is none")
            calibration = Calibration(factor, Distortion(*distortion))
            result._set({"query_positions": positions.astype(np.int64), "_weight": weight, "_calibration": calibration})
        if "query_ranges" in card:
            ranges = np.array(card["query_ranges"], dtype=np.float64)
            if ranges.shape != (2, len(result.queries)) or not _within(ranges, result.diameter):
                raise MilepostError("the card's ranges of distances do not fit its queries")
            result._set({"_query_ranges": ranges})
        return result


def _within(ranges: FloatArray, diameter: float) -> bool:
    low, high = ranges
    return bool((low >= 0).all() and (low <= high).all() and (high <= diameter).all())


def _check_diameter(diameter: Any) -> None:
    if isinstance(diameter, bool) or not isinstance(diameter, int | float) or not 1e-100 < diameter < 1e100:
        raise MilepostError(f"diameter must be the largest distance, a positive number, got {diameter!r}")

"""Query points: one point or many, in any form, as one batch."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from milepost._typing import AnyArray
from milepost.errors import MilepostError
from milepost.ingest.batches import Batch, open_stream, space_batches, values
from milepost.ingest.dataframes import (
    FrameTemplate,
    check_rows,
    frame_template,
    from_pandas,
    from_polars,
    is_pandas,
    is_polars,
    to_readable,
)
from milepost.ingest.geopandas import to_columns
from milepost.spaces.base import Space
from milepost.spaces.distances.functions import POINT, DistanceFunction, GivenQuery
from milepost.spaces.objects import object_array, objects_of
from milepost.spaces.queries import Queries, key_of


def query_points(
    data: Any, space: Space, columns: Sequence[str] | None = None
) -> tuple[Batch, bool, FrameTemplate | None]:
    """Return query points as one batch, whether they are a single point, and the template of their frame, if any.

    columns: the names of a point's columns, if it does not have all columns of the space.
    """
    data = to_columns(data, space)
    _check(data, space)
    if space.objects:
        return _objects(data, space)
    names = space.names if columns is None else columns
    check_rows(data, None if space.columns is None else names, space.aliases)
    data = to_readable(data)
    data = data.read_all() if isinstance(data, pa.RecordBatchReader) else data
    return _rows(data, len(names))


def read_queries(data: Any, space: Space) -> tuple[Queries, bool]:
    """Return points, or queries such as `WeightedDistances`, or a list of both, and whether it is a single one."""
    if isinstance(data, GivenQuery):
        return _functions([data], space), True
    if isinstance(data, list | tuple) and any(isinstance(item, GivenQuery) for item in data):
        return _functions(data, space), False
    batch, single, _ = query_points(data, space)
    return Queries(space.read_queries(batch), space), single


def _functions(items: Sequence[Any], space: Space) -> Queries:
    """Return queries some of which are functions of the distances to several points."""
    functions: list[DistanceFunction] = []
    factors: list[float] = []
    points: list[AnyArray] = []
    for item in items:
        if isinstance(item, GivenQuery):
            function, some, factor = _function(item, space)
        else:
            batch, single, _ = query_points(item, space)
            if not single:
                raise MilepostError(f"queries must be a list of points and weighted distances, got {item!r} among them")
            function, some, factor = POINT, space.read_queries(batch), 1.0
        functions.append(function)
        factors.append(factor)
        points.append(some)
    return Queries(np.concatenate(points), space, tuple(functions), np.array(factors))


def _function(query: GivenQuery, space: Space) -> tuple[DistanceFunction, AnyArray, float]:
    """Return the function of a query, its points, each of them once and in an order of their own, and its factor."""
    batch, _, _ = query_points(query.points, space)
    points = space.read_queries(batch)
    if not len(points):
        raise MilepostError(f"{type(query).__name__} needs at least one point, got none")
    keys: list[Any] = [key_of(point) for point in points]
    first = {key: index for index, key in reversed(list(enumerate(keys)))}
    order = {key: rank for rank, key in enumerate(sorted(first))}
    function, used, factor = query.function([order[key] for key in keys])
    distinct = points[[first[key] for key in order]]
    return function, distinct[used], factor


def _check(data: Any, space: Space) -> None:
    """Refuse points in a form that cannot be read, and name one that can."""
    if isinstance(data, GivenQuery):
        raise MilepostError(
            f"expected points, got a query of several points: ask for estimate({type(data).__name__}(…))"
        )
    if data is None or (isinstance(data, dict) and not space.objects):
        order = f"a point is a list, in the order {', '.join(space.names)}" if space.names else "a point is a list"
        got = "None" if data is None else "a dict"
        raise MilepostError(f"query points must be a point, a list of points or a frame, got {got}; {order}")
    if not space.objects and isinstance(data, list | tuple) and len(data) and isinstance(data[0], dict):
        raise MilepostError("query points must be lists of numbers, got dicts; make a frame, pd.DataFrame(points)")


def _objects(data: Any, space: Space) -> tuple[AnyArray, bool, FrameTemplate | None]:
    is_table = isinstance(data, pa.Table | pa.RecordBatch)
    if not is_table and (isinstance(data, str) or not hasattr(data, "__iter__") or space.is_point(data)):
        return object_array([data]), True, None
    data = open_stream(data)
    batches = [object_array(objects_of(batch)) for batch, _ in space_batches(data, space)]
    return np.concatenate(batches) if batches else object_array([]), False, frame_template(data)


def _rows(data: Any, width: int) -> tuple[Batch, bool, FrameTemplate | None]:
    if is_pandas(data):
        if data.ndim == 1:  # a Series: one point, or the values of a one-column space
            data = data.to_frame() if width == 1 else data.to_frame().T.infer_objects()
            return from_pandas(data), width != 1, frame_template(data)
        return from_pandas(data), False, frame_template(data)
    if is_polars(data):
        return from_polars(data, range(data.width)), False, frame_template(data)
    if isinstance(data, pa.Table):
        return data.combine_chunks().to_batches()[0] if len(data) else _empty(data), False, None
    if isinstance(data, pa.RecordBatch):
        return data, False, None
    array = values(data)
    if array.ndim == 0 and width == 1:
        return array.reshape(1, 1), True, None
    if array.ndim == 1 and width == 1 and (len(array) != 1 or frame_template(data)):  # values of a one-column space
        return array.reshape(-1, 1), False, frame_template(data)
    if array.ndim == 1:
        return array.reshape(1, -1), True, None
    return array, False, None


def _empty(table: pa.Table) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([], field.type) for field in table.schema], schema=table.schema)


def named_queries(
    space: Space, points: Any, names: Sequence[Any] | None, what: str
) -> tuple[AnyArray, list[str] | None, FrameTemplate | None]:
    """Return points as the space reads them, their names (the keys of a dict) and their frame's template, if any."""
    if isinstance(points, Mapping) and names is None and not space.is_point(points):
        points, names = list(points.values()), list(points)
    batch, _, template = query_points(points, space)
    queries = space.read_queries(batch)
    if names is None:
        return queries, None, template
    if isinstance(names, str) or len(names) != len(queries):
        raise MilepostError(f"names must be a list with a name for each of the {len(queries)} {what}, got {names!r}")
    return queries, [str(name) for name in names], template

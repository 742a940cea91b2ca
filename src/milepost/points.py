"""Points: what is asked about, one point or many in whatever form, as one batch."""

from typing import Any

import numpy as np
import pyarrow as pa

from milepost.arrays import AnyArray
from milepost.data import Batch, parts_of, values
from milepost.errors import MilepostError
from milepost.frames import from_pandas, from_polars, is_pandas, is_polars
from milepost.geometry import located
from milepost.likeness import Likeness, likeness
from milepost.spaces.base import Space
from milepost.spaces.objects import object_array, objects_of


def query_points(data: Any, space: Space, width: int | None = None) -> tuple[Batch, bool, Likeness | None]:
    """Query points as one batch, whether it was one single point, and the frame that answers are to be like, if any.

    width: columns of a point, where it is not the space's own.
    """
    data = located(data, space)
    _check(data, space)
    return _objects(data, space) if space.objects else _rows(data, space.width if width is None else width)


def _check(data: Any, space: Space) -> None:
    """Refuse what could be points but for its form, and say in which it can."""
    if data is None or (isinstance(data, dict) and not space.objects):
        order = f"a point is a list, in the order {', '.join(space.names)}" if space.names else "a point is a list"
        got = "None" if data is None else "a dict"
        raise MilepostError(f"query points must be a point, a list of points or a frame, got {got}; {order}")
    if not space.objects and isinstance(data, list | tuple) and len(data) and isinstance(data[0], dict):
        raise MilepostError("query points must be lists of numbers, got dicts; make a frame, pd.DataFrame(points)")


def _objects(data: Any, space: Space) -> tuple[AnyArray, bool, Likeness | None]:
    table = isinstance(data, pa.Table | pa.RecordBatch)
    if not table and (isinstance(data, str) or not hasattr(data, "__iter__") or space.knows(data)):
        return object_array([data]), True, None
    found = [object_array(objects_of(batch)) for batch, _ in parts_of(data, space)]
    return np.concatenate(found) if found else object_array([]), False, likeness(data)


def _rows(data: Any, width: int) -> tuple[Batch, bool, Likeness | None]:
    if is_pandas(data):
        if data.ndim == 1:  # a Series: one point, or the values of a one-column space
            data = data.to_frame() if width == 1 else data.to_frame().T.infer_objects()
            return from_pandas(data), width != 1, likeness(data)
        return from_pandas(data), False, likeness(data)
    if is_polars(data):
        return from_polars(data, range(data.width)), False, likeness(data)
    if isinstance(data, pa.Table):
        return data.combine_chunks().to_batches()[0] if len(data) else _empty(data), False, None
    if isinstance(data, pa.RecordBatch):
        return data, False, None
    array = values(data)
    if array.ndim == 0 and width == 1:
        return array.reshape(1, 1), True, None
    if array.ndim == 1 and width == 1 and (len(array) != 1 or likeness(data)):  # values of a one-column space
        return array.reshape(-1, 1), False, likeness(data)
    if array.ndim == 1:
        return array.reshape(1, -1), True, None
    return array, False, None


def _empty(table: pa.Table) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([], field.type) for field in table.schema], schema=table.schema)

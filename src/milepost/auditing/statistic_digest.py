"""A digest of the exact integers that a release is computed from, to compare two readings of the same rows."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from milepost.ingest.batches import Columns
from milepost.ingest.row_attributes import Role, RowColumns
from milepost.pipeline.open_table import open_table
from milepost.spaces.base import Space, require_space


def exact_statistic_digest(
    data: Any,
    space: Space,
    *,
    columns: Columns = None,
    groups: Role = None,
    labels: Sequence[Any] | None = None,
    privacy_unit: Role = None,
    contributions: int = 1,
    row_weights: Role = None,
    max_row_weight: float | None = None,
) -> str:
    """Return a digest of the exact statistic of a table. NOT PRIVATE: for the curator alone, never for publication.

    The same rows have the same digest wherever and however they are read: from an array, from files or on a Spark
    cluster, in any order and in any number of partitions. Different digests mean that different integers would get the
    noise. With a digest, guesses of the whole table can be tested.

    Parameters
    ----------
    data : table
        The private table, as `milepost.release` takes it, Spark frames included.
    space : Space
        The public space of the rows.
    columns : list of str or int, optional
        The columns of the points in the table.
    groups : str, int or list, optional
        As in `milepost.release`, with `labels`.
    labels : list, optional
        The public labels of the groups.
    privacy_unit : str, int or list, optional
        As in `milepost.release`, with `contributions`, the largest number of counted rows of a person.
    contributions : int
        The largest number of rows of one person.
    row_weights : str, int or list, optional
        As in `milepost.release`, with `max_row_weight`.
    max_row_weight : float, optional
        The largest weight of a row.

    Returns
    -------
    str
        SHA-256 of the integers, as 64 hexadecimal digits.

    Examples
    --------
    >>> import milepost as mp
    >>> from milepost.testing import exact_statistic_digest
    >>> space = mp.L1([(0, 10)])
    >>> here = exact_statistic_digest([[1.0], [3.0], [7.0]], space)
    >>> here == exact_statistic_digest(iter([[7.0], [3.0], [1.0]]), space)
    True
    >>> here == exact_statistic_digest([[1.0], [3.0], [8.0]], space)
    False
    """
    require_space(space)
    row_columns = RowColumns(groups, labels or (), privacy_unit, contributions, row_weights, max_row_weight)
    change = row_columns.change("add-remove")  # which takes a table without rows, too
    sketch = open_table(data, space, change, columns, row_columns, stream=True).sketch(space)
    digest = sha256(b"milepost: exact statistic, version 1")
    for array in sketch.arrays:
        digest.update(repr(array.shape).encode())
        digest.update(array.astype("<i8").tobytes())
    return digest.hexdigest()

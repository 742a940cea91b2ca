"""All that golden outputs need of the library besides its public names, in one place: change it when code moves."""

import hashlib
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import typer

import milepost as mp
from milepost import cli
from milepost._typing import IntArray
from milepost.ingest.aggregation import read_sketch, read_sums
from milepost.ingest.row_attributes import RowColumns
from milepost.mechanisms.coordinate import slopes
from milepost.pipeline.selection import read_given_queries
from milepost.privacy import noise as noise  # for tests, too
from milepost.statistics.distance_sums import DistanceSums
from milepost.statistics.sketch import Sketch

Noise = Callable[[str, IntArray, float], IntArray]
GAUSSIAN_OF_SLOPES = slopes, "gaussian_each"  # where a mechanism has its noise from, for a test that changes its scale


def sketch_of(data: Any, space: Any, **row_columns: Any) -> Sketch:
    """Return the exact sketch of a table."""
    return read_sketch(data, space, row_columns=RowColumns(**row_columns))


def sums_of(data: Any, space: Any, queries: Any, **row_columns: Any) -> DistanceSums:
    """Return the exact sums of distances to queries."""
    known_queries = read_given_queries(space, queries)
    assert known_queries is not None
    return read_sums(data, space, known_queries, row_columns=RowColumns(**row_columns))


def command_line() -> Any:
    """Return the command line as a Click command: commands, their options and help."""
    return typer.main.get_command(cli.app)


def openapi_document(root: Path) -> dict[str, Any]:
    """Return the document of a service on an empty folder."""
    from milepost.service.app import make_app, openapi_document
    from milepost.service.settings import Settings
    from milepost.service.state import ServiceState

    with ServiceState(root, Settings()) as state:
        return openapi_document(make_app(state))


def no_noise(_: str, values: IntArray, __: float) -> IntArray:
    """Return the exact integers."""
    return np.array(values, dtype=np.int64)


def stream_noise(law: str, values: IntArray, scale: float) -> IntArray:
    """Add up to two scales to each integer, from a digest of law and integers: the same in any order of calls.

    The scale is rounded to four digits: its last bits, which differ between computers, must not move an integer. The
    record has the scale itself.
    """
    digest = hashlib.shake_128(law.encode() + values.tobytes()).digest(2 * values.size)
    shares = np.frombuffer(digest, dtype="<u2").astype(np.float64) / (1 << 14) - 2
    return np.asarray(values + np.rint(shares * float(f"{scale:.4g}")).astype(np.int64))


@contextmanager
def replace_noise(draw: Noise) -> Iterator[list[tuple[str, float, int]]]:
    """Replace the noise within the block; the list has the law, scale and number of draws of every call.

    Threads may add noise to several coordinates at once: the order of the list says nothing.
    """
    calls: list[tuple[str, float, int]] = []
    add = noise._add

    def add_other(law: str, values: IntArray, scale: float) -> IntArray:
        integers = np.asarray(values, dtype=np.int64)
        noise.check_scale(scale)
        calls.append((law, float(scale), integers.size))
        return draw(law, integers, scale)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mp.AccuracyWarning)  # small tables promise little
        vars(noise)["_add"] = add_other
        try:
            yield calls
        finally:
            vars(noise)["_add"] = add

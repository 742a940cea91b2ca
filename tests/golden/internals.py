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
from milepost.pipeline.selection import given_queries
from milepost.privacy import noise as noise  # for tests, too
from milepost.statistics.distance_sums import DistanceSums
from milepost.statistics.sketch import Sketch

Noise = Callable[[str, IntArray, float], IntArray]
GAUSSIAN_OF_SLOPES = slopes, "gaussian"  # where a mechanism has its noise from, for a test that changes its scale


def sketch_of(data: Any, space: Any, **roles: Any) -> Sketch:
    """The exact sketch of a table."""
    return read_sketch(data, space, roles=RowColumns(**roles))


def sums_of(data: Any, space: Any, queries: Any, **roles: Any) -> DistanceSums:
    """The exact sums of distances to queries."""
    known = given_queries(space, queries)
    assert known is not None
    return read_sums(data, space, known, roles=RowColumns(**roles))


def command_line() -> Any:
    """The command line as Click has it: commands, their options and help."""
    return typer.main.get_command(cli.app)


def openapi_document(root: Path) -> dict[str, Any]:
    """The document of a service on an empty folder."""
    from milepost.service.app import make_app, openapi_document
    from milepost.service.settings import Settings
    from milepost.service.state import ServiceState

    with ServiceState(root, Settings()) as office:
        return openapi_document(make_app(office))


def no_noise(_: str, values: IntArray, __: float) -> IntArray:
    """The exact integers."""
    return np.array(values, dtype=np.int64)


def stream_noise(law: str, values: IntArray, scale: float) -> IntArray:
    """Up to two scales on each integer, from a digest of the law and the integers: the same in any order of calls.

    The scale is rounded to four digits: its last bits, which differ between computers, must not move an integer. The
    record has the scale itself.
    """
    digest = hashlib.shake_128(law.encode() + values.tobytes()).digest(2 * values.size)
    shares = np.frombuffer(digest, dtype="<u2").astype(np.float64) / (1 << 14) - 2
    return np.asarray(values + np.rint(shares * float(f"{scale:.4g}")).astype(np.int64))


@contextmanager
def noise_replaced(draw: Noise) -> Iterator[list[tuple[str, float, int]]]:
    """Other noise while the block lasts; the list has the law, scale and number of draws of every call.

    Threads may add noise to several coordinates at once: the order of the list says nothing.
    """
    calls: list[tuple[str, float, int]] = []
    add = noise._add

    def replaced(law: str, values: IntArray, scale: float) -> IntArray:
        whole = np.asarray(values, dtype=np.int64)
        noise.check_scale(scale)
        calls.append((law, float(scale), whole.size))
        return draw(law, whole, scale)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mp.PromiseWarning)  # small tables promise little
        vars(noise)["_add"] = replaced
        try:
            yield calls
        finally:
            vars(noise)["_add"] = add

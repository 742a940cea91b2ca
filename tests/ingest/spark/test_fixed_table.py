"""A session on a Spark frame: each job must read the rows that the first one has read."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import milepost as mp
from milepost.ingest.record_source import RowSource
from milepost.ingest.row_attributes import RowColumns
from milepost.pipeline.open_table import open_table
from milepost.statistics.row_digest import Fingerprint
from tests.mechanisms.contract import silent

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore::milepost.AccuracyWarning"),
]

SPACE = mp.L2({"x": (0, 10), "y": (0, 10)})
OPTIONS: dict[str, Any] = {"epsilon": 40, "delta": 1e-6, "max_queries": 9, "mechanism": "field"}
ROLES: dict[str, Any] = {"privacy_unit": "person", "contributions": 2, "row_weights": "weight", "max_row_weight": 2.0}


@pytest.mark.parametrize("options", [{}, ROLES, {"groups": "city", "labels": ["Bonn", "Ulm"]}])
def test_the_digest_is_the_same_here_and_there(options: dict[str, Any], people: pa.Table, frame: Any) -> None:
    """In any order and partition, of all rows that are used: groups, weights, and which rows of a person."""
    roles, key = RowColumns(**options), bytes(32)
    digests = set()
    for data in (people, frame, frame.repartition(7, "y")):
        table = open_table(data, SPACE, roles.change("add-remove"), None, roles)
        fingerprint = Fingerprint(key=key)
        table.with_fingerprint(fingerprint).total()
        table.with_fingerprint(fingerprint).magnitudes()
        table.with_fingerprint(fingerprint).sketch(SPACE.size_variants(4000)[0])
        digests.add(fingerprint.expected)
    assert len(digests) == 1


@pytest.mark.parametrize("with_store", [False, True])
def test_a_person_in_every_second_reading(with_store: bool, frame: Any, tmp_path: Path) -> None:
    """Replaced by another in a task, while a file says so, so that as many rows are read."""
    flag = tmp_path / "flag"

    def replace_person(batches: Any) -> Any:
        for batch in batches:
            rows = batch.to_pandas()
            if flag.exists():
                rows.loc[rows["person"] == 7, ["x", "y"]] = 10.0
            yield pa.RecordBatch.from_pandas(rows, preserve_index=False)

    changing_frame = frame.select("x", "y", "person").mapInArrow(replace_person, "x double, y double, person bigint")
    store: dict[str, Any] = {"store": tmp_path / "s.db"} if with_store else {}
    session = mp.interactive(changing_frame, SPACE, **OPTIONS, **store)
    source = session._engine._source  # type: ignore[attr-defined]
    assert isinstance(source, RowSource)
    assert source.table.records is None
    first = session.ask([1, 2])
    flag.touch()
    with pytest.raises(mp.MilepostError, match=r"changed since the session began|session on another table"), silent():
        session.ask([3, 4])
    if with_store:
        with pytest.raises(mp.MilepostError, match="session on another table"), silent():
            mp.resume(tmp_path / "s.db", changing_frame)
    assert session.remaining == 8
    flag.unlink()
    assert session.ask([3, 4]).remaining == 7
    assert session.ask([1, 2]).value == first.value


def test_a_stored_session_goes_on_with_a_frame_or_its_rows(people: pa.Table, frame: Any, tmp_path: Path) -> None:
    """The order of rows does not matter, nor where they are."""
    path = tmp_path / "people.parquet"
    pq.write_table(people.take(np.random.default_rng(0).permutation(len(people))), path)
    session = mp.interactive(frame, SPACE, store=tmp_path / "s.db", **OPTIONS, **ROLES)
    value = session.ask([1, 2]).value
    for data in (path, frame.repartition(3)):
        resumed_session = mp.resume(tmp_path / "s.db", data, row_weights="weight")
        assert resumed_session.ask([1, 2]).value == value
        assert resumed_session.ask([5, 5]).remaining == 7

"""One Spark session for all tests of a worker, and a folder of Parquet files."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.requirements import require

SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # Java compiles little, for so little work
SETTINGS = {
    "spark.driver.extraJavaOptions": SHORT_LIVED,
    "spark.master": "local[2,4]",  # a task is tried four times, as on a cluster
    "spark.sql.shuffle.partitions": "2",
    "spark.log.level": "OFF",
}


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A session on this computer."""
    require("java")
    from milepost.spark import session

    spark_session = session(2, **SETTINGS)
    yield spark_session
    spark_session.stop()


@pytest.fixture(scope="session")
def people() -> pa.Table:
    """4,000 rows of 900 persons, with a column for every space and role."""
    rng, n = np.random.default_rng(5), 4000
    return pa.table(
        {
            "x": rng.uniform(0, 10, n),
            "y": rng.normal(5, 3, n),
            "latitude": rng.uniform(52.3, 52.7, n),
            "lon": rng.uniform(13.2, 13.6, n),
            "kind": rng.choice(["a", "b", "c"], n),
            "on": rng.random(n) < 0.3,
            "word": rng.choice(["colour", "color", "kolor", "collar"], n),
            "city": rng.choice(["Bonn", "Ulm", "Trier"], n),
            "person": rng.integers(0, 900, n),
            "weight": rng.uniform(0, 3, n),
        }
    )


@pytest.fixture(scope="session")
def folder(people: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same in five files, one of them empty."""
    path = tmp_path_factory.mktemp("people") / "people.parquet"
    path.mkdir()
    for k, (start, rows) in enumerate([(0, 900), (900, 0), (900, 100), (1000, 2500), (3500, 500)]):
        pq.write_table(people.slice(start, rows), path / f"{k}.parquet")
    return path


@pytest.fixture(scope="session")
def frame(spark: Any, folder: Path) -> Any:
    """The same as a Spark frame."""
    return spark.read.parquet(str(folder))

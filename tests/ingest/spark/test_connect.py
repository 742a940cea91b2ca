"""A session of Spark Connect, which has neither RDDs nor a Java machine of its own, gives the same integers."""

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from tests.ingest.spark.conftest import SHORT_LIVED
from tests.requirements import require

SCRIPT = """
import sys
import warnings

warnings.simplefilter("ignore")
import numpy as np
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import milepost as mp
from milepost.privacy import noise
from milepost.spark import mean_distance

noise._add = lambda law, values, scale: values
spark = SparkSession.builder.remote("local[2]").getOrCreate()
assert "connect" in type(spark).__module__
frame, table = spark.read.parquet(sys.argv[1]), pq.read_table(sys.argv[1])
said = {"epsilon": 1, "delta": 1e-6, "privacy_unit": "person", "contributions": 2, "groups": "city"}
said["labels"] = ["Bonn", "Ulm"]
space = mp.L1({"x": (0, 10), "y": (0, 10)})
there, here = (mp.release(data, space, **said) for data in (frame, table))
for name, tensor in here.statistic.tensors().items():
    assert np.array_equal(tensor, there.statistic.tensors()[name]), name
scores = frame.select(mean_distance(there, "x", "y", group="Ulm").alias("d")).toArrow().column("d")
assert sorted(scores.to_pylist()) == sorted(here.mean_distance(table.select(["x", "y"]), group="Ulm").tolist())
try:
    mp.release(frame.selectExpr("null + x as x", "y"), space, epsilon=1)
except mp.MilepostError as reason:
    print(reason)
spark.stop()
"""


@pytest.mark.slow
def test_spark_connect_gives_the_same_release(folder: Path, people: pa.Table) -> None:
    require("java")
    pytest.importorskip("grpc")
    process = subprocess.run(  # noqa: S603
        [sys.executable, "-c", SCRIPT, str(folder)],
        env=os.environ | {"PYSPARK_PYTHON": sys.executable, "JAVA_TOOL_OPTIONS": SHORT_LIVED},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert process.returncode == 0, process.stderr[-2000:]
    assert len(people) == 4000
    assert "column 'x' has a missing value" in process.stdout

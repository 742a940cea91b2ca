"""What Spark needs is asked for in one sentence; nothing here starts Spark."""

import builtins
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import numpy as np
import pytest

import milepost as mp
import milepost.spark as spark
from milepost.ingest.spark.jobs import portable_task
from milepost.ingest.spark.tasks import check_rows
from tests.requirements import require

pytestmark = pytest.mark.slow  # as all that needs PySpark
SPACE = mp.L1([(0, 10)])


class Frame:
    """What looks like a Spark frame from outside."""

    __module__ = "pyspark.sql.classic.dataframe"
    isStreaming = False  # noqa: N815
    columns = ("x",)

    def mapInArrow(self) -> None:  # noqa: N802
        """Is never called."""


Frame.__module__ = "pyspark.sql.classic.dataframe"


@pytest.fixture
def without_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "pyspark"]:
        monkeypatch.delitem(sys.modules, name)
    original_import = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> ModuleType:
        if name.split(".")[0] == "pyspark":
            raise ImportError(name)
        return original_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)


@pytest.mark.usefixtures("without_pyspark")
def test_without_pyspark_it_is_said_how_to_get_it() -> None:
    synopsis = mp.release(np.arange(10.0), SPACE, epsilon=100)
    calls: list[Callable[[], Any]] = [
        spark.session,
        lambda: mp.release(Frame(), SPACE, epsilon=1),
        lambda: spark.mean_distance(synopsis, "x"),
    ]
    for call in calls:
        with pytest.raises(mp.MilepostError, match=r"need PySpark: pip install 'milepost\[spark\]'"):
            call()


def test_without_java_it_is_said_which_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(mp.MilepostError, match="Java 17 or later, and there is none on the PATH; install it"):
        spark.session()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(mp.MilepostError, match="there is none in JAVA_HOME"):
        spark.session()


@pytest.mark.parametrize(
    ("version_output", "reason"),
    [
        ('openjdk version "11.0.2" 2019', "got Java 11 in JAVA_HOME"),
        ('java version "1.8.0_292"', "got Java 8 in"),
        ("who knows", "got one that does not say its version"),
    ],
)
def test_an_old_java_is_refused(
    version_output: str, reason: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").write_text(f"#!/bin/sh\necho '{version_output}' >&2\n")
    (tmp_path / "bin" / "java").chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(mp.MilepostError, match=reason):
        spark.session()


def test_what_is_missing_is_skipped_or_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It must not be skipped where it is named."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("MILEPOST_REQUIRE", "browser")
    with pytest.raises(pytest.skip.Exception, match="Java"):
        require("java")
    monkeypatch.setenv("MILEPOST_REQUIRE", "browser,java")
    with pytest.raises(pytest.fail.Exception, match="Java"):
        require("java")


def test_an_executor_without_milepost_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """The function that travels needs none of it."""
    task = portable_task(cast(Any, check_rows))
    monkeypatch.setitem(sys.modules, "milepost.ingest.spark.tasks", None)
    (row,) = task(iter(()))
    assert row.column("trouble").to_pylist() == [
        "an executor has no milepost, or an old one; install there what the driver has"
    ]


def test_what_a_spark_frame_cannot_do() -> None:
    from pyspark import StorageLevel

    calls: list[tuple[Callable[[], Any], str]] = [
        (lambda: mp.release(Frame(), SPACE, epsilon=1, groups=["a"], labels=["a"]), "groups must be a column's name"),
        (lambda: mp.exact_mean_distance(Frame(), SPACE, [1]), "got a Spark frame"),
        (lambda: spark.release(np.zeros((2, 1)), SPACE, epsilon=1), r"expected a Spark DataFrame, got numpy\.ndarray"),
        (lambda: mp.release(StorageLevel(False, False, False, False), SPACE, epsilon=1), "got pyspark.*StorageLevel"),
    ]

    for call, reason in calls:
        with pytest.raises(mp.MilepostError, match=reason):
            call()

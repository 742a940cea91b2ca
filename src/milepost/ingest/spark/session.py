"""Spark sessions on this computer, with workers that run the same Python."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from milepost._validation import check_whole
from milepost.errors import MilepostError
from milepost.ingest.spark.jobs import require_pyspark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JAVA = 17  # the minimum version for Spark 4
QUIET = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
LOCAL = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


def session(cores: int = 2, **settings: str) -> "SparkSession":
    """Return a Spark session on this computer, for trying things out; an existing session is returned as it is.

    Parameters
    ----------
    cores : int
        How many processors its workers use.
    **settings : str
        Settings of Spark, as in `session(4, **{"spark.driver.memory": "4g"})`.

    Returns
    -------
    SparkSession
        It runs on this computer.

    Examples
    --------
    >>> spark = milepost.spark.session(cores=2)  # doctest: +SKIP
    """
    require_pyspark()
    check_whole("cores", cores, 1)
    check_java()
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable  # else workers run whatever python3 there is
    builder = SparkSession.builder.master(f"local[{cores}]").appName("milepost")
    for name, value in (QUIET | LOCAL | settings).items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def check_java() -> None:
    """Refuse to go on without a Java that Spark runs on."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java") if home is None else shutil.which("java", path=str(Path(home) / "bin"))
    where = "on the PATH" if home is None else f"in JAVA_HOME, {home}"
    if java is None:
        raise MilepostError(
            f"Spark needs Java {JAVA} or later, and there is none {where}; install it (apt-get install "
            f"openjdk-{JAVA}-jre-headless, or a package of your system), or set JAVA_HOME to where it is"
        )
    output = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr  # noqa: S603
    version = re.search(r'version "(?:1\.)?(\d+)', output)
    if version is None or int(version[1]) < JAVA:
        what = "one that does not say its version" if version is None else f"Java {version[1]}"
        raise MilepostError(f"Spark needs Java {JAVA} or later, got {what} {where}; set JAVA_HOME to a later one")

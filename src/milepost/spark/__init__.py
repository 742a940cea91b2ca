"""Milepost on Apache Spark: rows stay on the cluster, and a release has the integers that it would have here.

`milepost.release` and `milepost.interactive` take Spark frames as they take any table. docs/spark.md.
"""

from milepost.spark.releases import release
from milepost.spark.scores import mean_distance
from milepost.spark.sessions import session

__all__ = ["mean_distance", "release", "session"]

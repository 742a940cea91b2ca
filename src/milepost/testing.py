"""Checks for spaces and mechanisms that are made outside of this package, and for two readings of the same rows.

docs/how-to/extend.md, docs/spark.md.
"""

from milepost.auditing.check_mechanism import check_mechanism
from milepost.auditing.check_space import CheckFailedError, check_space
from milepost.auditing.statistic_digest import exact_statistic_digest

__all__ = ["CheckFailedError", "check_mechanism", "check_space", "exact_statistic_digest"]

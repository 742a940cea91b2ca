"""Checks for spaces and mechanisms that are made outside of this package. docs/how-to/extend.md."""

from milepost.auditing.check_mechanism import check_mechanism
from milepost.auditing.check_space import CheckFailedError, check_space

__all__ = ["CheckFailedError", "check_mechanism", "check_space"]

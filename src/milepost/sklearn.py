"""Private estimators for scikit-learn; they need the `sklearn` extra."""

from milepost.pipeline.nearest_group import NearestGroup

__all__ = ["NearestGroup"]

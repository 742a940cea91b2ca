"""Private estimators for scikit-learn. Install them with `pip install 'milepost[sklearn]'`."""

from milepost.pipeline.mean_distance import MeanDistance
from milepost.pipeline.nearest_group import NearestGroup

__all__ = ["MeanDistance", "NearestGroup"]

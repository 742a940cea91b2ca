"""Charts: a square of the plane for every two-dimensional space."""

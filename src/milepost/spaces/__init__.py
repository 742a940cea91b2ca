"""Public: what a point is, how far two points are, and the map of points into weighted ℓ₁."""

"""Spaces, which are public: what a point is, how far two points are, and how points map into weighted ℓ₁."""

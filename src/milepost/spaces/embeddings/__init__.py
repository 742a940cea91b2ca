"""Maps of points into weighted ℓ₁."""

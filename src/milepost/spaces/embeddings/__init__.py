"""Embeddings of points into weighted ℓ₁."""

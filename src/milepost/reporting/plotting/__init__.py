"""Pictures; they need the `plots` extra (matplotlib)."""

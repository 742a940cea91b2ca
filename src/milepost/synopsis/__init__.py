"""The released object: a synopsis that answers every query, and its file."""

"""Spark frames give the integers that the same rows give here."""

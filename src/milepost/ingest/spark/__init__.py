"""Exact statistics of Spark frames, computed by tasks on the executors."""

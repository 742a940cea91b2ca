"""Exact, mergeable statistics of integers; no later layer sees a record."""

"""Distances of records to queries: tiles that fit the cache, and exact matrix products."""

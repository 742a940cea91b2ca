"""Mechanisms on embedding coordinates: one release answers every query."""

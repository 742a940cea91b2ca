"""Mechanisms on the chart of a two-dimensional space."""

"""Mechanisms on exact distances to given queries."""

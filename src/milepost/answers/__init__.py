"""Answers of a release: values and half-widths, columns, groups, sites, grids. Nothing here reads private data."""

"""The verbs, from a table to what was asked for: release, interactive, plan, find_bounds."""

"""The verbs, from a table to a result: release, interactive, plan, find_bounds."""

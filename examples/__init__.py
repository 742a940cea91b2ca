"""Examples: four stories from a table to a decision, each a program of its own. docs/examples.md tells them."""

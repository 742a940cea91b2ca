"""Examples: four programs that lead from a table to a decision. docs/examples.md explains them."""

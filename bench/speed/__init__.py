"""How long releases, plans, questions and answers take, as multiples of plain NumPy or SciPy in the same run."""

"""Privacy: guarantees, the protected change, noise, and the accounting of budgets."""

"""What guarantees cost together, what a cap allows, and the ledger that records it."""

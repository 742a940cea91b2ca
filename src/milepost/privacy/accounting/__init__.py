"""The cost of several guarantees, the caps on it, and the ledger that records it."""

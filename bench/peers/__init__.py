"""Milepost beside what users would take instead; `python -m bench.peers` runs it, docs/comparison.md shows it.

Each peer is a file here with one function `answer`, which runs in a process of its own (`apart`), the peers' packages
in an environment of their own (`environment`); arrays and JSON are the only things that pass between them.
"""

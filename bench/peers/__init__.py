"""Compare Milepost with the alternatives; `python -m bench.peers` runs the comparison, docs/comparison.md shows it.

Each peer is a file here with one function `answer`. It runs in a separate process (`worker`), and the peers' packages
are in a separate environment (`environment`); processes exchange only arrays and JSON.
"""

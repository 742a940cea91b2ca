"""Golden outputs: what the library computes for small tables, stored, so that a change of behaviour is seen.

`python -m tests.golden` compares what it computes now with `stored/`, and says what differs; `--update` writes it anew.
"""

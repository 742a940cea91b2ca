"""`python -m bench`: the names of all benchmarks, one a line."""

from pathlib import Path

for path in sorted(Path(__file__).parent.glob("[a-z]*.py")):
    if path.stem not in {"load", "run"}:
        print(path.stem)

"""`python -m bench`: the names of all benchmarks, one a line."""

from pathlib import Path

for path in sorted(Path(__file__).parent.glob("[a-z]*")):
    if (path.suffix == ".py" or (path / "__main__.py").is_file()) and path.stem not in {"load", "run"}:
        print(path.stem)

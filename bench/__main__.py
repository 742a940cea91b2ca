"""`python -m bench`: the names of all benchmarks, one a line. With `--check`: the check of each, and 1 if one fails.

Checks that measure no time run two at a time; the others follow, alone.
"""

import argparse
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TIMED = {"field", "interactive", "query", "scale", "service", "speed", "start"}


def names() -> list[str]:
    """Of all benchmarks."""
    found = sorted(Path(__file__).parent.glob("[a-z]*"))
    runs = [path for path in found if path.suffix == ".py" or (path / "__main__.py").is_file()]
    return [path.stem for path in runs if path.stem not in {"load", "run"}]


def check(name: str) -> bool:
    """Run one and print all of it when it ends; whether its bounds are kept."""
    begun = time.monotonic()
    command = [sys.executable, "-m", f"bench.{name}", "--check"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)  # noqa: S603
    verdict = "" if done.returncode == 0 else ": FAILED"
    print(f"bench.{name} --check, {time.monotonic() - begun:.0f} s{verdict}\n{done.stdout}", flush=True)
    return done.returncode == 0


def main() -> int:
    """Print names, or check."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--check", action="store_true", help="run the check of each")
    if not parser.parse_args().check:
        print("\n".join(names()))
        return 0
    with ThreadPoolExecutor(2) as pool:
        kept = list(pool.map(check, (name for name in names() if name not in TIMED)))
    kept += [check(name) for name in names() if name in TIMED]
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())

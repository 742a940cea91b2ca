"""`python -m bench` prints the names of all benchmarks, one a line; `--check` runs all checks and exits 1 if one fails.

Each check prints its CPU seconds, which should be at most 60. Checks that measure no time run two at a time; the others
run alone afterwards.
"""

import argparse
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TIMED = {"field", "interactive", "query", "scale", "service", "speed", "start"}


def names() -> list[str]:
    """Return the names of all benchmarks."""
    paths = sorted(Path(__file__).parent.glob("[a-z]*"))
    benchmarks = [path for path in paths if path.suffix == ".py" or (path / "__main__.py").is_file()]
    return [path.stem for path in benchmarks if path.stem not in {"load", "run"}]


def check(name: str) -> bool:
    """Run the check of one benchmark, print its output when it ends, and return whether its bounds hold."""
    command = [sys.executable, "-m", f"bench.{name}", "--check"]
    # two checks at a time have one core each; timed checks are compared with libraries that may use all cores
    variables = os.environ if name in TIMED else os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    with subprocess.Popen(  # noqa: S603
        command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)  # includes all processes that it waited for
        process.returncode = os.waitstatus_to_exitcode(status)
    verdict = "" if process.returncode == 0 else ": FAILED"
    cpu = usage.ru_utime + usage.ru_stime
    print(f"bench.{name} --check, {cpu:.0f} CPU s{verdict}\n{output}", flush=True)
    return process.returncode == 0


def main() -> int:
    """Print the names or run the checks, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--check", action="store_true", help="run the check of each")
    if not parser.parse_args().check:
        print("\n".join(names()))
        return 0
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(check, (name for name in names() if name not in TIMED)))
    results += [check(name) for name in names() if name in TIMED]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())

"""`python -m bench` prints the names of all benchmarks, one a line; `--check` runs all checks and exits 1 if one fails.

Each check prints its CPU seconds, which should be at most 60. Checks that measure no time run two at a time; the others
run alone afterwards. A timed check that fails runs once more, because another program may have taken the computer for
a while; it fails if both runs do. The last lines name what failed.
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


def failures(name: str) -> list[str]:
    """Run the check of one benchmark, a timed one twice if need be, and return what its last run missed."""
    missed = check(name)
    return check(name) if missed and name in TIMED else missed


def check(name: str) -> list[str]:
    """Run the check of one benchmark, print its output when it ends, and return the bounds that it missed."""
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
    if process.returncode == 0:
        return []
    missed = [line for line in output.splitlines() if line.startswith("MISSED")]
    return [f"bench.{name}: {line}" for line in missed or [f"exit code {process.returncode}"]]


def main() -> int:
    """Print the names or run the checks, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--check", action="store_true", help="run the check of each")
    if not parser.parse_args().check:
        print("\n".join(names()))
        return 0
    with ThreadPoolExecutor(2) as pool:
        parts = list(pool.map(failures, (name for name in names() if name not in TIMED)))
    parts += [failures(name) for name in names() if name in TIMED]
    missed = [line for part in parts for line in part]
    print("\n".join(missed) or "all checks hold")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

"""What `.ci/run` prints at the end, with a `make` that runs nothing."""

import os
import subprocess
from pathlib import Path

import pytest

from tests import ROOT

STAGES = ("check", "quick", "slow", "bench-check")
MAKE = """#!/bin/sh
echo "ran $1"
case $1 in quick) echo "0.50s call     tests/a.py::one"; echo "2.25s setup    tests/a.py::two" ;; esac
case $1 in slow) i=0; while [ $i -lt 12 ]; do echo "$i.10s call     tests/b.py::test_$i"; i=$((i + 1)); done ;; esac
[ "$1" != "$BROKEN" ] || exit 3
"""


def run_ci(folder: Path, failing_stage: str) -> subprocess.CompletedProcess[str]:
    """`.ci/run` where the named stage fails."""
    for name, text in {"make": MAKE, "java": "#!/bin/sh\n", "chromium": "#!/bin/sh\n"}.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    variables = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "BROKEN": failing_stage}
    command = ["bash", str(ROOT / ".ci/run")]
    return subprocess.run(command, env=variables, capture_output=True, text=True, check=False)  # noqa: S603


@pytest.mark.parametrize("failing_stage", ["", *STAGES])
def test_slow_tests_and_cpu_seconds_are_reported_even_when_a_stage_fails(tmp_path: Path, failing_stage: str) -> None:
    process = run_ci(tmp_path, failing_stage)
    assert process.returncode == (3 if failing_stage else 0)
    expected_stages = STAGES[: STAGES.index(failing_stage) + 1] if failing_stage else STAGES
    output, _, report = process.stdout.partition("\nThe slowest tests:\n")
    assert [line for line in output.splitlines() if line.startswith("ran ")] == [
        f"ran {stage}" for stage in expected_stages
    ]
    slowest, _, rest = report.partition("\nFailures:\n")
    failures, _, stages = rest.partition("\nCPU seconds of each stage:\n")
    assert failures.strip() == "none"
    assert [line.split(":")[0].strip() for line in stages.splitlines()] == list(expected_stages)
    expected = [f"{k}.10s" for k in range(11, 2, -1)] + ["2.25s"] if "slow" in expected_stages else ["2.25s", "0.50s"]
    assert [line.split()[0] for line in slowest.splitlines()] == (expected if "quick" in expected_stages else [])

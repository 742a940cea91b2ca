"""Environment: .venv-peers, which has the peers' packages and is created on first use."""

import json
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".venv-peers"
PYTHON = FOLDER / "bin" / "python"
REQUIREMENTS = Path(__file__).with_name("requirements.txt")
STATE = FOLDER / "peers.json"  # the packages that did not install, and the requirements
VERSIONS = """
import importlib.metadata, json, sys
print(json.dumps({d.metadata["Name"]: d.version for d in importlib.metadata.distributions()}))
"""


def packages() -> list[str]:
    """Return the requirements, without comments."""
    lines = (line.split("#")[0].strip() for line in REQUIREMENTS.read_text().splitlines())
    return [line for line in lines if line]


def set_up() -> dict[str, str]:
    """Create the environment unless it is complete; return the packages that do not install, and why."""
    if STATE.is_file():
        state = json.loads(STATE.read_text())
        if state["requirements"] == packages():
            return dict(state["missing"])
    start = time.perf_counter()
    print(f"setting up {FOLDER.name} (once; with JAX it is about 700 MB)", flush=True)
    _run(sys.executable, "-m", "venv", str(FOLDER))
    missing = {}
    if _pip(*packages()):  # one package does not install: install the others
        for package in packages():
            if why := _pip(package):
                missing[package] = why
    STATE.write_text(json.dumps({"requirements": packages(), "missing": missing}))
    print(f"  took {time.perf_counter() - start:.0f} s", flush=True)
    return missing


def versions(python: Path) -> dict[str, str]:
    """Return the versions of all packages in the environment."""
    return dict(json.loads(_run(str(python), "-c", VERSIONS).stdout))


def _pip(*wanted: str) -> str:
    done = _run(str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted, check=False)
    lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
    return (lines or ["pip failed"])[-1].removeprefix("ERROR: ") if done.returncode else ""


def _run(*command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=check)  # noqa: S603

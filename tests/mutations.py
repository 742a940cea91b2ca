"""`python -m tests.mutations`: break the privacy-critical code, one line at a time; the quick tests must notice.

Each mutation is applied to a copy of the tree, and its tests are run there. Exit code 1 if one survives that is not
among those that are known to, with the reason (docs/known-limitations.md).
"""

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
LONGEST = 300.0  # seconds; code that runs on for ever is noticed, too
KILLED, SURVIVED = (1, 2), 0  # exit codes of pytest: a test failed, or what it needs could not be set up


@dataclass(frozen=True)
class Mutation:
    """A fault: a text that is in a file once, and what it becomes. tests: arguments of pytest.

    harmless: why no test can notice, where that is so.
    """

    file: str
    what: str
    old: str
    new: str
    tests: str
    harmless: str = ""

    @property
    def arguments(self) -> list[str]:
        """Of pytest."""
        return shlex.split(self.tests)

    def applied(self, source: str) -> str:
        """The faulty source."""
        if source.count(self.old) != 1:
            raise ValueError(f"{self.file}: {self.old!r} is there {source.count(self.old)} times")
        return source.replace(self.old, self.new)


def mutations() -> list[Mutation]:
    """All that are listed."""
    listed = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
    return [Mutation(file, **one) for file, ones in listed.items() for one in ones]


def copied(folder: Path) -> Path:
    """The tree, without what tests make."""
    for name in ("src", "tests", "docs", "pyproject.toml", "README.md", "Makefile"):
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / name)
    return folder


def tried(mutation: Mutation, tree: Path) -> str:
    """`killed`, `survived`, or what went wrong with the trial itself."""
    path = tree / "src" / "milepost" / mutation.file
    before = path.read_text()
    path.write_text(mutation.applied(before))
    command = [sys.executable, "-B", "-m", "pytest", "-n0", "-x", "-q", "-m", "not slow", "-p", "no:cacheprovider"]
    environment = os.environ | {"PYTHONPATH": f"{tree / 'src'}{os.pathsep}{tree}", "OPENBLAS_NUM_THREADS": "1"}
    try:
        done = subprocess.run(  # noqa: S603
            command + mutation.arguments, cwd=tree, env=environment, capture_output=True, timeout=LONGEST, check=False
        )
    except subprocess.TimeoutExpired:
        return "killed"
    finally:
        path.write_text(before)
    if done.returncode in KILLED:
        return "killed"
    return "survived" if done.returncode == SURVIVED else f"no trial: {done.stdout.decode()[-300:]}"


def main() -> None:
    """Try all, or those whose file or text has the given words."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutations", description=__doc__)
    parser.add_argument("words", nargs="*", help="only mutations of files whose path has one of these in it")
    said = parser.parse_args()
    chosen = [one for one in mutations() if not said.words or any(word in one.file for word in said.words)]
    counts: dict[str, int] = {}
    bad = False
    with TemporaryDirectory() as folder:
        tree = copied(Path(folder))
        for one in chosen:
            start = time.monotonic()
            verdict = tried(one, tree)
            word = f"survived, as is known: {one.harmless}" if verdict == "survived" and one.harmless else verdict
            print(f"{one.file}: {one.what}: {word} ({time.monotonic() - start:.0f} s)", flush=True)
            counts[word.split(":")[0]] = counts.get(word.split(":")[0], 0) + 1
            bad |= verdict != "killed" and not (verdict == "survived" and one.harmless)
    print(", ".join(f"{count} {word}" for word, count in counts.items()))
    sys.exit(bad)


if __name__ == "__main__":
    main()

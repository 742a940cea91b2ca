"""`python -m tests.mutations`: break the privacy-critical code, one line at a time; the quick tests must notice.

Each mutation is applied to a copy of the tree, and its tests are run there. Exit code 1 if one survives that is not
among those that are known to, with the reason (docs/known-limitations.md).
"""

import argparse
import importlib
import os
import shlex
import shutil
import signal
import sys
import time
import tomllib
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import Phase, settings

from tests import ROOT

MAX_SECONDS = 300  # seconds; code that runs on for ever is noticed, too
HASTY = "hasty"  # of Hypothesis: an example that fails is enough, and need not be made small
OPTIONS = ("-n0", "-x", "-q", "-m", "not slow", "-p", "no:cacheprovider", f"--hypothesis-profile={HASTY}")
QUIET = ("-W", "ignore::pytest.PytestAssertRewriteWarning")
KILLED, SURVIVED = (1, 2), 0  # exit codes of pytest: a test failed, or what it needs could not be set up


# everything that a test may read
PARTS = (
    *("src", "tests", "tools", "docs", "bench", "examples", ".ci", "pyproject.toml", "Makefile", "Dockerfile"),
    *sorted(path.name for path in ROOT.glob("*.md")),
)


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
    table = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
    return [Mutation(file, **entry) for file, entries in table.items() for entry in entries]


def copy_tree(folder: Path) -> Path:
    """The tree, without what tests make."""
    for name in PARTS:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__", "_build"))
        else:
            shutil.copy(source, folder / name)
    return folder


def try_mutation(mutation: Mutation, tree: Path) -> str:
    """`killed`, `survived`, or what went wrong with the trial itself."""
    path = tree / "src" / "milepost" / mutation.file
    before = path.read_text()
    _write(path, mutation.applied(before))
    try:
        code = _run_pytest(mutation.arguments, tree)
    finally:
        _write(path, before)
    if code in KILLED:
        return "killed"
    return "survived" if code == SURVIVED else f"no trial: pytest ended with {code}"


def _write(path: Path, source: str) -> None:
    """A source, whose compiled form is forgotten."""
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        compiled.unlink()
    path.write_text(source)


def _run_pytest(arguments: list[str], tree: Path) -> int:
    """The exit code of pytest in a fork, which has other packages in memory already, and of milepost nothing."""
    child = os.fork()
    if not child:
        code = 3
        try:
            for name in [name for name in sys.modules if name.split(".")[0] in ("tests", "bench", "milepost")]:
                del sys.modules[name]
            os.chdir(tree)
            sys.path[:0] = [str(tree / "src"), str(tree)]
            null_device = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null_device, 1)
            os.dup2(null_device, 2)
            signal.alarm(MAX_SECONDS)
            code = int(pytest.main([*OPTIONS, *QUIET, *arguments]))
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    return 1 if code == -signal.SIGALRM else code


def _prepare() -> None:
    """Import what takes long and is never broken."""
    for name in (
        "numpy",
        "scipy.stats",
        "scipy.optimize",
        "opendp.combinators",
        "opendp.measurements",
        "pyarrow.dataset",
        "pandas",
    ):
        importlib.import_module(name)
    for plugin in entry_points(group="pytest11"):
        plugin.load()
    phases = [Phase.explicit, Phase.generate]
    settings.register_profile(HASTY, deadline=None, derandomize=True, max_examples=40, phases=phases)


def main() -> None:
    """Try all, or those whose file or text has the given words."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutations", description=__doc__)
    parser.add_argument("words", nargs="*", help="only mutations of files whose path has one of these in it")
    parser.add_argument("--unbroken", action="store_true", help="break nothing: all tests must pass")
    options = parser.parse_args()
    selection = [
        mutation
        for mutation in mutations()
        if not options.words or any(word in mutation.file for word in options.words)
    ]
    counts: dict[str, int] = {}
    bad = False
    _prepare()
    with TemporaryDirectory() as folder:
        tree = copy_tree(Path(folder))
        if options.unbroken:
            failed = [
                tests
                for tests in dict.fromkeys(mutation.tests for mutation in selection)
                if _run_pytest(shlex.split(tests), tree)
            ]
            print("\n".join(failed) or "all tests pass when nothing is broken")
            sys.exit(bool(failed))
        for mutation in selection:
            start = time.monotonic()
            verdict = try_mutation(mutation, tree)
            word = (
                f"survived, as is known: {mutation.harmless}"
                if verdict == "survived" and mutation.harmless
                else verdict
            )
            print(f"{mutation.file}: {mutation.what}: {word} ({time.monotonic() - start:.0f} s)", flush=True)
            counts[word.split(":")[0]] = counts.get(word.split(":")[0], 0) + 1
            bad |= verdict != "killed" and not (verdict == "survived" and mutation.harmless)
    print(", ".join(f"{count} {word}" for word, count in counts.items()))
    sys.exit(bad)


if __name__ == "__main__":
    main()

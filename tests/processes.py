"""Processes of their own, which tests let run at once, end and kill: forks of one process that has imported all.

Without that, a child would spend a second and more on imports, most of them while the library does its first work, and
a kill soon after the start would meet nothing but imports.
"""

import multiprocessing
from collections.abc import Callable
from typing import Any

PATIENCE = 300  # seconds: machines may be slow, and a process that hangs is still found

IMPORTED_LATE = (  # by the library, when it first needs them
    "milepost.interactive",
    "milepost.storage",
    "opendp.prelude",
    "pandas",
    "pyarrow.dataset",
    "safetensors.numpy",
    "scipy.optimize",
    "scipy.stats",
)
PROGRAMS = ("tests.privacy.test_ledger_faults", "tests.sessions.test_store_crashes", "tests.sessions.test_store_faults")

START = multiprocessing.get_context("forkserver")  # children of one clean process, not of the test's
START.set_forkserver_preload(["milepost", *IMPORTED_LATE, *PROGRAMS])


def start(program: Callable[..., None], *arguments: Any) -> Any:
    """A process that runs the program, a function of a module."""
    process = START.Process(target=program, args=arguments)
    process.start()
    return process

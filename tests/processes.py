"""Start processes that tests run concurrently, end or kill; each is a fork of one process that has imported everything.

Otherwise a child would spend its first seconds on imports, and a kill soon after the start would hit nothing else.
"""

import multiprocessing
from collections.abc import Callable
from typing import Any

PATIENCE = 300  # seconds: machines may be slow, and a process that hangs is still found

IMPORTED_LATE = (  # by the library, when it first needs them
    "milepost.pipeline.interactive",
    "milepost.synopsis.serialization",
    "opendp.combinators",
    "opendp.measurements",
    "pandas",
    "pyarrow.dataset",
    "safetensors.numpy",
    "scipy.optimize",
    "scipy.stats",
)
PROGRAMS = (
    "tests.privacy.accounting.test_ledger_faults",
    "tests.sessions.test_store_crashes",
    "tests.sessions.test_store_faults",
)

START = multiprocessing.get_context("forkserver")  # children of one clean process, not of the test's
START.set_forkserver_preload(["milepost", *IMPORTED_LATE, *PROGRAMS])


def start(program: Callable[..., None], *arguments: Any) -> Any:
    """A process that runs the program, a function of a module."""
    process = START.Process(target=program, args=arguments)
    process.start()
    return process

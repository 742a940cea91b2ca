"""`python -m tests.attacks.forked FOLDER`: print what two processes do after a fork, as JSON.

Run it as a separate process, whose only Python thread forks.
"""

import json
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import milepost as mp
from milepost.privacy.noise import MAX_SCALE, LaplaceStream, gaussian, laplace
from tests.attacks.cases import outcome

SCALE = MAX_SCALE  # at which two draws are the same once in 10¹⁷
PEOPLE = np.random.default_rng(0).uniform(0, 10, (200, 2))
SPACE = mp.L1([(0, 10), (0, 10)])
BUDGET: dict[str, Any] = {"epsilon": 1, "delta": 1e-6}
QUERIES = [[1.0, 2.0], [9.0, 5.0]]


def run_in_both(work: Callable[[], Any]) -> tuple[Any, Any]:
    """Return the results of the work in this process and in a fork of it, run at the same time."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, json.dumps(outcome(work)).encode())
        finally:
            os._exit(0)
    os.close(writing)
    parent_result = outcome(work)
    with os.fdopen(reading, "rb") as stream:
        child_result = stream.read()
    os.waitpid(child, 0)
    return json.loads(json.dumps(parent_result)), json.loads(child_result)


def draws(_: Path) -> tuple[Any, Any]:
    """Draw noise of every kind before the fork, and in both processes after it."""
    zeros, many_zeros = np.zeros(64, dtype=np.int64), np.zeros(4096, dtype=np.int64)

    def draw_noise() -> list[int]:
        stream = LaplaceStream(SCALE)
        arrays = [gaussian(zeros, SCALE), laplace(zeros, SCALE), gaussian(many_zeros, SCALE)]
        return [int(value) for values in arrays for value in values] + [stream.next() for _ in range(40)]

    draw_noise()
    return run_in_both(draw_noise)


def releases(_: Path) -> tuple[Any, Any]:
    """Release by every law before the fork, and in both processes after it."""

    def release_all() -> list[float]:
        params = BUDGET | {"queries": QUERIES, "epsilon": 1e-4}  # much noise
        synopses = [mp.release(PEOPLE, SPACE, mechanism=name, **params) for name in ("gaussian", "laplace", "field")]
        return [value for synopsis in synopses for value in synopsis.mean_distance(QUERIES, raw=True).tolist()]

    release_all()
    return run_in_both(release_all)


def memory_session(mechanism: str) -> tuple[Any, Any]:
    """Ask a session without a store before the fork, and in both processes after it."""
    session = mp.interactive(PEOPLE, SPACE, mechanism=mechanism, max_queries=5, **BUDGET)
    session.ask(QUERIES[0])
    return run_in_both(lambda: session.ask(QUERIES[1]).value)


def stored_session(folder: Path, mechanism: str) -> tuple[Any, Any]:
    """Ask a session in a store before the fork; after it, each process asks its own point, then two common ones."""
    store = folder / f"{mechanism}.session"
    session, parent = (
        mp.interactive(PEOPLE, SPACE, mechanism=mechanism, max_queries=5, store=store, **BUDGET),
        os.getpid(),
    )
    session.ask(QUERIES[0])

    def ask_points() -> list[Any]:
        coordinate = 3.0 if os.getpid() == parent else 6.0
        session.ask([coordinate, coordinate])
        return [session.ask([5.0, 5.0]).value, session.ask(QUERIES[0]).value]

    results = run_in_both(ask_points)
    return [*results, [session.ask([coordinate, coordinate]).value for coordinate in (3.0, 6.0)]], session.remaining


def ledger(folder: Path) -> tuple[Any, Any]:
    """Charge a ledger eight times in both, where ten charges fit; then one refunds a charge that the other uses."""
    book = mp.Ledger(folder / "ledger.db")
    book.create("people", epsilon=10)
    parent = os.getpid()

    def charge_repeatedly() -> int:
        return sum(not isinstance(outcome(book.charge, "people", mp.Guarantee(1)), str) for _ in range(8))

    counts = run_in_both(charge_repeatedly)
    book.create("others", epsilon=1)
    charge = book.charge("others", mp.Guarantee(1))

    def use_or_refund() -> Any:
        return (charge.drawn if os.getpid() == parent else charge.refund)()

    outcomes = run_in_both(use_or_refund)
    state = book.history("others")[0].state
    return (counts, str(book.remaining("people"))), (outcomes, state)


def everything(folder: Path) -> dict[str, Any]:
    """Return all results by name."""
    return {
        "draws": draws(folder),
        "releases": releases(folder),
        **{f"memory {name}": memory_session(name) for name in ("tangents", "field", "slopes")},
        **{f"store {name}": stored_session(folder, name) for name in ("tangents", "field", "slopes")},
        "ledger": ledger(folder),
    }


if __name__ == "__main__":
    warnings.simplefilter("ignore", mp.AccuracyWarning)  # of few people
    print(json.dumps(everything(Path(sys.argv[1]))))

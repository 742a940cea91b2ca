"""`python -m tests.attacks.forked FOLDER`: what two processes do after a fork, as JSON.

Run in a process of its own, whose only Python thread forks.
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

WIDE = MAX_SCALE  # at which two draws are the same once in 10¹⁷
PEOPLE = np.random.default_rng(0).uniform(0, 10, (200, 2))
SPACE = mp.L1([(0, 10), (0, 10)])
PAID: dict[str, Any] = {"epsilon": 1, "delta": 1e-6}
ASKED = [[1.0, 2.0], [9.0, 5.0]]


def both(work: Callable[[], Any]) -> tuple[Any, Any]:
    """What the work gives here and in a fork of this process, at the same time."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, json.dumps(outcome(work)).encode())
        finally:
            os._exit(0)
    os.close(writing)
    here = outcome(work)
    with os.fdopen(reading, "rb") as stream:
        there = stream.read()
    os.waitpid(child, 0)
    return json.loads(json.dumps(here)), json.loads(there)


def draws(_: Path) -> tuple[Any, Any]:
    """Noise of every kind, drawn before and after."""
    nothing, many = np.zeros(64, dtype=np.int64), np.zeros(4096, dtype=np.int64)

    def drawn() -> list[int]:
        stream = LaplaceStream(WIDE)
        several = [gaussian(nothing, WIDE), laplace(nothing, WIDE), gaussian(many, WIDE)]
        return [int(value) for values in several for value in values] + [stream.next() for _ in range(40)]

    drawn()
    return both(drawn)


def releases(_: Path) -> tuple[Any, Any]:
    """Of every law, after one was made before."""

    def released() -> list[float]:
        words = PAID | {"queries": ASKED, "epsilon": 1e-4}  # much noise
        made = [mp.release(PEOPLE, SPACE, mechanism=name, **words) for name in ("gaussian", "laplace", "field")]
        return [value for one in made for value in one.mean_distance(ASKED, raw=True).tolist()]

    released()
    return both(released)


def held_session(mechanism: str) -> tuple[Any, Any]:
    """Without a store, begun and asked before."""
    session = mp.interactive(PEOPLE, SPACE, mechanism=mechanism, max_queries=5, **PAID)
    session.ask(ASKED[0])
    return both(lambda: session.ask(ASKED[1]).value)


def kept_session(folder: Path, mechanism: str) -> tuple[Any, Any]:
    """In a store, begun and asked before; each asks one point of its own, and then both."""
    store = folder / f"{mechanism}.session"
    session, parent = (
        mp.interactive(PEOPLE, SPACE, mechanism=mechanism, max_queries=5, store=store, **PAID),
        os.getpid(),
    )
    session.ask(ASKED[0])

    def asked() -> list[Any]:
        own = 3.0 if os.getpid() == parent else 6.0
        session.ask([own, own])
        return [session.ask([5.0, 5.0]).value, session.ask(ASKED[0]).value]

    found = both(asked)
    return [*found, [session.ask([place, place]).value for place in (3.0, 6.0)]], session.remaining


def ledger(folder: Path) -> tuple[Any, Any]:
    """Both charge it eight times, where ten charges fit; then one gives back what the other wants to use."""
    book = mp.Ledger(folder / "ledger.db")
    book.create("people", epsilon=10)
    parent = os.getpid()

    def charged() -> int:
        return sum(not isinstance(outcome(book.charge, "people", mp.Guarantee(1)), str) for _ in range(8))

    found = both(charged)
    book.create("others", epsilon=1)
    charge = book.charge("others", mp.Guarantee(1))

    def moved() -> Any:
        return (charge.drawn if os.getpid() == parent else charge.refund)()

    moved_to = both(moved)
    state = book.history("others")[0].state
    return (found, str(book.left("people"))), (moved_to, state)


def everything(folder: Path) -> dict[str, Any]:
    """All of it, by name."""
    return {
        "draws": draws(folder),
        "releases": releases(folder),
        **{f"held {name}": held_session(name) for name in ("tangents", "field", "slopes")},
        **{f"kept {name}": kept_session(folder, name) for name in ("tangents", "field", "slopes")},
        "ledger": ledger(folder),
    }


if __name__ == "__main__":
    warnings.simplefilter("ignore", mp.PromiseWarning)  # of few people
    print(json.dumps(everything(Path(sys.argv[1]))))

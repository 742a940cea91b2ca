"""A small private table, and sessions on it."""

from pathlib import Path
from typing import Any

import numpy as np

import milepost as mp
from milepost.sessions.engine import Step
from milepost.sessions.session import Session
from milepost.sessions.store import Store

PEOPLE = np.random.default_rng(5).normal(5, 2, (500, 2))
SPACE = mp.L1([(0, 10), (0, 10)])
LIMIT = 400
SAID: dict[str, Any] = {"epsilon": 40, "delta": 1e-6, "max_queries": LIMIT}
KINDS = ("field", "tangents", "slopes")


def opened(path: Path, mechanism: str = "auto", people: Any = PEOPLE, space: Any = SPACE, **options: Any) -> Session:
    """A session in a store: begun, or gone on with."""
    return mp.interactive(people, space, mechanism=mechanism, store=path, **SAID | options)


def points(count: int, seed: int = 0) -> list[list[float]]:
    """Different ones, the same in every process; the game of `tangents` learns at the corners."""
    found: list[list[float]] = np.random.default_rng(seed).uniform(0, 10, (count, 2)).round(3).tolist()
    return [[0.0, 0.0], [10.0, 10.0], *found][:count]


def steps_of(path: Path) -> list[Step]:
    """All that a store has."""
    with Store(path).writing() as log:
        return log.steps(0)

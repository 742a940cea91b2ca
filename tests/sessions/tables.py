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
SESSION_PARAMS: dict[str, Any] = {"epsilon": 40, "delta": 1e-6, "max_queries": LIMIT}
KINDS = ("field", "tangents", "slopes")
PURE: dict[str, Any] = {"mechanism": "field", "delta": 0.0}
ACCOUNTING = {"field": "gaussian", "tangents": "zcdp", "slopes": "gaussian"}  # of a budget that each can be charged to


def open_session(
    path: Path, mechanism: str = "auto", people: Any = PEOPLE, space: Any = SPACE, **options: Any
) -> Session:
    """Open a session in a store, new or existing."""
    return mp.interactive(people, space, mechanism=mechanism, store=path, **SESSION_PARAMS | options)


def points(count: int, seed: int = 0) -> list[list[float]]:
    """Return distinct points, the same in every process; the game of `tangents` learns at the corners."""
    random_points: list[list[float]] = np.random.default_rng(seed).uniform(0, 10, (count, 2)).round(3).tolist()
    return [[0.0, 0.0], [10.0, 10.0], *random_points][:count]


def steps_of(path: Path) -> list[Step]:
    """Return all steps in a store."""
    with Store(path).writing() as log:
        return log.steps(0)

"""Milepost: how far is this point, on average, from the people in a private table?"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from milepost import sklearn as sklearn
    from milepost import spark as spark
    from milepost.answers.comparison import Comparison
    from milepost.answers.grid import Contours, Grid
    from milepost.answers.sites import Site, Sites
    from milepost.audit import Report, audit
    from milepost.errors import ConflictError, ExhaustedError, MilepostError, PromiseWarning
    from milepost.ingest.progress import progress
    from milepost.pipeline.find_bounds import find_bounds
    from milepost.pipeline.interactive import interactive, resume
    from milepost.pipeline.plan import Plan, plan
    from milepost.pipeline.release import exact, release
    from milepost.privacy.accounting.ledger import Ledger
    from milepost.privacy.guarantee import Guarantee
    from milepost.sessions.session import Answer, Session
    from milepost.spaces.angular import Angular
    from milepost.spaces.arbitrary import AnyMetric
    from milepost.spaces.columns import category, flag, number
    from milepost.spaces.geographic import GreatCircle
    from milepost.spaces.lp import L1, L2, Lp
    from milepost.spaces.metrics import Metric, edit_distance, jaccard, precomputed, shortest_path
    from milepost.spaces.mixed import Gower, Hamming
    from milepost.synopsis.serialization import load
    from milepost.synopsis.synopsis import Synopsis

    __version__: str

__all__ = [
    "L1",
    "L2",
    "Angular",
    "Answer",
    "AnyMetric",
    "Comparison",
    "ConflictError",
    "Contours",
    "ExhaustedError",
    "Gower",
    "GreatCircle",
    "Grid",
    "Guarantee",
    "Hamming",
    "Ledger",
    "Lp",
    "Metric",
    "MilepostError",
    "Plan",
    "PromiseWarning",
    "Report",
    "Session",
    "Site",
    "Sites",
    "Synopsis",
    "audit",
    "category",
    "edit_distance",
    "exact",
    "find_bounds",
    "flag",
    "interactive",
    "jaccard",
    "load",
    "number",
    "plan",
    "precomputed",
    "progress",
    "release",
    "resume",
    "shortest_path",
]

_HOMES = {  # the module of every name, which is loaded when the name is first used
    "answers.comparison": ("Comparison",),
    "answers.grid": (
        "Contours",
        "Grid",
    ),
    "answers.sites": (
        "Site",
        "Sites",
    ),
    "audit": (
        "Report",
        "audit",
    ),
    "errors": (
        "ConflictError",
        "ExhaustedError",
        "MilepostError",
        "PromiseWarning",
    ),
    "ingest.progress": ("progress",),
    "pipeline.find_bounds": ("find_bounds",),
    "pipeline.interactive": (
        "interactive",
        "resume",
    ),
    "pipeline.plan": (
        "Plan",
        "plan",
    ),
    "pipeline.release": (
        "exact",
        "release",
    ),
    "privacy.accounting.ledger": ("Ledger",),
    "privacy.guarantee": ("Guarantee",),
    "sessions.session": (
        "Answer",
        "Session",
    ),
    "spaces.angular": ("Angular",),
    "spaces.arbitrary": ("AnyMetric",),
    "spaces.columns": (
        "category",
        "flag",
        "number",
    ),
    "spaces.geographic": ("GreatCircle",),
    "spaces.lp": (
        "L1",
        "L2",
        "Lp",
    ),
    "spaces.metrics": (
        "Metric",
        "edit_distance",
        "jaccard",
        "precomputed",
        "shortest_path",
    ),
    "spaces.mixed": (
        "Gower",
        "Hamming",
    ),
    "synopsis.serialization": ("load",),
    "synopsis.synopsis": ("Synopsis",),
}
_HOME = {name: f"{__name__}.{home}" for home, names in _HOMES.items() for name in names}
_EXTRAS = ("sklearn", "spark")  # modules that need an extra, reached without an import of their own


class _Package(ModuleType):
    """A module whose names come when they are used; a class, so that type checkers keep to the imports above."""

    def __getattr__(self, name: str) -> Any:
        if name in _HOME:
            value = getattr(import_module(_HOME[name]), name)
            self.__dict__[name] = value
            return value
        if name in _EXTRAS:
            return import_module(f"{__name__}.{name}")
        if name == "__version__":
            return import_module("importlib.metadata").version(__name__)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=self)

    def __setattr__(self, name: str, value: Any) -> None:
        # Python sets a loaded module as an attribute of its package: `release` stays the function nevertheless
        if not (name in _HOME and isinstance(value, ModuleType)):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *__all__, *_EXTRAS})


sys.modules[__name__].__class__ = _Package

"""Milepost: how far is this point, on average, from the people in a private table?"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from milepost import sklearn as sklearn
    from milepost import spark as spark
    from milepost import testing as testing
    from milepost.answers.comparison import Comparison
    from milepost.answers.estimate import Estimate
    from milepost.answers.grid import Contours, Grid
    from milepost.answers.sites import Site, Sites
    from milepost.auditing.report import Report, audit
    from milepost.errors import AccuracyWarning, BudgetExceededError, ConflictError, LimitExceededError, MilepostError
    from milepost.ingest.progress import progress
    from milepost.mechanisms.registry import register_mechanism
    from milepost.pipeline.difference import difference, drift
    from milepost.pipeline.find_bounds import find_bounds
    from milepost.pipeline.interactive import interactive, resume
    from milepost.pipeline.plan import Plan, plan
    from milepost.pipeline.release import exact_mean_distance, release
    from milepost.privacy.accounting.ledger import Ledger
    from milepost.privacy.guarantee import Guarantee
    from milepost.reporting.description import Description
    from milepost.sessions.session import Answer, Session
    from milepost.spaces.angular import Angular
    from milepost.spaces.arbitrary import AnyMetric
    from milepost.spaces.base import Space
    from milepost.spaces.columns import category, flag, number
    from milepost.spaces.distances.functions import WeightedDistances
    from milepost.spaces.embeddings.embedding import Embedding
    from milepost.spaces.fields import SpaceField
    from milepost.spaces.geographic import GreatCircle
    from milepost.spaces.lp import L1, L2, Lp
    from milepost.spaces.metrics import Metric, edit_distance, jaccard, precomputed, shortest_path
    from milepost.spaces.mixed import Gower, Hamming
    from milepost.spaces.registry import register_space
    from milepost.synopsis.difference import Difference, Drift
    from milepost.synopsis.serialization import load
    from milepost.synopsis.synopsis import Synopsis

    __version__: str

__all__ = [
    "L1",
    "L2",
    "AccuracyWarning",
    "Angular",
    "Answer",
    "AnyMetric",
    "BudgetExceededError",
    "Comparison",
    "ConflictError",
    "Contours",
    "Description",
    "Difference",
    "Drift",
    "Embedding",
    "Estimate",
    "Gower",
    "GreatCircle",
    "Grid",
    "Guarantee",
    "Hamming",
    "Ledger",
    "LimitExceededError",
    "Lp",
    "Metric",
    "MilepostError",
    "Plan",
    "Report",
    "Session",
    "Site",
    "Sites",
    "Space",
    "SpaceField",
    "Synopsis",
    "WeightedDistances",
    "audit",
    "category",
    "difference",
    "drift",
    "edit_distance",
    "exact_mean_distance",
    "find_bounds",
    "flag",
    "interactive",
    "jaccard",
    "load",
    "number",
    "plan",
    "precomputed",
    "progress",
    "register_mechanism",
    "register_space",
    "release",
    "resume",
    "shortest_path",
]

_NAMES = {  # of each module, which is loaded when one of them is first used
    "answers.comparison": "Comparison",
    "answers.estimate": "Estimate",
    "answers.grid": "Contours Grid",
    "answers.sites": "Site Sites",
    "auditing.report": "Report audit",
    "errors": "AccuracyWarning BudgetExceededError ConflictError LimitExceededError MilepostError",
    "ingest.progress": "progress",
    "mechanisms.registry": "register_mechanism",
    "pipeline.difference": "difference drift",
    "pipeline.find_bounds": "find_bounds",
    "pipeline.interactive": "interactive resume",
    "pipeline.plan": "Plan plan",
    "pipeline.release": "exact_mean_distance release",
    "privacy.accounting.ledger": "Ledger",
    "privacy.guarantee": "Guarantee",
    "reporting.description": "Description",
    "sessions.session": "Answer Session",
    "spaces.angular": "Angular",
    "spaces.arbitrary": "AnyMetric",
    "spaces.base": "Space",
    "spaces.columns": "category flag number",
    "spaces.distances.functions": "WeightedDistances",
    "spaces.embeddings.embedding": "Embedding",
    "spaces.fields": "SpaceField",
    "spaces.geographic": "GreatCircle",
    "spaces.lp": "L1 L2 Lp",
    "spaces.metrics": "Metric edit_distance jaccard precomputed shortest_path",
    "spaces.mixed": "Gower Hamming",
    "spaces.registry": "register_space",
    "synopsis.difference": "Difference Drift",
    "synopsis.serialization": "load",
    "synopsis.synopsis": "Synopsis",
}
_MODULE_OF = {name: f"{__name__}.{module}" for module, names in _NAMES.items() for name in names.split()}
_DOORS = ("sklearn", "spark", "testing")  # public modules, loaded when they are first used

if not TYPE_CHECKING:  # type checkers keep to the imports above

    def __getattr__(name: str) -> Any:
        if name in _MODULE_OF:
            globals()[name] = value = getattr(import_module(_MODULE_OF[name]), name)
            return value
        if name in _DOORS:
            return import_module(f"{__name__}.{name}")
        if name == "__version__":
            return import_module("importlib.metadata").version(__name__)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__, *_DOORS})

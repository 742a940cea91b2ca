"""Milepost: how far is this point, on average, from the people in a private table?"""

from milepost.audit import Report, audit
from milepost.bounds import find_bounds
from milepost.comparison import Comparison
from milepost.errors import ConflictError, ExhaustedError, MilepostError, PromiseWarning
from milepost.field import Contours, Grid
from milepost.interactive import interactive, resume
from milepost.metrics import Metric, edit_distance, jaccard, precomputed, shortest_path
from milepost.plan import Plan, plan
from milepost.privacy.guarantee import Guarantee
from milepost.privacy.ledger import Ledger
from milepost.progress import progress
from milepost.release import exact, release
from milepost.sessions.session import Answer, Session
from milepost.sites import Site, Sites
from milepost.spaces import L1, L2, Angular, AnyMetric, Gower, GreatCircle, Hamming, Lp
from milepost.spaces.columns import category, flag, number
from milepost.storage import load
from milepost.synopsis import Synopsis

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

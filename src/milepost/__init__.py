"""Milepost: how far is this point, on average, from the people in a private table?"""

from milepost.audit import Report, audit
from milepost.errors import MilepostError, PromiseWarning
from milepost.metrics import Metric, edit_distance, precomputed
from milepost.plan import Plan, plan
from milepost.privacy.guarantee import Guarantee
from milepost.release import exact, interactive, release
from milepost.session import Answer, Session
from milepost.spaces import L1, L2, Angular, AnyMetric, GreatCircle, Lp
from milepost.synopsis import Synopsis, load

__all__ = [
    "L1",
    "L2",
    "Angular",
    "Answer",
    "AnyMetric",
    "GreatCircle",
    "Guarantee",
    "Lp",
    "Metric",
    "MilepostError",
    "Plan",
    "PromiseWarning",
    "Report",
    "Session",
    "Synopsis",
    "audit",
    "edit_distance",
    "exact",
    "interactive",
    "load",
    "plan",
    "precomputed",
    "release",
]

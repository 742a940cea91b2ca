"""The shipped mechanisms, each on its worst known pair of tables.

Every case runs the library's own code; only its public numbers and its tables are chosen, for the largest loss. Losses
are a few units: a given number of runs sees the largest share of a claim there, and the code is the same at any ε.
"""

from milepost.audit import matrix
from milepost.audit.case import Case
from milepost.audit.games import session_cases, tangents_cases
from milepost.audit.primitives import noise_cases, sparse_vector_cases
from milepost.audit.search import bounds_cases


def shipped_cases() -> list[Case]:
    """All of them, in the order of the report."""
    return [
        *noise_cases(),
        *sparse_vector_cases(),
        *matrix.slopes_cases(),
        *matrix.hats_cases(),
        *matrix.gaussian_cases(),
        *matrix.laplace_cases(),
        *matrix.net_cases(),
        *matrix.field_cases(),
        *tangents_cases(),
        *session_cases(),
        *bounds_cases(),
    ]

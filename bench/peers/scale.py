"""Scale: the Gaussian noise on integers for each unit of ℓ₂ sensitivity, by OpenDP's own search."""

from functools import cache

import opendp.prelude as dp

dp.enable_features("contrib")


def gaussian(scale: float) -> dp.Measurement:
    """Return the discrete Gaussian mechanism on a vector of integers."""
    return dp.m.make_gaussian(dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T=float), scale)


@cache
def relative(epsilon: float, delta: float) -> float:
    """Return the scale for (ε, δ), by way of zCDP; the search runs once in a process."""

    def approximate(scale: float) -> dp.Measurement:
        return dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(gaussian(scale)), delta)

    return float(dp.binary_search_param(approximate, d_in=1.0, d_out=(epsilon, delta)))

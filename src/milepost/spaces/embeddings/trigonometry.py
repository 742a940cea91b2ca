"""Trigonometry from additions, products, quotients and square roots only.

IEEE 754 rounds these one way, so an element's result cannot depend on its neighbors in an array. Sines and arcsines of
a library do not promise that: a vectorized loop may treat the tail of an array, or a lane next to a large number,
by other code than the rest.
"""

import math

import numpy as np

from milepost._typing import FloatArray

SINE = [(-1) ** k / math.factorial(2 * k + 1) for k in range(8)]  # what follows is below 2⁻⁵⁴ up to 45°
COSINE = [(-1) ** k / math.factorial(2 * k) for k in range(9)]
# fdlibm's arcsin(s) = s + s³·P(s²)/Q(s²) for s up to 1/2
NUMERATOR = [
    1.66666666666666657415e-01,
    -3.25565818622400915405e-01,
    2.01212532134862925881e-01,
    -4.00555345006794114027e-02,
    7.91534994289814532176e-04,
    3.47933107596021167570e-05,
]
DENOMINATOR = [
    1.0,
    -2.40339491173441421878e00,
    2.02094576023350569471e00,
    -6.88283971605453293030e-01,
    7.70381505559019352791e-02,
]


def sine_cosine(degrees: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return sin and cos of angles in degrees, up to a few turns: within 2⁻⁵¹, and exact at quarters of a turn."""
    quarters = np.rint(degrees / 90)
    rest = (degrees - 90 * quarters) * (math.pi / 180)  # the difference is exact
    square = rest * rest
    sine, cosine = rest * _polynomial(SINE, square), _polynomial(COSINE, square)
    turn = quarters.astype(np.int64) & 3
    swapped = (turn & 1) == 1
    return (
        np.where(swapped, cosine, sine) * np.where(turn >= 2, -1.0, 1.0),
        np.where(swapped, sine, cosine) * np.where((turn == 1) | (turn == 2), -1.0, 1.0),
    )


def angle(minus: FloatArray, plus: FloatArray) -> FloatArray:
    """Return the angle of two vectors of one length, from ‖x − y‖² and ‖x + y‖²: 2·atan2(‖x − y‖, ‖x + y‖).

    In radians and within 2⁻⁵⁰; arccos would lose half of the digits of a small angle.
    """
    share = np.sqrt(np.minimum(minus, plus) / (minus + plus))
    twice = 2 * _arcsine(share)
    return np.where(minus <= plus, twice, math.pi - twice)


def _arcsine(share: FloatArray) -> FloatArray:
    """Return arcsin of numbers in 0..1; above 1/2 by π/2 − 2·arcsin(√((1 − s)/2))."""
    small = share <= 0.5
    square = np.where(small, share * share, (1 - share) / 2)
    root = np.where(small, share, np.sqrt(square))
    result = root + root * (square * _polynomial(NUMERATOR, square) / _polynomial(DENOMINATOR, square))
    return np.where(small, result, math.pi / 2 - 2 * result)


def _polynomial(coefficients: list[float], x: FloatArray) -> FloatArray:
    result = np.full(x.shape, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        result *= x
        result += coefficient
    return result

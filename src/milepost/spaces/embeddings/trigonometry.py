"""Trigonometry from additions, products, quotients and square roots only.

IEEE 754 rounds these one way, so an element's result cannot depend on its neighbors in an array. Sines and arcsines of
a library do not promise that: a vectorized loop may treat the tail of an array, or a lane next to a large number,
by other code than the rest.
"""

import math
from collections.abc import Sequence

import numpy as np

from milepost._typing import AnyArray, FloatArray

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
    sine, cosine = rest * polynomial(SINE, square), polynomial(COSINE, square)
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
    return overwriting_angle(minus.copy(), plus.copy(), np.empty_like(minus), np.empty_like(minus))


def overwriting_angle(minus: FloatArray, plus: FloatArray, result: FloatArray, scratch: FloatArray) -> FloatArray:
    """Write `angle` to an array and return it; overwrite all arrays. Fresh memory would take longer than all else."""
    obtuse = minus > plus
    np.add(minus, plus, out=result)
    share = np.minimum(minus, plus, out=minus)
    share /= result
    np.sqrt(share, out=share)
    _arcsine(share, plus, result, scratch)
    result *= 2
    return _reflect(result, obtuse, math.pi, scratch)


def _arcsine(share: FloatArray, square: FloatArray, result: FloatArray, scratch: FloatArray) -> None:
    """Write arcsin of numbers in 0..1 to `result`; above 1/2 it is π/2 − 2·arcsin(√((1 − s)/2))."""
    large = share > 0.5
    np.subtract(1, share, out=square)
    square *= 0.5
    share *= share
    np.minimum(square, share, out=square)  # (1 − s)/2 is smaller than s² where s is large, and only there
    root = np.sqrt(square, out=share)  # of s² it is s itself
    polynomial(NUMERATOR, square, out=result)
    result *= square
    result /= polynomial(DENOMINATOR, square, out=scratch)
    result *= root
    result += root
    result += np.multiply(large, result, out=scratch)
    _reflect(result, large, math.pi / 2, scratch)


def _reflect(values: FloatArray, where: AnyArray, at: float, scratch: FloatArray) -> FloatArray:
    """Replace values in 0..at by at − value where a mask is true; `np.where` takes several times as long."""
    np.multiply(where, at, out=scratch)
    np.subtract(scratch, values, out=values)
    return np.asarray(np.abs(values, out=values))


def polynomial(coefficients: Sequence[float], x: FloatArray, out: FloatArray | None = None) -> FloatArray:
    """Return Σₖ cₖ·xᵏ for at least two coefficients c."""
    result = np.multiply(x, coefficients[-1], out=out)
    result += coefficients[-2]
    for coefficient in coefficients[-3::-1]:
        result *= x
        result += coefficient
    return np.asarray(result)

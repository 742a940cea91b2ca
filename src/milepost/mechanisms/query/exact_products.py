"""Exact sums of products of large integers, by matrix products of their digits in float64.

Digits are at most 2¹⁸ and a sum has at most 2¹⁴ products, so every partial sum is a whole number up to 2⁵⁰: exact in
any order of summation. The digits' sums are put together in Python's integers.
"""

from collections.abc import Sequence

import numpy as np

from milepost._typing import FloatArray

DIGIT_BITS = 18
BASE = float(1 << DIGIT_BITS)
ROW_DIGITS = 3  # of whole numbers below 2⁵³
NUMBER_DIGITS = 4  # of int64


def exact_products(rows: FloatArray, numbers: Sequence[int]) -> list[int]:
    """Return Σⱼ rows[i, j]·numbers[j] for each i: rows are whole numbers float64[m, k] below 2⁵³, numbers int64."""
    rest = np.array(numbers, dtype=np.int64)
    digits = np.empty((NUMBER_DIGITS, len(rest)))
    for power in range(NUMBER_DIGITS - 1):
        digits[power] = rest & ((1 << DIGIT_BITS) - 1)
        rest >>= DIGIT_BITS
    digits[-1] = rest  # with the sign
    return _put_together([part @ digits.T for part in _row_digits(rows)])


def exact_squares(rows: FloatArray) -> list[int]:
    """Return Σⱼ rows[i, j]² for each i."""
    digits = _row_digits(rows)
    products = [np.stack([np.einsum("ij,ij->i", left, right) for right in digits], axis=1) for left in digits]
    return _put_together(products)


def _row_digits(rows: FloatArray) -> list[FloatArray]:
    """Return digits between −2¹⁷ and 2¹⁷, the smallest first; the last one has the rest, below 2¹⁸."""
    digits, rest = [], rows
    for _ in range(ROW_DIGITS - 1):
        quotient = np.rint(rest / BASE)  # a power of two, so that quotients and remainders are exact
        digits.append(rest - quotient * BASE)
        rest = quotient
    return [*digits, rest]


def _put_together(products: Sequence[FloatArray]) -> list[int]:
    """Return the integers of products[p][i, q], which count 2^(18(p + q))."""
    result = [0] * len(products[0])
    for power, product in enumerate(products):
        for other, column in enumerate(product.T.tolist()):
            shift = DIGIT_BITS * (power + other)
            result = [total + (int(value) << shift) for total, value in zip(result, column, strict=True)]
    return result

"""Operations on each element without a gradient: comparisons, logic, bits and rounding."""

from __future__ import annotations

from typing import Any

from arraygrad.backends import Array
from arraygrad.op import constant
from arraygrad.tensor import ArrayLike


@constant
def bitwise_and(xp: Any, x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Bitwise and of integers, logical and of booleans."""
    return xp.bitwise_and(x1, x2)


@constant
def bitwise_invert(xp: Any, x: ArrayLike, /) -> Array:
    """Bitwise complement of integers, logical not of booleans."""
    return xp.bitwise_invert(x)


@constant
def bitwise_left_shift(xp: Any, x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Shift the bits of integers to the left."""
    return xp.bitwise_left_shift(x1, x2)


@constant
def bitwise_or(xp: Any, x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Bitwise or of integers, logical or of booleans."""
    return xp.bitwise_or(x1, x2)


@constant
def bitwise_right_shift(xp: Any, x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Shift the bits of integers to the right."""
    return xp.bitwise_right_shift(x1, x2)


@constant
def bitwise_xor(xp: Any, x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Bitwise exclusive or of integers, logical one of booleans."""
    return xp.bitwise_xor(x1, x2)


@constant
def ceil(xp: Any, x: ArrayLike, /) -> Array:
    """Round up. Piecewise constant: no gradient."""
    return xp.ceil(x)


@constant
def equal(xp: Any, x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Whether elements are equal."""
    return xp.equal(x1, x2)


@constant
def floor(xp: Any, x: ArrayLike, /) -> Array:
    """Round down. Piecewise constant: no gradient."""
    return xp.floor(x)


@constant
def floor_divide(xp: Any, x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Quotient rounded down. Piecewise constant: no gradient."""
    return xp.floor_divide(x1, x2)


@constant
def greater(xp: Any, x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Whether `x1 > x2`."""
    return xp.greater(x1, x2)


@constant
def greater_equal(xp: Any, x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Whether `x1 >= x2`."""
    return xp.greater_equal(x1, x2)


@constant
def isfinite(xp: Any, x: ArrayLike, /) -> Array:
    """Whether elements are neither infinite nor NaN."""
    return xp.isfinite(x)


@constant
def isinf(xp: Any, x: ArrayLike, /) -> Array:
    """Whether elements are infinite."""
    return xp.isinf(x)


@constant
def isnan(xp: Any, x: ArrayLike, /) -> Array:
    """Whether elements are NaN."""
    return xp.isnan(x)


@constant
def less(xp: Any, x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Whether `x1 < x2`."""
    return xp.less(x1, x2)


@constant
def less_equal(xp: Any, x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Whether `x1 <= x2`."""
    return xp.less_equal(x1, x2)


@constant
def logical_and(xp: Any, x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Logical and."""
    return xp.logical_and(x1, x2)


@constant
def logical_not(xp: Any, x: ArrayLike, /) -> Array:
    """Logical not."""
    return xp.logical_not(x)


@constant
def logical_or(xp: Any, x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Logical or."""
    return xp.logical_or(x1, x2)


@constant
def logical_xor(xp: Any, x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Logical exclusive or."""
    return xp.logical_xor(x1, x2)


@constant
def not_equal(xp: Any, x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Whether elements differ."""
    return xp.not_equal(x1, x2)


@constant
def round(xp: Any, x: ArrayLike, /) -> Array:
    """Round to the nearest integer, halves to even. Piecewise constant: no gradient."""
    return xp.round(x)


@constant
def signbit(xp: Any, x: ArrayLike, /) -> Array:
    """Whether the sign is negative, also of zero."""
    return xp.signbit(x)


@constant
def trunc(xp: Any, x: ArrayLike, /) -> Array:
    """Round towards zero. Piecewise constant: no gradient."""
    return xp.trunc(x)

"""Bessel functions of real arrays. Values are SciPy's and CuPy's, derivatives ours; see special.py."""

from __future__ import annotations

import math
from typing import Any

from arraygrad.backends import Array
from arraygrad.op import elementwise
from arraygrad.ops.special import near_zero, polynomial
from arraygrad.tensor import ArrayLike

#: Of J1(x) / x and I1(x) / x in powers of x * x, exact to double precision for abs(x) < 1. (DLMF 10.2.2, 10.25.2)
_I1_SERIES = [0.5 * 0.25**k / (math.factorial(k) * math.factorial(k + 1)) for k in range(10)]
_J1_SERIES = [c * (-1.0) ** k for k, c in enumerate(_I1_SERIES)]


@elementwise(lambda g, xp, x: g * xp.special.i1(x))
def i0(xp: Any, x: ArrayLike, /) -> Array:
    """Modified Bessel function of the first kind, of order 0."""
    return xp.special.i0(x)


@elementwise(
    lambda g, xp, x, out: (
        g * (xp.special.i0(x) - near_zero(xp, x, 1.0, lambda x: polynomial(x * x, _I1_SERIES), lambda x: out / x))
    )
)
def i1(xp: Any, x: ArrayLike, /) -> Array:
    """Modified Bessel function of the first kind, of order 1. The gradient at 0 is 1/2."""
    return xp.special.i1(x)


@elementwise(lambda g, xp, x, out: g * _i0e_slope(xp, x, out))
def i0e(xp: Any, x: ArrayLike, /) -> Array:
    """`exp(-abs(x)) * i0(x)`. The gradient at 0, a kink, is 0."""
    return xp.special.i0e(x)


@elementwise(lambda g, xp, x, out: g * _i1e_slope(xp, x, out))
def i1e(xp: Any, x: ArrayLike, /) -> Array:
    """`exp(-abs(x)) * i1(x)`. The gradient at 0 is 1/2."""
    return xp.special.i1e(x)


_FAR = 500.0  # where a difference of i0e and i1e is as inexact as the series below


def _far_deficit(xp: Any, size: Array) -> Array:
    """`1 - i1(x) / i0(x)` for large `x`: the quotient of the asymptotic series. (DLMF 10.40.1)"""
    return polynomial(1.0 / xp.where(size > _FAR, size, _FAR), [0.0, 1 / 2, 1 / 8, 1 / 8, 25 / 128, 13 / 32])


def _i0e_slope(xp: Any, x: Array, out: Array) -> Array:
    size, sign = xp.abs(x), xp.sign(x)
    far = -sign * out * _far_deficit(xp, size)
    return xp.where(size > _FAR, far, xp.special.i1e(x) - sign * out)


def _i1e_slope(xp: Any, x: Array, out: Array) -> Array:
    size, sign, i0e = xp.abs(x), xp.sign(x), xp.special.i0e(x)
    deficit = _far_deficit(xp, size)
    far = i0e * (deficit - (1.0 - deficit) / xp.where(size > _FAR, size, _FAR))
    by_x = near_zero(xp, x, 1.0, lambda x: xp.exp(-xp.abs(x)) * polynomial(x * x, _I1_SERIES), lambda x: out / x)
    return xp.where(size > _FAR, far, i0e - by_x - sign * out)


@elementwise(lambda g, xp, x: -g * xp.special.j1(x))
def j0(xp: Any, x: ArrayLike, /) -> Array:
    """Bessel function of the first kind, of order 0."""
    return xp.special.j0(x)


@elementwise(
    lambda g, xp, x, out: (
        g * (xp.special.j0(x) - near_zero(xp, x, 1.0, lambda x: polynomial(x * x, _J1_SERIES), lambda x: out / x))
    )
)
def j1(xp: Any, x: ArrayLike, /) -> Array:
    """Bessel function of the first kind, of order 1. The gradient at 0 is 1/2."""
    return xp.special.j1(x)


@elementwise(lambda g, xp, x: -g * xp.special.y1(x))
def y0(xp: Any, x: ArrayLike, /) -> Array:
    """Bessel function of the second kind, of order 0, for positive `x`.

    >>> import arraygrad as ag
    >>> ag.special.y0(ag.tensor([1.0, 2.0]))
    tensor([0.08825696, 0.51037567], dtype=float64, device='cpu')
    """
    return xp.special.y0(x)


@elementwise(lambda g, xp, x, out: g * (xp.special.y0(x) - out / x))
def y1(xp: Any, x: ArrayLike, /) -> Array:
    """Bessel function of the second kind, of order 1, for positive `x`.

    >>> import arraygrad as ag
    >>> ag.special.y1(ag.tensor([1.0, 2.0]))
    tensor([-0.78121282, -0.10703243], dtype=float64, device='cpu')
    """
    return xp.special.y1(x)


@elementwise(lambda g, xp, x: -g * xp.special.k1(x))
def k0(xp: Any, x: ArrayLike, /) -> Array:
    """Modified Bessel function of the second kind, of order 0, for positive `x`.

    >>> import arraygrad as ag
    >>> ag.special.k0(ag.tensor([1.0, 2.0]))
    tensor([0.42102444, 0.11389387], dtype=float64, device='cpu')
    """
    return xp.special.k0(x)


@elementwise(lambda g, xp, x, out: -g * (xp.special.k0(x) + out / x))
def k1(xp: Any, x: ArrayLike, /) -> Array:
    """Modified Bessel function of the second kind, of order 1, for positive `x`.

    >>> import arraygrad as ag
    >>> ag.special.k1(ag.tensor([1.0, 2.0]))
    tensor([0.60190723, 0.13986588], dtype=float64, device='cpu')
    """
    return xp.special.k1(x)


@elementwise(lambda g, xp, x, out: g * (out - xp.special.k1e(x)))
def k0e(xp: Any, x: ArrayLike, /) -> Array:
    """`exp(x) * k0(x)`. The gradient loses digits in proportion to `x`.

    >>> import arraygrad as ag
    >>> ag.special.k0e(ag.tensor([1.0, 2.0]))
    tensor([1.14446308, 0.84156822], dtype=float64, device='cpu')
    """
    return xp.special.k0e(x)


@elementwise(lambda g, xp, x, out: g * (out - xp.special.k0e(x) - out / x))
def k1e(xp: Any, x: ArrayLike, /) -> Array:
    """`exp(x) * k1(x)`. The gradient loses digits in proportion to `x`.

    >>> import arraygrad as ag
    >>> ag.special.k1e(ag.tensor([1.0, 2.0]))
    tensor([1.63615349, 1.03347685], dtype=float64, device='cpu')
    """
    return xp.special.k1e(x)

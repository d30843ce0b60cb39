"""Operations on each element, in the standard's order. Those without a gradient are in predicates.py."""

from __future__ import annotations

import math
from typing import Any

from arraygrad.backends import Array, is_complex, is_number
from arraygrad.op import constant, elementwise, linear
from arraygrad.tensor import ArrayLike, Tensor


def divide_or_zero(xp: Any, x1: Array, x2: Array) -> Array:
    """`x1 / x2`, and 0 where `x2` is 0."""
    is_zero = x2 == 0
    return xp.where(is_zero, 0.0, x1 / xp.where(is_zero, 1.0, x2))


def exp_of_difference(xp: Any, x1: Array, x2: Array) -> Array:
    """`exp(x1 - x2)`, and 0 where `x2`, the larger, is -inf."""
    return xp.exp(x1 - xp.where(x2 == -xp.inf, 0.0, x2))


def direction(xp: Any, x: Array) -> Array:
    """`sign(x)`. (Of complex numbers, where NumPy's takes four times as long.)"""
    if not is_complex(x):
        return xp.sign(x)
    size = xp.abs(x)
    return x / xp.where(size == 0, 1.0, size)


@elementwise(lambda g, xp, x: g * direction(xp, x))
def abs(xp: Any, x: ArrayLike, /) -> Array:
    """Absolute value. The gradient at 0 is 0."""
    return xp.abs(x)


@elementwise(lambda g, xp, x: -g / xp.sqrt(1.0 - x * x))
def acos(xp: Any, x: ArrayLike, /) -> Array:
    """Inverse cosine."""
    return xp.acos(x)


@elementwise(lambda g, xp, x: g / (xp.sqrt(x - 1.0) * xp.sqrt(x + 1.0)))
def acosh(xp: Any, x: ArrayLike, /) -> Array:
    """Inverse hyperbolic cosine. (One root of `x * x - 1` would be on the wrong side for some complex `x`.)"""
    return xp.acosh(x)


@elementwise(lambda g: g, lambda g: g)
def add(xp: Any, x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Sum of two arrays, with broadcasting.

    >>> import arraygrad as ag
    >>> ag.add(ag.tensor([1.0, 2.0]), 1.0)
    tensor([2., 3.], dtype=float64, device='cpu')
    """
    return xp.add(x1, x2)


@elementwise(lambda g, xp, x: g / xp.sqrt(1.0 - x * x))
def asin(xp: Any, x: ArrayLike, /) -> Array:
    """Inverse sine."""
    return xp.asin(x)


@elementwise(lambda g, xp, x: g / xp.sqrt(1.0 + x * x))
def asinh(xp: Any, x: ArrayLike, /) -> Array:
    """Inverse hyperbolic sine."""
    return xp.asinh(x)


@elementwise(lambda g, x: g / (1.0 + x * x))
def atan(xp: Any, x: ArrayLike, /) -> Array:
    """Inverse tangent."""
    return xp.atan(x)


@elementwise(
    lambda g, xp, x1, x2: g * divide_or_zero(xp, x2, x1 * x1 + x2 * x2),
    lambda g, xp, x1, x2: -g * divide_or_zero(xp, x1, x1 * x1 + x2 * x2),
)
def atan2(xp: Any, x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The angle of the point `(x2, x1)`. The gradient at the origin is 0."""
    return xp.atan2(x1, x2)


@elementwise(lambda g, x: g / (1.0 - x * x))
def atanh(xp: Any, x: ArrayLike, /) -> Array:
    """Inverse hyperbolic tangent."""
    return xp.atanh(x)


@elementwise(
    x=lambda g, xp, x, min, max: _where_inside(g, xp, x, min, max),
    min=lambda g, xp, x, min, max: _where_low(g, xp, x, min, max),
    max=lambda g, xp, x, min, max: _where_high(g, xp, x, min, max),
)
def clip(xp: Any, x: ArrayLike, /, min: ArrayLike | None = None, max: ArrayLike | None = None) -> Array:
    """Limit to `[min, max]`; None leaves a side open, and where they cross, `max` wins.

    The gradient goes to `x` inside and at the bounds, outside to the bound that was taken.
    """
    if min is not None:
        x = xp.maximum(x, min)
    if max is not None:
        x = xp.minimum(x, max)
    return x if min is not None or max is not None else xp.asarray(x, copy=True)


def _where_inside(g: Array, xp: Any, x: Array, low: Any, high: Any) -> Array:
    if low is not None:
        g = xp.where(x < low, 0.0, g)
    return g if high is None else xp.where(x > high, 0.0, g)


def _where_low(g: Array, xp: Any, x: Array, low: Array, high: Any) -> Array:
    g = xp.where(x < low, g, 0.0)
    return g if high is None else xp.where(low <= high, g, 0.0)


def _where_high(g: Array, xp: Any, x: Array, low: Any, high: Array) -> Array:
    return xp.where((x if low is None else xp.maximum(x, low)) > high, g, 0.0)


@elementwise(lambda g, xp: xp.conj(g), is_holomorphic=False)
def conj(xp: Any, x: ArrayLike, /) -> Array:
    """Complex conjugate."""
    return xp.conj(x)


@elementwise(lambda g, xp, x1, out: g * xp.sign(x1) * xp.sign(out))
def copysign(xp: Any, x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """`x1` with the sign of `x2`, which has no gradient."""
    return xp.copysign(x1, x2)


@elementwise(lambda g, xp, x: -g * xp.sin(x))
def cos(xp: Any, x: ArrayLike, /) -> Array:
    """Cosine."""
    return xp.cos(x)


@elementwise(lambda g, xp, x: g * xp.sinh(x))
def cosh(xp: Any, x: ArrayLike, /) -> Array:
    """Hyperbolic cosine."""
    return xp.cosh(x)


@elementwise(lambda g, x2: g / x2, lambda g, out, x2: -g * out / x2)
def divide(xp: Any, x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Quotient of two arrays, with broadcasting."""
    return xp.divide(x1, x2)


@elementwise(lambda g, out: g * out)
def exp(xp: Any, x: ArrayLike, /) -> Array:
    """Exponential function.

    >>> import arraygrad as ag
    >>> x = ag.tensor([0.0], requires_grad=True)
    >>> ag.exp(x).backward()
    >>> x.grad
    tensor([1.], dtype=float64, device='cpu')
    """
    return xp.exp(x)


@elementwise(lambda g, out: g * (out + 1.0))
def expm1(xp: Any, x: ArrayLike, /) -> Array:
    """`exp(x) - 1`, exact for small `x`."""
    return xp.expm1(x)


@elementwise(
    lambda g, xp, x1, out: g * divide_or_zero(xp, x1, out),
    lambda g, xp, x2, out: g * divide_or_zero(xp, x2, out),
)
def hypot(xp: Any, x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """`sqrt(x1 * x1 + x2 * x2)` without overflow. The gradient at the origin is 0."""
    return xp.hypot(x1, x2)


@linear(lambda g: 1j * g, is_view=True)
def imag(xp: Any, x: ArrayLike, /) -> Array:
    """Imaginary part of a complex array."""
    return xp.imag(x)


@elementwise(lambda g, x: g / x)
def log(xp: Any, x: ArrayLike, /) -> Array:
    """Natural logarithm."""
    return xp.log(x)


@elementwise(lambda g, x: g / (x * math.log(10.0)))
def log10(xp: Any, x: ArrayLike, /) -> Array:
    """Logarithm to base 10."""
    return xp.log10(x)


@elementwise(lambda g, x: g / (x + 1.0))
def log1p(xp: Any, x: ArrayLike, /) -> Array:
    """`log(1 + x)`, exact for small `x`."""
    return xp.log1p(x)


@elementwise(lambda g, x: g / (x * math.log(2.0)))
def log2(xp: Any, x: ArrayLike, /) -> Array:
    """Logarithm to base 2."""
    return xp.log2(x)


@elementwise(
    lambda g, xp, x1, out: g * exp_of_difference(xp, x1, out),
    lambda g, xp, x2, out: g * exp_of_difference(xp, x2, out),
)
def logaddexp(xp: Any, x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """`log(exp(x1) + exp(x2))` without overflow. Where both are -inf, the gradient is 0."""
    return xp.logaddexp(x1, x2)


@elementwise(
    lambda g, xp, x1, x2: xp.where(x1 == x2, 0.5 * g, xp.where(x1 < x2, 0.0, g)),
    lambda g, xp, x1, x2: xp.where(x1 == x2, 0.5 * g, xp.where(x1 > x2, 0.0, g)),
)
def maximum(xp: Any, x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The larger of two elements. At a tie each side gets half of the gradient."""
    return xp.maximum(x1, x2)


@elementwise(
    lambda g, xp, x1, x2: xp.where(x1 == x2, 0.5 * g, xp.where(x1 > x2, 0.0, g)),
    lambda g, xp, x1, x2: xp.where(x1 == x2, 0.5 * g, xp.where(x1 < x2, 0.0, g)),
)
def minimum(xp: Any, x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The smaller of two elements. At a tie each side gets half of the gradient."""
    return xp.minimum(x1, x2)


@elementwise(lambda g, x2: g * x2, lambda g, x1: g * x1)
def multiply(xp: Any, x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Product of two arrays, with broadcasting."""
    return xp.multiply(x1, x2)


@elementwise(lambda g: -g)
def negative(xp: Any, x: ArrayLike, /) -> Array:
    """`-x`."""
    return xp.negative(x)


@elementwise(lambda g: g)
def nextafter(xp: Any, x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The next number from `x1` towards `x2`. The gradient goes to `x1`."""
    return xp.nextafter(x1, x2)


@elementwise(lambda g: g)
def positive(xp: Any, x: ArrayLike, /) -> Array:
    """`+x`, a copy."""
    return xp.positive(x)


@elementwise(
    lambda g, xp, x1, x2: _grad_of_base(g, xp, x1, x2),
    lambda g, xp, x1, x2, out: _grad_of_exponent(g, xp, x1, x2, out),
)
def pow(xp: Any, x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """`x1 ** x2`, with broadcasting.

    The base's gradient is 0 where the exponent is 0, the exponent's is 0 where the base is 0.
    """
    return x1**x2 if is_number(x2) else xp.pow(x1, x2)  # the operator knows squares and roots


def _grad_of_base(g: Array, xp: Any, x1: Array, x2: Any) -> Array:
    if is_number(x2):  # a number's value is a fact of the graph, as a shape is
        return g * (x2 * x1 ** (x2 - 1)) if x2 != 0 else xp.zeros_like(g)
    # With the exponent 1 in place of -1, 0 to the power 0 - 1 is never computed.
    is_zero = x2 == 0
    return xp.where(is_zero, 0.0, g * x2 * x1 ** xp.where(is_zero, 1.0, x2 - 1))


def _grad_of_exponent(g: Array, xp: Any, x1: Any, x2: Array, out: Array) -> Array:
    base = xp.full_like(g, x1) if is_number(x1) else xp.astype(x1, out.dtype, copy=False)  # complex, if out is
    is_zero = base == 0
    return xp.where(is_zero, 0.0, g * out * xp.log(xp.where(is_zero, 1.0, base)))


@linear(lambda g: g, is_view=True)
def real(xp: Any, x: ArrayLike, /) -> Array:
    """Real part of a complex array."""
    return xp.real(x)


@elementwise(lambda g, out: -g * out * out)
def reciprocal(xp: Any, x: ArrayLike, /) -> Array:
    """`1 / x`."""
    return xp.reciprocal(x)


@elementwise(lambda g: g, lambda g, xp, x1, x2: -g * xp.floor(xp.divide(x1, x2)))
def remainder(xp: Any, x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Remainder of the division rounded down; it has the sign of `x2`."""
    return xp.remainder(x1, x2)


@constant
def _sign(xp: Any, x: ArrayLike, /) -> Array:
    return xp.sign(x)


@elementwise(
    # The part of g across the direction of x: along it, nothing changes.
    lambda g, xp, x, out: divide_or_zero(xp, g - out * xp.real(xp.conj(out) * g), xp.abs(x)),
    is_holomorphic=False,
)
def _sign_of_complex(xp: Any, x: ArrayLike, /) -> Array:
    return xp.sign(x)


def sign(x: ArrayLike, /) -> Tensor:
    """`x / abs(x)`, and 0 at 0: for real numbers -1, 0 or 1, which have no gradient."""
    return _sign_of_complex(x) if is_complex(x) else _sign(x)


@elementwise(lambda g, xp, x: g * xp.cos(x))
def sin(xp: Any, x: ArrayLike, /) -> Array:
    """Sine."""
    return xp.sin(x)


@elementwise(lambda g, xp, x: g * xp.cosh(x))
def sinh(xp: Any, x: ArrayLike, /) -> Array:
    """Hyperbolic sine."""
    return xp.sinh(x)


@elementwise(lambda g, out: 0.5 * g / out)
def sqrt(xp: Any, x: ArrayLike, /) -> Array:
    """Square root. The gradient at 0 is infinite."""
    return xp.sqrt(x)


@elementwise(lambda g, x: 2.0 * g * x)
def square(xp: Any, x: ArrayLike, /) -> Array:
    """`x * x`."""
    return xp.square(x)


@elementwise(lambda g: g, lambda g: -g)
def subtract(xp: Any, x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Difference of two arrays, with broadcasting."""
    return xp.subtract(x1, x2)


@elementwise(lambda g, out: g * (1.0 + out * out))
def tan(xp: Any, x: ArrayLike, /) -> Array:
    """Tangent."""
    return xp.tan(x)


@elementwise(lambda g, out: g * (1.0 - out * out))
def tanh(xp: Any, x: ArrayLike, /) -> Array:
    """Hyperbolic tangent."""
    return xp.tanh(x)

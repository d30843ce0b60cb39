"""Operations on each element, in the standard's order; then those that the standard lacks."""

from __future__ import annotations

import math
from typing import Any

from arraygrad.backends import Array, is_number
from arraygrad.op import constant, elementwise
from arraygrad.tensor import ArrayLike


@elementwise(lambda g, xp, x: g * xp.sign(x))
def abs(xp: Any, x: ArrayLike, /) -> Array:
    """Absolute value. The gradient at 0 is 0."""
    return xp.abs(x)


@elementwise(lambda g: g, lambda g: g)
def add(xp: Any, x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Sum of two arrays, with broadcasting.

    >>> import arraygrad as ag
    >>> ag.add(ag.tensor([1.0, 2.0]), 1.0)
    tensor([2., 3.], dtype=float64, device='cpu')
    """
    return xp.add(x1, x2)


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
        g = xp.where(x >= low, g, 0.0)
    return g if high is None else xp.where(x <= high, g, 0.0)


def _where_low(g: Array, xp: Any, x: Array, low: Array, high: Any) -> Array:
    g = xp.where(x < low, g, 0.0)
    return g if high is None else xp.where(low <= high, g, 0.0)


def _where_high(g: Array, xp: Any, x: Array, low: Any, high: Array) -> Array:
    return xp.where((x if low is None else xp.maximum(x, low)) > high, g, 0.0)


@elementwise(lambda g, xp, x: -g * xp.sin(x))
def cos(xp: Any, x: ArrayLike, /) -> Array:
    """Cosine."""
    return xp.cos(x)


@elementwise(lambda g, x2: g / x2, lambda g, out, x2: -g * out / x2)
def divide(xp: Any, x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Quotient of two arrays, with broadcasting."""
    return xp.divide(x1, x2)


@constant
def equal(xp: Any, x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Whether elements are equal."""
    return xp.equal(x1, x2)


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


@elementwise(lambda g, x: g / x)
def log(xp: Any, x: ArrayLike, /) -> Array:
    """Natural logarithm."""
    return xp.log(x)


@elementwise(lambda g, x: g / (x + 1.0))
def log1p(xp: Any, x: ArrayLike, /) -> Array:
    """`log(1 + x)`, exact for small `x`."""
    return xp.log1p(x)


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


@elementwise(
    lambda g, xp, x1, x2: xp.where(x1 == x2, 0.5 * g, xp.where(x1 > x2, g, 0.0)),
    lambda g, xp, x1, x2: xp.where(x1 == x2, 0.5 * g, xp.where(x1 < x2, g, 0.0)),
)
def maximum(xp: Any, x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The larger of two elements. At a tie each side gets half of the gradient."""
    return xp.maximum(x1, x2)


@elementwise(
    lambda g, xp, x1, x2: xp.where(x1 == x2, 0.5 * g, xp.where(x1 < x2, g, 0.0)),
    lambda g, xp, x1, x2: xp.where(x1 == x2, 0.5 * g, xp.where(x1 > x2, g, 0.0)),
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


@constant
def not_equal(xp: Any, x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Whether elements differ."""
    return xp.not_equal(x1, x2)


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
    return x1**x2  # the operator knows squares and roots; the function does not


def _grad_of_base(g: Array, xp: Any, x1: Array, x2: Any) -> Array:
    if is_number(x2):  # a number's value is a fact of the graph, as a shape is
        return g * (x2 * x1 ** (x2 - 1)) if x2 != 0 else xp.zeros_like(g)
    # With the exponent 1 in place of -1, 0 to the power 0 - 1 is never computed.
    is_zero = x2 == 0
    return xp.where(is_zero, 0.0, g * x2 * x1 ** xp.where(is_zero, 1.0, x2 - 1))


def _grad_of_exponent(g: Array, xp: Any, x1: Any, x2: Array, out: Array) -> Array:
    base = xp.full_like(g, x1) if is_number(x1) else x1
    is_zero = base == 0
    return xp.where(is_zero, 0.0, g * out * xp.log(xp.where(is_zero, 1.0, base)))


@elementwise(lambda g: g, lambda g, xp, x1, x2: -g * xp.floor(xp.divide(x1, x2)))
def remainder(xp: Any, x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Remainder of the division rounded down; it has the sign of `x2`."""
    return xp.remainder(x1, x2)


@constant
def round(xp: Any, x: ArrayLike, /) -> Array:
    """Round to the nearest integer, halves to even. Piecewise constant: no gradient."""
    return xp.round(x)


@constant
def sign(xp: Any, x: ArrayLike, /) -> Array:
    """-1, 0 or 1. Piecewise constant: no gradient."""
    return xp.sign(x)


@elementwise(lambda g, xp, x: g * xp.cos(x))
def sin(xp: Any, x: ArrayLike, /) -> Array:
    """Sine."""
    return xp.sin(x)


@elementwise(lambda g, out: 0.5 * g / out)
def sqrt(xp: Any, x: ArrayLike, /) -> Array:
    """Square root. The gradient at 0 is infinite."""
    return xp.sqrt(x)


@elementwise(lambda g: g, lambda g: -g)
def subtract(xp: Any, x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Difference of two arrays, with broadcasting."""
    return xp.subtract(x1, x2)


@elementwise(lambda g, out: g * (1.0 - out * out))
def tanh(xp: Any, x: ArrayLike, /) -> Array:
    """Hyperbolic tangent."""
    return xp.tanh(x)


@constant
def trunc(xp: Any, x: ArrayLike, /) -> Array:
    """Round towards zero. Piecewise constant: no gradient."""
    return xp.trunc(x)


# ---- Beyond the standard


@elementwise(lambda g, out: -0.5 * g * out * out * out)
def rsqrt(xp: Any, x: ArrayLike, /) -> Array:
    """`1 / sqrt(x)`."""
    return 1.0 / xp.sqrt(x)


@elementwise(lambda g, out: g * out * (1.0 - out))
def sigmoid(xp: Any, x: ArrayLike, /) -> Array:
    """`1 / (1 + exp(-x))`, without overflow and exact in both tails."""
    e = xp.exp(-xp.abs(x))
    return xp.where(x >= 0, 1.0, e) / (1.0 + e)


@elementwise(lambda g, xp, out: xp.where(out > 0, g, 0.0))
def relu(xp: Any, x: ArrayLike, /) -> Array:
    """`max(x, 0)`. The gradient at 0 is 0."""
    return xp.maximum(x, 0.0)


@elementwise(lambda g, xp, x, approximate: g * _gelu_slope(xp, x, approximate))
def gelu(xp: Any, x: ArrayLike, /, *, approximate: str = "none") -> Array:
    """`x` times the standard normal distribution function of `x`.

    `approximate="tanh"` takes the approximation `(1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2` of it
    (Hendrycks and Gimpel, 2016, arXiv:1606.08415), which needs no SciPy.

    Raises:
        ValueError: `approximate` is neither "none" nor "tanh".
    """
    return x * _gelu_gate(xp, x, approximate)


_SCALE = math.sqrt(2.0 / math.pi)


def _gelu_gate(xp: Any, x: Array, approximate: str) -> Array:
    if approximate == "none":
        return 0.5 * (1.0 + xp.erf(x / math.sqrt(2.0)))
    if approximate == "tanh":
        return 0.5 * (1.0 + xp.tanh(_SCALE * (x + 0.044715 * x * x * x)))
    raise ValueError(f'approximate is "none" or "tanh", not {approximate!r}')


def _gelu_slope(xp: Any, x: Array, approximate: str) -> Array:
    gate = _gelu_gate(xp, x, approximate)
    if approximate == "none":
        return gate + x * xp.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)
    # gate = (1 + tanh(u)) / 2, whose slope is 2 gate (1 - gate) u'.
    return gate + x * 2.0 * gate * (1.0 - gate) * _SCALE * (1.0 + 3.0 * 0.044715 * x * x)

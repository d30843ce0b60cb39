"""Special functions of statistics: entropies, losses, transformations, sums of exponentials. See special.py."""

from __future__ import annotations

import math
from typing import Any, cast

from arraygrad.backends import Array, is_number
from arraygrad.op import constant, elementwise, general
from arraygrad.ops import nn
from arraygrad.ops.creation import asarray, full_like
from arraygrad.ops.elementwise import divide_or_zero
from arraygrad.ops.manipulation import broadcast_to
from arraygrad.ops.searching import where
from arraygrad.ops.special import as_arrays, near_zero, polynomial
from arraygrad.ops.statistical import Axis, reduced_axes, restore_axes
from arraygrad.ops.utility import broadcast_shapes
from arraygrad.tensor import ArrayLike, Tensor

# ---- Information


@elementwise(lambda g, xp, x: -g * (xp.log(x) + 1.0))
def entr(xp: Any, x: ArrayLike, /) -> Array:
    """`-x * log(x)`, 0 at 0 and -inf below. The gradient at 0 is infinite."""
    return xp.special.entr(x)


@elementwise(
    lambda g, xp, x, y: g * _log_unless(xp, x, *as_arrays(xp, x, y)),
    lambda g, xp, x, y: g * _divide_at_zero(xp, *as_arrays(xp, y, x, y)),
)
def xlogy(xp: Any, x: ArrayLike, y: ArrayLike, /) -> Array:
    """`x * log(y)`, and 0 where `x` is 0, whatever `y` is.

    The gradient of `x` is `log(y)`, but 0 where `x` is 0 and `y` is not positive; that of `y` is 0 where `x` is 0.
    """
    return xp.special.xlogy(x, y)


@elementwise(
    lambda g, xp, x, y: g * _log1p_unless(xp, x, *as_arrays(xp, x, y)),
    lambda g, xp, x, y: g * _divide_at_zero(xp, *as_arrays(xp, y, x, y + 1.0)),
)
def xlog1py(xp: Any, x: ArrayLike, y: ArrayLike, /) -> Array:
    """`x * log(1 + y)`, and 0 where `x` is 0, whatever `y` is; gradients there as for `xlogy`."""
    return xp.special.xlog1py(x, y)


def _log_unless(xp: Any, x: Array, y: Array) -> Array:
    return xp.log(xp.where((x == 0) & (y <= 0), 1.0, y))


def _log1p_unless(xp: Any, x: Array, y: Array) -> Array:
    return xp.log1p(xp.where((x == 0) & (y <= -1), 0.0, y))


def _divide_at_zero(xp: Any, x: Array, y: Array) -> Array:
    """`x / y`, and 0 where `x` is 0, whatever `y` is."""
    return x / xp.where((x == 0) & (y == 0), 1.0, y)


def _log_of_ratio(xp: Any, x: Array, y: Array) -> Array:
    """`log(x / y)`, exact where they are close and where their quotient would overflow; 0 where both are 0."""
    is_close = xp.abs(x - y) <= 0.5 * y
    difference = xp.where(is_close, x - y, 0.0) / xp.where(is_close & (y > 0), y, 1.0)
    return xp.log1p(difference) + (xp.log(xp.where(is_close, 1.0, x)) - xp.log(xp.where(is_close, 1.0, y)))


@elementwise(
    lambda g, xp, x, y: g * (_log_of_ratio(xp, x, *as_arrays(xp, x, y)) + 1.0),
    lambda g, xp, x, y: -g * _divide_at_zero(xp, *as_arrays(xp, y, x, y)),
)
def rel_entr(xp: Any, x: ArrayLike, y: ArrayLike, /) -> Array:
    """`x * log(x / y)`, 0 where `x` is 0, inf where one is negative.

    The gradient of `x` at 0 is -inf, that of `y` is 0 there.
    """
    return xp.special.rel_entr(x, y)


@elementwise(
    lambda g, xp, x, y: g * _log_of_ratio(xp, x, *as_arrays(xp, x, y)),
    lambda g, xp, x, y: g * _kl_div_slope(xp, *as_arrays(xp, y, x, y)),
)
def kl_div(xp: Any, x: ArrayLike, y: ArrayLike, /) -> Array:
    """`x * log(x / y) - x + y`, `y` where `x` is 0, inf where one is negative.

    The gradient of `x` at 0 is -inf, that of `y` is 1 there.
    """
    return xp.special.kl_div(x, y)


def _kl_div_slope(xp: Any, x: Array, y: Array) -> Array:
    is_zero = x == 0
    return xp.where(is_zero, 1.0, (y - x) / xp.where(is_zero, 1.0, y))


# ---- Losses and transformations


@elementwise(
    lambda g, xp, delta, r: g * _huber_slope_of_delta(xp, delta, *as_arrays(xp, delta, r)),
    lambda g, xp, delta, r: g * _huber_slope(xp, *as_arrays(xp, r, delta, r)),
)
def huber(xp: Any, delta: ArrayLike, r: ArrayLike, /) -> Array:
    """`r * r / 2` where `abs(r) <= delta`, beyond it `delta * (abs(r) - delta / 2)`; inf for negative `delta`."""
    return xp.special.huber(delta, r)


def _huber_slope(xp: Any, delta: Array, r: Array) -> Array:
    return xp.where(xp.abs(r) <= delta, r, delta * xp.sign(r))


def _huber_slope_of_delta(xp: Any, delta: Array, r: Array) -> Array:
    size = xp.abs(r)
    return xp.where(size <= delta, 0.0, size - delta)


@elementwise(
    lambda g, xp, delta, r: g * _pseudo_huber_slope_of_delta(xp, delta, *as_arrays(xp, delta, r)),
    lambda g, xp, delta, r: g * _pseudo_huber_slope(xp, *as_arrays(xp, r, delta, r)),
)
def pseudo_huber(xp: Any, delta: ArrayLike, r: ArrayLike, /) -> Array:
    """`delta * delta * (sqrt(1 + (r / delta) ** 2) - 1)`: a smooth `huber`. Its gradients at `delta` 0 are limits."""
    return xp.special.pseudo_huber(delta, r)


def _pseudo_huber_slope(xp: Any, delta: Array, r: Array) -> Array:
    return delta * divide_or_zero(xp, r, xp.hypot(delta, r))


def _pseudo_huber_slope_of_delta(xp: Any, delta: Array, r: Array) -> Array:
    """`(h - delta) ** 2 / h` with `h = hypot(delta, r)`, without the difference."""
    h = xp.hypot(delta, r)
    ratio = divide_or_zero(xp, r, h + delta) * r
    return ratio * divide_or_zero(xp, ratio, h)


@elementwise(lambda g, xp, x, out: g * _exprel_slope(xp, x, out))
def exprel(xp: Any, x: ArrayLike, /) -> Array:
    """`(exp(x) - 1) / x`, and 1 at 0, where the gradient is 1/2."""
    return xp.special.exprel(x)


_EXPREL_SERIES = [(k + 1.0) / math.factorial(k + 2) for k in range(14)]


def _exprel_slope(xp: Any, x: Array, out: Array) -> Array:
    """`(exp(x) - out) / x`, for positive `x` as `out - (out - 1) / x` without overflow before `out` does."""

    def formula(x: Array) -> Array:
        is_left = x < 0
        left = (xp.exp(xp.where(is_left, x, 0.0)) - out) / x
        return xp.where(is_left, left, out * (1.0 - 1.0 / x) + 1.0 / x)

    return near_zero(xp, x, 0.5, lambda x: polynomial(x, _EXPREL_SERIES), formula)


@elementwise(
    lambda g, xp, x, lmbda: g * x ** (as_arrays(xp, x, lmbda)[0] - 1.0),
    lambda g, xp, x, lmbda: g * _boxcox_slope(xp, xp.log(as_arrays(xp, lmbda, x)[0]), lmbda),
)
def boxcox(xp: Any, x: ArrayLike, lmbda: ArrayLike, /) -> Array:
    """`(x ** lmbda - 1) / lmbda`, and `log(x)` where `lmbda` is 0."""
    return xp.special.boxcox(x, lmbda)


@elementwise(
    lambda g, xp, x, lmbda: g * (x + 1.0) ** (as_arrays(xp, x, lmbda)[0] - 1.0),
    lambda g, xp, x, lmbda: g * _boxcox_slope(xp, xp.log1p(as_arrays(xp, lmbda, x)[0]), lmbda),
)
def boxcox1p(xp: Any, x: ArrayLike, lmbda: ArrayLike, /) -> Array:
    """`boxcox(1 + x, lmbda)`, exact for small `x`."""
    return xp.special.boxcox1p(x, lmbda)


def _boxcox_slope(xp: Any, log: Array, lmbda: Array) -> Array:
    """`log * exprel(lmbda * log)` is the transformation; this is its derivative by `lmbda`, its limit at `x` 0."""
    is_end = log == -xp.inf
    log = xp.where(is_end, 0.0, log)
    product = lmbda * log
    slope = log * log * _exprel_slope(xp, product, xp.special.exprel(product))
    return xp.where(is_end, 1.0 / xp.where(is_end, lmbda * lmbda, 1.0), slope)


@elementwise(lambda g, xp, x: g * _sinc_slope(xp, x))
def sinc(xp: Any, x: ArrayLike, /) -> Array:
    """`sin(pi * x) / (pi * x)`, and 1 at 0, where the gradient is 0."""
    u = math.pi * xp.where(x == 0, 1.0, x)
    return xp.where(x == 0, 1.0, xp.sin(u) / u)


_SINC_SERIES = [math.pi * (-1.0) ** (k + 1) * (2 * k + 2) / math.factorial(2 * k + 3) for k in range(10)]


def _sinc_slope(xp: Any, x: Array) -> Array:
    def series(x: Array) -> Array:
        u = math.pi * x
        return u * polynomial(u * u, _SINC_SERIES)

    def formula(x: Array) -> Array:
        u = math.pi * x
        return (xp.cos(u) - xp.sin(u) / u) / x

    return near_zero(xp, x, 0.25, series, formula)


# ---- Sums of exponentials, with SciPy's signatures


def softmax(x: ArrayLike, axis: Axis = None) -> Tensor:
    """`exp(x)` divided by its sum over axes, by default all."""
    return nn.softmax(x, axis=cast("int", axis))


def log_softmax(x: ArrayLike, axis: Axis = None) -> Tensor:
    """`log(softmax(x, axis))`, finite wherever `x` is."""
    return nn.log_softmax(x, axis=cast("int", axis))


def logsumexp(
    a: ArrayLike, axis: Axis = None, b: ArrayLike | None = None, keepdims: bool = False, return_sign: bool = False
) -> Any:
    """`log(sum(b * exp(a)))` over axes, by default all, without overflow; `b` is 1 unless given.

    Where the sum is negative, NaN, or with `return_sign`, the logarithm of its size and, second, its sign.
    """
    if b is None and not return_sign:
        return nn.logsumexp(a, axis=axis, keepdims=keepdims)
    a = asarray(a)
    b = full_like(a, 1.0 if b is None else cast("float", b)) if b is None or is_number(b) else asarray(b)
    shape = broadcast_shapes(a.shape, b.shape)
    a, b = broadcast_to(a, shape), broadcast_to(b, shape)
    result = _log_of_weighted_sum(a, b, axis=axis, keepdims=keepdims)
    sign = _sign_of_weighted_sum(a, b, axis=axis, keepdims=keepdims)
    return (result, sign) if return_sign else where(sign < 0, math.nan, result)


def _weighted_sum(xp: Any, a: Array, b: Array, axis: Axis) -> tuple[Array, Array, Array, Array]:
    """`exp(a - shift)`, that times `b`, the sum of these with its axes kept, and the shift."""
    (b,) = as_arrays(xp, a, b)
    is_zero = b == 0
    shift = nn._shifted(xp, xp.where(is_zero, -xp.inf, a), axis)[1]
    e = xp.exp(a - shift)
    e = xp.where(is_zero, xp.minimum(e, xp.finfo(e.dtype).max), e)  # no 0 times inf
    return e, b * e, xp.sum(b * e, axis=axis, keepdims=True), shift


def _slope(xp: Any, g: Array, a: Array, b: Array, axis: Axis, keepdims: bool, *, of_a: bool) -> Array:
    e, terms, total, _ = _weighted_sum(xp, a, b, axis)
    part = terms if of_a else e
    return restore_axes(xp, g, a.shape, axis, keepdims) * (part / xp.where((part == 0) & (total == 0), 1.0, total))


@general(
    lambda g, xp, a, b, axis, keepdims: _slope(xp, g, a, b, axis, keepdims, of_a=True),
    lambda g, xp, a, b, axis, keepdims: _slope(xp, g, a, b, axis, keepdims, of_a=False),
)
def _log_of_weighted_sum(xp: Any, a: ArrayLike, b: ArrayLike, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    _, _, total, shift = _weighted_sum(xp, a, b, axis)
    is_zero = total == 0
    result = xp.where(is_zero, -xp.inf, xp.log(xp.abs(xp.where(is_zero, 1.0, total))) + shift)
    return _without_axes(xp, result, axis, keepdims)


@constant
def _sign_of_weighted_sum(
    xp: Any, a: ArrayLike, b: ArrayLike, /, *, axis: Axis = None, keepdims: bool = False
) -> Array:
    return _without_axes(xp, xp.sign(_weighted_sum(xp, a, b, axis)[2]), axis, keepdims)


def _without_axes(xp: Any, x: Array, axis: Axis, keepdims: bool) -> Array:
    return x if keepdims or not x.ndim else xp.squeeze(x, axis=reduced_axes(axis, x.ndim))

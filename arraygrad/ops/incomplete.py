"""Derivatives of the regularized incomplete gamma and beta functions by their parameters.

Both functions are integrals of a density up to `x`. Differentiate DLMF 8.2.4 and 8.17.1 under the integral sign: the
density is multiplied by `log(t) - digamma(a)`, or by `log(t) - digamma(a) + digamma(a + b)`, which has one zero. Up to
there the integral from 0 to `x` has an integrand of one sign. Beyond, so has the integral of the rest, which is minus
the same, as both together are the derivative of 1. So nothing cancels, and tails are exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from arraygrad.backends import Array

_START = -3.6  # exp(tau - exp(-tau)) is below 1e-17 there
_BLOCK = 8  # nodes at a time: a loop over single ones is slow for small arrays, all at once would fill the memory


def _integral(
    xp: Any, integrand: Callable[..., Array], scale: Array, extent: Array, blocks: int, parameters: list[Array]
) -> Array:
    """The integral from 0 of a function that changes no quicker than over `scale`, and has vanished at `extent`.

    The trapezoidal rule in `tau`, with `u = scale * exp(tau - exp(-tau))`: H. Takahasi and M. Mori, "Double exponential
    formulas for numerical integration" (Publ. RIMS 9, 1974), where it stands for functions with an exponential decay.
    """
    step = (xp.log(extent / scale) - _START) / (blocks * _BLOCK - 1)
    offsets = xp.stack([_START + i * step for i in range(_BLOCK)], axis=-1)
    scale, stride, *parameters = (xp.expand_dims(y, axis=-1) for y in (scale, step, *parameters))
    total = xp.zeros_like(step)
    for block in range(blocks):
        tau = offsets + block * _BLOCK * stride
        shrink = xp.exp(-tau)
        u = scale * xp.exp(tau - shrink)
        total = total + xp.sum(integrand(u, *parameters) * u * (1.0 + shrink), axis=-1)
    return total * step


def gamma_slope(xp: Any, a: Array, x: Array) -> Array:
    """The derivative of `gammainc(a, x)` by `a`."""
    digamma = xp.special.digamma(a)
    is_known = (x > 0) & (x < math.inf)  # elsewhere it is constant: 0 and 1
    is_small = x <= 1
    log_x = xp.log(xp.where(is_known, x, 1.0))
    is_lower = log_x <= digamma

    # The series of positive terms, DLMF 8.7.1, times and by whose terms the derivative is taken.
    small = xp.where(is_small & is_known, x, 1.0)
    term = total = xp.ones_like(small + a)
    harmonic = change = xp.zeros_like(total)
    for n in range(1, 22):
        term = term * small / (a + n)
        harmonic = harmonic + 1.0 / (a + n)
        total = total + term
        change = change - term * harmonic
    factor = xp.exp(xp.special.xlogy(a, small) - small - xp.special.gammaln(a + 1.0))
    near = factor * ((xp.log(small) - xp.special.digamma(a + 1.0)) * total + change)

    def density(a: Array, x: Array) -> Array:
        """Times `x`."""
        return xp.exp(xp.special.xlogy(a, x) - x - xp.special.gammaln(a))

    chosen = is_known & ~is_small & is_lower
    p, end, log_end, zero = (xp.where(chosen, *y) for y in ((a, 2.0), (x, 1.0), (log_x, 0.0), (digamma, 1.0)))
    below = density(p, end) * _integral(
        xp,
        lambda u, p, end, weight: (weight - u) * xp.exp(-p * u - end * xp.expm1(-u)),
        1.0 / (p - end + xp.sqrt(end) + 1.0),
        (40.0 + end) / p,
        8,
        [p, end, log_end - zero],
    )
    chosen = is_known & ~is_small & ~is_lower
    q, begin, log_begin, zero = (xp.where(chosen, *y) for y in ((a, 1.0), (x, 2.0), (log_x, 1.0), (digamma, 0.0)))
    above = density(q, begin) * _integral(
        xp,
        lambda u, q, begin, weight: (weight - xp.log1p(u)) * xp.exp((q - 1.0) * xp.log1p(u) - begin * u),
        1.0 / (begin - q + xp.sqrt(begin) + 1.0),
        (80.0 + xp.sqrt(80.0 * begin)) / begin,
        8,
        [q, begin, zero - log_begin],
    )
    slope = xp.where(is_small, near, xp.where(is_lower, below, above))
    return xp.where(is_known, slope, 0.0)


def beta_slope(xp: Any, a: Array, b: Array, x: Array, rest: Array) -> Array:
    """The derivative of `betainc(a, b, x)` by `a`. `rest` is `1 - x`, which may be too small to be seen in `x`.

    That by `b` is `-beta_slope(xp, b, a, rest, x)`.
    """
    is_known = (x > 0) & (rest > 0)
    x, rest = xp.where(is_known, x, 0.5), xp.where(is_known, rest, 0.5)
    zero = xp.special.digamma(a) - xp.special.digamma(a + b)
    log_x = xp.log(x)
    is_lower = log_x <= zero
    # From the end at x: `t = inner * exp(-u)`, or `1 - t = inner * exp(-u)`.
    p, q = xp.where(is_lower, a, b), xp.where(is_lower, b, a)
    inner, outer = xp.where(is_lower, x, rest), xp.where(is_lower, rest, x)
    ratio, log_outer = inner / outer, xp.log(outer)
    sign = xp.where(is_lower, xp.ones_like(zero), -1.0)

    def integrand(u: Array, p: Array, q: Array, ratio: Array, sign: Array, weight: Array) -> Array:
        growth = xp.log1p(-ratio * xp.expm1(-u))  # the logarithm of (1 - t) or t, by that at the end
        return (weight - xp.where(sign > 0, u, growth)) * xp.exp((q - 1.0) * growth - p * u)

    weight = sign * (log_x - zero)
    steepness = p + (1.0 + xp.abs(q - 1.0)) * ratio + xp.sqrt(xp.abs(q - 1.0) * inner) / outer
    extent = (40.0 - xp.where(q > 1, q - 1.0, 0.0) * log_outer) / p
    integral = _integral(xp, integrand, 1.0 / steepness, extent, 16, [p, q, ratio, sign, weight])
    slope = xp.exp(beta_term(xp, a, b, x, rest)) / outer * integral
    return xp.where(is_known, slope, 0.0)


def beta_term(xp: Any, a: Array, b: Array, x: Array, rest: Array) -> Array:
    """The logarithm of `x ** a * (1 - x) ** b / beta(a, b)`."""
    special = xp.special
    return special.xlogy(a, x) + special.xlogy(b, rest) - special.betaln(a, b)

"""Distribution functions and the incomplete gamma and beta functions behind them.

The derivative by the last argument is a density. Of the others, the shape parameters, there is none yet.
"""

from __future__ import annotations

from typing import Any

from arraygrad.backends import Array
from arraygrad.op import elementwise
from arraygrad.ops.special import NoGradient, as_arrays
from arraygrad.tensor import ArrayLike


def _gamma_density(xp: Any, a: Array, x: Array) -> Array:
    """`x ** (a - 1) * exp(-x) / gamma(a)`."""
    return xp.exp(xp.special.xlogy(a - 1.0, x) - x - xp.special.gammaln(a))


def _beta_density(xp: Any, a: Array, b: Array, x: Array) -> Array:
    """`x ** (a - 1) * (1 - x) ** (b - 1) / beta(a, b)`."""
    special = xp.special
    return xp.exp(special.xlogy(a - 1.0, x) + special.xlog1py(b - 1.0, -x) - special.betaln(a, b))


def _t_density(xp: Any, df: Array, t: Array) -> Array:
    """Student's density. (A difference of gammaln would cancel for many degrees of freedom.)"""
    power = -0.5 * (df + 1.0) * xp.log1p(t * t / df)
    return xp.exp(power - xp.special.betaln(0.5 * df, 0.5)) / xp.sqrt(df)


def _f_density(xp: Any, dfn: Array, dfd: Array, x: Array) -> Array:
    """Fisher's density: that of a ratio `r` with a beta distribution's `r / (1 + r)`."""
    a, b, scale = 0.5 * dfn, 0.5 * dfd, dfn / dfd
    r = scale * x
    return scale * xp.exp(xp.special.xlogy(a - 1.0, r) - (a + b) * xp.log1p(r) - xp.special.betaln(a, b))


@elementwise(NoGradient("gammainc", "a"), lambda g, xp, a, x: g * _gamma_density(xp, *as_arrays(xp, x, a, x)))
def gammainc(xp: Any, a: ArrayLike, x: ArrayLike, /) -> Array:
    """Regularized lower incomplete gamma function: the distribution function of a gamma distribution.

    Only `x` has a gradient yet.
    """
    return xp.special.gammainc(a, x)


@elementwise(NoGradient("gammaincc", "a"), lambda g, xp, a, x: -g * _gamma_density(xp, *as_arrays(xp, x, a, x)))
def gammaincc(xp: Any, a: ArrayLike, x: ArrayLike, /) -> Array:
    """`1 - gammainc(a, x)`, exact in the right tail. Only `x` has a gradient yet."""
    return xp.special.gammaincc(a, x)


@elementwise(
    NoGradient("betainc", "a"),
    NoGradient("betainc", "b"),
    lambda g, xp, a, b, x: g * _beta_density(xp, *as_arrays(xp, x, a, b, x)),
)
def betainc(xp: Any, a: ArrayLike, b: ArrayLike, x: ArrayLike, /) -> Array:
    """Regularized incomplete beta function: the distribution function of a beta distribution.

    Only `x` has a gradient yet.
    """
    return xp.special.betainc(a, b, x)


@elementwise(
    NoGradient("betaincc", "a"),
    NoGradient("betaincc", "b"),
    lambda g, xp, a, b, x: -g * _beta_density(xp, *as_arrays(xp, x, a, b, x)),
)
def betaincc(xp: Any, a: ArrayLike, b: ArrayLike, x: ArrayLike, /) -> Array:
    """`1 - betainc(a, b, x)`, exact in the right tail. Only `x` has a gradient yet."""
    return xp.special.betaincc(a, b, x)


@elementwise(NoGradient("stdtr", "df"), lambda g, xp, df, t: g * _t_density(xp, *as_arrays(xp, t, df, t)))
def stdtr(xp: Any, df: ArrayLike, t: ArrayLike, /) -> Array:
    """Distribution function of Student's t with `df` degrees of freedom. Only `t` has a gradient yet."""
    return xp.special.stdtr(df, t)


@elementwise(
    NoGradient("chdtr", "v"),
    lambda g, xp, v, x: 0.5 * g * _gamma_density(xp, 0.5 * as_arrays(xp, x, v)[0], 0.5 * x),
)
def chdtr(xp: Any, v: ArrayLike, x: ArrayLike, /) -> Array:
    """Distribution function of chi-square with `v` degrees of freedom. Only `x` has a gradient yet."""
    return xp.special.chdtr(v, x)


@elementwise(
    NoGradient("fdtr", "dfn"),
    NoGradient("fdtr", "dfd"),
    lambda g, xp, dfn, dfd, x: g * _f_density(xp, *as_arrays(xp, x, dfn, dfd, x)),
)
def fdtr(xp: Any, dfn: ArrayLike, dfd: ArrayLike, x: ArrayLike, /) -> Array:
    """Distribution function of Fisher's F with `dfn` and `dfd` degrees of freedom. Only `x` has a gradient yet."""
    return xp.special.fdtr(dfn, dfd, x)

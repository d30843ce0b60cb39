"""Inverses of the distribution functions, by their last argument: quantiles.

Where `F(a, x) = p`, implicit differentiation gives `dx/dp = 1 / f` with the density `f`, and `dx/da = -(dF/da) / f`.
"""

from __future__ import annotations

from typing import Any

from arraygrad.backends import Array
from arraygrad.op import elementwise
from arraygrad.ops.distributions import (
    beta_density,
    f_density,
    gamma_density,
    slope_in_a,
    slope_in_b,
    slope_in_df,
    slope_in_dfd,
    slope_in_dfn,
    t_density,
)
from arraygrad.ops.incomplete import gamma_slope
from arraygrad.ops.special import as_arrays
from arraygrad.tensor import ArrayLike


def _gamma_shape(xp: Any, a: Array, x: Array) -> Array:
    """How a quantile `x` of the gamma distribution moves with the shape `a`."""
    return -gamma_slope(xp, a, x) / gamma_density(xp, a, x)


@elementwise(
    lambda g, xp, a, out: g * _gamma_shape(xp, *as_arrays(xp, a, a, out)),
    lambda g, xp, a, y, out: g / gamma_density(xp, *as_arrays(xp, y, a, out)),
)
def gammaincinv(xp: Any, a: ArrayLike, y: ArrayLike, /) -> Array:
    """The `x` with `gammainc(a, x) == y`: quantiles of the gamma distribution.

    >>> import arraygrad as ag
    >>> y = ag.tensor(0.75, requires_grad=True)
    >>> ag.special.gammaincinv(1.0, y).backward()  # of -log(1 - y)
    >>> y.grad
    tensor(4., dtype=float64, device='cpu')
    """
    return xp.special.gammaincinv(a, y)


@elementwise(
    lambda g, xp, a, out: g * _gamma_shape(xp, *as_arrays(xp, a, a, out)),
    lambda g, xp, a, y, out: -g / gamma_density(xp, *as_arrays(xp, y, a, out)),
)
def gammainccinv(xp: Any, a: ArrayLike, y: ArrayLike, /) -> Array:
    """The `x` with `gammaincc(a, x) == y`, exact in the right tail.

    >>> import arraygrad as ag
    >>> ag.special.gammainccinv(1.0, ag.tensor([1.0, 1e-30]))  # -log(y)
    tensor([ 0.        , 69.07755279], dtype=float64, device='cpu')
    """
    return xp.special.gammainccinv(a, y)


@elementwise(
    lambda g, xp, a, b, out: -g * _by_beta_density(xp, slope_in_a, *as_arrays(xp, a, a, b, out)),
    lambda g, xp, a, b, out: -g * _by_beta_density(xp, slope_in_b, *as_arrays(xp, b, a, b, out)),
    lambda g, xp, a, b, y, out: g / beta_density(xp, *as_arrays(xp, y, a, b, out)),
)
def betaincinv(xp: Any, a: ArrayLike, b: ArrayLike, y: ArrayLike, /) -> Array:
    """The `x` with `betainc(a, b, x) == y`: quantiles of the beta distribution.

    >>> import arraygrad as ag
    >>> y = ag.tensor(0.75, requires_grad=True)
    >>> ag.special.betaincinv(1.0, 2.0, y).backward()  # of 1 - sqrt(1 - y)
    >>> y.grad
    tensor(1., dtype=float64, device='cpu')
    """
    return xp.special.betaincinv(a, b, y)


def _by_beta_density(xp: Any, slope: Any, a: Array, b: Array, x: Array) -> Array:
    return slope(xp, a, b, x) / beta_density(xp, a, b, x)


@elementwise(
    lambda g, xp, v, out: g * _gamma_shape(xp, *[0.5 * x for x in as_arrays(xp, v, v, out)]),
    lambda g, xp, v, p, out: -2.0 * g / gamma_density(xp, *[0.5 * x for x in as_arrays(xp, p, v, out)]),
)
def chdtri(xp: Any, v: ArrayLike, p: ArrayLike, /) -> Array:
    """The `x` with `chdtrc(v, x) == p`: the chi-square value that is exceeded with probability `p`.

    >>> import arraygrad as ag
    >>> p = ag.tensor(0.25, requires_grad=True)
    >>> ag.special.chdtri(2.0, p).backward()  # of -2 * log(p)
    >>> p.grad
    tensor(-8., dtype=float64, device='cpu')
    """
    return xp.special.chdtri(v, p)


@elementwise(
    lambda g, xp, df, out: -g * _by_t_density(xp, *as_arrays(xp, df, df, out)),
    lambda g, xp, df, p, out: g / t_density(xp, *as_arrays(xp, p, df, out)),
)
def stdtrit(xp: Any, df: ArrayLike, p: ArrayLike, /) -> Array:
    """The `t` with `stdtr(df, t) == p`: quantiles of Student's t.

    >>> import arraygrad as ag
    >>> p = ag.tensor(0.75, requires_grad=True)
    >>> ag.special.stdtrit(1.0, p).backward()  # of tan(pi * (p - 1 / 2))
    >>> p.grad
    tensor(6.28318531, dtype=float64, device='cpu')
    """
    return xp.special.stdtrit(df, p)


def _by_t_density(xp: Any, df: Array, t: Array) -> Array:
    return slope_in_df(xp, df, t) / t_density(xp, df, t)


@elementwise(
    lambda g, xp, dfn, dfd, out: -g * _by_f_density(xp, slope_in_dfn, *as_arrays(xp, dfn, dfn, dfd, out)),
    lambda g, xp, dfn, dfd, out: -g * _by_f_density(xp, slope_in_dfd, *as_arrays(xp, dfd, dfn, dfd, out)),
    lambda g, xp, dfn, dfd, p, out: g / f_density(xp, *as_arrays(xp, p, dfn, dfd, out)),
)
def fdtri(xp: Any, dfn: ArrayLike, dfd: ArrayLike, p: ArrayLike, /) -> Array:
    """The `x` with `fdtr(dfn, dfd, x) == p`: quantiles of Fisher's F.

    >>> import arraygrad as ag
    >>> p = ag.tensor(0.5, requires_grad=True)
    >>> ag.special.fdtri(2.0, 2.0, p).backward()  # of p / (1 - p)
    >>> p.grad
    tensor(4., dtype=float64, device='cpu')
    """
    return xp.special.fdtri(dfn, dfd, p)


def _by_f_density(xp: Any, slope: Any, dfn: Array, dfd: Array, x: Array) -> Array:
    return slope(xp, dfn, dfd, x) / f_density(xp, dfn, dfd, x)

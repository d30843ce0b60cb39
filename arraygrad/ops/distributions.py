"""Distribution functions and the incomplete gamma and beta functions behind them.

The derivative by the last argument is a density. Those by the others, the shape parameters, are in incomplete.py;
the inverses are in quantiles.py.
"""

from __future__ import annotations

from typing import Any

from arraygrad.backends import Array
from arraygrad.op import elementwise
from arraygrad.ops.incomplete import beta_slope, beta_term, gamma_slope
from arraygrad.ops.special import as_arrays
from arraygrad.tensor import ArrayLike


def gamma_density(xp: Any, a: Array, x: Array) -> Array:
    """`x ** (a - 1) * exp(-x) / gamma(a)`."""
    return xp.exp(xp.special.xlogy(a - 1.0, x) - x - xp.special.gammaln(a))


def beta_density(xp: Any, a: Array, b: Array, x: Array) -> Array:
    """`x ** (a - 1) * (1 - x) ** (b - 1) / beta(a, b)`."""
    special = xp.special
    return xp.exp(special.xlogy(a - 1.0, x) + special.xlog1py(b - 1.0, -x) - special.betaln(a, b))


def t_density(xp: Any, df: Array, t: Array) -> Array:
    """Student's density. (A difference of gammaln would cancel for many degrees of freedom.)"""
    power = -0.5 * (df + 1.0) * xp.log1p(t * t / df)
    return xp.exp(power - xp.special.betaln(0.5 * df, 0.5)) / xp.sqrt(df)


def f_density(xp: Any, dfn: Array, dfd: Array, x: Array) -> Array:
    """Fisher's density: that of a ratio `r` with a beta distribution's `r / (1 + r)`."""
    a, b, scale = 0.5 * dfn, 0.5 * dfd, dfn / dfd
    r = scale * x
    return scale * xp.exp(xp.special.xlogy(a - 1.0, r) - (a + b) * xp.log1p(r) - xp.special.betaln(a, b))


def _in_shares(xp: Any, s: Array, t: Array) -> tuple[Array, Array]:
    """`s / (s + t)` and `t / (s + t)`, exact for small `t`, and for an infinite one."""
    share = s / (s + t)
    small = xp.where(t < s, t, 0.0)
    return share, xp.where(t < s, small / (s + small), 1.0 - share)


def _slope_in_rate(xp: Any, a: Array, b: Array, x: Array) -> Array:
    """The derivative of `gammainc(b, a * x)` by `a`; that by `x` has `a` and `x` swapped."""
    return x * gamma_density(xp, b, a * x)


def _slope_in_shape(xp: Any, a: Array, b: Array, x: Array) -> Array:
    return gamma_slope(xp, b, a * x)


def slope_in_df(xp: Any, df: Array, t: Array) -> Array:
    """Student's tail beyond `abs(t)` is half of `betainc(df / 2, 1 / 2, df / (df + t * t))`."""
    a, b = 0.5 * df, 0.5 * xp.ones_like(df)
    x, rest = _in_shares(xp, df, t * t)
    change = 0.5 * beta_slope(xp, a, b, x, rest) + xp.exp(beta_term(xp, a, b, x, rest)) / df
    return -0.5 * xp.sign(t) * change


def slope_in_dfn(xp: Any, dfn: Array, dfd: Array, x: Array) -> Array:
    """Fisher's function is `betainc(dfn / 2, dfd / 2, y)` with `y = dfn * x / (dfd + dfn * x)`."""
    a, b = 0.5 * dfn, 0.5 * dfd
    rest, y = _in_shares(xp, dfd, dfn * x)
    return 0.5 * beta_slope(xp, a, b, y, rest) + xp.exp(beta_term(xp, a, b, y, rest)) / dfn


def slope_in_dfd(xp: Any, dfn: Array, dfd: Array, x: Array) -> Array:
    """The same by the other degrees of freedom."""
    a, b = 0.5 * dfn, 0.5 * dfd
    rest, y = _in_shares(xp, dfd, dfn * x)
    return -0.5 * beta_slope(xp, b, a, rest, y) - xp.exp(beta_term(xp, a, b, y, rest)) / dfd


@elementwise(
    lambda g, xp, a, x: g * gamma_slope(xp, *as_arrays(xp, a, a, x)),
    lambda g, xp, a, x: g * gamma_density(xp, *as_arrays(xp, x, a, x)),
)
def gammainc(xp: Any, a: ArrayLike, x: ArrayLike, /) -> Array:
    """Regularized lower incomplete gamma function: the distribution function of a gamma distribution.

    The gradient in `a` has a relative error below 1e-10 for `a` and `x` up to 1e4, in the tails too; from there it
    grows with `a`.

    >>> import arraygrad as ag
    >>> a = ag.tensor(2.0, requires_grad=True)
    >>> ag.special.gammainc(a, 3.0).backward()
    >>> a.grad
    tensor(-0.19742542, dtype=float64, device='cpu')
    """
    return xp.special.gammainc(a, x)


@elementwise(
    lambda g, xp, a, x: -g * gamma_slope(xp, *as_arrays(xp, a, a, x)),
    lambda g, xp, a, x: -g * gamma_density(xp, *as_arrays(xp, x, a, x)),
)
def gammaincc(xp: Any, a: ArrayLike, x: ArrayLike, /) -> Array:
    """`1 - gammainc(a, x)`, exact in the right tail. Gradients are as exact as those of `gammainc`."""
    return xp.special.gammaincc(a, x)


@elementwise(
    lambda g, xp, a, b, x: g * slope_in_a(xp, *as_arrays(xp, a, a, b, x)),
    lambda g, xp, a, b, x: g * slope_in_b(xp, *as_arrays(xp, b, a, b, x)),
    lambda g, xp, a, b, x: g * beta_density(xp, *as_arrays(xp, x, a, b, x)),
)
def betainc(xp: Any, a: ArrayLike, b: ArrayLike, x: ArrayLike, /) -> Array:
    """Regularized incomplete beta function: the distribution function of a beta distribution.

    The gradients in `a` and `b` have a relative error below 1e-9 for both from 1e-2 to 1e3 and `x` from 1e-12 to
    `1 - 1e-9`, in the tails too; far from there it may come to 1e-7.

    >>> import arraygrad as ag
    >>> b = ag.tensor(1.0, requires_grad=True)
    >>> ag.special.betainc(1.0, b, 0.5).backward()  # of 1 - 0.5**b
    >>> b.grad
    tensor(0.34657359, dtype=float64, device='cpu')
    """
    return xp.special.betainc(a, b, x)


@elementwise(
    lambda g, xp, a, b, x: -g * slope_in_a(xp, *as_arrays(xp, a, a, b, x)),
    lambda g, xp, a, b, x: -g * slope_in_b(xp, *as_arrays(xp, b, a, b, x)),
    lambda g, xp, a, b, x: -g * beta_density(xp, *as_arrays(xp, x, a, b, x)),
)
def betaincc(xp: Any, a: ArrayLike, b: ArrayLike, x: ArrayLike, /) -> Array:
    """`1 - betainc(a, b, x)`, exact in the right tail. Gradients are as exact as those of `betainc`."""
    return xp.special.betaincc(a, b, x)


def slope_in_a(xp: Any, a: Array, b: Array, x: Array) -> Array:
    """The derivative of `betainc` by `a`."""
    return beta_slope(xp, a, b, x, 1.0 - x)


def slope_in_b(xp: Any, a: Array, b: Array, x: Array) -> Array:
    """The derivative of `betainc` by `b`."""
    return -beta_slope(xp, b, a, 1.0 - x, x)


@elementwise(
    lambda g, xp, df, t: g * slope_in_df(xp, *as_arrays(xp, df, df, t)),
    lambda g, xp, df, t: g * t_density(xp, *as_arrays(xp, t, df, t)),
)
def stdtr(xp: Any, df: ArrayLike, t: ArrayLike, /) -> Array:
    """Distribution function of Student's t with `df` degrees of freedom.

    The gradient in `df` falls with the square of `df`, its error does not: the relative one is below 1e-8 to `df` 1000,
    and 1e-5 or so at 1e5.
    """
    return xp.special.stdtr(df, t)


@elementwise(
    lambda g, xp, v, x: 0.5 * g * gamma_slope(xp, *[0.5 * y for y in as_arrays(xp, v, v, x)]),
    lambda g, xp, v, x: 0.5 * g * gamma_density(xp, 0.5 * as_arrays(xp, x, v)[0], 0.5 * x),
)
def chdtr(xp: Any, v: ArrayLike, x: ArrayLike, /) -> Array:
    """Distribution function of chi-square with `v` degrees of freedom. Gradients are those of `gammainc`."""
    return xp.special.chdtr(v, x)


@elementwise(
    lambda g, xp, v, x: -0.5 * g * gamma_slope(xp, *[0.5 * y for y in as_arrays(xp, v, v, x)]),
    lambda g, xp, v, x: -0.5 * g * gamma_density(xp, 0.5 * as_arrays(xp, x, v)[0], 0.5 * x),
)
def chdtrc(xp: Any, v: ArrayLike, x: ArrayLike, /) -> Array:
    """`1 - chdtr(v, x)`, exact in the right tail. Gradients are those of `gammaincc`.

    >>> import arraygrad as ag
    >>> x = ag.tensor([0.0, 2.0], requires_grad=True)
    >>> p = ag.special.chdtrc(2.0, x)  # exp(-x / 2)
    >>> ag.sum(p).backward()
    >>> x.grad
    tensor([-0.5       , -0.18393972], dtype=float64, device='cpu')
    """
    return xp.special.chdtrc(v, x)


@elementwise(
    lambda g, xp, a, b, x: g * _slope_in_rate(xp, *as_arrays(xp, a, a, b, x)),
    lambda g, xp, a, b, x: g * _slope_in_shape(xp, *as_arrays(xp, b, a, b, x)),
    lambda g, xp, a, b, x: g * _slope_in_rate(xp, *as_arrays(xp, x, x, b, a)),
)
def gdtr(xp: Any, a: ArrayLike, b: ArrayLike, x: ArrayLike, /) -> Array:
    """Distribution function of the gamma distribution of rate `a` and shape `b`: `gammainc(b, a * x)`.

    >>> import arraygrad as ag
    >>> rate = ag.tensor(2.0, requires_grad=True)
    >>> ag.special.gdtr(rate, 1.0, 0.5).backward()  # of 1 - exp(-rate / 2)
    >>> rate.grad
    tensor(0.18393972, dtype=float64, device='cpu')
    """
    return xp.special.gdtr(a, b, x)


@elementwise(
    lambda g, xp, a, b, x: -g * _slope_in_rate(xp, *as_arrays(xp, a, a, b, x)),
    lambda g, xp, a, b, x: -g * _slope_in_shape(xp, *as_arrays(xp, b, a, b, x)),
    lambda g, xp, a, b, x: -g * _slope_in_rate(xp, *as_arrays(xp, x, x, b, a)),
)
def gdtrc(xp: Any, a: ArrayLike, b: ArrayLike, x: ArrayLike, /) -> Array:
    """`1 - gdtr(a, b, x)`, exact in the right tail.

    >>> import arraygrad as ag
    >>> ag.special.gdtrc(2.0, 1.0, ag.tensor([0.0, 30.0]))
    tensor([1.00000000e+00, 8.75651076e-27], dtype=float64, device='cpu')
    """
    return xp.special.gdtrc(a, b, x)


@elementwise(
    lambda g, xp, dfn, dfd, x: g * slope_in_dfn(xp, *as_arrays(xp, dfn, dfn, dfd, x)),
    lambda g, xp, dfn, dfd, x: g * slope_in_dfd(xp, *as_arrays(xp, dfd, dfn, dfd, x)),
    lambda g, xp, dfn, dfd, x: g * f_density(xp, *as_arrays(xp, x, dfn, dfd, x)),
)
def fdtr(xp: Any, dfn: ArrayLike, dfd: ArrayLike, x: ArrayLike, /) -> Array:
    """Distribution function of Fisher's F with `dfn` and `dfd` degrees of freedom.

    The gradients in these have an absolute error below 1e-14, or a relative one below 1e-8: beyond 1000 degrees, where
    they vanish, that is much.
    """
    return xp.special.fdtr(dfn, dfd, x)


@elementwise(
    lambda g, xp, dfn, dfd, x: -g * slope_in_dfn(xp, *as_arrays(xp, dfn, dfn, dfd, x)),
    lambda g, xp, dfn, dfd, x: -g * slope_in_dfd(xp, *as_arrays(xp, dfd, dfn, dfd, x)),
    lambda g, xp, dfn, dfd, x: -g * f_density(xp, *as_arrays(xp, x, dfn, dfd, x)),
)
def fdtrc(xp: Any, dfn: ArrayLike, dfd: ArrayLike, x: ArrayLike, /) -> Array:
    """`1 - fdtr(dfn, dfd, x)`, exact in the right tail. Gradients are as exact as those of `fdtr`.

    >>> import arraygrad as ag
    >>> x = ag.tensor(3.0, requires_grad=True)
    >>> ag.special.fdtrc(2.0, 2.0, x).backward()  # of 1 / (1 + x)
    >>> x.grad
    tensor(-0.0625, dtype=float64, device='cpu')
    """
    return xp.special.fdtrc(dfn, dfd, x)

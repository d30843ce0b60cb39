"""Error and gamma functions and their kin, of real arrays. Values are SciPy's and CuPy's, derivatives ours.

Rules are written with these functions themselves, so that derivatives have derivatives. Where a formula has
a removable singularity, a series stands near it: a value put there alone would give wrong higher derivatives.
Bessel functions are in bessel.py, entropies, losses and sums of exponentials in information.py, distribution functions
in distributions.py, their inverses in quantiles.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from arraygrad.backends import Array, is_number
from arraygrad.errors import GraphError
from arraygrad.op import elementwise
from arraygrad.tensor import ArrayLike

_SQRT_PI, _SQRT_2PI = math.sqrt(math.pi), math.sqrt(2.0 * math.pi)


@dataclass(frozen=True)
class NoGradient:
    """The rule of an input whose derivative is not there yet: it says so when it is asked for."""

    op: str
    input: str

    def __call__(self, g: Array) -> NoReturn:
        """Refuse."""
        raise GraphError(f"{self.op} has no derivative with respect to {self.input} yet")


def as_arrays(xp: Any, like: Array, *values: Any) -> list[Array]:
    """`values` as floating point arrays: numbers and integers take the data type of `like`."""
    return [
        xp.full_like(like, value)
        if is_number(value)
        else value
        if xp.isdtype(value.dtype, "real floating")
        else xp.astype(value, like.dtype)
        for value in values
    ]


def polynomial(x: Array, coefficients: Sequence[float]) -> Array:
    """The polynomial with these coefficients, the constant one first."""
    *rest, last, highest = coefficients
    result = highest * x + last
    for coefficient in reversed(rest):
        result = result * x + coefficient
    return result


def near_zero(
    xp: Any, x: Array, radius: float, series: Callable[[Array], Array], formula: Callable[[Array], Array]
) -> Array:
    """`series(x)` where `abs(x) < radius`, and `formula(x)`, which never sees a zero, elsewhere."""
    is_near = xp.abs(x) < radius
    return xp.where(is_near, series(xp.where(is_near, x, 0.0)), formula(xp.where(is_near, 1.0, x)))


# ---- Error functions and the normal distribution


@elementwise(lambda g, xp, x: g * (2.0 / _SQRT_PI * xp.exp(-x * x)))
def erf(xp: Any, x: ArrayLike, /) -> Array:
    """Error function, `2 / sqrt(pi)` times the integral of `exp(-t * t)` from 0 to `x`.

    >>> import arraygrad as ag
    >>> ag.special.erf(ag.tensor([0.0, 0.5]))
    tensor([0.        , 0.52049988], dtype=float64, device='cpu')
    """
    return xp.special.erf(x)


@elementwise(lambda g, xp, x: g * (-2.0 / _SQRT_PI * xp.exp(-x * x)))
def erfc(xp: Any, x: ArrayLike, /) -> Array:
    """`1 - erf(x)`, exact in the right tail."""
    return xp.special.erfc(x)


@elementwise(lambda g, xp, out: g * (_SQRT_PI / 2.0 * xp.exp(out * out)))
def erfinv(xp: Any, x: ArrayLike, /) -> Array:
    """Inverse of `erf`, for `x` between -1 and 1, where the gradient is infinite."""
    return xp.special.erfinv(x)


@elementwise(lambda g, xp, x, out: g * _erfcx_slope(xp, x, out))
def erfcx(xp: Any, x: ArrayLike, /) -> Array:
    """`exp(x * x) * erfc(x)`, which has neither underflow nor overflow for positive `x`."""
    return xp.special.erfcx(x)


def _erfcx_slope(xp: Any, x: Array, out: Array) -> Array:
    """`2 x erfcx(x) - 2 / sqrt(pi)`, whose terms cancel for large `x`.

    There Laplace's continued fraction `erfcx(x) = 1 / sqrt(pi) / (x + rest)` with
    `rest = (1 / 2) / (x + (2 / 2) / (x + (3 / 2) / ...))` leaves `-2 / sqrt(pi) * rest / (x + rest)`. From
    6 on, 14 levels have an error below 1e-14. (DLMF 7.9.1)
    """
    is_far = x > 6.0
    far = xp.where(is_far, x, 6.0)
    rest = 7.0 / far
    for level in range(13, 0, -1):
        rest = 0.5 * level / (far + rest)
    near = xp.where(is_far, 0.0, x)
    return xp.where(is_far, -2.0 / _SQRT_PI * rest / (far + rest), 2.0 * near * out - 2.0 / _SQRT_PI)


def _normal_density(xp: Any, x: Array) -> Array:
    return xp.exp(-0.5 * x * x) / _SQRT_2PI


@elementwise(lambda g, xp, x: g * _normal_density(xp, x))
def ndtr(xp: Any, x: ArrayLike, /) -> Array:
    """Distribution function of the standard normal distribution."""
    return xp.special.ndtr(x)


@elementwise(lambda g, xp, out: g * (_SQRT_2PI * xp.exp(0.5 * out * out)))
def ndtri(xp: Any, x: ArrayLike, /) -> Array:
    """Inverse of `ndtr`: the quantiles of the standard normal distribution."""
    return xp.special.ndtri(x)


@elementwise(lambda g, xp, x, out: g * _log_ndtr_slope(xp, x, out))
def log_ndtr(xp: Any, x: ArrayLike, /) -> Array:
    """`log(ndtr(x))`, exact in both tails, and so is its gradient."""
    return xp.special.log_ndtr(x)


def _log_ndtr_slope(xp: Any, x: Array, out: Array) -> Array:
    """Density by distribution: on the left both underflow, and their quotient is one of `erfcx`."""
    is_right = x > 0
    left = math.sqrt(2.0 / math.pi) / xp.special.erfcx(-xp.where(is_right, 0.0, x) / math.sqrt(2.0))
    right = _normal_density(xp, xp.where(is_right, x, 0.0)) * xp.exp(-xp.where(is_right, out, 0.0))
    return xp.where(is_right, right, left)


# ---- Logistic functions


@elementwise(lambda g, xp, x, out: g * out * xp.special.expit(-x))
def expit(xp: Any, x: ArrayLike, /) -> Array:
    """`1 / (1 + exp(-x))`: the sigmoid. The gradient is exact in both tails."""
    return xp.special.expit(x)


@elementwise(lambda g, xp, x: g * xp.special.expit(-x))
def log_expit(xp: Any, x: ArrayLike, /) -> Array:
    """`log(expit(x))`, exact in both tails."""
    return xp.special.log_expit(x)


@elementwise(lambda g, x: g / (x * (1.0 - x)))
def logit(xp: Any, x: ArrayLike, /) -> Array:
    """`log(x / (1 - x))`: the inverse of `expit`."""
    return xp.special.logit(x)


# ---- Gamma and related functions


@elementwise(lambda g, xp, x, out: g * out * xp.special.digamma(x))
def gamma(xp: Any, x: ArrayLike, /) -> Array:
    """The gamma function, `(x - 1)!` at positive integers."""
    return xp.special.gamma(x)


@elementwise(lambda g, xp, x: g * xp.special.digamma(x))
def gammaln(xp: Any, x: ArrayLike, /) -> Array:
    """`log(abs(gamma(x)))`."""
    return xp.special.gammaln(x)


@elementwise(lambda g, xp, x: g * xp.special.polygamma(1, x))
def digamma(xp: Any, x: ArrayLike, /) -> Array:
    """The derivative of `gammaln`; `psi` is another name of it."""
    return xp.special.digamma(x)


psi = digamma


@elementwise(NoGradient("polygamma", "n"), lambda g, xp, n, x: g * xp.special.polygamma(n + 1, x))
def polygamma(xp: Any, n: ArrayLike, x: ArrayLike, /) -> Array:
    """The `n`-th derivative of `digamma`; `n`, a whole number from 0, has no gradient."""
    return xp.special.polygamma(n, x)


@elementwise(NoGradient("zeta", "x"), q=lambda g, xp, x, q: _zeta_slope(g, xp, *as_arrays(xp, q, x, q)))
def zeta(xp: Any, x: ArrayLike, q: ArrayLike | None = None, /) -> Array:
    """Hurwitz's zeta function, the sum of `(q + k) ** -x` over `k` from 0; without `q`, Riemann's.

    Only `q` has a gradient yet.
    """
    return xp.special.zeta(x) if q is None else xp.special.zeta(x, q)


def _zeta_slope(g: Array, xp: Any, x: Array, q: Array) -> Array:
    return -g * x * xp.special.zeta(x + 1.0, q)


@elementwise(
    lambda g, xp, a, b: g * _betaln_slope(xp, *as_arrays(xp, a, a, b)),
    lambda g, xp, a, b: g * _betaln_slope(xp, *as_arrays(xp, b, b, a)),
)
def betaln(xp: Any, a: ArrayLike, b: ArrayLike, /) -> Array:
    """`log(abs(beta(a, b)))`, which is `gammaln(a) + gammaln(b) - gammaln(a + b)`."""
    return xp.special.betaln(a, b)


def _betaln_slope(xp: Any, a: Array, b: Array) -> Array:
    return xp.special.digamma(a) - xp.special.digamma(a + b)


# ---- Exponentials, roots and integrals


@elementwise(lambda g, xp, out: g * (math.log(2.0) * out))
def exp2(xp: Any, x: ArrayLike, /) -> Array:
    """`2 ** x`.

    >>> import arraygrad as ag
    >>> ag.special.exp2(ag.tensor([-1.0, 3.0]))
    tensor([0.5, 8. ], dtype=float64, device='cpu')
    """
    return xp.special.exp2(x)


@elementwise(lambda g, xp, out: g * (math.log(10.0) * out))
def exp10(xp: Any, x: ArrayLike, /) -> Array:
    """`10 ** x`.

    >>> import arraygrad as ag
    >>> ag.special.exp10(ag.tensor([-1.0, 2.0]))
    tensor([  0.1, 100. ], dtype=float64, device='cpu')
    """
    return xp.special.exp10(x)


@elementwise(lambda g, out: g / (3.0 * out * out))
def cbrt(xp: Any, x: ArrayLike, /) -> Array:
    """The real cube root, of negative numbers too; at 0 the gradient is infinite.

    >>> import arraygrad as ag
    >>> ag.special.cbrt(ag.tensor([-8.0, 27.0]))
    tensor([-2.,  3.], dtype=float64, device='cpu')
    """
    return xp.special.cbrt(x)


@elementwise(lambda g, xp, x: -g * xp.sin(x))
def cosm1(xp: Any, x: ArrayLike, /) -> Array:
    """`cos(x) - 1`, exact near 0.

    >>> import arraygrad as ag
    >>> ag.special.cosm1(ag.tensor([0.0, 1e-4]))
    tensor([ 0.e+00, -5.e-09], dtype=float64, device='cpu')
    """
    return xp.special.cosm1(x)


@elementwise(lambda g, xp, x: -g * xp.exp(-x) / x)
def exp1(xp: Any, x: ArrayLike, /) -> Array:
    """Exponential integral, of `exp(-t) / t` from `x` on, for positive `x`.

    >>> import arraygrad as ag
    >>> ag.special.exp1(ag.tensor([0.5, 2.0]))
    tensor([0.55977359, 0.04890051], dtype=float64, device='cpu')
    """
    return xp.special.exp1(x)


@elementwise(lambda g, xp, x: g * xp.exp(x) / x)
def expi(xp: Any, x: ArrayLike, /) -> Array:
    """Exponential integral, the principal value of that of `exp(t) / t` up to `x`.

    >>> import arraygrad as ag
    >>> ag.special.expi(ag.tensor([-1.0, 1.0]))
    tensor([-0.21938393,  1.89511782], dtype=float64, device='cpu')
    """
    return xp.special.expi(x)

"""Polynomials by their coefficients, that of the highest power first, as NumPy's older functions have them."""

from __future__ import annotations

from typing import Any

import arraygrad as ag
from arraygrad.errors import ShapeError, format_shape
from arraygrad.numpy_functions.products import lstsq
from arraygrad.numpy_functions.shapes import trim_zeros
from arraygrad.numpy_functions.table import FUNCTIONS, numpy_function
from arraygrad.ops.creation import tensors
from arraygrad.ops.numeric import floating
from arraygrad.tensor import Tensor

FUNCTIONS["polyval"] = ag.polyval


def _coefficients(*values: Any) -> list[Tensor]:
    return [ag.reshape(x, (-1,)) for x in tensors(*values)]


@numpy_function()
def polyadd(a1: Any, a2: Any) -> Tensor:
    x1, x2 = _coefficients(a1, a2)
    size = max(x1.size, x2.size)
    return ag.pad(x1, (size - x1.size, 0)) + ag.pad(x2, (size - x2.size, 0))


@numpy_function()
def polysub(a1: Any, a2: Any) -> Tensor:
    return polyadd(a1, -ag.asarray(a2))


def _without_leading_zeros(x: Tensor) -> Tensor:
    trimmed = trim_zeros(x, "f")
    return trimmed if trimmed.size else x[-1:]


@numpy_function()
def polymul(a1: Any, a2: Any) -> Tensor:
    x1, x2 = map(_without_leading_zeros, _coefficients(a1, a2))
    return ag.convolve(x1, x2)


@numpy_function()
def polydiv(u: Any, v: Any) -> tuple[Tensor, Tensor]:
    rest, divisor = map(floating, _coefficients(u, v))
    n = divisor.size
    quotient = []
    for _ in range(rest.size - n + 1):
        factor = rest[0] / divisor[0]
        quotient.append(factor)
        rest = ag.concat([rest[1:n] - factor * divisor[1:], rest[n:]])
    while rest.size > 1 and abs(rest[0].item()) <= 1e-8:  # as NumPy trims: within the tolerance of allclose
        rest = rest[1:]
    if not rest.size:
        rest = ag.zeros_like(divisor[:1])
    return (ag.stack(quotient) if quotient else ag.zeros_like(rest[:1])), rest


@numpy_function()
def polyder(p: Any, m: int = 1) -> Tensor:
    (x,) = _coefficients(p)
    for _ in range(m):
        x = x[:-1] * ag.arange(x.size - 1, 0, -1, dtype=x.dtype, device=x.device)
    return x


@numpy_function()
def polyint(p: Any, m: int = 1, k: Any = None) -> Tensor:
    x = floating(_coefficients(p)[0])
    constants = ag.zeros((m,), dtype=x.dtype, device=x.device) if k is None else ag.reshape(tensors(x, k)[1], (-1,))
    if constants.size not in (1, m):
        raise ShapeError(f"np.polyint: {constants.size} constants for {m} integrations")
    for i in range(m):
        powers = ag.arange(x.size, 0, -1, dtype=x.dtype, device=x.device)
        x = ag.concat([x / powers, constants[i : i + 1] if constants.size > 1 else constants])
    return x


def _real_if_real(x: Tensor) -> Tensor:
    return ag.real(x) if x.dtype.kind == "c" and not ag.any(ag.imag(x) != 0) else x


@numpy_function()
def poly(seq_of_zeros: Any) -> Tensor:
    zeros = floating(seq_of_zeros)
    if zeros.ndim == 2:
        zeros = _real_if_real(ag.linalg.eigvals(zeros))
    result = ag.ones((1,), dtype=zeros.dtype, device=zeros.device)
    for i in range(zeros.size):
        result = ag.pad(result, (0, 1)) - ag.pad(zeros[i] * result, (1, 0))
    if result.dtype.kind != "c":
        return result
    imaginary = [complex(zero.item()) for zero in zeros]
    is_real = sorted(imaginary, key=str) == sorted([z.conjugate() for z in imaginary], key=str)
    return ag.real(result) if is_real else result


@numpy_function()
def roots(p: Any) -> Tensor:
    """The eigenvalues of the companion matrix. A root that is no simple one has no gradient."""
    x = floating(_coefficients(p)[0])
    inner = trim_zeros(x)
    zeros = x.size - trim_zeros(x, "b").size
    if inner.size < 2:
        return ag.zeros((zeros if inner.size else 0,), dtype=x.dtype, device=x.device)
    n = inner.size - 1
    below = ag.eye(n - 1, n, dtype=x.dtype, device=x.device)
    found = ag.linalg.eigvals(ag.concat([ag.reshape(-inner[1:] / inner[0], (1, n)), below]))
    found = _real_if_real(found)
    return ag.concat([found, ag.zeros((zeros,), dtype=found.dtype, device=x.device)]) if zeros else found


@numpy_function()
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Tensor:
    x = ag.asarray(x)
    if x.ndim != 1:
        raise ShapeError(f"np.vander takes a vector, got {format_shape(x.shape)}")
    one = ag.ones_like(x)
    powers: list[Tensor] = []
    for _ in range(x.size if N is None else N):
        powers.append(powers[-1] * x if powers else one)
    if not powers:
        return ag.zeros((x.size, 0), dtype=x.dtype, device=x.device)
    return ag.stack(powers if increasing else powers[::-1], axis=1)


@numpy_function()
def polyfit(
    x: Any, y: Any, deg: int, rcond: float | None = None, full: bool = False, w: Any = None, cov: Any = False
) -> Any:
    at, values = map(floating, tensors(x, y))
    if at.ndim != 1 or values.ndim not in (1, 2) or at.shape[0] != values.shape[0]:
        raise ShapeError(f"np.polyfit: x is {format_shape(at.shape)}, y is {format_shape(values.shape)}")
    matrix, right = vander(at, deg + 1), values
    if w is not None:
        weights = tensors(at, w)[1]
        matrix, right = matrix * weights[:, None], ag.moveaxis(ag.moveaxis(values, 0, -1) * weights, -1, 0)
    scale = ag.sqrt(ag.sum(matrix * matrix, axis=0))
    matrix = matrix / scale
    rcond = at.size * ag.finfo(at.dtype).eps if rcond is None else rcond
    solution, residuals, rank, singular = lstsq(matrix, right, rcond)
    fit = ag.moveaxis(ag.moveaxis(solution, 0, -1) / scale, -1, 0)
    if full:
        return fit, residuals, rank, singular, rcond
    if not cov:
        return fit
    base = ag.linalg.inv(matrix.mT @ matrix) / (scale[:, None] * scale)
    if cov == "unscaled":
        return fit, base
    if at.size <= deg + 1:
        raise ShapeError(f"np.polyfit: {at.size} points are too few to scale the covariance of degree {deg}")
    base = base if values.ndim == 1 else base[..., None]
    return fit, ag.reshape(base * (residuals / (at.size - deg - 1)), (deg + 1, deg + 1, *values.shape[1:]))

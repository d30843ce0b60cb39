"""Linear algebra."""

from __future__ import annotations

import math
from typing import Any

from arraygrad.backends import Array
from arraygrad.op import general, multilinear
from arraygrad.ops.elementwise import divide_or_zero
from arraygrad.ops.statistical import Axis, reduced_axes, restore_axes, share_of_extremes, widened
from arraygrad.tensor import ArrayLike


def _grad_of_left(g: Array, xp: Any, x2: Array, x1_shape: tuple[int, ...]) -> Array:
    """`g @ x2.mT`, with the axis back that a 1-D operand lost in the product."""
    if x2.ndim == 1:
        return g * x2 if len(x1_shape) == 1 else g[..., None] * x2
    if len(x1_shape) == 1:
        return xp.matmul(g[..., None, :], xp.matrix_transpose(x2))[..., 0, :]
    return xp.matmul(g, xp.matrix_transpose(x2))


def _grad_of_right(g: Array, xp: Any, x1: Array, x2_shape: tuple[int, ...]) -> Array:
    """`x1.mT @ g`, with the axis back that a 1-D operand lost in the product."""
    if x1.ndim == 1:
        return g * x1 if len(x2_shape) == 1 else x1[:, None] * g[..., None, :]
    if len(x2_shape) == 1:
        return xp.matmul(xp.matrix_transpose(x1), g[..., None])[..., 0]
    if len(x2_shape) == 2 and x1.ndim > 2:
        # One product over the whole batch instead of one a matrix, then a sum.
        rows = math.prod(x1.shape[:-1])
        x1, g = xp.reshape(x1, (rows, x1.shape[-1])), xp.reshape(g, (rows, g.shape[-1]))
    return xp.matmul(xp.matrix_transpose(x1), g)


@multilinear(
    lambda g, xp, x2, x1_shape: _grad_of_left(g, xp, x2, x1_shape),
    lambda g, xp, x1, x2_shape: _grad_of_right(g, xp, x1, x2_shape),
)
def matmul(xp: Any, x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Matrix product: `(..., N, K) @ (..., K, M)` is `(..., N, M)`; leading axes broadcast.

    A 1-D operand is a row on the left and a column on the right, and that axis leaves the result.

    >>> import arraygrad as ag
    >>> ag.matmul(ag.tensor([[1.0, 2.0], [3.0, 4.0]]), ag.tensor([1.0, 1.0]))
    tensor([3., 7.], dtype=float64, device='cpu')
    """
    return xp.matmul(x1, x2)


@general(
    lambda g, xp, x, out, axis, keepdims, ord: (
        restore_axes(xp, g, x.shape, axis, keepdims)
        * _norm_slope(xp, x, restore_axes(xp, out, x.shape, axis, keepdims), axis, ord)
    )
)
def vector_norm(xp: Any, x: ArrayLike, /, *, axis: Axis = None, keepdims: bool = False, ord: float = 2) -> Array:
    """Norm over axes: `sum(abs(x) ** ord) ** (1 / ord)`; infinity for the largest, 0 for a count.

    Where the norm is 0, so is the gradient. For an infinite `ord` elements that tie share it evenly.
    """
    return widened(xp, x, lambda x: xp.linalg.vector_norm(x, axis=axis, keepdims=keepdims, ord=ord))


def _norm_slope(xp: Any, x: Array, norm: Array, axis: Axis, ord: float) -> Array:
    """The derivative of the norm with respect to each element; `norm` has its reduced axes."""
    if ord == 2:
        return divide_or_zero(xp, x, norm)
    if ord == 0:
        return xp.zeros_like(x)
    if ord == 1:
        return xp.sign(x)
    if ord in (float("inf"), float("-inf")):
        return xp.sign(x) * share_of_extremes(xp.ones_like(norm), xp, xp.abs(x), norm, reduced_axes(axis, x.ndim), True)
    # (|x| / norm) ** (ord - 1), and 0 where x is: below 1 the power is infinite there.
    ratio = divide_or_zero(xp, xp.abs(x), norm)
    is_zero = ratio == 0
    return xp.sign(x) * xp.where(is_zero, 0.0, xp.where(is_zero, 1.0, ratio) ** (ord - 1))

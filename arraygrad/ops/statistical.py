"""Reductions and running sums."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from arraygrad.backends import Array
from arraygrad.op import general, linear
from arraygrad.ops.elementwise import divide_or_zero
from arraygrad.tensor import ArrayLike

Axis = int | tuple[int, ...] | None


def reduced_axes(axis: Axis, ndim: int) -> tuple[int, ...]:
    """The axes that a reduction removes, none negative."""
    if axis is None:
        return tuple(range(ndim))
    return tuple(a % ndim if ndim else a for a in ((axis,) if isinstance(axis, int) else axis))


def restore_axes(xp: Any, g: Array, shape: tuple[int, ...], axis: Axis, keepdims: bool) -> Array:
    """Put the reduced axes back into `g`, with size 1, so that it broadcasts against `shape`."""
    if keepdims or not shape:
        return g
    axes = reduced_axes(axis, len(shape))
    return xp.reshape(g, tuple(1 if a in axes else size for a, size in enumerate(shape)))


def widened(xp: Any, x: Array, function: Callable[[Array], Array]) -> Array:
    """`function(x)`, computed in float32 if `x` is float16: squares and partial sums overflow before the result."""
    if getattr(x.dtype, "itemsize", 8) != 2 or not xp.isdtype(x.dtype, "real floating"):
        return function(x)
    return xp.astype(function(xp.astype(x, xp.float32)), x.dtype)


def reciprocal(count: float) -> float:
    """`1 / count`, NaN where nothing is left to divide by. To multiply by: in float16, `count` may be infinite."""
    return 1.0 / count if count > 0 else math.nan


def _count(shape: tuple[int, ...], axis: Axis) -> int:
    return math.prod(shape[a] for a in reduced_axes(axis, len(shape)))


@linear(lambda g, xp, x_shape, axis, keepdims: xp.broadcast_to(restore_axes(xp, g, x_shape, axis, keepdims), x_shape))
def sum(xp: Any, x: ArrayLike, /, *, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Array:
    """Sum over axes: one, several or, by default, all.

    >>> import arraygrad as ag
    >>> ag.sum(ag.tensor([[1.0, 2.0], [3.0, 4.0]]), axis=0)
    tensor([4., 6.], dtype=float64, device='cpu')
    """
    return widened(xp, x, lambda x: xp.sum(x, axis=axis, dtype=dtype, keepdims=keepdims))


@linear(
    lambda g, xp, x_shape, axis, keepdims: xp.broadcast_to(
        restore_axes(xp, g * reciprocal(_count(x_shape, axis)), x_shape, axis, keepdims), x_shape
    )
)
def mean(xp: Any, x: ArrayLike, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Mean over axes: one, several or, by default, all."""
    return xp.mean(x, axis=axis, keepdims=keepdims)


@general(
    lambda g, xp, x, axis, keepdims: (
        restore_axes(xp, g, x.shape, axis, keepdims) * _product_of_others(xp, x, reduced_axes(axis, x.ndim))
    )
)
def prod(xp: Any, x: ArrayLike, /, *, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Array:
    """Product over axes: one, several or, by default, all. The gradient is exact at zeros."""
    return xp.prod(x, axis=axis, dtype=dtype, keepdims=keepdims)


def _product_of_others(xp: Any, x: Array, axes: tuple[int, ...]) -> Array:
    """For each element the product of all others: of those before it times those after it.

    No division, so that zeros are exact, and so is a derivative of this.
    """
    kept = tuple(a for a in range(x.ndim) if a not in axes)
    order = (*kept, *axes)
    moved = xp.permute_dims(x, order)
    flat = xp.reshape(moved, (math.prod(moved.shape[: len(kept)]), math.prod(moved.shape[len(kept) :])))
    before = xp.cumulative_prod(flat, axis=1, include_initial=True)[:, :-1]
    after = xp.flip(xp.cumulative_prod(xp.flip(flat, axis=1), axis=1, include_initial=True)[:, :-1], axis=1)
    return xp.permute_dims(xp.reshape(before * after, moved.shape), tuple(order.index(a) for a in range(x.ndim)))


def share_of_extremes(g: Array, xp: Any, x: Array, out: Array, axis: Axis, keepdims: bool) -> Array:
    """Share `g` evenly among the elements that equal the reduction's result."""
    axes = reduced_axes(axis, x.ndim)
    extreme = restore_axes(xp, out, x.shape, axis, keepdims)
    is_extreme = (x == extreme) | ((x != x) & (extreme != extreme))  # NaN, where there is one, was chosen
    count = xp.sum(xp.astype(is_extreme, g.dtype), axis=axes, keepdims=True)
    return xp.where(is_extreme, restore_axes(xp, g, x.shape, axis, keepdims) / count, 0.0)


@general(lambda g, xp, x, out, axis, keepdims: share_of_extremes(g, xp, x, out, axis, keepdims))
def max(xp: Any, x: ArrayLike, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Largest element over axes. Elements that tie share the gradient evenly."""
    return xp.max(x, axis=axis, keepdims=keepdims)


@general(lambda g, xp, x, out, axis, keepdims: share_of_extremes(g, xp, x, out, axis, keepdims))
def min(xp: Any, x: ArrayLike, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Smallest element over axes. Elements that tie share the gradient evenly."""
    return xp.min(x, axis=axis, keepdims=keepdims)


def _deviation(xp: Any, x: Array, axis: Axis) -> Array:
    return x - xp.mean(x, axis=axis, keepdims=True)


@general(
    lambda g, xp, x, axis, correction, keepdims: (
        restore_axes(xp, g, x.shape, axis, keepdims)
        * (2.0 * reciprocal(_count(x.shape, axis) - correction))
        * _deviation(xp, x, axis)
    )
)
def var(xp: Any, x: ArrayLike, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> Array:
    """Variance over axes: the sum of squared deviations divided by `count - correction`."""
    return widened(xp, x, lambda x: xp.var(x, axis=axis, correction=correction, keepdims=keepdims))


@general(
    lambda g, xp, x, out, axis, correction, keepdims: (
        restore_axes(xp, divide_or_zero(xp, g, out), x.shape, axis, keepdims)
        * reciprocal(_count(x.shape, axis) - correction)
        * _deviation(xp, x, axis)
    )
)
def std(xp: Any, x: ArrayLike, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> Array:
    """Standard deviation over axes. Where it is 0, so is the gradient."""
    return widened(xp, x, lambda x: xp.std(x, axis=axis, correction=correction, keepdims=keepdims))


@linear(
    lambda g, xp, axis, include_initial: xp.flip(
        xp.cumulative_sum(xp.flip(_without_initial(g, axis, include_initial), axis=_last(axis)), axis=_last(axis)),
        axis=_last(axis),
    )
)
def cumulative_sum(
    xp: Any, x: ArrayLike, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Array:
    """Running sum along an axis, which may be left out in one dimension.

    The gradient is a running sum from the end, so nothing cancels.
    """
    return xp.cumulative_sum(x, axis=axis, dtype=dtype, include_initial=include_initial)


@general(
    lambda g, xp, x, axis, include_initial: _grad_of_running_product(
        _without_initial(g, axis, include_initial), xp, x, _last(axis) % x.ndim
    )
)
def cumulative_prod(
    xp: Any, x: ArrayLike, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Array:
    """Running product along an axis, which may be left out in one dimension. The gradient is exact at zeros."""
    return xp.cumulative_prod(x, axis=axis, dtype=dtype, include_initial=include_initial)


def _grad_of_running_product(g: Array, xp: Any, x: Array, axis: int) -> Array:
    """The product of what is before an element, times the sum over what is after it.

    Nothing is divided, so zeros are exact, and so is a derivative of this.
    """
    along = (slice(None),) * axis
    before = xp.cumulative_prod(x, axis=axis, include_initial=True)[(*along, slice(-1), ...)]
    return before * sums_from_end(xp, g, x, axis)


def sums_from_end(xp: Any, g: Array, factor: Array, axis: int) -> Array:
    """`s[i] = g[i] + factor[i + 1] * s[i + 1]` along an axis, composed over spans of 1, 2, 4, ... elements."""
    along, size = (slice(None),) * axis, factor.shape[axis]

    def ahead(values: Array, step: int) -> Array:
        return xp.concat(
            [values[(*along, slice(step, None), ...)], xp.zeros_like(values[(*along, slice(step), ...)])], axis=axis
        )

    if not size:
        return g
    factor, total, step = ahead(factor, 1), g, 1
    while step < size:
        total = total + factor * ahead(total, step)
        factor = factor * ahead(factor, step)
        step *= 2
    return total


def _last(axis: int | None) -> int:
    return -1 if axis is None else axis


def _without_initial(g: Array, axis: int | None, include_initial: bool) -> Array:
    if not include_initial:
        return g
    index = [slice(None)] * g.ndim
    index[_last(axis)] = slice(1, None)
    return g[tuple(index)]

"""Shapes, joins, copies and conversions: values stay, places change."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

from arraygrad import accumulate, backends
from arraygrad.backends import NUMPY, Array, is_complex
from arraygrad.errors import DtypeError, ShapeError, format_shape
from arraygrad.op import linear
from arraygrad.ops.indexing import getitem
from arraygrad.tensor import ArrayLike, Tensor


@linear(lambda g, xp, x_shape: xp.reshape(g, x_shape), is_view=True)
def reshape(xp: Any, x: ArrayLike, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Array:
    """The same elements in another shape; one size may be -1. A view where memory allows it.

    `copy=False` refuses to copy, `copy=True` always does.
    """
    return xp.reshape(x, (shape,) if isinstance(shape, int) else tuple(shape), copy=copy)


@linear(lambda g, xp, axes: xp.permute_dims(g, _inverse(axes)), is_view=True)
def permute_dims(xp: Any, x: ArrayLike, /, axes: tuple[int, ...]) -> Array:
    """Reorder the axes: axis `i` of the result is axis `axes[i]` of `x`. A view."""
    return xp.permute_dims(x, tuple(axes))


def _inverse(axes: tuple[int, ...]) -> tuple[int, ...]:
    positive = [axis % len(axes) for axis in axes]
    return tuple(positive.index(axis) for axis in range(len(axes)))


@linear(lambda g, xp: xp.matrix_transpose(g), is_view=True)
def matrix_transpose(xp: Any, x: ArrayLike, /) -> Array:
    """Swap the last two axes: `(..., M, N)` to `(..., N, M)`. A view."""
    return xp.matrix_transpose(x)


def transpose(x: ArrayLike, axis1: int, axis2: int) -> Tensor:
    """Swap two axes."""
    axes = list(range(x.ndim))
    axis1, axis2 = _normal_axis("transpose", x, axis1), _normal_axis("transpose", x, axis2)
    axes[axis1], axes[axis2] = axes[axis2], axes[axis1]
    return permute_dims(x, tuple(axes))


@linear(lambda g, xp, x_shape: xp.reshape(g, x_shape), is_view=True)
def squeeze(xp: Any, x: ArrayLike, /, axis: int | tuple[int, ...]) -> Array:
    """Remove axes of size 1. A view."""
    return xp.squeeze(x, axis=axis)


def squeeze_all(x: ArrayLike) -> Tensor:
    """Remove all axes of size 1."""
    return squeeze(x, tuple(axis for axis, size in enumerate(x.shape) if size == 1))


@linear(lambda g, xp, x_shape: xp.reshape(g, x_shape), is_view=True)
def expand_dims(xp: Any, x: ArrayLike, /, axis: int | tuple[int, ...] = 0) -> Array:
    """Insert an axis of size 1, which is axis `axis` of the result. A view."""
    return xp.expand_dims(x, axis=axis)


@linear(lambda g: g, is_view=True, broadcasts=True)
def broadcast_to(xp: Any, x: ArrayLike, /, shape: tuple[int, ...]) -> Array:
    """Repeat along axes of size 1 and new leading ones. A view that cannot be written to."""
    return xp.broadcast_to(x, tuple(shape))


def expand(x: ArrayLike, shape: tuple[int, ...]) -> Tensor:
    """`broadcast_to` with -1 for an axis that keeps its size."""
    if len(shape) < x.ndim or -1 in shape[: len(shape) - x.ndim]:
        raise ShapeError(f"expand: shape {format_shape(x.shape)} does not expand to {format_shape(shape)}")
    sizes = (1,) * (len(shape) - x.ndim) + x.shape
    return broadcast_to(x, tuple(old if new == -1 else new for old, new in zip(sizes, shape, strict=True)))


@linear(lambda g, xp, x_shape: xp.broadcast_to(g, x_shape), is_view=True)
def sum_to_shape(xp: Any, x: ArrayLike, /, shape: tuple[int, ...]) -> Array:
    """Sum over the axes along which `shape` broadcasts to the shape of `x`: the transpose of `broadcast_to`.

    Raises:
        ShapeError: `shape` does not broadcast to the shape of `x`.

    >>> import arraygrad as ag
    >>> ag.sum_to_shape(ag.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), (2, 1))
    tensor([[ 6.],
            [15.]], dtype=float64, device='cpu')
    """
    return accumulate.sum_to_shape(xp, x, tuple(shape))


@linear(lambda g, xp, axis: xp.unstack(g, axis=axis))
def stack(xp: Any, arrays: Sequence[ArrayLike], /, *, axis: int = 0) -> Array:
    """Join arrays of one shape along a new axis."""
    return xp.stack(arrays, axis=axis)


@linear(lambda g, xp, arrays_shape, axis: _pieces(g, xp, arrays_shape, axis))
def concat(xp: Any, arrays: Sequence[ArrayLike], /, *, axis: int | None = 0) -> Array:
    """Join arrays along an axis that they have; None joins their flattened elements."""
    return xp.concat(arrays, axis=axis)


def _pieces(g: Array, xp: Any, shapes: Sequence[tuple[int, ...]], axis: int | None) -> list[Array]:
    if axis is None:
        sizes, along = [math.prod(shape) for shape in shapes], 0
    else:
        sizes, along = [shape[axis] for shape in shapes], axis % g.ndim
    pieces, start = [], 0
    for size, shape in zip(sizes, shapes, strict=True):
        piece = g[(slice(None),) * along + (slice(start, start + size), ...)]
        pieces.append(xp.reshape(piece, shape) if axis is None else piece)
        start += size
    return pieces


def unstack(x: ArrayLike, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """Return the slices along an axis, which they no longer have: views, each with its own history."""
    axis = _normal_axis("unstack", x, axis)
    return tuple(getitem(x, (slice(None),) * axis + (i,)) for i in range(x.shape[axis]))


def split(x: ArrayLike, sizes: int | Sequence[int], /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """Cut along an axis into views: of `sizes` each (the last may be smaller), or of these sizes in turn.

    Raises:
        ShapeError: the sizes do not add up to the axis.

    >>> import arraygrad as ag
    >>> [piece.shape for piece in ag.split(ag.zeros((5, 2)), 2)]
    [(2, 2), (2, 2), (1, 2)]
    """
    axis = _normal_axis("split", x, axis)
    total = x.shape[axis]
    if not isinstance(sizes, Sequence):
        sizes = operator.index(sizes)
        if sizes <= 0:
            raise ShapeError(f"split: pieces of size {sizes}")
        sizes = [min(sizes, total - start) for start in range(0, total, sizes)] or [0]
    if sum(sizes) != total or any(size < 0 for size in sizes):
        raise ShapeError(f"split: sizes {list(sizes)} do not add up to axis {axis} of {format_shape(x.shape)}")
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    return tuple(narrow(x, axis, start, size) for start, size in zip(starts, sizes, strict=True))


def narrow(x: ArrayLike, axis: int, start: int, length: int) -> Tensor:
    """The slice of `length` from `start` along an axis."""
    axis, start, length = _normal_axis("narrow", x, axis), operator.index(start), operator.index(length)
    begin = start + x.shape[axis] if start < 0 else start
    if not 0 <= begin <= begin + length <= x.shape[axis]:
        raise ShapeError(
            f"narrow: start {start} and length {length} leave axis {axis} of shape {format_shape(x.shape)}"
        )
    return getitem(x, (slice(None),) * axis + (slice(begin, begin + length),))


def select(x: ArrayLike, axis: int, index: int) -> Tensor:
    """The slice at one index of an axis, which is removed."""
    return getitem(x, (slice(None),) * _normal_axis("select", x, axis) + (index,))


def _normal_axis(name: str, x: ArrayLike, axis: int) -> int:
    if not -len(x.shape) <= axis < len(x.shape):
        raise ShapeError(f"{name}: axis {axis} is outside a tensor of shape {format_shape(x.shape)}")
    return axis % len(x.shape)


@linear(lambda g: g)
def copy(xp: Any, x: ArrayLike, /) -> Array:
    """A copy with history. (PyTorch: clone.)"""
    return xp.copy(x)


@linear(lambda g: g, is_view=True)
def _astype(xp: Any, x: ArrayLike, dtype: Any, /, *, copy: bool = True) -> Array:
    return xp.astype(x, dtype, copy=copy)


def astype(x: ArrayLike, dtype: Any, /, *, copy: bool = True, device: str | None = None) -> Tensor:
    """Convert to a data type, and copy to a device if one is named; the gradient is converted back.

    From complex to real numbers it is refused, since the imaginary part would be lost: take `real`.
    Integers and booleans have no gradient.
    """
    if is_complex(x) and not NUMPY.isdtype(NUMPY.dtype(dtype), ("complex floating", "bool")):
        raise DtypeError(f"astype: complex numbers do not convert to {NUMPY.dtype(dtype)}; take real(x) first")
    result = _astype(x, dtype, copy=copy)
    return result if device is None else to_device(result, device)


@linear(lambda g, xp, x_device: xp.to_device(g, x_device), is_view=True)
def _to_device(xp: Any, x: ArrayLike, /, device: str) -> Array:
    return xp.to_device(x, device)


def to_device(x: ArrayLike, /, device: str) -> Tensor:
    """Copy to a device; the gradient comes back. A tensor that is there already stays itself."""
    # Here, since an operation runs on its operand's device: "cuda" would be that one.
    device = backends.for_device(device).device_name(device)
    return x if isinstance(x, Tensor) and x.device == device else _to_device(x, device)

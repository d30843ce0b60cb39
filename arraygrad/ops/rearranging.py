"""Elements moved, repeated or dropped: what of the manipulation chapter is no matter of shape alone."""

from __future__ import annotations

import math
from typing import Any

from arraygrad.accumulate import Part
from arraygrad.backends import Array, is_number
from arraygrad.op import general, linear
from arraygrad.ops.creation import asarray
from arraygrad.ops.indexing import whole_axis
from arraygrad.ops.manipulation import broadcast_to, reshape
from arraygrad.ops.utility import broadcast_shapes
from arraygrad.tensor import ArrayLike, Tensor

Axes = int | tuple[int, ...]


@linear(lambda g, xp, axis: xp.flip(g, axis=axis), is_view=True)
def flip(xp: Any, x: ArrayLike, /, *, axis: Axes | None = None) -> Array:
    """Reverse the order of elements along axes: one, several or, by default, all."""
    return xp.flip(x, axis=axis)


@linear(lambda g, xp, shift, axis: xp.roll(g, _negative(shift), axis=axis))
def roll(xp: Any, x: ArrayLike, /, shift: Axes, *, axis: Axes | None = None) -> Array:
    """Move elements along axes; those that leave at one end come in at the other."""
    return xp.roll(x, shift, axis=axis)


def _negative(shift: Axes) -> Axes:
    return -shift if isinstance(shift, int) else tuple(-s for s in shift)


@linear(lambda g, xp, source, destination: xp.moveaxis(g, destination, source), is_view=True)
def moveaxis(xp: Any, x: ArrayLike, source: Axes, destination: Axes, /) -> Array:
    """Move axes to other places; the rest keep their order. A view."""
    return xp.moveaxis(x, source, destination)


@linear(lambda g, xp, x_shape, repetitions: _sum_of_tiles(g, xp, x_shape, repetitions))
def tile(xp: Any, x: ArrayLike, repetitions: tuple[int, ...], /) -> Array:
    """Repeat the whole array, so many times along each axis."""
    return xp.tile(x, tuple(repetitions))


def _sum_of_tiles(g: Array, xp: Any, shape: tuple[int, ...], repetitions: tuple[int, ...]) -> Array:
    ndim = max(len(shape), len(repetitions))
    sizes = (1,) * (ndim - len(shape)) + tuple(shape)
    times = (1,) * (ndim - len(repetitions)) + tuple(repetitions)
    split = tuple(n for pair in zip(times, sizes, strict=True) for n in pair)
    return xp.reshape(xp.sum(xp.reshape(g, split), axis=tuple(range(0, 2 * ndim, 2))), shape)


@general(lambda g, xp, repeats, x_shape, axis: _sum_of_repeats(g, xp, repeats, x_shape, axis))
def repeat(xp: Any, x: ArrayLike, repeats: int | ArrayLike, /, *, axis: int | None = None) -> Array:
    """Repeat each element, along an axis or in the flattened array; `repeats` may differ between elements."""
    return xp.repeat(x, repeats, axis=axis)


def _sum_of_repeats(g: Array, xp: Any, repeats: Any, shape: tuple[int, ...], axis: int | None) -> Any:
    flat = (math.prod(shape),) if axis is None else shape
    along = (axis or 0) % len(flat) if flat else 0
    if is_number(repeats):
        split = (*flat[:along], flat[along], repeats, *flat[along + 1 :])
        return xp.reshape(xp.sum(xp.reshape(g, split), axis=along + 1), shape)
    positions = xp.arange(flat[along], dtype=repeats.dtype, device=repeats.device)
    index = whole_axis(xp.repeat(positions, repeats), along, len(flat))
    return Part(index, g) if flat == shape else xp.reshape(xp.scatter(g, index, flat), shape)


@linear(lambda g, xp, k: xp.tril(g, k=k))
def tril(xp: Any, x: ArrayLike, /, *, k: int = 0) -> Array:
    """Lower triangle of `(..., M, N)`, up to the `k`-th diagonal; zeros above."""
    return xp.tril(x, k=k)


@linear(lambda g, xp, k: xp.triu(g, k=k))
def triu(xp: Any, x: ArrayLike, /, *, k: int = 0) -> Array:
    """Upper triangle of `(..., M, N)`, from the `k`-th diagonal; zeros below."""
    return xp.triu(x, k=k)


def _grad_of_diff(g: Array, xp: Any, axis: int, n: int, start: int, size: int | None) -> Array:
    """Each difference gives its cotangent to its right end, and takes it from its left."""
    zero = xp.zeros_like(xp.sum(g, axis=axis, keepdims=True))
    for _ in range(n):
        padded = xp.concat([zero, g, zero], axis=axis)
        g = -xp.diff(padded, axis=axis)
    stop = None if size is None else start + size
    return g[(slice(None),) * (axis % g.ndim) + (slice(start, stop), ...)]


def _length(shape: tuple[int, ...], axis: int) -> int:
    return shape[axis] if shape else 0


@general(  # linear in its inputs together, not in each
    x=lambda g, xp, x_shape, prepend_shape, axis, n: _grad_of_diff(
        g, xp, axis, n, _length(prepend_shape, axis), x_shape[axis]
    ),
    prepend=lambda g, xp, prepend_shape, axis, n: _grad_of_diff(g, xp, axis, n, 0, prepend_shape[axis]),
    append=lambda g, xp, x_shape, prepend_shape, axis, n: _grad_of_diff(
        g, xp, axis, n, _length(prepend_shape, axis) + x_shape[axis], None
    ),
)
def diff(
    xp: Any,
    x: ArrayLike,
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: ArrayLike | None = None,
    append: ArrayLike | None = None,
) -> Array:
    """Differences of neighbours along an axis, `n` times; with values put before and after, if given."""
    parts = [part for part in (prepend, x, append) if part is not None]
    joined = xp.concat(parts, axis=axis)  # a copy, also if there is one part and nothing to subtract
    return xp.diff(joined, axis=axis, n=n) if n else joined


def broadcast_arrays(*arrays: ArrayLike) -> tuple[Tensor, ...]:
    """Broadcast arrays against one another: views, each with its own history."""
    shape = broadcast_shapes(*[array.shape for array in arrays])
    return tuple(
        # A broadcast view cannot be written to; what needs no broadcasting can.
        broadcast_to(array, shape) if tuple(array.shape) != shape else asarray(array)
        for array in arrays
    )


def meshgrid(*arrays: ArrayLike, indexing: str = "xy") -> tuple[Tensor, ...]:
    """Coordinates of a grid from those of its axes, one array for each axis: views.

    `indexing="ij"` keeps the order of axes, "xy" swaps the first two.

    Raises:
        ValueError: `indexing` is neither, or an array has several axes.
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f'meshgrid: indexing is "xy" or "ij", not {indexing!r}')
    places = list(range(len(arrays)))
    if indexing == "xy" and len(arrays) > 1:
        places[:2] = [1, 0]
    lines = []
    for array, place in zip(arrays, places, strict=True):
        if len(array.shape) > 1:
            raise ValueError("meshgrid takes arrays of at most one axis")
        lines.append(reshape(array, (1,) * place + (-1,) + (1,) * (len(arrays) - place - 1)))
    return broadcast_arrays(*lines) if lines else ()

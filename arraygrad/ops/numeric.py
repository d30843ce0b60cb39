"""What users of NumPy expect beyond the standard: padding, products, calculus on grids, polynomials.

Parameters are NumPy's. Most of these are compositions of other operations, and have their gradients.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from arraygrad.backends import Array, is_number
from arraygrad.errors import DtypeError, ShapeError, format_shape
from arraygrad.modes import no_grad
from arraygrad.op import general, linear
from arraygrad.ops.creation import asarray, tensors, zeros_like
from arraygrad.ops.elementwise import abs, clip, remainder
from arraygrad.ops.indexing import getitem, take
from arraygrad.ops.linalg import as_rows, diagonal, on_diagonal
from arraygrad.ops.manipulation import astype, concat, reshape
from arraygrad.ops.predicates import logical_and, round
from arraygrad.ops.rearranging import diff
from arraygrad.ops.searching import where
from arraygrad.ops.sorting import argsort, searchsorted
from arraygrad.ops.statistical import cumulative_sum, sum, sums_from_end
from arraygrad.tensor import ArrayLike, Tensor


def checked_axis(name: str, x: Tensor, axis: int) -> int:
    """The axis, not negative."""
    if not -x.ndim <= axis < x.ndim:
        raise ShapeError(f"{name}: axis {axis} is outside {format_shape(x.shape)}")
    return axis % x.ndim


def floating(x: ArrayLike) -> Tensor:
    """As a tensor, in float64 if it holds integers or booleans."""
    x = asarray(x)
    return x if x.dtype.kind in "fc" else astype(x, "float64")


def _at(axis: int, part: Any) -> tuple[Any, ...]:
    """The index of a part of one axis."""
    return (slice(None),) * axis + (part,)


# ---- Padding and diagonals


@general(lambda g, widths, x_shape: g[tuple(slice(b, b + n) for (b, _), n in zip(widths, x_shape, strict=True))])
def _pad(xp: Any, x: ArrayLike, /, widths: Sequence[tuple[int, int]], values: Sequence[tuple[Any, Any]]) -> Array:
    """`x` with so many constants before and after along each axis."""
    if not any(n for counts in widths for n in counts):
        return xp.asarray(x, copy=True)
    for axis, (counts, ends) in enumerate(zip(widths, values, strict=True)):
        before, after = (
            [xp.full((*x.shape[:axis], n, *x.shape[axis + 1 :]), end, dtype=x.dtype, device=x.device)] if n else []
            for n, end in zip(counts, ends, strict=True)
        )
        x = xp.concat([*before, x, *after], axis=axis) if before or after else x
    return x


def pad(array: ArrayLike, pad_width: Any, mode: str = "constant", *, constant_values: Any = 0) -> Tensor:
    """Elements put before and after, along each axis.

    `pad_width` is a number, a pair (before, after), a pair for each axis, or a dict from axes to one of these.
    `mode` says what is put there: "constant" numbers (`constant_values`, given as `pad_width` is), the nearest
    element ("edge"), the elements mirrored at the edge, once ("reflect") or with the edge twice ("symmetric"), or
    those of the other end ("wrap"). What is put there more than once gets all of its cotangents.

    Raises:
        ShapeError: widths are negative or do not fit the axes, `mode` is none of these, or an axis without elements
            would have to be repeated.
    """
    x = asarray(array)
    widths = pad_pairs("pad_width", pad_width, x)
    if any(not isinstance(n, int) or n < 0 for pair in widths for n in pair):
        raise ShapeError(f"pad: pad_width holds counts that are not negative, got {pad_width}")
    if mode == "constant":
        return _pad(x, widths, pad_pairs("constant_values", constant_values, x))
    if mode not in ("edge", "reflect", "symmetric", "wrap"):
        raise ShapeError(f'pad: mode is "constant", "edge", "reflect", "symmetric" or "wrap", not {mode!r}')
    for axis, (before, after) in enumerate(widths):
        size = x.shape[axis]
        if before + after and not size:
            raise ShapeError(f'pad: axis {axis} of {format_shape(x.shape)} is empty, so mode "{mode}" has no elements')
        if before + after:
            places = [_source(mode, i, size) for i in range(-before, size + after)]
            x = take(x, asarray(places, device=x.device), axis=axis)
    return x


def _source(mode: str, i: int, size: int) -> int:
    """Which element of an axis is put at place `i`, inside or outside."""
    if mode == "edge":
        return min(max(i, 0), size - 1)
    if mode == "wrap":
        return i % size
    if mode == "symmetric":
        i %= 2 * size
        return min(i, 2 * size - 1 - i)
    i %= max(2 * size - 2, 1)
    return min(i, 2 * size - 2 - i)


def pad_pairs(name: str, value: Any, x: Tensor) -> list[tuple[Any, Any]]:
    """A pair for each axis, of a number, a pair, or a number or a pair for each."""

    def items(part: Any) -> list[Any]:
        return list(part) if isinstance(part, list | tuple) else [part]

    def pair(part: Any) -> tuple[Any, Any]:
        numbers = [item.item() if hasattr(item, "item") else item for item in items(part)]
        if not 1 <= len(numbers) <= 2 or not all(is_number(number) for number in numbers):
            raise ShapeError(f"pad: {name} is a number, a pair, or a pair for each axis, got {value}")
        return numbers[0], numbers[-1]

    if isinstance(value, dict):  # whose axes may be negative
        of = [value.get(axis, value.get(axis - x.ndim, 0)) for axis in range(x.ndim)]
        value = [(n, n) if isinstance(n, int) else n for n in of]
    if isinstance(value, Tensor) and value.requires_grad:
        raise DtypeError(f"pad: {name} are numbers without a gradient; use concat for a tensor with one")
    if hasattr(value, "tolist"):
        value = value.tolist()
    parts = items(value)
    if len(parts) == 1:
        return [pair(parts[0])] * x.ndim
    if any(isinstance(part, list | tuple) for part in parts) or len(parts) != 2:
        if len(parts) != x.ndim:
            raise ShapeError(f"pad: {name} has {len(parts)} parts for the axes of {format_shape(x.shape)}")
        return [pair(part) for part in parts]
    return [pair(parts)] * x.ndim


@linear(lambda g, xp, k: xp.linalg.diagonal(g, offset=k))
def _diag(xp: Any, x: ArrayLike, /, k: int) -> Array:
    size = x.shape[0] + (k if k > 0 else -k)
    return on_diagonal(xp, as_rows(xp, x, (size, size), k), (size, size), k)


def diag(v: ArrayLike, k: int = 0) -> Tensor:
    """The matrix with a vector on its `k`-th diagonal, or that diagonal of a matrix (a view).

    Raises:
        ShapeError: `v` has not one or two axes.
    """
    x = asarray(v)
    if x.ndim not in (1, 2):
        raise ShapeError(f"diag takes a vector or a matrix, got {format_shape(x.shape)}")
    return _diag(x, k) if x.ndim == 1 else diagonal(x, offset=k)


# ---- Products


def kron(a: ArrayLike, b: ArrayLike) -> Tensor:
    """Kronecker product: `b` times each element of `a`, as blocks: `(M, N)` and `(P, Q)` to `(M * P, N * Q)`."""
    x1, x2 = tensors(a, b)
    ndim = max(x1.ndim, x2.ndim)
    shape1, shape2 = ((1,) * (ndim - x.ndim) + x.shape for x in (x1, x2))
    blocks = reshape(x1, tuple(n for size in shape1 for n in (size, 1)))
    blocks = blocks * reshape(x2, tuple(n for size in shape2 for n in (1, size)))
    return reshape(blocks, tuple(m * n for m, n in zip(shape1, shape2, strict=True)))


def convolve(a: ArrayLike, v: ArrayLike, mode: str = "full") -> Tensor:
    """Convolution of two vectors, `sum(a[i] * v[k - i])`: of all overlaps ("full"), of the centre, as long as the
    longer one ("same"), or of complete overlaps alone ("valid").

    Raises:
        ShapeError: an input has not one axis or no elements, or `mode` is none of these.
    """
    x1, x2 = tensors(a, v)
    if (x1.ndim, x2.ndim) != (1, 1) or not x1.size or not x2.size:
        got = f"{format_shape(x1.shape)} and {format_shape(x2.shape)}"
        raise ShapeError(f"convolve takes two vectors with elements, got {got}")
    if mode not in ("full", "same", "valid"):
        raise ShapeError(f'convolve: mode is "full", "same" or "valid", not {mode!r}')
    if x1.size < x2.size:
        x1, x2 = x2, x1
    n, m = x1.size, x2.size
    # Row i is x1 * x2[i]. Cut from one line into rows that are shorter by one, each is one further to the right.
    rows = _pad(reshape(x2, (m, 1)) * x1, ((0, 0), (0, m)), ((0, 0), (0, 0)))
    line = getitem(reshape(rows, (-1,)), (slice(m * (n + m - 1)),))
    full = sum(reshape(line, (m, n + m - 1)), axis=0)
    start, stop = {"full": (0, n + m - 1), "same": ((m - 1) // 2, (m - 1) // 2 + n), "valid": (m - 1, n)}[mode]
    return full if mode == "full" else getitem(full, (slice(start, stop),))


def polyval(p: ArrayLike, x: ArrayLike) -> Tensor:
    """The polynomial with the coefficients `p`, that of the highest power first, at `x`, by Horner's rule.

    Raises:
        ShapeError: `p` has not one axis.
    """
    coefficients, at = tensors(p, x)
    if coefficients.ndim != 1:
        raise ShapeError(f"polyval takes a vector of coefficients, got {format_shape(coefficients.shape)}")
    result = zeros_like(at)
    for i in range(coefficients.size):
        result = result * at + coefficients[i]
    return result


# ---- Running sums


@general(lambda g, xp, x, out, axis: _grad_of_logcumsumexp(g, xp, x, out, (-1 if axis is None else axis) % x.ndim))
def logcumsumexp(xp: Any, x: ArrayLike, /, *, axis: int | None = None) -> Array:
    """`log(cumulative_sum(exp(x)))` along an axis, which may be left out in one dimension, without overflow.

    Where the sum is 0, so is the gradient.

    Raises:
        ShapeError: the axis is missing or outside.
    """
    if not x.ndim or (axis is None and x.ndim > 1) or not -x.ndim <= (axis or 0) < x.ndim:
        raise ShapeError(f"logcumsumexp: axis {axis} of {format_shape(x.shape)}")
    along = (-1 if axis is None else axis) % x.ndim
    total, step = xp.asarray(x, copy=True), 1
    while step < x.shape[along]:
        joined = xp.logaddexp(total[(*_at(along, slice(step, None)), ...)], total[(*_at(along, slice(-step)), ...)])
        total = xp.concat([total[(*_at(along, slice(step)), ...)], joined], axis=along)
        step *= 2
    return total


def _grad_of_logcumsumexp(g: Array, xp: Any, x: Array, out: Array, axis: int) -> Array:
    """The sum of `g[j] * exp(x[i] - out[j])` over `j >= i`; no factor is above 1, so none overflows."""
    safe = xp.where(xp.isfinite(out), out, 0.0)
    size = x.shape[axis]
    first, others = (*_at(axis, slice(min(1, size))), ...), (*_at(axis, slice(max(size - 1, 0))), ...)
    before = xp.concat([out[first], out[others]], axis=axis)
    return xp.exp(x - safe) * sums_from_end(xp, g, xp.exp(before - safe), axis)


# ---- Functions on grids


def interp(
    x: ArrayLike,
    xp: ArrayLike,
    fp: ArrayLike,
    left: ArrayLike | None = None,
    right: ArrayLike | None = None,
    period: ArrayLike | None = None,
) -> Tensor:
    """The piecewise linear function through the points `(xp, fp)`, at `x`; gradients go to all three.

    `xp` increases. Outside, the value is that of the nearest point, or `left` and `right`; with a `period`, the
    points go on periodically, in any order. At a point, the slope is that to its right.

    Raises:
        ShapeError: `xp` and `fp` are not vectors of one length with elements.
    """
    at, points, values = tensors(x, xp, fp)
    if points.ndim != 1 or points.shape != values.shape or not points.size:
        raise ShapeError(
            f"interp takes vectors of one length as xp and fp, got {format_shape(points.shape)} and "
            f"{format_shape(values.shape)}"
        )
    if period is not None:
        if not period:
            raise ShapeError("interp: period must not be 0")
        period = -period if period < 0 else period
        at, points = remainder(at, period), remainder(points, period)
        order = argsort(points)
        points, values = take(points, order), take(values, order)
        points = concat([points[-1:] - period, points, points[:1] + period])
        values = concat([values[-1:], values, values[:1]])
        left = right = None
    flat = reshape(at, (-1,))
    start = clip(searchsorted(points, flat.detach(), side="right") - 1, 0, max(points.size - 2, 0))
    end = clip(start + 1, 0, points.size - 1)
    x0, f1 = take(points, start), take(values, end)
    width = take(points, end) - x0
    is_end = width == 0  # of two points at one place, at the end, the last counts
    f0 = where(is_end, f1, take(values, start))
    result = f0 + (f1 - f0) / where(is_end, 1.0, width) * (flat - x0)
    result = where(flat < points[0], values[0] if left is None else left, result)
    result = where(flat > points[-1], values[-1] if right is None else right, result)
    return reshape(result, at.shape)


def trapezoid(y: ArrayLike, x: ArrayLike | None = None, dx: ArrayLike = 1.0, axis: int = -1) -> Tensor:
    """The integral along an axis by the trapezoidal rule, between points `x` or points that are `dx` apart.

    `x` is a vector, or broadcasts against `y`.
    """
    (y, *points) = [floating(values) for values in (tensors(y) if x is None else tensors(y, x))]
    axis = checked_axis("trapezoid", y, axis)
    means = 0.5 * (y[_at(axis, slice(1, None))] + y[_at(axis, slice(None, -1))])
    if not points:
        return sum(means, axis=axis) * dx
    if points[0].ndim == 1:
        return sum(means * reshape(diff(points[0]), (-1,) + (1,) * (y.ndim - 1 - axis)), axis=axis)
    return sum(means * diff(points[0], axis=axis - y.ndim), axis=axis)


def gradient(
    f: ArrayLike, *varargs: ArrayLike, axis: int | Sequence[int] | None = None, edge_order: int = 1
) -> Tensor | tuple[Tensor, ...]:
    """Slopes of `f` along axes: central differences, one-sided ones at the ends. A tuple if there are several axes.

    With `edge_order=2`, the slope at an end is that of the parabola through the three points there.

    After `f` comes the spacing, 1 by default: a number, or one for each axis; in place of a number, a vector with
    the coordinates along that axis.

    Raises:
        ShapeError: an axis has fewer than `edge_order + 1` elements, there are too many spacings or too few,
            coordinates do not fit their axis, or `edge_order` is neither 1 nor 2.
    """
    x = floating(f)
    several = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    axes = [checked_axis("gradient", x, a) for a in several]
    if edge_order not in (1, 2):
        raise ShapeError(f"gradient: edge_order is 1 or 2, not {edge_order}")
    if len(varargs) not in (0, 1, len(axes)):
        raise ShapeError(f"gradient got {len(varargs)} spacings for {len(axes)} axes")
    spacings = [1.0] * len(axes) if not varargs else list(varargs) * (len(axes) if len(varargs) == 1 else 1)
    slopes = [_slope(x, a, tensors(x, spacing)[1], edge_order) for a, spacing in zip(axes, spacings, strict=True)]
    return slopes[0] if len(slopes) == 1 else tuple(slopes)


def _slope(x: Tensor, axis: int, spacing: Tensor, edge_order: int) -> Tensor:
    size = x.shape[axis]
    if size <= edge_order:
        raise ShapeError(f"gradient needs {edge_order + 1} elements along axis {axis}, got {format_shape(x.shape)}")
    if spacing.ndim and spacing.shape != (size,):
        raise ShapeError(
            f"gradient: coordinates {format_shape(spacing.shape)} of axis {axis} of {format_shape(x.shape)}"
        )
    first, last = _at(axis, slice(1)), _at(axis, slice(-1, None))
    steps = diff(x, axis=axis)
    left: Any
    if not spacing.ndim:
        steps = steps / spacing
        left = right = zeros_like(steps[_at(axis, slice(1, None))]) + 0.5
    else:
        width = reshape(diff(spacing), (-1,) + (1,) * (x.ndim - 1 - axis))
        steps = steps / width
        left, right = (side / (width[:-1] + width[1:]) for side in (width[:-1], width[1:]))
    # The slope of the parabola through three points: of each side's slope, as much as the other side is wide.
    before, after = steps[_at(axis, slice(None, -1))], steps[_at(axis, slice(1, None))]
    inner = right * before + left * after
    start, end = steps[first], steps[last]
    if edge_order == 2:
        bend = before - after
        start = start + (left * bend)[first]
        end = end - (right * bend)[last]
    return concat([start, inner, end], axis=axis)


def unwrap(p: ArrayLike, discont: float | None = None, axis: int = -1, *, period: ArrayLike = 2 * math.pi) -> Tensor:
    """Add multiples of `period` along an axis, so that neighbours differ by at most half of it.

    Differences below `discont` stay. How many are added is constant, so the gradient passes as it is.

    Raises:
        DtypeError: `p` are no real floating point numbers.
    """
    x = asarray(p)
    if x.dtype.kind != "f":
        raise DtypeError(f"unwrap takes real floating point numbers, got {x.dtype}")
    axis = checked_axis("unwrap", x, axis)
    with no_grad():
        half = period / 2
        steps = diff(x.detach(), axis=axis)
        wrapped = remainder(steps + half, period) - half
        wrapped = where(logical_and(wrapped == -half, steps > 0), half, wrapped)
        turns = where(abs(steps) < (half if discont is None else discont), 0.0, round((wrapped - steps) / period))
        turns = concat([zeros_like(x[_at(axis, slice(1))]), cumulative_sum(turns, axis=axis)], axis=axis)
    return x + turns * period

"""Elements chosen, replaced or mapped."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import arraygrad as ag
from arraygrad import special
from arraygrad.errors import ShapeError, format_shape
from arraygrad.numpy_functions.table import FUNCTIONS, beside, numpy_function
from arraygrad.ops.numeric import checked_axis
from arraygrad.tensor import Tensor


@numpy_function()
def where(condition: Any, x: Any = None, y: Any = None, /) -> Any:
    like = next(part for part in (condition, x, y) if isinstance(part, Tensor))
    condition = beside(like, condition)
    if x is None and y is None:
        return ag.nonzero(condition)
    x, y = (beside(like, part) if isinstance(part, list | tuple) else part for part in (x, y))
    return ag.where(condition if condition.dtype == "bool" else condition != 0, x, y)


@numpy_function()
def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Tensor:
    if len(condlist) != len(choicelist) or not len(condlist):
        raise ShapeError(f"np.select got {len(condlist)} conditions for {len(choicelist)} choices")
    result = default
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        result = ag.where(condition, choice, result)
    return ag.asarray(result)


def _in_range(name: str, places: Tensor, size: int, mode: str) -> Tensor:
    """Indices by NumPy's modes for what is outside."""
    if mode == "raise":
        return places
    if mode not in ("wrap", "clip"):
        raise ShapeError(f'np.{name}: mode is "raise", "wrap" or "clip", not {mode!r}')
    return places % size if mode == "wrap" else ag.clip(places, 0, size - 1)


@numpy_function()
def choose(a: Any, choices: Sequence[Any], mode: str = "raise") -> Tensor:
    like = next((x for x in (a, *choices) if isinstance(x, Tensor)), ag.asarray(a))
    index, *choices = (beside(like, x) for x in (a, *choices))
    index = _in_range("choose", index, len(choices), mode)
    if ag.any((index < 0) | (index >= len(choices))):
        raise ShapeError(f"np.choose: an index is outside the {len(choices)} choices")
    result = choices[-1]
    for i in range(len(choices) - 1):
        result = ag.where(index == i, choices[i], result)
    return ag.broadcast_to(result, ag.broadcast_shapes(index.shape, result.shape))


@numpy_function()
def take(a: Any, indices: Any, axis: int | None = None, mode: str = "raise") -> Tensor:
    x, axis = (ag.reshape(a, (-1,)), 0) if axis is None else (ag.asarray(a), axis)
    axis = checked_axis("np.take", x, axis)
    return x[(slice(None),) * axis + (_in_range("take", beside(x, indices), x.shape[axis], mode),)]


@numpy_function()
def take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Tensor:
    x = ag.reshape(arr, (-1,)) if axis is None else ag.asarray(arr)
    return ag.take_along_axis(x, beside(x, indices), axis=axis or 0)


@numpy_function()
def compress(condition: Any, a: Any, axis: int | None = None) -> Tensor:
    x, axis = (ag.reshape(a, (-1,)), 0) if axis is None else (ag.asarray(a), axis)
    return ag.take(x, ag.nonzero(beside(x, condition))[0], axis=axis)


@numpy_function()
def extract(condition: Any, arr: Any) -> Tensor:
    x = ag.asarray(arr)
    return compress(ag.reshape(beside(x, condition), (-1,)), x)


@numpy_function()
def clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Tensor:
    return ag.clip(ag.asarray(a), a_min if min is None else min, a_max if max is None else max)


@numpy_function()
def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Tensor:
    x = ag.asarray(x)
    if x.dtype.kind == "c":
        real, imag = (nan_to_num(part, True, nan, posinf, neginf) for part in (ag.real(x), ag.imag(x)))
        return real + 1j * imag
    if x.dtype.kind != "f":
        return ag.copy(x)
    largest = ag.finfo(x.dtype).max
    x = ag.where(ag.isnan(x), nan, x)
    x = ag.where(x == math.inf, largest if posinf is None else posinf, x)
    return ag.where(x == -math.inf, -largest if neginf is None else neginf, x)


@numpy_function()
def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Tensor:
    """Each function sees only the elements where its condition holds; the last condition that holds counts."""
    x = ag.asarray(x)
    first = condlist[0] if len(getattr(condlist, "shape", (0,))) else condlist
    is_one = not isinstance(first, list) and not len(getattr(first, "shape", ())) and x.ndim > 0  # of truth values
    conditions = [beside(x, condition) for condition in ([condlist] if is_one else condlist)]
    if len(funclist) == len(conditions) + 1:
        rest = ag.zeros_like(x, dtype=ag.bool)
        for condition in conditions:
            rest = rest | condition
        conditions.append(ag.logical_not(rest))
    elif len(funclist) != len(conditions):
        raise ShapeError(f"np.piecewise got {len(funclist)} functions for {len(conditions)} conditions")
    result = ag.zeros_like(x)
    for condition, function in zip(conditions, funclist, strict=True):
        condition = ag.broadcast_to(condition, x.shape)
        if not callable(function):
            result = ag.where(condition, function, result)
        elif ag.any(condition):
            values = ag.asarray(function(x[condition], *args, **kw))
            if values.ndim:  # each element finds its value by counting those before it
                flat = ag.reshape(ag.astype(condition, ag.int64), (-1,))
                place = ag.clip(ag.cumulative_sum(flat) - 1, 0, None)
                values = ag.reshape(ag.take(values, place), x.shape)
            result = ag.where(condition, ag.astype(values, x.dtype), result)
    return result


@numpy_function()
def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any) -> Tensor:
    x = ag.asarray(arr)
    axis = checked_axis("np.apply_along_axis", x, axis)
    rows = ag.moveaxis(x, axis, -1)
    outer = rows.shape[:-1]
    results = [ag.asarray(func1d(rows[i], *args, **kwargs)) for i in itertools.product(*map(range, outer))]
    if not results:
        raise ShapeError(f"np.apply_along_axis: axis {axis} of {format_shape(x.shape)} has no vectors")
    inner = results[0].shape
    stacked = ag.reshape(ag.stack(results), (*outer, *inner))
    last = tuple(range(len(outer), len(outer) + len(inner)))
    return ag.moveaxis(stacked, last, tuple(range(axis, axis + len(inner))))


@numpy_function()
def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Tensor:
    x = ag.asarray(a)
    for axis in (axes,) if isinstance(axes, int) else axes:
        axis = checked_axis("np.apply_over_axes", x, axis)
        result = ag.asarray(func(x, axis))
        x = result if result.ndim == x.ndim else ag.expand_dims(result, axis)
    return x


# ---- Parts of complex numbers


@numpy_function()
def real(val: Any) -> Tensor:
    return ag.real(val)


@numpy_function()
def imag(val: Any) -> Tensor:
    x = ag.asarray(val)
    return ag.imag(x) if x.dtype.kind == "c" else ag.zeros_like(x)


@numpy_function()
def angle(z: Any, deg: bool = False) -> Tensor:
    z = ag.asarray(z)
    result = ag.atan2(ag.imag(z), ag.real(z)) if z.dtype.kind == "c" else ag.atan2(ag.zeros_like(z), z)
    return result * (180.0 / math.pi) if deg else result


@numpy_function()
def real_if_close(a: Any, tol: float = 100) -> Tensor:
    x = ag.asarray(a)
    if x.dtype.kind != "c":
        return x
    bound = tol * ag.finfo(x.dtype).eps if tol > 1 else tol
    return ag.real(x) if ag.all(ag.abs(ag.imag(x)) < bound) else x


# ---- Elementwise functions that are no ufuncs


@numpy_function("round")
def round_(a: Any, decimals: int = 0) -> Tensor:
    scale = 10.0**decimals
    return ag.round(a) if not decimals else ag.round(a * scale) / scale


FUNCTIONS["around"] = round_
FUNCTIONS["fix"] = lambda x: ag.trunc(x)
FUNCTIONS["i0"] = lambda x: special.i0(x)
FUNCTIONS["sinc"] = lambda x: special.sinc(x)

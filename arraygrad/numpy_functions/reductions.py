"""Reductions, running sums and quantiles, with and without NaN."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import arraygrad as ag
from arraygrad.errors import format_shape
from arraygrad.numpy_functions.table import FUNCTIONS, Axis, beside, numpy_function
from arraygrad.ops.creation import tensors
from arraygrad.ops.numeric import floating
from arraygrad.ops.samples import _kept_shape, _ranked, at_part, checked_parts
from arraygrad.tensor import Tensor


def masked(a: Any, where: Any, absent: Any) -> Tensor:
    """`a`, with `absent` where the mask `where` is false."""
    x = ag.asarray(a)
    return x if where is True else ag.where(beside(x, where), x, absent)


def _mask(x: Tensor, where: Any) -> Tensor:
    return ag.broadcast_to(beside(x, where), x.shape)


def _as(a: Any, dtype: Any) -> Tensor:
    return floating(a) if dtype is None else ag.astype(ag.asarray(a), dtype)


@numpy_function("sum")
def sum_(
    a: Any, axis: Axis = None, dtype: Any = None, keepdims: bool = False, initial: Any = 0, where: Any = True
) -> Tensor:
    total = ag.sum(masked(a, where, 0), axis=axis, dtype=dtype, keepdims=keepdims)
    return total if type(initial) is int and initial == 0 else total + initial


@numpy_function()
def prod(
    a: Any, axis: Axis = None, dtype: Any = None, keepdims: bool = False, initial: Any = 1, where: Any = True
) -> Tensor:
    product = ag.prod(masked(a, where, 1), axis=axis, dtype=dtype, keepdims=keepdims)
    return product if type(initial) is int and initial == 1 else product * initial


def _extreme(name: str, reduce: Callable[..., Any], join: Callable[..., Any]) -> Callable[..., Any]:
    def extreme(a: Any, axis: Axis = None, keepdims: bool = False, initial: Any = None, where: Any = True) -> Tensor:
        if initial is None and where is not True:
            raise ag.ShapeError(f"np.{name} with where needs initial, the result where nothing is left")
        x = masked(a, where, initial)
        if initial is None:
            return reduce(x, axis=axis, keepdims=keepdims)
        if 0 in x.shape:  # of no elements there is no extreme
            return initial + sum_(x, axis, None, keepdims)
        return join(reduce(x, axis=axis, keepdims=keepdims), initial)

    return extreme


for _name in ("max", "amax"):
    FUNCTIONS[_name] = _extreme(_name, ag.max, ag.maximum)
for _name in ("min", "amin"):
    FUNCTIONS[_name] = _extreme(_name, ag.min, ag.minimum)


@numpy_function("all")
def all_(a: Any, axis: Axis = None, keepdims: bool = False, where: Any = True) -> Tensor:
    return ag.all(masked(ag.asarray(a) != 0, where, True), axis=axis, keepdims=keepdims)


@numpy_function("any")
def any_(a: Any, axis: Axis = None, keepdims: bool = False, where: Any = True) -> Tensor:
    return ag.any(masked(ag.asarray(a) != 0, where, False), axis=axis, keepdims=keepdims)


def _counting(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda a, axis=None, keepdims=False: function(ag.asarray(a), axis=axis, keepdims=keepdims)


for _name in ("argmax", "argmin", "count_nonzero"):
    FUNCTIONS[_name] = _counting(getattr(ag, _name))


@numpy_function()
def mean(a: Any, axis: Axis = None, dtype: Any = None, keepdims: bool = False, where: Any = True) -> Tensor:
    x = _as(a, dtype)
    if where is True:
        return ag.mean(x, axis=axis, keepdims=keepdims)
    count = ag.count_nonzero(_mask(x, where), axis=axis, keepdims=keepdims)
    return ag.sum(masked(x, where, 0), axis=axis, keepdims=keepdims) / ag.astype(count, ag.real(x).dtype)


@numpy_function()
def var(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    where: Any = True,
    mean: Any = None,
    correction: float | None = None,
) -> Tensor:
    x = _as(a, dtype)
    ddof = ddof if correction is None else correction
    if where is True and mean is None:
        return ag.var(x, axis=axis, correction=ddof, keepdims=keepdims)
    mask = _mask(x, where)
    x = ag.where(mask, x, 0)  # what is left out may be NaN
    centre = FUNCTIONS["mean"](x, axis, keepdims=True, where=where) if mean is None else mean
    deviation = ag.abs(ag.where(mask, x - centre, 0))
    left = ag.count_nonzero(mask, axis=axis, keepdims=keepdims) - ddof
    total = ag.sum(deviation * deviation, axis=axis, keepdims=keepdims)
    return ag.where(left <= 0, math.nan, total / ag.astype(ag.where(left <= 0, 1, left), total.dtype))


@numpy_function()
def std(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    where: Any = True,
    mean: Any = None,
    correction: float | None = None,
) -> Tensor:
    if where is True and mean is None:
        return ag.std(
            _as(a, dtype), axis=axis, correction=ddof if correction is None else correction, keepdims=keepdims
        )
    square = var(a, axis, dtype, ddof, keepdims, where, mean, correction)
    return ag.where(square == 0, 0.0, ag.sqrt(ag.where(square == 0, 1.0, square)))  # the gradient at 0 is 0


@numpy_function()
def ptp(a: Any, axis: Axis = None, keepdims: bool = False) -> Tensor:
    return ag.max(a, axis=axis, keepdims=keepdims) - ag.min(a, axis=axis, keepdims=keepdims)


@numpy_function()
def average(a: Any, axis: Axis = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False) -> Any:
    x = floating(a)
    if weights is None:
        w = ag.ones_like(x)
    else:
        _, w = tensors(x, weights)
        if w.shape != x.shape:
            axes = [] if axis is None else [i % x.ndim for i in ((axis,) if isinstance(axis, int) else axis)]
            if w.shape != tuple(x.shape[i] for i in axes):
                raise ag.ShapeError(
                    f"np.average: weights {format_shape(w.shape)} fit neither {format_shape(x.shape)} nor axis {axis}"
                )
            order = sorted(range(len(axes)), key=axes.__getitem__)
            w = ag.reshape(
                ag.permute_dims(w, tuple(order)), tuple(n if i in axes else 1 for i, n in enumerate(x.shape))
            )
            w = ag.broadcast_to(w, x.shape)
    total = ag.sum(w, axis=axis, keepdims=keepdims)
    result = ag.sum(x * w, axis=axis, keepdims=keepdims) / total
    return (result, total) if returned else result


# ---- Running sums and products


def _running(function: Callable[..., Any], absent: Any) -> Callable[..., Any]:
    def running(a: Any, axis: int | None = None, dtype: Any = None) -> Tensor:
        x = ag.asarray(a)
        x = x if absent is None else _without_nan(x, absent)
        return function(ag.reshape(x, (-1,)) if axis is None else x, axis=0 if axis is None else axis, dtype=dtype)

    return running


def _without_nan(x: Tensor, absent: Any) -> Tensor:
    return ag.where(ag.isnan(x), absent, x) if x.dtype.kind in "fc" else x


FUNCTIONS["cumsum"] = _running(ag.cumulative_sum, None)
FUNCTIONS["cumprod"] = _running(ag.cumulative_prod, None)
FUNCTIONS["nancumsum"] = _running(ag.cumulative_sum, 0)
FUNCTIONS["nancumprod"] = _running(ag.cumulative_prod, 1)
FUNCTIONS["cumulative_sum"] = ag.cumulative_sum
FUNCTIONS["cumulative_prod"] = ag.cumulative_prod


# ---- NaN counts as absent


def _present(x: Tensor, where: Any) -> Any:
    present = ag.logical_not(ag.isnan(x))
    return present if where is True else ag.logical_and(present, _mask(x, where))


@numpy_function()
def nansum(
    a: Any, axis: Axis = None, dtype: Any = None, keepdims: bool = False, initial: Any = 0, where: Any = True
) -> Tensor:
    return sum_(_without_nan(ag.asarray(a), 0), axis, dtype, keepdims, initial, where)


@numpy_function()
def nanprod(
    a: Any, axis: Axis = None, dtype: Any = None, keepdims: bool = False, initial: Any = 1, where: Any = True
) -> Tensor:
    return prod(_without_nan(ag.asarray(a), 1), axis, dtype, keepdims, initial, where)


@numpy_function()
def nanmean(a: Any, axis: Axis = None, dtype: Any = None, keepdims: bool = False, where: Any = True) -> Tensor:
    return ag.nanmean(masked(_as(a, dtype), where, math.nan), axis, keepdims=keepdims)


@numpy_function()
def nanvar(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    where: Any = True,
    mean: Any = None,
    correction: float | None = None,
) -> Tensor:
    x = _as(a, dtype)
    return var(x, axis, None, ddof, keepdims, _present(x, where), mean, correction)


@numpy_function()
def nanstd(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    where: Any = True,
    mean: Any = None,
    correction: float | None = None,
) -> Tensor:
    x = _as(a, dtype)
    return std(x, axis, None, ddof, keepdims, _present(x, where), mean, correction)


def _nan_extreme(name: str, reduce: Callable[..., Any], join: Callable[..., Any]) -> Callable[..., Any]:
    def extreme(a: Any, axis: Axis = None, keepdims: bool = False, initial: Any = None, where: Any = True) -> Tensor:
        if initial is None and where is not True:
            raise ag.ShapeError(f"np.{name} with where needs initial, the result where nothing is left")
        largest = reduce(masked(a, where, math.nan), axis, keepdims=keepdims)
        return largest if initial is None else ag.where(ag.isnan(largest), initial, join(largest, initial))

    return extreme


FUNCTIONS["nanmax"] = _nan_extreme("nanmax", ag.nanmax, ag.maximum)
FUNCTIONS["nanmin"] = _nan_extreme("nanmin", ag.nanmin, ag.minimum)


def _nan_position(name: str, find: Callable[..., Any], absent: float) -> Callable[..., Any]:
    def position(a: Any, axis: int | None = None, keepdims: bool = False) -> Tensor:
        x = ag.asarray(a)
        if ag.any(ag.all(ag.isnan(x), axis=axis)):
            raise ag.ShapeError(f"np.{name}: all elements are NaN")
        return find(_without_nan(x, absent), axis=axis, keepdims=keepdims)

    return position


FUNCTIONS["nanargmax"] = _nan_position("nanargmax", ag.argmax, -math.inf)
FUNCTIONS["nanargmin"] = _nan_position("nanargmin", ag.argmin, math.inf)

# ---- By rank


@numpy_function()
def median(a: Any, axis: Axis = None, overwrite_input: bool = False, keepdims: bool = False) -> Tensor:
    return ag.median(a, axis, keepdims=keepdims)


@numpy_function()
def quantile(
    a: Any, q: Any, axis: Axis = None, overwrite_input: bool = False, method: str = "linear", keepdims: bool = False
) -> Tensor:
    return ag.quantile(a, q, axis, method=method, keepdims=keepdims)


def _parts(a: Any, q: Any) -> Tensor:
    """Percents as parts of one."""
    return ag.astype(beside(ag.asarray(a), q), ag.float64) / 100.0


@numpy_function()
def percentile(
    a: Any, q: Any, axis: Axis = None, overwrite_input: bool = False, method: str = "linear", keepdims: bool = False
) -> Tensor:
    return ag.quantile(a, _parts(a, q), axis, method=method, keepdims=keepdims)


@numpy_function()
def nanquantile(
    a: Any, q: Any, axis: Axis = None, overwrite_input: bool = False, method: str = "linear", keepdims: bool = False
) -> Tensor:
    x = floating(a)
    parts = checked_parts("np.nanquantile", x, q, method)
    ranked = _ranked("np.nanquantile", x, axis)  # NaN comes last
    rows = ag.reshape(ranked, (-1, ranked.shape[-1]))
    count = ag.count_nonzero(ag.logical_not(ag.isnan(rows)), axis=1)[:, None]
    last = ag.astype(ag.clip(count - 1, 0, None), ag.float64)
    result = at_part(method, ag.reshape(parts, (1, -1)), last, lambda places: ag.take_along_axis(rows, places, axis=1))
    kept = _kept_shape(x, axis) if keepdims else ranked.shape[:-1]
    return ag.reshape(ag.permute_dims(result, (1, 0)), (*parts.shape, *kept))


@numpy_function()
def nanpercentile(
    a: Any, q: Any, axis: Axis = None, overwrite_input: bool = False, method: str = "linear", keepdims: bool = False
) -> Tensor:
    return nanquantile(a, _parts(a, q), axis, method=method, keepdims=keepdims)


@numpy_function()
def nanmedian(a: Any, axis: Axis = None, overwrite_input: bool = False, keepdims: bool = False) -> Tensor:
    return nanquantile(a, 0.5, axis, keepdims=keepdims)

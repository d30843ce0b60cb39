"""Sorting, sets and bins."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import arraygrad as ag
from arraygrad.errors import DtypeError, ShapeError, format_shape
from arraygrad.numpy_functions.table import FUNCTIONS, numpy_function
from arraygrad.ops.creation import tensors
from arraygrad.ops.indexing import sum_into
from arraygrad.ops.sorting import UniqueAllResult, UniqueCountsResult, UniqueInverseResult
from arraygrad.tensor import Tensor


def _flat(a: Any) -> Tensor:
    return ag.reshape(ag.asarray(a), (-1,))


def _along(function: Callable[..., Any], needs_kth: bool = False) -> Callable[..., Any]:
    """A stable sort serves every kind of sort, and a sorted array is partitioned everywhere."""

    def sort(a: Any, axis: int | None = -1, kind: Any = None, stable: Any = None) -> Tensor:
        return function(_flat(a) if axis is None else ag.asarray(a), axis=-1 if axis is None else axis)

    def partition(a: Any, kth: Any, axis: int | None = -1, kind: Any = None) -> Tensor:
        return sort(a, axis)

    return partition if needs_kth else sort


FUNCTIONS["sort"] = _along(ag.sort)
FUNCTIONS["argsort"] = _along(ag.argsort)
FUNCTIONS["partition"] = _along(ag.sort, needs_kth=True)
FUNCTIONS["argpartition"] = _along(ag.argsort, needs_kth=True)


@numpy_function()
def lexsort(keys: Any, axis: int = -1) -> Tensor:
    order = ag.argsort(keys[0], axis=axis)
    for key in keys[1:]:
        then = ag.argsort(ag.take_along_axis(key, order, axis=axis), axis=axis)
        order = ag.take_along_axis(order, then, axis=axis)
    return order


@numpy_function()
def sort_complex(a: Any) -> Tensor:
    x = ag.asarray(a)
    if x.dtype.kind != "c":
        return ag.sort(x) + 0j
    return ag.take_along_axis(x, lexsort((ag.imag(x), ag.real(x))), axis=-1)


@numpy_function()
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Tensor:
    return ag.searchsorted(*tensors(a, v), side=side, sorter=sorter)


# ---- Sets: values have gradients, which go to the first of equal elements


@numpy_function()
def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    x = ag.asarray(ar)
    flat = _flat(x)
    _, index, inverse, counts = ag.unique_all(flat.detach())
    is_nan = ag.isnan(flat) if flat.dtype.kind in "fc" else ag.zeros_like(flat, dtype=ag.bool)
    kept = index.size - max(int(ag.count_nonzero(is_nan)) - 1, 0)
    if equal_nan and kept < index.size:  # NaN, at the end, counts once
        counts = ag.concat([counts[: kept - 1], ag.sum(counts[kept - 1 :], keepdims=True)])
        index, inverse = index[:kept], ag.clip(inverse, 0, kept - 1)
    extras = (index, ag.reshape(inverse, x.shape), counts)
    wanted = [part for part, flag in zip(extras, (return_index, return_inverse, return_counts), strict=True) if flag]
    values = ag.take(flat, index)
    return (values, *wanted) if wanted else values


FUNCTIONS["unique_values"] = lambda x: unique(x, equal_nan=False)
FUNCTIONS["unique_counts"] = lambda x: UniqueCountsResult(*unique(x, return_counts=True, equal_nan=False))
FUNCTIONS["unique_inverse"] = lambda x: UniqueInverseResult(*unique(x, return_inverse=True, equal_nan=False))
FUNCTIONS["unique_all"] = lambda x: UniqueAllResult(*unique(x, True, True, True, equal_nan=False))


@numpy_function()
def isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, kind: Any = None
) -> Tensor:
    return ag.isin(*tensors(element, test_elements), invert=invert)


@numpy_function()
def union1d(ar1: Any, ar2: Any) -> Tensor:
    return unique(ag.concat([_flat(x) for x in tensors(ar1, ar2)]))


@numpy_function()
def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    x1, x2 = map(_flat, tensors(ar1, ar2))
    values, index = unique(x1, return_index=True)
    common = ag.nonzero(ag.isin(values.detach(), x2.detach()))[0]
    if not return_indices:
        return ag.take(values, common)
    others, places = unique(x2, return_index=True)
    return ag.take(values, common), ag.take(index, common), places[ag.isin(others.detach(), values.detach())]


@numpy_function()
def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Tensor:
    x1, x2 = map(_flat, tensors(ar1, ar2))
    values = x1 if assume_unique else unique(x1)
    return ag.take(values, ag.nonzero(ag.isin(values.detach(), x2.detach(), invert=True))[0])


@numpy_function()
def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Tensor:
    return ag.sort(ag.concat([setdiff1d(ar1, ar2), setdiff1d(ar2, ar1)]))


# ---- Bins: constant in the places, with gradients in the weights

FUNCTIONS["digitize"] = ag.digitize


@numpy_function()
def bincount(x: Any, weights: Any = None, minlength: int = 0) -> Tensor:
    index = ag.asarray(x)
    if index.ndim != 1 or index.dtype.kind not in "iub":
        raise ShapeError(f"np.bincount takes a vector of integers, got {index.dtype} {format_shape(index.shape)}")
    if ag.any(index < 0):
        raise ShapeError("np.bincount takes integers that are not negative")
    size = max(minlength, int(ag.max(index)) + 1 if index.size else 0)
    w = ag.ones_like(index, dtype=ag.int64) if weights is None else tensors(ag.astype(index, ag.float64), weights)[1]
    if w.shape != index.shape:
        raise ShapeError(f"np.bincount: weights {format_shape(w.shape)} for {format_shape(index.shape)}")
    return sum_into(w, ag.astype(index, ag.int64), size)


def _numbers_only(name: str, bins: Any) -> Any:
    if isinstance(bins, str):
        raise DtypeError(f"np.{name} of a Tensor takes a number of bins or their edges, not bins={bins!r}")
    return bins


@numpy_function()
def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    return ag.histogram(a, _numbers_only("histogram", bins), range, bool(density), weights)


@numpy_function()
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Tensor:
    return ag.histogram(a, _numbers_only("histogram_bin_edges", bins), range)[1]


@numpy_function()
def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Tensor, tuple[Tensor, ...]]:
    columns = list(ag.unstack(sample, axis=1)) if hasattr(sample, "shape") else [ag.asarray(x) for x in sample]
    bins = [bins] * len(columns) if isinstance(bins, int) else bins
    ranges = [None] * len(columns) if range is None else range
    if not len(columns) == len(bins) == len(ranges):
        raise ShapeError(f"np.histogramdd: {len(bins)} bins and {len(ranges)} ranges for {len(columns)} columns")
    edges, inside, place = [], True, 0
    for column, count, limits in zip(columns, bins, ranges, strict=True):
        x = column.detach()
        ends = histogram_bin_edges(x, count, limits)
        index = ag.searchsorted(ends, x, side="right") - 1
        index = ag.where(x == ends[-1], ends.size - 2, index)  # the last bin has its right edge too
        inside = inside & (index >= 0) & (index < ends.size - 1)
        place = place * (ends.size - 1) + index
        edges.append(ends)
    shape = tuple(ends.size - 1 for ends in edges)
    chosen = ag.nonzero(ag.asarray(inside))[0]
    w = ag.ones_like(columns[0].detach()) if weights is None else tensors(columns[0], weights)[1]
    counts = ag.reshape(sum_into(ag.take(w, chosen), ag.take(ag.asarray(place), chosen), math.prod(shape)), shape)
    if density:
        counts = counts / ag.sum(counts)
        for axis, ends in enumerate(edges):
            counts = counts / ag.reshape(ag.diff(ends), (-1,) + (1,) * (len(edges) - 1 - axis))
    return counts, tuple(edges)


@numpy_function()
def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Tensor, Tensor, Tensor]:
    if not isinstance(bins, int) and len(bins) not in (1, 2):  # the edges for both
        bins = [bins, bins]
    counts, (first, second) = histogramdd([x, y], bins, range, density, weights)
    return counts, first, second

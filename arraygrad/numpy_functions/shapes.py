"""Shapes, joins and cuts."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import arraygrad as ag
from arraygrad.errors import ShapeError, format_shape
from arraygrad.numpy_functions.table import FUNCTIONS, Axis, beside, numpy_function
from arraygrad.ops.creation import tensors
from arraygrad.tensor import Tensor


def _transposed(x: Tensor) -> Tensor:
    return ag.permute_dims(x, tuple(range(x.ndim))[::-1])


def _check_order(name: str, order: str) -> bool:
    """Whether the first index changes fastest. (A tensor's memory is no matter: "A" and "K" are "C".)"""
    if order not in ("C", "F", "A", "K"):
        raise ShapeError(f'np.{name}: order is "C" or "F", not {order!r}')
    return order == "F"


@numpy_function()
def ravel(a: Any, order: str = "C") -> Tensor:
    x = ag.asarray(a)
    return ag.reshape(_transposed(x) if _check_order("ravel", order) else x, (-1,))


@numpy_function()
def reshape(a: Any, shape: Any, order: str = "C", copy: bool | None = None) -> Tensor:
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    if _check_order("reshape", order):
        return _transposed(ag.reshape(_transposed(ag.asarray(a)), sizes[::-1], copy=copy))
    return ag.reshape(a, sizes, copy=copy)


@numpy_function()
def transpose(a: Any, axes: Any = None) -> Tensor:
    return _transposed(ag.asarray(a)) if axes is None else ag.permute_dims(a, tuple(axes))


@numpy_function()
def matrix_transpose(x: Any) -> Tensor:
    return ag.matrix_transpose(x)


@numpy_function()
def swapaxes(a: Any, axis1: int, axis2: int) -> Tensor:
    return ag.moveaxis(a, (axis1, axis2), (axis2, axis1))


@numpy_function()
def moveaxis(a: Any, source: Any, destination: Any) -> Tensor:
    return ag.moveaxis(a, *(x if isinstance(x, int) else tuple(x) for x in (source, destination)))


@numpy_function()
def rollaxis(a: Any, axis: int, start: int = 0) -> Tensor:
    ndim = len(a.shape)
    axis, start = axis % ndim, start + ndim if start < 0 else start
    return ag.moveaxis(a, axis, start - 1 if axis < start else start)


@numpy_function()
def squeeze(a: Any, axis: Axis = None) -> Tensor:
    return ag.asarray(a).squeeze(axis)


@numpy_function()
def expand_dims(a: Any, axis: Any) -> Tensor:
    return ag.expand_dims(a, axis)


@numpy_function()
def broadcast_to(array: Any, shape: Any) -> Tensor:
    return ag.broadcast_to(array, (shape,) if isinstance(shape, int) else tuple(shape))


@numpy_function()
def broadcast_arrays(*args: Any) -> tuple[Tensor, ...]:
    return ag.broadcast_arrays(*map(ag.asarray, args))


def _at_least(ndim: int) -> Callable[..., Any]:
    def at_least(*arys: Any) -> Any:
        lifted = []
        for array in map(ag.asarray, arys):
            missing = ndim - array.ndim
            if ndim == 3 and array.ndim == 2:
                array = array.unsqueeze(-1)
            elif missing > 0:
                shape = (1, *array.shape, 1) if ndim == 3 and array.ndim == 1 else (1,) * missing + array.shape
                array = array.reshape(shape)
            lifted.append(array)
        return lifted[0] if len(lifted) == 1 else tuple(lifted)

    return at_least


for _ndim in (1, 2, 3):
    FUNCTIONS[f"atleast_{_ndim}d"] = _at_least(_ndim)

# ---- Joins


def _as(arrays: Sequence[Any], dtype: Any) -> list[Any]:
    return [x if dtype is None else ag.astype(ag.asarray(x), dtype) for x in arrays]


@numpy_function()
def concatenate(arrays: Sequence[Any], axis: int | None = 0, dtype: Any = None) -> Tensor:
    return ag.concat(_as(arrays, dtype), axis=axis)


@numpy_function()
def stack(arrays: Sequence[Any], axis: int = 0, dtype: Any = None) -> Tensor:
    return ag.stack(_as(arrays, dtype), axis=axis)


@numpy_function()
def vstack(tup: Sequence[Any], dtype: Any = None) -> Tensor:
    return ag.concat(_as([FUNCTIONS["atleast_2d"](a) for a in tup], dtype), axis=0)


@numpy_function()
def hstack(tup: Sequence[Any], dtype: Any = None) -> Tensor:
    lifted = [FUNCTIONS["atleast_1d"](a) for a in tup]
    return ag.concat(_as(lifted, dtype), axis=0 if lifted[0].ndim == 1 else 1)


@numpy_function()
def dstack(tup: Sequence[Any]) -> Tensor:
    return ag.concat([FUNCTIONS["atleast_3d"](a) for a in tup], axis=2)


@numpy_function()
def column_stack(tup: Sequence[Any]) -> Tensor:
    return ag.concat([a if len(a.shape) > 1 else ag.reshape(a, (-1, 1)) for a in tup], axis=1)


@numpy_function()
def append(arr: Any, values: Any, axis: int | None = None) -> Tensor:
    return ag.concat(tensors(arr, values), axis=axis)


@numpy_function()
def block(arrays: Any) -> Tensor:
    def depth(part: Any) -> int:
        return 1 + max(map(depth, part)) if isinstance(part, list) else 0

    def leaves(part: Any) -> list[Any]:
        return [leaf for item in part for leaf in leaves(item)] if isinstance(part, list) else [part]

    def joined(part: Any, axis: int) -> Tensor:
        """Lists at the innermost level are joined along the last axis."""
        if isinstance(part, list):
            return ag.concat([joined(item, axis + 1) for item in part], axis=axis)
        x = beside(like, part)
        return ag.copy(ag.reshape(x, (1,) * (ndim - x.ndim) + x.shape))

    ndim = max(depth(arrays), *(len(getattr(leaf, "shape", ())) for leaf in leaves(arrays)))
    like = next(leaf for leaf in leaves(arrays) if isinstance(leaf, Tensor))
    return joined(arrays, -depth(arrays))


# ---- Cuts


@numpy_function()
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:
    length = ary.shape[axis]
    if isinstance(indices_or_sections, int):
        size, larger = divmod(length, indices_or_sections)
        ends = list(itertools.accumulate([size + 1] * larger + [size] * (indices_or_sections - larger)))
    else:
        ends = [slice(int(end)).indices(length)[1] for end in indices_or_sections] + [length]
    before = (slice(None),) * (axis % len(ary.shape))
    return [ag.asarray(ary)[(*before, slice(start, end))] for start, end in itertools.pairwise([0, *ends])]


@numpy_function()
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:
    if isinstance(indices_or_sections, int) and ary.shape[axis] % indices_or_sections:
        raise ShapeError(
            f"np.split: axis {axis} of {format_shape(ary.shape)} has no {indices_or_sections} parts of one size; "
            "np.array_split does without"
        )
    return array_split(ary, indices_or_sections, axis)


def _splitting(name: str, axis: int) -> Callable[..., Any]:
    def along(ary: Any, indices_or_sections: Any) -> list[Tensor]:
        ndim = len(ary.shape)
        if ndim <= axis and not (name == "hsplit" and ndim):
            raise ShapeError(f"np.{name} needs more axes than {format_shape(ary.shape)} has")
        return split(ary, indices_or_sections, axis if ndim > axis else 0)

    return along


for _name, _axis in (("vsplit", 0), ("hsplit", 1), ("dsplit", 2)):
    FUNCTIONS[_name] = _splitting(_name, _axis)
FUNCTIONS["unstack"] = ag.unstack

# ---- Elements moved, repeated or dropped


@numpy_function()
def flip(m: Any, axis: Any = None) -> Tensor:
    return ag.flip(m, axis=axis)


FUNCTIONS["flipud"] = lambda m: ag.flip(m, axis=0)
FUNCTIONS["fliplr"] = lambda m: ag.flip(m, axis=1)


@numpy_function()
def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Tensor:
    first, second = axes
    if k % 4 == 0:
        return ag.copy(m)
    if k % 4 == 2:
        return ag.flip(ag.flip(m, axis=first), axis=second)
    swapped = swapaxes(m, first, second)
    return ag.flip(swapped, axis=first if k % 4 == 1 else second)


@numpy_function()
def roll(a: Any, shift: Any, axis: Any = None) -> Tensor:
    return ag.roll(a, shift, axis=axis)


@numpy_function()
def tile(A: Any, reps: Any) -> Tensor:
    return ag.tile(A, (reps,) if isinstance(reps, int) else tuple(reps))


@numpy_function()
def repeat(a: Any, repeats: Any, axis: int | None = None) -> Tensor:
    repeats = ag.asarray(repeats, device=ag.asarray(a).device) if isinstance(repeats, list | tuple) else repeats
    return ag.repeat(a, repeats, axis=axis)


@numpy_function()
def resize(a: Any, new_shape: Any) -> Tensor:
    flat = ravel(a)
    sizes = (new_shape,) if isinstance(new_shape, int) else tuple(new_shape)
    count = math.prod(sizes)
    if not flat.size:
        return ag.reshape(ag.zeros((count,), dtype=flat.dtype, device=flat.device), sizes)
    return ag.reshape(ag.tile(flat, (-(-count // flat.size),))[:count], sizes)


def _places(obj: Any, length: int, end: int) -> list[int]:
    """The places that an index names along an axis of `length`, none negative, all below `end`."""
    if isinstance(obj, slice):
        return list(range(*obj.indices(length)))
    index = ag.asarray(obj).detach()
    if index.dtype == "bool":
        index = ag.nonzero(index)[0]
    places = [operator.index(i) for i in ag.reshape(index, (-1,))] if index.size else []
    for place in places:
        if not -length <= place < end:
            raise ag.IndexingError(f"index {place} is outside an axis of size {length}")
    return [place + length if place < 0 else place for place in places]


@numpy_function()
def delete(arr: Any, obj: Any, axis: int | None = None) -> Tensor:
    x, axis = (ravel(arr), 0) if axis is None else (ag.asarray(arr), axis)
    length = x.shape[axis]
    gone = _places(obj, length, length)
    kept = [i for i in range(length) if i not in gone]
    return ag.take(x, ag.asarray(kept, dtype=ag.int64, device=x.device), axis=axis)


@numpy_function()
def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Tensor:
    x, axis = (ravel(arr), 0) if axis is None else (ag.asarray(arr), axis % len(arr.shape))
    length = x.shape[axis]
    before = _places(obj, length, length + 1)  # one may insert at the end
    new = ag.astype(beside(x, values), x.dtype)
    if len(before) == 1:  # at one place, several slices
        new = ag.reshape(new, (1,) * (x.ndim - new.ndim) + new.shape)
        if not isinstance(obj, slice | list | tuple) and not len(getattr(obj, "shape", ())):
            new = ag.moveaxis(new, 0, axis)
        before *= new.shape[axis]
    joined = ag.concat([x, ag.broadcast_to(new, (*x.shape[:axis], len(before), *x.shape[axis + 1 :]))], axis=axis)
    # In a stable order: what is inserted before an element comes first, in the order given.
    keys = [(i, 1) for i in range(length)] + [(place, 0) for place in before]
    order = sorted(range(len(keys)), key=keys.__getitem__)
    return ag.take(joined, ag.asarray(order, dtype=ag.int64, device=x.device), axis=axis)


@numpy_function()
def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Tensor:
    x = ag.asarray(filt)
    axes = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    for i in (i % x.ndim for i in axes):
        others = tuple(j for j in range(x.ndim) if j != i)
        places = [int(place) for place in ag.nonzero(ag.any(x != 0, axis=others))[0]]
        start = (places[0] if places else x.shape[i]) if "f" in trim.lower() else 0
        stop = (places[-1] + 1 if places else start) if "b" in trim.lower() else x.shape[i]
        x = x[(slice(None),) * i + (slice(start, stop),)]
    return x


@numpy_function("sliding_window_view")
def sliding_window_view(x: Any, window_shape: Any, axis: Any = None) -> Tensor:
    """All windows, as axes at the end: NumPy's view, here a copy."""
    x = ag.asarray(x)
    sizes = (window_shape,) if isinstance(window_shape, int) else tuple(window_shape)
    axes = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    if len(sizes) != len(tuple(axes)):
        raise ShapeError(f"np.sliding_window_view: {len(sizes)} sizes of windows for {len(tuple(axes))} axes")
    for i, size in zip(axes, sizes, strict=True):
        i, count = i % x.ndim, x.shape[i] - size + 1
        if size < 0 or count < 1:
            raise ShapeError(f"np.sliding_window_view: a window of {size} along axis {i} of {format_shape(x.shape)}")
        before = (slice(None),) * i
        if 1 <= size <= 64:  # the gradient adds slices: in half the time of adding at indices
            x = ag.stack([x[(*before, slice(start, start + count))] for start in range(size)], axis=-1)
        else:
            starts = ag.arange(count, device=x.device)[:, None]
            x = ag.moveaxis(x[(*before, starts + ag.arange(size, device=x.device))], i + 1, -1)
    return x


FUNCTIONS["tril"] = lambda m, k=0: ag.tril(m, k=k)
FUNCTIONS["triu"] = lambda m, k=0: ag.triu(m, k=k)
FUNCTIONS["diag"] = ag.diag
FUNCTIONS["diagflat"] = lambda v, k=0: ag.diag(ravel(v), k)


def _axes_last(a: Any, axis1: int, axis2: int) -> Tensor:
    return ag.moveaxis(ag.asarray(a), (axis1, axis2), (-2, -1))


@numpy_function()
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    return ag.linalg.diagonal(_axes_last(a, axis1, axis2), offset=offset)


@numpy_function()
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Tensor:
    return ag.linalg.trace(_axes_last(a, axis1, axis2), offset=offset, dtype=dtype)

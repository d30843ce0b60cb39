"""Reading by index. The rule of each is the same Part: the cotangent at the index that was read."""

from __future__ import annotations

import operator
from typing import Any

import arraygrad as ops
from arraygrad.accumulate import Part
from arraygrad.backends import NUMPY, Array, Backend, check_devices, is_array, is_number, namespaces
from arraygrad.errors import DtypeError, ShapeError, format_shape
from arraygrad.op import general, linear
from arraygrad.tensor import ArrayLike, Tensor

#: What `operator.index` would leave as it is.
_PLAIN_BOUNDS = frozenset((int, type(None)))


def raw_index(xp: Backend, array: Array, index: Any) -> Any:
    """An index with raw arrays for its tensors and lists, each a copy: the graph keeps it as it is now."""
    if type(index) is tuple:
        return tuple([raw_index(xp, array, list(item) if type(item) is tuple else item) for item in index])
    if index is None or index is ... or type(index) is int:
        return index
    if isinstance(index, slice):
        parts = (index.start, index.stop, index.step)
        if _PLAIN_BOUNDS.issuperset(map(type, parts)):
            return index
        return slice(*[None if part is None else operator.index(part) for part in parts])
    if isinstance(index, Tensor):
        index = index.array
    elif isinstance(index, list | bool):
        index = xp.from_host(NUMPY.host_array(index, None if index != [] else int), xp.device(array))
    elif not is_array(index):
        try:
            return bool(index) if NUMPY.is_bool(index) else operator.index(index)
        except TypeError:
            raise DtypeError(
                f"an index is an integer, a slice, None, ..., or an integer or boolean array, "
                f"got {type(index).__name__}"
            ) from None
    if namespaces[type(index)].numpy_dtype(index.dtype).kind not in "iub":
        raise DtypeError(f"an index array has integers or booleans, got {index.dtype}")
    check_devices("indexing", array, index)
    return namespaces[type(index)].copy(index)


@linear(lambda g, index: Part(index, g), is_view=True)
def _getitem(xp: Any, x: ArrayLike, /, index: Any) -> Array:
    return xp.getitem(x, index)


def getitem(x: ArrayLike, index: Any, /) -> Tensor:
    """`x[index]`, as NumPy reads it. Integers and slices give views, arrays give copies."""
    if type(index) is int and type(x) is Tensor:
        return _getitem(x, index)
    for item in index if type(index) is tuple else (index,):
        if isinstance(item, Tensor) and namespaces[type(item.array)].is_batched:  # another index in each case
            x = ops.add(x, ops.astype(ops.zeros_like(ops.sum(item)), x.dtype))
    array = x.array if isinstance(x, Tensor) else x
    return _getitem(x, raw_index(namespaces[type(array)], array, index))


def whole_axis(indices: Array, axis: int, ndim: int) -> tuple[Any, ...]:
    """The index that reads `indices` along one axis and all of the others."""
    return (slice(None),) * (axis % ndim) + (indices,)


def along_axis(xp: Any, indices: Array, axis: int, sizes: tuple[int, ...]) -> tuple[Any, ...]:
    """The index that reads `indices` along one axis, and the first `sizes` places of the others."""
    ndim = len(sizes)
    grids = []
    for i, size in enumerate(sizes):
        grid = xp.arange(size, dtype=xp.int64, device=indices.device)  # the indices' own type may be too short
        grids.append(xp.reshape(grid, (1,) * i + (size,) + (1,) * (ndim - i - 1)))
    grids[axis % ndim] = indices
    return tuple(grids)


@general(lambda g, indices, x_shape, axis: Part(whole_axis(indices, -1 if axis is None else axis, len(x_shape)), g))
def take(xp: Any, x: ArrayLike, indices: ArrayLike, /, *, axis: int | None = None) -> Array:
    """The slices of `x` at `indices` along an axis, which may be left out in one dimension.

    Indices may repeat: the gradient adds up.

    >>> import arraygrad as ag
    >>> x = ag.tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> ag.take(x, ag.tensor([2, 0, 2])).sum().backward()
    >>> x.grad
    tensor([1., 0., 2.], dtype=float64, device='cpu')
    """
    if axis is None and len(x.shape) != 1:
        raise ShapeError(f"take of shape {format_shape(x.shape)} needs an axis")
    _check_integers("take", xp, indices)
    return xp.take(x, indices, axis=-1 if axis is None else axis)


@general(lambda g, xp, indices, x_shape, axis: Part(along_axis(xp, indices, axis, x_shape), g))
def take_along_axis(xp: Any, x: ArrayLike, indices: ArrayLike, /, *, axis: int = -1) -> Array:
    """For each place of `indices`, the element of `x` at that index along an axis. (PyTorch: gather.)"""
    _check_integers("take_along_axis", xp, indices)
    return xp.take_along_axis(x, indices, axis=axis)


@general(lambda g, xp, indices: xp.take(g, indices, axis=0))
def sum_into(xp: Any, x: ArrayLike, indices: ArrayLike, size: int, /) -> Array:
    """For each of `size` indices, the sum of the elements of the vector `x` that have it: the transpose of `take`."""
    return xp.scatter(x, (indices,), (size,))


def _check_integers(name: str, xp: Any, indices: Array) -> None:
    if is_number(indices):
        raise DtypeError(f"{name} takes an array of indices, got {indices!r}; to read one, index with [...]")
    if xp.numpy_dtype(indices.dtype).kind not in "iu":
        raise DtypeError(f"{name} takes integer indices, got {indices.dtype}")

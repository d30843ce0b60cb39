"""Writing in place: each write is checked against the graph, then done, then counted.

target of add_                  grad mode on    grad mode off
plain tensor                    counts          counts
leaf that requires grad         refused         counts  (updates of parameters)
tensor with history             refused         counts
source that requires grad       refused         counts
"""

from __future__ import annotations

import operator as python_operator
from collections.abc import Callable
from typing import Any

from arraygrad.backends import NUMBERS, NUMPY, Array, Backend, check_devices, is_array, move, namespaces
from arraygrad.errors import (
    ArraygradError,
    DtypeError,
    IndexingError,
    InplaceError,
    ShapeError,
    format_shape,
)
from arraygrad.modes import grad_enabled
from arraygrad.node import AccumulateGrad, mark_written
from arraygrad.ops.indexing import along_axis, raw_index, whole_axis
from arraygrad.tensor import ArrayLike, Tensor


def _check_rules(target: Tensor, source: Any, name: str) -> None:
    """Refuse a write that would lose gradient history."""
    if not grad_enabled():
        return
    if type(target._node) is AccumulateGrad:
        raise InplaceError(
            f"a leaf tensor that requires grad is being used in the in-place operation {name}; "
            "update parameters inside no_grad()"
        )
    if target._node is not None:
        raise InplaceError(
            f"{name} is not supported on a tensor with gradient history; use the operation that is not in place"
        )
    if type(source) is Tensor and source._node is not None:
        raise InplaceError(
            f"{name} is not supported with a source that requires grad; "
            "use the operation that is not in place, or the source's detach()"
        )


def _write(target: Tensor, source: Any, name: str, write: Callable[[Backend, Array, Any], None]) -> Tensor:
    """Check, write and count: `write(xp, array, value)` does the middle."""
    _check_rules(target, source, name)
    array = target.array
    xp = namespaces[type(array)]
    if not xp.is_writable(array):
        raise InplaceError(f"{name}: the tensor's memory is read-only or its elements overlap; use a clone()")
    try:
        with xp.scope(target.device):
            write(xp, array, _value(xp, array, source, name))
    except ArraygradError:
        raise
    except (ValueError, IndexError, TypeError, OverflowError) as error:
        kind = (
            ShapeError
            if isinstance(error, ValueError)
            else (IndexingError if isinstance(error, IndexError) else DtypeError)
        )
        raise kind(f"{name}: {error}") from error
    mark_written(target)
    return target


def _value(xp: Backend, array: Array, source: Any, name: str) -> Any:
    """The source as a number, or as an array of the target's data type and device."""
    if isinstance(source, NUMBERS):
        value = source.item() if hasattr(source, "item") else source
        kind = NUMPY.dtype(type(value)).kind
    else:
        value = source.array if type(source) is Tensor else source
        if not is_array(value):
            if not isinstance(value, list | tuple):
                raise DtypeError(f"{name} takes a tensor, an array or a number, got {type(value).__name__}")
            value = xp.from_host(NUMPY.host_array(value), xp.device(array))
        check_devices(name, array, value)
        kind = namespaces[type(value)].numpy_dtype(value.dtype).kind
    order = "biufc".replace("u", "i")
    target_dtype = xp.numpy_dtype(array.dtype)
    if order.index(kind.replace("u", "i")) > order.index(target_dtype.kind.replace("u", "i")):
        raise DtypeError(f"{name} cannot write {_kind(kind)} values into a tensor of {target_dtype}")
    return xp.astype(value, array.dtype, copy=False) if is_array(value) else value


def _kind(kind: str) -> str:
    return {"b": "boolean", "i": "integer", "u": "integer", "f": "floating point", "c": "complex"}[kind]


def _arithmetic(name: str, function: Callable[[Any, Any], Any]) -> Callable[[Any, ArrayLike], Tensor]:
    def write(xp: Backend, array: Array, value: Any) -> None:
        if is_array(value) and _broadcast(array.shape, value.shape) != array.shape:
            raise ShapeError(
                f"{name}: a source of shape {format_shape(value.shape)} does not broadcast "
                f"to the tensor's shape {format_shape(array.shape)}"
            )
        function(array, value)

    def method(self: Any, other: ArrayLike) -> Tensor:
        return _write(self, other, name, write)

    return method


def _broadcast(shape: tuple[int, ...], source: tuple[int, ...]) -> tuple[int, ...] | None:
    """The target's shape if the source's broadcasts to it, else None."""
    fits = len(source) <= len(shape) and all(
        size in (1, target) for size, target in zip(source[::-1], shape[::-1], strict=False)
    )
    return shape if fits else None


add_ = _arithmetic("add_", python_operator.iadd)
sub_ = _arithmetic("sub_", python_operator.isub)
mul_ = _arithmetic("mul_", python_operator.imul)
div_ = _arithmetic("div_", python_operator.itruediv)

_METHODS = {"add": add_, "sub": sub_, "mul": mul_, "truediv": div_}


def operator(name: str) -> Callable[[Any, ArrayLike], Tensor]:
    """The method behind `+=` and its kin."""
    write = _METHODS.get(name)
    if write is None:
        return _arithmetic(f"__i{name}__", getattr(python_operator, f"i{name}"))
    return lambda self, other: write(self, other)


def fill_(self: Any, value: ArrayLike) -> Tensor:
    """Set every element to one value."""
    if not isinstance(value, NUMBERS) and getattr(value, "shape", None) != ():
        raise ShapeError("fill_ takes a number or a 0-d tensor")
    return _write(self, value, "fill_", lambda xp, array, raw: xp.setitem(array, ..., raw))


def zero_(self: Any) -> Tensor:
    """Set every element to zero."""
    return _write(self, 0, "zero_", lambda xp, array, raw: xp.setitem(array, ..., raw))


def copy_(self: Any, source: ArrayLike) -> Tensor:
    """Copy values from a source of any data type and device."""
    if is_array(source) or type(source) is Tensor:
        _check_rules(self, source, "copy_")
        source = move(source.array if type(source) is Tensor else source, self.device)
        source = namespaces[type(source)].astype(source, self.array.dtype, copy=False)
    return _write(self, source, "copy_", lambda xp, array, raw: xp.setitem(array, ..., raw))


def setitem(self: Any, index: Any, value: ArrayLike) -> None:
    """`self[index] = value`."""
    _write(self, value, "__setitem__", lambda xp, array, raw: xp.setitem(array, raw_index(xp, array, index), raw))


def index_add_(self: Any, axis: int, indices: ArrayLike, source: ArrayLike) -> Tensor:
    """Add slices of `source` at `indices` along `axis`."""

    def write(xp: Backend, array: Array, value: Any) -> None:
        index = whole_axis(_indices(xp, array, axis, indices, "index_add_"), axis, array.ndim)
        xp.add_at(array, index, _as_shape(xp, array, value, index))

    return _write(self, source, "index_add_", write)


def scatter_add_(self: Any, axis: int, indices: ArrayLike, source: ArrayLike) -> Tensor:
    """Add elements of `source` at `indices` of the same place along `axis`."""

    def write(xp: Backend, array: Array, value: Any) -> None:
        raw = _indices(xp, array, axis, indices, "scatter_add_")
        if is_array(value) and (
            len(value.shape) != raw.ndim or any(v < i for v, i in zip(value.shape, raw.shape, strict=True))
        ):
            raise ShapeError(
                f"scatter_add_: a source of shape {format_shape(value.shape)} has no element for each index "
                f"of shape {format_shape(raw.shape)}"
            )
        if is_array(value):
            value = xp.getitem(value, tuple(slice(size) for size in raw.shape))
        index = along_axis(xp, raw, axis, raw.shape)
        xp.add_at(array, index, _as_shape(xp, array, value, index))

    return _write(self, source, "scatter_add_", write)


def _as_shape(xp: Backend, array: Array, value: Any, index: Any) -> Array:
    """Broadcast to what is indexed, before anything is written."""
    shape = xp.getitem(array, index).shape
    if not is_array(value):
        return xp.full(shape, value, dtype=array.dtype, device=array.device)
    return xp.broadcast_to(value, shape)


def _indices(xp: Backend, array: Array, axis: int, indices: Any, name: str) -> Array:
    """The raw index array, checked so that nothing is written when one is wrong."""
    raw = indices.array if type(indices) is Tensor else indices
    if not is_array(raw):
        raw = xp.from_host(NUMPY.host_array(raw), xp.device(array))
    check_devices(name, array, raw)
    if xp.numpy_dtype(raw.dtype).kind not in "iu":
        raise DtypeError(f"{name} takes integer indices, got {xp.numpy_dtype(raw.dtype)}")
    if not -array.ndim <= axis < array.ndim:
        raise ShapeError(f"{name}: axis {axis} is outside a tensor of shape {format_shape(array.shape)}")
    size = array.shape[axis]
    if 0 not in raw.shape and (int(xp.min(raw)) < -size or int(xp.max(raw)) >= size):
        raise IndexingError(f"{name}: an index is outside axis {axis} of size {size}")
    return raw

"""Writing in place: each write is checked against the graph, then done, then counted and, if it matters, recorded.

target                                           grad mode on                  grad mode off
plain tensor, plain source                       counts                        counts
history in the target or in the source           recorded                      counts
leaf that requires grad, or a view of one        refused                       counts  (updates of parameters)
view made inside no_grad(), where there is       refused                       counts
history in its root or in the source

A recorded write makes a node on the root of the memory (see views.py): of the cotangent that arrives there, the
source gets the written region, and what was there before gets the rest. Those that saved this memory for backward
get a copy of it first. A write that only counts empties their boxes, and their backward refuses.
"""

from __future__ import annotations

import operator as python_operator
from collections.abc import Callable
from typing import Any

import arraygrad as ops
from arraygrad import debug
from arraygrad.accumulate import Owned, apply
from arraygrad.backends import (
    NUMBERS,
    NUMPY,
    Array,
    Backend,
    check_devices,
    common_backend,
    is_array,
    is_basic,
    namespaces,
)
from arraygrad.errors import (
    DtypeError,
    IndexingError,
    InplaceError,
    ShapeError,
    format_shape,
    user_location,
)
from arraygrad.explain import explain, explain_memory
from arraygrad.modes import are_values_checked, grad_enabled
from arraygrad.node import AccumulateGrad, FunctionNode, OpOfItsOwn, WriteNode
from arraygrad.op import OPS
from arraygrad.ops.indexing import along_axis, raw_index, whole_axis
from arraygrad.storage import keep_saved, keeps_saved, mark_written
from arraygrad.tensor import ArrayLike, Tensor
from arraygrad.views import View, history, keep_retained, rebase

#: Set by forward.py: writes where the target or the source has a tangent.
dual_write: Any = None


#: Set by guard.py: whether a guard has locked an array, and what lifts the lock for a write that graphs know of.
is_locked: Any = None
unlocked: Any = None


class _Write(OpOfItsOwn):
    """The `op` of `region[index] = value`; where indices repeat, `last` tells which of them wrote last."""

    broadcasts, node_name = True, "WriteBackward"

    @staticmethod
    def run(xp: Any, g: Array, saved: Any, edges: Any) -> tuple[Any, Any]:
        """Give the source the cotangent of the region, and what was there before the rest."""
        (functions,), (index,), (last,) = saved
        region = apply(xp, g, functions)
        part = xp.getitem(region, index)
        is_all = part.size == g.size and part.dtype == g.dtype and _selects_once(index)  # not just the real parts
        value = None
        if edges[1] is not None:
            value = xp.copy(part) if last is None else xp.where(last, part, xp.zeros_like(part))
        if edges[0] is None or is_all:
            return None, value  # not even zeros: times the derivative of what was replaced they may be NaN
        xp.setitem(region, index, 0)
        return Owned(g), value


def _selects_once(index: Any) -> bool:
    return is_basic(index) or (is_array(index) and namespaces[type(index)].numpy_dtype(index.dtype).kind == "b")


class _AddAt(OpOfItsOwn):
    """The `op` of adding at indices, which may repeat."""

    broadcasts, node_name = True, "AddAtBackward"

    @staticmethod
    def run(xp: Any, g: Array, saved: Any, edges: Any) -> tuple[Any, Any]:
        """Give the source the cotangent of the region, and what was there before all of it."""
        (functions,), (index,), _ = saved
        value = None if edges[1] is None else xp.copy(xp.getitem(apply(xp, g, functions), index))
        return Owned(g), value


_WRITE: Any = _Write()
_ADD_AT: Any = _AddAt()


def _has_tangent(target: Tensor, source: Any) -> bool:
    return type(target) is not Tensor or (isinstance(source, Tensor) and type(source) is not Tensor)


def _is_recorded(target: Tensor, source: Any, name: str) -> bool:
    """Whether a write is to carry history; refuses one that would lose some."""
    if not grad_enabled():
        return False
    view = target._view
    root = target._node if view is None else view.root._node
    if type(root) is AccumulateGrad:
        raise InplaceError(
            f"{'a leaf tensor' if view is None else 'a view of a leaf tensor'} that requires grad is being used in "
            f"the in-place operation {name}; update parameters inside no_grad()"
        )
    if root is None and (type(source) is not Tensor or history(source) is None):
        return False
    if view is not None and not view.is_recorded:
        raise InplaceError(
            f"{name}: a view was created in no_grad mode and is being modified inplace with grad mode enabled, "
            "which would lose history; make the view outside no_grad(), or write inside it"
        )
    return True


def _write(
    target: Tensor,
    source: Any,
    name: str,
    write: Callable[[Backend, Array, Any], None],
    index: Any = ...,
    op: Any = _WRITE,
) -> Tensor:
    """Check, write, count and record: `write(xp, array, value)` writes."""
    if _has_tangent(target, source):
        return dual_write(_write, target, source, name, write, index, op, replaces=op is _WRITE)
    if type(source) is Tensor and namespaces[type(source.array)].is_batched:
        _spread_over_cases(target, source, name)
    is_recorded = _is_recorded(target, source, name)
    array = target.array
    xp = namespaces[type(array)]
    if not xp.is_writable(array):
        if is_locked is not None and is_locked(array):
            with unlocked(array):
                return _write(target, source, name, write, index, op)
        raise InplaceError(
            f"{name}: "
            + (
                "unsupported operation: more than one element of the written-to tensor refers to a single memory "
                "location. Please clone() the tensor before performing the operation."
                if xp.overlaps(array)
                else "the tensor's memory is read-only; write to a clone()"
            )
        )
    node = None
    try:
        with xp.scope(target.device):
            value = _value(xp, array, source, name)
            if is_recorded:
                node = _write_node(xp, target, source, index, op)
            if is_recorded or keeps_saved():
                keep_saved(target)
            write(xp, array, value)
    except MemoryError as error:
        explain_memory(name, error, (array, source.array if isinstance(source, Tensor) else source))
        raise
    except (ValueError, IndexError, TypeError, OverflowError) as error:
        raise explain(name, error) from error
    mark_written(target, user_location() if debug.is_anomaly_enabled() else None)
    if node is not None:
        rebase(target, node)
    return target


def _spread_over_cases(target: Tensor, source: Tensor, name: str) -> None:
    """Give a target that is the same in all cases of a batch memory of its own in each, if nothing else sees it."""
    xp = common_backend(name, (target.array, source.array))
    if type(target.array) is xp.array_type:
        return
    if target._storage is not None:
        raise InplaceError(
            f"{name}: inside vmap a value that differs from case to case cannot be written into a tensor that is the "
            "same in all of them and has views or has been written to; make the tensor anew, or write to a copy of it"
        )
    zero = ops.astype(ops.zeros_like(ops.sum(source)), target.dtype)
    target.array = xp.add(xp.same(target.array), xp.same(zero.array))


def _write_node(xp: Backend, target: Tensor, source: Any, index: Any, op: Any) -> WriteNode:
    """The node of a write; the root of the memory gets it when the write is done."""
    view, edge, last = target._view, None, None
    root, functions = (target, ()) if view is None else (view.root, view.functions)
    if type(source) is Tensor and history(source) is not None:
        region = target.array if index is ... else xp.getitem(target.array, index)
        extra = source.ndim - region.ndim
        edge = history(source if extra <= 0 else ops.reshape(source, source.shape[extra:]))  # NumPy drops axes of 1
        last = None if is_basic(index) or op is _ADD_AT else xp.last_writes(target.array, index)
    node = WriteNode()
    node.op, node.edges, node.saved = op, (root._node, edge), ((functions,), (index,), (last,))
    node.shape, node.dtype = root.array.shape, root.array.dtype
    node.extras = {"site": user_location()} if debug.is_anomaly_enabled() else None
    return node


def _value(xp: Backend, array: Array, source: Any, name: str) -> Any:
    """The source as a number, or as an array of the target's data type and device."""
    if isinstance(source, NUMBERS):
        value = source.item() if hasattr(source, "item") else source
        kind = NUMPY.dtype(type(value)).kind
    else:
        value = source.array if isinstance(source, Tensor) else source
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


def _arithmetic(name: str, function: Callable[[Any, Any], Any], write: Callable[[Any, Any], Any]) -> Any:
    def checked_write(xp: Backend, array: Array, value: Any) -> None:
        if is_array(value) and _broadcast(array.shape, value.shape) != array.shape:
            raise ShapeError(
                f"{name}: a source of shape {format_shape(value.shape)} does not broadcast "
                f"to the tensor's shape {format_shape(array.shape)}"
            )
        write(array, value)

    def method(self: Tensor, other: ArrayLike) -> Tensor:
        if not _has_tangent(self, other) and not _is_recorded(self, other, name):
            return _write(self, other, name, checked_write)
        return _write_result(self, other, name, function)

    return method


def _write_result(target: Tensor, source: Any, name: str, function: Callable[[Any, Any], Any]) -> Tensor:
    """Write in place what an operation on the target and the source returns, with its history."""
    value = _value(namespaces[type(target.array)], target.array, source, name)
    result = function(target, source if isinstance(source, Tensor) else value)
    if result.shape != target.shape:
        raise ShapeError(
            f"{name}: a source of shape {format_shape(value.shape)} does not broadcast "
            f"to the tensor's shape {format_shape(target.shape)}"
        )
    if result.dtype != target.dtype:
        result = ops.astype(result, target.dtype)
    _write(target, result, name, _assign)
    if target._view is None and isinstance(result._node, FunctionNode):
        # Nothing of what was there is left: the history of the result is all of it.
        keep_retained(target, target._node, result._node)
        target._node = result._node
    return target


def _assign(xp: Backend, array: Array, value: Any) -> None:
    xp.setitem(array, ..., value)


def _broadcast(shape: tuple[int, ...], source: tuple[int, ...]) -> tuple[int, ...] | None:
    """The target's shape if the source's broadcasts to it, else None."""
    fits = len(source) <= len(shape) and all(
        size in (1, target) for size, target in zip(source[::-1], shape[::-1], strict=False)
    )
    return shape if fits else None


add_ = _arithmetic("add_", python_operator.add, python_operator.iadd)
sub_ = _arithmetic("sub_", python_operator.sub, python_operator.isub)
mul_ = _arithmetic("mul_", python_operator.mul, python_operator.imul)
div_ = _arithmetic("div_", python_operator.truediv, python_operator.itruediv)

_METHODS = {"add": add_, "sub": sub_, "mul": mul_, "truediv": div_}


def operator(name: str) -> Callable[[Any, ArrayLike], Tensor]:
    """The method behind `+=` and its kin."""
    method = _METHODS.get(name)
    if method is None:
        function, write = getattr(python_operator, f"__{name}__"), getattr(python_operator, f"__i{name}__")
        return _arithmetic(f"__i{name}__", function, write)
    return lambda self, other: method(self, other)


def fill_(self: Any, value: ArrayLike) -> Tensor:
    """Set every element to one value."""
    if not isinstance(value, NUMBERS) and getattr(value, "shape", None) != ():
        raise ShapeError("fill_ takes a number or a 0-d tensor")
    return _write(self, value, "fill_", _assign)


def zero_(self: Any) -> Tensor:
    """Set every element to zero."""
    return _write(self, 0, "zero_", _assign)


def copy_(self: Any, source: ArrayLike) -> Tensor:
    """Copy values from a source of any data type and device."""
    if is_array(source) or isinstance(source, Tensor):
        _is_recorded(self, source, "copy_")  # refuses before anything is copied
        source = ops.astype(ops.to_device(source, self.device), self.dtype, copy=False)
    return _write(self, source, "copy_", _assign)


def setitem(self: Any, index: Any, value: ArrayLike) -> None:
    """`self[index] = value`."""
    array = self.array
    try:
        raw = raw_index(namespaces[type(array)], array, index)
    except TypeError as error:
        raise explain("__setitem__", error) from error
    if type(value) is Tensor and value._view is not None and _is_region(self, raw, value._view):
        return
    _write(self, value, "__setitem__", lambda xp, array, value: xp.setitem(array, raw, value), raw)


def _is_region(target: Tensor, index: Any, view: View) -> bool:
    """Whether a view is `target[index]`: what Python assigns last in `target[index] += value`, to itself."""
    root, functions = (target, ()) if target._view is None else (target._view.root, target._view.functions)
    return (
        view.root is root
        and is_basic(index)
        and len(view.functions) == len(functions) + 1
        and view.functions[:-1] == functions
        and view.functions[-1] == (OPS["getitem"], (index,), {})
    )


def add_at(self: Any, index: Any, value: ArrayLike) -> Tensor:
    """Add at any index, once for each time that an element is indexed."""
    raw = raw_index(namespaces[type(self.array)], self.array, index)
    return _write(self, value, "add_at", _add_at(raw), raw, _ADD_AT)


def index_add_(self: Any, axis: int, indices: ArrayLike, source: ArrayLike) -> Tensor:
    """Add slices of `source` at `indices` along `axis`."""
    index = whole_axis(_indices(self, axis, indices, "index_add_"), axis, self.ndim)
    return _write(self, source, "index_add_", _add_at(index), index, _ADD_AT)


def scatter_add_(self: Any, axis: int, indices: ArrayLike, source: ArrayLike) -> Tensor:
    """Add elements of `source` at `indices` of the same place along `axis`."""
    raw = _indices(self, axis, indices, "scatter_add_")
    if isinstance(source, list | tuple):
        source = ops.asarray(source, dtype=self.dtype, device=self.device)
    if not isinstance(source, NUMBERS):
        shape = getattr(source, "shape", raw.shape)
        if len(shape) != raw.ndim or any(size < needed for size, needed in zip(shape, raw.shape, strict=True)):
            raise ShapeError(
                f"scatter_add_: a source of shape {format_shape(shape)} has no element for each index "
                f"of shape {format_shape(raw.shape)}"
            )
        if shape != raw.shape:
            source = ops.asarray(source)[tuple(slice(size) for size in raw.shape)]
    xp = namespaces[type(raw)]
    with xp.scope(xp.device(raw)):
        index = along_axis(xp, raw, axis, raw.shape)
    return _write(self, source, "scatter_add_", _add_at(index), index, _ADD_AT)


def _add_at(index: Any) -> Callable[[Backend, Array, Any], None]:
    return lambda xp, array, value: xp.add_at(array, index, _as_shape(xp, array, value, index))


def _as_shape(xp: Backend, array: Array, value: Any, index: Any) -> Array:
    """Broadcast to what is indexed, before anything is written."""
    shape = xp.getitem(array, index).shape
    if not is_array(value):
        return xp.full(shape, value, dtype=array.dtype, device=array.device)
    return xp.broadcast_to(value, shape)


def _indices(target: Tensor, axis: int, indices: Any, name: str) -> Array:
    """The raw index array, checked so that nothing is written when one is wrong, and a copy."""
    array = target.array
    xp = namespaces[type(array)]
    raw = indices.array if type(indices) is Tensor else indices
    if not is_array(raw):
        raw = xp.from_host(NUMPY.host_array(raw), xp.device(array))
    check_devices(name, array, raw)
    if xp.numpy_dtype(raw.dtype).kind not in "iu":
        raise DtypeError(f"{name} takes integer indices, got {xp.numpy_dtype(raw.dtype)}")
    if not -array.ndim <= axis < array.ndim:
        raise ShapeError(f"{name}: axis {axis} is outside a tensor of shape {format_shape(array.shape)}")
    size = array.shape[axis]
    with xp.scope(target.device):
        if are_values_checked() and 0 not in raw.shape and bool(xp.any((raw < -size) | (raw >= size))):
            raise IndexingError(f"{name}: an index is outside axis {axis} of size {size}")
        return xp.copy(raw)

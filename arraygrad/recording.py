"""The namespace of a backward that is recorded itself: rules run on tensors, and so have derivatives.

`RECORDING` is to tensors what a backend is to raw arrays, so the engine and every rule run on it as they are: the
standard's names are arraygrad's own functions, and what rules need beyond the standard is written with them here.
"""

from __future__ import annotations

import contextlib
from typing import Any

import arraygrad
from arraygrad import inplace
from arraygrad.backends import NUMPY, Array, Backend, for_device, is_array, namespaces
from arraygrad.node import FunctionNode, output_of
from arraygrad.op import linear
from arraygrad.ops.indexing import getitem, raw_index
from arraygrad.tensor import ArrayLike, Tensor


@linear(lambda g, xp, index: xp.getitem(g, index))
def _scatter(xp: Any, g: ArrayLike, index: Any, shape: tuple[int, ...], /) -> Array:
    return xp.scatter(g, index, shape)


class _ComplexDtypes:
    """The complex data types of all backends."""

    def __contains__(self, dtype: Any) -> bool:
        return RECORDING.numpy_dtype(dtype) in NUMPY.complex_dtypes


class RecordingBackend(Backend):
    """Tensors as the arrays of a backend."""

    name = "arraygrad"
    array_type = Tensor
    complex_dtypes: Any = _ComplexDtypes()
    counts_references = False
    owns_sums = False  # a sum is a tensor like any other

    def namespace(self) -> Any:
        return arraygrad

    @property
    def special(self) -> Any:
        return arraygrad.special

    def device(self, array: Tensor) -> str:
        return array.device

    def scope(self, device: str) -> contextlib.AbstractContextManager[Any]:
        return for_device(device).scope(device)

    def dtype(self, dtype: Any) -> Any:
        return NUMPY.dtype(self.numpy_dtype(dtype))

    def numpy_dtype(self, dtype: Any) -> Any:
        return getattr(dtype, "_np_dtype", dtype)

    def to_device(self, array: Tensor, device: str) -> Tensor:
        return arraygrad.to_device(array, device)

    def lift(self, result: Any) -> Tensor:
        return result if isinstance(result, Tensor) else arraygrad.asarray(result)

    def copy(self, array: Tensor) -> Tensor:
        return arraygrad.copy(array)

    def is_contiguous(self, array: Tensor) -> bool:
        return namespaces[type(array.array)].is_contiguous(array.array)

    def is_writable(self, array: Tensor) -> bool:
        return namespaces[type(array.array)].is_writable(array.array)

    def diagonal(self, x: Tensor, /, *, offset: int = 0) -> Tensor:
        return arraygrad.linalg.diagonal(x, offset=offset)

    def getitem(self, x: Tensor, index: Any, /) -> Tensor:
        return getitem(x, index)

    def setitem(self, x: Tensor, index: Any, value: Any, /) -> None:
        inplace.setitem(x, index, value)

    def add_at(self, x: Tensor, index: Any, value: Any, /) -> None:
        inplace.add_at(x, index, value)

    def scatter(self, g: Tensor, index: Any, shape: tuple[int, ...], /) -> Tensor:
        return _scatter(g, raw_index(namespaces[type(g.array)], g.array, index), shape)

    def lifted(self, node: FunctionNode, saved: Any) -> Any:
        """What a node has saved, as tensors with their history: an input has its edge, an output the node."""
        sources = node.op.sources
        if sources is None or saved is None:
            return saved
        return [box and (self._lifted(node, source, box),) for source, box in zip(sources, saved, strict=True)]

    def _lifted(self, node: FunctionNode, source: Any, box: Any) -> Any:
        (value,) = box
        if source is None or not is_array(value):
            return value
        tensor = Tensor(value)
        kind, position = source
        if kind == "input":
            tensor._node = None if position is None else node.edges[position]
        else:
            tensor._node = node if position is None else output_of(node, position, value)
        if type(box) is not tuple:
            tensor._box = box  # a later write is found by those that save it again
        return tensor


RECORDING = RecordingBackend()

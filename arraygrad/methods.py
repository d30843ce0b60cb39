"""What a Tensor can be asked by a method or an operator: thin calls of ops.

The names are PyTorch's, since the standard has no methods; NumPy's beside them are in numpy_methods.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from arraygrad.errors import DtypeError
from arraygrad.numpy_methods import NumpyMethods

if TYPE_CHECKING:
    import arraygrad as ops
    from arraygrad import inplace
    from arraygrad.ops import indexing, manipulation
    from arraygrad.tensor import ArrayLike, Tensor

    Axis = int | tuple[int, ...] | None


def _flat(sizes: tuple[Any, ...]) -> tuple[Any, ...]:
    """Both `reshape(2, 3)` and `reshape((2, 3))`."""
    return tuple(sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], tuple | list) else sizes


class ArrayMethods(NumpyMethods):
    """The methods and operators of Tensor that compute."""

    __slots__ = ()

    __hash__ = object.__hash__

    if TYPE_CHECKING:
        # Operators are the ops themselves (see the bottom): a method around each would cost 0.06 us.
        def __add__(self, other: ArrayLike, /) -> Tensor: ...
        def __radd__(self, other: ArrayLike, /) -> Tensor: ...
        def __sub__(self, other: ArrayLike, /) -> Tensor: ...
        def __rsub__(self, other: ArrayLike, /) -> Tensor: ...
        def __mul__(self, other: ArrayLike, /) -> Tensor: ...
        def __rmul__(self, other: ArrayLike, /) -> Tensor: ...
        def __truediv__(self, other: ArrayLike, /) -> Tensor: ...
        def __rtruediv__(self, other: ArrayLike, /) -> Tensor: ...
        def __floordiv__(self, other: ArrayLike, /) -> Tensor: ...
        def __rfloordiv__(self, other: ArrayLike, /) -> Tensor: ...
        def __mod__(self, other: ArrayLike, /) -> Tensor: ...
        def __rmod__(self, other: ArrayLike, /) -> Tensor: ...
        def __pow__(self, other: ArrayLike, /) -> Tensor: ...
        def __rpow__(self, other: ArrayLike, /) -> Tensor: ...
        def __matmul__(self, other: ArrayLike, /) -> Tensor: ...
        def __rmatmul__(self, other: ArrayLike, /) -> Tensor: ...
        def __and__(self, other: ArrayLike, /) -> Tensor: ...
        def __rand__(self, other: ArrayLike, /) -> Tensor: ...
        def __or__(self, other: ArrayLike, /) -> Tensor: ...
        def __ror__(self, other: ArrayLike, /) -> Tensor: ...
        def __xor__(self, other: ArrayLike, /) -> Tensor: ...
        def __rxor__(self, other: ArrayLike, /) -> Tensor: ...
        def __lshift__(self, other: ArrayLike, /) -> Tensor: ...
        def __rlshift__(self, other: ArrayLike, /) -> Tensor: ...
        def __rshift__(self, other: ArrayLike, /) -> Tensor: ...
        def __rrshift__(self, other: ArrayLike, /) -> Tensor: ...
        def __eq__(self, other: ArrayLike, /) -> Tensor: ...  # type: ignore[override]  # elementwise
        def __ne__(self, other: ArrayLike, /) -> Tensor: ...  # type: ignore[override]  # elementwise
        def __lt__(self, other: ArrayLike, /) -> Tensor: ...
        def __le__(self, other: ArrayLike, /) -> Tensor: ...
        def __gt__(self, other: ArrayLike, /) -> Tensor: ...
        def __ge__(self, other: ArrayLike, /) -> Tensor: ...
        def __neg__(self) -> Tensor: ...
        def __pos__(self) -> Tensor: ...
        def __abs__(self) -> Tensor: ...
        def __invert__(self) -> Tensor: ...
        def __iadd__(self, other: ArrayLike, /) -> Tensor: ...
        def __isub__(self, other: ArrayLike, /) -> Tensor: ...
        def __imul__(self, other: ArrayLike, /) -> Tensor: ...
        def __itruediv__(self, other: ArrayLike, /) -> Tensor: ...
        def __ifloordiv__(self, other: ArrayLike, /) -> Tensor: ...
        def __imod__(self, other: ArrayLike, /) -> Tensor: ...
        def __ipow__(self, other: ArrayLike, /) -> Tensor: ...
        def __iand__(self, other: ArrayLike, /) -> Tensor: ...
        def __ior__(self, other: ArrayLike, /) -> Tensor: ...
        def __ixor__(self, other: ArrayLike, /) -> Tensor: ...
        def __ilshift__(self, other: ArrayLike, /) -> Tensor: ...
        def __irshift__(self, other: ArrayLike, /) -> Tensor: ...

    def __divmod__(self, other: ArrayLike) -> tuple[Tensor, Tensor]:
        return self // other, self % other

    def __rdivmod__(self, other: ArrayLike) -> tuple[Tensor, Tensor]:
        return other // self, other % self

    def __getitem__(self, index: Any) -> Tensor:
        return indexing.getitem(self, index)

    def __setitem__(self, index: Any, value: ArrayLike) -> None:
        inplace.setitem(self, index, value)

    # ---- Reductions

    def sum(self, axis: Axis = None, *, dtype: Any = None, keepdims: bool = False) -> Tensor:
        """`arraygrad.sum`."""
        return ops.sum(self, axis=axis, dtype=dtype, keepdims=keepdims)

    def mean(self, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
        """`arraygrad.mean`."""
        return ops.mean(self, axis=axis, keepdims=keepdims)

    def prod(self, axis: Axis = None, *, dtype: Any = None, keepdims: bool = False) -> Tensor:
        """`arraygrad.prod`."""
        return ops.prod(self, axis=axis, dtype=dtype, keepdims=keepdims)

    def max(self, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
        """`arraygrad.max`."""
        return ops.max(self, axis=axis, keepdims=keepdims)

    def min(self, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
        """`arraygrad.min`."""
        return ops.min(self, axis=axis, keepdims=keepdims)

    def var(
        self, axis: Axis = None, *, correction: float = 0.0, ddof: float | None = None, keepdims: bool = False
    ) -> Tensor:
        """`arraygrad.var`; `ddof` is NumPy's name of the correction."""
        return ops.var(self, axis=axis, correction=correction if ddof is None else ddof, keepdims=keepdims)

    def std(
        self, axis: Axis = None, *, correction: float = 0.0, ddof: float | None = None, keepdims: bool = False
    ) -> Tensor:
        """`arraygrad.std`; `ddof` is NumPy's name of the correction."""
        return ops.std(self, axis=axis, correction=correction if ddof is None else ddof, keepdims=keepdims)

    def all(self, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
        """`arraygrad.all`."""
        return ops.all(self, axis=axis, keepdims=keepdims)

    def any(self, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
        """`arraygrad.any`."""
        return ops.any(self, axis=axis, keepdims=keepdims)

    def argmax(self, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
        """`arraygrad.argmax`."""
        return ops.argmax(self, axis=axis, keepdims=keepdims)

    def argmin(self, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
        """`arraygrad.argmin`."""
        return ops.argmin(self, axis=axis, keepdims=keepdims)

    def cumulative_sum(self, axis: int | None = None, *, dtype: Any = None, include_initial: bool = False) -> Tensor:
        """`arraygrad.cumulative_sum`."""
        return ops.cumulative_sum(self, axis=axis, dtype=dtype, include_initial=include_initial)

    # ---- Shape

    def reshape(self, *shape: Any) -> Tensor:
        """`arraygrad.reshape`; takes sizes or a tuple of them."""
        return ops.reshape(self, _flat(shape))

    def ravel(self) -> Tensor:
        """`reshape(-1)`: all elements in one axis, a view where memory allows it."""
        return ops.reshape(self, (-1,))

    def flatten(self) -> Tensor:
        """All elements in one axis, always a copy."""
        return ops.copy(ops.reshape(self, (-1,)))

    def view(self: Any, *shape: Any) -> Tensor:
        """`reshape` that refuses to copy; or, as in NumPy, given the tensor's own data type, one of the same shape.

        Raises:
            DtypeError: another data type is given: `astype` converts, and no view of other bytes has a gradient.
        """
        if len(shape) == 1 and (isinstance(shape[0], str | type) or hasattr(shape[0], "kind")):
            if self.dtype != shape[0]:
                raise DtypeError(f"view of {self.dtype} as {shape[0]!r} would reinterpret bytes; use astype()")
            shape = self.shape
        return ops.reshape(self, _flat(shape), copy=False)

    def transpose(self: Any, *axes: Any) -> Tensor:
        """Swap two axes, as in PyTorch; or, as in NumPy, reverse all of them (without arguments) or reorder them
        (given a tuple, or all of more than two).
        """
        if len(axes) == 2:
            return manipulation.transpose(self, *axes)
        axes = () if axes == (None,) else _flat(axes)
        return ops.permute_dims(self, axes or tuple(range(self.ndim))[::-1])

    def permute(self, *axes: Any) -> Tensor:
        """`arraygrad.permute_dims`; takes axes or a tuple of them."""
        return ops.permute_dims(self, _flat(axes))

    def squeeze(self, axis: Axis = None) -> Tensor:
        """Remove axes of size 1: those named, or all."""
        return manipulation.squeeze_all(self) if axis is None else ops.squeeze(self, axis)

    def unsqueeze(self, axis: int) -> Tensor:
        """`arraygrad.expand_dims`."""
        return ops.expand_dims(self, axis=axis)

    def expand(self, *shape: Any) -> Tensor:
        """`arraygrad.broadcast_to`; -1 keeps the size of an axis."""
        return manipulation.expand(self, _flat(shape))

    def select(self, axis: int, index: int) -> Tensor:
        """The slice at one index of an axis, which is removed."""
        return manipulation.select(self, axis, index)

    def narrow(self, axis: int, start: int, length: int) -> Tensor:
        """The slice of `length` from `start` along an axis."""
        return manipulation.narrow(self, axis, start, length)

    def split(self, sizes: int | Sequence[int], axis: int = 0) -> tuple[Tensor, ...]:
        """`arraygrad.split`."""
        return ops.split(self, sizes, axis=axis)

    # ---- Reading by index

    def masked_fill(self, mask: ArrayLike, value: ArrayLike) -> Tensor:
        """`arraygrad.masked_fill`."""
        return ops.masked_fill(self, mask, value)

    def index_select(self, axis: int, indices: ArrayLike) -> Tensor:
        """`arraygrad.take` along an axis."""
        return ops.take(self, indices, axis=axis)

    def gather(self, axis: int, indices: ArrayLike) -> Tensor:
        """`arraygrad.take_along_axis`."""
        return ops.take_along_axis(self, indices, axis=axis)

    # ---- Elementwise and the rest

    def abs(self) -> Tensor:
        """`arraygrad.abs`."""
        return ops.abs(self)

    def exp(self) -> Tensor:
        """`arraygrad.exp`."""
        return ops.exp(self)

    def log(self) -> Tensor:
        """`arraygrad.log`."""
        return ops.log(self)

    def sqrt(self) -> Tensor:
        """`arraygrad.sqrt`."""
        return ops.sqrt(self)

    def sin(self) -> Tensor:
        """`arraygrad.sin`."""
        return ops.sin(self)

    def cos(self) -> Tensor:
        """`arraygrad.cos`."""
        return ops.cos(self)

    def tanh(self) -> Tensor:
        """`arraygrad.tanh`."""
        return ops.tanh(self)

    def sigmoid(self) -> Tensor:
        """`arraygrad.sigmoid`."""
        return ops.sigmoid(self)

    def relu(self) -> Tensor:
        """`arraygrad.relu`."""
        return ops.relu(self)

    def clip(self, min: ArrayLike | None = None, max: ArrayLike | None = None) -> Tensor:
        """`arraygrad.clip`."""
        return ops.clip(self, min, max)

    def pow(self, exponent: ArrayLike) -> Tensor:
        """`arraygrad.pow`."""
        return ops.pow(self, exponent)

    def matmul(self, other: ArrayLike) -> Tensor:
        """`arraygrad.matmul`."""
        return ops.matmul(self, other)

    def astype(self, dtype: Any, *, copy: bool = True) -> Tensor:
        """`arraygrad.astype`."""
        return ops.astype(self, dtype, copy=copy)

    def softmax(self, axis: int = -1) -> Tensor:
        """`arraygrad.softmax`."""
        return ops.softmax(self, axis=axis)

    def log_softmax(self, axis: int = -1) -> Tensor:
        """`arraygrad.log_softmax`."""
        return ops.log_softmax(self, axis=axis)

    # ---- Writing in place

    def add_(self, other: ArrayLike) -> Tensor:
        """Add in place."""
        return inplace.add_(self, other)

    def sub_(self, other: ArrayLike) -> Tensor:
        """Subtract in place."""
        return inplace.sub_(self, other)

    def mul_(self, other: ArrayLike) -> Tensor:
        """Multiply in place."""
        return inplace.mul_(self, other)

    def div_(self, other: ArrayLike) -> Tensor:
        """Divide in place."""
        return inplace.div_(self, other)

    def fill_(self, value: ArrayLike) -> Tensor:
        """Set every element to one value."""
        return inplace.fill_(self, value)

    def copy_(self, source: ArrayLike) -> Tensor:
        """Copy values from another tensor or array, converting data type and device."""
        return inplace.copy_(self, source)

    def zero_(self) -> Tensor:
        """Set every element to zero."""
        return inplace.zero_(self)

    def index_add_(self, axis: int, indices: ArrayLike, source: ArrayLike) -> Tensor:
        """Add slice `i` of `source` to slice `indices[i]` along an axis; repeated indices add up."""
        return inplace.index_add_(self, axis, indices, source)

    def scatter_add_(self, axis: int, indices: ArrayLike, source: ArrayLike) -> Tensor:
        """Add each element of `source` at the index of the same place, along an axis."""
        return inplace.scatter_add_(self, axis, indices, source)


def _attach(name: str, method: Any, doc: str) -> None:
    method.__name__, method.__qualname__, method.__doc__ = name, f"Tensor.{name}", doc
    setattr(ArrayMethods, name, method)


def link(ops: Any, inplace: Any, indexing: Any, manipulation: Any, operator: Any) -> None:
    """Give the methods their ops, once there are both (see the end of tensor.py)."""
    globals().update(ops=ops, inplace=inplace, indexing=indexing, manipulation=manipulation)
    for name, function in {
        "add": "add",
        "sub": "subtract",
        "mul": "multiply",
        "truediv": "divide",
        "floordiv": "floor_divide",
        "mod": "remainder",
        "pow": "pow",
        "matmul": "matmul",
        "and": "bitwise_and",
        "or": "bitwise_or",
        "xor": "bitwise_xor",
        "lshift": "bitwise_left_shift",
        "rshift": "bitwise_right_shift",
    }.items():
        method, reflected = operator(function)
        _attach(f"__{name}__", method, f"`arraygrad.{function}`.")
        _attach(f"__r{name}__", reflected, f"`arraygrad.{function}`, with the operands the other way round.")
        if name != "matmul":
            _attach(f"__i{name}__", inplace.operator(name), f"`arraygrad.{function}` in place.")
    for name, function in {
        "eq": "equal",
        "ne": "not_equal",
        "lt": "less",
        "le": "less_equal",
        "gt": "greater",
        "ge": "greater_equal",
    }.items():
        _attach(f"__{name}__", operator(function)[0], f"`arraygrad.{function}`.")
    for name, function in {"neg": "negative", "pos": "positive", "abs": "abs", "invert": "bitwise_invert"}.items():
        _attach(f"__{name}__", operator(function)[0], f"`arraygrad.{function}`.")

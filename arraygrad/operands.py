"""What an operation is given, and what it makes of it: raw arrays and numbers, errors that name it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from arraygrad.backends import (
    NUMBERS,
    NUMPY,
    Array,
    Backend,
    common_backend,
    get_default_device,
    is_array,
    move,
    namespaces,
)
from arraygrad.errors import DtypeError
from arraygrad.tensor import Tensor

if TYPE_CHECKING:
    from arraygrad.op import Op


_KINDS: tuple[Any, ...] = (int, float, complex)


class ForeignOperandError(DtypeError):
    """An operand of a type that this library does not know: operators give it its turn."""


def operand_of(op: Op, value: Any) -> Any:
    """The raw array or the Python number of an argument."""
    if type(value) is Tensor:
        return value.array
    if is_array(value):
        return value
    if isinstance(value, NUMBERS):
        # NumPy's scalars, and types derived from Python's, would change data types where Python's numbers do not.
        item: Any = value.item() if isinstance(value, NUMPY.generic) else value
        if type(item) in (float, int, complex, bool):
            return item
        for kind in _KINDS:
            if isinstance(item, kind):
                return kind(item)
        if isinstance(item, NUMPY.generic):  # a long double is its own item
            return complex(item) if item.dtype.kind == "c" else float(item)
    raise ForeignOperandError(
        f"{op.name} takes tensors, arrays and numbers, got {type(value).__name__}; convert it with ag.tensor"
    )


def as_tensor(op: Op, value: Any) -> Tensor:
    """A tensor of an argument, on the default device if it is a number."""
    operand = operand_of(op, value)
    if is_array(operand):
        return Tensor(operand)
    return Tensor(move(NUMPY.host_array(operand), get_default_device()))


def first_operand(op: Op, x1: Any, x2: Any) -> Any:
    """The first operand where it is no tensor: one of two must be an array."""
    operand = operand_of(op, x1)
    return operand if type(x2) is Tensor or is_array(operand) or is_array(x2) else as_tensor(op, operand).array


def matched(op: Op, array1: Any, array2: Any) -> tuple[Any, Any, type]:
    """Two operands of different types as they meet, and the type of array that the kernel is for."""
    if isinstance(array1, NUMBERS):
        return array1, array2, type(array2)
    if isinstance(array2, NUMBERS):
        return array1, array2, type(array1)
    xp = common_backend(op.name, (array1, array2))
    return xp.same(array1), xp.same(array2), xp.array_type


def same(xp: Any, operand: Any) -> Any:
    """What stands for an operand beside batches (see batching.py)."""
    return xp.same(operand) if is_array(operand) else operand


def lift(op: Op, xp: Backend, result: Any) -> Array:
    """The array of what a forward returned: NumPy's functions of 0-d arrays return scalars."""
    if not isinstance(result, NUMBERS):
        raise DtypeError(f"{op.name}: the forward returned a {type(result).__name__}, not an array")
    return xp.lift(result)


def is_view_of(result: Array, source: Array) -> bool:
    """Whether a result shares the memory of what it was made of."""
    return type(result) is type(source) and namespaces[type(result)].is_view_of(result, source)


def is_floating(array: Array) -> bool:
    """Whether a raw array can have a gradient."""
    xp = namespaces[type(array)]
    return xp.numpy_dtype(array.dtype).kind in "fc"


def has_dual(values: Iterable[Any]) -> bool:
    """Whether an argument, or an item of one, is a tensor with a tangent."""
    return any(
        has_dual(value) if isinstance(value, list | tuple) else isinstance(value, Tensor) and type(value) is not Tensor
        for value in values
    )

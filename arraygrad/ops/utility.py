"""Data types and shapes: functions that return no arrays."""

from __future__ import annotations

from typing import Any

from arraygrad.backends import NUMPY, is_array, namespaces
from arraygrad.errors import ShapeError, format_shape
from arraygrad.tensor import ArrayLike, Tensor


def _numpy_dtype(obj: Any) -> Any:
    """The NumPy data type of a tensor, an array, a number or a data type."""
    if isinstance(obj, Tensor):
        return obj.dtype
    if is_array(obj):
        return namespaces[type(obj)].numpy_dtype(obj.dtype)
    return obj if isinstance(obj, bool | int | float | complex) else NUMPY.dtype(obj)


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape to which all shapes broadcast.

    Raises:
        ShapeError: there is none.

    >>> import arraygrad as ag
    >>> ag.broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    ndim = max(map(len, shapes), default=0)
    result = []
    for i in range(-ndim, 0):
        sizes = {shape[i] for shape in shapes if len(shape) >= -i} - {1}
        if len(sizes) > 1:
            raise ShapeError(f"shapes {' and '.join(map(format_shape, shapes))} could not be broadcast together")
        result.append(sizes.pop() if sizes else 1)
    return tuple(result)


def can_cast(from_: ArrayLike, to: Any, /) -> bool:
    """Whether every value of a data type, or of an array's, has its like in another."""
    return bool(NUMPY.can_cast(_numpy_dtype(from_), NUMPY.dtype(to)))


def finfo(type: ArrayLike, /) -> Any:
    """Limits of a floating point data type, or of an array's: `bits eps max min smallest_normal dtype`."""
    return NUMPY.finfo(_numpy_dtype(type))


def iinfo(type: ArrayLike, /) -> Any:
    """Limits of an integer data type, or of an array's: `bits max min dtype`."""
    return NUMPY.iinfo(_numpy_dtype(type))


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a data type is of a kind, such as "real floating", or is one of several."""
    return bool(NUMPY.isdtype(NUMPY.dtype(dtype), kind))


def result_type(*arrays_and_dtypes: ArrayLike) -> Any:
    """The data type that an operation on these arrays, data types and numbers results in."""
    return NUMPY.result_type(*[_numpy_dtype(obj) for obj in arrays_and_dtypes])

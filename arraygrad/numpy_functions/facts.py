"""Facts about tensors: shapes, data types, comparisons. No gradients."""

from __future__ import annotations

import math
from typing import Any

import arraygrad as ag
from arraygrad.errors import format_shape
from arraygrad.numpy_functions.table import FUNCTIONS, numpy_function
from arraygrad.tensor import Tensor


@numpy_function()
def shape(a: Any) -> tuple[int, ...]:
    return tuple(a.shape)


@numpy_function()
def ndim(a: Any) -> int:
    return len(a.shape)


@numpy_function()
def size(a: Any, axis: int | tuple[int, ...] | None = None) -> int:
    axes = range(len(a.shape)) if axis is None else (axis,) if isinstance(axis, int) else axis
    return math.prod(a.shape[i] for i in axes)


@numpy_function()
def iscomplexobj(x: Any) -> bool:
    return bool(ag.asarray(x).dtype.kind == "c")


@numpy_function()
def isrealobj(x: Any) -> bool:
    return not iscomplexobj(x)


@numpy_function()
def iscomplex(x: Any) -> Tensor:
    x = ag.asarray(x)
    return ag.imag(x) != 0 if x.dtype.kind == "c" else ag.zeros_like(x, dtype=ag.bool)


@numpy_function()
def isreal(x: Any) -> Tensor:
    return ag.logical_not(iscomplex(x))


@numpy_function()
def isposinf(x: Any) -> Tensor:
    return ag.equal(x, math.inf)


@numpy_function()
def isneginf(x: Any) -> Tensor:
    return ag.equal(x, -math.inf)


FUNCTIONS["result_type"] = ag.result_type


@numpy_function()
def can_cast(from_: Any, to: Any) -> bool:
    return ag.can_cast(from_, to)


@numpy_function()
def common_type(*arrays: Any) -> Any:
    """The type of scalars, as NumPy has it, in float64 for integers."""
    return ag.result_type(
        *[ag.float64 if ag.asarray(x).dtype.kind in "iu" else ag.asarray(x).dtype for x in arrays]
    ).type


@numpy_function()
def may_share_memory(a: Any, b: Any) -> bool:
    """Whether both belong to one storage, as far as this library knows."""
    from arraygrad.storage import storage_of

    x1, x2 = ag.asarray(a), ag.asarray(b)
    return x1.array is x2.array or storage_of(x1) is storage_of(x2)


@numpy_function()
def isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    a, b = ag.asarray(a), ag.asarray(b)
    close = (a == b) | (ag.isfinite(b) & (ag.abs(a - b) <= atol + rtol * ag.abs(b)))
    return close | (ag.isnan(a) & ag.isnan(b)) if equal_nan else close


@numpy_function()
def allclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    return bool(ag.all(isclose(a, b, rtol, atol, equal_nan)))


@numpy_function()
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    a1, a2 = ag.asarray(a1), ag.asarray(a2)
    if a1.shape != a2.shape:
        return False
    same = ag.equal(a1, a2)
    return bool(ag.all(same | (ag.isnan(a1) & ag.isnan(a2)) if equal_nan else same))


@numpy_function()
def array_equiv(a1: Any, a2: Any) -> bool:
    try:
        return bool(ag.all(ag.equal(a1, a2)))
    except ValueError:  # the shapes do not broadcast
        return False


# ---- Positions


@numpy_function()
def nonzero(a: Any) -> tuple[Tensor, ...]:
    return ag.nonzero(a)


@numpy_function()
def flatnonzero(a: Any) -> Tensor:
    return ag.nonzero(ag.reshape(a, (-1,)))[0]


@numpy_function()
def argwhere(a: Any) -> Tensor:
    return ag.stack(ag.nonzero(a), axis=-1)


@numpy_function()
def unravel_index(indices: Any, shape: Any) -> tuple[Tensor, ...]:
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    rest, places = ag.asarray(indices), []
    for n in reversed(sizes):
        places.append(rest % n)
        rest = rest // n
    if ag.any(rest != 0):
        raise ag.ShapeError(f"np.unravel_index: an index is outside {format_shape(sizes)}")
    return tuple(reversed(places))


@numpy_function()
def ravel_multi_index(multi_index: Any, dims: Any) -> Tensor:
    result = 0
    for index, n in zip(multi_index, (dims,) if isinstance(dims, int) else dims, strict=True):
        if ag.any((ag.asarray(index) < 0) | (ag.asarray(index) >= n)):
            raise ag.ShapeError(f"np.ravel_multi_index: an index is outside {format_shape(dims)}")
        result = result * n + index
    return ag.asarray(result)


def _grid_of_indices(x: Any) -> tuple[Any, Any]:
    m, n = x.shape
    return ag.arange(m, device=x.device)[:, None], ag.arange(n, device=x.device)[None, :]


@numpy_function()
def tril_indices_from(arr: Any, k: int = 0) -> tuple[Tensor, ...]:
    rows, columns = _grid_of_indices(arr)
    return ag.nonzero(columns - rows <= k)


@numpy_function()
def triu_indices_from(arr: Any, k: int = 0) -> tuple[Tensor, ...]:
    rows, columns = _grid_of_indices(arr)
    return ag.nonzero(columns - rows >= k)


@numpy_function()
def diag_indices_from(arr: Any) -> tuple[Tensor, ...]:
    if len(set(arr.shape)) != 1 or len(arr.shape) < 2:
        raise ag.ShapeError(f"np.diag_indices_from takes axes of one size, got {format_shape(arr.shape)}")
    return (ag.arange(arr.shape[0], device=arr.device),) * len(arr.shape)

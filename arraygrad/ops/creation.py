"""New tensors."""

from __future__ import annotations

import operator
from typing import Any

from arraygrad import backends
from arraygrad.backends import NUMPY, Array, Backend, is_array, is_number, move, namespaces
from arraygrad.errors import DtypeError, ShapeError, format_shape
from arraygrad.ops.manipulation import astype, broadcast_to, stack, to_device
from arraygrad.ops.manipulation import copy as copy_of
from arraygrad.tensor import ArrayLike, Tensor


def tensor(obj: Any, *, dtype: Any = None, device: str | None = None, requires_grad: bool = False) -> Tensor:
    """Make a new leaf from numbers, nested sequences of them, an array or a tensor; always copies.

    Python floats make float64; arrays keep their data type and, unless told otherwise, their device.

    Raises:
        TypeError: the values are no numbers, or they cannot require grad.
        DeviceError: the device is unknown or not available.

    >>> import arraygrad as ag
    >>> ag.tensor([[0.5, -1.0]], requires_grad=True)
    tensor([[ 0.5, -1. ]], dtype=float64, device='cpu', requires_grad=True)
    """
    array = obj.array if isinstance(obj, Tensor) else obj
    if is_array(array):
        _check_dtype(array)
        moved = array if device is None else move(array, device)
        xp = namespaces[type(moved)]
        with xp.scope(xp.device(moved)):
            if dtype is not None and moved.dtype != xp.dtype(dtype):
                moved = xp.astype(moved, xp.dtype(dtype))
            result = xp.copy(moved) if moved is array else moved
    elif _holds_tensors(obj):
        result = asarray(obj, dtype=dtype, device=device).array
    else:
        result = _from_host(obj, dtype, device)
    return Tensor(result).requires_grad_(requires_grad)


def asarray(obj: Any, /, *, dtype: Any = None, device: str | None = None, copy: bool | None = None) -> Tensor:
    """Make a tensor that shares memory with an array where it can; a Tensor stays itself, with its history.

    `copy=True` always copies, `copy=False` raises where a copy would be needed.

    >>> import numpy as np
    >>> import arraygrad as ag
    >>> x = np.zeros(2)
    >>> ag.asarray(x).array is x
    True

    Nested sequences may hold tensors; their history is kept.
    """
    if isinstance(obj, Tensor):
        source = obj
    elif is_array(obj):
        _check_dtype(obj)
        source = Tensor(obj)
    elif _holds_tensors(obj):
        source = stack([asarray(item, dtype=dtype, device=device) for item in obj])
    elif copy is False:
        raise ShapeError(f"asarray: a {type(obj).__name__} cannot become a tensor without a copy")
    else:
        return Tensor(_from_host(obj, dtype, device))
    result = source if device is None else to_device(source, device)
    if dtype is not None and result.dtype != NUMPY.dtype(dtype):
        result = astype(result, dtype)
    if copy is False and result.array is not source.array:
        raise ShapeError("asarray: this data type or device needs a copy")
    return result.clone() if copy and result.array is source.array else result


def tensors(*values: Any) -> list[Tensor]:
    """Tensors of all values; numbers and lists get the data type and device of the first array among them."""
    like = next((asarray(value) for value in values if isinstance(value, Tensor) or is_array(value)), None)
    if like is None:
        return [asarray(value) for value in values]
    dtype = like.dtype if like.dtype.kind in "fc" else None
    return [
        asarray(value)
        if isinstance(value, Tensor) or is_array(value)
        else asarray(value, dtype=None if isinstance(value, complex) else dtype, device=like.device)
        for value in values
    ]


def _check_dtype(array: Array) -> None:
    xp = namespaces[type(array)]
    NUMPY.dtype(xp.numpy_dtype(array.dtype))  # refuses text, objects and dates


def from_dlpack(x: Any, /, *, device: str | None = None, copy: bool | None = None) -> Tensor:
    """Make a tensor of another library's array, sharing memory where it can, without the other's history."""
    if isinstance(x, Tensor):
        return asarray(x.detach(), device=device, copy=copy)
    kind = x.__dlpack_device__()[0]
    xp = NUMPY if kind == 1 else backends.for_device("cuda")  # 1: DLPack's number of a CPU
    result = Tensor(xp.from_dlpack(x))
    return asarray(result, device=device, copy=copy)


def _holds_tensors(obj: Any) -> bool:
    return isinstance(obj, list | tuple) and any(isinstance(item, Tensor) or _holds_tensors(item) for item in obj)


def _from_host(obj: Any, dtype: Any, device: str | None) -> Array:
    if isinstance(obj, str | bytes) or obj is None:
        raise DtypeError(f"cannot make a tensor of {type(obj).__name__}")
    dtype = None if dtype is None else NUMPY.dtype(dtype)
    return move(NUMPY.host_array(obj, dtype), backends.get_default_device() if device is None else device)


def _create(name: str, device: str | None, dtype: Any, *args: Any, **kwargs: Any) -> Tensor:
    """Call a creation function of the backend of `device`, inside that device's scope."""
    device = backends.get_default_device() if device is None else device
    xp = backends.for_device(device)
    device = xp.device_name(device)
    with xp.scope(device):
        return Tensor(
            operator.attrgetter(name)(xp)(
                *args,
                dtype=None if dtype is None else xp.dtype(dtype),
                device=xp.creation_device(device),
                **kwargs,
            )
        )


def _create_like(name: str, x: ArrayLike, device: str | None, dtype: Any, *args: Any) -> Tensor:
    array = x.array if isinstance(x, Tensor) else x
    xp: Backend = namespaces[type(array)]
    if xp.is_batched and device is None:
        like = getattr(xp, f"{name}_like")
        with xp.scope(xp.device(array)):
            return Tensor(like(array, *args, dtype=None if dtype is None else xp.dtype(dtype)))
    return _create(
        name,
        xp.device(array) if device is None else device,
        xp.numpy_dtype(array.dtype) if dtype is None else dtype,
        array.shape,
        *args,
    )


def _filled(value: Tensor, shape: tuple[int, ...], dtype: Any, device: str | None) -> Tensor:
    if value.ndim:
        raise ShapeError(f"a fill value is a number or a 0-d tensor, got shape {format_shape(value.shape)}")
    value = value if device is None else to_device(value, device)
    return copy_of(broadcast_to(value if dtype is None else astype(value, dtype), shape))


def zeros(shape: int | tuple[int, ...], *, dtype: Any = None, device: str | None = None) -> Tensor:
    """Zeros, float64 unless told otherwise."""
    return _create("zeros", device, dtype, shape)


def ones(shape: int | tuple[int, ...], *, dtype: Any = None, device: str | None = None) -> Tensor:
    """Ones, float64 unless told otherwise."""
    return _create("ones", device, dtype, shape)


def full(
    shape: int | tuple[int, ...], fill_value: ArrayLike, *, dtype: Any = None, device: str | None = None
) -> Tensor:
    """One number everywhere; its data type follows the number unless told otherwise.

    A tensor as `fill_value` keeps its history.
    """
    if isinstance(fill_value, Tensor):
        return _filled(fill_value, (shape,) if isinstance(shape, int) else tuple(shape), dtype, device)
    return _create("full", device, dtype, shape, fill_value)


def eye(
    n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None, device: str | None = None
) -> Tensor:
    """Ones on the `k`-th diagonal, zeros elsewhere."""
    return _create("eye", device, dtype, n_rows, n_cols, k=k)


def arange(
    start: float, /, stop: float | None = None, step: float = 1, *, dtype: Any = None, device: str | None = None
) -> Tensor:
    """Numbers from `start` up to but without `stop`; with one number, from 0 up to it."""
    return _create("arange", device, dtype, start, stop, step)


def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    /,
    num: int,
    *,
    dtype: Any = None,
    device: str | None = None,
    endpoint: bool = True,
) -> Tensor:
    """`num` numbers at equal distances from `start` to `stop`, which may be tensors and keep their history."""
    if isinstance(start, Tensor) or isinstance(stop, Tensor):
        like = start if isinstance(start, Tensor) else stop
        device = like.device if device is None else device
        start, stop = [end if is_number(end) else to_device(end, device) for end in (start, stop)]
        part = linspace(0.0, 1.0, num, dtype=like.dtype if dtype is None else dtype, device=device, endpoint=endpoint)
        return start * (1.0 - part) + stop * part
    return _create("linspace", device, dtype, start, stop, num, endpoint=endpoint)


def empty(shape: int | tuple[int, ...], *, dtype: Any = None, device: str | None = None) -> Tensor:
    """An array whose values are whatever the memory holds."""
    return _create("empty", device, dtype, shape)


def empty_like(x: ArrayLike, /, *, dtype: Any = None, device: str | None = None) -> Tensor:
    """An array of the shape, data type and device of `x`, whose values are whatever the memory holds."""
    return _create_like("empty", x, device, dtype)


def zeros_like(x: ArrayLike, /, *, dtype: Any = None, device: str | None = None) -> Tensor:
    """Zeros of the shape, data type and device of `x`."""
    return _create_like("zeros", x, device, dtype)


def ones_like(x: ArrayLike, /, *, dtype: Any = None, device: str | None = None) -> Tensor:
    """Ones of the shape, data type and device of `x`."""
    return _create_like("ones", x, device, dtype)


def full_like(x: ArrayLike, /, fill_value: ArrayLike, *, dtype: Any = None, device: str | None = None) -> Tensor:
    """One number everywhere, in the shape, data type and device of `x`. A tensor keeps its history."""
    if isinstance(fill_value, Tensor):
        array = x.array if isinstance(x, Tensor) else x
        xp = namespaces[type(array)]
        dtype = xp.numpy_dtype(array.dtype) if dtype is None else dtype
        return _filled(fill_value, array.shape, dtype, xp.device(array) if device is None else device)
    return _create_like("full", x, device, dtype, fill_value)

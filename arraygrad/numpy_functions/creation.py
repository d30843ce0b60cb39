"""Tensors made like others: `np.zeros_like(t)`, `np.zeros(3, like=t)`, ranges between tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import arraygrad as ag
from arraygrad.numpy_functions.table import FUNCTIONS, numpy_function
from arraygrad.ops.creation import tensors
from arraygrad.ops.numeric import floating
from arraygrad.tensor import Tensor


def _like(name: str) -> Callable[..., Any]:
    function = getattr(ag, name)

    def made(a: Any, dtype: Any = None, shape: Any = None, device: Any = None) -> Tensor:
        if shape is None:
            return function(a, dtype=dtype, device=device)
        x = ag.asarray(a)
        return getattr(ag, name.removesuffix("_like"))(shape, dtype=dtype or x.dtype, device=device or x.device)

    return made


for _name in ("zeros_like", "ones_like", "empty_like"):
    FUNCTIONS[_name] = _like(_name)


@numpy_function()
def full_like(a: Any, fill_value: Any, dtype: Any = None, shape: Any = None, device: Any = None) -> Tensor:
    x = ag.asarray(a)
    if len(getattr(fill_value, "shape", ())) == 0 and shape is None:
        return ag.full_like(x, fill_value, dtype=dtype, device=device)
    x = ag.empty(x.shape if shape is None else shape, dtype=dtype or x.dtype, device=device or x.device)
    return ag.broadcast_to(ag.astype(ag.asarray(fill_value, device=x.device), x.dtype), x.shape)


@numpy_function()
def copy(a: Any) -> Tensor:
    return ag.copy(a)


@numpy_function()
def astype(x: Any, dtype: Any, copy: bool = True, device: Any = None) -> Tensor:
    return ag.astype(x, dtype, copy=copy, device=device)


@numpy_function()
def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    first, last = (floating(x) for x in tensors(start, stop))
    steps = num - 1 if endpoint else num
    parts = ag.arange(num, dtype=first.dtype, device=first.device) / max(steps, 1)
    parts = ag.reshape(parts, (num,) + (1,) * max(first.ndim, last.ndim))
    points = first * (1.0 - parts) + last * parts  # exact at both ends
    points = ag.moveaxis(points if dtype is None else ag.astype(points, dtype), 0, axis)
    return (points, (last - first) / steps) if retstep else points


@numpy_function()
def logspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: int = 0
) -> Tensor:
    first, last, base = tensors(start, stop, base)
    points = ag.moveaxis(base ** linspace(first, last, num, endpoint), 0, axis)
    return points if dtype is None else ag.astype(points, dtype)


@numpy_function()
def geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Tensor:
    first, last = tensors(start, stop)
    if ag.any(first * last <= 0):
        raise ag.ShapeError("np.geomspace of a Tensor takes ends of one sign, not 0")
    exponents = linspace(ag.log(ag.abs(first)), ag.log(ag.abs(last)), num, endpoint)
    points = ag.moveaxis(ag.sign(first) * ag.exp(exponents), 0, axis)
    return points if dtype is None else ag.astype(points, dtype)


@numpy_function()
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple[Tensor, ...]:
    if sparse:
        lines = [ag.reshape(ag.asarray(x), (-1,)) for x in xi]
        swapped = [lines[1], lines[0], *lines[2:]] if indexing == "xy" and len(lines) > 1 else lines
        grids = ix_(*swapped)
        return (grids[1], grids[0], *grids[2:]) if swapped is not lines else grids
    grids = ag.meshgrid(*map(ag.asarray, xi), indexing=indexing)
    return tuple(map(ag.copy, grids)) if copy else grids


@numpy_function("ix_")
def ix_(*args: Any) -> tuple[Tensor, ...]:
    lines = [ag.asarray(x) for x in args]
    return tuple(
        ag.reshape(ag.nonzero(x)[0] if x.dtype == "bool" else x, (1,) * i + (-1,) + (1,) * (len(lines) - i - 1))
        for i, x in enumerate(lines)
    )


# ---- With like=t: on the device of t

#: These take a device, which is that of `like`.
LIKE: dict[str, Callable[..., Any]] = {
    "zeros": lambda shape, dtype=None, device=None: ag.zeros(shape, dtype=dtype, device=device),
    "ones": lambda shape, dtype=None, device=None: ag.ones(shape, dtype=dtype, device=device),
    "empty": lambda shape, dtype=None, device=None: ag.empty(shape, dtype=dtype, device=device),
    "full": lambda shape, fill_value, dtype=None, device=None: ag.full(shape, fill_value, dtype=dtype, device=device),
    "arange": lambda start, /, stop=None, step=1, dtype=None, device=None: ag.arange(
        start, stop, step, dtype=dtype, device=device
    ),
    "eye": lambda N, M=None, k=0, dtype=None, device=None: ag.eye(N, M, k=k, dtype=dtype, device=device),
    "identity": lambda n, dtype=None, device=None: ag.eye(n, dtype=dtype, device=device),
    "tri": lambda N, M=None, k=0, dtype=None, device=None: ag.tril(
        ag.ones((N, N if M is None else M), dtype=dtype, device=device), k=k
    ),
    "array": lambda a, dtype=None, copy=True, device=None: ag.asarray(a, dtype=dtype, device=device, copy=copy),
    "asarray": lambda a, dtype=None, copy=None, device=None: ag.asarray(a, dtype=dtype, device=device, copy=copy),
    "asanyarray": lambda a, dtype=None, copy=None, device=None: ag.asarray(a, dtype=dtype, device=device, copy=copy),
}

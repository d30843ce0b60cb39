"""NumPy's functions that are no ufuncs, each with its NumPy name and parameters (see numpy_names.py)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import arraygrad as ag
from arraygrad.tensor import Tensor

Axis = int | tuple[int, ...] | None

#: By module and name, such as "linalg.inv".
FUNCTIONS: dict[str, Callable[..., Any]] = {}


def _numpy(name: str | None = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter a function under its NumPy name."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        FUNCTIONS[name or function.__name__.rstrip("_")] = function
        return function

    return enter


# ---- Facts


@_numpy()
def shape(a: Any) -> tuple[int, ...]:  # noqa: D103  NumPy's functions, described by NumPy
    return tuple(a.shape)


@_numpy()
def ndim(a: Any) -> int:  # noqa: D103
    return len(a.shape)


@_numpy()
def size(a: Any, axis: int | None = None) -> int:  # noqa: D103
    return math.prod(a.shape) if axis is None else a.shape[axis]


FUNCTIONS["iscomplexobj"] = lambda x: ag.asarray(x).dtype.kind == "c"
FUNCTIONS["isrealobj"] = lambda x: ag.asarray(x).dtype.kind != "c"
FUNCTIONS["result_type"] = ag.result_type
FUNCTIONS["can_cast"] = lambda from_, to: ag.can_cast(from_, to)

# ---- Reductions


def _reduction(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda a, axis=None, keepdims=False: function(ag.asarray(a), axis=axis, keepdims=keepdims)


for _name, _function in {
    "mean": ag.mean, "max": ag.max, "amax": ag.max, "min": ag.min, "amin": ag.min, "all": ag.all, "any": ag.any,
    "argmax": ag.argmax, "argmin": ag.argmin, "count_nonzero": ag.count_nonzero,
}.items():  # fmt: skip
    FUNCTIONS[_name] = _reduction(_function)


@_numpy("sum")
def sum_(a: Any, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Tensor:  # noqa: D103
    return ag.sum(a, axis=axis, dtype=dtype, keepdims=keepdims)


@_numpy()
def prod(a: Any, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Tensor:  # noqa: D103
    return ag.prod(a, axis=axis, dtype=dtype, keepdims=keepdims)


@_numpy()
def var(a: Any, axis: Axis = None, ddof: float = 0.0, keepdims: bool = False) -> Tensor:  # noqa: D103
    return ag.var(a, axis=axis, correction=ddof, keepdims=keepdims)


@_numpy()
def std(a: Any, axis: Axis = None, ddof: float = 0.0, keepdims: bool = False) -> Tensor:  # noqa: D103
    return ag.std(a, axis=axis, correction=ddof, keepdims=keepdims)


@_numpy()
def ptp(a: Any, axis: Axis = None, keepdims: bool = False) -> Tensor:  # noqa: D103
    return ag.max(a, axis=axis, keepdims=keepdims) - ag.min(a, axis=axis, keepdims=keepdims)


@_numpy()
def average(a: Any, axis: Axis = None, weights: Any = None, keepdims: bool = False) -> Tensor:  # noqa: D103
    if weights is None:
        return ag.mean(a, axis=axis, keepdims=keepdims)
    if isinstance(axis, int) and len(weights.shape) == 1 and len(a.shape) > 1:
        weights = ag.reshape(weights, (-1,) + (1,) * (len(a.shape) - 1 - axis % len(a.shape)))
    weights = weights + 0.0 * a  # of the shape of a
    return ag.sum(a * weights, axis=axis, keepdims=keepdims) / ag.sum(weights, axis=axis, keepdims=keepdims)


@_numpy()
def cumsum(a: Any, axis: int | None = None, dtype: Any = None) -> Tensor:  # noqa: D103
    return ag.cumulative_sum(ravel(a) if axis is None else a, axis=0 if axis is None else axis, dtype=dtype)


@_numpy()
def cumprod(a: Any, axis: int | None = None, dtype: Any = None) -> Tensor:  # noqa: D103
    return ag.cumulative_prod(ravel(a) if axis is None else a, axis=0 if axis is None else axis, dtype=dtype)


# ---- Shape


@_numpy()
def ravel(a: Any) -> Tensor:  # noqa: D103
    return ag.reshape(a, (-1,))


@_numpy()
def reshape(a: Any, /, shape: Any = None) -> Tensor:  # noqa: D103
    return ag.reshape(a, shape)


@_numpy()
def transpose(a: Any, axes: Any = None) -> Tensor:  # noqa: D103
    return ag.permute_dims(a, tuple(range(len(a.shape)))[::-1] if axes is None else tuple(axes))


@_numpy()
def swapaxes(a: Any, axis1: int, axis2: int) -> Tensor:  # noqa: D103
    return ag.asarray(a).transpose(axis1, axis2)


@_numpy()
def squeeze(a: Any, axis: Axis = None) -> Tensor:  # noqa: D103
    return ag.asarray(a).squeeze(axis)


@_numpy()
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:  # noqa: D103
    length = ary.shape[axis]
    if isinstance(indices_or_sections, int):
        if length % indices_or_sections:
            raise ValueError("array split does not result in an equal division")
        indices_or_sections = range(0, length, length // indices_or_sections)[1:]
    ends = [min(max(end, 0), length) for end in [*indices_or_sections, length]]
    sizes = [end - start for start, end in zip([0, *ends], ends, strict=False)]
    return list(ag.split(ary, sizes, axis=axis))


@_numpy()
def concatenate(arrays: Sequence[Any], /, axis: int | None = 0) -> Tensor:  # noqa: D103
    return ag.concat(arrays, axis=axis)


@_numpy()
def stack(arrays: Sequence[Any], axis: int = 0) -> Tensor:  # noqa: D103
    return ag.stack(arrays, axis=axis)


def _at_least(ndim: int) -> Callable[..., Any]:
    def at_least(*arrays: Any) -> Any:
        lifted = []
        for array in map(ag.asarray, arrays):
            missing = ndim - array.ndim
            if ndim == 3 and array.ndim == 2:
                array = array.unsqueeze(-1)
            elif missing > 0:
                shape = (1, *array.shape, 1) if ndim == 3 and array.ndim == 1 else (1,) * missing + array.shape
                array = array.reshape(shape)
            lifted.append(array)
        return lifted[0] if len(lifted) == 1 else tuple(lifted)

    return at_least


for _ndim in (1, 2, 3):
    FUNCTIONS[f"atleast_{_ndim}d"] = _at_least(_ndim)


@_numpy()
def vstack(tup: Sequence[Any]) -> Tensor:  # noqa: D103
    return ag.concat([FUNCTIONS["atleast_2d"](a) for a in tup], axis=0)


@_numpy()
def hstack(tup: Sequence[Any]) -> Tensor:  # noqa: D103
    lifted = [FUNCTIONS["atleast_1d"](a) for a in tup]
    return ag.concat(lifted, axis=0 if lifted[0].ndim == 1 else 1)


@_numpy()
def dstack(tup: Sequence[Any]) -> Tensor:  # noqa: D103
    return ag.concat([FUNCTIONS["atleast_3d"](a) for a in tup], axis=2)


@_numpy()
def column_stack(tup: Sequence[Any]) -> Tensor:  # noqa: D103
    return ag.concat([a if len(a.shape) > 1 else ag.reshape(a, (-1, 1)) for a in tup], axis=1)


@_numpy()
def append(arr: Any, values: Any, axis: int | None = None) -> Tensor:  # noqa: D103
    return ag.concat([ag.asarray(arr), ag.asarray(values)], axis=axis)


FUNCTIONS["flip"] = lambda m, axis=None: ag.flip(m, axis=axis)
FUNCTIONS["flipud"] = lambda m: ag.flip(m, axis=0)
FUNCTIONS["fliplr"] = lambda m: ag.flip(m, axis=1)
FUNCTIONS["roll"] = lambda a, shift, axis=None: ag.roll(a, shift, axis=axis)
FUNCTIONS["moveaxis"] = lambda a, source, destination: ag.moveaxis(a, source, destination)
FUNCTIONS["expand_dims"] = lambda a, axis: ag.expand_dims(a, axis)
FUNCTIONS["broadcast_to"] = lambda array, shape: ag.broadcast_to(array, shape)
FUNCTIONS["broadcast_arrays"] = lambda *args: ag.broadcast_arrays(*args)
FUNCTIONS["tile"] = lambda A, reps: ag.tile(A, (reps,) if isinstance(reps, int) else tuple(reps))  # noqa: N803
FUNCTIONS["repeat"] = lambda a, repeats, axis=None: ag.repeat(a, repeats, axis=axis)
FUNCTIONS["tril"] = lambda m, k=0: ag.tril(m, k=k)
FUNCTIONS["triu"] = lambda m, k=0: ag.triu(m, k=k)
FUNCTIONS["diff"] = lambda a, n=1, axis=-1, prepend=None, append=None: ag.diff(
    a, axis=axis, n=n, prepend=prepend, append=append
)
FUNCTIONS["copy"] = lambda a: ag.copy(a)
FUNCTIONS["zeros_like"] = lambda a, dtype=None, device=None: ag.zeros_like(a, dtype=dtype, device=device)
FUNCTIONS["ones_like"] = lambda a, dtype=None, device=None: ag.ones_like(a, dtype=dtype, device=device)
FUNCTIONS["empty_like"] = lambda prototype, dtype=None, device=None: ag.empty_like(
    prototype, dtype=dtype, device=device
)
FUNCTIONS["full_like"] = lambda a, fill_value, dtype=None, device=None: ag.full_like(
    a, fill_value, dtype=dtype, device=device
)

# ---- Elements


@_numpy()
def where(condition: Any, x: Any = None, y: Any = None, /) -> Any:  # noqa: D103
    return ag.nonzero(condition) if x is None and y is None else ag.where(condition, x, y)


@_numpy()
def clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Tensor:  # noqa: D103, A002
    return ag.clip(a, a_min if min is None else min, a_max if max is None else max)


@_numpy()
def take(a: Any, indices: Any, axis: int | None = None) -> Tensor:  # noqa: D103
    index = ag.asarray(indices)
    a = ravel(a) if axis is None else ag.asarray(a)
    axis = 0 if axis is None else axis
    return a[(slice(None),) * (axis % a.ndim) + (index,)]


FUNCTIONS["take_along_axis"] = lambda arr, indices, axis=-1: ag.take_along_axis(arr, indices, axis=axis)
FUNCTIONS["sort"] = lambda a, axis=-1: ag.sort(ravel(a) if axis is None else a, axis=-1 if axis is None else axis)
FUNCTIONS["argsort"] = lambda a, axis=-1: ag.argsort(a, axis=axis)
FUNCTIONS["searchsorted"] = lambda a, v, side="left", sorter=None: ag.searchsorted(a, v, side=side, sorter=sorter)
FUNCTIONS["nonzero"] = lambda a: ag.nonzero(a)
FUNCTIONS["isin"] = lambda element, test_elements, invert=False: ag.isin(element, test_elements, invert=invert)
FUNCTIONS["real"] = lambda val: ag.real(val)
FUNCTIONS["imag"] = lambda val: ag.imag(val)
FUNCTIONS["angle"] = lambda z: ag.atan2(ag.imag(z), ag.real(z))
FUNCTIONS["nan_to_num"] = lambda x, nan=0.0: ag.where(ag.isnan(x), nan, x)
FUNCTIONS["sinc"] = lambda x: ag.where(x == 0, 1.0, ag.sin(math.pi * x) / ag.where(x == 0, 1.0, math.pi * x))


@_numpy("round")
def round_(a: Any, decimals: int = 0) -> Tensor:  # noqa: D103
    scale = 10.0**decimals
    return ag.round(a) if not decimals else ag.round(a * scale) / scale


FUNCTIONS["around"] = round_


@_numpy()
def isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:  # noqa: D103
    a, b = ag.asarray(a), ag.asarray(b)
    close = (a == b) | (ag.isfinite(b) & (ag.abs(a - b) <= atol + rtol * ag.abs(b)))
    return close | (ag.isnan(a) & ag.isnan(b)) if equal_nan else close


FUNCTIONS["allclose"] = lambda a, b, rtol=1e-5, atol=1e-8, equal_nan=False: bool(
    ag.all(isclose(a, b, rtol, atol, equal_nan))
)
FUNCTIONS["array_equal"] = lambda a1, a2: tuple(a1.shape) == tuple(a2.shape) and bool(ag.all(ag.equal(a1, a2)))


# ---- Beyond the standard: functions that have NumPy's names and parameters here too

for _name in (
    "convolve corrcoef cov diag digitize einsum gradient histogram interp kron median nanmax nanmean nanmin "
    "nansum pad polyval quantile trapezoid unwrap"
).split():
    FUNCTIONS[_name] = getattr(ag, _name)


@_numpy()
def percentile(a: Any, q: Any, axis: Axis = None, *, method: str = "linear", keepdims: bool = False) -> Tensor:  # noqa: D103
    x = ag.asarray(a)
    parts = ag.astype(q if type(q) is Tensor else ag.asarray(q, device=x.device), ag.float64) / 100.0
    return ag.quantile(x, parts, axis, method=method, keepdims=keepdims)


# ---- Products


@_numpy()
def dot(a: Any, b: Any) -> Tensor:  # noqa: D103
    if not len(a.shape) or not len(b.shape):
        return ag.multiply(a, b)
    if len(b.shape) <= 2:
        return ag.matmul(a, b)
    b = ag.moveaxis(b, -2, 0)
    product = ag.matmul(a, ag.reshape(b, (b.shape[0], -1)))
    return ag.reshape(product, (*a.shape[:-1], *b.shape[1:]))


FUNCTIONS["inner"] = lambda a, b: ag.tensordot(a, b, axes=((-1,), (-1,)))
FUNCTIONS["tensordot"] = lambda a, b, axes=2: ag.tensordot(a, b, axes=axes)
FUNCTIONS["trace"] = lambda a, offset=0: ag.linalg.trace(a, offset=offset)
FUNCTIONS["diagonal"] = lambda a, offset=0: ag.linalg.diagonal(a, offset=offset)
FUNCTIONS["cross"] = lambda a, b, axis=-1: ag.linalg.cross(a, b, axis=axis)
FUNCTIONS["matrix_transpose"] = lambda x, /: ag.matrix_transpose(x)
FUNCTIONS["outer"] = lambda a, b: ag.reshape(a, (-1, 1)) * ag.reshape(b, (1, -1))
FUNCTIONS["vdot"] = lambda a, b: ag.sum((ag.conj(ravel(a)) if FUNCTIONS["iscomplexobj"](a) else ravel(a)) * ravel(b))

for _name in ag.linalg.__all__:
    FUNCTIONS[f"linalg.{_name}"] = getattr(ag.linalg, _name)


@_numpy("linalg.norm")
def norm(x: Any, ord: Any = None, axis: Axis = None, keepdims: bool = False) -> Tensor:  # noqa: D103, A002
    x = ag.asarray(x)
    axes = tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    if ord is None or len(axes) == 1:
        return ag.linalg.vector_norm(x, axis=axes, keepdims=keepdims, ord=2 if ord is None else ord)
    moved = ag.moveaxis(x, axes, (-2, -1))
    result = ag.linalg.matrix_norm(moved, keepdims=keepdims, ord=ord)
    return ag.moveaxis(result, (-2, -1), axes) if keepdims else result


for _name in ag.fft.__all__:
    FUNCTIONS[f"fft.{_name}"] = getattr(ag.fft, _name)


def _transform(name: str) -> Callable[..., Any]:
    function = getattr(ag.fft, name)
    return lambda a, n=None, axis=-1, norm=None: function(a, n=n, axis=axis, norm=norm or "backward")


def _transform_several(name: str, default: Any = None) -> Callable[..., Any]:
    function = getattr(ag.fft, name)
    return lambda a, s=None, axes=default, norm=None: function(a, s=s, axes=axes, norm=norm or "backward")


for _name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    FUNCTIONS[f"fft.{_name}"] = _transform(_name)
for _name in ("fft", "ifft", "rfft", "irfft"):
    FUNCTIONS[f"fft.{_name}n"] = _transform_several(_name + "n")
    FUNCTIONS[f"fft.{_name}2"] = _transform_several(_name + "n", (-2, -1))

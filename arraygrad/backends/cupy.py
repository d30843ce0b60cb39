"""CuPy: `device="cuda"`, `"cuda:1"`. Imported only when a CuPy array or a CUDA device is named.

CuPy allocates on the current device whatever `device=` says
(https://github.com/data-apis/array-api-compat/pull/293), so forward and backward of an operation run inside
`scope`, the device of their operands, and what is also called from elsewhere enters it here. The other
methods that the standard already has are here because CuPy's differ; a comment at each says how.
docs/gpu.md lists them; nothing here has run on hardware yet.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import cupy
import cupyx
import numpy as np

from arraygrad.backends import NUMPY, Array, Backend, MemoryInfo, full_index, is_basic, note_memory
from arraygrad.errors import DeviceError
from arraygrad.modes import are_values_checked

#: What CUDA adds atomically; CuPy refuses the others. ("cupy.add.at only supports ...")
_ADDABLE = frozenset(map(np.dtype, ("int32", "int64", "uint32", "uint64", "float16", "float32", "float64")))


class CupyBackend(Backend):
    name = "cupy"
    array_type = cupy.ndarray
    memory_error = cupy.cuda.memory.OutOfMemoryError
    complex_dtypes = NUMPY.complex_dtypes

    def __init__(self) -> None:
        self.has_several_devices = cupy.cuda.is_available() and cupy.cuda.runtime.getDeviceCount() > 1
        self.linalg = _Linalg(self)

    def namespace(self) -> Any:
        import array_api_compat.cupy

        return array_api_compat.cupy

    # Devices and data types

    def device(self, array: Array) -> str:
        return f"cuda:{array.device.id}"

    def device_name(self, device: str) -> str:
        number = device.partition(":")[2]
        if not cupy.cuda.is_available():
            raise DeviceError(f"device {device!r} is not available: {_why_there_is_none()}; 'cpu' (NumPy) is available")
        count = cupy.cuda.runtime.getDeviceCount()
        if number and not (number.isdecimal() and int(number) < count):
            raise DeviceError(f"unknown device {device!r}; there are {count} GPUs, 'cuda:0' the first")
        return f"cuda:{number or cupy.cuda.Device().id}"

    def devices(self) -> tuple[str, ...]:
        count = cupy.cuda.runtime.getDeviceCount() if cupy.cuda.is_available() else 0
        return tuple(f"cuda:{number}" for number in range(count))

    def current_device(self) -> str:
        return f"cuda:{cupy.cuda.Device().id}"

    def scope(self, device: str) -> contextlib.AbstractContextManager[Any]:
        return _Scope(device)

    def synchronize(self, device: str) -> None:
        with self.scope(device) as current:
            current.synchronize()

    def memory_info(self, device: str) -> MemoryInfo:
        with self.scope(device) as current:
            free, total = current.mem_info
            return MemoryInfo(free + cupy.get_default_memory_pool().free_bytes(), total)

    def dtype(self, dtype: Any) -> Any:
        return NUMPY.dtype(dtype)

    def from_host(self, array: Array, device: str) -> Array:
        with self.scope(device):
            # CuPy copies to pinned memory, then asynchronously: the caller waits for the first copy alone.
            return cupy.asarray(np.asarray(array))

    def to_host(self, array: Array) -> Array:
        return cupy.asnumpy(array)

    def move(self, array: Array, device: str) -> Array:
        with self.scope(device):
            return cupy.asarray(array)

    def to_dlpack(self, array: Array, **kwargs: Any) -> Any:
        # CuPy copies on the way to the CPU alone, and raises BufferError for copy=True to a GPU.
        if kwargs.get("copy") and kwargs.get("dl_device") in (None, array.__dlpack_device__()):
            array, kwargs = self.copy(array), kwargs | {"copy": None}
        return array.__dlpack__(**kwargs)

    # Memory

    def copy(self, array: Array) -> Array:
        with array.device:  # CuPy would copy to the current one
            return array.copy()

    def astype(self, x: Array, dtype: Any, /, *, copy: bool = True) -> Array:
        with x.device:
            return x.astype(dtype, copy=copy)

    def is_view_of(self, result: Array, source: Array) -> bool:
        return bool(cupy.may_share_memory(result, source))

    def is_writable(self, array: Array) -> bool:
        # CuPy lets one write into a broadcast view, whose elements share memory.
        return not array.size or all(
            stride or size == 1 for stride, size in zip(array.strides, array.shape, strict=True)
        )

    # Indexing: CuPy wraps the integers of an index array that lie outside their axis. (The docstring of
    # cupyx.scatter_add says so.) Looking at them makes the GPU wait; set_value_checks(False) leaves it out.

    def getitem(self, x: Array, index: Any, /) -> Array:
        return x[_checked(full_index(index), x)]

    def setitem(self, x: Array, index: Any, value: Any, /) -> None:
        with x.device:
            index = _checked(full_index(index), x)
            x[index] = _last_of_repeated(x, index, value)

    def take(self, x: Array, indices: Array, /, *, axis: int) -> Array:
        _check_range([(axis % x.ndim, indices)], x.shape)
        return cupy.take(x, indices, axis=axis)

    def take_along_axis(self, x: Array, indices: Array, /, *, axis: int = -1) -> Array:
        _check_range([(axis % x.ndim, indices)], x.shape)
        return cupy.take_along_axis(x, indices, axis=axis)

    def add_at(self, x: Array, index: Any, value: Any, /) -> None:
        index = full_index(index)
        if not _integer_arrays(index, x.ndim):  # no element twice
            x[index] += value
        elif x.dtype in self.complex_dtypes:  # there is no atomic addition of complex numbers
            cupyx.scatter_add(x.real, index, value.real)
            cupyx.scatter_add(x.imag, index, value.imag)
        elif x.dtype in _ADDABLE:
            cupyx.scatter_add(x, index, value)
        else:
            sums = cupy.zeros(x.shape, np.int64)
            cupyx.scatter_add(sums, index, value)
            x += sums.astype(x.dtype)

    def last_writes(self, x: Array, index: Any, /) -> Array | None:
        index = full_index(index)
        if not _integer_arrays(index, x.ndim):
            return None
        places, last = _writers(x, index)
        return last == places  # whether any repeats would take a synchronisation to know

    def scatter(self, g: Array, index: Any, shape: tuple[int, ...], /) -> Array:
        result = cupy.zeros(shape, g.dtype)
        self.add_at(result, index, g)
        return result

    # Functions of the standard that differ

    def max(self, x: Array, /, *, axis: Any = None, keepdims: bool = False) -> Array:
        return self._extremum(cupy.max, -np.inf, x, axis, keepdims)

    def min(self, x: Array, /, *, axis: Any = None, keepdims: bool = False) -> Array:
        return self._extremum(cupy.min, np.inf, x, axis, keepdims)

    def _extremum(self, function: Callable[..., Array], worst: float, x: Array, axis: Any, keepdims: bool) -> Array:
        """CUB's reductions start from the largest finite number, which is what infinities alone then give.

        https://github.com/cupy/cupy/issues/8180; the CUB that comes with CuPy 14.2 still does.
        """
        result = function(x, axis=axis, keepdims=keepdims)
        if x.dtype.kind != "f":
            return result
        return cupy.where(cupy.all(x == worst, axis=axis, keepdims=keepdims), worst, result)

    def clip(self, x: Array, /, min: Any = None, max: Any = None) -> Array:  # noqa: A002  the standard's names
        # array-api-compat's writes through boolean masks, for which the GPU has to wait.
        if x.dtype.kind != "f" or (min is None and max is None):
            return self.namespace().clip(x, min, max)
        if min is not None:
            x = cupy.maximum(x, min).astype(x.dtype, copy=False)
        return x if max is None else cupy.minimum(x, max).astype(x.dtype, copy=False)

    def where(self, condition: Any, x1: Any, x2: Any, /) -> Array:
        # CuPy asks the condition for its astype, which Python's True and False do not have.
        return cupy.where(condition if isinstance(condition, cupy.ndarray) else cupy.asarray(condition), x1, x2)

    # CuPy's logical functions have no loops for complex numbers.

    def logical_not(self, x: Array, /) -> Array:
        return cupy.logical_not(self._truth(x))

    def logical_and(self, x1: Any, x2: Any, /) -> Array:
        return cupy.logical_and(self._truth(x1), self._truth(x2))

    def logical_or(self, x1: Any, x2: Any, /) -> Array:
        return cupy.logical_or(self._truth(x1), self._truth(x2))

    def logical_xor(self, x1: Any, x2: Any, /) -> Array:
        return cupy.logical_xor(self._truth(x1), self._truth(x2))

    def _truth(self, x: Any) -> Any:
        return x != 0 if isinstance(x, complex) or getattr(x, "dtype", None) in self.complex_dtypes else x

    # Random numbers and special functions

    def random_source(self, seed: int | None) -> Any:
        return cupy.random.default_rng(seed)

    # What CuPy's bit generators call `state` is a method, which returns the address of this array.

    def source_state(self, source: Any) -> Array:
        return source.bit_generator._state.copy()

    def set_source_state(self, source: Any, state: Array) -> None:
        source.bit_generator._state[...] = state

    def from_source(self, array: Any, device: str) -> Array:
        return array

    def special_function(self, name: str) -> Callable[..., Any]:
        import cupyx.scipy.special as special

        own: dict[str, Any] = {"betaincc": _betaincc, "stdtr": _stdtr, "stdtrit": _stdtrit}
        kernel: Callable[..., Any] | None = getattr(special, name, own.get(name))
        if kernel is None:
            raise DeviceError(f"CuPy {cupy.__version__} has no {name}; move the arrays with to('cpu') first")
        if name == "zeta":
            return lambda x, q=1.0: kernel(x, q)  # Riemann's is Hurwitz's at 1; for CuPy q is not optional
        if name == "polygamma":
            return lambda n, x: kernel(cupy.asarray(n), cupy.asarray(x))  # it takes no numbers
        return kernel


class _Scope:
    """Makes a device the current one; a lack of memory inside is told with how much there is."""

    def __init__(self, name: str) -> None:
        self.name, self.device = name, cupy.cuda.Device(int(name.partition(":")[2]))

    def __enter__(self) -> Any:
        return self.device.__enter__()

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.device.__exit__(kind, error, trace)
        if isinstance(error, CupyBackend.memory_error):
            note_memory(error, self.name)


class _Linalg:
    """CuPy's linalg, which raises for singular matrices as NumPy's does, unless values are not to be checked.

    By default it returns what is then in memory. (https://docs.cupy.dev/en/stable/reference/generated/cupyx.errstate.html)
    """

    MAY_FAIL = frozenset("cholesky eig eigh eigvals eigvalsh inv pinv qr solve svd svdvals".split())

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        function = getattr(self._backend.namespace().linalg, name, None)
        if function is None:
            raise DeviceError(
                f"CuPy {cupy.__version__} has no linalg.{name}; move the arrays with to('cpu') first, or update CuPy"
            )
        is_of_eig = name in ("eig", "eigvals")
        if name not in self.MAY_FAIL:
            setattr(self, name, function)
            return function

        def call(x: Array, *args: Any, **kwargs: Any) -> Any:
            if is_of_eig and not x.size:  # CuPy's eigenvalues are complex, but those of no matrices
                x = x.astype(np.result_type(x.dtype, np.complex64))
            if not are_values_checked():
                return function(x, *args, **kwargs)
            with cupyx.errstate(linalg="raise"):
                return function(x, *args, **kwargs)

        setattr(self, name, call)
        return call


def _why_there_is_none() -> str:
    """The reason why CuPy finds no GPU, and what to do."""
    driver, needed = cupy.cuda.runtime.driverGetVersion(), cupy.cuda.runtime.runtimeGetVersion()
    if not driver:
        return f"it needs an NVIDIA GPU and its driver, and CuPy {cupy.__version__} finds none here"
    if driver // 1000 < needed // 1000:
        return (
            f"the driver knows CUDA up to {driver // 1000}.{driver % 1000 // 10}, and this CuPy is for CUDA "
            f"{needed // 1000}; update the driver, or install 'arraygrad[cuda{driver // 1000}]' in its place"
        )
    return f"CuPy {cupy.__version__} finds a driver but no GPU; is CUDA_VISIBLE_DEVICES empty?"


def _integer_arrays(index: tuple[Any, ...], ndim: int) -> list[tuple[int, Array]]:
    """The integer arrays in an index, each with its axis: only these may repeat or lie outside."""
    if is_basic(index):
        return []

    def axes(item: Any) -> int:
        if item is None or isinstance(item, bool):
            return 0
        return item.ndim if getattr(item, "dtype", None) == np.bool_ else 1

    rest = ndim - sum(axes(item) for item in index if item is not ...)
    found, axis = [], 0
    for item in index:
        if getattr(item, "dtype", np.bool_) != np.bool_:
            found.append((axis, item))
        axis += rest if item is ... else axes(item)
    return found


def _checked(index: tuple[Any, ...], x: Array) -> tuple[Any, ...]:
    _check_range(_integer_arrays(index, x.ndim), x.shape)
    return index


def _check_range(arrays: list[tuple[int, Array]], shape: tuple[int, ...]) -> None:
    """Refuse indices outside their axis; the GPU waits once."""
    if not arrays or not are_values_checked():
        return
    wrong = []
    for axis, indices in arrays:
        indices = indices.astype(np.int64, copy=False)  # the size may not fit into their own type
        wrong.append(cupy.any((indices < -shape[axis]) | (indices >= shape[axis])))
    if bool(wrong[0] if len(wrong) == 1 else cupy.any(cupy.stack(wrong))):
        axis = next(axis for (axis, _), is_wrong in zip(arrays, wrong, strict=True) if is_wrong)
        raise IndexError(f"an index is out of bounds for axis {axis} with size {shape[axis]}")


def _last_of_repeated(x: Array, index: tuple[Any, ...], value: Any) -> Any:
    """What to write so that the last write to an element wins: CuPy leaves open which of several does.

    Each place of the index gets the value of the last place that names the same element, so that all
    writes to an element are of one value. (`cupy.ndarray.__setitem__`: "the behavior is undefined".)
    """
    if not _integer_arrays(index, x.ndim) or getattr(value, "size", 1) == 1:
        return value
    places, last = _writers(x, index)
    return cupy.take(cupy.broadcast_to(value, places.shape), last)


def _writers(x: Array, index: tuple[Any, ...]) -> tuple[Array, Array]:
    """The places of an index, numbered, and for each of them the last place that names the same element."""
    last = cupy.zeros(x.shape, np.int64)
    shape = last[index].shape
    places = cupy.arange(int(np.prod(shape, dtype=np.int64))).reshape(shape)
    cupyx.scatter_max(last, index, places)
    return places, last[index]


def _betaincc(a: Any, b: Any, x: Any) -> Array:
    """`1 - betainc(a, b, x)` by its symmetry, except where `1 - x` has lost more digits than that difference."""
    import cupyx.scipy.special as special

    lower, upper = special.betainc(a, b, x), special.betainc(b, a, 1.0 - x)
    return cupy.where(lower > 0.9, upper, 1.0 - lower)


def _stdtr(df: Any, t: Any) -> Array:
    """Student's distribution function by the incomplete beta function: of the middle, and of the tails. (DLMF 8.17)"""
    import cupyx.scipy.special as special

    t = t if isinstance(t, cupy.ndarray) else cupy.full_like(df, t)
    square = t * t
    middle = special.betainc(0.5, 0.5 * df, square / (df + square))
    tail = special.betainc(0.5 * df, 0.5, df / (df + square))
    return cupy.where(t < -1.0, 0.5 * tail, cupy.where(t > 1.0, 1.0 - 0.5 * tail, 0.5 + 0.5 * cupy.sign(t) * middle))


def _stdtrit(df: Any, p: Any) -> Array:
    """Its inverse: `t * t / df` is the quotient of two shares whose incomplete beta function is known, as above."""
    import cupyx.scipy.special as special

    p = p if isinstance(p, cupy.ndarray) else cupy.full_like(df, p)
    tails = 2.0 * cupy.minimum(p, 1.0 - p)
    middle = special.betaincinv(0.5, 0.5 * df, 1.0 - tails)
    tail = special.betaincinv(0.5 * df, 0.5, tails)
    ratio = cupy.where(tails < 0.5, (1.0 - tail) / tail, middle / (1.0 - middle))
    return cupy.sign(p - 0.5) * cupy.sqrt(df * ratio)


BACKEND = CupyBackend()

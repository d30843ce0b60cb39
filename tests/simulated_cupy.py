"""CuPy without a GPU: its interface and its rules on NumPy's numbers, and a list of every call that is made.

What CuPy refuses is refused here, in the places where its source says so: NumPy arrays among its own, implicit
conversion, functions and loops that it lacks. What it does differently is done differently: everything is allocated on
the current device whatever `device=` says, indices outside an axis wrap, of duplicate indices in a write any may win.
Stricter than CuPy: an operation outside its operands' device is an error, where CuPy would copy through peer access.

`installed()` puts these modules in CuPy's place; array_api_compat.cupy and arraygrad.backends.cupy are then
imported anew and run on them as they are. ci/cupy-contract compares the recorded calls with the real CuPy.
"""

from __future__ import annotations

import contextlib
import pickle
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.special
from simulated_arrays import (
    Device,
    OutOfMemoryError,
    State,
    ndarray,
    record,
    state,
    sync,
    unwrap,
    unwrap_values,
    wrap,
)

DEVICES = 2
#: What NumPy and SciPy have and CuPy 14.2 has not (of what somebody asks for).
LACKS = {"cupy.vecdot", "cupy.unstack", "cupy.linalg.vector_norm"} | {
    f"cupyx.scipy.special.{name}" for name in ("stdtr", "betaincc", "stdtrit", "hyp2f1")
}


def _array(obj: Any, dtype: Any = None, copy: bool | None = None) -> ndarray:
    """The one door for NumPy's arrays, and between devices: to the current one."""
    host = np.array(obj.host if isinstance(obj, ndarray) else obj, dtype)
    is_same = isinstance(obj, ndarray) and host.dtype == obj.dtype and obj.device == Device() and not copy
    result = obj if is_same else wrap(host)
    record("function", "cupy.asarray" if copy is None else "cupy.array", (obj,), {"dtype": dtype, "copy": copy}, result)
    return result


class Module(types.ModuleType):
    """A module of CuPy whose functions are those of the same names in another, on wrapped arrays."""

    def __init__(self, name: str, source: Any, **own: Any) -> None:
        super().__init__(name)
        self.__dict__.update(own, _source=source, __path__=[])
        hidden = {"test", "core", "char", *(lacked.removeprefix(f"{name}.") for lacked in LACKS)}
        self.__all__ = [n for n in dir(source) if not n.startswith("_") and n not in hidden]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or f"{self.__name__}.{name}" in LACKS:
            raise AttributeError(name)
        value = getattr(self._source, name)
        if callable(value) and not isinstance(value, type):
            value = self.wrapped(name, value)
        setattr(self, name, value)
        return value

    def wrapped(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        full = f"{self.__name__}.{name}"

        def call(*args: Any, **kwargs: Any) -> Any:
            raw, raw_kwargs = unwrap(args, full), unwrap_values(kwargs, full)
            DEVIATIONS.get(name, lambda *args, **kwargs: None)(*raw, **raw_kwargs)
            result = wrap(function(*raw, **raw_kwargs), *args)
            record("function", full, args, kwargs, result)
            return result

        call.__name__ = name
        return call


# ---- What CuPy does not do as NumPy does


def _no_complex(*args: Any) -> None:
    if any(np.iscomplexobj(arg) for arg in args):
        raise TypeError("CuPy's loops for logical functions have no complex types")


def _needs_axes(x: Any, s: Any = None, axes: Any = None, **kwargs: Any) -> None:
    if s is not None and axes is None:
        raise AssertionError("CuPy and NumPy differ where sizes are named and axes are not")


def _asks_for_astype(condition: Any, *args: Any) -> None:
    if not isinstance(condition, np.ndarray):
        raise AssertionError(f"CuPy's where calls {condition!r}.astype")


def _counts(*args: Any, **kwargs: Any) -> None:
    sync("shape that depends on values")


DEVIATIONS: dict[str, Callable[..., None]] = {
    **dict.fromkeys(["logical_and", "logical_or", "logical_xor", "logical_not"], _no_complex),
    **dict.fromkeys(["fftn", "ifftn", "rfftn", "irfftn"], _needs_axes),
    **dict.fromkeys(["nonzero", "unique"], _counts),
    "where": _asks_for_astype,
}


def _extremum(function: Callable[..., Any], start: float) -> Callable[..., Any]:
    """CUB's reductions begin with the largest finite number, so that infinities alone give that."""

    def reduce(x: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        result = function(x, axis=axis, keepdims=keepdims)
        if x.dtype.kind != "f":
            return result
        return np.where(result == start, np.finfo(x.dtype).max * np.sign(start), result).astype(x.dtype)

    return reduce


def _take(a: Any, indices: Any, axis: Any = None) -> Any:
    return np.take(a, indices, axis=axis, mode="wrap")


def _take_along_axis(a: Any, indices: Any, axis: int) -> Any:
    return np.take_along_axis(a, indices % max(a.shape[axis], 1), axis=axis)


def _of_singular(function: Callable[..., Any]) -> Callable[..., Any]:
    """What is in memory instead of an error, outside errstate(linalg="raise")."""

    def call(a: Any, *b: Any) -> Any:
        if state.raises_linalg:
            sync("linalg")
        try:
            return function(a, *b)
        except np.linalg.LinAlgError:
            if state.raises_linalg:
                raise
            return np.full((b or (a,))[0].shape, np.nan)

    return call


def _eigvals(a: Any) -> Any:
    """Complex, but for arrays without elements."""
    values = np.linalg.eigvals(a)
    return values.astype(np.result_type(values, np.complex64)) if a.size else values


def _eig(a: Any) -> Any:
    values, vectors = np.linalg.eig(a)
    dtype = np.result_type(values, np.complex64) if a.size else a.dtype
    return values.astype(dtype), vectors.astype(dtype)


def _generator(seed: Any = None) -> Any:
    """A generator whose bits are drawn from a state in an array of the device; `state()` is the array's address."""
    source = np.random.default_rng(seed)
    bits = source.bit_generator
    packed = lambda: np.frombuffer(pickle.dumps(bits.state).ljust(256), np.int8).copy()  # noqa: E731
    memory = wrap(packed())

    def drawing(name: str) -> Callable[..., Any]:
        def draw(*args: Any, **kwargs: Any) -> Any:
            bits.state = pickle.loads(unwrap(memory, name).tobytes())
            result = getattr(source, name)(*args, **kwargs)
            memory.host[...] = packed()
            return result

        return CUPY.random.wrapped(name, draw)

    names = ("random", "standard_normal", "integers")
    bit_generator = types.SimpleNamespace(_state=memory, state=lambda: id(memory))
    return types.SimpleNamespace(bit_generator=bit_generator, **{name: drawing(name) for name in names})


def _pool() -> Any:
    record("function", "cupy.get_default_memory_pool")
    return types.SimpleNamespace(free_bytes=lambda: 50 << 20)


_runtime = types.SimpleNamespace(
    getDeviceCount=lambda: DEVICES,
    driverGetVersion=lambda: 13000,
    runtimeGetVersion=lambda: 13020,
)
CUDA = Module(
    "cupy.cuda", types.SimpleNamespace(), Device=Device, is_available=lambda: True, runtime=_runtime,
    memory=types.SimpleNamespace(OutOfMemoryError=OutOfMemoryError),
    device=Module("cupy.cuda.device", types.SimpleNamespace(), Device=Device),
)  # fmt: skip
_overrides = types.SimpleNamespace(
    max=_extremum(np.max, -np.inf), min=_extremum(np.min, np.inf), take=_take, take_along_axis=_take_along_axis
)
CUPY = Module(
    "cupy", np, ndarray=ndarray, cuda=CUDA, __version__="14.2.0", get_default_memory_pool=_pool,
    linalg=Module("cupy.linalg", np.linalg), fft=Module("cupy.fft", np.fft),
    random=Module("cupy.random", np.random, default_rng=_generator), array=_array, asarray=_array,
    asnumpy=lambda array: array.get(),
)  # fmt: skip
for _name, _function in vars(_overrides).items():
    setattr(CUPY, _name, CUPY.wrapped(_name, _function))
for _name in ("inv", "solve", "cholesky"):
    setattr(CUPY.linalg, _name, CUPY.linalg.wrapped(_name, _of_singular(getattr(np.linalg, _name))))
CUPY.linalg.eigvals = CUPY.linalg.wrapped("eigvals", _eigvals)
CUPY.linalg.eig = CUPY.linalg.wrapped("eig", _eig)
SPECIAL = Module("cupyx.scipy.special", scipy.special)
CUPYX = Module("cupyx", types.SimpleNamespace())


def _scatter_add(a: ndarray, slices: Any, value: Any) -> None:
    record("function", "cupyx.scatter_add", (a, slices, value))
    a.scatter_add(slices, value)


def _scatter_max(a: ndarray, slices: Any, value: Any) -> None:
    record("function", "cupyx.scatter_max", (a, slices, value))
    a.scatter_max(slices, value)


@contextlib.contextmanager
def _errstate(*, linalg: str) -> Iterator[None]:
    record("function", "cupyx.errstate", (), {"linalg": linalg})
    state.raises_linalg, before = linalg == "raise", state.raises_linalg
    try:
        yield
    finally:
        state.raises_linalg = before


CUPYX.scatter_add, CUPYX.scatter_max, CUPYX.errstate = _scatter_add, _scatter_max, _errstate
CUPYX.scipy = Module("cupyx.scipy", types.SimpleNamespace(), special=SPECIAL)
MODULES = {
    "cupy": CUPY,
    "cupy.cuda": CUDA,
    "cupy.cuda.device": CUDA.device,
    "cupy.linalg": CUPY.linalg,
    "cupy.fft": CUPY.fft,
    "cupyx": CUPYX,
    "cupyx.scipy": CUPYX.scipy,
    "cupyx.scipy.special": SPECIAL,
}
ndarray.__module__ = "cupy"


@contextlib.contextmanager
def installed() -> Iterator[State]:
    """`device="cuda"` inside: two devices, `cuda:0` the current one."""
    import array_api_compat

    from arraygrad import backends

    def ours(name: str) -> bool:
        return name.partition(".")[0] in ("cupy", "cupyx") or name.startswith(
            ("array_api_compat.cupy", "arraygrad.backends.cupy")
        )

    before = {name: module for name, module in sys.modules.items() if ours(name)}
    backend, several = backends.namespaces.get(ndarray), set(backends.several_devices)
    for name in before:
        del sys.modules[name]
    backends.namespaces.pop(ndarray, None)
    sys.modules.update(MODULES)
    try:
        yield state
    finally:
        for name in [name for name in sys.modules if ours(name)]:
            del sys.modules[name]
        sys.modules.update(before)
        for package in (array_api_compat, backends):  # importing a module makes it an attribute of its package, too
            vars(package).pop("cupy", None)
            if f"{package.__name__}.cupy" in before:
                package.cupy = before[f"{package.__name__}.cupy"]
        backends.namespaces.pop(ndarray, None)
        if backend is not None:
            backends.namespaces[ndarray] = backend
        backends.several_devices.intersection_update(several)
        state.current[:] = [0]
        state.allocations_left = None

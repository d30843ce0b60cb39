"""Which library computes: one backend for each type of raw array, found by type or by device name.

A backend is the array API namespace of its library plus what the standard lacks and rules need; it is
the `xp` that every formula receives. `Backend` lists the additions. NumPy, CuPy and SciPy are imported
in this folder alone, CuPy and array-api-strict only once an array or a device name asks for them.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from arraygrad.errors import DeviceError, DtypeError

#: A raw array of some backend: no static type describes them all.
Array: TypeAlias = Any


class MemoryInfo(NamedTuple):
    """What `memory_info` returns: bytes that new arrays can have, and bytes that there are."""

    free: int
    total: int


class Backend:
    """The array API namespace of one library, and what it lacks.

    Attributes that are not defined here come from `namespace()` on first use and are then kept on the
    instance, so that `xp.exp` in a formula is an ordinary attribute.
    """

    name: str
    array_type: type
    #: Its arrays may lie on different devices: every call compares them, and runs inside their `scope`.
    has_several_devices = False
    #: The library's own objects for them. (Looking into this set takes 0.04 us, NumPy's `dtype.kind` 0.1.)
    complex_dtypes: frozenset[Any]
    #: CPython's reference counts of these arrays tell who holds their memory.
    counts_references = True
    #: A sum that the engine made may be added to in place.
    owns_sums = True
    #: Arrays with a hidden axis of many cases (see batching.py).
    is_batched = False

    def namespace(self) -> Any:
        """Import the namespace that this backend extends."""
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = getattr(self.namespace(), name)
        setattr(self, name, value)
        return value

    # Devices and data types

    #: What is raised where its devices have no memory left; any other lack is the CPU's.
    memory_error: type[MemoryError] = MemoryError

    def device(self, array: Array) -> str:
        """Name the device that `array` is on."""
        raise NotImplementedError

    def device_name(self, device: str) -> str:
        """Complete a device name: `"cuda"` becomes `"cuda:0"`.

        Raises:
            DeviceError: there is no such device.
        """
        raise NotImplementedError

    def devices(self) -> tuple[str, ...]:
        """Name all devices of this library."""
        raise NotImplementedError

    def scope(self, device: str) -> contextlib.AbstractContextManager[Any]:
        """Inside, whatever is allocated lands on `device`."""
        return contextlib.nullcontext()

    def current_device(self) -> str | None:
        """The device on which things are made when none is named, where that can change."""
        return None

    def synchronize(self, device: str) -> None:
        """Wait until the device has done what was asked of it."""

    def memory_info(self, device: str) -> MemoryInfo:
        """How much memory there is: for libraries on the CPU, the machine's."""
        try:
            page, free, total = map(os.sysconf, ("SC_PAGE_SIZE", "SC_AVPHYS_PAGES", "SC_PHYS_PAGES"))
        except (AttributeError, ValueError):  # Windows and macOS
            raise DeviceError(f"memory_info: this system does not tell how much memory is free on {device!r}") from None
        return MemoryInfo(free * page, total * page)

    def creation_device(self, device: str) -> Any:
        """What the library's creation functions take as `device=`."""
        return None

    def dtype(self, dtype: Any) -> Any:
        """The library's own object for a NumPy data type, or for the name of one."""
        raise NotImplementedError

    def numpy_dtype(self, dtype: Any) -> Any:
        """The NumPy data type that users see for the library's own."""
        return dtype

    def from_host(self, array: Array, device: str) -> Array:
        """Copy a NumPy array to `device`."""
        raise NotImplementedError

    def to_host(self, array: Array) -> Array:
        """Return the values as a NumPy array, without a copy where they are one."""
        raise NotImplementedError

    def move(self, array: Array, device: str) -> Array:
        """Copy to another device of this library."""
        return self.from_host(self.to_host(array), device)

    def to_device(self, array: Array, device: str) -> Array:
        """Copy to a device of any library."""
        return move(array, device)

    def to_dlpack(self, array: Array, **kwargs: Any) -> Any:
        """`array.__dlpack__(**kwargs)`."""
        return array.__dlpack__(**kwargs)

    def lift(self, result: Any) -> Array:
        """Turn what a function of this library returned into an array."""
        return self.asarray(result)

    # Memory

    def copy(self, array: Array) -> Array:
        """Return a new array with the same values, contiguous and owned by nobody else."""
        raise NotImplementedError

    def is_view_of(self, result: Array, source: Array) -> bool:
        """Tell whether an array that was made from another shares its memory."""
        raise NotImplementedError

    def is_writable(self, array: Array) -> bool:
        """Tell whether the array may be written to and no two of its elements share memory."""
        return True

    def overlaps(self, array: Array) -> bool:
        """Tell whether elements of a broadcast array share memory."""
        return any(not stride and size > 1 for stride, size in zip(array.strides, array.shape, strict=True))

    def is_contiguous(self, array: Array) -> bool:
        """Tell whether the elements lie in memory in their order, so that every reshape is a view."""
        return bool(array.flags.c_contiguous)

    def diagonal(self, x: Array, /, *, offset: int = 0) -> Array:
        """The diagonals of matrices, a view that can be written to as far as `x` can."""
        return self.linalg.diagonal(x, offset=offset)

    # Indexing as generous as NumPy's, and its transposes

    def getitem(self, x: Array, index: Any, /) -> Array:
        """`x[index]`, always an array; basic indices give views."""
        return x[full_index(index)]

    def setitem(self, x: Array, index: Any, value: Any, /) -> None:
        """`x[index] = value`."""
        x[full_index(index)] = value

    def add_at(self, x: Array, index: Any, value: Any, /) -> None:
        """`x[index] += value`, adding once for each time that an element is indexed."""
        raise NotImplementedError

    def last_writes(self, x: Array, index: Any, /) -> Array | None:
        """For each element of `x[index]` whether `x[index] = value` writes it last; None if nothing repeats."""
        raise NotImplementedError

    def scatter(self, g: Array, index: Any, shape: tuple[int, ...], /) -> Array:
        """The transpose of `x[index]`: zeros of `shape` with `g` added at `index`."""
        raise NotImplementedError

    # Random numbers

    def random_source(self, seed: int | None) -> Any:
        """Make a generator with the methods `random`, `standard_normal` and `integers`."""
        return NUMPY.random_source(seed)

    def source_state(self, source: Any) -> Any:
        """Where the stream of a generator stands, as it stays while more is drawn."""
        return source.bit_generator.state

    def set_source_state(self, source: Any, state: Any) -> None:
        """Go back there."""
        source.bit_generator.state = state

    def from_source(self, array: Any, device: str) -> Array:
        """Bring what a method of the generator returned to `device`."""
        return self.from_host(NUMPY.lift(array), device)

    # Special functions

    @functools.cached_property
    def special(self) -> Any:
        """The special functions by SciPy's names: `xp.special.gammaln(x)`."""
        from arraygrad.backends.special import Special

        return Special(self)

    def special_function(self, name: str) -> Callable[..., Any]:
        """The kernel `name` for this library's arrays and Python's numbers, whatever data type it returns.

        Raises:
            DeviceError: the library that should have it is not installed, or lacks it.
        """
        raise NotImplementedError


def full_index(index: Any) -> tuple[Any, ...]:
    """Append `...` to an index: with it, `x[0]` of a 1-D array is a 0-d view, not a scalar's copy."""
    if type(index) is not tuple:
        return (index,) if index is ... else (index, ...)
    for item in index:
        if item is ...:
            return index
    return (*index, ...)


def is_basic(index: Any) -> bool:
    """Tell whether an index holds only integers, slices, None and `...`: no element twice."""
    for item in index if type(index) is tuple else (index,):
        if item is None or item is ... or type(item) is slice or type(item) is int:
            continue
        if not isinstance(item, int | slice) or isinstance(item, bool):
            return False
    return True


_MODULES = {"numpy": "numpy", "cupy": "cupy", "array_api_strict": "strict"}
DEVICE_NAMES = {"cpu": "numpy", "cuda": "cupy", "strict": "strict"}


def load(name: str) -> Backend:
    """Import the backend `name` and register its array type."""
    backend: Backend = importlib.import_module(f"arraygrad.backends.{name}").BACKEND
    namespaces.setdefault(backend.array_type, backend)
    if backend.has_several_devices:
        several_devices.add(backend.array_type)
    return namespaces[backend.array_type]


class _Namespaces(dict[type, Backend]):
    """From the type of a raw array to its backend, loaded when such an array first arrives."""

    def __missing__(self, array_type: type) -> Backend:
        name = _MODULES.get(array_type.__module__.partition(".")[0])
        if name is not None and load(name).array_type is array_type:
            return self[array_type]
        raise DtypeError(
            f"expected a Tensor, an array of NumPy or CuPy, or a number, "
            f"got {array_type.__module__}.{array_type.__qualname__}; convert it with ag.tensor"
        )


#: The array types of loaded backends with several devices. While it is empty, nobody pays for them.
several_devices: set[type] = set()
#: The hot path's dispatch: a dictionary lookup takes 0.04 us, array_namespace(x) 1.8.
namespaces = _Namespaces()
NUMPY = load("numpy")
#: Python's and NumPy's numbers: operands that never change a data type.
NUMBERS: tuple[type, ...] = (int, float, complex, NUMPY.generic)


def is_complex(x: Any) -> bool:
    """Tell whether a raw array, or a tensor or a number, is complex."""
    array = getattr(x, "array", x)
    if not is_array(array):
        return isinstance(array, complex)
    return array.dtype in namespaces[type(array)].complex_dtypes


def is_any_true(xp: Any, x: Array) -> bool:
    """Tell whether an element is true, in any of the cases of a batch."""
    while xp.is_batched:
        x = x.value
        xp = namespaces[type(x)]
    return bool(xp.any(x))


def is_number(obj: object) -> bool:
    """Tell whether `obj` is one of Python's or NumPy's numbers."""
    return isinstance(obj, NUMBERS)


def is_array(obj: object) -> bool:
    """Tell whether `obj` is a raw array of a known backend."""
    if type(obj) in namespaces:
        return True
    if isinstance(obj, NUMBERS):  # to be told by an exception takes ten times as long
        return False
    try:
        return namespaces[type(obj)] is not None
    except DtypeError:
        return False


def for_device(device: str) -> Backend:
    """Return the backend that `device` names.

    Raises:
        DeviceError: the name is unknown, or what it needs is not installed or not there.
    """
    if not isinstance(device, str):
        raise DeviceError(f"a device is a string such as 'cpu' or 'cuda:1', got {device!r}")
    name = DEVICE_NAMES.get(device.partition(":")[0])
    if name is None or device.startswith("cpu:"):
        raise DeviceError(
            f"unknown device {device!r}; there are 'cpu' (NumPy), 'cuda' and 'cuda:N' (CuPy, "
            "from pip install 'arraygrad[cuda13]' or 'arraygrad[cuda12]')"
        )
    try:
        backend = load(name)
    except ModuleNotFoundError as error:
        extra = {"cupy": "'arraygrad[cuda13]' (or [cuda12])", "array_api_strict": "array-api-strict"}
        missing = error.name or name
        raise DeviceError(
            f"device {device!r} needs {missing}, which is not installed: "
            f"pip install {extra.get(missing, missing)}; 'cpu' (NumPy) is available"
        ) from error
    except ImportError as error:
        raise DeviceError(
            f"device {device!r}: CuPy is installed and cannot be imported ({error}); it must be the one for this "
            "machine's CUDA, arraygrad[cuda13] or arraygrad[cuda12], and CUDA's libraries must be installed, or come "
            "with it: pip install 'cupy-cuda13x[ctk]'; 'cpu' (NumPy) is available"
        ) from error
    backend.device_name(device)  # refuses what is not there
    return backend


_default_device: str | None = None


def get_default_device() -> str:
    """Return the device on which new tensors are made when none is named.

    It is `"cpu"` unless `set_default_device` or the environment variable ARRAYGRAD_DEVICE says otherwise.

    >>> import arraygrad as ag
    >>> ag.get_default_device()
    'cpu'
    """
    return _default_device or os.environ.get("ARRAYGRAD_DEVICE") or "cpu"


def set_default_device(device: str | None) -> None:
    """Make new tensors on `device` when none is named; None goes back to ARRAYGRAD_DEVICE or `"cpu"`.

    Raises:
        DeviceError: the device is unknown or not available here; the default stays as it was.
    """
    global _default_device
    if device is not None:
        for_device(device)
    _default_device = device


#: Set by batching.py, whose arrays are the only ones of one device that differ in type.
common_batch: Any = None


def note_memory(error: BaseException, device: str) -> None:
    """Say in an error how much memory there is, unless something inside has said so."""
    if not hasattr(error, "__notes__"):
        with contextlib.suppress(Exception):  # a system that does not tell must not hide the error
            free, total = for_device(device).memory_info(device)
            error.add_note(f"{device} has {free >> 20:,} of {total >> 20:,} MiB free (see arraygrad.memory_info)")


def common_backend(name: str, arrays: Sequence[Array]) -> Backend:
    """Return the backend of all `arrays`, or refuse in the name of the operation `name`."""
    backend = namespaces[type(arrays[0])]
    mixed = False
    for array in arrays[1:]:
        if type(array) is not backend.array_type or several_devices:
            check_devices(name, arrays[0], array)
            mixed = mixed or type(array) is not backend.array_type
    result: Backend = common_batch(arrays) if mixed else backend
    return result


def check_devices(name: str, x1: Array, x2: Array) -> None:
    """Refuse two arrays on different devices."""
    device1, device2 = namespaces[type(x1)].device(x1), namespaces[type(x2)].device(x2)
    if device1 != device2:
        raise DeviceError(f"{name} got arrays on two devices, {device1} and {device2}; move one with to(device) first")


def move(array: Array, device: str) -> Array:
    """Copy a raw array to `device`; the same array if it is there already."""
    source, target = namespaces[type(array)], for_device(device)
    device = target.device_name(device)
    if source.device(array) == device:
        return array
    if source is target:
        return target.move(array, device)
    if source.is_batched:
        return array.like(move(array.value, device))
    return target.from_host(source.to_host(array), device)

"""The arrays of simulated CuPy, the device that each is on, and the record of what is asked of them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

#: Functions that launch nothing on a device: they look at addresses, shapes or types, or make a view.
HOST = frozenset(
    "expand_dims from_dlpack may_share_memory result_type can_cast broadcast_shapes issubdtype isdtype finfo "
    "iinfo".split()
)


class Call(NamedTuple):
    """One use of CuPy: a function, a method or attribute of its arrays (`ndarray.T`), or an operator."""

    op: str
    kind: str
    name: str
    args: tuple[Any, ...]
    kwargs: tuple[tuple[str, Any], ...]
    result: Any


class ArrayFact(NamedTuple):
    """What the record keeps of an array argument."""

    dtype: np.dtype
    ndim: int


@dataclass
class State:
    op: str = ""
    calls: dict[Call, None] = field(default_factory=dict)
    syncs: set[tuple[str, str]] = field(default_factory=set)
    current: list[int] = field(default_factory=lambda: [0])
    allocations_left: int | None = None
    raises_linalg: bool = False


state = State()


class OutOfMemoryError(MemoryError):
    """Stands for cupy.cuda.memory.OutOfMemoryError, with its text."""


def is_mask(item: Any) -> bool:
    return getattr(item, "dtype", None) == np.bool_


def fact(value: Any) -> Any:
    if isinstance(value, ndarray):
        return ArrayFact(value.dtype, value.ndim)
    if isinstance(value, tuple | list):
        return (type(value).__name__, *map(fact, value))
    if isinstance(value, np.dtype | type) or value is None or isinstance(value, str | bool):
        return value
    return type(value)


def record(
    kind: str, name: str, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None, result: Any = None
) -> None:
    facts = tuple((key, fact(value)) for key, value in (kwargs or {}).items())
    state.calls[Call(state.op, kind, name, tuple(map(fact, args)), facts, fact(result))] = None


def sync(what: str) -> None:
    state.syncs.add((state.op, what))


def unwrap(value: Any, name: str = "an operator") -> Any:
    if isinstance(value, ndarray):
        if value.device.id != state.current[-1] and name.rpartition(".")[2] not in HOST:
            raise AssertionError(f"{name} ran on device {state.current[-1]} with an array of device {value.device.id}")
        return value.host
    if isinstance(value, np.ndarray):
        raise TypeError(f"{name}: Unsupported type <class 'numpy.ndarray'>")
    if isinstance(value, tuple | list):
        return type(value)(unwrap(item, name) for item in value)
    if isinstance(value, slice):
        return slice(*(operator.index(p) if p is not None else None for p in (value.start, value.stop, value.step)))
    return value


def wrap(value: Any, *sources: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        host = np.asarray(value)
        for source in sources:
            if isinstance(source, ndarray) and np.may_share_memory(host, source.host) and host.size:
                return ndarray(host, source if source.base is None else source.base)
        if state.allocations_left is not None:
            state.allocations_left -= 1
            if state.allocations_left < 0:
                raise OutOfMemoryError(f"Out of memory allocating {host.nbytes:,} bytes (allocated so far: 0 bytes).")
        return ndarray(host)
    if isinstance(value, tuple | list):
        items = [wrap(item, *sources) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


class Device:
    """Stands for cupy.cuda.Device."""

    def __init__(self, number: Any = None) -> None:
        self.id = state.current[-1] if number is None else getattr(number, "id", number)

    def __enter__(self) -> Device:
        state.current.append(self.id)
        return self

    def __exit__(self, *error: object) -> None:
        assert state.current.pop() == self.id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and self.id == other.id

    def __hash__(self) -> int:
        return self.id

    def synchronize(self) -> None:
        record("function", "cupy.cuda.Device.synchronize")

    @property
    def mem_info(self) -> tuple[int, int]:
        record("function", "cupy.cuda.Device.mem_info")
        return 700 << 20, 1000 << 20


class ndarray:  # noqa: N801  CuPy's name
    """Stands for cupy.ndarray. Its attributes are NumPy's; ci/cupy-contract asks whether CuPy has them, too."""

    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, host: np.ndarray, base: ndarray | None = None) -> None:
        self.host, self.base, self.device = host, base, Device() if base is None else base.device

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = getattr(self.host, name)
        record("attribute", name)
        if not callable(value):
            return wrap(value, self)

        def method(*args: Any, **kwargs: Any) -> Any:
            unwrap(self, name)
            record("method", name, args, kwargs)
            return wrap(value(*unwrap(args, name), **unwrap_values(kwargs, name)), self)

        return method

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()`")

    def __dlpack__(self, *, copy: bool | None = None, **kwargs: Any) -> Any:
        if copy:
            raise BufferError("copy=True is for exports to the CPU")
        return self.host.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, self.device.id

    def get(self) -> np.ndarray:
        sync("copy to the CPU")
        return self.host.copy()

    def item(self) -> Any:
        sync("item")
        return self.host.item()

    def tolist(self) -> Any:
        sync("item")
        return self.host.tolist()

    def __bool__(self) -> bool:
        sync("bool")
        return bool(self.host)

    def __int__(self) -> int:
        sync("int")
        return int(self.host)

    def __float__(self) -> float:
        sync("float")
        return float(self.host)

    def __complex__(self) -> complex:
        sync("float")
        return complex(self.host)

    def __len__(self) -> int:
        return len(self.host)

    def __iter__(self) -> Iterator[ndarray]:
        return (self[i] for i in range(len(self)))

    def _index(self, index: Any) -> Any:
        """An index with its arrays wrapped into their axes; lists become arrays of the device, as in CuPy."""
        items = list(unwrap(index if isinstance(index, tuple) else (index,), "indexing"))
        masks = sum(np.ndim(item) - 1 for item in items if is_mask(item))
        named = sum(item is not None and item is not ... for item in items) + masks
        axis = 0
        for i, item in enumerate(items):
            if item is ...:
                axis += self.ndim - named
            elif isinstance(item, np.ndarray) and not is_mask(item):
                items[i] = item.astype(np.int64) % max(self.shape[axis], 1)
                axis += 1
            elif item is not None:
                axis += np.ndim(item) if is_mask(item) else 1
        return tuple(items)

    def __getitem__(self, index: Any) -> ndarray:
        index = self._index(index)
        if any(isinstance(item, np.ndarray) for item in index):
            unwrap(self)  # a kernel, where basic indices make a view
        if any(is_mask(item) for item in index):
            sync("boolean mask")
        return wrap(np.asarray(self.host[index]), self)

    def __setitem__(self, index: Any, value: Any) -> None:
        unwrap(self)
        index, raw = self._index(index), unwrap(value, "a write")
        if isinstance(raw, np.ndarray) and any(is_mask(item) for item in index):
            sync("boolean mask")
        # The elements in reverse order: CuPy's threads have none.
        places = np.arange(self.host.size).reshape(self.host.shape)[index]
        values = np.broadcast_to(raw, places.shape)
        self.host.flat[places.ravel()[::-1]] = values.ravel()[::-1]

    def scatter_add(self, index: Any, value: Any) -> None:
        unwrap(self)
        if self.dtype.name not in ("int32", "int64", "float16", "float32", "float64", "uint32", "uint64"):
            raise TypeError(f"cupy.add.at does not support {self.dtype}")
        np.add.at(self.host, self._index(index), unwrap(value, "scatter_add"))

    def scatter_max(self, index: Any, value: Any) -> None:
        if self.dtype.name not in ("int32", "int64", "float32", "float64", "uint32", "uint64"):
            raise TypeError(f"cupy.maximum.at does not support {self.dtype}")
        np.maximum.at(unwrap(self), self._index(index), unwrap(value, "scatter_max"))


def unwrap_values(kwargs: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: unwrap(value, name) for key, value in kwargs.items() if key != "device"}


def _operators() -> None:
    binary = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift lt le gt ge eq ne".split()
    unary = "neg pos abs invert".split()

    def forward(name: str) -> Callable[..., Any]:
        function = getattr(operator, f"__{name}__")

        def method(x: ndarray, *others: Any) -> Any:
            if others and isinstance(others[0], np.ndarray):
                raise TypeError("Unsupported type <class 'numpy.ndarray'>")
            if others and not isinstance(others[0], ndarray | bool | int | float | complex | np.generic):
                return NotImplemented
            result = wrap(function(unwrap(x), *map(unwrap, others)))
            record("operator", name, (x, *others), None, result)
            return result

        return method

    def reflected(name: str) -> Callable[..., Any]:
        function = getattr(operator, f"__{name}__")

        def method(x: ndarray, other: Any) -> Any:
            result = wrap(function(unwrap(other), unwrap(x)))
            record("operator", name, (other, x), None, result)
            return result

        return method

    def inplace(name: str) -> Callable[..., Any]:
        function = getattr(operator, f"__i{name}__")

        def method(x: ndarray, other: Any) -> Any:
            record("operator", f"i{name}", (x, other))
            function(unwrap(x), unwrap(other))
            return x

        return method

    for name in binary + unary:
        setattr(ndarray, f"__{name}__", forward(name))
    for name in binary[:13]:
        setattr(ndarray, f"__r{name}__", reflected(name))
        if name != "matmul":  # CuPy has none
            setattr(ndarray, f"__i{name}__", inplace(name))


_operators()

"""array-api-strict, for tests: `device="strict"`, `"strict:device1"`.

Its second device refuses to meet the first and to become a NumPy array, as a GPU's arrays do. What it
refuses because the standard does not promise it, but NumPy and CuPy give (NumPy's indexing, scatter-add,
special functions), is computed here on the NumPy array inside, so that formulas prove themselves with the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import array_api_strict as strict
import numpy as np

from arraygrad.backends import NUMPY, Array, Backend, full_index, is_array
from arraygrad.errors import DeviceError


class StrictBackend(Backend):
    name = "strict"
    array_type = type(strict.asarray(0.0))
    complex_dtypes = frozenset({strict.complex64, strict.complex128})
    has_several_devices = True
    counts_references = False  # an Array wraps another array, which may have other owners

    def namespace(self) -> Any:
        return strict

    def __getattr__(self, name: str) -> Any:
        # Not kept on the instance: flags change what the namespace offers.
        return getattr(strict, name)

    def device(self, array: Array) -> str:
        return "strict" if array.device == strict.Device("CPU_DEVICE") else f"strict:{array.device._device}"

    def device_name(self, device: str) -> str:
        self.creation_device(device)
        return device

    def devices(self) -> tuple[str, ...]:
        return ("strict", "strict:device1", "strict:device2")

    def creation_device(self, device: str) -> Any:
        try:
            return strict.Device(device.partition(":")[2] or "CPU_DEVICE")
        except ValueError:
            raise DeviceError(
                f"unknown device {device!r}; there are 'strict', 'strict:device1', 'strict:device2'"
            ) from None

    def dtype(self, dtype: Any) -> Any:
        if isinstance(dtype, type(strict.float32)):
            return dtype
        return getattr(strict, NUMPY.dtype(dtype).name)

    def numpy_dtype(self, dtype: Any) -> Any:
        return dtype._np_dtype

    def from_host(self, array: Array, device: str) -> Array:
        return strict.asarray(np.asarray(array), device=self.creation_device(device), copy=True)

    def to_host(self, array: Array) -> Array:
        inner: Array = array._array
        return inner

    def copy(self, array: Array) -> Array:
        return strict.asarray(array, copy=True)

    def is_view_of(self, result: Array, source: Array) -> bool:
        return np.may_share_memory(result._array, source._array)

    def is_writable(self, array: Array) -> bool:
        return NUMPY.is_writable(array._array)

    def overlaps(self, array: Array) -> bool:
        return NUMPY.overlaps(array._array)

    def is_contiguous(self, array: Array) -> bool:
        return NUMPY.is_contiguous(array._array)

    def diagonal(self, x: Array, /, *, offset: int = 0) -> Array:
        return self._wrap(NUMPY.diagonal(x._array, offset=offset), x)

    def getitem(self, x: Array, index: Any, /) -> Array:
        return self._wrap(x._array[self._inner_index(x, index)], x)

    def setitem(self, x: Array, index: Any, value: Any, /) -> None:
        x._array[self._inner_index(x, index)] = value._array if is_array(value) else value

    def add_at(self, x: Array, index: Any, value: Any, /) -> None:
        NUMPY.add_at(x._array, self._inner_index(x, index), value._array)

    def last_writes(self, x: Array, index: Any, /) -> Array | None:
        last = NUMPY.last_writes(x._array, self._inner_index(x, index))
        return None if last is None else self._wrap(last, x)

    def scatter(self, g: Array, index: Any, shape: tuple[int, ...], /) -> Array:
        return self._wrap(NUMPY.scatter(g._array, self._inner_index(g, index), shape), g)

    def special_function(self, name: str) -> Callable[..., Any]:
        kernel = NUMPY.special_function(name)

        def function(*args: Any) -> Array:
            like = next(arg for arg in args if is_array(arg))
            return self._wrap(np.asarray(kernel(*(arg._array if is_array(arg) else arg for arg in args))), like)

        return function

    def _wrap(self, inner: Array, like: Array) -> Array:
        return self.array_type._new(inner, device=like.device)  # shares memory

    def _inner_index(self, x: Array, index: Any) -> tuple[Any, ...]:
        """The index with NumPy arrays in it, refusing those of another device."""
        items = full_index(index)
        for item in items:
            if is_array(item) and getattr(item, "device", None) != x.device:
                raise DeviceError(f"an index on {self.device(x)} must be there too, got {item!r}")
        return tuple(item._array if is_array(item) else item for item in items)


BACKEND = StrictBackend()

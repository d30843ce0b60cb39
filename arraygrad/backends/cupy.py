"""CuPy: `device="cuda"`, `"cuda:1"`. Imported only when a CuPy array or a CUDA device is named.

CuPy allocates on the current device whatever `device=` says (array-api-compat#293), so forward and
backward of an operation run inside `scope`, the device of their operands.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import cupy
import cupyx
import numpy as np

from arraygrad.backends import NUMPY, Array, Backend, full_index, is_basic
from arraygrad.errors import DeviceError


class CupyBackend(Backend):
    name = "cupy"
    array_type = cupy.ndarray
    complex_dtypes = NUMPY.complex_dtypes

    def __init__(self) -> None:
        self.has_several_devices = cupy.cuda.is_available() and cupy.cuda.runtime.getDeviceCount() > 1

    def namespace(self) -> Any:
        import array_api_compat.cupy

        return array_api_compat.cupy

    def device(self, array: Array) -> str:
        return f"cuda:{array.device.id}"

    def device_name(self, device: str) -> str:
        number = device.partition(":")[2]
        if not cupy.cuda.is_available():
            raise DeviceError(
                f"device {device!r} needs an NVIDIA GPU and its driver, and CuPy {cupy.__version__} "
                "finds none here; 'cpu' (NumPy) is available"
            )
        count = cupy.cuda.runtime.getDeviceCount()
        if number and not (number.isdecimal() and int(number) < count):
            raise DeviceError(f"unknown device {device!r}; there are {count} GPUs, 'cuda:0' the first")
        return f"cuda:{number or cupy.cuda.Device().id}"

    def devices(self) -> tuple[str, ...]:
        return tuple(f"cuda:{number}" for number in range(cupy.cuda.runtime.getDeviceCount()))

    def scope(self, device: str) -> contextlib.AbstractContextManager[Any]:
        scope: contextlib.AbstractContextManager[Any] = cupy.cuda.Device(int(device.partition(":")[2]))
        return scope

    def dtype(self, dtype: Any) -> Any:
        return NUMPY.dtype(dtype)

    def from_host(self, array: Array, device: str) -> Array:
        with self.scope(device):
            return cupy.asarray(np.asarray(array))

    def to_host(self, array: Array) -> Array:
        return cupy.asnumpy(array)

    def move(self, array: Array, device: str) -> Array:
        with self.scope(device):
            return cupy.asarray(array)

    def copy(self, array: Array) -> Array:
        return array.copy()

    def is_view_of(self, result: Array, source: Array) -> bool:
        return bool(cupy.may_share_memory(result, source))

    def is_writable(self, array: Array) -> bool:
        # CuPy lets one write into a broadcast view, whose elements share memory.
        return all(stride or size == 1 for stride, size in zip(array.strides, array.shape, strict=True))

    def random_source(self, seed: int | None) -> Any:
        return cupy.random.default_rng(seed)

    def from_source(self, array: Any, device: str) -> Array:
        return array

    def add_at(self, x: Array, index: Any, value: Any, /) -> None:
        index = full_index(index)
        advanced = [item for item in index if not is_basic(item)]
        if not advanced or (len(advanced) == 1 and advanced[0].dtype == np.bool_):
            x[index] += value
        else:
            cupyx.scatter_add(x, index, value)

    def last_writes(self, x: Array, index: Any, /) -> Array | None:
        index = full_index(index)
        advanced = [item for item in index if not is_basic(item)]
        if not advanced or (len(advanced) == 1 and advanced[0].dtype == np.bool_):
            return None
        writer = cupy.zeros(x.shape, np.int64)
        places = cupy.arange(writer[index].size).reshape(writer[index].shape)
        cupyx.scatter_max(writer, index, places)
        return writer[index] == places  # whether any repeats would take a synchronisation to know

    def scatter(self, g: Array, index: Any, shape: tuple[int, ...], /) -> Array:
        result = cupy.zeros(shape, g.dtype)
        self.add_at(result, index, g)
        return result

    def special_function(self, name: str) -> Callable[..., Any]:
        import cupyx.scipy.special

        kernel: Callable[..., Any] | None = getattr(cupyx.scipy.special, name, None)
        if kernel is None:
            raise DeviceError(f"CuPy {cupy.__version__} has no {name}; move the arrays with to('cpu') first")
        if name == "zeta":
            return lambda x, q=1.0: kernel(x, q)  # Riemann's is Hurwitz's at 1; for CuPy q is not optional
        if name == "polygamma":
            return lambda n, x: kernel(cupy.asarray(n), cupy.asarray(x))  # it takes no numbers
        return kernel


BACKEND = CupyBackend()

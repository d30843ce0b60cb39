"""Asking a device: is it done, how many are there, how much memory is left."""

from __future__ import annotations

from arraygrad.backends import DEVICE_NAMES, MemoryInfo, for_device, get_default_device
from arraygrad.errors import DeviceError

__all__ = ["MemoryInfo", "device_count", "memory_info", "synchronize"]


def synchronize(device: str | None = None) -> None:
    """Wait until a device, the default one if none is named, has done everything that it was asked to do.

    A GPU works on while Python runs ahead, so a time means something only after this. On the CPU nothing is
    ever waiting, and it returns at once.

    Raises:
        DeviceError: the device is unknown or not available here.

    >>> import arraygrad as ag
    >>> ag.synchronize("cpu")
    """
    name = get_default_device() if device is None else device
    backend = for_device(name)
    backend.synchronize(backend.device_name(name))


def device_count(kind: str = "cuda") -> int:
    """Count the devices of a kind, `"cuda"` or `"cpu"`, that can be used here: 0 where CuPy or a GPU is missing.

    Raises:
        DeviceError: there is no such kind of device.

    >>> import arraygrad as ag
    >>> ag.device_count("cpu")
    1
    """
    if kind not in DEVICE_NAMES:
        raise DeviceError(f"device_count takes 'cuda' or 'cpu', got {kind!r}")
    try:
        return len(for_device(kind).devices())
    except DeviceError:
        return 0


def memory_info(device: str | None = None) -> MemoryInfo:
    """Return the bytes that are free and that there are on a device, the default one if none is named.

    On a GPU, what CuPy's memory pool holds and no array uses counts as free, too. On the CPU: the machine's
    memory, and of that what is not in use.

    Raises:
        DeviceError: the device is unknown or not available here.

    >>> import arraygrad as ag
    >>> free, total = ag.memory_info("cpu")
    >>> 0 < free < total
    True
    """
    name = get_default_device() if device is None else device
    backend = for_device(name)
    return backend.memory_info(backend.device_name(name))

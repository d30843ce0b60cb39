"""The devices under test, none of them the default one.

cpu             NumPy
cpu-readonly    NumPy with inputs and cotangents that raise when a rule writes to them
strict          array-api-strict
strict:device1  its second device, which refuses to meet the first or to become a NumPy array
strict-flags    the same without boolean indexing and data-dependent shapes
cuda            CuPy, where ci/gpu asks for it; simulated CuPy, where ci/cupy-contract does
cuda:1          the second GPU, where there is one: not the current device
"""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Iterator

import numpy as np

import arraygrad as ag
from arraygrad.backends import for_device, namespaces

NAMES = ["cpu", "cpu-readonly", "strict", "strict:device1", "strict-flags"]
if os.environ.get("ARRAYGRAD_TEST_CUDA") == "simulated":
    import simulated_cupy

    simulation = simulated_cupy.installed()  # kept, so that it stays to the end of the process
    simulation.__enter__()
if os.environ.get("ARRAYGRAD_TEST_CUDA") in ("1", "simulated"):
    NAMES.append("cuda")
    if ag.device_count() > 1:
        NAMES.append("cuda:1")


def device_of(name: str) -> str:
    return {"cpu-readonly": "cpu", "strict-flags": "strict:device1", "cuda": "cuda:0"}.get(name, name)


@contextlib.contextmanager
def flags_of(name: str) -> Iterator[None]:
    if name != "strict-flags":
        yield
        return
    import array_api_strict as strict

    strict.set_array_api_strict_flags(boolean_indexing=False, data_dependent_shapes=False)
    try:
        yield
    finally:
        with warnings.catch_warnings():
            strict.reset_array_api_strict_flags()


def make(name: str, values: object, requires_grad: bool = False) -> ag.Tensor:
    """A tensor of NumPy values on the device `name`."""
    host = np.asarray(values)
    result = ag.tensor(host, device=device_of(name))
    if name == "cpu" and host.ndim:
        # Not contiguous: every second element of a larger array, last axis.
        wide = np.zeros((*host.shape[:-1], host.shape[-1] * 2), host.dtype)
        wide[..., ::2] = host
        result = ag.asarray(wide[..., ::2])
    if name == "cpu-readonly":
        result.array.flags.writeable = False
    return result.requires_grad_(requires_grad)


def to_host(tensor: ag.Tensor) -> np.ndarray:
    return np.array(namespaces[type(tensor.array)].to_host(tensor.array))


def is_available(device: str) -> bool:
    try:
        for_device(device)
    except ag.DeviceError:
        return False
    return True

from __future__ import annotations

import os
import re
import subprocess
import sys

import numpy as np
import pytest
from devices import NAMES, device_of, make, to_host

import arraygrad as ag
from arraygrad.backends import NUMPY
from arraygrad.backends.special import Special

OTHER = [name for name in NAMES if name not in ("cpu", "cpu-readonly", "strict-flags")]


@pytest.mark.parametrize("device", OTHER)
def test_to_moves_there_and_the_gradient_comes_back(device: str) -> None:
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    there = x.to(device_of(device))
    assert there.device == device_of(device)
    assert there.grad_fn.name == "ToDeviceBackward"
    (there * there).to("cpu").sum().backward()
    assert x.grad.device == "cpu"
    assert x.grad.array.tolist() == [2, 4]
    back = make(device, [3.0], requires_grad=True)
    (back.to("cpu") * 2).backward()
    assert back.grad.device == back.device


@pytest.mark.parametrize("device", OTHER)
def test_derivatives_of_any_order_and_cases_pass_through_to(device: str) -> None:
    there = device_of(device)

    def cubes(x: ag.Tensor) -> ag.Tensor:
        return (x.to(there) ** 3).to("cpu") * x

    def total(x: ag.Tensor) -> ag.Tensor:
        return ag.sum(cubes(x))

    x = ag.tensor([1.0, 2.0])
    diagonals = {
        4: [ag.jacobian(cubes, mode=mode)(x) for mode in ("forward", "reverse")],
        12: [ag.hessian(total)(x), ag.jacobian(ag.grad(total), mode="forward")(x)],
    }
    for factor, matrices in diagonals.items():
        for matrix in matrices:
            expected = np.diag([factor, factor * 2.0 ** (3 if factor == 4 else 2)])
            np.testing.assert_allclose(to_host(matrix), expected)
    np.testing.assert_allclose(to_host(ag.vmap(cubes)(x)), [1, 16])
    np.testing.assert_allclose(to_host(ag.vmap(ag.grad(cubes))(x)), [4, 32])
    np.testing.assert_allclose(to_host(ag.vmap(ag.grad(ag.grad(cubes)))(x)), [12, 48])
    assert ag.vmap(lambda case: case.to(there))(x).device == there


def test_branches_on_two_devices_meet_in_one_gradient() -> None:
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    here, there = x * 2, (x.to("strict:device1") * 10).to("strict").to("cpu")
    (here + there).sum().backward()
    (x.to("strict") * 100).sum().backward()
    assert x.grad.array.tolist() == [112, 112]


def test_to_the_same_place_is_the_same_memory() -> None:
    x = ag.tensor([1.0], requires_grad=True)
    assert x.to("cpu").array is x.array
    assert x.to(ag.float64).array is x.array
    assert x.to("float32").dtype == np.float32  # the name of a data type is no device
    (x.to(ag.float32) * 2).sum().backward()
    assert x.grad.dtype == np.float64


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("add", lambda a, b: a + b),
        ("multiply", lambda a, b: b * a),
        ("matmul", lambda a, b: a @ b),
        ("where", lambda a, b: ag.where(a > 0, a, b)),
        ("concat", lambda a, b: ag.concat([a, b])),
        ("take", lambda a, b: ag.take(a, b.astype(ag.int64))),
        ("backward", lambda a, b: a.requires_grad_().backward(b)),
        ("add", lambda a, b: a + b.array),
    ],
)
@pytest.mark.parametrize("devices", [("cpu", "strict"), ("strict", "strict:device1")])
def test_mixing_devices_names_both(name: str, call: object, devices: tuple[str, str]) -> None:
    a, b = [ag.tensor([1.0], device=device) for device in devices]
    first, second = devices
    if name == "multiply":
        first, second = second, first
    with pytest.raises(RuntimeError, match=re.escape(f"{name} got arrays on two devices, {first} and {second}")):
        call(a, b)


def test_unknown_devices_say_what_there_is() -> None:
    for device in ("gpu", "cpu:1", "", "tpu:0"):
        with pytest.raises(
            ag.DeviceError, match=re.escape(f"unknown device {device!r}; there are 'cpu' (NumPy), 'cuda'")
        ):
            ag.zeros(1, device=device)
    with pytest.raises(ag.DeviceError, match="a device is a string"):
        ag.zeros(1, device=0)
    with pytest.raises(ag.DeviceError, match="unknown device 'strict:device9'"):
        ag.zeros(1, device="strict:device9")


def test_cuda_without_cupy_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    monkeypatch.delitem(sys.modules, "arraygrad.backends.cupy", raising=False)
    text = "device 'cuda' needs cupy, which is not installed: pip install 'arraygrad[cuda13]' (or [cuda12])"
    with pytest.raises(ag.DeviceError, match=re.escape(text)):
        ag.tensor([1.0]).to("cuda")


def test_exact_gelu_without_scipy_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NUMPY, "special", Special(NUMPY))  # one that has not looked for SciPy yet
    monkeypatch.setitem(sys.modules, "scipy.special", None)
    with pytest.raises(ag.DeviceError, match=re.escape("pip install 'arraygrad[special]'")):
        ag.gelu(ag.tensor([1.0]))
    ag.gelu(ag.tensor([1.0]), approximate="tanh")


def test_the_default_device() -> None:
    assert ag.get_default_device() == "cpu"
    ag.set_default_device("strict:device1")
    try:
        assert ag.tensor([1.0]).device == ag.zeros(2).device == ag.exp(1.0).device == "strict:device1"
        assert ag.tensor(np.ones(2)).device == "cpu"  # arrays stay where they are
        assert ag.zeros_like(ag.tensor(np.ones(2))).device == "cpu"
        with pytest.raises(ag.DeviceError):
            ag.set_default_device("nowhere")
        assert ag.get_default_device() == "strict:device1"
    finally:
        ag.set_default_device(None)
    assert ag.tensor([1.0]).device == "cpu"


def test_the_default_device_by_the_environment() -> None:
    code = "import arraygrad as ag; print(ag.tensor([1.0]).device)"
    environment = os.environ | {"ARRAYGRAD_DEVICE": "strict"}
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert result.stdout == "strict\n"


def test_arrays_of_unknown_types_are_refused() -> None:
    class Stranger:
        shape, dtype = (), None

    for value in (np.ma.array([1.0]), Stranger()):
        with pytest.raises(TypeError, match="takes tensors, arrays and numbers, got"):
            ag.exp(value)
    with pytest.raises(TypeError, match="cannot make a tensor of a masked array"):
        ag.tensor(np.ma.array([1.0], mask=[True]))


def test_device_of_every_intermediate_on_strict() -> None:
    x = make("strict:device1", [[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = ag.standardize(ag.relu(x @ x.T) + ag.zeros_like(x))
    y.retain_grad()
    ag.cross_entropy(y, ag.tensor([0, 1], device="strict:device1")).backward()
    assert y.grad.device == x.grad.device == "strict:device1"


def test_memory_where_the_system_does_not_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str) -> int:
        raise ValueError("unrecognized configuration name")

    monkeypatch.setattr(os, "sysconf", fail)
    with pytest.raises(ag.DeviceError, match="this system does not tell how much memory is free on 'cpu'"):
        ag.memory_info("cpu")


def test_a_device_without_cupy_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    monkeypatch.delitem(sys.modules, "arraygrad.backends.cupy", raising=False)
    assert ag.device_count() == ag.device_count("cuda") == 0
    assert ag.device_count("strict") == 3


def test_cpu_arrays_of_other_subclasses_keep_their_values() -> None:
    assert to_host(ag.tensor(np.float64(2.0))).tolist() == 2.0


def test_a_lack_of_memory_on_the_cpu_names_the_operation() -> None:
    column, row = ag.tensor(np.ones((10**6, 1)), requires_grad=True), np.ones((1, 10**7))
    free = "cpu has [0-9,]+ of [0-9,]+ MiB free"
    for call, text in [
        (lambda: column * row, "multiply got float64 [1000000, 1] and float64 [1, 10000000]"),
        (lambda: ag.concat([ag.broadcast_to(row, (10**6, 10**7))]), "concat got float64 [1000000, 10000000]"),
        (lambda: ag.exp(ag.broadcast_to(row, (10**6, 10**7))), "exp got float64 [1000000, 10000000]"),
    ]:
        with pytest.raises(MemoryError, match=r"Unable to allocate 72\.8 TiB") as caught:
            call()
        assert caught.value.__notes__[-1] == text
        assert caught.value.__cause__ is None
        assert len(caught.value.__notes__) == 1 or re.match(free, caught.value.__notes__[0])

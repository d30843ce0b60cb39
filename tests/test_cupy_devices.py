"""Two GPUs, simulated: what stays where, what moves, and where memory ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import simulated_cupy
from devices import make, to_host
from simulated_arrays import Device, state

import arraygrad as ag


@pytest.fixture(autouse=True, scope="module")
def simulation() -> Iterator[None]:
    with simulated_cupy.installed():
        yield


def second(values: Any, **kwargs: Any) -> ag.Tensor:
    return make("cuda:1", values, **kwargs)


# ---- "cuda" is the current device, wherever the operand is

PLACING: dict[str, Callable[[ag.Tensor], ag.Tensor]] = {
    "to": lambda x: x.to("cuda"),
    "to_device": lambda x: ag.to_device(x, "cuda"),
    "method": lambda x: x.to_device("cuda"),
    "astype": lambda x: ag.astype(x, ag.float32, device="cuda"),
    "asarray": lambda x: ag.asarray(x, device="cuda"),
    "asarray of a raw array": lambda x: ag.asarray(x.array, device="cuda"),
    "asarray of a list": lambda x: ag.asarray([x[0], x[1]], device="cuda"),
    "from_dlpack": lambda x: ag.from_dlpack(x.detach(), device="cuda"),
    "tensor": lambda x: ag.tensor(x.detach(), device="cuda"),
    "full": lambda x: ag.full((2,), x[0], device="cuda"),
    "full_like": lambda x: ag.full_like(x, x[0], device="cuda"),
    "zeros_like": lambda x: ag.zeros_like(x, device="cuda"),
    "linspace": lambda x: ag.linspace(x[0], x[1], 2, device="cuda"),
    "zeros": lambda x: ag.zeros(2, device="cuda"),
    "random": lambda x: ag.random.default_rng(0, device="cuda").normal(size=2),
    "inside vmap": lambda x: ag.vmap(lambda case: case.to("cuda") * 1.0)(x),
    "a tangent": lambda x: ag.jvp(lambda x: x.to("cuda"), (x.detach(),), (x.detach(),))[1],
}


@pytest.mark.parametrize("current", [0, 1])
@pytest.mark.parametrize("name", PLACING)
def test_the_name_without_a_number_is_the_current_device(name: str, current: int) -> None:
    x = second([1.0, 2.0], requires_grad=True)
    with Device(current):
        placed = PLACING[name](x)
    assert placed.device == f"cuda:{current}"
    assert state.current == [0]
    if placed.requires_grad and placed is not x:
        placed.sum().backward()
        assert x.grad.device == "cuda:1"


def test_the_default_device_without_a_number_follows_the_current_one() -> None:
    ag.set_default_device("cuda")
    try:
        for number in (0, 1):
            with Device(number):
                made = [ag.zeros(2), ag.tensor([1.0]), ag.exp(1.0), ag.random.default_rng(0).normal(size=2)]
            assert {tensor.device for tensor in made} == {f"cuda:{number}"}
    finally:
        ag.set_default_device(None)


def test_what_is_there_already_is_the_tensor_itself() -> None:
    x = second([1.0, 2.0], requires_grad=True)
    with Device(1):
        for name in ("cuda", "cuda:1"):
            assert x.to(name) is ag.to_device(x, name) is ag.asarray(x, device=name) is x
    raw = ag.to_device(x.array, "cuda:1")
    assert raw.array is x.array


def test_a_gradient_comes_back_to_its_device() -> None:
    x = second([1.0, 2.0], requires_grad=True)
    (x.to("cuda") * ag.tensor([3.0, 5.0], device="cuda")).sum().backward()
    assert (x.grad.device, to_host(x.grad).tolist()) == ("cuda:1", [3, 5])


def test_the_ends_of_linspace_are_moved() -> None:
    start = second(1.0, requires_grad=True)
    values = ag.linspace(start, ag.tensor(3.0, device="cpu"), 3, device="cuda:0")
    assert (values.device, to_host(values).tolist()) == ("cuda:0", [1, 2, 3])
    values.sum().backward()
    assert (start.grad.device, start.grad.item()) == ("cuda:1", 1.5)

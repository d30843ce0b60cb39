"""The random programs of writes on PyTorch, where it takes them. Run by ci/peers."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from hypothesis import HealthCheck, assume, given, settings  # noqa: E402
from inplace_programs import Library, Machine, loss_of  # noqa: E402
from test_writes import programs  # noqa: E402

import arraygrad as ag  # noqa: E402

pytestmark = pytest.mark.peers


class Torch(Machine):
    def make(self, values: np.ndarray, requires_grad: bool) -> Any:
        return torch.tensor(values, requires_grad=requires_grad)

    no_grad = staticmethod(torch.no_grad)

    def shape(self, x: Any) -> tuple[int, ...]:
        return tuple(x.shape)

    def compute(self, x: Any, j: int) -> Any:
        return [torch.tanh, torch.exp, torch.square, lambda x: x * 0.5 + 1.0][j % 4](x * 0.3)

    def multiply(self, x: Any, y: Any) -> Any:
        return torch.tanh(x * y)

    def view(self, x: Any, function: Callable[[Any], Any]) -> Any:
        return function(x)

    def broadcast(self, x: Any, shape: tuple[int, ...]) -> Any:
        return torch.broadcast_to(x, shape)

    def detach(self, x: Any) -> Any:
        return x.detach()

    def spread(self, x: Any, shape: tuple[int, ...]) -> Any:
        places = np.resize(np.arange(x.numel()), shape)
        return 1.0 + 0.5 * torch.tanh(x.reshape(-1)[torch.tensor(places.reshape(-1))].reshape(shape))

    def write(self, x: Any, index: Any, value: Any) -> None:
        items = index if isinstance(index, tuple) else (index,)
        assume(not any(isinstance(item, np.ndarray) and item.dtype != bool for item in items))  # repeated: it is wrong
        x[tuple(torch.tensor(item) if isinstance(item, np.ndarray) else item for item in items)] = value

    def update(self, x: Any, name: str, value: Any) -> None:
        getattr(x, f"{name}_")(value)


@settings(max_examples=3_000, suppress_health_check=[HealthCheck.filter_too_much])
@given(programs)
def test_random_programs_on_pytorch(program: list[tuple[int, int, int, int]]) -> None:
    # It has no negative steps, and a view made inside no_grad() says that it requires grad.
    program = [step for step in program if step[0] // 8 not in (2, 3, 4) or (step[2] % 9 != 8 and step[0] % 8 != 7)]
    library, peer = Library(), Torch()
    with np.errstate(all="ignore"):
        library.run(program)
    accepted = False
    with contextlib.suppress(RuntimeError, UserWarning):  # it refuses more
        peer.run(program)
        accepted = True
    assume(accepted and not library.refused)
    values = [tensor.detach().array for tensor in library.tensors]
    assume(all(np.all(np.abs(value) < 1e3) for value in values))
    for value, tensor in zip(values, peer.tensors, strict=True):
        np.testing.assert_allclose(value, tensor.detach().numpy(), rtol=1e-9)
    assert [tensor.requires_grad for tensor in library.tensors] == [tensor.requires_grad for tensor in peer.tensors]
    expected = sum(
        torch.sin(tensor * 0.7 + 0.1 * number).sum()
        for number, tensor in enumerate(peer.tensors)
        if tensor.requires_grad
    )
    try:
        expected.backward()
    except RuntimeError:  # it saved what was overwritten
        return
    try:
        loss_of(library, library.tensors).backward()
    except ag.VersionError:
        return
    for tensor, leaf in zip(library.leaves, peer.leaves, strict=True):
        np.testing.assert_allclose(tensor.grad.array, leaf.grad.numpy(), rtol=1e-9, atol=1e-12)

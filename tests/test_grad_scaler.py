"""Loss scaling. tests/peers/test_grad_scaler_torch.py compares it with PyTorch's."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import simulated_arrays
import simulated_cupy
from devices import NAMES, flags_of, make, to_host

import arraygrad as ag

DEVICES = [name for name in NAMES if name != "cpu-readonly"]


def parameter(device: str = "cpu") -> ag.Tensor:
    return make(device, np.asarray([1.0, 2.0], np.float32), requires_grad=True)


def scaler(**options: Any) -> ag.optim.GradScaler:
    """A scaler that has scaled something."""
    made = ag.optim.GradScaler(**options)
    made.scale(ag.tensor(1.0))
    return made


def iterate(scaler: ag.optim.GradScaler, optimizer: ag.optim.Optimizer, w: ag.Tensor, slope: Any) -> float:
    """A step along a gradient that is `slope` everywhere; the scale after it."""
    optimizer.zero_grad()
    with np.errstate(all="ignore"):
        scaler.scale(ag.sum(w * slope)).backward()
        scaler.step(optimizer)
    scaler.update()
    return scaler.get_scale()


@pytest.mark.parametrize("device", DEVICES)
def test_a_step_that_overflows_is_left_out_and_the_scale_recovers(device: str) -> None:
    with flags_of(device):
        w = parameter(device)
        optimizer = ag.optim.SGD([w], lr=0.5, momentum=0.9)
        scaler = ag.optim.GradScaler(init_scale=8.0, growth_interval=2)
        assert iterate(scaler, optimizer, w, 1.0) == 8.0
        assert to_host(w).tolist() == [0.5, 1.5]
        before = copy.deepcopy(optimizer.state_dict())
        for slope, scale in [(np.inf, 4.0), (np.nan, 2.0), (3e38, 1.0)]:  # the last is infinite only when scaled
            assert iterate(scaler, optimizer, w, slope) == scale
            assert to_host(w).tolist() == [0.5, 1.5]
        momentum = optimizer.state[w]["momentum_buffer"]
        assert to_host(momentum).tolist() == to_host(before["state"][0]["momentum_buffer"]).tolist() == [1, 1]
        assert iterate(scaler, optimizer, w, -1.0) == 1.0
        assert iterate(scaler, optimizer, w, 0.0) == 2.0  # two in a row
        np.testing.assert_allclose(to_host(w), np.float32([0.5, 1.5]) + 0.5 * np.float32(0.1 + 0.09), rtol=1e-6)


def test_gradients_that_vanish_in_float16_do_not() -> None:
    x = ag.tensor([1e-3], dtype=ag.float16)

    def loss(w: ag.Tensor) -> ag.Tensor:
        return ag.sum((w.to(ag.float16) * x * x).to(ag.float32)) * 1e-3  # 1e-3 * 1e-6 is 0 in float16

    w = ag.tensor([1.0], dtype=ag.float32, requires_grad=True)
    loss(w).backward()
    assert w.grad.item() == 0
    w.zero_grad()
    scaler = ag.optim.GradScaler()
    scaler.scale(loss(w)).backward()
    scaler.unscale_(ag.optim.SGD([w]))
    assert w.grad.dtype == ag.float32
    assert w.grad.item() == pytest.approx(1e-9, rel=5e-3)


def test_losses_are_scaled_in_float32() -> None:
    scaler = ag.optim.GradScaler(init_scale=2.0**16)
    losses = {"a": ag.tensor(2.0, dtype=ag.float16), "b": [ag.tensor(3.0)]}
    scaled = scaler.scale(losses)
    assert (scaled["a"].item(), scaled["a"].dtype) == (2.0**17, ag.float32)
    assert (scaled["b"][0].item(), scaled["b"][0].dtype) == (3 * 2.0**16, ag.float64)
    with pytest.raises(ag.DtypeError, match=r"GradScaler\.scale takes tensors, got float"):
        scaler.scale(2.0)


def test_gradients_may_be_clipped_between() -> None:
    w = parameter()
    optimizer, scaler = ag.optim.SGD([w], lr=1.0), ag.optim.GradScaler()
    scaler.scale(ag.sum(w * 100.0)).backward()
    scaler.unscale_(optimizer)
    assert w.grad.array.tolist() == [100, 100]
    w.grad = ag.clip(w.grad, -1.0, 1.0)
    scaler.step(optimizer)
    assert to_host(w).tolist() == [0, 1]


def test_one_optimizer_that_overflows_does_not_stop_the_other() -> None:
    w, v = parameter(), parameter()
    first, second = ag.optim.SGD([w], lr=1.0), ag.optim.SGD([v], lr=1.0)
    scaler = ag.optim.GradScaler(init_scale=2.0)
    scaler.scale(ag.sum(w) + ag.sum(v * np.inf)).backward()
    for optimizer in (first, second):
        scaler.step(optimizer)
    scaler.update()
    assert (to_host(w).tolist(), to_host(v).tolist(), scaler.get_scale()) == ([0, 1], [1, 2], 1.0)


def test_the_scale_stays_finite_in_float32() -> None:
    w = parameter()
    optimizer, scaler = ag.optim.SGD([w], lr=0.0), ag.optim.GradScaler(init_scale=2.0**127, growth_interval=1)
    assert iterate(scaler, optimizer, w, 1e-30) == 2.0**127
    scaler.update(4.0)
    assert scaler.get_scale() == 4.0


def test_not_enabled_it_does_nothing() -> None:
    w = parameter()
    optimizer, scaler = ag.optim.SGD([w], lr=1.0), ag.optim.GradScaler(enabled=False)
    loss = ag.sum(w)
    assert scaler.scale(loss) is loss
    loss.backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    assert (to_host(w).tolist(), scaler.get_scale(), scaler.is_enabled()) == ([0, 1], 1.0, False)
    assert scaler.state_dict() == {}
    scaler.load_state_dict({})


def test_a_loaded_state_goes_on() -> None:
    w = parameter()
    optimizer, scaler = ag.optim.SGD([w], lr=0.0), ag.optim.GradScaler(init_scale=8.0, growth_interval=2)
    iterate(scaler, optimizer, w, 1.0)
    state = {"scale": 8.0, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 2, "_growth_tracker": 1}
    assert scaler.state_dict() == state
    other = ag.optim.GradScaler()
    other.load_state_dict(scaler.state_dict())
    assert iterate(other, optimizer, w, 1.0) == 16.0
    with pytest.raises(ag.GraphError, match="the state is empty; was it saved from a scaler that is not enabled"):
        other.load_state_dict({})


def test_the_gpu_waits_once_for_each_device(monkeypatch: pytest.MonkeyPatch) -> None:
    with simulated_cupy.installed():
        first, second = [parameter(device) for device in ("cuda:0", "cuda:1")]
        optimizer, scaler = ag.optim.SGD([first, second, parameter("cuda:0")], lr=1.0), ag.optim.GradScaler()
        waits: list[str] = []
        monkeypatch.setattr(simulated_arrays, "sync", waits.append)
        scaler.scale(ag.sum(first) + ag.sum(second.to("cuda:0"))).backward()
        scaler.unscale_(optimizer)
        assert waits == []
        scaler.step(optimizer)
        assert len(waits) == 2
        scaler.update()
        assert len(waits) == 2
        monkeypatch.undo()
        assert (to_host(first).tolist(), to_host(second).tolist()) == ([0, 1], [0, 1])


def test_refusals() -> None:
    w = parameter()
    optimizer = ag.optim.SGD([w])
    for options, text in (
        ({"init_scale": "cuda"}, "init_scale must be a number between 0 and inf, got 'cuda'"),
        ({"growth_factor": 1.0}, "growth_factor must be a number between 1 and inf, got 1.0"),
        ({"backoff_factor": 1.0}, "backoff_factor must be a number between 0 and 1, got 1.0"),
        ({"growth_interval": 0}, "growth_interval must be a number between 0 and inf, got 0"),
    ):
        with pytest.raises(ag.ShapeError, match=text):
            ag.optim.GradScaler(**options)
    with pytest.raises(ag.GraphError, match=r"no loss has been scaled; call scale\(loss\)"):
        ag.optim.GradScaler().step(optimizer)
    with pytest.raises(ag.GraphError, match=r"no parameter of the optimizer has a gradient; call scale\(loss\)"):
        scaler().step(optimizer)
    with pytest.raises(ag.GraphError, match=r"update\(\) without a step\(\) since the last one"):
        scaler().update()
    ag.sum(w).backward()
    one = scaler()
    one.unscale_(optimizer)
    with pytest.raises(ag.GraphError, match=r"unscale_\(\) has already been called on this optimizer since the last"):
        one.unscale_(optimizer)
    one.step(optimizer)
    with pytest.raises(ag.GraphError, match=r"step\(\) has already been called since the last update"):
        one.step(optimizer)
    half = ag.tensor([1.0], dtype=ag.float16, requires_grad=True)
    ag.sum(half).backward()
    with pytest.raises(ag.DtypeError, match="attempting to unscale float16 gradients, which would lose them; keep"):
        scaler().step(ag.optim.SGD([w, half]))

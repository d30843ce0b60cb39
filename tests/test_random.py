from __future__ import annotations

import math

import numpy as np
import pytest
from devices import NAMES, device_of, to_host

import arraygrad as ag

on_every_device = pytest.mark.parametrize("device", sorted({device_of(name) for name in NAMES}))


@on_every_device
def test_a_seed_determines_the_numbers(device: str) -> None:
    draws = []
    for _ in range(2):
        rng = ag.random.default_rng(7, device=device)
        draws.append(
            [
                rng.uniform(size=3),
                rng.normal(size=(2, 2), dtype=ag.float32),
                rng.integers(10, size=4),
                rng.permutation(5),
                rng.choice(9, size=3),
            ]
        )
    for first, second in zip(*draws, strict=True):
        assert first.device == device
        np.testing.assert_array_equal(to_host(first), to_host(second))
    assert [t.dtype.name for t in draws[0]] == ["float64", "float32", "int64", "int64", "int64"]
    assert [t.shape for t in draws[0]] == [(3,), (2, 2), (4,), (5,), (3,)]


@on_every_device
def test_distributions(device: str) -> None:
    rng = ag.random.default_rng(1, device=device)
    u = to_host(rng.uniform(2.0, 5.0, size=20_000))
    assert 2 <= u.min() < u.max() < 5
    assert abs(u.mean() - 3.5) < 5 * math.sqrt(9 / 12 / 20_000)
    n = to_host(rng.normal(1.0, 2.0, size=20_000))
    assert abs(n.mean() - 1) < 5 * 2 / math.sqrt(20_000)
    assert abs(n.std() - 2) < 0.06
    i = to_host(rng.integers(-2, 3, size=5_000))
    assert sorted(set(i.tolist())) == [-2, -1, 0, 1, 2]
    c = to_host(
        rng.choice(ag.tensor([10.0, 20.0, 30.0], device=device), 10_000, p=ag.tensor([0.0, 0.3, 0.7], device=device))
    )
    assert set(c.tolist()) == {20.0, 30.0}
    assert abs((c == 30).mean() - 0.7) < 0.03
    assert sorted(to_host(rng.permutation(ag.arange(6, device=device))).tolist()) == [0, 1, 2, 3, 4, 5]
    assert len(set(to_host(rng.choice(6, 6, replace=False)).tolist())) == 6
    assert rng.choice(6).shape == ()


def test_gradients_flow_to_the_parameters() -> None:
    loc, scale = ag.tensor(1.0, requires_grad=True), ag.tensor(2.0, requires_grad=True)
    x = ag.random.default_rng(0).normal(loc, scale, size=4)
    ag.sum(x).backward()
    assert loc.grad.item() == 4
    assert scale.grad.item() == pytest.approx(np.random.default_rng(0).standard_normal(4).sum())
    rows = ag.tensor([[1.0], [2.0]], requires_grad=True)
    ag.random.default_rng(0).permutation(rows).sum().backward()
    assert rows.grad.array.tolist() == [[1], [1]]


def test_requests_that_cannot_be_met() -> None:
    rng = ag.random.default_rng(0)
    with pytest.raises(ValueError, match="choice without repetition: 4 of 3"):
        rng.choice(3, 4, replace=False)
    with pytest.raises(ValueError, match="there is none from 2 up to 2"):
        rng.integers(2, 2)
    with pytest.raises(ag.DeviceError):
        ag.random.default_rng(0, device="nowhere")

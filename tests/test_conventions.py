"""Gradients at kinks, ties, zeros and infinities: each a choice, each pinned here (design 8)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from devices import NAMES, flags_of, make, to_host

import arraygrad as ag

INF = float("inf")
CASES: dict[str, tuple[Any, list[Any], list[Any]]] = {
    # name: function, inputs, the gradients of the sum of its result
    "abs at 0": (ag.abs, [[-2.0, 0.0, 3.0]], [[-1, 0, 1]]),
    "relu at 0": (ag.relu, [[-2.0, 0.0, 3.0]], [[0, 0, 1]]),
    "clip at its bounds": (lambda x: ag.clip(x, -1.0, 1.0), [[-2.0, -1.0, 0.0, 1.0, 2.0]], [[0, 1, 1, 1, 0]]),
    "clip to arrays": (
        ag.clip,
        [[-2.0, -1.0, 2.0, 0.5], [-1.0, -1.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]],
        [[0, 1, 0, 1], [1, 0, 0, 0], [0, 0, 1, 0]],
    ),
    "clip with crossed bounds": (ag.clip, [[0.0, 3.0], [2.0, 2.0], [1.0, 1.0]], [[0, 0], [0, 0], [1, 1]]),
    "maximum at a tie": (ag.maximum, [[1.0, 2.0, 3.0], [1.0, 3.0, 2.0]], [[0.5, 0, 1], [0.5, 1, 0]]),
    "minimum at a tie": (ag.minimum, [[1.0, 2.0, 3.0], [1.0, 3.0, 2.0]], [[0.5, 1, 0], [0.5, 0, 1]]),
    "max with ties": (ag.max, [[3.0, 3.0, 1.0, 3.0]], [[1 / 3, 1 / 3, 0, 1 / 3]]),
    "min with ties along an axis": (lambda x: ag.min(x, axis=1), [[[1.0, 1.0], [2.0, 1.0]]], [[[0.5, 0.5], [0, 1]]]),
    "pow with exponent 0": (lambda x: x**0, [[0.0, 2.0]], [[0, 0]]),
    "pow of arrays with exponent 0": (ag.pow, [[0.0, 2.0], [0.0, 0.0]], [[0, 0], [0, np.log(2)]]),
    "pow with base 0": (ag.pow, [[0.0, 0.0], [2.0, 3.0]], [[0, 0], [0, 0]]),
    "a number to a power": (lambda x: 0.0**x, [[2.0, 3.0]], [[0, 0]]),
    "prod with one zero": (ag.prod, [[2.0, 0.0, 3.0]], [[0, 6, 0]]),
    "prod with two zeros": (ag.prod, [[2.0, 0.0, 0.0]], [[0, 0, 0]]),
    "norm at 0": (ag.vector_norm, [[0.0, 0.0]], [[0, 0]]),
    "norm of rows, one 0": (lambda x: ag.vector_norm(x, axis=1), [[[0.0, 0.0], [3.0, 4.0]]], [[[0, 0], [0.6, 0.8]]]),
    "half norm at 0": (lambda x: ag.vector_norm(x, ord=0.5), [[0.0, 4.0]], [[0, 1]]),
    "largest norm at a tie": (lambda x: ag.vector_norm(x, ord=INF), [[-2.0, 2.0, 1.0]], [[-0.5, 0.5, 0]]),
    "std at 0": (ag.std, [[2.0, 2.0]], [[0, 0]]),
    "logsumexp of -inf": (ag.logsumexp, [[-INF, -INF]], [[0, 0]]),
    "logsumexp with one -inf": (ag.logsumexp, [[-INF, 0.0, 0.0]], [[0, 0.5, 0.5]]),
    "softmax of -inf": (lambda x: ag.softmax(x)[..., 0], [[[-INF, -INF], [0.0, 0.0]]], [[[0, 0], [0.25, -0.25]]]),
    "softmax with one -inf": (lambda x: ag.softmax(x)[1], [[-INF, 0.0, 0.0]], [[0, 0.25, -0.25]]),
    "where by the branch not taken": (
        lambda x: ag.where(x > 0, ag.log(ag.where(x > 0, x, 1.0)), 0.0),
        [[-1.0, 0.0, 2.0]],
        [[0, 0, 0.5]],
    ),
    "cross entropy far apart": (lambda x: ag.cross_entropy(x, np_like(x, [1])), [[[0.0, -800.0]]], [[[1, -1]]]),
    "sigmoid in its tails": (ag.sigmoid, [[-800.0, 800.0, 0.0]], [[0, 0, 0.25]]),
    "gelu far out": (ag.gelu, [[-40.0, 40.0]], [[0, 1]]),
}  # fmt: skip


def np_like(x: ag.Tensor, values: list[int]) -> ag.Tensor:
    return ag.tensor(values, device=x.device)


@pytest.mark.parametrize("device", NAMES)
@pytest.mark.parametrize("name", CASES)
def test_gradient(name: str, device: str) -> None:
    function, inputs, gradients = CASES[name]
    tensors = [make(device, values, requires_grad=True) for values in inputs]
    with flags_of(device):
        ag.sum(function(*tensors)).backward()
    for tensor, expected in zip(tensors, gradients, strict=True):
        np.testing.assert_allclose(to_host(tensor.grad), expected, rtol=1e-14, atol=1e-15)


def test_values_far_out_are_finite() -> None:
    x = ag.tensor([-800.0, 0.0, 800.0])
    assert ag.sigmoid(x).array.tolist() == [0, 0.5, 1]
    assert ag.sigmoid(ag.tensor(-40.0)).item() == pytest.approx(4.248354255291589e-18, rel=1e-14)  # mpmath
    assert ag.logsumexp(x).item() == 800
    assert ag.logsumexp(ag.tensor([-INF])).item() == -INF
    assert ag.logsumexp(ag.tensor([INF, 0.0])).item() == INF
    assert ag.softmax(x).array.tolist() == [0, 0, 1]
    assert ag.log_softmax(x).array.tolist() == [-1600, -800, 0]
    assert ag.softmax(ag.tensor([-INF, -INF])).array.tolist() == [0, 0]
    loss = ag.cross_entropy(ag.tensor([[0.0, -800.0]]), ag.tensor([1]))
    assert loss.item() == 800


def test_where_keeps_nan_cotangents_out_of_the_other_branch() -> None:
    a, b = (ag.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    ag.where(ag.tensor([True, False]), a, b).backward([np.nan, np.inf])
    assert b.grad.array.tolist() == [0, INF]
    assert np.isnan(a.grad.array[0])
    assert a.grad.array[1] == 0

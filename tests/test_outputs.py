"""Operations with several outputs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.op import OPS, general
from arraygrad.tensor import ArrayLike


class SinCos(NamedTuple):
    sine: Any
    cosine: Any


@pytest.fixture(autouse=True)
def sincos() -> Iterator[Any]:
    before = dict(OPS)

    def rule(g: Any, sine: Any, cosine: Any) -> Any:
        assert any(part is not None for part in g)
        total = None
        for part in ([] if g[0] is None else [g[0] * cosine]) + ([] if g[1] is None else [-g[1] * sine]):
            total = part if total is None else total + part
        return total

    @general(rule, outputs=SinCos)
    def sincos(xp: Any, x: ArrayLike, /) -> Any:
        return xp.sin(x), xp.cos(x)

    yield sincos
    OPS.clear()
    OPS.update(before)


def leaf(values: object) -> ag.Tensor:
    return ag.tensor(values, requires_grad=True)


def test_results_keep_their_names_and_one_node(sincos: Any) -> None:
    x = leaf([0.5, 1.0])
    result = sincos(x)
    assert type(result) is SinCos
    np.testing.assert_array_equal(result.sine.array, np.sin([0.5, 1.0]))
    assert result.sine.grad_fn is result.cosine.grad_fn
    assert result.sine.grad_fn.name == "SincosBackward"
    total = result.sine + result.cosine
    assert total.grad_fn.next_functions == ((result.sine.grad_fn, 0), (result.sine.grad_fn, 1))
    assert not result.sine.is_leaf


def test_one_cotangent_each_and_none_where_none_came(sincos: Any) -> None:
    x = leaf([0.5, 1.0])
    assert ag.gradcheck(lambda x: sincos(x).sine * 2.0, [x])
    assert ag.gradcheck(lambda x: sincos(x).cosine, [x])
    assert ag.gradcheck(lambda x: sincos(x), [x])
    assert ag.gradcheck(lambda x: sincos(x).sine * sincos(x).cosine + sincos(x * 2.0).sine, [x])
    y = ag.tensor([0.5], device="strict:device1", requires_grad=True)
    assert ag.gradcheck(lambda x: sincos(x).sine * x, [y])


def test_states_of_single_outputs(sincos: Any) -> None:
    x = leaf([0.5])
    sine, cosine = sincos(x)
    sine.retain_grad()
    (sine * 3.0 + cosine).sum().backward()
    assert sine.grad.array.tolist() == [3]
    assert cosine.grad is None
    assert x.grad.item() == pytest.approx(3 * np.cos(0.5) - np.sin(0.5))
    with pytest.raises(ag.GraphError, match="a second time"):
        cosine.sum().backward()
    sine, cosine = sincos(x)
    with ag.no_grad():
        sine.add_(1.0)
    with pytest.raises(ag.VersionError, match="SincosBackward saved it"):
        cosine.sum().backward()


def test_seen_as_one_operation(sincos: Any, capsys: pytest.CaptureFixture[str]) -> None:
    x = leaf([0.5])
    sine, cosine = sincos(x)
    loss = (sine + cosine).sum()
    text = ag.graph_dot(loss)
    assert text.count("SincosBackward") == 1
    assert text.count("->") == 4
    ag.set_backward_trace(sys.stdout)
    try:
        with ag.detect_anomaly():
            loss.backward()
    finally:
        ag.set_backward_trace(None)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines] == [
        "SumBackward", "AddBackward", "SincosBackward", "SincosBackward", "AccumulateGrad",
    ]  # fmt: skip


def test_without_grad_there_is_no_node(sincos: Any) -> None:
    with ag.no_grad():
        assert not sincos(leaf([0.5])).sine.requires_grad
    assert not sincos(ag.tensor([0.5])).cosine.requires_grad
    assert type(sincos(0.5).sine) is ag.Tensor

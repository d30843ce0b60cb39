"""The public form of declarations; docs/own-ops.md runs each kind."""

from __future__ import annotations

from typing import Any

import pytest

import arraygrad as ag
from arraygrad import declare, op
from arraygrad.op import OPS


def test_it_is_what_the_library_itself_uses() -> None:
    for name in ("constant", "elementwise", "general", "linear", "multilinear"):
        assert getattr(declare, name) is getattr(op, name)
    assert declare.once_differentiable is ag.once_differentiable
    assert sorted(declare.__all__, key=str.lower) == sorted(
        [name for name in vars(declare) if not name.startswith("_")], key=str.lower
    )


def test_an_own_operation_of_the_same_name_does_not_replace_the_librarys(own_op: None) -> None:
    ours = OPS["getitem"]

    @declare.elementwise(lambda g: 2.0 * g)
    def getitem(xp: Any, x: declare.ArrayLike, /) -> Any:
        return 2.0 * x

    assert OPS["getitem"] is ours
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1.0
    y[0] += 3.0
    ag.sum(getitem(y)).backward()
    assert x.grad is not None
    assert x.grad.numpy().tolist() == [2.0, 2.0]


def test_parts_of_any_order(own_op: None) -> None:
    @declare.linear(lambda g: declare.Part((1, ...), g))
    def second_row(xp: Any, x: declare.ArrayLike, /) -> Any:
        return xp.asarray(x[1, ...], copy=True)

    x = ag.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    assert ag.gradcheck(second_row, [x])
    assert ag.gradgradcheck(lambda x: second_row(x) ** 3, [x])
    assert ag.jvp(second_row, (x,), (2.0 * x,))[1].tolist() == [6.0, 8.0]
    with pytest.raises(TypeError, match="named with its rule"):
        declare.linear(lambda g: g)(lambda xp, x: x)

"""How declarations are checked and what they become."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import array_api_strict
import numpy as np
import pytest

import arraygrad as ag
from arraygrad.op import OPS, elementwise, general, linear
from arraygrad.tensor import ArrayLike


@pytest.fixture(autouse=True)
def forget_own_ops() -> Iterator[None]:
    before = dict(OPS)
    yield
    OPS.clear()
    OPS.update(before)


def test_six_lines_add_an_operation() -> None:
    @elementwise(lambda g, x, out: 2.0 * g * x * out)
    def gauss(xp: object, x: ArrayLike, /) -> object:
        """`exp(x * x)`."""
        return xp.exp(x * x)

    x = ag.tensor([0.5, -1.0], requires_grad=True)
    y = gauss(x)
    assert y.grad_fn.name == "GaussBackward"
    assert OPS["gauss"].saves == {"x": ("x", "out")}
    assert ag.gradcheck(gauss, [x])
    assert ag.gradcheck(gauss, [ag.tensor([0.5], device="strict:device1", requires_grad=True)])


def test_keywords_and_several_inputs() -> None:
    @general(
        lambda g, xp, scale, x_shape: xp.broadcast_to(scale * g, x_shape),
        lambda g, y: g * y,
    )
    def both(xp: object, x: ArrayLike, y: ArrayLike, /, *, scale: float = 3.0) -> object:
        return xp.sum(x) * scale + 0.5 * y * y

    x, y = ag.tensor([1.0, 2.0], requires_grad=True), ag.tensor(2.0, requires_grad=True)
    assert ag.gradcheck(lambda a, b: both(a, b, scale=2.0), [x, y])
    assert both(x, y).item() == 11


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (lambda g, z: g, r"shaky: a rule asks for \['g', 'z'\]; it may ask for g first, then xp, then \["),
        (lambda x: x, "shaky: a rule asks for"),
        (lambda g, x, xp: g, "shaky: a rule asks for"),
        (lambda g, x_size: g, "shaky: a rule asks for"),
    ],
)
def test_a_rule_that_asks_for_what_is_not_there_fails_at_import(rule: object, text: str) -> None:
    with pytest.raises(TypeError, match=text):

        @linear(rule)
        def shaky(xp: object, x: ArrayLike, /) -> object:
            return x


def test_a_rule_too_many_fails_at_import() -> None:
    with pytest.raises(TypeError, match="shaky: the forward takes xp first, and each rule needs an input"):

        @general(lambda g: g, lambda g: g)
        def shaky(xp: object, x: ArrayLike, /) -> object:
            return x


def test_inputs_are_found_without_postponed_annotations() -> None:
    namespace: dict[str, object] = {}
    code = "def square(xp, x: ArrayLike, /): return x * x"
    exec(code, {"ArrayLike": ArrayLike}, namespace)  # this file postpones its own
    square = elementwise(lambda g, x: 2.0 * g * x)(namespace["square"])
    assert ag.gradcheck(square, [ag.tensor([3.0], requires_grad=True)])


def test_a_forward_without_annotations_is_told_what_is_missing() -> None:
    with pytest.raises(TypeError, match="a parameter annotated as ArrayLike"):
        elementwise(lambda g: g)(lambda xp, x, /: x)


def test_users_see_the_signature_without_xp() -> None:
    assert str(inspect.signature(ag.softmax)) == "(x: 'ArrayLike', /, *, axis: 'int' = -1) -> 'Tensor'"
    assert ag.softmax.__name__ == "softmax"
    assert "divided by its sum" in ag.softmax.__doc__
    assert inspect.unwrap(ag.softmax) is ag.softmax


def parameters(function: object) -> list[tuple[str, object]]:
    return [(p.name, p.kind) for p in inspect.signature(function).parameters.values()]


STANDARD = sorted(
    name for name in ag.__all__ if callable(getattr(array_api_strict, name, None)) and name not in ("bool",)
)


@pytest.mark.parametrize("name", [n for n in STANDARD if not isinstance(getattr(ag, n), np.dtype)])
def test_signatures_are_the_standards(name: str) -> None:
    """Rules call `xp` with either namespace, so names and kinds must be the same."""
    expected = parameters(getattr(array_api_strict, name))
    assert parameters(getattr(ag, name)) == expected


@pytest.mark.parametrize("name", array_api_strict.fft.__all__)
def test_signatures_of_fft(name: str) -> None:
    assert parameters(getattr(ag.fft, name)) == parameters(getattr(array_api_strict.fft, name))


@pytest.mark.parametrize("name", sorted({*array_api_strict.linalg.__all__, "eig", "eigvals"}))
def test_signatures_of_linalg(name: str) -> None:
    assert parameters(getattr(ag.linalg, name)) == parameters(getattr(array_api_strict.linalg, name))


def test_every_operation_says_what_it_does() -> None:
    for name, op in OPS.items():
        if not op.forward.__name__.startswith("_"):  # the function around it does
            assert op.forward.__doc__, name

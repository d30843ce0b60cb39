"""Operations as classes: orders, modes, what is saved, and that nothing is differentiated to zero in silence."""

from __future__ import annotations

import gc
import weakref
from typing import Any, NamedTuple

import numpy as np
import pytest
from devices import NAMES, flags_of, make, to_host

import arraygrad as ag
from arraygrad.op import elementwise, general
from arraygrad.tensor import ArrayLike


class Product(ag.Function):
    """`x * x * y * power`, of two tensors and a number."""

    @staticmethod
    def forward(ctx: Any, x: ag.Tensor, y: ag.Tensor, scale: float) -> ag.Tensor:
        assert not x.requires_grad
        ctx.save_for_backward(x, y)
        ctx.scale = scale
        return x * x * y * scale

    @staticmethod
    def backward(ctx: Any, g: ag.Tensor) -> tuple[ag.Tensor | None, ...]:
        x, y = ctx.saved_tensors
        by_x = 2.0 * x * y * ctx.scale * g if ctx.needs_input_grad[0] else None
        by_y = x * x * ctx.scale * g if ctx.needs_input_grad[1] else None
        assert ctx.needs_input_grad[2] is False
        return by_x, by_y, None


class Exp(ag.Function):
    """Saves its output, as an attribute."""

    @staticmethod
    def forward(ctx: Any, x: ag.Tensor) -> ag.Tensor:
        out = ag.exp(x)
        ctx.kept = {"out": [out], "word": "kept"}
        return out

    @staticmethod
    def backward(ctx: Any, g: ag.Tensor) -> ag.Tensor:
        assert ctx.kept["word"] == "kept"
        return ctx.kept["out"][0] * g


class Parts(NamedTuple):
    sine: ag.Tensor
    cosine: ag.Tensor


class SinCos(ag.Function):
    """Several outputs, both saved."""

    @staticmethod
    def forward(ctx: Any, x: ag.Tensor) -> Parts:
        out = Parts(ag.sin(x), ag.cos(x))
        ctx.save_for_backward(*out)
        return out

    @staticmethod
    def backward(ctx: Any, g_sine: ag.Tensor, g_cosine: ag.Tensor) -> ag.Tensor:
        sine, cosine = ctx.saved_tensors
        return g_sine * cosine - g_cosine * sine


class Remembered(ag.Function):
    """Saves what only forward knows."""

    @staticmethod
    def forward(ctx: Any, x: ag.Tensor) -> ag.Tensor:
        ctx.save_for_backward(2.0 * x)
        return x * x

    @staticmethod
    def backward(ctx: Any, g: ag.Tensor) -> ag.Tensor:
        return ctx.saved_tensors[0] * g


class Foreign(ag.Function):
    """Computes its gradient with NumPy, and does not say so."""

    @staticmethod
    def forward(ctx: Any, x: ag.Tensor) -> ag.Tensor:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, g: ag.Tensor) -> Any:
        return 3.0 * ctx.saved_tensors[0].array ** 2 * g.array


class Declared(Foreign):
    """Says so, and has a derivative for forward mode."""

    @staticmethod
    @ag.once_differentiable
    def backward(ctx: Any, g: ag.Tensor) -> Any:
        return ag.asarray(3.0 * ctx.saved_tensors[0].numpy() ** 2 * g.numpy())


class WithTangent(Declared):
    @staticmethod
    def jvp(ctx: Any, t: ag.Tensor) -> ag.Tensor:
        return 3.0 * ctx.saved_tensors[0] ** 2 * t


@pytest.mark.parametrize("device", NAMES)
def test_gradients_of_every_order_are_those_by_hand(device: str) -> None:
    with flags_of(device):
        x, y = make(device, [0.5, -2.0], requires_grad=True), make(device, [3.0, 0.25], requires_grad=True)
        (by_x, by_y) = ag.gradients(ag.sum(Product.apply(x, y, 10.0)), (x, y), create_graph=True)
        np.testing.assert_allclose(to_host(by_x), [30.0, -10.0])
        np.testing.assert_allclose(to_host(by_y), [2.5, 40.0])
        (by_xx, by_xy) = ag.gradients(ag.sum(by_x), (x, y), create_graph=True)
        np.testing.assert_allclose(to_host(by_xx), [60.0, 5.0])
        np.testing.assert_allclose(to_host(by_xy), [10.0, -40.0])
        np.testing.assert_allclose(to_host(ag.gradients(ag.sum(by_xx), y)), [20.0, 20.0])
        assert by_x.device == x.device


def test_backward_accumulates_and_only_wanted_gradients_are_computed() -> None:
    x, y = ag.tensor(2.0, requires_grad=True), ag.tensor(3.0)
    out = Product.apply(x, y, 1.0)
    assert out.grad_fn.name == "ProductBackward"
    out.backward()
    assert x.grad.item() == 12.0
    with pytest.raises(ag.GraphError, match=r"a second time \(ProductBackward\)"):
        out.backward()


def test_checks_by_finite_differences() -> None:
    x, y = ag.tensor([0.5, -2.0], requires_grad=True), ag.tensor([3.0, 0.25], requires_grad=True)
    for f, inputs in (
        (lambda x, y: Product.apply(x, y, 2.0), [x, y]),
        (Exp.apply, [x]),
        (lambda x: SinCos.apply(x)[1], [x]),
    ):
        assert ag.gradcheck(f, inputs)
        assert ag.gradgradcheck(f, inputs)


@pytest.mark.parametrize(
    ("f", "derivatives"),
    [
        (lambda x: Product.apply(x, 2.0 * x, 1.0), (4.0 * 0.7**3 / 2, 6 * 0.7**2, 12 * 0.7)),
        (Exp.apply, (np.exp(0.7),) * 3),
        (lambda x: SinCos.apply(x).sine, (np.sin(0.7), np.cos(0.7), -np.sin(0.7))),
        (lambda x: SinCos.apply(x)[0] * SinCos.apply(x)[1], (np.sin(1.4) / 2, np.cos(1.4), -2 * np.sin(1.4))),
    ],
)
def test_modes_nest_in_any_order(f: Any, derivatives: tuple[float, float, float]) -> None:
    def forward(f: Any) -> Any:
        return lambda x: ag.jvp(f, (x,), (1.0,))[1]

    value, slope, curvature = derivatives
    assert f(ag.tensor(0.7)).item() == pytest.approx(value, rel=1e-14)
    for d in (ag.grad, forward):
        assert d(f)(0.7).item() == pytest.approx(slope, rel=1e-14)
        for dd in (ag.grad, forward):
            assert dd(d(f))(0.7).item() == pytest.approx(curvature, rel=1e-14)
    _, push = ag.linearize(f, 0.7)
    assert push(2.0).item() == pytest.approx(2.0 * slope, rel=1e-14)
    assert ag.hvp(f, (0.7,), (2.0,)).item() == pytest.approx(2.0 * curvature, rel=1e-14)


def test_results_are_structured_as_forward_returned_them() -> None:
    x = ag.tensor([0.5, 1.0], requires_grad=True)
    out = SinCos.apply(x)
    assert type(out) is Parts
    assert out.sine.requires_grad
    out.cosine.sum().backward()  # nothing comes to the other
    np.testing.assert_allclose(to_host(x.grad), -np.sin([0.5, 1.0]))


def test_cotangents_that_do_not_come_are_zeros_or_none() -> None:
    seen = []

    class Split(ag.Function):
        @staticmethod
        def forward(ctx: Any, x: ag.Tensor, materializes: bool) -> Any:
            ctx.set_materialize_grads(materializes)
            signs = ag.sign(x)
            ctx.mark_non_differentiable(signs)
            return x * 2.0, signs, x > 0, x * 3.0

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> ag.Tensor:
            seen.append([None if g is None else g.numpy().tolist() for g in grads])
            return grads[0] * 2.0, None

    for materializes, expected in ((True, [[1.0], [0.0], [0.0], [0.0]]), (False, [[1.0], None, None, None])):
        x = ag.tensor([2.0], requires_grad=True)
        double, signs, mask, triple = Split.apply(x, materializes)
        assert [y.requires_grad for y in (double, signs, mask, triple)] == [True, False, False, True]
        double.backward()
        assert seen.pop() == expected
        assert x.grad.item() == 2.0


def test_no_history_where_none_is_wanted() -> None:
    assert not Exp.apply(ag.tensor(1.0)).requires_grad
    with ag.no_grad():
        assert not Exp.apply(ag.tensor(1.0, requires_grad=True)).requires_grad
    np.testing.assert_array_equal(to_host(Product.apply(np.ones(2), np.ones(2), 3.0)), [3.0, 3.0])


def test_an_argument_that_is_returned_is_a_result_of_its_own() -> None:
    class Same(ag.Function):
        @staticmethod
        def forward(ctx: Any, x: ag.Tensor) -> ag.Tensor:
            return x

        @staticmethod
        def backward(ctx: Any, g: ag.Tensor) -> ag.Tensor:
            return -g

    x = ag.tensor([1.0], requires_grad=True)
    y = Same.apply(x)
    y += 1.0
    y.backward()
    assert (x.item(), x.grad.item()) == (1.0, -1.0)


def test_complex_cotangents_arrive_as_they_are() -> None:
    class Conjugate(ag.Function):
        @staticmethod
        def forward(ctx: Any, z: ag.Tensor) -> ag.Tensor:
            return ag.conj(z)

        @staticmethod
        def backward(ctx: Any, g: ag.Tensor) -> ag.Tensor:
            return ag.conj(g)

    z = ag.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    assert ag.gradcheck(Conjugate.apply, [z])
    assert ag.gradgradcheck(lambda z: Conjugate.apply(z) * z, [z])


def test_a_write_to_what_was_saved_is_found() -> None:
    x, y = ag.tensor(2.0, requires_grad=True), ag.tensor(3.0)
    out = Product.apply(x, y, 1.0)
    y += 1.0
    with pytest.raises(ag.VersionError, match="ProductBackward saved it"):
        out.backward()
    out = Exp.apply(x)
    with ag.no_grad():
        out += 1.0
    with pytest.raises(ag.VersionError, match="ExpBackward saved it"):
        out.backward()


def test_a_call_leaves_no_cycle() -> None:
    gc.collect()
    gc.disable()
    try:
        x = ag.tensor(0.5, requires_grad=True)
        out, parts = Exp.apply(x), SinCos.apply(x)
        references = [weakref.ref(out.grad_fn), weakref.ref(parts.sine.grad_fn), weakref.ref(out)]
        slope = ag.gradients(out + parts.sine + parts.cosine, x, create_graph=True)
        del out, parts, slope
        assert [reference() for reference in references] == [None] * 3
    finally:
        gc.enable()


def test_what_only_forward_knows_has_no_second_derivative() -> None:
    assert ag.grad(Remembered.apply)(3.0).item() == 6.0
    assert ag.jvp(Remembered.apply, (3.0,), (2.0,))[1].item() == 12.0
    for second in (
        lambda: ag.grad(ag.grad(Remembered.apply))(3.0),
        lambda: ag.hvp(Remembered.apply, (3.0,), (1.0,)),
        lambda: ag.jvp(lambda x: ag.jvp(Remembered.apply, (x,), (1.0,))[1], (3.0,), (1.0,)),
        lambda: ag.grad(lambda x: ag.jvp(Remembered.apply, (x,), (1.0,))[1])(3.0),
    ):
        with pytest.raises(ag.GraphError, match=r"Remembered.backward uses a tensor that was computed in forward"):
            second()
    # What does not pass there is right: the derivative by the factor.
    slope = ag.grad(lambda c: ag.grad(lambda x: c * Remembered.apply(x))(3.0))(5.0)
    assert slope.item() == 6.0


def test_a_gradient_computed_elsewhere_has_no_second_derivative() -> None:
    assert ag.grad(Foreign.apply)(2.0).item() == 12.0
    x = ag.tensor(2.0, requires_grad=True)
    slope = ag.gradients(Foreign.apply(x) + x * x, x, create_graph=True)
    assert slope.item() == 16.0
    for second in (
        lambda: ag.gradients(slope, x),
        lambda: ag.jvp(Foreign.apply, (2.0,), (1.0,)),
    ):
        with pytest.raises(ag.GraphError, match=r"Foreign.backward returned a gradient that was not computed from its"):
            second()


def test_once_differentiable_says_so() -> None:
    assert ag.grad(Declared.apply)(2.0).item() == 12.0
    with pytest.raises(ag.GraphError, match=r"trying to differentiate twice .* once_differentiable: Declared.backward"):
        ag.grad(ag.grad(Declared.apply))(2.0)
    with pytest.raises(ag.GraphError, match=r"forward mode through Declared needs a method jvp\(ctx, \*tangents\)"):
        ag.jvp(Declared.apply, (2.0,), (1.0,))
    # The gradient is recorded, and differentiated where that does not pass the function.
    slope = ag.grad(lambda c: ag.grad(lambda x: c * c)(2.0) + c)(5.0)
    assert slope.item() == 1.0


def test_a_tangent_of_its_own() -> None:
    assert ag.jvp(WithTangent.apply, (2.0,), (0.5,))[1].item() == 6.0
    assert ag.jvp(lambda x: ag.jvp(WithTangent.apply, (x,), (1.0,))[1], (2.0,), (0.5,))[1].item() == 6.0
    assert ag.grad(lambda x: ag.jvp(WithTangent.apply, (x,), (1.0,))[1])(2.0).item() == 12.0
    value, slope = ag.jvp(WithTangent.apply, (ag.tensor(2.0, dtype=ag.float32),), (1.0,))
    assert (value.dtype, slope.dtype) == (ag.float32, ag.float32)


def test_a_tangent_for_each_result_and_none_for_arguments_without() -> None:
    class Pair(ag.Function):
        @staticmethod
        def forward(ctx: Any, x: ag.Tensor, y: ag.Tensor) -> Any:
            ctx.save_for_backward(x, y)
            return x * y, ag.copy(y)

        @staticmethod
        def jvp(ctx: Any, t_x: Any, t_y: Any) -> Any:
            assert t_y is None
            return t_x * ctx.saved_tensors[1], None

    (_, copied), (slope, none) = ag.jvp(lambda x: Pair.apply(x, ag.tensor(3.0)), (2.0,), (1.0,))
    assert (slope.item(), copied.item(), none.item()) == (3.0, 3.0, 0.0)
    with pytest.raises(ag.GraphError, match="Pair has no backward: write it"):
        ag.grad(lambda x: Pair.apply(x, x)[0])(1.0)


def test_rules_of_declarations_may_say_once_too(own_op: None) -> None:
    @elementwise(ag.once_differentiable(lambda g, x: g * 2.0 * np.asarray(x)))
    def squared(xp: Any, x: ArrayLike, /) -> Any:
        return x * x

    @general(ag.once_differentiable(lambda g, xp, x: g * 3.0 * xp.asarray(np.asarray(x)) ** 2))
    def cubed(xp: Any, x: ArrayLike, /) -> Any:
        return x**3

    assert ag.grad(squared)(3.0).item() == 6.0
    assert ag.grad(cubed)(2.0).item() == 12.0
    assert ag.jvp(squared, (3.0,), (2.0,))[1].item() == 12.0  # a rule of one element each is a derivative, too
    for f in (squared, cubed):
        for second in (lambda f=f: ag.grad(ag.grad(f))(3.0), lambda f=f: ag.hvp(f, (3.0,), (1.0,))):
            with pytest.raises(ag.GraphError, match="trying to differentiate twice a function that was marked"):
                second()
    with pytest.raises(ag.GraphError, match="trying to differentiate twice"):
        ag.jvp(cubed, (2.0,), (1.0,))


def _with(forward: Any, backward: Any = None, jvp: Any = None) -> type[ag.Function]:
    methods = {"forward": staticmethod(forward)}
    if backward is not None:
        methods["backward"] = staticmethod(backward)
    if jvp is not None:
        methods["jvp"] = staticmethod(jvp)
    return type("Mine", (ag.Function,), methods)


def test_refusals() -> None:
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    same = lambda ctx, x: x * 1.0  # noqa: E731
    with pytest.raises(
        ag.GraphError, match=r"incorrect number of gradients \(expected 1, got 2\): one for each argument"
    ):
        _with(same, lambda ctx, g: (g, g)).apply(x).sum().backward()
    with pytest.raises(ag.GraphError, match=r"MineBackward returned an invalid gradient at index 0 - got \[\] but"):
        _with(same, lambda ctx, g: ag.sum(g)).apply(x).sum().backward()
    with pytest.raises(ag.DtypeError, match=r"Mine.forward must return tensors, got str"):
        _with(lambda ctx, x: "a").apply(x)
    with pytest.raises(ag.GraphError, match="argument 0 is a container of tensors that require grad, which would be"):
        _with(lambda ctx, x: x[0]).apply([x])
    with pytest.raises(ag.InplaceError, match=r"Mine.forward has written to argument 0; write to a copy of it"):
        _with(lambda ctx, x: x.add_(1.0)).apply(ag.tensor([1.0]))
    with pytest.raises(ag.GraphError, match=r"Mine.jvp returned a tangent of shape \[\] for a result of shape \[2\]"):
        ag.jvp(_with(same, jvp=lambda ctx, t: ag.sum(t)).apply, (x,), (x,))
    with pytest.raises(ag.GraphError, match=r"Mine.jvp returned 2 tangents for 1 results"):
        ag.jvp(_with(same, jvp=lambda ctx, t: (t, t)).apply, (x,), (x,))
    with pytest.raises(ag.DtypeError, match="got a tensor with a tangent that is no argument's"):
        ag.jvp(lambda t: _with(lambda ctx: t).apply(), (1.0,), (1.0,))


def test_batches_run_case_by_case() -> None:
    rows = ag.tensor([[0.5, -2.0], [1.0, 3.0], [2.0, 0.1]], requires_grad=True)
    shared = ag.tensor([3.0, 0.25], requires_grad=True)
    for f, expected in (
        (lambda x, y: Product.apply(x, y, 10.0), 10 * to_host(rows) ** 2 * to_host(shared)),
        (lambda x, y: Foreign.apply(x) * y, to_host(rows) ** 3 * to_host(shared)),
        (lambda x, y: SinCos.apply(x)[1] * y, np.cos(to_host(rows)) * to_host(shared)),
    ):
        out = ag.vmap(f, in_axes=(0, None))(rows, shared)
        np.testing.assert_allclose(to_host(out), expected)
        by_cases = ag.gradients(ag.sum(out * out), (rows, shared))
        single = ag.gradients(ag.sum(ag.stack([f(row, shared) ** 2 for row in rows])), (rows, shared))
        for one, other in zip(by_cases, single, strict=True):
            np.testing.assert_allclose(to_host(one), to_host(other))


@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("f", [Exp.apply, WithTangent.apply, lambda x: Product.apply(x, x, 1.0)])
def test_jacobians(f: Any, mode: str) -> None:
    x = ag.tensor([0.5, -2.0, 1.0])
    by_elements = to_host(ag.elementwise_grad(f)(x))
    np.testing.assert_allclose(to_host(ag.jacobian(f, mode=mode)(x)), np.diag(by_elements))
    nested = ag.vmap(ag.jacobian(f, mode=mode))(ag.stack([x, x]))
    np.testing.assert_allclose(to_host(nested)[1], np.diag(by_elements))


def test_hessians() -> None:
    hessian = ag.hessian(lambda x: ag.sum(Exp.apply(x) * Exp.apply(-x[0])))(ag.tensor([0.5, -2.0]))
    # exp(x0) exp(-x0) + exp(x1 - x0): the first is constant.
    value = np.exp(-2.5)
    np.testing.assert_allclose(to_host(hessian), value * np.array([[1.0, -1.0], [-1.0, 1.0]]), atol=1e-15)


def test_hooks_on_what_is_saved_and_where_it_was() -> None:
    x = ag.tensor(2.0, requires_grad=True)
    seen = []

    def pack(tensor: ag.Tensor) -> ag.Tensor:
        seen.append(tensor.item())
        return tensor * 10.0

    with ag.saved_tensors_hooks(pack, lambda packed: packed / 10.0):
        y = Product.apply(x, ag.tensor(3.0), 1.0)
    y.backward()
    assert (x.grad.item(), seen) == (12.0, [2.0, 3.0])
    assert ag.grad(lambda x: ag.checkpoint(lambda x: Exp.apply(Product.apply(x, x, 1.0)), x))(0.5).item() == (
        pytest.approx(np.exp(0.125) * 0.75)
    )
    with ag.detect_anomaly():
        y = Product.apply(x, ag.tensor(3.0), 1.0)
        x.detach().add_(1.0)
        with pytest.raises(
            ag.VersionError, match=r"ProductBackward saved it at .*test_function.py:\d+, and the write was"
        ):
            y.backward()

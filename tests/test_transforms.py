"""Derivatives of any order, both modes, functions of functions. Expected values are by hand unless said otherwise."""

from __future__ import annotations

import asyncio
import dataclasses
import gc
import itertools
import threading
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import arraygrad as ag


def leaf(values: object) -> ag.Tensor:
    return ag.tensor(values, requires_grad=True)


# ---- gradients and backward


def test_inputs_are_touched_and_no_others() -> None:
    x, w = leaf([1.0, 2.0]), leaf(3.0)
    y = x * w
    ag.sum(y * y).backward(inputs=[w])
    assert x.grad is None
    assert w.grad.item() == 2 * 3 * 5
    ag.sum(x * w).backward(inputs=[x])
    assert x.grad.array.tolist() == [3, 3]
    y = x * w
    ag.sum(y * 2.0).backward(inputs=[y, y])  # an intermediate tensor, too, and one that is named twice
    assert y.grad.array.tolist() == [2, 2]
    with pytest.raises(
        ag.GraphError, match="backward: one of the differentiated tensors does not require grad: number 0"
    ):
        ag.sum(x).backward(inputs=[ag.zeros(2)])


def test_only_what_leads_to_the_inputs_runs() -> None:
    x, w = leaf(2.0), leaf(3.0)
    a, b = ag.exp(x), ag.exp(w)
    b.backward()  # b's graph is released
    assert ag.gradients(a * b.detach() + b * 0.0 + a, x).item() == pytest.approx(np.exp(2.0) * (np.exp(3.0) + 1))
    assert w.grad.item() == pytest.approx(np.exp(3.0))


def test_gradients_of_several_outputs_one_of_which_leads_to_another() -> None:
    x = leaf(2.0)
    y = x * x
    z = y * 3.0
    assert [grad.item() for grad in ag.gradients([y, z], [x, y], retain_graph=True)] == [4 + 12, 1 + 3]
    assert ag.gradients([y, y], x, [1.0, 10.0]).item() == 44


def test_unused_inputs() -> None:
    x, w = leaf(2.0), leaf(3.0)
    with pytest.raises(ag.GraphError, match="appears to not have been used in the graph \\(number 1 of the inputs\\)"):
        ag.gradients(x * x, [x, w])
    assert ag.gradients(x * x, [x, w], allow_unused=True)[1] is None
    with pytest.raises(ag.GraphError, match="an output does not require grad"):
        ag.gradients(ag.zeros(()), x)
    with pytest.raises(ag.ShapeError, match="2 outputs and 1 grad_outputs"):
        ag.gradients([x, x], x, [1.0])


def test_gradients_alias_nothing() -> None:
    a, b = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    g = ag.tensor([1.0, 1.0])
    for create in (False, True):
        found = ag.gradients(a + b, [a, b, a], g, create_graph=create)
        arrays = [*(grad.array for grad in found), g.array]
        assert not any(np.shares_memory(x, y) for x, y in itertools.combinations(arrays, 2))
    (a + b).backward(g, create_graph=True)
    arrays = [a.grad.array, b.grad.array, g.array]
    assert not any(np.shares_memory(x, y) for x, y in itertools.combinations(arrays, 2))


def test_a_graph_of_two_roots() -> None:
    x = leaf(2.0)
    shared = x * x
    first, second = ag.exp(shared), shared * 3.0
    first.backward(retain_graph=True)
    second.backward()
    assert x.grad.item() == pytest.approx(4 * np.exp(4.0) + 12)


def test_a_recorded_backward_leaves_nothing_behind() -> None:
    x = leaf([1.0, 2.0])
    alive = weakref.ref(x)
    gc.collect()
    gc.disable()
    try:
        slope = ag.gradients(ag.sum(x**3), x, create_graph=True)
        node = weakref.ref(slope.grad_fn)
        del slope
        assert node() is None  # by counting alone
        del x
        assert alive() is None
    finally:
        gc.enable()
    x = leaf([1.0, 2.0])
    alive = weakref.ref(x)
    ag.sum(x**3).backward(create_graph=True)
    del x
    gc.collect()  # a gradient with history and its leaf hold each other
    assert alive() is None


# ---- Hard cases of second order


@pytest.mark.parametrize("values", [[2.0, 3.0, 5.0], [0.0, 3.0, 5.0], [0.0, 0.0, 5.0], [0.0, 0.0, 0.0]])
def test_products_with_zeros_twice(values: list[float]) -> None:
    n = len(values)
    expected = np.zeros((n, n))
    for i, j in itertools.permutations(range(n), 2):
        expected[i, j] = np.prod([v for k, v in enumerate(values) if k not in (i, j)])
    np.testing.assert_allclose(ag.hessian(ag.prod)(ag.tensor(values)).array, expected)
    total = np.zeros((n, n))
    for end in range(2, n + 1):  # the sum of all partial products
        for i, j in itertools.permutations(range(end), 2):
            total[i, j] += np.prod([v for k, v in enumerate(values[:end]) if k not in (i, j)])
    np.testing.assert_allclose(ag.hessian(lambda x: ag.sum(ag.cumulative_prod(x)))(ag.tensor(values)).array, total)


def test_a_first_derivative_of_zero_with_a_second() -> None:
    zero = ag.tensor([0.0, 0.0])
    for f, expected in [
        (lambda x: ag.sum(x * x), 2.0),
        (lambda x: ag.sum(x**2), 2.0),
        (lambda x: ag.sum(ag.cos(x)), -1.0),
        (lambda x: ag.sum(ag.where(x > 1.0, x, x * x)), 2.0),
        (lambda x: x @ x, 2.0),
    ]:
        np.testing.assert_allclose(ag.hessian(f)(zero).array, expected * np.eye(2), atol=1e-15)


def test_the_largest_with_ties_twice() -> None:
    # Half of the gradient to each; of x max(x) the second derivative is that of the halves.
    x = ag.tensor([1.0, 1.0, 0.0])
    np.testing.assert_allclose(ag.grad(ag.max)(x).array, [0.5, 0.5, 0.0])
    np.testing.assert_allclose(ag.hessian(lambda x: ag.max(x) ** 2)(x).array[:2, :2], np.full((2, 2), 0.5))


def test_gradcheck_notices_a_detached_factor() -> None:
    with pytest.raises(ag.GradcheckError, match="analytic"):
        ag.gradcheck(lambda x: x * x.detach(), leaf([1.0, 2.0]))
    x = leaf([1.0, 2.0])
    assert ag.gradcheck(lambda x: x * ag.exp(x).detach(), x, raise_exception=False).passed is False
    with pytest.raises(ag.GradcheckError):
        ag.gradgradcheck(lambda x: ag.exp(x) * (x + (x.detach() - x)), x)


THIRD: dict[str, tuple[Callable[[Any], Any], float, float]] = {
    "exp": (ag.exp, 0.5, np.exp(0.5)),
    "log": (ag.log, 0.5, 2 / 0.5**3),
    "sin": (ag.sin, 0.5, -np.cos(0.5)),
    "pow": (lambda x: x**5, 2.0, 60 * 4.0),
    "reciprocal": (ag.reciprocal, 2.0, -6 / 2.0**4),
    "sqrt": (ag.sqrt, 4.0, 0.375 * 4.0**-2.5),
    "multiply": (lambda x: x * x * x, 2.0, 6.0),
    "divide": (lambda x: 1.0 / x, 2.0, -6 / 16),
    "prod": (lambda x: ag.prod(ag.stack([x, x, x])), 2.0, 6.0),
    "det": (lambda x: ag.linalg.det(ag.stack([ag.stack([x, 0 * x]), ag.stack([0 * x, x * x])])), 2.0, 6.0),
    "gamma functions": (ag.special.gammaln, 1.0, -2 * 1.2020569031595942),  # -2 zeta(3)
    "softmax": (lambda x: ag.softmax(ag.stack([x, 0 * x]))[0], 0.0, -0.125),
}


@pytest.mark.parametrize("name", THIRD)
def test_third_derivatives(name: str) -> None:
    f, x, expected = THIRD[name]
    backward = ag.grad(ag.grad(ag.grad(f)))(x)
    assert backward.item() == pytest.approx(expected, rel=1e-9)

    def push(f: Any) -> Any:
        return lambda x: ag.jvp(f, (x,), (1.0,))[1]

    assert push(push(push(f)))(x).item() == pytest.approx(expected, rel=1e-9)
    assert ag.grad(push(ag.grad(f)))(x).item() == pytest.approx(expected, rel=1e-9)
    assert push(ag.grad(push(f)))(x).item() == pytest.approx(expected, rel=1e-9)


def test_second_order_through_writes() -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        y[1:] = y[:-1] * x[1:] ** 2
        y[0] *= x[2]
        view = y[1:]
        view += ag.sin(x[:2])
        return ag.sum(y * y)

    def plain(x: Any) -> Any:
        y0, y1, y2 = x[0], x[0] * x[1] ** 2, x[1] * x[2] ** 2
        y0 = y0 * x[2]
        return y0**2 + (y1 + ag.sin(x[0])) ** 2 + (y2 + ag.sin(x[1])) ** 2

    x = ag.tensor([0.5, 0.7, 1.3])
    np.testing.assert_allclose(ag.grad(f)(x).array, ag.grad(plain)(x).array, rtol=1e-12)
    np.testing.assert_allclose(ag.hessian(f)(x).array, ag.hessian(plain)(x).array, rtol=1e-12)
    np.testing.assert_allclose(ag.jvp(f, (x,), (x,))[1].array, ag.jvp(plain, (x,), (x,))[1].array, rtol=1e-12)
    ag.gradgradcheck(f, leaf([0.5, 0.7, 1.3]))


# ---- Functions of functions


class Pair(NamedTuple):
    a: Any
    b: Any


@dataclasses.dataclass
class Model:
    weight: Any
    bias: Any


def test_containers() -> None:
    x = ag.tensor([1.0, 2.0])
    loss = lambda p: ag.sum(p["m"].weight * x) * p["t"].a + p["t"].b[0] + p["m"].bias  # noqa: E731
    p = {"m": Model(ag.tensor([3.0, 4.0]), 5.0), "t": Pair(2.0, [7.0])}
    found = ag.grad(loss)(p)
    assert found["m"].weight.array.tolist() == [2, 4]
    assert (found["m"].bias.item(), found["t"].a.item(), found["t"].b[0].item()) == (1, 11, 1)
    assert type(found["t"]) is Pair
    out, push = ag.linearize(loss, p)
    ones = {"m": Model(ag.ones(2), 1.0), "t": Pair(1.0, [1.0])}
    assert push(ones).item() == 2 * 3 + 11 + 1 + 1
    assert out.item() == 22 + 12
    jacobian = ag.jacobian(lambda p: {"y": x * p["k"]})({"k": 3.0})
    assert jacobian["y"]["k"].array.tolist() == [1, 2]
    with pytest.raises(ag.ShapeError, match=r"the tangents: expected the structure .*, got "):
        ag.jvp(loss, (p,), ({"m": 1.0},))


def test_arguments_and_results() -> None:
    f = lambda a, b, *, c: (a * b * c, {"aux": a + 1.0})  # noqa: E731
    (value, aux), (da, db) = ag.value_and_grad(f, argnums=(0, 1), has_aux=True)(2.0, 3.0, c=5.0)
    assert (value.item(), aux["aux"].item(), da.item(), db.item()) == (30, 3, 15, 10)
    assert not any(t.requires_grad for t in (value, aux["aux"], da))
    assert ag.grad(f, has_aux=True)(2.0, 3.0, c=5.0)[0].item() == 15
    assert ag.grad(lambda a, b: a * b, argnums=-1)(2.0, 3.0).item() == 2
    y, pullback, aux = ag.vjp(lambda a: (a * a, a), 3.0, has_aux=True)
    assert (y.item(), pullback(1.0)[0].item(), pullback(2.0)[0].item(), aux.item()) == (9, 6, 12, 3)
    out, tangent, aux = ag.jvp(lambda a: (a * a, a), (3.0,), (1.0,), has_aux=True)
    assert (out.item(), tangent.item(), aux.item()) == (9, 6, 3)
    assert ag.hvp(lambda a, b: a * a * b, (2.0, 3.0), (1.0, 10.0))[1].item() == 4
    assert ag.grad(lambda a: ag.tensor(5.0))(1.0).item() == 0  # nothing depends on it


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: ag.grad(lambda x: x)(ag.ones(2)), ag.ShapeError, r"grad needs .* one real number, got float64 \[2\]"),
        (lambda: ag.grad(lambda x: 5)(1.0), ag.DtypeError, "grad: the function must return tensors, got int"),
        (lambda: ag.grad(lambda x: x)(1), ag.DtypeError, "grad takes floating point numbers, got int64"),
        (lambda: ag.grad(lambda x: x)("a"), ag.DtypeError, "grad takes tensors, arrays and numbers .* got str"),
        (lambda: ag.grad(lambda x: x, argnums=1)(1.0), ag.GraphError, "argnums is 1, but .* got 1 positional"),
        (lambda: ag.vjp(lambda x: x, ag.ones(2))[1](ag.ones(3)), ag.ShapeError, r"of shape \[2\] has shape \[3\]"),
        (
            lambda: ag.jvp(lambda x: x, (ag.ones(2),), (ag.ones(3),)),
            ag.ShapeError,
            r"tangent of a \[2\] has shape \[3\]",
        ),
        (lambda: ag.jacobian(lambda x: x, mode="up")(1.0), ValueError, 'mode is "forward", "reverse" or None'),
        (lambda: ag.jacobian(ag.abs, mode="forward")(1j), ag.DtypeError, 'complex arguments needs mode="reverse"'),
        (lambda: ag.vmap(lambda x: x)(1.0), ag.ShapeError, r"axis 0 is outside an argument of shape \[\]"),
        (
            lambda: ag.vmap(lambda x, y: x)(ag.ones(2), ag.ones(3)),
            ag.ShapeError,
            r"different numbers of cases, \[2, 3\]",
        ),
        (lambda: ag.vmap(lambda x: x, in_axes=(0, 0))(ag.ones(2)), ag.ShapeError, "in_axes is .* got 1 positional"),
        (lambda: ag.vmap(lambda x: x if x > 0 else -x)(ag.ones(2)), ag.GraphError, "cannot steer Python's `if`"),
    ],
)
def test_errors(call: Callable[[], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


def test_the_users_tensors_are_not_touched() -> None:
    x, w = leaf([1.0, 2.0]), leaf(3.0)
    x.grad = ag.tensor([7.0, 7.0])
    slope = ag.grad(lambda x: ag.sum(x * x) * w)(x)
    assert x.grad.array.tolist() == [7, 7]
    assert w.grad is None
    # The gradient has history: of x, and of w, which the function closes over.
    ag.sum(slope).backward()
    assert x.grad.array.tolist() == [13, 13]
    assert w.grad.item() == 6
    with ag.no_grad():
        slope = ag.grad(lambda x: ag.sum(x * x) * w)(x)
    assert slope.array.tolist() == [6, 12]
    assert not slope.requires_grad
    with pytest.raises(ag.InplaceError):  # nor written to
        ag.grad(lambda x: ag.sum(x.mul_(2.0)))(ag.ones(2))


def test_perturbations_are_not_confused() -> None:
    # d/dx (x * d/dy (x + y)) is 1, by both modes in all orders.
    inner_forward = lambda x: x * ag.jvp(lambda y: x + y, (1.0,), (1.0,))[1]  # noqa: E731
    inner_backward = lambda x: x * ag.grad(lambda y: x + y)(1.0)  # noqa: E731
    for f in (inner_forward, inner_backward):
        assert ag.jvp(f, (3.0,), (1.0,))[1].item() == 1
        assert ag.grad(f)(3.0).item() == 1


def test_complex_arguments() -> None:
    z = ag.tensor([1.0 + 2.0j, 3.0 - 1.0j])
    np.testing.assert_allclose(ag.grad(lambda z: ag.sum(ag.abs(z) ** 2))(z).array, 2 * z.array)  # steepest ascent
    _, slope = ag.jvp(lambda z: z * z, (z,), (ag.tensor([1.0j, 1.0]),))
    np.testing.assert_allclose(slope.array, 2 * z.array * np.array([1j, 1.0]))
    for mode in ("forward", "reverse"):
        np.testing.assert_allclose(
            ag.jacobian(lambda z: z * z[0], mode=mode)(z).array, [[2 * z.array[0], 0], [z.array[1], z.array[0]]]
        )
        np.testing.assert_allclose(
            ag.jacobian(lambda x: x * (1 + 2j), mode=mode)(ag.ones(2)).array, np.eye(2) * (1 + 2j)
        )
    row = ag.jacobian(lambda z: ag.abs(z) ** 2)(z).array  # d|z|^2 = real(2 conj(z) dz)
    np.testing.assert_allclose(row, np.diag(2 * z.array.conj()))
    ag.gradgradcheck(lambda z: ag.sum(ag.abs(ag.exp(z) * z) ** 2), ag.tensor(z, requires_grad=True))


@pytest.mark.parametrize("mode", ["forward", "reverse", None])
def test_jacobians(mode: str | None) -> None:
    x = np.array([0.5, 1.5, 2.5])
    f = lambda x: (ag.sin(x[:2]) * x[2], {"s": ag.sum(x * x)})  # noqa: E731
    first, second = ag.jacobian(f, mode=mode)(x)
    np.testing.assert_allclose(
        first.array, [[np.cos(0.5) * 2.5, 0, np.sin(0.5)], [0, np.cos(1.5) * 2.5, np.sin(1.5)]], rtol=1e-14
    )
    np.testing.assert_allclose(second["s"].array, 2 * x)
    a, b = ag.jacobian(lambda a, b: a @ b, argnums=(0, 1), mode=mode)(np.ones((2, 3)), x)
    assert (a.shape, b.shape) == ((2, 2, 3), (2, 3))
    np.testing.assert_allclose(a.array[1, 1], x)
    np.testing.assert_allclose(b.array, np.ones((2, 3)))
    value, aux = ag.jacobian(lambda x: (x * x, x[0]), has_aux=True, mode=mode)(x)
    np.testing.assert_allclose(value.array, np.diag(2 * x))
    assert aux.item() == 0.5


def test_hessians_of_rosenbrock_take_one_batched_backward() -> None:
    scipy_optimize = pytest.importorskip("scipy.optimize")
    x = np.random.default_rng(0).normal(size=20)
    f = lambda x: ag.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)  # noqa: E731
    np.testing.assert_allclose(ag.hessian(f)(x).array, scipy_optimize.rosen_hess(x), rtol=1e-12)
    p = np.random.default_rng(1).normal(size=20)
    np.testing.assert_allclose(ag.hvp(f, (x,), (p,)).array, scipy_optimize.rosen_hess_prod(x, p), rtol=1e-12)


def test_vmap_of_gradients_and_gradients_of_vmap() -> None:
    rng = np.random.default_rng(0)
    w, x, y = rng.normal(size=3), rng.normal(size=(5, 3)), rng.normal(size=5)
    loss = lambda w, x, y: (ag.sum(w * x) - y) ** 2  # noqa: E731
    each = 2 * (x @ w - y)[:, None] * x
    np.testing.assert_allclose(ag.vmap(ag.grad(loss), in_axes=(None, 0, 0))(w, x, y).array, each, rtol=1e-13)
    total = lambda w: ag.sum(ag.vmap(loss, in_axes=(None, 0, 0))(w, x, y))  # noqa: E731
    np.testing.assert_allclose(ag.grad(total)(w).array, each.sum(0), rtol=1e-13)
    closed = ag.tensor(w, requires_grad=True)
    ag.sum(ag.vmap(lambda x, y: loss(closed, x, y))(x, y)).backward()
    np.testing.assert_allclose(closed.grad.array, each.sum(0), rtol=1e-13)
    np.testing.assert_allclose(ag.hessian(total)(w).array, 2 * x.T @ x, rtol=1e-12)
    np.testing.assert_allclose(
        ag.vmap(lambda x: ag.jvp(lambda w: ag.sum(w * x), (w,), (w,))[1])(x).array, x @ w, rtol=1e-13
    )
    np.testing.assert_allclose(
        ag.jvp(lambda w: ag.vmap(lambda x: ag.sum(w * x))(x), (w,), (w,))[1].array, x @ w, rtol=1e-13
    )
    np.testing.assert_allclose(ag.vmap(ag.hessian(lambda x: ag.sum(x**3)))(x).array[2], np.diag(6 * x[2]), rtol=1e-13)


def test_vmap_axes_and_containers() -> None:
    x = np.arange(6.0).reshape(2, 3)
    assert ag.vmap(ag.sum, in_axes=1)(x).array.tolist() == x.sum(0).tolist()
    assert ag.vmap(lambda r: r * 2.0, in_axes=1, out_axes=1)(x).array.tolist() == (2 * x).tolist()
    assert ag.vmap(lambda d: {"y": d["a"] + d["b"]}, in_axes=({"a": 0, "b": None},))({"a": x, "b": 1.0})["y"].shape == (
        2,
        3,
    )
    assert ag.vmap(lambda r: ag.tensor(5.0))(x).array.tolist() == [5, 5]  # the same in all cases
    nested = ag.vmap(lambda a: ag.vmap(lambda b: ag.sum(a * b))(x))(x)
    np.testing.assert_allclose(nested.array, x @ x.T)
    nested = ag.vmap(lambda a: ag.grad(lambda s: ag.sum(ag.vmap(lambda b: ag.sum(ag.sin(s * a * b)))(x)))(1.0))(x)
    np.testing.assert_allclose(nested.array, [np.sum(a * x * np.cos(a * x)) for a in x])


def test_vmap_of_writes() -> None:
    def f(row: Any) -> Any:
        y = row * 1.0
        y[0] = y[1] * 2.0
        y[1:] += row[:2]
        return y

    x = np.arange(6.0).reshape(2, 3)
    expected = np.stack([[2 * r[1], r[1] + r[0], r[2] + r[1]] for r in x])
    np.testing.assert_allclose(ag.vmap(f)(x).array, expected)
    np.testing.assert_allclose(ag.grad(lambda x: ag.sum(ag.vmap(f)(x)))(x).array, np.full((2, 3), [1.0, 4.0, 1.0]))


def test_forward_mode_into_new_memory() -> None:
    def f(x: Any) -> Any:
        b = ag.zeros(3)
        b[0] = x
        for i in range(1, 3):
            b[i] = b[i - 1] * x
        return b

    y, slope = ag.jvp(f, (2.0,), (1.0,))
    assert y.array.tolist() == [2, 4, 8]
    assert slope.array.tolist() == [1, 4, 12]

    def viewed(x: Any) -> Any:
        b = ag.zeros(3)
        view = b[1:]
        b[0] = x
        return view

    with pytest.raises(ag.InplaceError, match="in forward mode a value with a tangent cannot be written"):
        ag.jvp(viewed, (2.0,), (1.0,))


def test_tangents_do_not_leave() -> None:
    with pytest.raises(ag.GraphError, match="would lose the history"):
        ag.jvp(lambda x: ag.tensor(np.asarray(x)), (ag.ones(2),), (ag.ones(2),))


# ---- Elsewhere


def test_threads_and_tasks() -> None:
    def work(k: float) -> float:
        return ag.grad(lambda x: ag.jvp(lambda y: y**3 * x, (x,), (1.0,))[1])(k).item()  # d/dx of 3 x^3

    results: dict[float, float] = {}
    threads = [threading.Thread(target=lambda k=k: results.__setitem__(k, work(k))) for k in (1.0, 2.0, 3.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {k: 9 * k * k for k in (1.0, 2.0, 3.0)}

    async def task(k: float) -> float:
        with ag.no_grad():
            await asyncio.sleep(0)
            return work(k)

    async def main() -> list[float]:
        return await asyncio.gather(*[task(k) for k in (1.0, 2.0)])

    assert asyncio.run(main()) == [9, 36]


def test_gradcheck_tells_a_kink_from_a_wrong_rule() -> None:
    with pytest.raises(ag.GradcheckError, match="non-differentiable here: the slope is"):
        ag.gradcheck(lambda x: ag.where(x > 0.0, x, -x), leaf([0.0]))
    result = ag.gradcheck(ag.relu, leaf([1.0, 3e-7]), raise_exception=False)  # the step reaches over the kink
    assert result.notes.startswith("input 0 element [1]: non-differentiable here")
    for step in (1e-6, 0.1):
        result = ag.gradcheck(lambda x: x**2 * x.detach(), leaf([1.0]), eps=step, raise_exception=False)
        assert (result.passed, result.notes) == (False, "")


def test_gradcheck_in_all_its_ways() -> None:
    x = leaf([0.5, 1.5])
    assert ag.gradcheck(
        lambda x: ag.exp(x) * x[0], x, projections=3, check_forward_ad=True, check_batched_grad=True
    ).passed
    assert ag.gradcheck(lambda x: ag.exp(x) * x[0], x, fast_mode=True).passed
    wrong = ag.gradcheck(lambda x: x * ag.exp(x).detach(), x, fast_mode=True, raise_exception=False)
    assert wrong.report.startswith("along a random direction: analytic")
    z = ag.tensor([0.5 + 1.0j, -0.5j], requires_grad=True)
    assert ag.gradcheck(
        lambda z: ag.abs(z * z), z, fast_mode=True, check_forward_ad=True, check_batched_grad=True
    ).passed


@pytest.mark.slow
def test_a_hessian_takes_at_most_25_gradients() -> None:
    import time

    x = np.random.default_rng(0).normal(size=200)
    f = lambda x: ag.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)  # noqa: E731
    tensor = ag.tensor(x, requires_grad=True)

    def seconds(function: Callable[[], Any]) -> float:
        start = time.perf_counter()
        function()
        return time.perf_counter() - start

    pairs = [(seconds(lambda: ag.gradients(f(tensor), tensor)), seconds(lambda: ag.hessian(f)(x))) for _ in range(30)]
    gradient, hessian = (min(column) for column in zip(*pairs, strict=True))
    assert hessian < 25 * gradient


def test_derivatives_of_jacobians_and_hessians() -> None:
    a = ag.tensor([2.0, 1.0])
    for mode in ("forward", "reverse"):
        f = lambda a, mode=mode: ag.sum(ag.jacobian(lambda x: x**3, mode=mode)(a))  # noqa: E731
        np.testing.assert_allclose(ag.grad(f)(a).array, 6 * a.array)
        np.testing.assert_allclose(ag.jvp(f, (a,), (a,))[1].array, 6 * a.array @ a.array)
    g = lambda a: ag.sum(ag.hessian(lambda x: ag.sum(x**3 * a[0]))(a))  # noqa: E731  6 a0 (a0 + a1)
    np.testing.assert_allclose(ag.grad(g)(a).array, [6 * (2 * 2 + 1), 6 * 2])
    np.testing.assert_allclose(ag.hessian(g)(a).array, [[12, 6], [6, 0]])
    h = lambda a: ag.sum(ag.jacobian(lambda x: x**3 * a[0])(a))  # noqa: E731  3 a0 (a0^2 + a1^2)
    np.testing.assert_allclose(ag.hessian(h)(a).array, [[18 * 2, 6], [6, 6 * 2]])


def test_vmap_reads_another_index_in_each_case() -> None:
    table, indices = np.arange(12.0).reshape(4, 3), ag.tensor([0, 2, 2])
    for read, columns in [
        (lambda t, k: ag.take(t, k, axis=0), slice(None)),
        (lambda t, k: t[k], slice(None)),
        (lambda t, k: t[k, 1:], slice(1, None)),
    ]:
        rows = ag.vmap(read, in_axes=(None, 0))(table, indices)
        np.testing.assert_allclose(rows.array, table[[0, 2, 2], columns])
        loss = lambda t, read=read: ag.sum(ag.vmap(lambda k: read(t, k) ** 2)(indices))  # noqa: E731
        expected = np.zeros((4, 3))
        np.add.at(expected, ([[0], [2], [2]], np.arange(3)[columns]), 2 * table[[0, 2, 2], columns])
        np.testing.assert_allclose(ag.grad(loss)(table).array, expected)


X0 = np.array([0.3, 0.7, 1.1])


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (lambda x: ag.sum(ag.vmap(lambda a, b: a * b)(x, x)), 2 * X0),
        (lambda x: ag.sum(ag.vmap(lambda a: a * 1.0)(x)) + ag.sum(x**2), 1 + 2 * X0),
        (lambda x: ag.sum(ag.vmap(lambda a: a**2 * x[0])(x)), 2 * X0 * 0.3 + np.array([np.sum(X0**2), 0, 0])),
        (lambda x: ag.sum(ag.jacobian(lambda y: x * y**2)(X0)), 2 * X0),
        (lambda x: ag.sum(ag.jacobian(lambda y: x * y**2, mode="forward")(X0)), 2 * X0),
        (lambda x: ag.sum(ag.hessian(lambda y: ag.sum(x * y**4))(X0)), 12 * X0**2),
        (lambda x: ag.sum(ag.jacobian(lambda y: y**3 * x)(x) @ x), 12 * X0**3),
        (lambda x: ag.sum(ag.jacobian(lambda y: y**3 * x, mode="forward")(x) @ x), 12 * X0**3),
    ],
)
def test_batches_beside_other_uses_of_the_input(f: Callable[[Any], Any], expected: np.ndarray) -> None:
    np.testing.assert_allclose(ag.grad(f)(X0).array, expected, rtol=1e-12)
    np.testing.assert_allclose(ag.jvp(f, (X0,), (X0,))[1].array, expected @ X0, rtol=1e-12)
    numeric = np.stack([(ag.grad(f)(X0 + e).array - ag.grad(f)(X0 - e).array) / 2e-6 for e in 1e-6 * np.eye(3)])
    for hessian in (ag.hessian(f)(X0), ag.jacobian(ag.grad(f), mode="forward")(X0)):
        np.testing.assert_allclose(hessian.array, numeric, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(ag.linearize(f, X0)[1](X0).array, expected @ X0, rtol=1e-12)


def test_closures_of_jacobians_get_their_gradients() -> None:
    w = leaf(X0)
    ag.sum(ag.jacobian(lambda x: w * x**2)(X0)).backward()
    np.testing.assert_allclose(w.grad.array, 2 * X0, rtol=1e-12)
    with ag.no_grad():
        w -= 0.1 * w.grad


def test_results_of_tangents_of_pullbacks_have_no_history() -> None:
    _, t = ag.jvp(lambda x: ag.vjp(lambda y: y**3, x)[1](x)[0], (X0,), (X0,))
    assert not t.requires_grad
    np.testing.assert_allclose(t.array, 9 * X0**3, rtol=1e-12)  # of 3 x^3


def test_vmap_of_what_returns_a_number() -> None:
    assert ag.vmap(lambda x: 3.0)(np.ones((2, 3))).array.tolist() == [3, 3]
    with pytest.raises(ag.DtypeError, match="jacobian: the function must return tensors, got ndarray"):
        ag.jacobian(lambda x: np.ones(2), mode="forward")(X0)


def test_jacobians_of_what_forward_mode_refuses_go_in_reverse() -> None:
    def fill(x: Any) -> Any:
        y = ag.zeros((3, 3))
        for i in range(3):
            row = y[i]
            row[:] = x * (i + 1)
        return y

    expected = np.stack([k * np.eye(3) for k in (1, 2, 3)])
    np.testing.assert_allclose(ag.jacobian(fill)(X0).array, expected)


@pytest.mark.parametrize("shape", [(2, 2), (3, 2)])
def test_second_derivatives_of_singular_values_in_batches(shape: tuple[int, int]) -> None:
    matrices = np.random.default_rng(0).normal(size=(2, *shape))
    f = lambda m: ag.sum(ag.linalg.svdvals(m) ** 2)  # noqa: E731  the sum of the squares of the elements
    size = matrices[0].size
    expected = np.broadcast_to(2 * np.eye(size).reshape(*shape, *shape), (2, *shape, *shape))
    np.testing.assert_allclose(ag.vmap(ag.hessian(f))(matrices).array, expected, atol=1e-12)

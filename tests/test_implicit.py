"""Roots and fixed points: values and derivatives of every order, in both modes, and refusals."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from devices import NAMES, flags_of, make, to_host

import arraygrad as ag
from arraygrad import implicit

Scalar = Callable[[Any], ag.Tensor]


def forward(f: Scalar) -> Scalar:
    return lambda x: ag.jvp(f, (x,), (1.0,))[1]


def cube_root(a: Any) -> ag.Tensor:
    return ag.implicit_root(lambda x, a: x**3 - a, 1.0, a)


def lambert(a: Any) -> ag.Tensor:
    return ag.implicit_root(lambda x, a: x * ag.exp(x) - a, 0.3, a)


def cosine(a: Any) -> ag.Tensor:
    return ag.fixed_point(lambda x, a: ag.cos(a * x), 0.5, a)


@pytest.fixture(params=["matrix", "products"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Solve with the Jacobian, or with products alone."""
    if request.param == "products":
        monkeypatch.setattr(implicit, "DENSE", 0)
    return request.param


@pytest.mark.parametrize(
    ("f", "at", "derivatives"),
    [
        (cube_root, 8.0, (2.0, 1 / 12, -1 / 144, 5 / 3456)),  # by hand; the others from mpmath with 40 digits
        (lambert, 1.0, (0.567143290409783873, 0.361896256634889221, -0.214540646282143706, 0.273668524281601373)),
        (cosine, 1.0, (0.7390851332151607, -0.2974743415098323, 0.1533378913143361, 0.1078816812601054)),
    ],
)
@pytest.mark.parametrize("modes", ["rrr", "fff", "rff", "frf", "ffr", "frr"])
def test_three_derivatives_in_every_order_of_modes(
    way: str, f: Scalar, at: float, derivatives: tuple[float, ...], modes: str
) -> None:
    assert f(ag.tensor(at)).item() == pytest.approx(derivatives[0], rel=1e-12)
    for mode, expected in zip(modes, derivatives[1:], strict=True):
        f = ag.grad(f) if mode == "r" else forward(f)
        assert f(ag.tensor(at)).item() == pytest.approx(expected, rel=1e-9)


def test_mixed_derivatives_by_two_arguments(way: str) -> None:
    """Kepler's equation, from mpmath with 40 digits."""

    def kepler(e: Any, m: Any) -> ag.Tensor:
        return ag.implicit_root(lambda x, e, m: x - e * ag.sin(x) - m, 1.0, e, m)

    at = ag.tensor(0.3), ag.tensor(1.1)
    expected = {
        (): 1.395397084740938,
        (0,): 1.039051700920322,
        (1,): 1.055242337782277,
        (0, 0): 0.04612737103076507,
        (0, 1): -0.1474673785777673,
        (1, 0): -0.1474673785777673,
        (1, 1): -0.3471065644712807,
        (0, 1, 0): -2.315431748435588,
        (1, 0, 1): -1.075416750020612,
        (0, 0, 0): -3.446678122355801,
        (1, 1, 1): 0.2776143636621243,
    }
    for arguments, value in expected.items():
        f: Any = kepler
        for argument in arguments:
            f = ag.grad(f, argument)
        assert f(*at).item() == pytest.approx(value, rel=1e-9)


MATRIX = np.array([[3.0, 0.5, -0.2], [0.1, 2.0, 0.4], [-0.3, 0.2, 2.5]])
RIGHT = np.array([1.0, -0.5, 2.0])


def system(x: ag.Tensor, matrix: ag.Tensor, right: ag.Tensor) -> ag.Tensor:
    return matrix @ x + x**3 - right


@pytest.mark.parametrize("device", NAMES)
def test_a_system_against_finite_differences(way: str, device: str) -> None:
    def f(matrix: ag.Tensor, right: ag.Tensor) -> ag.Tensor:
        return ag.implicit_root(system, make(device, np.zeros(3)), matrix, right)

    with flags_of(device):
        matrix, right = make(device, MATRIX, requires_grad=True), make(device, RIGHT, requires_grad=True)
        x = to_host(f(matrix, right))
        np.testing.assert_allclose(MATRIX @ x + x**3, RIGHT, rtol=1e-13)
        assert device == "cpu-readonly" or ag.gradcheck(f, [matrix, right])
        by_right = ag.gradients(ag.sum(f(matrix, right)), right)
        np.testing.assert_allclose(to_host(by_right), np.linalg.inv(MATRIX + np.diag(3 * x**2)).sum(0), rtol=1e-12)
        assert f(matrix, right).device == by_right.device == matrix.device
    if device == "cpu":
        assert ag.gradgradcheck(f, [matrix, right])


def test_containers(way: str) -> None:
    def f(x: dict[str, Any], p: dict[str, Any], sign: float, name: str) -> Any:
        assert (sign, name) == (-1.0, "name")
        u, (v,) = x["u"], x["rest"]
        return [u * u + v - p["a"][0], ag.stack([v + sign * p["b"]])]

    def solution(p: dict[str, Any]) -> Any:
        return ag.implicit_root(f, {"u": ag.ones(2), "rest": (0.5,)}, p, -1.0, "name")

    p = {"a": [ag.tensor([5.0, 17.0])], "b": ag.tensor(1.0)}
    x = solution(p)  # u^2 = a - b, v = b
    np.testing.assert_allclose(to_host(x["u"]), [2.0, 4.0], rtol=1e-14)
    assert x["rest"][0].item() == pytest.approx(1.0)
    slopes = ag.grad(lambda p: ag.sum(solution(p)["u"]))(p)
    np.testing.assert_allclose(to_host(slopes["a"][0]), [0.25, 0.125], rtol=1e-12)
    assert slopes["b"].item() == pytest.approx(-0.375)
    tangents = ag.jvp(solution, (p,), ({"a": [ag.ones(2)], "b": 2.0},))[1]
    np.testing.assert_allclose(to_host(tangents["u"]), [-0.25, -0.125], rtol=1e-12)
    assert tangents["rest"][0].item() == pytest.approx(2.0)


def test_complex_unknowns_of_equations_that_are_not_holomorphic(way: str) -> None:
    def f(a: ag.Tensor, c: ag.Tensor) -> ag.Tensor:
        start = ag.zeros(2, dtype=ag.complex128)
        return ag.implicit_root(lambda z, a, c: z + 0.3 * ag.conj(z) + c * z * ag.abs(z) ** 2 - a, start, a, c)

    a = ag.tensor([1.0 + 0.5j, -0.2 + 2.0j], requires_grad=True)
    c = ag.tensor(0.2, requires_grad=True)
    z = to_host(f(a, c))
    np.testing.assert_allclose(z + 0.3 * z.conj() + 0.2 * z * np.abs(z) ** 2, to_host(a), rtol=1e-13)
    assert f(a, c).dtype == ag.complex128
    assert ag.gradcheck(f, [a, c])
    assert ag.gradgradcheck(f, [a, c])


def test_single_precision_stays(way: str) -> None:
    a = ag.tensor([2.0, 3.0], dtype=ag.float32, requires_grad=True)
    for solve in (
        lambda a: ag.implicit_root(lambda u, a: u * u - a, ag.ones(2, dtype=ag.float32), a),
        lambda a: ag.fixed_point(lambda u, a: 0.5 * (u + a / u), ag.ones(2, dtype=ag.float32), a),
    ):
        x = solve(a)
        assert x.dtype == ag.float32
        np.testing.assert_allclose(to_host(x), np.sqrt([2.0, 3.0]), rtol=1e-6)
        slope = ag.gradients(ag.sum(x), a)
        assert slope.dtype == ag.float32
        np.testing.assert_allclose(to_host(slope), 0.5 / np.sqrt([2.0, 3.0]), rtol=1e-5)


def test_many_unknowns_need_no_matrix() -> None:
    """A nonlinear equation of diffusion on 300 points, whose Jacobian is symmetric and known."""
    n = 300

    def f(u: ag.Tensor, force: ag.Tensor) -> ag.Tensor:
        padded = ag.pad(u, 1)
        return 2.0 * u - padded[:-2] - padded[2:] + u**3 + u - force

    force = np.random.default_rng(0).normal(size=n)
    x = ag.implicit_root(f, ag.zeros(n), a := ag.tensor(force, requires_grad=True))
    u = to_host(x.detach())
    jacobian = np.diag(3.0 + 3 * u**2) - np.eye(n, k=1) - np.eye(n, k=-1)
    weights = np.random.default_rng(1).normal(size=n)
    slope = ag.gradients(ag.sum(x * weights), a, create_graph=True)
    np.testing.assert_allclose(to_host(slope), np.linalg.solve(jacobian, weights), rtol=1e-9, atol=1e-12)
    # The derivative of |slope|^2 / 2 by the force: first by u through the Jacobian, then by u's dependence on it.
    s = to_host(slope)
    by_u = -6 * u * s * np.linalg.solve(jacobian, s)
    curvature = ag.gradients(0.5 * ag.sum(slope * slope), a)
    np.testing.assert_allclose(to_host(curvature), np.linalg.solve(jacobian, by_u), rtol=1e-8, atol=1e-11)
    tangent = ag.jvp(lambda a: ag.implicit_root(f, ag.zeros(n), a), (force,), (weights,))[1]
    np.testing.assert_allclose(to_host(tangent), np.linalg.solve(jacobian, weights), rtol=1e-9, atol=1e-12)


def test_any_solver_does() -> None:
    from scipy.optimize import brentq, root

    def bracketed(f: Any, x0: ag.Tensor, a: ag.Tensor) -> float:
        assert not a.requires_grad
        assert not ag.is_grad_enabled()
        return brentq(lambda x: f(ag.tensor(x), a).item(), 0.0, 10.0)

    def square_root(a: Any) -> ag.Tensor:
        return ag.implicit_root(lambda x, a: x * x - a, 1.0, a, solver=bracketed)

    assert square_root(ag.tensor(4.0)).item() == pytest.approx(2.0)
    assert ag.grad(ag.grad(square_root))(4.0).item() == pytest.approx(-1 / 32, rel=1e-9)

    def hybrid(f: Any, x0: ag.Tensor, *args: Any) -> np.ndarray:
        return root(lambda x: to_host(f(ag.tensor(x), *args)), to_host(x0), tol=1e-12).x

    right = ag.tensor(RIGHT, requires_grad=True)
    assert ag.gradcheck(lambda right: ag.implicit_root(system, ag.zeros(3), MATRIX, right, solver=hybrid), [right])


def test_the_derivative_of_a_minimum() -> None:
    """The ridge regression of targets: `(X^T X + s I)^-1 X^T y`, by s and by y."""
    rng = np.random.default_rng(5)
    inputs, targets = rng.normal(size=(10, 3)), rng.normal(size=10)

    def f(w: ag.Tensor, s: ag.Tensor, y: ag.Tensor) -> ag.Tensor:
        return 0.5 * ag.sum((inputs @ w - y) ** 2) + 0.5 * s * ag.sum(w * w)

    def best(s: ag.Tensor, y: ag.Tensor) -> ag.Tensor:
        def solver(_: Any, w0: ag.Tensor, *args: Any) -> ag.Tensor:
            return ag.minimize(f, w0, args=args, method="Newton-CG", tol=1e-12).x

        return ag.implicit_root(ag.grad(f), ag.zeros(3), s, y, solver=solver)

    by_s, by_y = ag.grad(lambda s, y: ag.sum(best(s, y)), (0, 1))(0.7, targets)
    inverse = np.linalg.inv(inputs.T @ inputs + 0.7 * np.eye(3))
    np.testing.assert_allclose(to_host(by_y), np.ones(3) @ inverse @ inputs.T, rtol=1e-9, atol=1e-12)
    assert by_s.item() == pytest.approx(-np.sum(inverse @ inverse @ inputs.T @ targets), rel=1e-9)


def test_fixed_points_with_and_without_extrapolation() -> None:
    rng = np.random.default_rng(3)
    weights = rng.normal(size=(20, 20))
    weights *= 0.9 / np.linalg.norm(weights, 2)
    calls = []

    def f(x: ag.Tensor, w: ag.Tensor, b: ag.Tensor) -> ag.Tensor:
        calls.append(None)
        return ag.tanh(w @ x + b)

    w, b = ag.tensor(weights, requires_grad=True), ag.tensor(rng.normal(size=20), requires_grad=True)
    counts = []
    for options in ({}, {"memory": 0}):
        calls.clear()
        x = ag.fixed_point(f, ag.zeros(20), w, b, **options)
        counts.append(len(calls))
        np.testing.assert_allclose(to_host(x), np.tanh(weights @ to_host(x) + to_host(b)), atol=1e-11)
    assert counts[0] < counts[1]
    # (I - D W)^T v = g by hand, with D the slope of tanh.
    slope = np.diag(1 - to_host(x) ** 2)
    v = np.linalg.solve((np.eye(20) - slope @ weights).T, np.ones(20))
    by_w, by_b = ag.gradients(ag.sum(x), (w, b))
    np.testing.assert_allclose(to_host(by_b), slope @ v, rtol=1e-8)
    np.testing.assert_allclose(to_host(by_w), np.outer(slope @ v, to_host(x)), rtol=1e-8)


def test_a_looser_tolerance_needs_fewer_iterations() -> None:
    calls = []

    def halved(x: ag.Tensor) -> ag.Tensor:
        calls.append(None)
        return 0.5 * x + 1.0

    x = ag.fixed_point(halved, 0.0, memory=0, tol=1e-3)
    assert x.item() == pytest.approx(2.0, abs=1e-2)
    assert len(calls) < 15


def test_nothing_of_a_graph_stays() -> None:
    gc.collect()
    gc.disable()
    try:
        a = ag.tensor(4.0, requires_grad=True)
        middle = a * 2.0
        x = ag.implicit_root(lambda x, a: x * x - a, 1.0, middle)
        references = [weakref.ref(middle), weakref.ref(x), weakref.ref(x.grad_fn)]
        del middle
        assert references[0]() is None  # the graph holds what it saved, not tensors
        del x
        assert [reference() for reference in references] == [None] * 3
    finally:
        gc.enable()


def test_no_arguments_and_no_history() -> None:
    assert not ag.implicit_root(lambda x: x * x - 4.0, 1.0).requires_grad
    x = ag.implicit_root(lambda x, a: x * x - a, ag.tensor(1.0, requires_grad=True), ag.tensor(4.0))
    assert (x.item(), x.requires_grad) == (2.0, False)
    with ag.no_grad():
        assert not ag.implicit_root(lambda x, a: x * x - a, 1.0, ag.tensor(4.0, requires_grad=True)).requires_grad


def test_failures_say_what_to_do() -> None:
    a = ag.tensor(1.0, requires_grad=True)
    with pytest.raises(ag.ConvergenceError, match=r"implicit_root: .*residual's norm is .*pass solver="):
        ag.implicit_root(lambda x, a: x * x + a, 1.0, a)
    with pytest.raises(ag.ConvergenceError, match="Jacobian cannot be inverted after 0 of Newton's steps"):
        ag.implicit_root(lambda x, a: x * x - a, 0.0, a)
    with pytest.raises(ag.ConvergenceError, match=r"fixed_point: 50 iterations have not converged.*raise tol"):
        ag.fixed_point(lambda x, a: 2.0 * x + a, 1.0, a, memory=0, maxiter=50)
    with pytest.raises(ag.ConvergenceError, match="has found numbers that are not finite"):
        ag.implicit_root(lambda x, a: x - a, 0.0, a, solver=lambda f, x0, a: x0 * float("nan"))
    with pytest.raises(RuntimeError, match="my solver gave up"):
        ag.implicit_root(lambda x, a: x - a, 0.0, a, solver=_give_up)


def _give_up(*args: Any) -> None:
    raise RuntimeError("my solver gave up")


def test_a_singular_jacobian_has_no_derivative(way: str) -> None:
    x = ag.implicit_root(
        lambda x, a: x * x * ag.tensor([1.0, 1.0]) - a,
        ag.zeros(2),
        ag.tensor([0.0, 0.0], requires_grad=True),
        solver=lambda f, x0, a: ag.zeros(2),
    )
    with pytest.raises(ag.ConvergenceError, match="cannot be inverted at the solution, so it has no derivative there"):
        ag.sum(x).backward()


def test_wrong_structures_and_shapes() -> None:
    a = ag.tensor([1.0, 2.0])
    with pytest.raises(ag.ShapeError, match="f returned 1 numbers for 2 unknowns"):
        ag.implicit_root(lambda x, a: ag.sum(x - a), ag.zeros(2), a)
    with pytest.raises(ag.ShapeError, match=r"fixed_point: what f returned has shape \[\], expected \[2\]"):
        ag.fixed_point(lambda x, a: ag.sum(x - a), ag.zeros(2), a)
    with pytest.raises(ag.ShapeError, match=r"fixed_point: what f returned: expected the structure \(\*, \*\), got \*"):
        ag.fixed_point(lambda x, a: a, (0.0, 1.0), a)
    with pytest.raises(ag.DtypeError, match="fixed_point: what f returned is complex where real numbers were expected"):
        ag.fixed_point(lambda x, a: x * 1j, ag.zeros(2), a)
    with pytest.raises(ag.ShapeError, match=r"what the solver returned has shape \[3\], expected \[2\]"):
        ag.implicit_root(lambda x, a: x - a, ag.zeros(2), a, solver=lambda f, x0, a: ag.zeros(3))
    with pytest.raises(ag.DtypeError, match="implicit_root takes floating point numbers, got int64"):
        ag.implicit_root(lambda x, a: x - a, ag.tensor([1, 2]), a)


def test_history_that_would_be_lost_is_refused() -> None:
    a = ag.tensor(4.0, requires_grad=True)
    with pytest.raises(ag.GraphError, match=r"implicit_root: f uses a tensor with history .* pass it as an argument"):
        ag.implicit_root(lambda x: x * x - a, 1.0)
    with pytest.raises(ag.GraphError, match="fixed_point: f uses a tensor with history"):
        ag.jvp(lambda a: ag.fixed_point(lambda x: ag.cos(a * x), 1.0), (1.0,), (1.0,))


def test_batches_and_jacobians(way: str) -> None:
    rows = np.array([RIGHT, 2 * RIGHT, -RIGHT])

    def solve(right: ag.Tensor, start: ag.Tensor) -> ag.Tensor:
        return ag.implicit_root(system, start, ag.tensor(MATRIX), right)

    x = to_host(ag.vmap(solve)(rows, np.zeros((3, 3))))
    np.testing.assert_allclose(x @ MATRIX.T + x**3, rows, rtol=1e-12)
    expected = np.linalg.inv(MATRIX + np.diag(3 * x[0] ** 2))
    for mode in ("forward", "reverse"):
        jacobian = ag.jacobian(lambda right: solve(right, ag.zeros(3)), mode=mode)(ag.tensor(RIGHT))
        np.testing.assert_allclose(to_host(jacobian), expected, rtol=1e-10)
    # The Hessian against differences of the gradient.
    gradient = ag.grad(lambda right: 0.5 * ag.sum(solve(right, ag.zeros(3)) ** 2))
    steps = [(to_host(gradient(RIGHT + h)) - to_host(gradient(RIGHT - h))) / 2e-5 for h in 1e-5 * np.eye(3)]
    hessian = ag.hessian(lambda right: 0.5 * ag.sum(solve(right, ag.zeros(3)) ** 2))(RIGHT)
    np.testing.assert_allclose(to_host(hessian), steps, rtol=1e-6, atol=1e-8)


def test_iterations_that_run_away_are_stopped() -> None:
    with (
        np.errstate(over="ignore", invalid="ignore"),
        pytest.raises(ag.ConvergenceError, match=r"^fixed_point: \d iter"),
    ):
        ag.fixed_point(lambda x, a: x * x * a, 1e100, ag.tensor(1.0), memory=0)


def test_gradients_inside_vmap() -> None:
    root = lambda a: ag.implicit_root(lambda x, a: x * x - a, 1.0, a)  # noqa: E731
    a = np.array([1.0, 4.0, 9.0])
    np.testing.assert_allclose(ag.vmap(ag.grad(root))(a).array, 0.5 / np.sqrt(a), rtol=1e-9)
    point = lambda a: ag.fixed_point(lambda x, a: 0.5 * x + a, 0.0, a)  # noqa: E731
    np.testing.assert_allclose(ag.vmap(ag.grad(point))(a).array, 2.0, rtol=1e-9)
    both = ag.vmap(ag.jacobian(lambda a: ag.implicit_root(lambda x, a: x - 2.0 * a, np.zeros(2), a)))(np.ones((3, 2)))
    np.testing.assert_allclose(both.array, np.broadcast_to(2.0 * np.eye(2), (3, 2, 2)), rtol=1e-9)

"""Minimizing with SciPy's methods: containers, devices, data types, what the methods are given, refusals."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from devices import NAMES, flags_of, make, to_host

import arraygrad as ag
from arraygrad.minimizing import METHODS

MATRIX = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]])
TARGET = np.array([1.0, -2.0, 0.5])


def bowl(p: ag.Tensor) -> ag.Tensor:
    """Least at the solution of `MATRIX @ p = TARGET`."""
    matrix, target = (ag.tensor(x, dtype=p.dtype, device=p.device) for x in (MATRIX, TARGET))
    return 0.5 * (p @ (matrix @ p)) - target @ p


@pytest.mark.parametrize("method", METHODS)
def test_every_method_finds_the_least_point_of_a_paraboloid(method: str) -> None:
    start = ag.tensor([1.0, 1.0, 1.0], requires_grad=True)
    result = ag.minimize(bowl, start, method=method)
    assert result.success
    solution = np.linalg.solve(MATRIX, TARGET)
    np.testing.assert_allclose(to_host(result.x), solution, atol=2e-3)
    assert result.fun == pytest.approx(-0.5 * TARGET @ solution, abs=1e-5)
    assert (result.grad is None) == (METHODS[method] == "")
    if result.grad is not None:
        np.testing.assert_allclose(to_host(result.grad), MATRIX @ to_host(result.x) - TARGET, atol=1e-12)
    assert (result.nhev > 0) == (METHODS[method] in ("hessp", "hess"))
    assert start.grad is None
    assert not result.x.requires_grad


@pytest.mark.parametrize("device", NAMES)
@pytest.mark.parametrize("method", ["BFGS", "Newton-CG"])
def test_results_are_structured_placed_and_typed_as_the_start(device: str, method: str) -> None:
    def f(p: Any, offset: ag.Tensor) -> ag.Tensor:
        assert p["w"].dtype == ag.float32
        return ag.sum((p["w"] - offset) ** 2) + (p["rest"][0] - 3.0) ** 2

    with flags_of(device):
        start = {"w": make(device, np.ones((2, 2), np.float32)), "rest": [make(device, np.asarray(0.0))]}
        offset = make(device, np.asarray([[0.5, -1.0], [2.0, 0.0]], np.float32))
        result = ag.minimize(f, start, args=(offset,), method=method, tol=1e-4)
        for got, given in ((result.x, start), (result.grad, start)):
            for a, b in ((got["w"], given["w"]), (got["rest"][0], given["rest"][0])):
                assert (a.shape, a.dtype, a.device) == (b.shape, b.dtype, b.device)
        np.testing.assert_allclose(to_host(result.x["w"]), to_host(offset), atol=1e-3)
        assert result.x["rest"][0].item() == pytest.approx(3.0, abs=1e-3)
        np.testing.assert_array_equal(to_host(start["w"]), 1.0)


@pytest.mark.parametrize("method", ["L-BFGS-B", "trust-ncg", "Nelder-Mead"])
def test_complex_numbers_are_optimized_by_their_parts(method: str) -> None:
    target = ag.tensor([1 + 2j, -0.5j])
    result = ag.minimize(lambda z: ag.sum(ag.abs(z - target) ** 2), ag.zeros(2, dtype=ag.complex128), method=method)
    assert result.x.dtype == ag.complex128
    np.testing.assert_allclose(to_host(result.x), to_host(target), atol=1e-4)
    if result.grad is not None:
        np.testing.assert_allclose(to_host(result.grad), 2 * (to_host(result.x) - to_host(target)), atol=1e-12)


def test_products_with_the_hessian_of_complex_numbers_are_those_by_real_and_imaginary_parts() -> None:
    # |z^2 - 1|^2 at 2 + 1j: the Hessian by x and y, by hand, is [[12x^2 + 4y^2 - 4, 8xy], [8xy, 4x^2 + 12y^2 + 4]].
    from arraygrad.minimizing import _Problem

    problem = _Problem(lambda z: ag.abs(z * z - 1.0) ** 2, 2 + 1j, (), None, True)
    np.testing.assert_allclose(problem.hessian(np.array([2.0, 1.0])), [[48.0, 16.0], [16.0, 32.0]], rtol=1e-12)


def test_callbacks_get_the_current_point_and_value_and_may_stop() -> None:
    seen = []

    def callback(x: dict[str, ag.Tensor], value: float) -> None:
        assert value == pytest.approx(bowl(x["p"]).item(), abs=1e-14)
        seen.append(value)
        if len(seen) == 2:
            raise StopIteration

    for method in ("BFGS", "Powell", "trust-constr"):
        seen.clear()
        result = ag.minimize(bowl_of, {"p": ag.ones(3)}, method=method, callback=callback)
        assert len(seen) == 2
        assert seen[1] < seen[0]
        assert not result.success


def bowl_of(x: dict[str, ag.Tensor]) -> ag.Tensor:
    return bowl(x["p"])


def test_options_and_tolerance_reach_the_method() -> None:
    result = ag.minimize(bowl, ag.ones(3), method="CG", options={"maxiter": 1})
    assert (result.success, result.nit) == (False, 1)
    assert "iterations" in result.message
    assert ag.minimize(bowl, ag.ones(3), method="BFGS", tol=1e3).nit == 0


def test_progress_shows_the_value(capsys: pytest.CaptureFixture[str]) -> None:
    ag.minimize(bowl, ag.ones(3), progress=True)
    assert "iteration" in capsys.readouterr().err


def test_progress_without_tqdm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with pytest.raises(ag.DeviceError, match="needs tqdm: pip install tqdm"):
        ag.minimize(bowl, ag.ones(3), progress=True)


def test_without_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(ag.DeviceError, match=r"minimize needs SciPy: pip install 'arraygrad\[special\]'"):
        ag.minimize(bowl, ag.ones(3))


def test_parameters_of_the_function_get_no_history() -> None:
    scale = ag.tensor(2.0, requires_grad=True)
    result = ag.minimize(lambda x, s: (s * x - 4.0) ** 2, 0.0, args=(scale,))
    assert result.x.item() == pytest.approx(2.0, abs=1e-5)
    assert not result.x.requires_grad


def test_refusals() -> None:
    with pytest.raises(ag.ShapeError, match="minimize has no method 'newton'; SciPy's are Nelder-Mead, Powell"):
        ag.minimize(bowl, ag.ones(3), method="newton")
    with pytest.raises(ag.DtypeError, match="minimize takes floating point numbers, got int64"):
        ag.minimize(bowl, ag.tensor([1, 2, 3]))
    with pytest.raises(ag.DtypeError, match=r"minimize takes tensors, arrays and numbers .* got 'three'"):
        ag.minimize(bowl, "three")
    with pytest.raises(ag.ShapeError, match=r"one real number, got float64 \[3\]"):
        ag.minimize(lambda x: x * x, ag.ones(3))
    with pytest.raises(ag.ShapeError, match=r"one real number, got complex128 \[\]"):
        ag.minimize(lambda x: ag.sum(x) * 1j, ag.ones(3), method="Powell")

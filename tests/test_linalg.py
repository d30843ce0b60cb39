"""Linear algebra where finite differences do not decide: names, singular and degenerate matrices, gauges, refusals.

Numbers without a derivation beside them are PyTorch's (2.13). For singular matrices those of det are not: there it
gives 0.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import array_api_strict
import numpy as np
import pytest

import arraygrad as ag
from arraygrad import linalg

FUNCTIONS = [*array_api_strict.linalg.__all__, "eig", "eigvals"]


def leaf(values: object, device: str = "cpu") -> ag.Tensor:
    return ag.tensor(values, requires_grad=True, device=device)


def grad_of(function: Callable[[ag.Tensor], ag.Tensor], values: object) -> np.ndarray:
    """The gradient of the sum of the result."""
    x = leaf(values)
    ag.sum(function(x)).backward()
    return x.grad.array


def assert_close(actual: Any, expected: Any, tolerance: float = 1e-9) -> None:
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


# ---- Names


def test_all_names_of_the_standard_are_there() -> None:
    results = {"EigResult", "EighResult", "QRResult", "SVDResult", "SlogdetResult"}
    assert set(linalg.__all__) == {*FUNCTIONS, *results}
    assert linalg.__all__ == sorted(linalg.__all__)
    assert dir(linalg) == linalg.__all__


@pytest.mark.parametrize("name", FUNCTIONS)
def test_signatures_are_the_standards(name: str) -> None:
    ours = inspect.signature(getattr(linalg, name)).parameters.values()
    theirs = inspect.signature(getattr(array_api_strict.linalg, name)).parameters.values()
    assert [(p.name, p.kind, p.default) for p in ours] == [(p.name, p.kind, p.default) for p in theirs]


def test_results_have_the_standards_fields() -> None:
    x = leaf([[2.0, 1.0], [1.0, 3.0]])
    for name in ("eig", "eigh", "qr", "slogdet", "svd"):
        result = getattr(linalg, name)(x)
        raw = getattr(array_api_strict.linalg, name)(array_api_strict.asarray(x.array))
        assert type(result).__name__ == type(raw).__name__
        assert result._fields == raw._fields
        assert type(result) is getattr(linalg, type(result).__name__)


# ---- Determinants


@pytest.mark.parametrize("device", ["cpu", "strict:device1"])
@pytest.mark.parametrize(
    ("values", "expected"),
    [
        # Each element: the determinant of what is left without its row and column, with its sign.
        ([[1.0, 2.0], [2.0, 4.0]], [[4.0, -2.0], [-2.0, 1.0]]),
        (
            [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]],
            [[-3.0, 6.0, -3.0], [6.0, -12.0, 6.0], [-3.0, 6.0, -3.0]],
        ),
        ([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]], np.zeros((3, 3))),
        ([[0.0, 0.0], [0.0, 0.0]], np.zeros((2, 2))),
        ([[0.0]], [[1.0]]),
        ([[1.0 + 1.0j, 2.0j], [2.0 + 2.0j, 4.0j]], np.conj([[4.0j, -2.0 - 2.0j], [-2.0j, 1.0 + 1.0j]])),
    ],
)
def test_gradient_of_det_of_singular_matrices(values: Any, expected: Any, device: str) -> None:
    x = leaf(values, device)
    ag.real(linalg.det(x)).backward()
    assert_close(ag.to_device(x.grad, "cpu").array, expected, 1e-14)


def test_det_of_a_batch_with_singular_matrices() -> None:
    x = np.array([[[2.0, 1.0], [1.0, 3.0]], [[1.0, 2.0], [2.0, 4.0]], [[0.0, 0.0], [0.0, 0.0]]])
    expected = [[[3.0, -1.0], [-1.0, 2.0]], [[4.0, -2.0], [-2.0, 1.0]], [[0.0, 0.0], [0.0, 0.0]]]
    assert_close(grad_of(linalg.det, x), expected, 1e-14)


def test_slogdet() -> None:
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    sign, logabsdet = linalg.slogdet(x)
    assert (sign.item(), sign.requires_grad) == (-1, False)
    logabsdet.backward()
    assert_close(x.grad.array, np.array([[4.0, -3.0], [-2.0, 1.0]]) / -2.0)  # inv(x).T

    def loss(x: ag.Tensor) -> ag.Tensor:
        sign, logabsdet = linalg.slogdet(x)
        return ag.real(sign) + 2.0 * ag.imag(sign) + 3.0 * logabsdet

    assert_close(
        grad_of(loss, [[1.0 + 1.0j, 2.0], [-1.0j, 3.0]]),
        [
            [0.7184565066 + 1.3689260961j, 0.4563086987 - 0.2394855022j],
            [-0.4789710044 - 0.9126173974j, 0.6957942009 + 0.2168231965j],
        ],
    )
    with pytest.raises(ValueError, match="Singular"):
        linalg.slogdet(leaf([[1.0, 2.0], [2.0, 4.0]])).logabsdet.backward()


# ---- Hermitian matrices


@pytest.mark.parametrize(
    "function",
    [
        linalg.cholesky,
        lambda x: linalg.cholesky(x, upper=True),
        linalg.eigvalsh,
        lambda x: linalg.eigh(x).eigenvalues ** 2,
        lambda x: ag.abs(linalg.eigh(x).eigenvectors[0, :]) ** 2 * ag.tensor([1.0, 2.0]),
    ],
)
@pytest.mark.parametrize("values", [[[2.0, 0.5], [0.5, 1.0]], [[2.0, 0.5j], [-0.5j, 1.0]]])
def test_gradients_among_hermitian_matrices_are_hermitian(function: Any, values: Any) -> None:
    grad = grad_of(lambda x: ag.real(function(x)), values)
    assert_close(grad, grad.conj().T, 1e-15)
    assert np.abs(grad).sum() > 0.1


def test_cholesky_by_hand() -> None:
    # The first element of the factor is sqrt(x[0, 0]), the one below it x[1, 0] / sqrt(x[0, 0]).
    assert_close(grad_of(lambda x: linalg.cholesky(x)[0, 0], [[4.0, 2.0], [2.0, 5.0]]), [[0.25, 0.0], [0.0, 0.0]])
    assert_close(grad_of(lambda x: linalg.cholesky(x)[1, 0], [[4.0, 2.0], [2.0, 5.0]]), [[-0.125, 0.25], [0.25, 0.0]])


def test_eigenvectors() -> None:
    weights = ag.tensor([[1.0, 2.0], [3.0, 5.0]])
    assert_close(
        grad_of(lambda x: ag.abs(linalg.eigh(x).eigenvectors) ** 2 * weights, [[2.0, 1.0j], [-1.0j, 3.0]]),
        [[-0.1788854382, -0.0894427191j], [0.0894427191j, 0.1788854382]],
    )
    assert_close(
        grad_of(lambda x: ag.abs(linalg.eig(x).eigenvectors) ** 2 * weights, [[1.0, 2.0], [3.0, 4.0]]),
        [[0.0020844442, -0.4307099282], [0.2892243963, -0.0020844442]],
    )


# ---- Equal values

ROTATION = np.array([[2.0, -2.0, 1.0], [1.0, 2.0, 2.0], [2.0, 1.0, -2.0]]) / 3.0
REPEATED = ROTATION @ np.diag([1.0, 1.0, 2.0]) @ ROTATION.T


@pytest.mark.parametrize("values", [np.diag([1.0, 1.0, 2.0]), REPEATED, REPEATED.astype(np.float32), np.eye(2) + 0j])
def test_gradients_through_vectors_of_equal_values_are_nan(values: np.ndarray) -> None:
    weights = ag.tensor(np.arange(values.size).reshape(values.shape).astype(values.real.dtype))
    for vectors in (
        lambda x: linalg.eigh(x).eigenvectors,
        lambda x: linalg.eig(x).eigenvectors,
        lambda x: linalg.svd(x).U,
        lambda x: linalg.svd(x).Vh,
    ):
        assert np.isnan(grad_of(lambda x, f=vectors: ag.abs(f(x)) ** 2 * weights, values)).any()


@pytest.mark.parametrize("values", [np.diag([1.0, 1.0, 2.0]), REPEATED, np.eye(3) * 2.0, np.zeros((3, 3))])
def test_gradients_through_equal_values_alone_are_exact(values: np.ndarray) -> None:
    # The sum of squares is that of the elements, here of a symmetric matrix.
    assert_close(grad_of(lambda x: linalg.eigvalsh(x) ** 2, values), 2 * values, 1e-14)
    assert_close(grad_of(lambda x: linalg.eigh(x).eigenvalues ** 2, values), 2 * values, 1e-14)
    assert_close(grad_of(lambda x: ag.real(linalg.eig(x).eigenvalues ** 2), values), 2 * values, 1e-13)
    assert_close(grad_of(lambda x: ag.real(linalg.eigvals(x) ** 2), values), 2 * values, 1e-13)
    assert_close(grad_of(lambda x: linalg.svdvals(x) ** 2, values), 2 * values, 1e-14)
    assert_close(grad_of(lambda x: linalg.svd(x).S ** 2, values), 2 * values, 1e-14)


def test_only_the_matrices_with_equal_values_are_nan() -> None:
    x = leaf(np.stack([np.diag([1.0, 2.0]), np.eye(2)]))
    ag.sum(linalg.eigh(x).eigenvectors[..., 0, 0] ** 2).backward()
    assert np.isnan(x.grad.array).any(axis=(1, 2)).tolist() == [False, True]


# ---- Singular values and other factors


def test_svd_of_complex_matrices() -> None:
    weights = ag.tensor([[1.0, 2.0], [3.0, 4.0]])

    def loss(x: ag.Tensor) -> ag.Tensor:
        u, _, vh = linalg.svd(x)
        return ag.real(u @ vh) * weights

    assert_close(
        grad_of(loss, [[1.0 + 1.0j, 2.0], [-1.0j, 3.0]]),
        [
            [-0.0017355840 + 0.2079503346j, -0.3208514312 - 0.3466442077j],
            [0.6596961235 + 0.0219750723j, 0.1524877280 + 0.2093577048j],
        ],
    )


def test_svd_refuses_gradients_through_arbitrary_vectors() -> None:
    for shape, name in [((3, 2), "U"), ((2, 3), "Vh")]:
        x = leaf(np.arange(6.0).reshape(shape) ** 1.5)
        factors = linalg.svd(x)
        with pytest.raises(ag.GraphError, match=rf"svd: the {name} of a matrix \[{shape[0]}, {shape[1]}\] has no"):
            ag.sum(getattr(factors, name)).backward()
        assert x.grad is None
    # The other factor has one, and values alone as well.
    x = np.arange(6.0).reshape(3, 2) ** 1.5
    for function in (lambda u, s, vh: s, lambda u, s, vh: vh[0, 0] ** 2 + s):
        assert_close(
            grad_of(lambda x, f=function: f(*linalg.svd(x)), x),
            grad_of(lambda x, f=function: f(*linalg.svd(x, full_matrices=False)), x),
            1e-14,
        )


def test_svd_at_a_singular_value_of_0() -> None:
    tall, square = np.array([[1.0, 2.0], [2.0, 4.0], [0.0, 0.0]]), np.array([[1.0, 2.0], [2.0, 4.0]])

    def loss(x: ag.Tensor, column: int = 0) -> ag.Tensor:
        return linalg.svd(x, full_matrices=False).U[0, column] ** 2

    def expected(x: np.ndarray) -> np.ndarray:
        """The leading vector is also the last eigenvector of x @ x.T."""
        x = leaf(x)
        ag.sum(linalg.eigh(x @ x.T).eigenvectors[0, -1] ** 2).backward()
        return x.grad.array

    assert_close(grad_of(loss, square), expected(square), 1e-12)
    # The vector of the value 0 has no gradient; the leading one has, which the other does not spoil.
    assert np.isnan(grad_of(lambda x: loss(x, 1), tall)).any()
    assert_close(grad_of(loss, tall), expected(tall), 1e-12)


def test_vectors_of_equal_values_do_not_spoil_the_gradients_of_others() -> None:
    # By perturbation theory: d v = sum over k of v_k (v_k . dx v) / (value - value_k).
    values, weights = np.array([1.0, 1.0, 3.0]), np.array([1.0, 2.0, 4.0])
    matrix, last = ROTATION @ np.diag(values) @ ROTATION.T, ROTATION[:, 2]
    slope = sum(np.outer(v, last) * (2 * weights * last @ v) / 2.0 for v in ROTATION.T[:2])
    expected = 0.5 * (slope + slope.T)
    w = ag.tensor(weights)
    assert_close(grad_of(lambda x: linalg.eigh(x).eigenvectors[:, 2] ** 2 * w, matrix), expected, 1e-12)
    assert_close(grad_of(lambda x: linalg.svd(0.5 * (x + x.T)).U[:, 0] ** 2 * w, matrix), expected, 1e-12)
    assert_close(grad_of(lambda x: linalg.svd(0.5 * (x + x.T)).Vh[0] ** 2 * w, matrix), expected, 1e-12)


def test_qr_of_wide_matrices() -> None:
    def loss(x: ag.Tensor) -> ag.Tensor:
        q, r = linalg.qr(x)
        return ag.sum(q * ag.tensor([[1.0, 2.0], [3.0, 4.0]])) + ag.sum(
            r * ag.tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])
        )

    assert_close(
        grad_of(loss, [[2.0, 1.0, 3.0], [1.0, 3.0, -1.0]]),
        [[4.7404641123, -2.6832815730, -4.0249223595], [-9.4809282246, 3.1304951685, 3.5777087640]],
    )


def test_qr_refuses_what_has_no_gradient() -> None:
    x = leaf([[2.0, 1.0], [1.0, 3.0], [0.5, 0.0]])
    with pytest.raises(ag.GraphError, match=r'qr: the Q of a matrix \[3, 2\] has no gradient with mode="complete"'):
        ag.sum(linalg.qr(x, mode="complete").Q).backward()
    with pytest.raises(ValueError, match="mode"):
        linalg.qr(x, mode="raw")
    with pytest.raises(ValueError, match="Singular"):
        ag.sum(linalg.qr(leaf([[1.0, 1.0], [1.0, 1.0]])).R).backward()


def test_pinv_of_lower_rank() -> None:
    # Finite differences leave the matrices of rank 1; the gradient is that among them.
    weights = ag.tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])
    assert_close(
        grad_of(lambda x: linalg.pinv(x) * weights, [[1.0, 2.0], [2.0, 4.0], [0.0, 0.0]]),
        [[-0.0512, -0.0464], [-0.1264, -0.1408], [0.0960, 0.1920]],
    )


def test_rtol_may_be_a_tensor() -> None:
    x = ag.tensor(np.diag([2.0, 0.1]))
    assert_close(linalg.pinv(x, rtol=ag.tensor(0.5)).array, np.diag([0.5, 0.0]), 1e-15)
    assert (linalg.matrix_rank(x, rtol=ag.tensor(0.5)).item(), linalg.matrix_rank(x, rtol=0.01).item()) == (1, 2)


# ---- Norms


@pytest.mark.parametrize(
    ("order", "values", "expected"),
    [
        ("fro", [[3.0, 0.0], [0.0, 4.0]], [[0.6, 0.0], [0.0, 0.8]]),
        ("nuc", [[2.0, 0.0], [0.0, 0.0]], [[1.0, 0.0], [0.0, 0.0]]),
        (2, [[2.0, 0.0], [0.0, 2.0]], [[0.5, 0.0], [0.0, 0.5]]),
        (-2, [[2.0, 0.0], [0.0, 2.0]], [[0.5, 0.0], [0.0, 0.5]]),
        (-2, [[2.0, 0.0], [0.0, 0.0]], np.zeros((2, 2))),
        (1, [[1.0, -2.0], [2.0, 1.0]], [[0.5, -0.5], [0.5, 0.5]]),
        (float("-inf"), [[1.0, -2.0], [2.0, 1.0]], [[0.5, -0.5], [0.5, 0.5]]),
    ],
)
def test_matrix_norm_at_ties_and_lower_rank(order: Any, values: Any, expected: Any) -> None:
    assert_close(grad_of(lambda x: linalg.matrix_norm(x, ord=order), values), expected, 1e-15)


@pytest.mark.parametrize("order", ["fro", "nuc", 1, -1, 2, -2, float("inf"), float("-inf"), None])
def test_matrix_norm_at_0(order: Any) -> None:
    assert not grad_of(lambda x: linalg.matrix_norm(x, ord=order), np.zeros((2, 3))).any()
    assert not grad_of(lambda x: linalg.matrix_norm(x, ord=order), np.zeros((2, 3), complex)).any()


def test_float16_norms_do_not_overflow() -> None:
    x = leaf(np.full((2, 2), 3e4, np.float16))
    result = linalg.matrix_norm(x)
    assert (result.item(), result.dtype) == (60000, np.float16)
    result.backward()
    assert x.grad.array.tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert x.grad.dtype == np.float16


# ---- What is refused, and what is not


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: linalg.cross(ag.ones((2, 2)), ag.ones((2, 2))),
            r"3 elements along axis -1, got \[2, 2\] and \[2, 2\]",
        ),
        (lambda: linalg.cross(ag.ones((3, 2)), ag.ones(3), axis=0), r"axis 0 is outside \[3, 2\] or \[3\]"),
        (lambda: linalg.vecdot(ag.ones((3, 2)), ag.ones(3), axis=-2), r"axis -2 is outside \[3, 2\] or \[3\]"),
        (lambda: linalg.vecdot(ag.ones(2), ag.ones(3)), "vecdot got"),
        (lambda: linalg.outer(ag.ones((2, 2)), ag.ones(2)), r"vectors, got \[2, 2\] and \[2\]"),
        (lambda: linalg.solve(ag.ones(2), ag.ones(2)), r"matrices, got \[2\] and \[2\]"),
        (lambda: linalg.solve(ag.ones((2, 2)), ag.ones(2)), "Singular"),
        (lambda: linalg.inv(ag.ones((2, 2))), "Singular"),
        (lambda: linalg.inv(ag.ones((2, 3))), r"\[2, 3\]"),
        (lambda: linalg.matrix_power(ag.ones((2, 2)), -1), "Singular"),
        (lambda: linalg.cholesky(ag.eye(2) * -1.0), "positive definite"),
        (lambda: linalg.tensordot(ag.ones((2, 3)), ag.ones((2, 3)), axes=1), "tensordot got"),
    ],
)
def test_refusals(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ag.ShapeError, match=message):
        call()


def test_a_vector_is_one_only_if_it_has_one_axis() -> None:
    # NumPy 1 took the second operand for two vectors; the standard has it be a matrix.
    x1 = ag.tensor([[[1.0, 0.0], [0.0, 1.0]], [[2.0, 0.0], [0.0, 4.0]]])
    x2 = ag.tensor([[4.0, 8.0], [12.0, 16.0]])
    assert linalg.solve(x1, x2).array.tolist() == [[[4, 8], [12, 16]], [[2, 4], [3, 4]]]


def test_eigvals_with_and_without_grad() -> None:
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    assert_close(linalg.eigvals(x).array, linalg.eigvals(x.detach()).array, 1e-15)
    assert not linalg.eigvals(x.detach()).requires_grad
    with ag.no_grad():
        assert not linalg.eigvals(x).requires_grad


def test_diagonal_is_a_view() -> None:
    x = ag.tensor([[1.0, 2.0], [3.0, 4.0]])
    diagonal = linalg.diagonal(x)
    x[0, 0] = 5.0
    assert diagonal.array.tolist() == [5, 4]


def test_eigenvalues_of_a_real_matrix_are_complex() -> None:
    x = leaf([[0.0, -1.0], [1.0, 0.0]])
    values = linalg.eigvals(x)
    assert values.dtype == np.complex128
    ag.sum(ag.imag(values) ** 2).backward()  # near this matrix 2 det(x) - trace(x) ** 2 / 2
    assert_close(x.grad.array, [[0.0, -2.0], [2.0, 0.0]], 1e-14)
    assert x.grad.dtype == np.float64

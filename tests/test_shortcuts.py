"""Where there is a quicker way, it gives what the long way gives."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.backends import NUMPY
from arraygrad.declare import ArrayLike, elementwise
from arraygrad.kernels import kernel_for
from arraygrad.op import OPS

RNG = np.random.default_rng(11)
ARRAYS = [
    RNG.normal(size=(3, 4)),
    RNG.normal(size=(3, 4)).astype(np.float32),
    RNG.normal(size=(5, 1, 2)).astype(np.float16),
    RNG.normal(size=(2, 3)) + 1j * RNG.normal(size=(2, 3)),
    RNG.integers(0, 200, size=(4, 3)).astype(np.uint8),
    RNG.integers(0, 2, size=(4, 3)).astype(bool),
    np.array(2.5),
    np.zeros((0, 3)),
    RNG.normal(size=(6, 4))[::2, ::-1],
]


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "mean", "any", "all"])
@pytest.mark.parametrize("x", ARRAYS, ids=lambda x: f"{x.dtype}{list(x.shape)}")
def test_reductions_are_numpys(name: str, x: np.ndarray) -> None:
    for axis in (None, *range(-x.ndim, x.ndim), tuple(range(x.ndim))):
        for keepdims in (False, True):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # mean of nothing
                try:
                    expected = getattr(np, name)(x, axis=axis, keepdims=keepdims)
                except ValueError as error:
                    with pytest.raises(ValueError, match=str(error)[:30]):
                        getattr(NUMPY, name)(x, axis=axis, keepdims=keepdims)
                    continue
                result = getattr(NUMPY, name)(x, axis=axis, keepdims=keepdims)
            assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
            np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("x", ARRAYS, ids=lambda x: f"{x.dtype}{list(x.shape)}")
def test_shapes_are_numpys(x: np.ndarray) -> None:
    for axis in range(-x.ndim - 1, x.ndim + 1):
        result = NUMPY.expand_dims(x, axis=axis)
        assert result.shape == np.expand_dims(x, axis).shape
        assert result.size == 0 or np.shares_memory(result, x)
    with pytest.raises(ValueError, match="axis"):
        NUMPY.expand_dims(x, axis=x.ndim + 1)
    zeros = NUMPY.zeros_like(x)
    assert (zeros.dtype, zeros.shape, zeros.any()) == (x.dtype, x.shape, False)
    view = NUMPY.broadcast_to(x, (2, *x.shape))
    assert not view.flags.writeable
    assert view.size == 0 or np.shares_memory(view, x)
    np.testing.assert_array_equal(view, np.broadcast_to(x, (2, *x.shape)))
    with pytest.raises(ValueError, match="broadcast"):
        NUMPY.broadcast_to(np.zeros(3), (2, 2))


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "complex128", "int64"])
@pytest.mark.parametrize("size", [5, 1000])
@pytest.mark.parametrize("zero", [0.0, -0.0, 1.5])
def test_where_is_numpys(dtype: str, size: int, zero: float) -> None:
    x = (10.0 * RNG.normal(size=(size, 2))).astype(dtype)
    if x.dtype.kind == "f":
        x[:4, 0] = [np.nan, np.inf, -np.inf, -0.0]
    for condition in (RNG.random((size, 2)) < 0.5, RNG.random((size, 1)) < 0.5, np.broadcast_to(np.True_, (size, 2))):
        for arguments in ((zero, x), (x, zero), (zero, x[::-1]), (x.T.copy().T, zero)):
            expected, result = np.where(condition, *arguments), NUMPY.where(condition, *arguments)
            assert result.dtype == expected.dtype
            np.testing.assert_array_equal(result, expected)
            np.testing.assert_array_equal(np.signbit(result.real), np.signbit(expected.real))


@pytest.mark.parametrize("names", [50, 3000], ids=["many repeat", "few repeat"])
@pytest.mark.parametrize("axis", [0, 1])
def test_rows_are_added_as_by_add_at(names: int, axis: int) -> None:
    x = RNG.normal(size=(3000, 9) if axis == 0 else (9, 3000))
    index = RNG.integers(-names, names, size=(40, 10))
    value = RNG.normal(size=x[(slice(None),) * axis + (index,)].shape)
    expected = x.copy()
    np.add.at(expected, (slice(None),) * axis + (index,), value)
    NUMPY.add_at(x, (slice(None),) * axis + (index,), value)
    np.testing.assert_allclose(x, expected, rtol=1e-12)


def test_of_rows_named_by_both_signs_none_is_lost() -> None:
    x = np.zeros((4, 9))
    NUMPY.add_at(x, np.array([1, -3, 2, 0]), np.ones((4, 9)))  # 1 and -3 are one row
    assert x[:, 0].tolist() == [1, 2, 1, 0]


@pytest.mark.parametrize("name", ["multiply", "tanh", "sqrt", "matmul"])
def test_a_forward_that_only_calls_is_what_it_calls(name: str) -> None:
    assert kernel_for(OPS[name], np.ndarray, {}) is getattr(np, name)


@pytest.mark.parametrize(
    "forward",
    [
        lambda xp, x: xp.exp(x) + 1.0,
        lambda xp, x: xp.exp(x=x),
        lambda xp, x: xp.exp(xp.exp(x)),
        lambda xp, x: xp.linalg.inv(x),
        lambda xp, x: x,
    ],
)
def test_a_forward_that_does_more_is_called(forward: Any, own_op: None) -> None:
    def same(xp: Any, x: ArrayLike, /) -> Any:
        return forward(xp, x)

    elementwise(lambda g: g)(same)
    kernel = kernel_for(OPS["same"], np.ndarray, {})
    assert not isinstance(kernel, np.ufunc)
    with pytest.raises(AttributeError):
        kernel.__name__  # noqa: B018  a partial has none


def test_a_square_as_a_product() -> None:
    x = ag.tensor([3.0, -2.0], requires_grad=True)
    y = ag.tensor([5.0, 7.0], requires_grad=True)
    (x * x + x * y).backward([1.0, 10.0])
    assert x.grad is not None
    assert y.grad is not None
    assert x.grad.array.tolist() == [2 * 3 + 5, 10 * (2 * -2 + 7)]
    assert y.grad.array.tolist() == [3.0, -20.0]
    (twice,) = ag.gradients(ag.sum(ag.gradients(ag.sum(x * x * x), [x], create_graph=True)[0]), [x])
    assert twice.array.tolist() == [18.0, -12.0]


def test_what_a_rule_returns_and_somebody_else_holds_is_not_written_to(own_op: None) -> None:
    kept: list[np.ndarray] = []

    def rule(g: Any) -> Any:
        kept.append(g * 2.0)
        return kept[-1]

    @elementwise(rule)
    def doubled(xp: Any, x: ArrayLike, /) -> Any:
        """`2 x`."""
        return x * 2.0

    x = ag.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1.0
    (doubled(y) + doubled(y) + doubled(y)).backward([1.0, 1.0])
    assert x.grad is not None
    assert x.grad.array.tolist() == [6.0, 6.0]
    assert [array.tolist() for array in kept] == [[2.0, 2.0]] * 3


def test_what_a_hook_keeps_is_not_written_to() -> None:
    kept = []
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1.0
    parts = [y * 2.0, y * 3.0, y * 4.0]
    for part in parts:
        part.register_hook(lambda grad: kept.append(grad))
        part.grad_fn.register_hook(lambda grads, outputs: kept.extend(grad for grad in grads if grad is not None))
    (parts[0] + parts[1] + parts[2]).backward([1.0, 1.0])
    assert x.grad is not None
    assert x.grad.array.tolist() == [9.0, 9.0]
    assert sorted(grad.array[0] for grad in kept) == [1.0, 1.0, 1.0, 2.0, 3.0, 4.0]


def test_operations_on_one_array_say_what_is_wrong_with_the_rest() -> None:
    x = ag.tensor([[1.0, 2.0]], requires_grad=True)
    with pytest.raises(TypeError, match=r"sum: got an unexpected keyword argument 'axes'; its signature is \(x"):
        ag.sum(x, axes=0)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"permute_dims: missing a required argument: 'axes'"):
        ag.permute_dims(x)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match=r"reshape got float64 \[1, 2\]: cannot reshape array of size 2 into shape"):
        ag.reshape(x, (3,))
    axis = np.int8(1)
    y = ag.sum(x, axis=axis)
    assert type(y.grad_fn.saved[1][0]) is int


@pytest.mark.parametrize("left", [2, 2.0, 2 + 1j, np.float32(2.0), np.float64(2.0), True, np.ones(2), np.ones(2, "f")])
def test_what_stands_left_of_a_tensor_counts_as_in_numpy(left: Any) -> None:
    right = np.array([1.0, 3.0], np.float32)
    x = ag.tensor(right, requires_grad=True)
    for y, expected in ((left * x, left * right), (x * left, right * left)):
        # NumPy's scalars are weak here: "no data type ever changes silently".
        dtype = np.float32 if isinstance(left, np.generic) else expected.dtype
        assert y.dtype == dtype
        np.testing.assert_allclose(y.numpy() if not y.requires_grad else y.detach().numpy(), expected)


def test_two_numbers() -> None:
    assert ag.multiply(2.0, 3).item() == 6.0
    assert ag.add(True, 1).item() == 2

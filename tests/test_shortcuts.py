"""Where there is a quicker way, it gives what the long way gives."""

from __future__ import annotations

import enum
import functools
import inspect
import math
import warnings
from typing import Any

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.backends import NUMPY
from arraygrad.declare import ArrayLike, Part, elementwise, general, linear, once_differentiable
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


@pytest.mark.parametrize("rule", [lambda g, x: g, lambda g, x: g[...]], ids=["itself", "a view"])
def test_a_cotangent_that_a_rule_hands_on_is_not_doubled_in_place(rule: Any, own_op: None) -> None:
    def rules() -> Any:  # of the same code
        return (lambda g, x: g), (lambda g, y: g)

    @elementwise(*(rules() if rule(np.ones(1), None).base is None else (rule, rule)))
    def total(xp: Any, x: ArrayLike, y: ArrayLike, /) -> Any:
        return x + y

    x = ag.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1.0
    seed = np.array([1.0, 1.0])
    (total(y, y) + y).backward(seed)
    assert x.grad is not None
    assert x.grad.array.tolist() == [3.0, 3.0]
    assert seed.tolist() == [1.0, 1.0]


def test_a_hook_on_the_node_of_a_square_sees_both_gradients() -> None:
    seen = []
    x = ag.tensor([3.0], requires_grad=True)
    y = x * x
    y.grad_fn.register_hook(lambda grads, outputs: seen.append([grad.array.tolist() for grad in grads]))
    y.backward([1.0])
    assert seen == [[[3.0], [3.0]]]
    assert x.grad is not None
    assert x.grad.array.tolist() == [6.0]


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


# ---- What a trial of all this has found


@pytest.mark.parametrize(
    "f",
    [
        lambda x: ag.cross_entropy(ag.stack([x, ag.zeros_like(x)]), np.array(0)) ** 2,
        lambda x: ag.log1p(ag.exp(-x)) ** 2,
    ],
    ids=["cross_entropy", "of its parts"],
)
def test_third_derivative(f: Any) -> None:
    loss, s = math.log1p(math.exp(-0.3)), 1.0 / (1.0 + math.exp(0.3))  # s is minus the loss's derivative
    slope = -s * (1.0 - s)
    expected = 4 * s * slope - 2 * s * s * (1 - s) + 2 * loss * slope * (1 - 2 * s)
    assert ag.grad(ag.grad(ag.grad(f)))(0.3).item() == pytest.approx(expected, rel=1e-12)


def test_a_graph_that_is_recorded_backward_twice() -> None:
    x = ag.tensor([0.3, -0.2, 0.5], requires_grad=True)
    loss = ag.cross_entropy(x, np.array(0))
    (g1,) = ag.gradients(loss, [x], create_graph=True)
    (g2,) = ag.gradients(loss, [x], create_graph=True)
    (both,) = ag.gradients(ag.sum(g1 * g1) + ag.sum(g2 * g2), [x], retain_graph=True)
    (once,) = ag.gradients(ag.sum(g1 * g1), [x])
    np.testing.assert_allclose(both.array, 2.0 * once.array, rtol=1e-12)


@pytest.mark.parametrize("name", ["eigh", "svd", "qr"])
def test_third_derivatives_where_a_result_is_dropped(name: str) -> None:
    rng = np.random.default_rng(4)
    a, d = rng.normal(size=(2, 3, 3))
    if name == "eigh":
        a, d = a + a.T, d + d.T
    field = {"eigh": "eigenvalues", "svd": "S", "qr": "R"}[name]

    def f(t: Any) -> Any:
        return ag.sum(getattr(getattr(ag.linalg, name)(a + t * d), field) ** 3) ** 2

    second = ag.grad(ag.grad(f))
    step = 1e-4
    expected = (second(step).item() - second(-step).item()) / (2 * step)
    assert ag.grad(second)(0.0).item() == pytest.approx(expected, rel=1e-5)


def _closure(factor: float) -> Any:
    return lambda g, x: g * x * factor


@pytest.mark.parametrize(
    "rules",
    [
        (lambda g, x: 2.0 * g * x, lambda g, y: 4.0 * g * y),
        (_closure(2.0), _closure(4.0)),
        (functools.partial(lambda f, g, x: f * g * x, 2.0), functools.partial(lambda f, g, y: f * g * y, 4.0)),
        (once_differentiable(_closure(2.0)), once_differentiable(_closure(4.0))),
    ],
    ids=["constants", "closures", "partials", "wrapped"],
)
def test_rules_that_differ_in_what_no_bytecode_shows(rules: Any, own_op: None) -> None:
    def f(xp: Any, x: ArrayLike, y: ArrayLike, /) -> Any:
        return x * x + 2.0 * y * y

    if isinstance(rules[0], functools.partial):
        rules = tuple(_Named(rule, name) for rule, name in zip(rules, "xy", strict=True))
    op = elementwise(*rules)(f)
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    ag.sum(op(x, x)).backward()
    assert x.grad is not None
    assert x.grad.array.tolist() == [6.0, 12.0]


class _Named:
    """A rule without bytecode."""

    def __init__(self, rule: Any, name: str) -> None:
        self.rule = rule
        self.__signature__ = inspect.Signature(
            [inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in ("g", name)]
        )

    def __call__(self, *args: Any) -> Any:
        return self.rule(*args)


def test_forwards_with_branches_and_state_run_each_time(own_op: None) -> None:
    calls = []

    @elementwise(lambda g, x2: g * x2, lambda g, x1: g * x1)
    def branching(xp: Any, x1: ArrayLike, x2: ArrayLike, /) -> Any:
        calls.append(1)
        if hasattr(x2, "ndim") and x2.ndim == 0:
            return x1 * 0.0
        return xp.multiply(x1, x2)

    x = ag.tensor([1.0, 2.0])
    assert branching(x, ag.tensor(3.0)).array.tolist() == [0.0, 0.0]
    assert branching(x, ag.tensor([3.0, 1.0])).array.tolist() == [3.0, 2.0]
    assert len(calls) == 2


def test_powers_by_numbers_are_the_operators() -> None:
    assert (ag.tensor([True]) ** 2).dtype == (np.array([True]) ** 2).dtype
    assert (ag.tensor([1.0, 4.0]) ** 0.5).array.tolist() == [1.0, 2.0]
    assert not isinstance(kernel_for(OPS["pow"], np.ndarray, {}), np.ufunc)


class _Integer(enum.IntEnum):
    TWO = 2


class _Float(float):
    pass


@pytest.mark.parametrize("number", [_Integer.TWO, _Float(2.0), np.longdouble(2.0), np.clongdouble(2.0)])
def test_numbers_of_derived_types(number: Any) -> None:
    x = ag.tensor(np.array([1.0, 3.0], np.float32), requires_grad=True)
    for y in (x * number, number * x, ag.multiply(x, number), ag.multiply(number, x)):
        assert y.dtype == (np.complex64 if isinstance(number, np.clongdouble) else np.float32)
        assert y.detach().array.tolist() == [2.0, 6.0]
    with pytest.raises(TypeError, match="multiply takes tensors, arrays and numbers, got str_"):
        ag.multiply(x, np.str_("a"))


def test_sequences_beside_tensors_in_numpys_functions() -> None:
    class Row(list):  # type: ignore[type-arg]
        pass

    t = ag.tensor([1.0, 2.0], requires_grad=True)
    for row in ((3.0, 4.0), [3.0, 4.0], Row([3.0, 4.0])):
        for y in (np.multiply(row, t), np.multiply(t, row)):
            assert y.detach().array.tolist() == [3.0, 8.0]
    whole, rest = np.divmod(np.array([7.0, 5.0]), t)
    assert (whole.detach().array.tolist(), rest.detach().array.tolist()) == ([7.0, 2.0], [0.0, 1.0])


def test_second_derivative_of_logsumexp_where_a_term_is_lost_in_the_sum() -> None:
    e = np.exp(-40.0)
    np.testing.assert_allclose(ag.hessian(ag.logsumexp)(np.array([0.0, -40.0])).array, [[e, -e], [-e, e]], rtol=1e-12)
    hessian = ag.hessian(lambda x: ag.cross_entropy(x, np.array(1)))(np.array([0.0, -40.0])).array
    np.testing.assert_allclose(hessian, [[e, -e], [-e, e]], atol=2 * e)  # from 1 - softmax, which rounds to 0


def test_shapes_that_no_array_has() -> None:
    with pytest.raises(ValueError, match="axis"):
        ag.mean(ag.tensor(2.0), axis=0)
    with pytest.raises(ValueError, match="broadcast_to got float64"):
        ag.broadcast_to(ag.tensor(2.0), (-1,))
    big_endian = np.arange(300.0).astype(">f8")
    assert NUMPY.where(big_endian > 5, big_endian, 0.0).dtype == np.where(big_endian > 5, big_endian, 0.0).dtype


def test_a_gradient_that_cannot_be_written_to(own_op: None) -> None:
    def rule(g: Any) -> Any:
        grad = g * 1.0
        grad.flags.writeable = False
        return grad

    @elementwise(rule)
    def same(xp: Any, x: ArrayLike, /) -> Any:
        return x * 1.0

    x = ag.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1.0
    (same(y) + y * 2.0 + same(y)).backward([1.0, 1.0])
    assert x.grad is not None
    assert x.grad.array.tolist() == [4.0, 4.0]


@pytest.mark.parametrize("name", ["flip", "roll", "sum"])
def test_a_list_that_changes_before_backward(name: str) -> None:
    x = ag.tensor(np.arange(4.0).reshape(2, 2), requires_grad=True)
    axis = [0]
    if name == "sum":
        y = ag.sum(x, axis=tuple(axis), keepdims=True)
    else:
        y = ag.flip(x, axis=axis) if name == "flip" else ag.roll(x, [1], axis=axis)  # type: ignore[arg-type]
    axis[0] = 1
    y.backward(np.array([[1.0, 2.0], [3.0, 4.0]])[: len(y)])
    assert x.grad is not None
    assert x.grad.array.tolist() == ([[1.0, 2.0], [1.0, 2.0]] if name == "sum" else [[3.0, 4.0], [1.0, 2.0]])


def test_a_view_by_a_list_that_changes_before_it_is_read_again() -> None:
    x = ag.tensor(np.arange(4.0).reshape(2, 2), requires_grad=True)
    y = x * 1.0
    axis = [0]
    view = ag.flip(y, axis=axis)  # type: ignore[arg-type]
    axis[0] = 1
    y *= 2.0  # the view gets a new history, from what led to it
    view.backward(np.array([[1.0, 2.0], [3.0, 4.0]]))
    assert x.grad is not None
    assert x.grad.array.tolist() == [[6.0, 8.0], [2.0, 4.0]]


def test_a_list_stays_a_list_for_rules_and_views(own_op: None) -> None:
    @general(lambda g, rows: Part(rows, g))
    def rows_of(xp: Any, x: ArrayLike, /, rows: Any) -> Any:
        return x[rows]

    @linear(lambda g, x_shape: g.reshape(x_shape), is_view=True)
    def begun_with(xp: Any, x: ArrayLike, sizes: Any, /) -> Any:
        return x.reshape(sizes + [-1])  # noqa: RUF005  fails for a tuple, on purpose

    x = ag.tensor(np.ones((3, 4)), requires_grad=True)
    ag.sum(rows_of(x, [0, 1])).backward()
    assert x.grad is not None
    assert x.grad.array.sum(axis=1).tolist() == [4.0, 4.0, 0.0]
    y = ag.tensor([1.0, 2.0], requires_grad=True)
    h = y * 1.0
    view = begun_with(h, [1])
    h *= 2.0
    ag.sum(view).backward()
    assert y.grad is not None
    assert y.grad.array.tolist() == [2.0, 2.0]


def test_a_list_in_a_tuple_that_changes_before_backward() -> None:
    a, b = RNG.normal(size=(2, 3, 3, 3))
    x = ag.tensor(a, requires_grad=True)
    axes = ([0], [2])
    y = ag.tensordot(x, b, axes=axes)
    axes[1][0] = 1
    y.sum().backward()
    assert x.grad is not None
    expected = b.sum(axis=(0, 1))[:, None, None] * np.ones((3, 3, 3))
    np.testing.assert_allclose(x.grad.array, expected)


class _Twice:
    """Has the code of a function and does more."""

    def __init__(self, function: Any) -> None:
        functools.update_wrapper(self, function)
        self.__code__ = function.__code__
        self.__signature__ = inspect.signature(function)

    def __call__(self, *args: Any) -> Any:
        return 2.0 * self.__wrapped__(*args)  # type: ignore[attr-defined]


def test_what_wraps_a_function_is_called(own_op: None) -> None:
    def g(xp: Any, x: ArrayLike, /) -> Any:
        return xp.sin(x)

    class Both:
        def both(self, xp: Any, x: Any) -> Any:
            return 10.0 * xp.exp(x)

        def f(self, xp: Any, x: ArrayLike, y: ArrayLike, /) -> Any:
            return self.both(xp, x)

    doubled: Any = elementwise(lambda g, x: g)(_Twice(g))
    assert doubled(ag.tensor([1.0])).array.tolist() == [2.0 * np.sin(1.0)]
    bound: Any = elementwise(lambda g, x: g, lambda g, x: g)(Both().f)
    assert bound(ag.tensor([0.0]), ag.tensor([5.0])).array.tolist() == [10.0]


def test_an_array_with_a_default(own_op: None) -> None:
    @general(lambda g, scale: g * scale)
    def scaled(xp: Any, x: ArrayLike = 1.5, /, scale: float = 2.0) -> Any:
        return x * scale

    assert scaled().item() == 3.0  # type: ignore[call-arg]
    assert scaled(scale=4.0).item() == 6.0  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"sum: missing a required argument: 'x'; its signature is \(x"):
        ag.sum()  # type: ignore[call-arg]


def test_rules_that_save_the_same_for_two_inputs(own_op: None) -> None:
    @elementwise(lambda g, out: g * out, lambda g, out: g * out)
    def joined(xp: Any, x: ArrayLike, y: ArrayLike, /) -> Any:
        return xp.exp(x + y)

    x, y = ag.tensor([0.5], requires_grad=True), ag.tensor([0.25], requires_grad=True)
    ag.sum(joined(x, y)).backward()
    for leaf in (x, y):
        assert leaf.grad is not None
        np.testing.assert_allclose(leaf.grad.array, np.exp([0.75]))


def test_cross_entropy_of_batches() -> None:
    logits = RNG.normal(size=(3, 4))
    targets = np.array([0, 2, 1])
    losses = ag.vmap(ag.cross_entropy)(logits, targets)
    expected = [ag.cross_entropy(row, np.asarray(target)).item() for row, target in zip(logits, targets, strict=True)]
    np.testing.assert_allclose(losses.array, expected)
    with pytest.raises(ValueError, match="a target is outside the 4 classes"):
        ag.vmap(ag.cross_entropy)(logits, np.array([0, 4, 1]))


def test_only_nodes_that_ran_tell_of_a_failure(own_op: None) -> None:
    @elementwise(lambda g: g.no_such_thing)
    def broken(xp: Any, x: ArrayLike, /) -> Any:
        return x * 1.0

    w, u = ag.tensor([1.0], requires_grad=True), ag.tensor([2.0], requires_grad=True)
    v = ag.exp(w)
    v.backward()
    with pytest.raises(AttributeError, match="no_such_thing"):
        ag.gradients(ag.exp(broken(ag.exp(u))) + v, [u])
    with pytest.raises(ag.GraphError, match="specify retain_graph=True in the first call"):
        v.backward()

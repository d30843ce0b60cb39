"""The value of every derivative formula at points where it can be worked out by hand."""

import math
import re

import numpy as np
import pytest
from devices import NAMES, flags_of, make, to_host

import arraygrad as ag


class Device:
    """Makes tensors on the device under test, and compares what comes back."""

    def __init__(self, name):
        self.name = name

    def leaf(self, values, dtype="float64"):
        return make(self.name, np.asarray(values, dtype=dtype), requires_grad=True)

    def constant(self, values, dtype="float64"):
        return make(self.name, np.asarray(values, dtype=dtype))

    def close(self, tensor, expected, atol=1e-12):
        """Same shape, data type and device; values within `atol`."""
        assert tensor.device == make(self.name, 0.0).device
        expected = np.asarray(expected, dtype=tensor.dtype)
        np.testing.assert_allclose(to_host(tensor), expected, rtol=0, atol=atol, strict=True)

    def gradients(self, function, *values, g=None):
        """The gradients of leaves of these values, where the cotangent of the result is `g`, by default ones."""
        leaves = [self.leaf(value) for value in values]
        y = function(*leaves)
        y.backward(np.ones(y.shape).tolist() if g is None else g)
        return [x.grad for x in leaves]


@pytest.fixture(params=NAMES)
def dev(request):
    with flags_of(request.param):
        yield Device(request.param)


# ---- Elementwise: (function, x, g, gradient)

UNARY = {
    "negative": (ag.negative, 3, 2, -2),
    "abs-positive": (ag.abs, 3, 2, 2),
    "abs-negative": (ag.abs, -3, 2, -2),
    "exp": (ag.exp, 0.5, 2, 2 * math.exp(0.5)),
    "expm1": (ag.expm1, 0.5, 2, 2 * math.exp(0.5)),
    "log": (ag.log, 4, 2, 0.5),
    "log1p": (ag.log1p, 3, 2, 0.5),
    "sqrt": (ag.sqrt, 4, 2, 0.5),
    "rsqrt": (ag.rsqrt, 4, 2, -0.125),
    "sin": (ag.sin, math.pi / 3, 2, 1),
    "cos": (ag.cos, math.pi / 6, 2, -1),
    "tanh": (ag.tanh, math.log(3), 2, 2 * (1 - 0.8**2)),
    "sigmoid-half": (ag.sigmoid, 0, 2, 0.5),
    "sigmoid": (ag.sigmoid, math.log(3), 2, 2 * 0.75 * 0.25),
    "sigmoid-negative": (ag.sigmoid, -math.log(3), 2, 2 * 0.75 * 0.25),
    "relu-positive": (ag.relu, 3, 2, 2),
    "relu-negative": (ag.relu, -3, 2, 0),
    "gelu-half": (ag.gelu, 0, 2, 1),
    # Distribution function and density of the standard normal distribution at 1, from tables.
    "gelu": (ag.gelu, 1, 2, 2 * (0.841344746068543 + 0.241970724519143)),
    "gelu-negative": (ag.gelu, -1, 2, 2 * (1 - 0.841344746068543 - 0.241970724519143)),
    "clip-inside": (lambda x: ag.clip(x, 0, 4), 3, 2, 2),
    "clip-below": (lambda x: ag.clip(x, 0, 4), -1, 2, 0),
    "clip-above": (lambda x: ag.clip(x, 0, 4), 5, 2, 0),
    "clip-open": (lambda x: ag.clip(x, None, 4), -5, 2, 2),
    "copy": (ag.copy, 3, 2, 2),
    "power": (lambda x: x**3, 2, 2, 24),
    "reciprocal": (lambda x: x**-1, 2, 2, -0.5),
}


@pytest.mark.parametrize(("function", "x", "g", "expected"), UNARY.values(), ids=UNARY)
def test_of_one_input(dev, function, x, g, expected):
    (grad,) = dev.gradients(function, [x, x], g=[g, 0])
    dev.close(grad, [expected, 0])


BINARY = {
    "add": (ag.add, 6, 3, (2, 2)),
    "subtract": (ag.subtract, 6, 3, (2, -2)),
    "multiply": (ag.multiply, 6, 3, (6, 12)),
    "divide": (ag.divide, 6, 3, (2 / 3, -2 * 6 / 9)),
    "pow": (ag.pow, 2, 3, (2 * 3 * 4, 2 * 8 * math.log(2))),
    "pow-of-one": (ag.pow, 1, 3, (6, 0)),
    "maximum-first": (ag.maximum, 3, 1, (2, 0)),
    "maximum-second": (ag.maximum, 1, 3, (0, 2)),
    "minimum-first": (ag.minimum, 1, 3, (2, 0)),
    "minimum-second": (ag.minimum, 3, 1, (0, 2)),
    "where": (lambda a, b: ag.where(a > b, a, b), 3, 1, (2, 0)),
}


@pytest.mark.parametrize(("function", "a", "b", "expected"), BINARY.values(), ids=BINARY)
def test_of_two_inputs(dev, function, a, b, expected):
    grads = dev.gradients(function, [a, a], [b, b], g=[2, 0])
    for grad, value in zip(grads, expected, strict=True):
        dev.close(grad, [value, 0])


def test_tanh_at_one_half(dev):
    (grad,) = dev.gradients(ag.tanh, 0.5, g=2)
    dev.close(grad, 1.572896, atol=1e-6)


@pytest.mark.parametrize("x", [-1.0, 0.0, 0.5])
def test_tanh_form_of_gelu(dev, x):
    scale = math.sqrt(2 / math.pi)
    t = math.tanh(scale * (x + 0.044715 * x**3))
    expected = (1 + t) / 2 + x * (1 - t * t) / 2 * scale * (1 + 3 * 0.044715 * x * x)
    (grad,) = dev.gradients(lambda a: ag.gelu(a, approximate="tanh"), x)
    dev.close(grad, expected)


# ---- Conventions where there is no derivative

KINKS = {
    "relu": (ag.relu, 0.0, 0.0),
    "abs": (ag.abs, 0.0, 0.0),
    "clip-lower-bound": (lambda x: ag.clip(x, 0, 4), 0.0, 1.0),
    "clip-upper-bound": (lambda x: ag.clip(x, 0, 4), 4.0, 1.0),
}


@pytest.mark.parametrize(("function", "x", "expected"), KINKS.values(), ids=KINKS)
def test_kinks(dev, function, x, expected):
    (grad,) = dev.gradients(function, x)
    dev.close(grad, expected, atol=0)


@pytest.mark.parametrize("function", [ag.maximum, ag.minimum], ids=["maximum", "minimum"])
def test_tie_of_two(dev, function):
    for grad in dev.gradients(function, [3.0], [3.0], g=[2]):
        dev.close(grad, [1], atol=0)


@pytest.mark.parametrize("x", [0.0, 2.0, -2.0])
def test_base_has_no_gradient_where_the_exponent_is_zero(dev, x):
    base, exponent = dev.leaf([x]), dev.constant([0.0])
    (base**exponent).backward()
    dev.close(base.grad, [0], atol=0)


@pytest.mark.parametrize("x", [0.0, 2.0])
def test_base_has_no_gradient_where_the_exponent_is_the_number_zero(dev, x):
    (grad,) = dev.gradients(lambda a: a**0, [x])
    dev.close(grad, [0], atol=0)


@pytest.mark.parametrize("exponent", [0.0, 1.0, 2.0])
def test_exponent_has_no_gradient_where_the_base_is_zero(dev, exponent):
    base, p = dev.constant([0.0]), dev.leaf([exponent])
    (base**p).backward()
    dev.close(p.grad, [0], atol=0)


def test_zero_to_the_zero_in_both(dev):
    for grad in dev.gradients(ag.pow, [0.0], [0.0]):
        dev.close(grad, [0], atol=0)


NO_HISTORY = {
    "equal": lambda x: x == 1,
    "not_equal": lambda x: x != 1,
    "less": lambda x: x < 1,
    "less_equal": lambda x: x <= 1,
    "greater": lambda x: x > 0,
    "greater_equal": lambda x: x >= 0,
    "argmax": ag.argmax,
    "argmin": ag.argmin,
    "all": ag.all,
    "any": ag.any,
    "sign": ag.sign,
    "floor": ag.floor,
    "ceil": ag.ceil,
    "round": ag.round,
    "trunc": ag.trunc,
    "floor_divide": lambda x: x // 2,
    "isnan": ag.isnan,
    "isinf": ag.isinf,
    "isfinite": ag.isfinite,
    "to integers": lambda x: x.astype("int64"),
    "to booleans": lambda x: x.astype("bool"),
}


@pytest.mark.parametrize("function", NO_HISTORY.values(), ids=NO_HISTORY)
def test_results_without_history(dev, function):
    y = function(dev.leaf([1.5, 2.5]))
    assert not y.requires_grad
    assert y.grad_fn is None
    assert y.is_leaf


def test_comparison_is_a_constant_mask(dev):
    x = dev.leaf([-1, 2])
    (ag.astype(x > 0, "float64") * x).sum().backward()
    dev.close(x.grad, [0, 1], atol=0)


# ---- Broadcasting

MATRIX = [[1, 2, 3], [4, 5, 6]]

SUMS_TO_SHAPE = {
    "same": ((2, 3), MATRIX),
    "leading axis": ((3,), [5, 7, 9]),
    "stretched first axis": ((1, 3), [[5, 7, 9]]),
    "stretched second axis": ((2, 1), [[6], [15]]),
    "scalar": ((), 21),
}


@pytest.mark.parametrize(("shape", "expected"), SUMS_TO_SHAPE.values(), ids=SUMS_TO_SHAPE)
def test_sum_to_shape(dev, shape, expected):
    dev.close(ag.sum_to_shape(dev.constant(MATRIX), shape), expected, atol=0)


@pytest.mark.parametrize(("shape", "expected"), SUMS_TO_SHAPE.values(), ids=SUMS_TO_SHAPE)
def test_gradient_of_a_broadcast_operand(dev, shape, expected):
    """Adding it to the matrix and weighting the sum with the matrix gives the table's row as its gradient."""
    x = dev.leaf(np.zeros(shape))
    (x + dev.constant(MATRIX)).backward(MATRIX)
    dev.close(x.grad, expected, atol=0)


@pytest.mark.parametrize(
    ("shape", "target"),
    [((3,), (2, 3)), ((), (1,)), ((2, 3), (2, 2)), ((2, 3), (4,)), ((2, 0), (2, 3))],
    ids=["too few axes", "scalar", "other size", "other last size", "empty"],
)
def test_sum_to_shape_refuses(dev, shape, target):
    text = f"cannot reduce gradient of shape {list(shape)} to {list(target)}"
    with pytest.raises(ValueError, match=re.escape(text)):
        ag.sum_to_shape(dev.constant(np.zeros(shape)), target)


@pytest.mark.parametrize(
    ("shape", "target"),
    [((0, 3), (3,)), ((0, 3), (1, 3)), ((0,), ()), ((2, 0), (2, 1)), ((0, 0), (1,))],
    ids=str,
)
def test_sum_to_shape_of_nothing_is_zero(dev, shape, target):
    dev.close(ag.sum_to_shape(dev.constant(np.zeros(shape)), target), np.zeros(target), atol=0)


@pytest.mark.parametrize(("shape", "target"), [((), ()), ((0, 3), (0, 3)), ((1,), ()), ((1, 1), (1,))], ids=str)
def test_sum_to_shape_of_little(dev, shape, target):
    dev.close(ag.sum_to_shape(dev.constant(np.full(shape, 7.0)), target), np.full(target, 7.0), atol=0)


def test_product_of_a_matrix_and_a_row(dev):
    a, b = dev.leaf(MATRIX), dev.leaf([10, 20, 30])
    (a * b).sum().backward()
    dev.close(a.grad, [[10, 20, 30], [10, 20, 30]], atol=0)
    dev.close(b.grad, [5, 7, 9], atol=0)


def test_product_of_a_column_and_a_vector(dev):
    a, b = dev.leaf([[1], [2], [3], [4]]), dev.leaf([5, 6, 7])
    y = a * b
    y.sum().backward()
    assert y.shape == (4, 3)
    dev.close(a.grad, [[18]] * 4, atol=0)
    dev.close(b.grad, [10, 10, 10], atol=0)


def test_product_of_a_column_and_a_row(dev):
    a, b = dev.leaf([[1], [2], [3]]), dev.leaf([[4, 5, 6, 7]])
    y = a * b
    y.sum().backward()
    assert y.shape == (3, 4)
    dev.close(a.grad, [[22]] * 3, atol=0)
    dev.close(b.grad, [[6] * 4], atol=0)


def test_bias_of_each_row_is_summed(dev):
    z, b = dev.leaf(np.zeros((3, 2))), dev.leaf([1, 2])
    (z + b).backward([[1, 10], [2, 20], [3, 30]])
    dev.close(b.grad, [6, 60], atol=0)
    dev.close(z.grad, [[1, 10], [2, 20], [3, 30]], atol=0)


# ---- Data types and devices


def test_mixed_precision(dev):
    """One node; each gradient in its own input's precision."""
    single, double = dev.leaf([1, 2], dtype="float32"), dev.leaf([3, 4])
    y = single * double
    y.sum().backward()
    assert y.dtype == np.float64
    assert [node.name for node, _ in y.grad_fn.next_functions] == ["AccumulateGrad", "AccumulateGrad"]
    assert (single.grad.dtype, double.grad.dtype) == (np.float32, np.float64)
    dev.close(single.grad, [3, 4], atol=0)
    dev.close(double.grad, [1, 2], atol=0)


@pytest.mark.parametrize("function", [ag.add, ag.subtract, ag.divide, ag.maximum, ag.pow], ids=lambda f: f.__name__)
def test_mixed_precision_keeps_its_dtype(dev, function):
    single, double = dev.leaf([1, 2], dtype="float32"), dev.leaf([[3, 4]])
    function(single, double).sum().backward()
    assert (single.grad.dtype, single.grad.shape) == (np.float32, (2,))
    assert (double.grad.dtype, double.grad.shape) == (np.float64, (1, 2))


def test_conversion_of_data_type(dev):
    x = dev.leaf([1, 2], dtype="float32")
    y = x.to("float64")
    y.backward([3, 4])
    assert (y.dtype, x.grad.dtype) == (np.float64, np.float32)
    dev.close(x.grad, [3, 4], atol=0)


def test_conversion_of_device(dev):
    x = dev.leaf([1, 2])
    y = x.to("strict") * ag.tensor([3.0, 4.0], device="strict")
    y.sum().backward()
    assert y.device.startswith("strict")
    dev.close(x.grad, [3, 4], atol=0)


# ---- Products of matrices


def test_matmul(dev):
    a, b = dev.leaf([[1, 2], [3, 4]]), dev.leaf([[5, 6], [7, 8]])
    (a @ b).sum().backward()
    dev.close(a.grad, [[11, 15], [11, 15]], atol=0)
    dev.close(b.grad, [[4, 4], [6, 6]], atol=0)


def test_matmul_of_shapes_that_all_differ(dev):
    rng = np.random.default_rng(5)
    a, b, g = (rng.normal(size=shape) for shape in [(2, 3), (3, 4), (2, 4)])
    grad_a, grad_b = dev.gradients(ag.matmul, a, b, g=g.tolist())
    dev.close(grad_a, [[sum(g[i, j] * b[p, j] for j in range(4)) for p in range(3)] for i in range(2)])
    dev.close(grad_b, [[sum(a[i, p] * g[i, j] for i in range(2)) for j in range(4)] for p in range(3)])


MATRIX_VECTOR = {
    "vector @ vector": ([1, 2], [3, 4], 2, [6, 8], [2, 4]),
    "vector @ matrix": ([1, 2], [[3, 4, 5], [6, 7, 8]], [1, 10, 100], [543, 876], [[1, 10, 100], [2, 20, 200]]),
    "matrix @ vector": ([[1, 2], [3, 4], [5, 6]], [7, 8], [1, 10, 100], [[7, 8], [70, 80], [700, 800]], [531, 642]),
}


@pytest.mark.parametrize(("a", "b", "g", "grad_a", "grad_b"), MATRIX_VECTOR.values(), ids=MATRIX_VECTOR)
def test_matmul_of_vectors(dev, a, b, g, grad_a, grad_b):
    for grad, expected in zip(dev.gradients(ag.matmul, a, b, g=g), (grad_a, grad_b), strict=True):
        dev.close(grad, expected, atol=0)


def test_matmul_of_a_batch_with_a_shared_weight(dev):
    """The weight is used once a matrix, so its gradient is the sum of all uses."""
    batch, weight = [[[1, 2]], [[3, 4]]], [[5, 6], [7, 8]]
    x, w = dev.leaf(batch), dev.leaf(weight)
    (x @ w).backward([[[1, 10]], [[100, 1000]]])
    dev.close(x.grad, [[[65, 87]], [[6500, 8700]]], atol=0)
    dev.close(w.grad, [[1 + 300, 10 + 3000], [2 + 400, 20 + 4000]], atol=0)


def test_matmul_with_batch_axes_that_broadcast(dev):
    a, b = dev.leaf(np.ones((2, 1, 3, 4))), dev.leaf(np.ones((5, 4, 6)))
    (a @ b).sum().backward()
    dev.close(a.grad, np.full((2, 1, 3, 4), 5 * 6), atol=0)
    dev.close(b.grad, np.full((5, 4, 6), 2 * 3), atol=0)


@pytest.mark.parametrize("shape", [(2,), (2, 1)], ids=["vector", "column"])
def test_gradient_of_linear_regression(dev, shape):
    """The mean of squared residuals r has the gradient 2 / n X^T r."""
    inputs, targets = np.array([[1.0, 2], [3, 4], [5, 7]]), np.array([1.0, 0, 2])
    weights = np.array([0.5, -1])
    w = dev.leaf(weights.reshape(shape))
    residuals = dev.constant(inputs) @ w - dev.constant(targets.reshape((3, *shape[1:])))
    ag.mean(residuals**2).backward()
    expected = 2 / 3 * inputs.T @ (inputs @ weights - targets)
    dev.close(w.grad, expected.reshape(shape))


# ---- Reductions

REDUCTIONS = {
    "sum": (lambda x: ag.sum(x, axis=1), [[1, 2], [3, 4]], [5, 7], [[5, 5], [7, 7]]),
    "sum-keepdims": (lambda x: ag.sum(x, axis=1, keepdims=True), [[1, 2], [3, 4]], [[5], [7]], [[5, 5], [7, 7]]),
    "sum-first-axis": (lambda x: ag.sum(x, axis=0), [[1, 2], [3, 4]], [5, 7], [[5, 7], [5, 7]]),
    "sum-negative-axis": (lambda x: ag.sum(x, axis=-1), [[1, 2], [3, 4]], [5, 7], [[5, 5], [7, 7]]),
    "sum-both": (lambda x: ag.sum(x, axis=(0, 1)), [[1, 2], [3, 4]], 5, [[5, 5], [5, 5]]),
    "sum-all": (ag.sum, [[1, 2], [3, 4]], 5, [[5, 5], [5, 5]]),
    "mean": (lambda x: ag.mean(x, axis=1), [[1, 2, 3], [4, 5, 6]], [3, 6], [[1, 1, 1], [2, 2, 2]]),
    "mean-all": (ag.mean, [[1, 2], [3, 4]], 8, [[2, 2], [2, 2]]),
    "prod-one-zero": (ag.prod, [2, 0, 3], 1, [0, 6, 0]),
    "prod-two-zeros": (ag.prod, [2, 0, 0], 1, [0, 0, 0]),
    "prod-no-zero": (ag.prod, [2, 4, 3], 1, [12, 6, 8]),
    "prod-rows": (
        lambda x: ag.prod(x, axis=1), [[2, 0, 3], [2, 0, 0], [2, 4, 3]], [1, 1, 2], [[0, 6, 0], [0] * 3, [24, 12, 16]],
    ),
    "max": (ag.max, [1, 3, 2], 5, [0, 5, 0]),
    "max-ties": (ag.max, [3, 3, 1, 3], 1, [1 / 3, 1 / 3, 0, 1 / 3]),
    "max-rows": (lambda x: ag.max(x, axis=1), [[1, 2], [4, 4]], [3, 6], [[0, 3], [3, 3]]),
    "min": (ag.min, [1, 3, 2], 5, [5, 0, 0]),
    "min-ties": (ag.min, [1, 3, 1], 1, [0.5, 0, 0.5]),
    "min-rows": (lambda x: ag.min(x, axis=1), [[1, 2], [4, 4]], [3, 6], [[3, 0], [3, 3]]),
    "var": (ag.var, [1, 2, 6], 1, [-4 / 3, -2 / 3, 2]),
    "var-correction": (lambda x: ag.var(x, correction=1), [1, 2, 6], 1, [-2, -1, 3]),
    "std": (ag.std, [1, 2, 6], 1, [-2 / 42**0.5, -1 / 42**0.5, 3 / 42**0.5]),
    "std-correction": (lambda x: ag.std(x, correction=1), [1, 2, 6], 1, [-1 / 7**0.5, -0.5 / 7**0.5, 1.5 / 7**0.5]),
    "std-of-equals": (ag.std, [2, 2], 1, [0, 0]),
    "vector_norm": (ag.vector_norm, [3, 4], 10, [6, 8]),
    "vector_norm-rows": (lambda x: ag.vector_norm(x, axis=1), [[3, 4], [0, 0]], [10, 1], [[6, 8], [0, 0]]),
    "logsumexp": (ag.logsumexp, [0, math.log(3)], 8, [2, 6]),
    "logsumexp-large": (ag.logsumexp, [1000, 1000 + math.log(3)], 8, [2, 6]),
    "logsumexp-rows": (
        lambda x: ag.logsumexp(x, axis=1), [[0, math.log(3)], [5, 5]], [8, 2], [[2, 6], [1, 1]],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("function", "x", "g", "expected"), REDUCTIONS.values(), ids=REDUCTIONS)
def test_reduction(dev, function, x, g, expected):
    (grad,) = dev.gradients(function, x, g=g)
    dev.close(grad, expected, atol=1e-11)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("columns", [4, 3], ids=["3x4", "3x3"])
def test_sum_of_rows_copies_along_the_rows(dev, columns, keepdims):
    """On a square input a cotangent that was not put back upright would broadcast without an error."""
    g = np.array([1.0, 2, 3]).reshape((3, 1) if keepdims else (3,))
    (grad,) = dev.gradients(lambda x: ag.sum(x, axis=1, keepdims=keepdims), np.zeros((3, columns)), g=g.tolist())
    dev.close(grad, [[1] * columns, [2] * columns, [3] * columns], atol=0)


def test_mean_over_two_axes(dev):
    (grad,) = dev.gradients(lambda x: ag.mean(x, axis=(0, 2)), np.zeros((2, 3, 4)), g=[8, 16, 24])
    dev.close(grad, np.array([1, 2, 3]).reshape(3, 1) * np.ones((2, 3, 4)), atol=0)


def test_mean_is_the_sum_times_a_constant(dev):
    x = np.random.default_rng(6).normal(size=(2, 3))
    g = [0.5, -2.0, 3.0]
    (of_mean,) = dev.gradients(lambda a: ag.mean(a, axis=0), x, g=g)
    (of_sum,) = dev.gradients(lambda a: ag.sum(a, axis=0) * 0.5, x, g=g)
    dev.close(of_mean, to_host(of_sum), atol=1e-15)


def test_cumulative_sum(dev):
    (grad,) = dev.gradients(lambda x: ag.cumulative_sum(x, axis=0), [0, 0, 0, 0], g=[1, 10, 100, 1000])
    dev.close(grad, [1111, 1110, 1100, 1000], atol=0)


def test_cumulative_sum_does_not_cancel(dev):
    """A rule that subtracts from the total would lose the small cotangents behind the large one."""
    (grad,) = dev.gradients(lambda x: ag.cumulative_sum(x, axis=0), [0, 0, 0], g=[1e17, 1, 1])
    dev.close(grad, [1e17, 2, 1], atol=0)


# ---- Softmax and what belongs to it


def test_softmax(dev):
    x = dev.leaf([1, 2, 3])
    y = ag.softmax(x)
    y.backward([1, 0, 0])
    dev.close(y.detach(), [0.0900, 0.2447, 0.6652], atol=5.1e-5)
    dev.close(x.grad, [0.0819, -0.0220, -0.0599], atol=5.1e-5)
    assert abs(to_host(x.grad).sum()) < 1e-16


def test_softmax_gradient_sums_to_zero(dev):
    rng = np.random.default_rng(7)
    (grad,) = dev.gradients(ag.softmax, rng.normal(size=(3, 5)), g=rng.normal(size=(3, 5)).tolist())
    dev.close(ag.sum(grad, axis=1), [0, 0, 0], atol=1e-15)


def test_softmax_against_its_jacobian(dev):
    rng = np.random.default_rng(8)
    x, g = rng.normal(size=4), rng.normal(size=4)
    y = np.exp(x) / np.exp(x).sum()
    (grad,) = dev.gradients(ag.softmax, x, g=g.tolist())
    dev.close(grad, (np.diag(y) - np.outer(y, y)) @ g)


def test_log_softmax(dev):
    """Softmax of [0, log 3] is [1/4, 3/4]; the cotangents add up to 8."""
    x = dev.leaf([0, math.log(3)])
    y = ag.log_softmax(x)
    y.backward([5, 3])
    dev.close(y.detach(), [math.log(0.25), math.log(0.75)])
    dev.close(x.grad, [5 - 2, 3 - 6])


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_softmax_along_an_axis(dev, axis):
    rng = np.random.default_rng(9)
    x, g = rng.normal(size=(2, 3)), rng.normal(size=(2, 3))
    y = np.exp(x) / np.exp(x).sum(axis=axis, keepdims=True)
    (grad,) = dev.gradients(lambda a: ag.softmax(a, axis=axis), x, g=g.tolist())
    dev.close(grad, y * (g - (g * y).sum(axis=axis, keepdims=True)))
    (grad,) = dev.gradients(lambda a: ag.log_softmax(a, axis=axis), x, g=g.tolist())
    dev.close(grad, g - y * g.sum(axis=axis, keepdims=True))


def test_cross_entropy(dev):
    logits, targets = dev.leaf([[2, 1, 0.1]]), dev.constant([0], dtype="int64")
    loss = ag.cross_entropy(logits, targets)
    loss.backward()
    dev.close(ag.softmax(logits.detach()), [[0.6590, 0.2424, 0.0986]], atol=5.1e-5)
    dev.close(loss.detach(), 0.4170, atol=5.1e-5)
    dev.close(logits.grad, [[-0.3410, 0.2424, 0.0986]], atol=5.1e-5)


def test_cross_entropy_is_one_node_with_one_edge(dev):
    logits, targets = dev.leaf([[2, 1, 0.1]]), dev.constant([0], dtype="int64")
    node = ag.cross_entropy(logits, targets).grad_fn
    assert node.name == "CrossEntropyBackward"
    edges = [target for target, _ in node.next_functions if target is not None]
    assert [edge.name for edge in edges] == ["AccumulateGrad"]


@pytest.mark.parametrize(
    ("reduction", "g", "weights"),
    [("mean", 1, [0.5, 0.5]), ("sum", 1, [1, 1]), ("none", [3, 10], [3, 10])],
    ids=["mean", "sum", "none"],
)
def test_cross_entropy_weighs_each_row(dev, reduction, g, weights):
    """Rows with the softmax [1/4, 3/4], targets 0 and 1."""
    logits = dev.leaf([[0, math.log(3)], [0, math.log(3)]])
    targets = dev.constant([0, 1], dtype="int64")
    loss = ag.cross_entropy(logits, targets, reduction=reduction)
    loss.backward(g)
    losses = np.array([math.log(4), math.log(4 / 3)])
    dev.close(loss.detach(), {"mean": losses.mean(), "sum": losses.sum(), "none": losses}[reduction])
    slopes = np.array([[-0.75, 0.75], [0.25, -0.25]])
    dev.close(logits.grad, np.array(weights)[:, None] * slopes)


def test_cross_entropy_equals_its_composition(dev):
    rng = np.random.default_rng(10)
    values, classes = rng.normal(size=(4, 3)), dev.constant([0, 2, 1, 1], dtype="int64")
    fused, composed = dev.leaf(values), dev.leaf(values)
    loss = ag.cross_entropy(fused, classes)
    loss.backward()
    picked = ag.take_along_axis(ag.log_softmax(composed), ag.expand_dims(classes, axis=1), axis=1)
    by_hand = -ag.mean(picked)
    by_hand.backward()
    dev.close(loss.detach(), to_host(by_hand.detach()))
    dev.close(fused.grad, to_host(composed.grad))


def composed_cross_entropy(z, y):
    e = ag.exp(z - ag.max(z.detach(), axis=-1, keepdims=True))
    probabilities = e / ag.sum(e, axis=-1, keepdims=True)
    return -ag.mean(ag.sum(ag.log(probabilities) * y, axis=-1))


def test_composed_cross_entropy_overflows_at_far_logits(dev):
    z = dev.leaf([[0, -800]])
    with np.errstate(all="ignore"):
        loss = composed_cross_entropy(z, dev.constant([[0, 1]]))
        loss.backward()
    dev.close(loss.detach(), math.inf)
    dev.close(z.grad, [[math.nan, math.nan]])


def test_fused_cross_entropy_is_finite_at_far_logits(dev):
    z = dev.leaf([[0, -800]])
    loss = ag.cross_entropy(z, dev.constant([1], dtype="int64"))
    loss.backward()
    dev.close(loss.detach(), 800, atol=0)
    dev.close(z.grad, [[1, -1]], atol=0)


def test_standardize(dev):
    """Deviations -1 and 1 with a scale of 2: the variance 1 plus an eps of 3."""
    x = dev.leaf([1, 3])
    y = ag.standardize(x, eps=3.0)
    y.backward([1, 0])
    dev.close(y.detach(), [-0.5, 0.5])
    dev.close(x.grad, [0.1875, -0.1875])


@pytest.mark.parametrize("axis", [-1, 0, (1, 2), (0, 2)], ids=str)
def test_standardize_by_the_formula(dev, axis):
    rng = np.random.default_rng(11)
    x, g = rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 3, 4))

    def mean(values):
        return values.mean(axis=axis, keepdims=True)

    scale = np.sqrt(mean((x - mean(x)) ** 2) + 1e-5)
    y = (x - mean(x)) / scale
    (grad,) = dev.gradients(lambda a: ag.standardize(a, axis=axis), x, g=g.tolist())
    dev.close(grad, (g - mean(g) - y * mean(g * y)) / scale)


def test_standardize_ignores_a_shift(dev):
    rng = np.random.default_rng(12)
    (grad,) = dev.gradients(ag.standardize, rng.normal(size=5), g=rng.normal(size=5).tolist())
    assert abs(to_host(grad).sum()) < 1e-14


# ---- Views and indexing: gradients carry the number of their place

COUNT = np.arange(1.0, 7)
PLACES = COUNT.reshape(2, 3).tolist()

VIEWS = {
    "reshape": (lambda x: x.reshape(3, 2), (2, 3), COUNT.reshape(3, 2), PLACES),
    "view": (lambda x: x.view(6), (2, 3), COUNT, PLACES),
    "squeeze-all": (lambda x: x.squeeze(), (1, 2, 1, 3), PLACES, COUNT.reshape(1, 2, 1, 3)),
    "squeeze": (lambda x: x.squeeze(1), (2, 1, 3), PLACES, COUNT.reshape(2, 1, 3)),
    "unsqueeze": (lambda x: x.unsqueeze(1), (2, 3), COUNT.reshape(2, 1, 3), PLACES),
    "transpose": (lambda x: x.transpose(0, 1), (2, 3), [[1, 4], [2, 5], [3, 6]], PLACES),
    "T": (lambda x: x.T, (2, 3), [[1, 4], [2, 5], [3, 6]], PLACES),
    "mT": (lambda x: x.mT, (1, 2, 3), [[[1, 4], [2, 5], [3, 6]]], [PLACES]),
    "permute": (
        lambda x: x.permute(2, 0, 1), (1, 2, 3), COUNT.reshape(1, 2, 3).transpose(2, 0, 1), COUNT.reshape(1, 2, 3),
    ),
    "expand": (lambda x: x.expand(2, 3), (3,), PLACES, [5, 7, 9]),
    "expand-stretched": (lambda x: x.expand(2, 3), (2, 1), PLACES, [[6], [15]]),
    "slice": (lambda x: x[1:3], (4,), [7, 9], [0, 7, 9, 0]),
    "narrow": (lambda x: x.narrow(0, 1, 2), (4,), [7, 9], [0, 7, 9, 0]),
    "slice-step": (lambda x: x[::2], (5,), [1, 2, 3], [1, 0, 2, 0, 3]),
    "slice-reversed": (lambda x: x[::-1], (3,), [1, 2, 3], [3, 2, 1]),
    "select": (lambda x: x.select(1, 2), (2, 3), [7, 9], [[0, 0, 7], [0, 0, 9]]),
    "integer": (lambda x: x[1], (2, 3), [7, 8, 9], [[0, 0, 0], [7, 8, 9]]),
    "clone": (lambda x: x.clone(), (2, 3), PLACES, PLACES),
}  # fmt: skip


@pytest.mark.parametrize(("function", "shape", "g", "expected"), VIEWS.values(), ids=VIEWS)
def test_view(dev, function, shape, g, expected):
    (grad,) = dev.gradients(function, np.zeros(shape), g=np.asarray(g).tolist())
    dev.close(grad, expected, atol=0)


def test_permutation_is_undone_by_its_inverse(dev):
    """The inverse of (2, 0, 1) is (1, 2, 0), not itself."""
    x = np.random.default_rng(13).normal(size=(2, 3, 4))
    g = np.arange(24.0).reshape(4, 2, 3)
    (grad,) = dev.gradients(lambda a: ag.permute_dims(a, (2, 0, 1)), x, g=g.tolist())
    dev.close(grad, g.transpose(1, 2, 0), atol=0)


@pytest.mark.parametrize("axis", [0, 1])
def test_concat(dev, axis):
    a, b = np.zeros((2, 3)), np.zeros((1, 3) if axis == 0 else (2, 1))
    g = np.arange(np.concatenate([a, b], axis=axis).size, dtype=float).reshape(np.concatenate([a, b], axis=axis).shape)
    grad_a, grad_b = dev.gradients(lambda p, q: ag.concat([p, q], axis=axis), a, b, g=g.tolist())
    expected_a, expected_b = np.split(g, [a.shape[axis]], axis=axis)
    dev.close(grad_a, expected_a, atol=0)
    dev.close(grad_b, expected_b, atol=0)


def test_concat_of_one_tensor_twice(dev):
    (grad,) = dev.gradients(lambda x: ag.concat([x, x]), [0, 0], g=[1, 2, 30, 40])
    dev.close(grad, [31, 42], atol=0)


def test_split_and_concat_in_another_order(dev):
    x = dev.leaf([1, 2, 3, 4, 5])
    first, second, third = x.split([2, 2, 1])
    y = ag.concat([third, first, second])
    y.backward([50, 10, 20, 30, 40])
    dev.close(y.detach(), [5, 1, 2, 3, 4], atol=0)
    dev.close(x.grad, [10, 20, 30, 40, 50], atol=0)


def test_stack(dev):
    grads = dev.gradients(lambda a, b: ag.stack([a, b], axis=1), [0, 0], [0, 0], g=[[1, 2], [3, 4]])
    dev.close(grads[0], [1, 3], atol=0)
    dev.close(grads[1], [2, 4], atol=0)


def test_index_select_adds_where_an_index_repeats(dev):
    x = dev.leaf([1, 2, 3])
    y = x.index_select(0, dev.constant([2, 0, 2], dtype="int64"))
    y.sum().backward()
    dev.close(y.detach(), [3, 1, 3], atol=0)
    dev.close(x.grad, [1, 0, 2], atol=0)


def test_index_select_of_rows(dev):
    """What an embedding does: rows of a table, some of them several times."""
    table = dev.leaf(np.zeros((3, 2)))
    rows = table.index_select(0, dev.constant([1, 1, 0], dtype="int64"))
    rows.backward([[1, 2], [10, 20], [5, 6]])
    dev.close(table.grad, [[5, 6], [11, 22], [0, 0]], atol=0)


def test_gather_adds_where_an_index_repeats(dev):
    x = dev.leaf([[1, 2, 3], [4, 5, 6]])
    y = x.gather(1, dev.constant([[2, 2], [0, 1]], dtype="int64"))
    y.backward([[1, 10], [100, 1000]])
    dev.close(y.detach(), [[3, 3], [4, 5]], atol=0)
    dev.close(x.grad, [[0, 0, 11], [100, 1000, 0]], atol=0)


def test_indexing_with_integers_adds_where_one_repeats(dev):
    x = dev.leaf([1, 2, 3])
    x[dev.constant([2, 0, 2], dtype="int64")].sum().backward()
    dev.close(x.grad, [1, 0, 2], atol=0)


def test_where_broadcasts(dev):
    mask = dev.constant([[True, False, True], [False, False, True]], dtype="bool")
    a, b = dev.leaf([1, 2, 3]), dev.leaf([[4], [5]])
    y = ag.where(mask, a, b)
    y.backward([[1, 2, 3], [4, 5, 6]])
    dev.close(y.detach(), [[1, 4, 3], [5, 5, 3]], atol=0)
    dev.close(a.grad, [1, 0, 9], atol=0)
    dev.close(b.grad, [[2], [9]], atol=0)


def test_masked_fill(dev):
    mask = dev.constant([[True, False, True], [False, False, True]], dtype="bool")
    x = dev.leaf([1, 2, 3])
    y = x.masked_fill(mask, -1.0)
    y.backward([[1, 2, 3], [4, 5, 6]])
    dev.close(y.detach(), [[-1, 2, -1], [1, 2, -1]], atol=0)
    dev.close(x.grad, [4, 7, 0], atol=0)

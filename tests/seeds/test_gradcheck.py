"""The checker must fail where it should; then the cases that every engine has to pass."""

from __future__ import annotations

import re

import numpy as np
import pytest

import arraygrad as ag
from arraygrad import op as op_module
from arraygrad.tensor import ArrayLike


def leaf(values):
    return ag.tensor(values, dtype="float64", requires_grad=True)


def twice_or_thrice(x):
    """The slope 2 where it is recorded, so for backward, and 3 for finite differences."""
    return x * 2 if ag.is_grad_enabled() else x * 3


LINE = re.compile(r"input (\d+) element (\[.*?\]): analytic (\S+) != numeric (\S+)")


def parsed(report):
    lines = [LINE.fullmatch(line) for line in report.splitlines()]
    assert all(lines), report
    return [(int(m[1]), m[2], float(m[3]), float(m[4])) for m in lines]


def report_of(f, *inputs, **options):
    result = ag.gradcheck(f, list(inputs), raise_exception=False, **options)
    assert result.passed is (result.report == "")
    return parsed(result.report)


class TestFailure:
    def test_wrong_gradient_is_detected(self):
        ((position, index, analytic, numeric),) = report_of(twice_or_thrice, leaf([1.5]))
        assert (position, index) == (0, "[0]")
        assert numeric / analytic == pytest.approx(3 / 2)

    def test_raises_by_default(self):
        with pytest.raises(ag.GradcheckError, match=re.escape("input 0 element [0]: analytic ")) as caught:
            ag.gradcheck(twice_or_thrice, [leaf([1.5])])
        assert isinstance(caught.value, AssertionError)

    def test_right_gradient_passes(self):
        result = ag.gradcheck(lambda x: x * 2, [leaf([1.5])])
        assert (result.passed, result.report) == (True, "")

    def test_numbers_of_a_line(self):
        """Outputs that add up to one number have one weight, which cancels in the ratio to a right gradient."""

        def f(x):
            return ag.sum(x * x * x) if ag.is_grad_enabled() else ag.sum(x * x * x) * 2

        lines = report_of(f, leaf([[1.0, 2.0], [3.0, 4.0]]))
        assert [line[:2] for line in lines] == [(0, "[0, 0]"), (0, "[0, 1]"), (0, "[1, 0]"), (0, "[1, 1]")]
        first = lines[0][2] / 3
        for (_, _, analytic, numeric), x in zip(lines, [1, 2, 3, 4], strict=True):
            assert (analytic, numeric) == pytest.approx((3 * x * x * first, 6 * x * x * first))

    def test_only_wrong_elements_are_reported(self):
        def f(x):
            return ag.concat([x[:1] * 2, twice_or_thrice(x[1:])])

        assert [line[:2] for line in report_of(f, leaf([1.0, 2.0, 3.0]))] == [(0, "[1]"), (0, "[2]")]

    def test_the_wrong_input_is_named(self):
        lines = report_of(lambda a, b: a * twice_or_thrice(b), leaf([1.0]), leaf([0.0]))
        assert [line[:2] for line in lines] == [(1, "[0]")]

    def test_element_of_a_scalar(self):
        assert [line[:2] for line in report_of(twice_or_thrice, leaf(1.5))] == [(0, "[]")]

    def test_missing_gradient_counts_as_zero(self):
        ((_, _, analytic, numeric),) = report_of(lambda x: x.detach() * 2, leaf([1.5]))
        assert analytic == 0
        assert numeric != 0

    def test_missing_gradient_of_one_input(self):
        lines = report_of(lambda a, b: a + b.detach(), leaf([1.0]), leaf([2.0]))
        assert [line[:3] for line in lines] == [(1, "[0]", 0.0)]

    def test_input_without_influence_passes(self):
        assert report_of(lambda a, b: a * 2, leaf([1.0]), leaf([2.0])) == []

    @pytest.mark.parametrize(
        "rule", [lambda g: 0.0 * g, lambda g: None, lambda g: -g], ids=["zero", "nothing", "wrong sign"]
    )
    def test_wrong_rule_is_rejected(self, rule, monkeypatch):
        monkeypatch.setattr(op_module, "OPS", dict(op_module.OPS))

        @op_module.elementwise(rule)
        def same(xp, x: ArrayLike, /):
            return xp.asarray(x, copy=True)

        with pytest.raises(ag.GradcheckError, match=re.escape("input 0 element [1]: ")):
            ag.gradcheck(same, [leaf([1.0, 2.0])])

    def test_wrong_axis_shows_on_a_square_input(self):
        """A cotangent of rows that is copied down the columns has the right shape and the wrong values."""

        def f(x):
            return ag.sum(x * x, axis=0 if ag.is_grad_enabled() else 1)

        assert report_of(f, leaf(np.random.default_rng(0).normal(size=(3, 3)))) != []


class TestTolerance:
    """The slopes are 2 and 3, times one weight: |2 - 3| against rtol * |3|."""

    @pytest.mark.parametrize(("rtol", "passes"), [(0.34, True), (0.33, False)])
    def test_is_relative_to_the_numeric_value(self, rtol, passes):
        assert ag.gradcheck(twice_or_thrice, [leaf([1.5])], atol=0, rtol=rtol, raise_exception=False).passed is passes

    def test_absolute_part(self):
        ((_, _, analytic, numeric),) = report_of(twice_or_thrice, leaf([1.5]))
        difference = abs(analytic - numeric)
        for factor, passes in [(1.01, True), (0.99, False)]:
            options = {"atol": factor * difference, "rtol": 0, "raise_exception": False}
            assert ag.gradcheck(twice_or_thrice, [leaf([1.5])], **options).passed is passes

    def test_defaults(self):
        """1e-5 + 1e-3 |n|: a slope that is off by a thousandth passes, one off by a hundredth does not."""

        def off_by(factor):
            return lambda x: x * factor if ag.is_grad_enabled() else x * 1.0

        assert report_of(off_by(1.0009), leaf([1.5])) == []
        assert len(report_of(off_by(1.01), leaf([1.5]))) == 1

    def test_projection_depends_on_its_seed_alone(self):
        first, again, other = (
            report_of(twice_or_thrice, leaf([1.5]), projection_seed=seed)[0][2] for seed in (0, 0, 1)
        )
        assert first == again != other


class TestDifferences:
    def test_are_central(self):
        """x ** 3 at 1 with a step of 0.1: 3.01 where the forward difference is 3.31."""
        ((_, _, analytic, numeric),) = report_of(lambda x: x**3, leaf([1.0]), eps=0.1, atol=0, rtol=0)
        measured, forward = 3 * numeric / analytic, (1.1**3 - 1) / 0.1
        assert (measured, forward) == pytest.approx((3.01, 3.31))

    @pytest.mark.parametrize(("x", "slope"), [(0.0, 0.5), (3e-7, 0.65)])
    def test_straddle_the_kink_of_relu(self, x, slope):
        """There the checker disagrees with the convention, rightly: inputs belong farther than eps from a kink."""
        ((_, _, analytic, numeric),) = report_of(ag.relu, leaf([x]))
        ((_, _, _, weight),) = report_of(lambda a: a.detach(), leaf([x]))
        assert analytic == pytest.approx(weight * (x > 0))
        assert numeric / weight == pytest.approx(slope)

    def test_of_relu_away_from_its_kink(self):
        assert ag.gradcheck(ag.relu, [leaf([-1.5, -0.3, 0.4, 2.0])]).passed


class TestInputs:
    @pytest.mark.parametrize("dtype", ["float32", "float16"])
    def test_must_be_double_precision(self, dtype):
        x = ag.tensor([1.0], dtype=dtype, requires_grad=True)
        with pytest.raises(TypeError, match="input 0 must be float64, got " + dtype):
            ag.gradcheck(ag.exp, [x])

    def test_must_require_grad(self):
        with pytest.raises(RuntimeError, match="input 1 must be a leaf tensor that requires grad"):
            ag.gradcheck(ag.add, [leaf([1.0]), ag.tensor([1.0])])

    def test_must_be_leaves(self):
        with pytest.raises(RuntimeError, match="input 0 must be a leaf tensor that requires grad"):
            ag.gradcheck(ag.exp, [leaf([1.0]) * 2])

    @pytest.mark.parametrize("f", [ag.tanh, twice_or_thrice], ids=["passes", "fails"])
    def test_are_restored(self, f):
        values = np.random.default_rng(1).normal(size=(2, 3))
        x = leaf(values)
        ag.gradcheck(f, [x], raise_exception=False)
        np.testing.assert_array_equal(x.array, values, strict=True)

    @pytest.mark.parametrize("calls", [1, 2, 3, 4], ids=lambda n: f"call {n}")
    def test_are_restored_when_the_function_raises(self, calls):
        values = [0.1, 0.2, 0.3]
        x, left = leaf(values), [calls]

        def f(a):
            left[0] -= 1
            if not left[0]:
                raise KeyError
            return ag.tanh(a)

        with pytest.raises(KeyError):
            ag.gradcheck(f, [x])
        np.testing.assert_array_equal(x.array, values)
        assert ag.is_grad_enabled()

    def test_gradients_of_earlier_calls_are_cleared(self):
        x = leaf([1.0, 2.0])
        (x * 100).sum().backward()
        assert ag.gradcheck(ag.tanh, [x]).passed

    def test_stay_leaves_that_require_grad(self):
        x = leaf([1.0])
        ag.gradcheck(ag.tanh, [x])
        assert x.requires_grad
        assert x.is_leaf


class TestOutputs:
    @pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 3), (2, 1, 3)], ids=str)
    def test_of_any_shape(self, shape):
        x = leaf(np.random.default_rng(2).normal(size=shape))
        assert ag.gradcheck(ag.tanh, [x]).passed
        assert len(report_of(twice_or_thrice, x)) == x.size

    def test_several(self):
        x = leaf([1.0, 2.0])
        assert ag.gradcheck(lambda a: (a * 2, ag.exp(a)), [x]).passed
        assert len(report_of(lambda a: (a * 2, twice_or_thrice(a)), x)) == 2


# ---- What each engine has to pass, at tolerances a tenth of the defaults'

STRICT = {"atol": 1e-6, "rtol": 1e-4}

CASES = {
    "add, bias": (lambda a, b: a + b, [(3, 4), (4,)]),
    "subtract, leading axis": (lambda a, b: a - b, [(4,), (3, 4)]),
    "multiply, column and row": (lambda a, b: a * b, [(3, 1), (1, 4)]),
    "divide": (lambda a, b: a / b, [(3, 4), (3, 4)]),
    "divide, broadcast": (lambda a, b: a / b, [(3, 4), (3, 1)]),
    "power": (lambda a: a**3, [(3, 4)]),
    "negative power": (lambda a: a**-0.5, [(3, 4)]),
    "power of two tensors": (lambda a, b: a**b, [(3, 4), (4,)]),
    "negative": (lambda a: -a, [(3, 4)]),
    "reflected": (lambda a: 2.0 - 3.0 / a + 1.0 * a, [(3,)]),
    "exp": (ag.exp, [(3, 4)]),
    "log": (ag.log, [(3, 4)]),
    "tanh": (ag.tanh, [(3, 4)]),
    "sum, one axis": (lambda a: ag.sum(a, axis=1) ** 2, [(3, 4)]),
    "sum, square input": (lambda a: ag.sum(a, axis=1) ** 2, [(4, 4)]),
    "sum, keepdims": (lambda a: a / ag.sum(a, axis=-1, keepdims=True), [(3, 4)]),
    "mean, two axes": (lambda a: ag.mean(a, axis=(0, 2)) ** 2, [(2, 3, 4)]),
    "reshape": (lambda a: a.reshape(6, 2) ** 2, [(3, 4)]),
    "transpose": (lambda a, b: a.T * b, [(3, 4), (4, 3)]),
    "matmul": (ag.matmul, [(2, 3), (3, 4)]),
    "matmul, batch": (ag.matmul, [(2, 3, 4), (2, 4, 5)]),
    "matmul, shared weight": (ag.matmul, [(5, 2, 3), (3, 4)]),
    "matmul, vectors": (ag.matmul, [(3,), (3,)]),
    "matmul, row": (ag.matmul, [(3,), (3, 4)]),
    "matmul, column": (ag.matmul, [(2, 3, 4), (4,)]),
    "diamond": (lambda a: (a * 3) * (a * 3) + a * 3, [(3,)]),
    "two-layer network": (
        lambda x, w1, b1, w2, b2: ag.tanh(x @ w1 + b1) @ w2 + b2, [(4, 2), (2, 3), (3,), (3, 1), (1,)],
    ),
    "mean squared error": (lambda p, y: ag.mean((p - y) ** 2), [(4, 1), (4, 1)]),
}  # fmt: skip


@pytest.mark.parametrize(("f", "shapes"), CASES.values(), ids=CASES)
def test_cases(f, shapes):
    """Inputs between 0.5 and 2, away from the poles of logarithm and division."""
    rng = np.random.default_rng(1234)
    assert ag.gradcheck(f, [leaf(rng.uniform(0.5, 2.0, size=shape)) for shape in shapes], **STRICT).passed


SMOOTH = {
    "add": (ag.add, 2),
    "subtract": (ag.subtract, 2),
    "multiply": (ag.multiply, 2),
    "divide": (ag.divide, 2),
    "pow": (ag.pow, 2),
    "maximum": (ag.maximum, 2),
    "minimum": (ag.minimum, 2),
    **{
        function.__name__: (function, 1)
        for function in [
            ag.negative, ag.abs, ag.exp, ag.log, ag.log1p, ag.expm1, ag.sqrt, ag.rsqrt, ag.sin, ag.cos, ag.tanh,
            ag.sigmoid, ag.relu, ag.gelu, ag.copy, ag.sum, ag.mean, ag.prod, ag.max, ag.min, ag.var, ag.std,
            ag.vector_norm, ag.logsumexp, ag.softmax, ag.log_softmax, ag.standardize, ag.matrix_transpose,
        ]
    },
    "gelu, tanh": (lambda x: ag.gelu(x, approximate="tanh"), 1),
    "clip": (lambda x: ag.clip(x, 0.6, 2.1), 1),
    "var, correction": (lambda x: ag.var(x, axis=1, correction=1), 1),
    "cumulative_sum": (lambda x: ag.cumulative_sum(x, axis=1), 1),
    "cross_entropy": (lambda x: ag.cross_entropy(x, ag.tensor([2, 0])), 1),
    "where": (lambda a, b: ag.where(ag.tensor([True, False, True]), a, b), 2),
    "masked_fill": (lambda x: ag.masked_fill(x, ag.tensor([True, False, True]), 0.0), 1),
    "take": (lambda x: ag.take(x, ag.tensor([2, 0, 2]), axis=1), 1),
    "take_along_axis": (lambda x: ag.take_along_axis(x, ag.tensor([[2, 2], [0, 1]]), axis=1), 1),
    "concat": (lambda a, b: ag.concat([b, a, b], axis=1), 2),
    "split": (lambda x: ag.split(x, [1, 2], axis=1), 1),
    "expand": (lambda x: x.expand(4, 2, 3), 1),
    "slice": (lambda x: x[:, ::-2], 1),
}  # fmt: skip


@pytest.mark.parametrize(("f", "arity"), SMOOTH.values(), ids=SMOOTH)
def test_formulas(f, arity):
    """All elements differ by more than a step, so that no maximum changes hands."""
    values = np.random.default_rng(1234).permutation(np.linspace(0.5, 2.5, 6 * arity, endpoint=False))
    assert ag.gradcheck(f, [leaf(part) for part in values.reshape(arity, 2, 3)], **STRICT).passed


@pytest.mark.parametrize("scale", [1.0, 4.0])
def test_sigmoid_squared(scale):
    x = leaf(scale * np.random.default_rng(1).normal(size=(3, 4)))
    assert ag.gradcheck(lambda a: ag.sum(ag.sigmoid(a) ** 2), [x], **STRICT).passed


def softmax(z):
    e = ag.exp(z - ag.max(z.detach(), axis=-1, keepdims=True))
    return e / ag.sum(e, axis=-1, keepdims=True)


def test_composed_softmax():
    rng = np.random.default_rng(1)
    weights = rng.normal(size=(2, 5))
    assert ag.gradcheck(lambda z: ag.sum(softmax(z) * weights), [leaf(rng.normal(size=(2, 5)))], **STRICT).passed


def test_composed_cross_entropy():
    targets = np.eye(6)[[0, 4, 2]]
    z = leaf(np.random.default_rng(1).normal(size=(3, 6)))
    assert ag.gradcheck(lambda a: -ag.mean(ag.sum(ag.log(softmax(a)) * targets, axis=-1)), [z], **STRICT).passed

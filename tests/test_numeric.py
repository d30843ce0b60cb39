"""What NumPy has beyond the standard where the op table does not reach: conventions, errors, NumPy's forms."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from devices import NAMES, make, to_host

import arraygrad as ag

inf, nan = math.inf, math.nan


def grads(function: Callable[..., Any], *values: Any) -> list[Any]:
    """The gradients of the sum of what a function returns."""
    leaves = [ag.tensor(value, requires_grad=True) for value in values]
    ag.sum(function(*leaves)).backward()
    return [leaf.grad.array.tolist() for leaf in leaves]


# ---- Gradients at hard points


@pytest.mark.parametrize(
    ("function", "value", "expected"),
    [
        (ag.nansum, [1.0, nan, 3.0], [1.0, 0.0, 1.0]),
        (ag.nansum, [nan, nan], [0.0, 0.0]),
        (ag.nanmean, [1.0, nan, 3.0], [0.5, 0.0, 0.5]),
        (ag.nanmean, [nan, nan], [0.0, 0.0]),
        (ag.nanmax, [1.0, nan, 3.0, 3.0], [0.0, 0.0, 0.5, 0.5]),
        (ag.nanmax, [nan, nan], [0.0, 0.0]),
        (ag.nanmin, [nan, 2.0, 3.0], [0.0, 1.0, 0.0]),
        (ag.median, [3.0, 1.0, 2.0, 5.0], [0.5, 0.0, 0.5, 0.0]),
        (ag.median, [3.0, 1.0, 2.0], [0.0, 0.0, 1.0]),
        (ag.median, [1.0, 1.0, 1.0], [0.0, 1.0, 0.0]),
        (ag.median, [1.0, nan, 2.0], [0.0, 0.0, 0.0]),
        (lambda x: ag.quantile(x, 0.25), [4.0, 0.0, 2.0], [0.0, 0.5, 0.5]),
        (lambda x: ag.quantile(x, 1.0), [4.0, 0.0, 2.0], [1.0, 0.0, 0.0]),
        (ag.logcumsumexp, [-inf, -inf], [0.0, 0.0]),
        (lambda x: ag.logcumsumexp(x)[1], [-inf, 2.0], [0.0, 1.0]),
        (lambda x: ag.logcumsumexp(x)[2], [-inf, -1000.0, -1000.0], [0.0, 0.5, 0.5]),
        (lambda x: ag.logcumsumexp(x)[1], [800.0, 800.0, -900.0], [0.5, 0.5, 0.0]),
        (lambda x: ag.pad(x, (2, 1), "edge"), [1.0, 2.0, 3.0], [3.0, 1.0, 2.0]),
        (lambda x: ag.pad(x, 3, "reflect"), [1.0, 2.0], [4.0, 4.0]),
        (lambda x: ag.pad(x, 1, constant_values=inf)[1:-1], [1.0, 2.0], [1.0, 1.0]),
        (lambda x: ag.unwrap(x), [0.0, 4.0, 8.0], [1.0, 1.0, 1.0]),
        (lambda x: ag.polyval(x, 2.0), [1.0, 5.0, 3.0], [4.0, 2.0, 1.0]),
        (lambda x: ag.corrcoef(x)[0, 0], [[1.0, 2.0, 4.0], [0.0, 3.0, 1.0]], [[0.0] * 3] * 2),
        (lambda x: ag.interp(x, [0.0, 1.0, 3.0], [0.0, 5.0, 1.0]), [1.0, 3.0, 9.0, -1.0], [-2.0, -2.0, 0.0, 0.0]),
    ],
)  # fmt: skip
def test_gradient(function: Any, value: Any, expected: Any) -> None:
    np.testing.assert_allclose(grads(function, value)[0], expected, atol=1e-15)


def test_values_at_nan() -> None:
    x = ag.tensor([[nan, nan], [1.0, nan]])
    np.testing.assert_array_equal(ag.nansum(x, 1).array, [0.0, 1.0])
    for function in (ag.nanmean, ag.nanmax, ag.nanmin):
        np.testing.assert_array_equal(function(x, 1).array, [nan, 1.0])
    for function in (ag.median, lambda x, axis: ag.quantile(x, 0.0, axis)):
        np.testing.assert_array_equal(function(x, 1).array, [nan, nan])
    assert ag.nanmax(ag.tensor([-inf, nan])).item() == -inf
    np.testing.assert_array_equal(ag.interp(ag.tensor([nan, 0.5]), [0.0, 1.0], [2.0, 4.0]).array, [nan, 3.0])


def test_interp_at_equal_points() -> None:
    """Between two points at one place, the later one counts from there on."""
    x, xp, fp = ag.tensor([0.5, 1.0, 1.5]), [0.0, 1.0, 1.0, 2.0], [0.0, 1.0, 3.0, 4.0]
    np.testing.assert_array_equal(ag.interp(x, xp, fp).array, np.interp(x.array, xp, fp))
    x, xp, fp = ag.tensor([0.5, 1.0, nan]), [0.0, 1.0, 1.0], [0.0, 1.0, 3.0]
    np.testing.assert_array_equal(ag.interp(x, xp, fp).array, [0.5, 3.0, nan])
    assert np.isfinite(grads(lambda x, xp, fp: ag.interp(x, xp, fp), [0.5, 1.0], xp, fp)[1]).all()


def test_gradient_of_what_is_no_array() -> None:
    """A period, a part and a spacing may have a gradient too."""
    assert grads(lambda period: ag.unwrap(ag.tensor([0.0, 4.0, 8.0]), period=period), 3.0) == [-3.0]
    assert grads(lambda q: ag.quantile(ag.tensor([1.0, 2.0, 5.0]), q), [0.25, 0.75]) == [[2.0, 6.0]]
    assert grads(lambda dx: ag.trapezoid(ag.tensor([1.0, 3.0]), dx=dx), 0.5) == [2.0]
    assert grads(lambda h: ag.gradient(ag.tensor([1.0, 3.0]), h), 0.5) == [-16.0]
    ag.gradcheck(
        lambda period: ag.interp(4.1, [0.5, 1.0], [1.0, 3.0], period=period), ag.tensor(1.7, requires_grad=True)
    )
    w = ag.tensor([1.0, 2.0, 4.0], requires_grad=True)
    ag.histogram(ag.tensor([0.0, 1.0, 0.2]), 2, weights=w)[0][0].backward()
    assert w.grad.array.tolist() == [1.0, 0.0, 1.0]


# ---- NumPy's forms


def test_einsum_with_lists_of_integers() -> None:
    a, b = ag.tensor(np.arange(6.0).reshape(2, 3)), ag.tensor(np.arange(12.0).reshape(3, 4))
    for form in ([0, 1], [1, 30], [30, 0]), ([0, 1], [1, 2]), ([..., 0], [0, ...], [...]):
        if form[0][0] is ...:
            arrays = (a.array, a.array.T)
        else:
            arrays = (a.array, b.array)
        arguments = [arrays[0], form[0], arrays[1], form[1], *form[2:]]
        expected = np.einsum(*arguments)
        tensors = [ag.asarray(x) if isinstance(x, np.ndarray) else x for x in arguments]
        np.testing.assert_allclose(ag.einsum(*tensors).array, expected)
        np.testing.assert_allclose(np.einsum(*tensors, optimize=True).array, expected)


def test_einsum_contracts_the_smallest_pair_first() -> None:
    """From left to right, this would make a million numbers."""
    a, b, v = ag.ones((1000, 1)), ag.ones((1, 1000)), ag.tensor(np.ones(1000), requires_grad=True)
    result = ag.einsum("ij,jk,k->i", a, b, v)
    assert result.array.tolist() == [1000.0] * 1000
    node = result.grad_fn
    while node is not None:
        assert math.prod(node.shape) <= 1000
        node = next((edge for edge in getattr(node, "edges", ()) if edge is not None), None)


@pytest.mark.parametrize(
    "widths", [{0: 1}, {-1: (2, 1)}, [[1, 2]], [[1], [2]], np.array([[1, 0], [0, 2]]), np.int64(2)]
)
def test_pad_widths(widths: Any) -> None:
    x = np.arange(6.0).reshape(2, 3)
    if isinstance(widths, dict):  # new in NumPy 2.2
        expected = np.pad(x, [(1, 1), (0, 0)] if 0 in widths else [(0, 0), (2, 1)])
    else:
        expected = np.pad(x, widths)
    np.testing.assert_array_equal(ag.pad(ag.tensor(x), widths).array, expected)


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("bins", [[0.0, 1.0, 1.0, 2.0], [2.0, 1.0, 1.0, 0.0], [1.0, 1.0]])
def test_digitize_at_the_edges(bins: list[float], right: bool) -> None:
    x = np.array([-1.0, 0.0, 0.5, 1.0, 2.0, 3.0])
    np.testing.assert_array_equal(ag.digitize(ag.tensor(x), bins, right).array, np.digitize(x, bins, right))


@pytest.mark.parametrize("device", NAMES)
def test_numbers_and_lists_take_the_type_and_device_of_the_arrays(device: str) -> None:
    x = make(device, np.array([0.25, 1.5], np.float32), requires_grad=True)
    results = [
        ag.interp(x, [0.0, 1.0, 2.0], [1.0, 3.0, 0.0]),
        ag.polyval([1.0, 2.0], x),
        ag.convolve(x, [0.5, 0.5]),
        ag.kron([1.0, 2.0], x),
        ag.einsum("i,i->i", x, [3.0, 4.0]),
        ag.trapezoid(x, [0.0, 2.0]),
        ag.gradient(x, 0.5),
        ag.cov(x, [1.0, 2.0]),
        ag.quantile(x, [0.5, 0.75]),
        ag.pad(x, 1, constant_values=2.5),
        ag.histogram(x, 2)[1],
    ]
    for result in results:
        assert (result.dtype, result.device) == (np.float32, x.device)
    np.testing.assert_allclose(to_host(results[0].detach()), [1.5, 1.5])
    assert ag.digitize(x, [0.0, 1.0]).device == x.device


def test_float16() -> None:
    x = ag.tensor(np.full(100, 2000.0), dtype=ag.float16, requires_grad=True)
    for function in (ag.nanmean, ag.median, lambda x: ag.quantile(x, 0.3)):
        result = function(x)
        assert (result.dtype, result.item()) == (np.float16, 2000.0)


def test_integers() -> None:
    x = ag.tensor([[1, 2], [4, 9]])
    assert ag.median(x).item() == 3.0
    assert ag.nanmean(x).item() == 4.0
    assert ag.nanmax(x).item() == 9
    assert ag.einsum("ij,j->i", x, x[0]).array.tolist() == [5, 22]
    assert ag.pad(x[0], 1).array.tolist() == [0, 1, 2, 0]
    assert ag.convolve(x[0], x[1]).array.tolist() == [4, 17, 18]
    assert ag.diag(x).array.tolist() == [1, 9]
    assert ag.gradient(ag.tensor(np.array([3, 1], np.uint8))).array.tolist() == [-2.0, -2.0]
    strict = ag.tensor([1, 3], device="strict")
    assert ag.trapezoid(strict, [2, 4]).item() == 4.0
    assert np.percentile(strict, [50, 100])[0].item() == 2.0
    assert ag.gradient(strict, 2)[0].item() == 1.0


@pytest.mark.parametrize("shape", [(4,), (3, 4)])
def test_logcumsumexp_does_not_overflow(shape: tuple[int, ...]) -> None:
    x = ag.tensor(np.linspace(-2000.0, 2000.0, math.prod(shape)).reshape(shape), requires_grad=True)
    result = ag.logcumsumexp(x, axis=-1)
    assert ag.all(ag.isfinite(result))
    ag.sum(result).backward()
    assert ag.all(ag.isfinite(x.grad))


def test_binned_statistics_record_nothing() -> None:
    x = ag.tensor([0.3, 0.7], requires_grad=True)
    assert not any(t.requires_grad for t in ag.histogram(x, 3))
    assert not ag.digitize(x, x.detach()).requires_grad
    counts, edges = ag.histogram(ag.tensor(np.zeros(0)), 2)
    assert (counts.array.tolist(), edges.array.tolist()) == ([0, 0], [0.0, 0.5, 1.0])


@pytest.mark.parametrize("name", "convolve cov diag digitize gradient interp kron median quantile unwrap".split())
def test_parameters_are_those_of_numpy(name: str) -> None:
    ours = list(inspect.signature(getattr(ag, name)).parameters)
    theirs = list(inspect.signature(getattr(np, name)).parameters)
    assert ours == [parameter for parameter in theirs if parameter in ours]


# ---- Errors

T = ag.tensor([1.0, 2.0])
M = ag.tensor([[1.0, 2.0, 3.0]])


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: ag.einsum("ij", T), "einsum: 'ij' in 'ij' names 2 axes, the operand is [2]"),
        (lambda: ag.einsum("i,i", T), "einsum: 'i,i' names 2 operands, got 1"),
        (lambda: ag.einsum("i->ii", T), "einsum: the output of 'i->ii' has 'i' twice, or no operand has it"),
        (lambda: ag.einsum("i->j", T), "einsum: the output of 'i->j' has 'j' twice, or no operand has it"),
        (lambda: ag.einsum("i,i", T, M[0]), "einsum: 'i,i' of [2] and [3]: the axes of index 'i' differ in size"),
        (lambda: ag.einsum("ii", M), "einsum: 'ii' of [1, 3]: the axes of index 'i' differ in size"),
        (lambda: ag.einsum("i..", T), "einsum: 'i..' in 'i..' must be letters and at most one '...'"),
        (lambda: ag.einsum("...->", T), "einsum: operands of '...->' have 1 axes at '...', so the output needs one"),
        (lambda: ag.pad(T, -1), "pad: pad_width holds counts that are not negative, got -1"),
        (lambda: ag.pad(T, 0.5), "pad: pad_width holds counts that are not negative, got 0.5"),
        (lambda: ag.pad(T, (1, 2, 3)), "pad: pad_width has 3 parts for the axes of [2]"),
        (lambda: ag.pad(M, ((1, 2, 3), (1, 1))), "pad: pad_width is a number, a pair, or a pair for each axis"),
        (lambda: ag.pad(T, 1, "mean"), 'pad: mode is "constant", "edge", "reflect", "symmetric" or "wrap", not '),
        (lambda: ag.pad(T[:0], 1, "edge"), 'pad: axis 0 of [0] is empty, so mode "edge" has no elements'),
        (lambda: ag.diag(ag.tensor(1.0)), "diag takes a vector or a matrix, got []"),
        (lambda: ag.convolve(T, M), "convolve takes two vectors with elements, got [2] and [1, 3]"),
        (lambda: ag.convolve(T, T, "most"), 'convolve: mode is "full", "same" or "valid", not \'most\''),
        (lambda: ag.polyval(M, T), "polyval takes a vector of coefficients, got [1, 3]"),
        (lambda: ag.logcumsumexp(M), "logcumsumexp: axis None of [1, 3]"),
        (lambda: ag.logcumsumexp(T, axis=1), "logcumsumexp: axis 1 of [2]"),
        (lambda: ag.interp(T, T, M[0]), "interp takes vectors of one length as xp and fp, got [2] and [3]"),
        (lambda: ag.interp(T, T, T, period=0), "interp: period must not be 0"),
        (lambda: ag.trapezoid(T, axis=1), "trapezoid: axis 1 is outside [2]"),
        (lambda: ag.gradient(M), "gradient needs 2 elements along axis 0, got [1, 3]"),
        (lambda: ag.gradient(M, 1, 2, 3), "gradient got 3 spacings for 2 axes"),
        (lambda: ag.gradient(T, [1.0, 2.0, 3.0]), "gradient: coordinates [3] of axis 0 of [2]"),
        (lambda: ag.gradient(T, edge_order=3), "gradient: edge_order is 1 or 2, not 3"),
        (lambda: ag.gradient(T, edge_order=2), "gradient needs 3 elements along axis 0, got [2]"),
        (lambda: ag.median(T[:0]), "median over axis None of [0]: there are no elements"),
        (lambda: ag.median(T, axis=1), "median: axis 1 is outside [2]"),
        (lambda: ag.quantile(T, 1.5), "quantile: q must lie in 0 to 1"),
        (lambda: ag.quantile(T, [0.5, nan]), "quantile: q must lie in 0 to 1"),
        (lambda: ag.quantile(T, 0.5, method="best"), "quantile: method is one of linear, hazen, weibull"),
        (lambda: ag.cov(ag.zeros((1, 1, 1))), "cov takes a vector or a matrix, got [1, 1, 1]"),
        (lambda: ag.cov(T, M), "cov: the inputs have 2 and 3 observations"),
        (lambda: ag.cov(T, aweights=M[0]), "cov: weights are [3], observations [2]"),
        (lambda: ag.digitize(T, M), "digitize takes a vector of bins, got [1, 3]"),
        (lambda: ag.histogram(T, 0), "histogram: 0 bins"),
        (lambda: ag.histogram(T, T[:1]), "histogram takes a vector of two edges at least, got [1]"),
        (lambda: ag.histogram(T, 2, weights=M), "histogram: weights are [1, 3], elements [2]"),
    ],
)  # fmt: skip
def test_shapes_that_do_not_fit(call: Any, text: str) -> None:
    with pytest.raises(ag.ShapeError, match=re.escape(text)):
        call()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: ag.einsum(T, 3), "einsum takes subscripts first, or a list of integers after each operand, got 3"),
        (lambda: ag.nanmax(ag.tensor([1j])), "nanmax takes real numbers, which have an order, got complex128"),
        (lambda: ag.median(ag.tensor([1j])), "median takes real numbers, which have an order, got complex128"),
        (lambda: ag.unwrap(ag.tensor([1, 2])), "unwrap takes real floating point numbers, got int64"),
        (
            lambda: ag.pad(T, 1, constant_values=ag.tensor(1.0, requires_grad=True)),
            "pad: constant_values are numbers without a gradient; use concat for a tensor with one",
        ),
    ],
)
def test_types_that_do_not_fit(call: Any, text: str) -> None:
    with pytest.raises(ag.DtypeError, match=re.escape(text)):
        call()

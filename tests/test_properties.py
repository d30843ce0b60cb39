"""Each function of the standard against the raw backend, on arrays that Hypothesis makes up."""

from __future__ import annotations

import warnings
from typing import Any

import array_api_compat.numpy as raw
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from hypothesis.extra.array_api import make_strategies_namespace

import arraygrad as ag

UNARY = (
    "abs acos acosh asin asinh atan atanh ceil cos cosh exp expm1 floor isfinite isinf isnan log log10 log1p log2 "
    "negative positive reciprocal round sign signbit sin sinh sqrt square tan tanh trunc"
).split()
BINARY = (
    "add atan2 copysign divide equal floor_divide greater greater_equal hypot less less_equal logaddexp maximum "
    "minimum multiply nextafter not_equal pow remainder subtract"
).split()
REDUCTIONS = "sum mean prod max min var std all any argmax argmin count_nonzero".split()
REARRANGEMENTS = "flip sort argsort cumulative_sum cumulative_prod tril triu".split()

floats = st.sampled_from([np.float32, np.float64])
shapes = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)


@st.composite
def arrays(draw: st.DrawFn, shape: Any = shapes, dtype: Any = floats) -> np.ndarray:
    kind = draw(dtype) if isinstance(dtype, st.SearchStrategy) else dtype
    width = np.dtype(kind).itemsize * 8
    elements = st.floats(width=width, allow_nan=True, allow_infinity=True)
    return draw(hnp.arrays(kind, shape, elements=elements))


def same(ours: ag.Tensor, theirs: Any) -> None:
    theirs = np.asarray(theirs)
    assert type(ours.array) is np.ndarray
    assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
    np.testing.assert_array_equal(ours.array, theirs)


def quiet(function: Any, *args: Any, **kwargs: Any) -> Any:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args, **kwargs)


@pytest.mark.parametrize("name", UNARY)
@settings(max_examples=25)
@given(x=arrays())
def test_elementwise(name: str, x: np.ndarray) -> None:
    theirs = quiet(getattr(raw, name), x)
    same(quiet(getattr(ag, name), ag.asarray(x)), theirs)
    tracked = quiet(getattr(ag, name), ag.tensor(x, requires_grad=True))  # recording changes no value
    same(tracked, theirs)


@pytest.mark.parametrize("name", BINARY)
@settings(max_examples=25)
@given(shapes=hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3), data=st.data())
def test_two_arrays_that_broadcast(name: str, shapes: Any, data: st.DataObject) -> None:
    dtype = data.draw(floats)
    x1, x2 = (data.draw(arrays(shape, dtype)) for shape in shapes.input_shapes)
    theirs = quiet(getattr(raw, name), x1, x2)
    ours = quiet(getattr(ag, name), ag.tensor(x1, requires_grad=True), ag.asarray(x2))
    same(ours, theirs)


@pytest.mark.parametrize("name", REDUCTIONS)
@settings(max_examples=25)
@given(x=arrays(hnp.array_shapes(min_dims=1, max_dims=3, max_side=4)), data=st.data())
def test_reductions(name: str, x: np.ndarray, data: st.DataObject) -> None:
    axis = data.draw(st.none() | st.integers(-x.ndim, x.ndim - 1))
    keepdims = data.draw(st.booleans())
    theirs = quiet(getattr(raw, name), x, axis=axis, keepdims=keepdims)
    same(quiet(getattr(ag, name), ag.tensor(x, requires_grad=True), axis=axis, keepdims=keepdims), theirs)


@pytest.mark.parametrize("name", REARRANGEMENTS)
@settings(max_examples=25)
@given(x=arrays(hnp.array_shapes(min_dims=2, max_dims=3, max_side=4)), data=st.data())
def test_rearrangements(name: str, x: np.ndarray, data: st.DataObject) -> None:
    assume(not np.isnan(x).any())  # their order is nobody's promise
    keywords = {} if name in ("tril", "triu") else {"axis": data.draw(st.integers(-x.ndim, x.ndim - 1))}
    theirs = quiet(getattr(raw, name), x, **keywords)
    same(quiet(getattr(ag, name), ag.tensor(x, requires_grad=True), **keywords), theirs)


@settings(max_examples=100)
@given(data=st.data(), x=arrays(hnp.array_shapes(min_dims=1, max_dims=3, max_side=4)))
def test_indexing(data: st.DataObject, x: np.ndarray) -> None:
    index = data.draw(hnp.basic_indices(x.shape, allow_newaxis=True))
    t = ag.tensor(x, requires_grad=True)
    same(t[index], x[index])
    t[index].backward(np.ones(np.shape(x[index]), x.dtype))
    expected = np.zeros_like(x)
    expected[index] = 1
    np.testing.assert_array_equal(t.grad.array, expected)


@pytest.mark.parametrize("device", ["cpu", "strict"])
def test_hypothesis_makes_arrays_of_this_namespace(device: str) -> None:
    xps = make_strategies_namespace(ag)

    @settings(max_examples=30)
    @given(x=xps.arrays(xps.real_dtypes(), xps.array_shapes(min_dims=0)), data=st.data())
    def check(x: ag.Tensor, data: st.DataObject) -> None:
        assert type(x) is ag.Tensor
        assert x.device == device
        assert ag.asarray(x) is x
        index = data.draw(xps.indices(x.shape, allow_newaxis=True))
        assert x[index].device == device
        axes = tuple(data.draw(st.permutations(range(x.ndim))))
        assert ag.permute_dims(x, axes).shape == tuple(x.shape[axis] for axis in axes)

    ag.set_default_device(device)
    try:
        check()
    finally:
        ag.set_default_device(None)

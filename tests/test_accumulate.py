from __future__ import annotations

import re

import numpy as np
import pytest
from devices import NAMES, flags_of, make, to_host
from hypothesis import given
from hypothesis import strategies as st

import arraygrad as ag
from arraygrad.accumulate import FRESH, getrefcount

on_every_device = pytest.mark.parametrize("device", NAMES)
G = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


@on_every_device
@pytest.mark.parametrize(
    ("g", "shape", "expected"),
    [
        (G, (2, 3), G.tolist()),
        (G, (3,), [5, 7, 9]),
        (G, (1, 3), [[5, 7, 9]]),
        (G, (2, 1), [[6], [15]]),
        (G, (1, 1), [[21]]),
        (G, (1,), [21]),
        (G, (), 21),
        (np.float64(4.0), (), 4),
        (np.zeros((0, 3)), (3,), [0, 0, 0]),
        (np.zeros((0, 3)), (1, 3), [[0, 0, 0]]),
        (np.zeros((2, 0)), (0,), []),
        (np.zeros((2, 0)), (2, 1), [[0], [0]]),
        (np.zeros((0,)), (), 0),
        (np.ones((1, 3)), (3,), [1, 1, 1]),
    ],
)
def test_sum_to_shape(device: str, g: np.ndarray, shape: tuple[int, ...], expected: object) -> None:
    tensor = make(device, g)
    with flags_of(device):
        result = ag.sum_to_shape(tensor, shape)
    assert result.shape == shape
    assert result.device == tensor.device
    assert to_host(result).tolist() == expected
    if tensor.shape == shape:
        assert result.array is tensor.array


@on_every_device
@pytest.mark.parametrize(
    ("came", "shape"), [((3,), (2, 3)), ((2, 3), (2,)), ((2, 3), (3, 3)), ((1, 3), (2, 3)), ((2,), (0,)), ((), (1,))]
)
def test_what_does_not_broadcast_is_refused(device: str, came: tuple[int, ...], shape: tuple[int, ...]) -> None:
    text = f"cannot reduce gradient of shape {list(came)} to {list(shape)}"
    with pytest.raises(ValueError, match=re.escape(text)):
        ag.sum_to_shape(make(device, np.zeros(came)), shape)


@st.composite
def broadcasts(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """A shape, and one that broadcasts to it."""
    full = draw(st.lists(st.integers(0, 3), max_size=4))
    kept = full[draw(st.integers(0, len(full))) :]
    return tuple(full), tuple(draw(st.sampled_from([1, size])) for size in kept)


@given(broadcasts(), st.integers(0, 2**32 - 1))
def test_it_is_the_transpose_of_broadcasting(shapes: tuple[tuple[int, ...], tuple[int, ...]], seed: int) -> None:
    full, shape = shapes
    rng = np.random.default_rng(seed)
    g, x = rng.normal(size=full), rng.normal(size=shape)
    reduced = ag.sum_to_shape(g, shape).array
    np.testing.assert_allclose(np.vdot(reduced, x), np.vdot(g, np.broadcast_to(x, full)), atol=1e-12)
    assert reduced.dtype == g.dtype
    for size in range(len(shape) + 1):  # in two steps as in one
        step = (1,) * size + shape[size:]
        if all(a in (1, b) for a, b in zip(step, shape, strict=True)):
            via = ag.sum_to_shape(reduced, step).array
            np.testing.assert_allclose(via, ag.sum_to_shape(g, step).array, atol=1e-12)


def test_it_has_a_gradient() -> None:
    x = ag.tensor(G, requires_grad=True)
    ag.sum_to_shape(x, (2, 1)).backward([[1.0], [10.0]])
    assert x.grad.array.tolist() == [[1, 1, 1], [10, 10, 10]]
    ag.gradcheck(lambda t: ag.sum_to_shape(t, (3,)), [x])


def test_references_to_a_fresh_result_are_told_from_shared_ones() -> None:
    ready = [(None, np.ones(3) * 2)]
    _, g = ready.pop()
    assert getrefcount(g) == FRESH
    ready.append((None, g))
    assert getrefcount(g) > FRESH
    view = ready.pop()[1][1:]
    assert view.base is not None
    assert getrefcount(g) > FRESH

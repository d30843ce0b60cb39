"""Compare a gradient with the central differences of the same function on NumPy arrays."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy

import arraygrad as ag

#: The version of SciPy; newer ones take arrays of the standard in more places.
SCIPY = tuple(map(int, scipy.__version__.split(".")[:2]))


def assert_gradient(function: Callable[[Any], Any], x: ag.Tensor, y: ag.Tensor) -> None:
    """`y` is `function(x)`; both are projected on a random direction."""
    weights = np.random.default_rng(0).normal(size=y.shape)
    ag.sum(y * weights).backward()
    numeric = np.zeros_like(x.array)
    for index in np.ndindex(x.shape):
        for sign in (1, -1):
            moved = x.array.copy()
            moved[index] += sign * 1e-5
            numeric[index] += sign * np.sum(np.asarray(function(moved)) * weights) / 2e-5
    np.testing.assert_allclose(x.grad.array, numeric, rtol=1e-4, atol=1e-6)


def assert_differentiable(function: Callable[[Any], Any], values: np.ndarray, copies: bool = False) -> None:
    """Somebody else's function gives a tensor with its gradient; `copies`: of constants that it overwrites."""
    x = ag.tensor(values, requires_grad=True)
    with ag.allow_mutation_on_saved_tensors() if copies else contextlib.nullcontext():
        y = function(x)
    assert type(y) is ag.Tensor, f"it returned a {type(y).__name__}"
    assert_gradient(function, x, y)


def like(x: Any, values: Any) -> Any:
    """Constant `values` in `x`'s namespace."""
    return np.asarray(values) if isinstance(x, np.ndarray) else ag.asarray(np.asarray(values))


def xp_of(x: Any) -> Any:
    return np if isinstance(x, np.ndarray) else ag

"""Compare a gradient with the central differences of the same function on NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import arraygrad as ag


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

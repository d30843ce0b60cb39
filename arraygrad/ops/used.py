"""Vectors of a decomposition that a loss does not use: where they have no derivative, it does not matter."""

from __future__ import annotations

from typing import Any

from arraygrad.backends import Array, namespaces
from arraygrad.op import OPS, general
from arraygrad.tensor import ArrayLike, Tensor


@general(lambda g, x2: g * x2, lambda g, x1: g * x1, broadcasts=True)
def _multiply_used(xp: Any, x1: ArrayLike, x2: ArrayLike, is_used: ArrayLike, /) -> Array:
    return xp.where(is_used | (x2 == x2), x1 * x2, xp.zeros_like(x1))


def times(xp: Any, x1: Array, x2: Array, is_used: Array) -> Array:
    """`x1 * x2`, but 0 for NaN in `x2` that belongs to vectors which the loss does not use.

    So a loss of the leading vectors has its gradient though others belong to equal values, or to 0. (The second
    derivative is NaN then.)
    """
    args = (x1, x2, is_used)
    return _multiply_used(*args) if isinstance(x1, Tensor) else OPS["multiply_used"].forward(xp, *args)


def is_any_used(g: Array) -> bool:
    """Whether there is a cotangent, in any case of a batch."""
    array: Any = getattr(g, "array", g)
    while namespaces[type(array)].is_batched:
        array = array.value
    xp = namespaces[type(array)]
    with xp.scope(xp.device(array)):  # a tensor's rule runs in none
        return bool(xp.any(array != 0))


def used_columns(xp: Any, g: Array) -> Array:
    """Which columns have a cotangent."""
    return xp.any(g != 0, axis=-2)

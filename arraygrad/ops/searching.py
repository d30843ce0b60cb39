"""Searching and choosing."""

from __future__ import annotations

from typing import Any

from arraygrad.backends import Array, is_number
from arraygrad.errors import DtypeError
from arraygrad.op import constant, elementwise
from arraygrad.tensor import ArrayLike

Axis = int | tuple[int, ...] | None


@constant
def argmax(xp: Any, x: ArrayLike, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """Index of the largest element along an axis, or in the flattened array."""
    return xp.argmax(x, axis=axis, keepdims=keepdims)


@constant
def argmin(xp: Any, x: ArrayLike, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """Index of the smallest element along an axis, or in the flattened array."""
    return xp.argmin(x, axis=axis, keepdims=keepdims)


@constant
def all(xp: Any, x: ArrayLike, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Whether all elements over axes are true."""
    return xp.all(x, axis=axis, keepdims=keepdims)


@constant
def any(xp: Any, x: ArrayLike, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Whether any element over axes is true."""
    return xp.any(x, axis=axis, keepdims=keepdims)


@elementwise(
    x1=lambda g, xp, condition: xp.where(condition, g, 0.0),
    x2=lambda g, xp, condition: xp.where(condition, 0.0, g),
)
def where(xp: Any, condition: ArrayLike, x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """`x1` where the condition holds, else `x2`; all three broadcast.

    The branch that is not taken gets exact zeros, even where the cotangent is infinite or NaN.
    """
    _check_boolean("where", xp, condition)
    if is_number(x1) and is_number(x2):  # the standard asks for one array at least
        x1 = xp.asarray(x1, device=condition.device)
    return xp.where(condition, x1, x2)


@elementwise(
    x=lambda g, xp, mask: xp.where(mask, 0.0, g),
    value=lambda g, xp, mask: xp.where(mask, g, 0.0),
)
def masked_fill(xp: Any, x: ArrayLike, mask: ArrayLike, value: ArrayLike, /) -> Array:
    """`x`, and `value` where the boolean `mask` holds."""
    _check_boolean("masked_fill", xp, mask)
    return xp.where(mask, value, x)


def _check_boolean(name: str, xp: Any, condition: Array) -> None:
    if isinstance(condition, bool) or (not is_number(condition) and xp.isdtype(condition.dtype, "bool")):
        return
    raise DtypeError(f"{name} takes a boolean condition, got {getattr(condition, 'dtype', condition)}; compare first")

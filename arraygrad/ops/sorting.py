"""Sorting, sets and positions."""

from __future__ import annotations

from typing import Any, NamedTuple

from arraygrad.accumulate import Part
from arraygrad.backends import Array, namespaces
from arraygrad.op import constant, general
from arraygrad.ops.indexing import along_axis, take
from arraygrad.ops.manipulation import reshape
from arraygrad.tensor import ArrayLike, Tensor

Axis = int | tuple[int, ...] | None


@constant
def argsort(xp: Any, x: ArrayLike, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """The indices that sort along an axis."""
    return xp.argsort(x, axis=axis, descending=descending, stable=stable)


@general(
    lambda g, xp, x, axis, descending, stable: Part(
        along_axis(xp, xp.argsort(x, axis=axis, descending=descending, stable=stable), axis, x.shape), g
    )
)
def sort(xp: Any, x: ArrayLike, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """Sort along an axis. The gradient goes back to where each element came from."""
    return xp.sort(x, axis=axis, descending=descending, stable=stable)


@constant
def count_nonzero(xp: Any, x: ArrayLike, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """How many elements over axes are not zero."""
    return xp.count_nonzero(x, axis=axis, keepdims=keepdims)


@constant
def isin(xp: Any, x1: ArrayLike, x2: ArrayLike, /, *, invert: bool = False) -> Array:
    """Whether elements of `x1` are among those of `x2`."""
    return xp.isin(x1, x2, invert=invert)


@constant
def searchsorted(
    xp: Any, x1: ArrayLike, x2: ArrayLike, /, *, side: str = "left", sorter: ArrayLike | None = None
) -> Array:
    """Where elements of `x2` would have to stand in the sorted `x1`."""
    return xp.searchsorted(x1, x2, side=side, sorter=sorter)


def nonzero(x: ArrayLike, /) -> tuple[Tensor, ...]:
    """Indices of the elements that are not zero, an array for each axis."""
    array = x.array if isinstance(x, Tensor) else x
    xp = namespaces[type(array)]
    with xp.scope(xp.device(array)):
        return tuple(Tensor(indices) for indices in xp.nonzero(array))


class UniqueAllResult(NamedTuple):
    """What `unique_all` returns."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCountsResult(NamedTuple):
    """What `unique_counts` returns."""

    values: Tensor
    counts: Tensor


class UniqueInverseResult(NamedTuple):
    """What `unique_inverse` returns."""

    values: Tensor
    inverse_indices: Tensor


def _unique(name: str, x: ArrayLike) -> list[Tensor]:
    """What the namespace returns; values that stand for elements with history are taken from there."""
    array = x.array if isinstance(x, Tensor) else x
    xp = namespaces[type(array)]
    with xp.scope(xp.device(array)):
        if not isinstance(x, Tensor) or x.dtype.kind not in "fc":
            results = getattr(xp, name)(array)
            return [Tensor(result) for result in (results if isinstance(results, tuple) else (results,))]
        _, indices, inverse, counts = map(Tensor, xp.unique_all(array))
    values = take(reshape(x, (-1,)), indices)
    parts = {"all": [indices, inverse, counts], "counts": [counts], "inverse": [inverse], "values": []}
    return [values, *parts[name.removeprefix("unique_")]]


def unique_all(x: ArrayLike, /) -> UniqueAllResult:
    """Distinct elements, where each first stands, which one each element is, and how often.

    The gradient of a value goes back to where it first stands.

    >>> import arraygrad as ag
    >>> x = ag.tensor([3.0, 1.0, 3.0], requires_grad=True)
    >>> ag.sum(ag.unique_all(x).values ** 2).backward()
    >>> x.grad
    tensor([6., 2., 0.], dtype=float64, device='cpu')
    """
    return UniqueAllResult(*_unique("unique_all", x))


def unique_counts(x: ArrayLike, /) -> UniqueCountsResult:
    """Distinct elements and how often each is there. The gradient is that of `unique_all`."""
    return UniqueCountsResult(*_unique("unique_counts", x))


def unique_inverse(x: ArrayLike, /) -> UniqueInverseResult:
    """Distinct elements, and which one each element is. The gradient is that of `unique_all`."""
    return UniqueInverseResult(*_unique("unique_inverse", x))


def unique_values(x: ArrayLike, /) -> Tensor:
    """Distinct elements. The gradient is that of `unique_all`."""
    return _unique("unique_values", x)[0]

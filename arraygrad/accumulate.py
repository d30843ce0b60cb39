"""What happens to a cotangent between the rule that made it and the node that receives it.

A rule knows nothing of broadcasting, of the input's data type or of other consumers. `fit` undoes the
broadcast and casts; `Buffer` adds the cotangents of several consumers; `owned` decides, when a leaf
keeps one as its gradient, whether it must be copied.
"""

from __future__ import annotations

import sys
from typing import Any

from arraygrad.backends import Array, Backend, namespaces
from arraygrad.errors import GraphError, ShapeError, format_shape


class Part:
    """A cotangent that is zero but at `index`, where it is `g`: what a rule of indexing returns.

    `functions` lead from what it is a part of to the view that is indexed (see views.py).
    """

    __slots__ = ("functions", "g", "index")

    def __init__(self, index: Any, g: Array, functions: Any = ()) -> None:
        self.index, self.g, self.functions = index, g, functions

    def added_to(self, xp: Any, total: Array) -> Array:
        """Add it to an array that nobody else holds."""
        if not self.functions:
            xp.add_at(total, self.index, self.g)
            return total
        if not xp.is_contiguous(total):
            total = xp.copy(total)  # of any other, a reshape may be a copy
        expanded = [i for i, (op, _, _) in enumerate(self.functions) if op.broadcasts]
        if not expanded:
            xp.add_at(apply(xp, total, self.functions), self.index, self.g)
            return total
        before, after = self.functions[: expanded[-1]], self.functions[expanded[-1] + 1 :]
        small = apply(xp, total, before)
        large = xp.zeros_like(apply(xp, small, self.functions[expanded[-1] : expanded[-1] + 1]))
        large = Part(self.index, self.g, after).added_to(xp, large)
        return Part(..., sum_to_shape(xp, large, small.shape), before).added_to(xp, total)

    def filled(self, xp: Any, shape: tuple[int, ...], dtype: Any) -> Array:
        """Put it into zeros."""
        if self.functions:
            zeros = xp.zeros(shape, dtype=dtype, device=self.g.device)
            if type(self.g.shape) is not tuple:  # each case needs zeros of its own
                zeros = zeros + xp.zeros_like(xp.sum(self.g))
            return self.added_to(xp, zeros)
        return xp.scatter(self.g, self.index, shape)


def apply(xp: Any, array: Array, functions: Any) -> Array:
    """Follow the functions that lead to a view."""
    for op, args, kwargs in functions:
        array = op.forward(xp, array, *args, **kwargs)
    return array


class Owned:
    """A cotangent that its rule made and does not keep: whoever receives it may change it."""

    __slots__ = ("g",)

    def __init__(self, g: Array) -> None:
        self.g = g


class OutputPart:
    """The cotangent of one of several outputs, on its way to the node that made them all."""

    __slots__ = ("g", "position")

    def __init__(self, position: int, g: Array) -> None:
        self.position, self.g = position, g


def sum_to_shape(xp: Any, g: Array, shape: tuple[int, ...]) -> Array:
    """Sum `g` over the axes along which `shape` was broadcast; `g` itself where there are none."""
    if g.shape == shape:
        return g
    extra = len(g.shape) - len(shape)
    stretched = [
        extra + axis for axis, size in enumerate(shape) if size == 1 and extra >= 0 and g.shape[extra + axis] != 1
    ]
    if extra < 0 or any(size != g.shape[extra + axis] and size != 1 for axis, size in enumerate(shape)):
        raise ShapeError(f"cannot reduce gradient of shape {format_shape(g.shape)} to {format_shape(shape)}")
    total = xp.sum(g, axis=(*range(extra), *stretched))
    return xp.reshape(xp.lift(total), shape)  # NumPy returns a scalar where no axis is left


#: Set by batching.py: sums over the cases of a batch that the input did not have.
over_cases: Any = None


def fit(xp: Any, node: Any, position: int, grad: Array, shape: tuple[int, ...], dtype: Any) -> Array:
    """Give a rule's result the shape and data type of the input that it belongs to."""
    if grad.dtype is dtype and grad.shape == shape and type(grad.shape) is tuple:
        return grad
    if type(grad.shape) is not tuple:
        grad = over_cases(grad, shape, node.shape)
        xp = namespaces.get(type(grad), xp)
    if grad.shape != shape:
        try:
            # An elementwise rule's result must be of the output's shape; summing any other would hide a mistake.
            if not node.op.broadcasts or (node.op.kind == "elementwise" and grad.shape != node.shape):
                raise ShapeError
            grad = sum_to_shape(xp, grad, shape)
        except ShapeError:
            raise GraphError(
                f"Function {node.name} returned an invalid gradient at index {position} - "
                f"got {format_shape(grad.shape)} but expected shape {format_shape(shape)}"
            ) from None
    dtype = xp.dtype(dtype)
    if grad.dtype != dtype:
        if grad.dtype in xp.complex_dtypes and dtype not in xp.complex_dtypes:
            grad = xp.real(grad)  # the part of it along the real numbers
        if not xp.isdtype(grad.dtype, ("real floating", "complex floating")):
            raise GraphError(
                f"Function {node.name} returned an invalid gradient at index {position} - "
                f"got {grad.dtype} but expected data type {dtype}"
            )
        grad = xp.astype(grad, dtype)
    return grad


class Buffer:
    """The sum of the cotangents that have reached a node with several consumers so far.

    The first is kept by reference, since a rule may return what others hold too; the second makes a sum
    that is the buffer's own; later ones are added in place. Parts wait for such an array, so that many
    small reads and writes of a large one cost what they touch.
    """

    __slots__ = ("array", "is_owned", "parts")

    def __init__(self) -> None:
        self.array: Array = None
        self.is_owned = False
        self.parts: list[Part] = []

    def add(self, xp: Backend, grad: Array) -> None:
        """Add what one consumer has delivered."""
        if self.array is None:
            self.array = grad
        elif self.is_owned:
            self.array += grad
        else:
            self.array, self.is_owned = xp.lift(self.array + grad), xp.owns_sums

    def add_owned(self, xp: Backend, grad: Array) -> None:
        """Add what the consumer does not keep."""
        if self.array is not None and not xp.owns_sums:
            grad = grad + self.array
        elif self.array is not None:
            grad += self.array
        self.array, self.is_owned = grad, xp.owns_sums

    def add_part(self, xp: Backend, part: Part) -> None:
        """Add where the part is."""
        if self.is_owned:
            self.array = part.added_to(xp, self.array)
        else:
            self.parts.append(part)

    def total(self, xp: Backend, shape: tuple[int, ...], dtype: Any) -> Array:
        """Return the sum, once every consumer has delivered."""
        total, parts = self.array, self.parts
        if parts:
            xp = namespaces.get(type(parts[0].g if total is None else total), xp)
            if total is None:
                total = parts.pop(0).filled(xp, shape, dtype)
            elif not self.is_owned:
                total = xp.copy(total)
            for part in parts:
                total = part.added_to(xp, total)
        return total


def _references_of_fresh_result() -> int:
    """Count the references to an array that only the engine's loop holds, in the loop's own form."""
    ready = [(None, object())]
    _, g = ready.pop()
    return _getrefcount(g)


def _references_of_fresh_gradient() -> int:
    """Count those to what a rule has just returned, in the form of the engine's loop over edges."""
    grads = (object(),)
    position = 0
    grad = grads[position]
    return _getrefcount(grad)


_getrefcount = getattr(sys, "getrefcount", None) or (lambda _: -1)
#: Calibrated rather than written down, since interpreters differ (3.14 borrows references to locals).
#: Where there are no counts (PyPy), nothing equals it and every gradient is copied.
FRESH = _references_of_fresh_result() if _getrefcount(object()) > 0 else -2
FRESH_GRADIENT = _references_of_fresh_gradient() if FRESH > 0 else -2
getrefcount = _getrefcount

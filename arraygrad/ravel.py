"""All numbers of a container of tensors as one real vector, and back: what solvers work on.

A complex leaf becomes two real ones. So what holds for real vectors holds for all: a function need not be holomorphic
to have a Jacobian, and the gradient of a real function, whose real and imaginary parts are the derivatives by those of
its argument, becomes an ordinary gradient. Both ways are made of operations, so they have derivatives.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import arraygrad as ag
from arraygrad.backends import is_array, is_number
from arraygrad.errors import DtypeError, ShapeError, format_shape
from arraygrad.tensor import Tensor
from arraygrad.tree import leaves, leaves_like, rebuild


class Ravel:
    """The way between containers structured as `tree` and real vectors of `size` elements.

    Raises:
        DtypeError: a leaf is no tensor, array or number of a floating point type.
    """

    def __init__(self, name: str, tree: Any) -> None:
        self.name = name
        given = leaves(tree)
        for leaf in given:
            if not (isinstance(leaf, Tensor) or is_array(leaf) or is_number(leaf)):
                raise DtypeError(f"{name} takes tensors, arrays and numbers (in containers, too), got {leaf!r}")
        device = next((leaf.device for leaf in given if isinstance(leaf, Tensor)), None)
        items = [leaf if isinstance(leaf, Tensor) else ag.asarray(leaf, device=_place(leaf, device)) for leaf in given]
        for item in items:
            if item.dtype.kind not in "fc":
                raise DtypeError(f"{name} takes floating point numbers, got {item.dtype}; convert with astype first")
        self.tree = rebuild(tree, [None] * len(items))  # the structure: what a graph holds must hold no tensors
        self.shapes, self.dtypes = [item.shape for item in items], [item.dtype for item in items]
        self.device = items[0].device if items else None
        self.dtype = ag.result_type(*[_real_dtype(dtype) for dtype in self.dtypes]) if items else ag.float64
        #: The start and the end of each real part.
        counts = [math.prod(s) for s, d in zip(self.shapes, self.dtypes, strict=True) for _ in _parts_of(d)]
        self.bounds = list(itertools.pairwise(itertools.accumulate(counts, initial=0)))
        self.size = sum(counts)

    def flat(self, tree: Any, what: str = "the result") -> Tensor:
        """The vector of a container.

        Raises:
            ShapeError: it is not structured and shaped as expected.
        """
        items = leaves_like(self.tree, tree, f"{self.name}: {what}")
        parts = []
        for item, shape, dtype in zip(items, self.shapes, self.dtypes, strict=True):
            if not isinstance(item, Tensor):
                item = ag.asarray(item, device=_place(item, self.device)).to(self.device)
            if item.shape != shape:
                raise ShapeError(
                    f"{self.name}: {what} has shape {format_shape(item.shape)}, expected {format_shape(shape)}"
                )
            if item.dtype.kind == "c" and dtype.kind != "c":
                raise DtypeError(f"{self.name}: {what} is complex where real numbers were expected")
            if dtype.kind == "c":
                item = ag.astype(item, dtype, copy=False)
            for part in (ag.real, ag.imag) if dtype.kind == "c" else (ag.real,):
                parts.append(ag.reshape(ag.astype(part(item), self.dtype, copy=False), (-1,)))
        return ag.concat(parts) if parts else ag.zeros(0, device=self.device)

    def unflat(self, vector: Tensor) -> Any:
        """The container of a vector, with the data types of the one that it is structured as."""
        parts: Iterator[Tensor] = (vector[start:stop] for start, stop in self.bounds)
        items = []
        for shape, dtype in zip(self.shapes, self.dtypes, strict=True):
            part = next(parts)
            if dtype.kind == "c":
                part = part + 1j * next(parts)
            items.append(ag.reshape(ag.astype(part, dtype), shape))
        return rebuild(self.tree, items)


def _place(leaf: Any, device: str | None) -> str | None:
    return None if is_array(leaf) else device


def _parts_of(dtype: Any) -> range:
    return range(2 if dtype.kind == "c" else 1)


def _real_dtype(dtype: Any) -> Any:
    return {"complex64": ag.float32, "complex128": ag.float64}.get(str(dtype), dtype)

"""Statistics of pairs, and differences."""

from __future__ import annotations

from typing import Any

import arraygrad as ag
from arraygrad.numpy_functions.table import FUNCTIONS, beside, numpy_function
from arraygrad.ops.creation import tensors
from arraygrad.tensor import Tensor


@numpy_function()
def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: float | None = None,
    fweights: Any = None,
    aweights: Any = None,
    dtype: Any = None,
) -> Tensor:
    result = ag.cov(m, y, rowvar, bias, ddof, fweights, aweights)
    return result if dtype is None else ag.astype(result, dtype)


@numpy_function()
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, dtype: Any = None) -> Tensor:
    result = ag.corrcoef(x, y, rowvar)
    return result if dtype is None else ag.astype(result, dtype)


@numpy_function()
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Tensor:
    x = ag.asarray(a)

    def end(values: Any) -> Any:
        """A number stands for a slice of it."""
        if values is None:
            return None
        values = beside(x, values)
        shape = list(x.shape)
        shape[axis] = 1
        return values if values.ndim else ag.broadcast_to(values, tuple(shape))

    return ag.diff(x, axis=axis, n=n, prepend=end(prepend), append=end(append))


@numpy_function()
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Tensor:
    steps = ag.diff(ag.reshape(ary, (-1,)))
    ends = [None if end is None else ag.reshape(beside(steps, end), (-1,)) for end in (to_begin, to_end)]
    return ag.concat([part for part in (ends[0], steps, ends[1]) if part is not None])


for _name in ("gradient", "interp", "trapezoid", "unwrap"):
    FUNCTIONS[_name] = getattr(ag, _name)


def _conjugate(x: Tensor) -> Tensor:
    return ag.conj(x) if x.dtype.kind == "c" else x


@numpy_function()
def correlate(a: Any, v: Any, mode: str = "valid") -> Tensor:
    x1, x2 = tensors(a, v)
    if x1.size < x2.size:  # which sets where the centre is
        return ag.flip(_conjugate(correlate(x2, x1, mode)))
    return ag.convolve(x1, ag.flip(_conjugate(x2)), mode)


FUNCTIONS["convolve"] = ag.convolve

"""np.pad, with the modes that compute what they put there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import arraygrad as ag
from arraygrad.errors import ShapeError
from arraygrad.numpy_functions.creation import linspace
from arraygrad.numpy_functions.table import numpy_function
from arraygrad.ops.numeric import pad_pairs
from arraygrad.tensor import Tensor

_STATISTICS: dict[str, Callable[..., Any]] = {
    "maximum": ag.max,
    "minimum": ag.min,
    "mean": ag.mean,
    "median": ag.median,
}


@numpy_function()
def pad(
    array: Any,
    pad_width: Any,
    mode: Any = "constant",
    constant_values: Any = 0,
    end_values: Any = 0,
    stat_length: Any = None,
) -> Tensor:
    if not isinstance(mode, str):
        raise ShapeError("np.pad of a Tensor takes the name of a mode, not a function, which would write in place")
    if mode not in ("linear_ramp", *_STATISTICS):
        return ag.pad(array, pad_width, mode, constant_values=constant_values)
    x = ag.asarray(array)
    widths = pad_pairs("pad_width", pad_width, x)
    lengths = [(None, None)] * x.ndim if stat_length is None else pad_pairs("stat_length", stat_length, x)
    for axis, (counts, ends, parts) in enumerate(
        zip(widths, pad_pairs("end_values", end_values, x), lengths, strict=True)
    ):
        before = (slice(None),) * axis
        first, last = x[(*before, slice(1))], x[(*before, slice(-1, None))]
        if mode == "linear_ramp":
            left = linspace(ends[0], first, counts[0] + 1)[:-1]
            right = linspace(last, ends[1], counts[1] + 1)[1:]
            sides = [ag.reshape(ag.moveaxis(y, 0, axis), _sized(x, axis, y.shape[0])) for y in (left, right)]
        else:
            slices = (slice(parts[0]), slice(None if parts[1] is None else -parts[1], None))
            values = [_STATISTICS[mode](x[(*before, part)], axis=axis, keepdims=True) for part in slices]
            sides = [ag.broadcast_to(y, _sized(x, axis, n)) for y, n in zip(values, counts, strict=True)]
        x = ag.concat([sides[0], x, sides[1]], axis=axis)
    return x


def _sized(x: Tensor, axis: int, size: int) -> tuple[int, ...]:
    return (*x.shape[:axis], size, *x.shape[axis + 1 :])

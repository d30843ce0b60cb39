"""What NumPy's ufuncs and their methods do with tensors: `np.sin(t)`, `np.maximum.accumulate(t)`."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from typing import Any

import arraygrad as ag
from arraygrad.errors import ShapeError, format_shape
from arraygrad.numpy_functions.reductions import masked
from arraygrad.numpy_functions.table import FUNCTIONS, beside
from arraygrad.ops.creation import tensors
from arraygrad.ops.numeric import checked_axis, floating
from arraygrad.tensor import Tensor

#: The name here of each ufunc that has another name in NumPy.
_RENAMED = {
    "absolute": "abs", "fabs": "abs", "power": "pow", "conjugate": "conj", "rint": "round", "arccos": "acos",
    "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan", "arctan2": "atan2",
    "arctanh": "atanh", "invert": "bitwise_invert", "left_shift": "bitwise_left_shift",
    "right_shift": "bitwise_right_shift",
}  # fmt: skip
_SAME = (
    "add ceil copysign cos cosh divide equal exp expm1 floor floor_divide greater greater_equal hypot isfinite isinf "
    "isnan less less_equal log log10 log1p log2 logaddexp matmul maximum minimum multiply negative nextafter not_equal "
    "positive reciprocal remainder sign signbit sin sinh sqrt square subtract tan tanh trunc bitwise_and bitwise_or "
    "bitwise_xor vecdot"
).split()


def _truth(x: Any) -> Any:
    return x if getattr(x, "dtype", None) == "bool" or isinstance(x, bool) else ag.not_equal(x, 0)


def _logical(name: str) -> Callable[..., Any]:
    function = getattr(ag, name)
    return lambda x1, x2: function(_truth(x1), _truth(x2))


def _fmax(join: Callable[..., Any]) -> Callable[..., Any]:
    def extreme(x1: Any, x2: Any) -> Tensor:
        x1, x2 = tensors(x1, x2)
        return join(ag.where(ag.isnan(x1), x2, x1), ag.where(ag.isnan(x2), x1, x2))

    return extreme


def _fmod(x1: Any, x2: Any) -> Tensor:
    """The remainder with the sign of `x1`."""
    x1, x2 = tensors(x1, x2)
    return ag.where(x1 == 0, x1, ag.sign(x1) * ag.remainder(ag.abs(x1), ag.abs(x2)))


def _modf(x: Any) -> tuple[Tensor, Tensor]:
    x = floating(x)
    whole = ag.trunc(x)
    return ag.where(ag.isinf(x), 0.0 * ag.sign(whole), x - ag.where(ag.isinf(x), 0.0, whole)), whole


def _frexp(x: Any) -> tuple[Tensor, Tensor]:
    x = floating(x)
    size = ag.abs(x.detach())
    size = ag.where((size > 0) & ag.isfinite(size), size, 0.5)
    exponent = ag.floor(ag.log2(size)) + 1.0
    exponent = exponent + ag.astype(size * 2.0**-exponent >= 1, x.dtype)  # log2 may round over a power of two
    exponent = exponent - ag.astype(size * 2.0**-exponent < 0.5, x.dtype)
    return x * 2.0**-exponent, ag.astype(exponent, ag.int32)


def _ldexp(x1: Any, x2: Any) -> Tensor:
    x1 = floating(x1)
    return x1 * 2.0 ** ag.astype(beside(x1, x2), x1.dtype)


def _gcd(x1: Any, x2: Any) -> Tensor:
    a, b = ag.broadcast_arrays(*map(ag.abs, tensors(x1, x2)))
    while ag.any(b != 0):
        a, b = ag.where(b == 0, a, b), ag.where(b == 0, 0, a % ag.where(b == 0, 1, b))
    return a


def _lcm(x1: Any, x2: Any) -> Tensor:
    x1, x2 = tensors(x1, x2)
    divisor = _gcd(x1, x2)
    return ag.abs(x1 // ag.where(divisor == 0, 1, divisor) * x2)


def _spacing(x: Any) -> Tensor:
    x = floating(x).detach()
    size = ag.abs(x)
    return ag.copysign(ag.nextafter(size, ag.full_like(size, math.inf)) - size, x)


def _conjugate(x: Tensor) -> Tensor:
    return ag.conj(x) if x.dtype.kind == "c" else x


UFUNCS: dict[str, Callable[..., Any]] = {
    **{name: getattr(ag, name) for name in _SAME},
    **{name: getattr(ag, ours) for name, ours in _RENAMED.items()},
    **{name: _logical(name) for name in ("logical_and", "logical_or", "logical_xor")},
    "logical_not": lambda x: ag.logical_not(_truth(x)),
    "float_power": lambda x1, x2: ag.pow(floating(x1), x2),
    "exp2": lambda x: ag.pow(2.0, x),
    "cbrt": lambda x: ag.sign(x) * ag.abs(x) ** (1.0 / 3.0),
    "deg2rad": lambda x: x * (math.pi / 180.0),
    "radians": lambda x: x * (math.pi / 180.0),
    "rad2deg": lambda x: x * (180.0 / math.pi),
    "degrees": lambda x: x * (180.0 / math.pi),
    "divmod": lambda x1, x2: (ag.floor_divide(x1, x2), ag.remainder(x1, x2)),
    "logaddexp2": lambda x1, x2: ag.logaddexp(x1 * math.log(2.0), x2 * math.log(2.0)) / math.log(2.0),
    "heaviside": lambda x1, x2: ag.where(ag.equal(x1, 0), x2, ag.where(ag.greater(x1, 0), 1.0, 0.0)),
    "fmax": _fmax(ag.maximum),
    "fmin": _fmax(ag.minimum),
    "fmod": _fmod,
    "modf": _modf,
    "frexp": _frexp,
    "ldexp": _ldexp,
    "gcd": _gcd,
    "lcm": _lcm,
    "spacing": _spacing,
    "matvec": lambda x1, x2: ag.matmul(x1, ag.asarray(x2)[..., None])[..., 0],
    "vecmat": lambda x1, x2: ag.matmul(_conjugate(ag.asarray(x1))[..., None, :], x2)[..., 0, :],
}

# ---- Methods

#: Ufuncs of two arguments with one result, and what their reduction begins with, if anything.
BINARY: dict[str, Any] = {
    **dict.fromkeys(
        "subtract divide power float_power floor_divide remainder fmod arctan2 copysign nextafter "
        "heaviside maximum minimum fmax fmin gcd lcm ldexp left_shift right_shift equal not_equal less less_equal "
        "greater greater_equal".split()
    ),
    "add": 0, "multiply": 1, "logaddexp": -math.inf, "logaddexp2": -math.inf, "hypot": 0.0, "logical_and": True,
    "logical_or": False, "logical_xor": False, "bitwise_and": -1, "bitwise_or": 0, "bitwise_xor": 0,
}  # fmt: skip
#: Where the order of the operands does not matter: those reduce over several axes, and accumulate in few steps.
ASSOCIATIVE = set(
    "add multiply maximum minimum fmax fmin logaddexp logaddexp2 hypot logical_and logical_or logical_xor "
    "bitwise_and bitwise_or bitwise_xor gcd lcm".split()
)
#: These take what nobody differentiates to a reduction: `a < b < c` of truth values.
_NO_REDUCTION = set("equal not_equal less less_equal greater greater_equal ldexp nextafter".split())
REDUCIBLE = [name for name in BINARY if name not in _NO_REDUCTION]

_QUICK: dict[str, Callable[..., Any]] = {
    "add": FUNCTIONS["sum"],
    "multiply": FUNCTIONS["prod"],
    "maximum": FUNCTIONS["max"],
    "minimum": FUNCTIONS["min"],
    "fmax": FUNCTIONS["nanmax"],
    "fmin": FUNCTIONS["nanmin"],
}


def reduce(
    name: str,
    array: Any,
    axis: Any = 0,
    dtype: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Tensor:
    """`ufunc.reduce`."""
    x = ag.asarray(array) if dtype is None else ag.astype(ag.asarray(array), dtype)
    if name in _QUICK:
        options = {} if initial is None else {"initial": initial}
        return _QUICK[name](x, axis, keepdims=keepdims, where=where, **options)
    axes = tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    axes = tuple(checked_axis(f"np.{name}.reduce", x, i) for i in axes)
    if len(axes) > 1 and name not in ASSOCIATIVE:
        raise ShapeError(f"np.{name}.reduce goes along one axis, since its order matters; got axis {axis}")
    identity = BINARY[name]
    if where is not True:
        if identity is None:
            raise ShapeError(f"np.{name}.reduce of a Tensor does not take where, since it has no neutral element")
        x = masked(x, where, identity)
    moved = ag.moveaxis(x, axes, tuple(range(len(axes))))
    rest = moved.shape[len(axes) :]
    rows = ag.reshape(moved, (math.prod(moved.shape[: len(axes)]), *rest))
    if name.startswith("logical"):
        rows = _truth(rows)
    if not rows.shape[0]:
        if initial is None and identity is None:
            raise ShapeError(f"np.{name}.reduce over axis {axis} of {format_shape(x.shape)}: there are no elements")
        result = ag.full(rest, identity if initial is None else initial, dtype=rows.dtype, device=x.device)
    elif name in ASSOCIATIVE:
        result = _halved(UFUNCS[name], rows)
        result = result if initial is None else UFUNCS[name](result, initial)
    else:
        result = functools.reduce(UFUNCS[name], [*([] if initial is None else [initial]), *ag.unstack(rows)])
    return ag.reshape(result, tuple(1 if i in axes else n for i, n in enumerate(x.shape))) if keepdims else result


def _halved(function: Callable[..., Any], rows: Tensor) -> Tensor:
    """Join one half of the rows with the other, until one is left."""
    while (size := rows.shape[0]) > 1:
        half = size // 2
        joined = function(rows[:half], rows[half : 2 * half])
        rows = ag.concat([joined, rows[2 * half :]]) if size % 2 else joined
    return rows[0]


def accumulate(name: str, array: Any, axis: int = 0, dtype: Any = None) -> Tensor:
    """`ufunc.accumulate`."""
    x = ag.asarray(array) if dtype is None else ag.astype(ag.asarray(array), dtype)
    axis = checked_axis(f"np.{name}.accumulate", x, axis)
    if name == "add":
        return ag.cumulative_sum(x, axis=axis)
    if name == "multiply":
        return ag.cumulative_prod(x, axis=axis)
    if name == "logaddexp":
        return ag.logcumsumexp(x, axis=axis)
    function, size = UFUNCS[name], x.shape[axis]
    if name.startswith("logical"):
        x = _truth(x)
    if name not in ASSOCIATIVE:
        return (
            ag.stack(list(itertools.accumulate(ag.unstack(x, axis=axis), function)), axis=axis) if size else ag.copy(x)
        )
    step, before = 1, (slice(None),) * axis
    while step < size:  # over spans of 2, 4, 8, ... elements
        joined = function(x[(*before, slice(-step))], x[(*before, slice(step, None))])
        x = ag.concat([x[(*before, slice(step))], joined], axis=axis)
        step *= 2
    return ag.copy(x) if size < 2 else x


def reduceat(name: str, array: Any, indices: Any, axis: int = 0, dtype: Any = None) -> Tensor:
    """`ufunc.reduceat`: reductions between neighbouring indices."""
    x = ag.asarray(array)
    axis = checked_axis(f"np.{name}.reduceat", x, axis)
    places = [int(i) for i in ag.reshape(ag.asarray(indices), (-1,))]
    before = (slice(None),) * axis
    parts = []
    for start, stop in itertools.pairwise([*places, x.shape[axis]]):
        if not 0 <= start < x.shape[axis]:
            raise ag.IndexingError(
                f"np.{name}.reduceat: index {start} is outside axis {axis} of {format_shape(x.shape)}"
            )
        part = slice(start, stop) if start < stop else slice(start, start + 1)
        parts.append(reduce(name, x[(*before, part)], axis, dtype, keepdims=True))
    return ag.concat(parts, axis=axis)


def outer(name: str, a: Any, b: Any, **kwargs: Any) -> Any:
    """`ufunc.outer`: of each pair of elements."""
    x1, x2 = tensors(a, b)
    return UFUNCS[name](ag.reshape(x1, (*x1.shape, *(1,) * x2.ndim)), x2, **kwargs)


#: By ufunc and method.
METHODS: dict[tuple[str, str], Callable[..., Any]] = {
    **{
        (name, method.__name__): functools.partial(method, name)
        for method in (reduce, accumulate, reduceat)
        for name in REDUCIBLE
    },
    **{(name, "outer"): functools.partial(outer, name) for name in BINARY},
}

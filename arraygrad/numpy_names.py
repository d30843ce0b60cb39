"""NumPy's own functions on tensors: `np.sin(t)`, `np.sum(t, axis=0)`, `np.fft.fft(t)` keep the graph.

NumPy asks a Tensor by two protocols (NEP 13 for ufuncs, NEP 18 for other functions). Here is what it answers:
`UFUNCS` names the operation for each ufunc, numpy_functions.py has the other functions. What is not there is
refused, as is a parameter that makes no sense for a tensor (`out`, `where`, `order`).
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import arraygrad as ag
from arraygrad.errors import DtypeError
from arraygrad.numpy_functions import FUNCTIONS

#: The name here of each ufunc that has another name in NumPy.
_RENAMED = {
    "absolute": "abs", "fabs": "abs", "power": "pow", "float_power": "pow", "conjugate": "conj", "rint": "round",
    "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan", "arctan2": "atan2",
    "arctanh": "atanh", "invert": "bitwise_invert", "left_shift": "bitwise_left_shift",
    "right_shift": "bitwise_right_shift", "true_divide": "divide", "mod": "remainder",
}  # fmt: skip
_SAME = (
    "add ceil copysign cos cosh divide equal exp expm1 floor floor_divide greater greater_equal hypot isfinite isinf "
    "isnan less less_equal log log10 log1p log2 logaddexp logical_and logical_not logical_or logical_xor matmul "
    "maximum minimum multiply negative nextafter not_equal positive reciprocal remainder sign signbit sin sinh sqrt "
    "square subtract tan tanh trunc bitwise_and bitwise_or bitwise_xor vecdot"
).split()
UFUNCS: dict[str, Callable[..., Any]] = {
    **{name: getattr(ag, name) for name in _SAME if hasattr(ag, name)},
    **{name: getattr(ag, ours) for name, ours in _RENAMED.items()},
    "exp2": lambda x: ag.exp(x * math.log(2.0)),
    "cbrt": lambda x: ag.sign(x) * ag.abs(x) ** (1.0 / 3.0),
    "deg2rad": lambda x: x * (math.pi / 180.0),
    "radians": lambda x: x * (math.pi / 180.0),
    "rad2deg": lambda x: x * (180.0 / math.pi),
    "degrees": lambda x: x * (180.0 / math.pi),
    "divmod": divmod,
    "logaddexp2": lambda x1, x2: ag.logaddexp(x1 * math.log(2.0), x2 * math.log(2.0)) / math.log(2.0),
    "heaviside": lambda x1, x2: ag.where(x1 == 0, x2, ag.where(x1 > 0, 1.0, 0.0)),
}
#: `ufunc.reduce` and `ufunc.accumulate`.
REDUCTIONS: dict[str, Callable[..., Any]] = {
    "add": ag.sum,
    "multiply": ag.prod,
    "maximum": ag.max,
    "minimum": ag.min,
    "logical_and": ag.all,
    "logical_or": ag.any,
    "logaddexp": ag.logsumexp,
}
ACCUMULATIONS: dict[str, Callable[..., Any]] = {"add": ag.cumulative_sum, "multiply": ag.cumulative_prod}


def call_ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What `Tensor.__array_ufunc__` answers."""
    name = ufunc.__name__
    if kwargs.get("out") is not None:
        raise DtypeError(f"np.{name} cannot write a Tensor into a NumPy array, which keeps no history: use x = x + t")
    # SciPy's special functions are ufuncs, too.
    special = {name: getattr(ag.special, name)} if name in ag.special.__all__ else {}
    tables = {"__call__": special | UFUNCS, "reduce": REDUCTIONS, "accumulate": ACCUMULATIONS}
    if method == "outer" and name in UFUNCS:
        x1, x2 = map(ag.asarray, inputs)
        return UFUNCS[name](x1.reshape(*x1.shape, *(1,) * x2.ndim), x2, **kwargs)
    function = tables.get(method, {}).get(name)
    shown = f"np.{name}" if method == "__call__" else f"np.{name}.{method}"
    if function is None:
        raise DtypeError(f"{shown} of a Tensor is not supported{_nearest(name)}")
    if method != "__call__":
        kwargs = {"axis": 0} | kwargs  # NumPy's default for these
    return _call(shown, function, inputs, kwargs)


def call_function(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What `Tensor.__array_function__` answers."""
    module = (function.__module__ or "numpy").removeprefix("numpy").lstrip(".")
    name = f"{module}.{function.__name__}" if module in ("linalg", "fft") else function.__name__
    ours = FUNCTIONS.get(name)
    if ours is None:
        raise DtypeError(f"np.{name} of a Tensor is not supported{_nearest(function.__name__)}")
    return _call(f"np.{name}", ours, args, kwargs)


def _nearest(name: str) -> str:
    import difflib

    close = difflib.get_close_matches(name, ag.__all__, n=1, cutoff=0.6)
    return f"; the nearest in arraygrad is ag.{close[0]}" if close else "; detach() it and call .numpy() for a constant"


def _call(shown: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    for name in [key for key, value in kwargs.items() if value is None]:
        if name in ("out", "order", "where"):
            del kwargs[name]
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except TypeError as error:
        raise DtypeError(f"{shown} of a Tensor: {error}; it takes {inspect.signature(function)}") from None
    return function(*args, **kwargs)

"""NumPy's own functions on tensors: `np.sin(t)`, `np.sum(t, axis=0)`, `np.fft.fft(t)` keep the graph.

NumPy asks a Tensor by two protocols (NEP 13 for ufuncs, NEP 18 for other functions). Here is what it answers:
numpy_ufuncs.py and numpy_functions/ have the functions. What is not there is refused, as is a parameter that is
not supported; one with NumPy's default value is as if it were not there.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import arraygrad as ag
from arraygrad.backends import NUMPY
from arraygrad.errors import DtypeError, ShapeError, format_shape
from arraygrad.numpy_functions import FUNCTIONS, REFUSED
from arraygrad.numpy_functions.creation import LIKE
from arraygrad.numpy_methods import NAMES
from arraygrad.numpy_ufuncs import METHODS, UFUNCS
from arraygrad.ops.creation import tensors

#: What the parameters of every ufunc are if they are not given.
_UFUNC_DEFAULTS = {
    "where": True, "out": None, "dtype": None, "casting": "same_kind", "order": "K", "subok": True, "signature": None,
}  # fmt: skip


def call_ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What `Tensor.__array_ufunc__` answers."""
    name = ufunc.__name__
    if not kwargs and method == "__call__" and name in UFUNCS:  # `array * tensor`: the rest would take as long again
        for x in inputs:
            if isinstance(x, list | tuple):
                break
        else:
            return _call(f"np.{name}", UFUNCS[name], inputs, kwargs)
    if kwargs.get("out") is not None:
        return _into(name, kwargs["out"], call_ufunc(ufunc, method, inputs, {**kwargs, "out": None}))
    kwargs = {k: v for k, v in kwargs.items() if k not in _UFUNC_DEFAULTS or not _is_same(v, _UFUNC_DEFAULTS[k])}
    shown = f"np.{name}" if method == "__call__" else f"np.{name}.{method}"
    if method == "at":
        raise DtypeError(
            f"{shown} of a Tensor is not supported: it writes into its argument; t.index_add_ adds in place"
        )
    if method != "__call__":
        if (name, method) in METHODS:
            return _call(shown, METHODS[name, method], inputs, kwargs)
    elif name in UFUNCS:
        if any(isinstance(x, list | tuple) for x in inputs):
            inputs = tuple(tensors(*inputs))
        if "dtype" in kwargs and NUMPY.dtype(kwargs["dtype"]).kind in "fc":  # in which to compute
            dtype = kwargs.pop("dtype")
            inputs = tuple(ag.astype(x, dtype) for x in tensors(*inputs))
        return _call(shown, UFUNCS[name], inputs, kwargs)
    elif name in ag.special.__all__:  # SciPy's special functions are ufuncs, too
        return _call(shown, getattr(ag.special, name), inputs, kwargs)
    raise _not_supported(shown, name)


def _into(name: str, out: Any, result: Any) -> Any:
    """Write results into the tensors of `out=`, with their history."""
    targets = out if isinstance(out, tuple) else (out,)
    results = result if isinstance(result, tuple) else (result,)
    if not all(target is None or isinstance(target, ag.Tensor) for target in targets):
        raise DtypeError(f"np.{name} cannot write a Tensor into a NumPy array, which keeps no history: use x = x + t")
    for target, value in zip(targets, results, strict=True):
        if target is not None and target.shape != value.shape:
            raise ShapeError(
                f"np.{name} got out= of shape {format_shape(target.shape)} for a result of shape "
                f"{format_shape(value.shape)}"
            )
    written = tuple(v if t is None else t.copy_(v) for t, v in zip(targets, results, strict=True))
    return written if isinstance(result, tuple) else written[0]


def call_function(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], device: str = "cpu") -> Any:
    """What `Tensor.__array_function__` answers. `device` is where the tensor is that was asked."""
    name = name_of(function)
    if name in LIKE:
        given = _as_numpy_binds(function, args, kwargs)
        return _call(f"np.{name}", LIKE[name], given[0], {"device": device} | given[1])
    ours = FUNCTIONS.get(name)
    if ours is None:
        raise _not_supported(f"np.{name}", function.__name__)
    return _call(f"np.{name}", ours, *_as_numpy_binds(function, args, kwargs))


def name_of(function: Any) -> str:
    """The name in `FUNCTIONS`."""
    module = (function.__module__ or "numpy").removeprefix("numpy").lstrip(".")
    if module.endswith(("scimath", "scimath_impl")):
        module = "emath"
    return f"{module}.{function.__name__}" if module in ("linalg", "fft", "emath") else function.__name__


def _not_supported(shown: str, name: str) -> DtypeError:
    import difflib

    if name in REFUSED:
        return DtypeError(f"{shown} of a Tensor is not supported: {REFUSED[name]}")
    close = difflib.get_close_matches(name, ag.__all__, n=1, cutoff=0.6)
    advice = f"the nearest in arraygrad is ag.{close[0]}" if close else "detach() it and call .numpy() for a constant"
    return DtypeError(f"{shown} of a Tensor is not supported; {advice}")


def forms() -> list[str]:
    """Every call that works, by its name after `np.`, with the methods of ufuncs; those of a tensor as `t.sum`."""
    methods = [*(f"{name}.{method}" for name, method in METHODS), *(f"t.{name}" for name in NAMES)]
    return sorted([*UFUNCS, *methods, *FUNCTIONS, *LIKE])


# ---- Parameters


def _is_same(value: Any, default: Any) -> bool:
    return value is default or (
        isinstance(value, bool | int | str) and type(value) is type(default) and value == default
    )


@functools.cache
def _signature(function: Any) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except ValueError:  # of a function in C, before NumPy 2.4
        return None


def _as_numpy_binds(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Required arguments by place and others by name, without those that have NumPy's default value."""
    signature = _signature(function)
    if signature is None:
        return args, {key: value for key, value in kwargs.items() if value is not None or key == "axis"}
    places: list[Any] = []
    names: dict[str, Any] = {}
    for key, value in signature.bind(*args, **kwargs).arguments.items():
        parameter = signature.parameters[key]
        if parameter.kind is parameter.VAR_POSITIONAL:
            places += value
        elif parameter.kind is parameter.VAR_KEYWORD:
            names |= value
        elif parameter.default is parameter.empty or parameter.kind is parameter.POSITIONAL_ONLY:
            places.append(value)
        elif not _is_same(value, parameter.default):
            names[key] = value
    return tuple(places), names


def _call(shown: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    try:
        return function(*args, **kwargs)
    except TypeError:
        signature = _signature(function)
        if signature is None:
            raise
        try:
            signature.bind(*args, **kwargs)
        except TypeError as error:
            bare = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
            raise DtypeError(f"{shown} of a Tensor: {error}; it takes {inspect.Signature(bare)}") from None
        raise

"""np.fft, and np.emath: functions that go to complex numbers where real ones do not reach."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import arraygrad as ag
from arraygrad import fft
from arraygrad.numpy_functions.table import FUNCTIONS, numpy_function
from arraygrad.ops.creation import tensors
from arraygrad.ops.numeric import floating
from arraygrad.tensor import Tensor


def _input(name: str, a: Any) -> Tensor:
    """In the kind of numbers that the standard asks for."""
    x = floating(a)
    return x if x.dtype.kind == "c" or name.startswith(("rfft", "ihfft")) else x + 0j


def _transform(name: str) -> Callable[..., Any]:
    function = getattr(ag.fft, name)
    return lambda a, n=None, axis=-1, norm=None: function(_input(name, a), n=n, axis=axis, norm=norm or "backward")


def _transform_several(name: str, default: Any = None) -> Callable[..., Any]:
    function = getattr(ag.fft, name)
    return lambda a, s=None, axes=default, norm=None: function(_input(name, a), s=s, axes=axes, norm=norm or "backward")


for _name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    FUNCTIONS[f"fft.{_name}"] = _transform(_name)
for _name in ("fft", "ifft", "rfft", "irfft"):
    FUNCTIONS[f"fft.{_name}n"] = _transform_several(_name + "n")
    FUNCTIONS[f"fft.{_name}2"] = _transform_several(_name + "n", (-2, -1))
FUNCTIONS["fft.fftshift"] = lambda x, axes=None: fft.fftshift(x, axes=axes)
FUNCTIONS["fft.ifftshift"] = lambda x, axes=None: fft.ifftshift(x, axes=axes)


# ---- np.emath


def _complex_if(x: Any, leaves: Callable[[Tensor], Tensor]) -> Tensor:
    """`x`, as complex numbers if one of them leaves the real domain."""
    x = floating(x)
    return x + 0j if x.dtype.kind == "f" and ag.any(leaves(x)) else x


def _is_negative(x: Tensor) -> Tensor:
    return x < 0


def _is_outside(x: Tensor) -> Tensor:
    return ag.abs(x) > 1


def _extended(function: Callable[..., Any], leaves: Callable[[Tensor], Tensor]) -> Callable[..., Any]:
    return lambda x: function(_complex_if(x, leaves))


for _name, _function, _leaves in (
    ("sqrt", ag.sqrt, _is_negative),
    ("log", ag.log, _is_negative),
    ("log2", ag.log2, _is_negative),
    ("log10", ag.log10, _is_negative),
    ("arccos", ag.acos, _is_outside),
    ("arcsin", ag.asin, _is_outside),
    ("arctanh", ag.atanh, _is_outside),
):
    FUNCTIONS[f"emath.{_name}"] = _extended(_function, _leaves)


@numpy_function("emath.logn")
def logn(n: Any, x: Any) -> Tensor:
    base, of = tensors(n, x)
    return ag.log(_complex_if(of, _is_negative)) / ag.log(_complex_if(base, _is_negative))


@numpy_function("emath.power")
def power(x: Any, p: Any) -> Tensor:
    return ag.pow(_complex_if(x, _is_negative), p)

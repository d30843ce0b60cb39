"""The table of NumPy's functions, which the chapters fill."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import arraygrad as ag
from arraygrad.backends import is_array
from arraygrad.tensor import Tensor

Axis = int | tuple[int, ...] | None

#: By name, with the submodule if there is one, such as "linalg.inv".
FUNCTIONS: dict[str, Callable[..., Any]] = {}


def numpy_function(name: str | None = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter a function under its NumPy name."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        FUNCTIONS[name or function.__name__.rstrip("_")] = function
        return function

    return enter


def beside(x: Tensor, value: Any) -> Tensor:
    """`value` as a tensor: numbers and lists go where `x` is, arrays stay where they are."""
    return ag.asarray(value) if isinstance(value, Tensor) or is_array(value) else ag.asarray(value, device=x.device)

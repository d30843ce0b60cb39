"""The table of NumPy's functions, which the chapters fill."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Axis = int | tuple[int, ...] | None

#: By name, with the submodule if there is one, such as "linalg.inv".
FUNCTIONS: dict[str, Callable[..., Any]] = {}


def numpy_function(name: str | None = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter a function under its NumPy name."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        FUNCTIONS[name or function.__name__.rstrip("_")] = function
        return function

    return enter

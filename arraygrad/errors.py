"""The exceptions that arraygrad raises, and the helpers that word them.

    ArraygradError
    ├── ShapeError        also a ValueError    shapes, axes, seeds and values that do not fit
    ├── IndexingError     also an IndexError   an index outside its axis
    ├── DtypeError        also a TypeError     data types and kinds of argument that cannot be used
    ├── DeviceError       also a RuntimeError  unknown, missing or mixed devices
    ├── ConvergenceError  also a RuntimeError  iterations without an end, Jacobians without an inverse
    └── GraphError        also a RuntimeError  graph state: second backward, bad rules, anomalies
        ├── VersionError                       a saved value was written to before backward read it
        └── InplaceError                       an in-place write that would lose gradient history

Catch the built-in class where that is the habit, or `ArraygradError` for all of them.
"""

from __future__ import annotations

import os
import sys
from typing import Any


class ArraygradError(Exception):
    """Base of every exception that arraygrad raises on purpose."""


class ShapeError(ArraygradError, ValueError):
    """Shapes, axes, seeds or values do not fit."""


class IndexingError(ArraygradError, IndexError):
    """An index lies outside its axis, or there are too many of them."""


class DtypeError(ArraygradError, TypeError):
    """A data type or a kind of argument that the operation cannot use."""


class DeviceError(ArraygradError, RuntimeError):
    """A device is unknown, not available here, or mixed with another one."""


class ConvergenceError(ArraygradError, RuntimeError):
    """An iteration has not converged, or what it needs to be inverted cannot be."""


class GraphError(ArraygradError, RuntimeError):
    """The recorded graph cannot do what was asked of it."""


class VersionError(GraphError):
    """A value saved for backward has been written to since."""


class InplaceError(GraphError):
    """An in-place write would lose gradient history."""


class GradcheckError(ArraygradError, AssertionError):
    """`gradcheck` found gradients that differ from finite differences."""


def format_shape(shape: tuple[int, ...]) -> str:
    """Write a shape as this library's messages do: `[2, 3]`, and `[]` for a scalar."""
    return "[" + ", ".join(map(str, shape)) + "]"


_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def user_location() -> str:
    """`file:line` of the innermost caller outside this package."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return "<unknown>" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"

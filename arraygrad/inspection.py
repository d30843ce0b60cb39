"""What the namespace can do: the standard's inspection chapter."""

from __future__ import annotations

from typing import Any

from arraygrad import backends, dtypes
from arraygrad.backends import NUMPY

_KINDS = ("bool", "signed integer", "unsigned integer", "real floating", "complex floating")
_NAMES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float32", "float64", "complex64", "complex128",
)  # fmt: skip


class NamespaceInfo:
    """What `arraygrad.__array_namespace_info__()` returns."""

    def capabilities(self) -> dict[str, Any]:
        """Whether indexing by masks and results whose shape depends on values are there, and limits."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> str:
        """The device of new tensors."""
        return backends.get_default_device()

    def default_dtypes(self, *, device: str | None = None) -> dict[str, Any]:
        """The data types of new tensors, by what they hold."""
        return {
            "real floating": dtypes.float64,
            "complex floating": dtypes.complex128,
            "integral": dtypes.int64,
            "indexing": dtypes.int64,
        }

    def devices(self) -> tuple[str, ...]:
        """The devices of the library of the default device."""
        return backends.for_device(backends.get_default_device()).devices()

    def dtypes(self, *, device: str | None = None, kind: Any = None) -> dict[str, Any]:
        """The standard's data types, or those of a kind, or of several, by name."""
        kinds = _KINDS if kind is None else (kind if isinstance(kind, tuple) else (kind,))
        return {name: getattr(dtypes, name) for name in _NAMES if NUMPY.isdtype(getattr(dtypes, name), kinds)}


def __array_namespace_info__() -> NamespaceInfo:  # noqa: N807  the standard's name
    """What this namespace can do, and its data types and devices.

    >>> import arraygrad as ag
    >>> ag.__array_namespace_info__().default_device()
    'cpu'
    """
    return NamespaceInfo()

"""The errors of libraries in the words of this one: which operation failed, and what it got."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from arraygrad.backends import is_array, namespaces, note_memory
from arraygrad.errors import ArraygradError, DtypeError, IndexingError, ShapeError, format_shape


def explain(name: str, error: Exception, operands: Sequence[Any] = ()) -> ArraygradError:
    """Reword an error with the operation and what it got."""
    if isinstance(error, ArraygradError):
        return error
    kind = (
        ShapeError if isinstance(error, ValueError) else IndexingError if isinstance(error, IndexError) else DtypeError
    )
    return kind(f"{_call(name, operands) if operands else name}: {error}")


def explain_memory(name: str, error: MemoryError, operands: Sequence[Any]) -> None:
    """Note on a lack of memory how much there is, the operation and what it got: its type stays the library's."""
    array = next(operand for operand in operands if is_array(operand))
    xp = namespaces[type(array)]
    note_memory(error, xp.device(array) if isinstance(error, xp.memory_error) else "cpu")
    error.add_note(_call(name, operands))


def _call(name: str, operands: Sequence[Any]) -> str:
    got = [f"{x.dtype} {format_shape(x.shape)}" if is_array(x) else repr(x) for x in operands]
    return f"{name} got {' and '.join(got)}"

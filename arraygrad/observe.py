"""Who sees operations while they are recorded: anomaly detection, and hooks on what is saved.

While nobody does, `record.observer` is None and operations pay for one look at it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from arraygrad.backends import Array
from arraygrad.errors import user_location

if TYPE_CHECKING:
    from arraygrad.node import FunctionNode
    from arraygrad.op import Op

#: Look at the operands and the result of an operation.
checks: list[Callable[[Op, Sequence[Any], Array], None]] = []
#: Look at a new node, what it was called with and its result, and may replace its boxes.
watchers: list[Callable[[FunctionNode, Sequence[Any], Any], None]] = []


class _Observer:
    @staticmethod
    def check(op: Op, operands: Sequence[Any], result: Array) -> None:
        for look in checks:
            look(op, operands, result)

    @staticmethod
    def extras(node: FunctionNode, values: Sequence[Any], out: Any) -> dict[str, Any] | None:
        node.extras = {"site": user_location()} if checks else None
        for watch in watchers:
            watch(node, values, out)
        return node.extras


def add(where: list[Any], function: Callable[..., None]) -> None:
    """Let a function look from now on."""
    from arraygrad import record

    where.append(function)
    record.observer = _Observer


def remove(where: list[Any], function: Callable[..., None]) -> None:
    """Let it look no longer."""
    from arraygrad import record

    where.remove(function)
    record.observer = _Observer if checks or watchers else None

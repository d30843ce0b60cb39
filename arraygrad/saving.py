"""What a node saves: the boxes of what the rules of its operation ask for by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from arraygrad.backends import namespaces
from arraygrad.storage import box_of
from arraygrad.tensor import Tensor

if TYPE_CHECKING:
    from arraygrad.op import Op


def saver(op: Op) -> Callable[[Sequence[Any], Sequence[Any], Any], tuple[Any, ...]]:
    """Make the function that collects what the rules of the inputs that require grad ask for."""
    plan = [(i, _box_maker(op, name)) for i, rule in enumerate(op.rules.values()) for name in rule.names]
    if len(op.rules) == 1:
        makers = [make for _, make in plan]
        return lambda edges, values, out: tuple([make(values, out) for make in makers])
    return lambda edges, values, out: tuple([None if edges[i] is None else make(values, out) for i, make in plan])


def _box_maker(op: Op, name: str) -> Callable[[Sequence[Any], Any], Any]:
    """Make the function that makes the box of one name: a list for what can be written to, else a tuple."""
    if name == "out":
        return lambda values, out: box_of(out)
    if op.outputs is not None and name in op.outputs._fields:
        k = op.outputs._fields.index(name)
        return lambda values, out: box_of(out[k])
    names = list(op.signature.parameters)
    if name in op.inputs:
        i = names.index(name)
        return lambda values, out: box_of(values[i]) if type(values[i]) is Tensor else (values[i],)
    if name in names:
        i = names.index(name)
        return lambda values, out: (values[i],)
    source, _, fact = name.rpartition("_")
    i = names.index(source)
    if op.takes_sequence:
        return lambda values, out: (tuple([_fact(value, fact) for value in values[i]]),)
    return lambda values, out: (_fact(values[i], fact),)


def _fact(value: Any, fact: str) -> Any:
    array = value.array if type(value) is Tensor else value
    if fact == "device":
        return namespaces[type(array)].device(array)
    return getattr(array, fact, () if fact == "shape" else None)  # a number has neither

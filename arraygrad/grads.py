"""The `grad` of leaves: what a backward adds to it, to all of them or, where memory ends, to none."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from arraygrad.backends import Array, check_devices, is_array, namespaces, several_devices
from arraygrad.modes import enable_grad
from arraygrad.node import AccumulateGrad
from arraygrad.storage import mark_written
from arraygrad.views import history

if TYPE_CHECKING:
    from arraygrad.tensor import Tensor


def accumulate(leaves: Iterable[tuple[AccumulateGrad, Array | None]]) -> None:
    """Add what nobody else holds to the leaves that still want it; None where what depended on one was replaced."""
    sums = []
    for accumulator, grad in leaves:
        leaf = accumulator.variable
        if leaf is not None and type(leaf._node) is AccumulateGrad:
            sums.append((leaf, grad, _sum(leaf, grad)))
    _store(sums)


def add_to_grads(pairs: Iterable[tuple[Tensor, Any]]) -> None:
    """Add raw arrays, in place where that is possible; or tensors, which have history, as an operation."""
    _store([(tensor, grad, _sum(tensor, grad)) for tensor, grad in pairs])


def _sum(tensor: Tensor, grad: Any) -> Tensor | None:
    """The new `grad`, None where the old one is to be added to in place."""
    stored, array = tensor._grad, tensor.array
    if type(grad) is not type(array) or several_devices:
        if grad is None:
            xp = namespaces[type(array)]
            with xp.scope(tensor.device):
                return tensor._like(xp.zeros_like(array)) if stored is None else stored
        if not is_array(grad):
            with enable_grad():
                total: Tensor = grad if stored is None else stored + grad
                return total
        check_devices("backward", array, grad)
    if stored is None:
        return tensor._like(grad)
    xp = namespaces[type(grad)]
    if history(stored) is None and xp.is_writable(stored.array):
        return None
    with xp.scope(xp.device(grad)):
        return tensor._like(stored.array + grad)


def _store(sums: Iterable[tuple[Tensor, Any, Tensor | None]]) -> None:
    for tensor, grad, total in sums:
        if total is not None:
            tensor._grad = total
        else:  # takes no memory, hence comes last
            stored: Any = tensor._grad
            xp = namespaces[type(grad)]
            with xp.scope(xp.device(grad)):
                stored.array += grad
            mark_written(stored)

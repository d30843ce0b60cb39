"""Views: tensors that share the memory of another one, and keep up with what is written to it.

    root ── array            view ── array, a part of the root's
      │                        ├── View ── root, and the functions that lead from it to the view
      ╰── node (its history)   ╰── node, as of the epoch that the View has seen

A write that carries history changes the root's node alone and starts a new epoch of the memory. A view of an
older epoch gets a new node when its history is next asked for: one that hangs on the root directly, however
many functions lie between. So a write costs nothing for the views that nobody uses any more, and the cotangent
of a small view is added where it belongs instead of passing through zeros of the root's shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from arraygrad.accumulate import Part
from arraygrad.backends import Array
from arraygrad.modes import grad_enabled
from arraygrad.node import AccumulateGrad, FunctionNode, OpOfItsOwn
from arraygrad.storage import storage_of

if TYPE_CHECKING:
    from arraygrad.op import Op
    from arraygrad.tensor import Tensor

#: What leads from a root to a view: operations with the rest of their forward's arguments.
Functions = tuple[tuple["Op", Sequence[Any], dict[str, Any]], ...]


class View:
    """Where the memory of a tensor comes from."""

    __slots__ = ("epoch", "functions", "is_recorded", "root")

    def __init__(self, root: Tensor, functions: Functions, epoch: int, is_recorded: bool) -> None:
        self.root, self.functions = root, functions
        #: The epoch of the memory of which the tensor's node tells.
        self.epoch = epoch
        #: False for a view made inside no_grad(): it stays without history.
        self.is_recorded = is_recorded


class _ViewOp(OpOfItsOwn):
    """The `op` of a view's node that hangs on its root."""

    node_name = "ViewBackward"

    @staticmethod
    def run(xp: Any, g: Array, saved: Any, edges: Any) -> tuple[Part]:
        """Say which part of the root `g` belongs to."""
        ((functions,),) = saved
        return (Part(..., g, functions),)


VIEW: Any = _ViewOp()


def link(tensor: Tensor, source: Tensor, *functions: tuple[Op, Sequence[Any], dict[str, Any]]) -> bool:
    """Note that `tensor` shares the memory of `source`; whether its history is to be made when asked for."""
    view = source._view
    root, so_far, is_recorded = (source, (), True) if view is None else (view.root, view.functions, view.is_recorded)
    storage = tensor._storage = storage_of(source)
    epoch = -1 if storage.epoch else 0
    tensor._view = View(root, (*so_far, *functions), epoch, is_recorded and bool(grad_enabled()))
    return epoch < 0


def history(tensor: Tensor) -> FunctionNode | AccumulateGrad | None:
    """Return the node of `tensor`: of a view, one that tells of all writes to its memory so far."""
    view = tensor._view
    if view is None or view.epoch == tensor._storage.epoch:  # type: ignore[union-attr]  # a view has one
        return tensor._node
    view.epoch = tensor._storage.epoch  # type: ignore[union-attr]
    edge = view.root._node
    before = tensor._node
    tensor._node = None
    if edge is not None and view.is_recorded:
        node = tensor._node = FunctionNode()
        node.op, node.edges, node.saved = VIEW, (edge,), ((view.functions,),)
        node.shape, node.dtype, node.extras = tensor.array.shape, tensor.array.dtype, None
        keep_retained(tensor, before, node)
    return tensor._node


def rebase(target: Tensor, node: FunctionNode) -> None:
    """Give the root of a memory that was written to its new history; the views will ask for theirs."""
    root = target if target._view is None else target._view.root
    keep_retained(root, root._node, node)
    root._node = node
    storage_of(root).epoch += 1


def keep_retained(tensor: Tensor, before: FunctionNode | AccumulateGrad | None, node: FunctionNode) -> None:
    """Let a tensor that retains its gradient do so with its new history."""
    extras = None if before is None else before.extras
    for reference in (extras or {}).get("retained", ()):
        if reference() is tensor:
            node.extras = (node.extras or {}) | {"retained": [reference]}

"""The recorded graph: who holds whom, and for how long.

    Tensor ── FunctionNode ── edges ── ... ── AccumulateGrad · · weak · · leaf Tensor
                   │                                ╰────────── strong ──────╯
                   ╰── saved values, each in a box ── array

- A tensor holds the node that made it; a node holds the nodes of its inputs (its edges), never a tensor.
  Dropping the last tensor of a graph frees the graph, by reference counting alone: there is no cycle.
- A leaf that requires grad holds its AccumulateGrad, and the graph holds it too; it finds the leaf by weak
  reference, so a graph keeps no leaf alive. A gradient for a leaf that is gone, or that no longer requires
  grad, is dropped.
- A node holds a saved array, in a box (see storage.py), until backward has run it. A saved output is
  the raw array, not the tensor.
- Destruction of a long chain does not recurse: CPython's deallocator queues nested objects by itself.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from arraygrad.accumulate import OutputPart
from arraygrad.backends import Array
from arraygrad.hooks import RemovableHandle, register

if TYPE_CHECKING:
    from arraygrad.op import Op
    from arraygrad.tensor import Tensor


class OpOfItsOwn:
    """What the engine asks of a node's `op`, for those that no declaration makes; they have a `run` of their own."""

    kind = "general"
    broadcasts = is_holomorphic = False
    sources: Any = None
    node_name = ""


class _Output(OpOfItsOwn):
    """The `op` of a node that stands for one of several outputs: hands its cotangent to the node of them all."""

    @staticmethod
    def run(xp: Any, g: Array, saved: Any, edges: Any) -> tuple[OutputPart]:
        """Say which of the outputs `g` belongs to."""
        ((position,),) = saved
        return (OutputPart(position, g),)


OUTPUT: Any = _Output()


class FunctionNode:
    """One recorded operation: a rule for the gradient of each input, and what the rules need."""

    __slots__ = ("__weakref__", "dtype", "edges", "extras", "op", "saved", "shape")

    op: Op
    #: The node of each input, None where an input does not require grad.
    edges: tuple[FunctionNode | AccumulateGrad | None, ...]
    #: Boxes in the order of the rules' parameters; None once backward has released them.
    saved: tuple[Any, ...] | None
    #: Of the output, hence of the cotangent that arrives.
    shape: tuple[int, ...]
    dtype: Any
    #: Seldom needed: "retained" (weak references to tensors), "site" (file:line, in anomaly mode),
    #: "failure" (of the backward that released the node), "outputs" (weak references to the nodes of each), "hooks" and
    #: "after" (see hooks.py), "packed" (its boxes are PackedBoxes).
    extras: dict[str, Any] | None

    @property
    def name(self) -> str:
        """The operation's name as in `MultiplyBackward`."""
        return made_by(self).op.node_name

    @property
    def next_functions(self) -> tuple[tuple[FunctionNode | AccumulateGrad | None, int], ...]:
        """The nodes that receive the gradient of each input, with the index of their output."""
        return tuple(
            (made_by(edge), edge.saved[0][0] if edge.saved else 0)
            if isinstance(edge, FunctionNode) and edge.op is OUTPUT
            else (edge, 0)
            for edge in made_by(self).edges
        )

    def register_prehook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(grad_outputs)` when backward reaches the node; a tuple that it returns replaces them."""

        def takes_tuple(grads: Any) -> Any:
            return hook(grads)

        takes_tuple.takes_tuple = True  # type: ignore[attr-defined]
        return register(made_by(self), "hooks", takes_tuple)

    def register_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(grad_inputs, grad_outputs)` when the node has run; a tuple replaces `grad_inputs`."""
        return register(made_by(self), "after", hook)

    def __repr__(self) -> str:
        return f"<{self.name}>"


def made_by(node: FunctionNode) -> FunctionNode:
    """The node of the operation: where it has several outputs, each has a node of its own before it."""
    if node.op is OUTPUT:
        made: Any = node.edges[0]
        return made
    return node


def output_node(parent: FunctionNode, position: int, array: Array) -> FunctionNode:
    """Make the node of one of several outputs."""
    node = FunctionNode()
    node.op, node.edges, node.saved, node.extras = OUTPUT, (parent,), ((position,),), None
    node.shape, node.dtype = array.shape, array.dtype
    return node


def output_of(parent: FunctionNode, position: int, array: Array) -> FunctionNode | None:
    """The node of an output that `parent` has saved: that of the output's tensor, if it is there still."""
    references = (parent.extras or {})["outputs"]
    if references[position] is None:  # of integers or booleans
        return None
    node = references[position]()
    if node is None:  # its tensor is gone; whoever asks next gets the same node
        node = output_node(parent, position, array)
        references[position] = weakref.ref(node)
    return node


class WriteNode(FunctionNode):
    """The node of a write in place: the engine gives it a cotangent that it may change."""

    __slots__ = ()


class AccumulateGrad:
    """Where a graph ends: adds what arrives to the `grad` of one leaf."""

    __slots__ = ("__weakref__", "_leaf", "dtype", "extras", "shape")

    name: ClassVar[str] = "AccumulateGrad"
    edges: ClassVar[tuple[()]] = ()
    saved: ClassVar[tuple[()]] = ()
    next_functions: ClassVar[tuple[()]] = ()

    def __init__(self, leaf: Tensor) -> None:
        self._leaf = weakref.ref(leaf)
        self.shape: tuple[int, ...] = leaf.array.shape
        self.dtype: Any = leaf.array.dtype
        self.extras: dict[str, Any] | None = None

    @property
    def variable(self) -> Tensor | None:
        """The leaf, None once it is gone."""
        return self._leaf()

    def __repr__(self) -> str:
        return f"<{self.name}>"

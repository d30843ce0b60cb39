"""Backward: seed, count dependencies, run the nodes that are ready, release, then hand out gradients.

A node may run once every consumer inside the root's subgraph has delivered its cotangent. A first walk
finds the nodes with several consumers and gives each a Buffer; all others receive their one cotangent
directly. Nothing recurses, so depth is bounded by memory alone.

After an error no gradient has changed: the first walk finds released and stale nodes before any rule runs,
and gradients are handed out after the last rule has. (What had been saved for the rules that ran is gone
then, unless retain_graph or anomaly detection keeps it to the end: memory is freed on the way.)
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from arraygrad import debug
from arraygrad.accumulate import FRESH, Buffer, OutputPart, Owned, Part, fit, getrefcount
from arraygrad.backends import (
    NUMPY,
    Array,
    Backend,
    check_devices,
    is_array,
    is_complex,
    namespaces,
    several_devices,
)
from arraygrad.errors import DtypeError, GraphError, ShapeError, format_shape
from arraygrad.node import AccumulateGrad, FunctionNode, WriteNode
from arraygrad.storage import Storage, check_saved, mark_written
from arraygrad.views import history

if TYPE_CHECKING:
    from arraygrad.tensor import Tensor

Node = FunctionNode | AccumulateGrad


def backward(root: Tensor, gradient: Any = None, *, retain_graph: bool = False) -> None:
    """Add the gradient of `root` with respect to each leaf to the leaf's `grad`; see Tensor.backward."""
    node = history(root)
    if node is None:
        raise GraphError(
            "backward needs a tensor that requires grad; this one was computed from tensors that do not, "
            "or inside no_grad()"
        )
    run(node, _seed(root, gradient), retain_graph)


def _seed(root: Tensor, gradient: Any) -> Array:
    xp, array = namespaces[type(root.array)], root.array
    if gradient is None:
        if is_complex(array):
            raise ShapeError(
                "grad can be implicitly created only for real scalar outputs, got a complex one; "
                "take its real part, or pass backward(gradient)"
            )
        if root.size != 1:
            raise ShapeError(
                "grad can be implicitly created only for scalar outputs, "
                f"got shape {format_shape(root.shape)}; pass backward(gradient) of that shape"
            )
        with xp.scope(root.device):
            return xp.ones_like(array)
    gradient = getattr(gradient, "array", gradient)
    if not is_array(gradient):
        gradient = xp.from_host(NUMPY.host_array(gradient), root.device)
    if is_complex(gradient) and not is_complex(array):
        raise DtypeError("backward got a complex gradient for a real output")
    if gradient.shape != array.shape:
        raise ShapeError(
            f"gradient shape {format_shape(gradient.shape)} does not match output shape {format_shape(array.shape)}"
        )
    check_devices("backward", array, gradient)
    return gradient if gradient.dtype == array.dtype else xp.astype(gradient, array.dtype)


class _Shared(Buffer):
    """The buffer of a node with several consumers, and how many of them are still to deliver."""

    __slots__ = ("remaining",)

    def __init__(self) -> None:
        super().__init__()
        self.remaining = 1


def _count_dependencies(root: Node) -> dict[Node, _Shared]:
    """Walk the subgraph of `root`: a buffer for each node with several consumers in it."""
    shared: dict[Node, _Shared] = {}
    seen: set[Node] = {root}
    pending: list[Node] = [root]
    check = Storage.any_stale
    while pending:
        node = pending.pop()
        if node.saved is None:
            failure = (node.extras or {}).get("failure")
            raise GraphError(
                f"Trying to backward through the graph a second time ({node.name}); "
                + (
                    f"the first, which failed ({failure}), had run that node: run forward again"
                    if failure
                    else "specify retain_graph=True in the first call to keep what it saved"
                )
            )
        if check:
            check_saved(node)
        for edge in node.edges:
            if edge is None:
                continue
            if edge in seen:
                if edge not in shared:
                    shared[edge] = _Shared()
                shared[edge].remaining += 1
            else:
                seen.add(edge)
                pending.append(edge)
    return shared


def run(root: Node, cotangent: Array, retain_graph: bool) -> None:
    """Run the subgraph of `root`, which has received `cotangent`."""
    shared = _count_dependencies(root)
    leaves: list[tuple[AccumulateGrad, Array | None]] = []
    retained: list[tuple[Tensor, Tensor | None]] = []
    finished: list[FunctionNode] = []
    try:
        with contextlib.ExitStack() as scope:
            _run_nodes(root, cotangent, shared, leaves, retained, finished, retain_graph, scope)
    except BaseException as error:
        for tensor, previous in reversed(retained):
            tensor._grad = previous
        for node in finished:
            if node.saved is None:
                node.extras = (node.extras or {}) | {"failure": f"{type(error).__name__}: {error}"}
        raise
    for accumulator, grad in leaves:
        _accumulate(accumulator, grad)


def _run_nodes(
    root: Node,
    g: Array | None,
    shared: dict[Node, _Shared],
    leaves: list[tuple[AccumulateGrad, Array | None]],
    retained: list[tuple[Tensor, Tensor | None]],
    finished: list[FunctionNode],
    retain_graph: bool,
    scope: contextlib.ExitStack,
) -> None:
    trace, anomaly = debug.trace_stream(), debug.is_anomaly_enabled()
    keep_saved = retain_graph or anomaly
    ready: list[tuple[Node, Array | None]] = [(root, g)]
    g = None
    grads: Any = None
    grad: Any = None
    array_type: Any = None
    dtype: Any = None
    is_complex_node = has_written = False
    xp: Backend = NUMPY
    while ready:
        node, g = ready.pop()
        if g is not None and (type(g) is not array_type or several_devices):
            array = next(part for part in g if part is not None) if type(g) is list else g
            array_type, xp = type(array), namespaces[type(array)]
            scope.close()
            scope.enter_context(xp.scope(xp.device(array)))
            del array  # or it would count as an owner of what a leaf receives
        if trace is not None and g is not None:
            debug.trace_node(trace, node, g)
        if type(node) is not FunctionNode:
            # A leaf keeps its gradient and a write changes its cotangent: an array that only this loop holds
            # serves as it is, any other is copied.
            if g is not None:
                fresh = xp.counts_references and getrefcount(g) == FRESH and g.base is None
                if not fresh or (type(node) is WriteNode and not (xp.is_contiguous(g) and xp.is_writable(g))):
                    g = xp.copy(g)
            if isinstance(node, AccumulateGrad):
                if g is not None or has_written:
                    leaves.append((node, g))
                continue
            has_written = True
        if node.extras is not None and g is not None:
            _retain(node, g, retained)
        edges, saved = node.edges, node.saved
        if g is None:
            grads = (None,) * len(edges)
        else:
            if node.dtype is not dtype:
                dtype = node.dtype
                is_complex_node = dtype in xp.complex_dtypes
            if is_complex_node and node.op.is_holomorphic:
                grads = _run_conjugated(xp, node, g, saved)
            else:
                grads = node.op.run(xp, g, saved, edges)
        if anomaly:
            debug.check_gradients(node, grads)
        finished.append(node)
        if not keep_saved:
            node.saved = None
        saved = None
        for edge, grad in zip(edges, grads):  # noqa: B905  strict=True costs 0.1 us a node
            if edge is None:
                continue
            buffer = shared.get(edge)
            if type(grad) is not array_type:  # a part, a NumPy scalar, another device, nothing
                grad = _lift(xp, node, edge, grad, grads, buffer)
            elif grad.dtype is not edge.dtype or grad.shape != edge.shape:
                grad = fit(xp, node, _position(grads, grad), grad, edge.shape, edge.dtype)
            if buffer is None:
                ready.append((edge, grad))
                continue
            if grad is not None:
                buffer.add(grad)
            buffer.remaining -= 1
            if not buffer.remaining:
                ready.append((edge, buffer.total(xp, edge.shape, edge.dtype) if buffer.parts else buffer.array))
                del shared[edge]
        grads = grad = buffer = None  # or they would count as owners of what the leaf receives
    if anomaly and not retain_graph:
        for node in finished:
            node.saved = None


def _run_conjugated(xp: Backend, node: FunctionNode, g: Array, saved: Any) -> Sequence[Any]:
    """Run real rules for a complex result: conjugate what goes in and what comes out.

    A rule multiplies by the derivative; the gradient of a real loss points to its steepest ascent if it is
    multiplied by the conjugate of the derivative. (PyTorch's convention.)
    """

    def conjugate(grad: Any) -> Any:
        if grad is None:
            return None
        return Part(grad.index, xp.conj(grad.g), grad.functions) if type(grad) is Part else xp.conj(grad)

    return [conjugate(grad) for grad in node.op.run(xp, xp.conj(g), saved, node.edges)]


def _position(grads: Sequence[Any], grad: Any) -> int:
    return next(position for position, candidate in enumerate(grads) if candidate is grad)


def _lift(xp: Backend, node: FunctionNode, edge: Any, grad: Any, grads: Sequence[Any], buffer: _Shared | None) -> Any:
    """Turn what a rule returned into an array for `edge`; None if the buffer has taken it already."""
    if grad is None:
        return None
    if type(grad) is OutputPart:
        parts = [None] * len(edge.op.outputs._fields) if buffer is None or buffer.array is None else buffer.array
        parts[grad.position] = grad.g
        if buffer is None:
            return parts
        buffer.array = parts
        return None
    if type(grad) is Owned:
        if buffer is None:
            return grad.g
        buffer.add_owned(grad.g)
        return None
    position = _position(grads, grad)
    if type(grad) is Part:
        if not grad.functions:
            grad.g = fit(xp, node, position, xp.lift(grad.g), grad.g.shape, edge.dtype)
        if buffer is None:
            return grad.filled(xp, edge.shape, edge.dtype)
        buffer.add_part(xp, grad)
        return None
    if not is_array(grad):
        grad = xp.lift(grad)  # NumPy's functions of 0-d arrays return scalars
    return fit(namespaces[type(grad)], node, position, grad, edge.shape, edge.dtype)


def _retain(node: FunctionNode, g: Array, retained: list[tuple[Tensor, Tensor | None]]) -> None:
    """Store the cotangent in the tensors that asked for it with `retain_grad`."""
    assert node.extras is not None
    for reference in node.extras.get("retained", ()):
        tensor = reference()
        if tensor is not None and tensor._node is node:  # it may have been detached in place
            retained.append((tensor, tensor._grad))
            tensor._grad = tensor._like(namespaces[type(g)].copy(g))


def _accumulate(accumulator: AccumulateGrad, grad: Array | None) -> None:
    """Add an array that nobody else holds to the gradient of a leaf; None where what depended on it was replaced."""
    leaf = accumulator.variable
    if leaf is None or type(leaf._node) is not AccumulateGrad:
        return
    stored = leaf._grad
    if stored is None:
        xp = namespaces[type(leaf.array)]
        leaf._grad = leaf._like(xp.zeros_like(leaf.array) if grad is None else grad)
    elif grad is None:
        return
    elif namespaces[type(grad)].is_writable(stored.array):
        stored.array += grad
        mark_written(stored)
    else:
        leaf._grad = leaf._like(stored.array + grad)

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
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from arraygrad import debug
from arraygrad.accumulate import FRESH, FRESH_GRADIENT, OutputPart, Owned, Part, fit, getrefcount
from arraygrad.backends import NUMPY, Array, Backend, is_array, namespaces, several_devices
from arraygrad.buffers import Shared, SharedAmongDevices
from arraygrad.errors import GraphError
from arraygrad.grads import accumulate
from arraygrad.hooks import run_hooks, run_hooks_after, run_hooks_of_leaf, unpacked
from arraygrad.modes import enable_grad
from arraygrad.node import AccumulateGrad, FunctionNode, WriteNode
from arraygrad.storage import Storage, check_saved

if TYPE_CHECKING:
    from arraygrad.tensor import Tensor

Node = FunctionNode | AccumulateGrad


def _count_dependencies(roots: Iterable[Node]) -> dict[Node, Shared]:
    """Walk the subgraph of `roots`: a buffer for each node with several consumers in it."""
    shared: dict[Node, Shared] = {}
    seen: set[Node] = set()
    pending: list[Node] = []
    check, make = Storage.any_stale, SharedAmongDevices if several_devices else Shared
    edges: Iterable[Node | None] = roots
    while True:
        following = None
        for edge in edges:
            if edge is None:
                continue
            if edge in seen:
                if edge not in shared:
                    shared[edge] = make()
                shared[edge].remaining += 1
            else:
                seen.add(edge)
                if following is not None:
                    pending.append(following)
                following = edge
        if following is None:
            if not pending:
                return shared
            following = pending.pop()
        if following.saved is None:
            raise _released(following)
        if check:
            check_saved(following)
        edges = following.edges


def _released(node: Node) -> GraphError:
    failure = (node.extras or {}).get("failure")
    return GraphError(
        f"Trying to backward through the graph a second time ({node.name}); "
        + (
            f"the first, which failed ({failure}), had run that node: run forward again"
            if failure
            else "specify retain_graph=True in the first call to keep what it saved"
        )
    )


def _leading_to(roots: Iterable[Node], targets: Iterable[Node]) -> tuple[set[Node], dict[Node, Shared]]:
    """The nodes between `roots` and `targets`, and a buffer for each with several consumers among them."""
    consumers: dict[Node, list[Node]] = {}
    seen = set(roots)
    pending = list(seen)
    while pending:
        node = pending.pop()
        for edge in node.edges:
            if edge is not None:
                consumers.setdefault(edge, []).append(node)
                if edge not in seen:
                    seen.add(edge)
                    pending.append(edge)
    between = {target for target in targets if target in seen}
    pending = list(between)
    while pending:
        for node in consumers.get(pending.pop(), ()):
            if node not in between:
                between.add(node)
                pending.append(node)
    shared: dict[Node, Shared] = {}
    seeds = Counter(roots)
    for node in between:
        if not between.isdisjoint(node.edges):  # its rules will run
            if node.saved is None:
                raise _released(node)
            check_saved(node)
        deliveries = len(consumers.get(node, ())) + seeds[node]
        if deliveries > 1:
            shared[node] = SharedAmongDevices() if several_devices else Shared()
            shared[node].remaining = deliveries
    return between, shared


def run(
    seeds: Sequence[tuple[Node, Any]],
    retain_graph: bool,
    create_graph: bool = False,
    targets: Sequence[Node] | None = None,
) -> list[Any]:
    """Run the subgraph of the seeds' nodes, each of which has received a cotangent.

    Leaves accumulate what reaches them; with `targets` none does, only the nodes that lead to those run, and the
    cotangent of each is returned, None where nothing arrives.
    """
    roots = [node for node, _ in seeds]
    between = None
    if targets is None:
        shared = _count_dependencies(roots)
    else:
        between, shared = _leading_to(roots, targets)
        seeds = [seed for seed in seeds if seed[0] in between]
    watched: dict[Node, Any] = dict.fromkeys(targets or ())
    leaves: list[tuple[AccumulateGrad, Array | None]] = []
    retained: list[tuple[Tensor, Tensor | None]] = []
    recording: Any = None
    if create_graph:
        from arraygrad.recording import RECORDING as recording  # noqa: N811
    try:
        with contextlib.ExitStack() as scope, enable_grad() if create_graph else contextlib.nullcontext():
            ready = _deliver(recording, seeds, shared)
            _run_nodes(ready, shared, between, watched, leaves, retained, retain_graph, recording, scope)
        accumulate(leaves)
    except BaseException as error:
        for tensor, previous in reversed(retained):
            tensor._grad = previous
        _note_failure(roots, between, f"{type(error).__name__}: {error}")
        raise
    for accumulator, _ in leaves:
        if accumulator.extras is not None:
            run_hooks_of_leaf(accumulator)
    grads = [watched[node] for node in targets or ()]
    # A tensor asked for twice gets two arrays: nobody else holds what this returns.
    return [
        grad if grad is None or not any(grad is other for other in grads[:i]) else _copied(grad)
        for i, grad in enumerate(grads)
    ]


def _note_failure(roots: Iterable[Node], between: set[Node] | None, failure: str) -> None:
    """Let the nodes that ran before a failure, and hence are released, tell of it."""
    seen: set[Node] = set()
    pending = list(roots)
    while pending:
        node = pending.pop()
        if node not in seen and not isinstance(node, AccumulateGrad):
            seen.add(node)
            if node.saved is None and (between is None or not between.isdisjoint(node.edges)):
                node.extras = (node.extras or {}) | {"failure": failure}
            pending += [edge for edge in node.edges if edge is not None]


def _copied(grad: Any) -> Any:
    return grad.clone() if hasattr(grad, "clone") else namespaces[type(grad)].copy(grad)


def _deliver(recording: Any, seeds: Sequence[tuple[Node, Any]], shared: dict[Node, Shared]) -> list[tuple[Node, Any]]:
    """Hand the seeds out; what is ready to run then."""
    ready: list[tuple[Node, Any]] = []
    for node, g in seeds:
        buffer = shared.get(node)
        if buffer is None:
            ready.append((node, g))
            continue
        buffer.add(recording or namespaces[type(g)], g)
        buffer.remaining -= 1
        if not buffer.remaining:
            ready.append((node, buffer.array))
            del shared[node]
    return ready


def _run_nodes(
    ready: list[tuple[Node, Any]],
    shared: dict[Node, Shared],
    between: set[Node] | None,
    watched: dict[Node, Any],
    leaves: list[tuple[AccumulateGrad, Array | None]],
    retained: list[tuple[Tensor, Tensor | None]],
    retain_graph: bool,
    recording: Any,
    scope: contextlib.ExitStack,
) -> None:
    trace, anomaly = debug.trace_stream(), debug.is_anomaly_enabled()
    keep_saved = retain_graph or anomaly
    finished: list[FunctionNode] = []
    node: Any = None
    following: Any = None
    carried: Any = None
    g: Any = None
    grads: Any = None
    grad: Any = None
    array_type: Any = None
    dtype: Any = None
    is_complex_node = has_written = False
    lifting: Any = None
    xp: Backend = NUMPY
    while True:
        if following is None:
            if not ready:
                break
            node, g = ready.pop()
        else:
            node, g = following, carried
            following = carried = None
        if (type(g) is not array_type or several_devices) and g is not None:
            array = next(part for part in g if part is not None) if type(g) is list else g
            array_type, xp = type(array), recording or namespaces[type(array)]
            lifting = recording or (xp if xp.is_batched else None)
            scope.close()
            scope.enter_context(xp.scope(xp.device(array)))
            del array  # or it would count as an owner of what a leaf receives
        extras = node.extras
        if (trace is not None or extras is not None) and g is not None:
            if trace is not None:
                debug.trace_node(trace, node, g)
            if extras is not None:
                g = run_hooks(node, g)
                _retain(xp, node, g, retained)
        if type(node) is not FunctionNode:
            # A leaf keeps its gradient and a write changes its cotangent: an array that only this loop holds
            # serves as it is, any other is copied.
            if g is not None:
                fresh = xp.counts_references and getrefcount(g) == FRESH and g.base is None
                if not fresh or (type(node) is WriteNode and not (xp.is_contiguous(g) and xp.is_writable(g))):
                    g = xp.copy(g)
            if isinstance(node, AccumulateGrad):
                if watched:
                    if node in watched:
                        watched[node] = g
                elif g is not None or has_written:
                    leaves.append((node, g))
                continue
            has_written = True
        edges, saved = node.edges, node.saved
        if extras is not None and "packed" in extras:
            saved = unpacked(node)
        if between is not None:
            if node in watched and g is not None:
                watched[node] = xp.copy(g)
            edges = tuple([edge if edge in between else None for edge in edges])
            if edges.count(None) == len(edges):
                continue
        if g is None:
            grads = (None,) * len(edges)
        else:
            if node.dtype is not dtype:
                dtype = node.dtype
                is_complex_node = dtype in xp.complex_dtypes
            if lifting is not None:
                saved = lifting.lifted(node, saved)
            if is_complex_node and node.op.is_holomorphic:
                grads = _run_conjugated(xp, node, g, saved, edges)
            else:
                grads = node.op.run(xp, g, saved, edges)
        if extras is not None and "after" in extras:
            grads = run_hooks_after(node, g, _lifted_all(xp, node, edges, grads))
        if anomaly:
            debug.check_gradients(node, grads)
        if not keep_saved:
            node.saved = None
        elif anomaly:
            finished.append(node)
        saved = None
        position = -1
        for edge in edges:
            position += 1
            if edge is None:
                continue
            grad = grads[position]
            buffer = shared[edge] if edge in shared else None  # noqa: SIM401  `get` takes twice as long if it is not
            if type(grad) is not array_type:  # a part, a NumPy scalar, another device, nothing
                grad = _lift(xp, node, edge, position, grad, buffer)
            elif grad.dtype is not edge.dtype or grad.shape != edge.shape or lifting is not None:
                grad = fit(xp, node, position, grad, edge.shape, edge.dtype)
            if buffer is not None:
                if type(grad) is not array_type:
                    if grad is not None:
                        buffer.add(namespaces.get(type(grad), xp), grad)
                elif (
                    grad is grads[position]
                    and xp.counts_references
                    and getrefcount(grad) == FRESH_GRADIENT
                    and grad.base is None
                    and xp.is_writable(grad)
                ):
                    buffer.add_owned(xp, grad)  # nobody else holds it: the sum needs no memory of its own
                else:
                    buffer.add(xp, grad)
                buffer.remaining -= 1
                if buffer.remaining:
                    continue
                grad = buffer.total(xp, edge.shape, edge.dtype) if buffer.parts else buffer.array
                del shared[edge]
            if following is not None:
                ready.append((following, carried))
            following, carried = edge, grad
        grads = grad = buffer = None  # or they would count as owners of what the leaf receives
    if anomaly and not retain_graph:
        for node in finished:
            node.saved = None


def _run_conjugated(xp: Backend, node: FunctionNode, g: Array, saved: Any, edges: Any) -> Sequence[Any]:
    """Run real rules for a complex result: conjugate what goes in and what comes out.

    A rule multiplies by the derivative; the gradient of a real loss points to its steepest ascent if it is
    multiplied by the conjugate of the derivative. (PyTorch's convention.)
    """

    def conjugate(grad: Any) -> Any:
        if grad is None:
            return None
        return Part(grad.index, xp.conj(grad.g), grad.functions) if type(grad) is Part else xp.conj(grad)

    return [conjugate(grad) for grad in node.op.run(xp, xp.conj(g), saved, edges)]


def apply_rules(xp: Any, node: FunctionNode, g: Any, saved: Any, edges: Sequence[Any]) -> list[Any]:
    """Run the rules of one node: the gradient of each edge, or of what has its shape and data type."""
    is_conjugated = node.dtype in xp.complex_dtypes and node.op.is_holomorphic
    grads = _run_conjugated(xp, node, g, saved, edges) if is_conjugated else node.op.run(xp, g, saved, edges)
    return _lifted_all(xp, node, edges, grads)


def _lifted_all(xp: Any, node: FunctionNode, edges: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
    return [
        None if edge is None else _lift(xp, node, edge, position, grads[position], None)
        for position, edge in enumerate(edges)
    ]


def _lift(xp: Backend, node: FunctionNode, edge: Any, position: int, grad: Any, buffer: Shared | None) -> Any:
    """Turn what a rule returned into an array for `edge`; None if the buffer has taken it already."""
    if grad is None:
        return None
    if type(grad) is OutputPart:
        parts = [None] * len(edge.op.outputs._fields) if buffer is None or buffer.array is None else buffer.array
        present = parts[grad.position]  # two threads may each have given a dropped result a node
        parts[grad.position] = grad.g if present is None else xp.lift(present + grad.g)
        if buffer is None:
            return parts
        buffer.array = parts
        return None
    if type(grad) is Owned:
        if buffer is None:
            return grad.g
        buffer.add_owned(xp, grad.g)
        return None
    if type(grad) is Part:
        if not grad.functions:
            grad.g = fit(xp, node, position, xp.lift(grad.g), grad.g.shape, edge.dtype)
        if type(grad.g.shape) is not tuple and type(edge.shape) is tuple:  # read from what is the same in all cases
            filled = fit(xp, node, position, grad.filled(xp, edge.shape, edge.dtype), edge.shape, edge.dtype)
            if buffer is not None:
                buffer.add(namespaces.get(type(filled), xp), filled)
            return filled if buffer is None else None
        if buffer is None:
            return grad.filled(xp, edge.shape, edge.dtype)
        buffer.add_part(xp, grad)
        return None
    if type(grad) not in namespaces:
        grad = xp.lift(grad)  # NumPy's functions of 0-d arrays return scalars
    return fit(namespaces.get(type(grad), xp), node, position, grad, edge.shape, edge.dtype)


def _retain(xp: Any, node: Node, g: Any, retained: list[tuple[Tensor, Tensor | None]]) -> None:
    """Store the cotangent in the tensors that asked for it with `retain_grad`."""
    assert node.extras is not None
    for reference in node.extras.get("retained", ()):
        tensor = reference()
        if tensor is not None and tensor._node is node:  # it may have been detached in place
            retained.append((tensor, tensor._grad))
            grad = xp.copy(g)
            tensor._grad = tensor._like(grad) if is_array(grad) else grad

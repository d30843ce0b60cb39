"""Looking inside: the backward trace, anomaly detection and drawings of the graph."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from arraygrad.accumulate import OutputPart, Owned, Part
from arraygrad.backends import NUMPY, Array, namespaces
from arraygrad.errors import GraphError, format_shape, user_location
from arraygrad.node import OUTPUT, AccumulateGrad, FunctionNode, made_by

if TYPE_CHECKING:
    from arraygrad.op import Op
    from arraygrad.tensor import Tensor

_trace: TextIO | None = None
_anomaly = False


def set_backward_trace(stream: TextIO | None) -> None:
    """Print one line for each node that backward runs to `stream`; None stops it.

    Setting the environment variable ARRAYGRAD_TRACE_BACKWARD=1 prints to standard error.

    >>> import sys
    >>> import arraygrad as ag
    >>> x = ag.tensor([1.0, 2.0], requires_grad=True)
    >>> ag.set_backward_trace(sys.stdout)
    >>> (x * 2).sum().backward()
    backward SumBackward shape=[] norm=1
    backward MultiplyBackward shape=[2] norm=1.41421
    backward AccumulateGrad shape=[2] norm=2.82843
    >>> ag.set_backward_trace(None)
    """
    global _trace
    _trace = stream


def trace_stream() -> TextIO | None:
    """Where the trace goes, None for nowhere."""
    if _trace is None and os.environ.get("ARRAYGRAD_TRACE_BACKWARD", "0") not in ("", "0"):
        return sys.stderr
    return _trace


def trace_node(stream: TextIO, node: FunctionNode | AccumulateGrad, g: Array) -> None:
    """Print one node with the shape and the norm of what it received."""
    if isinstance(node, FunctionNode) and node.op is OUTPUT:
        return
    if type(g) is list:  # the cotangents of several outputs
        for part in g:
            if part is not None:
                trace_node(stream, node, part)
        return
    g = getattr(g, "array", g)  # a tensor, where backward is recorded
    xp = namespaces[type(g)]
    size = xp.abs(g)  # of complex numbers too, and in a type that has room for the sum
    size = xp.astype(size, xp.float64, copy=False)
    norm = float(xp.sqrt(xp.sum(size * size)))
    print(f"backward {node.name} shape={format_shape(g.shape)} norm={norm:g}", file=stream)


def set_anomaly_detection(flag: bool) -> None:
    """Find the operation that makes a NaN: check every result, forward and backward, until switched off.

    Backward raises GraphError when a rule returns NaN, and forward when an operation makes a NaN or an
    infinity that none of its operands had; both name the operation and your line that called it. While it
    is on, everything is slower and backward releases what was saved only at its end.

    >>> import arraygrad as ag
    >>> ag.set_anomaly_detection(True)
    >>> ag.set_anomaly_detection(False)
    """
    from arraygrad import observe

    global _anomaly
    if bool(flag) != _anomaly:
        _anomaly = bool(flag)
        (observe.add if _anomaly else observe.remove)(observe.checks, check_forward)


@contextmanager
def detect_anomaly() -> Iterator[None]:
    """`set_anomaly_detection(True)` for a block.

    >>> import arraygrad as ag
    >>> with ag.detect_anomaly():
    ...     y = ag.exp(ag.tensor([1.0]))
    """
    before = _anomaly
    set_anomaly_detection(True)
    try:
        yield
    finally:
        set_anomaly_detection(before)


def is_anomaly_enabled() -> bool:
    """Tell whether anomaly detection is on."""
    return _anomaly


def _has(xp: Any, test: str, array: Array) -> bool:
    if not xp.isdtype(array.dtype, ("real floating", "complex floating")):
        return False
    with xp.scope(xp.device(array)):
        return bool(xp.any(getattr(xp, test)(array)))


def check_forward(op: Op, operands: Sequence[Any], result: Array) -> None:
    """Refuse a NaN or an infinity in `result` that no operand had."""
    xp = namespaces[type(result)]
    arrays = [
        array
        for operand in operands
        for array in (operand if isinstance(operand, list | tuple) else (operand,))
        if type(array) is type(result)
    ]
    if all(operand == operand and abs(operand) != float("inf") for operand in operands if isinstance(operand, float)):
        for kind, test in (("NaN", "isnan"), ("Inf", "isinf")):
            if _has(xp, test, result) and not any(
                _has(xp, "isnan", array) or _has(xp, "isinf", array) for array in arrays
            ):
                raise GraphError(f"Function {op.name} made the first {kind} in its result, called at {user_location()}")


def check_gradients(node: FunctionNode, grads: Sequence[Any]) -> None:
    """Refuse a NaN that a rule has returned."""
    for grad in grads:
        array = grad.g if type(grad) in (Part, OutputPart, Owned) else grad
        if array is None:
            continue
        array = getattr(array, "array", array)
        xp = namespaces.get(type(array), NUMPY)  # NumPy's functions of 0-d arrays return scalars
        array = array if hasattr(array, "dtype") else xp.lift(array)
        if _has(xp, "isnan", array):
            site = (node.extras or {}).get("site")
            raise GraphError(
                f"Function {node.name} returned NaN in its gradient; "
                + (f"its forward was called at {site}" if site else "switch detection on before forward to see where")
            )


def graph_dot(tensor: Tensor) -> str:
    """Return the recorded graph of `tensor` as text in Graphviz's DOT language.

    Each edge carries the shape of the gradient that travels along it.

    >>> import arraygrad as ag
    >>> x = ag.tensor([1.0, 2.0], requires_grad=True)
    >>> print(ag.graph_dot((x * 2).sum()))
    digraph {
      n0 [label="SumBackward"]
      n1 [label="MultiplyBackward"]
      n2 [label="AccumulateGrad [2]", shape=box]
      n0 -> n1 [label="[2]"]
      n1 -> n2 [label="[2]"]
    }
    """
    root = tensor.grad_fn or tensor._node  # a leaf's
    if root is None:
        raise GraphError("graph_dot needs a tensor that requires grad")
    names = {root: "n0"}
    edges = []
    pending = [root]
    while pending:
        node = pending.pop()
        for edge in node.edges:
            if edge is None:
                continue
            shape = edge.shape
            if isinstance(edge, FunctionNode):
                edge = made_by(edge)  # drawn in its place
            if edge not in names:
                names[edge] = f"n{len(names)}"
                pending.append(edge)
            edges.append(f'  {names[node]} -> {names[edge]} [label="{format_shape(shape)}"]')
    nodes = [
        f'  {name} [label="{node.name} {format_shape(node.shape)}", shape=box]'
        if type(node) is AccumulateGrad
        else f'  {name} [label="{node.name}"]'
        for node, name in names.items()
    ]
    return "\n".join(["digraph {", *nodes, *edges, "}"])

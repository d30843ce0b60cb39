"""What happens when a Function is called; see function.py.

A call makes one node, whose `op` is a `_Call`: it holds the class, the context without its tensors, and where each of
them comes from. The saved values themselves lie in the node's boxes as those of all operations do, so writes to them
are found, backward releases them, and the node holds no tensor. A recorded backward gets them with their history.

Nothing is differentiated to zero in silence: what has no known derivative (a tensor that only forward knows, a gradient
computed outside this library) gets a node that raises once its derivative is asked for.
"""

from __future__ import annotations

import copy
import weakref
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import arraygrad as ag
from arraygrad import record
from arraygrad.backends import is_array, namespaces
from arraygrad.batching import active, batches_among, one_case_of
from arraygrad.engine import apply_rules
from arraygrad.errors import DtypeError, GraphError, InplaceError, format_shape
from arraygrad.forward import Dual, level_of, primal_of, tangent_of, transposed, without_history
from arraygrad.function_cases import case_by_case, has_cases
from arraygrad.modes import enable_grad, grad_enabled, no_grad
from arraygrad.node import FunctionNode, OpOfItsOwn, output_node
from arraygrad.recording import RECORDING
from arraygrad.storage import box_of
from arraygrad.tensor import Tensor
from arraygrad.tree import leaves, rebuild, tree_map
from arraygrad.views import history


class Context:
    """What `forward` leaves for `backward`: `ctx` in a Function's methods.

    Tensors may also be kept as attributes, alone and in containers, with anything else. (Raw arrays are constants to a
    backward that is differentiated itself.)
    """

    def __init__(self, needs_input_grad: tuple[bool, ...]) -> None:
        #: For each argument of the call, whether a gradient is wanted.
        self.needs_input_grad = needs_input_grad
        #: What `save_for_backward` has been given.
        self.saved_tensors: tuple[Any, ...] = ()
        self._constants: tuple[Tensor, ...] = ()
        self._materializes = True

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep arguments and results of `forward` for `backward`, which finds them in `saved_tensors`."""
        self.saved_tensors = tensors

    def mark_non_differentiable(self, *outputs: Tensor) -> None:
        """Say that results of `forward` have no gradient; those of integers and booleans have none anyway."""
        self._constants = outputs

    def set_materialize_grads(self, value: bool) -> None:
        """Say whether `backward` gets zeros (the default) or None for results that nothing depends on."""
        self._materializes = value

    def _mapped(self, function: Callable[[Any], Any], kind: type) -> Context:
        """A copy with all items of one type among its attributes replaced."""
        result = copy.copy(self)
        for name, value in vars(self).items():
            if any(isinstance(leaf, kind) for leaf in leaves(value)):
                mapped = tree_map(lambda leaf: function(leaf) if isinstance(leaf, kind) else leaf, value)
                setattr(result, name, mapped)
        return result


class _Slot:
    """The place of a saved tensor in a context that is at rest."""

    def __init__(self, position: int) -> None:
        self.position = position


class _Call(OpOfItsOwn):
    """One call: the `op` of its node. It holds no tensor, and what its node's boxes are for."""

    def __init__(self, function: Any, ctx: Context, edges: tuple[Any, ...]) -> None:
        self.function, self.ctx, self.edges = function, ctx, edges
        self.name, self.node_name = function.__name__, f"{function.__name__}Backward"
        #: The batches in which it was called: backward may run inside others.
        self.batches = active.get()
        #: For each result its shape, data type and device, and whether it has a gradient.
        self.facts: list[tuple[Any, Any, str]] = []
        self.differentiable: list[bool] = []
        #: The device of each argument, None for what is no tensor.
        self.devices: list[str | None] = []
        #: What each saved tensor is: an argument, a result, or None for what only forward knows.
        self.sources: tuple[tuple[str, int | None] | None, ...] = ()
        self.outputs: Any = None
        self.unknown_message = (
            f"{self.name}.backward uses a tensor that was computed in forward, whose derivative is unknown: save "
            "arguments and results of forward alone, and compute from them anew in backward; or say once_differentiable"
        )

    def run(self, xp: Any, g: Any, saved: Any, edges: Any) -> Sequence[Any]:
        """Run backward: on raw arrays, or on tensors whose history is wanted."""
        with batches_among(self.batches):
            return self._run(xp, g, saved, edges)

    def _run(self, xp: Any, g: Any, saved: Any, edges: Any) -> Sequence[Any]:
        values = [box[0] for box in saved]
        if xp.is_batched:
            return self.run_cases(xp, g, values, edges)
        grads = g if self.outputs is not None else [g]
        if xp is RECORDING:
            return self.backward([None if x is None else _followed(x) for x in grads], values)
        with no_grad():
            tensors = [x if x is None else Tensor(x) for x in grads]
            found = self.backward(tensors, [Tensor(x) for x in values], is_recorded=False)
        return [x.array if isinstance(x, Tensor) else x for x in found]

    def run_cases(self, xp: Any, g: Any, values: Sequence[Any], edges: Any) -> Sequence[Any]:
        """Run backward for each case of a batch."""
        places: list[int] = []

        def one(g: Any, *values: Any) -> tuple[Any, ...]:
            grads = self.run(xp.raw, g, [(value,) for value in values], edges)
            places[:] = [i for i, grad in enumerate(grads) if grad is not None]
            return tuple([grads[i] for i in places])

        with one_case_of(xp.level):
            batches = xp.each(one)(g, *values)
        found = dict(zip(places, batches, strict=True))
        return [found.get(i) for i in range(len(edges))]

    def backward(self, grads: Sequence[Any], saved: Sequence[Any], *, is_recorded: bool = True) -> Sequence[Any]:
        """The gradient of each argument."""
        if self.function.backward is None:
            raise GraphError(f"{self.name} has no backward: write it, or do not ask for gradients through {self.name}")
        if self.ctx._materializes:
            grads = [
                ag.zeros(shape, dtype=dtype if dtype.kind in "fc" else None, device=device) if x is None else x
                for x, (shape, dtype, device) in zip(grads, self.facts, strict=True)
            ]
        found = self.function.backward(self.at_work(saved, is_recorded), *grads)
        found = list(found) if isinstance(found, list | tuple) else [found]
        if len(found) != len(self.edges):
            raise GraphError(
                f"function {self.node_name} returned an incorrect number of gradients "
                f"(expected {len(self.edges)}, got {len(found)}): one for each argument, None for what is no tensor"
            )
        for position, (x, device) in enumerate(zip(found, self.devices, strict=True)):
            if (isinstance(x, Tensor) or is_array(x)) and device is not None and ag.asarray(x).device != device:
                raise GraphError(
                    f"function {self.node_name} returned an invalid gradient at index {position} - expected device "
                    f"{device} but got {ag.asarray(x).device}: move it there with to(device)"
                )
        if not is_recorded:
            return found
        known = [node for x in grads if x is not None and (node := _node_of(x)) is not None]
        message = (
            f"{self.name}.backward returned a gradient that was not computed from its cotangent with arraygrad's "
            "functions, so its own derivative is unknown (return None where there is no gradient; say "
            "once_differentiable where there is no second one)"
        )
        edges = (*known, *[edge for edge in self.edges if edge is not None])
        return [x if x is None or _node_of(x) is not None else refusing(x, edges, message) for x in found]

    def at_work(self, saved: Sequence[Any], is_recorded: bool) -> Context:
        """The context with its tensors."""
        if is_recorded:
            saved = [self.unknown(x) if s is None else x for s, x in zip(self.sources, saved, strict=True)]
        return self.ctx._mapped(lambda slot: saved[slot.position], _Slot)

    def unknown(self, value: Any) -> Tensor:
        """A tensor that only forward knows how to differentiate: it raises when that is needed."""
        tensor = ag.asarray(value)
        edges = tuple([edge for edge in self.edges if edge is not None])
        return refusing(tensor, edges, self.unknown_message) if tensor.dtype.kind in "fc" else tensor

    def record(self, results: Sequence[Tensor], saved: Sequence[Tensor]) -> None:
        """Give the results of the call their history."""
        node = FunctionNode()
        node.op, node.edges, node.extras = self, self.edges, None  # type: ignore[assignment]
        node.shape, node.dtype = results[0].shape, results[0].array.dtype
        node.saved = tuple([box_of(tensor) for tensor in saved])
        if record.observer is not None:
            node.extras = record.observer.extras(node, saved, None)
        if self.outputs is None:
            results[0]._node = node if self.differentiable[0] else None
            return
        for position, (result, has_gradient) in enumerate(zip(results, self.differentiable, strict=True)):
            result._node = output_node(node, position, result.array) if has_gradient else None
        node.extras = (node.extras or {}) | {
            "outputs": [result._node and weakref.ref(result._node) for result in results]
        }


class _Run(NamedTuple):
    """What came of a call: the results as forward returned them, and the saved tensors."""

    out: Any
    call: Any
    saved: list[Tensor]


def apply(function: Any, args: Sequence[Any], wanted: Sequence[bool] = ()) -> _Run:
    """Call forward, and record backward; `wanted` says which arguments have tangents."""
    args = [Tensor(x) if is_array(x) else x for x in args]
    for position, arg in enumerate(args):
        if not isinstance(arg, Tensor) and any(isinstance(x, Tensor) and x.requires_grad for x in leaves(arg)):
            raise GraphError(
                f"{function.__name__}: argument {position} is a container of tensors that require grad, which would be "
                "lost; give each tensor to apply by itself"
            )
    if has_cases(args):
        return _Run(case_by_case(lambda *case: apply(function, case, wanted).out, args), None, [])
    if level := level_of(list(args)):
        return _forward_mode(function, args, level, wanted)
    needed = [isinstance(x, Tensor) and x.requires_grad for x in args]
    ctx = Context(tuple([a or b for a, b in zip(needed, wanted or [False] * len(args), strict=True)]))
    inputs = [x._alias() if isinstance(x, Tensor) else x for x in args]
    versions = [getattr(x, "version", 0) for x in inputs]
    with no_grad(), batches_among(()):  # these inputs are one case
        out = function.forward(ctx, *inputs)
    for position, (x, version) in enumerate(zip(inputs, versions, strict=True)):
        if getattr(x, "version", 0) != version:
            raise InplaceError(f"{function.__name__}.forward has written to argument {position}; write to a copy of it")
    given = leaves(out)
    results = [_result(function.__name__, x, inputs) for x in given]
    call = _Call(function, ctx, tuple([history(x) if isinstance(x, Tensor) else None for x in args]))
    call.outputs = None if len(results) == 1 else SimpleNamespace(_fields=range(len(results)))
    call.facts = [(x.shape, x.dtype, x.device) for x in results]
    call.devices = [x.device if isinstance(x, Tensor) else None for x in args]
    is_constant = [any(x is y for y in ctx._constants) for x in given]
    call.differentiable = [x.dtype.kind in "fc" and not c for x, c in zip(results, is_constant, strict=True)]
    ctx._constants = ()
    kept: list[Tensor] = []

    def put_aside(tensor: Tensor) -> _Slot:
        kept.append(tensor)
        return _Slot(len(kept) - 1)

    call.ctx = ctx._mapped(put_aside, Tensor)
    call.sources = tuple([_source(tensor, inputs, given) for tensor in kept])
    saved = [_tensor_of(s, args, results, x) for s, x in zip(call.sources, kept, strict=True)]
    if grad_enabled() and any(call.edges):
        call.record(results, saved)
    return _Run(rebuild(out, results), call, saved)


def _forward_mode(function: Any, args: Sequence[Any], level: int, wanted: Sequence[bool]) -> _Run:
    """Call on the primals, and give the results of one level their tangents."""
    primals, tangents = [primal_of(x, level) for x in args], [tangent_of(x, level) for x in args]
    has_tangent = [t is not None for t in tangents]
    out, call, saved = apply(
        function, primals, [a or b for a, b in zip(has_tangent, wanted or has_tangent, strict=True)]
    )
    if None in call.sources and level_of(primals):
        raise GraphError(call.unknown_message)
    results = leaves(out)
    saved = [_tensor_of(s, primals, results, x) for s, x in zip(call.sources, saved, strict=True)]
    find = _by_backward if function.jvp is None else _by_jvp
    duals = [
        y if t is None or not has_gradient else Dual(y, t, level)
        for y, t, has_gradient in zip(
            results, find(call, results, primals, tangents, saved), call.differentiable, strict=True
        )
    ]
    return _Run(rebuild(out, duals), call, saved)


def _by_jvp(call: _Call, results: Any, primals: Any, tangents: Any, saved: Any) -> list[Any]:
    ctx = call.at_work(saved, True)
    if has_cases(tangents):
        found = case_by_case(lambda *case: call.function.jvp(ctx, *case), tangents)
    else:
        found = call.function.jvp(ctx, *tangents)
    slopes = list(found) if isinstance(found, list | tuple) else [found]
    for y, slope in zip(results, slopes, strict=False):
        if slope is not None and slope.shape != y.shape:
            raise GraphError(
                f"{call.name}.jvp returned a tangent of shape {format_shape(slope.shape)} for a result of shape "
                f"{format_shape(y.shape)}"
            )
    if len(slopes) != len(results):
        raise GraphError(f"{call.name}.jvp returned {len(slopes)} tangents for {len(results)} results")
    return [t if t is None else ag.astype(t, y.dtype) for y, t in zip(results, slopes, strict=True)]


def _by_backward(call: _Call, results: Any, primals: Any, tangents: Any, saved: Any) -> list[Any]:
    """The transpose of backward, which is linear in its cotangents."""
    if getattr(call.function.backward, "_is_once_differentiable", False):
        raise GraphError(
            f"forward mode through {call.name} needs a method jvp(ctx, *tangents): its backward is marked with "
            "once_differentiable, so it cannot be transposed"
        )
    with enable_grad():
        zeros = [
            ag.zeros_like(y.detach()).requires_grad_() if has_gradient else None
            for y, has_gradient in zip(results, call.differentiable, strict=True)
        ]
        node = FunctionNode()
        node.op, node.shape, node.dtype = call, results[0].shape, results[0].dtype  # type: ignore[assignment]
        inputs = [x if t is not None else None for x, t in zip(primals, tangents, strict=True)]
        boxes = [(x,) for x in saved]
        grads = apply_rules(RECORDING, node, zeros[0] if call.outputs is None else zeros, boxes, inputs)
        pairs = [(g, t) for g, t in zip(grads, tangents, strict=True) if g is not None and t is not None]
        slopes = transposed([g for g, _ in pairs], [z for z in zeros if z is not None], [t for _, t in pairs])
    stream = iter(slopes if grad_enabled() else map(without_history, slopes))
    return [None if zero is None else next(stream) for zero in zeros]


class _Refusal(OpOfItsOwn):
    """The `op` of a node whose derivative is unknown."""

    node_name = "UnknownBackward"

    def __init__(self, message: str) -> None:
        self.message = message

    def run(self, xp: Any, g: Any, saved: Any, edges: Any) -> Any:
        """Say what is not known."""
        raise GraphError(self.message)


class _Origin(OpOfItsOwn):
    """The `op` of a node before which there is nothing: it tells what is computed from a cotangent without history."""

    node_name = "CotangentBackward"

    @staticmethod
    def run(xp: Any, g: Any, saved: Any, edges: Any) -> tuple[()]:
        """Nothing goes on from here."""
        return ()


def _with_node(array: Any, op: Any, edges: tuple[Any, ...]) -> Tensor:
    tensor, node = Tensor(array), FunctionNode()
    node.op, node.edges, node.saved, node.extras = op, edges, (), None
    node.shape, node.dtype = array.shape, array.dtype
    tensor._node = node
    return tensor


def refusing(x: Any, edges: tuple[Any, ...], message: str) -> Any:
    """The value, with a history that raises once it is followed."""
    if x is None:
        return None
    array = x.array if isinstance(x, Tensor) else ag.asarray(x).array
    return _with_node(array, _Refusal(message), edges) if edges else Tensor(array)


def _followed(x: Tensor) -> Tensor:
    """A cotangent with a history, of its own if it has none."""
    return x if _node_of(x) is not None else _with_node(x.array, _Origin, ())


def _node_of(x: Any) -> Any:
    if isinstance(x, Dual):
        return _node_of(x.primal) or _node_of(x.tangent)
    return history(x) if isinstance(x, Tensor) else None


def plain(x: Any) -> Any:
    """A tensor without history and tangents; anything else as it is."""
    return Tensor(x.array) if isinstance(x, Tensor) else x


def _result(name: str, x: Any, inputs: Sequence[Any]) -> Tensor:
    """A result of forward, without history and in memory of its own."""
    if is_array(x):
        x = Tensor(x)
    if type(x) is not Tensor:
        got = "a tensor with a tangent that is no argument's" if isinstance(x, Tensor) else type(x).__name__
        raise DtypeError(f"{name}.forward must return tensors, got {got}")
    xp = namespaces[type(x.array)]
    shared = any(
        isinstance(y, Tensor) and type(y.array) is type(x.array) and xp.is_view_of(x.array, y.array) for y in inputs
    )
    return Tensor(xp.copy(x.array)) if shared else x._alias()


def _source(tensor: Tensor, inputs: Sequence[Any], given: Sequence[Any]) -> tuple[str, int | None] | None:
    for position, x in enumerate(inputs):
        if x is tensor:
            return "input", position
    for position, x in enumerate(given):
        if x is tensor:
            return "output", position if len(given) > 1 else None
    return None


def _tensor_of(source: tuple[str, int | None] | None, args: Sequence[Any], results: Sequence[Any], x: Tensor) -> Tensor:
    """A saved tensor as the caller sees it."""
    if source is None:
        return x
    kind, position = source
    return (args if kind == "input" else results)[position or 0]

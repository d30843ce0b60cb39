"""Forward mode: a tangent travels beside its primal, in a private subclass of Tensor.

Every operation that meets a Dual strips the highest level of them, runs as it does otherwise on the primals, and makes
the tangent of its result from its declaration's kind (see op.py):

    elementwise   the rules, with the tangents in place of the cotangent
    linear        the forward
    multilinear   the sum of the forwards with one input replaced by its tangent
    general       the transpose of the rules, which are linear in the cotangent
    constant      none

Tangents are computed by arraygrad's own functions on tensors, which may be Duals of lower levels or have history, so
modes nest in any order. A level belongs to one call of `jvp`: an inner call has a higher one. Nothing of this is on
the way of plain tensors: `type(x) is Tensor` fails for a Dual.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import arraygrad as ag
from arraygrad import inplace, record
from arraygrad.backends import is_array, is_complex, is_number
from arraygrad.engine import apply_rules
from arraygrad.errors import InplaceError
from arraygrad.modes import enable_grad, grad_enabled
from arraygrad.node import FunctionNode
from arraygrad.op import Op
from arraygrad.recording import RECORDING
from arraygrad.tensor import Tensor
from arraygrad.tree import leaves, rebuild

new_level = itertools.count(1).__next__


class Dual(Tensor):
    """A tensor and its derivative along one direction. (Without slots, so that a plain tensor may become one.)"""

    __slots__ = ()

    def __init__(self, primal: Tensor, tangent: Tensor, level: int) -> None:
        super().__init__(primal.array)
        self._box = [primal, tangent, level]

    primal = property(lambda self: self._box[0])
    tangent = property(lambda self: self._box[1])
    level = property(lambda self: self._box[2])
    #: So that what would lose the tangent, such as a conversion to NumPy, is refused.
    requires_grad = property(lambda self: True)


def level_of(value: Any) -> int:
    """The highest level in an argument, 0 where there is no Dual."""
    if isinstance(value, Dual):
        return value.level
    if isinstance(value, list | tuple):
        return max(map(level_of, value), default=0)
    return 0


def primal_of(value: Any, level: int) -> Any:
    """An argument without the tangents of one level."""
    if isinstance(value, list | tuple):
        return rebuild(value, [primal_of(item, level) for item in leaves(value)])
    return value.primal if isinstance(value, Dual) and value.level == level else value


def tangent_of(value: Any, level: int) -> Tensor | None:
    """The tangent of one level, None where there is none."""
    return value.tangent if isinstance(value, Dual) and value.level == level else None


def without_history(x: Any) -> Any:
    """A tensor with its tangents, which `detach` would drop, but without history; anything else as it is."""
    if isinstance(x, Dual):
        return Dual(without_history(x.primal), without_history(x.tangent), x.level)
    return x.detach() if isinstance(x, Tensor) else x


def call(op: Op, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call an operation some of whose arguments are Duals."""
    bound = op.signature.bind(*args, **kwargs)
    bound.apply_defaults()
    values = bound.arguments
    level = max(map(level_of, values.values()))
    tangents = {name: _tangents(values[name], level) for name in op.rules}
    primals = {name: primal_of(value, level) for name, value in values.items()}
    bound.arguments.update(primals)
    out = function(*bound.args, **bound.kwargs)
    tangents = {name: tangent for name, tangent in tangents.items() if tangent is not None}
    if not tangents or op.kind == "constant":
        return out
    if op.outputs is None and out.dtype.kind not in "fc":
        return out
    return _JVP[_kind(op, primals, tangents, out)](op, function, bound, primals, tangents, out, level)


def _tangents(value: Any, level: int) -> Any:
    """The tangent of an input; of a sequence, a list of them; None where there is none."""
    if isinstance(value, list | tuple):
        found = [tangent_of(item, level) for item in value]
        return found if any(item is not None for item in found) else None
    return tangent_of(value, level)


def _kind(op: Op, primals: dict[str, Any], tangents: dict[str, Any], out: Any) -> str:
    """The kind by which the tangent is found: rules of complex inputs are derivatives if they are holomorphic."""
    if op.kind == "elementwise" and any(is_complex(primals[name]) for name in tangents):
        return "elementwise" if op.is_holomorphic and is_complex(out) else "general"
    return op.kind


def _by_rules(op: Op, function: Any, bound: Any, primals: Any, tangents: Any, out: Tensor, level: int) -> Tensor:
    total: Any = None
    for name, tangent in tangents.items():
        rule = op.rules[name]
        if tangent.dtype != out.dtype:
            tangent = ag.astype(tangent, out.dtype)
        saved = [_saved(op, wanted, primals, out) for wanted in rule.names]
        part = rule.function(tangent, RECORDING, *saved) if rule.wants_xp else rule.function(tangent, *saved)
        total = part if total is None else total + part
    if total.shape != out.shape or any(total is tangent for tangent in tangents.values()):
        total = ag.copy(ag.broadcast_to(total, out.shape))  # the result, and its tangent, may be written to
    return Dual(out, total if total.dtype == out.dtype else ag.astype(total, out.dtype), level)


def _by_forward(op: Op, function: Any, bound: Any, primals: Any, tangents: Any, out: Tensor, level: int) -> Tensor:
    total: Any = None
    for name, tangent in tangents.items():
        if isinstance(tangent, list):  # one sequence, in all of whose items the operation is linear
            pairs = zip(primals[name], tangent, strict=True)
            tangent = [ag.zeros_like(item) if part is None else part for item, part in pairs]
        bound.arguments.update(primals | {name: tangent})
        part = function(*bound.args, **bound.kwargs)
        total = part if total is None else total + part
    return Dual(out, total if total.dtype == out.dtype else ag.astype(total, out.dtype), level)


def _by_transpose(op: Op, function: Any, bound: Any, primals: Any, tangents: Any, out: Any, level: int) -> Any:
    outputs = [out] if op.outputs is None else list(out)
    with enable_grad():
        zeros = [
            ag.zeros_like(output.detach()).requires_grad_() if output.dtype.kind in "fc" else None for output in outputs
        ]
        saved = [
            None if name not in tangents else (_saved(op, wanted, primals, out),)
            for name, rule in op.rules.items()
            for wanted in rule.names
        ]
        wanted = [primals[name] if name in tangents else None for name in op.rules]
        inputs: list[Any] = list(primals[op.inputs[0]]) if op.takes_sequence else wanted
        node = FunctionNode()
        node.op, node.shape, node.dtype = op, outputs[0].shape, outputs[0].dtype
        grads = apply_rules(RECORDING, node, zeros[0] if op.outputs is None else zeros, saved, inputs)
        parts = tangents[op.inputs[0]] if op.takes_sequence else [tangents.get(name) for name in op.rules]
        pairs = [(g, t) for g, t in zip(grads, parts, strict=True) if g is not None and t is not None]
        results = transposed([g for g, _ in pairs], [zero for zero in zeros if zero is not None], [t for _, t in pairs])
    stream = iter(results if grad_enabled() else map(without_history, results))
    duals = [
        output if zero is None else _dual(output, next(stream), level)
        for output, zero in zip(outputs, zeros, strict=True)
    ]
    return duals[0] if op.outputs is None else op.outputs(*duals)


def _dual(output: Tensor, tangent: Tensor | None, level: int) -> Tensor:
    return output if tangent is None else Dual(output, tangent, level)


def transposed(outputs: Sequence[Tensor], inputs: Sequence[Tensor], cotangents: Sequence[Tensor]) -> list[Any]:
    """The gradients of `outputs` with respect to `inputs`, through Duals, too; None where there is none.

    Of a function f of x = p + e t, the gradient has the part of f(p) and, along e, that of the tangent of f.
    """
    level = max(map(level_of, (outputs, cotangents)))
    if not level:
        live = [(y, g) for y, g in zip(outputs, cotangents, strict=True) if y.requires_grad]
        if not live:
            return [None] * len(inputs)
        ys, gs = zip(*live, strict=True)
        grads = ag.gradients(ys, list(inputs), gs, create_graph=True, allow_unused=True)
        return list(grads)
    plain_outputs, plain_cotangents = primal_of(list(outputs), level), primal_of(list(cotangents), level)
    primal = transposed(plain_outputs, inputs, plain_cotangents)
    moved: list[tuple[Tensor, Tensor]] = []
    for y, g, y0, g0 in zip(outputs, cotangents, plain_outputs, plain_cotangents, strict=True):
        if (tangent := tangent_of(y, level)) is not None:
            moved.append((tangent, g0))
        if (tangent := tangent_of(g, level)) is not None:
            moved.append((y0, tangent))
    tangents = transposed([y for y, _ in moved], inputs, [g for _, g in moved])
    return [
        p if t is None else Dual(ag.zeros_like(x) if p is None else p, t, level)
        for x, p, t in zip(inputs, primal, tangents, strict=True)
    ]


def write(
    repeat: Callable[..., Any], target: Tensor, source: Any, name: str, write: Any, index: Any, op: Any, replaces: bool
) -> Tensor:
    """Write in place where the target or the source has a tangent: both parts of the target are written."""
    level = max(level_of(target), level_of(source))
    if not isinstance(target, Dual) or target.level != level:
        if target._storage is not None:
            raise InplaceError(
                f"{name}: in forward mode a value with a tangent cannot be written into a tensor without one that has "
                "views or has been saved; make the tensor anew, or write to a copy of it"
            )
        primal = Tensor.__new__(type(target))
        for slot in ("array", "_node", "_grad", "_box", "_storage", "_view"):
            setattr(primal, slot, getattr(target, slot))
        target.__class__ = Dual
        target._node, target._box = None, [primal, ag.zeros_like(primal.detach()), level]
    assert isinstance(target, Dual)
    repeat(target.primal, primal_of(source, level), name, write, index, op)
    tangent = tangent_of(source, level)
    if tangent is not None or replaces:
        repeat(target.tangent, 0.0 if tangent is None else tangent, name, write, index, op)
    return target


_JVP: dict[str, Callable[..., Any]] = {
    "elementwise": _by_rules,
    "linear": _by_forward,
    "multilinear": _by_forward,
    "general": _by_transpose,
}


def _saved(op: Op, name: str, primals: dict[str, Any], out: Any) -> Any:
    """What a rule asks for by name: as in saving.py, but tensors stay tensors."""
    if name in primals:
        value = primals[name]
        return ag.asarray(value) if is_array(value) else value
    if name == "out" and op.outputs is None:
        return out
    if op.outputs is not None and name in op.outputs._fields:
        return getattr(out, name)
    source, _, fact = name.rpartition("_")
    value = primals[source]
    if isinstance(value, list | tuple):
        return tuple(_fact(item, fact) for item in value)
    return _fact(value, fact)


def _fact(value: Any, fact: str) -> Any:
    if is_number(value) or value is None:
        return () if fact == "shape" else None
    return getattr(value if isinstance(value, Tensor) else ag.asarray(value), fact)


record.dual_call = call
inplace.dual_write = write

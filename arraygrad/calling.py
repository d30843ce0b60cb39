"""The callers of operations that take more than one or two arrays: lists, axes, data types, several results."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from arraygrad import record
from arraygrad.backends import NUMPY, Array, Backend, common_backend, namespaces, several_devices
from arraygrad.errors import DtypeError, ShapeError
from arraygrad.explain import explain, explain_memory
from arraygrad.kernels import in_scope
from arraygrad.modes import grad_enabled
from arraygrad.node import FunctionNode, output_node
from arraygrad.operands import (
    ForeignOperandError,
    as_tensor,
    has_dual,
    is_floating,
    is_view_of,
    lift,
    operand_of,
    same,
)
from arraygrad.saving import saver
from arraygrad.tensor import Tensor
from arraygrad.views import history, link

if TYPE_CHECKING:
    from arraygrad.op import Op

_NumpyScalar = NUMPY.generic
_CHANGING = (list, _NumpyScalar)  # what `_as_it_is_now` changes
_new_tensor = Tensor.__new__


def caller(op: Op) -> Callable[..., Tensor]:
    """Make the caller of an operation: the quickest that its parameters allow."""
    parameters = list(op.signature.parameters.values())
    positional = [p.name for p in parameters if p.kind is p.POSITIONAL_ONLY]
    if op.outputs is not None or op.takes_sequence or tuple(positional[: len(op.inputs)]) != op.inputs:
        return generic(op)
    is_plain = len(parameters) == len(op.inputs) and len(op.rules) in (0, len(parameters)) and not op.is_view
    if is_plain and len(parameters) <= 2 and all(p.default is p.empty for p in parameters):
        return record.unary(op) if len(parameters) == 1 else record.binary(op)
    return on_one_array(op) if len(op.inputs) == 1 and "dtype" not in positional else generic(op)


_MISSING = object()


def generic(op: Op) -> Callable[..., Tensor]:
    """The caller of any operation. Arguments and what becomes of them are lists in the order of parameters."""
    forward, save, is_view, takes_sequence = op.forward, saver(op), op.is_view, op.takes_sequence
    parameters = list(op.signature.parameters.values())
    at = {p.name: i for i, p in enumerate(parameters)}
    defaults = [_MISSING if p.default is p.empty else p.default for p in parameters]
    required = [i for i, default in enumerate(defaults) if default is _MISSING]
    positional_only = sum(p.kind is p.POSITIONAL_ONLY for p in parameters)
    positional = sum(p.kind is not p.KEYWORD_ONLY for p in parameters)
    keywords = [p.name for p in parameters[positional:]]
    inputs_at, rules_at = [at[name] for name in op.inputs], [at[name] for name in op.rules]
    statics_at = [i for name, i in at.items() if name not in op.inputs]
    dtype_at, is_constant = at.get("dtype"), op.kind == "constant"

    def bind(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        values = [*args, *defaults[len(args) :]]
        for name, value in kwargs.items():
            i = at.get(name, -1)
            if i < len(args) or i < positional_only:
                break
            values[i] = value
        else:
            if len(args) <= positional and not [i for i in required if values[i] is _MISSING]:
                return values
        try:
            op.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise DtypeError(f"{op.name}: {error}; its signature is {op.signature}") from None
        raise AssertionError(f"{op.name}: {args} and {kwargs} fit {op.signature}, but were refused")

    def call(*args: Any, **kwargs: Any) -> Tensor:
        try:
            return plain_call(*args, **kwargs)
        except ForeignOperandError:
            if has_dual(args) or has_dual(kwargs.values()):
                return record.dual_call(op, call, args, kwargs)
            raise

    def plain_call(*args: Any, **kwargs: Any) -> Tensor:
        values = bind(args, kwargs)
        for i in statics_at:
            values[i] = _as_it_is_now(values[i])
        raw = values.copy()
        operands: list[Any] = []
        if takes_sequence:
            if not isinstance(values[0], list | tuple | Tensor):
                raise DtypeError(f"{op.name} takes a sequence of arrays, got {type(values[0]).__name__}")
            values[0] = list(values[0])
            raw[0] = operands = [operand_of(op, value) for value in values[0]]
        else:
            for i in inputs_at:
                value = values[i]
                if type(value) is Tensor:
                    raw[i] = value.array
                elif value is None:
                    continue
                else:
                    raw[i] = values[i] = operand_of(op, value)
                operands.append(raw[i])
        arrays = [value for value in operands if type(value) in namespaces]
        if not arrays:
            if not operands:
                raise ShapeError(f"{op.name} needs at least one array")
            values[0] = [as_tensor(op, v) for v in values[0]] if takes_sequence else as_tensor(op, values[0])
            return plain_call(*values[:positional], **dict(zip(keywords, values[positional:], strict=True)))
        xp = namespaces[type(arrays[0])] if len(arrays) == 1 else common_backend(op.name, arrays)
        if xp.is_batched and len(arrays) > 1:
            for i in inputs_at:
                raw[i] = [same(xp, a) for a in raw[i]] if type(raw[i]) is list else same(xp, raw[i])
        if dtype_at is not None and raw[dtype_at] is not None:
            raw[dtype_at] = xp.dtype(raw[dtype_at])
        keyword_values = dict(zip(keywords, raw[positional:])) if keywords else {}  # noqa: B905  costs 0.1 us
        try:
            if several_devices:
                result = in_scope(xp, arrays[0], forward, xp, *raw[:positional], **keyword_values)
            else:
                result = forward(xp, *raw[:positional], **keyword_values)
        except MemoryError as error:
            explain_memory(op.name, error, operands)
            raise
        except (ValueError, TypeError, IndexError, OverflowError) as error:
            raise explain(op.name, error, operands) from error
        if op.outputs is not None:
            return _wrap_several(op, save, xp, result, operands, [values[i] for i in rules_at], values)
        if type(result) not in namespaces:
            result = lift(op, xp, result)
        if record.observer is not None:
            record.observer.check(op, operands, result)
        out = Tensor(result)
        if is_view:
            source = values[0]
            if (
                type(source) is Tensor
                and is_view_of(result, source.array)
                and link(out, source, (op, tuple(raw[1:positional]), keyword_values))
            ):
                return out
        if is_constant or not grad_enabled():
            return out
        candidates = values[0] if takes_sequence else [values[i] for i in rules_at]
        edges = tuple([history(value) if type(value) is Tensor else None for value in candidates])
        if edges.count(None) == len(edges) or (dtype_at is not None and not is_floating(result)):
            return out
        out._node = _made(op, save, edges, result, values, out)
        return out

    return call


def on_one_array(op: Op) -> Callable[..., Tensor]:
    """The caller of an operation on one array and on what is none: sizes, axes.

    What it buys: 3 us of `generic`'s 5. Whatever is unusual, and all that fails, goes through `generic`.
    """
    forward, save, is_view, is_constant = op.forward, saver(op), op.is_view, op.kind == "constant"
    at = {name: i for i, name in enumerate(op.signature.parameters)}
    defaults = [p.default for p in op.signature.parameters.values()]
    saves_statics = any(at.get(name, 0) > 0 for rule in op.rules.values() for name in rule.names)
    long_way = generic(op)

    def call(x: Any = _MISSING, /, *args: Any, **kwargs: Any) -> Tensor:
        if type(x) is not Tensor or kwargs.get("dtype") is not None or record.observer is not None or several_devices:
            return long_way(**kwargs) if x is _MISSING else long_way(x, *args, **kwargs)
        for value in (*args, *kwargs.values()):
            if isinstance(value, _CHANGING) or (type(value) is tuple and list in map(type, value)):
                return long_way(x, *args, **kwargs)
        array = x.array
        try:
            result = forward(namespaces[type(array)], array, *args, **kwargs)
        except Exception:
            return long_way(x, *args, **kwargs)
        if type(result) not in namespaces:
            result = lift(op, namespaces[type(array)], result)
        out = _new_tensor(Tensor)
        out.array = result
        out._node = out._grad = out._box = out._storage = out._view = None
        if is_view and is_view_of(result, array) and link(out, x, (op, args, kwargs)):
            return out
        if is_constant or not grad_enabled():
            return out
        edge = x._node if x._view is None else history(x)
        if edge is None:
            return out
        values = [x]
        if saves_statics:
            values += [*args, *defaults[len(args) + 1 :]]
            for name, value in kwargs.items():
                values[at[name]] = value
        out._node = _made(op, save, (edge,), result, values, out)
        return out

    return call


def _made(op: Op, save: Any, edges: tuple[Any, ...], result: Array, values: Any, out: Any) -> FunctionNode:
    """The node of a call: `result` is its first result, `out` what it returns."""
    node = FunctionNode()
    node.op = op
    node.edges = edges
    node.shape = result.shape
    node.dtype = result.dtype
    node.saved = save(edges, values, out)
    node.extras = None if record.observer is None else record.observer.extras(node, values, out)
    return node


def _as_it_is_now(value: Any) -> Any:
    """An argument that is no array: backward, and views whose history is made anew, see it as it was in the call."""
    if isinstance(value, _NumpyScalar):  # an axis, or a number that must not change data types
        return value.item()
    if isinstance(value, list):
        return [_as_it_is_now(item) for item in value]
    return tuple([_as_it_is_now(item) for item in value]) if type(value) is tuple else value


def _wrap_several(op: Op, save: Any, xp: Backend, results: Any, operands: Any, candidates: Any, values: Any) -> Any:
    """The tensors of several results, each with a node of its own before the one of the operation."""
    arrays = [result if type(result) in namespaces else lift(op, xp, result) for result in results]
    if record.observer is not None:
        for array in arrays:
            record.observer.check(op, operands, array)
    out = op.outputs(*map(Tensor, arrays))
    edges = tuple([history(value) if type(value) is Tensor else None for value in candidates])
    if edges.count(None) < len(edges) and grad_enabled():
        node = _made(op, save, edges, arrays[0], values, out)
        for position, tensor in enumerate(out):
            if is_floating(tensor.array):
                tensor._node = output_node(node, position, tensor.array)
        references = [tensor._node and weakref.ref(tensor._node) for tensor in out]
        node.extras = (node.extras or {}) | {"outputs": references}
    return out

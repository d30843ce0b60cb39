"""What happens when an operation is called: unwrap, compute, wrap and, if it matters, record.

The only place that makes nodes. One caller is made for each operation at import: `unary` and `binary`, which
are most of them, have no loops and no dictionaries on their way (forward and record on 4 elements: 1.1 us
above NumPy's own 0.4; through `generic` 5).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from arraygrad.backends import (
    NUMBERS,
    NUMPY,
    Array,
    Backend,
    common_backend,
    get_default_device,
    is_array,
    move,
    namespaces,
    several_devices,
)
from arraygrad.errors import ArraygradError, DtypeError, IndexingError, ShapeError, format_shape
from arraygrad.kernels import Kernels
from arraygrad.modes import grad_enabled
from arraygrad.node import FunctionNode, output_node
from arraygrad.saving import saver
from arraygrad.storage import box_of
from arraygrad.tensor import Tensor
from arraygrad.views import history, link

if TYPE_CHECKING:
    from arraygrad.op import Op

#: Sees every operation while somebody wants to (see observe.py): anomaly detection, hooks on what is saved.
observer: Any = None

#: Set by forward.py: calls an operation on tensors with tangents, which are of a subclass of Tensor.
dual_call: Any = None

_NumpyScalar = NUMPY.generic
_new_tensor = Tensor.__new__


def unary(op: Op) -> Callable[..., Tensor]:
    """The caller of an operation on one array and nothing else."""
    kernels, save = Kernels(op), saver(op)
    is_constant = op.kind == "constant"
    names = () if is_constant else op.rules[op.inputs[0]].names
    saves_input, saves_output, saves_nothing = names == op.inputs, names == ("out",), not names
    keeps_shape = op.kind == "elementwise"

    def call(x: Any, /) -> Tensor:
        if type(x) is not Tensor:
            if isinstance(x, Tensor):
                return dual_call(op, call, (x,), {})
            x = _as_tensor(op, x)
        array = x.array
        try:
            result = kernels[type(array)](array)
        except (ValueError, TypeError, IndexError, OverflowError) as error:
            raise _explain(op, error, (array,)) from error
        if type(result) is not type(array):
            result = _lift(op, namespaces[type(array)], result)
        if observer is not None:
            observer.check(op, (array,), result)
        # What Tensor(result) would do, without the call: 0.06 us.
        out = _new_tensor(Tensor)
        out.array = result
        out._node = out._grad = out._box = out._storage = out._view = None
        if is_constant or not grad_enabled():
            return out
        edge = x._node if x._view is None else history(x)
        if edge is None:
            return out
        node = out._node = FunctionNode()
        node.op = op
        node.edges = (edge,)
        node.shape = edge.shape if keeps_shape else result.shape
        node.dtype = result.dtype
        if saves_output:
            out._box = box = [result]
            node.saved = (box,)
        elif saves_input:
            box = x._box
            node.saved = (box_of(x) if box is None or box[0] is not array else box,)
        elif saves_nothing:
            node.saved = ()
        else:
            node.saved = save(node.edges, (x,), out)
        node.extras = None if observer is None else observer.extras(node, (x,), out)
        return out

    return call


def binary(op: Op, *, as_operator: bool = False) -> Callable[..., Tensor]:
    """The caller of an operation on two arrays and nothing else.

    As an operator's method it leaves operands of unknown types to their own reflected methods.
    """
    kernels, save = Kernels(op), saver(op)
    name1, name2 = op.inputs
    names1, names2 = [op.rules[name].names if name in op.rules else () for name in op.inputs]
    saves_other = names1 == (name2,) and names2 == (name1,)
    saves_nothing, is_constant = not names1 and not names2, op.kind == "constant"

    def call(x1: Any, x2: Any, /) -> Tensor:
        try:
            array1 = x1.array if type(x1) is Tensor else _first_operand(op, x1, x2)
            array2 = x2.array if type(x2) is Tensor else x2 if type(x2) in (float, int) else _operand(op, x2)
        except ForeignOperandError:
            if _has_dual((x1, x2)):
                return dual_call(op, call, (x1, x2), {})
            if as_operator:
                return NotImplemented
            raise
        array_type = type(array1)
        if type(array2) is not array_type:
            array1, array2, array_type = _matched(op, array1, array2)
        try:
            result = kernels[array_type](array1, array2)
        except (ValueError, TypeError, IndexError, OverflowError) as error:
            raise _explain(op, error, (array1, array2)) from error
        if type(result) is not array_type:
            result = _lift(op, namespaces[array_type], result)
        if observer is not None:
            observer.check(op, (array1, array2), result)
        out = _new_tensor(Tensor)
        out.array = result
        out._node = out._grad = out._box = out._storage = out._view = None
        if is_constant or not grad_enabled():
            return out
        edge1 = None if type(x1) is not Tensor else x1._node if x1._view is None else history(x1)
        edge2 = None if type(x2) is not Tensor else x2._node if x2._view is None else history(x2)
        if edge1 is None and edge2 is None:
            return out
        node = out._node = FunctionNode()
        node.op = op
        node.edges = (edge1, edge2)
        node.shape = result.shape
        node.dtype = result.dtype
        if saves_other:
            node.saved = (
                None if edge1 is None else box_of(x2) if type(x2) is Tensor else (array2,),
                None if edge2 is None else box_of(x1) if type(x1) is Tensor else (array1,),
            )
        elif saves_nothing:
            node.saved = ()
        else:
            values = (x1 if type(x1) is Tensor else array1, x2 if type(x2) is Tensor else array2)
            node.saved = save(node.edges, values, out)
        node.extras = None if observer is None else observer.extras(node, (x1, x2), out)
        return out

    return call


def _first_operand(op: Op, x1: Any, x2: Any) -> Any:
    """The first operand where it is no tensor: one of two must be an array."""
    operand = _operand(op, x1)
    return operand if type(x2) is Tensor or is_array(operand) or is_array(x2) else _as_tensor(op, operand).array


def _matched(op: Op, array1: Any, array2: Any) -> tuple[Any, Any, type]:
    """Two operands of different types as they meet, and the type of array that the kernel is for."""
    if type(array1) in _PYTHON_NUMBERS:
        return array1, array2, type(array2)
    if type(array2) in _PYTHON_NUMBERS:
        return array1, array2, type(array1)
    xp = common_backend(op.name, (array1, array2))
    return xp.same(array1), xp.same(array2), xp.array_type


#: What `_operand` makes of numbers.
_PYTHON_NUMBERS = frozenset((float, int, complex, bool))
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
            if _has_dual(args) or _has_dual(kwargs.values()):
                return dual_call(op, call, args, kwargs)
            raise

    def plain_call(*args: Any, **kwargs: Any) -> Tensor:
        values = bind(args, kwargs)
        for i in statics_at:
            if isinstance(values[i], _NumpyScalar):  # an axis, or a number that must not change data types
                values[i] = values[i].item()
        raw = values.copy()
        operands: list[Any] = []
        if takes_sequence:
            if not isinstance(values[0], list | tuple | Tensor):
                raise DtypeError(f"{op.name} takes a sequence of arrays, got {type(values[0]).__name__}")
            values[0] = list(values[0])
            raw[0] = operands = [_operand(op, value) for value in values[0]]
        else:
            for i in inputs_at:
                value = values[i]
                if type(value) is Tensor:
                    raw[i] = value.array
                elif value is None:
                    continue
                else:
                    raw[i] = values[i] = _operand(op, value)
                operands.append(raw[i])
        arrays = [operand for operand in operands if type(operand) in namespaces]
        if not arrays:
            if not operands:
                raise ShapeError(f"{op.name} needs at least one array")
            values[0] = [_as_tensor(op, v) for v in values[0]] if takes_sequence else _as_tensor(op, values[0])
            return plain_call(*values[:positional], **dict(zip(keywords, values[positional:], strict=True)))
        xp = namespaces[type(arrays[0])] if len(arrays) == 1 else common_backend(op.name, arrays)
        if xp.is_batched and len(arrays) > 1:
            for i in inputs_at:
                raw[i] = [_same(xp, a) for a in raw[i]] if type(raw[i]) is list else _same(xp, raw[i])
        if dtype_at is not None and raw[dtype_at] is not None:
            raw[dtype_at] = xp.dtype(raw[dtype_at])
        keyword_values = dict(zip(keywords, raw[positional:])) if keywords else {}  # noqa: B905  costs 0.1 us
        try:
            if several_devices:
                result = _in_scope(xp, arrays[0], forward, *raw[:positional], **keyword_values)
            else:
                result = forward(xp, *raw[:positional], **keyword_values)
        except (ValueError, TypeError, IndexError, OverflowError) as error:
            raise _explain(op, error, operands) from error
        if op.outputs is not None:
            return _wrap_several(op, save, xp, result, operands, [values[i] for i in rules_at], values)
        if type(result) not in namespaces:
            result = _lift(op, xp, result)
        if observer is not None:
            observer.check(op, operands, result)
        out = Tensor(result)
        if is_view:
            source = values[0]
            if (
                type(source) is Tensor
                and _is_view_of(result, source.array)
                and link(out, source, (op, tuple(raw[1:positional]), keyword_values))
            ):
                return out
        if is_constant or not grad_enabled():
            return out
        candidates = values[0] if takes_sequence else [values[i] for i in rules_at]
        edges = tuple([history(value) if type(value) is Tensor else None for value in candidates])
        if edges.count(None) == len(edges) or (dtype_at is not None and not _is_floating(result)):
            return out
        node = out._node = FunctionNode()
        node.op = op
        node.edges = edges
        node.shape = result.shape
        node.dtype = result.dtype
        node.saved = save(edges, values, out)
        node.extras = None if observer is None else observer.extras(node, values, out)
        return out

    return call


def on_one_array(op: Op) -> Callable[..., Tensor]:
    """The caller of an operation on one array and on what is none: sizes, axes.

    What it buys: 3 us of `generic`'s 5. Whatever is unusual, and all that fails, goes through `generic`.
    """
    forward, save, is_view, is_constant = op.forward, saver(op), op.is_view, op.kind == "constant"
    at = {name: i for i, name in enumerate(op.signature.parameters)}
    defaults = [p.default for p in op.signature.parameters.values()]
    saves_statics = any(at.get(name) for rule in op.rules.values() for name in rule.names)
    long_way = generic(op)

    def call(x: Any, /, *args: Any, **kwargs: Any) -> Tensor:
        if type(x) is not Tensor or "dtype" in kwargs or observer is not None or several_devices:
            return long_way(x, *args, **kwargs)
        for value in (*args, *kwargs.values()):
            if isinstance(value, _NumpyScalar):
                return long_way(x, *args, **kwargs)
        array = x.array
        try:
            result = forward(namespaces[type(array)], array, *args, **kwargs)
        except Exception:
            return long_way(x, *args, **kwargs)
        if type(result) not in namespaces:
            result = _lift(op, namespaces[type(array)], result)
        out = _new_tensor(Tensor)
        out.array = result
        out._node = out._grad = out._box = out._storage = out._view = None
        if is_view and _is_view_of(result, array) and link(out, x, (op, args, kwargs)):
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
        node = out._node = FunctionNode()
        node.op = op
        node.edges = (edge,)
        node.shape = result.shape
        node.dtype = result.dtype
        node.saved = save(node.edges, values, out)
        node.extras = None
        return out

    return call


def _wrap_several(op: Op, save: Any, xp: Backend, results: Any, operands: Any, candidates: Any, values: Any) -> Any:
    """The tensors of several results, each with a node of its own before the one of the operation."""
    arrays = [result if type(result) in namespaces else _lift(op, xp, result) for result in results]
    if observer is not None:
        for array in arrays:
            observer.check(op, operands, array)
    out = op.outputs(*map(Tensor, arrays))
    edges = tuple([history(value) if type(value) is Tensor else None for value in candidates])
    if edges.count(None) < len(edges) and grad_enabled():
        node = FunctionNode()
        node.op, node.edges = op, edges
        node.shape, node.dtype = arrays[0].shape, arrays[0].dtype
        node.saved = save(edges, values, out)
        node.extras = None if observer is None else observer.extras(node, values, out)
        for position, tensor in enumerate(out):
            if _is_floating(tensor.array):
                tensor._node = output_node(node, position, tensor.array)
        references = [tensor._node and weakref.ref(tensor._node) for tensor in out]
        node.extras = (node.extras or {}) | {"outputs": references}
    return out


def _in_scope(xp: Backend, array: Array, forward: Callable[..., Array], *args: Any, **kwargs: Any) -> Array:
    """Run a forward where its operands are: CuPy allocates on the current device."""
    if type(array) not in several_devices:
        return forward(xp, *args, **kwargs)
    with xp.scope(xp.device(array)):
        return forward(xp, *args, **kwargs)


def _same(xp: Any, operand: Any) -> Any:
    return xp.same(operand) if is_array(operand) else operand


def _lift(op: Op, xp: Backend, result: Any) -> Array:
    """The array of what a forward returned: NumPy's functions of 0-d arrays return scalars."""
    if not isinstance(result, NUMBERS):
        raise DtypeError(f"{op.name}: the forward returned a {type(result).__name__}, not an array")
    return xp.lift(result)


def _is_view_of(result: Array, source: Array) -> bool:
    return type(result) is type(source) and namespaces[type(result)].is_view_of(result, source)


def _is_floating(array: Array) -> bool:
    xp = namespaces[type(array)]
    return xp.numpy_dtype(array.dtype).kind in "fc"


def _operand(op: Op, value: Any) -> Any:
    """The raw array or the Python number of an argument."""
    if type(value) is Tensor:
        return value.array
    if is_array(value):
        return value
    if isinstance(value, NUMBERS):
        # NumPy's scalars would change data types where Python's numbers do not.
        return value.item() if hasattr(value, "item") else value
    raise ForeignOperandError(
        f"{op.name} takes tensors, arrays and numbers, got {type(value).__name__}; convert it with ag.tensor"
    )


def _as_tensor(op: Op, value: Any) -> Tensor:
    """A tensor of an argument, on the default device if it is a number."""
    operand = _operand(op, value)
    if is_array(operand):
        return Tensor(operand)
    return Tensor(move(NUMPY.host_array(operand), get_default_device()))


def _has_dual(values: Iterable[Any]) -> bool:
    """Whether an argument, or an item of one, is a tensor with a tangent."""
    return any(
        _has_dual(value) if isinstance(value, list | tuple) else isinstance(value, Tensor) and type(value) is not Tensor
        for value in values
    )


class ForeignOperandError(DtypeError):
    """An operand of a type that this library does not know: operators give it its turn."""


def _explain(op: Op, error: Exception, arrays: Sequence[Any]) -> ArraygradError:
    """Reword a library's error with the operation and what it got."""
    if isinstance(error, ArraygradError):
        return error
    kind = (
        ShapeError if isinstance(error, ValueError) else IndexingError if isinstance(error, IndexError) else DtypeError
    )
    got = " and ".join(
        f"{array.dtype} {format_shape(array.shape)}" if is_array(array) else repr(array) for array in arrays
    )
    return kind(f"{op.name} got {got}: {error}")

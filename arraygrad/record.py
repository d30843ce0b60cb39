"""What happens when an operation is called: unwrap, compute, wrap and, if it matters, record.

The only place that makes nodes. One caller is made for each operation at import: `unary` and `binary`, which
are most of them, have no loops and no dictionaries on their way (forward and record on 4 elements: 1.0 us
above NumPy's own 0.4; through `generic` it is 4).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from arraygrad.backends import (
    NUMBERS,
    NUMPY,
    Array,
    common_backend,
    get_default_device,
    is_array,
    move,
    namespaces,
)
from arraygrad.errors import ArraygradError, DtypeError, IndexingError, ShapeError, format_shape, user_location
from arraygrad.modes import grad_enabled
from arraygrad.node import FunctionNode, box_of, storage_of
from arraygrad.tensor import Tensor

if TYPE_CHECKING:
    from arraygrad.op import Op

#: Set by debug.set_anomaly_detection: sees the operands and the result of every operation.
forward_check: Callable[[Op, Sequence[Any], Array], None] | None = None

_new_tensor = Tensor.__new__
_new_node = FunctionNode.__new__


def unary(op: Op) -> Callable[..., Tensor]:
    """The caller of an operation on one array and nothing else."""
    forward = op.forward
    is_constant = op.kind == "constant"
    names = () if is_constant else op.rules[op.inputs[0]].names
    saves_input, saves_output, saves_nothing = names == op.inputs, names == ("out",), not names

    def call(x: Any, /) -> Tensor:
        if type(x) is not Tensor:
            x = _as_tensor(op, x)
        array = x.array
        try:
            result = forward(namespaces[type(array)], array)
        except (ValueError, TypeError, IndexError) as error:
            raise _explain(op, error, (array,)) from error
        if type(result) is not type(array):
            result = namespaces[type(array)].lift(result)
        if forward_check is not None:
            forward_check(op, (array,), result)
        # What Tensor(result) would do, without the call: 0.06 us.
        out = _new_tensor(Tensor)
        out.array = result
        out._node = out._grad = out._box = out._storage = None
        edge = x._node
        if edge is None or is_constant or not grad_enabled():
            return out
        node = out._node = _new_node(FunctionNode)
        node.op = op
        node.edges = (edge,)
        node.shape = edge.shape
        node.dtype = result.dtype
        node.extras = None if forward_check is None else {"site": user_location()}
        if saves_output:
            out._box = box = [result]
            node.saved = (box,)
        elif saves_input:
            box = x._box
            node.saved = (box_of(x) if box is None or len(box) != 1 else box,)
        elif saves_nothing:
            node.saved = ()
        else:
            node.saved = _boxes(op, node.edges, {op.inputs[0]: x}, out)
        return out

    return call


def binary(op: Op, *, as_operator: bool = False) -> Callable[..., Tensor]:
    """The caller of an operation on two arrays and nothing else.

    As an operator's method it leaves operands of unknown types to their own reflected methods.
    """
    forward = op.forward
    name1, name2 = op.inputs
    names1, names2 = [op.rules[name].names if name in op.rules else () for name in op.inputs]
    saves_other = names1 == (name2,) and names2 == (name1,)
    saves_nothing, is_constant = not names1 and not names2, op.kind == "constant"

    def call(x1: Any, x2: Any, /) -> Tensor:
        edge1 = edge2 = None
        try:
            if type(x1) is Tensor:
                array1 = x1.array
                edge1 = x1._node
                if type(x2) is Tensor:
                    array2 = x2.array
                    edge2 = x2._node
                else:
                    array2 = x2 if type(x2) is float or type(x2) is int else _operand(op, x2)
                xp = namespaces[type(array1)]
                if (type(array2) is not type(array1) or xp.has_devices) and type(array2) in namespaces:
                    xp = common_backend(op.name, (array1, array2))
            else:
                array1 = _operand(op, x1)
                if type(x2) is not Tensor and not is_array(array1):
                    x2 = _as_tensor(op, x2)
                array2 = x2.array if type(x2) is Tensor else _operand(op, x2)
                edge2 = x2._node if type(x2) is Tensor else None
                xp = common_backend(op.name, [a for a in (array1, array2) if is_array(a)])
        except ForeignOperandError:
            if as_operator:
                return NotImplemented
            raise
        try:
            result = forward(xp, array1, array2)
        except (ValueError, TypeError, IndexError) as error:
            raise _explain(op, error, (array1, array2)) from error
        if type(result) is not xp.array_type:
            result = xp.lift(result)
        if forward_check is not None:
            forward_check(op, (array1, array2), result)
        out = _new_tensor(Tensor)
        out.array = result
        out._node = out._grad = out._box = out._storage = None
        if (edge1 is None and edge2 is None) or is_constant or not grad_enabled():
            return out
        node = out._node = _new_node(FunctionNode)
        node.op = op
        node.edges = (edge1, edge2)
        node.shape = result.shape
        node.dtype = result.dtype
        node.extras = None if forward_check is None else {"site": user_location()}
        if saves_other:
            node.saved = (
                None if edge1 is None else box_of(x2) if type(x2) is Tensor else (array2,),
                None if edge2 is None else box_of(x1) if type(x1) is Tensor else (array1,),
            )
        elif saves_nothing:
            node.saved = ()
        else:
            operands = {
                name1: x1 if type(x1) is Tensor else array1,
                name2: x2 if type(x2) is Tensor else array2,
            }
            node.saved = _boxes(op, node.edges, operands, out)
        return out

    return call


def generic(op: Op) -> Callable[..., Tensor]:
    """The caller of any operation."""
    forward = op.forward
    parameters = op.signature.parameters.values()
    defaults = {p.name: p.default for p in parameters if p.default is not p.empty}
    order = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
    positional = [p.name for p in parameters if p.kind is p.POSITIONAL_ONLY]
    keywords = [p.name for p in parameters if p.kind is not p.POSITIONAL_ONLY]
    accepted = set(keywords)
    takes_sequence, has_dtype = op.takes_sequence, "dtype" in accepted

    def call(*args: Any, **kwargs: Any) -> Tensor:
        values = {**defaults, **dict(zip(order, args, strict=False)), **kwargs}
        fits = len(args) <= len(order) and accepted.issuperset(kwargs) and len(values) == len(parameters)
        if not fits or not kwargs.keys().isdisjoint(order[: len(args)]):
            try:
                op.signature.bind(*args, **kwargs)
            except TypeError as error:
                raise DtypeError(f"{op.name}: {error}; its signature is {op.signature}") from None
        raw = dict(values)
        inputs: list[Any]
        if takes_sequence:
            inputs = list(values["arrays"])
            values["arrays"] = inputs
            arrays = raw["arrays"] = [_operand(op, value) for value in inputs]
        else:
            inputs = [values[name] for name in op.inputs]
            arrays = []
            for name, value in zip(op.inputs, inputs, strict=True):
                if value is not None:
                    operand = raw[name] = _operand(op, value)
                    arrays.append(operand)
                    if type(value) is not Tensor:
                        values[name] = operand
        concrete = [array for array in arrays if is_array(array)]
        if not concrete:
            if not arrays:
                raise ShapeError(f"{op.name} needs at least one array")
            first = op.inputs[0]
            values[first] = [_as_tensor(op, v) for v in inputs] if takes_sequence else _as_tensor(op, values[first])
            return call(*[values[name] for name in positional], **{name: values[name] for name in keywords})
        xp = common_backend(op.name, concrete)
        if has_dtype and raw["dtype"] is not None:
            raw["dtype"] = xp.dtype(raw["dtype"])
        try:
            result = forward(xp, *[raw[name] for name in positional], **{name: raw[name] for name in keywords})
        except ArraygradError:
            raise
        except (ValueError, TypeError, IndexError) as error:
            raise _explain(op, error, arrays) from error
        if not is_array(result):
            result = xp.lift(result)
        if forward_check is not None:
            forward_check(op, arrays, result)
        out = Tensor(result)
        source = inputs[0]
        if op.is_view and type(source) is Tensor and _shares_memory(result, source.array):
            out._storage = storage_of(source)
        candidates = inputs if takes_sequence else [values[name] for name in op.rules]
        edges = tuple([value._node if type(value) is Tensor else None for value in candidates])
        if any(edge is not None for edge in edges) and grad_enabled() and _is_floating(result):
            node = out._node = _new_node(FunctionNode)
            node.op = op
            node.edges = edges
            node.shape = result.shape
            node.dtype = result.dtype
            node.extras = None if forward_check is None else {"site": user_location()}
            node.saved = _boxes(op, edges, values, out)
        return out

    return call


def _shares_memory(x1: Array, x2: Array) -> bool:
    return type(x1) is type(x2) and namespaces[type(x1)].may_share_memory(x1, x2)


def _is_floating(array: Array) -> bool:
    xp = namespaces[type(array)]
    return xp.numpy_dtype(array.dtype).kind in "fc"


def _boxes(op: Op, edges: Sequence[Any], values: dict[str, Any], out: Tensor) -> tuple[Any, ...]:
    """Collect what the rules of the inputs that require grad ask for."""
    boxes: list[Any] = []
    wanted = [True] if op.takes_sequence else [edge is not None for edge in edges]
    for rule, is_wanted in zip(op.rules.values(), wanted, strict=True):
        for name in rule.names:
            boxes.append(_box(name, values, out) if is_wanted else None)
    return tuple(boxes)


def _box(name: str, values: dict[str, Any], out: Tensor) -> Any:
    """The box of one name: a list for what can be written to, a tuple for facts."""
    if name == "out":
        return box_of(out)
    if name in values:
        value = values[name]
        return box_of(value) if type(value) is Tensor else (value,)
    source, _, fact = name.rpartition("_")
    value = values[source]
    if source == "arrays":
        return (tuple(_fact(array, fact) for array in value),)
    return (_fact(value, fact),)


def _fact(value: Any, fact: str) -> Any:
    array = value.array if type(value) is Tensor else value
    if fact == "device":
        return namespaces[type(array)].device(array)
    return getattr(array, fact, () if fact == "shape" else None)


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


class ForeignOperandError(DtypeError):
    """An operand of a type that this library does not know: operators give it its turn."""


def _explain(op: Op, error: Exception, arrays: Sequence[Any]) -> ArraygradError:
    """Reword a library's error with the operation and what it got."""
    if isinstance(error, ArraygradError):
        return error
    kind = (
        ShapeError if isinstance(error, ValueError) else DtypeError if isinstance(error, TypeError) else IndexingError
    )
    got = " and ".join(
        f"{array.dtype} {format_shape(array.shape)}" if is_array(array) else repr(array) for array in arrays
    )
    return kind(f"{op.name} got {got}: {error}")

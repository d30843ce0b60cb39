"""What happens when an operation is called: unwrap, compute, wrap and, if it matters, record.

One caller is made for each operation at import. Here are those of operations on arrays and nothing else, which are
most: no loops and no dictionaries on their way (forward and record on 4 elements: 0.8 us above NumPy's own 0.4). The
others are in calling.py. Nodes of declared operations are made in these two files alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from arraygrad.backends import namespaces
from arraygrad.explain import explain, explain_memory
from arraygrad.kernels import Kernel, kernel_for
from arraygrad.modes import grad_enabled
from arraygrad.node import FunctionNode
from arraygrad.operands import (
    ForeignOperandError,
    as_tensor,
    first_operand,
    has_dual,
    lift,
    matched,
    operand_of,
)
from arraygrad.saving import saver
from arraygrad.storage import box_of
from arraygrad.tensor import Tensor
from arraygrad.views import history

if TYPE_CHECKING:
    from arraygrad.op import Op

#: Sees every operation while somebody wants to (see observe.py): anomaly detection, hooks on what is saved.
observer: Any = None

#: Set by forward.py: calls an operation on tensors with tangents, which are of a subclass of Tensor.
dual_call: Any = None

_new_tensor = Tensor.__new__


def unary(op: Op) -> Callable[..., Tensor]:
    """The caller of an operation on one array and nothing else."""
    kernels: dict[type, Kernel] = {}
    save = saver(op)
    is_constant = op.kind == "constant"
    names = () if is_constant else op.rules[op.inputs[0]].names
    saves_input, saves_output, saves_nothing = names == op.inputs, names == ("out",), not names
    keeps_shape = op.kind == "elementwise"

    def call(x: Any, /) -> Tensor:
        if type(x) is not Tensor:
            if isinstance(x, Tensor):
                return dual_call(op, call, (x,), {})
            x = as_tensor(op, x)
        array = x.array
        try:
            kernel = kernels[type(array)]
        except KeyError:
            kernel = kernel_for(op, type(array), kernels)
        try:
            result = kernel(array)
        except MemoryError as error:
            explain_memory(op.name, error, (array,))
            raise
        except (ValueError, TypeError, IndexError, OverflowError) as error:
            raise explain(op.name, error, (array,)) from error
        if type(result) is not type(array):
            result = lift(op, namespaces[type(array)], result)
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
    kernels: dict[type, Kernel] = {}
    save = saver(op)
    name1, name2 = op.inputs
    names1, names2 = [op.rules[name].names if name in op.rules else () for name in op.inputs]
    saves_other = names1 == (name2,) and names2 == (name1,)
    saves_nothing, is_constant = not names1 and not names2, op.kind == "constant"

    def call(x1: Any, x2: Any, /) -> Tensor:
        try:
            array1 = x1.array if type(x1) is Tensor else first_operand(op, x1, x2)
            array2 = x2.array if type(x2) is Tensor else x2 if type(x2) in (float, int) else operand_of(op, x2)
        except ForeignOperandError:
            if has_dual((x1, x2)):
                return dual_call(op, call, (x1, x2), {})
            if as_operator:
                return NotImplemented
            raise
        array_type = type(array1)
        if type(array2) is not array_type:
            array1, array2, array_type = matched(op, array1, array2)
        try:
            kernel = kernels[array_type]
        except KeyError:
            kernel = kernel_for(op, array_type, kernels)
        try:
            result = kernel(array1, array2)
        except MemoryError as error:
            explain_memory(op.name, error, (array1, array2))
            raise
        except (ValueError, TypeError, IndexError, OverflowError) as error:
            raise explain(op.name, error, (array1, array2)) from error
        if type(result) is not array_type:
            result = lift(op, namespaces[array_type], result)
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
            box1 = box2 = None  # `box_of` is called where there is no box yet: else that would take 0.05 us
            if edge1 is not None:
                box2 = x2._box if type(x2) is Tensor else (array2,)
                if box2 is None or box2[0] is not array2:
                    box2 = box_of(x2)
            if edge2 is not None:
                box1 = x1._box if type(x1) is Tensor else (array1,)
                if box1 is None or box1[0] is not array1:
                    box1 = box_of(x1)
            node.saved = (box2, box1)
        elif saves_nothing:
            node.saved = ()
        else:
            values = (x1 if type(x1) is Tensor else array1, x2 if type(x2) is Tensor else array2)
            node.saved = save(node.edges, values, out)
        node.extras = None if observer is None else observer.extras(node, (x1, x2), out)
        return out

    return call

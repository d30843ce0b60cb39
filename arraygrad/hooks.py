"""Functions of the user's that backward calls on its way, and that pack what a graph saves.

A hook runs before anything is handed out: an exception in it leaves every `grad` as it was. Hooks belong to the
history that a tensor has when they are registered; a write in place gives it a new one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from arraygrad import observe
from arraygrad.backends import is_array
from arraygrad.errors import GraphError, format_shape
from arraygrad.storage import PackedBox, storage_of

if TYPE_CHECKING:
    from arraygrad.node import AccumulateGrad, FunctionNode
    from arraygrad.tensor import Tensor

Hook = Callable[..., Any]


class RemovableHandle:
    """What registering a hook returns: `remove()` takes the hook away again. Also a context manager."""

    def __init__(self, hooks: list[Hook], hook: Hook) -> None:
        self._hooks, self._hook = hooks, hook
        hooks.append(hook)

    def remove(self) -> None:
        """Take the hook away; a second time changes nothing."""
        if self._hook in self._hooks:
            self._hooks.remove(self._hook)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


def register(node: FunctionNode | AccumulateGrad, kind: str, hook: Hook) -> RemovableHandle:
    """Add a hook of a kind ("hooks", "after", "accumulated") to a node."""
    if node.extras is None:
        node.extras = {}
    return RemovableHandle(node.extras.setdefault(kind, []), hook)


def _wrapped(g: Any) -> Any:
    from arraygrad.tensor import Tensor

    return Tensor(g) if is_array(g) else g


def _result(node: FunctionNode | AccumulateGrad, before: Any, result: Any) -> Any:
    """What a hook returned in place of `before`, as it came: a raw array or, where backward is recorded, a tensor."""
    if result is None:
        return before
    expected = before.shape
    result = _wrapped(result)
    if getattr(result, "shape", None) != expected:
        got = format_shape(result.shape) if hasattr(result, "shape") else type(result).__name__
        raise GraphError(
            f"a hook on {node.name} returned {got} in place of a gradient of shape {format_shape(expected)}; "
            "return None to leave it as it is"
        )
    device = _wrapped(before).device
    if result.device != device:
        raise GraphError(
            f"a hook on {node.name} returned a gradient on {result.device} in place of one on {device}; move it back "
            "with to(device), or return None to leave it as it is"
        )
    return result.array if is_array(before) else result


def run_hooks(node: FunctionNode | AccumulateGrad, g: Any) -> Any:
    """Show a cotangent to the hooks of its tensor or node, which may replace it."""
    assert node.extras is not None
    for hook in tuple(node.extras.get("hooks", ())):
        if type(g) is list:  # the cotangents of several outputs
            result = hook(tuple(_wrapped(part) for part in g))
            g = g if result is None else [_result(node, old, new) for old, new in zip(g, result, strict=True)]
        elif getattr(hook, "takes_tuple", False):
            result = hook((_wrapped(g),))
            g = g if result is None else _result(node, g, result[0])
        else:
            g = _result(node, g, hook(_wrapped(g)))
    return g


def run_hooks_after(node: FunctionNode, g: Any, grads: Sequence[Any]) -> Sequence[Any]:
    """Show a node's results and what it received to its hooks, which may replace the results."""
    assert node.extras is not None
    received = tuple(_wrapped(part) for part in (g if type(g) is list else (g,)))
    for hook in tuple(node.extras["after"]):
        result = hook(tuple(None if grad is None else _wrapped(grad) for grad in grads), received)
        if result is not None:
            grads = [old if old is None else _result(node, old, new) for old, new in zip(grads, result, strict=True)]
    return grads


def run_hooks_of_leaf(accumulator: AccumulateGrad) -> None:
    """Call the hooks that wait for a leaf's gradient to be there."""
    leaf = accumulator.variable
    for hook in tuple((accumulator.extras or {}).get("accumulated", ())):
        if leaf is not None:
            hook(leaf)


# ---- What a graph saves

_packers: ContextVar[tuple[tuple[Hook, Hook], ...]] = ContextVar("arraygrad_packers", default=())


class saved_tensors_hooks:  # noqa: N801  lower case as in PyTorch
    """Inside, `pack(tensor)` says what a graph keeps in place of each array it saves; `unpack` gives the tensor back.

    The check for writes in place stays on. The innermost pair counts. What must come back is a tensor of the same
    shape, data type and device.

    >>> import arraygrad as ag
    >>> x = ag.tensor([1.0, 2.0], requires_grad=True)
    >>> with ag.saved_tensors_hooks(lambda t: t.numpy().tobytes(), lambda b: ag.tensor(list(memoryview(b).cast("d")))):
    ...     y = ag.sum(x * x)
    >>> y.backward()
    >>> x.grad
    tensor([2., 4.], dtype=float64, device='cpu')
    """

    def __init__(self, pack: Hook, unpack: Hook) -> None:
        self._pair = (pack, unpack)

    def __enter__(self) -> None:
        _packers.set((*_packers.get(), self._pair))
        observe.add(observe.watchers, _pack)

    def __exit__(self, *exception: object) -> None:
        _packers.set(_packers.get()[:-1])
        observe.remove(observe.watchers, _pack)


def save_on_cpu() -> saved_tensors_hooks:
    """Inside, what a graph saves waits in the CPU's memory and comes back to its device in backward.

    >>> import arraygrad as ag
    >>> x = ag.tensor(2.0, requires_grad=True)
    >>> with ag.save_on_cpu():
    ...     y = ag.exp(x) * x
    >>> y.backward()
    """
    return saved_tensors_hooks(lambda t: (t.device, t.to("cpu")), lambda packed: packed[1].to(packed[0]))


def _pack(node: FunctionNode, values: Sequence[Any], out: Any) -> None:
    """Replace what a new node saves by what the innermost hooks make of it."""
    if not _packers.get() or not node.saved or not node.op.sources:
        return
    packing, unpacking = _packers.get()[-1]
    rules = getattr(node.op, "rules", None)  # a Function has none, and shows what it saves as `values`
    names = [None] * len(node.saved) if rules is None else [name for rule in rules.values() for name in rule.names]
    saved: list[Any] = []
    for name, source, box in zip(names, node.op.sources, node.saved, strict=True):
        if box is None or source is None or not is_array(box[0]):
            saved.append(box)
            continue
        packed = _packed(box[0], packing, unpacking)
        tensor = values[len(saved)] if name is None else _saved_tensor(node.op, name, source, values, out)
        if tensor is not None:
            storage_of(tensor).list_box(packed)
        saved.append(packed)
        node.extras = (node.extras or {}) | {"packed": True}
    node.saved = tuple(saved)


def _saved_tensor(op: Any, name: str, source: Any, values: Sequence[Any], out: Any) -> Tensor | None:
    from arraygrad.tensor import Tensor

    kind, position = source
    if kind == "output":
        value = out if position is None else out[position]
    else:
        value = values[list(op.signature.parameters).index(name)]
    return value if type(value) is Tensor else None


def _packed(array: Any, packing: Hook, unpacking: Hook) -> PackedBox:
    before = _packers.get()
    _packers.set(())  # what a hook computes is not packed itself
    try:
        packed = PackedBox([packing(_wrapped(array))])
    finally:
        _packers.set(before)
    packed.pack, packed.unpack = packing, unpacking
    return packed


def unpacked(node: FunctionNode) -> Any:
    """The boxes of a node, with arrays in them."""
    return tuple((box.unpack(box[0]).array,) if type(box) is PackedBox else box for box in node.saved or ())

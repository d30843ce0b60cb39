"""What users ask the engine for: `backward` and `gradients`. Seeds are made and checked here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from arraygrad.backends import NUMPY, check_devices, is_array, is_complex, namespaces
from arraygrad.engine import Node, run
from arraygrad.errors import DtypeError, GraphError, ShapeError, format_shape
from arraygrad.grads import add_to_grads
from arraygrad.tensor import ArrayLike, Tensor
from arraygrad.views import history


def backward(
    root: Tensor,
    gradient: Any = None,
    *,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Sequence[Tensor] | None = None,
) -> None:
    """Add the gradient of `root` with respect to each leaf to the leaf's `grad`; see Tensor.backward."""
    node = history(root)
    if node is None:
        raise GraphError(
            "backward needs a tensor that requires grad; this one was computed from tensors that do not, "
            "or inside no_grad()"
        )
    keep = create_graph if retain_graph is None else retain_graph
    seeds = [(node, _seed(root, gradient, create_graph))]
    if inputs is None:
        run(seeds, keep, create_graph)
        return
    tensors = list(inputs)
    grads = run(seeds, keep, create_graph, nodes_of("backward", tensors))
    found = dict(zip(tensors, grads, strict=True))  # a tensor that is asked for twice gets its gradient once
    add_to_grads([(tensor, grad) for tensor, grad in found.items() if grad is not None])


def gradients(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: ArrayLike | Sequence[ArrayLike | None] | None = None,
    *,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool = False,
    is_batched: bool = False,
) -> Any:
    """Return the gradients of `outputs` with respect to `inputs`, and leave every `grad` alone.

    One tensor for one input, a tuple for a sequence of them. Intermediate tensors may be inputs, too. (PyTorch:
    autograd.grad.)

    Args:
        grad_outputs: the cotangent of each output; None for outputs of one element.
        retain_graph: keep what the graph has saved. By default what `create_graph` says.
        create_graph: record this backward, so that the gradients have gradients.
        allow_unused: return None for an input that no output depends on, instead of raising.
        is_batched: each cotangent has one more axis, the first, of many cotangents; so have the gradients. One run
            for all of them.

    Raises:
        GraphError: an output or an input does not require grad, or no output depends on an input.

    >>> import arraygrad as ag
    >>> x = ag.tensor(3.0, requires_grad=True)
    >>> slope = ag.gradients(x**3, x, create_graph=True)
    >>> curvature = ag.gradients(slope, x)
    >>> slope.item(), curvature.item()
    (27.0, 18.0)
    """
    roots = [outputs] if isinstance(outputs, Tensor) else list(outputs)
    tensors = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    cotangents = [grad_outputs] if isinstance(outputs, Tensor) else list(grad_outputs or [None] * len(roots))
    if len(cotangents) != len(roots):
        raise ShapeError(f"gradients got {len(roots)} outputs and {len(cotangents)} grad_outputs")
    if is_batched:
        from arraygrad.vectorize import batched_gradients

        options = {"retain_graph": retain_graph, "create_graph": create_graph, "allow_unused": allow_unused}
        found = batched_gradients(roots, tensors, cotangents, **options)
        return found[0] if isinstance(inputs, Tensor) else found
    nodes = nodes_of("gradients", tensors)
    seeds = []
    for root, cotangent in zip(roots, cotangents, strict=True):
        node = history(root)
        if node is None:
            raise GraphError("gradients: an output does not require grad: it was computed without tensors that do")
        seeds.append((node, _seed(root, cotangent, create_graph)))
    results = run(seeds, create_graph if retain_graph is None else retain_graph, create_graph, nodes)
    grads = tuple(
        result if result is None or isinstance(result, Tensor) else tensor._like(result)
        for tensor, result in zip(tensors, results, strict=True)
    )
    for position, grad in enumerate(grads):
        if grad is None and not allow_unused:
            raise GraphError(
                "gradients: one of the differentiated tensors appears to not have been used in the graph (number "
                f"{position} of the inputs); pass allow_unused=True to get None for it"
            )
    return grads[0] if isinstance(inputs, Tensor) else grads


def nodes_of(name: str, tensors: Sequence[Tensor]) -> list[Node]:
    """The node of each tensor; refuses those that have none."""
    nodes = []
    for position, tensor in enumerate(tensors):
        node = history(tensor) if isinstance(tensor, Tensor) else None
        if node is None:
            got = "does not require grad" if isinstance(tensor, Tensor) else f"is a {type(tensor).__name__}, no Tensor"
            raise GraphError(f"{name}: one of the differentiated tensors {got}: number {position} of the inputs")
        nodes.append(node)
    return nodes


def _seed(root: Tensor, gradient: Any, create_graph: bool) -> Any:
    """The cotangent of a root: a raw array or, to be recorded, a tensor."""
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
            ones = xp.ones_like(array)
        return root._like(ones) if create_graph else ones
    given = gradient
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
    if xp.is_batched and type(gradient) is not type(array):  # the same in all cases
        given = gradient = given + Tensor(xp.zeros_like(array))
        gradient = gradient.array
    if create_graph:
        given = given if isinstance(given, Tensor) else root._like(gradient)
        return given if gradient.dtype == array.dtype else given.astype(root.dtype)
    return gradient if gradient.dtype == array.dtype else xp.astype(gradient, array.dtype)

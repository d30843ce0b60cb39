"""Compare gradients with central finite differences."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from arraygrad.autograd import gradients
from arraygrad.backends import Array, namespaces
from arraygrad.errors import DtypeError, GradcheckError, GraphError, format_shape
from arraygrad.modes import enable_grad, no_grad
from arraygrad.ops import creation, elementwise
from arraygrad.tensor import Tensor


@dataclass(frozen=True)
class GradcheckResult:
    """What `gradcheck` found: true in a condition if all gradients agree."""

    passed: bool
    #: One line for each element that differs.
    report: str

    def __bool__(self) -> bool:
        return self.passed


def gradcheck(
    f: Callable[..., Any],
    inputs: Tensor | Sequence[Tensor],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    projection_seed: int = 0,
    raise_exception: bool = True,
) -> GradcheckResult:
    """Check the gradients of `f(*inputs)` against central differences.

    The outputs, of any shape, are projected on a fixed random direction, so that one backward checks them
    all. An analytic value `a` passes against a numeric `n` if `|a - n| <= atol + rtol * |n|`. Away from
    points where `f` has a kink: there the two differ rightly.

    Args:
        f: returns one tensor, or a tuple or list of them.
        inputs: leaves that require grad, float64 or complex128. Their `grad` is cleared, their values are restored.
        raise_exception: raise what was found; otherwise return it.

    Raises:
        GradcheckError: gradients differ; its text has a line for each element that does.
        DtypeError: an input is neither float64 nor complex128, of whose 16 digits a difference leaves 10
            (of float32's 7 it leaves one).
        GraphError: an input is no leaf, or does not require grad.

    >>> import arraygrad as ag
    >>> x = ag.tensor([0.5, 1.5], requires_grad=True)
    >>> bool(ag.gradcheck(ag.tanh, [x]))
    True
    """
    tensors = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    for position, tensor in enumerate(tensors):
        _check_input(position, tensor)
    originals = [namespaces[type(tensor.array)].copy(tensor.array) for tensor in tensors]
    lines = []
    try:
        analytic, weights = _analytic(f, tensors, projection_seed)

        def value() -> float:
            with no_grad():
                return float(_project(_outputs(f, tensors), weights))

        for position, tensor in enumerate(tensors):
            for a, (index, n) in zip(analytic[position], _numeric(value, tensor, eps), strict=True):
                if not abs(a - n) <= atol + rtol * abs(n):
                    lines.append(f"input {position} element {format_shape(index)}: analytic {a} != numeric {n}")
    finally:
        for tensor, original in zip(tensors, originals, strict=True):
            namespaces[type(original)].setitem(tensor.array, ..., original)  # f may have written to it
            tensor.zero_grad()
    report = "\n".join(lines)
    if lines and raise_exception:
        raise GradcheckError(f"gradients differ from finite differences:\n{report}")
    return GradcheckResult(not lines, report)


def gradgradcheck(
    f: Callable[..., Any],
    inputs: Tensor | Sequence[Tensor],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    projection_seed: int = 0,
    raise_exception: bool = True,
) -> GradcheckResult:
    """Check the second derivatives of `f(*inputs)`: the gradients of its gradients, by `gradcheck`.

    The cotangents of the outputs are inputs of what is checked, too. Arguments and errors are those of `gradcheck`.

    >>> import arraygrad as ag
    >>> x = ag.tensor([0.5, 1.5], requires_grad=True)
    >>> bool(ag.gradgradcheck(ag.tanh, [x]))
    True
    """
    tensors = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    with enable_grad():
        outputs = _outputs(f, tensors)
    weights = [
        None if weight is None or not output.requires_grad else weight.requires_grad_()
        for output, weight in zip(outputs, _weights(outputs, projection_seed + 1), strict=True)
    ]
    cotangents = [weight for weight in weights if weight is not None]
    if not cotangents:
        raise GraphError("gradgradcheck: no output of f requires grad")

    def gradient(*args: Tensor) -> list[Tensor]:
        with enable_grad():
            outputs = _outputs(f, args[: len(tensors)])
            roots = [output for output, weight in zip(outputs, weights, strict=True) if weight is not None]
            grads = gradients(roots, tensors, args[len(tensors) :], create_graph=True, allow_unused=True)
            return [grad for grad in grads if grad is not None]

    return gradcheck(
        gradient,
        [*tensors, *cotangents],
        eps=eps,
        atol=atol,
        rtol=rtol,
        projection_seed=projection_seed,
        raise_exception=raise_exception,
    )


def _analytic(
    f: Callable[..., Any], tensors: Sequence[Tensor], seed: int
) -> tuple[list[list[complex]], list[Tensor | None]]:
    """The gradients by backward, and the direction on which outputs are projected."""
    for tensor in tensors:
        tensor.zero_grad()
    with enable_grad():
        outputs = _outputs(f, tensors)
        weights = _weights(outputs, seed)
        if not any(weight is not None for weight in weights):
            raise DtypeError("gradcheck: f returned no floating point output, so there is nothing to check")
        total = _project(outputs, weights)
        if total.requires_grad:
            total.backward()
    grads = [tensor.grad for tensor in tensors]
    return [
        [0.0] * tensor.size if grad is None else _to_host(grad.array).ravel().tolist()
        for tensor, grad in zip(tensors, grads, strict=True)
    ], weights


def _check_input(position: int, tensor: Any) -> None:
    if not isinstance(tensor, Tensor) or not tensor.requires_grad or not tensor.is_leaf:
        raise GraphError(f"gradcheck: input {position} must be a leaf tensor that requires grad")
    if tensor.dtype.name not in ("float64", "complex128"):
        raise DtypeError(f"gradcheck: input {position} must be float64, got {tensor.dtype}")
    if not namespaces[type(tensor.array)].is_writable(tensor.array):
        raise GraphError(f"gradcheck: input {position} must be writable, since its elements are varied in place")


def _to_host(array: Array) -> Array:
    return namespaces[type(array)].to_host(array)


def _outputs(f: Callable[..., Any], tensors: Sequence[Tensor]) -> list[Tensor]:
    result = f(*tensors)
    outputs = list(result) if isinstance(result, tuple | list) else [result]
    if not all(isinstance(output, Tensor) for output in outputs):
        raise DtypeError(f"gradcheck: f must return tensors, got {type(result).__name__}")
    return outputs


def _weights(outputs: Sequence[Tensor], seed: int) -> list[Tensor | None]:
    """A random direction for each floating point output, on its device."""
    generator = random.Random(seed)
    weights: list[Tensor | None] = []
    for output in outputs:
        kind, gauss = output.dtype.kind, generator.gauss
        values = [complex(gauss(0, 1), gauss(0, 1)) if kind == "c" else gauss(0, 1) for _ in range(output.size)]
        dtype = "complex128" if kind == "c" else "float64"
        weight = creation.tensor(values, dtype=dtype, device=output.device).reshape(output.shape)
        weights.append(weight if kind in "fc" else None)
    return weights


def _project(outputs: Sequence[Tensor], weights: Sequence[Tensor | None]) -> Tensor:
    parts = [(output * weight).sum() for output, weight in zip(outputs, weights, strict=True) if weight is not None]
    parts = [elementwise.real(part) if part.dtype.kind == "c" else part for part in parts]
    return functools.reduce(elementwise.add, parts)


def _numeric(value: Callable[[], float], tensor: Tensor, eps: float) -> Iterator[tuple[tuple[int, ...], complex]]:
    """Central differences of `value` in each element, which is restored whatever happens."""
    xp, array = namespaces[type(tensor.array)], tensor.array
    directions = (1.0, 1j) if tensor.dtype.kind == "c" else (1.0,)
    for index in product(*map(range, tensor.shape)):
        original = xp.to_host(xp.getitem(array, index)).item()
        slope: complex = 0.0
        for direction in directions:
            try:
                xp.setitem(array, index, original + eps * direction)
                above = value()
                xp.setitem(array, index, original - eps * direction)
                below = value()
            finally:
                xp.setitem(array, index, original)
            slope += (above - below) / (2 * eps) * direction
        yield index, slope

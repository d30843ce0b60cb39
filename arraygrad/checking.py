"""Compare gradients with central finite differences."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from arraygrad.autograd import gradients
from arraygrad.backends import NUMPY, Array, namespaces
from arraygrad.errors import DtypeError, GradcheckError, GraphError, format_shape
from arraygrad.modes import enable_grad, no_grad
from arraygrad.ops import creation, elementwise, manipulation
from arraygrad.tensor import Tensor


@dataclass(frozen=True)
class GradcheckResult:
    """What `gradcheck` found: true in a condition if all gradients agree."""

    passed: bool
    #: One line for each element that differs.
    report: str
    #: One line for each of them where the function has a kink.
    notes: str = ""

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
    projections: int = 1,
    fast_mode: bool = False,
    check_forward_ad: bool = False,
    check_batched_grad: bool = False,
    raise_exception: bool = True,
) -> GradcheckResult:
    """Check the gradients of `f(*inputs)` against central differences.

    The outputs, of any shape, are projected on a fixed random direction, so that one backward checks them
    all. An analytic value `a` passes against a numeric `n` if `|a - n| <= atol + rtol * |n|`. Where the slopes to
    both sides differ, the error and `notes` say "non-differentiable here": a kink, not a wrong rule.

    Args:
        f: returns one tensor, or a tuple or list of them.
        inputs: leaves that require grad, float64 or complex128. Their `grad` is cleared, their values are restored.
        projections: how many random directions, from `projection_seed` on.
        fast_mode: vary all elements at once along a random direction instead of one by one: two calls of `f`.
        check_forward_ad: compare forward mode with backward, too.
        check_batched_grad: compare a batch of cotangents with one at a time, too.
        raise_exception: raise what was found; otherwise return it.

    Raises:
        GradcheckError: gradients differ; its text has a line for each element that does.
        DtypeError: an input is neither float64 nor complex128, of whose 16 digits a difference leaves 10
            (of float32's 7 it leaves one).
        GraphError: an input is no leaf, or does not require grad.

    >>> import arraygrad as ag
    >>> x = ag.tensor([0.5, 1.5], requires_grad=True)
    >>> bool(ag.gradcheck(ag.tanh, [x], check_forward_ad=True))
    True
    """
    tensors = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    for position, tensor in enumerate(tensors):
        _check_input(position, tensor)
    originals = [namespaces[type(tensor.array)].copy(tensor.array) for tensor in tensors]
    lines: list[str] = []
    notes: list[str] = []
    try:
        for seed in range(projection_seed, projection_seed + projections):
            analytic, weights = _analytic(f, tensors, seed)

            def value(weights: list[Tensor | None] = weights) -> float:
                with no_grad():
                    return float(_project(_outputs(f, tensors), weights))

            if fast_mode:
                lines += _along_one_direction(value, tensors, analytic, seed, eps, atol, rtol)
            else:
                lines += _element_by_element(value, tensors, analytic, eps, atol, rtol, notes)
            if check_forward_ad:
                lines += _against_forward_mode(f, tensors, analytic, weights, seed, atol, rtol)
            if check_batched_grad:
                lines += _against_batches(f, tensors, seed, atol, rtol)
    finally:
        for tensor, original in zip(tensors, originals, strict=True):
            namespaces[type(original)].setitem(tensor.array, ..., original)  # f may have written to it
            tensor.zero_grad()
    report = "\n".join(lines)
    if lines and raise_exception:
        raise GradcheckError("\n".join(["gradients differ from finite differences:", report, *notes]))
    return GradcheckResult(not lines, report, "\n".join(notes))


def gradgradcheck(
    f: Callable[..., Any], inputs: Tensor | Sequence[Tensor], *, projection_seed: int = 0, **options: Any
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
            grads = gradients(roots, args[: len(tensors)], args[len(tensors) :], create_graph=True, allow_unused=True)
            return [grad for grad in grads if grad is not None]

    return gradcheck(gradient, [*tensors, *cotangents], projection_seed=projection_seed, **options)


def _element_by_element(
    value: Callable[[], float],
    tensors: Sequence[Tensor],
    analytic: Sequence[Sequence[complex]],
    eps: float,
    atol: float,
    rtol: float,
    notes: list[str],
) -> Iterator[str]:
    for position, tensor in enumerate(tensors):
        for a, (index, n) in zip(analytic[position], _numeric(value, tensor, eps), strict=True):
            if not abs(a - n) <= atol + rtol * abs(n):
                yield f"input {position} element {format_shape(index)}: analytic {a} != numeric {n}"
                if kink := _kink(value, tensor, index, eps):
                    notes.append(f"input {position} element {format_shape(index)}: non-differentiable here: {kink}")


def _kink(value: Callable[[], float], tensor: Tensor, index: tuple[int, ...], eps: float) -> str:
    """Say how the slopes to both sides differ; not where the difference shrinks with the step, as that of a curve."""
    xp, array = namespaces[type(tensor.array)], tensor.array
    original = xp.to_host(xp.getitem(array, index)).item()

    def at(step: float) -> float:
        try:
            xp.setitem(array, index, original + step)
            return value()
        finally:
            xp.setitem(array, index, original)

    middle = value()
    left, right = (middle - at(-eps)) / eps, (at(eps) - middle) / eps
    wide_left, wide_right = (middle - at(-10 * eps)) / (10 * eps), (at(10 * eps) - middle) / (10 * eps)
    difference = abs(right - left)
    if difference > 1e-2 * max(abs(left), abs(right)) and difference > 0.3 * abs(wide_right - wide_left):
        return f"the slope is {left:g} to one side and {right:g} to the other"
    return ""


def _direction(tensors: Sequence[Tensor], seed: int) -> list[Array]:
    """Random values of the shapes of the tensors, as NumPy arrays."""
    return [_to_host(weight.array) for weight in _weights(tensors, seed + 1_000) if weight is not None]


def _product(analytic: Sequence[Sequence[complex]], directions: Sequence[Array]) -> float:
    """The slope along a direction, from the gradients."""
    return sum(
        (complex(a).conjugate() * complex(d)).real
        for grads, direction in zip(analytic, directions, strict=True)
        for a, d in zip(grads, direction.ravel().tolist(), strict=True)
    )


def _along_one_direction(
    value: Callable[[], float],
    tensors: Sequence[Tensor],
    analytic: Sequence[Sequence[complex]],
    seed: int,
    eps: float,
    atol: float,
    rtol: float,
) -> Iterator[str]:
    directions = _direction(tensors, seed)
    originals = [namespaces[type(tensor.array)].copy(tensor.array) for tensor in tensors]

    def moved(step: float) -> float:
        for tensor, original, direction in zip(tensors, originals, directions, strict=True):
            xp = namespaces[type(original)]
            shift = xp.from_host(NUMPY.lift(direction * step), tensor.device)
            xp.setitem(tensor.array, ..., original + shift)
        return value()

    numeric = (moved(eps) - moved(-eps)) / (2 * eps)
    moved(0.0)
    a = _product(analytic, directions)
    if not abs(a - numeric) <= atol + rtol * abs(numeric):
        yield f"along a random direction: analytic {a} != numeric {numeric}"


def _against_forward_mode(
    f: Callable[..., Any],
    tensors: Sequence[Tensor],
    analytic: Sequence[Sequence[complex]],
    weights: Sequence[Tensor | None],
    seed: int,
    atol: float,
    rtol: float,
) -> Iterator[str]:
    """What backward and forward mode say of one slope must agree: <w, J t> is <J^T w, t>."""
    from arraygrad.transforms import jvp

    directions = _direction(tensors, seed)
    tangents = [
        creation.asarray(namespaces[type(t.array)].from_host(NUMPY.lift(d), t.device))
        for t, d in zip(tensors, directions, strict=True)
    ]
    _, slopes = jvp(lambda *args: tuple(_outputs(f, args)), [t.detach() for t in tensors], tangents)
    forward = float(_project([slope.detach() for slope in slopes], weights))
    backward = _product(analytic, directions)
    if not abs(forward - backward) <= atol + rtol * abs(backward):
        yield f"along a random direction: forward mode gives {forward}, backward {backward}"


def _against_batches(
    f: Callable[..., Any], tensors: Sequence[Tensor], seed: int, atol: float, rtol: float
) -> Iterator[str]:
    """A batch of two cotangents must give what each of them gives alone."""
    with enable_grad():
        roots = [output for output in _outputs(f, tensors) if output.requires_grad]
    pairs = [[w for w in _weights(roots, seed + k) if w is not None] for k in (2_000, 3_000)]
    alone = [gradients(roots, tensors, pair, retain_graph=True, allow_unused=True) for pair in pairs]
    stacked = [manipulation.stack([w1, w2]) for w1, w2 in zip(*pairs, strict=True)]
    batch = gradients(roots, tensors, stacked, allow_unused=True, is_batched=True)
    for position, grads in enumerate(zip(*alone, strict=True)):
        for k, grad in enumerate(grads):
            if grad is None:
                continue
            single, many = _to_host(grad.array), _to_host(batch[position].array)[k]
            if not NUMPY.all(abs(single - many) <= atol + rtol * abs(single)):
                yield f"input {position}: a batch of cotangents gives other gradients than one at a time"


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

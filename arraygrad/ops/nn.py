"""Operations of neural networks: one node each, and no more saved than their rules need."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, cast

from arraygrad.backends import Array, is_any_true, is_number
from arraygrad.modes import are_values_checked
from arraygrad.op import elementwise, general
from arraygrad.ops.statistical import Axis, reciprocal, reduced_axes, restore_axes, widened
from arraygrad.tensor import ArrayLike, Tensor


def _shifted(xp: Any, x: Array, axis: Axis) -> tuple[Array, Array]:
    """`x` minus its maximum, so that `exp` does not overflow, and the maximum, or 0 where it is infinite."""
    is_empty = 0 in x.shape and 0 in (x.shape[a] for a in reduced_axes(axis, x.ndim))
    largest = xp.sum(x, axis=axis, keepdims=True) if is_empty else xp.max(x, axis=axis, keepdims=True)
    shift = xp.where(xp.isfinite(largest), largest, 0.0)
    return x - shift, shift


def _log_of_sum(xp: Any, e: Array, axis: Axis) -> Array:
    """The logarithm of a sum, -inf where that is 0."""
    total = xp.sum(e, axis=axis, keepdims=True)
    is_zero = total == 0
    return xp.where(is_zero, -xp.inf, xp.log(xp.where(is_zero, 1.0, total)))


def _exp_and_total(xp: Any, shifted: Array, axis: Axis) -> tuple[Array, Array]:
    """`exp` and its sum: at least 1, which the largest element adds to it, or 0.5 where all are -inf.

    (At 1 itself `maximum` would have a tie, and half of its gradient be lost where derivatives are recorded.)
    """
    e = xp.exp(shifted)
    return e, xp.maximum(xp.sum(e, axis=axis, keepdims=True), 0.5)


def _softmax(xp: Any, x: Array, axis: Axis) -> Array:
    e, total = _exp_and_total(xp, _shifted(xp, x, axis)[0], axis)
    return e / total


@general(
    # Not exp(x - out): for large x, that is as inexact as out is.
    lambda g, xp, x, axis, keepdims: restore_axes(xp, g, x.shape, axis, keepdims) * _softmax(xp, x, axis)
)
def logsumexp(xp: Any, x: ArrayLike, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """`log(sum(exp(x)))` over axes, without overflow. Where all is -inf, the gradient is 0."""
    shifted, shift = _shifted(xp, x, axis)
    result = _log_of_sum(xp, xp.exp(shifted), axis) + shift
    if keepdims or not x.ndim:
        return result
    return xp.squeeze(result, axis=tuple(range(x.ndim)) if axis is None else axis)


@general(lambda g, xp, out, axis: out * (g - xp.sum(g * out, axis=axis, keepdims=True)))
def softmax(xp: Any, x: ArrayLike, /, *, axis: int = -1) -> Array:
    """`exp(x)` divided by its sum along an axis, without overflow. Where all is -inf, 0.

    >>> import arraygrad as ag
    >>> ag.softmax(ag.tensor([0.0, 0.0]))
    tensor([0.5, 0.5], dtype=float64, device='cpu')
    """
    return _softmax(xp, x, axis)


@general(lambda g, xp, out, axis: g - xp.exp(out) * xp.sum(g, axis=axis, keepdims=True))
def log_softmax(xp: Any, x: ArrayLike, /, *, axis: int = -1) -> Array:
    """`log(softmax(x))` along an axis, finite wherever `x` is."""
    shifted, _ = _shifted(xp, x, axis)
    return shifted - xp.log(_exp_and_total(xp, shifted, axis)[1])


class CrossEntropy(NamedTuple):
    """What the operation returns: the softmax is what its rule needs."""

    loss: Tensor
    softmax: Tensor


@general(
    lambda g, xp, softmax, targets, axis, reduction: _cross_entropy_slope(g, xp, softmax, targets, axis, reduction),
    outputs=CrossEntropy,
)
def _cross_entropy(xp: Any, logits: ArrayLike, targets: ArrayLike, /, *, axis: int, reduction: str) -> Array:
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f'reduction is "mean", "sum" or "none", not {reduction!r}')
    if is_number(targets):
        raise TypeError("targets must be an array of integers")
    if not -logits.ndim <= axis < logits.ndim:
        raise ValueError(f"axis {axis} is outside the logits")
    classes = logits.shape[axis]
    along = axis % logits.ndim
    if targets.shape != logits.shape[:along] + logits.shape[along + 1 :]:
        raise ValueError("targets must have the shape of the logits without the class axis")
    if xp.numpy_dtype(targets.dtype).kind not in "iu":
        raise TypeError("targets must be integers, the indices of classes")
    chosen = _beside_classes(xp, targets, logits.shape, along)
    if are_values_checked() and is_any_true(xp, (chosen < 0) | (chosen >= classes)):
        raise ValueError(f"a target is outside the {classes} classes")
    shifted, _ = _shifted(xp, logits, along)
    e, total = _exp_and_total(xp, shifted, along)
    losses = xp.reshape(xp.log(total) - xp.take_along_axis(shifted, chosen, axis=along), targets.shape)
    return losses if reduction == "none" else getattr(xp, reduction)(losses), e / total


def cross_entropy(logits: ArrayLike, targets: ArrayLike, /, *, axis: int = -1, reduction: str = "mean") -> Tensor:
    """`-log_softmax(logits)` at the target class, as one node.

    `logits` has the classes along `axis`, and any real values; `targets` has the other axes, and integers
    from 0. `reduction` is "mean", "sum" or "none" (a loss for each target). The gradient goes to `logits`.

    Raises:
        ValueError: shapes do not fit, a target is no class (see set_value_checks), or `reduction` is none of the three.
        TypeError: targets are not integers.

    >>> import arraygrad as ag
    >>> round(ag.cross_entropy(ag.tensor([2.0, 1.0, 0.1]), ag.tensor(0)).item(), 4)
    0.417
    """
    return cast("CrossEntropy", _cross_entropy(logits, targets, axis=axis, reduction=reduction)).loss


def _beside_classes(xp: Any, targets: Array, shape: tuple[int, ...], along: int) -> Array:
    """Targets with an axis of size 1 for the classes, whose number may not fit into their own data type."""
    if targets.dtype != xp.int64:
        targets = xp.astype(targets, xp.int64)
    return xp.reshape(targets, (*shape[:along], 1, *shape[along + 1 :]))


def _cross_entropy_slope(g: Any, xp: Any, softmax: Array, targets: Array, axis: int, reduction: str) -> Array | None:
    """Softmax minus one at the target, times the cotangent of each loss; and, in derivatives of this, softmax's own."""
    g_loss, g_softmax = g
    along = axis % softmax.ndim
    ndim, classes = softmax.ndim, softmax.shape[along]
    slope = None
    if g_loss is not None:
        index = xp.arange(classes, dtype=xp.int64, device=targets.device)
        index = xp.reshape(index, (1,) * along + (classes,) + (1,) * (ndim - along - 1))
        is_target = index == _beside_classes(xp, targets, softmax.shape, along)
        weight = g_loss * reciprocal(math.prod(targets.shape)) if reduction == "mean" else g_loss
        if reduction == "none":
            weight = xp.expand_dims(weight, axis=along)
        slope = weight * (softmax - xp.astype(is_target, softmax.dtype))
    if g_softmax is not None:
        through = softmax * (g_softmax - xp.sum(g_softmax * softmax, axis=along, keepdims=True))
        slope = through if slope is None else slope + through
    return slope


@general(lambda g, xp, x, out, axis, eps: _standardize_slope(g, xp, x, out, axis, eps))
def standardize(xp: Any, x: ArrayLike, /, *, axis: int | tuple[int, ...] = -1, eps: float = 1e-5) -> Array:
    """`(x - mean) / sqrt(var + eps)` over axes: the core of layer normalization."""
    return widened(xp, x, lambda x: (x - xp.mean(x, axis=axis, keepdims=True)) / _scale(xp, x, axis, eps))


def _scale(xp: Any, x: Array, axis: Any, eps: float) -> Array:
    return xp.sqrt(xp.var(x, axis=axis, keepdims=True) + eps)


def _standardize_slope(g: Array, xp: Any, x: Array, out: Array, axis: Any, eps: float) -> Array:
    """Minus the parts of `g` that flow through the mean and through the scale."""

    def mean(values: Array) -> Array:
        return xp.mean(values, axis=axis, keepdims=True)

    return (g - mean(g) - out * mean(g * out)) / widened(xp, x, lambda x: _scale(xp, x, axis, eps))


@elementwise(lambda g, out: -0.5 * g * out * out * out)
def rsqrt(xp: Any, x: ArrayLike, /) -> Array:
    """`1 / sqrt(x)`."""
    return 1.0 / xp.sqrt(x)


@elementwise(lambda g, out: g * out * (1.0 - out))
def sigmoid(xp: Any, x: ArrayLike, /) -> Array:
    """`1 / (1 + exp(-x))`, without overflow and exact in both tails."""
    e = xp.exp(-xp.abs(x))
    return xp.where(x >= 0, 1.0, e) / (1.0 + e)


@elementwise(lambda g, xp, out: xp.where(out <= 0, 0.0, g))
def relu(xp: Any, x: ArrayLike, /) -> Array:
    """`max(x, 0)`. The gradient at 0 is 0."""
    return xp.maximum(x, 0)


@elementwise(lambda g, xp, x, approximate: g * _gelu_slope(xp, x, approximate))
def gelu(xp: Any, x: ArrayLike, /, *, approximate: str = "none") -> Array:
    """`x` times the standard normal distribution function of `x`.

    `approximate="tanh"` takes the approximation `(1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2` of it
    (Hendrycks and Gimpel, 2016, arXiv:1606.08415), which needs no SciPy.

    Raises:
        ValueError: `approximate` is neither "none" nor "tanh".
    """
    return x * _gelu_gate(xp, x, approximate)


_SCALE = math.sqrt(2.0 / math.pi)


def _bounded(xp: Any, x: Array) -> Array:
    """Beyond this the gate is 0 or 1 in every data type, and powers of `x` would overflow in some."""
    return xp.clip(x, -40.0, 40.0)


def _gelu_gate(xp: Any, x: Array, approximate: str) -> Array:
    if approximate == "none":
        return 0.5 * (1.0 + xp.special.erf(x / math.sqrt(2.0)))
    if approximate == "tanh":
        x = _bounded(xp, x)
        return 0.5 * (1.0 + xp.tanh(_SCALE * (x + 0.044715 * x * x * x)))
    raise ValueError(f'approximate is "none" or "tanh", not {approximate!r}')


def _gelu_slope(xp: Any, x: Array, approximate: str) -> Array:
    gate, x = _gelu_gate(xp, x, approximate), _bounded(xp, x)
    if approximate == "none":
        return gate + x * xp.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)
    # gate = (1 + tanh(u)) / 2, whose slope is 2 gate (1 - gate) u'.
    return gate + x * 2.0 * gate * (1.0 - gate) * _SCALE * (1.0 + 3.0 * 0.044715 * x * x)

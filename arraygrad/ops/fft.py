"""Discrete Fourier transforms.

A transform is a symmetric matrix, so its rule is the transform itself, cut or padded with zeros to the input's
length; the engine conjugates around it. Transforms with real results take their cotangent as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from arraygrad.backends import Array
from arraygrad.op import linear
from arraygrad.ops.creation import _create
from arraygrad.tensor import ArrayLike, Tensor

_SWAPPED = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


def _resize(xp: Any, x: Array, size: int, axis: int) -> Array:
    """Cut an axis to `size`, or pad it with zeros."""
    along = (slice(None),) * (axis % x.ndim)
    if x.shape[axis] > size:
        return x[(*along, slice(size), ...)]
    if x.shape[axis] == size:
        return x
    shape = list(x.shape)
    shape[axis] = size - x.shape[axis]
    zero = xp.zeros_like(xp.sum(x, axis=axis, keepdims=True))
    return xp.concat([x, xp.broadcast_to(zero, tuple(shape))], axis=axis)


def _resize_all(xp: Any, x: Array, shape: tuple[int, ...], axes: Sequence[int]) -> Array:
    for axis in axes:
        x = _resize(xp, x, shape[axis], axis)
    return x


def _transformed_axes(shape: tuple[int, ...], s: Sequence[int] | None, axes: Sequence[int] | None) -> tuple[int, ...]:
    if axes is not None:
        return tuple(axes)
    return tuple(range(-len(shape if s is None else s), 0))


@linear(lambda g, xp, x_shape, axis, norm: _resize(xp, xp.fft.fft(g, axis=axis, norm=norm), x_shape[axis], axis))
def fft(xp: Any, x: ArrayLike, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Array:
    """Transform a complex array along an axis, cut or padded with zeros to `n`.

    >>> import arraygrad as ag
    >>> ag.fft.fft(ag.tensor([1.0 + 0j, 0.0, 0.0]))
    tensor([1.+0.j, 1.+0.j, 1.+0.j], dtype=complex128, device='cpu')
    """
    return xp.fft.fft(x, n=n, axis=axis, norm=norm)


@linear(lambda g, xp, x_shape, axis, norm: _resize(xp, xp.fft.ifft(g, axis=axis, norm=norm), x_shape[axis], axis))
def ifft(xp: Any, x: ArrayLike, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Array:
    """The inverse of `fft`."""
    return xp.fft.ifft(x, n=n, axis=axis, norm=norm)


@linear(
    lambda g, xp, x_shape, s, axes, norm: _resize_all(
        xp,
        xp.fft.fftn(g, axes=_transformed_axes(x_shape, s, axes), norm=norm),
        x_shape,
        _transformed_axes(x_shape, s, axes),
    )
)
def fftn(
    xp: Any,
    x: ArrayLike,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Array:
    """Transform a complex array along several axes (all, if none are named), cut or padded to the sizes `s`."""
    return xp.fft.fftn(x, s=s, axes=_transformed_axes(x.shape, s, axes), norm=norm)


@linear(
    lambda g, xp, x_shape, s, axes, norm: _resize_all(
        xp,
        xp.fft.ifftn(g, axes=_transformed_axes(x_shape, s, axes), norm=norm),
        x_shape,
        _transformed_axes(x_shape, s, axes),
    )
)
def ifftn(
    xp: Any,
    x: ArrayLike,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Array:
    """The inverse of `fftn`."""
    return xp.fft.ifftn(x, s=s, axes=_transformed_axes(x.shape, s, axes), norm=norm)


@linear(lambda g, xp, x_shape, n, axis, norm: _grad_of_rfft(g, xp, x_shape[axis], n, axis, norm))
def rfft(xp: Any, x: ArrayLike, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Array:
    """Transform a real array along an axis: the `n // 2 + 1` values that the rest follows from."""
    return xp.fft.rfft(x, n=n, axis=axis, norm=norm)


def _grad_of_rfft(g: Array, xp: Any, size: int, n: int | None, axis: int, norm: str) -> Array:
    padded = _resize(xp, g, size if n is None else n, axis)
    return _resize(xp, xp.fft.fft(padded, axis=axis, norm=norm), size, axis)


@linear(lambda g, xp, x_shape, axis, norm: _grad_of_irfft(g, xp, x_shape[axis], axis, norm))
def irfft(xp: Any, x: ArrayLike, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Array:
    """The inverse of `rfft`, of length `n`, by default even. Imaginary parts that cannot be are ignored."""
    return xp.fft.irfft(x, n=n, axis=axis, norm=norm)


def _grad_of_irfft(g: Array, xp: Any, size: int, axis: int, norm: str) -> Array:
    """Each value but the first, and the last of an even length, stands for two in the result."""
    transform = xp.fft.rfft(g, axis=axis, norm=_SWAPPED[norm])
    return _resize(xp, _double_inner(xp, transform, g.shape[axis], axis), size, axis)


def _double_inner(xp: Any, x: Array, n: int, axis: int) -> Array:
    """Double what an `rfft` of length `n` gives once for two conjugate frequencies."""
    along = (slice(None),) * (axis % x.ndim)
    stop = (n + 1) // 2  # the frequency n / 2 of an even length has no other
    parts = [x[(*along, slice(1), ...)], 2.0 * x[(*along, slice(1, stop), ...)], x[(*along, slice(stop, None), ...)]]
    return xp.concat([part for part in parts if part.shape[axis]], axis=axis) if n > 1 else x


@linear(
    lambda g, xp, x_shape, s, axes, norm: _grad_of_rfftn(g, xp, x_shape, s, _transformed_axes(x_shape, s, axes), norm)
)
def rfftn(
    xp: Any,
    x: ArrayLike,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Array:
    """Transform a real array along several axes, the last of them as `rfft` does."""
    return xp.fft.rfftn(x, s=s, axes=_transformed_axes(x.shape, s, axes), norm=norm)


def _grad_of_rfftn(
    g: Array, xp: Any, shape: tuple[int, ...], s: Sequence[int] | None, axes: tuple[int, ...], norm: str
) -> Array:
    padded = _resize(xp, g, shape[axes[-1]] if s is None else s[-1], axes[-1])
    return _resize_all(xp, xp.fft.fftn(padded, axes=axes, norm=norm), shape, axes)


@linear(
    lambda g, xp, x_shape, s, axes, norm: _grad_of_irfftn(g, xp, x_shape, _transformed_axes(x_shape, s, axes), norm)
)
def irfftn(
    xp: Any,
    x: ArrayLike,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Array:
    """The inverse of `rfftn`."""
    return xp.fft.irfftn(x, s=s, axes=_transformed_axes(x.shape, s, axes), norm=norm)


def _grad_of_irfftn(g: Array, xp: Any, shape: tuple[int, ...], axes: tuple[int, ...], norm: str) -> Array:
    transform = xp.fft.rfftn(g, axes=axes, norm=_SWAPPED[norm])
    return _resize_all(xp, _double_inner(xp, transform, g.shape[axes[-1]], axes[-1]), shape, axes)


@linear(lambda g, xp, x_shape, axis, norm: xp.conj(_grad_of_irfft(g, xp, x_shape[axis], axis, _SWAPPED[norm])))
def hfft(xp: Any, x: ArrayLike, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Array:
    """Transform of a signal whose other half is the conjugate of this: a real array of length `n`."""
    return xp.fft.hfft(x, n=n, axis=axis, norm=norm)


@linear(lambda g, xp, x_shape, n, axis, norm: _grad_of_ihfft(g, xp, x_shape[axis], n, axis, norm))
def ihfft(xp: Any, x: ArrayLike, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Array:
    """The inverse of `hfft`."""
    return xp.fft.ihfft(x, n=n, axis=axis, norm=norm)


def _grad_of_ihfft(g: Array, xp: Any, size: int, n: int | None, axis: int, norm: str) -> Array:
    padded = _resize(xp, g, size if n is None else n, axis)
    return _resize(xp, xp.fft.ifft(padded, axis=axis, norm=norm), size, axis)


@linear(lambda g, xp, axes: xp.fft.ifftshift(g, axes=axes))
def fftshift(xp: Any, x: ArrayLike, /, *, axes: int | Sequence[int] | None = None) -> Array:
    """Move the zero frequency to the middle."""
    return xp.fft.fftshift(x, axes=axes)


@linear(lambda g, xp, axes: xp.fft.fftshift(g, axes=axes))
def ifftshift(xp: Any, x: ArrayLike, /, *, axes: int | Sequence[int] | None = None) -> Array:
    """The inverse of `fftshift`."""
    return xp.fft.ifftshift(x, axes=axes)


def fftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: str | None = None) -> Tensor:
    """The frequencies of `fft` of length `n`, for samples at distance `d`."""
    return _create("fft.fftfreq", device, dtype, n, d=d)


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: str | None = None) -> Tensor:
    """The frequencies of `rfft` of length `n`, for samples at distance `d`."""
    return _create("fft.rfftfreq", device, dtype, n, d=d)

"""Statistics of samples beyond the standard: without NaN, by rank, of pairs, and by bins. Parameters are NumPy's."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from arraygrad.backends import is_number
from arraygrad.errors import DtypeError, ShapeError, format_shape
from arraygrad.modes import no_grad
from arraygrad.ops.creation import asarray, linspace, tensors
from arraygrad.ops.elementwise import clip, conj, real, sqrt
from arraygrad.ops.indexing import take
from arraygrad.ops.linalg import diagonal, matmul
from arraygrad.ops.manipulation import astype, concat, reshape
from arraygrad.ops.numeric import checked_axis, floating
from arraygrad.ops.predicates import ceil, floor, isnan, logical_and, logical_not, round
from arraygrad.ops.rearranging import diff, flip, moveaxis
from arraygrad.ops.searching import all, where
from arraygrad.ops.sorting import argsort, count_nonzero, searchsorted, sort
from arraygrad.ops.statistical import Axis, cumulative_sum, max, mean, min, reciprocal, reduced_axes, sum
from arraygrad.tensor import ArrayLike, Tensor

# ---- NaN counts as absent


def nansum(a: ArrayLike, axis: Axis = None, *, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """Sum over axes of what is not NaN; NaN gets the gradient 0."""
    x = asarray(a)
    if x.dtype.kind in "fc":
        x = where(isnan(x), 0.0, x)
    return sum(x, axis=axis, dtype=dtype, keepdims=keepdims)


def nanmean(a: ArrayLike, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """Mean over axes of what is not NaN; NaN where nothing is. NaN gets the gradient 0."""
    x = floating(a)
    if x.dtype == "float16":  # the sum may overflow where the mean does not
        return astype(nanmean(astype(x, "float32"), axis, keepdims=keepdims), "float16")
    count = count_nonzero(logical_not(isnan(x)), axis=axis, keepdims=keepdims)
    is_empty = count == 0
    total = nansum(x, axis, keepdims=keepdims)
    return where(is_empty, math.nan, total / astype(where(is_empty, 1, count), x.dtype))


def nanmax(a: ArrayLike, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """Largest element over axes that is not NaN; NaN where all are. Elements that tie share the gradient evenly."""
    x = _real("nanmax", a)
    if x.dtype.kind != "f":
        return max(x, axis=axis, keepdims=keepdims)
    is_absent = isnan(x)
    largest = max(where(is_absent, -math.inf, x), axis=axis, keepdims=keepdims)
    return where(all(is_absent, axis=axis, keepdims=keepdims), math.nan, largest)


def nanmin(a: ArrayLike, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """Smallest element over axes that is not NaN; NaN where all are. Elements that tie share the gradient evenly."""
    x = _real("nanmin", a)
    if x.dtype.kind != "f":
        return min(x, axis=axis, keepdims=keepdims)
    is_absent = isnan(x)
    smallest = min(where(is_absent, math.inf, x), axis=axis, keepdims=keepdims)
    return where(all(is_absent, axis=axis, keepdims=keepdims), math.nan, smallest)


def _real(name: str, a: ArrayLike) -> Tensor:
    x = asarray(a)
    if x.dtype.kind == "c":
        raise DtypeError(f"{name} takes real numbers, which have an order, got {x.dtype}")
    return x


# ---- By rank


def median(a: ArrayLike, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """The element in the middle over axes, or the mean of the two in the middle; NaN where one is NaN.

    The gradient goes to the elements in the middle, of equal ones to those that come there in a stable sort.

    Raises:
        ShapeError: there are no elements.
    """
    x = floating(_real("median", a))
    ranked = _ranked("median", x, axis)
    half = ranked.shape[-1] // 2
    middle = ranked[..., half]
    if not ranked.shape[-1] % 2:
        middle = 0.5 * ranked[..., half - 1] + 0.5 * middle
    return _kept(where(isnan(ranked[..., -1]), math.nan, middle), x, axis, keepdims)


#: By which part of an element each of `n` sorted ones begins and ends: methods that interpolate (R. J. Hyndman and
#: Y. Fan, "Sample quantiles in statistical packages", The American Statistician 50, 1996).
_ENDS = {
    "linear": (1.0, 1.0), "hazen": (0.5, 0.5), "weibull": (0.0, 0.0), "interpolated_inverted_cdf": (0.0, 1.0),
    "median_unbiased": (1 / 3, 1 / 3), "normal_unbiased": (3 / 8, 3 / 8),
}  # fmt: skip
METHODS = (*_ENDS, "lower", "higher", "nearest", "midpoint")


def quantile(
    a: ArrayLike, q: ArrayLike, axis: Axis = None, *, method: str = "linear", keepdims: bool = False
) -> Tensor:
    """The value over axes below which the part `q` of the elements lies; NaN where one is NaN.

    `q` is a number, or an array, whose axes then come first. Between two elements, `method` is "linear", or takes
    the "lower", "higher" or "nearest" one, or the "midpoint"; or it is "hazen", "weibull", "median_unbiased",
    "normal_unbiased" or "interpolated_inverted_cdf", which are linear too, between ends that differ. Gradients go to
    `a`, and by linear methods to `q`.

    Raises:
        ShapeError: there are no elements, a part is outside 0 to 1, or `method` is none of these.
    """
    x = floating(_real("quantile", a))
    parts = checked_parts("quantile", x, q, method)
    ranked = _ranked("quantile", x, axis)
    last = ranked.shape[-1] - 1
    result = at_part(method, reshape(parts, (-1,)), last, lambda places: take(ranked, places, axis=-1))
    result = moveaxis(where(isnan(ranked[..., -1:]), math.nan, result), -1, 0)
    kept = _kept_shape(x, axis) if keepdims else ranked.shape[:-1]
    return reshape(result, (*parts.shape, *kept))


def checked_parts(name: str, x: Tensor, q: ArrayLike, method: str) -> Tensor:
    """The parts `q` in float64, where `x` is."""
    if method not in METHODS:
        raise ShapeError(f"{name}: method is one of {', '.join(METHODS)}, not {method!r}")
    parts = asarray(q) if isinstance(q, Tensor) else asarray(q, device=x.device)
    if not (0 <= q <= 1 if is_number(q) else all(logical_and(parts >= 0, parts <= 1))):
        raise ShapeError(f"{name}: q must lie in 0 to 1")
    return astype(parts, "float64")


def at_part(method: str, parts: Tensor, last: Any, read: Callable[[Tensor], Tensor]) -> Tensor:
    """What is at the `parts` of a sorted row from place 0 to `last`, of which `read` takes elements."""
    begin, end = _ENDS.get(method, (1.0, 1.0))
    place = parts * last
    if (begin, end) != (1.0, 1.0):
        place = clip(parts * (last + (2.0 - begin - end)) + (begin - 1.0), 0, last)
    lower, higher = (clip(f(place.detach()), 0, last) for f in (floor, ceil))
    if method in _ENDS:
        # At an element, the slope in q is that to its right.
        higher = clip(lower + 1.0, 0, last)
    below, above = (read(astype(places, "int64")) for places in (lower, higher))
    if method in _ENDS:
        return below + (above - below) * astype(place - lower, below.dtype)
    if method == "midpoint":
        return 0.5 * below + 0.5 * above
    if method == "nearest":
        return read(astype(round(place.detach()), "int64"))
    return below if method == "lower" else above


def _ranked(name: str, x: Tensor, axis: Axis) -> Tensor:
    """Sorted over axes, which are made into one, the last."""
    if axis is not None:
        for a in (axis,) if isinstance(axis, int) else axis:
            checked_axis(name, x, a)
    axes = reduced_axes(axis, x.ndim)
    rest = tuple(n for i, n in enumerate(x.shape) if i not in axes)
    moved = moveaxis(x, axes, tuple(range(-len(axes), 0))) if axes else x
    count = math.prod(x.shape[i] for i in axes)
    if not count:
        raise ShapeError(f"{name} over axis {axis} of {format_shape(x.shape)}: there are no elements")
    return sort(reshape(moved, (*rest, count)), axis=-1)


def _kept_shape(x: Tensor, axis: Axis) -> tuple[int, ...]:
    axes = reduced_axes(axis, x.ndim)
    return tuple(1 if i in axes else n for i, n in enumerate(x.shape))


def _kept(result: Tensor, x: Tensor, axis: Axis, keepdims: bool) -> Tensor:
    return reshape(result, _kept_shape(x, axis)) if keepdims else result


# ---- Of pairs


def cov(
    m: ArrayLike,
    y: ArrayLike | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: float | None = None,
    fweights: ArrayLike | None = None,
    aweights: ArrayLike | None = None,
) -> Tensor:
    """Covariances of variables, the rows of `m` (and of `y`), or their columns if not `rowvar`; a number for one.

    They are divided by the count of observations minus `ddof`, which is 0 if `bias`, else 1. Each observation
    counts `fweights` times, and has the importance `aweights`.

    Raises:
        ShapeError: an input has more than two axes, or the observations or weights differ in number.
    """
    variables = [floating(x) for x in (tensors(m) if y is None else tensors(m, y))]
    if [x for x in variables if x.ndim > 2]:
        got = " and ".join(format_shape(x.shape) for x in variables)
        raise ShapeError(f"cov takes a vector or a matrix, got {got}")
    rows = [reshape(x, (1, -1)) if x.ndim < 2 else x if rowvar else x.mT for x in variables]
    if rows[0].shape[1] != rows[-1].shape[1]:
        counts = " and ".join(str(x.shape[1]) for x in rows)
        raise ShapeError(f"cov: the inputs have {counts} observations")
    x = rows[0] if len(rows) == 1 else concat(rows, axis=0)
    lost: Any = (0 if bias else 1) if ddof is None else ddof
    weights = [_weights(x, given) for given in (fweights, aweights) if given is not None]
    if not weights:
        x = x - mean(x, axis=1, keepdims=True)
        product = matmul(x, _conjugate(x).mT) * reciprocal(x.shape[1] - lost)
    else:
        w = weights[0] * weights[1] if len(weights) > 1 else weights[0]
        total = sum(w)
        x = x - sum(x * w, axis=1, keepdims=True) / total
        lost = lost if aweights is None else lost * sum(w * weights[-1]) / total
        product = matmul(x * w, _conjugate(x).mT) / (total - lost)
    return reshape(product, ()) if product.shape == (1, 1) else product


def _conjugate(x: Tensor) -> Tensor:
    return conj(x) if x.dtype.kind == "c" else x


def _weights(x: Tensor, given: ArrayLike) -> Tensor:
    """The weights of observations, the columns of `x`, in a real data type of its precision."""
    (_, weights) = tensors(x, given)
    if weights.shape != x.shape[1:]:
        raise ShapeError(f"cov: weights are {format_shape(weights.shape)}, observations {format_shape(x.shape[1:])}")
    return weights if weights.dtype.kind in "fc" else astype(weights, x.dtype)


def corrcoef(x: ArrayLike, y: ArrayLike | None = None, rowvar: bool = True) -> Tensor:
    """Correlation coefficients of variables, as `cov` takes them: covariances divided by standard deviations.

    Rounding does not lead outside -1 to 1; there the gradient is 0.
    """
    c = cov(x, y, rowvar)
    if not c.ndim:
        return c / c
    deviation = sqrt(real(diagonal(c)))
    c = c / deviation[:, None] / deviation[None, :]
    return clip(c, -1.0, 1.0) if c.dtype.kind == "f" else c


# ---- By bins, without a gradient


def digitize(x: ArrayLike, bins: ArrayLike, right: bool = False) -> Tensor:
    """The bin of each element, from 1: `bins[i - 1] <= x < bins[i]`, or `bins[i - 1] < x <= bins[i]` if `right`.

    If `bins` decreases: `bins[i - 1] > x >= bins[i]`, or `bins[i - 1] >= x > bins[i]`. No gradient.
    """
    with no_grad():
        values, edges = (t.detach() for t in tensors(x, bins))
        if edges.ndim != 1:
            raise ShapeError(f"digitize takes a vector of bins, got {format_shape(edges.shape)}")
        side = "left" if right else "right"
        flat = reshape(values, (-1,))
        rising = searchsorted(edges, flat, side=side)
        if edges.size < 2:
            return reshape(rising, values.shape)
        falling = edges.size - searchsorted(flip(edges), flat, side=side)
        return reshape(where(edges[0] > edges[-1], falling, rising), values.shape)


def histogram(
    a: ArrayLike,
    bins: int | ArrayLike = 10,
    range: Sequence[float] | None = None,
    density: bool = False,
    weights: ArrayLike | None = None,
) -> tuple[Tensor, Tensor]:
    """How many elements lie in each bin, or the sum of their weights, and the edges of the bins.

    `bins` is a number of bins of one width over `range` (by default from the smallest to the largest element), or
    their edges, in order. The last bin has its right edge too. With `density`, the integral is 1. `a` and the edges
    have no gradient, `weights` have.

    Raises:
        ShapeError: there is no bin, or `weights` have another shape than `a`.
    """
    x = asarray(a)
    with no_grad():
        flat = reshape(x.detach(), (-1,))
        edges = _edges(flat, bins, range)
        order = argsort(flat)
        ranked = take(flat, order)
        places = concat([searchsorted(ranked, edges[:-1]), searchsorted(ranked, edges[-1:], side="right")])
    if weights is None:
        counts = diff(places)
    else:
        (_, w) = tensors(x, weights)
        if w.shape != x.shape:
            raise ShapeError(f"histogram: weights are {format_shape(w.shape)}, elements {format_shape(x.shape)}")
        w = take(reshape(w, (-1,)), order)
        counts = diff(take(cumulative_sum(w, include_initial=True), places))
    if density:
        counts = astype(counts, edges.dtype) if weights is None else counts
        counts = counts / diff(edges) / sum(counts)
    return counts, edges


def _edges(flat: Tensor, bins: Any, range: Sequence[float] | None) -> Tensor:
    if not isinstance(bins, int):
        (_, edges) = tensors(flat, bins)
        if edges.ndim != 1 or edges.size < 2:
            raise ShapeError(f"histogram takes a vector of two edges at least, got {format_shape(edges.shape)}")
        return edges.detach()
    if bins < 1:
        raise ShapeError(f"histogram: {bins} bins")
    flat = floating(flat)
    if range is not None:
        (_, low, high) = tensors(flat, *map(float, range))
    elif flat.size:
        low, high = min(flat), max(flat)
    else:
        (_, low, high) = tensors(flat, 0.0, 1.0)
    spread = 0.5 * astype(low == high, low.dtype)
    return linspace(low - spread, high + spread, bins + 1)

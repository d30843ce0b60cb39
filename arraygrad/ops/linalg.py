"""Linear algebra without factors: products, diagonals, norms, determinants, inverses. See also decompositions.py.

A rule of an operation that is holomorphic has no conjugates, which the engine adds where the result is
complex (see engine.py); `adjoint` is in the others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from arraygrad.backends import Array, is_complex
from arraygrad.errors import ShapeError, format_shape
from arraygrad.op import constant, general, linear, multilinear
from arraygrad.ops.elementwise import divide_or_zero
from arraygrad.ops.statistical import Axis, reduced_axes, restore_axes, share_of_extremes, widened
from arraygrad.ops.utility import broadcast_shapes
from arraygrad.tensor import ArrayLike, Tensor


def adjoint(xp: Any, x: Array) -> Array:
    """The conjugate transpose of each matrix."""
    transposed = xp.matrix_transpose(x)
    return xp.conj(transposed) if is_complex(x) else transposed


def diagonal_matrix(xp: Any, x: Array) -> Array:
    """The matrices with `x` on their diagonals: `(..., N)` to `(..., N, N)`."""
    return xp.tril(xp.triu(xp.broadcast_to(x[..., None], (*x.shape, x.shape[-1]))))


def solve_adjoint(xp: Any, a: Array, b: Array) -> Array:
    """`b @ inv(a)`, by solving for its adjoint."""
    return adjoint(xp, xp.linalg.solve(adjoint(xp, a), adjoint(xp, b)))


def rounding_error(xp: Any, largest: Array, size: int) -> Array:
    """How far equal eigenvalues or singular values may come out apart, beside the largest absolute one.

    (Measured with LAPACK, sizes 2 to 300: at most 8 units of its last place.)
    """
    return largest * ((16 + size) * xp.finfo(largest.dtype).eps)


# ---- Products


def _grad_of_left(g: Array, xp: Any, x2: Array, x1_shape: tuple[int, ...]) -> Array:
    """`g @ x2.mT`, with the axis back that a 1-D operand lost in the product."""
    if x2.ndim == 1:
        return g * x2 if len(x1_shape) == 1 else g[..., None] * x2
    if len(x1_shape) == 1:
        return xp.matmul(g[..., None, :], xp.matrix_transpose(x2))[..., 0, :]
    return xp.matmul(g, xp.matrix_transpose(x2))


def _grad_of_right(g: Array, xp: Any, x1: Array, x2_shape: tuple[int, ...]) -> Array:
    """`x1.mT @ g`, with the axis back that a 1-D operand lost in the product."""
    if x1.ndim == 1:
        return g * x1 if len(x2_shape) == 1 else x1[:, None] * g[..., None, :]
    if len(x2_shape) == 1:
        return xp.matmul(xp.matrix_transpose(x1), g[..., None])[..., 0]
    if len(x2_shape) == 2 and x1.ndim > 2:
        # One product over the whole batch instead of one a matrix, then a sum.
        rows = math.prod(x1.shape[:-1])
        x1, g = xp.reshape(x1, (rows, x1.shape[-1])), xp.reshape(g, (rows, g.shape[-1]))
    return xp.matmul(xp.matrix_transpose(x1), g)


@multilinear(
    lambda g, xp, x2, x1_shape: _grad_of_left(g, xp, x2, x1_shape),
    lambda g, xp, x1, x2_shape: _grad_of_right(g, xp, x1, x2_shape),
)
def matmul(xp: Any, x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Matrix product: `(..., N, K) @ (..., K, M)` is `(..., N, M)`; leading axes broadcast.

    A 1-D operand is a row on the left and a column on the right, and that axis leaves the result.

    >>> import arraygrad as ag
    >>> ag.matmul(ag.tensor([[1.0, 2.0], [3.0, 4.0]]), ag.tensor([1.0, 1.0]))
    tensor([3., 7.], dtype=float64, device='cpu')
    """
    return xp.matmul(x1, x2)


@multilinear(
    # Each of a, b and g in a . (b x g) may go first.
    lambda g, xp, x1, x2, axis: xp.linalg.cross(x2, g, axis=_from_the_end("cross", axis, x1, x2)),
    lambda g, xp, x1, x2, axis: xp.linalg.cross(g, x1, axis=_from_the_end("cross", axis, x1, x2)),
)
def cross(xp: Any, x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Array:
    """Cross product of vectors of 3 elements along an axis, counted from the end; the others broadcast.

    Raises:
        ShapeError: the size of the axis is not 3.
    """
    axis = _from_the_end("cross", axis, x1, x2)
    if (x1.shape[axis], x2.shape[axis]) != (3, 3):
        raise ShapeError(
            f"cross needs 3 elements along axis {axis}, got {format_shape(x1.shape)} and {format_shape(x2.shape)}"
        )
    return xp.linalg.cross(x1, x2, axis=axis)


def _from_the_end(name: str, axis: int, x1: Array, x2: Array) -> int:
    """The axis as a negative number, which means the same before and after broadcasting."""
    shape1, shape2 = _shape(x1), _shape(x2)
    ndim = min(len(shape1), len(shape2))
    if not -ndim <= axis < (ndim if len(shape1) == len(shape2) else 0):
        raise ShapeError(
            f"{name}: axis {axis} is outside {format_shape(shape1)} or {format_shape(shape2)}; "
            "if they differ in length, count it from the end: -1 is the last"
        )
    return axis if axis < 0 else axis - ndim


def _shape(x: Any) -> tuple[int, ...]:
    return getattr(x, "shape", ())  # a number has none


@multilinear(lambda g, xp, x2: xp.matmul(g, x2), lambda g, xp, x1: xp.matmul(x1, g))
def outer(xp: Any, x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Products of each element of one vector with each of another: `(N,)` and `(M,)` to `(N, M)`.

    Raises:
        ShapeError: an input has not one axis.
    """
    if (len(_shape(x1)), len(_shape(x2))) != (1, 1):
        raise ShapeError(f"outer takes vectors, got {format_shape(_shape(x1))} and {format_shape(_shape(x2))}")
    return xp.linalg.outer(x1, x2)


@multilinear(
    lambda g, xp, x2, x1_shape, axes: _grad_of_tensordot(g, xp, x2, x1_shape, axes, is_left=True),
    lambda g, xp, x1, x2_shape, axes: _grad_of_tensordot(g, xp, x1, x2_shape, axes, is_left=False),
)
def tensordot(
    xp: Any, x1: ArrayLike, x2: ArrayLike, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2
) -> Array:
    """Sum of products over pairs of axes: the last `axes` of `x1` with the first of `x2`, or those in two lists.

    The other axes of `x1`, then those of `x2`, are the result's.

    >>> import arraygrad as ag
    >>> ag.linalg.tensordot(ag.ones((2, 3)), ag.ones((4, 3)), axes=((1,), (1,))).shape
    (2, 4)
    """
    return xp.tensordot(x1, x2, axes=axes)


def _grad_of_tensordot(
    g: Array,
    xp: Any,
    other: Array,
    shape: tuple[int, ...],
    axes: int | tuple[Sequence[int], Sequence[int]],
    is_left: bool,
) -> Array:
    """Contract `g` with the other operand's free axes, then bring the axes that were summed to their places."""
    ndim, other_ndim = len(shape), len(other.shape)
    if isinstance(axes, int):
        last, first = range((ndim if is_left else other_ndim) - axes, ndim if is_left else other_ndim), range(axes)
        pairs: tuple[Sequence[int], Sequence[int]] = (last, first)
    else:
        pairs = axes
    summed = [axis % ndim for axis in pairs[not is_left]]
    others = [axis % other_ndim for axis in pairs[is_left]]
    free = [axis for axis in range(ndim) if axis not in summed]
    other_free = [axis for axis in range(other_ndim) if axis not in others]
    # The other operand's free axes are the last of g beside the left operand, the first beside the right.
    in_g = range(len(free), g.ndim) if is_left else range(len(other_free))
    product = xp.tensordot(g, other, axes=(tuple(in_g), tuple(other_free)))
    # Its axes: the free ones of this operand, then the partners of the summed ones in the other's order.
    partners = [summed[others.index(axis)] for axis in sorted(others)]
    order = [*free, *partners]
    return xp.permute_dims(product, tuple(order.index(axis) for axis in range(ndim)))


@multilinear(
    lambda g, xp, x1, x2, axis: x2 * xp.expand_dims(_conj(xp, g), axis=_from_the_end("vecdot", axis, x1, x2)),
    lambda g, xp, x1, x2, axis: x1 * xp.expand_dims(g, axis=_from_the_end("vecdot", axis, x1, x2)),
    is_holomorphic=False,
)
def vecdot(xp: Any, x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Array:
    """Sum of `conj(x1) * x2` over an axis, counted from the end; the others broadcast.

    Raises:
        ShapeError: the axis differs in size.
    """
    return xp.vecdot(x1, x2, axis=_from_the_end("vecdot", axis, x1, x2))


def _conj(xp: Any, x: Array) -> Array:
    return xp.conj(x) if is_complex(x) else x


@general(lambda g, xp, x, n: _grad_of_power(g, xp, x, n))
def matrix_power(xp: Any, x: ArrayLike, n: int, /) -> Array:
    """Product of `n` copies of each matrix `(..., N, N)`; of the inverse for a negative `n`.

    Raises:
        ShapeError: a matrix is not square, or must be inverted and is singular.
    """
    return xp.linalg.matrix_power(x, n) if n != 1 else xp.asarray(x, copy=True)


def _grad_of_power(g: Array, xp: Any, x: Array, n: int) -> Array:
    """The sum of `a ** k @ g @ a ** (n - 1 - k)` for `a = x.mT`, which is a block of one power.

    R. Mathias, "A chain rule for matrix functions and applications" (1996). It holds for any
    function of a matrix, so for negative `n` too.
    """
    size, transposed = x.shape[-1], xp.matrix_transpose(x)
    above = xp.concat([transposed, g], axis=-1)
    below = xp.concat([xp.zeros_like(x), transposed], axis=-1)
    return xp.linalg.matrix_power(xp.concat([above, below], axis=-2), n)[..., :size, size:]


# ---- Diagonals


@linear(lambda g, xp, x_shape, offset: on_diagonal(xp, as_rows(xp, g, x_shape, offset), x_shape, offset), is_view=True)
def diagonal(xp: Any, x: ArrayLike, /, *, offset: int = 0) -> Array:
    """Diagonals of matrices `(..., M, N)`: `offset` above the main one, or below it if negative.

    A view.
    """
    return xp.diagonal(x, offset=offset)


def as_rows(xp: Any, g: Array, shape: tuple[int, ...], offset: int) -> Array:
    """Each element of a diagonal at its row, zeros at rows that the diagonal does not reach."""
    above = min(max(-offset, 0), shape[-2])
    below = shape[-2] - above - g.shape[-1]
    zero = xp.zeros_like(xp.sum(g, axis=-1, keepdims=True))
    return xp.concat(
        [xp.broadcast_to(zero, (*shape[:-2], above)), g, xp.broadcast_to(zero, (*shape[:-2], below))], axis=-1
    )


def on_diagonal(xp: Any, rows: Array, shape: tuple[int, ...], offset: int) -> Array:
    """Matrices with an element of `rows` in each row, on the diagonal, and zeros elsewhere."""
    return xp.tril(xp.triu(xp.broadcast_to(rows[..., None], shape), k=offset), k=offset)


@linear(lambda g, xp, x_shape, offset: on_diagonal(xp, g[..., None], x_shape, offset))
def trace(xp: Any, x: ArrayLike, /, *, offset: int = 0, dtype: Any = None) -> Array:
    """Sum of a diagonal of matrices `(..., M, N)`: `offset` above the main one, or below it if negative."""
    return xp.linalg.trace(x, offset=offset, dtype=dtype)


# ---- Norms


@general(
    lambda g, xp, x, out, axis, keepdims, ord: (
        restore_axes(xp, g, x.shape, axis, keepdims)
        * _norm_slope(xp, x, restore_axes(xp, out, x.shape, axis, keepdims), axis, ord)
    )
)
def vector_norm(xp: Any, x: ArrayLike, /, *, axis: Axis = None, keepdims: bool = False, ord: float = 2) -> Array:
    """Norm over axes: `sum(abs(x) ** ord) ** (1 / ord)`; infinity for the largest, 0 for a count.

    Where the norm is 0, so is the gradient. For an infinite `ord` elements that tie share it evenly.
    """
    return widened(xp, x, lambda x: xp.linalg.vector_norm(x, axis=axis, keepdims=keepdims, ord=ord))


def _norm_slope(xp: Any, x: Array, norm: Array, axis: Axis, ord: float) -> Array:
    """The derivative of the norm with respect to each element; `norm` has its reduced axes."""
    if ord == 2:
        return divide_or_zero(xp, x, norm)
    if ord == 0:
        return xp.zeros_like(x)
    if ord == 1:
        return xp.sign(x)
    if ord in (float("inf"), float("-inf")):
        return xp.sign(x) * share_of_extremes(xp.ones_like(norm), xp, xp.abs(x), norm, reduced_axes(axis, x.ndim), True)
    # (|x| / norm) ** (ord - 1), and 0 where x is: below 1 the power is infinite there.
    ratio = divide_or_zero(xp, xp.abs(x), norm)
    is_zero = ratio == 0
    return xp.sign(x) * xp.where(is_zero, 0.0, xp.where(is_zero, 1.0, ratio) ** (ord - 1))


@general(
    lambda g, xp, x, out, keepdims, ord: (
        _matrix_norm_slope(xp, x, out if keepdims else out[..., None, None], ord)
        * (g if keepdims else g[..., None, None])
    )
)
def matrix_norm(xp: Any, x: ArrayLike, /, *, keepdims: bool = False, ord: float | str | None = "fro") -> Array:
    """Norm of each matrix `(..., M, N)`: the root of the sum of squares ("fro", None), the sum ("nuc"), the largest
    (2) or the smallest (-2) of the singular values; the largest (1) or smallest (-1) sum of absolute values of a
    column, or of a row (inf, -inf).

    Columns, rows and singular values that tie share the gradient evenly. Where the norm is 0, so is the
    gradient, and a singular value that is 0 up to rounding has none.
    """
    return widened(xp, x, lambda x: xp.linalg.matrix_norm(x, keepdims=keepdims, ord=ord))


def _matrix_norm_slope(xp: Any, x: Array, norm: Array, ord: Any) -> Array:
    """The derivative of the norm with respect to each element; `norm` has its reduced axes."""
    if ord in ("fro", None):
        return divide_or_zero(xp, x, norm)
    if ord in ("nuc", 2, -2):
        u, s, vh = xp.linalg.svd(x, full_matrices=False)
        if not s.shape[-1]:
            return xp.zeros_like(x)
        weight = s > rounding_error(xp, s[..., :1], max(x.shape[-2:]))
        if ord != "nuc":
            weight = weight & (s == (s[..., :1] if ord == 2 else s[..., -1:]))
        weight = xp.astype(weight, s.dtype)
        if ord != "nuc":
            count = xp.sum(weight, axis=-1, keepdims=True)
            weight = weight / xp.where(count == 0, 1.0, count)
        return xp.matmul(u * weight[..., None, :], vh)
    along, across = (-2, -1) if ord in (1, -1) else (-1, -2)
    sums = xp.sum(xp.abs(x), axis=along, keepdims=True)
    extreme = (xp.max if ord > 0 else xp.min)(sums, axis=across, keepdims=True)
    return xp.sign(x) * share_of_extremes(xp.ones_like(extreme), xp, sums, extreme, across, True)


@constant
def matrix_rank(xp: Any, x: ArrayLike, /, *, rtol: float | ArrayLike | None = None) -> Array:
    """Number of singular values of each matrix `(..., M, N)` that are larger than `rtol` times the largest.

    The default `rtol` is `max(M, N)` times the distance from 1 to the next number. No gradient.
    """
    return xp.linalg.matrix_rank(x, rtol=rtol)


# ---- Determinants and inverses


@general(lambda g, xp, x: _change_of_cofactors(g, xp, x))
def cofactors(xp: Any, x: ArrayLike, /) -> Array:
    """The derivative of the determinant of each matrix `(..., N, N)`: `det(x) * inv(x).mT` where that exists."""
    return _cofactors(xp, x)


@general(lambda g, xp, x: g[..., None, None] * (cofactors(x) if isinstance(x, Tensor) else _cofactors(xp, x)))
def det(xp: Any, x: ArrayLike, /) -> Array:
    """Determinant of each matrix `(..., N, N)`. The gradient is right for singular matrices too.

    >>> import arraygrad as ag
    >>> x = ag.tensor([[1.0, 2.0], [2.0, 4.0]], requires_grad=True)
    >>> ag.linalg.det(x).backward()
    >>> ag.max(ag.abs(x.grad - ag.tensor([[4.0, -2.0], [-2.0, 1.0]]))) < 1e-12
    tensor(True, dtype=bool, device='cpu')
    """
    return xp.linalg.det(x)


def _cofactors(xp: Any, x: Array) -> Array:
    """Those of the singular values are products of all others, without a division, so they may be 0.

    C(A B) = C(A) C(B), and the cofactors of a unitary U are det(U) conj(U): R. A. Horn and C. R. Johnson,
    "Matrix Analysis", section 0.8, on the adjugate, which is their transpose.
    """
    u, s, vh, sign = _unit_factors(xp, x)
    before, after = _products_around(xp, s)
    return sign * xp.matmul(_conj(xp, u) * (before * after)[..., None, :], _conj(xp, vh))


def _change_of_cofactors(g: Array, xp: Any, x: Array) -> Array:
    """The change of the cofactors as `x` changes by `g`. It is a symmetric map of `g`, so it is a rule as well.

    For a diagonal matrix each is a sum of products of all singular values but two; the rest as above.
    """
    u, s, vh, sign = _unit_factors(xp, x)
    before, after = _products_around(xp, s)
    # Between[i, j] is the product over i < k < j.
    ones = xp.ones_like(s[..., None] * s[..., None, :])
    right = xp.triu(xp.broadcast_to(s[..., None, :], ones.shape), k=1) + xp.tril(ones)
    between = xp.cumulative_prod(right, axis=-1, include_initial=True)[..., :-1]
    upper = xp.triu(before[..., :, None] * between * after[..., None, :], k=1)
    pairs = upper + xp.matrix_transpose(upper)
    inner = xp.matmul(xp.matmul(adjoint(xp, u), g), adjoint(xp, vh))
    diagonal = xp.sum(pairs * xp.linalg.diagonal(inner)[..., None, :], axis=-1)
    inner = diagonal_matrix(xp, diagonal) - pairs * xp.matrix_transpose(inner)
    return sign * xp.matmul(xp.matmul(_conj(xp, u), inner), _conj(xp, vh))


def _unit_factors(xp: Any, x: Array) -> tuple[Array, Array, Array, Array]:
    """Singular vectors and values, and the product of the determinants of the vectors."""
    u, s, vh = xp.linalg.svd(x, full_matrices=False)
    return u, s, vh, (xp.linalg.det(u) * xp.linalg.det(vh))[..., None, None]


def _products_around(xp: Any, s: Array) -> tuple[Array, Array]:
    """The products of what is before each element, and of what is after it."""
    before = xp.cumulative_prod(s, axis=-1, include_initial=True)[..., :-1]
    after = xp.cumulative_prod(xp.flip(s, axis=-1), axis=-1, include_initial=True)[..., :-1]
    return before, xp.flip(after, axis=-1)


@general(lambda g, xp, out: -xp.matmul(xp.matmul(xp.matrix_transpose(out), g), xp.matrix_transpose(out)))
def inv(xp: Any, x: ArrayLike, /) -> Array:
    """Inverse of each matrix `(..., N, N)`.

    Raises:
        ShapeError: a matrix is not square, or is singular.
    """
    return xp.linalg.inv(x)


@general(lambda g, xp, x, rtol, out: _grad_of_pinv(g, xp, x, rtol, out), is_holomorphic=False)
def pinv(xp: Any, x: ArrayLike, /, *, rtol: float | ArrayLike | None = None) -> Array:
    """Pseudo-inverse of each matrix `(..., M, N)`, which is `(..., N, M)`.

    Singular values up to `rtol` times the largest count as 0; the default is rounding error. The gradient is that
    for the singular values that count now: where more or fewer do, the pseudo-inverse jumps.
    """
    return xp.linalg.pinv(x, rtol=rtol)


def _grad_of_pinv(g: Array, xp: Any, x: Array, rtol: Any, out: Array) -> Array:
    """The transpose of the differential in G. H. Golub and V. Pereyra, "The differentiation of pseudo-inverses
    and nonlinear least squares problems whose variables separate" (1973), section 4.
    """
    pinv_h, gh = adjoint(xp, out), adjoint(xp, g)
    left = xp.matmul(xp.matmul(gh, out), pinv_h)
    right = xp.matmul(xp.matmul(pinv_h, out), gh)
    grad = (
        left
        - xp.matmul(x, xp.matmul(out, left))
        + right
        - xp.matmul(xp.matmul(right, out), x)
        - xp.matmul(xp.matmul(pinv_h, g), pinv_h)
    )
    return grad if rtol is None else grad + _grad_of_cut(g, xp, x, out)


def _grad_of_cut(g: Array, xp: Any, x: Array, out: Array) -> Array:
    """What the gradient has beside that for matrices of a lower rank if singular values were cut that are not 0.

    V. Noferini, "A formula for the Frechet derivative of a generalized matrix function" (2017), for the function
    that is 1 / s of what was kept and 0 of the rest: for a pair of one of each it has a divided difference.
    """
    u, s, vh = xp.linalg.svd(x, full_matrices=False)
    inverses = xp.linalg.diagonal(xp.matmul(xp.matmul(vh, out), u))
    is_kept = s * (xp.real(inverses) if is_complex(x) else inverses) > 0.5
    is_pair = is_kept[..., :, None] & ~is_kept[..., None, :]
    kept = xp.where(is_pair, s[..., :, None], 1.0)
    cut = xp.where(is_pair, s[..., None, :], 0.0)
    one_way = cut / (kept * (kept - cut) * (kept + cut))
    other_way = one_way * cut / kept
    inner = xp.matmul(xp.matmul(vh, g), u)
    mixed = (one_way + xp.matrix_transpose(one_way)) * inner
    crossed = (other_way + xp.matrix_transpose(other_way)) * inner
    return xp.matmul(xp.matmul(u, mixed + adjoint(xp, crossed)), vh)


@general(
    lambda g, xp, x1, x2_shape, out: _grad_of_system(g, xp, x1, x2_shape, out),
    lambda g, xp, x1, x2_shape: _solve_as(xp, xp.matrix_transpose(x1), g, x2_shape),
    broadcasts=True,
)
def solve(xp: Any, x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The `x` for which `x1 @ x` is `x2`: `(..., N, N)` and `(..., N, K)` to `(..., N, K)`; leading axes broadcast.

    `x2` is one vector if it has one axis, else matrices.

    Raises:
        ShapeError: shapes do not fit, or a matrix is singular.
    """
    if len(_shape(x1)) < 2 or not _shape(x2):
        raise ShapeError(f"solve takes matrices, got {format_shape(_shape(x1))} and {format_shape(_shape(x2))}")
    return _solve(xp, x1, x2)


def _solve(xp: Any, a: Array, b: Array) -> Array:
    """Solve with leading axes of one shape: CuPy does not broadcast them."""
    if b.ndim == 1 and a.ndim > 2:
        return _solve(xp, a, b[:, None])[..., 0]
    if b.ndim > 1 and a.shape[:-2] != b.shape[:-2]:
        stack = broadcast_shapes(a.shape[:-2], b.shape[:-2])
        a, b = xp.broadcast_to(a, (*stack, *a.shape[-2:])), xp.broadcast_to(b, (*stack, *b.shape[-2:]))
    return xp.linalg.solve(a, b)


def _solve_as(xp: Any, a: Array, b: Array, x2_shape: tuple[int, ...]) -> Array:
    """Solve for vectors if the second operand was one, which may since have got leading axes."""
    return _solve(xp, a, b[..., None])[..., 0] if len(x2_shape) == 1 else _solve(xp, a, b)


def _grad_of_system(g: Array, xp: Any, x1: Array, x2_shape: tuple[int, ...], out: Array) -> Array:
    """Minus the gradient of the right side times the solution."""
    grad = _solve_as(xp, xp.matrix_transpose(x1), g, x2_shape)
    if len(x2_shape) == 1:
        return -grad[..., :, None] * out[..., None, :]
    return -xp.matmul(grad, xp.matrix_transpose(out))

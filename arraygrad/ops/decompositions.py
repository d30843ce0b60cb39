"""Linear algebra by factors: Cholesky, QR, eigenvalues, singular values.

Factors are unique up to a gauge only: the sign or the phase of a vector. A gradient means something if the
loss does not change with the gauge, as no part of U @ diag(S) @ Vh does; the rules take that for granted. Where
values are equal, up to rounding, vectors are arbitrary within a space: gradients that pass through them are
NaN there, those through the values alone are right.

For complex factors the rules are not holomorphic and follow C. Boeddeker et al., "On the computation of
complex-valued gradients with application to statistically optimum beamforming" (2017, arXiv:1701.00392); qr and
svd have their own sources.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, cast

from arraygrad.backends import Array, is_complex
from arraygrad.errors import GraphError, format_shape
from arraygrad.op import constant, general
from arraygrad.ops.linalg import adjoint, diagonal_matrix, rounding_error, solve_adjoint
from arraygrad.ops.used import is_any_used, times, used_columns
from arraygrad.tensor import ArrayLike, Tensor


class EigResult(NamedTuple):
    """What `eig` returns."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class EighResult(NamedTuple):
    """What `eigh` returns."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class QRResult(NamedTuple):
    """What `qr` returns."""

    Q: Tensor
    R: Tensor


class SlogdetResult(NamedTuple):
    """What `slogdet` returns."""

    sign: Tensor
    logabsdet: Tensor


class SVDResult(NamedTuple):
    """What `svd` returns."""

    U: Tensor
    S: Tensor
    Vh: Tensor


def _total(terms: list[Array]) -> Array:
    """The sum of what the cotangents that came contribute."""
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def _hermitian(xp: Any, x: Array) -> Array:
    return 0.5 * (x + adjoint(xp, x))


def _real_diagonal(xp: Any, x: Array) -> Array:
    diagonal = xp.linalg.diagonal(x)
    return xp.real(diagonal) if is_complex(x) else diagonal


def _mirrored(xp: Any, triangle: Array) -> Array:
    """The Hermitian matrix with this triangle: the diagonal is its real part."""
    return triangle + adjoint(xp, triangle) - diagonal_matrix(xp, _real_diagonal(xp, triangle))


def _inverse_gaps(xp: Any, values: Array) -> Array:
    """`1 / (values[j] - values[i])` at row i and column j: 0 on the diagonal, NaN for values equal up to rounding."""
    gaps = values[..., None, :] - values[..., :, None]
    size = values.shape[-1]
    if size < 2:
        return xp.zeros_like(gaps)
    largest = xp.max(xp.abs(values), axis=-1, keepdims=True)
    is_equal = xp.abs(gaps) <= rounding_error(xp, largest, size)[..., None]
    inverse = xp.where(is_equal, xp.nan, 1.0 / xp.where(is_equal, 1.0, gaps))
    return xp.triu(inverse, k=1) + xp.tril(inverse, k=-1)


# ---- Cholesky


@general(lambda g, xp, out, upper: _grad_of_cholesky(g, xp, out, upper), is_holomorphic=False)
def cholesky(xp: Any, x: ArrayLike, /, *, upper: bool = False) -> Array:
    """The lower triangular `L` with `x == L @ L^H`, of Hermitian positive definite matrices `(..., N, N)`; or `L^H`.

    Only a triangle of `x` is read. The gradient is Hermitian: it is the one among Hermitian matrices.

    Raises:
        ShapeError: a matrix is not square, or not positive definite.
    """
    return xp.linalg.cholesky(x, upper=upper)


def _grad_of_cholesky(g: Array, xp: Any, out: Array, upper: bool) -> Array:
    """I. Murray, "Differentiation of the Cholesky decomposition" (2016, arXiv:1602.07527)."""
    if upper:
        out, g = adjoint(xp, out), adjoint(xp, g)
    inner = _mirrored(xp, xp.tril(xp.matmul(adjoint(xp, out), g)))
    return 0.5 * _hermitian(xp, xp.linalg.solve(adjoint(xp, out), solve_adjoint(xp, out, inner)))


# ---- QR


@general(lambda g, xp, Q, R, mode: _grad_of_qr(g, xp, Q, R, mode), outputs=QRResult)  # noqa: N803  the standard's names
def _qr(xp: Any, x: ArrayLike, /, *, mode: str = "reduced") -> Array:
    return xp.linalg.qr(x, mode=mode)


def qr(x: ArrayLike, /, *, mode: Literal["reduced", "complete"] = "reduced") -> QRResult:
    """`x == Q @ R`, `Q` with orthonormal columns and `R` upper triangular, of matrices `(..., M, N)`.

    With `K = min(M, N)`, `Q` is `(..., M, K)` and `R` is `(..., K, N)`; with mode="complete" `K` is M. The first
    `min(M, N)` columns of `x` must be linearly independent. For complex `x` the gradient is that of the factors
    whose `R` has a real diagonal, as the libraries compute them.

    Raises:
        ValueError: `mode` is neither.
        GraphError: in backward, the gradient passes through the `Q` of mode="complete" beyond its first N columns:
            the others are arbitrary.
    """
    if mode not in ("reduced", "complete"):
        raise ValueError(f'qr: mode is "reduced" or "complete", not {mode!r}')
    return cast("QRResult", _qr(x, mode=mode))


def _grad_of_qr(g: Any, xp: Any, q: Array, r: Array, mode: str) -> Array:
    """S. F. Walter and L. Lehmann, "Algorithmic differentiation of linear algebra functions with application in
    optimum experimental design" (2010), and for M < N and complex numbers D. A. O. Roberts and L. R. Roberts,
    "QR and LQ decomposition matrix backpropagation algorithms for square, wide, and deep matrices - real or
    complex" (2020, arXiv:2009.10071).
    """
    grad_q, grad_r = g
    rows, columns = q.shape[-2], r.shape[-1]
    if mode == "complete" and rows > columns:
        if grad_q is not None and is_any_used(grad_q[..., columns:]):
            raise GraphError(
                f'qr: the Q of a matrix {format_shape((rows, columns))} has no gradient with mode="complete", since '
                'its last columns are arbitrary; use mode="reduced"'
            )
        q, r = q[..., :columns], r[..., :columns, :]
        grad_q = None if grad_q is None else grad_q[..., :columns]
        grad_r = None if grad_r is None else grad_r[..., :columns, :]
    if rows >= columns:
        return _grad_of_deep_qr(grad_q, grad_r, xp, q, r)
    # The columns from M on are q @ r: they depend on the first M through q alone.
    if grad_r is None:
        first = _grad_of_deep_qr(grad_q, None, xp, q, r[..., :rows])
        return xp.concat([first, xp.zeros_like(xp.matmul(first, r[..., rows:]))], axis=-1)
    from_rest = xp.matmul(q, xp.matmul(r[..., rows:], adjoint(xp, grad_r[..., rows:])))
    grad_q = from_rest if grad_q is None else grad_q + from_rest
    first = _grad_of_deep_qr(grad_q, grad_r[..., :rows], xp, q, r[..., :rows])
    return xp.concat([first, xp.matmul(q, grad_r[..., rows:])], axis=-1)


def _grad_of_deep_qr(grad_q: Any, grad_r: Any, xp: Any, q: Array, r: Array) -> Array:
    terms = []
    if grad_r is not None:
        terms.append(xp.matmul(grad_r, adjoint(xp, r)))
    if grad_q is not None:
        terms.append(-xp.matmul(adjoint(xp, q), grad_q))
    total = xp.matmul(q, _mirrored(xp, xp.triu(_total(terms))))
    return solve_adjoint(xp, adjoint(xp, r), total if grad_q is None else total + grad_q)


# ---- Eigenvalues of Hermitian matrices


@general(
    lambda g, xp, eigenvalues, eigenvectors: _grad_of_eigh(g, xp, eigenvalues, eigenvectors),
    outputs=EighResult,
)
def _eigh(xp: Any, x: ArrayLike, /) -> Array:
    return xp.linalg.eigh(x)


def eigh(x: ArrayLike, /) -> EighResult:
    """Eigenvalues `(..., N)`, ascending, and eigenvectors, the columns, of Hermitian matrices `(..., N, N)`.

    Only a triangle of `x` is read. The gradient is Hermitian: it is the one among Hermitian matrices. A loss of
    the eigenvectors must not change with their signs or phases; at equal eigenvalues its gradient is NaN, unless it
    uses none of their vectors.

    >>> import arraygrad as ag
    >>> ag.linalg.eigh(ag.tensor([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    tensor([1., 2.], dtype=float64, device='cpu')
    """
    return cast("EighResult", _eigh(x))


def _grad_of_eigh(g: Any, xp: Any, values: Array, vectors: Array) -> Array:
    """M. B. Giles, "An extended collection of matrix derivative results for forward and reverse mode AD" (2008)."""
    grad_values, grad_vectors = g
    if grad_vectors is None:
        return _from_values(xp, grad_values, vectors, adjoint(xp, vectors))
    inner = xp.matmul(adjoint(xp, vectors), grad_vectors)
    terms = [times(xp, inner, _inverse_gaps(xp, values), used_columns(xp, grad_vectors)[..., None, :])]
    if grad_values is not None:
        terms.append(diagonal_matrix(xp, grad_values))
    return _hermitian(xp, xp.matmul(xp.matmul(vectors, _total(terms)), adjoint(xp, vectors)))


def _from_values(xp: Any, g: Array, left: Array, right: Array) -> Array:
    return xp.matmul(left * g[..., None, :], right)


@general(lambda g, xp, x: _grad_of_eigvalsh(g, xp, xp.linalg.eigh(x)[1]))
def eigvalsh(xp: Any, x: ArrayLike, /) -> Array:
    """Eigenvalues `(..., N)`, ascending, of Hermitian matrices `(..., N, N)`.

    Only a triangle of `x` is read. The gradient is Hermitian, and exact at equal eigenvalues for losses that
    treat them alike. (Backward computes the eigenvectors.)
    """
    return xp.linalg.eigvalsh(x)


def _grad_of_eigvalsh(g: Array, xp: Any, vectors: Array) -> Array:
    return _from_values(xp, g, vectors, adjoint(xp, vectors))


# ---- Eigenvalues of any square matrices


@general(
    lambda g, xp, eigenvalues, eigenvectors: _grad_of_eig(g, xp, eigenvalues, eigenvectors),
    outputs=EigResult,
)
def _eig(xp: Any, x: ArrayLike, /) -> Array:
    return xp.linalg.eig(x)


def eig(x: ArrayLike, /) -> EigResult:
    """Eigenvalues `(..., N)`, in no order, and eigenvectors, columns of length 1, of matrices `(..., N, N)`.

    Both are complex. A loss of the eigenvectors must not change with their phases; at equal eigenvalues its
    gradient is NaN, unless it uses none of their vectors.
    """
    return cast("EigResult", _eig(x))


def _grad_of_eig(g: Any, xp: Any, values: Array, vectors: Array) -> Array:
    """C. Boeddeker et al. (2017), for vectors of length 1: what would change their length is projected out."""
    grad_values, grad_vectors = g
    terms = []
    adjoints = adjoint(xp, vectors)
    if grad_values is not None:
        terms.append(diagonal_matrix(xp, grad_values))
    if grad_vectors is not None:
        inner = xp.matmul(adjoints, grad_vectors)
        inner = inner - xp.matmul(adjoints, vectors * _real_diagonal(xp, inner)[..., None, :])
        is_used = used_columns(xp, grad_vectors)[..., None, :]
        terms.append(times(xp, inner, xp.conj(_inverse_gaps(xp, values)), is_used))
    return xp.linalg.solve(adjoints, xp.matmul(_total(terms), adjoints))


@constant
def _eigvals(xp: Any, x: ArrayLike, /) -> Array:
    return xp.linalg.eigvals(x)


def eigvals(x: ArrayLike, /) -> Tensor:
    """Eigenvalues `(..., N)`, complex and in no order, of matrices `(..., N, N)`.

    If `x` requires grad they are those of `eig`, since the vectors are needed, and the libraries may find the
    values in another order without them.
    """
    if isinstance(x, Tensor) and (x.requires_grad or type(x) is not Tensor):
        return eig(x).eigenvalues
    return _eigvals(x)


# ---- Singular values


@general(lambda g, xp, U, S, Vh: _grad_of_svd(g, xp, U, S, Vh), outputs=SVDResult)  # noqa: N803  the standard's names
def _svd(xp: Any, x: ArrayLike, /, *, full_matrices: bool = True) -> Array:
    return xp.linalg.svd(x, full_matrices=full_matrices)


def svd(x: ArrayLike, /, *, full_matrices: bool = True) -> SVDResult:
    """`x == U @ diag(S) @ Vh`, singular values in descending order, of matrices `(..., M, N)`.

    With `K = min(M, N)`, `U` is `(..., M, K)` and `Vh` is `(..., K, N)`, or `(..., M, M)` and `(..., N, N)` with
    `full_matrices`. A loss must not change if a column of `U` and a row of `Vh` change their signs or
    opposite phases together. Its gradient through `U` and `Vh` is NaN at equal singular values, and where `x` is not
    square at singular values that are 0, unless it uses none of their vectors.

    Raises:
        GraphError: in backward, the gradient passes through vectors beyond the first K: they are arbitrary.
    """
    return cast("SVDResult", _svd(x, full_matrices=full_matrices))


def _grad_of_svd(g: Any, xp: Any, u: Array, s: Array, vh: Array) -> Array:
    """Z.-Q. Wan and S.-X. Zhang, "Automatic differentiation for complex valued SVD" (2019, arXiv:1909.02659)."""
    grad_u, grad_s, grad_vh = g
    rows, columns, size = u.shape[-2], vh.shape[-1], s.shape[-1]
    extras = {"U": grad_u is not None and grad_u[..., size:], "Vh": grad_vh is not None and grad_vh[..., size:, :]}
    for name, extra in extras.items():
        if extra is not False and is_any_used(extra):
            raise GraphError(
                f"svd: the {name} of a matrix {format_shape((rows, columns))} has no gradient with full_matrices=True, "
                f"since its vectors beyond the first {size} are arbitrary; use full_matrices=False"
            )
    u, vh = u[..., :size], vh[..., :size, :]
    grad_u = None if grad_u is None else grad_u[..., :size]
    grad_vh = None if grad_vh is None else grad_vh[..., :size, :]
    if grad_u is None and grad_vh is None:
        return _from_values(xp, grad_s, u, vh)
    column, row = s[..., :, None], s[..., None, :]
    sums = column + row
    inverse_gaps = _inverse_gaps(xp, s) / xp.where(sums == 0, 1.0, sums)  # of the squares
    inner, outer = [], []
    if grad_s is not None:
        inner.append(diagonal_matrix(xp, grad_s))
    if grad_u is not None:
        uhg, is_used = xp.matmul(adjoint(xp, u), grad_u), used_columns(xp, grad_u)
        is_used_pair = is_used[..., None, :] | is_used[..., :, None]
        inner.append(times(xp, uhg - adjoint(xp, uhg), inverse_gaps, is_used_pair) * row)
        if is_complex(u):  # the phase, which only U changes with: a convention without effect on a fair loss
            phase = times(xp, xp.imag(xp.linalg.diagonal(uhg)), _inverse_values(xp, s), is_used)
            inner.append(diagonal_matrix(xp, 1j * phase))
        if rows > size:
            inverse = _inverse_values(xp, s)[..., None, :]
            rest = times(xp, grad_u - xp.matmul(u, uhg), inverse, is_used[..., None, :])
            outer.append(xp.matmul(rest, vh))
    if grad_vh is not None:
        vhg, is_used = xp.matmul(vh, adjoint(xp, grad_vh)), used_columns(xp, xp.matrix_transpose(grad_vh))
        is_used_pair = is_used[..., None, :] | is_used[..., :, None]
        inner.append(column * times(xp, vhg - adjoint(xp, vhg), inverse_gaps, is_used_pair))
        if columns > size:
            inverse = _inverse_values(xp, s)[..., :, None]
            rest = times(xp, grad_vh - xp.matmul(adjoint(xp, vhg), vh), inverse, is_used[..., :, None])
            outer.append(xp.matmul(u, rest))
    return _total([xp.matmul(xp.matmul(u, _total(inner)), vh), *outer])


def _inverse_values(xp: Any, s: Array) -> Array:
    """`1 / s`, NaN for singular values that are 0 up to rounding."""
    is_zero = s <= rounding_error(xp, s[..., :1], s.shape[-1])
    return xp.where(is_zero, xp.nan, 1.0 / xp.where(is_zero, 1.0, s))


@general(lambda g, xp, x: _grad_of_svdvals(g, xp, x))
def svdvals(xp: Any, x: ArrayLike, /) -> Array:
    """Singular values `(..., min(M, N))`, in descending order, of matrices `(..., M, N)`.

    The gradient is exact at equal singular values for losses that treat them alike. (Backward computes the
    singular vectors.)
    """
    return xp.linalg.svdvals(x)


def _grad_of_svdvals(g: Array, xp: Any, x: Array) -> Array:
    u, _, vh = xp.linalg.svd(x, full_matrices=False)
    return _from_values(xp, g, u, vh)


# ---- Determinants as logarithms


@general(lambda g, xp, x, sign: _grad_of_slogdet(g, xp, x, sign), outputs=SlogdetResult)
def _slogdet(xp: Any, x: ArrayLike, /) -> Array:
    return xp.linalg.slogdet(x)


def slogdet(x: ArrayLike, /) -> SlogdetResult:
    """Sign, or phase, and logarithm of the absolute value of the determinant of each matrix `(..., N, N)`.

    Real signs have no gradient. A singular matrix has none: backward raises or, on CuPy, gives NaN or infinity.
    """
    result = cast("SlogdetResult", _slogdet(x))
    return result if is_complex(x) else SlogdetResult(result.sign.detach(), result.logabsdet)


def _grad_of_slogdet(g: Any, xp: Any, x: Array, sign: Array) -> Array:
    """The differential of log(det(x)) is trace(inv(x) @ dx): its real part is that of logabsdet, its imaginary part
    that of the angle of sign.
    """
    grad_sign, grad_logabsdet = g
    terms = [] if grad_logabsdet is None else [grad_logabsdet[..., None, None]]
    if grad_sign is not None and is_complex(sign):
        terms.append(1j * xp.imag((grad_sign * xp.conj(sign))[..., None, None]))
    return _total(terms) * adjoint(xp, xp.linalg.inv(x))

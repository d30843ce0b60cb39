"""Products, and linear algebra with NumPy's parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import arraygrad as ag
from arraygrad import linalg
from arraygrad.errors import ShapeError, format_shape
from arraygrad.numpy_functions.table import FUNCTIONS, Axis, numpy_function
from arraygrad.ops.creation import tensors
from arraygrad.tensor import Tensor


@numpy_function()
def dot(a: Any, b: Any) -> Tensor:
    x1, x2 = tensors(a, b)
    if not x1.ndim or not x2.ndim:
        return x1 * x2
    if x2.ndim <= 2:
        return ag.matmul(x1, x2)
    x2 = ag.moveaxis(x2, -2, 0)
    product = ag.matmul(x1, ag.reshape(x2, (x2.shape[0], -1)))
    return ag.reshape(product, (*x1.shape[:-1], *x2.shape[1:]))


@numpy_function()
def inner(a: Any, b: Any) -> Tensor:
    x1, x2 = tensors(a, b)
    return ag.tensordot(x1, x2, axes=((-1,), (-1,))) if x1.ndim and x2.ndim else x1 * x2


@numpy_function()
def tensordot(a: Any, b: Any, axes: Any = 2) -> Tensor:
    if not isinstance(axes, int):
        axes = tuple((axis,) if isinstance(axis, int) else tuple(axis) for axis in axes)
    return ag.tensordot(a, b, axes=axes)


@numpy_function()
def outer(a: Any, b: Any) -> Tensor:
    return ag.reshape(a, (-1, 1)) * ag.reshape(b, (1, -1))


@numpy_function()
def vdot(a: Any, b: Any) -> Tensor:
    x1, x2 = (ag.reshape(x, (-1,)) for x in tensors(a, b))
    return ag.sum((ag.conj(x1) if x1.dtype.kind == "c" else x1) * x2)


@numpy_function()
def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Tensor:
    if axis is not None:
        axisa = axisb = axisc = axis
    x1, x2 = tensors(a, b)
    product = ag.linalg.cross(ag.moveaxis(x1, axisa, -1), ag.moveaxis(x2, axisb, -1))
    return ag.moveaxis(product, -1, axisc)


FUNCTIONS["kron"] = ag.kron


@numpy_function()
def einsum(*operands: Any, optimize: Any = False) -> Tensor:
    """`optimize` is not needed: `arraygrad.einsum` always looks for a cheap order."""
    return ag.einsum(*operands)


# ---- np.linalg

for _name in linalg.__all__:
    if not _name.endswith("Result"):
        FUNCTIONS[f"linalg.{_name}"] = getattr(ag.linalg, _name)


@numpy_function("linalg.norm")
def norm(x: Any, ord: Any = None, axis: Axis = None, keepdims: bool = False) -> Tensor:
    x = ag.asarray(x)
    axes = tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    if ord is None or len(axes) == 1:
        return ag.linalg.vector_norm(x, axis=axes, keepdims=keepdims, ord=2 if ord is None else ord)
    moved = ag.moveaxis(x, axes, (-2, -1))
    result = ag.linalg.matrix_norm(moved, keepdims=keepdims, ord=ord)
    return ag.moveaxis(result, (-2, -1), axes) if keepdims else result


@numpy_function("linalg.svd")
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    return ag.linalg.svd(a, full_matrices=full_matrices) if compute_uv else ag.linalg.svdvals(a)


@numpy_function("linalg.qr")
def qr(a: Any, mode: Any = "reduced") -> Any:
    if mode not in ("reduced", "complete", "r"):
        raise ShapeError(f'np.linalg.qr of a Tensor: mode is "reduced", "complete" or "r", not {mode!r}')
    return ag.linalg.qr(a).R if mode == "r" else ag.linalg.qr(a, mode=mode)


def _triangle(a: Any, UPLO: str) -> Tensor:
    """A Hermitian matrix by one triangle, which alone NumPy reads."""
    x = ag.asarray(a)
    if UPLO.upper() not in ("L", "U"):
        raise ShapeError(f'np.linalg: UPLO is "L" or "U", not {UPLO!r}')
    return x if UPLO.upper() == "L" else ag.conj(x).mT if x.dtype.kind == "c" else x.mT


@numpy_function("linalg.eigh")
def eigh(a: Any, UPLO: str = "L") -> Any:
    return ag.linalg.eigh(_triangle(a, UPLO))


@numpy_function("linalg.eigvalsh")
def eigvalsh(a: Any, UPLO: str = "L") -> Tensor:
    return ag.linalg.eigvalsh(_triangle(a, UPLO))


@numpy_function("linalg.pinv")
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Tensor:
    # NumPy's own default for pinv is 1e-15, whatever the size.
    return ag.linalg.pinv(a, rtol=rtol if rtol is not None else 1e-15 if rcond is None else rcond)


@numpy_function("linalg.matrix_rank")
def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Tensor:
    if tol is None:
        return ag.linalg.matrix_rank(A, rtol=rtol)
    s = ag.linalg.svdvals(ag.asarray(A).detach())
    return ag.count_nonzero(s > ag.expand_dims(ag.asarray(tol, device=s.device), -1), axis=-1)


@numpy_function("linalg.cond")
def cond(x: Any, p: Any = None) -> Tensor:
    x = ag.asarray(x)
    if p in (None, 2, -2):
        s = ag.linalg.svdvals(x)
        return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    return ag.linalg.matrix_norm(x, ord=p) * ag.linalg.matrix_norm(ag.linalg.inv(x), ord=p)


@numpy_function("linalg.lstsq")
def lstsq(a: Any, b: Any, rcond: float | None = None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """By the pseudoinverse, whose gradient takes the rank as constant."""
    matrix, right = tensors(a, b)
    if matrix.ndim != 2 or right.ndim not in (1, 2) or right.shape[0] != matrix.shape[0]:
        raise ShapeError(f"np.linalg.lstsq: a is {format_shape(matrix.shape)}, b is {format_shape(right.shape)}")
    m, n = matrix.shape
    rtol = max(m, n) * ag.finfo(matrix.dtype).eps if rcond is None or rcond < 0 else rcond
    solution = ag.linalg.pinv(matrix, rtol=rtol) @ right
    singular = ag.linalg.svdvals(matrix)
    rank = ag.linalg.matrix_rank(matrix.detach(), rtol=rtol)
    if int(rank) == n and m > n:
        residuals = ag.reshape(ag.sum(ag.abs(right - matrix @ solution) ** 2, axis=0), (-1,))
    else:
        residuals = ag.zeros((0,), dtype=singular.dtype, device=singular.device)
    return solution, residuals, rank, singular


@numpy_function("linalg.multi_dot")
def multi_dot(arrays: Sequence[Any]) -> Tensor:
    if len(arrays) < 2:
        raise ShapeError("np.linalg.multi_dot takes two arrays at least")
    terms, last = [ag.asarray(x) for x in arrays], len(arrays)
    operands: list[Any] = []
    for i, x in enumerate(terms):
        operands += [x, [i, i + 1] if x.ndim == 2 else [1] if i == 0 else [i]]
    return ag.einsum(*operands, [i for i, x in ((0, terms[0]), (last, terms[-1])) if x.ndim == 2])  # in a cheap order


@numpy_function("linalg.tensorinv")
def tensorinv(a: Any, ind: int = 2) -> Tensor:
    x = ag.asarray(a)
    if ind <= 0:
        raise ShapeError(f"np.linalg.tensorinv: ind is positive, not {ind}")
    rows = math.prod(x.shape[:ind])
    return ag.reshape(ag.linalg.inv(ag.reshape(x, (rows, -1))), x.shape[ind:] + x.shape[:ind])


@numpy_function("linalg.tensorsolve")
def tensorsolve(a: Any, b: Any, axes: Any = None) -> Tensor:
    x, right = tensors(a, b)
    if axes is not None:
        last = tuple(axis % x.ndim for axis in axes)
        x = ag.permute_dims(x, (*(i for i in range(x.ndim) if i not in last), *last))
    shape = x.shape[right.ndim :]
    if math.prod(shape) != right.size or x.size != right.size**2:
        raise ShapeError(f"np.linalg.tensorsolve: a is {format_shape(x.shape)}, b is {format_shape(right.shape)}")
    return ag.reshape(ag.linalg.solve(ag.reshape(x, (-1, right.size)), ag.reshape(right, (-1,))), shape)


@numpy_function("linalg.cross")
def linalg_cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Tensor:
    return cross(x1, x2, axis=axis)

"""The rows of linear algebra. See op_table.py.

Matrices have distinct eigenvalues and singular values. What is only defined up to signs and phases is seen through
functions that do not change with them, and functions of Hermitian matrices through the Hermitian part of their
input: such a row is `composed`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import arraygrad as ag
from arraygrad import linalg
from arraygrad.ops.linalg import cofactors
from arraygrad.ops.used import _multiply_used

inf = float("inf")


def hermitian(x: Any) -> Any:
    transposed = ag.matrix_transpose(x)
    return 0.5 * (x + (ag.conj(transposed) if x.dtype.kind == "c" else transposed))


def np_hermitian(x: np.ndarray) -> np.ndarray:
    return 0.5 * (x + np.swapaxes(x, -1, -2).conj())


def of_hermitian(function: Callable[..., Any], is_numpy: bool = False) -> Callable[..., Any]:
    part = np_hermitian if is_numpy else hermitian
    return lambda x, **kwargs: function(part(x), **kwargs)


def np_cholesky(x: np.ndarray, upper: bool = False) -> np.ndarray:
    lower = np.linalg.cholesky(x)
    return np.swapaxes(lower, -1, -2).conj() if upper else lower


def seen_vectors(xp: Any, values: Any, vectors: Any) -> tuple[Any, ...]:
    """Eigenvalues, squares of the vectors' elements, and the projector on the first: no phase is in these."""
    first = vectors[..., :, :1]
    return values, xp.abs(vectors) ** 2, xp.matmul(first, xp.matrix_transpose(xp.conj(first + 0j)))


def seen_factors(xp: Any, u: Any, s: Any, vh: Any) -> tuple[Any, ...]:
    return xp.abs(u) ** 2, s, xp.matmul(u, vh), xp.abs(vh) ** 2, xp.matmul(u * xp.sqrt(s)[..., None, :], vh)


def np_norm(x: np.ndarray, axis: Any = None, keepdims: bool = False, ord: float = 2) -> Any:
    if axis is None and not keepdims:
        return np.linalg.norm(np.ravel(x), ord)
    return np.linalg.norm(x, ord, axis, keepdims)


def np_cross(x1: np.ndarray, x2: np.ndarray, axis: int = -1) -> np.ndarray:
    return np.cross(x1, x2, axis=axis)


def np_vecdot(x1: np.ndarray, x2: np.ndarray, axis: int = -1) -> np.ndarray:
    return np.vecdot(x1, x2, axis=axis)


def np_solve(x1: np.ndarray, x2: np.ndarray) -> np.ndarray:
    return np.linalg.solve(x1, x2[:, None])[..., 0] if x2.ndim == 1 else np.linalg.solve(x1, x2)


def rows(op: Callable[..., Any], draw: Callable[..., Any], draw_complex: Callable[..., Any]) -> list[Any]:
    def square(*shape: int, complex: bool = False) -> np.ndarray:
        """Well conditioned matrices."""
        return 0.4 * (draw_complex if complex else draw)(shape) + 1.5 * np.eye(shape[-1])

    def positive(*shape: int, complex: bool = False) -> np.ndarray:
        x = square(*shape, complex=complex)
        return np.matmul(x, np.swapaxes(x, -1, -2).conj()) + np.diag(0.3 * np.arange(shape[-1]))

    shapes = [(3, 3), (2, 2, 2), (1, 1), (0, 2, 2)]
    squares = {str(list(shape)): (square(*shape),) for shape in shapes}
    squares |= {f"complex {list(shape)}": (square(*shape, complex=True),) for shape in shapes[:2]}
    positives = {str(list(shape)): (positive(*shape),) for shape in shapes}
    positives |= {f"complex {list(shape)}": (positive(*shape, complex=True),) for shape in shapes[:2]}
    m32, m23, m33 = draw((3, 2)), draw((2, 3)), square(3, 3)
    c32, c23, c33 = draw_complex((3, 2)), draw_complex((2, 3)), square(3, 3, complex=True)
    batch = draw((2, 2, 3))
    wide_and_tall = {
        "square": (m33,),
        "tall": (m32,),
        "wide": (m23,),
        "batch": (batch,),
        "one column": (draw((3, 1)),),
        "no matrices": (draw((0, 2, 3)),),
        "complex square": (c33,),
        "complex tall": (c32,),
        "complex wide": (c23,),
        "complex batch": (draw_complex((2, 3, 2)),),
    }
    low_rank = {
        "rank 1 of 2": (draw((3, 1)) * draw((2,)),),
        "complex rank 1 of 2": (draw_complex((2, 1)) * (draw((3,)) + 1j),),
    }
    complex_reductions = {
        f"complex ord={order} axis={axis}": ((c23,), {"ord": order, "axis": axis})
        for order in (0, 1, 2, 3, 0.5, -1, inf, -inf)
        for axis in (None, 1)
    }
    norms = {
        f"{label} ord={order}": ((x,), {"ord": order})
        for order in ("fro", "nuc", 1, -1, 2, -2, inf, -inf, None)
        for label, x in {"wide": m23, "tall": m32, "batch": batch, "complex": c23}.items()
    }
    thin = {label: ((*args,), {"full_matrices": False}) for label, args in wide_and_tall.items()}

    return [
        # ---- products
        op(
            "matmul",
            np.matmul,
            {
                "complex x complex": (c23, c32),
                "complex x real": (c23, m32),
                "real x complex vector": (batch, draw_complex((3,))),
                "complex vector x complex": (draw_complex((3,)), c32),
                "complex vectors": (draw_complex((3,)), draw_complex((3,)) + 0.5),
            },
        ),
        op(
            "cross",
            np_cross,
            {
                "vectors": (draw((3,)), draw((3,)) + 0.3),
                "broadcast": (draw((2, 1, 3)), draw((4, 3))),
                "axis=-2": ((draw((3, 2)), draw((4, 3, 1))), {"axis": -2}),
                "axis=0": ((draw((3, 2)), draw((3, 1))), {"axis": 0}),
                "complex": (c23, draw((3,))),
            },
            function=linalg.cross,
        ),
        op(
            "outer",
            np.outer,
            {
                "real": (draw((2,)), draw((3,))),
                "complex": (draw_complex((2,)), draw_complex((3,))),
                "real x complex": (draw((2,)), draw_complex((3,))),
                "size 0": (draw((0,)), draw((2,))),
            },
            function=linalg.outer,
        ),
        op(
            "tensordot",
            np.tensordot,
            {
                "one axis": ((m23, m32), {"axes": 1}),
                "two axes": (draw((2, 3, 2)), draw((3, 2, 2)) + 0.3),
                "none": ((draw((2,)), m23), {"axes": 0}),
                "all": ((m23, m23 + 0.3), {"axes": 2}),
                "lists": ((draw((2, 3, 4)), draw((4, 2, 2))), {"axes": ((2, 0), (0, 2))}),
                "negative": ((draw((2, 3, 4)), draw((5, 3, 2))), {"axes": ([-3, 1], [-1, -2])}),
                "complex": ((c23, m32), {"axes": ((0, 1), (1, 0))}),
            },
            function=linalg.tensordot,
        ),
        op(
            "vecdot",
            np_vecdot,
            {
                "vectors": (draw((3,)), draw((3,)) + 0.3),
                "broadcast": (draw((2, 1, 3)), draw((4, 3))),
                "axis=-2": ((draw((3, 2)), draw((4, 3, 1))), {"axis": -2}),
                "axis=0": ((draw((3, 2)), draw((3, 1))), {"axis": 0}),
                "complex x complex": (c23, draw_complex((3,))),
                "complex x real": (c23, draw((3,))),
                "real x complex": (m23, draw_complex((3,))),
                "size 0": (draw((2, 0)), draw((2, 0))),
            },
            function=linalg.vecdot,
        ),
        op(
            "matrix_power",
            np.linalg.matrix_power,
            {
                f"{label} to {n}": (x, n)
                for n in (-2, -1, 0, 1, 2, 3, 6)
                for label, x in {"real": m33, "batch": square(2, 2, 2), "complex": c33}.items()
                if not (n == 0 and label == "complex")
            },
            function=linalg.matrix_power,
        ),
        # ---- diagonals
        *[
            op(
                name,
                lambda x, offset=0, name=name: getattr(np, name)(x, offset, -2, -1),
                {
                    "square": (m33,),
                    "complex": (c23,),
                    **{
                        f"{label} offset={offset}": ((x,), {"offset": offset})
                        for offset in (-2, -1, 1, 2)
                        for label, x in {"wide": batch, "tall": m32}.items()
                    },
                    "size 0": ((draw((2, 0, 3)),), {"offset": 1}),
                },
                function=getattr(linalg, name),
            )
            for name in ("diagonal", "trace")
        ],
        # ---- norms
        op("vector_norm", np_norm, complex_reductions),
        op(
            "matrix_norm",
            lambda x, keepdims=False, ord="fro": np.linalg.norm(x, ord, (-2, -1), keepdims),
            norms | {"keepdims": ((batch,), {"keepdims": True, "ord": 1}), "0-size batch": (draw((0, 2, 2)),)},
            function=linalg.matrix_norm,
        ),
        op(
            "matrix_rank",
            lambda x, rtol=None: np.linalg.matrix_rank(x, rtol=rtol),
            wide_and_tall | low_rank | {"rtol": ((m33,), {"rtol": 0.5})},
            function=linalg.matrix_rank,
            has_gradient=False,
        ),
        # ---- determinants and inverses
        op(
            "det",
            np.linalg.det,
            squares | {"singular": (np.array([[1.0, 2.0], [2.0, 4.0]]),), "zero": (np.zeros((3, 3)),)},
            function=linalg.det,
        ),
        op(
            "cofactors",
            lambda x: np.linalg.det(x)[..., None, None] * np.swapaxes(np.linalg.inv(x), -1, -2),
            squares | {"[4, 4]": (square(4, 4),)},
            function=cofactors,
        ),
        op("inv", np.linalg.inv, squares, function=linalg.inv),
        op(
            "pinv",
            np.linalg.pinv,
            {label: args for label, args in wide_and_tall.items() if label != "no matrices"}
            | {f"rtol {label}": (wide_and_tall[label], {"rtol": 0.7}) for label in ("square", "batch", "complex tall")},
            function=linalg.pinv,
        ),
        op(
            "solve",
            np_solve,
            {
                f"{label}{list(s1)} {list(s2)}": (
                    square(*s1, complex=bool(label)),
                    (draw_complex if label else draw)(s2),
                )
                for label in ("", "complex ")
                for s1, s2 in [
                    ((3, 3), (3,)),
                    ((3, 3), (3, 2)),
                    ((2, 3, 3), (3,)),
                    ((2, 3, 3), (3, 2)),
                    ((2, 2), (3, 2, 1)),
                    ((2, 1, 2, 2), (3, 2, 1)),
                    ((0, 2, 2), (2, 3)),
                ]
            }
            | {"complex x real": (c33, m32), "real x complex": (m33, draw_complex((3,)))},
            function=linalg.solve,
        ),
        op(
            "slogdet",
            lambda x: np.linalg.slogdet(x)[1],
            {label: args for label, args in squares.items() if "complex" not in label}
            | {"negative": (np.array([[1.0, 2.0], [3.0, 4.0]]),)},
            function=lambda x: linalg.slogdet(x).logabsdet,
            composed=True,
        ),
        op(
            "slogdet",
            lambda x: tuple(np.linalg.slogdet(x)),
            {label: args for label, args in squares.items() if "complex" in label},
            function=linalg.slogdet,
            composed=True,
        ),
        # ---- decompositions
        op(
            "cholesky",
            of_hermitian(np_cholesky, is_numpy=True),
            positives | {f"upper {label}": (args, {"upper": True}) for label, args in positives.items()},
            function=of_hermitian(linalg.cholesky),
            composed=True,
        ),
        op(
            "multiply_used",
            lambda x1, x2, is_used: np.where(is_used, x1 * x2, 0.0),
            {"all": (m33, m33, np.ones((3, 3), bool))},
            function=_multiply_used,
        ),
        op(
            "eigvalsh",
            of_hermitian(np.linalg.eigvalsh, is_numpy=True),
            positives,
            function=of_hermitian(linalg.eigvalsh),
            composed=True,
        ),
        op(
            "eigh",
            lambda x: seen_vectors(np, *np.linalg.eigh(np_hermitian(x))),
            positives,
            function=lambda x: seen_vectors(ag, *linalg.eigh(hermitian(x))),
            composed=True,
        ),
        op(
            "eigh",
            lambda x: np.linalg.eigh(np_hermitian(x))[0],
            {"values alone": (m33,), "complex values alone": (c33,)},
            function=lambda x: linalg.eigh(hermitian(x)).eigenvalues,
            composed=True,
        ),
        op(
            "eig",
            lambda x: seen_vectors(np, *(a.astype(complex) for a in np.linalg.eig(x))),
            squares,
            function=lambda x: seen_vectors(ag, *linalg.eig(x)),
            composed=True,
        ),
        op(
            "eigvals",
            lambda x: np.linalg.eigvals(x).astype(complex),
            squares,
            function=linalg.eigvals,
            composed=True,
        ),
        op(
            "svdvals",
            lambda x: np.linalg.svd(x, compute_uv=False),
            wide_and_tall,
            function=linalg.svdvals,
        ),
        op(
            "svd",
            lambda x, full_matrices: seen_factors(np, *np.linalg.svd(x, full_matrices)),
            thin | {"full": ((m33,), {"full_matrices": True})},
            function=lambda x, **k: seen_factors(ag, *linalg.svd(x, **k)),
            composed=True,
        ),
        op(
            "svd",
            lambda x: np.linalg.svd(x)[1],
            wide_and_tall,
            function=lambda x: linalg.svd(x).S,
            composed=True,
        ),
        op(
            "qr",
            lambda x, mode="reduced": tuple(np.linalg.qr(x, mode)),
            wide_and_tall
            | {"complete wide": ((c23,), {"mode": "complete"}), "complete square": ((m33,), {"mode": "complete"})},
            function=linalg.qr,
            composed=True,
        ),
        op(
            "qr",
            lambda x: np.linalg.qr(x)[0],
            wide_and_tall,
            function=lambda x: linalg.qr(x).Q,
            composed=True,
        ),
        op(
            "qr",
            lambda x, mode: np.linalg.qr(x, mode)[1],
            {f"R {label}": (args, {"mode": "complete"}) for label, args in wide_and_tall.items()},
            function=lambda x, mode: linalg.qr(x, mode=mode).R,
            composed=True,
        ),
    ]

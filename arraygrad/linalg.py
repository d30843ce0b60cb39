"""Linear algebra, as the array API standard has it: `ag.linalg`.

All functions work on matrices in the last two axes, real or complex, with any leading axes, and are
differentiable but for `matrix_rank`. Gradients among Hermitian matrices are Hermitian. Where a gradient does not
exist it is NaN or an error: the docstrings of `eigh`, `svd` and `qr` say where.
"""

from arraygrad.ops.decompositions import (
    EighResult,
    EigResult,
    QRResult,
    SlogdetResult,
    SVDResult,
    cholesky,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    qr,
    slogdet,
    svd,
    svdvals,
)
from arraygrad.ops.linalg import (
    cross,
    det,
    diagonal,
    inv,
    matmul,
    matrix_norm,
    matrix_power,
    matrix_rank,
    outer,
    pinv,
    solve,
    tensordot,
    trace,
    vecdot,
    vector_norm,
)
from arraygrad.ops.manipulation import matrix_transpose

__all__ = [
    "EigResult",
    "EighResult",
    "QRResult",
    "SVDResult",
    "SlogdetResult",
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]


def __dir__() -> list[str]:
    return __all__

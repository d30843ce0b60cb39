"""Own operations: the declarations that this library is made of. docs/own-ops.md shows each of them.

    from arraygrad.declare import ArrayLike, elementwise

    @elementwise(lambda g, out, x: 2.0 * g * out * x)
    def gauss(xp, x: ArrayLike, /):
        return xp.exp(x * x)

(`arraygrad.Function` is the form for those who come from PyTorch.)
"""

from arraygrad.accumulate import Part
from arraygrad.backends import Array
from arraygrad.function import once_differentiable
from arraygrad.op import constant, elementwise, general, linear, multilinear
from arraygrad.tensor import ArrayLike

__all__ = [
    "Array",
    "ArrayLike",
    "Part",
    "constant",
    "elementwise",
    "general",
    "linear",
    "multilinear",
    "once_differentiable",
]

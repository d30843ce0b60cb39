"""The methods of NumPy's arrays that PyTorch's tensors lack, for code that calls `x.cumsum(0)` or `x.dot(y)`.

Each is the NumPy function of its name. Those that write in place (`sort`, `put`, `fill`) are not here. Where both
have a method of one name, it takes both libraries' arguments as far as they agree (methods.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from arraygrad.errors import DtypeError

if TYPE_CHECKING:
    from arraygrad.tensor import ArrayLike, Tensor


def _numpy(name: str, *args: Any, **kwargs: Any) -> Any:
    from arraygrad.numpy_functions import FUNCTIONS

    return FUNCTIONS[name](*args, **kwargs)


def _write_part(part: Tensor, value: Any) -> None:
    """`x.real = value`; nothing where Python assigns what `x.real *= 2` has written already."""
    view, own = getattr(value, "_view", None), part._view
    if view is None or own is None or view.root is not own.root or view.functions != own.functions:
        part[...] = value


class NumpyMethods:
    """The methods of Tensor by NumPy's names."""

    __slots__ = ()

    if TYPE_CHECKING:
        dtype: Any

    @property
    def real(self) -> Tensor:
        """`numpy.real`. Assign to it to write the real parts in place."""
        return _numpy("real", self)

    @real.setter
    def real(self, value: Any) -> None:
        _write_part(self.real, value)

    @property
    def imag(self) -> Tensor:
        """`numpy.imag`; zeros of real numbers, without a gradient. Assign to it to write the imaginary parts."""
        return _numpy("imag", self)

    @imag.setter
    def imag(self, value: Any) -> None:
        if self.dtype.kind != "c":
            raise DtypeError(f"a tensor of {self.dtype} has no imaginary part to write to")
        _write_part(self.imag, value)

    def conj(self) -> Tensor:
        """The complex conjugate; real numbers as they are."""
        from arraygrad import conj

        return conj(self)

    conjugate = conj

    def copy(self) -> Tensor:
        """A copy with history: `clone`."""
        return _numpy("copy", self)

    def cumsum(self, axis: int | None = None, dtype: Any = None) -> Tensor:
        """`numpy.cumsum`."""
        return _numpy("cumsum", self, axis, dtype)

    def cumprod(self, axis: int | None = None, dtype: Any = None) -> Tensor:
        """`numpy.cumprod`."""
        return _numpy("cumprod", self, axis, dtype)

    def dot(self, other: ArrayLike) -> Tensor:
        """`numpy.dot`."""
        return _numpy("dot", self, other)

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
        """`numpy.diagonal`."""
        return _numpy("diagonal", self, offset, axis1, axis2)

    def trace(self, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Tensor:
        """`numpy.trace`."""
        return _numpy("trace", self, offset, axis1, axis2, dtype)

    def swapaxes(self, axis1: int, axis2: int) -> Tensor:
        """`numpy.swapaxes`."""
        return _numpy("swapaxes", self, axis1, axis2)

    def repeat(self, repeats: Any, axis: int | None = None) -> Tensor:
        """`numpy.repeat`, of elements: PyTorch's `repeat` of the whole is `arraygrad.tile`."""
        return _numpy("repeat", self, repeats, axis)

    def round(self, decimals: int = 0) -> Tensor:
        """`numpy.round`."""
        return _numpy("round", self, decimals)

    def take(self, indices: ArrayLike, axis: int | None = None, mode: str = "raise") -> Tensor:
        """`numpy.take`."""
        return _numpy("take", self, indices, axis, mode)

    def compress(self, condition: ArrayLike, axis: int | None = None) -> Tensor:
        """`numpy.compress`: the slices where the condition holds."""
        return _numpy("compress", condition, self, axis)

    def choose(self, choices: Sequence[ArrayLike], mode: str = "raise") -> Tensor:
        """`numpy.choose`: from the choice at each element's index."""
        return _numpy("choose", self, choices, mode)

    def nonzero(self) -> tuple[Tensor, ...]:
        """`numpy.nonzero`: the indices along each axis."""
        return _numpy("nonzero", self)

    def argsort(self, axis: int | None = -1) -> Tensor:
        """`numpy.argsort`."""
        return _numpy("argsort", self, axis)

    def argpartition(self, kth: Any, axis: int | None = -1) -> Tensor:
        """`numpy.argpartition`."""
        return _numpy("argpartition", self, kth, axis)

    def searchsorted(self, v: ArrayLike, side: str = "left", sorter: ArrayLike | None = None) -> Tensor:
        """`numpy.searchsorted`."""
        return _numpy("searchsorted", self, v, side, sorter)

    def tolist(self: Any) -> Any:
        """Nested lists of Python's numbers, which have no history: for printing."""
        from arraygrad.backends import namespaces

        return namespaces[type(self.array)].to_host(self.array).tolist()

    @property
    def nbytes(self: Any) -> int:
        """The bytes of all elements."""
        return int(self.array.size * self.array.dtype.itemsize)


#: The methods and properties that compute and that NumPy's arrays have, too.
NAMES = (
    "T all any argmax argmin argpartition argsort astype choose clip compress conj conjugate copy cumprod cumsum "
    "diagonal dot flatten imag mT max mean min nonzero prod ravel real repeat reshape round searchsorted squeeze std "
    "sum swapaxes take trace transpose var"
).split()

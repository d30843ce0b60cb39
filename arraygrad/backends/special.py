"""Special functions, whatever library has the kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from arraygrad.backends import NUMPY, Array, Backend
from arraygrad.errors import DtypeError


class Special:
    """The special functions of a backend, each found when it is first asked for: SciPy is not imported before.

    Results have the data type that NumPy's other functions of these arguments have: float32 stays float32 and
    float16 stays float16, but an array of integers beside them makes float64.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def __getattr__(self, name: str) -> Callable[..., Array]:
        if name.startswith("__"):
            raise AttributeError(name)
        xp = self._backend
        kernel = xp.special_function(name)
        dtype_of: dict[Any, Any] = {}  # the result's data type by those of the arrays; finding it takes 1 us

        def function(*args: Any) -> Array:
            # NumPy's scalars count here: they are what NumPy makes of 0-d arrays on the way.
            dtypes = tuple([arg.dtype for arg in args if type(arg) is not float and type(arg) is not int])
            if dtypes not in dtype_of:
                if not xp.complex_dtypes.isdisjoint(dtypes):
                    raise DtypeError(f"{name} of complex numbers is not supported; it takes real ones")
                joint = NUMPY.result_type(*map(xp.numpy_dtype, dtypes)) if dtypes else None
                dtype_of[dtypes] = xp.dtype(joint if joint is not None and joint.kind == "f" else "float64")
            result = xp.lift(kernel(*args))
            dtype = dtype_of[dtypes]
            return result if result.dtype == dtype else xp.astype(result, dtype)

        setattr(self, name, function)
        return function

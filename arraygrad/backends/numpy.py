"""NumPy: `device="cpu"`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from arraygrad.backends import Array, Backend, full_index, is_basic
from arraygrad.errors import DeviceError, DtypeError


class NumpyBackend(Backend):
    """NumPy through array-api-compat, which is imported when a name is first needed that is no ufunc.

    (NumPy 2's ufuncs are the standard's as they are; importing array_api_compat.numpy takes about as
    long as importing NumPy, since it loads all of NumPy's lazy submodules.)
    """

    name = "numpy"
    array_type = np.ndarray
    generic = np.generic
    complex_dtypes = frozenset({np.dtype("complex64"), np.dtype("complex128")})

    def namespace(self) -> Any:
        import array_api_compat.numpy

        return array_api_compat.numpy

    def __getattr__(self, name: str) -> Any:
        ufunc = getattr(np, name, None) if not name.startswith("__") else None
        if isinstance(ufunc, np.ufunc):
            setattr(self, name, ufunc)
            return ufunc
        return super().__getattr__(name)

    #: NumPy's functions return scalars for 0-d results. (array-api-compat's asarray takes ten times as long.)
    lift = staticmethod(np.asarray)  # type: ignore[assignment]  # the same call, more overloads

    # What NumPy puts into Python around its own functions is left out where operations need it most: on 4 elements each
    # of these takes 0.7 (reshape) to 3.5 us (zeros_like) less.

    def sum(self, x: Array, /, *, axis: Any = None, dtype: Any = None, keepdims: Any = False) -> Array:
        return np.add.reduce(x, axis=axis, dtype=dtype, keepdims=keepdims)

    def prod(self, x: Array, /, *, axis: Any = None, dtype: Any = None, keepdims: Any = False) -> Array:
        return np.multiply.reduce(x, axis=axis, dtype=dtype, keepdims=keepdims)

    def max(self, x: Array, /, *, axis: Any = None, keepdims: Any = False) -> Array:
        return np.maximum.reduce(x, axis=axis, keepdims=keepdims)

    def min(self, x: Array, /, *, axis: Any = None, keepdims: Any = False) -> Array:
        return np.minimum.reduce(x, axis=axis, keepdims=keepdims)

    def any(self, x: Array, /, *, axis: Any = None, keepdims: Any = False) -> Array:
        return np.logical_or.reduce(x, axis=axis, keepdims=keepdims)

    def all(self, x: Array, /, *, axis: Any = None, keepdims: Any = False) -> Array:
        return np.logical_and.reduce(x, axis=axis, keepdims=keepdims)

    def mean(self, x: Array, /, *, axis: Any = None, keepdims: Any = False) -> Array:
        if x.dtype.itemsize < 4 or x.dtype.kind not in "fc" or not x.size or not x.ndim:
            return np.mean(x, axis=axis, keepdims=keepdims)
        total = np.add.reduce(x, axis=axis, keepdims=keepdims)
        return total / (x.size // total.size)

    def reshape(self, x: Array, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Array:
        return x.reshape(shape) if copy is None else self.namespace().reshape(x, shape, copy=copy)

    def permute_dims(self, x: Array, /, axes: tuple[int, ...]) -> Array:
        return x.transpose(axes)

    def expand_dims(self, x: Array, /, *, axis: Any = 0) -> Array:
        if type(axis) is int and -x.ndim - 1 <= axis <= x.ndim:
            return x[(slice(None),) * (axis % (x.ndim + 1)) + (None, ...)]
        return self.namespace().expand_dims(x, axis=axis)

    def broadcast_to(self, x: Array, /, shape: tuple[int, ...]) -> Array:
        if x.ndim or type(x) is not np.ndarray or min(shape, default=0) < 0:
            return np.broadcast_to(x, shape)
        view: Array = np.ndarray(shape, x.dtype, x, 0, (0,) * len(shape))
        view.flags.writeable = False
        return view

    def take_along_axis(self, x: Array, indices: Array, /, *, axis: int = -1) -> Array:
        if x.ndim == indices.ndim == 2 and axis in (1, -1) and len(x) == len(indices):
            return x[np.arange(len(x))[:, None], indices]
        return np.take_along_axis(x, indices, axis)

    def zeros_like(self, x: Array, /, *, dtype: Any = None, device: Any = None) -> Array:
        return np.zeros(x.shape, x.dtype if dtype is None else dtype)

    def where(self, condition: Any, x1: Any, x2: Any, /) -> Array:
        zero, x = (x1, x2) if type(x1) is float else (x2, x1)
        if (
            type(zero) is float
            and type(x) is np.ndarray
            and x.size >= 256  # of fewer, the calls take longer than the branches
            and x.dtype.char in "df"
            and x.dtype.isnative
            and getattr(condition, "dtype", None) == np.bool_
            and condition.shape == x.shape
            and str(zero) == "0.0"  # which -0.0 is not
        ):
            return _or_zero(~condition if zero is x1 else condition, x)
        return np.where(condition, x1, x2)

    def device(self, array: Array) -> str:
        return "cpu"

    def device_name(self, device: str) -> str:
        return "cpu"

    def devices(self) -> tuple[str, ...]:
        return ("cpu",)

    def dtype(self, dtype: Any) -> Any:
        try:
            result = np.dtype(dtype)
        except TypeError:
            raise DtypeError(f"{dtype!r} is no data type") from None
        if result.kind not in "biufc":
            raise DtypeError(f"data type {result} is not supported; use numbers or booleans")
        return result

    def from_host(self, array: Array, device: str) -> Array:
        return array.copy()

    def to_host(self, array: Array) -> Array:
        return array

    def host_array(self, obj: Any, dtype: Any = None) -> Any:
        """Make a NumPy array of numbers from nested sequences, always a new one."""
        if isinstance(obj, np.ma.MaskedArray):
            raise DtypeError("cannot make a tensor of a masked array; fill it first")
        try:
            array = np.array(obj, dtype=dtype)
        except ValueError as error:
            raise DtypeError(f"cannot make a tensor of {type(obj).__name__}: {error}") from error
        self.dtype(array.dtype)
        return array

    def is_bool(self, obj: object) -> bool:
        return isinstance(obj, bool | np.bool_)

    def convert(self, array: Array, dtype: Any, copy: bool | None) -> Any:
        """What `numpy.asarray(tensor, dtype, copy=copy)` is to return."""
        return np.array(array, dtype=dtype, copy=copy)

    def format(self, array: Array, prefix: str) -> str:
        """Write the values as NumPy does, aligned after `prefix`."""
        return np.array2string(array, separator=", ", prefix=prefix)

    def copy(self, array: Array) -> Array:
        return array.copy()

    def is_view_of(self, result: Array, source: Array) -> bool:
        # A view's base is the array that owns the memory, whatever views lie between; may_share_memory
        # would say the same in ten times as long.
        base = result.base
        return result is source or (base is not None and (base is source or base is source.base))

    def is_writable(self, array: Array) -> bool:
        return bool(array.flags.writeable)

    def diagonal(self, x: Array, /, *, offset: int = 0) -> Array:
        diagonal = np.diagonal(x, offset, -2, -1)
        diagonal.flags.writeable = x.flags.writeable  # NumPy announces this and does not do it yet
        return diagonal

    def random_source(self, seed: int | None) -> Any:
        return np.random.default_rng(seed)

    def from_source(self, array: Any, device: str) -> Array:
        return np.asarray(array)

    def add_at(self, x: Array, index: Any, value: Any, /) -> None:
        index = full_index(index)
        if is_basic(index) or _no_repeats(index):
            x[index] += value
        elif not _add_rows(x, index, value):
            np.add.at(x, index, value)

    def last_writes(self, x: Array, index: Any, /) -> Array | None:
        index = full_index(index)
        if is_basic(index) or _no_repeats(index):
            return None
        writer = np.empty(x.shape, np.intp)  # never filled as a whole: it costs what the index touches
        places = np.arange(writer[index].size).reshape(writer[index].shape)
        writer[index] = places
        last: Array = writer[index] == places
        return None if last.all() else last

    def scatter(self, g: Array, index: Any, shape: tuple[int, ...], /) -> Array:
        result = np.zeros(shape, g.dtype)
        index = full_index(index)
        if is_basic(index) or _no_repeats(index):
            result[index] = g
        elif not _add_rows(result, index, g, are_zero=True):
            np.add.at(result, index, g)
        return result

    def special_function(self, name: str) -> Callable[..., Any]:
        try:
            import scipy.special
        except ModuleNotFoundError as error:
            advice = ' (gelu does without: approximate="tanh")' if name == "erf" else ""
            raise DeviceError(f"{name} on 'cpu' needs SciPy: pip install 'arraygrad[special]'{advice}") from error
        kernel: Callable[..., Any] = getattr(scipy.special, name)
        return kernel


def _or_zero(condition: Array, x: Array) -> Array:
    """`x` where `condition` is true and 0 elsewhere, by masks of bits instead of branches.

    Of 128 x 256 random elements this takes 45 us and `np.where` 165, since each second of its branches is mispredicted.
    """
    result = np.empty(x.shape, x.dtype)
    mask = result.view(f"i{x.itemsize}")
    np.negative(condition.view(np.int8), out=mask)  # -1 has all bits
    np.bitwise_and(mask, x.view(mask.dtype), out=mask)
    return result


def _no_repeats(index: tuple[Any, ...]) -> bool:
    """One boolean mask among basic items selects no element twice."""
    advanced = [item for item in index if not is_basic(item)]
    return len(advanced) == 1 and getattr(advanced[0], "dtype", None) == np.bool_


def _add_rows(x: Array, index: tuple[Any, ...], value: Array, are_zero: bool = False) -> bool:
    """Add rows of `value` to those rows of `x` that one array names; False where `np.add.at` serves better.

    While most names are there once, one row of each is added at once; sums of rows sorted by their names at last. For
    a gradient of 4096 rows of 64 into 50,000 rows it takes 0.5 ms, sorting alone 2.4 and np.add.at 3.3.
    """
    advanced = [axis for axis, item in enumerate(index) if not is_basic(item)]
    axis = advanced[0]
    if len(advanced) > 1 or any(item != slice(None) for item in index[:axis]) or index[axis + 1 :] != (...,):
        return False
    targets = np.asarray(index[axis]).astype(np.intp)
    if not targets.size or targets.size * 8 > value.size:
        return False
    rows = value.reshape(*value.shape[:axis], targets.size, *value.shape[axis + targets.ndim :])
    targets, before = targets.ravel(), index[:axis]
    writer = np.empty(x.shape[axis], np.intp)  # never filled as a whole
    while targets.size:
        places = np.arange(targets.size)
        writer[targets] = places
        is_last = writer[targets] == places
        if 2 * np.count_nonzero(is_last) < targets.size:
            break
        if are_zero:  # nothing to read
            x[(*before, targets[is_last])] = np.compress(is_last, rows, axis=axis)
            are_zero = False
        else:
            x[(*before, targets[is_last])] += np.compress(is_last, rows, axis=axis)
        targets, rows = targets[~is_last], np.compress(~is_last, rows, axis=axis)
    if targets.size:
        targets = np.where(targets < 0, targets + x.shape[axis], targets)
        order = np.argsort(targets, kind="stable")
        targets = targets[order]
        starts = np.flatnonzero(np.concatenate(([True], targets[1:] != targets[:-1])))
        x[(*before, targets[starts])] += np.add.reduceat(np.take(rows, order, axis=axis), starts, axis=axis)
    return True


BACKEND = NumpyBackend()

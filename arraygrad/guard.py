"""Find writes to raw arrays that a graph has saved: `guard_arrays`, for debugging."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from arraygrad import inplace
from arraygrad.backends import NUMPY, Array, namespaces
from arraygrad.errors import VersionError, user_location
from arraygrad.hooks import saved_tensors_hooks
from arraygrad.tensor import Tensor

#: How many graphs need each locked array, by its id; and the array, so that the id stays its own.
_locked: dict[int, tuple[int, Any]] = {}


class guard_arrays(saved_tensors_hooks):  # noqa: N801  lower case: it is used like a function
    """Inside, what a graph saves is guarded until the graph is done with it. For debugging: it costs time.

    NumPy's arrays, and those that they are views of, become read-only meanwhile, so that a stray write raises at its
    own line; that goes for views that are made then, too, which stay read-only. What cannot be locked (views that were
    there before, CuPy's arrays) is found in backward by checksum, with the line that saved it. Writes through tensors
    go on as usual.

    >>> import numpy as np
    >>> import arraygrad as ag
    >>> data = np.ones(2)
    >>> x = ag.tensor([1.0, 2.0], requires_grad=True)
    >>> with ag.guard_arrays():
    ...     loss = ag.sum(x * data)
    >>> data[:] = 0.0
    Traceback (most recent call last):
        ...
    ValueError: assignment destination is read-only
    >>> loss.backward()
    >>> data[:] = 0.0
    """

    def __init__(self) -> None:
        super().__init__(_Guarded, _Guarded.verified)


class _Guarded:
    """A saved array, locked and with its checksum."""

    def __init__(self, tensor: Tensor) -> None:
        self._array = tensor.array
        self._site = user_location()
        self._sum = _checksum(tensor.array)
        self._locks: list[Any] = []
        array: Any = tensor.array
        while _is_numpy(array):
            count, _ = _locked.get(id(array), (0, None))
            if count or array.flags.writeable:
                array.flags.writeable = False
                _locked[id(array)] = (count + 1, array)
                self._locks.append(array)
            array = array.base

    def verified(self) -> Tensor:
        """The tensor, if its values are those that were saved."""
        if _checksum(self._array) != self._sum:
            raise VersionError(
                f"an array that a graph has saved, in the operation called at {self._site}, has been written to since, "
                "not through a tensor: copy it first"
            )
        return Tensor(self._array)

    def __del__(self) -> None:
        for array in reversed(self._locks):  # a view can be written to only if its base can
            count, _ = _locked.pop(id(array))
            if count > 1:
                _locked[id(array)] = (count - 1, array)
            else:
                array.flags.writeable = True


def _is_numpy(array: Any) -> bool:
    return type(array) is NUMPY.array_type


def _checksum(array: Array) -> int:
    return hash(namespaces[type(array)].to_host(array).tobytes())


@contextlib.contextmanager
def unlocked(array: Any) -> Iterator[None]:
    """Lift the locks of an array for a write through a tensor, which the graph knows of."""
    chain: list[Any] = []
    while _is_numpy(array):
        chain.append(array)
        array = array.base
    lifted = [array for array in reversed(chain) if not array.flags.writeable and _locks_any(chain)]
    for array in lifted:
        array.flags.writeable = True
    try:
        yield
    finally:
        for array in lifted:
            array.flags.writeable = id(array) not in _locked and not _locks_any(chain)


def _locks_any(chain: list[Any]) -> bool:
    return any(id(array) in _locked for array in chain)


def is_locked(array: Any) -> bool:
    """Whether a guard has made the array, or one that it is a view of, read-only."""
    while _is_numpy(array):
        if id(array) in _locked:
            return True
        array = array.base
    return False


inplace.is_locked, inplace.unlocked = is_locked, unlocked

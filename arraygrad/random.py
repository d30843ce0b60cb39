"""Random numbers on the right device, from NumPy's and CuPy's generators.

>>> import arraygrad as ag
>>> rng = ag.random.default_rng(0)
>>> rng.normal(size=(2, 3)).shape
(2, 3)
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

from arraygrad import backends
from arraygrad.backends import Array
from arraygrad.errors import ShapeError
from arraygrad.ops.creation import arange
from arraygrad.ops.indexing import take
from arraygrad.ops.sorting import argsort, searchsorted
from arraygrad.ops.statistical import cumulative_sum
from arraygrad.tensor import ArrayLike, Tensor

__all__ = ["Generator", "default_rng"]

Size = int | tuple[int, ...]
#: Inside a checkpoint: the generators that were drawn from, with their states before.
drawn_from: ContextVar[dict[Generator, Any] | None] = ContextVar("arraygrad_drawn_from", default=None)


class Generator:
    """A stream of random numbers that a seed determines, on one device. Make one with `default_rng`."""

    def __init__(self, seed: int | None, device: str) -> None:
        self._backend = backends.for_device(device)
        #: Where the numbers are made.
        self.device = self._backend.device_name(device)
        with self._backend.scope(self.device):
            self._source = self._backend.random_source(seed)

    @property
    def state(self) -> Any:
        """Where the stream stands; assign one that was read before to go back there."""
        with self._backend.scope(self.device):
            return self._backend.source_state(self._source)

    @state.setter
    def state(self, state: Any) -> None:
        with self._backend.scope(self.device):
            self._backend.set_source_state(self._source, state)

    def _draw(self, method: str, *args: Any, size: Size, dtype: Any = None) -> Tensor:
        shape = (size,) if isinstance(size, int) else tuple(size)
        noted = drawn_from.get()
        if noted is not None and self not in noted:
            noted[self] = self.state
        with self._backend.scope(self.device):
            values: Array = self._backend.from_source(getattr(self._source, method)(*args, shape), self.device)
        result = Tensor(values)
        return result if dtype is None else result.astype(dtype, copy=False)

    def uniform(self, low: ArrayLike = 0.0, high: ArrayLike = 1.0, size: Size = (), *, dtype: Any = None) -> Tensor:
        """Numbers from `low` up to `high`, which may be tensors: gradients flow to them."""
        sample = self._draw("random", size=size, dtype=dtype)
        return low + (high - low) * sample

    def normal(self, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, size: Size = (), *, dtype: Any = None) -> Tensor:
        """Normal numbers of mean `loc` and standard deviation `scale`: gradients flow to both."""
        return loc + scale * self._draw("standard_normal", size=size, dtype=dtype)

    def integers(self, low: int, high: int | None = None, size: Size = ()) -> Tensor:
        """Integers from `low` up to but without `high`; with one number, from 0 up to it."""
        low, high = (0, low) if high is None else (low, high)
        if high <= low:
            raise ShapeError(f"integers: there is none from {low} up to {high}")
        return self._draw("integers", low, high, size=size, dtype="int64")

    def permutation(self, x: int | Tensor, *, axis: int = 0) -> Tensor:
        """The integers up to `x`, or the slices of a tensor along an axis, in random order."""
        length = x if isinstance(x, int) else x.shape[axis]
        order = argsort(self._draw("random", size=length))
        return order if isinstance(x, int) else take(x, order, axis=axis)

    def choice(self, a: int | Tensor, size: Size = (), *, replace: bool = True, p: ArrayLike | None = None) -> Tensor:
        """Elements of a 1-D tensor, or integers up to `a`: with or without repetition, with probabilities `p`.

        Raises:
            ShapeError: more are asked for than there are, or `p` is given together with `replace=False`.
        """
        population = arange(a, device=self.device) if isinstance(a, int) else a
        count, shape = population.shape[0], (size,) if isinstance(size, int) else tuple(size)
        total = 1
        for length in shape:
            total *= length
        if not replace:
            if p is not None or total > count:
                raise ShapeError(
                    f"choice without repetition: {total} of {count}" + (", and takes no p" if p is not None else "")
                )
            chosen = self.permutation(count)[:total]
        elif p is None:
            chosen = self.integers(count, size=(total,))
        else:
            heights = cumulative_sum(p)
            chosen = searchsorted(heights.detach() / heights.detach()[-1], self.uniform(size=(total,)), side="right")
        return take(population, chosen.reshape(total)).reshape(shape)


def default_rng(seed: int | None = None, *, device: str | None = None) -> Generator:
    """Make a generator on a device, the default one if none is named; without a seed, from the system's entropy.

    Raises:
        DeviceError: the device is unknown or not available.
    """
    return Generator(seed, backends.get_default_device() if device is None else device)

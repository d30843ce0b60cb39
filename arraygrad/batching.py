"""Arrays with a hidden leading axis: how Jacobians, Hessians and `vmap` run many cases at once.

A `Batched` wraps a raw array whose first axis counts cases and shows the shape of one case. It has a backend of its
own, so the engine, every rule and every forward run on it as on any other raw array:

    elementwise           aligned behind the hidden axis
    along axes, shapes    axes are counted from behind it
    linear algebra        batches of matrices anyway
    indexing              with arrays, the hidden axis stands last meanwhile: NumPy moves the axes of an index with
                          arrays to the front if slices separate them
    anything else         case by case, and stacked: slower, never wrong

What is the same in all cases has a hidden axis of size 1. A batch has a level; an inner one has a higher level and
wraps the outer one's arrays. There is a class, with its backend, for each level over each kind of array, so that the
type alone says which axes are hidden. If a node's output is batched and an input is not, as in `vmap`, the gradient of
the input is the sum over the cases. In a batch that is born in backward, as for a Jacobian, neither is: its cases stay
apart.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any, ClassVar

from arraygrad import accumulate, backends
from arraygrad.backends import (
    Array,
    is_array,
    namespaces,
    several_devices,
)
from arraygrad.errors import GraphError


class LogicalShape(tuple[int, ...]):
    """The shape of one case, which knows the levels of the batches behind it."""

    levels: frozenset[int]


class Batched:
    """A raw array of many cases, `(cases, ...)`, that looks like one."""

    __slots__ = ("value",)
    level: ClassVar[int]
    #: NumPy's and CuPy's arrays leave operators to this class.
    __array_ufunc__ = None

    def __init__(self, value: Array) -> None:
        self.value = value

    def like(self, value: Array) -> Batched:
        """Other values of the same batch."""
        return batched_type(type(value), self.level)(value)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one case."""
        shape = self.value.shape
        logical = LogicalShape(shape[1:])
        logical.levels = getattr(shape, "levels", frozenset()) | {self.level}
        return logical

    @property
    def ndim(self) -> int:
        """Of one case."""
        return len(self.value.shape) - 1

    @property
    def size(self) -> int:
        """Of one case."""
        return math.prod(self.value.shape[1:])

    @property
    def dtype(self) -> Any:
        """The raw array's."""
        return self.value.dtype

    @property
    def device(self) -> Any:
        """The raw array's."""
        return self.value.device

    @property
    def base(self) -> Any:
        """So that nobody takes it for an array that nobody else holds."""
        return self.value

    def __getitem__(self, index: Any) -> Batched:
        result: Batched = namespaces[type(self)].getitem(self, index)
        return result

    def __setitem__(self, index: Any, value: Any) -> None:
        namespaces[type(self)].setitem(self, index, value)

    def __bool__(self) -> bool:
        if self.value.size != 1:
            raise GraphError("vmap: a condition that differs from case to case cannot steer Python's `if`; use where()")
        return bool(namespaces[type(self.value)].any(self.value))

    def __index__(self) -> int:
        return operator.index(self.value[0] if self.value.shape == (1,) else self._scalar())

    def __float__(self) -> float:
        return float(self.value[0] if self.value.shape == (1,) else self._scalar())

    __int__, __complex__ = __index__, __float__

    def _scalar(self) -> Any:
        raise GraphError("vmap: a value that differs from case to case has no single number")


def _operator(name: str, *, reflected: bool = False) -> Callable[..., Any]:
    def method(self: Batched, *others: Any) -> Any:
        if others and not (is_array(others[0]) or isinstance(others[0], int | float | complex)):
            return NotImplemented
        operands = (*others, self) if reflected else (self, *others)
        return getattr(common([x for x in operands if is_array(x)]), name)(*operands)

    return method


def _in_place(python: str, name: str) -> Callable[[Batched, Any], Batched]:
    write = getattr(operator, f"__i{python}__")

    def method(self: Batched, other: Any) -> Batched:
        xp: Any = namespaces[type(self)]
        if not is_array(other):
            write(self.value, other)
            return self
        value = xp.padded(other, self.ndim)
        if value.shape[0] > self.value.shape[0]:  # what was the same in all cases no longer is
            self.value = getattr(xp, name)(self, other).value
        else:
            write(self.value, value)
        return self

    return method


for _python, _name in {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "pow": "pow", "floordiv": "floor_divide",
    "mod": "remainder", "matmul": "matmul", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
}.items():  # fmt: skip
    setattr(Batched, f"__{_python}__", _operator(_name))
    setattr(Batched, f"__r{_python}__", _operator(_name, reflected=True))
    if _python != "matmul":
        setattr(Batched, f"__i{_python}__", _in_place(_python, _name))
for _python, _name in {
    "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal",
    "neg": "negative", "pos": "positive", "abs": "abs", "invert": "bitwise_invert",
}.items():  # fmt: skip
    setattr(Batched, f"__{_python}__", _operator(_name))
Batched.__hash__ = object.__hash__  # type: ignore[method-assign]  # == is elementwise


#: The forward batches that are being run here: the level of each, and its number of cases, outer ones first.
active: ContextVar[tuple[tuple[int, int], ...]] = ContextVar("arraygrad_batches", default=())


@contextmanager
def batches_among(batches: Sequence[tuple[int, int]]) -> Iterator[None]:
    """Run code for which no others than these batches are active."""
    outer = active.get()
    active.set(tuple([batch for batch in outer if batch in batches]))
    try:
        yield
    finally:
        active.set(outer)


def one_case_of(level: int) -> AbstractContextManager[None]:
    """Run code for a single case: what is made there is no batch of this level."""
    return batches_among([batch for batch in active.get() if batch[0] != level])


def zero_in_all_cases(xp: Any, dtype: Any, device: str) -> Array:
    """A zero of its own for each case of the active batches: added, it makes anything differ from case to case."""
    batches = active.get()
    while xp.is_batched:
        xp = xp.raw
    with xp.scope(device):
        zero = xp.zeros(tuple(cases for _, cases in batches), dtype=dtype, device=xp.creation_device(device))
    for level, _ in batches:
        zero = batched_type(type(zero), level)(zero)
    return zero


#: Set by batch_namespace.py: makes the backend of a new class.
make_backend: Any = None
_types: dict[tuple[type, int], type[Batched]] = {}


def batched_type(raw_type: type, level: int) -> Any:
    """The class of batches of a level over one kind of array."""
    key, raw = (raw_type, level), namespaces[raw_type]
    known = _types.get(key)
    if (
        known is None or getattr(namespaces.get(known), "raw", None) is not raw
    ):  # tests put other libraries in place of one
        backend = make_backend(raw, level)
        known = _types[key] = backend.array_type
        namespaces[known] = backend
    if raw_type in several_devices:
        several_devices.add(known)
    return known


def common(arrays: Sequence[Array]) -> Any:
    """The backend of arrays with different hidden axes: it hides those of all of them."""
    levels: set[int] = set()
    raw_type: type = type(arrays[0])
    for array in arrays:
        while isinstance(array, Batched):
            levels.add(array.level)
            array = array.value
        raw_type = type(array)
    for level in sorted(levels):
        raw_type = batched_type(raw_type, level)
    return namespaces[raw_type]


def over_cases(grad: Array, shape: tuple[int, ...], output: tuple[int, ...]) -> Array:
    """Sum a gradient over the batches that the output of its node has and the input does not.

    A batch that the output does not have either was born in this backward: its cases stay apart.
    """
    nothing: frozenset[int] = frozenset()
    levels, of_input, of_output = (getattr(s, "levels", nothing) for s in (grad.shape, shape, output))
    extra = (levels & of_output) - of_input
    if not extra:
        return grad
    return _sum_levels(grad, extra) if is_array(grad) else sum_recorded(grad, extra)


#: Set by vectorize.py: the same for a tensor, where backward is recorded.
sum_recorded: Any = None


def _sum_levels(x: Any, levels: frozenset[int]) -> Array:
    if not isinstance(x, Batched):
        return x
    value = _sum_levels(x.value, levels)
    if x.level not in levels:
        return x.like(value)
    xp = namespaces[type(value)]
    return xp.lift(xp.sum(value, axis=0))


backends.common_batch = common
accumulate.over_cases = over_cases

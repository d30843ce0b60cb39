"""The namespace of batched arrays: the standard's functions, and what else rules need, behind the hidden axis.

See batching.py, which says how each kind of function is run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from arraygrad.backends import Array, Backend, full_index, is_array, is_basic, namespaces
from arraygrad.batch_submodules import BatchedFft, BatchedLinalg, BatchedSpecial
from arraygrad.batching import Batched
from arraygrad.errors import GraphError

ELEMENTWISE = frozenset(
    """abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_invert bitwise_left_shift bitwise_or
    bitwise_right_shift bitwise_xor ceil clip conj copysign cos cosh divide equal exp expm1 floor floor_divide greater
    greater_equal hypot imag isfinite isinf isnan less less_equal log log10 log1p log2 logaddexp logical_and
    logical_not logical_or logical_xor maximum minimum multiply negative nextafter not_equal positive pow real
    reciprocal remainder round sign signbit sin sinh sqrt square subtract tan tanh trunc where""".split()
)
#: Functions with the keyword axis, of one array: what axis=None means, and the default.
_EACH, _FLAT = "each", "flat"
ALONG: dict[str, tuple[Any, Any]] = {
    **dict.fromkeys("all any max mean min prod std sum var count_nonzero".split(), (None, _EACH)),
    **dict.fromkeys(("argmax", "argmin", "roll", "cumulative_sum", "cumulative_prod"), (None, _FLAT)),
    **dict.fromkeys(("sort", "argsort", "diff"), (-1, _FLAT)),
    "flip": (None, _EACH),
    "tril": (..., _EACH),
    "triu": (..., _EACH),
    "matrix_transpose": (..., _EACH),
    "astype": (..., _EACH),
}
LIKE = frozenset("zeros_like ones_like full_like empty_like".split())
FACTS = frozenset("can_cast finfo iinfo isdtype result_type".split())
CREATE = frozenset("arange asarray empty eye from_dlpack full linspace ones zeros".split())


class BatchedBackend(Backend):
    """The namespace of batched arrays over one kind of raw array."""

    name = "batched"
    counts_references = False
    is_batched = True

    def __init__(self, raw: Backend, level: int) -> None:
        self.raw, self.level = raw, level
        self.complex_dtypes, self.memory_error = raw.complex_dtypes, raw.memory_error
        self.array_type: Any = type("Batched", (Batched,), {"__slots__": (), "level": level})
        self.linalg, self.fft = BatchedLinalg(self), BatchedFft(self)

    def namespace(self) -> Any:
        return self.raw

    # ---- What the raw arrays say

    def device(self, array: Any) -> str:
        return self.raw.device(array.value) if isinstance(array, self.array_type) else self.raw.device(array)

    def device_name(self, device: str) -> str:
        return self.raw.device_name(device)

    def scope(self, device: str) -> Any:
        return self.raw.scope(device)

    def creation_device(self, device: str) -> Any:
        return self.raw.creation_device(device)

    def dtype(self, dtype: Any) -> Any:
        return self.raw.dtype(dtype)

    def numpy_dtype(self, dtype: Any) -> Any:
        return self.raw.numpy_dtype(dtype)

    def from_host(self, array: Array, device: str) -> Array:
        return self.raw.from_host(array, device)

    def to_host(self, array: Any) -> Array:
        raise GraphError(
            "vmap: a value that differs from case to case cannot steer Python's `if` or become a number; use where(), "
            "or return it"
        )

    def copy(self, array: Any) -> Batched:
        return array.like(self.raw.copy(array.value))

    def is_view_of(self, result: Any, source: Any) -> bool:
        return self.raw.is_view_of(result.value, source.value)

    def is_writable(self, array: Any) -> bool:
        return self.raw.is_writable(array.value)

    def overlaps(self, array: Any) -> bool:
        return self.raw.overlaps(array.value)

    def is_contiguous(self, array: Any) -> bool:
        return self.raw.is_contiguous(array.value)

    def lift(self, result: Any) -> Any:
        return self.same(result if is_array(result) else self.raw.lift(result))

    def lifted(self, node: Any, saved: Any) -> Any:
        """What a node has saved, each array as one that is the same in all cases."""
        sources = node.op.sources
        if sources is None or saved is None:
            return saved
        return [
            box if box is None or source is None or not is_array(box[0]) else (self.same(box[0]),)
            for source, box in zip(sources, saved, strict=True)
        ]

    def same(self, x: Array) -> Any:
        """An array that lacks some of the hidden axes, the same in all their cases."""
        if isinstance(x, self.array_type):
            return x
        if isinstance(x, Batched) and x.level == self.level:
            if isinstance(x.value, Batched) and not self.raw.is_batched:
                return x  # a gradient on its way to what has more hidden axes
            return self.array_type(self._raw(x.value))
        return self.array_type(self.raw.expand_dims(self._raw(x), axis=0))

    def _raw(self, x: Array) -> Array:
        return self.raw.same(x) if isinstance(self.raw, BatchedBackend) else x

    # ---- Functions, by kind

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        function = getattr(self.raw, name)
        if name in ELEMENTWISE:
            made = self.elementwise(function)
        elif name in ALONG:
            made = self._along(function, *ALONG[name])
        elif name in LIKE:
            made = lambda x, *args, **kwargs: x.like(function(x.value, *args, **kwargs))  # noqa: E731
        elif name in CREATE:
            made = self._creation(function)
        elif callable(function) and not isinstance(function, type) and name not in FACTS:
            made = self.each(function)
        else:
            made = function
        setattr(self, name, made)
        return made

    def _batch(self, operands: Sequence[Any]) -> Any:
        """One of the operands that are batched."""
        return next(x for x in operands if isinstance(x, self.array_type))

    def aligned(self, operands: Sequence[Any]) -> tuple[Any, list[Any]]:
        """A batched operand, and the values of all with as many axes behind the hidden one; numbers stay."""
        batch = self._batch(operands)
        shapes = [x.shape for x in operands if is_array(x)]
        ndim = max(map(len, shapes))
        return batch, [self.padded(x, ndim) if is_array(x) else x for x in operands]

    def padded(self, x: Any, ndim: int) -> Array:
        """The value of an array, with axes of size 1 behind the hidden one to make `ndim` more."""
        value, missing = self.same(x).value, ndim - len(x.shape)
        shape = tuple(value.shape)
        return self.raw.reshape(value, (shape[0], *(1,) * missing, *shape[1:])) if missing else value

    def elementwise(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            named = list(kwargs)
            batch, values = self.aligned([*args, *kwargs.values()])
            n = len(args)
            return batch.like(self.raw.lift(function(*values[:n], **dict(zip(named, values[n:], strict=True)))))

        return call

    def _along(self, function: Callable[..., Any], default: Any, none: str) -> Callable[..., Any]:
        each = self.each(function)

        def call(x: Any, *args: Any, **kwargs: Any) -> Any:
            if default is ...:
                return x.like(function(x.value, *args, **kwargs))
            axis = kwargs.pop("axis", default)
            if axis is None and none == _FLAT:
                if x.ndim != 1:
                    return each(x, *args, axis=None, **kwargs)
                axis = 0
            result = function(x.value, *args, axis=self.axes(x, axis), **kwargs)
            return x.like(self.raw.lift(result))

        return call

    def axes(self, x: Any, axis: Any) -> Any:
        """Axes of one case as those of the raw array."""
        if axis is None:
            return tuple(range(1, x.ndim + 1))
        if isinstance(axis, tuple | list):
            return tuple(self.axes(x, item) for item in axis)
        return axis + 1 if axis >= 0 else axis

    def _creation(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            if args and isinstance(args[0], self.array_type):  # asarray
                return args[0].like(function(args[0].value, *args[1:], **kwargs))
            return self.same(function(*args, **kwargs))

        return call

    def each(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Case by case."""

        def call(*args: Any, **kwargs: Any) -> Any:
            batched = [x for x in _flat([args, kwargs]) if isinstance(x, self.array_type)]
            cases = max(x.value.shape[0] for x in batched)
            if not cases:
                raise GraphError(f"vmap over no cases at all is not supported by {getattr(function, '__name__', '')}")
            results = [
                function(*_case(self.array_type, args, i), **_case(self.array_type, kwargs, i)) for i in range(cases)
            ]
            return self._stacked(batched[0], results)

        return call

    def _stacked(self, batch: Any, results: Sequence[Any]) -> Any:
        first = results[0]
        if isinstance(first, tuple | list):
            items = [self._stacked(batch, [result[k] for result in results]) for k in range(len(first))]
            return type(first)(*items) if hasattr(first, "_fields") else type(first)(items)
        lift = self.raw.lift
        return batch.like(self.raw.stack([lift(result) for result in results]))

    # ---- Shapes

    def reshape(self, x: Any, /, shape: Any, *, copy: bool | None = None) -> Any:
        return x.like(self.raw.reshape(x.value, (x.value.shape[0], *shape), copy=copy))

    def broadcast_to(self, x: Any, /, shape: Any) -> Any:
        return x.like(self.raw.broadcast_to(self.padded(x, len(shape)), (x.value.shape[0], *shape)))

    def permute_dims(self, x: Any, /, axes: Sequence[int]) -> Any:
        return x.like(self.raw.permute_dims(x.value, (0, *[axis % x.ndim + 1 for axis in axes])))

    def moveaxis(self, x: Any, source: Any, destination: Any, /) -> Any:
        return x.like(self.raw.moveaxis(x.value, self.axes(x, source), self.axes(x, destination)))

    def expand_dims(self, x: Any, /, *, axis: Any = 0) -> Any:
        return x.like(self.raw.expand_dims(x.value, axis=self.axes(x, axis)))

    def squeeze(self, x: Any, /, axis: Any) -> Any:
        return x.like(self.raw.squeeze(x.value, axis=self.axes(x, axis)))

    def concat(self, arrays: Sequence[Any], /, *, axis: int | None = 0) -> Any:
        batch, values = self._whole(arrays)
        if axis is None:
            values, axis = [self.raw.reshape(value, (value.shape[0], -1)) for value in values], 0
        return batch.like(self.raw.concat(values, axis=self.axes(batch, axis)))

    def stack(self, arrays: Sequence[Any], /, *, axis: int = 0) -> Any:
        batch, values = self._whole(arrays)
        return batch.like(self.raw.stack(values, axis=self.axes(batch, axis)))

    def unstack(self, x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
        return tuple(x.like(part) for part in self.raw.unstack(x.value, axis=self.axes(x, axis)))

    def _whole(self, arrays: Sequence[Any]) -> tuple[Any, list[Array]]:
        """The values of arrays, all of them with as many cases."""
        batch, values = self._batch(arrays), [self.same(x).value for x in arrays]
        cases = max(value.shape[0] for value in values)
        return batch, [
            value if value.shape[0] == cases else self.raw.broadcast_to(value, (cases, *value.shape[1:]))
            for value in values
        ]

    def matmul(self, x1: Any, x2: Any, /) -> Any:
        rank1, rank2 = len(x1.shape), len(x2.shape)
        x1 = self.same(x1) if rank1 > 1 else self.expand_dims(self.same(x1), axis=0)
        x2 = self.same(x2) if rank2 > 1 else self.expand_dims(self.same(x2), axis=1)
        batch, values = self.aligned([x1, x2])
        result = batch.like(self.raw.matmul(*values))
        if rank1 == 1:
            result = self.squeeze(result, axis=-2)
        return result if rank2 > 1 else self.squeeze(result, axis=-1)

    def vecdot(self, x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
        batch, values = self.aligned([x1, x2])
        return batch.like(self.raw.vecdot(*values, axis=axis))

    def diagonal(self, x: Any, /, *, offset: int = 0) -> Any:
        return x.like(self.raw.diagonal(x.value, offset=offset))

    # ---- Indexing

    def _index(self, index: Any) -> tuple[Any, ...] | None:
        """An index that is the same in all cases, None where it is not."""
        items = []
        for item in full_index(index):
            if isinstance(item, self.array_type):
                if item.value.shape[0] != 1:
                    return None
                item = self.raw.getitem(item.value, (0, ...))
            items.append(item)
        return tuple(items)

    def _last(self, value: Array) -> Array:
        return self.raw.moveaxis(value, 0, -1)

    def getitem(self, x: Any, index: Any, /) -> Any:
        items = self._index(index)
        if items is None or not isinstance(x, self.array_type):
            return self.each(self.raw.getitem)(x, index)
        if is_basic(items):
            return x.like(self.raw.getitem(x.value, (slice(None), *items)))
        return x.like(self.raw.moveaxis(self.raw.getitem(self._last(x.value), _before_last(items)), -1, 0))

    def setitem(self, x: Any, index: Any, value: Any, /) -> None:
        self._write(self.raw.setitem, x, index, value)

    def add_at(self, x: Any, index: Any, value: Any, /) -> None:
        self._write(self.raw.add_at, x, index, value)

    def _write(self, write: Callable[..., None], x: Any, index: Any, value: Any) -> None:
        items = self._index(index)
        if items is None:
            raise GraphError(
                "vmap: a write whose index or mask differs from case to case is not supported; use where()"
            )
        if is_array(value) and self.same(value).value.shape[0] > x.value.shape[0]:
            raise GraphError("vmap: a value that differs from case to case needs a target that does, too")
        if is_basic(items):
            region = self.raw.getitem(x.value, (slice(None), *items))
            write(
                x.value,
                (slice(None), *items),
                self.padded(self.same(value), region.ndim - 1) if is_array(value) else value,
            )
        else:
            moved = self._last(self.same(value).value) if is_array(value) else value
            write(self._last(x.value), _before_last(items), moved)

    def scatter(self, g: Any, index: Any, shape: tuple[int, ...], /) -> Any:
        items = self._index(index)
        if items is None:
            return self.each(lambda g, index: self.raw.scatter(g, index, shape))(g, index)
        cases = g.value.shape[0]
        if is_basic(items):
            return g.like(self.raw.scatter(g.value, (slice(None), *items), (cases, *shape)))
        result = self.raw.scatter(self._last(g.value), _before_last(items), (*shape, cases))
        return g.like(self.raw.moveaxis(result, -1, 0))

    def last_writes(self, x: Any, index: Any, /) -> Any:
        items = self._index(index)
        if items is None:
            raise GraphError("vmap: a write whose index differs from case to case is not supported")
        return self.raw.last_writes(self.raw.zeros(x.shape, dtype=x.dtype, device=x.device), items)

    def take(self, x: Any, indices: Any, /, *, axis: int) -> Any:
        return self.getitem(x, (slice(None),) * (axis % len(x.shape)) + (indices,))

    def take_along_axis(self, x: Any, indices: Any, /, *, axis: int = -1) -> Any:
        batch, values = self._whole([self.same(x), self.same(indices)])
        return batch.like(self.raw.take_along_axis(*values, axis=self.axes(batch, axis)))

    @property
    def special(self) -> Any:
        return BatchedSpecial(self)


def _before_last(items: tuple[Any, ...]) -> tuple[Any, ...]:
    """The index for an array with the hidden axis last, which `...` must not reach."""
    return (*items, slice(None))


def _flat(value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return [leaf for item in value for leaf in _flat(item)]
    if isinstance(value, dict):
        return _flat(list(value.values()))
    return [value]


def _case(array_type: type, value: Any, i: int) -> Any:
    if isinstance(value, array_type):
        raw = value.value  # type: ignore[attr-defined]
        return namespaces[type(raw)].getitem(raw, (0 if raw.shape[0] == 1 else i, ...))
    if isinstance(value, list | tuple):
        return type(value)([_case(array_type, item, i) for item in value])
    if isinstance(value, dict):
        return {key: _case(array_type, item, i) for key, item in value.items()}
    return value

"""`linalg`, `fft` and `special` of batched arrays. See batch_namespace.py."""

from __future__ import annotations

from typing import Any

MATRICES = frozenset(
    "cholesky det eig eigh eigvals eigvalsh inv matrix_power matrix_rank pinv qr slogdet svd svdvals".split()
)


class BatchedLinalg:
    """`xp.linalg` of batched arrays."""

    def __init__(self, xp: Any) -> None:
        self._xp = xp

    def __getattr__(self, name: str) -> Any:
        xp = self._xp
        if name in ("matmul", "vecdot", "matrix_transpose", "diagonal"):
            return getattr(xp, name)
        function = getattr(xp.raw.linalg, name)
        if name in MATRICES:

            def call(x: Any, *args: Any, **kwargs: Any) -> Any:
                result = function(x.value, *args, **kwargs)
                if isinstance(result, tuple):
                    return type(result)(*map(x.like, result))
                return x.like(xp.raw.lift(result))

            return call
        return xp.each(function)

    def solve(self, x1: Any, x2: Any, /) -> Any:
        """Vectors become columns meanwhile."""
        xp, is_vector = self._xp, len(x2.shape) == 1
        x2 = xp.expand_dims(xp.same(x2), axis=-1) if is_vector else xp.same(x2)
        batch, (a, b) = xp.aligned([xp.same(x1), x2])
        shape = tuple(max(m, n) for m, n in zip(a.shape[:-2], b.shape[:-2], strict=True))
        b = xp.raw.broadcast_to(b, (*shape, *b.shape[-2:]))
        result = batch.like(xp.raw.linalg.solve(xp.raw.broadcast_to(a, (*shape, *a.shape[-2:])), b))
        return xp.squeeze(result, axis=-1) if is_vector else result

    def vector_norm(self, x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:  # noqa: A002
        """Along axes of one case."""
        axes = self._xp.axes(x, axis)
        return x.like(self._xp.raw.linalg.vector_norm(x.value, axis=axes, keepdims=keepdims, ord=ord))


class BatchedFft:
    """`xp.fft` of batched arrays."""

    def __init__(self, xp: Any) -> None:
        self._xp = xp

    def __getattr__(self, name: str) -> Any:
        xp = self._xp
        function = getattr(xp.raw.fft, name)
        if name in ("fftfreq", "rfftfreq"):
            return lambda *args, **kwargs: xp.same(function(*args, **kwargs))
        plural = name.endswith("n") or "shift" in name

        def call(x: Any, **kwargs: Any) -> Any:
            if plural:
                axes = kwargs.pop("axes", None)
                if axes is None and kwargs.get("s") is not None:
                    axes = tuple(range(-len(kwargs["s"]), 0))
                return x.like(function(x.value, axes=xp.axes(x, axes), **kwargs))
            return x.like(function(x.value, axis=xp.axes(x, kwargs.pop("axis", -1)), **kwargs))

        return call


class BatchedSpecial:
    """`xp.special` of batched arrays: all elementwise."""

    def __init__(self, xp: Any) -> None:
        self._xp = xp

    def __getattr__(self, name: str) -> Any:
        return self._xp.elementwise(getattr(self._xp.raw.special, name))

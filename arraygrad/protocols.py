"""What other code asks of a Tensor by a protocol: Python, NumPy, the array API standard, DLPack, copy and pickle.

An export that would lose history raises: silent loss of the graph is the worst bug there is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from arraygrad import backends
from arraygrad.backends import NUMPY, namespaces
from arraygrad.errors import DtypeError, GraphError, ShapeError, format_shape
from arraygrad.views import link

if TYPE_CHECKING:
    from arraygrad.tensor import Tensor


class Protocols:
    """The protocols that Tensor answers."""

    __slots__ = ()

    #: CuPy's arrays on the left of an operator leave it to the Tensor on the right (NumPy's ask __array_ufunc__).
    __array_priority__ = 1000

    if TYPE_CHECKING:
        array: Any
        requires_grad: Any

        @property
        def device(self) -> str:  # noqa: D102  see Tensor
            ...
        @property
        def is_leaf(self) -> bool:  # noqa: D102  see Tensor
            ...

        shape: Any
        ndim: Any
        size: Any
        dtype: Any
        grad_fn: Any
        item: Callable[[], Any]
        __getitem__: Callable[[Any], Tensor]
        _grad: Any
        _node: Any
        numpy: Callable[[], Any]
        to: Callable[[Any], Tensor]
        requires_grad_: Callable[..., Tensor]
        _alias: Callable[[], Tensor]
        _like: Callable[[Any], Tensor]

    # ---- Python

    def _scalar(self, kind: str) -> Any:
        if self.size != 1:
            raise ShapeError(
                f"{kind}() needs a tensor of one element, got shape {format_shape(self.shape)}"
                + ("; use any() or all()" if kind == "bool" else "")
            )
        return self.item()

    def __bool__(self) -> bool:
        return bool(self._scalar("bool"))

    def __int__(self) -> int:
        return int(self._scalar("int"))

    def __float__(self) -> float:
        return float(self._scalar("float"))

    def __complex__(self) -> complex:
        return complex(self._scalar("complex"))

    def __index__(self) -> int:
        if self.ndim or self.dtype.kind not in "iu":
            raise DtypeError(f"only a 0-d integer tensor can be an index, got {self.dtype} {format_shape(self.shape)}")
        return int(self.item())

    def __len__(self) -> int:
        if not self.ndim:
            raise DtypeError("len() of a 0-d tensor")
        length: int = self.shape[0]
        return length

    def __iter__(self) -> Iterator[Tensor]:
        if not self.ndim:
            raise DtypeError("iteration over a 0-d tensor")
        return map(self.__getitem__, range(self.shape[0]))

    def __contains__(self, value: Any) -> bool:
        import arraygrad

        return bool(arraygrad.any(arraygrad.equal(self, value)))

    def __repr__(self) -> str:
        host = namespaces[type(self.array)].to_host(self.array)
        facts = f"dtype={self.dtype}, device={self.device!r}"
        if self.grad_fn is not None:
            facts += f", grad_fn={self.grad_fn!r}"
        elif self.requires_grad:
            facts += ", requires_grad=True"
        return f"tensor({NUMPY.format(host, 'tensor(')}, {facts})"

    def __format__(self, spec: str) -> str:
        if not spec:
            return repr(self)
        if self.ndim:
            raise DtypeError(f"format {spec!r} needs a 0-d tensor, got shape {format_shape(self.shape)}; use item()")
        return format(self.item(), spec)

    # ---- Arrays

    if not TYPE_CHECKING:  # NumPy's annotations would promise an array for `array @ tensor`

        def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
            if self.requires_grad:
                raise GraphError(
                    "a conversion to a NumPy array would lose the history of a tensor that requires grad; "
                    "call detach() first, or use the function of the same name in arraygrad"
                )
            return NUMPY.convert(self.numpy(), dtype, copy)

    def to_device(self, device: str, /, *, stream: Any = None) -> Tensor:
        """The standard's method: `to(device)`."""
        return self.to(device)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12", "2025.12"):
            raise ShapeError(f"arraygrad implements the array API standard up to 2025.12, not {api_version}")
        import arraygrad

        return arraygrad

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        from arraygrad import numpy_names

        return numpy_names.call_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        from arraygrad import numpy_names

        return numpy_names.call_function(function, args, kwargs, self.device)

    def __dlpack__(self, **kwargs: Any) -> Any:
        if self.requires_grad:
            raise GraphError("an export by DLPack would lose the history of a tensor that requires grad; detach() it")
        return namespaces[type(self.array)].to_dlpack(self.array, **kwargs)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()

    def __copy__(self) -> Tensor:
        alias = self._alias()
        if self.is_leaf and self.requires_grad:
            alias.requires_grad_()
        elif not link(alias, self):  # type: ignore[arg-type]  # Tensor is this class's only heir
            alias._node = self._node
        alias._grad = None if self._grad is None else self._grad.detach().clone()
        return alias

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        self._refuse_history("deepcopy")
        result = memo[id(self)] = self._like(namespaces[type(self.array)].copy(self.array))
        result.requires_grad_(self.requires_grad)
        result._grad = None if self._grad is None else self._grad.detach().clone()
        return result

    def __reduce__(self) -> tuple[Callable[..., Tensor], tuple[Any, ...]]:
        self._refuse_history("pickle")
        host = namespaces[type(self.array)].to_host(self.array)
        grad = None if self._grad is None else self._grad.detach()
        return _restore, (host, self.device, self.requires_grad, grad)

    def _refuse_history(self, what: str) -> None:
        if not self.is_leaf:
            raise GraphError(
                f"{what} of a tensor with gradient history ({self._node!r}) would copy a value without its "
                f"graph; use clone() to copy it with history, or {what} its detach()"
            )


def _restore(host: Any, device: str, requires_grad: bool, grad: Tensor | None) -> Tensor:
    from arraygrad.tensor import Tensor

    result = Tensor(backends.for_device(device).from_host(host, device)).requires_grad_(requires_grad)
    result._grad = grad
    return result

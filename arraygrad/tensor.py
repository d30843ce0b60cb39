"""Tensor: a raw array with autograd state. Properties and operators that call ops; no maths."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeAlias

from arraygrad import backends
from arraygrad.backends import NUMPY, Array, namespaces
from arraygrad.errors import DeviceError, DtypeError, GraphError, ShapeError, format_shape
from arraygrad.hooks import RemovableHandle, register
from arraygrad.methods import ArrayMethods
from arraygrad.node import AccumulateGrad, FunctionNode, made_by
from arraygrad.protocols import Protocols
from arraygrad.storage import Storage, storage_of
from arraygrad.views import View, history

#: What stands wherever a tensor is expected: a Tensor, a raw array, a Python or NumPy number. The note
#: lets a declaration find its array inputs, however the annotation is written down.
ArrayLike: TypeAlias = Annotated[Any, "ArrayLike"]


class Tensor(ArrayMethods, Protocols):
    """A raw array of NumPy or CuPy, and its place in the recorded graph.

    Make one with `arraygrad.tensor` or `arraygrad.asarray`. `array` is the raw array itself.
    """

    __slots__ = ("__weakref__", "_box", "_grad", "_node", "_storage", "_view", "array")

    array: Array
    #: What made this tensor; a leaf's AccumulateGrad; None where no gradient is wanted.
    _node: FunctionNode | AccumulateGrad | None
    _grad: Tensor | None
    #: The box of nodes that saved this tensor (see node.py), and the memory's record; made when needed.
    _box: list[Any] | None
    _storage: Storage | None
    #: Of a tensor that shares another one's memory (see views.py). `history()` reads `_node` in its light.
    _view: View | None

    def __init__(self, array: Array) -> None:
        if type(array) not in namespaces and not backends.is_array(array):
            raise DtypeError(f"Tensor wraps a raw array, got {type(array).__name__}; use arraygrad.tensor")
        self.array = array
        self._node = self._grad = self._box = self._storage = self._view = None

    def _like(self, array: Array) -> Tensor:
        return Tensor(array)

    # ---- Facts about the array

    @property
    def shape(self) -> tuple[int, ...]:
        """The size of each axis."""
        shape: tuple[int, ...] = self.array.shape
        return shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.array.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.array.shape)

    @property
    def dtype(self) -> Any:
        """The data type, a NumPy dtype on every device."""
        return namespaces[type(self.array)].numpy_dtype(self.array.dtype)

    @property
    def device(self) -> str:
        """The device: `"cpu"`, `"cuda:0"`."""
        return namespaces[type(self.array)].device(self.array)

    @property
    def T(self) -> Tensor:  # noqa: N802  the name of the standard and of NumPy
        """The transpose: all axes in reverse."""
        return ops.permute_dims(self, tuple(range(self.ndim))[::-1])

    @property
    def mT(self) -> Tensor:  # noqa: N802  the name of the standard
        """The transpose of the last two axes."""
        return ops.matrix_transpose(self)

    @property
    def version(self) -> int:
        """How often the memory has been written to in place, through this tensor, a view or an alias."""
        return 0 if self._storage is None else self._storage.version

    # ---- Autograd state

    @property
    def requires_grad(self) -> bool:
        """Whether gradients flow to this tensor. Set it on leaves; results inherit it."""
        return history(self) is not None

    @requires_grad.setter
    def requires_grad(self, flag: bool) -> None:
        self.requires_grad_(flag)

    def requires_grad_(self, flag: bool = True) -> Tensor:
        """Say whether `backward` shall compute a gradient for this leaf; returns the tensor.

        Raises:
            GraphError: the tensor is not a leaf.
            DtypeError: its data type is not a floating point one.
        """
        if not self.is_leaf:
            if flag:
                return self
            raise GraphError(
                "you can only change requires_grad flags of leaf tensors; use detach() for a tensor without history"
            )
        if flag and self.dtype.kind not in "fc":
            raise DtypeError(
                f"only floating point tensors can require gradients, got {self.dtype}; convert with astype first"
            )
        if not flag:
            self._node = None
        elif self._node is None:
            storage_of(self)  # a leaf is written to in every step: its boxes are listed from the start
            self._view = None  # it has no history to keep up with
            self._node = AccumulateGrad(self)
        return self

    @property
    def grad(self) -> Tensor | None:
        """The gradient that `backward` has accumulated, None before.

        Assign None, or a tensor of the same shape, data type and device.
        """
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            if not isinstance(value, Tensor):
                raise DtypeError(f"grad must be None or a Tensor, got {type(value).__name__}")
            for fact in ("shape", "dtype", "device"):
                came, expected = getattr(value, fact), getattr(self, fact)
                if came != expected:
                    write = format_shape if fact == "shape" else str
                    raise (ShapeError if fact == "shape" else DeviceError if fact == "device" else DtypeError)(
                        f"grad must have the tensor's {fact} {write(expected)}, got {write(came)}"
                    )
            if value.array is self.array or (value._storage is not None and value._storage is self._storage):
                raise GraphError(
                    "grad cannot share the tensor's memory, which backward would write to; assign a clone()"
                )
        self._grad = value

    @property
    def grad_fn(self) -> FunctionNode | None:
        """The node that made this tensor, None for a leaf. It has `name` and `next_functions`."""
        node = history(self)
        return made_by(node) if isinstance(node, FunctionNode) else None

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded operation made this tensor."""
        return not isinstance(history(self), FunctionNode)

    def backward(
        self,
        gradient: ArrayLike | None = None,
        *,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Sequence[Tensor] | None = None,
    ) -> None:
        """Add the gradient of this tensor with respect to each leaf to the leaf's `grad`.

        Args:
            gradient: the cotangent of this tensor, of its shape. A tensor of one element needs none.
            retain_graph: keep what the graph has saved, so that backward can run through it again. By default
                what `create_graph` says.
            create_graph: record backward itself, so that gradients have gradients. (A gradient with history in
                `grad` and its leaf hold each other, until Python's collector finds them: `arraygrad.gradients`
                leaves nothing behind.)
            inputs: add to the `grad` of these tensors and no others; only what leads to them is run.

        Raises:
            GraphError: the tensor does not require grad, or its graph has been released.
            ShapeError: the gradient is missing or has another shape.
            VersionError: a saved value has been modified in place.

        >>> import arraygrad as ag
        >>> x = ag.tensor([1.0, 2.0], requires_grad=True)
        >>> (x * x).backward([1.0, 10.0])
        >>> x.grad
        tensor([ 2., 40.], dtype=float64, device='cpu')
        """
        autograd.backward(self, gradient, retain_graph=retain_graph, create_graph=create_graph, inputs=inputs)

    def zero_grad(self) -> None:
        """Set `grad` to None."""
        self._grad = None

    def retain_grad(self) -> None:
        """Let backward store the gradient of this intermediate tensor in its `grad` too.

        The graph does not keep the tensor alive for it. A second backward replaces what is stored.
        """
        node = history(self)
        if node is None:
            raise GraphError("retain_grad needs a tensor that requires grad")
        if isinstance(node, FunctionNode):
            extras = node.extras = node.extras or {}
            retained = extras.setdefault("retained", [])
            if not any(reference() is self for reference in retained):
                retained.append(weakref.ref(self))

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
        """Call `hook(grad)` when backward has this tensor's gradient; what it returns, if anything, goes on instead.

        The hook belongs to the history that the tensor has now. `remove()` of the result takes it away.

        >>> import arraygrad as ag
        >>> x = ag.tensor(1.0, requires_grad=True)
        >>> y = x * 3.0
        >>> with y.register_hook(lambda grad: grad * 2.0):
        ...     y.backward()
        >>> x.grad.item()
        6.0
        """
        node = history(self)
        if node is None:
            raise GraphError("cannot register a hook on a tensor that doesn't require gradient")
        return register(node, "hooks", hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> RemovableHandle:
        """Call `hook(tensor)` after backward has added to the `grad` of this leaf, and of all others."""
        node = history(self)
        if not isinstance(node, AccumulateGrad):
            raise GraphError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        return register(node, "accumulated", hook)

    def detach(self) -> Tensor:
        """Return a tensor of the same memory without history; a write to it counts for both."""
        return self._alias()

    def _alias(self) -> Tensor:
        alias = Tensor(self.array)
        alias._storage = storage_of(self)
        return alias

    def detach_(self) -> Tensor:
        """Forget the history in place: the tensor becomes a leaf that does not require grad."""
        self._node = self._view = None
        return self

    # ---- Conversion

    def to(self, target: Any) -> Tensor:
        """Convert to a device (`"cuda"`) or a data type; gradients are converted back.

        The tensor itself where nothing changes.
        """
        if isinstance(target, str) and target.partition(":")[0] in backends.DEVICE_NAMES:
            return self if target == self.device else ops.to_device(self, target)
        try:
            dtype = NUMPY.dtype(target)
        except DtypeError:
            raise DtypeError(f"to() takes a device ('cpu', 'cuda', 'cuda:1') or a data type, got {target!r}") from None
        return self if dtype == self.dtype else ops.astype(self, dtype, copy=False)

    def numpy(self) -> Any:
        """Return the NumPy array, which shares its memory with the tensor.

        Raises:
            GraphError: the tensor requires grad: call `detach()` first.
            DeviceError: it is not on the CPU: call `to("cpu")` first.
        """
        if self.requires_grad:
            raise GraphError("numpy() of a tensor that requires grad would lose its history; call detach().numpy()")
        if type(self.array) is not NUMPY.array_type:
            raise DeviceError(f"numpy() of a tensor on {self.device}; call to('cpu').numpy()")
        return self.array

    def item(self) -> Any:
        """Return the one element as a Python number."""
        if self.size != 1:
            raise ShapeError(f"item() needs a tensor of one element, got shape {format_shape(self.shape)}")
        return namespaces[type(self.array)].to_host(self.array).item()

    # ---- Copies

    def clone(self) -> Tensor:
        """Return a copy with history: `arraygrad.copy`."""
        return ops.copy(self)


# The one cycle of imports: a Tensor's operators and methods call ops, and ops make Tensors.
import arraygrad as ops  # noqa: E402  below Tensor on purpose
from arraygrad import autograd, inplace, methods  # noqa: E402
from arraygrad.op import operator  # noqa: E402
from arraygrad.ops import elementwise, indexing, linalg, manipulation, predicates  # noqa: E402, F401

methods.link(ops, inplace, indexing, manipulation, operator)

"""The libraries that are compared, each with the functions that the cases need, under one set of names.

Each in the way that its users write: functions that a library has are its own, the others are spelt out. What is said
once for all libraries is `Library`; an `UnsupportedError` says why a case has no figure of a library.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Run = Callable[[], list[Any]]  # gradients, Hessians or values
Formula = Callable[..., Any]  # of a library and its arrays


class UnsupportedError(Exception):
    """A library does not have what a case needs."""


class Library:
    """Namespaces with NumPy's names, as those of HIPS autograd, Advect and JAX; arrays that stay NumPy's."""

    name: str
    package: str
    needs = ""

    def __init__(self) -> None:
        self.module = importlib.import_module(self.package)
        self.np: Any = importlib.import_module(f"{self.package}.numpy")

    @property
    def version(self) -> str:
        return getattr(self.module, "__version__", None) or importlib.metadata.version(self.package)

    def __getattr__(self, name: str) -> Any:
        function = getattr(self.np, name)
        setattr(self, name, function)  # the next call finds it at once, as a module's
        return function

    # ---- Functions

    def relu(self, x: Any) -> Any:
        return self.np.maximum(x, 0.0)

    def sigmoid(self, x: Any) -> Any:
        return 1.0 / (1.0 + self.np.exp(-x))

    def softmax(self, x: Any) -> Any:
        e = self.np.exp(x - self.np.max(x, axis=-1, keepdims=True))
        return e / self.np.sum(e, axis=-1, keepdims=True)

    def cross_entropy(self, logits: Any, targets: Any) -> Any:
        shifted = logits - self.np.max(logits, axis=1, keepdims=True)
        chosen = shifted[np.arange(len(targets)), targets]
        return self.np.mean(self.np.log(self.np.sum(self.np.exp(shifted), axis=1)) - chosen)

    def transposed(self, x: Any) -> Any:
        return self.np.swapaxes(x, -1, -2)

    def fft2(self, x: Any) -> Any:
        return self.np.fft.fft2(x, norm="ortho")

    def cholesky(self, x: Any) -> Any:
        return self.np.linalg.cholesky(x)

    def solve(self, a: Any, b: Any) -> Any:
        return self.np.linalg.solve(a, b)

    def diagonal(self, x: Any) -> Any:
        return self.np.diagonal(x)

    def rows(self, x: Any, index: Any) -> Any:
        return x[index]

    def windows(self, x: Any, size: int) -> Any:
        """Shape `(n, c, h, w, size, size)` of `(n, c, ...)`, from shifted slices where there is no such view."""
        h, w = x.shape[2] - size + 1, x.shape[3] - size + 1
        shifted = [x[:, :, i : i + h, j : j + w] for i in range(size) for j in range(size)]
        return self.np.reshape(self.np.stack(shifted, axis=-1), (*shifted[0].shape, size, size))

    def convolution(self, x: Any, filters: Any) -> Any:
        """Without padding, shape `(n, h, w, filters)`; of `(n, c, ...)` and `(filters, c, size, size)`."""
        return self.tensordot(self.windows(x, filters.shape[-1]), filters, axes=([1, 4, 5], [1, 2, 3]))

    def read(self, x: Any, part: slice) -> Any:
        """Of an array that is written to later."""
        return x[part]

    def write(self, x: Any, part: slice, value: Any) -> Any:
        x[part] = value
        return x

    # ---- Runs

    def constant(self, value: np.ndarray) -> Any:
        return value

    def gradients(self, formula: Formula, inputs: Sequence[Any], wanted: int) -> Run:
        """Gradients of the last inputs."""
        arrays = [self.constant(value) for value in inputs]
        numbers = tuple(range(len(arrays) - wanted, len(arrays)))
        return lambda: self.finished(self.module.grad(lambda *args: formula(self, *args), numbers)(*arrays))

    def pullback(self, formula: Formula, inputs: Sequence[Any], wanted: int) -> Run:
        """The gradient of the last input alone, from the cotangent that is the first."""
        raise UnsupportedError(f"{self.name}: its backward is not measured without its forward")

    def hessian(self, formula: Formula, inputs: Sequence[Any], wanted: int) -> Run:
        (x,) = [self.constant(value) for value in inputs]
        return lambda: self.finished([self.module.hessian(lambda x: formula(self, x))(x)])

    def values(self, formula: Formula, inputs: Sequence[Any], wanted: int) -> Run:
        """The value alone, with the library's switch that stops recording."""
        arrays = [self.constant(value) for value in inputs]

        def run() -> list[Any]:
            with self.no_grad():
                return self.finished([formula(self, *arrays)])

        return run

    def no_grad(self) -> contextlib.AbstractContextManager[Any]:
        return contextlib.nullcontext()

    def finished(self, results: Sequence[Any]) -> list[Any]:
        return list(results)

    def numpy(self, result: Any) -> np.ndarray:
        return np.asarray(result)


class Recording(Library):
    """Libraries with tensors that have `backward` and `grad`."""

    def __init__(self) -> None:
        self.np = self.module = importlib.import_module(self.package)

    def leaf(self, value: Any) -> Any:
        raise NotImplementedError

    def gradients(self, formula: Formula, inputs: Sequence[Any], wanted: int) -> Run:
        first = len(inputs) - wanted
        leaves = [self.leaf(value) for value in inputs[first:]]
        arrays = [*map(self.constant, inputs[:first]), *leaves]

        def run() -> list[Any]:
            for leaf in leaves:
                self.forget(leaf)
            formula(self, *arrays).backward()
            return [leaf.grad for leaf in leaves]

        return run

    def pullback(self, formula: Formula, inputs: Sequence[Any], wanted: int) -> Run:
        cotangent, *arrays = map(self.constant, inputs[:-1])
        leaf = self.leaf(inputs[-1])
        y = formula(self, *arrays, leaf)

        def run() -> list[Any]:
            self.forget(leaf)
            y.backward(cotangent, retain_graph=True)
            return [leaf.grad]

        return run

    def forget(self, leaf: Any) -> None:
        leaf.grad = None

    def no_grad(self) -> contextlib.AbstractContextManager[Any]:
        return self.module.no_grad()


class Arraygrad(Recording):
    name, package = "arraygrad", "arraygrad"

    def __init__(self) -> None:
        super().__init__()
        self.relu, self.sigmoid = self.np.relu, self.np.sigmoid
        self.softmax, self.cross_entropy = self.np.softmax, self.np.cross_entropy

    def constant(self, value: Any) -> Any:
        return self.module.asarray(value)

    def leaf(self, value: Any) -> Any:
        return self.module.tensor(value, requires_grad=True)

    def hessian(self, formula: Formula, inputs: Sequence[Any], wanted: int) -> Run:
        (x,) = map(self.constant, inputs)
        return lambda: [self.module.hessian(lambda x: formula(self, x))(x)]

    def numpy(self, result: Any) -> np.ndarray:
        return result.numpy()

    def transposed(self, x: Any) -> Any:
        return x.mT

    def fft2(self, x: Any) -> Any:
        return self.np.fft.fftn(x, norm="ortho")

    def diagonal(self, x: Any) -> Any:
        return self.np.linalg.diagonal(x)

    def rows(self, x: Any, index: Any) -> Any:
        return self.np.take(x, index, axis=0)

    def windows(self, x: Any, size: int) -> Any:
        return np.lib.stride_tricks.sliding_window_view(x, (size, size), (2, 3))


class PyTorch(Recording):
    name, package = "PyTorch", "torch"

    def __init__(self) -> None:
        super().__init__()
        self.module.set_num_threads(1)
        self.relu, self.sigmoid = self.np.relu, self.np.sigmoid

    def constant(self, value: Any) -> Any:
        return self.module.tensor(value)

    def leaf(self, value: Any) -> Any:
        return self.module.tensor(value, requires_grad=True)

    def hessian(self, formula: Formula, inputs: Sequence[Any], wanted: int) -> Run:
        (x,) = map(self.constant, inputs)
        return lambda: [self.module.func.hessian(lambda x: formula(self, x))(x)]

    def numpy(self, result: Any) -> np.ndarray:
        return result.detach().numpy()

    def softmax(self, x: Any) -> Any:
        return self.np.softmax(x, -1)

    def cross_entropy(self, logits: Any, targets: Any) -> Any:
        return self.module.nn.functional.cross_entropy(logits, targets)

    def transposed(self, x: Any) -> Any:
        return x.mT

    def tensordot(self, x1: Any, x2: Any, axes: Any) -> Any:
        return self.np.tensordot(x1, x2, dims=axes)

    def read(self, x: Any, part: slice) -> Any:
        return x[part].clone()  # what sin saves must not be written to

    def windows(self, x: Any, size: int) -> Any:
        return x.unfold(2, size, 1).unfold(3, size, 1)


class Autograd(Library):
    name, package = "HIPS autograd", "autograd"

    def diagonal(self, x: Any) -> Any:
        return self.np.diag(x)  # diagonal has no derivative for these axes

    def write(self, x: Any, part: slice, value: Any) -> Any:
        raise UnsupportedError("HIPS autograd has no assignment to parts of an array")

    def pullback(self, formula: Formula, inputs: Sequence[Any], wanted: int) -> Run:
        cotangent, *arrays, x = inputs
        pull, _ = self.module.make_vjp(lambda x: formula(self, *arrays, x))(x)
        return lambda: [pull(cotangent)]

    def hessian(self, formula: Formula, inputs: Sequence[Any], wanted: int) -> Run:
        (x,) = inputs
        return lambda: [self.module.hessian(lambda x: formula(self, x))(x)]


class MyGrad(Recording):
    name, package = "MyGrad", "mygrad"

    def __init__(self) -> None:
        super().__init__()
        # Its guard locks what is saved; without it operations are as quick as they can be.
        self.module.turn_memory_guarding_off()
        nnet = importlib.import_module("mygrad.nnet")
        activations = nnet.activations
        self.relu, self.sigmoid, self.softmax = activations.relu, activations.sigmoid, activations.softmax
        self.cross_entropy, self.conv_nd = nnet.losses.softmax_crossentropy, nnet.layers.conv_nd

    def pullback(self, formula: Formula, inputs: Sequence[Any], wanted: int) -> Run:
        raise UnsupportedError("MyGrad runs a graph backward once")

    def leaf(self, value: Any) -> Any:
        return self.module.tensor(value)

    def hessian(self, formula: Formula, inputs: Sequence[Any], wanted: int) -> Run:
        raise UnsupportedError("MyGrad has first derivatives only")

    def no_grad(self) -> contextlib.AbstractContextManager[Any]:
        return self.module.no_autodiff

    def forget(self, leaf: Any) -> None:
        leaf.null_grad()

    def convolution(self, x: Any, filters: Any) -> Any:
        return self.np.moveaxis(self.conv_nd(x, filters, stride=1), 1, 3)

    def fft2(self, x: Any) -> Any:
        raise UnsupportedError("MyGrad has no Fourier transform")

    def cholesky(self, x: Any) -> Any:
        raise UnsupportedError("MyGrad has no decompositions")


class Advect(Library):
    name, package, needs = "Advect", "advect", ", which needs Python 3.12 or later"

    def windows(self, x: Any, size: int) -> Any:
        return self.np.lib.stride_tricks.sliding_window_view(x, (size, size), (2, 3))


class Jax(Library):
    name, package = "JAX", "jax"

    def __init__(self) -> None:
        super().__init__()
        self.module.config.update("jax_enable_x64", True)
        nn = importlib.import_module("jax.nn")
        self.relu, self.sigmoid, self.softmax = nn.relu, nn.sigmoid, nn.softmax

    def constant(self, value: Any) -> Any:
        return self.np.asarray(value)

    def finished(self, results: Sequence[Any]) -> list[Any]:
        return list(self.module.block_until_ready(results))

    def pullback(self, formula: Formula, inputs: Sequence[Any], wanted: int) -> Run:
        cotangent, *arrays, x = map(self.constant, inputs)
        _, pull = self.module.vjp(lambda x: formula(self, *arrays, x), x)
        return lambda: self.finished(pull(cotangent))

    def write(self, x: Any, part: slice, value: Any) -> Any:
        return x.at[part].set(value)


LIBRARIES: list[type[Library]] = [Arraygrad, PyTorch, Autograd, MyGrad, Advect, Jax]


def installed(names: Sequence[str] = ()) -> tuple[list[Library], list[str]]:
    """The libraries that can be imported, and why the others cannot."""
    found, absent = [], []
    for library in LIBRARIES:
        if names and library.name not in names:
            continue
        try:
            found.append(library())
        except ImportError as error:
            absent.append(f"{library.name}{library.needs} ({error})")
    return found, absent

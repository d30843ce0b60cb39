"""Random programs of reads, views, writes and no_grad blocks, and the machines that run them.

A program is a list of instructions, each four small numbers, which a machine reads in the light of the tensors that
it has so far; so every machine that has the same shapes runs the same program. `Library` runs it on arraygrad,
`Functional` does without views and writes: the memory of a root is a flat tensor, a view is an array of positions in
it, and a write is a `where`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np

import arraygrad as ag

Instruction = tuple[int, int, int, int]
SHAPES = [(2, 3), (4,), (3, 1)]
#: Of x and the index of a write; what NumPy's indexing means by them.
VIEWS: list[Callable[[Any], Any]] = [
    lambda x: x[0, ...],  # with the dots NumPy, too, gives a view of a 1-D array
    lambda x: x[-2:],
    lambda x: x[..., ::2],
    lambda x: x[None],
    lambda x: x[..., 0],
    lambda x: x.T if x.ndim == 2 else x[:],
    lambda x: x.reshape(-1),
    lambda x: x.reshape(-1, 1),
    lambda x: x[..., ::-1],
]
INDICES: list[Callable[[Any], Any]] = [
    lambda shape: ...,
    lambda shape: 0,
    lambda shape: slice(-2, None),
    lambda shape: (..., slice(None, None, 2)),
    lambda shape: np.arange(np.prod(shape, dtype=int)).reshape(shape) % 2 == 0,
    lambda shape: np.array([0, -1, 0]) if shape[0] > 1 else np.array([0, 0]),
    lambda shape: (..., np.array([-1, 0])),
]
OPERATIONS = ["add", "sub", "mul", "div"]


class RefusedError(Exception):
    """The machine does not take the instruction."""


class Machine:
    """Runs programs; the subclasses say how."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.tensors: list[Any] = []
        self.leaves = [self.make(rng.uniform(0.5, 1.5, shape), True) for shape in SHAPES[:2]]
        self.tensors = [*self.leaves, *(self.make(rng.uniform(0.5, 1.5, shape), False) for shape in SHAPES)]
        self.refused: list[int] = []

    def run(self, program: list[Instruction]) -> None:
        """Run all instructions, every eighth kind of them inside no_grad, noting which were refused."""
        for number, (kind, i, j, k) in enumerate(program):
            with self.no_grad() if kind % 8 == 7 else contextlib.nullcontext():
                try:
                    self.step(kind // 8, self.tensors[-1 - i % len(self.tensors)], j, k)
                except RefusedError:
                    self.refused.append(number)

    def step(self, kind: int, x: Any, j: int, k: int) -> None:
        shape = self.shape(x)
        same = [t for t in self.tensors if self.shape(t) == shape]
        if kind == 0:
            self.tensors.append(self.compute(x, j))
        elif kind == 1:
            self.tensors.append(self.multiply(x, same[j % len(same)]))
        elif kind in (2, 3) and shape:
            self.tensors.append(self.view(x, VIEWS[j % len(VIEWS)]))
        elif kind == 4:
            self.tensors.append(self.broadcast(x, (2, *shape)) if j % 2 else self.detach(x))
        elif kind in (5, 6) and shape:
            index = INDICES[j % len(INDICES)](shape)
            self.write(x, index, self.source(k, np.zeros(shape)[index].shape))
        elif kind == 7 and j % 2:
            self.update(x, OPERATIONS[j // 2 % 4], self.source(k, shape))
        elif kind == 7:
            self.update(x, OPERATIONS[j // 2 % 3], same[k % len(same)])

    def source(self, k: int, shape: tuple[int, ...]) -> Any:
        """A number, or what a tensor has, as a 0-d tensor or spread over the shape."""
        x = self.tensors[-1 - k // 3 % len(self.tensors)]
        if k % 3 == 0:
            return 0.5 + k % 4
        return self.spread(x, () if k % 3 == 1 else shape)

    make: Callable[[np.ndarray, bool], Any]
    no_grad: Callable[[], Any]
    shape: Callable[[Any], tuple[int, ...]]
    compute: Callable[[Any, int], Any]
    multiply: Callable[[Any, Any], Any]
    view: Callable[[Any, Callable[[Any], Any]], Any]
    broadcast: Callable[[Any, tuple[int, ...]], Any]
    detach: Callable[[Any], Any]
    spread: Callable[[Any, tuple[int, ...]], Any]
    write: Callable[[Any, Any, Any], None]
    update: Callable[[Any, str, Any], None]


class Library(Machine):
    """arraygrad as it is used; notes whether a write went without history."""

    def __init__(self, device: str = "cpu") -> None:
        self.device = device
        super().__init__()

    def make(self, values: np.ndarray, requires_grad: bool) -> Any:
        return ag.tensor(values, requires_grad=requires_grad, device=self.device)

    no_grad = staticmethod(ag.no_grad)

    def shape(self, x: Any) -> tuple[int, ...]:
        return x.shape

    def compute(self, x: Any, j: int) -> Any:
        return [ag.tanh, ag.exp, ag.square, lambda x: x * 0.5 + 1.0][j % 4](x * 0.3)

    def multiply(self, x: Any, y: Any) -> Any:
        return ag.tanh(x * y)

    def view(self, x: Any, function: Callable[[Any], Any]) -> Any:
        return function(x)

    def broadcast(self, x: Any, shape: tuple[int, ...]) -> Any:
        return ag.broadcast_to(x, shape)

    def detach(self, x: Any) -> Any:
        return x.detach()

    def spread(self, x: Any, shape: tuple[int, ...]) -> Any:
        """The elements again and again, squeezed to between 0.5 and 1.5."""
        places = np.resize(np.arange(int(np.prod(x.shape))), shape)
        return 1.0 + 0.5 * ag.tanh(
            ag.take(ag.reshape(x, (-1,)), ag.asarray(places.reshape(-1), device=x.device)).reshape(shape)
        )

    def write(self, x: Any, index: Any, value: Any) -> None:
        with self.refusals():
            x[self.index(x, index)] = value

    def index(self, x: Any, index: Any) -> Any:
        move = lambda item: ag.asarray(item, device=x.device) if isinstance(item, np.ndarray) else item  # noqa: E731
        return tuple(map(move, index)) if isinstance(index, tuple) else move(index)

    def update(self, x: Any, name: str, value: Any) -> None:
        with self.refusals():
            getattr(x, f"{name}_")(value)

    @contextlib.contextmanager
    def refusals(self) -> Any:
        try:
            yield
        except ag.InplaceError as error:
            raise RefusedError from error


class Block:
    """The model of a tensor: its root's memory, and where in it the elements lie."""

    def __init__(self, root: Root, positions: np.ndarray, records: bool) -> None:
        self.root, self.positions, self.records = root, positions, records


class Root:
    """Memory with a history: a flat tensor. Other roots may share the memory but not the history."""

    def __init__(self, history: ag.Tensor, is_leaf: bool) -> None:
        self.history, self.is_leaf, self.sharers = history, is_leaf, [self]


class Functional(Machine):
    """No views and no writes. `lost` says that a write went without history: what was saved before may be stale."""

    def __init__(self) -> None:
        self.lost = False
        super().__init__()

    def make(self, values: np.ndarray, requires_grad: bool) -> Block:
        leaf = ag.tensor(values, requires_grad=requires_grad)
        block = self.block(leaf)
        block.leaf = leaf  # type: ignore[attr-defined]
        block.root.is_leaf = requires_grad
        return block

    def block(self, value: ag.Tensor) -> Block:
        """A new root whose positions lie in memory as the elements of `value` do: NumPy says what is a view."""
        positions = np.empty_like(value.array, dtype=int)
        positions[...] = np.arange(value.size).reshape(value.shape)
        return Block(Root(ag.reshape(ag.copy(value), (-1,)), False), positions, True)

    def read(self, x: Any) -> ag.Tensor:
        flat = ag.take(x.root.history, ag.asarray(x.positions.reshape(-1)))
        value = ag.reshape(flat, x.positions.shape)
        value = value if x.records else value.detach()
        # The layout of the results of operations is that of their operands.
        layout = np.empty_like(x.positions, dtype=float)
        layout[...] = 1.0
        return value * ag.asarray(layout)

    no_grad = staticmethod(ag.no_grad)

    def shape(self, x: Block) -> tuple[int, ...]:
        return x.positions.shape

    def compute(self, x: Block, j: int) -> Block:
        return self.block(Library.compute(self, self.read(x), j))  # type: ignore[arg-type]

    def multiply(self, x: Block, y: Block) -> Block:
        return self.block(ag.tanh(self.read(x) * self.read(y)))

    def view(self, x: Block, function: Callable[[Any], Any]) -> Block:
        positions = function(x.positions)
        if np.shares_memory(positions, x.positions):
            return Block(x.root, positions, x.records and ag.is_grad_enabled())
        return self.block(function(self.read(x)))

    def broadcast(self, x: Block, shape: tuple[int, ...]) -> Block:
        return Block(x.root, np.broadcast_to(x.positions, shape), x.records and ag.is_grad_enabled())

    def detach(self, x: Block) -> Block:
        root = Root(x.root.history.detach(), False)
        root.sharers = x.root.sharers
        root.sharers.append(root)
        return Block(root, x.positions, True)

    def spread(self, x: Block, shape: tuple[int, ...]) -> ag.Tensor:
        return Library.spread(self, self.read(x), shape)  # type: ignore[arg-type]

    def write(self, x: Block, index: Any, value: Any) -> None:
        self.put(x, x.positions[index], value)

    def update(self, x: Block, name: str, value: Any) -> None:
        value = self.read(value) if isinstance(value, Block) else value
        operation = {"add": ag.add, "sub": ag.subtract, "mul": ag.multiply, "div": ag.divide}[name]
        self.check(x, value)
        self.put(x, x.positions, operation(self.read(x), value), value)

    def check(self, x: Block, value: Any) -> bool:
        """Whether the write carries history."""
        has_history = x.root.history.requires_grad or (isinstance(value, ag.Tensor) and value.requires_grad)
        records = ag.is_grad_enabled() and has_history
        if (records and (x.root.is_leaf or not x.records)) or not x.positions.flags.writeable:
            raise RefusedError
        return records

    def put(self, x: Block, positions: np.ndarray, value: Any, source: Any = None) -> None:
        records = self.check(x, value if source is None else source)
        value = ag.broadcast_to(ag.asarray(value), positions.shape)
        size = x.root.history.size
        place = np.zeros(size, int)  # which element of `value` each element of the memory gets, if any
        is_written = np.zeros(size, bool)
        for k, position in enumerate(positions.reshape(-1)):
            place[position], is_written[position] = k, True
        new = ag.take(ag.reshape(value, (-1,)), ag.asarray(place)) if positions.size else x.root.history
        mask = ag.asarray(is_written)
        for root in x.root.sharers:
            with ag.enable_grad():
                if root is x.root and records:
                    root.history = ag.where(mask, new, root.history)
                else:  # the values change, the history does not
                    change = ag.where(mask, new - root.history, 0.0).detach()
                    root.history = root.history + change
        self.lost = self.lost or not records


def loss_of(machine: Machine, values: list[Any]) -> Any:
    """A weighted sum of all that has history."""
    total = None
    for number, value in enumerate(values):
        if value.requires_grad:
            term = ag.sum(ag.sin(value * 0.7 + 0.1 * number))
            total = term if total is None else total + term
    return total

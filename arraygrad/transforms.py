"""Functions of functions: derivatives without a word of graphs. The signatures are JAX's and torch.func's.

Arguments and results may be nested containers (see tree.py). Arguments need no `requires_grad`, their `grad` is not
touched, and the transforms nest. Gradients of complex arguments follow PyTorch's convention: they point to the
steepest ascent (JAX's are their conjugates).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import arraygrad as ag
from arraygrad.autograd import gradients
from arraygrad.backends import is_array, is_number, namespaces
from arraygrad.batching import active, zero_in_all_cases
from arraygrad.errors import DtypeError, GraphError, ShapeError, format_shape
from arraygrad.forward import Dual, level_of, new_level, primal_of, tangent_of, transposed, without_history
from arraygrad.modes import enable_grad, is_grad_enabled
from arraygrad.node import AccumulateGrad
from arraygrad.tensor import Tensor
from arraygrad.tree import leaves, leaves_like, rebuild, tree_map
from arraygrad.views import history

Function = Callable[..., Any]
Argnums = int | Sequence[int]


def vjp(f: Function, *primals: Any, has_aux: bool = False) -> Any:
    """Return `f(*primals)`, and the function that takes a cotangent of it to those of the primals: a tuple.

    Args:
        has_aux: `f` returns (out, aux); then `(out, pullback, aux)` is returned.

    Raises:
        DtypeError: a primal is not of a floating point type.
        ShapeError: the cotangent is not structured or shaped as the result.

    >>> import arraygrad as ag
    >>> y, pullback = ag.vjp(lambda a, b: a * b, 2.0, 3.0)
    >>> [x.item() for x in pullback(10.0)]
    [30.0, 20.0]
    """
    tape = Tape("vjp", f, primals, {}, range(len(primals)), has_aux)

    def pullback(cotangent: Any) -> tuple[Any, ...]:
        given = [ag.asarray(g) for g in leaves_like(tape.out, cotangent, "vjp: the cotangent")]
        for y, g in zip(leaves(tape.out), given, strict=True):
            if y.shape != g.shape:
                raise ShapeError(
                    f"vjp: the cotangent of a result of shape {format_shape(y.shape)} has shape {format_shape(g.shape)}"
                )
        return tuple(tape.pull(given, retain_graph=True))

    return (tape.result, pullback, tape.aux) if has_aux else (tape.result, pullback)


def value_and_grad(f: Function, argnums: Argnums = 0, has_aux: bool = False) -> Function:
    """Return the function that computes `f` and its gradient with respect to some positional arguments.

    `f` returns a real number (a 0-d or one-element tensor), or with `has_aux` that and anything else. The gradient is
    structured as the argument; for several `argnums` a tuple of them.

    >>> import arraygrad as ag
    >>> value, slope = ag.value_and_grad(lambda x: x**3)(2.0)
    >>> value.item(), slope.item()
    (8.0, 12.0)
    """

    @functools.wraps(f)
    def function(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        numbers = numbers_of("grad", argnums, args)
        tape = Tape("grad", f, args, kwargs, numbers, has_aux)
        out = tape.out
        if not isinstance(out, Tensor) or out.dtype.kind != "f" or out.size != 1:
            got = f"{out.dtype} {format_shape(out.shape)}" if isinstance(out, Tensor) else type(out).__name__
            raise ShapeError(f"grad needs a function whose result is one real number, got {got}; see jacobian and vjp")
        grads = tape.pull([ag.ones_like(out.detach())], retain_graph=False)
        grad = grads[0] if isinstance(argnums, int) else tuple(grads)
        return ((tape.result, tape.aux) if has_aux else tape.result), grad

    return function


def grad(f: Function, argnums: Argnums = 0, has_aux: bool = False) -> Function:
    """Return the function that computes the gradient of `f`; with `has_aux`, (gradient, aux). See `value_and_grad`.

    >>> import arraygrad as ag
    >>> ag.grad(ag.grad(lambda x: x**3))(2.0).item()
    12.0
    >>> ag.grad(lambda p: ag.sum(p["w"] * p["w"]) + p["b"])({"w": ag.tensor([1.0, 2.0]), "b": 3.0})["w"]
    tensor([2., 4.], dtype=float64, device='cpu')
    """
    both = value_and_grad(f, argnums, has_aux)

    @functools.wraps(f)
    def function(*args: Any, **kwargs: Any) -> Any:
        value, slope = both(*args, **kwargs)
        return (slope, value[1]) if has_aux else slope

    return function


def elementwise_grad(f: Function, argnum: int = 0) -> Function:
    """Return the function that computes the derivative of each element of `f` by the same element of its argument.

    It is the gradient of the sum: right for functions that treat elements one by one.

    >>> import arraygrad as ag
    >>> ag.elementwise_grad(ag.tanh)(ag.tensor([0.0, 1.0]))
    tensor([1.        , 0.41997434], dtype=float64, device='cpu')
    """

    @functools.wraps(f)
    def function(*args: Any, **kwargs: Any) -> Any:
        tape = Tape("elementwise_grad", f, args, kwargs, numbers_of("elementwise_grad", argnum, args), False)
        return tape.pull([ag.ones_like(y.detach()) for y in leaves(tape.out)], retain_graph=False)[0]

    return function


def jvp(f: Function, primals: Sequence[Any], tangents: Sequence[Any], *, has_aux: bool = False) -> Any:
    """Return `f(*primals)` and its derivative along `tangents`, by forward mode: one pass, and no graph is kept.

    Args:
        has_aux: `f` returns (out, aux); then `(out, tangent, aux)` is returned.

    Raises:
        ShapeError: the tangents are not structured or shaped as the primals.

    >>> import arraygrad as ag
    >>> y, slope = ag.jvp(ag.sin, (0.0,), (2.0,))
    >>> y.item(), slope.item()
    (0.0, 2.0)
    """
    level = new_level()
    primals, tangents = tuple(primals), tuple(tangents)
    points = [as_float("jvp", x) for x in leaves(primals)]
    directions = [
        _as_direction(x, t) for x, t in zip(points, leaves_like(primals, tangents, "jvp: the tangents"), strict=True)
    ]
    duals = [Dual(ag.copy(x), ag.copy(t), level) for x, t in zip(points, directions, strict=True)]
    out = f(*rebuild(primals, duals))
    out, *aux = out if has_aux else (out,)
    values = tree_map(lambda y: primal_of(y, level), out)
    slopes = tree_map(lambda y: _tangent_or_zeros(y, level), out)
    return values, slopes, *(tree_map(lambda y: primal_of(y, level), item) for item in aux)


def linearize(f: Function, *primals: Any) -> tuple[Any, Function]:
    """Return `f(*primals)`, and the function that takes tangents to the derivative along them: to be called often.

    >>> import arraygrad as ag
    >>> y, push = ag.linearize(lambda x: x * x, 3.0)
    >>> push(1.0).item(), push(10.0).item()
    (6.0, 60.0)
    """
    tape = Tape("linearize", f, primals, {}, range(len(primals)), False)
    with enable_grad():
        cotangents = [ag.zeros_like(y.detach()).requires_grad_() for y in leaves(tape.out)]
        grads = tape.raw_pull(leaves(tape.out), cotangents, create_graph=True, retain_graph=True)

    def push(*tangents: Any) -> Any:
        directions = leaves_like(primals, tangents, "linearize: the tangents")
        pairs = [(g, _as_direction(g, t)) for g, t in zip(grads, directions, strict=True) if g is not None]
        slopes = transposed([g for g, _ in pairs], cotangents, [t for _, t in pairs])
        slopes = [
            ag.zeros_like(y.detach()) if slope is None else slope
            for y, slope in zip(leaves(tape.out), slopes, strict=True)
        ]
        return rebuild(tape.out, slopes if tape.is_recorded else [without_history(slope) for slope in slopes])

    return tape.result, push


def hvp(f: Function, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """Return the Hessian of `f` at `primals` times `tangents`, forward over reverse: it costs a few gradients.

    Structured as the one primal; for several, a tuple.

    >>> import arraygrad as ag
    >>> ag.hvp(lambda x: ag.sum(x**3), (ag.tensor([1.0, 2.0]),), (ag.tensor([1.0, 0.0]),))
    tensor([6., 0.], dtype=float64, device='cpu')
    """
    primals = tuple(primals)
    product: tuple[Any, ...] = jvp(grad(f, tuple(range(len(primals)))), primals, tangents)[1]
    return product[0] if len(primals) == 1 else product


class Tape:
    """One run of `f` with fresh inputs, and its pullback."""

    def __init__(
        self, name: str, f: Function, args: Sequence[Any], kwargs: dict[str, Any], numbers: Sequence[int], has_aux: bool
    ) -> None:
        self.name, self.numbers, self.args = name, numbers, args
        outer = is_grad_enabled()
        with enable_grad():
            fresh = {i: tree_map(functools.partial(_fresh, name), args[i]) for i in numbers}
            out = f(*[fresh.get(i, arg) for i, arg in enumerate(args)], **kwargs)
            self.out, *aux = out if has_aux else (out,)
        self.inputs = [x for i in numbers for x in leaves(fresh[i])]
        self.nodes = [history(innermost(x)) for x in self.inputs]
        outputs = leaves(self.out)
        for y in outputs:
            if not isinstance(y, Tensor):
                raise DtypeError(f"{name}: the function must return tensors, got {type(y).__name__}")
        #: Others than the inputs want gradients of what is computed: it keeps its history.
        self.is_recorded = outer and _depends_on_more(outputs, self.nodes)
        self.result = self._plain(self.out)
        self.aux = self._plain(aux[0]) if has_aux else None

    def _plain(self, tree: Any) -> Any:
        return tree if self.is_recorded else tree_map(without_history, tree)

    def raw_pull(
        self, outputs: Sequence[Tensor], cotangents: Sequence[Tensor], *, create_graph: bool, retain_graph: bool
    ) -> list[Any]:
        """The cotangent of each leaf of the inputs from those of some outputs, None where there is none."""
        targets = [innermost(x) for x in self.inputs]
        if level_of(list(outputs)) or level_of(list(cotangents)):
            return transposed(outputs, targets, cotangents)
        live = [(y, g) for y, g in zip(outputs, cotangents, strict=True) if y.requires_grad]
        if not live:
            return [None] * len(targets)
        ys, gs = zip(*live, strict=True)
        return list(gradients(ys, targets, gs, create_graph=create_graph, retain_graph=retain_graph, allow_unused=True))

    def pull_leaves(
        self, outputs: Sequence[Tensor], cotangents: Sequence[Tensor], *, retain_graph: bool
    ) -> list[Tensor]:
        """The same, zeros where there is none, and with history only where somebody else wants it."""
        recorded = self.is_recorded or (is_grad_enabled() and any(_nodes(g) for g in cotangents))
        grads = self.raw_pull(outputs, cotangents, create_graph=recorded, retain_graph=retain_graph or recorded)
        return [
            ag.zeros_like(innermost(x).detach()) if g is None else g if recorded else without_history(g)
            for x, g in zip(self.inputs, grads, strict=True)
        ]

    def pull(self, cotangents: Sequence[Tensor], *, retain_graph: bool) -> list[Any]:
        """The cotangents of the inputs, structured as they are."""
        stream = iter(self.pull_leaves(leaves(self.out), cotangents, retain_graph=retain_graph))
        return [tree_map(lambda _: next(stream), self.args[i]) for i in self.numbers]


def _fresh(name: str, x: Any) -> Tensor:
    """An input of its own for a run: a leaf, or where it has history or a tangent, a copy with both."""
    x = as_float(name, x)
    if isinstance(x, Dual):
        return Dual(_fresh(name, x.primal), x.tangent, x.level)
    if active.get():  # inside vmap each case has an input of its own
        xp: Any = namespaces[type(x.array)]
        x = x + Tensor(zero_in_all_cases(xp, x.array.dtype, x.device))
    elif history(x) is not None:
        return ag.copy(x)
    return x if history(x) is not None else x._alias().requires_grad_()


def innermost(x: Tensor) -> Tensor:
    """A tensor without any of its tangents."""
    while isinstance(x, Dual):
        x = x.primal
    return x


def as_float(name: str, x: Any) -> Tensor:
    """An argument as a tensor; refuses what has no derivative."""
    if not (isinstance(x, Tensor) or is_array(x) or is_number(x)):
        raise DtypeError(f"{name} takes tensors, arrays and numbers (in containers, too), got {type(x).__name__}")
    tensor = ag.asarray(x)
    if tensor.dtype.kind not in "fc":
        raise DtypeError(f"{name} takes floating point numbers, got {tensor.dtype}; convert with astype first")
    return tensor


def _as_direction(x: Tensor, t: Any) -> Tensor:
    tangent = ag.asarray(t, device=None if isinstance(t, Tensor) else x.device)
    if tangent.shape != x.shape:
        raise ShapeError(f"the tangent of a {format_shape(x.shape)} has shape {format_shape(tangent.shape)}")
    return tangent if tangent.dtype == x.dtype else ag.astype(tangent, x.dtype)


def _tangent_or_zeros(y: Any, level: int) -> Any:
    if not isinstance(y, Tensor):
        raise DtypeError(f"jvp: the function must return tensors, got {type(y).__name__}")
    tangent = tangent_of(y, level)
    return ag.zeros_like(innermost(y).detach()) if tangent is None else tangent


def numbers_of(name: str, argnums: Argnums, args: Sequence[Any]) -> list[int]:
    """The positions of the arguments to differentiate."""
    numbers = [argnums] if isinstance(argnums, int) else list(argnums)
    for number in numbers:
        if not -len(args) <= number < len(args):
            raise GraphError(f"{name}: argnums is {argnums}, but the function got {len(args)} positional arguments")
    return [number % len(args) for number in numbers]


def _depends_on_more(outputs: Sequence[Any], inputs: Sequence[Any]) -> bool:
    """Whether a graph reaches leaves other than the inputs, or goes on behind them."""
    own = {node for node in inputs if isinstance(node, AccumulateGrad)}
    if len(own) < len(set(inputs)):
        return True
    return any(isinstance(node, AccumulateGrad) and node not in own for node in graph_of(outputs))


def graph_of(outputs: Sequence[Tensor]) -> Iterator[Any]:
    """All nodes that some tensors depend on."""
    pending = [node for y in outputs for node in _nodes(y)]
    seen = set(pending)
    while pending:
        node = pending.pop()
        yield node
        for edge in node.edges:
            if edge is not None and edge not in seen:
                seen.add(edge)
                pending.append(edge)


def _nodes(y: Tensor) -> list[Any]:
    if isinstance(y, Dual):
        return [*_nodes(y.primal), *_nodes(y.tangent)]
    node = history(y)
    return [] if node is None else [node]

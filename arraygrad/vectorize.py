"""Many cases in one run: `jacobian` and `hessian` by batched cotangents or tangents, and `vmap`."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import arraygrad as ag
from arraygrad import batching
from arraygrad.backends import Array, is_array, namespaces
from arraygrad.batch_namespace import BatchedBackend
from arraygrad.batching import Batched, active, batched_type
from arraygrad.errors import DtypeError, InplaceError, ShapeError, format_shape
from arraygrad.forward import Dual, new_level, primal_of, tangent_of
from arraygrad.op import linear
from arraygrad.tensor import ArrayLike, Tensor
from arraygrad.transforms import Argnums, Function, Tape, as_float, graph_of, innermost, numbers_of
from arraygrad.tree import leaves, leaves_like, rebuild, tree_map

batching.make_backend = BatchedBackend
_depth: ContextVar[int] = ContextVar("arraygrad_batch_depth", default=0)


@contextmanager
def _batch_level(cases: int | None = None, roots: Sequence[Tensor] = ()) -> Iterator[int]:
    """The level of a batch for the time that it exists; `cases` says that it is one of forward.

    A batch of cotangents stands above all those that the graph of `roots` has recorded.
    """
    depth, batches = _depth.get(), active.get()
    level = depth + 1
    _depth.set(level)
    active.set((*batches, (level, cases)) if cases is not None else batches)
    try:
        yield level if cases is not None else max(_BACKWARD + level, highest_level(roots) + 1)
    finally:
        _depth.set(depth)
        active.set(batches)


_BACKWARD = 1_000_000


def highest_level(roots: Sequence[Tensor]) -> int:
    """The highest level of a batch in the graph of some tensors, 0 where there is none."""
    shapes = (node.shape for node in graph_of(roots))
    return max((level for shape in shapes for level in getattr(shape, "levels", ())), default=0)


def _hide(xp: Any, x: Array, level: int, axis: int) -> Array:
    if isinstance(x, Batched) and x.level > level:
        return x.like(_hide(namespaces[type(x.value)], x.value, level, axis + 1))
    value = xp.moveaxis(x, axis, 0) if axis else x
    return batched_type(type(value), level)(value)


def _show(xp: Any, x: Array, level: int, axis: int, cases: int) -> Array:
    if isinstance(x, Batched) and x.level > level:
        return x.like(_show(namespaces[type(x.value)], x.value, level, axis + 1, cases))
    if not isinstance(x, Batched) or x.level != level:
        value = xp.broadcast_to(x, (cases, *x.shape))
    else:
        value, xp = x.value, namespaces[type(x.value)]
        if value.shape[0] != cases:
            value = xp.broadcast_to(value, (cases, *value.shape[1:]))
    return xp.moveaxis(value, 0, axis) if axis else value


@linear(lambda g, xp, level, axis, cases: show(xp, g, level, axis, cases))
def _hide_axis(xp: Any, x: ArrayLike, /, level: int, axis: int, cases: int) -> Array:
    return _hide(xp, x, level, axis)


@linear(lambda g, xp, level, axis, cases: hide(xp, g, level, axis, cases))
def _show_axis(xp: Any, x: ArrayLike, /, level: int, axis: int, cases: int) -> Array:
    return _show(xp, x, level, axis, cases)


def hide(xp: Any, x: Any, level: int, axis: int, cases: int) -> Any:
    """Turn an axis into the hidden one."""
    if isinstance(x, Tensor):
        return _hide_axis(x, level, axis, cases)
    return _hide(xp, x, level, axis)


def show(xp: Any, x: Any, level: int, axis: int, cases: int) -> Any:
    """Turn the hidden axis of a level into an ordinary one, also if all cases are the same."""
    if isinstance(x, Tensor):
        return _show_axis(x, level, axis, cases)
    return _show(xp, x, level, axis, cases)


def _sum_recorded(grad: Tensor, levels: frozenset[int]) -> Tensor:
    for level in levels:
        array = grad.array
        while array.level != level:
            array = array.value
        cases = array.value.shape[0]
        grad = ag.sum(_show_axis(grad, level, 0, cases), axis=0)
    return grad


batching.sum_recorded = _sum_recorded


# ---- vmap


def vmap(f: Function, in_axes: Any = 0, out_axes: Any = 0) -> Function:
    """Return the function that runs `f` on all cases at once: one run on arrays with one more axis.

    `f` is written for one case, in functions of arraygrad or of the standard; it may take and return nested containers.
    Functions without a rule for many cases run case by case. Gradients pass through; the gradient of what `f` closes
    over, or of an argument that is the same for all cases, is the sum over them.

    Args:
        in_axes: the axis of each positional argument that counts the cases, None for one that is the same in
            all; one number for all arguments, or a tuple with a number, or a container of numbers, for each.
        out_axes: where the axis of cases stands in the results.

    Raises:
        ShapeError: no argument has cases, or their numbers differ.
        GraphError: `f` steers Python's `if` by a value that differs from case to case.

    >>> import arraygrad as ag
    >>> rows = ag.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> ag.vmap(lambda row, s: ag.sum(row * row) * s, in_axes=(0, None))(rows, 10.0)
    tensor([ 50., 250.], dtype=float64, device='cpu')
    """

    @functools.wraps(f)
    def function(*args: Any, **kwargs: Any) -> Any:
        given = [in_axes] * len(args) if isinstance(in_axes, int) or in_axes is None else list(in_axes)
        if len(given) != len(args):
            raise ShapeError(f"vmap: in_axes is {in_axes!r}, but the function got {len(args)} positional arguments")
        axes = [_axes_like(arg, axis) for arg, axis in zip(args, given, strict=True)]
        pairs = [pair for arg, axis in zip(args, axes, strict=True) for pair in zip(leaves(arg), axis, strict=True)]
        cases = _cases([(ag.asarray(x), axis) for x, axis in pairs if axis is not None])
        with _batch_level(cases) as level:

            def batch(x: Any, axis: int | None) -> Any:
                if axis is None:
                    return ag.asarray(x) if is_array(x) else x
                x = ag.asarray(x)
                return _hide_axis(x, level, axis % len(x.shape), cases)

            out = f(
                *[
                    rebuild(arg, [batch(x, a) for x, a in zip(leaves(arg), axis, strict=True)])
                    for arg, axis in zip(args, axes, strict=True)
                ],
                **kwargs,
            )
            places = _axes_like(out, out_axes)
            results = [
                _show_axis(y, level, axis % (y.ndim + 1), cases)
                for y, axis in zip(map(ag.asarray, leaves(out)), places, strict=True)
            ]
        return rebuild(out, results)

    return function


def _axes_like(tree: Any, axes: Any) -> list[Any]:
    """The axis of each leaf."""
    if isinstance(axes, int) or axes is None:
        return [axes] * len(leaves(tree))
    return leaves_like(tree, axes, "vmap: the axes")


def _cases(pairs: Sequence[tuple[Tensor, int]]) -> int:
    sizes = []
    for x, axis in pairs:
        if not -len(x.shape) <= axis < len(x.shape):
            raise ShapeError(f"vmap: axis {axis} is outside an argument of shape {format_shape(x.shape)}")
        sizes.append(x.shape[axis])
    if len(set(sizes)) != 1:
        raise ShapeError(
            f"vmap: the arguments have different numbers of cases, {sizes}" if sizes else "vmap: no argument has cases"
        )
    return sizes[0]


# ---- Jacobians and Hessians


def jacobian(f: Function, argnums: Argnums = 0, has_aux: bool = False, *, mode: str | None = None) -> Function:
    """Return the function that computes all derivatives of `f`: for each result and argument a tensor of shape
    `(*result, *argument)`.

    One run with batched cotangents, or tangents where there are fewer elements in the arguments than in the results.
    The structure is that of the result, with that of the argument (for several `argnums` a tuple) in each place.
    For holomorphic functions, and for complex functions of real arguments, it is the complex derivative; for real
    functions of complex arguments the conjugate of the gradient, so that `df = real(sum(jacobian * dz))`.

    Args:
        has_aux: `f` returns (out, aux); then so does the Jacobian.
        mode: "forward" or "reverse"; None chooses by the sizes.

    >>> import arraygrad as ag
    >>> ag.jacobian(lambda x: x * x[0])(ag.tensor([2.0, 3.0]))
    tensor([[4., 0.],
            [3., 2.]], dtype=float64, device='cpu')
    """
    if mode not in (None, "forward", "reverse"):
        raise ValueError(f'jacobian: mode is "forward", "reverse" or None, not {mode!r}')

    @functools.wraps(f)
    def function(*args: Any, **kwargs: Any) -> Any:
        numbers = numbers_of("jacobian", argnums, args)
        points = [as_float("jacobian", x) for i in numbers for x in leaves(args[i])]
        run = _by_columns if mode == "forward" else _by_rows
        if mode is None and all(x.dtype.kind == "f" for x in points):
            run = _chosen
        out, rows, aux = run(f, args, kwargs, numbers, points, has_aux)
        result = rebuild(out, [_structured(row, args, numbers, argnums) for row in rows])
        return (result, aux) if has_aux else result

    return function


def _structured(row: Sequence[Any], args: Sequence[Any], numbers: Sequence[int], argnums: Argnums) -> Any:
    stream = iter(row)
    parts = [rebuild(args[i], [next(stream) for _ in leaves(args[i])]) for i in numbers]
    return parts[0] if isinstance(argnums, int) else tuple(parts)


def hessian(f: Function, argnums: Argnums = 0) -> Function:
    """Return the function that computes the second derivatives of `f`, whose result is one real number.

    A batched backward through the recorded gradient. Of shape `(*argument, *argument)`; structured as the argument,
    with the argument's structure in each place.

    >>> import arraygrad as ag
    >>> ag.hessian(lambda x: x[0] ** 2 * x[1])(ag.tensor([1.0, 2.0]))
    tensor([[4., 2.],
            [2., 0.]], dtype=float64, device='cpu')
    """
    return jacobian(ag.grad(f, argnums), argnums, mode="reverse")


def _chosen(f: Function, args: Any, kwargs: Any, numbers: Any, points: Any, has_aux: bool) -> Any:
    """By rows unless the results have more elements than the arguments."""
    tape = Tape("jacobian", f, args, kwargs, numbers, has_aux)
    if sum(y.size for y in leaves(tape.out)) > sum(x.size for x in points):
        with contextlib.suppress(InplaceError):  # forward mode takes fewer writes in place
            return _by_columns(f, args, kwargs, numbers, points, has_aux)
    return _rows_of(tape)


def _by_rows(f: Function, args: Any, kwargs: Any, numbers: Any, points: Any, has_aux: bool) -> Any:
    return _rows_of(Tape("jacobian", f, args, kwargs, numbers, has_aux))


def _unit(y: Tensor, level: int) -> Tensor:
    """The unit vectors of a tensor's shape, as a batch of them."""
    y = innermost(y).detach()
    eye = ag.reshape(ag.eye(y.size, dtype=y.dtype, device=y.device), (y.size, *y.shape))
    if isinstance(y.array, Batched):
        xp: Any = namespaces[type(y.array)]
        eye = Tensor(xp.same(eye.array))
    return _hide_axis(eye, level, 0, y.size)


def _rows_of(tape: Tape) -> Any:
    rows = []
    for y in leaves(tape.out):
        with _batch_level(roots=[y]) as level:
            unit = _unit(y, level)
            grads = tape.pull_leaves([y], [unit], retain_graph=True)
            if y.dtype.kind == "c":
                turned = tape.pull_leaves([y], [unit * 1j], retain_graph=True)
                # Of a real argument the two have the real and the imaginary part.
                grads = [g if g.dtype.kind == "c" else g - 1j * t for g, t in zip(grads, turned, strict=True)]
            rows.append(
                [
                    ag.reshape(_show_axis(ag.conj(g) if g.dtype.kind == "c" else g, level, 0, y.size), shape)
                    for g, shape in ((g, (*y.shape, *x.shape)) for g, x in zip(grads, tape.inputs, strict=True))
                ]
            )
    return tape.result, rows, tape.aux


def _by_columns(f: Function, args: Any, kwargs: Any, numbers: Any, points: Any, has_aux: bool) -> Any:
    columns = []
    out = aux = None
    for number, point in enumerate(points):
        level = new_level()
        with _batch_level(point.size) as batch:
            duals = [Dual(ag.copy(x), _unit(x, batch), level) if k == number else x for k, x in enumerate(points)]
            stream = iter(duals)
            fresh = {i: tree_map(lambda _: next(stream), args[i]) for i in numbers}  # noqa: B023  used at once
            out = f(*[fresh.get(i, arg) for i, arg in enumerate(args)], **kwargs)
            out, aux = out if has_aux else (out, None)
            for y in leaves(out):
                if not isinstance(y, Tensor):
                    raise DtypeError(f"jacobian: the function must return tensors, got {type(y).__name__}")
            values = [primal_of(y, level) for y in leaves(out)]
            column = []
            for y, value in zip(leaves(out), values, strict=True):
                if point.dtype.kind == "c" and value.dtype.kind != "c":
                    raise DtypeError('jacobian: a real function of complex arguments needs mode="reverse"')
                tangent = tangent_of(y, level)
                zeros = ag.zeros_like(innermost(value).detach())
                shown = _show_axis(zeros if tangent is None else tangent, batch, value.ndim, point.size)
                column.append(ag.reshape(shown, (*value.shape, *point.shape)))
            columns.append(column)
            out = rebuild(out, values)
            aux = tree_map(lambda y: primal_of(y, level), aux)  # noqa: B023
    return out, [list(row) for row in zip(*columns, strict=True)], aux


def batched_gradients(
    roots: Sequence[Tensor], tensors: Sequence[Tensor], cotangents: Sequence[Any], **options: Any
) -> tuple[Tensor | None, ...]:
    """`gradients` for cotangents with a leading axis of cases."""
    given = [ag.asarray(g) for g in cotangents]
    for root, g in zip(roots, given, strict=True):
        if tuple(g.shape[1:]) != tuple(root.shape) or not g.ndim:
            raise ShapeError(
                f"gradients: a batch of cotangents for an output of shape {format_shape(root.shape)} has shape "
                f"{format_shape((len(g), *root.shape)) if g.ndim else '[batch, ...]'}, got {format_shape(g.shape)}"
            )
    cases = _cases([(g, 0) for g in given])
    with _batch_level(roots=roots) as level:
        hidden = [_hide_axis(g, level, 0, cases) for g in given]
        grads = ag.gradients(roots, tensors, hidden, **options)
        return tuple(None if g is None else _show_axis(g, level, 0, cases) for g in grads)

"""Einstein's summation convention: every product of arrays, with sums over the indices that do not stay."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from arraygrad.backends import Array
from arraygrad.errors import DtypeError, ShapeError, format_shape
from arraygrad.op import multilinear
from arraygrad.ops.creation import tensors
from arraygrad.ops.linalg import diagonal
from arraygrad.ops.manipulation import permute_dims, squeeze
from arraygrad.ops.statistical import sum
from arraygrad.tensor import ArrayLike, Tensor

#: The index of each axis: a letter, or a negative number for an axis under the ellipsis, counted from its end.
Labels = tuple[str | int, ...]


def einsum(subscripts: Any, /, *operands: Any, optimize: Any = True) -> Tensor:
    """Products of elements of all operands, summed over the indices that the output does not have.

    `subscripts` names the axes of each operand by letters, and after `->` those of the output: "ij,jk->ik" is the
    matrix product. Without `->`, the output has the indices that occur once, in alphabetical order. An index that
    one operand has twice takes its diagonal; "..." stands for all further axes, which broadcast. NumPy's form with
    lists of integers in place of letters, `einsum(a, [0, 1], b, [1, 2], [0, 2])`, is taken too.

    Operands meet in pairs, the pair with the smallest product first, whatever `optimize` says.

    Raises:
        ShapeError: the subscripts do not fit one another, or the operands.

    >>> import arraygrad as ag
    >>> x = ag.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> ag.einsum("ii", x), ag.einsum("ij,j->i", x, x[0])
    (tensor(5., dtype=float64, device='cpu'), tensor([ 5., 11.], dtype=float64, device='cpu'))
    """
    if not isinstance(subscripts, str):
        subscripts, operands = _from_lists((subscripts, *operands))
    arrays = tensors(*operands)
    inputs, output, sizes = _parse(subscripts, tuple([array.shape for array in arrays]))
    terms = [_distinct(array, labels, sizes) for array, labels in zip(arrays, inputs, strict=True)]
    while len(terms) > 1:
        i, j = min(itertools.combinations(range(len(terms)), 2), key=lambda pair: _growth(terms, pair, sizes, output))
        rest = [term for k, term in enumerate(terms) if k not in (i, j)]
        wanted = {*output, *(label for _, labels in rest for label in labels)}
        x1, labels1 = _summed(*terms[i], wanted | {*terms[j][1]})
        x2, labels2 = _summed(*terms[j], wanted | {*labels1})
        result = tuple(label for label in dict.fromkeys(labels1 + labels2) if label in wanted)
        if not rest:
            result = tuple(label for label in output if label in result)
        terms = [*rest, (contract(x1, x2, (labels1, labels2, result)), result)]
    x, labels = _summed(*terms[0], {*output})
    is_done = labels == output and len(arrays) > 1
    return x if is_done else permute_dims(x, tuple(labels.index(label) for label in output))


@multilinear(
    lambda g, xp, x2, labels: _contract(xp, g, labels[2], x2, labels[1], labels[0]),
    lambda g, xp, x1, labels: _contract(xp, x1, labels[0], g, labels[2], labels[1]),
)
def contract(xp: Any, x1: ArrayLike, x2: ArrayLike, /, labels: tuple[Labels, Labels, Labels]) -> Array:
    """The product of two arrays with their indices and those of the output, summed over the rest.

    Each index of an array is in the other one or in the output, so each gradient is such a product again.
    """
    return _contract(xp, x1, labels[0], x2, labels[1], labels[2])


def _contract(xp: Any, a: Array, labels_a: Labels, b: Array, labels_b: Labels, output: Labels) -> Array:
    """One matrix product: the indices that stay in both count the matrices, those of one its rows or columns."""
    steps = _steps(labels_a, a.shape, labels_b, b.shape, output)
    a = xp.reshape(_in_order(xp, a, steps.order_a), steps.shape_a)
    b = xp.reshape(_in_order(xp, b, steps.order_b), steps.shape_b)
    product = xp.matmul(a, b) if steps.is_matmul else a * b
    return _in_order(xp, xp.reshape(product, steps.shape), steps.order)


class _Steps(NamedTuple):
    """How to get a product from one of matrices, or of elements: orders of axes (None as they are) and shapes."""

    order_a: tuple[int, ...] | None
    shape_a: tuple[int, ...]
    order_b: tuple[int, ...] | None
    shape_b: tuple[int, ...]
    is_matmul: bool
    shape: tuple[int, ...]
    order: tuple[int, ...] | None


@functools.lru_cache(1024)
def _steps(
    labels_a: Labels, shape_a: tuple[int, ...], labels_b: Labels, shape_b: tuple[int, ...], output: Labels
) -> _Steps:
    size = dict(zip(labels_a + labels_b, (*shape_a, *shape_b), strict=True))
    batch = tuple(label for label in labels_a if label in labels_b and label in output)
    along = tuple(label for label in labels_a if label in labels_b and label not in output)
    rows = tuple(label for label in labels_a if label not in labels_b)
    columns = tuple(label for label in labels_b if label not in labels_a)

    def shape(labels: Labels) -> tuple[int, ...]:
        return tuple(size[label] for label in labels)

    if along:
        count = math.prod(shape(along))
        shape_a = (*shape(batch), math.prod(shape(rows)), count)
        shape_b = (*shape(batch), count, math.prod(shape(columns)))
    else:
        shape_a = shape(batch) + shape(rows) + (1,) * len(columns)
        shape_b = shape(batch) + (1,) * len(rows) + shape(columns)
    labels = batch + rows + columns
    return _Steps(
        _order(labels_a, batch + rows + along),
        shape_a,
        _order(labels_b, batch + along + columns),
        shape_b,
        bool(along),
        shape(labels),
        _order(labels, output),
    )


def _order(labels: Labels, wanted: Labels) -> tuple[int, ...] | None:
    return None if labels == wanted else tuple(labels.index(label) for label in wanted)


def _in_order(xp: Any, x: Array, order: tuple[int, ...] | None) -> Array:
    return x if order is None else xp.permute_dims(x, order)


def _growth(terms: list[tuple[Tensor, Labels]], pair: tuple[int, int], sizes: dict[Any, int], output: Labels) -> int:
    """How much larger the product of a pair is than both."""
    i, j = pair
    rest = {*output, *(label for k, (_, labels) in enumerate(terms) if k not in pair for label in labels)}
    kept = {*terms[i][1], *terms[j][1]} & rest
    return math.prod(sizes[label] for label in kept) - terms[i][0].size - terms[j][0].size


# ---- One operand


def _distinct(x: Tensor, labels: Labels, sizes: dict[Any, int]) -> tuple[Tensor, Labels]:
    """Take diagonals until no index occurs twice, and drop axes of size 1 that broadcast."""
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            i = labels.index(label)
            j = labels.index(label, i + 1)
            rest = tuple(k for k in range(len(labels)) if k not in (i, j))
            x = diagonal(permute_dims(x, (*rest, i, j)))
            labels = (*(labels[k] for k in rest), label)
    stretched = tuple(i for i, label in enumerate(labels) if x.shape[i] == 1 and sizes[label] != 1)
    if stretched:
        x = squeeze(x, stretched)
        labels = tuple(label for i, label in enumerate(labels) if i not in stretched)
    return x, labels


def _summed(x: Tensor, labels: Labels, wanted: set[Any]) -> tuple[Tensor, Labels]:
    """Sum over the indices that nobody else wants."""
    axes = tuple(i for i, label in enumerate(labels) if label not in wanted)
    return (sum(x, axis=axes), tuple(label for label in labels if label in wanted)) if axes else (x, labels)


# ---- Subscripts


@functools.lru_cache(1024)
def _parse(subscripts: str, shapes: tuple[tuple[int, ...], ...]) -> tuple[list[Labels], Labels, dict[Any, int]]:
    """The labels of each operand and of the output, and the size of each."""
    inputs, output = _parts(subscripts, shapes)
    return inputs, output, _sizes(subscripts, inputs, shapes)


def _parts(subscripts: str, shapes: Sequence[tuple[int, ...]]) -> tuple[list[Labels], Labels]:
    left, arrow, right = subscripts.replace(" ", "").partition("->")
    parts = left.split(",")
    if len(parts) != len(shapes):
        raise ShapeError(f"einsum: {subscripts!r} names {len(parts)} operands, got {len(shapes)}")
    inputs = []
    for part, shape in zip(parts, shapes, strict=True):
        named = len(_letters(subscripts, part))
        covered = len(shape) - named
        if covered < 0 or (covered and "..." not in part):
            raise ShapeError(
                f"einsum: {part!r} in {subscripts!r} names {named} axes, the operand is {format_shape(shape)}"
            )
        inputs.append(_labels(part, covered))
    covered = max((-label for labels in inputs for label in labels if isinstance(label, int)), default=0)
    everything = [label for labels in inputs for label in labels if isinstance(label, str)]
    if not arrow:
        return inputs, _labels("...", covered) + tuple(sorted(x for x in everything if everything.count(x) == 1))
    letters = _letters(subscripts, right)
    if unknown := [x for x in letters if x not in everything or letters.count(x) > 1]:
        raise ShapeError(f"einsum: the output of {subscripts!r} has {unknown[0]!r} twice, or no operand has it")
    if covered and "..." not in right:
        raise ShapeError(
            f"einsum: operands of {subscripts!r} have {covered} axes at '...', so the output needs one too"
        )
    return inputs, _labels(right, covered)


def _letters(subscripts: str, part: str) -> str:
    letters = part.replace("...", "", 1)
    if not (letters.isalpha() or not letters):
        raise ShapeError(f"einsum: {part!r} in {subscripts!r} must be letters and at most one '...'")
    return letters


def _labels(part: str, covered: int) -> Labels:
    before, dots, after = part.partition("...")
    return (*before, *(range(-covered, 0) if dots else ()), *after)


def _sizes(subscripts: str, inputs: Sequence[Labels], shapes: Sequence[tuple[int, ...]]) -> dict[Any, int]:
    """The size of each index, to which axes of size 1 broadcast."""
    sizes: dict[Any, int] = {}
    for labels, shape in zip(inputs, shapes, strict=True):
        own: dict[Any, int] = {}
        for label, size in zip(labels, shape, strict=True):
            if own.setdefault(label, size) != size or (1 not in (sizes.get(label, 1), size) and sizes[label] != size):
                got = " and ".join(map(format_shape, shapes))
                raise ShapeError(f"einsum: {subscripts!r} of {got}: the axes of index {label!r} differ in size")
            sizes[label] = size if sizes.get(label, 1) == 1 else sizes[label]
    return sizes


def _from_lists(arguments: Sequence[Any]) -> tuple[str, tuple[Any, ...]]:
    """Letters for NumPy's form: operands and lists of integers in turn, the output's list at the end."""
    parts = []
    for part in [*arguments[1::2], *([arguments[-1]] if len(arguments) % 2 else [])]:
        if not isinstance(part, list | tuple) or any(x is not ... and not isinstance(x, int) for x in part):
            raise DtypeError(f"einsum takes subscripts first, or a list of integers after each operand, got {part!r}")
        parts.append("".join("..." if x is ... else chr(ord("A") + x + (6 if x > 25 else 0)) for x in part))
    if len(arguments) % 2:
        return ",".join(parts[:-1]) + "->" + parts[-1], tuple(arguments[:-1:2])
    return ",".join(parts), tuple(arguments[::2])

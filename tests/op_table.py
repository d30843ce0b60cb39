"""One row for each operation: facts from which test_ops.py derives all checks.

A row has samples; a sample is the arguments of a call, with NumPy arrays for its array inputs. `reference`
computes the same in NumPy. Inputs lie where the operation is smooth: gradients at kinks and ties have tests
of their own (test_conventions.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import op_table_linalg
import op_table_numeric
import op_table_special
import scipy.special

import arraygrad as ag
from arraygrad.ops.indexing import getitem, sum_into
from arraygrad.recording import RECORDING


@dataclass
class Sample:
    label: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)


@dataclass
class Row:
    name: str
    function: Callable[..., Any]
    reference: Callable[..., Any]
    samples: list[Sample]
    has_gradient: bool = True
    data_dependent: bool = False  # its own forward needs what strict's flags switch off
    constant_inputs: set[str] = field(default_factory=set)
    composed: bool = False  # its function is several operations, the one of its name among them

    def __repr__(self) -> str:
        return self.name


def draw(shape: tuple[int, ...], low: float = -2.0, high: float = 2.0, away_from: Sequence[float] = ()) -> np.ndarray:
    """Seeded numbers in a range, at least 0.1 away from the points named and from each other."""
    rng = np.random.default_rng(abs(hash((shape, low, high))) % 2**32)
    size = int(np.prod(shape))
    values = np.linspace(low, high, size + 2)[1:-1]
    step = (high - low) / (size + 1)
    values = values + rng.uniform(-0.2, 0.2, size) * step
    for point in away_from:
        near = np.abs(values - point) < 0.1
        values[near] = point + np.where(values[near] >= point, 0.15, -0.15)
    return rng.permutation(values).reshape(shape)


def draw_complex(shape: tuple[int, ...], *args: Any, **kwargs: Any) -> np.ndarray:
    real = draw(shape, *args, **kwargs)
    return real + 1j * np.roll(real[..., ::-1] * 0.7 + 0.1, 1) if real.ndim else np.asarray(real + 0.6j)


def unary(name: str, low: float = -2.0, high: float = 2.0, away_from: Sequence[float] = (), **row: Any) -> Row:
    reference = row.pop("reference", None) or getattr(np, name)
    samples = [Sample(str(list(shape)), (draw(shape, low, high, away_from),)) for shape in [(), (3,), (2, 3), (0, 2)]]
    if row.pop("complex", True) and row.get("has_gradient", True):
        samples += [Sample(f"complex {list(shape)}", (draw_complex(shape, low, high),)) for shape in [(), (2, 3)]]
    return Row(name, getattr(ag, name), reference, samples, **row)


def binary(
    name: str,
    x1: tuple[float, float] = (-2.0, 2.0),
    x2: tuple[float, float] = (-2.0, 2.0),
    away: Sequence[float] = (),
    reference: Any = None,
    scalars: Sequence[Any] = (1.75,),
    **row: Any,
) -> Row:
    shapes = [((), ()), ((3,), (3,)), ((2, 3), (3,)), ((1, 4), (3, 1)), ((0, 3), (3,)), ((2, 1), ())]
    samples = [
        Sample(
            f"{list(s1)}x{list(s2)}",
            (draw(s1, *x1, away), np.asarray(draw(s2, *x2, away) + (0.03 if away == () else 0))),
        )
        for s1, s2 in shapes
    ]
    samples += [Sample(f"[3]x{scalar}", (draw((3,), *x1, away), scalar)) for scalar in scalars]
    samples += [Sample(f"{scalar}x[3]", (scalar, draw((3,), *x2, away))) for scalar in scalars]
    if row.pop("complex", False):
        c1, c2, r = draw_complex((2, 3), *x1), draw_complex((3,), *x2), draw((3,), *x2)
        samples += [
            Sample("complex x complex", (c1, c2)),
            Sample("complex x real", (c1, r)),
            Sample("real x complex", (r, c1)),
            Sample("real x number", (r, 0.5 + 2.0j)),
            Sample("number x complex", (1.5 - 0.5j, c2)),
            Sample("0-d complex", (draw_complex((), *x1), np.asarray(draw(()) + 0.7))),
        ]
    return Row(name, getattr(ag, name), reference or getattr(np, name), samples, **row)


def reduction(name: str, low: float = -2.0, high: float = 2.0, reference: Any = None, **row: Any) -> Row:
    function = row.pop("function", None) or getattr(ag, name)
    x = draw((2, 3, 2), low, high)
    samples = [
        Sample("all", (x,)),
        Sample("0-d", (draw((), 0.3, 1.2),)),
        Sample("axis=1", (x,), {"axis": 1}),
        Sample("axis=-1 keepdims", (x,), {"axis": -1, "keepdims": True}),
        Sample("axis=(0, 2)", (x,), {"axis": (0, 2)}),
        Sample("axis=(2, 0) keepdims", (x,), {"axis": (2, 0), "keepdims": True}),
    ]
    samples += [Sample(label, (x,), kwargs) for label, kwargs in row.pop("more", {}).items()]
    if row.pop("empty", False):
        samples.append(Sample("size 0", (draw((0, 2)),), {"axis": 0}))
    return Row(name, function, reference or getattr(np, name), samples, **row)


def op(name: str, reference: Callable[..., Any], samples: dict[str, Any], **row: Any) -> Row:
    """`samples` maps a label to arguments, or to (arguments, keywords)."""
    rows = []
    for label, sample in samples.items():
        has_keywords = len(sample) == 2 and isinstance(sample[1], dict)
        args, kwargs = sample if has_keywords else (sample, {})
        rows.append(Sample(label, tuple(args), dict(kwargs)))
    return Row(
        name, row.pop("function", None) or (getitem if name == "getitem" else getattr(ag, name)), reference, rows, **row
    )


def _std_slope_free(x: np.ndarray, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    return np.std(x, axis=axis, ddof=correction, keepdims=keepdims)


def _norm(x: np.ndarray, axis: Any = None, keepdims: bool = False, ord: float = 2) -> Any:
    powers = {
        float("inf"): lambda a, **k: np.max(a, **k),
        float("-inf"): lambda a, **k: np.min(a, **k),
        0: lambda a, **k: np.sum(a != 0, **k) * 1.0,
    }
    p = powers.get(ord, lambda a, **k: np.sum(a**ord, **k) ** (1 / ord))
    return p(np.abs(x), axis=axis, keepdims=keepdims)


def _cross_entropy(logits: np.ndarray, targets: np.ndarray, axis: int = -1, reduction: str = "mean") -> Any:
    log_p = scipy.special.log_softmax(logits, axis=axis)
    losses = -np.squeeze(np.take_along_axis(log_p, np.expand_dims(targets, axis), axis), axis)
    return losses if reduction == "none" else getattr(np, reduction)(losses)


def _standardize(x: np.ndarray, axis: Any = -1, eps: float = 1e-5) -> Any:
    return (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + eps)


def _gelu(x: np.ndarray, approximate: str = "none") -> Any:
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    return x * scipy.special.ndtr(x)


def _sum_to_shape(g: np.ndarray, shape: tuple[int, ...]) -> Any:
    padded = (1,) * (g.ndim - len(shape)) + tuple(shape)
    axes = tuple(i for i, size in enumerate(padded) if size == 1 and g.shape[i] != 1)
    return g.sum(axis=axes, keepdims=True).reshape(shape)


def _cumulative_sum(x: np.ndarray, axis: int | None = None, include_initial: bool = False) -> Any:
    axis = 0 if axis is None else axis
    result = np.cumsum(x, axis)
    return np.concatenate([np.zeros_like(np.take(x, [0], axis)), result], axis) if include_initial else result


def _masked_fill(x: np.ndarray, mask: np.ndarray, value: Any) -> Any:
    return np.where(mask, value, x)


def _matmul_samples() -> dict[str, Any]:
    shapes = [
        ((2, 3), (3, 4)),
        ((3,), (3,)),
        ((3,), (3, 2)),
        ((2, 3), (3,)),
        ((5, 2, 3), (3, 4)),
        ((2, 3), (5, 3, 4)),
        ((2, 1, 2, 3), (4, 3, 2)),
        ((4, 2, 3), (3,)),
        ((3,), (4, 3, 2)),
        ((0, 3), (3, 2)),
    ]
    return {f"{list(a)}@{list(b)}": (draw(a), draw(b) + 0.1) for a, b in shapes}


X23, X32, X222 = draw((2, 3)), draw((3, 2)), draw((2, 2, 2))
MASK = np.array([[True, False, True], [False, False, True]])
INDEX = np.array([2, 0, 2, 1])


def np_scatter(g: np.ndarray, index: Any, shape: tuple[int, ...]) -> np.ndarray:
    result = np.zeros(shape, g.dtype)
    np.add.at(result, index, g)
    return result


ROWS: list[Row] = [
    # ---- elementwise
    unary("abs", away_from=[0]),
    binary("add", complex=True),
    op(
        "clip",
        lambda x, min=None, max=None: np.minimum(
            np.maximum(x, -np.inf if min is None else min), np.inf if max is None else max
        ),
        {
            "numbers": (draw((2, 3), away_from=[-0.5, 0.5]), -0.5, 0.5),
            "min only": (draw((2, 3), away_from=[0.25]), 0.25),
            "max only": ((draw((2, 3), away_from=[0.25]),), {"max": 0.25}),
            "none": (X23,),
            "arrays": (X23, draw((3,), -1.0, -0.2), draw((2, 1), 0.2, 1.0)),
            "min array": (X23, draw((2, 3), -1.0, 1.0) + 0.021),
            "max array keyword": ((X23,), {"max": draw((2, 3), -1.0, 1.0) + 0.021}),
            "0-d": (draw(()), -5.0, 5.0),
        },
    ),
    unary("acos", -0.9, 0.9),
    unary("acosh", 1.2, 3.0),
    unary("asin", -0.9, 0.9),
    unary("asinh"),
    unary("atan"),
    binary("atan2", away=(0,)),
    unary("atanh", -0.9, 0.9),
    op("conj", np.conj, {"complex": (draw_complex((2, 3)),), "0-d": (draw_complex(()),)}),
    binary("copysign", away=(0,), constant_inputs={"x2"}),
    unary("cos"),
    unary("cosh"),
    binary("divide", x2=(0.5, 2.0), complex=True),
    unary("exp"),
    unary("expm1"),
    binary("hypot", away=(0,)),
    op("imag", np.imag, {"complex": (draw_complex((2, 3)),), "0-d": (draw_complex(()),)}),
    op("real", np.real, {"complex": (draw_complex((2, 3)),), "real": (draw((2, 3)),)}),
    unary("log", 0.3, 3.0),
    unary("log2", 0.3, 3.0),
    unary("log10", 0.3, 3.0),
    binary("logaddexp"),
    binary("nextafter", constant_inputs={"x2"}),
    unary("reciprocal", 0.3, 3.0, reference=lambda x: 1 / x),
    op("sign_of_complex", lambda x: x / np.abs(x), {"complex": (draw_complex((2, 3)),)}, function=ag.sign),
    unary("sinh"),
    unary("square"),
    unary("tan", -1.2, 1.2),
    unary("log1p", -0.7, 3.0),
    binary("maximum", scalars=(0.05,)),
    binary("minimum", scalars=(0.05,)),
    binary("multiply", complex=True),
    unary("negative"),
    unary("positive"),
    binary("pow", x1=(0.4, 2.5), scalars=(2.0, 3, 0.5), complex=True),
    op("pow", np.power, {"negative base": (draw((2, 3), -2.0, -0.5), 3.0), "inverse": (X23 + 4, -1.5), "root": (X23 + 4, -1), "square": (X23, 2), "zeroth": (X23, 0)}),
    binary("remainder", x1=(2.7, 3.3), x2=(1.7, 2.3), scalars=(2.6,)),
    unary("rsqrt", 0.3, 3.0, reference=lambda x: x**-0.5, complex=False),
    unary("sigmoid", reference=scipy.special.expit, complex=False),
    unary("sin"),
    unary("sqrt", 0.3, 3.0),
    binary("subtract", complex=True),
    unary("tanh"),
    unary("relu", away_from=[0], reference=lambda x: np.maximum(x, 0), complex=False),
    op("gelu", _gelu, {"exact": (X23,), "tanh": ((X23,), {"approximate": "tanh"}), "0-d": (draw(()),)}),
    op(
        "where",
        np.where,
        {
            "same": (MASK, X23, X23 + 1),
            "broadcast": (MASK[0], X23, draw((2, 1))),
            "condition broadcasts": (MASK, draw((3,)), draw(())),
            "number": (MASK, X23, 0.5),
            "number first": (MASK, 0.5, X23),
            "two numbers": (MASK, 0.5, 1.5),
        },
    ),
    op(
        "masked_fill",
        _masked_fill,
        {
            "number": (X23, MASK, -7.0),
            "broadcast mask": (X23, MASK[0], 0.5),
            "x broadcasts": (draw((3,)), MASK, 0.5),
            "array value": (X23, MASK, draw(())),
        },
    ),
    # ---- statistical
    reduction("sum", empty=True),
    reduction("mean"),
    reduction("prod", 0.5, 1.5),
    op(
        "prod",
        np.prod,
        {
            "one zero": (np.array([2.0, 0.0, 3.0]),),
            "two zeros": (np.array([2.0, 0.0, 0.0, 3.0]),),
            "rows with zeros": (
                (np.array([[2.0, 0.0, 3.0], [0.0, 0.0, 1.0], [1.0, 2.0, 4.0]]),),
                {"axis": 1},
            ),
            "size 0": ((draw((0, 2)),), {"axis": 0}),
        },
    ),
    reduction("max"),
    reduction("min"),
    reduction(
        "var",
        reference=lambda x, axis=None, correction=0.0, keepdims=False: np.var(
            x, axis=axis, ddof=correction, keepdims=keepdims
        ),
        more={"correction=1": {"axis": 1, "correction": 1}, "correction=0.5": {"correction": 0.5}},
    ),
    op(
        "std",
        _std_slope_free,
        {
            "all": (X23,),
            "axis": ((X23,), {"axis": 1}),
            "correction": ((X222,), {"axis": (0, 2), "correction": 1, "keepdims": True}),
        },
    ),
    op(
        "cumulative_sum",
        _cumulative_sum,
        {
            "1-D": (draw((4,)),),
            "axis=0": ((X23,), {"axis": 0}),
            "axis=-1": ((X23,), {"axis": -1}),
            "include_initial": ((X23,), {"axis": 1, "include_initial": True}),
            "include_initial 1-D": ((draw((4,)),), {"include_initial": True}),
        },
    ),
    # ---- linear algebra
    op("matmul", np.matmul, _matmul_samples()),
    reduction("vector_norm", 0.2, 2.0, reference=_norm),
    op(
        "vector_norm",
        _norm,
        {
            f"ord={order} axis={axis}": ((draw((2, 3), away_from=[0]),), {"ord": order, "axis": axis})
            for order in (0, 1, 2, 3, 0.5, -1, -2, float("inf"), float("-inf"))
            for axis in (None, 1)
        },
    ),
    # ---- neural networks
    reduction("logsumexp", reference=lambda x, **k: scipy.special.logsumexp(x, **k)),
    op(
        "softmax",
        lambda x, axis=-1: scipy.special.softmax(x, axis),
        {"last": (X23,), "axis=0": ((X23,), {"axis": 0}), "1-D": (draw((4,)),), "large": (X23 * 300,)},
    ),
    op(
        "log_softmax",
        lambda x, axis=-1: scipy.special.log_softmax(x, axis),
        {"last": (X23,), "axis=0": ((X23,), {"axis": 0}), "1-D": (draw((4,)),), "large": (X23 * 300,)},
    ),
    op(
        "cross_entropy",
        _cross_entropy,
        {
            "mean": (X23, np.array([2, 0])),
            "sum": ((X23, np.array([2, 0])), {"reduction": "sum"}),
            "none": ((X23, np.array([2, 0])), {"reduction": "none"}),
            "axis=1 of 3": ((draw((2, 3, 2)), np.array([[0, 1], [2, 2]])), {"axis": 1}),
            "axis=0 none": ((X32, np.array([2, 0])), {"axis": 0, "reduction": "none"}),
            "one row": (draw((3,)), np.array(1)),
        },
    ),
    op(
        "standardize",
        _standardize,
        {
            "last": (X23,),
            "axes": ((X222,), {"axis": (1, 2), "eps": 1e-3}),
            "axis=0": ((X32,), {"axis": 0}),
        },
    ),
    # ---- manipulation
    op("reshape", np.reshape, {"2-D": (X23, (3, 2)), "-1": (X23, (-1,)), "0-d": (np.array([1.5]), ())}),
    op(
        "permute_dims",
        np.transpose,
        {"cycle": (draw((2, 3, 4)), (2, 0, 1)), "negative": (draw((2, 3, 4)), (-1, 0, 1)), "0-d": (draw(()), ())},
    ),
    op("matrix_transpose", lambda x: np.swapaxes(x, -1, -2), {"2-D": (X23,), "3-D": (draw((2, 3, 4)),)}),
    op(
        "squeeze",
        np.squeeze,
        {"one": (draw((2, 1, 3)), 1), "two": (draw((1, 3, 1)), (0, 2)), "negative": (draw((2, 1)), -1)},
    ),
    op(
        "expand_dims",
        lambda x, axis=0: np.expand_dims(x, axis),
        {"default": (X23,), "axis=1": ((X23,), {"axis": 1}), "axis=-1": ((X23,), {"axis": -1})},
    ),
    op(
        "broadcast_to",
        np.broadcast_to,
        {"lead": (draw((3,)), (2, 3)), "stretch": (draw((2, 1)), (4, 2, 3)), "0-d": (draw(()), (2, 2))},
    ),
    op(
        "sum_to_shape",
        _sum_to_shape,
        {"same": (X23, (2, 3)), "lead": (X23, (3,)), "stretch": (X23, (2, 1)), "0-d": (X23, ()), "size 0": (draw((0, 3)), (1, 3))},
    ),
    op("stack", lambda arrays, axis=0: np.stack(arrays, axis), {"default": ([X23, X23 + 1],), "last": (([X23, X23 + 1],), {"axis": -1})}),
    op(
        "concat",
        lambda arrays, axis=0: np.concatenate(arrays, axis),
        {
            "default": ([X23, draw((1, 3))],),
            "axis=1": (([X23, draw((2, 1)), draw((2, 2))],), {"axis": 1}),
            "negative": (([X23, draw((2, 0))],), {"axis": -1}),
            "flat": (([X23, draw((2,))],), {"axis": None}),
        },
    ),
    op("flip", lambda x, axis=None: np.flip(x, axis), {"all": (X23,), "one": ((X23,), {"axis": -1}), "two": ((X222,), {"axis": (0, 2)})}),
    op(
        "roll",
        lambda x, shift, axis=None: np.roll(x, shift, axis),
        {"flat": (X23, 2), "one": ((X23, -1), {"axis": 1}), "two": ((X23, (1, 2)), {"axis": (0, 1)})},
    ),
    op("moveaxis", np.moveaxis, {"one": (draw((2, 3, 4)), 0, -1), "two": (draw((2, 3, 4)), (0, 1), (-1, 0))}),
    op("tile", np.tile, {"rows": (X23, (2, 1)), "more axes": (X23, (2, 1, 3)), "fewer": (X23, (2,)), "0-d": (draw(()), (3,))}),
    op("repeat", lambda x, repeats, axis=None: np.repeat(x, repeats, axis), {"flat": (X23, 2), "axis": ((X23, 3), {"axis": -1})}),
    op(
        "repeat",
        lambda x, repeats, axis=None: np.repeat(x, repeats, axis),
        {
            "counts": ((X23, np.array([2, 0, 1])), {"axis": 1}),
            "counts, flat": (X23, np.array([1, 2, 0, 3, 1, 1])),
        },
        data_dependent=True,
    ),
    op("tril", lambda x, k=0: np.tril(x, k), {"main": (X23,), "above": ((draw((2, 3, 3)),), {"k": 1})}),
    op("triu", lambda x, k=0: np.triu(x, k), {"main": (X23,), "below": ((draw((2, 3, 3)),), {"k": -1})}),
    op(
        "diff",
        lambda x, axis=-1, n=1, prepend=None, append=None: np.diff(
            x,
            n,
            axis,
            **{k: v for k, v in {"prepend": prepend, "append": append}.items() if v is not None},
        ),
        {
            "last": (X23,),
            "axis=0": ((X23,), {"axis": 0}),
            "twice": ((X23,), {"n": 2}),
            "none": ((X23,), {"n": 0}),
            "prepend": ((X23,), {"prepend": draw((2, 2))}),
            "append": ((X23,), {"axis": 0, "append": draw((1, 3)), "n": 2}),
            "both": ((X23,), {"prepend": draw((2, 1)), "append": draw((2, 2)) + 1, "n": 2}),
        },
    ),
    op("broadcast_arrays", lambda *a: tuple(np.broadcast_arrays(*a)), {"two": (draw((2, 1)), draw((3,)))}),
    op(
        "meshgrid",
        lambda *a, indexing="xy": tuple(np.meshgrid(*a, indexing=indexing)),
        {"xy": (draw((2,)), draw((3,))), "ij": ((draw((2,)), draw((3,))), {"indexing": "ij"}), "three": (draw((2,)), draw((3,)), draw((2,)) + 1)},
    ),
    op(
        "sort",
        lambda x, axis=-1, descending=False, stable=True: (np.flip(np.sort(x, axis), axis) if descending else np.sort(x, axis)),
        {"last": (X23,), "axis=0": ((X32,), {"axis": 0}), "descending": ((X23,), {"descending": True}), "0 rows": (draw((0, 2)),)},
    ),
    op(
        "cumulative_prod",
        lambda x, axis=None, include_initial=False: (
            np.concatenate([np.ones_like(np.take(x, [0], axis or 0)), np.cumprod(x, axis or 0)], axis or 0)
            if include_initial
            else np.cumprod(x, axis or 0)
        ),
        {
            "1-D": (draw((5,), 0.5, 1.5),),
            "axis=-1": ((X23,), {"axis": 1}),
            "include_initial": ((X32,), {"axis": 0, "include_initial": True}),
            "one zero": (np.array([2.0, 0.0, 3.0, -1.5]),),
            "two zeros": (np.array([2.0, 0.0, 3.0, 0.0, 1.5]),),
            "complex": (draw_complex((4,)),),
        },
    ),
    op("copy", np.copy, {"2-D": (X23,), "0-d": (draw(()),)}),
    op("astype", lambda x, dtype: x.astype(dtype), {"same": (X23, "float64")}),
    op("unstack", lambda x, axis=0: tuple(np.moveaxis(x, axis, 0)), {"default": (X23,), "axis=-1": ((X23,), {"axis": -1})}),
    op(
        "split",
        lambda x, sizes, axis=0: np.split(x, [2, 4] if isinstance(sizes, int) else list(np.cumsum(sizes)[:-1]), axis),
        {"size": (draw((5,)), 2), "sizes": ((draw((2, 5)), [1, 3, 1]), {"axis": 1})},
    ),
    # ---- indexing
    op(
        "getitem",
        lambda x, index: x[index],
        {
            "int": (X23, 1),
            "negative": (X23, (-1, -2)),
            "slice": (X23, (slice(None), slice(0, 2))),
            "negative step": (X23, (slice(None, None, -1), slice(None, None, -2))),
            "none": (X23, (None, 0, ..., None)),
            "ellipsis": (draw((2, 3, 2)), (..., 1)),
            "integers": (X23, np.array([1, 0, 1, 1])),
            "list": (X23, [1, 0, 1]),
            "two integer arrays": (X23, (np.array([1, 0, 1]), np.array([2, 0, 2]))),
            "broadcast arrays": (X23, (np.array([[1], [0]]), np.array([2, 0, 2]))),
            "array and slice": (X23, (slice(None), INDEX)),
            "array, int apart": (draw((2, 3, 4)), (np.array([0, 1, 1]), slice(None), 2)),
            "mask": (X23, MASK),
            "mask and slice": (X32, (np.array([True, False, True]), slice(None, None, -1))),
            "0-d": (draw(()), ()),
            "rows of a wide array": (draw((3, 16)), np.array([2, 0, 2])),
        },
    ),
    op(
        "take",
        lambda x, indices, axis=None: np.take(x, indices, axis),
        {
            "1-D": (draw((3,)), INDEX),
            "axis=0": ((X32, INDEX), {"axis": 0}),
            "axis=-1": ((X23, INDEX), {"axis": -1}),
            "negative": (draw((3,)), np.array([-1, 0, -1])),
        },
    ),
    op(
        "sum_into",
        lambda x, indices, size: np.bincount(indices, x, size).astype(x.dtype),
        {"repeated": (draw((4,)), INDEX, 5), "once": (draw((3,)), np.array([2, 0, 1]), 3), "size 0": (draw((0,)), INDEX[:0], 2)},
        function=sum_into,
    ),
    op(
        "scatter",
        np_scatter,
        {"slices": (draw((2, 2)), (slice(0, 2), slice(None, None, 2), ...), (3, 4)), "repeated": (draw((4, 2)), ([2, 0, 2, 1], ...), (3, 2))},
        function=lambda g, index, shape: RECORDING.scatter(ag.asarray(g), index, shape),
    ),
    op(
        "hide_axis",
        lambda x: np.moveaxis(x, 1, 0) * 2.0,
        {"and shown": (draw((2, 3)),)},
        function=lambda x: ag.vmap(lambda row: row * 2.0, in_axes=1)(x),
        composed=True,
    ),
    op(
        "show_axis",
        lambda x: np.moveaxis(x, 1, 0) * 2.0,
        {"and hidden": (draw((2, 3)),)},
        function=lambda x: ag.vmap(lambda row: row * 2.0, in_axes=1)(x),
        composed=True,
    ),
    op(
        "take_along_axis",
        lambda x, indices, axis=-1: np.take_along_axis(x, indices, axis),
        {
            "last": (X23, np.array([[2, 0], [1, 1]])),
            "axis=0": ((X23, np.array([[1, 0, 1], [1, 1, 0], [0, 0, 0]])), {"axis": 0}),
            "broadcast": (X23, np.array([[2, 2]])),
        },
    ),
    # ---- Fourier transforms
    *[
        op(
            name,
            getattr(np.fft, name),
            {
                "1-D": (draw_complex((5,)),),
                "axis=0": ((draw_complex((4, 3)),), {"axis": 0}),
                "longer": ((draw_complex((2, 3)),), {"n": 5, "norm": "ortho"}),
                "shorter": ((draw_complex((2, 5)),), {"n": 3, "norm": "forward"}),
            },
            function=getattr(ag.fft, name),
        )
        for name in ("fft", "ifft")
    ],
    *[
        op(
            name,
            getattr(np.fft, name),
            {
                "even": (draw((6,)),),
                "odd": ((draw((5, 2)),), {"axis": 0}),
                "longer": ((draw((2, 3)),), {"n": 6, "norm": "ortho"}),
                "shorter": ((draw((2, 5)),), {"n": 4, "norm": "forward"}),
                "one": (draw((2, 1)),),
            },
            function=getattr(ag.fft, name),
        )
        for name in ("rfft", "ihfft")
    ],
    *[
        op(
            name,
            getattr(np.fft, name),
            {
                "default": (draw_complex((4,)),),
                "odd": ((draw_complex((4, 2)),), {"n": 7, "axis": 0}),
                "longer": ((draw_complex((2, 3)),), {"n": 8, "norm": "ortho"}),
                "shorter": ((draw_complex((2, 5)),), {"n": 4, "norm": "forward"}),
                "two": ((draw_complex((2, 2)),), {"n": 2}),
                "one": ((draw_complex((2, 2)),), {"n": 1}),
            },
            function=getattr(ag.fft, name),
        )
        for name in ("irfft", "hfft")
    ],
    *[
        op(
            name,
            getattr(np.fft, name),
            {
                "all": (draw_complex((3, 4)),),
                "axes": ((draw_complex((2, 3, 4)),), {"axes": (0, 2), "norm": "ortho"}),
                "s": ((draw_complex((2, 3, 4)),), {"s": (2, 5), "axes": (1, 2), "norm": "forward"}),
            },
            function=getattr(ag.fft, name),
        )
        for name in ("fftn", "ifftn")
    ],
    op(
        "rfftn",
        np.fft.rfftn,
        {
            "all": (draw((3, 4)),),
            "axes": ((draw((4, 3, 2)),), {"axes": (2, 0), "norm": "ortho"}),
            "s": ((draw((2, 3, 4)),), {"s": (2, 5), "axes": (1, 2), "norm": "forward"}),
        },
        function=ag.fft.rfftn,
    ),
    op(
        "irfftn",
        np.fft.irfftn,
        {
            "all": (draw_complex((3, 4)),),
            "axes": ((draw_complex((4, 3, 2)),), {"axes": (2, 0), "norm": "ortho"}),
            "s": ((draw_complex((2, 3, 4)),), {"s": (2, 5), "axes": (1, 2), "norm": "forward"}),
        },
        function=ag.fft.irfftn,
    ),
    *[
        op(
            name,
            getattr(np.fft, name),
            {"all": (draw((3, 4)),), "axes": ((draw((3, 4)),), {"axes": 1}), "complex": (draw_complex((5,)),)},
            function=getattr(ag.fft, name),
        )
        for name in ("fftshift", "ifftshift")
    ],
    # ---- without a gradient
    *[unary(name, away_from=[-1.5, -1, -0.5, 0, 0.5, 1, 1.5], has_gradient=False) for name in ("ceil", "floor", "round", "trunc", "sign")],
    *[unary(name, has_gradient=False) for name in ("isfinite", "isinf", "isnan", "signbit")],
    *[
        binary(name, has_gradient=False)
        for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
    ],
    binary("floor_divide", x1=(1.1, 1.9), x2=(0.31, 0.39), scalars=(0.27,), has_gradient=False),
    *[
        op(name, getattr(np, name), {"2-D": (MASK, MASK[::-1]), "broadcast": (MASK, MASK[0])}, has_gradient=False)
        for name in ("logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor")
    ],
    op("logical_not", np.logical_not, {"2-D": (MASK,)}, has_gradient=False),
    op("bitwise_invert", np.invert, {"2-D": (MASK,), "integers": (INDEX,)}, has_gradient=False),
    op("bitwise_left_shift", np.left_shift, {"integers": (INDEX, np.array(2))}, has_gradient=False),
    op("bitwise_right_shift", np.right_shift, {"integers": (INDEX + 8, np.array(2))}, has_gradient=False),
    op("argsort", lambda x, axis=-1, **k: np.argsort(x, axis), {"last": (X23,), "axis": ((X23,), {"axis": 0})}, has_gradient=False),
    op("count_nonzero", np.count_nonzero, {"all": (X23,), "axis": ((MASK,), {"axis": 1, "keepdims": True})}, has_gradient=False),
    op("isin", np.isin, {"integers": (INDEX, np.array([0, 1]))}, has_gradient=False),
    op("searchsorted", lambda a, v, side="left": np.searchsorted(a, v, side), {"left": (np.array([0.0, 1.0, 2.0]), X23), "right": ((np.array([0.0, 1.0, 2.0]), X23), {"side": "right"})}, has_gradient=False),
    op("nonzero", np.nonzero, {"2-D": (MASK,)}, has_gradient=False, data_dependent=True),
    op("unique_values", np.unique, {"integers": (INDEX,)}, has_gradient=False, data_dependent=True),
    op("unique_all", lambda x: tuple(np.unique_all(x)), {"integers": (INDEX,)}, has_gradient=False, data_dependent=True),
    op("unique_counts", lambda x: tuple(np.unique_counts(x)), {"integers": (INDEX,)}, has_gradient=False, data_dependent=True),
    op("unique_inverse", lambda x: tuple(np.unique_inverse(x)), {"integers": (INDEX,)}, has_gradient=False, data_dependent=True),
    *[
        op(name, getattr(np, name), {"all": (X23,), "axis": ((X23,), {"axis": 1, "keepdims": True})}, has_gradient=False)
        for name in ("argmax", "argmin")
    ],
    *[
        op(name, getattr(np, name), {"all": (MASK,), "axes": ((MASK,), {"axis": (0, 1), "keepdims": True})}, has_gradient=False)
        for name in ("all", "any")
    ],
]  # fmt: skip

ROWS += op_table_special.rows(unary, binary, op, draw)

ROWS += op_table_linalg.rows(op, draw, draw_complex)

ROWS += op_table_numeric.rows(op, draw, draw_complex)

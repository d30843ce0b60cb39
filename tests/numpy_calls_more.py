"""Calls as in numpy_calls.py: of the methods of ufuncs and of arrays, and those without a gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy_calls import A3, I6, I23, B, C, N, P, Q, S, X, Y
from op_table import draw

from arraygrad.numpy_ufuncs import METHODS

#: Functions of two arguments whose results are integers, booleans or jumps.
_STEPS = "floor_divide gcd lcm left_shift right_shift equal not_equal less less_equal greater greater_equal".split()
_OF_INTEGERS = set("gcd lcm left_shift right_shift bitwise_and bitwise_or bitwise_xor ldexp".split())


def _call(name: str, method: str) -> Any:
    if method == "reduceat":
        return lambda a: getattr(np, name).reduceat(a, [0, 2, 1], axis=1)
    if method == "outer":
        return lambda a: getattr(np, name).outer(a, I23[0]) if name == "ldexp" else getattr(np, name).outer(a, a[0])
    return lambda a: getattr(getattr(np, name), method)(a, axis=1)


_METHODS = {
    f"{name}.{method}": (
        _call(name, method),
        (np.array([[12, 6, 4], [9, 3, 5]]) if name in _OF_INTEGERS - {"ldexp"} else Q,),
    )
    for name, method in METHODS
}
_IS_STEP = [f for f in _METHODS if f.split(".")[0] in _STEPS or f.startswith(("logical", "bitwise"))]
_IS_STEP = [f for f in _IS_STEP if f not in ("floor_divide.accumulate", "floor_divide.reduceat")]  # the first passes
UFUNC_CALLS: dict[str, tuple[Any, tuple[np.ndarray, ...]]] = {
    f: call for f, call in _METHODS.items() if f not in _IS_STEP
} | {
    "add.reduce all": (lambda a: np.add.reduce(a, axis=None, keepdims=True), (X,)),
    "hypot.reduce": (lambda a: np.hypot.reduce(a, axis=(0, 2), initial=2.0), (A3,)),
    "subtract.reduce": (lambda a, b: np.subtract.reduce(a, axis=1, initial=b), (X, np.array(0.7))),
    "logaddexp.reduce where": (lambda a: np.logaddexp.reduce(a, axis=1, where=B), (X,)),
    "logaddexp2.reduce of nothing": (lambda a: np.logaddexp2.reduce(a[:, :0], axis=1, initial=0.3) + a[:, 0], (X,)),
    "logaddexp.reduce of five": (lambda a, b: np.logaddexp.reduce(a, initial=b, keepdims=True), (P, np.array(0.7))),
    "hypot.reduce all": (lambda a: np.hypot.reduce(a, axis=None, where=B), (X,)),
    "maximum.accumulate": (lambda a: np.maximum.accumulate(a, axis=1), (A3,)),
    "minimum.accumulate": (lambda a: np.minimum.accumulate(a), (draw((9,)),)),
    "multiply.reduceat": (lambda a: np.multiply.reduceat(a, [0, 3, 2, 5]), (draw((6,)),)),
}

#: Calls of a tensor's methods that NumPy's arrays have, too.
METHOD_CALLS: dict[str, tuple[Any, tuple[np.ndarray, ...]]] = {
    "t.T": (lambda a: a.T, (A3,)),
    "t.mT": (lambda a: a.mT, (A3,)),
    "t.astype": (lambda a: a.astype(np.complex128), (X,)),
    "t.clip": (lambda a: a.clip(min=-0.5, max=0.7), (X,)),
    "t.compress": (lambda a: a.compress([True, False, True], axis=1), (X,)),
    "t.conj": (lambda a: a.conj(), (C,)),
    "t.conj of real": (lambda a: a.conj(), (X,)),
    "t.conjugate": (lambda a: a.conjugate() * a[::-1], (C,)),
    "t.copy": (lambda a: a.copy(), (X,)),
    "t.cumprod": (lambda a: a.cumprod(1), (X,)),
    "t.cumsum": (lambda a: a.cumsum(), (X,)),
    "t.diagonal": (lambda a: a.diagonal(1, 0, 2), (A3,)),
    "t.dot": (lambda a, b: a.dot(b), (X, Y)),
    "t.flatten": (lambda a: a.flatten(), (X,)),
    "t.imag": (lambda a: a.imag, (C,)),
    "t.max": (lambda a: a.max(0), (X,)),
    "t.mean": (lambda a: a.mean(axis=(0, 2), keepdims=True), (A3,)),
    "t.min": (lambda a: a.min(axis=1), (X,)),
    "t.prod": (lambda a: a.prod(), (X,)),
    "t.ravel": (lambda a: a.ravel(), (X,)),
    "t.real": (lambda a: a.real, (C,)),
    "t.real of real": (lambda a: a.real + a.imag, (X,)),
    "t.repeat": (lambda a: a.repeat([2, 0, 1], axis=1), (X,)),
    "t.repeat each": (lambda a: a.repeat(2), (X,)),
    "t.reshape": (lambda a: a.reshape(3, -1), (X,)),
    "t.squeeze": (lambda a: a[None].squeeze(0), (X,)),
    "t.std": (lambda a: a.std(0, ddof=1), (X,)),
    "t.sum": (lambda a: a.sum(-1), (X,)),
    "t.swapaxes": (lambda a: a.swapaxes(0, -1), (A3,)),
    "t.take": (lambda a: a.take([2, 0, 2], axis=1), (X,)),
    "t.trace": (lambda a: a.trace(1), (S,)),
    "t.transpose": (lambda a: a.transpose(), (A3,)),
    "t.transpose tuple": (lambda a: a.transpose((1, 0, 2)), (A3,)),
    "t.transpose axes": (lambda a: a.transpose(1, -1, 0), (A3,)),
    "t.var": (lambda a: a.var(axis=1, ddof=1), (X,)),
}  # fmt: skip

#: Calls without a gradient, and their arrays.
CONSTANTS: dict[str, tuple[Any, tuple[np.ndarray, ...]]] = {
    **{f: _METHODS[f] for f in _IS_STEP},
    **{name: (getattr(np, name), (X * 1.5,)) for name in "sign floor ceil trunc rint signbit isfinite isinf isnan logical_not spacing".split()},
    **{name: (getattr(np, name), (X, np.roll(X, 1))) for name in "equal not_equal less less_equal greater greater_equal floor_divide logical_and logical_or logical_xor isclose allclose array_equal array_equiv".split()},
    "logical_xor.reduce": (lambda a: np.logical_xor.reduce(a, axis=1, where=B), (X * B,)),
    "logical_or.reduce": (lambda a: np.logical_or.reduce(a[:, :0], axis=1), (X,)),
    "logical_and.reduce": (lambda a: np.logical_and.reduce(a, axis=None, initial=True, keepdims=True), (X,)),
    "bitwise_or.reduce": (lambda a: np.bitwise_or.reduce(a, axis=(0, 1)), (I23,)),
    "invert": (np.invert, (I23,)),
    **{name: (getattr(np, name), (I23, np.array([2, 3, 1]))) for name in "bitwise_and bitwise_or bitwise_xor left_shift right_shift gcd lcm".split()},
    "fix": (lambda a: np.fix(a), (X * 1.5,)),
    **{name: (getattr(np, name), (X * 10,)) for name in ("round", "around")},
    **{name: (getattr(np, name), (X * B,)) for name in "all any count_nonzero argmax argmin nonzero flatnonzero argwhere".split()},
    "all where": (lambda a: np.all(a, axis=1, where=B), (X,)),
    "any where": (lambda a: np.any(a, axis=0, where=B, keepdims=True), (X,)),
    "argmax axis": (lambda a: np.argmax(a, axis=1, keepdims=True), (X,)),
    "nanargmax": (lambda a: np.nanargmax(a, axis=1), (N,)),
    "nanargmin": (np.nanargmin, (N,)),
    "round decimals": (lambda a: np.round(a, 1), (X,)),
    **{name: (getattr(np, name), (N,)) for name in "isposinf isneginf iscomplex isreal iscomplexobj isrealobj shape ndim size".split()},
    "iscomplex complex": (np.iscomplex, (np.array([1.0, 2j]),)),
    "size axis": (lambda a: np.size(a, 1), (X,)),
    "result_type": (lambda a: np.result_type(a, np.float32), (X,)),
    "can_cast": (lambda a: np.can_cast(a, np.complex128), (X,)),
    "common_type": (lambda a: np.common_type(a, a), (X,)),
    "may_share_memory": (lambda a: (np.may_share_memory(a, a), np.may_share_memory(a, a + 1)), (X,)),
    "array_equal NaN": (lambda a: np.array_equal(a, a, equal_nan=True), (N,)),
    "array_equal shapes": (lambda a: np.array_equal(a, a[:1]), (X,)),
    "array_equiv shapes": (lambda a: np.array_equiv(a, a[:, :2]), (X,)),
    "isclose NaN": (lambda a: np.isclose(a, a, equal_nan=True), (N,)),
    **{name: (getattr(np, name), (S,)) for name in "tril_indices_from triu_indices_from diag_indices_from".split()},
    "unravel_index": (lambda a: np.unravel_index(a, (2, 3)), (I6,)),
    "ravel_multi_index": (lambda a: np.ravel_multi_index((a, a), (6, 7)), (I6,)),
    "argsort": (lambda a: np.argsort(a, kind="stable"), (X,)),
    "argsort flat": (lambda a: np.argsort(a, axis=None), (X,)),
    "argpartition": (lambda a: np.sort(np.argpartition(a, 2)[:2]), (P,)),
    "lexsort": (lambda a, b: np.lexsort((a, b)), (X[0], np.array([1, 0, 1]))),
    "searchsorted": (lambda a: np.searchsorted(np.array([-1.0, 0.0, 1.0]), a, side="right"), (X,)),
    "isin": (lambda a: np.isin(a, a[0], invert=True), (X,)),
    "digitize": (lambda a: np.digitize(a, [-1.0, 0.0, 1.0]), (X,)),
    "bincount counts": (lambda a: np.bincount(a), (I6,)),
    "histogram counts": (lambda a: np.histogram(a, 4, range=(-1, 1)), (X,)),
    "histogram_bin_edges": (lambda a: np.histogram_bin_edges(a, 4), (X,)),
    "histogram2d counts": (lambda a: np.histogram2d(a, a**2, 3)[0], (P,)),
    "histogram2d edges": (lambda a: np.histogram2d(a, a**2, [0.0, 0.5, 1.0, 2.0]), (P,)),
    "histogramdd counts": (lambda a: np.histogramdd(a, (2, 1, 2, 3))[0], (Q,)),
    "linalg.matrix_rank": (lambda a: np.linalg.matrix_rank(a), (A3,)),
    "linalg.matrix_rank tol": (lambda a: np.linalg.matrix_rank(a, 1.0), (X,)),
    "t.all": (lambda a: a.all(0), (X * B,)),
    "t.any": (lambda a: a.any(axis=1), (X * B,)),
    "t.argmax": (lambda a: a.argmax(0), (X,)),
    "t.argmin": (lambda a: a.argmin(), (X,)),
    "t.argpartition": (lambda a: np.sort(a.argpartition(2)[:2]), (P,)),
    "t.argsort": (lambda a: a.argsort(axis=0), (X,)),
    "t.choose": (lambda a: a.choose([1.0, 0.5, np.array([3.0, 4.0, 5.0])]), (np.array([[0, 2, 1], [2, 2, 0]]),)),
    "t.nonzero": (lambda a: a.nonzero(), (X * B,)),
    "t.round": (lambda a: a.round(1), (X,)),
    "t.searchsorted": (lambda a: a.searchsorted([0.1, 0.9], side="right"), (np.sort(P),)),
    "zeros": (lambda a: np.zeros((2, 3), like=a), (X,)),
    "ones": (lambda a: np.ones(3, dtype=np.float32, like=a), (X,)),
    "empty": (lambda a: np.shape(np.empty((2, 3), like=a)), (X,)),
    "zeros_like": (lambda a: np.zeros_like(a), (X,)),
    "ones_like": (lambda a: np.ones_like(a, dtype=np.float32, shape=(4, 2, 3)), (X,)),
    "empty_like": (lambda a: np.shape(np.empty_like(a)), (X,)),
    "arange": (lambda a: np.arange(1, 5, like=a), (X,)),
    "eye": (lambda a: np.eye(3, 4, k=1, like=a), (X,)),
    "identity": (lambda a: np.identity(3, like=a), (X,)),
    "tri": (lambda a: np.tri(3, 4, 1, like=a), (X,)),
    "array": (lambda a: np.array([1.0, 2.0], like=a), (X,)),
    "asanyarray": (lambda a: np.asanyarray([1, 2], like=a), (X,)),
}  # fmt: skip

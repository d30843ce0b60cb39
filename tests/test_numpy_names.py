"""NumPy's own functions on tensors: the same value as on arrays, and a gradient."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from op_table import draw

import arraygrad as ag
from arraygrad import numpy_names

X, Y, V, P = draw((2, 3)), draw((3, 2)) + 0.05, draw((4,)), draw((5,), 0.3, 2.0)
S = np.array([[2.0, 0.3, -0.4], [0.3, 3.0, 0.5], [-0.4, 0.5, 4.5]])
C = draw((4,)) + 1j * draw((4,), -1.0, 1.0)

#: A call with NumPy's functions, and its arrays.
CALLS: dict[str, tuple[Any, tuple[np.ndarray, ...]]] = {
    # ufuncs
    **{name: (getattr(np, name), (X,)) for name in "sin cos tanh exp expm1 sinh cosh arctan arcsinh square negative absolute exp2 deg2rad radians degrees rad2deg positive fabs".split()},
    **{name: (getattr(np, name), (P,)) for name in "log log2 log10 log1p sqrt reciprocal cbrt".split()},
    **{name: (getattr(np, name), (X * 0.4,)) for name in "arcsin arccos arctanh tan".split()},
    "arccosh": (np.arccosh, (P + 1,)),
    **{name: (getattr(np, name), (X, X[:1] * 0.7 + 0.2)) for name in "add subtract multiply maximum minimum hypot logaddexp logaddexp2 arctan2 copysign".split()},
    **{name: (getattr(np, name), (P, P[::-1] + 0.1)) for name in "divide true_divide power float_power".split()},
    "heaviside": (lambda a: a * np.heaviside(a, 0.5), (X,)),
    "ufunc of an array and a tensor": (lambda a: np.multiply(X, a), (X,)),
    "array @ tensor": (lambda a: X @ a, (Y,)),
    "add.reduce": (lambda a: np.add.reduce(a), (X,)),
    "multiply.reduce": (lambda a: np.multiply.reduce(a, axis=1), (X,)),
    "logaddexp.reduce": (lambda a: np.logaddexp.reduce(a, axis=1), (X,)),
    "add.accumulate": (lambda a: np.add.accumulate(a, axis=1), (X,)),
    "multiply.outer": (lambda a, b: np.multiply.outer(a, b), (X, V)),
    "conjugate": (lambda a: np.real(a * np.conjugate(a)), (C,)),
    # reductions
    **{f"{name} axis=1": (lambda a, f=getattr(np, name): f(a, axis=1), (X,)) for name in "sum mean prod max min amax amin var std ptp".split()},
    **{f"{name} keepdims": (lambda a, f=getattr(np, name): f(a, axis=(0, 1), keepdims=True), (X,)) for name in "sum mean max std".split()},
    "var ddof": (lambda a: np.var(a, ddof=1), (X,)),
    "average": (lambda a: np.average(a, axis=0), (X,)),
    "average weights": (lambda a, w: np.average(a, weights=w), (P, P[::-1].copy())),
    "average rows": (lambda a, w: np.average(a, axis=1, weights=w), (X, P[:3])),
    "cumsum": (np.cumsum, (X,)),
    "cumsum axis": (lambda a: np.cumsum(a, axis=0), (X,)),
    "cumprod": (lambda a: np.cumprod(a, axis=1), (X,)),
    # shape
    "reshape": (lambda a: np.reshape(a, (3, -1)), (X,)),
    "ravel": (np.ravel, (X,)),
    "transpose": (np.transpose, (X,)),
    "swapaxes": (lambda a: np.swapaxes(a, 0, 1), (X,)),
    "moveaxis": (lambda a: np.moveaxis(a, 0, -1), (X,)),
    "expand_dims": (lambda a: np.expand_dims(a, 1), (X,)),
    "squeeze": (lambda a: np.squeeze(a[:, None]), (X,)),
    "broadcast_to": (lambda a: np.broadcast_to(a, (4, 2, 3)), (X,)),
    "broadcast_arrays": (lambda a, b: np.broadcast_arrays(a, b)[0], (X[:1], Y[:2, :1])),
    "concatenate": (lambda a, b: np.concatenate([a, b.T], axis=1), (X, Y)),
    "concatenate flat": (lambda a, b: np.concatenate([a, b], axis=None), (X, Y)),
    "stack": (lambda a: np.stack([a, a * 2.0], axis=-1), (X,)),
    "vstack": (lambda a, b: np.vstack([a, b]), (X, X[0])),
    "hstack": (lambda a, b: np.hstack([a, b]), (V, P)),
    "hstack 2-D": (lambda a: np.hstack([a, a]), (X,)),
    "dstack": (lambda a, b: np.dstack([a, b]), (X, X * 2)),
    "column_stack": (lambda a, b: np.column_stack([a, b]), (V, V * 2)),
    "append": (lambda a, b: np.append(a, b), (X, V)),
    "split": (lambda a: np.split(a, 2)[1], (V,)),
    "split at": (lambda a: np.split(a, [1, 3])[1], (V,)),
    "split beyond": (lambda a: np.split(a, [2, 9])[1], (V,)),
    "atleast_1d": (np.atleast_1d, (np.array(2.0),)),
    "atleast_2d": (np.atleast_2d, (V,)),
    "atleast_3d": (np.atleast_3d, (X,)),
    "atleast_3d of 1-D": (np.atleast_3d, (V,)),
    "flip": (np.flip, (X,)),
    "fliplr": (np.fliplr, (X,)),
    "flipud": (np.flipud, (X,)),
    "roll": (lambda a: np.roll(a, 2, axis=1), (X,)),
    "tile": (lambda a: np.tile(a, 2), (X,)),
    "repeat": (lambda a: np.repeat(a, 2, axis=0), (X,)),
    "tril": (np.tril, (S,)),
    "triu": (lambda a: np.triu(a, 1), (S,)),
    "diff": (np.diff, (X,)),
    "copy": (np.copy, (X,)),
    "full_like": (lambda a, b: a + np.full_like(a, b), (X, np.array(3.0))),
    # elements
    "where": (lambda a, b: np.where(a > 0, a, b), (X, X * 2)),
    "clip": (lambda a: np.clip(a, -0.5, 0.7), (X,)),
    "take": (lambda a: np.take(a, [2, 0, 2], axis=1), (X,)),
    "take one": (lambda a: np.take(a, 3), (X,)),
    "take_along_axis": (lambda a: np.take_along_axis(a, np.array([[2, 0]]), 1), (X,)),
    "sort": (np.sort, (X,)),
    "real": (np.real, (C,)),
    "imag": (np.imag, (C,)),
    "angle": (np.angle, (C,)),
    "nan_to_num": (np.nan_to_num, (X,)),
    "sinc": (np.sinc, (X,)),
    "trapezoid": (np.trapezoid, (X,)),
    "trapezoid x": (lambda y, x: np.trapezoid(y, x, axis=0), (Y, np.array([0.0, 0.4, 1.5]))),
    # beyond the standard
    "einsum": (lambda a, b: np.einsum("ij,jk->ki", a, b), (X, Y)),
    "pad": (lambda a: np.pad(a, (1, 2)), (X,)),
    "pad edge": (lambda a: np.pad(a, 1, mode="edge"), (X,)),
    **{name: (getattr(np, name), (X,)) for name in "nansum nanmean nanmax nanmin median diag cov corrcoef".split()},
    "nanmean axis": (lambda a: np.nanmean(a, axis=0, keepdims=True), (X,)),
    "quantile": (lambda a: np.quantile(a, [0.25, 0.4], axis=1), (X,)),
    "percentile": (lambda a: np.percentile(a, 35), (X,)),
    "kron": (np.kron, (X, V)),
    "interp": (lambda x, fp: np.interp(x, [-2.0, -0.33, 0.7, 2.5], fp), (X, V)),
    "convolve": (lambda a, b: np.convolve(a, b, "same"), (V, P)),
    "gradient": (lambda a: np.gradient(a, 0.5, axis=1), (X,)),
    "polyval": (np.polyval, (V, X)),
    "unwrap": (np.unwrap, (V * 4,)),
    # products
    "dot": (np.dot, (X, Y)),
    "dot 1-D": (np.dot, (V, V * 2)),
    "dot 3-D": (np.dot, (X, draw((2, 3, 2)))),
    "dot number": (np.dot, (X, np.array(2.0))),
    "inner": (np.inner, (X, Y.T.copy())),
    "outer": (np.outer, (X, V)),
    "vdot": (lambda a, b: np.vdot(a, b), (V, V * 2)),
    "tensordot": (lambda a, b: np.tensordot(a, b, axes=([1], [0])), (X, Y)),
    "trace": (np.trace, (S,)),
    "diagonal": (np.diagonal, (S,)),
    "linalg.inv": (np.linalg.inv, (S,)),
    "linalg.det": (np.linalg.det, (S,)),
    "linalg.solve": (np.linalg.solve, (S, draw((3, 2)))),
    "linalg.norm": (np.linalg.norm, (X,)),
    "linalg.norm axis": (lambda a: np.linalg.norm(a, axis=1, keepdims=True), (X,)),
    "linalg.norm matrix": (lambda a: np.linalg.norm(a, "nuc"), (X,)),
    "linalg.pinv": (np.linalg.pinv, (X,)),
    "linalg.slogdet": (lambda a: np.linalg.slogdet(a)[1], (S,)),
    "linalg.svd": (lambda a: np.linalg.svdvals(a), (X,)),
    "linalg.matrix_power": (lambda a: np.linalg.matrix_power(a, 3), (S,)),
    # transforms
    "fft.fft": (lambda a: np.abs(np.fft.fft(a)) ** 2, (V,)),
    "fft.rfft": (lambda a: np.imag(np.fft.rfft(a, 6)), (V,)),
    "fft.irfft": (lambda a: np.fft.irfft(a, norm="ortho"), (C,)),
    "fft.fft2": (lambda a: np.real(np.fft.fft2(a)), (X,)),
    "fft.irfft2": (lambda a: np.fft.irfft2(np.fft.rfft2(a) * 2.0, s=a.shape), (X,)),
    "fft.fftshift": (np.fft.fftshift, (V,)),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_value_and_gradient(name: str) -> None:
    function, arrays = CALLS[name]
    tensors = [ag.tensor(array, requires_grad=True) for array in arrays]
    result = function(*tensors)
    assert type(result) is ag.Tensor
    expected = function(*arrays)
    assert result.shape == np.shape(expected)
    np.testing.assert_allclose(result.array, expected, rtol=1e-12, atol=1e-12)
    ag.gradcheck(function, tensors, eps=1e-5, atol=1e-7, rtol=1e-5)


def test_facts() -> None:
    x = ag.tensor([[1.0, 2.0]], requires_grad=True)
    assert (np.shape(x), np.ndim(x), np.size(x), np.size(x, 1)) == ((1, 2), 2, 2, 2)
    assert not np.iscomplexobj(x)
    assert np.result_type(x, np.float32) == np.float64
    assert np.allclose(x, x)
    assert np.array_equal(x, x)
    assert np.argmax(x) == 1
    assert np.count_nonzero(x) == 2
    assert np.round(x / 3.0, 2).array.tolist() == [[0.33, 0.67]]
    assert np.zeros_like(x).device == "cpu"


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda x: np.sum(x, out=np.zeros(())),
            "np.sum of a Tensor: got an unexpected keyword argument 'out'; it takes",
        ),
        (lambda x: np.add(x, 1, out=np.zeros(2)), "np.add cannot write a Tensor into a NumPy array"),
        (lambda x: np.polyfit(x, x, 1), "np.polyfit of a Tensor is not supported"),
        (lambda x: np.spacing(x), "np.spacing of a Tensor is not supported"),
        (lambda x: np.nanstd(x), "np.nanstd of a Tensor is not supported; the nearest in arraygrad is ag.std"),
        (lambda x: np.add.at(np.zeros(2), [0], x), "np.add.at of a Tensor is not supported"),
    ],
)
def test_what_is_not_supported_says_so(call: Any, text: str) -> None:
    with pytest.raises(TypeError, match=re.escape(text)):
        call(ag.tensor([1.0, 2.0], requires_grad=True))


def test_writing_into_an_array_is_refused() -> None:
    x = np.zeros(2)
    with pytest.raises(TypeError, match=re.escape("use x = x + t")):
        x += ag.tensor([1.0, 2.0], requires_grad=True)


def test_every_function_is_tested() -> None:
    names = {name.split()[0].removeprefix("np.") for name in CALLS}
    tested = names | {"shape", "ndim", "size", "iscomplexobj", "result_type", "allclose", "array_equal", "argmax"}
    assert len(tested & set(numpy_names.FUNCTIONS)) >= 70
    assert len(numpy_names.UFUNCS) + len(numpy_names.FUNCTIONS) >= 190


def test_the_page_about_them_is_true() -> None:
    folder = Path(__file__).parent.parent / "docs"
    script = runpy.run_path(str(folder / "make_numpy_table.py"))
    assert (folder / "numpy-names.md").read_text() == script["table"](), "run docs/make_numpy_table.py"

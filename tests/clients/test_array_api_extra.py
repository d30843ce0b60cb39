"""array-api-extra on tensors: its functions are written for the standard, and so differentiable.

The copy that scikit-learn brings is tested. Values are compared with those of the same call on NumPy arrays, gradients
with its finite differences.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sklearn.externals.array_api_extra as xpx
from finite_differences import assert_differentiable, like, xp_of
from op_table import draw

import arraygrad as ag

X, V = draw((3, 4)), draw((6,))
N = np.where(X > 1.0, np.nan, X)
WEIGHTS = np.array([1.0, 2.0, 1.0, 3.0])
K = np.array([2, 0, 1, 2])

#: name: function, input. The function gets an array or a tensor; the result has a gradient.
CALLS: dict[str, tuple[Callable[[Any], Any], np.ndarray]] = {
    "angle": (lambda x: xpx.angle(x + 1j * x**2), V),
    "apply_where": (lambda x: xpx.apply_where(x > 0, x, xp_of(x).log, lambda t: t * t), V),
    "apply_where two": (lambda x: xpx.apply_where(x > 0, (x, x * x), lambda s, t: s * t, lambda s, t: s - t), X),
    "apply_where fill": (lambda x: xpx.apply_where(x > 0, x, xp_of(x).sqrt, fill_value=0.5), V),
    "atleast_nd": (lambda x: xpx.atleast_nd(x, ndim=3), X),
    "cov": (xpx.cov, X),
    "cov weights": (lambda x: xpx.cov(x, aweights=like(x, WEIGHTS), correction=0), X),
    "create_diagonal": (lambda x: xpx.create_diagonal(x, offset=1), V),
    "deg2rad": (xpx.deg2rad, V),
    "expand_dims": (lambda x: xpx.expand_dims(x, axis=(0, 2)), X),
    "kron": (lambda x: xpx.kron(x, x[:2]), X),
    "nan_to_num": (lambda x: xpx.nan_to_num(xp_of(x).where(x > 1.0, xp_of(x).nan, x), fill_value=2.0), X),
    "nanmax": (lambda x: xpx.nanmax(x, axis=1), N),
    "nanmean": (lambda x: xpx.nanmean(x, axis=1), N),
    "nanmin": (lambda x: xpx.nanmin(x, axis=1), N),
    "nansum": (lambda x: xpx.nansum(x, axis=0), N),
    "pad": (lambda x: xpx.pad(x, ((1, 0), (2, 1)), constant_values=3.0), X),
    "partition": (lambda x: xp_of(x).sort(xpx.partition(x, 2)[:3]), V),
    "rad2deg": (xpx.rad2deg, V),
    "setdiff1d": (lambda x: xpx.setdiff1d(x, x[:2]), V),
    "sinc": (xpx.sinc, np.append(V, 0.0)),
    "union1d": (lambda x: xpx.union1d(x, x * 2.0), V),
    **{
        f"at {method}": (lambda x, method=method: getattr(xpx.at(x * 1.0)[1:3], method)(x[:2] * 0.7), V)
        for method in "add divide max min multiply power set subtract".split()
        if method != "power"
    },
    "at power": (lambda x: xpx.at(x * x)[1:3].power(2.0), V),
    "at mask": (lambda x: xpx.at(x * 1.0)[x > 0].set(0.5), V),
    "at copy": (lambda x: xpx.at(x)[:, 1].add(x[:, 0], copy=True), X),
}  # fmt: skip

#: Those of indices, truth and kinds, whose results have no gradient.
CONSTANTS: dict[str, tuple[Callable[[Any], Any], np.ndarray]] = {
    "argpartition": (lambda x: xp_of(x).sort(xpx.argpartition(x, 2)[:3]), V),
    "broadcast_shapes": (lambda x: xpx.broadcast_shapes(x.shape, (5, 1, 1)), X),
    "default_dtype": (lambda x: xpx.default_dtype(xp_of(x)), X),
    "diag_indices": (lambda x: x[xpx.diag_indices(3, xp=xp_of(x))], X),
    "isclose": (lambda x: xpx.isclose(x, x + 1e-9), X),
    "isin": (lambda x: xpx.isin(x, x[:2]), V),
    "nunique": (xpx.nunique, K),
    "one_hot": (lambda k: xpx.one_hot(k, 3), K),
    "searchsorted": (lambda x: xpx.searchsorted(xp_of(x).sort(x), x), V),
    "tril_indices": (lambda x: x[xpx.tril_indices(3, xp=xp_of(x))], X),
    "triu_indices": (lambda x: x[xpx.triu_indices(3, offset=1, xp=xp_of(x))], X),
    "unravel_index": (lambda k: xpx.unravel_index(k, (2, 2))[0], K),
    "lazy_apply": (lambda x: xpx.lazy_apply(np.sin, x, shape=x.shape, dtype=x.dtype, as_numpy=True), V),
}  # fmt: skip


QUIET = [
    "ignore:invalid value encountered:RuntimeWarning",  # of the branch that is not taken
    "ignore:.*is deprecated and will be removed:DeprecationWarning",  # of what the standard has by now
]


@pytest.mark.parametrize("name", list(CALLS))
@pytest.mark.filterwarnings(*QUIET)
def test_gradient(name: str) -> None:
    assert_differentiable(*CALLS[name])


@pytest.mark.parametrize("name", [*CALLS, *CONSTANTS])
@pytest.mark.filterwarnings(*QUIET)
def test_value(name: str) -> None:
    function, values = (CALLS | CONSTANTS)[name]
    result = function(ag.tensor(values))
    if name in ("broadcast_shapes", "default_dtype"):
        assert result == function(values)
    else:
        np.testing.assert_allclose(result.array, function(values), rtol=1e-12)


def test_lazy_apply_refuses_to_lose_history() -> None:
    function, values = CONSTANTS["lazy_apply"]
    with pytest.raises(ag.GraphError, match="would lose the history"):
        function(ag.tensor(values, requires_grad=True))


def test_at_writes_in_place_and_refuses_leaves() -> None:
    x = ag.tensor(V, requires_grad=True)
    with pytest.raises(ag.InplaceError, match="a leaf tensor that requires grad"):
        xpx.at(x)[0].set(1.0)
    y = x * 1.0
    assert xpx.at(y)[0].set(1.0) is y


def test_every_public_function_is_here() -> None:
    tested = {name.partition(" ")[0] for name in CALLS | CONSTANTS}
    assert set(xpx.__all__) - {"__version__", "testing"} == tested

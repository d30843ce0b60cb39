"""NumPy's own functions on tensors: the same value as on arrays, and the gradient of finite differences of that."""

from __future__ import annotations

import re
import runpy
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy_calls import CALLS as FUNCTION_CALLS
from numpy_calls_more import CONSTANTS, METHOD_CALLS, UFUNC_CALLS

import arraygrad as ag
from arraygrad import numpy_names

CALLS = FUNCTION_CALLS | UFUNC_CALLS


def form(label: str) -> str:
    """What a label of a call says that it shows."""
    return label.split()[0]


def skip_if_absent(name: str) -> None:
    place: Any = np.ndarray if name.startswith("t.") else np
    for part in name.removeprefix("t.").split("."):
        place = getattr(place, part, None)
    if place is None and not hasattr(np.lib.stride_tricks, name):
        pytest.skip(reason=f"np.{name} came with a later NumPy than {np.__version__}")


@pytest.fixture
def reached(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The NumPy functions that a test has called with tensors."""
    names: list[str] = []
    call = numpy_names._call

    def noted(shown: str, *rest: Any) -> Any:
        names.append(shown.removeprefix("np."))
        return call(shown, *rest)

    monkeypatch.setattr(numpy_names, "_call", noted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a function that a newer NumPy gives up
        yield names


def parts(result: Any) -> list[Any]:
    return list(result) if isinstance(result, tuple | list) else [result]


def assert_same(result: Any, expected: Any) -> None:
    assert len(parts(result)) == len(parts(expected))
    for ours, theirs in zip(parts(result), parts(expected), strict=True):
        if not isinstance(ours, ag.Tensor):
            assert ours == theirs
            continue
        assert ours.shape == np.shape(theirs)
        assert ours.dtype == np.asarray(theirs).dtype or ours.dtype.kind == np.asarray(theirs).dtype.kind == "i"
        np.testing.assert_allclose(ours.array, theirs, rtol=1e-12, atol=1e-12)


def assert_gradients(
    function: Callable[..., Any], arrays: tuple[np.ndarray, ...], tensors: list[Any], result: Any
) -> None:
    """The gradient of a random projection of all results, against central differences of NumPy's."""
    rng = np.random.default_rng(0)
    weights = [
        rng.normal(size=np.shape(part)) + 1j * rng.normal(size=np.shape(part))
        if np.asarray(part).dtype.kind in "fc"
        else None
        for part in parts(function(*arrays))
    ]

    def loss(values: Any, xp: Any) -> Any:
        total = 0.0
        for part, w in zip(parts(values), weights, strict=True):
            if w is not None:
                part = xp.asarray(part)
                total = (
                    total
                    + xp.sum(xp.real(part) * w.real)
                    + (xp.sum(xp.imag(part) * w.imag) if part.dtype.kind == "c" else 0.0)
                )
        return total

    loss(result, ag).backward()
    for i, array in enumerate(arrays):
        numeric = np.zeros_like(array)
        for index in np.ndindex(array.shape):
            for direction in (1.0, 1.0j) if array.dtype.kind == "c" else (1.0,):
                moved = [array.copy(), array.copy()]
                for sign, x in zip((1e-6, -1e-6), moved, strict=True):
                    x[index] += sign * direction
                ahead, back = (loss(function(*arrays[:i], x, *arrays[i + 1 :]), np) for x in moved)
                numeric[index] += direction * (ahead - back) / 2e-6
        known = ~np.isnan(array)
        grad = (
            np.zeros_like(array) if tensors[i].grad is None else tensors[i].grad.array
        )  # the result may be without it
        np.testing.assert_allclose(grad[known], numeric[known], rtol=1e-5, atol=2e-7)
        assert not np.any(grad[~known])


@pytest.mark.parametrize("label", [*CALLS, *METHOD_CALLS])
def test_value_and_gradient(label: str, reached: list[str]) -> None:
    skip_if_absent(form(label))
    function, arrays = (CALLS | METHOD_CALLS)[label]
    tensors = [ag.tensor(array, requires_grad=True) for array in arrays]
    result = function(*tensors)
    assert label in METHOD_CALLS or form(label) in reached
    assert_same(result, function(*arrays))
    assert_gradients(function, arrays, tensors, result)


@pytest.mark.parametrize("label", CONSTANTS)
def test_value_without_a_gradient(label: str, reached: list[str]) -> None:
    skip_if_absent(form(label))
    function, arrays = CONSTANTS[label]
    result = function(*[ag.tensor(array, requires_grad=array.dtype.kind in "fc") for array in arrays])
    assert label.startswith("t.") or form(label) in reached
    assert not any(part.requires_grad for part in parts(result) if isinstance(part, ag.Tensor))
    assert_same(result, function(*arrays))


@pytest.mark.parametrize("label", [*CALLS, *METHOD_CALLS, *CONSTANTS])
def test_results_stay_on_the_device(label: str, reached: list[str]) -> None:
    skip_if_absent(form(label))
    function, arrays = (CALLS | METHOD_CALLS | CONSTANTS)[label]
    device = "strict:device1"
    tensors = [ag.tensor(array, device=device, requires_grad=array.dtype.kind in "fc") for array in arrays]
    try:
        result = function(*tensors)
    except (ag.DeviceError, ag.DtypeError) as error:
        # The call has an array of its own; or: the standard has isin for integers alone.
        if not re.search("move one with to|Only integer dtypes are allowed in isin", str(error)):
            raise
        return
    for part, expected in zip(parts(result), parts(function(*arrays)), strict=True):
        if isinstance(part, ag.Tensor):
            assert part.device == device
            np.testing.assert_allclose(part.detach().to("cpu").array, expected, rtol=1e-12, atol=1e-12)
            if part.requires_grad:
                ag.sum(ag.abs(part)).backward(retain_graph=True)
    assert all(x.grad is None or x.grad.device == device for x in tensors)


def test_every_form_is_tested() -> None:
    labels = {form(label) for label in [*CALLS, *METHOD_CALLS, *CONSTANTS]}
    assert labels == set(numpy_names.forms())


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda x: np.sum(x, out=np.zeros(())),
            "np.sum of a Tensor: got an unexpected keyword argument 'out'; it takes",
        ),
        (lambda x: np.add(x, 1, out=np.zeros(2)), "np.add cannot write a Tensor into a NumPy array"),
        (lambda x: np.add(x, 1, where=[True, False]), "np.add of a Tensor: got an unexpected keyword argument 'where'"),
        (
            lambda x: np.equal(x, 1, dtype=bool),
            "np.equal of a Tensor: got an unexpected keyword argument 'dtype'; it takes (x1, x2",
        ),
        (lambda x: np.isnat(x), "np.isnat of a Tensor is not supported: it has no derivative and no function of the"),
        (lambda x: np.busday_count(x, x), "np.busday_count of a Tensor is not supported; "),
        (
            lambda x: np.copyto(np.zeros(2), x),
            "np.copyto of a Tensor is not supported: it writes into its argument; assign",
        ),
        (lambda x: np.put(x, [0], 1.0), "np.put of a Tensor is not supported: it writes into its argument; assign"),
        (lambda x: np.save("file", x), "np.save of a Tensor is not supported: it makes text or files of numbers"),
        (
            lambda x: np.add.at(np.zeros(2), [0], x),
            "np.add.at of a Tensor is not supported: it writes into its argument",
        ),
        (lambda x: np.sort(x, order="f"), "np.sort of a Tensor: got an unexpected keyword argument 'order'; it takes"),
        (
            lambda x: np.quantile(x, 0.5, weights=x),
            "np.quantile of a Tensor: got an unexpected keyword argument 'weights'",
        ),
        (lambda x: np.unique(x, axis=0), "np.unique of a Tensor: got an unexpected keyword argument 'axis'; it takes"),
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
    assert f"**{len(set(numpy_names.forms()))} call forms**" in script["table"]()
    for alias in script["ALIASES"]:
        assert getattr(np, alias).__name__ in numpy_names.forms()


def test_facts_of_methods() -> None:
    x = ag.tensor([[1.0, 2.0]], requires_grad=True)
    assert x.tolist() == [[1.0, 2.0]]
    assert x.nbytes == 16


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: np.max(x, where=[True, False]), ValueError, "np.max with where needs initial, the result where nothing is left"),
        (lambda x: np.nanmax(x, where=[True, False]), ValueError, "np.nanmax with where needs initial"),
        (lambda x: np.average(x, weights=[1.0]), ValueError, "np.average: weights [1] fit neither [2] nor axis None"),
        (lambda x: np.nanargmax(x * np.nan), ValueError, "np.nanargmax: all elements are NaN"),
        (lambda x: np.nanquantile(x, 1.5), ValueError, "np.nanquantile: q must lie in 0 to 1"),
        (lambda x: np.nanquantile(x, 0.5, method="best"), ValueError, "np.nanquantile: method is one of linear, hazen, weibull"),
        (lambda x: np.split(x, 3), ValueError, "np.split: axis 0 of [2] has no 3 parts of one size; np.array_split does without"),
        (lambda x: np.vsplit(x, 2) and np.dsplit(x, 2), ValueError, "np.dsplit needs more axes than [2] has"),
        (lambda x: np.ravel(x, order="X"), ValueError, 'np.ravel: order is "C" or "F", not \'X\''),
        (lambda x: np.pad(x, 1, lambda *a: None), ValueError, "np.pad of a Tensor takes the name of a mode, not a function"),
        (lambda x: np.delete(x, 5), IndexError, "index 5 is outside an axis of size 2"),
        (lambda x: np.insert(x, 3, 1.0), IndexError, "index 3 is outside an axis of size 2"),
        (lambda x: np.lib.stride_tricks.sliding_window_view(x, 3), ValueError, "a window of 3 along axis 0 of [2]"),
        (lambda x: np.lib.stride_tricks.sliding_window_view(x, (1, 1)), ValueError, "2 sizes of windows for 1 axes"),
        (lambda x: np.select([x > 0], [x, x]), ValueError, "np.select got 1 conditions for 2 choices"),
        (lambda x: np.choose([0, 2], [x, x]), ValueError, "np.choose: an index is outside the 2 choices"),
        (lambda x: np.take(x, 0, mode="x"), ValueError, 'np.take: mode is "raise", "wrap" or "clip", not \'x\''),
        (lambda x: np.piecewise(x, [x > 0], [1, 2, 3]), ValueError, "np.piecewise got 3 functions for 1 conditions"),
        (lambda x: np.apply_along_axis(np.sum, 1, x[:0].reshape(0, 1)), ValueError, "np.apply_along_axis: axis 1 of [0, 1] has no vectors"),
        (lambda x: np.bincount([1, 2], weights=x[:1]), ValueError, "np.bincount: weights [1] for [2]"),
        (lambda x: np.bincount(x), ValueError, "np.bincount takes a vector of integers, got float64 [2]"),
        (lambda x: np.bincount([-1, 2], weights=x), ValueError, "np.bincount takes integers that are not negative"),
        (lambda x: np.histogram(x, "auto"), TypeError, "takes a number of bins or their edges, not bins='auto'"),
        (lambda x: np.histogramdd([x, x], [2]), ValueError, "np.histogramdd: 1 bins and 2 ranges for 2 columns"),
        (lambda x: np.geomspace(x, -1.0), ValueError, "np.geomspace of a Tensor takes ends of one sign, not 0"),
        (lambda x: np.polyfit(x, x[:1], 1), ValueError, "np.polyfit: x is [2], y is [1]"),
        (lambda x: np.polyfit(x, x, 1, cov=True), ValueError, "np.polyfit: 2 points are too few to scale the covariance of degree 1"),
        (lambda x: np.polyint(x, 3, x), ValueError, "np.polyint: 2 constants for 3 integrations"),
        (lambda x: np.vander(x[:, None]), ValueError, "np.vander takes a vector, got [2, 1]"),
        (lambda x: np.linalg.qr(x[:, None], "raw"), ValueError, 'np.linalg.qr of a Tensor: mode is "reduced", "complete" or "r", not \'raw\''),
        (lambda x: np.linalg.eigh(x[:, None] * x, UPLO="X"), ValueError, 'np.linalg: UPLO is "L" or "U", not \'X\''),
        (lambda x: np.linalg.lstsq(x[:, None], x[:1]), ValueError, "np.linalg.lstsq: a is [2, 1], b is [1]"),
        (lambda x: np.linalg.multi_dot([x]), ValueError, "np.linalg.multi_dot takes two arrays at least"),
        (lambda x: np.linalg.tensorinv(x, 0), ValueError, "np.linalg.tensorinv: ind is positive, not 0"),
        (lambda x: np.linalg.tensorsolve(x, x[:1]), ValueError, "np.linalg.tensorsolve: a is [2], b is [1]"),
        (lambda x: np.subtract.reduce(x[:, None], axis=None), ValueError, "np.subtract.reduce goes along one axis, since its order matters"),
        (lambda x: np.subtract.reduce(x, where=[True, False], initial=1.0), ValueError, "np.subtract.reduce of a Tensor does not take where, since it has no neutral element"),
        (lambda x: np.subtract.reduce(x[:0]), ValueError, "np.subtract.reduce over axis 0 of [0]: there are no elements"),
        (lambda x: np.add.reduceat(x, [2]), IndexError, "np.add.reduceat: index 2 is outside axis 0 of [2]"),
        (lambda x: np.unravel_index(x.detach().astype(int) + 5, (2, 3)), ValueError, "np.unravel_index: an index is outside [2, 3]"),
        (lambda x: np.ravel_multi_index((x.detach().astype(int),), (2,)), ValueError, "np.ravel_multi_index: an index is outside [2]"),
        (lambda x: np.diag_indices_from(x), ValueError, "np.diag_indices_from takes axes of one size, got [2]"),
    ],
)  # fmt: skip
def test_what_does_not_fit_says_so(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=re.escape(text)):
        call(ag.tensor([1.0, 2.0], requires_grad=True))


def test_like_takes_the_device() -> None:
    like = ag.tensor([1.0], device="strict:device1")
    for x in (np.zeros(2, like=like), np.asarray([1.0], like=like), np.eye(2, like=like), np.arange(3, like=like)):
        assert x.device == "strict:device1"
    assert np.zeros(2, device="cpu", like=like).device == "cpu"

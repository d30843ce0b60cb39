"""The CuPy backend on simulated CuPy: the op table, not on the current device, and what CuPy does differently."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.special
import simulated_cupy
from devices import make, to_host
from hypothesis import given, settings
from op_table import ROWS, Row, Sample
from simulated_arrays import state
from test_ops import CASES, SMOOTH, call, floats_of, outputs_of, subsets
from test_writes import compare, programs

import arraygrad as ag
from arraygrad.backends import namespaces

HAS_GRADIENT = {(case.values[0].name, case.values[1].label) for case in SMOOTH}


@pytest.fixture(autouse=True, scope="module")
def simulation() -> Iterator[None]:
    with simulated_cupy.installed():
        yield


def run_sample(row: Row, sample: Sample, device: str, convert: Callable[[Any], Any] = lambda value: value) -> list[Any]:
    """The outputs, and the gradients for each subset of inputs; all of them must be on the device."""
    values = [convert(value) for value in floats_of(sample)]
    results = outputs_of(call(row, sample, device, [make(device, value) for value in values]))
    count = len(results)
    if (row.name, sample.label) in HAS_GRADIENT:
        for subset in subsets(row, sample):
            for k in range(count):
                floats = [make(device, value, requires_grad=i in subset) for i, value in enumerate(values)]
                output = outputs_of(call(row, sample, device, floats))[k]
                if output.requires_grad:
                    output.backward(ag.ones_like(output))
                results += [tensor.grad for tensor in floats if tensor.grad is not None]
    assert {result.device for result in results} <= {device}
    return [to_host(result) for result in results]


@pytest.mark.parametrize(("row", "sample"), CASES)
def test_op_table_on_the_second_device(row: Row, sample: Sample) -> None:
    """Every operation of it inside that device's scope: simulated_cupy raises where one is not."""
    state.op = row.name
    for there, here in zip(run_sample(row, sample, "cuda:1"), run_sample(row, sample, "cpu"), strict=True):
        assert there.dtype == here.dtype
        np.testing.assert_allclose(there, here, rtol=1e-12, atol=1e-12)
    assert state.current == [0]


# ---- What CuPy does differently, and the backend evens out


def there(values: Any, **kwargs: Any) -> ag.Tensor:
    return make("cuda:1", values, **kwargs)


@pytest.fixture
def unchecked() -> Iterator[None]:
    ag.set_value_checks(False)
    yield
    ag.set_value_checks(True)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_extrema_of_infinities_alone(dtype: Any) -> None:
    inf = np.inf
    x = there(np.asarray([[inf, inf], [-inf, -inf], [inf, -inf], [1.0, inf], [-inf, np.nan]], dtype))
    np.testing.assert_array_equal(to_host(ag.max(x, axis=1)), [inf, -inf, inf, inf, np.nan])
    np.testing.assert_array_equal(to_host(ag.min(x, axis=1)), [inf, -inf, -inf, 1.0, np.nan])
    assert ag.max(x, axis=(0, 1), keepdims=True).dtype == dtype
    assert to_host(ag.logsumexp(there([-inf, -inf]))) == -inf
    assert to_host(ag.softmax(there([-inf, -inf]))).tolist() == [0, 0]


def test_the_last_write_to_an_element_wins() -> None:
    x = there(np.zeros(4))
    x[there([0, 2, 2, 0, 2])] = there([1.0, 2.0, 3.0, 4.0, 5.0])
    assert to_host(x).tolist() == [4, 0, 5, 0]
    x = there(np.zeros((2, 3)))
    x[:, there([1, 1, -2])] = there([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])  # -2 is 1, too
    assert to_host(x).tolist() == [[0, 3, 0], [0, 6, 0]]
    x[there([[0], [1], [0]]), there([0, 2])] = there([[1.0], [2.0], [3.0]])
    assert to_host(x).tolist() == [[3, 3, 3], [2, 6, 2]]
    x[there([True, False]), there([0, 0])] = there([7.0, 8.0])
    assert to_host(x)[0].tolist() == [8, 3, 3]
    x[there([0, 0])] = 9.0
    assert to_host(x)[0].tolist() == [9, 9, 9]


READS: list[Callable[[ag.Tensor, ag.Tensor], Any]] = [
    lambda x, i: x[i],
    lambda x, i: x[..., i],
    lambda x, i: x[None, i, :],
    lambda x, i: x[there([True, False, False]), i],
    lambda x, i: ag.take(x, i, axis=0),
    lambda x, i: ag.take_along_axis(x, i[:, None], axis=0),
    lambda x, i: x.__setitem__(i, 1.0),
    lambda x, i: x.__setitem__(i, ag.zeros(2, device=x.device)[:, None]),
]


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("wrong", [3, -4])
def test_indices_outside_their_axis_are_refused(read: Callable[..., Any], wrong: int) -> None:
    x = there(np.arange(9.0).reshape(3, 3))
    read(x, there([1, 1]))
    before = to_host(x).tolist()
    with pytest.raises(ag.IndexingError, match=r"an index is out of bounds for axis [01] with size 3"):
        read(x, there([1, wrong]))
    assert to_host(x).tolist() == before


@pytest.mark.parametrize("dtype", ["int8", "uint8", "uint64"])
def test_indices_of_a_type_shorter_than_the_axis(dtype: str) -> None:
    x = there(np.arange(300.0))
    assert to_host(x[there(np.asarray([100, 7], dtype))]).tolist() == [100, 7]
    logits, targets = np.zeros((2, 300)), np.asarray([3, 100], dtype)
    assert to_host(ag.cross_entropy(there(logits), there(targets))) == pytest.approx(np.log(300))


@pytest.mark.usefixtures("unchecked")
def test_indices_are_not_looked_at_where_values_are_not_checked() -> None:
    assert not ag.are_values_checked()
    state.syncs.clear()
    x = there([1.0, 2.0, 3.0])
    x[there([0, 1])] = there([5.0, 6.0])
    assert ag.take(x, there([0, 3])).shape == (2,)
    assert state.syncs == set()
    assert to_host(x[there([1, 4])]).tolist() == [6, 6]  # it wraps: CuPy's own behaviour


def test_targets_of_cross_entropy() -> None:
    for device in ("cpu", "strict:device1", "cuda:1"):
        logits, targets = make(device, [[1.0, 2.0], [3.0, 5.0]]), make(device, [0, -1])
        with pytest.raises(ValueError, match="a target is outside the 2 classes"):
            ag.cross_entropy(logits, targets)
        ag.set_value_checks(False)
        try:
            assert np.isfinite(to_host(ag.cross_entropy(logits, targets)))
        finally:
            ag.set_value_checks(True)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "float16", "float32", "complex64", "complex128"])
def test_adding_at_repeated_indices(dtype: str) -> None:
    x = there(np.zeros(3, dtype))
    x.index_add_(0, there([0, 2, 0]), there(np.asarray([1, 2, 3], dtype) * (1j if "c" in dtype else 1)))
    assert x.dtype == dtype
    assert to_host(x).tolist() == (np.asarray([4, 0, 2]) * (1j if "c" in dtype else 1)).tolist()


def test_singular_matrices_raise_as_numpys_do() -> None:
    for function in (ag.linalg.inv, lambda x: ag.linalg.solve(x, x[0])):
        for device in ("cpu", "cuda:1"):
            with pytest.raises(ag.ShapeError, match="Singular matrix"):
                function(make(device, np.zeros((2, 2))))
    with pytest.raises(ag.ShapeError, match="not positive definite"):
        ag.linalg.cholesky(there(-np.eye(2)))


@pytest.mark.usefixtures("unchecked")
def test_singular_matrices_are_not_noticed_where_values_are_not_checked() -> None:
    assert np.isnan(to_host(ag.linalg.inv(there(np.zeros((2, 2)))))).all()


def test_a_function_that_cupy_lacks_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ag.DeviceError, match=r"CuPy 14\.2\.0 has no linalg\.tensorsolve2; move"):
        namespaces[simulated_cupy.ndarray].linalg.tensorsolve2  # noqa: B018  looking is what fails
    with pytest.raises(ag.DeviceError, match=r"CuPy 14\.2\.0 has no hyp2f1; move the arrays with to\('cpu'\) first"):
        namespaces[simulated_cupy.ndarray].special.hyp2f1  # noqa: B018  as above


def test_logical_functions_of_complex_numbers() -> None:
    z, w = np.array([0j, 1j, 0j, 2.0]), np.array([0j, 0j, 1.0, 1j])
    for name in ("logical_and", "logical_or", "logical_xor"):
        result = getattr(ag, name)(there(z), there(w))
        assert to_host(result).tolist() == getattr(np, name)(z, w).tolist()
    assert to_host(ag.logical_not(there(z))).tolist() == [True, False, True, False]


def test_where_with_a_plain_condition() -> None:
    x = there([1.0, 2.0], requires_grad=True)
    ag.where(True, x, 0.0).sum().backward()
    assert to_host(x.grad).tolist() == [1, 1]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_clip_as_numpys(dtype: str) -> None:
    x = np.asarray([-3, -1, 0, 2, 5]).astype(dtype)
    bounds = [(-1, 2), (None, 2), (-1, None), (np.asarray(-1, dtype), 10**6)]
    for low, high in bounds:
        result = ag.clip(there(x), there(low) if isinstance(low, np.ndarray) else low, high)
        assert result.dtype == dtype
        assert to_host(result).tolist() == (
            np.clip(x, low, high).tolist() if (low, high) != (None, None) else x.tolist()
        )


def test_exports_by_dlpack_may_copy() -> None:
    x = there([1.0, 2.0])
    for wanted in (None, True):
        capsule = x.__dlpack__(copy=wanted)
        export = {"__dlpack__": lambda self, capsule=capsule, **_: capsule, "__dlpack_device__": lambda self: (1, 0)}
        values = np.from_dlpack(type("Export", (), export)())
        assert values.tolist() == [1, 2]
        assert np.shares_memory(values, x.array.host) == (wanted is None)


def test_functions_that_cupy_lacks_are_as_exact_as_scipys() -> None:
    t = np.array([-60.0, -5.0, -1.5, -0.4, 0.0, 0.7, 1.0, 3.0, 40.0])
    for df in (0.5, 3.7, 40.0):
        result = to_host(ag.special.stdtr(df, there(t)))
        np.testing.assert_allclose(result, scipy.special.stdtr(df, t), rtol=1e-12)
    t = np.append(t, [-1e-9, 1e-9])  # where SciPy's own is 0.5
    np.testing.assert_allclose(to_host(ag.special.stdtr(1.0, there(t))), 0.5 + np.arctan(t) / np.pi, rtol=1e-12)
    x = np.array([0.0, 1e-18, 1e-3, 0.2, 0.5, 0.9, 1.0 - 1e-9, 1.0])
    for a, b in [(0.1, 2.0), (1.0, 100.0), (3.0, 0.5), (50.0, 50.0)]:
        result = to_host(ag.special.betaincc(a, b, there(x)))
        np.testing.assert_allclose(result, scipy.special.betaincc(a, b, x), rtol=1e-11)


# ---- Devices


def test_what_is_made_on_the_second_device_is_there() -> None:
    rng = ag.random.default_rng(0, device="cuda:1")
    x = ag.tensor([1.0, 2.0], device="cuda:1")
    made = [rng.normal(size=3), rng.integers(5, size=2), x.clone(), ag.zeros_like(x), x.to("cuda:0").to("cuda:1")]
    made += [ag.arange(3, device="cuda:1"), ag.eye(2, device="cuda:1"), ag.full((2,), 1.0, device="cuda:1")]
    made += [x.to(ag.float32), copy.deepcopy(x), pickle.loads(pickle.dumps(x)), x.to("cuda:1")]
    assert {tensor.device for tensor in made} == {"cuda:1"}
    with pytest.raises(ag.DeviceError, match=r"add got arrays on two devices, cuda:1 and cuda:0"):
        x + x.to("cuda:0")


def test_conversions_happen_on_the_second_device() -> None:
    x = there([1.0, 2.0], requires_grad=True)
    (x * 2.0).backward(there(np.ones(2, np.float32)))
    assert to_host(x.grad).tolist() == [2, 2]
    y = there(np.zeros(2, np.float32))
    y.copy_(x.detach())
    assert to_host(y).tolist() == [1, 2]
    assert y.device == x.grad.device == "cuda:1"


@pytest.mark.parametrize("shape", [(), (2, 3), (3, 0), (0, 3)])
def test_gradcheck_varies_what_is_on_the_second_device(shape: tuple[int, ...]) -> None:
    x = there(np.full(shape, 0.5), requires_grad=True)
    assert ag.gradcheck(ag.exp, [x])


def test_counting_waiting_and_memory() -> None:
    assert ag.device_count() == ag.device_count("cuda") == 2
    assert ag.device_count("cpu") == 1
    with pytest.raises(ag.DeviceError, match="device_count takes 'cuda' or 'cpu', got 'gpu'"):
        ag.device_count("gpu")
    ag.synchronize("cuda:1")
    assert ag.memory_info("cuda:1") == (750 << 20, 1000 << 20)  # 50 MiB of it in CuPy's pool
    ag.synchronize()
    free, total = ag.memory_info()
    assert 0 < free < total
    for function in (ag.synchronize, ag.memory_info):
        with pytest.raises(ag.DeviceError, match="unknown device 'cuda:2'; there are 2 GPUs"):
            function("cuda:2")


def test_no_memory_in_the_middle_of_backward(monkeypatch: pytest.MonkeyPatch) -> None:
    x = there([1.0, 2.0], requires_grad=True)
    (x * 3.0).sum().backward()
    loss = ag.exp(x * x).sum()
    monkeypatch.setattr(state, "allocations_left", 3)
    with pytest.raises(MemoryError, match="Out of memory allocating 16 bytes") as caught:
        loss.backward(retain_graph=True)
    monkeypatch.setattr(state, "allocations_left", None)
    assert caught.value.__notes__ == ["cuda:1 has 750 of 1,000 MiB free (see arraygrad.memory_info)"]
    assert state.current == [0]
    assert to_host(x.grad).tolist() == [3, 3]
    x.zero_grad()
    loss.backward()
    np.testing.assert_allclose(to_host(x.grad), 2 * to_host(x) * np.exp(to_host(x) ** 2))


def test_a_second_backward_adds_on_the_leafs_device() -> None:
    x = there([1.0, 2.0], requires_grad=True)
    (x * 3.0).sum().backward()
    (x * 4.0).sum().backward()
    assert to_host(x.grad).tolist() == [7, 7]


@pytest.mark.parametrize(
    ("driver", "text"),
    [
        (0, "it needs an NVIDIA GPU and its driver, and CuPy 14.2.0 finds none here"),
        (12040, "the driver knows CUDA up to 12.4, and this CuPy is for CUDA 13; update the driver, or install "
                "'arraygrad[cuda12]' in its place"),
        (13000, "CuPy 14.2.0 finds a driver but no GPU; is CUDA_VISIBLE_DEVICES empty?"),
    ],
)  # fmt: skip
def test_why_there_is_no_gpu(monkeypatch: pytest.MonkeyPatch, driver: int, text: str) -> None:
    monkeypatch.setattr(simulated_cupy.CUDA, "is_available", lambda: False)
    monkeypatch.setattr(simulated_cupy.CUDA.runtime, "driverGetVersion", lambda: driver)
    with pytest.raises(ag.DeviceError, match=re.escape(f"device 'cuda' is not available: {text}")):
        ag.zeros(1, device="cuda")
    assert ag.device_count() == 0


def test_devices_that_are_not_there() -> None:
    for device in ("cuda:2", "cuda:x", "cuda:-1"):
        with pytest.raises(ag.DeviceError, match=f"unknown device '{device}'; there are 2 GPUs, 'cuda:0' the first"):
            ag.zeros(1, device=device)


def test_a_cupy_that_cannot_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str) -> Any:
        raise ImportError("libcublas.so.12: cannot open shared object file")

    monkeypatch.setattr("arraygrad.backends.load", fail)
    text = "device 'cuda': CuPy is installed and cannot be imported (libcublas.so.12: cannot open shared object file)"
    with pytest.raises(ag.DeviceError, match=re.escape(text)):
        ag.zeros(1, device="cuda")


def waiting(names: set[str]) -> set[str]:
    """The operations of the table that made the GPU wait in their forward."""
    state.syncs.clear()
    for row in ROWS:
        state.op = row.name
        for sample in row.samples:
            call(row, sample, "cuda:1", [make("cuda:1", value) for value in floats_of(sample)])
    return {op.partition(" ")[0] for op, _ in state.syncs} - names


def test_docs_list_the_operations_that_wait(unchecked: None) -> None:
    text = (Path(__file__).parent.parent / "docs" / "gpu.md").read_text()
    lines = re.findall(r"^(?:Always|With checks): .*", text, re.MULTILINE)
    always, checking = [set(re.findall(r"`(\w+)`", line)) for line in lines]
    assert waiting(set()) == always
    ag.set_value_checks(True)
    assert waiting(always) == checking


@settings(max_examples=60)
@given(programs)
def test_random_programs_of_writes(program: list[tuple[int, int, int, int]]) -> None:
    compare(program, "cuda:1")

"""Checks that every row of the table passes on every device."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import op_table_numeric
import pytest
from devices import NAMES, device_of, flags_of, make, to_host
from op_table import ROWS, Row, Sample

import arraygrad as ag
from arraygrad import op as op_module
from arraygrad.backends import namespaces
from arraygrad.node import AccumulateGrad, FunctionNode
from arraygrad.ops.special import NoGradient

# Tighter than gradcheck's own, so that a rule off by a thousandth fails (see the last test).
TIGHT = {"eps": 1e-5, "atol": 1e-7, "rtol": 1e-5}

CASES = [pytest.param(row, sample, id=f"{row.name}-{sample.label}") for row in ROWS for sample in row.samples]
on_every_device = pytest.mark.parametrize("device", NAMES)


def refuses(device: str, row: Row) -> bool:
    """Strict's flags switch off what the row's own forward needs."""
    return device == "strict-flags" and row.data_dependent


COMPOSED = {
    "split",
    "unstack",
    "broadcast_arrays",
    "meshgrid",
    "nonzero",
    "unique_all",
    "unique_counts",
    "unique_inverse",
} | op_table_numeric.COMPOSED  # several operations


def is_float(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "fc"


def floats_of(sample: Sample) -> list[np.ndarray]:
    """The inputs that can have a gradient, in the order in which `call` fills them in."""
    values = [*sample.args, *sample.kwargs.values()]
    return [v for value in values for v in (value if isinstance(value, list) else [value]) if is_float(v)]


def call(row: Row, sample: Sample, device: str, floats: list[Any]) -> Any:
    """Call the row's function with `floats` in place of the sample's floating point arrays."""
    stream = iter(floats)

    def convert(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(convert(v) for v in value)
        if isinstance(value, list) and any(isinstance(v, np.ndarray) for v in value):
            return [convert(v) for v in value]
        if is_float(value):
            return next(stream)
        return make(device, value) if isinstance(value, np.ndarray) else value

    args = [convert(value) for value in sample.args]
    return row.function(*args, **{key: convert(value) for key, value in sample.kwargs.items()})


def outputs_of(result: Any) -> list[ag.Tensor]:
    return list(result) if isinstance(result, tuple) else [result]


def reference_of(row: Row, sample: Sample) -> list[np.ndarray]:
    result = row.reference(*sample.args, **sample.kwargs)
    return [np.asarray(r) for r in result] if isinstance(result, tuple | list) else [np.asarray(result)]


def test_every_operation_has_a_row_and_every_row_an_operation() -> None:
    assert {row.name for row in ROWS} - COMPOSED == set(op_module.OPS) - {"to_device"}  # see test_devices.py


@on_every_device
@pytest.mark.parametrize(("row", "sample"), CASES)
def test_forward(row: Row, sample: Sample, device: str) -> None:
    if refuses(device, row):
        return
    floats = [make(device, value) for value in floats_of(sample)]
    before = [to_host(tensor) for tensor in floats]
    with flags_of(device):
        outputs = outputs_of(call(row, sample, device, floats))
    expected = reference_of(row, sample)
    assert len(outputs) == len(expected)
    for output, value in zip(outputs, expected, strict=True):
        assert type(output) is ag.Tensor
        assert type(output.array) is type(make(device, 0.0).array)
        assert output.device == device_of(device)
        assert output.shape == value.shape
        assert output.dtype == value.dtype
        assert not output.requires_grad
        np.testing.assert_allclose(to_host(output), value, rtol=1e-13, atol=1e-13)
    for tensor, value in zip(floats, before, strict=True):
        np.testing.assert_array_equal(to_host(tensor), value)


def subsets(row: Row, sample: Sample) -> Iterator[tuple[int, ...]]:
    """The subsets of the floating point inputs of which one has a gradient at least."""
    constant = constant_positions(row, sample)
    count = len(floats_of(sample))
    for size in range(1, count + 1):
        yield from (s for s in itertools.combinations(range(count), size) if not constant.issuperset(s))


def constant_positions(row: Row, sample: Sample) -> set[int]:
    names = [name for name, value in zip(("x1", "x2"), sample.args, strict=False) if is_float(value)]
    return {i for i, name in enumerate(names) if name in row.constant_inputs}


SMOOTH = [
    pytest.param(row, sample, id=f"{row.name}-{sample.label}")
    for row in ROWS
    for sample in row.samples
    if row.has_gradient and len(constant_positions(row, sample)) < len(floats_of(sample))
]


@pytest.mark.parametrize("device", [name for name in NAMES if name != "cpu-readonly"])
@pytest.mark.parametrize(("row", "sample"), SMOOTH)
def test_gradient_of_every_subset_of_inputs(row: Row, sample: Sample, device: str) -> None:
    if refuses(device, row):
        return
    values = floats_of(sample)
    for subset in subsets(row, sample):
        floats = [make(device, value, requires_grad=i in subset) for i, value in enumerate(values)]
        leaves = [floats[i] for i in subset]

        def f(*_: ag.Tensor, floats: list[ag.Tensor] = floats) -> Any:
            return call(row, sample, device, floats)

        with flags_of(device):
            ag.gradcheck(f, leaves, **TIGHT)
            # gradcheck clears the gradients; look at where they live and at the graph.
            for output in outputs_of(f()):
                if row.composed or row.name in COMPOSED:
                    output.requires_grad and output.backward(ag.ones_like(output), retain_graph=True)
                    continue
                assert output.requires_grad
                edges = [edge for edge, _ in output.grad_fn.next_functions if edge is not None]
                assert all(type(edge) is AccumulateGrad for edge in edges), "more than one node"
                output.backward(ag.ones_like(output))
        for i, tensor in enumerate(floats):
            if i in subset and i not in constant_positions(row, sample):
                assert tensor.grad is not None
                assert (tensor.grad.shape, tensor.grad.device) == (tensor.shape, tensor.device)
                assert tensor.grad.dtype == tensor.dtype
                assert type(tensor.grad.array) is type(tensor.array)
            else:
                assert tensor.grad is None


@pytest.mark.parametrize(("row", "sample"), SMOOTH)
def test_rules_do_not_write_to_what_they_get(row: Row, sample: Sample) -> None:
    grads = []
    for device in ("cpu", "cpu-readonly"):
        floats = [make(device, value, requires_grad=True) for value in floats_of(sample)]
        for output in outputs_of(call(row, sample, device, floats)):
            cotangent = np.linspace(-1.0, 1.0, output.size).reshape(output.shape)
            cotangent.flags.writeable = device == "cpu"
            if device == "cpu-readonly" and output.array.flags.owndata:
                output.array.flags.writeable = False
            output.backward(cotangent, retain_graph=True)
        grads.append([to_host(tensor.grad) for tensor in floats if tensor.grad is not None])
    for writable, readonly in zip(*grads, strict=True):
        np.testing.assert_array_equal(writable, readonly)


def widens(row: Row, sample: Sample) -> bool:
    """An array of integers beside one of float32 makes float64, as in NumPy."""
    integers = [value for value in sample.args if isinstance(value, np.ndarray) and value.dtype.kind == "i"]
    return bool(integers) and row.name in ag.special.__all__


def single(value: np.ndarray) -> np.ndarray:
    return value.astype(np.complex64 if value.dtype.kind == "c" else np.float32)


@on_every_device
@pytest.mark.parametrize(("row", "sample"), SMOOTH)
def test_float32_stays_float32(row: Row, sample: Sample, device: str) -> None:
    if refuses(device, row):
        return
    if row.name == "astype" or widens(row, sample):
        return  # it is there to change the type: see test_dtypes.py
    floats = [make(device, single(value), requires_grad=True) for value in floats_of(sample)]
    with flags_of(device):
        for output in outputs_of(call(row, sample, device, floats)):
            assert output.dtype in (np.float32, np.complex64)
            output.backward(ag.ones_like(output), retain_graph=True)
    for tensor in floats:
        assert tensor.grad is None or tensor.grad.dtype == tensor.dtype


#: NumPy and SciPy compute these in wider types, or not at all.
NO_FLOAT16 = {*ag.linalg.__all__, *ag.fft.__all__} - {"matmul", "matrix_transpose", "outer", "tensordot", "vector_norm"}


@pytest.mark.parametrize(("row", "sample"), SMOOTH)
def test_float16_stays_float16(row: Row, sample: Sample) -> None:
    values = floats_of(sample)
    is_complex = any(np.iscomplexobj(value) for value in (*values, *[v for v in sample.args if np.isscalar(v)]))
    if row.name in NO_FLOAT16 | {"astype", "cofactors"} or is_complex or widens(row, sample):
        return
    floats = [make("cpu", value.astype(np.float16), requires_grad=True) for value in values]
    for output in outputs_of(call(row, sample, "cpu", floats)):
        assert output.dtype == np.float16
        output.backward(ag.ones_like(output), retain_graph=True)
    for tensor in floats:
        assert tensor.grad is None or tensor.grad.dtype == np.float16


@pytest.mark.parametrize("row", [row for row in ROWS if not row.has_gradient], ids=repr)
def test_operations_without_a_gradient_record_nothing(row: Row) -> None:
    for sample in row.samples:
        floats = [make("cpu", value, requires_grad=True) for value in floats_of(sample)]
        assert not any(output.requires_grad for output in outputs_of(call(row, sample, "cpu", floats)))


def arrays_in(value: Any) -> Iterator[Any]:
    if type(value) in namespaces:
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from arrays_in(item)


@pytest.mark.parametrize(("row", "sample"), SMOOTH)
def test_nothing_is_saved_but_what_the_rules_name(row: Row, sample: Sample) -> None:
    if row.composed or row.name in COMPOSED | {"getitem", "scatter"}:
        return  # an index is saved whatever it holds
    op = op_module.OPS[row.name]
    values = floats_of(sample)
    for subset in subsets(row, sample):
        floats = [make("cpu", value, requires_grad=i in subset) for i, value in enumerate(values)]
        output = call(row, sample, "cpu", floats)
        node = output.grad_fn
        assert isinstance(node, FunctionNode)
        wanted = {
            name
            for rule, edge in zip(op.rules.values(), node.edges, strict=False)
            if edge is not None
            for name in rule.names
        }
        if op.inputs == ("arrays",):
            wanted = set(next(iter(op.rules.values())).names)
        possible = {"out": output.array} | dict(zip(op.inputs, (f.array for f in floats), strict=False))
        kept = list(arrays_in(node.saved))
        if not wanted & {"out", *op.inputs}:
            assert not kept
        for array in kept:
            assert any(array is possible.get(name) for name in wanted) or len(op.inputs) > len(values)


@pytest.mark.parametrize(("row", "sample"), CASES)
def test_only_views_share_memory(row: Row, sample: Sample) -> None:
    floats = [make("cpu", value) for value in floats_of(sample)]
    result = call(row, sample, "cpu", floats)
    for output, tensor in itertools.product(outputs_of(result), floats):
        shares = np.may_share_memory(output.array, tensor.array) and output.size > 0
        if shares:
            assert row.name in COMPOSED or op_module.OPS[row.name].is_view
            version = tensor.version
            with ag.no_grad():
                if output.array.flags.writeable:
                    output.fill_(0.25)
                    assert tensor.version == version + 1


def test_views_say_so() -> None:
    views = {name for name, op in op_module.OPS.items() if op.is_view}
    assert views == {
        "reshape", "permute_dims", "matrix_transpose", "squeeze", "expand_dims", "broadcast_to",
        "getitem", "astype", "to_device", "sum_to_shape", "real", "imag", "flip", "moveaxis", "diagonal",
    }  # fmt: skip


def scaled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The rule times 1.001, with the same parameters."""

    def wrong(*args: Any) -> Any:
        result = function(*args)
        if isinstance(result, list | tuple):
            return [item * 1.001 for item in result]
        if hasattr(result, "index") and hasattr(result, "g"):
            return type(result)(result.index, result.g * 1.001)
        return result * 1.001

    return wrong


@pytest.mark.parametrize("name", sorted(name for name, op in op_module.OPS.items() if op.rules and name != "to_device"))
def test_a_rule_off_by_a_thousandth_fails(name: str) -> None:
    op = op_module.OPS[name]
    samples = [(row, sample) for row in ROWS if row.name == name for sample in row.samples]
    for changed, rule in op.rules.items():
        if isinstance(rule.function, NoGradient):
            continue  # it raises: see test_special.py
        noticed = False
        rules = {key: replace(r, function=scaled(r.function)) if key == changed else r for key, r in op.rules.items()}
        right = op.run
        try:
            op.run = op_module._runner(replace(op, rules=rules))
            for row, sample in samples:
                floats = [make("cpu", value, requires_grad=True) for value in floats_of(sample)]
                result = ag.gradcheck(
                    lambda *_, row=row, sample=sample, floats=floats: call(row, sample, "cpu", floats),
                    floats,
                    raise_exception=False,
                    **TIGHT,
                )
                noticed = noticed or not result.passed
        finally:
            op.run = right
        assert noticed, f"{name}: nothing notices a wrong rule for {changed}: {inspect.getsource(rule.function)}"

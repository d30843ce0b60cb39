"""Whether CuPy could take every call that the op table makes. Needs CuPy, but no GPU; ci/cupy-contract runs this.

Each row runs on simulated CuPy (tests/simulated_cupy.py), forward and backward, for every subset of inputs that can
need a gradient, in double, single and half precision. What array_api_compat.cupy and arraygrad.backends.cupy then ask
of CuPy is recorded, and held against the installed CuPy:

function with a signature      the call is bound to it, and its first argument is an array where CuPy asks for one
ufunc                          as many inputs as it has; a loop for their data types, with the result's as in NumPy
compiled, without a signature  refused, for nobody could tell (the table needs none)
attribute, method              cupy.ndarray has it
operator                       the loops of its ufunc
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cupy
import cupyx.scipy.special  # noqa: F401  found by name below
import numpy as np
import pytest
import simulated_cupy
from op_table import ROWS, Row, Sample
from simulated_arrays import ArrayFact, Call
from test_cupy import run_sample
from test_ops import NO_FLOAT16, floats_of, single

import arraygrad as ag
from arraygrad.op import elementwise
from arraygrad.tensor import ArrayLike

#: Functions with a signature that take no array first. (The others would ask a number for its `ndim`, or the like.)
CREATION = {
    f"cupy.{name}" for name in "arange array asarray empty eye full linspace ones zeros issubdtype isdtype".split()
} | {"cupy.random.default_rng", "cupy.fft.fftfreq", "cupy.fft.rfftfreq", "cupyx.errstate"}
GENERATOR = {"cupy.random.random", "cupy.random.standard_normal", "cupy.random.integers"}
UFUNC_OF = {
    "sub": "subtract", "mul": "multiply", "truediv": "true_divide", "floordiv": "floor_divide", "mod": "remainder",
    "pow": "power", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "lshift": "left_shift",
    "rshift": "right_shift", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal",
    "ne": "not_equal", "neg": "negative", "pos": "positive", "abs": "absolute",
}  # fmt: skip


def refusal(call: Call) -> str | None:
    """Why CuPy could not take a recorded call, or None."""
    if call.kind in ("attribute", "method"):
        return None if hasattr(cupy.ndarray, call.name) else f"cupy.ndarray has no {call.name}"
    if call.kind == "operator":
        name = call.name.removeprefix("i") if call.name not in ("invert",) else call.name
        if name == "matmul":
            return None if call.name == "matmul" else "cupy.ndarray has no __imatmul__"
        result = call.args[0] if call.name != name else call.result
        return _refusal_of_ufunc(getattr(cupy, UFUNC_OF.get(name, name)), name, call.args, result)
    try:
        function = _find(call.name)
    except AttributeError as error:
        return str(error)
    if isinstance(function, cupy.ufunc):
        unknown = set(dict(call.kwargs)) - {"out", "dtype", "casting"}
        result = None if "special" in call.name else call.result  # the backend casts these
        if unknown:
            return f"{call.name} takes no {unknown}"
        return _refusal_of_ufunc(function, call.name, call.args, result)
    try:
        signature = inspect.signature(function)
    except ValueError:
        return f"{call.name} has no signature to hold the call against"
    first = call.args[0] if call.args else None
    if call.name not in CREATION | GENERATOR and not has_array(first):
        return f"{call.name} takes an array first, got {first}"
    try:
        signature.bind(*call.args, **dict(call.kwargs))
    except TypeError as error:
        return f"{call.name}: {error}; its signature is {signature}"
    return None


def has_array(fact: Any) -> bool:
    return isinstance(fact, ArrayFact) or (type(fact) is tuple and any(map(has_array, fact)))


def _find(name: str) -> Any:
    if name in GENERATOR:
        return getattr(cupy.random.Generator, name.rpartition(".")[2])
    parts = name.split(".")
    value = importlib.import_module(parts[0])
    for i, part in enumerate(parts[1:], 1):
        try:
            value = getattr(value, part)
        except AttributeError:
            raise AttributeError(f"there is no {name} in CuPy {cupy.__version__} ({'.'.join(parts[:i])})") from None
    return value


def _refusal_of_ufunc(ufunc: Any, name: str, args: tuple[Any, ...], result: Any) -> str | None:
    if len(args) != ufunc.nin:
        return f"{name} takes {ufunc.nin} arrays, got {len(args)}"
    arrays = [arg.dtype for arg in args if isinstance(arg, ArrayFact)]
    # Python's numbers are weak: they take part with their kind alone.
    dtypes = [arg.dtype if isinstance(arg, ArrayFact) else np.result_type(*arrays, _example(arg)) for arg in args]
    for loop in ufunc.types:
        inputs, _, outputs = loop.partition("->")
        if all(np.can_cast(dtype, char) for dtype, char in zip(dtypes, inputs, strict=True)):
            if isinstance(result, ArrayFact) and np.dtype(outputs[0]) != result.dtype:
                return f"{name} of {', '.join(map(str, dtypes))} makes {np.dtype(outputs[0])}, NumPy {result.dtype}"
            return None
    return f"{name} has no loop for {', '.join(map(str, dtypes))}"


def _example(fact: Any) -> Any:
    return fact if isinstance(fact, bool) else fact(1)


def half(value: np.ndarray) -> np.ndarray:
    return value.astype(np.float16)


def is_complex(sample: Sample) -> bool:
    return any(map(np.iscomplexobj, [*floats_of(sample), *filter(np.isscalar, sample.args)]))


def calls_of(row: Row) -> list[Call]:
    state = simulated_cupy.state
    state.calls.clear()
    with simulated_cupy.installed():
        state.op = row.name
        for sample in row.samples:
            run_sample(row, sample, "cuda:1")
            if row.name == "astype":
                continue
            run_sample(row, sample, "cuda:1", single)
            if row.name not in NO_FLOAT16 | {"cofactors"} and not is_complex(sample):
                run_sample(row, sample, "cuda:1", half)
    return list(state.calls)


def refusals(row: Row) -> list[str]:
    found = [(call.op, refusal(call)) for call in calls_of(row)]
    return sorted({f"{op}: {reason}" for op, reason in found if reason is not None})


@pytest.mark.parametrize("row", ROWS, ids=repr)
def test_cupy_takes_every_call_of(row: Row) -> None:
    assert refusals(row) == []


def test_cupy_takes_what_is_no_operation_of_the_table() -> None:
    simulated_cupy.state.calls.clear()
    with simulated_cupy.installed():
        simulated_cupy.state.op = "backend"
        x = ag.tensor([1.0, 2.0, 3.0], device="cuda:1")
        index = ag.tensor([0, 0], device="cuda:1")
        x[index] = index.astype(ag.float64)
        x.index_add_(0, index, x[:2])
        z = x.astype(ag.complex64)
        z.index_add_(0, index, z[:2])
        rng = ag.random.default_rng(0, device="cuda:1")
        rng.uniform(size=2), rng.normal(size=2), rng.integers(3, size=2), rng.permutation(3)
        x.to("cuda:0").to("cpu"), x.clone(), float(x.sum())
        ag.full((2,), 1.0, device="cuda:1"), ag.eye(2, device="cuda:1"), ag.arange(3, device="cuda:1")
    calls = list(simulated_cupy.state.calls)
    assert {"cupyx.scatter_max", "cupyx.scatter_add", *GENERATOR} <= {call.name for call in calls}
    assert [reason for reason in map(refusal, calls) if reason] == []


@pytest.mark.parametrize("path", ["arraygrad/backends/cupy.py", "benchmarks/gpu.py", "ci/gpu"])
def test_every_name_of_cupys_exists(path: str) -> None:
    """Also those that no test reaches: what stands after `cupy.` and `cupyx.`, and after `special.` in the backend."""
    text = (Path(__file__).parent.parent / path).read_text()
    names = set(re.findall(r"(?<![\w./])cupyx?(?:\.[a-zA-Z_]\w*)+", text)) - {"cupyx.scipy.special"}
    if "backends" in path:
        names |= {f"cupyx.scipy.special.{name}" for name in re.findall(r"(?<![\w.])special\.(\w+)\(", text)}
    assert len(names) > 1
    for name in names:
        _find(name)


def test_what_devices_and_pools_are_asked_exists() -> None:
    device, pool = cupy.cuda.Device(0), cupy.get_default_memory_pool()
    assert callable(device.synchronize)
    assert "mem_info" in dir(device)
    assert callable(pool.free_bytes)
    assert issubclass(cupy.cuda.memory.OutOfMemoryError, MemoryError)


def test_a_machine_without_a_gpu_is_told_what_is_missing() -> None:
    if cupy.cuda.is_available():
        return
    with pytest.raises(ag.DeviceError, match="needs an NVIDIA GPU and its driver, and CuPy"):
        ag.zeros(1, device="cuda")
    assert ag.device_count() == 0


def test_what_the_simulation_lacks_is_not_there() -> None:
    for name in simulated_cupy.LACKS:
        with pytest.raises(AttributeError, match="there is no"):
            _find(name)


@pytest.mark.parametrize(
    ("x", "forward", "rule", "reason"),
    [
        (1.0, lambda xp, x: xp.exp(x), lambda g: g, None),
        (1.0, lambda xp, x: x + xp.sum(x, where=True), lambda g: g, "cupy.sum: got an unexpected keyword argument"),
        (1.0, lambda xp, x: x, lambda g, xp: xp.multiply(g, 2.0, where=True), "cupy.multiply takes no {'where'}"),
        (1.0, lambda xp, x: x, lambda g, xp: g * xp.spacing(1.0), "there is no cupy.spacing"),
        (1j, lambda xp, x: xp.namespace().logical_not(x), lambda g: g, "loops for logical functions have no complex"),
        (1.0, lambda xp, x: x, lambda g: g.getfield(g.dtype), "cupy.ndarray has no getfield"),
        (1.0, lambda xp, x: xp.special.hyp2f1(1.0, 2.0, 3.0, x), lambda g: g, "CuPy 14.2.0 has no hyp2f1"),
    ],
)
def test_a_planted_call_fails_in_the_name_of_its_operation(
    own_op: None,
    monkeypatch: pytest.MonkeyPatch,
    x: complex,
    forward: Callable[..., Any],
    rule: Callable[..., Any],
    reason: str | None,
) -> None:
    def planted(xp: Any, x: ArrayLike, /) -> Any:
        return forward(xp, x)

    monkeypatch.setattr("test_cupy.HAS_GRADIENT", {("planted", "sample")})
    sample = Sample("sample", (np.full(3, x),))
    row = Row("planted", elementwise(rule)(planted), lambda x: x, [sample])
    try:
        found = refusals(row)
    except ag.ArraygradError as error:  # the simulation or the backend refuses it
        found = [f"{row.name}: {error}"]
    assert len(found) == (reason is not None)
    assert all(text.startswith("planted: ") and reason in text for text in found)


def test_loops_are_compared() -> None:
    array = ArrayFact(np.dtype("complex64"), 1)
    call = Call("op", "operator", "and", (array, array), (), array)
    assert refusal(call) == "and has no loop for complex64, complex64"
    real = ArrayFact(np.dtype("float32"), 1)
    assert refusal(call._replace(name="mul", args=(real, float), result=real)) is None
    wide = real._replace(dtype=np.dtype("float64"))
    assert refusal(call._replace(name="mul", args=(real, float), result=wide)) == (
        "mul of float32, float32 makes float32, NumPy float64"
    )

"""The Tensor as array object of the standard, and arraygrad as its namespace."""

from __future__ import annotations

import re

import array_api_compat
import array_api_strict
import numpy as np
import pytest
from devices import NAMES, device_of, make, to_host

import arraygrad as ag

on_every_device = pytest.mark.parametrize("device", NAMES)


def leaf(values: object) -> ag.Tensor:
    return ag.tensor(values, requires_grad=True)


def test_the_namespace_of_a_tensor_is_arraygrad() -> None:
    x = ag.tensor([1.0])
    assert x.__array_namespace__() is ag
    assert x.__array_namespace__(api_version="2024.12") is ag
    assert array_api_compat.array_namespace(x) is ag
    assert array_api_compat.is_array_api_obj(x)
    with pytest.raises(ValueError, match=r"up to 2025\.12, not 2030\.12"):
        x.__array_namespace__(api_version="2030.12")
    assert ag.__array_api_version__ == "2025.12"


def test_every_name_of_the_standard_is_there() -> None:
    own = {"ArrayAPIStrictFlags", "Device", "ModuleType"} | {n for n in dir(array_api_strict) if n.endswith("_flags")}
    names = {n for n in dir(array_api_strict) if not n.startswith("_")} - own
    assert {n for n in names if not hasattr(ag, n)} == set()


def test_information_about_the_namespace() -> None:
    info = ag.__array_namespace_info__()
    assert info.default_device() == "cpu"
    assert info.devices() == ("cpu",)
    assert info.default_dtypes()["real floating"] == ag.float64
    assert set(info.dtypes(kind="real floating")) == {"float32", "float64"}
    assert set(info.dtypes(kind=("bool", "unsigned integer"))) == {"bool", "uint8", "uint16", "uint32", "uint64"}
    assert len(info.dtypes()) == 13
    assert info.capabilities()["boolean indexing"] is True
    ag.set_default_device("strict")
    try:
        assert "strict:device1" in info.devices()
    finally:
        ag.set_default_device(None)


def test_data_type_functions() -> None:
    x = ag.tensor([1.0], dtype=ag.float32, device="strict")
    assert ag.finfo(x).bits == 32
    assert ag.finfo(ag.float64).eps == 2.0**-52
    assert ag.iinfo(ag.int8).max == 127
    assert ag.isdtype(x.dtype, "real floating")
    assert not ag.isdtype(ag.int64, ("real floating", "bool"))
    assert ag.result_type(x, ag.float64) == ag.float64
    assert ag.result_type(x, 1.0) == ag.float32
    assert ag.can_cast(x, ag.float64)
    assert not ag.can_cast(ag.float64, ag.float32)
    with pytest.raises(ValueError, match=re.escape("shapes [2] and [3] could not be broadcast together")):
        ag.broadcast_shapes((2,), (3,))


@on_every_device
def test_lists_of_tensors_keep_their_history(device: str) -> None:
    a, b = make(device, 2.0, requires_grad=True), make(device, 3.0, requires_grad=True)
    x = ag.asarray([[a, a * b], [1.0 * b, b * b]], device=device_of(device))
    assert x.shape == (2, 2)
    assert x.device == device_of(device)
    ag.sum(x * x).backward()
    # 4 a^3 ... by hand: d/da (a^2 + a^2 b^2) = 2 a + 2 a b^2, d/db = 2 a^2 b + 2 b + 4 b^3
    assert to_host(a.grad) == 2 * 2 + 2 * 2 * 9
    assert to_host(b.grad) == 2 * 4 * 3 + 2 * 3 + 4 * 27
    assert ag.tensor([a, b]).is_leaf


@on_every_device
def test_fills_and_ends_keep_their_history(device: str) -> None:
    v = make(device, 2.0, requires_grad=True)
    w = make(device, 5.0, requires_grad=True)
    y = ag.full((2, 3), v, device=device_of(device)) + ag.full_like(make(device, np.zeros((2, 3))), w)
    assert to_host(y).tolist() == [[7, 7, 7], [7, 7, 7]]
    (ag.sum(y) + ag.sum(ag.linspace(v, w, 4))).backward()
    assert to_host(v.grad) == pytest.approx(6 + (1 + 2 / 3 + 1 / 3))
    assert to_host(w.grad) == pytest.approx(6 + (1 / 3 + 2 / 3 + 1))
    np.testing.assert_allclose(to_host(ag.linspace(v, w, 4, endpoint=False)), np.linspace(2, 5, 4, endpoint=False))
    with pytest.raises(ValueError, match="a fill value is a number or a 0-d tensor"):
        ag.full((2,), make(device, [1.0, 2.0]))


def test_reductions_over_no_axes() -> None:
    x = leaf([[1.0, 2.0], [3.0, 5.0]])
    for function, slope in [(ag.sum, 1.0), (ag.mean, 1.0), (ag.prod, 1.0), (ag.max, 1.0), (ag.min, 1.0)]:
        x.zero_grad()
        y = function(x, axis=())
        assert y.array.tolist() == x.array.tolist()
        y.backward([[1.0, 2.0], [3.0, 4.0]])
        assert x.grad.array.tolist() == [[slope, 2 * slope], [3 * slope, 4 * slope]]


def test_repeat_by_a_tensor_of_counts() -> None:
    x = leaf([1.0, 2.0, 3.0])
    ag.repeat(x, ag.tensor([2, 0, 1])).sum().backward()
    assert x.grad.array.tolist() == [2, 0, 1]


def test_real_times_complex_is_complex() -> None:
    x = leaf([1.0, 2.0])
    y = x * 2j
    assert y.dtype == ag.complex128
    ag.sum(ag.imag(y)).backward()
    assert x.grad.array.tolist() == [2, 2]
    assert x.grad.dtype == ag.float64


def test_complex_numbers_do_not_become_real_in_silence() -> None:
    z = leaf([1.0 + 2.0j])
    for call in (lambda: z.astype(ag.float64), lambda: ag.asarray(z, dtype=ag.float32), lambda: z.to(ag.float64)):
        with pytest.raises(TypeError, match=re.escape("take real(x) first")):
            call()
    assert ag.astype(z, ag.complex64).dtype == ag.complex64


def test_dlpack() -> None:
    x = ag.tensor([1.0, 2.0])
    assert np.from_dlpack(x).tolist() == [1, 2]
    assert ag.from_dlpack(np.array([3.0])).array.tolist() == [3]
    assert ag.from_dlpack(x).array is x.array
    with pytest.raises(RuntimeError, match="lose the history"):
        np.from_dlpack(leaf([1.0]))
    assert ag.from_dlpack(np.array([3.0]), device="strict").device == "strict"


def test_to_device_and_astype_to_a_device() -> None:
    x = leaf([1.0])
    x.to_device("strict").to_device("cpu").sum().backward()
    assert x.grad.array.tolist() == [1]
    assert ag.astype(x, ag.float32, device="strict").device == "strict"


def test_named_tuples_keep_their_names() -> None:
    result = ag.unique_all(ag.tensor([3, 1, 3]))
    assert result._fields == ("values", "indices", "inverse_indices", "counts")
    assert result.values.array.tolist() == [1, 3]
    assert result.counts.array.tolist() == [1, 2]


def test_code_written_against_the_standard_becomes_differentiable() -> None:
    def normalize(x: object) -> object:
        """Somebody else's function."""
        xp = array_api_compat.array_namespace(x)
        return x / xp.linalg.vector_norm(x, axis=-1, keepdims=True)

    x = leaf([[3.0, 4.0], [1.0, 2.0]])
    assert ag.gradcheck(normalize, [x])
    normalize(x)[0, 0].backward()
    np.testing.assert_allclose(x.grad.array, [[16 / 125, -12 / 125], [0, 0]], atol=1e-15)  # by hand

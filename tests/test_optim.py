"""Optimizers: twenty steps against PyTorch's, options, state and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from devices import NAMES, flags_of, make, to_host

import arraygrad as ag

# The parameters after 20 steps, from PyTorch 2.13 in float64: optimizer, options, values.
EXPECTED: dict[str, tuple[str, dict[str, Any], list[float]]] = {
    "plain": (
        "SGD",
        {"lr": 0.01},
        [
            0.19867189885938116,
            -0.8930486748218405,
            1.7761759250427542,
            0.26131158035581675,
            0.28283753323806565,
            0.20873292780420682,
            0.3424300989900523,
        ],
    ),
    "decay": (
        "SGD",
        {"lr": 0.02, "weight_decay": 0.1},
        [
            -0.08898433656103645,
            -0.8480166009809292,
            1.2423876252599677,
            0.3728326141147807,
            0.3786050759362165,
            0.36051166284497604,
            0.39652665650940194,
        ],
    ),
    "momentum": (
        "SGD",
        {"lr": 0.01, "momentum": 0.9},
        [
            -1.4078802583701635,
            -1.200621028370483,
            -0.5209290047352375,
            0.9601382059304562,
            0.9321501891616161,
            1.3352844379112858,
            0.8894373393379391,
        ],
    ),
    "dampening": (
        "SGD",
        {"lr": 0.02, "momentum": 0.8, "dampening": 0.3, "weight_decay": 0.05},
        [
            -1.2352022128121867,
            -1.2797171558441864,
            -0.6740700997361896,
            1.0645003408666154,
            1.0643857271364894,
            1.1284658161967889,
            1.0587932172236005,
        ],
    ),
    "nesterov": (
        "SGD",
        {"lr": 0.01, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01},
        [
            -1.4995180183563848,
            -1.3430866804862591,
            -0.851779892117187,
            1.1769103559426153,
            1.149563296884571,
            1.3939667013486514,
            1.0994200244766807,
        ],
    ),
    "adam": (
        "Adam",
        {"lr": 0.05},
        [
            -0.4932705208621515,
            -0.6756729288895604,
            0.9521751167029421,
            0.5231552830212692,
            0.6238668872267095,
            0.4652297309946667,
            0.6158922067855372,
        ],
    ),
    "adam decay": (
        "Adam",
        {"lr": 0.05, "betas": (0.8, 0.95), "eps": 0.001, "weight_decay": 0.1},
        [
            -0.4822962680439356,
            -0.7662108223369457,
            0.9144844660605046,
            0.5732896914877296,
            0.681980888145785,
            0.41815960976133015,
            0.6312913924529051,
        ],
    ),
    "amsgrad": (
        "Adam",
        {"lr": 0.1, "betas": (0.5, 0.6), "amsgrad": True},
        [
            -1.4846408246747054,
            -1.8320736857538176,
            -0.03409657121758036,
            1.496100704680517,
            1.6755674761460475,
            0.7426165963762117,
            1.6495516202948997,
        ],
    ),
    "adamw": (
        "AdamW",
        {"lr": 0.05},
        [
            -0.49371691539480184,
            -0.6736745162194755,
            0.9372871746272772,
            0.5261682704348841,
            0.6263594349571262,
            0.4646519224704582,
            0.618866041565156,
        ],
    ),
    "adamw amsgrad": (
        "AdamW",
        {"lr": 0.05, "weight_decay": 0.3, "betas": (0.5, 0.6), "amsgrad": True},
        [
            -0.47987010013891773,
            -0.8199903868971117,
            0.5949449421133204,
            0.6005603867214319,
            0.7555144701099804,
            0.2758474526963329,
            0.7387062406248721,
        ],
    ),
}

DEVICES = [name for name in NAMES if name != "cpu-readonly"]


def parameters(name: str = "cpu", dtype: Any = ag.float64) -> tuple[ag.Tensor, ag.Tensor]:
    a = make(name, np.asarray([0.5, -1.0, 2.0], dtype), requires_grad=True)
    b = make(name, np.asarray([[0.1, 0.2], [-0.3, 0.4]], dtype), requires_grad=True)
    return a, b


def loss_of(a: ag.Tensor, b: ag.Tensor) -> ag.Tensor:
    return ag.sum(ag.sin(a) * a) + ag.sum((b - 1.0) ** 4) + ag.sum(a) * ag.sum(b)


def run(optimizer: ag.optim.Optimizer, a: ag.Tensor, b: ag.Tensor, steps: int) -> np.ndarray:
    for _ in range(steps):
        optimizer.zero_grad()
        loss_of(a, b).backward()
        optimizer.step()
    return np.concatenate([to_host(a), to_host(b).reshape(-1)])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("key", EXPECTED)
def test_twenty_steps_are_those_of_pytorch(key: str, device: str) -> None:
    kind, options, expected = EXPECTED[key]
    with flags_of(device):
        a, b = parameters(device)
        np.testing.assert_allclose(run(getattr(ag.optim, kind)([a, b], **options), a, b, 20), expected, rtol=1e-12)


@pytest.mark.parametrize("key", EXPECTED)
def test_parameters_keep_their_memory_and_the_state_their_data_type_and_device(key: str) -> None:
    kind, options, expected = EXPECTED[key]
    a, b = parameters("strict:device1", ag.float32)
    arrays = a.array, b.array
    optimizer = getattr(ag.optim, kind)([a, b], **options)
    np.testing.assert_allclose(run(optimizer, a, b, 20), expected, rtol=1e-4, atol=1e-5)
    assert a.array is arrays[0]
    assert b.array is arrays[1]
    for state in optimizer.state.values():
        for value in state.values():
            if isinstance(value, ag.Tensor):
                assert (value.dtype, value.device) == (ag.float32, "strict:device1")
                assert not value.requires_grad


def test_real_and_imaginary_parts_have_magnitudes_of_their_own() -> None:
    expected = {
        "SGD": [-0.20160764646987664 + 0.6050922275883672j, -1.0759957664308757 - 0.31874823887183196j],
        "Adam": [0.4332567803602144 + 1.1184853892093027j, -0.9966942390535343 - 0.43152631830221444j],
    }
    for kind, options in (("SGD", {"momentum": 0.9, "weight_decay": 0.1}), ("Adam", {"amsgrad": True})):
        z = ag.tensor([1 + 2j, -0.5j], requires_grad=True)
        optimizer = getattr(ag.optim, kind)([z], lr=0.05, **options)
        for _ in range(20):
            optimizer.zero_grad()
            loss = ag.sum(ag.abs(z * z - (1 + 1j)) ** 2) + ag.sum(ag.real(z) * ag.imag(z) ** 2)
            loss.backward()
            optimizer.step()
        np.testing.assert_allclose(to_host(z), expected[kind], rtol=1e-12)
        copy = getattr(ag.optim, kind)([z], lr=0.05, **options)
        copy.load_state_dict(optimizer.state_dict())
        for key, value in optimizer.state[z].items():
            assert key == "step" or copy.state[z][key].dtype == value.dtype


def test_groups_have_options_of_their_own() -> None:
    a, b = parameters()
    groups = [{"params": [a], "lr": 0.1}, {"params": b, "weight_decay": 0.2, "betas": (0.5, 0.6)}]
    expected = [-0.9926752768601028, -0.6099510598086381, -0.07784038175529977, 0.4785393406478114]
    expected += [0.5741682116582618, 0.10372276935435173, 0.5849490038554361]
    np.testing.assert_allclose(run(ag.optim.AdamW(groups, lr=0.02), a, b, 20), expected, rtol=1e-12)


def test_a_learning_rate_may_change_on_the_way() -> None:
    w = ag.tensor([1.0], requires_grad=True)
    optimizer = ag.optim.SGD([w], lr=1.0)
    for rate in (0.5, 0.25):
        optimizer.param_groups[0]["lr"] = rate
        optimizer.zero_grad()
        ag.sum(w).backward()
        optimizer.step()
    assert w.item() == 0.25


@pytest.mark.parametrize("key", EXPECTED)
def test_a_loaded_state_goes_on_as_if_nothing_had_happened(key: str) -> None:
    kind, options, expected = EXPECTED[key]
    a, b = parameters()
    optimizer = getattr(ag.optim, kind)([a, b], **options)
    run(optimizer, a, b, 7)
    saved = optimizer.state_dict()
    values = to_host(a), to_host(b)
    run(optimizer, a, b, 3)  # must not change what was saved
    a, b = (ag.tensor(value, device="strict:device1", requires_grad=True) for value in values)
    other = getattr(ag.optim, kind)({"one": a, "two": [b]}, lr=123.0)
    other.load_state_dict(saved)
    np.testing.assert_allclose(run(other, a, b, 13), expected, rtol=1e-12)


def test_parameters_without_gradients_stay_and_a_closure_is_run_with_gradients() -> None:
    a, b = parameters()
    optimizer = ag.optim.Adam((p for p in (a, b)), lr=0.1)

    def closure() -> ag.Tensor:
        optimizer.zero_grad()
        loss = ag.sum(a * a)
        loss.backward()
        return loss

    with ag.no_grad():
        assert optimizer.step(closure).item() == 5.25
    np.testing.assert_allclose(to_host(a), [0.4, -0.9, 1.9], rtol=1e-7)
    np.testing.assert_array_equal(to_host(b), [[0.1, 0.2], [-0.3, 0.4]])
    assert b not in optimizer.state


def test_a_gradient_with_history_updates_without_one() -> None:
    w = ag.tensor([2.0], requires_grad=True)
    optimizer = ag.optim.SGD([w], lr=0.1, momentum=0.9)
    w.grad = ag.gradients(ag.sum(w**3), w, create_graph=True)
    optimizer.step()
    assert w.is_leaf
    np.testing.assert_allclose(to_host(w), 0.8)
    assert not optimizer.state[w]["momentum_buffer"].requires_grad
    w.zero_grad()


@pytest.mark.parametrize(
    ("make_optimizer", "error", "message"),
    [
        (lambda w: ag.optim.SGD([]), ag.ShapeError, "SGD got an empty parameter list"),
        (lambda w: ag.optim.SGD([w, w]), ag.GraphError, r"SGD got a parameter twice: number 1, of shape \[1\]"),
        (
            lambda w: ag.optim.Adam([{"params": w}, {"params": [w]}]),
            ag.GraphError,
            "Adam got a parameter twice: number 0",
        ),
        (lambda w: ag.optim.Adam([w * 2.0]), ag.GraphError, "can't optimize a tensor that is no leaf"),
        (lambda w: ag.optim.Adam([w.detach()]), ag.GraphError, "make it with requires_grad=True"),
        (lambda w: ag.optim.Adam([w.array]), ag.DtypeError, "Adam optimizes tensors, got ndarray as parameter 0"),
        (lambda w: ag.optim.Adam([w], lr=-1.0), ag.ShapeError, "Adam: lr must not be negative, got -1.0"),
        (lambda w: ag.optim.Adam([w], betas=(0.9, 1.0)), ag.ShapeError, r"betas must lie in \[0, 1\)"),
        (
            lambda w: ag.optim.SGD([{"params": [w], "rate": 1.0}]),
            ag.ShapeError,
            "SGD has no option 'rate'; it has .*'lr'",
        ),
        (lambda w: ag.optim.SGD([w], nesterov=True), ag.ShapeError, "requires a momentum and zero dampening"),
    ],
)
def test_refusals(make_optimizer: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make_optimizer(ag.tensor([1.0], requires_grad=True))


def test_a_state_of_other_parameters_is_refused() -> None:
    a, b = parameters()
    optimizer = ag.optim.Adam([a, b])
    run(optimizer, a, b, 1)
    with pytest.raises(ag.ShapeError, match=r"groups of \[2\] parameters, but Adam has groups of \[1\]"):
        ag.optim.Adam([a]).load_state_dict(optimizer.state_dict())
    with pytest.raises(ag.ShapeError, match=r"a state of shape \[3\] for a parameter of shape \[2, 2\]"):
        ag.optim.Adam([b, a]).load_state_dict(optimizer.state_dict())


def test_the_device_of_the_state_is_that_of_the_parameter() -> None:
    a, _b = parameters()
    moved = ag.tensor(a.array, device="strict:device1", requires_grad=True)
    saved = ag.optim.Adam([a])
    ag.sum(a).backward()
    saved.step()
    optimizer = ag.optim.Adam([moved])
    optimizer.load_state_dict(saved.state_dict())
    assert optimizer.state[moved]["exp_avg"].device == "strict:device1"

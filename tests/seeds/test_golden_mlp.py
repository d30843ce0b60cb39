"""A two-layer perceptron against PyTorch: what a formula and its finite differences would both get wrong.

tests/golden/make_mlp.py made the fixture.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from devices import NAMES, flags_of, make, to_host

import arraygrad as ag

PARAMETERS = ["w1", "b1", "w2", "b2"]


@pytest.fixture(scope="module")
def golden():
    path = Path(__file__).resolve().parents[1] / "golden" / "mlp.json"
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture(params=NAMES)
def device(request):
    with flags_of(request.param):
        yield request.param


def composed(x, w1, b1, w2, b2, targets):
    log_probabilities = ag.log_softmax(ag.tanh(x @ w1 + b1) @ w2 + b2, axis=1)
    return -ag.mean(log_probabilities.gather(1, ag.expand_dims(targets, axis=1)))


def fused(x, w1, b1, w2, b2, targets):
    return ag.cross_entropy(ag.tanh(x @ w1 + b1) @ w2 + b2, targets)


@pytest.mark.parametrize("network", [composed, fused], ids=["composed", "fused"])
def test_perceptron_matches_pytorch(golden, device, network):
    parameters = [make(device, golden[name], requires_grad=True) for name in PARAMETERS]
    loss = network(make(device, golden["x"]), *parameters, make(device, golden["targets"]))
    loss.backward()
    assert loss.item() == pytest.approx(golden["loss"], rel=0, abs=1e-12)
    for name, parameter in zip(PARAMETERS, parameters, strict=True):
        np.testing.assert_allclose(
            to_host(parameter.grad), golden[f"{name}_grad"], rtol=1e-6, atol=1e-12, err_msg=name, strict=True
        )


def test_fixture_has_the_shapes_of_the_network(golden):
    shapes = {name: np.shape(golden[name]) for name in ["x", "targets", *PARAMETERS, "loss"]}
    assert shapes == {"x": (6, 4), "targets": (6,), "w1": (4, 5), "b1": (5,), "w2": (5, 3), "b2": (3,), "loss": ()}

from __future__ import annotations

import inspect
import io
import math
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator

import numpy as np
import pytest

import arraygrad as ag


def leaf(values: object) -> ag.Tensor:
    return ag.tensor(values, requires_grad=True)


def here() -> int:
    return inspect.currentframe().f_back.f_lineno


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # NumPy's own word on log(-1) and 1 / 0
        yield


def test_trace_to_a_stream() -> None:
    stream = io.StringIO()
    x = leaf([3.0, 4.0])
    ag.set_backward_trace(stream)
    try:
        ag.vector_norm(x).backward()
    finally:
        ag.set_backward_trace(None)
    (x * 2).sum().backward()
    assert stream.getvalue() == (
        "backward VectorNormBackward shape=[] norm=1\nbackward AccumulateGrad shape=[2] norm=1\n"
    )


def test_trace_by_the_environment() -> None:
    code = "import arraygrad as ag; x = ag.tensor([1.0], requires_grad=True); (x * 2).backward()"
    for value, lines in (("1", 2), ("0", 0), ("", 0)):
        environment = os.environ | {"ARRAYGRAD_TRACE_BACKWARD": value}
        result = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
        )
        assert len(result.stderr.splitlines()) == lines
    assert result.stdout == ""


def test_a_nan_made_in_backward_names_the_line_of_its_forward() -> None:
    x = leaf([0.0, 1.0])
    with ag.detect_anomaly():
        line = here() + 1
        y = ag.sqrt(x)
        with pytest.raises(ag.GraphError) as error:
            (y * 0.0).sum().backward()
    assert str(error.value).startswith("Function SqrtBackward returned NaN in its gradient")
    assert f"{__file__}:{line}" in str(error.value)
    assert x.grad is None


def test_after_an_anomaly_the_graph_is_as_before() -> None:
    x = leaf([0.0, 1.0])
    y = (ag.sqrt(x) * ag.tensor([0.0, 1.0])).sum()
    with ag.detect_anomaly(), pytest.raises(ag.GraphError, match="SqrtBackward returned NaN in its gradient"):
        y.backward()
    y.backward()
    assert math.isnan(x.grad.array[0])
    assert x.grad.array[1] == 0.5


@pytest.mark.parametrize(
    ("function", "values", "kind"),
    [
        (ag.log, [-1.0, 1.0], "NaN"),
        (ag.log, [0.0, 1.0], "Inf"),
        (ag.exp, [1e4, 1.0], "Inf"),
        (lambda x: 1.0 / x, [0.0, 1.0], "Inf"),
        (lambda x: ag.divide(x, x), [0.0, 1.0], "NaN"),
        (lambda x: ag.sum(x), [1e308, 1e308], "Inf"),
        (lambda x: ag.prod(x * 1.0), [1e308, 1e308], "Inf"),
    ],
)
@pytest.mark.parametrize("requires_grad", [True, False])
def test_the_first_bad_value_in_forward_is_found(
    function: object, values: list[float], kind: str, requires_grad: bool
) -> None:
    x = ag.tensor(values, requires_grad=requires_grad)
    with ag.detect_anomaly(), pytest.raises(ag.GraphError) as error:
        function(x)
    assert re.match(rf"Function \w+ made the first {kind} in its result", str(error.value))
    assert requires_grad is x.requires_grad
    assert f"{__file__}:" in str(error.value)


def test_bad_values_that_come_in_are_passed_on() -> None:
    x = ag.tensor([math.nan, math.inf, 1.0])
    with ag.detect_anomaly():
        ag.exp(x)
        ag.sum(ag.concat([x, x * 2.0]))
        ag.tensor([1.0]) * math.inf
        ag.where(x > 0, x, 0.0)
    ag.log(ag.tensor([0.0]))


def test_detection_ends_with_its_block() -> None:
    ag.set_anomaly_detection(True)
    with ag.detect_anomaly():
        pass
    with pytest.raises(ag.GraphError):
        ag.log(ag.tensor([0.0]))
    ag.set_anomaly_detection(False)
    with pytest.raises(ZeroDivisionError), ag.detect_anomaly():
        _ = 1 / 0
    ag.log(ag.tensor([0.0]))


def test_detection_keeps_right_gradients_and_releases_the_graph() -> None:
    x = leaf([1.0, 2.0])
    with ag.detect_anomaly():
        y = (x[0] * x[1:] * x).sum()
        y.backward()
        with pytest.raises(ag.GraphError, match="a second time"):
            y.backward()
    np.testing.assert_allclose(x.grad.array, [2 * 2 + 4, 3 + 2])


def test_graph_dot_names_nodes_once_and_shows_shapes() -> None:
    x, w = leaf(np.ones((2, 3))), leaf(np.ones((3, 1)))
    text = ag.graph_dot(ag.sum((x @ w) * x))
    assert text.count("AccumulateGrad") == 2
    assert text.count('label="MatmulBackward"') == 1
    nodes = dict(re.findall(r'^  (n\d+) \[label="([^"]*)"', text, re.MULTILINE))
    edges = {(nodes[a], nodes[b], shape) for a, b, shape in re.findall(r'(n\d+) -> (n\d+) \[label="(.*?)"\]', text)}
    assert edges == {
        ("SumBackward", "MultiplyBackward", "[2, 3]"),
        ("MultiplyBackward", "MatmulBackward", "[2, 1]"),
        ("MultiplyBackward", "AccumulateGrad [2, 3]", "[2, 3]"),
        ("MatmulBackward", "AccumulateGrad [2, 3]", "[2, 3]"),
        ("MatmulBackward", "AccumulateGrad [3, 1]", "[3, 1]"),
    }
    with pytest.raises(ag.GraphError, match="graph_dot needs a tensor that requires grad"):
        ag.graph_dot(ag.tensor(1.0))

"""examples/xor.py as its users run it: what it prints, with and without clearing the gradients."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]


def output_of(*options):
    result = subprocess.run(
        [sys.executable, "-W", "error", ROOT / "examples" / "xor.py", *options],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    return result.stdout


def numbers_in(line):
    return [float(number) for number in re.findall(r"\d[\d,]*\.?\d*", line.replace(",", ""))]


@pytest.fixture(scope="module")
def success():
    return output_of().splitlines()


@pytest.fixture(scope="module")
def failure():
    return output_of("--no-zero").splitlines()


STEPS = [
    "step    0  loss 0.76576",
    "step  100  loss 0.22574",
    "step  200  loss 0.18359",
    "step  300  loss 0.13689",
    "step  400  loss 0.08256",
    "step  500  loss 0.03535",
    "step  600  loss 0.01078",
    "step  606  loss 0.00995",
]


def test_losses(success):
    assert success[: len(STEPS)] == STEPS


def test_predictions(success):
    assert success[len(STEPS) :] == ["predictions [0.07  0.904 0.919 0.138]"]


def test_lowest_loss_without_clearing(failure):
    (line,) = [line for line in failure if "lowest" in line]
    assert numbers_in(line)[-2:] == [0.023, 157]


def test_losses_that_remain_without_clearing(failure):
    (line,) = [line for line in failure if "10,000" in line]
    assert numbers_in(line) == [1000, 10_000, 0.167, 0.192]


def test_predictions_without_clearing(failure):
    np.testing.assert_allclose(numbers_in(failure[-1]), [0.274, 0.624, 0.624, 0.624], rtol=0, atol=0.0011)

"""The programs beside the library, as their users start them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def run(*command: str) -> str:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    result = subprocess.run([sys.executable, *command], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert not result.returncode, result.stderr
    return result.stdout


@pytest.mark.slow
def test_phase_retrieval_finds_the_picture(tmp_path: Path) -> None:
    output = run("examples/phase_retrieval.py", "--steps", "150", "--output", str(tmp_path))
    assert (tmp_path / "phase_retrieval.png").stat().st_size > 100_000
    assert float(re.search(r"relative error (.*)", output)[1]) < 0.05


@pytest.mark.slow
def test_digits_are_read_as_well_in_half_precision(tmp_path: Path) -> None:
    accuracies = []
    for options in [(), ("--half",)]:
        output = run("examples/digits.py", "--epochs", "8", "--output", str(tmp_path), *options)
        assert (tmp_path / "digits.png").stat().st_size > 100_000
        accuracies.append(float(re.search(r"test accuracy (.*)", output)[1]))
    assert min(accuracies) > 0.96
    assert accuracies[1] == pytest.approx(accuracies[0], abs=0.01)


@pytest.mark.slow
def test_gpu_benchmark_compares_gradients_on_the_cpu() -> None:
    output = run("benchmarks/gpu.py", "--device", "cpu", "--seconds", "0.01")
    for name in ("MLP", "attention block", "phase retrieval", "elementwise chain", "small-op loop"):
        assert re.search(rf"^{name} +\d+\.\d+ +\d+\.\d+ ", output, re.MULTILINE)


@pytest.mark.slow
def test_newton_fit_finds_the_same_minimum_by_all_methods(tmp_path: Path) -> None:
    output = run("examples/newton_fit.py", "--output", str(tmp_path))
    assert (tmp_path / "newton_fit.png").stat().st_size > 50_000
    losses = [float(loss) for loss in re.findall(r": loss (\S+) after", output)]
    assert len(losses) == 5
    # scikit-learn's LogisticRegression(C=10, tol=1e-12), which has the same penalty, comes to this loss.
    assert losses == pytest.approx([15.415076018] * 5, abs=1e-6)
    assert float(re.search(r"test accuracy (.*)", output)[1]) > 0.94


@pytest.mark.slow
def test_pinn_finds_the_constants_of_the_pendulum(tmp_path: Path) -> None:
    output = run("examples/pinn.py", "--output", str(tmp_path))
    assert (tmp_path / "pinn.png").stat().st_size > 50_000
    friction, stiffness = map(float, re.search(r"friction (\S+), stiffness (\S+)", output).groups())
    assert friction == pytest.approx(0.2, abs=0.04)
    assert stiffness == pytest.approx(2.0, abs=0.1)
    assert float(re.search(r"largest error (.*)", output)[1]) < 0.15

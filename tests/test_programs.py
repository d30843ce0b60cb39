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
def test_gpu_benchmark_compares_gradients_on_the_cpu() -> None:
    output = run("benchmarks/gpu.py", "--device", "cpu", "--seconds", "0.01")
    for name in ("MLP", "attention block", "phase retrieval", "elementwise chain", "small-op loop"):
        assert re.search(rf"^{name} +\d+\.\d+ +\d+\.\d+ ", output, re.MULTILINE)

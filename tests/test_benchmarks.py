"""The comparison itself, with tiny sizes: that every case runs, and that what is compared is compared."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
CASES = """tiny no-grad ode lstm mlp attention convolution elementwise broadcasting
embedding embedding-grad embedding-sorted
slices-read slices phase process hessian import nodes memory-add memory-tanh""".split()


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import cases
    import libraries
    import report

    yield cases, libraries, report
    for module in ("cases", "libraries", "memory", "report", "workloads"):
        sys.modules.pop(module, None)


@pytest.mark.slow
def test_every_case_runs_and_every_bar_has_its_figure() -> None:
    command = [sys.executable, "benchmarks/compare.py", "--smoke", "--library", "arraygrad"]
    output = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True).stdout
    progress, _, table = output.partition("\n\n")
    assert [line.split()[0] for line in progress.splitlines()] == CASES
    rows = [line for line in table.splitlines() if line.startswith("| ")][2:]
    assert len(rows) == len(CASES)
    assert not any(row.split("|")[3].startswith(" \N{EN DASH}") for row in rows)  # a figure of ours in each


def test_derivatives_by_hand_are_right(modules: Any) -> None:
    cases, libraries, _ = modules
    for case in cases.cases(smoke=True):
        case.check([libraries.Arraygrad()])


def test_a_wrong_gradient_is_an_error(modules: Any) -> None:
    cases, libraries, _ = modules
    work = cases.Timed(lambda divisor: (lambda x: [3.0 * x], lambda lib, x: lib.sum(x * x), [np.ones(3)], 1))
    with pytest.raises(AssertionError, match="arraygrad"):
        work.check([libraries.Arraygrad()])


def test_writing_leaves_the_prose_alone(modules: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _, _, report = modules
    page = tmp_path / "performance.md"
    monkeypatch.setattr(report, "PAGE", page)
    page.write_text(f"before\n\n{report.BEGIN}\nold\n{report.END}\n\nafter\n")
    report.write("| table |")
    assert page.read_text() == f"before\n\n{report.BEGIN}\n\n| table |\n\n{report.END}\n\nafter\n"


def test_the_page_has_the_marks(modules: Any) -> None:
    report = modules[2]
    text = report.PAGE.read_text()
    assert text.index(report.BEGIN) < text.index(report.END) < text.index("## Misses")

"""The cases with their sizes and bars, and how a sample of each is taken."""

from __future__ import annotations

import gc
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import memory
import numpy as np
import workloads as w
from libraries import Library, Run, UnsupportedError

BY_HAND = "by hand"
SAMPLE_SECONDS = 0.02  # shorter runs are repeated within a sample
Sample = Callable[[], float]


@dataclass
class Case:
    """A row of the table: `sample` makes what takes one sample of a library, or by hand for None."""

    name: str
    title: str
    sample: Callable[[Library | None], Sample]
    unit: str = "s"  # seconds are divided by those by hand of the same round
    bars: dict[str, float] = field(default_factory=dict)  # the most that our figure may be of whose
    most_runs: int = 1000
    notes: dict[str, str] = field(default_factory=dict)  # of a library's figure
    check: Callable[[list[Library]], None] = lambda libraries: None


def seconds_of(run: Run, number: int) -> float:
    start = time.perf_counter()
    for _ in range(number):
        run()
    return (time.perf_counter() - start) / number


class Timed:
    """A computation by hand and derived, of a size that is divided for libraries that would take minutes."""

    def __init__(
        self,
        make: Callable[[int], tuple[Callable[..., list[Any]], Callable[..., Any], list[Any], int]],
        kind: str = "gradients",
        divisors: dict[str, int] | None = None,
    ) -> None:
        self.make, self.kind, self.divisors = make, kind, divisors or {}
        self.took: dict[str, float] = {}  # seconds of the run that was compared, which may have loaded much

    def run(self, library: Library | None, divisor: int) -> Run:
        by_hand, formula, inputs, wanted = self.make(divisor)
        if library is None:
            return lambda: by_hand(*inputs)
        return getattr(library, self.kind)(formula, inputs, wanted)

    def sample(self, library: Library | None) -> Sample:
        divisor = self.divisors.get(library.name, 1) if library else 1
        run = self.run(library, divisor)
        number = 1
        if library is None or self.took.get(library.name, 0.0) < 1.0:
            run()
            number = max(1, math.ceil(SAMPLE_SECONDS / max(seconds_of(run, 1), 1e-7)))
        return lambda: seconds_of(run, number) * divisor

    def check(self, libraries: list[Library]) -> None:
        """Raise if a library's results are not those by hand; what a library lacks is no error here."""
        for library in libraries:
            divisor = self.divisors.get(library.name, 1)
            start = time.perf_counter()
            try:
                results = [library.numpy(result) for result in self.run(library, divisor)()]
            except UnsupportedError:
                continue
            self.took[library.name] = time.perf_counter() - start
            for got, expected in zip(results, self.run(None, divisor)(), strict=True):
                expected = np.asarray(expected)
                assert got.shape == expected.shape, f"{library.name}: {got.shape}, not {expected.shape}"
                tolerance = 1e-9 * float(np.abs(expected).max())
                np.testing.assert_allclose(got, expected, 1e-6, tolerance, err_msg=library.name)


def nodes_sample(large: int, small: int, inputs: list[Any], library: Library | None) -> Sample:
    """Time per node in a large graph over that in a small one, without the collector."""
    if library and library.name == "JAX" and large >= 1_000_000:
        raise UnsupportedError("JAX takes minutes for a graph of 1,000,000 nodes without jit")

    def run_of(count: int) -> Run:
        if library is None:
            return lambda: w.nodes_by_hand(count // 2, *inputs)
        return library.gradients(lambda lib, *args: w.nodes(lib, count // 2, *args), inputs, 1)

    runs = {count: run_of(count) for count in (large, small)}

    def sample() -> float:
        gc.disable()
        try:
            times = [seconds_of(runs[small], max(1, 20_000 // small)) / small for _ in range(3)]
            return seconds_of(runs[large], 1) / large / min(times)
        finally:
            gc.enable()

    return sample


def import_sample(library: Library | None) -> Sample:
    """Seconds of an import in a fresh process, without the start of Python."""
    package = library.package if library else "numpy"
    code = f"import time; t = time.perf_counter(); import {package}; print(time.perf_counter() - t)"
    # Bytecode is kept, as where a library is installed.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def sample() -> float:
        command = [sys.executable, "-c", code]
        result = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
        return float(result.stdout)

    sample()
    return sample


def memory_sample(chain: str, size: int, library: Library | None) -> Sample:
    """Arrays, in a fresh process."""
    name = library.name if library else BY_HAND
    command = [sys.executable, str(Path(memory.__file__)), name, chain, str(size)]

    def sample() -> float:
        result = subprocess.run(command, capture_output=True, text=True, env=memory.ENVIRONMENT, check=True)
        if not result.stdout.strip():
            raise UnsupportedError("resident size is read from Linux's /proc")
        return float(result.stdout)

    return sample


def timed(
    name: str, title: str, make: Callable[[int], Any], bars: dict[str, float] | None = None, **options: Any
) -> Case:
    notes = options.pop("notes", {})
    work = Timed(make, **options)
    for library, divisor in work.divisors.items():
        notes[library] = f"{library}: measured at 1/{divisor} of the steps, times {divisor}"
    return Case(name, title, work.sample, bars=bars or {}, notes=notes, check=work.check)


def cases(smoke: bool) -> Iterator[Case]:
    """All cases; with `smoke` so small that only their working can be seen."""
    rng = np.random.default_rng(0)
    four = np.array([0.5, -0.25, 0.75, 1.0])

    def draw(*shape: int, scale: float = 1.0) -> np.ndarray:
        return rng.normal(size=shape) * scale

    def size(full: int, small: int) -> int:
        return small if smoke else full

    def with_count(by_hand: Any, formula: Any, count: int, inputs: list[Any], wanted: int) -> Callable[[int], Any]:
        def make(divisor: int) -> Any:
            n = max(1, count // divisor)
            return partial(by_hand, n), lambda lib, *args: formula(lib, n, *args), inputs, wanted

        return make

    def always(by_hand: Any, formula: Any, inputs: list[Any], wanted: int) -> Callable[[int], Any]:
        return lambda divisor: (by_hand, formula, inputs, wanted)

    steps, inputs = size(250, 5), [four, four]
    bars = {BY_HAND: 3.2, "PyTorch": 0.75, "HIPS autograd": 0.3}
    make = with_count(w.tiny_by_hand, w.tiny, steps, inputs, 1)
    yield timed("tiny", "1,000 operations on 4 elements", make, bars)
    make = with_count(w.tiny_value_by_hand, w.tiny, steps, inputs, 1)
    yield timed("no-grad", "the same without recording, forward", make, {BY_HAND: 2.0}, kind="values")
    make = with_count(w.ode_by_hand, w.ode, size(100_000, 200), [np.array(0.1), np.array(1.5)], 2)
    divisors = {"HIPS autograd": 10, "MyGrad": 10, "JAX": 100}
    yield timed("ode", "scalar ODE, 100,000 steps, by hand with floats", make, divisors=divisors)

    n, batch = size(32, 3), size(8, 2)
    inputs = [draw(size(50, 4), batch, n), draw(n, 4 * n, scale=0.2), draw(n, 4 * n, scale=0.2), draw(4 * n)]
    yield timed("lstm", "LSTM, 50 steps, 8 x 32", always(w.lstm_by_hand, w.lstm, inputs, 3))

    sizes = [size(784, 20), size(256, 8), 10]
    inputs = [draw(size(128, 6), sizes[0]), rng.integers(10, size=size(128, 6))]
    inputs += [draw(sizes[0], sizes[1], scale=0.05), draw(sizes[1]), draw(sizes[1], 10, scale=0.1), draw(10)]
    make = always(w.mlp_by_hand, w.mlp, inputs, 4)
    yield timed("mlp", "MLP 784-256-10, batch of 128", make, {BY_HAND: 1.05})
    n = size(64, 4)
    inputs = [draw(size(4, 2), size(128, 5), n), *(draw(n, n, scale=n**-0.5) for _ in range(4))]
    yield timed("attention", "attention block, 4 x 128 x 64", always(w.attention_by_hand, w.attention, inputs, 4))
    inputs = [draw(size(16, 2), 3, size(32, 6), size(32, 6)), draw(size(16, 2), 3, 3, 3)]
    make = always(w.convolution_by_hand, w.convolution, inputs, 2)
    notes = {name: f"{name}: windows are shifted slices" for name in ("HIPS autograd", "JAX")}
    notes["MyGrad"] = "MyGrad: its conv_nd"
    yield timed("convolution", "convolution by sliding windows, 16 x 3 x 32 x 32", make, notes=notes)

    make = always(w.elementwise_by_hand, w.elementwise, [draw(size(1_000_000, 50))], 1)
    yield timed("elementwise", "elementwise chain, 1,000,000 elements", make, {BY_HAND: 1.0})
    inputs = [draw(size(2000, 7), size(500, 3)), draw(size(500, 3)), draw(size(500, 3))]
    make = always(w.standardize_by_hand, w.standardize, inputs, 3)
    yield timed("broadcasting", "reductions and broadcasting, 2,000 x 500", make)

    rows = size(50_000, 20)
    # Small numbers more often, as words are: there are repetitions.
    index = (rows * rng.random(size(4096, 12)) ** 3).astype(np.int64)
    inputs = [index, draw(rows, size(64, 3))]
    make = always(w.embedding_add_at, w.embedding, inputs, 1)
    yield timed("embedding", "4,096 of 50,000 rows of 64, by hand with np.add.at", make)
    inputs = [draw(*np.shape(inputs[1][index])), *inputs]
    make = always(w.embedding_grad_by_add_at, w.embedding_rows, inputs, 1)
    yield timed("embedding-grad", "the gradient of these rows alone", make, {BY_HAND: 0.3}, kind="pullback")
    inputs = inputs[1:]
    make = always(w.embedding_sorted, w.embedding, inputs, 1)
    yield timed("embedding-sorted", "the same, by hand with a sort", make)
    count, x = size(400, 4), draw(size(200_000, 40))
    make = with_count(w.slices_read_by_hand, w.slices_read, count, [x], 1)
    yield timed("slices-read", "400 slices of 200,000 elements read", make)
    notes = {"PyTorch": "PyTorch: what is read is cloned, since the write would spoil what sin saves"}
    make = with_count(w.slices_by_hand, w.slices, count, [x], 1)
    yield timed("slices", "400 slices of 200,000 elements read and written", make, notes=notes)

    side = size(256, 6)
    inputs = [np.abs(draw(side, side)), draw(side, side)]
    yield timed("phase", "phase retrieval (FFT), 256 x 256", always(w.phase_by_hand, w.phase, inputs, 1))
    points = draw(size(300, 6), 2)
    squares = ((points[:, None] - points) ** 2).sum(axis=-1)
    inputs = [squares, draw(len(points), 1), np.array(1.5), np.array(0.7), np.array(0.3)]
    make = always(w.process_by_hand, w.process, inputs, 3)
    yield timed("process", "Gaussian process, 300 points (cholesky, solve)", make)
    make = always(w.rosenbrock_by_hand, w.rosenbrock, [draw(size(200, 5))], 1)
    yield timed("hessian", "Hessian of Rosenbrock's function, n = 200", make, kind="hessian")

    yield Case("import", "import", import_sample, bars={BY_HAND: 1.3})
    sample = partial(nodes_sample, size(1_000_000, 2000), size(1000, 20), [four, four])
    title = "time per node, graph of 1,000,000 over one of 1,000"
    yield Case("nodes", title, sample, "x", {"": 1.3}, most_runs=3)
    for chain, title, most in (("add", "y + 1.0", 2.0), ("tanh", "tanh, the result held", 42.0)):
        sample = partial(memory_sample, chain, size(2_000_000, 20_000))
        yield Case(f"memory-{chain}", f"peak memory of 40 {title}", sample, "arrays", {"": most}, most_runs=1)

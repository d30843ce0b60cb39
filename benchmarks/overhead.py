"""Time of one operation on four elements: arraygrad, the same by hand in NumPy and, if installed, PyTorch.

    python benchmarks/overhead.py

A chain of 1,000 operations (multiply, tanh, add, multiply), recorded and run backward, in turns; the
figures are microseconds an operation, the best of many rounds, and ratios within one run.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

import numpy as np

import arraygrad as ag

OPERATIONS = 1000
W = np.array([0.5, -0.25, 0.75, 1.0])


def by_hand() -> tuple[float, float]:
    start = time.perf_counter()
    x, saved = W * 0.1, []
    for _ in range(OPERATIONS // 4):
        a = x * W
        b = np.tanh(a)
        c = b + W
        d = c * W
        saved.append(b)
        x = d
    middle = time.perf_counter()
    g = np.ones(4)
    for b in reversed(saved):
        g = g * W
        g = g * (1.0 - b * b)
        g = g * W
    return middle - start, time.perf_counter() - middle


def with_library(leaf: Callable[[], object], tanh: Callable[..., object]) -> Callable[[], tuple[float, float]]:
    def run() -> tuple[float, float]:
        x = y = leaf()
        w = leaf_constant(x)
        start = time.perf_counter()
        for _ in range(OPERATIONS // 4):
            y = tanh(y * w)
            y = (y + w) * w
        middle = time.perf_counter()
        y.backward(seed(y))
        return middle - start, time.perf_counter() - middle

    def leaf_constant(x: object) -> object:
        return x.detach().clone()

    def seed(y: object) -> object:
        return y.detach().clone()

    return run


def main() -> None:
    cases: dict[str, Callable[[], tuple[float, float]]] = {
        "by hand": by_hand,
        "arraygrad": with_library(lambda: ag.tensor(W, requires_grad=True), ag.tanh),
    }
    try:
        import torch
    except ModuleNotFoundError:
        pass
    else:
        torch.set_num_threads(1)
        cases["PyTorch"] = with_library(lambda: torch.tensor(W, requires_grad=True), torch.tanh)
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in cases}
    gc.disable()
    for _ in range(60):
        for name, case in cases.items():
            times[name].append(case())
    gc.enable()
    best = {
        name: [min(column) * 1e6 / OPERATIONS for column in zip(*rows, strict=True)] for name, rows in times.items()
    }
    hand = sum(best["by hand"])
    print(f"{'us per operation':<18}{'forward':>9}{'backward':>10}{'sum':>8}{'x by hand':>11}")
    for name, (forward, backward) in best.items():
        total = forward + backward
        print(f"{name:<18}{forward:>9.2f}{backward:>10.2f}{total:>8.2f}{total / hand:>11.2f}")


if __name__ == "__main__":
    main()

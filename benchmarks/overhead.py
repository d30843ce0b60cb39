"""Time of one operation on four elements: arraygrad, the same by hand in NumPy and, where installed, two others.

    python benchmarks/overhead.py

Three chains of 1,000 operations: multiply, tanh, add, multiply, recorded and run backward; the same without recording;
and `sum` with keywords. Figures are microseconds an operation, the best of many rounds in turns, and beside them ratios
within one run, which differ by a few per cent from run to run where the times themselves differ by more.
"""

from __future__ import annotations

import gc
import os

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import arraygrad as ag

OPERATIONS = 1000
SECONDS = 6.0
W = np.array([0.5, -0.25, 0.75, 1.0])
ROW = W[None]
Times = tuple[float, float]  # forward and backward


def chain(y: Any, w: Any, tanh: Callable[[Any], Any]) -> Any:
    for _ in range(OPERATIONS // 4):
        y = tanh(y * w)
        y = (y + w) * w
    return y


def sums(y: Any, total: Callable[..., Any]) -> Any:
    for _ in range(OPERATIONS):
        y = total(y, axis=0, keepdims=True)
    return y


def timed(forward: Callable[[], Any], backward: Callable[[Any], object]) -> Times:
    start = time.perf_counter()
    result = forward()
    middle = time.perf_counter()
    backward(result)
    return middle - start, time.perf_counter() - middle


def chain_by_hand() -> Times:
    def forward() -> list[Any]:
        y, saved = W, []
        for _ in range(OPERATIONS // 4):
            a = np.tanh(y * W)
            saved.append(a)
            y = (a + W) * W
        return saved

    def backward(saved: list[Any]) -> None:
        g = np.ones(4)
        for a in reversed(saved):
            g = g * W * (1.0 - a * a) * W

    return timed(forward, backward)


def sums_by_hand() -> Times:
    def backward(result: Any) -> None:
        g = np.ones_like(result)
        for _ in range(OPERATIONS):
            g = np.broadcast_to(g, ROW.shape)

    return timed(lambda: sums(ROW, np.sum), backward)


def chain_of(module: Any) -> Times:
    """arraygrad or PyTorch."""
    y, w = module.tensor(W, requires_grad=True), module.tensor(W)
    return timed(lambda: chain(y, w, module.tanh), lambda result: result.backward(w))


def sums_of(module: Any) -> Times:
    y = module.tensor(ROW, requires_grad=True)
    return timed(lambda: sums(y, module.sum), lambda result: result.backward(result.detach()))


def unrecorded_of(module: Any) -> Times:
    y = w = module.tensor(W)
    with module.no_grad():
        return timed(lambda: chain(y, w, module.tanh), lambda result: None)


def chain_of_autograd(autograd: Any) -> Times:
    start = time.perf_counter()
    pullback, _ = autograd.make_vjp(lambda y: chain(y, W, autograd.numpy.tanh))(W)
    middle = time.perf_counter()
    pullback(W)
    return middle - start, time.perf_counter() - middle


def measured() -> dict[str, dict[str, Callable[[], Times]]]:
    """By hand comes first in each table."""
    tables: dict[str, dict[str, Callable[[], Times]]] = {
        "recorded": {"by hand": chain_by_hand, "arraygrad": lambda: chain_of(ag)},
        "no_grad": {
            "by hand": lambda: timed(lambda: chain(W, W, np.tanh), lambda result: None),
            "arraygrad": lambda: unrecorded_of(ag),
        },
        "sum(axis=, keepdims=)": {"by hand": sums_by_hand, "arraygrad": lambda: sums_of(ag)},
    }
    try:
        import autograd
        import autograd.numpy
    except ModuleNotFoundError:
        pass
    else:
        tables["recorded"]["HIPS autograd"] = lambda: chain_of_autograd(autograd)
    try:
        import torch
    except ModuleNotFoundError:
        pass
    else:
        torch.set_num_threads(1)
        tables["recorded"]["PyTorch"] = lambda: chain_of(torch)
        tables["no_grad"]["PyTorch"] = lambda: unrecorded_of(torch)
        tables["sum(axis=, keepdims=)"]["PyTorch"] = lambda: sums_of(torch)
    return tables


def main() -> None:
    tables = measured()
    times: dict[tuple[str, str], list[Times]] = {(title, name): [] for title in tables for name in tables[title]}
    gc.collect()
    gc.disable()
    stop = time.perf_counter() + SECONDS
    while time.perf_counter() < stop:
        for (title, name), rows in times.items():
            rows.append(tables[title][name]())
    gc.enable()
    best = {key: [min(column) * 1e6 / OPERATIONS for column in zip(*rows, strict=True)] for key, rows in times.items()}
    for title, cases in tables.items():
        print(f"{title + ', us':<26}{'forward':>9}{'backward':>10}{'sum':>8}{'x by hand':>11}")
        hand = sum(best[title, "by hand"])
        for name in cases:
            forward, backward = best[title, name]
            total = forward + backward
            print(f"  {name:<24}{forward:>9.3f}{backward:>10.3f}{total:>8.3f}{total / hand:>11.2f}")


if __name__ == "__main__":
    main()

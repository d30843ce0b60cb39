"""Peak memory of a chain of operations forward and backward, in units of one array.

    python benchmarks/memory.py LIBRARY add|tanh SIZE

What is there before counts for nothing, nor does the array at the beginning of the chain. Libraries whose arrays are
NumPy's are measured by tracemalloc, the others by the resident size of this process.
"""

from __future__ import annotations

import os
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import libraries
import numpy as np

LENGTH = 40
# Freed arrays go back to the system at once, or the resident size would say little.
ENVIRONMENT = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"}


def add_by_hand(x: np.ndarray) -> np.ndarray:
    y = x
    for _ in range(LENGTH):
        y = y + 1.0
    y.sum()
    return np.ones_like(x)


def tanh_by_hand(x: np.ndarray) -> np.ndarray:
    y, saved = x, []
    for _ in range(LENGTH):
        y = np.tanh(y)
        saved.append(y)
    y.sum()
    g = np.ones_like(x)
    while saved:
        y = saved.pop()
        g *= 1.0 - y * y
    return g


def main() -> None:
    name, chain, size = sys.argv[1:]
    held: list[Any] = []
    kept: list[Any] = []

    def formula(lib: Any, x: Any) -> Any:
        y = x
        for _ in range(LENGTH):
            y = lib.tanh(y) if chain == "tanh" else y + 1.0
        if chain == "tanh":
            held.append(y)
        return lib.sum(y)

    def run_on(count: int) -> Any:
        x = np.linspace(0.0, 1.0, count)
        kept.append(x)  # a copy of it may be made later, and it would be freed within what is measured
        if name == "by hand":
            by_hand = tanh_by_hand if chain == "tanh" else add_by_hand
            return lambda: by_hand(x)
        (library,), _ = libraries.installed([name])
        return library.gradients(formula, [x], 1)

    run_on(1000)()  # what is imported or compiled at the first call
    run = run_on(int(size))
    unit = 8 * int(size)
    if name in ("PyTorch", "JAX"):
        reset = Path("/proc/self/clear_refs")
        if not reset.exists():
            return
        reset.write_text("5")  # the peak is what it is now
        before = resident("VmRSS")
        run()
        print((resident("VmHWM") - before) / unit)
        return
    tracemalloc.start()
    run()
    print(tracemalloc.get_traced_memory()[1] / unit)


def resident(key: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(key))


if __name__ == "__main__":
    main()

"""Gradients of five workloads: arraygrad, the same by hand in CuPy (or NumPy) and, if installed, in PyTorch.

    python benchmarks/gpu.py                   on the GPU
    python benchmarks/gpu.py --device cpu      the same, smaller, against NumPy: whether the benchmark itself is right

Before anything is measured, the gradients are compared. Figures are medians of forward and backward together, after
warm-up, by CUDA events on a GPU; all are float32. The limits are measured in the same run: bytes a second of copying
one large array, and floating point operations a second of multiplying two large matrices.
"""

from __future__ import annotations

import argparse
import functools
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

import arraygrad as ag

Run = Callable[[], list[Any]]
WARM_UP = 3


# ---- The workloads: by hand, and once for both libraries that derive. Each returns the gradients of its inputs.


def mlp_by_hand(xp: Any, x: Any, targets: Any, w1: Any, w2: Any) -> list[Any]:
    hidden = xp.maximum(x @ w1, 0)
    logits = hidden @ w2
    e = xp.exp(logits - logits.max(axis=1, keepdims=True))
    g = e / e.sum(axis=1, keepdims=True)
    g[xp.arange(len(targets)), targets] -= 1
    g /= len(targets)
    g_hidden = (g @ w2.T) * (hidden > 0)
    return [x.T @ g_hidden, hidden.T @ g]


def mlp(lib: Any, x: Any, targets: Any, w1: Any, w2: Any) -> Any:
    return lib.cross_entropy(lib.relu(x @ w1) @ w2, targets)


def attention_by_hand(xp: Any, x: Any, wq: Any, wk: Any, wv: Any) -> list[Any]:
    def transposed(a: Any) -> Any:
        return xp.swapaxes(a, -1, -2)

    q, k, v = x @ wq, x @ wk, x @ wv
    scale = 1 / float(wq.shape[1]) ** 0.5
    scores = (q @ transposed(k)) * scale
    e = xp.exp(scores - scores.max(axis=-1, keepdims=True))
    p = e / e.sum(axis=-1, keepdims=True)
    g = 2 * (p @ v)
    g_p = g @ transposed(v)
    g_scores = p * (g_p - (g_p * p).sum(axis=-1, keepdims=True)) * scale
    g_q, g_k, g_v = g_scores @ k, transposed(g_scores) @ q, transposed(p) @ g
    return [(transposed(x) @ part).sum(axis=0) for part in (g_q, g_k, g_v)]


def attention(lib: Any, x: Any, wq: Any, wk: Any, wv: Any) -> Any:
    q, k, v = x @ wq, x @ wk, x @ wv
    p = lib.softmax((q @ k.mT) * (1 / float(wq.shape[1]) ** 0.5))
    return lib.sum((p @ v) ** 2)


def phase_by_hand(xp: Any, measured: Any, x: Any) -> list[Any]:
    transform = xp.fft.fft2(x, norm="ortho")
    magnitudes = xp.abs(transform)
    slope = (magnitudes - measured) * transform / xp.where(magnitudes == 0, 1, magnitudes)
    return [xp.fft.ifft2(slope, norm="ortho").real.astype(x.dtype)]


def phase(lib: Any, measured: Any, x: Any) -> Any:
    return lib.sum((lib.abs(lib.fft2(x)) - measured) ** 2) * 0.5


def chain_by_hand(xp: Any, x: Any) -> list[Any]:
    a = xp.tanh(x)
    b = a * x
    c = xp.exp(-b)
    d = c + a
    g = 2 * d
    g_a = g + -(g * c) * x
    return [g_a * (1 - a * a) + -(g * c) * a]


def chain(lib: Any, x: Any) -> Any:
    a = lib.tanh(x)
    return lib.sum((lib.exp(-(a * x)) + a) ** 2)


LOOP = 200


def loop_by_hand(xp: Any, w: Any, x: Any) -> list[Any]:
    y, saved = x, []
    for _ in range(LOOP):
        y = xp.tanh(y * w)
        saved.append(y)
    g = xp.ones_like(y)
    for y in reversed(saved):
        g = g * (1 - y * y) * w
    return [g]


def loop(lib: Any, w: Any, x: Any) -> Any:
    y = x
    for _ in range(LOOP):
        y = lib.tanh(y * w)
    return lib.sum(y)


class Workload(NamedTuple):
    name: str
    by_hand: Callable[..., list[Any]]
    derived: Callable[..., Any]
    inputs: list[np.ndarray]
    wanted: int  # gradients, of the last ones
    moved: float = 0.0  # bytes, if every operation reads and writes whole arrays
    operations: float = 0.0  # of the products of matrices


def workloads(large: bool) -> Iterator[Workload]:
    rng = np.random.default_rng(0)

    def draw(*shape: int, scale: float = 1.0) -> np.ndarray:
        return (rng.normal(size=shape) * scale).astype(np.float32)

    batch, width = (8192, 2048) if large else (256, 256)
    data = [draw(batch, width), rng.integers(10, size=batch)]
    data += [draw(width, width, scale=0.02), draw(width, 10, scale=0.02)]
    yield Workload("MLP", mlp_by_hand, mlp, data, 2, operations=2.0 * batch * width * (2 * width + 30))
    heads, length, size = (16, 1024, 256) if large else (2, 128, 64)
    data = [draw(heads, length, size), *(draw(size, size, scale=size**-0.5) for _ in range(3))]
    work = 12.0 * heads * length * size * (size + length)
    yield Workload("attention block", attention_by_hand, attention, data, 3, operations=work)
    side = 2048 if large else 128
    yield Workload("phase retrieval", phase_by_hand, phase, [np.abs(draw(side, side)), draw(side, side)], 1)
    count = 2**25 if large else 2**17
    # By hand: 9 arrays forward and 20 backward.
    yield Workload("elementwise chain", chain_by_hand, chain, [draw(count)], 1, moved=29.0 * 4 * count)
    yield Workload("small-op loop", loop_by_hand, loop, [draw(4), draw(4)], 1)


# ---- Libraries


def arraygrad_run(device: str, derived: Callable[..., Any], inputs: list[Any], wanted: int) -> Run:
    lib = SimpleNamespace(sum=ag.sum, abs=ag.abs, tanh=ag.tanh, exp=ag.exp, relu=ag.relu)
    lib.cross_entropy, lib.softmax = ag.cross_entropy, ag.softmax
    lib.fft2 = lambda x: ag.fft.fftn(x.astype(ag.complex64), norm="ortho")
    tensors = [ag.tensor(value, device=device) for value in inputs]
    leaves = [tensor.requires_grad_() for tensor in tensors[len(tensors) - wanted :]]

    def run() -> list[Any]:
        for leaf in leaves:
            leaf.zero_grad()
        derived(lib, *tensors).backward()
        return [leaf.grad.array for leaf in leaves]

    return run


def torch_run(torch: Any, device: str, derived: Callable[..., Any], inputs: list[Any], wanted: int) -> Run:
    lib = SimpleNamespace(sum=torch.sum, abs=torch.abs, tanh=torch.tanh, exp=torch.exp, relu=torch.relu)
    lib.cross_entropy, lib.softmax = torch.nn.functional.cross_entropy, lambda x: torch.softmax(x, -1)
    lib.fft2 = lambda x: torch.fft.fftn(x.to(torch.complex64), norm="ortho")
    tensors = [torch.tensor(value, device=device) for value in inputs]
    leaves = [tensor.requires_grad_() for tensor in tensors[len(tensors) - wanted :]]

    def run() -> list[Any]:
        for leaf in leaves:
            leaf.grad = None
        derived(lib, *tensors).backward()
        return [leaf.grad for leaf in leaves]

    return run


def by_hand_run(xp: Any, by_hand: Callable[..., Any], inputs: list[Any]) -> Run:
    arrays = [xp.asarray(value) for value in inputs]
    return lambda: by_hand(xp, *arrays)


# ---- Measuring


def seconds(run: Callable[[], Any], event: Callable[[], Any] | None, budget: float) -> float:
    """The median time of a run, by the device's events or by the clock."""
    for _ in range(WARM_UP):
        run()
    times: list[float] = []
    stop = time.perf_counter() + budget
    while len(times) < 5 or (time.perf_counter() < stop and len(times) < 200):
        if event is None:
            start = time.perf_counter()
            run()
            times.append(time.perf_counter() - start)
        else:
            before, after = event(), event()
            before.record()
            run()
            after.record()
            after.synchronize()
            times.append(elapsed(before, after))
    return statistics.median(times)


def elapsed(before: Any, after: Any) -> float:
    if hasattr(before, "elapsed_time"):  # PyTorch's
        return before.elapsed_time(after) / 1e3
    import cupy

    return cupy.cuda.get_elapsed_time(before, after) / 1e3


def limits(xp: Any, event: Callable[[], Any] | None, large: bool, budget: float) -> tuple[float, float]:
    """Bytes a second, read and written, of a copy; operations a second of a product of matrices."""
    source = xp.ones(2**27 if large else 2**23, dtype=np.float32)
    target = xp.empty_like(source)

    def copy() -> None:
        target[...] = source

    n = 8192 if large else 768
    matrix = xp.ones((n, n), dtype=np.float32)
    bandwidth = 2 * source.nbytes / seconds(copy, event, budget)
    return bandwidth, 2.0 * n**3 / seconds(lambda: matrix @ matrix, event, budget)


def to_numpy(value: Any) -> np.ndarray:
    if hasattr(value, "get"):  # CuPy's
        return value.get()
    return value.cpu().numpy() if hasattr(value, "cpu") else np.asarray(value)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Time gradients of arraygrad, by hand and of PyTorch.")
    parser.add_argument("--device", default="cuda", help="cuda or cpu (default: cuda)")
    parser.add_argument("--seconds", type=float, default=1.0, help="time for each figure (default: 1)")
    options = parser.parse_args(arguments)
    large = options.device.startswith("cuda")
    event: Callable[[], Any] | None = None
    torch_event: Callable[[], Any] | None = None
    xp: Any = np
    if large:
        if not ag.device_count():
            sys.exit("benchmarks/gpu.py: no GPU here; --device cpu runs without")
        import cupy

        xp, event = cupy, cupy.cuda.Event
    try:
        import torch
    except ModuleNotFoundError:
        torch = None
    if torch is not None and large and not torch.cuda.is_available():
        torch = None
    if torch is not None and not large:
        torch.set_num_threads(1)  # as NumPy's elementwise functions
    if torch is not None and large:
        torch_event = functools.partial(torch.cuda.Event, enable_timing=True)

    bandwidth, rate = limits(xp, event, large, options.seconds)
    print(f"copying {bandwidth / 1e9:,.0f} GB/s, multiplying matrices {rate / 1e12:,.2f} TFLOP/s (float32)")
    print(f"{'ms, both ways':<18}{'by hand':>10}{'arraygrad':>11}{'PyTorch':>10}{'x by hand':>11}  of the limit")
    for work in workloads(large):
        runs = {"by hand": (by_hand_run(xp, work.by_hand, work.inputs), event)}
        runs["arraygrad"] = (arraygrad_run(options.device, work.derived, work.inputs, work.wanted), event)
        if torch is not None:
            runs["PyTorch"] = (torch_run(torch, options.device, work.derived, work.inputs, work.wanted), torch_event)
        expected = [to_numpy(grad) for grad in runs["by hand"][0]()]
        for library, (run, _) in runs.items():
            for grad, right in zip(run(), expected, strict=True):
                tolerance = 1e-3 * float(np.abs(right).max())
                np.testing.assert_allclose(to_numpy(grad), right, 1e-2, tolerance, err_msg=f"{work.name}, {library}")
        times = {library: seconds(run, its_event, options.seconds) for library, (run, its_event) in runs.items()}
        share = max(work.moved / bandwidth, work.operations / rate) / times["arraygrad"]
        pytorch = f"{times['PyTorch'] * 1e3:.3f}" if "PyTorch" in times else "-"
        print(
            f"{work.name:<18}{times['by hand'] * 1e3:>10.3f}{times['arraygrad'] * 1e3:>11.3f}{pytorch:>10}"
            f"{times['arraygrad'] / times['by hand']:>11.2f}  {f'{share:.0%}' if share else '-'}",
            flush=True,
        )


if __name__ == "__main__":
    main()

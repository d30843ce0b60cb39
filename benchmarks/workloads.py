"""What is computed: each case by hand in NumPy, and once for all libraries that derive it.

By hand: what somebody who knows the derivative writes, without copies that nobody needs, without buffers kept for the
next run either. Both compute the value, too, and all gradients that are asked for.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray

# ---- Many small operations


def tiny_by_hand(steps: int, w: Array, y: Array) -> list[Array]:
    saved = []
    for _ in range(steps):
        a = np.tanh(y * w)
        saved.append(a)
        y = (a + w) * w
    y.sum()
    g = np.ones_like(y)
    for a in reversed(saved):
        g = g * w * (1.0 - a * a) * w
    return [g]


def tiny_value_by_hand(steps: int, w: Array, y: Array) -> list[Array]:
    for _ in range(steps):
        y = (np.tanh(y * w) + w) * w
    return [y.sum()]


def tiny(lib: Any, steps: int, w: Any, y: Any) -> Any:
    for _ in range(steps):
        y = (lib.tanh(y * w) + w) * w
    return lib.sum(y)


def nodes_by_hand(steps: int, w: Array, y: Array) -> list[Array]:
    saved = []
    for _ in range(steps):
        y = np.tanh(y * w)
        saved.append(y)
    y.sum()
    g = np.ones_like(y)
    while saved:
        y = saved.pop()
        g = g * (1.0 - y * y) * w
    return [g]


def nodes(lib: Any, steps: int, w: Any, y: Any) -> Any:
    for _ in range(steps):
        y = lib.tanh(y * w)
    return lib.sum(y)


ODE_STEP = 1e-3


def ode_by_hand(steps: int, y0: Any, rate: Any) -> list[float]:
    y, r = float(y0), float(rate)
    path = []
    for _ in range(steps):
        path.append(y)
        y = y + ODE_STEP * (r * y * (1.0 - y))
    g, g_r = 1.0, 0.0
    for y in reversed(path):
        g_r += g * ODE_STEP * y * (1.0 - y)
        g += g * ODE_STEP * r * (1.0 - 2.0 * y)
    return [g, g_r]


def ode(lib: Any, steps: int, y: Any, rate: Any) -> Any:
    for _ in range(steps):
        y = y + ODE_STEP * (rate * y * (1.0 - y))
    return y


def lstm_by_hand(x: Array, wx: Array, wh: Array, b: Array) -> list[Array]:
    n = len(wh)
    h = c = np.zeros((x.shape[1], n))
    saved = []
    for row in x:
        gates = row @ wx + h @ wh + b
        s = 1.0 / (1.0 + np.exp(-gates[:, : 3 * n]))
        u = np.tanh(gates[:, 3 * n :])
        before, c_before = h, c
        c = s[:, :n] * c + s[:, n : 2 * n] * u
        t = np.tanh(c)
        h = s[:, 2 * n :] * t
        saved.append((row, before, c_before, s, u, t))
    (h * h).sum()
    g_h, g_c = 2.0 * h, 0.0
    g_wx, g_wh, g_b = np.zeros_like(wx), np.zeros_like(wh), np.zeros_like(b)
    for row, before, c_before, s, u, t in reversed(saved):
        forget, enter, leave = s[:, :n], s[:, n : 2 * n], s[:, 2 * n :]
        g_c = g_c + g_h * leave * (1.0 - t * t)
        g_s = np.concatenate([g_c * c_before, g_c * u, g_h * t], axis=1)
        g = np.concatenate([g_s * s * (1.0 - s), g_c * enter * (1.0 - u * u)], axis=1)
        g_wx += row.T @ g
        g_wh += before.T @ g
        g_b += g.sum(axis=0)
        g_h = g @ wh.T
        g_c = g_c * forget
    return [g_wx, g_wh, g_b]


def lstm(lib: Any, x: Any, wx: Any, wh: Any, b: Any) -> Any:
    n = wh.shape[0]
    h = c = lib.constant(np.zeros((x.shape[1], n)))
    for i in range(len(x)):
        gates = x[i] @ wx + h @ wh + b
        s = lib.sigmoid(gates[:, : 3 * n])
        u = lib.tanh(gates[:, 3 * n :])
        c = s[:, :n] * c + s[:, n : 2 * n] * u
        h = s[:, 2 * n :] * lib.tanh(c)
    return lib.sum(h * h)


# ---- Networks


def softmax_of(x: Array) -> Array:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    e /= e.sum(axis=-1, keepdims=True)
    return e


def mlp_by_hand(x: Array, targets: Array, w1: Array, b1: Array, w2: Array, b2: Array) -> list[Array]:
    hidden = np.maximum(x @ w1 + b1, 0.0)
    g = softmax_of(hidden @ w2 + b2)
    rows = np.arange(len(targets))
    -np.log(g[rows, targets]).mean()
    g[rows, targets] -= 1.0
    g /= len(targets)
    g_hidden = (g @ w2.T) * (hidden > 0.0)
    return [x.T @ g_hidden, g_hidden.sum(axis=0), hidden.T @ g, g.sum(axis=0)]


def mlp(lib: Any, x: Any, targets: Any, w1: Any, b1: Any, w2: Any, b2: Any) -> Any:
    return lib.cross_entropy(lib.relu(x @ w1 + b1) @ w2 + b2, targets)


def attention_by_hand(x: Array, wq: Array, wk: Array, wv: Array, wo: Array) -> list[Array]:
    def transposed(a: Array) -> Array:
        return np.swapaxes(a, -1, -2)

    scale = 1.0 / wq.shape[1] ** 0.5
    q, k, v = x @ wq, x @ wk, x @ wv
    p = softmax_of((q @ transposed(k)) * scale)
    mixed = p @ v
    out = mixed @ wo
    (out * out).sum()
    g = 2.0 * out
    g_wo = (transposed(mixed) @ g).sum(axis=0)
    g = g @ wo.T
    g_p = g @ transposed(v)
    g_scores = p * (g_p - (g_p * p).sum(axis=-1, keepdims=True)) * scale
    parts = g_scores @ k, transposed(g_scores) @ q, transposed(p) @ g
    return [*((transposed(x) @ part).sum(axis=0) for part in parts), g_wo]


def attention(lib: Any, x: Any, wq: Any, wk: Any, wv: Any, wo: Any) -> Any:
    q, k, v = x @ wq, x @ wk, x @ wv
    p = lib.softmax((q @ lib.transposed(k)) * (1.0 / wq.shape[1] ** 0.5))
    out = (p @ v) @ wo
    return lib.sum(out * out)


def convolution_by_hand(x: Array, filters: Array) -> list[Array]:
    size = filters.shape[-1]
    windows = np.lib.stride_tricks.sliding_window_view(x, (size, size), (2, 3))
    out = np.tensordot(windows, filters, axes=([1, 4, 5], [1, 2, 3]))
    (out * out).sum()
    g = 2.0 * out
    g_filters = np.tensordot(g, windows, axes=([0, 1, 2], [0, 2, 3]))
    padded = np.pad(g, ((0, 0), (size - 1, size - 1), (size - 1, size - 1), (0, 0)))
    around = np.lib.stride_tricks.sliding_window_view(padded, (size, size), (1, 2))
    g_x = np.tensordot(around, filters[:, :, ::-1, ::-1], axes=([3, 4, 5], [0, 2, 3]))
    return [np.moveaxis(g_x, 3, 1), g_filters]


def convolution(lib: Any, x: Any, filters: Any) -> Any:
    out = lib.convolution(x, filters)
    return lib.sum(out * out)


# ---- Large arrays


def elementwise_by_hand(x: Array) -> list[Array]:
    a = np.tanh(x)
    c = np.exp(-(a * x))
    d = c + a
    (d * d).sum()
    g = 2.0 * d
    g_b = -(g * c)
    return [(g + g_b * x) * (1.0 - a * a) + g_b * a]


def elementwise(lib: Any, x: Any) -> Any:
    a = lib.tanh(x)
    d = lib.exp(-(a * x)) + a
    return lib.sum(d * d)


def standardize_by_hand(x: Array, gain: Array, bias: Array) -> list[Array]:
    centred = x - x.mean(axis=0)
    inverse = 1.0 / np.sqrt((centred * centred).mean(axis=0) + 1e-5)
    z = centred * inverse
    out = z * gain + bias
    (out * out).sum()
    g = 2.0 * out
    g_gain = (g * z).sum(axis=0)
    g_bias = g.sum(axis=0)
    g_x = (g - (g_bias + z * g_gain) / len(x)) * (gain * inverse)
    return [g_x, g_gain, g_bias]


def standardize(lib: Any, x: Any, gain: Any, bias: Any) -> Any:
    centred = x - lib.mean(x, axis=0)
    z = centred / lib.sqrt(lib.mean(centred * centred, axis=0) + 1e-5)
    out = z * gain + bias
    return lib.sum(out * out)


def embedding_add_at(index: Array, table: Array) -> list[Array]:
    rows = table[index]
    (rows * rows).sum()
    grad = np.zeros_like(table)
    np.add.at(grad, index, 2.0 * rows)
    return [grad]


def embedding_grad_by_add_at(g: Array, index: Array, table: Array) -> list[Array]:
    grad = np.zeros_like(table)
    np.add.at(grad, index, g)
    return [grad]


def embedding_rows(lib: Any, index: Any, table: Any) -> Any:
    return lib.rows(table, index)


def embedding_sorted(index: Array, table: Array) -> list[Array]:
    rows = table[index]
    (rows * rows).sum()
    order = np.argsort(index, kind="stable")
    ordered = index[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    grad = np.zeros_like(table)
    grad[ordered[starts]] = np.add.reduceat((2.0 * rows)[order], starts, axis=0)
    return [grad]


def embedding(lib: Any, index: Any, table: Any) -> Any:
    rows = lib.rows(table, index)
    return lib.sum(rows * rows)


def slices_read_by_hand(count: int, x: Array) -> list[Array]:
    size = len(x) // count
    grad = np.empty_like(x)
    total = 0.0
    for i in range(count):
        part = slice(i * size, (i + 1) * size)
        s = np.sin(x[part])
        total += (s * s).sum()
        grad[part] = 2.0 * s * np.cos(x[part])
    return [grad]


def slices_read(lib: Any, count: int, x: Any) -> Any:
    size = len(x) // count
    total = 0.0
    for i in range(count):
        s = lib.sin(x[i * size : (i + 1) * size])
        total = total + lib.sum(s * s)
    return total


def slices_by_hand(count: int, x: Array) -> list[Array]:
    size = len(x) // count
    y = x * x
    slopes = []
    for i in range(count):
        part = slice(i * size, (i + 1) * size)
        slopes.append(np.cos(y[part]))
        y[part] = np.sin(y[part])
    (y * y).sum()
    g = 2.0 * y
    for i in reversed(range(count)):
        g[i * size : (i + 1) * size] *= slopes[i]
    return [g * 2.0 * x]


def slices(lib: Any, count: int, x: Any) -> Any:
    size = len(x) // count
    y = x * x
    for i in range(count):
        part = slice(i * size, (i + 1) * size)
        y = lib.write(y, part, lib.sin(lib.read(y, part)))
    return lib.sum(y * y)


# ---- Science


def phase_by_hand(measured: Array, x: Array) -> list[Array]:
    transform = np.fft.fft2(x, norm="ortho")
    magnitudes = np.abs(transform)
    error = magnitudes - measured
    0.5 * (error * error).sum()
    return [np.fft.ifft2(error / magnitudes * transform, norm="ortho").real]


def phase(lib: Any, measured: Any, x: Any) -> Any:
    error = lib.abs(lib.fft2(x)) - measured
    return 0.5 * lib.sum(error * error)


def process_by_hand(squares: Array, y: Array, size: Array, scale: Array, noise: Array) -> list[Array]:
    factor = np.exp(squares * (-0.5 / scale**2))
    covariance = size * factor
    covariance.flat[:: len(y) + 1] += noise
    lower = np.linalg.cholesky(covariance)
    inverse = np.linalg.inv(covariance)
    weights = inverse @ y
    0.5 * (y * weights).sum() + np.log(np.diagonal(lower)).sum()
    g = 0.5 * (inverse - weights * weights.T)
    g_factor = g * factor
    return [g_factor.sum(), (g_factor * squares).sum() * size / scale**3, np.trace(g)]


def process(lib: Any, squares: Any, y: Any, size: Any, scale: Any, noise: Any) -> Any:
    identity = lib.constant(np.eye(len(y)))
    covariance = size * lib.exp(squares * (-0.5 / scale**2)) + noise * identity
    lower = lib.cholesky(covariance)
    white = lib.solve(lower, y)
    return 0.5 * lib.sum(white * white) + lib.sum(lib.log(lib.diagonal(lower)))


def rosenbrock_by_hand(x: Array) -> list[Array]:
    beside = np.diag(-400.0 * x[:-1], 1)
    on = np.full(len(x), 200.0)
    on[0] = 0.0
    on[:-1] += 1200.0 * x[:-1] ** 2 - 400.0 * x[1:] + 2.0
    return [np.diag(on) + beside + beside.T]


def rosenbrock(lib: Any, x: Any) -> Any:
    a, b = x[1:] - x[:-1] ** 2, 1.0 - x[:-1]
    return lib.sum(100.0 * a * a + b * b)

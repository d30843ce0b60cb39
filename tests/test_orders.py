"""Every row of the op table in second order, forward mode, batched backward and vmap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from devices import flags_of, make, to_host
from op_table import Row, Sample
from test_ops import SMOOTH, TIGHT, call, floats_of, outputs_of, refuses

import arraygrad as ag

DEVICES = ["cpu", pytest.param("strict:device1", marks=pytest.mark.slow)]
every_row = pytest.mark.parametrize(("row", "sample"), SMOOTH)
on_devices = pytest.mark.parametrize("device", DEVICES)
CASES = 3


def random_like(values: np.ndarray, rng: np.random.Generator, *leading: int) -> np.ndarray:
    shape = (*leading, *values.shape)
    imaginary = 1j * rng.normal(size=shape) if values.dtype.kind == "c" else 0.0
    return rng.normal(size=shape) + imaginary


@on_devices
@every_row
def test_second_derivatives(row: Row, sample: Sample, device: str) -> None:
    floats = [make(device, value, requires_grad=True) for value in floats_of(sample)]
    ag.gradgradcheck(lambda *_: call(row, sample, device, floats), floats, fast_mode=True, **TIGHT)


@on_devices
@every_row
def test_forward_mode(row: Row, sample: Sample, device: str) -> None:
    """Numerically, and by duality with backward: <w, J t> is <J^T w, t>."""
    rng = np.random.default_rng(1)
    values = floats_of(sample)
    directions = [random_like(value, rng) for value in values]
    primals = [make(device, value, requires_grad=True) for value in values]

    def f(*floats: Any) -> tuple[Any, ...]:
        return tuple(outputs_of(call(row, sample, device, list(floats))))

    _, tangents = ag.jvp(f, primals, [make(device, direction) for direction in directions])
    ends = [
        f(*[make(device, value + step * t) for value, t in zip(values, directions, strict=True)])
        for step in (1e-6, -1e-6)
    ]
    outputs = f(*primals)
    weights = []
    duality = 0.0
    for y, tangent, above, below in zip(outputs, tangents, *ends, strict=True):
        if y.dtype.kind not in "fc":
            continue
        assert (tangent.shape, tangent.dtype, tangent.device) == (y.shape, y.dtype, y.device)
        numeric = (to_host(above) - to_host(below)) / 2e-6
        np.testing.assert_allclose(to_host(tangent.detach()), numeric, rtol=1e-5, atol=1e-6)
        if y.requires_grad:
            weights.append((y, random_like(to_host(y.detach()), rng)))
            duality += np.vdot(weights[-1][1], to_host(tangent.detach())).real
    roots = [y for y, _ in weights]
    grads = ag.gradients(roots, primals, [make(device, w) for _, w in weights], allow_unused=True)
    found = sum(
        np.vdot(to_host(grad), direction).real
        for grad, direction in zip(grads, directions, strict=True)
        if grad is not None
    )
    np.testing.assert_allclose(duality, found, rtol=1e-9, atol=1e-11)


@on_devices
@every_row
def test_batched_cotangents(row: Row, sample: Sample, device: str) -> None:
    rng = np.random.default_rng(2)
    floats = [make(device, value, requires_grad=True) for value in floats_of(sample)]
    roots = [output for output in outputs_of(call(row, sample, device, floats)) if output.requires_grad]
    cotangents = [make(device, random_like(to_host(y.detach()), rng, CASES)) for y in roots]
    options = {"retain_graph": True, "allow_unused": True}
    batch = ag.gradients(roots, floats, cotangents, is_batched=True, **options)
    alone = [ag.gradients(roots, floats, [g[k] for g in cotangents], **options) for k in range(CASES)]
    for many, singles in zip(batch, zip(*alone, strict=True), strict=True):
        if many is None:
            assert singles[0] is None
            continue
        assert (many.dtype, many.device) == (singles[0].dtype, singles[0].device)
        np.testing.assert_allclose(to_host(many), np.stack(list(map(to_host, singles))), rtol=1e-10, atol=1e-12)


@on_devices
@every_row
def test_vmap(row: Row, sample: Sample, device: str) -> None:
    if refuses(device, row) or (row.name == "quantile" and len(floats_of(sample)) > 1):
        return  # the positions of quantiles are checked, so they must be the same in all cases
    values = [np.stack([value * (1.0 + 1e-3 * k) for k in range(CASES)]) for value in floats_of(sample)]
    with flags_of(device):
        outputs = outputs_of(ag.vmap(lambda *x: call(row, sample, device, list(x)))(*[make(device, v) for v in values]))
        singles = [outputs_of(call(row, sample, device, [make(device, v[k]) for v in values])) for k in range(CASES)]
    for many, single in zip(outputs, zip(*singles, strict=True), strict=True):
        assert (many.dtype, many.device) == (single[0].dtype, single[0].device)
        np.testing.assert_allclose(to_host(many), np.stack(list(map(to_host, single))), rtol=1e-10, atol=1e-12)

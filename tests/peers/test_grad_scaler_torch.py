"""GradScaler beside PyTorch's: random sequences of gradients, some of them infinite or NaN."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import arraygrad as ag

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.peers

options = st.fixed_dictionaries(
    {
        "init_scale": st.sampled_from([1.0, 1024.0, 2.0**16, 2.0**126]),
        "growth_factor": st.sampled_from([1.25, 2.0, 4.0]),
        "backoff_factor": st.sampled_from([0.25, 0.5]),
        "growth_interval": st.integers(1, 4),
    }
)
slopes = st.lists(
    st.tuples(*[st.sampled_from([0.0, 1.0, -1e-3, 1e-30, np.inf, np.nan])] * 2, st.booleans()), max_size=12
)


def scales(library: Any, scaler: Any, slopes: list[tuple[float, float, bool]]) -> list[float]:
    """The scale, the count of good steps and both parameters after each iteration."""
    values = [library.tensor([1.0], dtype=library.float32, requires_grad=True) for _ in range(2)]
    optimizers = [library.optim.SGD([value], lr=0.5) for value in values]
    found = []
    for *slope, is_clipped in slopes:
        for optimizer in optimizers:
            optimizer.zero_grad()
        losses = [library.sum(value * factor) for value, factor in zip(values, slope, strict=True)]
        for loss in scaler.scale(losses):
            loss.backward()
        for optimizer in optimizers:
            if is_clipped:
                scaler.unscale_(optimizer)
            scaler.step(optimizer)
        scaler.update()
        found += [scaler.get_scale(), scaler.state_dict()["_growth_tracker"], *(value.item() for value in values)]
    return found


@settings(max_examples=300)
@given(options, slopes)
def test_scales_and_steps_are_pytorchs(options: dict[str, Any], slopes: list[tuple[float, float, bool]]) -> None:
    with np.errstate(all="ignore"):
        ours = scales(ag, ag.optim.GradScaler(**options), slopes)
    theirs = scales(torch, torch.amp.GradScaler("cpu", **options), slopes)
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)
    assert list(ag.optim.GradScaler().state_dict()) == list(torch.amp.GradScaler("cpu").state_dict())

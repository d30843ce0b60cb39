from __future__ import annotations

import numpy as np
import pytest

import arraygrad as ag


def leaf(values: object) -> ag.Tensor:
    return ag.tensor(values, requires_grad=True)


def test_a_saved_array_is_locked_until_backward_is_done_with_it() -> None:
    data = np.ones(3)
    x = leaf([1.0, 2.0, 3.0])
    with ag.guard_arrays():
        loss = ag.sum(x * data) + ag.sum(x * data * 2.0)
    for write in (lambda: data.fill(0.0), lambda: data.__setitem__(0, 5.0), lambda: data[1:].__setitem__(0, 5.0)):
        with pytest.raises(ValueError, match="read-only"):
            write()
    loss.backward()
    data[:] = 5.0
    assert x.grad.array.tolist() == [3, 3, 3]


def test_dropping_the_graph_unlocks() -> None:
    data = np.ones(3)
    with ag.guard_arrays():
        loss = ag.sum(leaf([1.0, 2.0, 3.0]) * data)
    assert not data.flags.writeable
    del loss
    assert data.flags.writeable


def test_the_base_of_a_saved_view_is_locked_too() -> None:
    data = np.ones((2, 3))
    with ag.guard_arrays():
        loss = ag.sum(leaf([1.0, 2.0, 3.0]) * data[0])
    with pytest.raises(ValueError, match="read-only"):
        data[0, 0] = 5.0
    loss.backward()
    data[0, 0] = 5.0


def test_a_write_through_an_earlier_view_is_found_in_backward() -> None:
    data = np.ones(3)
    view = data[:]
    x = leaf([1.0, 2.0, 3.0])
    with ag.guard_arrays():
        loss = ag.sum(x * data)
    view[0] = 7.0
    with pytest.raises(ag.VersionError, match=f"called at {__file__}:.* has been written to since"):
        loss.backward()
    assert x.grad is None


def test_what_was_read_only_stays_so() -> None:
    data = np.ones(3)
    data.flags.writeable = False
    with ag.guard_arrays():
        loss = ag.sum(leaf([1.0, 2.0, 3.0]) * data)
    loss.backward()
    assert not data.flags.writeable


def test_writes_through_tensors_go_on_as_usual() -> None:
    x = leaf([1.0, 2.0])
    with ag.guard_arrays():
        y = x * 1.0
        z = ag.sum(y * y)
        y[0] = x[1] * 10.0  # recorded: the square keeps what it saved
        view = y[1:]
        view *= 3.0
        constant = ag.tensor([3.0, 4.0])
        w = ag.sum(x * constant)
        constant.add_(1.0)
    (z + ag.sum(y)).backward()
    assert x.grad.array.tolist() == [2, 4 + 10 + 3]
    with pytest.raises(ag.VersionError, match="modified by an inplace operation"):
        w.backward()

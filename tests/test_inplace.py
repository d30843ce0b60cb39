from __future__ import annotations

import operator
import re
from typing import Any

import numpy as np
import pytest
from devices import NAMES, make, to_host

import arraygrad as ag
from arraygrad.storage import Storage

WRITABLE = [name for name in NAMES if name != "cpu-readonly"]
on_every_device = pytest.mark.parametrize("device", WRITABLE)


def leaf(values: object) -> ag.Tensor:
    return ag.tensor(values, requires_grad=True)


@on_every_device
def test_arithmetic_in_place(device: str) -> None:
    x = make(device, [2.0, 4.0])
    y, memory = x, x.array
    x += 1
    x -= make(device, 0.5)
    x *= make(device, [2.0, 1.0])
    x /= 2
    assert x is y
    assert x.array is memory
    assert to_host(x).tolist() == [2.5, 2.25]
    assert x.version == 4
    assert x.add_(1).sub_(1).mul_(2).div_(2) is x
    for function in (operator.ifloordiv, operator.imod, operator.ipow):
        assert function(x, 2) is x
    mask, bits = make(device, [True, False]), make(device, [5, 6])
    mask &= make(device, [True, True])
    mask |= make(device, [False, True])
    mask ^= make(device, [True, True])
    bits <<= 1
    bits >>= 2
    assert to_host(mask).tolist() == [False, False]
    assert to_host(bits).tolist() == [2, 3]


@on_every_device
def test_filling_and_copying(device: str) -> None:
    x = make(device, [[1.0, 2.0], [3.0, 4.0]])
    assert to_host(x.fill_(7)).tolist() == [[7, 7], [7, 7]]
    assert to_host(x.zero_()).tolist() == [[0, 0], [0, 0]]
    assert to_host(x.copy_(make(device, np.array([1, 2], np.int32)))).tolist() == [[1, 2], [1, 2]]
    assert to_host(x.copy_(ag.tensor([5.0, 6.0], dtype=ag.float32))).tolist() == [[5, 6], [5, 6]]  # from the CPU
    assert x.version == 4
    ints = make(device, [0, 0])
    assert to_host(ints.copy_(make(device, [1.7, 2.2]))).tolist() == [1, 2]  # copy_ converts, as PyTorch's does


@on_every_device
def test_writing_by_index(device: str) -> None:
    x = make(device, np.zeros((3, 4)))
    expected = np.zeros((3, 4))
    for index, value in [
        ((0, 1), 5.0),
        ((slice(None), -1), np.array([1.0, 2.0, 3.0])),
        (np.array([2, 0]), np.array([[7.0], [8.0]])),
        ((np.array([0, 1]), np.array([0, 2])), 4.0),
        (np.arange(12).reshape(3, 4) % 5 == 0, -1.0),
        ((..., None, slice(None, None, -2)), 6.0),
        ([1], 9.0),
    ]:
        expected[index] = value
        convert = lambda v: make(device, v) if isinstance(v, np.ndarray) else v  # noqa: E731
        x[tuple(map(convert, index)) if isinstance(index, tuple) else convert(index)] = convert(value)
        np.testing.assert_array_equal(to_host(x), expected)
    x[1][2] = 11.0  # through a view
    assert to_host(x)[1, 2] == 11
    x[0] += 1.0
    assert to_host(x)[0].tolist() == (expected[0] + 1).tolist()


@on_every_device
def test_repeated_indices_add_up(device: str) -> None:
    x = make(device, np.zeros((3, 2)))
    x.index_add_(0, make(device, [2, 0, 2]), make(device, [[1.0, 2.0], [10.0, 20.0], [100.0, 200.0]]))
    assert to_host(x).tolist() == [[10, 20], [0, 0], [101, 202]]
    x.zero_().index_add_(1, make(device, [1, 1]), 1.0)
    assert to_host(x).tolist() == [[0, 2]] * 3
    x.zero_().scatter_add_(0, make(device, [[0, 2], [0, 0]]), make(device, [[1.0, 2.0], [3.0, 4.0]]))
    assert to_host(x).tolist() == [[4, 4], [0, 0], [0, 2]]
    x.zero_().scatter_add_(-1, make(device, [[-1]]), make(device, [[5.0, 6.0]]))
    assert to_host(x).tolist() == [[0, 5], [0, 0], [0, 0]]


REFUSED: dict[str, tuple[type[Exception], Any]] = {
    "add_: a source of shape [3] does not broadcast to the tensor's shape [2]": (
        ValueError, lambda x: x.add_(ag.ones(3))),
    "add_ cannot write complex values into a tensor of float64": (TypeError, lambda x: x.add_(1j)),
    "add_ takes a tensor, an array or a number, got str": (TypeError, lambda x: x.add_("a")),
    "fill_ takes a number or a 0-d tensor": (ValueError, lambda x: x.fill_(ag.ones(2))),
    "__setitem__: ": (ValueError, lambda x: operator.setitem(x, slice(None), ag.ones(3))),
    "index_add_: an index is outside axis 0 of size 2": (
        IndexError, lambda x: x.index_add_(0, ag.tensor([0, 2]), ag.ones(2))),
    "index_add_: axis 1 is outside a tensor of shape [2]": (
        ValueError, lambda x: x.index_add_(1, ag.tensor([0]), ag.ones(1))),
    "index_add_ takes integer indices, got float64": (
        TypeError, lambda x: x.index_add_(0, ag.tensor([0.0]), ag.ones(1))),
    "index_add_: ": (ValueError, lambda x: x.index_add_(0, ag.tensor([0, 1]), ag.ones(3))),
    "scatter_add_: a source of shape [1] has no element for each index of shape [2]": (
        ValueError, lambda x: x.scatter_add_(0, ag.tensor([0, 1]), ag.ones(1))),
    "copy_: ": (ValueError, lambda x: x.copy_(ag.ones(3))),
    "add_ got arrays on two devices, cpu and strict": (
        RuntimeError, lambda x: x.add_(ag.ones(2, device="strict"))),
}  # fmt: skip


@pytest.mark.parametrize(("text", "case"), REFUSED.items(), ids=REFUSED)
def test_a_refused_write_changes_nothing(text: str, case: tuple[type[Exception], Any]) -> None:
    x = ag.tensor([1.0, 2.0])
    error, write = case
    with pytest.raises(error, match=re.escape(text)):
        write(x)
    assert x.array.tolist() == [1, 2]
    assert x.version == 0


def test_integers_take_no_fractions() -> None:
    x = ag.tensor([1, 2])
    for write in (lambda: x.add_(0.5), lambda: x.div_(2), lambda: operator.setitem(x, 0, 1.5)):
        with pytest.raises(TypeError):
            write()
    assert x.array.tolist() == [1, 2]
    assert x.version == 0


def test_overlapping_and_read_only_memory_is_refused() -> None:
    x = ag.broadcast_to(ag.tensor([1.0]), (3,))
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor refers to a single memory"):
        x.add_(1)


WRITES = {
    "add_": lambda x, source: x.add_(source),
    "sub_": lambda x, source: x.sub_(source),
    "mul_": lambda x, source: x.mul_(source),
    "div_": lambda x, source: x.div_(source),
    "copy_": lambda x, source: x.copy_(source),
    "fill_": lambda x, source: x.fill_(source[0]),
    "index_add_": lambda x, source: x.index_add_(0, [0, 1], source),
    "scatter_add_": lambda x, source: x.scatter_add_(0, [0, 1], source),
    "__setitem__": lambda x, source: operator.setitem(x, slice(None), source),
}


@pytest.mark.parametrize("name", WRITES)
def test_the_table_of_rules(name: str) -> None:
    write = WRITES[name]
    plain, source = ag.tensor([1.0, 2.0]), ag.tensor([3.0, 4.0])
    write(plain, source)
    assert plain.version == 1
    for target, text in [
        (leaf([1.0, 2.0]), f"a leaf tensor that requires grad is being used in the in-place operation {name}"),
        (
            leaf([1.0, 2.0])[:],
            f"a view of a leaf tensor that requires grad is being used in the in-place operation {name}",
        ),
    ]:
        with pytest.raises(RuntimeError, match=re.escape(text)):
            write(target, source)
        assert target.version == 0
        assert target.array.tolist() == [1, 2]
        with ag.no_grad():
            write(target, source)
        assert target.version == 1
    tracked, target = leaf([3.0, 4.0]), leaf([1.0, 2.0]) * 1
    with ag.no_grad():
        write(plain, tracked)
        write(target, source)
    assert plain.version == 2
    assert not plain.requires_grad
    assert target.grad_fn.name == "MultiplyBackward"


STALE = "one of the variables needed for gradient computation has been modified by an inplace operation: "


@pytest.mark.parametrize(
    "alias",
    [
        lambda c: c,
        lambda c: c.detach(),
        lambda c: c[:1],
        lambda c: c.reshape((2, 1)),
        lambda c: c.reshape((2, 1))[1:],
        lambda c: c.T,
        lambda c: c.detach()[::-1].unsqueeze(0),
        lambda c: c.astype(ag.float64, copy=False),
        lambda c: c.to("cpu"),
    ],
)
@pytest.mark.parametrize("made_first", [True, False])
def test_a_write_through_any_alias_is_found(alias: Any, made_first: bool) -> None:
    x, constant = leaf([1.0, 2.0]), ag.tensor([3.0, 4.0])
    other = alias(constant) if made_first else None
    y = (x * constant).sum()
    with ag.no_grad():
        (other if other is not None else alias(constant)).add_(1)
    with pytest.raises(RuntimeError, match=re.escape(STALE + "expected version 0, got 1")):
        y.backward()
    assert x.grad is None


def test_a_saved_view_knows_of_writes_to_its_base() -> None:
    x, base = leaf([2.0]), ag.tensor([1.0, 5.0])
    y = x * base[1:]
    base.add_(1)
    with pytest.raises(ag.VersionError, match=re.escape("expected version 0, got 1")):
        y.backward()


def test_versions_in_the_message_are_those_of_the_memory() -> None:
    x, constant = leaf([1.0, 2.0]), ag.tensor([3.0, 4.0])
    constant.add_(1).add_(1)
    y = (x * constant).sum()
    constant.add_(1).mul_(2)
    with pytest.raises(ag.VersionError, match=re.escape("expected version 2, got 4")):
        y.backward()


def test_a_write_after_backward_or_to_what_nobody_saved_is_fine() -> None:
    x, constant = leaf([1.0, 2.0]), ag.tensor([3.0, 4.0])
    (x * constant).sum().backward()
    constant.add_(1)
    (x * constant).sum().backward()
    assert x.grad.array.tolist() == [3 + 4, 4 + 5]
    y = x + constant
    constant.add_(1)
    y.sum().backward()
    assert x.grad.array.tolist() == [8, 10]


def test_saving_anew_after_a_write_uses_the_new_value() -> None:
    x, constant = leaf([1.0]), ag.tensor([3.0])
    view = constant[:]
    first = x * constant
    constant.add_(1)
    second, third = x * constant, x * view
    with pytest.raises(ag.VersionError):
        first.backward()
    (second + third).backward()
    assert x.grad.item() == 8


def test_updates_of_parameters_cost_backward_no_checks() -> None:
    w = leaf([1.0, 2.0])
    Storage.any_stale = False
    for _ in range(3):
        w.zero_grad()
        ((w.T * 2) * w).sum().backward()
        with ag.no_grad():
            w -= 0.1 * w.grad
    assert not Storage.any_stale
    assert w.version == 3


def test_dead_views_of_a_parameter_are_forgotten() -> None:
    x, w = leaf(np.ones((1, 2))), ag.tensor(np.ones((2, 2)))
    for _ in range(1000):
        x @ w.T
    assert len(w._storage._boxes) < 50


def test_a_saved_output_written_through_its_detached_alias_is_found() -> None:
    x = leaf([1.0, 2.0])
    y = ag.exp(x)
    y.detach().add_(1)
    with pytest.raises(ag.VersionError, match="ExpBackward saved it"):
        y.sum().backward()

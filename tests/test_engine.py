from __future__ import annotations

import gc
import re
import threading
import time
import weakref
from collections.abc import Iterator

import numpy as np
import pytest
from devices import NAMES, device_of, make, to_host

import arraygrad as ag
from arraygrad.op import general, multilinear
from arraygrad.tensor import ArrayLike

on_every_device = pytest.mark.parametrize("device", NAMES)


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def leaf(values: object) -> ag.Tensor:
    return ag.tensor(values, requires_grad=True)


@on_every_device
def test_gradients_live_where_their_tensors_do(device: str) -> None:
    x, w = make(device, [1.0, 2.0], requires_grad=True), make(device, [[0.5], [-1.0]], requires_grad=True)
    ag.sum(ag.tanh(x * w) ** 2).backward()
    t = np.tanh(np.array([[0.5], [-1.0]]) * np.array([1.0, 2.0]))
    slope = 2 * t * (1 - t * t)
    np.testing.assert_allclose(to_host(x.grad), (slope * [[0.5], [-1.0]]).sum(0), rtol=1e-14)
    np.testing.assert_allclose(to_host(w.grad), (slope * [1.0, 2.0]).sum(1, keepdims=True), rtol=1e-14)
    assert x.grad.device == w.grad.device == device_of(device)


def test_a_gradient_never_shares_memory_with_what_a_user_can_reach() -> None:
    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    seed = np.array([1.0, 1.0])
    (x + y).backward(seed)
    seed[:] = 7
    assert x.grad.array.tolist() == y.grad.array.tolist() == [1, 1]
    x.grad.array[0] = 5
    assert y.grad.array.tolist() == [1, 1]


def test_a_leaf_as_root_copies_the_gradient_that_was_passed() -> None:
    x, seed = leaf([1.0, 2.0]), ag.tensor([3.0, 4.0])
    x.backward(seed)
    x.grad.array[0] = 9
    assert seed.array.tolist() == [3, 4]


def test_a_gradient_held_by_a_view_or_by_the_rule_is_copied() -> None:
    x, total = leaf([[1.0, 2.0]]), leaf([5.0])
    ag.sum(x.reshape(2)).backward()  # a broadcast view of one number arrives
    assert x.grad.array.flags.owndata
    assert x.grad.array.flags.writeable
    total.backward(np.broadcast_to(np.array(2.0), (1,)))
    total.backward()
    assert total.grad.array.tolist() == [3]


def test_a_fresh_gradient_is_kept_without_a_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    from arraygrad.backends.numpy import NumpyBackend

    copies = []
    x, w = leaf(np.ones((3, 3))), leaf(np.ones((3, 3)))
    loss = ag.sum(ag.tanh(x @ w) * 2.0)
    monkeypatch.setattr(NumpyBackend, "copy", lambda self, array: copies.append(array) or array.copy())
    loss.backward()
    assert copies == []


def test_later_gradients_are_added_in_place() -> None:
    x = leaf([1.0, 2.0])
    (x * 2).sum().backward()
    first, memory = x.grad, x.grad.array
    (x * 3).sum().backward()
    assert x.grad is first
    assert x.grad.array is memory
    assert memory.tolist() == [5, 5]
    assert first.version == 1


def test_an_assigned_gradient_that_cannot_be_written_to_is_replaced() -> None:
    x = leaf([1.0, 2.0])
    x.grad = ag.broadcast_to(ag.tensor(1.0), (2,))
    (x * 2).sum().backward()
    assert x.grad.array.tolist() == [3, 3]


def test_consumers_outside_the_subgraph_are_not_waited_for() -> None:
    x = leaf([2.0])
    shared = x * 3
    (shared * shared).sum()  # never run
    (shared + 1).sum().backward()
    assert x.grad.array.tolist() == [3]


def test_diamonds_stacked_run_each_node_once(capsys: pytest.CaptureFixture[str]) -> None:
    import sys

    x = leaf([1.0])
    y = x
    for _ in range(30):
        y = y + y  # 2**30 paths
    ag.set_backward_trace(sys.stdout)
    try:
        y.backward()
    finally:
        ag.set_backward_trace(None)
    assert x.grad.item() == 2.0**30
    assert len(capsys.readouterr().out.splitlines()) == 31


def test_three_consumers_with_a_read_of_a_part_in_any_order() -> None:
    def loss(x: ag.Tensor, order: int) -> ag.Tensor:
        parts = [x * 2, x[1:] * 10, x[[0, 0]] * 100]
        parts = parts[order:] + parts[:order]
        total = parts[0].sum()
        for part in parts[1:]:
            total = total + part.sum()
        return total

    for order in range(3):
        x = leaf([1.0, 2.0, 3.0])
        loss(x, order).backward()
        assert x.grad.array.tolist() == [202, 12, 12]


def test_reads_of_a_large_array_cost_what_they_touch(monkeypatch: pytest.MonkeyPatch) -> None:
    from arraygrad.backends.numpy import NumpyBackend

    full = []
    scatter, copy = NumpyBackend.scatter, NumpyBackend.copy
    monkeypatch.setattr(NumpyBackend, "scatter", lambda *args: full.append(args) or scatter(*args))
    x = leaf(np.zeros(1000))
    monkeypatch.setattr(NumpyBackend, "copy", lambda *args: full.append(args) or copy(*args))
    total = x[0] * 1.0
    for i in range(50):
        total = total + ag.sum(x[i : i + 2])
    total.backward()
    assert len(full) == 1, "an array of the full size for each read"
    assert x.grad.array[:3].tolist() == [2, 2, 2]
    assert x.grad.array[50:52].tolist() == [1, 0]


@pytest.mark.usefixtures("own_op")
def test_a_node_that_received_nothing_is_skipped_but_releases_its_inputs() -> None:
    @multilinear(lambda g: None, lambda g: g)
    def one_sided(xp: object, x1: ArrayLike, x2: ArrayLike, /) -> object:
        return x1 + x2

    x, y = leaf([1.0]), leaf([2.0])
    (one_sided(x * 2, y) + x * 3).sum().backward()
    assert x.grad.item() == 3
    assert y.grad.item() == 1
    z = leaf([1.0])
    one_sided(ag.exp(z), 1.0).sum().backward()
    assert z.grad is None


@pytest.mark.usefixtures("own_op")
def test_a_wrong_rule_is_named_and_changes_no_gradient() -> None:
    @general(lambda g, x1: g * x1, lambda g, xp, x1: xp.ones_like(x1))
    def multiply(xp: object, x1: ArrayLike, x2: ArrayLike, /) -> object:
        return x1 * x2

    a, b, c = leaf(np.ones((2, 3))), leaf(np.ones(3)), leaf(np.ones((2, 3)))
    text = "Function MultiplyBackward returned an invalid gradient at index 1 - got [2, 3] but expected shape [3]"
    with pytest.raises(RuntimeError, match=re.escape(text)):
        (multiply(a, b) + c).sum().backward()
    assert a.grad is None
    assert b.grad is None
    assert c.grad is None


@pytest.mark.usefixtures("own_op")
def test_a_rule_that_returns_integers_is_named() -> None:
    @general(lambda g, xp: xp.astype(g, xp.int64))
    def bad(xp: object, x: ArrayLike, /) -> object:
        return x * 1.0

    with pytest.raises(ag.GraphError, match=re.escape("Function BadBackward returned an invalid gradient at index 0")):
        bad(leaf([1.0])).sum().backward()


@pytest.mark.usefixtures("own_op")
def test_an_error_in_a_rule_leaves_gradients_as_they_were() -> None:
    @general(lambda g: 1 / 0)
    def failing(xp: object, x: ArrayLike, /) -> object:
        return x * 1.0

    x, y = leaf([1.0]), leaf([2.0])
    middle = y * 2
    middle.retain_grad()
    x.grad = ag.tensor([7.0])
    loss = (failing(middle * 3) + x).sum()
    with pytest.raises(ZeroDivisionError):
        loss.backward()
    with pytest.raises(ag.GraphError, match=r"failed \(ZeroDivisionError: division by zero\), had run that node"):
        loss.backward()
    assert x.grad.item() == 7
    assert x.grad.version == 0
    assert y.grad is None
    assert middle.grad is None


def test_a_second_backward_changes_nothing_where_only_a_part_was_released() -> None:
    x, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    shared = x * x
    shared.sum().backward()
    x.zero_grad()
    other = w * w
    with pytest.raises(ag.GraphError, match=re.escape("a second time (MultiplyBackward); specify retain_graph=True")):
        (shared * other).sum().backward()
    assert x.grad is None
    assert w.grad is None
    other.sum().backward()  # its part of the graph is whole
    assert w.grad.array.tolist() == [6, 8]


def test_saved_values_are_released_node_by_node() -> None:
    x = leaf(np.ones(3))
    alive = []
    saved = ag.exp(x)
    watch = weakref.ref(saved.array)
    y = saved * 2.0
    del saved

    class Spy:
        def write(self, text: str) -> None:
            if "Accumulate" in text:
                alive.append(watch() is not None)

    assert watch() is not None
    ag.set_backward_trace(Spy())
    try:
        y.sum().backward()
    finally:
        ag.set_backward_trace(None)
    assert alive == [False]


@pytest.mark.usefixtures("no_collector")
def test_chains_that_need_no_values_hold_none() -> None:
    x = leaf(np.ones(1000))
    watches, y = [], x
    for _ in range(40):
        y = y + 1.0
        watches.append(weakref.ref(y.array))
    assert sum(watch() is not None for watch in watches) == 1


@pytest.mark.usefixtures("no_collector")
def test_recording_makes_no_reference_cycle() -> None:
    x = leaf([1.0, 2.0])
    y = ag.sum(ag.softmax(ag.exp(x)[::-1] * x))
    node, tensor = weakref.ref(y.grad_fn), weakref.ref(y)
    y.backward()
    del y
    assert tensor() is None
    assert node() is None
    watch = weakref.ref(x)
    z = x * 2
    del x
    assert watch() is None  # a graph keeps no leaf alive
    z.sum().backward()


def test_one_accumulator_a_leaf() -> None:
    x = leaf([1.0])
    first = (x * 2).grad_fn.next_functions[0][0]
    second = (x * 3).grad_fn.next_functions[0][0]
    assert first is second
    assert first.variable is x
    assert first.name == "AccumulateGrad"


def test_a_leaf_that_no_longer_requires_grad_gets_none() -> None:
    x, y = leaf([1.0]), leaf([1.0])
    loss = (x * y).sum()
    x.requires_grad_(False)
    loss.backward()
    assert x.grad is None
    assert y.grad.item() == 1


def test_a_million_nodes_without_recursion() -> None:
    x = leaf(1.0)
    y = x
    for _ in range(1_000_000):
        y = y + 1.0
    y.backward()
    del y
    assert x.grad.item() == 1.0


@pytest.mark.slow
@pytest.mark.usefixtures("no_collector")
def test_time_per_node_is_the_same_in_a_long_chain() -> None:
    def microseconds(count: int) -> float:
        x = leaf(1.0)
        y = x
        start = time.perf_counter()
        for _ in range(count):
            y = y + 1.0
        y.backward()
        del y
        elapsed = time.perf_counter() - start
        assert x.grad.item() == 1.0
        return elapsed / count * 1e6

    samples = []
    for _ in range(3):  # others may use this machine, too: one undisturbed sample is enough
        few = [microseconds(1000) for _ in range(20)]
        many = microseconds(1_000_000)
        few += [microseconds(1000) for _ in range(20)]
        samples.append((many, sorted(few)[len(few) // 2]))
        if many <= 1.5 * samples[-1][1]:
            return
    pytest.fail(f"microseconds a node, of many and of few: {samples}")


def test_a_million_nodes_dropped_without_backward() -> None:
    y = leaf(1.0)
    for _ in range(1_000_000):
        y = y + 1.0
    del y


def test_threads_with_graphs_over_one_leaf() -> None:
    x = leaf(np.ones(10))
    losses = [(x * float(i)).sum() for i in range(20)]
    threads = [threading.Thread(target=loss.backward) for loss in losses]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert x.grad.array.tolist() == [190.0] * 10


def test_seeds_are_converted_to_the_type_of_the_root() -> None:
    x = ag.tensor([1.0, 2.0], dtype=ag.float32, requires_grad=True)
    (x * 2).backward(np.array([1.0, 10.0]))
    assert x.grad.dtype == ag.float32
    assert x.grad.array.tolist() == [2, 20]
    x.zero_grad()
    (x * 2).backward([1, 10])
    assert x.grad.array.tolist() == [2, 20]


def test_complex_gradients_point_to_steepest_ascent() -> None:
    z = leaf([3.0 + 4.0j])
    ag.abs(z).sum().backward()
    assert z.grad.array.tolist() == pytest.approx([0.6 + 0.8j], rel=1e-15)
    z.zero_grad()
    ag.real(z * (1.0 + 2.0j)).sum().backward()  # of real(z w): the conjugate of w
    assert z.grad.array.tolist() == [1.0 - 2.0j]
    x = leaf([1.0])
    ag.abs(x * 2j).sum().backward()
    assert x.grad.array.tolist() == [2.0]
    assert x.grad.dtype == ag.float64


def test_a_complex_root_needs_a_gradient() -> None:
    with pytest.raises(ag.ShapeError, match="only for real scalar outputs"):
        (leaf(1.0) * 1j).backward()

"""Writes in place against programs that do without them."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from inplace_programs import Functional, Instruction, Library, loss_of

import arraygrad as ag

small = st.integers(0, 63)
programs = st.lists(st.tuples(small, small, small, small), min_size=3, max_size=16)


def compare(program: list[Instruction], device: str = "cpu", kind: type[Library] = Library) -> str:
    library, model = kind(device), Functional()
    with np.errstate(all="ignore"):
        library.run(program)
        model.run(program)
    largest = [np.max(np.abs(np.asarray(ag.to_device(tensor.detach(), "cpu")))) for tensor in library.tensors]
    assume(all(value < 1e3 for value in largest))
    assert library.refused == model.refused
    assert len(library.tensors) == len(model.tensors)
    expected = [model.read(block) for block in model.tensors]
    for tensor, value in zip(library.tensors, expected, strict=True):
        assert tensor.requires_grad == value.requires_grad
        np.testing.assert_allclose(np.asarray(ag.to_device(tensor.detach(), "cpu")), value.array, rtol=1e-12)
    loss = loss_of(library, library.tensors)
    try:
        loss.backward()
    except ag.VersionError:
        assert model.lost  # a write without history may have spoiled what was saved
        return "stale"
    loss_of(model, expected).backward()
    for tensor, block in zip(library.leaves, model.leaves, strict=True):
        np.testing.assert_allclose(
            np.asarray(ag.to_device(tensor.grad, "cpu")), block.leaf.grad.array, rtol=1e-9, atol=1e-12
        )
    return "equal"


@settings(max_examples=100)
@given(programs)
def test_second_derivatives_of_random_programs(program: list[Instruction]) -> None:
    seconds = []
    machines = Library(), Functional()
    for machine in machines:
        with np.errstate(all="ignore"):
            machine.run(program)
        values = machine.tensors if machine is machines[0] else [machine.read(block) for block in machine.tensors]
        assume(all(np.all(np.abs(value.detach().array) < 1e3) for value in values))
        leaves = machine.leaves if machine is machines[0] else [block.leaf for block in machine.leaves]
        try:
            slopes = ag.gradients(loss_of(machine, values), leaves, create_graph=True, allow_unused=True)
            total = sum(ag.sum(ag.sin(slope * 0.1)) for slope in slopes if slope is not None)
            seconds.append(ag.gradients(total, leaves, allow_unused=True) if total.requires_grad else (None, None))
        except ag.VersionError:
            assume(False)
    for found, expected in zip(*seconds, strict=True):
        zero = np.zeros(()) if expected is None else expected.array * 0.0
        found, expected = (zero if grad is None else grad.array for grad in (found, expected))
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10)


@settings(max_examples=300)
@given(programs)
def test_random_programs(program: list[Instruction]) -> None:
    compare(program)


@settings(max_examples=60)
@given(programs)
def test_random_programs_on_strict(program: list[Instruction]) -> None:
    compare(program, "strict:device1")


@pytest.mark.slow
@settings(max_examples=10_000)
@given(programs)
def test_many_random_programs(program: list[Instruction]) -> None:
    compare(program)


def leaf(values: object) -> ag.Tensor:
    return ag.tensor(values, requires_grad=True)


def test_a_region_of_a_sum_in_another_order_of_memory() -> None:
    # Two cotangents in the order of Fortran are added; a reshape of their sum would be a copy.
    x, w = leaf(np.ones((2, 3))), np.asfortranarray(np.arange(6.0).reshape(2, 3))
    y = x * 1.0
    flat = y.reshape(-1)
    y[0, 0] = 2.0
    loss = ag.sum(y * w) + ag.sum(y * w) + ag.sum(flat[1:] * 10.0)
    loss.backward()
    assert x.grad.array.tolist() == [[0, 12, 14], [16, 18, 20]]


def test_the_gradient_that_came_in_is_not_written_to() -> None:
    x, g = leaf([1.0, 2.0]), ag.tensor([3.0, 4.0])
    y = x * 1.0
    y[0] = 5.0
    y.backward(g, retain_graph=True)
    assert ag.gradients(y, x, g).array.tolist() == [0, 4]
    assert x.grad.array.tolist() == [0, 4]
    assert g.array.tolist() == [3, 4]


def test_repeated_indices_cover_less_than_their_number() -> None:
    x = leaf([1.0, 2.0, 3.0])
    y = x * 2.0
    y[np.array([0, 0, 1])] = 5.0
    ag.sum(y * y).backward()
    assert x.grad.array.tolist() == [0, 0, 24]


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize("index", [slice(None), ..., np.array([True, True])])
def test_what_was_replaced_as_a_whole_passes_on_no_nan(index: object) -> None:
    x = leaf([0.0, 0.0])
    y = ag.sqrt(x) / x.array.shape[0]
    y[index] = x * 3.0
    ag.sum(y).backward()
    assert x.grad.array.tolist() == [3, 3]


def test_a_leaf_whose_results_were_replaced_has_a_gradient_of_zeros() -> None:
    x = leaf([1.0, 2.0])
    y = x * 2.0
    y.zero_()
    ag.sum(y).backward()
    assert x.grad.array.tolist() == [0, 0]


def test_a_view_saved_before_and_after_a_write() -> None:
    x = leaf([1.0, 2.0, 3.0])
    y = x * 1.0
    view = y[1:]
    before = ag.sum(view * view)
    y[2] = x[0] * 10.0
    after = ag.sum(view * view)
    (before + after).backward()
    assert x.grad.array.tolist() == [2 * 10 * 10, 8, 6]


def test_repeated_indices_the_last_write_wins_and_the_others_get_nothing() -> None:
    v, y = leaf([1.0, 2.0, 3.0]), ag.zeros(3)
    y[[0, 2, 2]] = v
    ag.sum(y * ag.tensor([1.0, 1.0, 4.0])).backward()
    assert y.array.tolist() == [1, 0, 3]
    assert v.grad.array.tolist() == [1, 0, 4]


def test_adding_at_repeated_indices() -> None:
    x, v = leaf([1.0, 2.0]), leaf([3.0, 4.0, 5.0])
    y = x * 1.0
    y.index_add_(0, [1, 1, 0], v)
    ag.sum(y * y).backward()
    assert y.array.tolist() == [6, 9]
    assert x.grad.array.tolist() == [12, 18]
    assert v.grad.array.tolist() == [18, 18, 12]
    z = x.detach() * 1.0
    z.scatter_add_(0, [1, 1], v)  # of the source only as much as there are indices
    ag.sum(z).backward()
    assert v.grad.array.tolist() == [19, 19, 12]


def test_complex_memory_is_written_through_its_parts() -> None:
    x, v = leaf([1.0 + 2.0j, 3.0 - 1.0j]), leaf([5.0, 6.0])
    y = x * 1.0
    ag.real(y)[:] = v
    ag.imag(y)[1] = v[0] * 2.0
    assert y.array.tolist() == [5 + 2j, 6 + 10j]
    ag.sum(ag.abs(y) ** 2).backward()
    # |y|^2 = v0^2 + x0.imag^2 + v1^2 + (2 v0)^2; the gradient of a complex leaf is d/dreal + i d/dimag.
    np.testing.assert_allclose(x.grad.array, [4j, 0], rtol=1e-14)
    np.testing.assert_allclose(v.grad.array, [10 + 8 * 5, 12], rtol=1e-14)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_writes_keep_data_types(dtype: str) -> None:
    x, v = ag.tensor([1.0, 2.0], dtype=dtype, requires_grad=True), leaf([3.0])
    y = x * 2
    y[:1] = v
    y *= v
    y += 1
    ag.sum(y).backward()
    assert (y.dtype.name, x.grad.dtype.name, v.grad.dtype.name) == (dtype, dtype, "float64")
    assert x.grad.array.tolist() == [0, 6]
    assert v.grad.array.tolist() == [6 + 4]


def test_a_diagonal_is_written() -> None:
    x, v = leaf(np.ones((2, 2))), leaf([3.0, 4.0])
    y = x * 1.0
    ag.linalg.diagonal(y)[:] = v
    ag.sum(y * y).backward()
    assert y.array.tolist() == [[3, 1], [1, 4]]
    assert x.grad.array.tolist() == [[0, 2], [2, 0]]
    assert v.grad.array.tolist() == [6, 8]


def test_views_made_inside_no_grad_refuse_what_would_lose_history() -> None:
    y = leaf([1.0, 2.0]) * 2.0
    with ag.no_grad():
        view = y[:1]
    with pytest.raises(ag.InplaceError, match="mul_: a view was created in no_grad mode and is being modified inplace"):
        view.mul_(2)
    assert y.version == 0
    with ag.no_grad():
        view.mul_(2)
    plain = ag.zeros(2)
    with ag.no_grad():
        view = plain[:1]
    view += 1.0  # no history to lose
    assert plain.array.tolist() == [1, 0]


def test_augmented_assignment_to_an_item_is_one_write() -> None:
    y = leaf([1.0, 2.0, 3.0]) * 1.0
    y[1:] += 1.0
    assert y.version == 1
    with ag.detect_anomaly():  # which the operations' general caller is for
        z = leaf([1.0, 2.0, 3.0]) * 1.0
        z[1:] += 1.0
    assert z.version == 1
    with ag.no_grad():
        y[0] *= 2.0
    assert y.version == 2


def test_retained_gradients_follow_the_new_history() -> None:
    x = leaf([1.0, 2.0])
    y = x * 1.0
    y.retain_grad()
    z = y * 3.0
    y[0] = 5.0
    y *= 2.0
    (ag.sum(y * y) + ag.sum(z)).backward()
    assert y.grad.array.tolist() == [20, 8]  # of y as it is at the end
    assert x.grad.array.tolist() == [3, 3 + 16]


def test_a_view_keeps_the_history_of_its_memory_alive() -> None:
    x = leaf([1.0, 2.0])
    view = (x * 3.0)[:1]
    view += x[1:]
    ag.sum(view).backward()
    assert x.grad.array.tolist() == [3, 1]


def test_shallow_copies_share_memory_and_history() -> None:
    import copy

    x = leaf([1.0, 2.0])
    y = x * 1.0
    other = copy.copy(y)
    y[0] = x[1] * 10.0
    assert other.array.tolist() == [20, 2]
    ag.sum(other).backward()
    assert x.grad.array.tolist() == [0, 11]


def test_anomaly_mode_says_where_the_write_was() -> None:
    x, constant = leaf([1.0]), ag.tensor([3.0])
    with ag.detect_anomaly():
        y = x * constant
        constant.add_(1.0)
        with pytest.raises(ag.VersionError) as error:
            y.backward()
    here = __file__
    assert f"MultiplyBackward saved it at {here}:" in str(error.value)
    assert f"and the write was at {here}:" in str(error.value)


def test_allowed_mutation_keeps_what_was_saved() -> None:
    x, constant = leaf([1.0]), ag.tensor([3.0])
    with ag.allow_mutation_on_saved_tensors():
        y = x * constant
        constant.add_(1.0)
        with ag.no_grad():
            constant.add_(1.0)
    z = x * constant
    (y + z).backward()
    assert x.grad.item() == 3 + 5
    z = x * constant
    constant.add_(1.0)
    with pytest.raises(ag.VersionError):
        z.backward()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["writes", "recurrence", "rows"])
def test_many_small_writes_cost_what_they_touch(kind: str) -> None:
    import time

    def run(width: int) -> float:
        a = leaf(np.linspace(0.0, 1.0, 400))
        y = ag.zeros(400 * width)
        rows = y.reshape(400, width)
        start = time.perf_counter()
        y[0] = a[0]
        for i in range(1, 400):
            if kind == "writes":
                y[width * i] = a[i]
            elif kind == "recurrence":
                y[i] = y[i - 1] * 0.99 + a[i]
            else:
                rows[i, :5] = rows[i - 1, :5] * 0.99 + a[i]
        ag.sum(y).backward()
        return time.perf_counter() - start

    pairs = [(run(5), run(500)) for _ in range(15)]  # 2,000 elements, and 200,000
    small, large = (min(column) for column in zip(*pairs, strict=True))
    assert large < 1.5 * small  # a copy for each write would make it several times more


def test_numpys_out_is_written_with_its_history() -> None:
    x, out = leaf([1.0, 2.0]), ag.zeros(2)
    assert np.multiply(x, x, out=out) is out
    ag.sum(out * np.add(out, 1.0, out=(out,))).backward()
    assert out.array.tolist() == [2, 5]
    assert x.grad.array.tolist() == [2 * 2 * 2, 2 * 5 * 4]
    with pytest.raises(ag.ShapeError, match=r"np.add got out= of shape \[2\] for a result of shape \[3\]"):
        np.add(ag.ones(3), 1.0, out=out)
    with pytest.raises(ag.DtypeError, match="cannot write a Tensor into a NumPy array"):
        np.add(x, 1.0, out=np.zeros(2))


def test_values_of_cases_are_written_into_new_memory() -> None:
    def f(row: ag.Tensor) -> ag.Tensor:
        y = ag.zeros(3)
        y[1:] = row[:-1] ** 2
        y[0] += row[2]
        return y

    x = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    assert ag.vmap(f)(x).array.tolist() == [[3, 1, 4], [6, 16, 25]]
    for mode in ("forward", "reverse"):
        assert ag.jacobian(f, mode=mode)(x[0]).array.tolist() == [[0, 0, 1], [2, 0, 0], [0, 4, 0]]

    def viewed(row: ag.Tensor) -> ag.Tensor:
        y = ag.zeros(3)
        first = y[:1]
        y[1:] = row[:-1]
        return first

    with pytest.raises(ag.InplaceError, match="inside vmap a value that differs from case to case"):
        ag.vmap(viewed)(x)


def test_writes_make_no_reference_cycles() -> None:
    x = leaf([1.0, 2.0, 3.0])
    gc.collect()
    gc.disable()
    try:
        y = x * 1.0
        view = y[1:]
        y[0] = x[1] * 2.0
        view *= y[0]
        alive = [weakref.ref(thing) for thing in (y, y.grad_fn, view, view.grad_fn)]
        del y, view
        assert [reference() for reference in alive] == [None] * 4
    finally:
        gc.enable()


def test_a_long_recurrence_does_not_recurse() -> None:
    growth, y = leaf(1.0), ag.zeros(20_000)
    y[0] = 1.0
    for i in range(1, 20_000):
        y[i] = y[i - 1] * growth
    y[-1].backward()
    assert growth.grad.item() == 19_999


def test_real_and_imaginary_parts_are_assigned() -> None:
    x = ag.tensor([1.0 + 2.0j, 3.0], requires_grad=True)
    z = x * 1.0
    z.real *= 2.0
    z.imag = ag.real(x) * 3.0
    assert z.version == 2
    np.testing.assert_allclose(z.array, [2 + 3j, 6 + 9j])
    ag.sum(ag.real(z) + 10.0 * ag.imag(z)).backward()
    np.testing.assert_allclose(x.grad.array, [32, 32])
    with pytest.raises(ag.DtypeError, match="a tensor of float64 has no imaginary part to write to"):
        ag.zeros(2).imag = 1.0

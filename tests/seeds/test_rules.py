"""What the engine promises and refuses: state, modes, seeds, accumulation, writes in place, lifetimes."""

from __future__ import annotations

import gc
import re
import threading
import weakref

import numpy as np
import pytest

import arraygrad as ag
from arraygrad import op as op_module
from arraygrad.tensor import ArrayLike


def leaf(values):
    return ag.tensor(values, dtype="float64", requires_grad=True)


def plain(values):
    return ag.tensor(values, dtype="float64")


def close(tensor, expected, atol=0.0):
    np.testing.assert_allclose(tensor.numpy(), np.asarray(expected, dtype="float64"), rtol=0, atol=atol, strict=True)


def raises(kind, text):
    return pytest.raises(kind, match=re.escape(text))


@pytest.fixture
def no_collector():
    """Only reference counting frees: a cycle would stay."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def scratch_ops(monkeypatch):
    """Operations declared by a test are forgotten after it."""
    monkeypatch.setattr(op_module, "OPS", dict(op_module.OPS))


# ---- State of tensors


class TestFields:
    def test_defaults(self):
        x = plain([1, 2])
        assert (x.requires_grad, x.grad, x.grad_fn, x.is_leaf, x.version) == (False, None, None, True, 0)

    def test_leaf_that_requires_grad(self):
        x = plain([1, 2]).requires_grad_()
        assert (x.requires_grad, x.grad, x.grad_fn, x.is_leaf) == (True, None, None, True)

    def test_flag_can_be_taken_back(self):
        x = leaf([1, 2]).requires_grad_(False)
        assert not x.requires_grad
        assert not (x * 2).requires_grad

    def test_result_has_history(self):
        y = leaf([1, 2]) * 2
        assert (y.requires_grad, y.is_leaf, y.grad_fn.name) == (True, False, "MultiplyBackward")

    def test_result_of_plain_tensors_has_none(self):
        y = plain([1, 2]) * 2
        assert (y.requires_grad, y.is_leaf, y.grad_fn) == (False, True, None)

    @pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "bool"])
    def test_only_floating_point_can_require_grad(self, dtype):
        x = ag.tensor([1, 0], dtype=dtype)
        with raises(TypeError, "only floating point tensors can require gradients"):
            x.requires_grad_()
        assert not x.requires_grad

    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_floating_point_can(self, dtype):
        assert ag.tensor([1, 0], dtype=dtype).requires_grad_().requires_grad

    def test_flag_of_a_result_cannot_change(self):
        x = leaf([1, 2])
        y = x * 2
        with raises(RuntimeError, "you can only change requires_grad flags of leaf tensors"):
            y.requires_grad_(False)
        y.sum().backward()
        close(x.grad, [2, 2])

    def test_view_does_not_inherit_the_flag_without_history(self):
        x = plain([1, 2, 3])
        view = x[1:]
        x.requires_grad_()
        assert not view.requires_grad

    def test_view_of_a_leaf_has_history_of_its_own(self):
        x = leaf([1, 2, 3])
        view = x[1:]
        assert view.requires_grad
        assert not view.is_leaf
        assert x.is_leaf

    def test_only_leaves_store_gradients(self):
        x = leaf([1, 2])
        middle = x * 3
        loss = middle.sum()
        loss.backward()
        assert middle.grad is loss.grad is None
        close(x.grad, [3, 3])

    def test_zero_grad_sets_none(self):
        x = leaf([1, 2])
        (x * 2).sum().backward()
        x.zero_grad()
        assert x.grad is None

    def test_constants_receive_nothing(self):
        x, c = leaf([1, 2]), plain([3, 4])
        y = x * c * 2.0
        y.sum().backward()
        assert c.grad is None
        close(x.grad, [6, 8])


# ---- Modes


class TestGradMode:
    def test_is_on_by_default(self):
        assert ag.is_grad_enabled()

    def test_nothing_is_recorded_without_it(self):
        x = leaf([1, 2])
        with ag.no_grad():
            y = x * 2
        assert (y.requires_grad, y.is_leaf) == (False, True)

    def test_is_restored_on_exit(self):
        with ag.no_grad():
            assert not ag.is_grad_enabled()
        assert ag.is_grad_enabled()

    def test_nests(self):
        seen = []
        with ag.no_grad():
            with ag.enable_grad():
                with ag.no_grad():
                    seen.append(ag.is_grad_enabled())
                seen.append(ag.is_grad_enabled())
            seen.append(ag.is_grad_enabled())
        seen.append(ag.is_grad_enabled())
        assert seen == [False, True, False, True]

    @pytest.mark.parametrize("mode", [ag.no_grad, ag.enable_grad], ids=["no_grad", "enable_grad"])
    @pytest.mark.parametrize("before", [True, False])
    def test_exception_restores(self, mode, before):
        def fail():
            with mode():
                raise KeyError

        with ag.set_grad_enabled(before):
            with pytest.raises(KeyError):
                fail()
            assert ag.is_grad_enabled() is before

    def test_enable_inside_disable_records(self):
        x = leaf([1, 2])
        with ag.no_grad(), ag.enable_grad():
            y = x * 2
        assert y.requires_grad

    @pytest.mark.parametrize("flag", [True, False])
    def test_set_grad_enabled(self, flag):
        with ag.set_grad_enabled(flag):
            assert ag.is_grad_enabled() is flag
        assert ag.is_grad_enabled()

    def test_function_runs_without_recording_and_returns_its_result(self):
        x = leaf([1, 2])

        @ag.no_grad()
        def double(a):
            return a * 2

        y = double(x)
        close(y, [2, 4])
        assert ag.is_grad_enabled()

    def test_one_thread_evaluates_while_another_trains(self):
        entered, checked = threading.Event(), threading.Event()
        seen = []

        def evaluate():
            seen.append(ag.is_grad_enabled())
            with ag.no_grad():
                entered.set()
                checked.wait(10)
                seen.append(ag.is_grad_enabled())

        thread = threading.Thread(target=evaluate)
        thread.start()
        assert entered.wait(10)
        here = ag.is_grad_enabled()
        checked.set()
        thread.join(10)
        assert (here, seen) == (True, [True, False])

    def test_new_thread_records_although_its_parent_does_not(self):
        seen = []
        with ag.no_grad():
            thread = threading.Thread(target=lambda: seen.append(ag.is_grad_enabled()))
            thread.start()
            thread.join(10)
        assert seen == [True]

    def test_backward_leaves_the_mode_alone(self):
        y = leaf([1, 2]).sum()
        y.backward()
        assert ag.is_grad_enabled()
        with pytest.raises(RuntimeError):
            y.backward()
        assert ag.is_grad_enabled()

    def test_backward_runs_inside_no_grad(self):
        x = leaf([1, 2])
        y = (x * x).sum()
        with ag.no_grad():
            y.backward()
        close(x.grad, [2, 4])

    def test_nothing_is_kept_without_recording(self, no_collector):
        x = leaf([1, 2])
        with ag.no_grad():
            middle = x * 2
            reference = weakref.ref(middle.array)
            y = ag.exp(middle)
        del middle
        assert reference() is None
        assert y.is_leaf


# ---- Seeds and roots


class TestSeeds:
    @pytest.mark.parametrize("shape", [(), (1,), (1, 1)], ids=str)
    def test_one_element_needs_no_seed(self, shape):
        x = leaf(np.full(shape, 3.0))
        (x * x).backward()
        close(x.grad, np.full(shape, 6.0))

    def test_several_elements_need_one(self):
        x = leaf([1, 2])
        y = x * 2
        with raises(ValueError, "grad can be implicitly created only for scalar outputs, got shape [2]"):
            y.backward()
        assert x.grad is None
        y.backward([1, 1])
        close(x.grad, [2, 2])

    def test_seed_of_another_shape(self):
        x = leaf([1, 2])
        y = x * 2
        with raises(ValueError, "gradient shape [3] does not match output shape [2]"):
            y.backward([1, 1, 1])
        assert x.grad is None
        y.backward([1, 1])
        close(x.grad, [2, 2])

    def test_explicit_seed(self):
        x = leaf([5, 6, 7])
        (x * 2.0).backward([1, 0, -1])
        close(x.grad, [2, 0, -2])

    def test_seed_weighs_the_outputs(self):
        """Seeding y with v is the gradient of sum(v * y)."""
        values, v = [0.5, -1.0, 2.0], [3.0, 5.0, 7.0]
        seeded, weighted = leaf(values), leaf(values)
        ag.tanh(seeded).backward(v)
        (ag.tanh(weighted) * plain(v)).sum().backward()
        close(seeded.grad, weighted.grad.numpy())

    @pytest.mark.parametrize("make", [list, np.asarray, plain], ids=["list", "array", "tensor"])
    def test_kinds_of_seeds(self, make):
        x = leaf([1, 2])
        (x * 2).backward(make([1.0, 10.0]))
        close(x.grad, [2, 20])

    def test_seed_is_cast_to_the_root(self):
        x = ag.tensor([1.0, 2.0], dtype="float32", requires_grad=True)
        (x * 2).backward(plain([1, 10]))
        assert x.grad.dtype == np.float32
        np.testing.assert_array_equal(x.grad.numpy(), [2, 20])

    def test_root_without_history(self):
        with raises(RuntimeError, "backward needs a tensor that requires grad"):
            plain([1]).backward()

    def test_root_made_without_recording(self):
        x = leaf([1, 2])
        with ag.no_grad():
            y = x.sum()
        with raises(RuntimeError, "backward needs a tensor that requires grad"):
            y.backward()
        assert x.grad is None

    def test_leaf_as_root(self):
        x = leaf([7])
        x.backward()
        close(x.grad, [1])

    def test_leaf_as_root_twice(self):
        x = leaf([7])
        x.backward()
        x.backward()
        close(x.grad, [2])

    def test_leaf_as_root_with_a_seed(self):
        x = leaf([7, 8])
        x.backward([3, 4])
        close(x.grad, [3, 4])


# ---- Accumulation


class TestAccumulation:
    def test_repeated_input(self):
        x = leaf([3])
        (x * x).backward()
        close(x.grad, [6])

    def test_one_leaf_in_two_graphs(self):
        x = leaf([1, 2])
        (x * 2).sum().backward()
        (x * 3).sum().backward()
        close(x.grad, [5, 5])

    def test_forgotten_zero_grad_adds_the_last_step(self):
        x = leaf([1, 2])
        for _ in range(2):
            (x * x).sum().backward()
        close(x.grad, [4, 8])

    def test_zero_grad_between_steps(self):
        x = leaf([1, 2])
        for _ in range(2):
            x.zero_grad()
            (x * x).sum().backward()
        close(x.grad, [2, 4])

    @pytest.mark.parametrize("calls", [1, 2, 3, 4, 5])
    def test_calls_on_a_sum_leave_as_many_copies(self, calls):
        """Cotangents that were kept would leave 1, 3, 6, 10 and 15 copies."""
        x = leaf([1, 2])
        y = x.sum()
        for _ in range(calls):
            y.backward(retain_graph=True)
        close(x.grad, [calls, calls])

    @pytest.mark.parametrize("calls", [1, 2, 3, 4, 5])
    def test_calls_on_a_sum_of_squares_leave_as_many_copies(self, calls):
        """Cotangents that were kept would leave 1, 4, 10, 20 and 35 copies."""
        x = leaf([1, 2])
        y = (x * x).sum()
        for _ in range(calls):
            y.backward(retain_graph=True)
        close(x.grad, [2 * calls, 4 * calls])

    def test_micro_batches(self):
        """The gradient of a sum of losses, in pieces."""
        inputs = np.random.default_rng(3).normal(size=(6, 2))
        whole, pieces = leaf([0.5, -1.0]), leaf([0.5, -1.0])
        ag.sum((plain(inputs) @ whole) ** 2).backward()
        for part in np.split(inputs, 3):
            ag.sum((plain(part) @ pieces) ** 2).backward()
        close(pieces.grad, whole.grad.numpy(), atol=1e-14)

    def test_gradient_is_a_plain_tensor(self):
        x = leaf([1, 2])
        (x * 3).sum().backward()
        close(x.grad, [3, 3])
        assert (x.grad.requires_grad, x.grad.is_leaf) == (False, True)

    def test_gradient_is_a_copy_of_the_seed(self):
        x, seed = leaf([1, 2]), plain([3, 4])
        x.backward(seed)
        seed.add_(1)
        close(x.grad, [3, 4])

    def test_gradient_does_not_change_the_seed(self):
        x, seed = leaf([1, 2]), plain([3, 4])
        x.backward(seed)
        x.backward(seed)
        close(seed, [3, 4])
        close(x.grad, [6, 8])

    def test_leaves_that_receive_one_cotangent_do_not_share_it(self):
        a, b = leaf([1, 2]), leaf([3, 4])
        (a + b).backward([5, 6])
        assert not np.shares_memory(a.grad.array, b.grad.array)
        a.grad.add_(1)
        close(b.grad, [5, 6])

    def test_gradient_of_an_output_saved_for_backward_is_not_shared(self):
        x, c = leaf([1, 2]), plain([3, 4])
        (x * c).sum().backward()
        x.grad.add_(1)
        close(c, [3, 4])

    def test_sum_into_one_branch_leaves_the_other_branch_alone(self):
        """An addition sends one cotangent to both inputs; adding to it in place would reach u's node too."""
        x, w = leaf([1, 2]), leaf([10, 20])
        u = x * w
        (u + x + x).sum().backward()
        close(w.grad, [1, 2])
        close(x.grad, [12, 22])


class TestSharedGraphs:
    def test_only_the_subgraph_of_the_root_counts(self):
        """A node that another loss uses too does not wait for that loss."""
        x = leaf([1, 2])
        shared = x * 2
        loss1, loss2 = (shared * 3).sum(), (shared * 5).sum()
        loss1.backward(retain_graph=True)
        close(x.grad, [6, 6])
        loss2.backward()
        close(x.grad, [16, 16])

    def test_root_inside_a_larger_graph(self):
        x = leaf([3])
        y = x * x
        z = y * 2
        y.backward()
        close(x.grad, [6])
        assert z.grad_fn is not None

    def test_node_without_a_cotangent_is_skipped(self, scratch_ops):
        """Its inputs still run: x gets what comes on the other way."""

        @op_module.general(lambda g: None)
        def blocked(xp, x: ArrayLike, /):
            return xp.asarray(x, copy=True)

        x = leaf([1, 2])
        (blocked(ag.exp(x) * x) + x * 3).sum().backward()
        close(x.grad, [3, 3])

    def test_leaf_that_only_blocked_ways_reach_has_no_gradient(self, scratch_ops):
        @op_module.general(lambda g: None)
        def blocked(xp, x: ArrayLike, /):
            return xp.asarray(x, copy=True)

        x = leaf([1, 2])
        blocked(x * 2).sum().backward()
        assert x.grad is None


# ---- Second backward


SECOND = "Trying to backward through the graph a second time (SumBackward); specify retain_graph=True"


class TestSecondBackward:
    def test_is_refused(self):
        x = leaf([1, 2])
        y = (x * x).sum()
        y.backward()
        with raises(RuntimeError, SECOND):
            y.backward()
        close(x.grad, [2, 4])

    def test_is_refused_where_nothing_was_saved(self):
        x = leaf([1, 2])
        y = x.sum()
        y.backward()
        with raises(RuntimeError, SECOND):
            y.backward()
        close(x.grad, [1, 1])

    def test_works_with_retain_graph(self):
        x = leaf([1, 2])
        y = (x * x).sum()
        y.backward(retain_graph=True)
        y.backward()
        close(x.grad, [4, 8])
        with raises(RuntimeError, SECOND):
            y.backward()

    def test_through_a_shared_part_changes_no_gradient(self):
        x, w = leaf([1, 2]), leaf([3, 4])
        shared = x * x
        loss1, loss2 = shared.sum(), (shared * w).sum()
        loss1.backward()
        with raises(RuntimeError, "Trying to backward through the graph a second time (MultiplyBackward)"):
            loss2.backward()
        close(x.grad, [2, 4])
        assert w.grad is None

    @pytest.mark.parametrize("retain_graph", [False, True])
    def test_saved_arrays_are_freed_while_the_root_lives(self, no_collector, retain_graph):
        x = leaf([1, 2])
        middle = x * 2
        reference = weakref.ref(middle.array)
        loss = (middle * middle).sum()
        del middle
        assert reference() is not None
        loss.backward(retain_graph=retain_graph)
        assert (reference() is not None) is retain_graph
        close(x.grad, [8, 16])


# ---- retain_grad and detach


class TestRetainGrad:
    def test_stores_the_gradient_of_an_intermediate(self):
        x = leaf([1, 2])
        middle = x * 3
        middle.retain_grad()
        (middle * 2).sum().backward()
        close(middle.grad, [2, 2])
        close(x.grad, [6, 6])

    def test_second_call_replaces_what_is_stored(self):
        x = leaf([1, 2])
        middle = x * 3
        middle.retain_grad()
        loss = (middle * 2).sum()
        loss.backward(retain_graph=True)
        loss.backward()
        close(middle.grad, [2, 2])
        close(x.grad, [12, 12])

    def test_of_the_root(self):
        y = leaf([1, 2]).sum()
        y.retain_grad()
        y.backward()
        close(y.grad, 1)

    def test_of_a_leaf_changes_nothing(self):
        x = leaf([1, 2])
        x.retain_grad()
        (x * 2).sum().backward()
        close(x.grad, [2, 2])

    def test_needs_requires_grad(self):
        with raises(RuntimeError, "retain_grad needs a tensor that requires grad"):
            plain([1]).retain_grad()

    def test_does_not_keep_the_tensor_alive(self, no_collector):
        x = leaf([1, 2])
        middle = x * 3
        middle.retain_grad()
        reference = weakref.ref(middle)
        loss = (middle * 2).sum()
        del middle
        assert reference() is None
        loss.backward()
        close(x.grad, [6, 6])


class TestDetach:
    def test_cuts_the_gradient(self):
        x = leaf([1, 2])
        (x.detach() * x).sum().backward()
        close(x.grad, [1, 2])

    def test_is_a_plain_leaf_on_the_same_memory(self):
        y = leaf([1, 2]) * 2
        alias = y.detach()
        assert (alias.requires_grad, alias.is_leaf) == (False, True)
        assert np.shares_memory(alias.array, y.array)

    def test_in_place_makes_a_leaf(self):
        y = leaf([1, 2]) * 2
        assert y.detach_() is y
        assert (y.requires_grad, y.is_leaf, y.grad_fn) == (False, True, None)

    def test_in_place_on_a_leaf_in_the_graph_skips_its_gradient(self):
        x, w = leaf([1, 2]), leaf([3, 4])
        loss = (x * w).sum()
        x.detach_()
        loss.backward()
        assert x.grad is None
        close(w.grad, [1, 2])

    def test_in_place_on_a_retained_output_skips_its_gradient(self):
        x = leaf([1, 2])
        y = x * 2
        y.retain_grad()
        loss = (y * 3).sum()
        y.detach_()
        loss.backward()
        assert y.grad is None
        close(x.grad, [6, 6])


# ---- Writing in place

WRITES = {
    "add_": (lambda x, s: x.add_(s), [3, 4]),
    "sub_": (lambda x, s: x.sub_(s), [-1, 0]),
    "mul_": (lambda x, s: x.mul_(s), [2, 4]),
    "div_": (lambda x, s: x.div_(s), [0.5, 1]),
    "copy_": (lambda x, s: x.copy_(s), [2, 2]),
    "fill_": (lambda x, s: x.fill_(s[0]), [2, 2]),
    "zero_": (lambda x, s: x.zero_(), [0, 0]),
    "index_add_": (lambda x, s: x.index_add_(0, ag.tensor([1, 1]), s), [1, 6]),
    "scatter_add_": (lambda x, s: x.scatter_add_(0, ag.tensor([1, 1]), s), [1, 6]),
    "__setitem__": (lambda x, s: x.__setitem__(slice(None), s), [2, 2]),
    "+=": (lambda x, s: x.__iadd__(s), [3, 4]),
    "-=": (lambda x, s: x.__isub__(s), [-1, 0]),
    "*=": (lambda x, s: x.__imul__(s), [2, 4]),
    "/=": (lambda x, s: x.__itruediv__(s), [0.5, 1]),
}
#: By hand: of the sum of what is written, the slope in each element of the target; and, with the elements of what is
#: written weighted by 1 and 10, the slope in each element of the source.
SLOPES = {
    "add_": ([1, 1], [1, 10]),
    "sub_": ([1, 1], [-1, -10]),
    "mul_": ([2, 2], [1, 20]),
    "div_": ([0.5, 0.5], [-0.25, -5]),
    "copy_": ([0, 0], [1, 10]),
    "fill_": ([0, 0], [11, 0]),
    "zero_": ([0, 0], None),
    "index_add_": ([1, 1], [10, 10]),
    "scatter_add_": ([1, 1], [10, 10]),
    "__setitem__": ([0, 0], [1, 10]),
}
SLOPES |= {"+=": SLOPES["add_"], "-=": SLOPES["sub_"], "*=": SLOPES["mul_"], "/=": SLOPES["div_"]}
NAMES = {"+=": "add_", "-=": "sub_", "*=": "mul_", "/=": "div_"}

every_write = pytest.mark.parametrize("name", WRITES)


class TestInPlace:
    """The targets [1, 2] and the source [2, 2]."""

    @every_write
    @pytest.mark.parametrize("enabled", [True, False], ids=["mode on", "mode off"])
    def test_plain_tensor_is_written_and_counted(self, name, enabled):
        write, expected = WRITES[name]
        x = plain([1, 2])
        with ag.set_grad_enabled(enabled):
            write(x, plain([2, 2]))
        close(x, expected)
        assert x.version == 1

    @every_write
    def test_leaf_is_refused(self, name):
        x = leaf([1, 2])
        text = f"a leaf tensor that requires grad is being used in the in-place operation {NAMES.get(name, name)}"
        with raises(RuntimeError, text):
            WRITES[name][0](x, plain([2, 2]))
        close(x.detach(), [1, 2])
        assert x.version == 0

    @every_write
    def test_leaf_is_updated_without_recording(self, name):
        write, expected = WRITES[name]
        x = leaf([1, 2])
        with ag.no_grad():
            write(x, plain([2, 2]))
        close(x.detach(), expected)
        assert (x.version, x.requires_grad, x.is_leaf) == (1, True, True)

    @every_write
    def test_tensor_with_history_is_written_with_its_history(self, name):
        write, expected = WRITES[name]
        x, before = leaf([0.5, 1]), plain([3, 5])
        y = x * 2
        z = y * before
        write(y, plain([2, 2]))
        close(y.detach(), expected)
        assert (y.version, y.requires_grad, y.is_leaf) == (1, True, False)
        (y.sum() + z.sum()).backward()
        through_y = [2 * slope for slope in SLOPES[name][0]]
        close(x.grad, [through_y[0] + 6, through_y[1] + 10])

    @every_write
    def test_tensor_with_history_is_written_without_recording(self, name):
        write, expected = WRITES[name]
        y = leaf([0.5, 1]) * 2
        with ag.no_grad():
            write(y, plain([2, 2]))
        close(y.detach(), expected)
        assert (y.version, y.requires_grad) == (1, True)

    @pytest.mark.parametrize("name", [name for name in WRITES if name != "zero_"])
    def test_source_that_requires_grad_passes_its_history_on(self, name):
        write, expected = WRITES[name]
        x, source = plain([1, 2]), leaf([2, 2])
        write(x, source)
        close(x.detach(), expected)
        assert (x.version, x.requires_grad, source.version) == (1, True, 0)
        (x * plain([1, 10])).sum().backward()
        close(source.grad, SLOPES[name][1])

    @pytest.mark.parametrize("name", [name for name in WRITES if name != "zero_"])
    def test_source_that_requires_grad_is_read_without_recording(self, name):
        write, expected = WRITES[name]
        x = plain([1, 2])
        with ag.no_grad():
            write(x, leaf([2, 2]))
        close(x, expected)
        assert (x.version, x.requires_grad) == (1, False)

    def test_augmented_assignment_keeps_the_object(self):
        p = q = leaf([1, 2])
        with ag.no_grad():
            p -= 0.5
        assert p is q
        close(q.detach(), [0.5, 1.5])


class TestVersion:
    def test_counts_each_write(self):
        x = plain([1, 2])
        x.add_(1).mul_(2)
        x[0] = 5.0
        assert x.version == 3

    def test_is_shared_by_views_and_aliases(self):
        x = plain([1, 2, 3])
        view, alias = x[1:], x.detach()
        view.add_(1)
        assert x.version == view.version == alias.version == 1
        alias.add_(1)
        assert x.version == view.version == alias.version == 2

    def test_copies_have_their_own(self):
        x = plain([1, 2])
        copy = x.clone()
        x.add_(1)
        assert (x.version, copy.version) == (1, 0)


STALE = (
    "one of the variables needed for gradient computation has been modified by an inplace operation: "
    "expected version {}, got {}"
)


class TestStaleValues:
    def product(self):
        x, constant = leaf([1, 2]), plain([3, 4])
        return x, constant, (x * constant).sum()

    @pytest.mark.parametrize(
        "write",
        [
            lambda c: c.add_(1),
            lambda c: c[:1].add_(1),
            lambda c: c.detach().add_(1),
            lambda c: c.reshape(2, 1).add_(1),
            lambda c: c.__setitem__(0, 5.0),
            lambda c: c.fill_(0),
        ],
        ids=["itself", "view", "alias", "reshaped", "element", "fill"],
    )
    def test_written_input(self, write):
        x, constant, y = self.product()
        write(constant)
        with raises(RuntimeError, STALE.format(0, 1)):
            y.backward()
        assert x.grad is None

    def test_two_writes(self):
        _, constant, y = self.product()
        constant.add_(1).add_(1)
        with raises(RuntimeError, STALE.format(0, 2)):
            y.backward()

    def test_written_before_and_after(self):
        constant = plain([3, 4])
        constant.add_(1)
        y = (leaf([1, 2]) * constant).sum()
        constant.add_(1)
        with raises(RuntimeError, STALE.format(1, 2)):
            y.backward()

    def test_written_before_only(self):
        x, constant = leaf([1, 2]), plain([3, 4])
        constant.add_(1)
        (x * constant).sum().backward()
        close(x.grad, [4, 5])

    def test_saved_output_written_through_an_alias(self):
        x = leaf([1, 2])
        y = ag.exp(x)
        y.detach().add_(1)
        with raises(RuntimeError, STALE.format(0, 1)):
            y.sum().backward()
        assert x.grad is None

    def test_step_between_forward_and_backward(self):
        """The second layer saved its weight for the gradient of its input."""
        w1, w2 = leaf(np.ones((3, 2))), leaf(np.ones((2, 1)))
        loss = (plain([[1, 2, 3]]) @ w1 @ w2).sum()
        with ag.no_grad():
            w2.sub_(0.1)
        with raises(RuntimeError, STALE.format(0, 1)):
            loss.backward()
        assert w1.grad is w2.grad is None

    def test_step_after_backward(self):
        w = leaf([1, 2])
        for _ in range(2):
            (w * w).sum().backward()
            with ag.no_grad():
                w.sub_(w.grad * 0.25)
            w.zero_grad()
        close(w.detach(), [0.25, 0.5])

    def test_write_to_what_was_not_saved(self):
        """Only the other factor is needed for the gradient of the one that requires it."""
        x, _, y = self.product()
        with ag.no_grad():
            x.add_(1)
        y.backward()
        close(x.grad, [3, 4])

    def test_write_to_the_raw_array_is_not_seen(self):
        """Versions count the writes of tensors, not those behind their back."""
        x, constant, y = self.product()
        constant.array += 1
        y.backward()
        close(x.grad, [4, 5])


# What each operation saves. Where its output serves, it saves no input for it.
SAVES = {
    "add": (ag.add, 2, ""),
    "subtract": (ag.subtract, 2, ""),
    "multiply": (ag.multiply, 2, "x1 x2"),
    "divide": (ag.divide, 2, "x2 out"),
    "pow": (ag.pow, 2, "x1 x2 out"),
    "maximum": (ag.maximum, 2, "x1 x2"),
    "minimum": (ag.minimum, 2, "x1 x2"),
    "matmul": (lambda a, b: ag.matmul(a[None, :], b[:, None]), 2, "x1 x2"),
    "negative": (ag.negative, 1, ""),
    "abs": (ag.abs, 1, "x1"),
    "exp": (ag.exp, 1, "out"),
    "expm1": (ag.expm1, 1, "out"),
    "log": (ag.log, 1, "x1"),
    "log1p": (ag.log1p, 1, "x1"),
    "sqrt": (ag.sqrt, 1, "out"),
    "rsqrt": (ag.rsqrt, 1, "out"),
    "sin": (ag.sin, 1, "x1"),
    "cos": (ag.cos, 1, "x1"),
    "tanh": (ag.tanh, 1, "out"),
    "sigmoid": (ag.sigmoid, 1, "out"),
    "relu": (ag.relu, 1, "out"),
    "gelu": (ag.gelu, 1, "x1"),
    "clip": (lambda x: ag.clip(x, 0, 1), 1, "x1"),
    "copy": (ag.copy, 1, ""),
    "sum": (ag.sum, 1, ""),
    "mean": (ag.mean, 1, ""),
    "prod": (ag.prod, 1, "x1"),
    "max": (ag.max, 1, "x1 out"),
    "var": (ag.var, 1, "x1"),
    "vector_norm": (ag.vector_norm, 1, "x1 out"),
    "logsumexp": (ag.logsumexp, 1, "x1"),
    "cumulative_sum": (ag.cumulative_sum, 1, ""),
    "softmax": (ag.softmax, 1, "out"),
    "log_softmax": (ag.log_softmax, 1, "out"),
    "standardize": (ag.standardize, 1, "x1 out"),
    "cross_entropy": (lambda x: ag.cross_entropy(x, ag.tensor(1)), 1, ""),
    "permute_dims": (lambda x: ag.permute_dims(x, (0,)), 1, ""),
    "take": (lambda x: ag.take(x, ag.tensor([1, 1])), 1, ""),
    "concat": (lambda a, b: ag.concat([a, b]), 2, ""),
}


@pytest.mark.parametrize(
    ("operation", "written"),
    [(name, written) for name, row in SAVES.items() for written in (*["x1", "x2"][: row[1]], "out")],
)
def test_write_to_what_an_operation_saved(operation, written):
    """A write to a saved value is found; any other changes no gradient."""
    function, arity, saved = SAVES[operation]
    values = [[0.5, 2.0], [0.75, 1.5]][:arity]
    expected = [leaf(value) for value in values]
    y = function(*expected)
    y.backward(np.ones(y.shape))

    leaves = dict(zip(["x1", "x2"], map(leaf, values), strict=False))
    y = function(*leaves.values())
    with ag.no_grad():
        (leaves | {"out": y})[written].add_(1.0)
    if written in saved.split():
        with raises(RuntimeError, STALE.format(0, 1)):
            y.backward(np.ones(y.shape))
        assert all(x.grad is None for x in leaves.values())
    else:
        y.backward(np.ones(y.shape))
        for x, other in zip(leaves.values(), expected, strict=True):
            close(x.grad, other.grad.numpy())


@pytest.mark.parametrize(
    "function",
    [
        lambda x, index: ag.take(x, index),
        lambda x, index: x[index],
        lambda x, index: ag.take_along_axis(x, index),
        lambda x, index: ag.cross_entropy(ag.stack([x, x]), index),
        lambda x, index: ag.where(index == 1, x, 0.0),
        lambda x, index: ag.masked_fill(x, index == 1, 0.0),
    ],
    ids=["take", "index", "take_along_axis", "cross_entropy", "where", "masked_fill"],
)
def test_write_to_an_index_is_found_or_harmless(function):
    x, index = leaf([3, 4]), [1, 0]
    y = function(x, ag.tensor(index))
    y.backward(np.ones(y.shape))
    expected = x.grad.numpy().copy()
    x.zero_grad()
    position = ag.tensor(index)
    y = function(x, position)
    position.zero_()
    try:
        y.backward(np.ones(y.shape))
    except ag.VersionError:
        return
    close(x.grad, expected)


# ---- Rules that are wrong


class TestWrongRules:
    @pytest.fixture
    def multiply(self, scratch_ops):
        """A product that forgets to undo the broadcast."""

        @op_module.general(lambda g, x2: g * x2, lambda g, x1: g * x1)
        def multiply(xp, x1: ArrayLike, x2: ArrayLike, /):
            return xp.multiply(x1, x2)

        return multiply

    def test_shape(self, multiply):
        a, b = leaf(np.ones((2, 3))), leaf(np.ones(3))
        y = multiply(a, b).sum()
        text = "Function MultiplyBackward returned an invalid gradient at index 1 - got [2, 3] but expected shape [3]"
        with raises(RuntimeError, text):
            y.backward()
        assert a.grad is b.grad is None

    def test_leaves_what_was_retained_before(self, multiply):
        a, b = leaf(np.ones((2, 3))), leaf(np.ones(3))
        bad = multiply(a, b)
        bad.retain_grad()
        bad.grad = plain(np.full((2, 3), 7.0))
        with raises(RuntimeError, "Function MultiplyBackward returned an invalid gradient at index 1"):
            bad.sum().backward()
        close(bad.grad, np.full((2, 3), 7.0))

    def test_right_shape_passes(self, multiply):
        a, b = leaf([1, 2]), leaf([3, 4])
        multiply(a, b).sum().backward()
        close(a.grad, [3, 4])

    def test_nan(self):
        x = leaf([0])
        with np.errstate(all="ignore"):
            y = ag.log(x)
            with ag.detect_anomaly(), raises(RuntimeError, "Function LogBackward returned NaN in its gradient"):
                y.backward([0])
        assert x.grad is None

    def test_nan_is_not_looked_for_by_default(self):
        x = leaf([0])
        with np.errstate(all="ignore"):
            ag.log(x).backward([0])
        assert np.isnan(x.grad.numpy()).all()


# ---- Lifetimes


@pytest.mark.usefixtures("no_collector")
class TestLifetimes:
    @pytest.mark.parametrize(
        "function",
        [ag.exp, ag.expm1, ag.tanh, ag.sigmoid, ag.sqrt, ag.rsqrt, ag.softmax, ag.max],
        ids=lambda f: f.__name__,
    )
    def test_operation_that_saves_its_output_does_not_keep_it_alive(self, function):
        y = function(leaf([1, 2]))
        tensor, node = weakref.ref(y), weakref.ref(y.grad_fn)
        del y
        assert tensor() is node() is None

    def test_graph_dies_with_its_root(self):
        x = leaf([1, 2])
        middle = ag.tanh(x * 2)
        node = weakref.ref(middle.grad_fn)
        loss = middle.sum()
        del middle
        assert node() is not None
        del loss
        assert node() is None

    def test_root_keeps_the_graph(self):
        x = leaf([1, 2])
        loss = ag.tanh(x * 2).sum()
        loss.backward()
        close(x.grad, 2 * (1 - np.tanh([2.0, 4.0]) ** 2), atol=1e-15)

    def test_input_whose_partner_needs_no_gradient_is_not_kept(self):
        """The product saves only the constant: nothing wants the values of x."""
        x, constant = leaf([1, 2]), plain([3, 4])
        reference = weakref.ref(x.array)
        y = x * constant
        del x
        assert reference() is None
        assert y.requires_grad

    def test_linear_layer_on_data_does_not_keep_its_weight(self):
        data, weight = plain(np.ones((4, 3))), leaf(np.ones((3, 2)))
        reference = weakref.ref(weight.array)
        y = data @ weight
        del weight
        assert reference() is None
        assert y.requires_grad

    def test_shape_alone_does_not_keep_an_input(self):
        middle = leaf([1, 2]) * 2
        reference = weakref.ref(middle.array)
        loss = middle.sum()
        del middle
        assert reference() is None
        loss.backward()


class TestDeepGraphs:
    @pytest.mark.parametrize("depth", [10_000, 20_000])
    def test_backward(self, depth):
        x = leaf([0])
        y = x
        for _ in range(depth):
            y = y + 1.0
        y.backward()
        close(y.detach(), [depth])
        close(x.grad, [1])

    def test_destruction_without_backward(self, no_collector):
        x = leaf([0])
        y = x + 1.0
        first = weakref.ref(y.grad_fn)
        for _ in range(50_000):
            y = y + 1.0
        del y
        assert first() is None

    def test_destruction_leaves_what_others_hold(self, no_collector):
        x = leaf([1])
        kept = x * 2
        y = kept
        for _ in range(3):
            y = y * 2
        del y
        kept.backward()
        close(x.grad, [2])

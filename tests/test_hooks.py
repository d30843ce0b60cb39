from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import arraygrad as ag


def leaf(values: object) -> ag.Tensor:
    return ag.tensor(values, requires_grad=True)


# ---- Hooks on gradients


def test_a_hook_sees_the_whole_gradient_and_may_replace_it() -> None:
    x = leaf([1.0, 2.0])
    y = x * 3.0
    seen = []
    handle = y.register_hook(lambda grad: seen.append(grad.array.tolist()))
    double = y.register_hook(lambda grad: grad * 2.0)
    (ag.sum(y) + ag.sum(y * y)).backward(retain_graph=True)
    assert seen == [[7, 13]]  # 1 + 2 y
    assert x.grad.array.tolist() == [3 * 2 * 7, 3 * 2 * 13]
    double.remove()
    double.remove()
    handle.remove()
    x.zero_grad()
    ag.sum(y).backward()
    assert seen == [[7, 13]]
    assert x.grad.array.tolist() == [3, 3]


def test_a_hook_on_a_leaf_runs_before_its_gradient_is_added() -> None:
    x = leaf([1.0, 2.0])
    x.register_hook(lambda grad: grad * 10.0)
    order = []
    x.register_post_accumulate_grad_hook(lambda tensor: order.append(tensor.grad.array.tolist()))
    ag.sum(x * x).backward()
    ag.sum(x).backward()
    assert order == [[20, 40], [30, 50]]


def test_a_hook_that_keeps_the_gradient_does_not_share_it() -> None:
    x, kept = leaf([1.0, 2.0]), []
    x.register_hook(kept.append)
    ag.sum(x * 2.0).backward()
    kept[0].fill_(5.0)
    assert x.grad.array.tolist() == [2, 2]


def test_hooks_on_nodes() -> None:
    x = leaf([1.0, 2.0])
    y = x * 3.0
    seen = []
    y.grad_fn.register_prehook(lambda grads: (grads[0] * 2.0,))
    y.grad_fn.register_hook(lambda grads, received: seen.append((grads[0].array.tolist(), received[0].array.tolist())))
    handle = y.grad_fn.register_hook(lambda grads, received: (grads[0] + 1.0, None))
    ag.sum(y).backward(retain_graph=True)
    assert seen == [([6, 6], [2, 2])]
    assert x.grad.array.tolist() == [7, 7]
    handle.remove()
    x.zero_grad()
    ag.sum(y).backward()
    assert x.grad.array.tolist() == [6, 6]


def test_hooks_of_an_operation_with_several_outputs() -> None:
    x = leaf(np.diag([1.0, 2.0]))
    values = ag.linalg.eigh(x).eigenvalues
    seen = []
    values.register_hook(lambda grad: grad * 2.0)
    values.grad_fn.register_prehook(lambda grads: seen.append([None if g is None else g.shape for g in grads]))
    ag.sum(values).backward()
    assert seen == [[(2,), None]]
    assert x.grad.array.tolist() == [[2, 0], [0, 2]]


def test_an_exception_in_a_hook_leaves_every_gradient_as_it_was() -> None:
    x, w = leaf([1.0]), leaf([2.0])
    ag.sum(x * w).backward()
    before = x.grad.item(), w.grad.item()

    def fail(grad: ag.Tensor) -> None:
        raise KeyError("mine")

    with w.register_hook(fail), pytest.raises(KeyError):
        ag.sum(x * w).backward()
    assert (x.grad.item(), w.grad.item()) == before


def test_hooks_run_where_backward_is_recorded_too() -> None:
    x = leaf(2.0)
    y = x * x
    y.register_hook(lambda grad: grad * x)  # the gradient becomes 2 x * x
    slope = ag.gradients(y, x, create_graph=True)
    assert slope.item() == 8
    assert ag.gradients(slope, x).item() == 8  # 4 x


@pytest.mark.parametrize(
    ("hook", "text"),
    [
        (lambda grad: ag.ones(3), r"a hook on MultiplyBackward returned \[3\] in place of a gradient of shape \[2\]"),
        (lambda grad: "no", r"returned str in place of a gradient of shape \[2\]"),
    ],
)
def test_what_a_hook_returns_is_checked(hook: object, text: str) -> None:
    x = leaf([1.0, 2.0])
    y = x * 1.0
    y.register_hook(hook)
    with pytest.raises(ag.GraphError, match=text):
        ag.sum(y).backward()
    assert x.grad is None


def test_hooks_need_a_gradient() -> None:
    with pytest.raises(ag.GraphError, match="cannot register a hook on a tensor that doesn't require gradient"):
        ag.zeros(2).register_hook(lambda grad: None)
    with pytest.raises(ag.GraphError, match="cannot be registered on non-leaf"):
        (leaf([1.0]) * 2).register_post_accumulate_grad_hook(lambda tensor: None)


# ---- Hooks on what is saved


def test_saved_values_are_packed_and_unpacked() -> None:
    x, packed, unpacked = leaf([1.0, 2.0]), [], []

    def pack(tensor: ag.Tensor) -> list[float]:
        packed.append(tensor.array.tolist())
        return packed[-1]

    def unpack(values: list[float]) -> ag.Tensor:
        unpacked.append(values)
        return ag.tensor(values)

    with ag.saved_tensors_hooks(pack, unpack):
        y = ag.sum(ag.exp(x) * x)
    assert len(packed) == 3
    y.backward()
    assert len(unpacked) == 3
    np.testing.assert_allclose(x.grad.array, np.exp(x.detach().array) * (1 + x.detach().array), rtol=1e-15)


def test_packed_values_are_derived_twice() -> None:
    x = leaf(0.7)
    with ag.save_on_cpu():
        slope = ag.gradients(ag.sin(x) * x, x, create_graph=True)
    assert ag.gradients(slope, x).item() == pytest.approx(2 * np.cos(0.7) - 0.7 * np.sin(0.7), rel=1e-14)


@pytest.mark.parametrize("made_first", [True, False])
def test_writes_to_packed_values_are_found(made_first: bool) -> None:
    x, constant = leaf([1.0]), ag.tensor([3.0])
    if made_first:
        constant.add_(0.0)
    with ag.save_on_cpu():
        y = x * constant
    constant.add_(1.0)
    with pytest.raises(ag.VersionError, match="MultiplyBackward saved it"):
        y.backward()


def test_recorded_writes_leave_a_copy_to_what_packed() -> None:
    x = leaf([1.0, 2.0])
    y = x * 1.0
    with ag.save_on_cpu():
        z = ag.sum(y * y)
    y[0] = 10.0
    z.backward()
    assert x.grad.array.tolist() == [2, 4]


# ---- Checkpoints


def test_a_checkpoint_saves_nothing_and_gives_the_same() -> None:
    x, w = leaf(np.linspace(0.1, 1.0, 5)), leaf(2.0)

    def f(x: ag.Tensor) -> ag.Tensor:
        return ag.tanh(ag.exp(x) * w) * x

    y = ag.checkpoint(f, x)
    ag.sum(y * y).backward()
    found = x.grad.array.copy(), w.grad.array.copy()
    x.zero_grad()
    w.zero_grad()
    ag.sum(f(x) ** 2).backward()
    np.testing.assert_allclose(found[0], x.grad.array, rtol=1e-14)
    np.testing.assert_allclose(found[1], w.grad.array, rtol=1e-14)


def test_what_a_checkpoint_computes_is_freed() -> None:
    x, inner = leaf(np.ones(4)), []

    def f(x: ag.Tensor) -> ag.Tensor:
        y = ag.exp(x)
        inner.append(weakref.ref(y.array))
        return y * y

    gc.disable()
    try:
        z = ag.checkpoint(f, x)
        assert inner[0]() is None
        ag.sum(z).backward()
        assert inner[1]() is None
    finally:
        gc.enable()
    np.testing.assert_allclose(x.grad.array, 2 * np.exp(2.0), rtol=1e-14)


def test_checkpoints_nest_and_have_second_derivatives() -> None:
    def inner(x: ag.Tensor) -> ag.Tensor:
        return ag.sin(x) * x

    def outer(x: ag.Tensor) -> ag.Tensor:
        return ag.exp(ag.checkpoint(inner, x)) * x

    x = leaf([0.3, 0.8])
    ag.gradcheck(lambda x: ag.checkpoint(outer, x), [x])
    ag.gradgradcheck(lambda x: ag.checkpoint(outer, x), [x])
    np.testing.assert_allclose(
        ag.hessian(lambda x: ag.sum(ag.checkpoint(outer, x)))(x.detach()).array,
        ag.hessian(lambda x: ag.sum(ag.exp(ag.sin(x) * x) * x))(x.detach()).array,
        rtol=1e-12,
    )


def test_a_checkpoint_draws_the_same_random_numbers_again() -> None:
    rng = ag.random.default_rng(0)
    x = leaf(np.ones(3))
    masks = []

    def f(x: ag.Tensor) -> ag.Tensor:
        masks.append(rng.uniform(size=(3,)))
        return ag.exp(x * masks[-1]) * x

    y = ag.checkpoint(f, x)
    following = rng.uniform()
    ag.sum(y).backward()
    assert masks[0].array.tolist() == masks[1].array.tolist()
    after = rng.uniform()
    fresh = ag.random.default_rng(0)
    fresh.uniform(size=(3,))
    assert (following.item(), after.item()) == (fresh.uniform().item(), fresh.uniform().item())
    m = masks[0].array
    np.testing.assert_allclose(x.grad.array, np.exp(m) * (1 + m), rtol=1e-14)


def test_a_checkpoint_takes_containers() -> None:
    p = {"a": leaf(2.0), "b": [leaf(3.0)]}
    out = ag.checkpoint(lambda p, *, k: {"y": p["a"] * p["b"][0] * k}, p, k=4.0)
    out["y"].backward()
    assert (p["a"].grad.item(), p["b"][0].grad.item()) == (12, 8)


def test_arguments_of_a_checkpoint_may_be_written_to_with_history_only() -> None:
    x = leaf([1.0, 2.0])
    y = x * 1.0
    z = ag.checkpoint(lambda y: ag.exp(y), y)
    y[0] = 7.0
    ag.sum(z).backward()
    np.testing.assert_allclose(x.grad.array, np.exp([1.0, 2.0]), rtol=1e-15)
    y = x.detach().clone()
    z = ag.checkpoint(lambda y: ag.exp(y) * x, y)
    y[0] = 7.0
    with pytest.raises(ag.VersionError, match="checkpoint: an argument has been modified"):
        ag.sum(z).backward()


def test_a_checkpoint_that_computes_something_else_is_found() -> None:
    x, calls = leaf(1.0), []

    def f(x: ag.Tensor) -> ag.Tensor:
        calls.append(1)
        return ag.exp(x) if len(calls) == 1 else ag.exp(ag.exp(x))

    y = ag.checkpoint(f, x)
    with pytest.raises(ag.GraphError, match="saved 1 values when it was called, and 2 when it was"):
        y.backward()
    assert x.grad is None


def test_nothing_is_left_on() -> None:
    from arraygrad import record

    with pytest.raises(KeyError), ag.save_on_cpu():
        raise KeyError
    assert record.observer is None


def test_a_write_to_the_argument_of_a_checkpoint_after_it() -> None:
    x = leaf([0.5, 1.0])
    y = x * 1.0
    z = ag.checkpoint(lambda b: ag.sin(b) * b, y)
    y *= 2.0
    ag.sum(z).backward()
    v = np.array([0.5, 1.0])
    np.testing.assert_allclose(x.grad.array, np.cos(v) * v + np.sin(v), rtol=1e-14)


def test_hooks_on_what_is_saved_may_be_entered_twice() -> None:
    from arraygrad import record

    x, seen = leaf([1.0]), []
    hooks = ag.saved_tensors_hooks(lambda t: seen.append(1) or t, lambda t: t)
    with hooks, hooks:
        y = ag.exp(x)
    z = ag.exp(x)
    assert (len(seen), record.observer) == (1, None)
    (y + z).backward()


def test_dead_boxes_of_packed_values_are_forgotten() -> None:
    w = leaf(np.ones(2))
    with ag.save_on_cpu():
        for _ in range(1000):
            w * w
    assert len(w._storage._boxes) < 50

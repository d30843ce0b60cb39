from __future__ import annotations

import copy
import operator
import pickle
import re
import time
from typing import Any

import numpy as np
import pytest
from devices import NAMES, device_of, make, to_host

import arraygrad as ag

on_every_device = pytest.mark.parametrize("device", NAMES)


def leaf(values: object) -> ag.Tensor:
    return ag.tensor(values, requires_grad=True)


# ---- Making tensors


def test_tensor_copies_and_asarray_shares() -> None:
    array = np.array([1.0, 2.0])
    copied, shared = ag.tensor(array), ag.asarray(array)
    array[0] = 9
    assert copied.array.tolist() == [1, 2]
    assert shared.array is array
    assert ag.asarray(shared) is shared
    assert ag.asarray(array, copy=True).array is not array
    with pytest.raises(ValueError, match="needs a copy"):
        ag.asarray(array, dtype=ag.float32, copy=False)
    with pytest.raises(ValueError, match="without a copy"):
        ag.asarray([1.0], copy=False)


def test_asarray_keeps_history() -> None:
    x = leaf([1.0, 2.0])
    ag.asarray(x * 2, dtype=ag.float32).sum().backward()
    assert x.grad.array.tolist() == [2, 2]
    assert x.grad.dtype == ag.float64


def test_tensor_of_a_tensor_is_a_new_leaf() -> None:
    x = leaf([1.0, 2.0])
    y = ag.tensor(x * 2, requires_grad=True)
    assert y.is_leaf
    assert y.requires_grad
    y.sum().backward()
    assert x.grad is None


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        (1.5, "float64"),
        ([1.0, 2], "float64"),
        (3, "int64"),
        (True, "bool"),
        (1j, "complex128"),
        (np.float32(1), "float32"),
        (np.array([1, 2], np.int8), "int8"),
        ([], "float64"),
    ],
    ids=repr,
)
def test_data_types_of_values(values: object, dtype: str) -> None:
    assert ag.tensor(values).dtype == np.dtype(dtype)
    assert ag.asarray(values).dtype == np.dtype(dtype)


@pytest.mark.parametrize("values", ["text", None, [[1.0], [1.0, 2.0]], object, ["a"], [None]], ids=repr)
def test_values_that_are_no_numbers_are_refused(values: object) -> None:
    with pytest.raises(TypeError):
        ag.tensor(values)


def test_only_floating_point_can_require_grad() -> None:
    for values in ([1, 2], [True]):
        with pytest.raises(TypeError, match="only floating point tensors can require gradients"):
            ag.tensor(values, requires_grad=True)


@on_every_device
def test_creation_functions(device: str) -> None:
    d = device_of(device)
    assert to_host(ag.zeros((2, 3), device=d)).tolist() == [[0] * 3] * 2
    assert to_host(ag.ones(2, dtype=ag.float32, device=d)).dtype == np.float32
    assert to_host(ag.full((2,), 1.5, device=d)).tolist() == [1.5, 1.5]
    assert to_host(ag.arange(1, 7, 2, device=d)).tolist() == [1, 3, 5]
    assert to_host(ag.arange(3, device=d)).tolist() == [0, 1, 2]
    assert to_host(ag.linspace(0, 1, 3, device=d)).tolist() == [0, 0.5, 1]
    assert to_host(ag.eye(2, 3, k=1, device=d)).tolist() == [[0, 1, 0], [0, 0, 1]]
    x = ag.tensor([1.0], dtype=ag.float32, device=d)
    for like in (ag.zeros_like(x), ag.ones_like(x), ag.full_like(x, 2)):
        assert (like.dtype, like.device, like.shape) == (np.float32, d, (1,))
    assert ag.zeros_like(x, dtype=ag.int64).dtype == np.int64


# ---- State


def test_defaults_of_a_leaf() -> None:
    x = ag.tensor([[1.0, 2.0]])
    assert (x.shape, x.ndim, x.size, x.dtype, x.device) == ((1, 2), 2, 2, np.float64, "cpu")
    assert (x.requires_grad, x.grad, x.grad_fn, x.is_leaf, x.version) == (False, None, None, True, 0)
    assert x.T.shape == x.mT.shape == (2, 1)
    assert ag.zeros((2, 3, 4)).T.shape == (4, 3, 2)
    assert ag.zeros((2, 3, 4)).mT.shape == (2, 4, 3)


def test_the_flag_of_a_result_cannot_be_switched_off() -> None:
    y = leaf([1.0]) * 2
    with pytest.raises(RuntimeError, match="you can only change requires_grad flags of leaf tensors"):
        y.requires_grad_(False)
    with pytest.raises(RuntimeError, match="you can only change requires_grad flags of leaf tensors"):
        y.requires_grad = False
    assert y.requires_grad_() is y
    x = ag.tensor([1.0])
    x.requires_grad = True
    assert x.requires_grad


def test_graph_of_a_result() -> None:
    x = leaf([1.0])
    y = x * 2
    assert y.grad_fn.name == "MultiplyBackward"
    assert [edge and edge.name for edge, _ in y.grad_fn.next_functions] == ["AccumulateGrad", None]
    assert not y.is_leaf
    assert x.is_leaf


def test_grad_can_be_assigned_none_or_its_like() -> None:
    x = ag.tensor([1.0, 2.0], dtype=ag.float32, requires_grad=True)
    grad = ag.ones_like(x)
    x.grad = grad
    assert x.grad is grad
    for wrong, error, text in [
        (ag.ones((3,), dtype=ag.float32), ValueError, "grad must have the tensor's shape [2], got [3]"),
        (ag.ones((2,)), TypeError, "grad must have the tensor's dtype float32, got float64"),
        (ag.ones((2,), dtype=ag.float32, device="strict"), RuntimeError, "device cpu, got strict"),
        (np.ones(2), TypeError, "grad must be None or a Tensor, got ndarray"),
    ]:
        with pytest.raises(error, match=re.escape(text)):
            x.grad = wrong
        assert x.grad is grad
    x.grad = None
    assert x.grad is None
    x.grad = grad
    x.zero_grad()
    assert x.grad is None


def test_views_do_not_inherit_the_flag_without_history() -> None:
    x = leaf([1.0, 2.0])
    with ag.no_grad():
        assert not x[0].requires_grad
        assert not x.reshape((2, 1)).requires_grad
    assert not x.detach().requires_grad


def test_retained_gradients_are_replaced_and_weak() -> None:
    x = leaf([1.0, 2.0])
    y = x * 3
    y.retain_grad()
    y.retain_grad()
    loss = (y * 2).sum()
    loss.backward(retain_graph=True)
    loss.backward()
    assert y.grad.array.tolist() == [2, 2]
    assert x.grad.array.tolist() == [12, 12]
    x.retain_grad()  # nothing on a leaf
    with pytest.raises(RuntimeError, match="retain_grad needs a tensor that requires grad"):
        ag.tensor([1.0]).retain_grad()


# ---- Conversion


@on_every_device
def test_conversion_to_numbers(device: str) -> None:
    x = make(device, 2.5)
    assert (float(x), int(x), bool(x), complex(x), x.item()) == (2.5, 2, True, 2.5 + 0j, 2.5)
    assert float(make(device, [[1.5]])) == 1.5
    assert [10, 20, 30][make(device, 1)] == 20
    assert f"{x:.2f}" == "2.50"
    for convert in (float, int, bool, complex, operator.methodcaller("item")):
        with pytest.raises(ValueError, match=re.escape("needs a tensor of one element, got shape [2]")):
            convert(make(device, [1.0, 2.0]))
    for value in (1.0, [1]):
        with pytest.raises(TypeError, match="only a 0-d integer tensor can be an index"):
            operator.index(make(device, value))


def test_numpy_shares_memory_and_never_loses_history_or_device() -> None:
    x = ag.tensor([1.0, 2.0])
    assert x.numpy() is x.array
    assert np.asarray(x) is x.array
    assert np.array(x) is not x.array
    assert np.asarray(x, dtype=np.float32).dtype == np.float32
    with pytest.raises(RuntimeError, match=re.escape("call detach().numpy()")):
        leaf([1.0]).numpy()
    with pytest.raises(RuntimeError, match="lose the history"):
        np.asarray(leaf([1.0]) * 2)
    with pytest.raises(RuntimeError, match=re.escape("numpy() of a tensor on strict; call to('cpu').numpy()")):
        ag.tensor([1.0], device="strict").numpy()


def test_length_and_iteration() -> None:
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    assert len(x) == 2
    first, second = x
    (first * 10 + second).sum().backward()
    assert x.grad.array.tolist() == [[10, 10], [1, 1]]
    assert 3.0 in x
    assert 5.0 not in x
    for function in (len, iter):
        with pytest.raises(TypeError, match="0-d tensor"):
            function(ag.tensor(1.0))


def test_repr_shows_values_type_device_and_history() -> None:
    assert repr(ag.tensor([1.0, 2.5])) == "tensor([1. , 2.5], dtype=float64, device='cpu')"
    assert repr(leaf(1.0)) == "tensor(1., dtype=float64, device='cpu', requires_grad=True)"
    assert repr(leaf(1.0) * 2) == "tensor(2., dtype=float64, device='cpu', grad_fn=<MultiplyBackward>)"
    assert repr(ag.tensor([[1], [2]], device="strict:device1")) == (
        "tensor([[1],\n        [2]], dtype=int64, device='strict:device1')"
    )


# ---- Copies


@on_every_device
def test_copies_keep_values_flag_and_a_gradient_of_their_own(device: str) -> None:
    x = make(device, [1.0, 2.0], requires_grad=True)
    (x * 3).sum().backward()
    for copied in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert copied is not x
        assert copied.requires_grad
        assert copied.device == x.device
        assert to_host(copied).tolist() == [1, 2]
        assert to_host(copied.grad).tolist() == [3, 3]
        (copied * 4).sum().backward()
        assert to_host(copied.grad).tolist() == [7, 7]
        assert to_host(x.grad).tolist() == [3, 3]
    assert not np.may_share_memory(to_host(copy.deepcopy(x)), to_host(x))


def test_copy_shares_memory_and_versions() -> None:
    x = ag.tensor([1.0, 2.0])
    y = copy.copy(x)
    y.add_(1)
    assert x.array.tolist() == [2, 3]
    assert x.version == y.version == 1


def test_deepcopy_keeps_shared_tensors_shared() -> None:
    x = leaf([1.0])
    first, second = copy.deepcopy([x, x])
    assert first is second


def test_history_is_not_copied_in_silence() -> None:
    y = leaf([1.0]) * 2
    with pytest.raises(
        RuntimeError, match=re.escape("deepcopy of a tensor with gradient history (<MultiplyBackward>)")
    ):
        copy.deepcopy(y)
    with pytest.raises(RuntimeError, match="pickle of a tensor with gradient history"):
        pickle.dumps(y)
    assert copy.copy(y).grad_fn is y.grad_fn


# ---- Operators and methods

OPERATORS = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
    operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge,
]  # fmt: skip


@pytest.mark.parametrize("function", OPERATORS, ids=lambda f: f.__name__)
def test_operators_with_every_kind_of_operand(function: Any) -> None:
    a, b = np.array([1.5, 2.0, 3.0]), np.array([2.0, 2.0, 2.5])
    expected, with_number, reflected = function(a, b), function(a, 2.0), function(2.0, a)
    for left, right in [(ag.asarray(a), ag.asarray(b)), (ag.asarray(a), b), (a, ag.asarray(b))]:
        result = function(left, right)
        assert type(result) is ag.Tensor
        np.testing.assert_array_equal(result.array, expected)
    for number in (2, 2.0, np.float64(2), np.int32(2), np.float32(2)):
        np.testing.assert_array_equal(function(ag.asarray(a), number).array, with_number)
        np.testing.assert_array_equal(function(number, ag.asarray(a)).array, reflected)


def test_other_operators() -> None:
    x, m = ag.tensor([5, 6]), ag.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert (x & 4).array.tolist() == [4, 4]
    assert (3 | x).array.tolist() == [7, 7]
    assert (x ^ 1).array.tolist() == [4, 7]
    assert (x << 1).array.tolist() == [10, 12]
    assert (1 << ag.tensor([2])).array.tolist() == [4]
    assert (x >> 1).array.tolist() == [2, 3]
    assert (~x).array.tolist() == [-6, -7]
    assert (-m, +m, abs(-m))[2].array.tolist() == m.array.tolist()
    assert (m @ np.array([1.0, 1.0])).array.tolist() == [3, 7]
    assert (np.array([1.0, 1.0]) @ m).array.tolist() == [4, 6]
    quotient, rest = divmod(ag.tensor([7.0]), 2)
    assert (quotient.item(), rest.item()) == (3, 1)


def test_scalars_never_change_a_data_type() -> None:
    x = ag.tensor([1.0], dtype=ag.float32, requires_grad=True)
    for scalar in (2, 2.0, np.float64(2), np.int64(2), np.float32(2)):
        for result in (x * scalar, scalar * x, x**scalar, scalar - x, ag.maximum(x, scalar)):
            assert result.dtype == np.float32
            x.zero_grad()
            result.sum().backward()
            assert x.grad.dtype == np.float32
    assert (ag.tensor([1], dtype=ag.int8) + 1).dtype == np.int8
    assert (x * ag.tensor(2.0)).dtype == np.float64  # a tensor is no scalar


def test_unknown_operands_get_their_turn() -> None:
    class Unit:
        def __radd__(self, other: object) -> str:
            return "mine"

        def __rmatmul__(self, other: object) -> str:
            return "mine"

    x = ag.tensor([1.0])
    assert x + Unit() == "mine"
    assert x @ Unit() == "mine"
    assert (x == "text") is False
    assert (x != None) is True  # noqa: E711
    with pytest.raises(TypeError, match="unsupported operand"):
        x + "text"
    with pytest.raises(TypeError, match="add takes tensors, arrays and numbers, got str"):
        ag.add(x, "text")
    with pytest.raises(
        TypeError, match=re.escape("exp takes tensors, arrays and numbers, got list; convert it with ag.tensor")
    ):
        ag.exp([1.0])


def test_raw_arrays_and_numbers_are_taken_wherever_tensors_are() -> None:
    a = np.array([[1.0, 2.0]])
    assert ag.exp(a).array.tolist() == np.exp(a).tolist()
    assert ag.sum(a, axis=1).array.tolist() == [3]
    assert ag.concat([a, ag.asarray(a)]).shape == (2, 2)
    assert ag.where(a > 1, a, 0.0).array.tolist() == [[0, 2]]
    assert ag.sqrt(4.0).item() == 2
    assert ag.add(1, 2).item() == 3
    assert ag.sum(3.0).item() == 3
    assert ag.clip(5.0, 0, 1).item() == 1
    assert ag.unstack(a)[0].shape == (2,)


def test_methods_are_thin_calls() -> None:
    rng = np.random.default_rng(0)
    a = rng.uniform(0.5, 1.5, (2, 3))
    x = ag.tensor(a)
    same = np.testing.assert_allclose
    for name in ("sum", "mean", "prod", "max", "min", "var", "std"):
        same(getattr(x, name)(1, keepdims=True).array, getattr(np, name)(a, axis=1, keepdims=True))
    for name in ("abs", "exp", "log", "sqrt", "sin", "cos", "tanh"):
        same(getattr(x, name)().array, getattr(np, name)(a))
    same(x.sigmoid().array, 1 / (1 + np.exp(-a)))
    same((x - 1).relu().array, np.maximum(a - 1, 0))
    same(x.clip(0.8, 1.2).array, np.clip(a, 0.8, 1.2))
    same(x.clip(max=1.0).array, np.minimum(a, 1))
    same(x.pow(2).array, a**2)
    same(x.matmul(x.T).array, a @ a.T)
    same(x.cumulative_sum(1).array, np.cumsum(a, 1))
    same(x.reshape(3, 2).array, a.reshape(3, 2))
    same(x.reshape((3, -1)).array, a.reshape(3, 2))
    same(x.view(6).array, a.ravel())
    same(x.ravel().array, a.ravel())
    same(x.flatten().array, a.ravel())
    assert not np.may_share_memory(x.flatten().array, x.array)
    same(x.transpose(0, -1).array, a.T)
    same(x.permute(1, 0).array, a.T)
    same(x.unsqueeze(1).array, a[:, None])
    same(x.unsqueeze(1).squeeze(1).array, a)
    same(x[:, :1].squeeze().array, a[:, 0])
    same(x[:, :1].expand(4, -1, 3).array, np.broadcast_to(a[:, :1], (4, 2, 3)))
    same(x.select(1, -1).array, a[:, -1])
    same(x.narrow(1, 1, 2).array, a[:, 1:])
    same(x.split(2, 1)[1].array, a[:, 2:])
    same(x.masked_fill(x > 1, 0.0).array, np.where(a > 1, 0, a))
    same(x.index_select(1, ag.tensor([2, 0])).array, a[:, [2, 0]])
    same(x.gather(1, ag.tensor([[2], [0]])).array, np.take_along_axis(a, np.array([[2], [0]]), 1))
    same(x.softmax(0).array.sum(0), 1)
    same(x.log_softmax().exp().sum(-1).array, 1)
    assert x.astype(ag.float32).dtype == np.float32
    assert bool((x > 0).all())
    assert not bool((x < 0).any())
    assert x.argmax().item() == a.argmax()
    assert x.argmin(1).array.tolist() == a.argmin(1).tolist()


def test_view_refuses_to_copy() -> None:
    with pytest.raises(ValueError, match="reshape got"):
        ag.zeros((2, 3)).T.view(6)


def test_iter_is_lazy() -> None:
    start = time.perf_counter()
    iter(ag.zeros(200_000))
    assert time.perf_counter() - start < 0.2


def test_view_as_the_same_data_type() -> None:
    x = ag.tensor([[1.0, 2.0]], requires_grad=True)
    for dtype in (float, "float64", ag.float64, np.float64):
        assert x.view(dtype).shape == (1, 2)
        assert x.view(dtype).requires_grad
    with pytest.raises(TypeError, match="view of float64 as <class 'int'> would reinterpret bytes; use astype"):
        x.view(int)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.narrow(1, 2, 2),
        lambda x: x.select(2, 0),
        lambda x: x.split([1, 1], 1),
        lambda x: x.split(0),
        lambda x: x.expand(3),
        lambda x: x.reshape(5),
        lambda x: x.sum(2),
        lambda x: x @ x,
        lambda x: x + ag.zeros((4,)),
        lambda x: ag.concat([x, ag.zeros((2, 2, 2))]),
        lambda x: ag.concat([]),
        lambda x: ag.stack([x, x[0]]),
        lambda x: ag.take(x, ag.tensor([0])),
        lambda x: ag.cumulative_sum(x),
        lambda x: ag.squeeze(x, 0),
        lambda x: ag.cross_entropy(x, ag.tensor([0, 3])),
        lambda x: ag.cross_entropy(x, ag.tensor([-1, 0])),
        lambda x: ag.cross_entropy(x, ag.tensor([0])),
        lambda x: ag.cross_entropy(x, ag.tensor([0, 1]), reduction="all"),
        lambda x: ag.gelu(x, approximate="erf"),
    ],
)
def test_shapes_and_values_that_do_not_fit_are_value_errors_with_the_name_of_the_operation(call: Any) -> None:
    x = leaf([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    with pytest.raises((ag.ShapeError, ag.IndexingError)) as error:
        call(x)
    assert re.match(r"\w+", str(error.value)).group() in [*dir(ag), "narrow", "select", "expand"]


def test_errors_show_shapes_and_types() -> None:
    with pytest.raises(ValueError, match=re.escape("add got float64 [2, 3] and float64 [4]: ")):
        ag.zeros((2, 3)) + ag.zeros((4,))
    with pytest.raises(TypeError, match="sum: got an unexpected keyword argument 'dim'; its signature is"):
        ag.sum(ag.zeros((2, 3)), dim=0)
    with pytest.raises(TypeError, match="reshape: missing a required argument: 'shape'"):
        ag.reshape(ag.zeros((2, 3)))
    with pytest.raises(TypeError, match="exp"):
        ag.exp()
    with pytest.raises(TypeError, match="is no data type"):
        ag.zeros(2, dtype="float63")


# ---- Indexing


@on_every_device
@pytest.mark.parametrize(
    "index",
    [
        5,
        (0, 0, 0),
        np.array([0, 2]),
        np.array([True, False, True]),
    ],
    ids=repr,
)
def test_indices_outside_are_index_errors(device: str, index: Any) -> None:
    x = make(device, np.zeros((2, 3)))
    index = make(device, index) if isinstance(index, np.ndarray) else index
    with pytest.raises(IndexError):
        x[index]


def test_indices_of_the_wrong_type_are_type_errors() -> None:
    for index in (1.5, "a", ag.tensor([0.5]), [1.5]):
        with pytest.raises(TypeError, match="an index"):
            ag.zeros(3)[index]


def test_an_index_changed_later_does_not_change_the_gradient() -> None:
    x = leaf([1.0, 2.0, 3.0])
    index = ag.tensor([0, 0, 1])
    y = x[index].sum()
    index.fill_(2)
    y.backward()
    assert x.grad.array.tolist() == [2, 1, 0]


def test_masks_and_numpy_indices() -> None:
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    (x[x > 1.5] * 10).sum().backward()
    assert x.grad.array.tolist() == [[0, 10], [10, 10]]
    assert x[np.int64(1), np.array([True, False])].array.tolist() == [3]
    assert x[None, ..., -1:].shape == (1, 2, 1)
    assert x[True].shape == (1, 2, 2)
    assert x[[[0, 1], [1, 0]]].shape == (2, 2, 2)
    assert x[[]].shape == (0, 2)
    assert x[ag.tensor(1)].array.tolist() == [3, 4]
    assert x[ag.tensor(0) : ag.tensor(1)].shape == (1, 2)

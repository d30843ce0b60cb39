"""Each of these was wrong once."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Iterator

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.op import elementwise
from arraygrad.scalar import Value
from arraygrad.tensor import ArrayLike


def leaf(values: object, dtype: object = None) -> ag.Tensor:
    return ag.tensor(values, dtype=dtype, requires_grad=True)


# ---- Indices of short integer types, empty ones, ones that are no arrays


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint64"])
def test_short_index_types_reach_the_whole_axis(dtype: str) -> None:
    x = leaf(np.zeros((1, 300)))
    ag.cross_entropy(x, np.array([3], dtype)).backward()
    assert np.flatnonzero(x.grad.array < 0).tolist() == [3]
    x = leaf(np.zeros((200, 1)))
    x.gather(1, np.zeros((200, 1), dtype)).sum().backward()
    assert (x.grad.array == 1).all()
    y = ag.zeros((200, 1)).scatter_add_(1, np.zeros((200, 1), dtype), ag.ones((200, 1)))
    assert (y.array == 1).all()
    w = leaf(np.zeros((300, 16)))
    w[np.array([1, 2, 1], dtype)].sum().backward()
    assert w.grad.array.sum(1).tolist()[:4] == [0, 32, 16, 0]


@pytest.mark.parametrize(
    "read",
    [
        lambda x: x[[]],
        lambda x: x[np.flatnonzero(x.array > 9)],
        lambda x: ag.take(x, np.array([], int), axis=0),
        lambda x: x[np.zeros(3, bool)],
    ],
)
def test_reading_nothing_has_a_gradient_of_zeros(read: object) -> None:
    x = leaf(np.ones((3, 2)))
    read(x).sum().backward()
    assert (x.grad.array == 0).all()
    ag.zeros((3, 2)).index_add_(0, np.array([], int), ag.zeros((0, 2)))


def test_one_index_is_not_an_array_of_indices() -> None:
    x = ag.zeros((2, 3))
    for call in (lambda: ag.take(x, 1, axis=0), lambda: ag.take_along_axis(x, 0)):
        with pytest.raises(TypeError, match="takes an array of indices, got"):
            call()
    with pytest.raises(TypeError, match="targets must be an array of integers"):
        ag.cross_entropy(x[0], 1)


def test_a_tuple_within_an_index_reads_several() -> None:
    x = leaf([1.0, 2.0, 3.0])
    x[(0, 1),].sum().backward()
    assert x.grad.array.tolist() == [1, 1, 0]


# ---- Precision and range


@pytest.mark.parametrize("offset", [1e5, 1e6])
def test_cross_entropy_does_not_lose_what_logits_have_in_common(offset: float) -> None:
    logits = leaf(np.array([[0.0, 1.0, 2.0]]) + offset, ag.float32)
    loss = ag.cross_entropy(logits, ag.tensor([0]))
    loss.backward()
    assert loss.item() == pytest.approx(2.4076059, rel=1e-6)  # PyTorch
    np.testing.assert_allclose(logits.grad.array, [[-0.90996945, 0.24472848, 0.66524094]], rtol=1e-5)
    x = leaf(np.array([0.0, 1.0, 2.0]) + offset, ag.float32)
    ag.logsumexp(x).backward()
    np.testing.assert_allclose(x.grad.array, [0.09003057, 0.24472848, 0.66524094], rtol=1e-5)


def test_cross_entropy_of_huge_logits() -> None:
    assert ag.cross_entropy(ag.tensor([1e300, 1e300]), ag.tensor(0)).item() == pytest.approx(np.log(2))


def test_means_of_many_float16() -> None:
    x = leaf(np.ones(100_000), ag.float16)
    ag.mean(x).backward()
    assert x.grad.array[0] == np.float16(1e-5)
    logits = leaf(np.zeros((100_000, 2)), ag.float16)
    ag.cross_entropy(logits, np.zeros(100_000, int)).backward()
    assert logits.grad.array[0].tolist() == [-np.float16(5e-6), np.float16(5e-6)]


@pytest.mark.parametrize("approximate", ["none", "tanh"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_gelu_far_out(approximate: str, dtype: str) -> None:
    x = leaf([-1e4, -745.0, -50.0, 50.0, 709.0, 1e4], dtype)
    y = ag.gelu(x, approximate=approximate)
    assert y.dtype == np.dtype(dtype)
    y.sum().backward()
    assert x.grad.array.tolist() == [0, 0, 0, 1, 1, 1]


def test_standardize_of_large_float16() -> None:
    result = ag.standardize(ag.tensor([300.0, -300.0, 5.0], dtype=ag.float16))
    np.testing.assert_allclose(result.array, [1.21788, -1.23149, 0.01361], atol=2e-3)  # in float64


def test_float16_reductions_do_not_overflow_on_the_way() -> None:
    x = leaf([3e4, 3e4, 3e4, -6e4], ag.float16)
    assert ag.sum(x).item() == 30000
    y = leaf([300.0, -300.0], ag.float16)
    assert ag.vector_norm(y).item() == np.float16(424.25)
    assert ag.std(y).item() == 300
    for function in (ag.sum, ag.std, ag.vector_norm):
        y.zero_grad()
        function(y).backward()
        assert y.grad.dtype == ag.float16
        assert np.isfinite(y.grad.array).all()


def test_nothing_left_to_divide_by_is_nan_not_an_error() -> None:
    x = leaf([3.0])
    with pytest.warns(RuntimeWarning):  # NumPy's
        y = ag.var(x, correction=1)
    y.backward()
    assert np.isnan(x.grad.array).all()


# ---- Data types


def test_numpy_scalars_in_keywords_are_weak_too() -> None:
    x = leaf([[1.0, 2.0, 4.0]], ag.float32)
    assert ag.standardize(x, eps=np.float64(1e-5)).dtype == ag.float32
    for name in ("sum", "mean", "prod", "max", "min", "var", "std", "vector_norm", "logsumexp", "softmax"):
        x.zero_grad()
        getattr(ag, name)(x, axis=np.int64(1)).sum().backward()
        assert x.grad.dtype == ag.float32
    assert ag.reshape(x, np.int64(3)).shape == (3,)
    assert len(ag.split(x, np.int64(2), axis=1)) == 2
    assert x.narrow(1, np.int64(0), np.int64(2)).shape == (1, 2)


def test_a_complex_gradient_of_a_real_output_is_refused() -> None:
    for gradient in (np.array([1 + 2j]), [1 + 2j]):
        with pytest.raises(TypeError, match="complex gradient for a real output"):
            (leaf([1.0]) * 1.0).backward(gradient)


def test_relu_keeps_integers() -> None:
    assert ag.relu(ag.tensor([-1, 2])).dtype == ag.int64


def test_conditions_are_boolean() -> None:
    x = ag.tensor([1.0, 2.0])
    for call in (lambda: ag.where(x, x, x), lambda: ag.masked_fill(x, ag.tensor([0, 1]), 0.0)):
        with pytest.raises(TypeError, match="takes a boolean condition, got"):
            call()


@pytest.mark.parametrize("values", [np.array(["a"]), np.array([None]), np.array(["2020-01-01"], "datetime64[D]")])
def test_arrays_of_other_things_are_refused(values: np.ndarray) -> None:
    for make in (ag.tensor, ag.asarray):
        with pytest.raises(TypeError, match="is not supported"):
            make(values)


def test_numbers_that_do_not_fit_a_type_are_our_errors() -> None:
    x = ag.tensor([1], dtype=ag.int8)
    for call in (lambda: x + 1000, lambda: x.add_(1000), lambda: x.fill_(1000)):
        with pytest.raises(ag.ArraygradError):
            call()
    assert x.array.tolist() == [1]


# ---- NaN is not hidden


def test_nan_takes_the_gradient_that_it_won() -> None:
    for function in (ag.max, ag.min):
        x = leaf([np.nan, 1.0])
        function(x).backward()
        assert x.grad.array.tolist() == [1, 0]
    x = leaf([np.nan, 1.0])
    ag.relu(x).sum().backward()
    assert x.grad.array.tolist() == [1, 1]
    a, b = leaf([np.nan]), leaf([1.0])
    ag.maximum(a, b).backward()
    assert (a.grad.item(), b.grad.item()) == (1, 1)  # as in PyTorch


# ---- Sizes of 0


@pytest.mark.parametrize(("a", "b"), [((2, 3, 0), (0, 4)), ((2, 3, 5), (5, 0)), ((0, 2, 3), (3, 4))])
def test_products_of_nothing(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    x, y = leaf(np.ones(a)), leaf(np.ones(b))
    (x @ y).sum().backward()
    assert x.grad.shape == a
    assert y.grad.shape == b


def test_softmax_of_nothing() -> None:
    x = leaf(np.ones((0, 3)))
    ag.softmax(x, axis=0).sum().backward()
    assert x.grad.shape == (0, 3)
    assert ag.logsumexp(x, axis=0).array.tolist() == [-np.inf] * 3
    assert ag.log_softmax(x, axis=0).shape == (0, 3)


# ---- Wrong rules, wrong forwards


@pytest.mark.usefixtures("own_op")
def test_an_elementwise_rule_must_return_the_outputs_shape() -> None:
    @elementwise(lambda g, x: np.stack([g, g]))
    def double(xp: object, x: ArrayLike, /) -> object:
        return x * 2.0

    text = "Function DoubleBackward returned an invalid gradient at index 0 - got [2, 3] but expected shape [3]"
    with pytest.raises(ag.GraphError, match=re.escape(text)):
        double(leaf([1.0, 2.0, 3.0])).sum().backward()


@pytest.mark.usefixtures("own_op")
def test_a_forward_must_return_an_array() -> None:
    @elementwise(lambda g: g)
    def nothing(xp: object, x: ArrayLike, /) -> object:
        return None

    with pytest.raises(TypeError, match="nothing: the forward returned a NoneType, not an array"):
        nothing(leaf([1.0]))


# ---- State


def test_a_gradient_cannot_be_the_tensors_own_memory() -> None:
    x = leaf([1.0, 2.0])
    for grad in (x.detach(), ag.Tensor(x.array)):
        with pytest.raises(RuntimeError, match="grad cannot share the tensor's memory"):
            x.grad = grad
    x.grad = x.detach().clone()


def test_tensor_wraps_arrays_alone() -> None:
    with pytest.raises(TypeError, match=r"Tensor wraps a raw array, got list; use arraygrad\.tensor"):
        ag.Tensor([1.0, 2.0])


def test_to_changes_nothing_where_there_is_nothing_to_change() -> None:
    x = leaf([1.0])
    assert x.to("cpu") is x
    assert x.to("float64") is x
    with pytest.raises(TypeError, match=re.escape("to() takes a device ('cpu', 'cuda', 'cuda:1') or a data type")):
        x.to("gpu")


def test_copy_from_an_array_on_another_device() -> None:
    x = ag.zeros(2, device="strict:device1").copy_(np.array([3.0, 4.0]))
    assert x.to("cpu").array.tolist() == [3, 4]


# ---- gradcheck


def test_gradcheck_restores_what_f_writes() -> None:
    x = leaf([1.0, 2.0])

    def f(x: ag.Tensor) -> ag.Tensor:
        with ag.no_grad():
            x.mul_(1.5)
        return x * 2.0

    ag.gradcheck(f, [x], raise_exception=False)
    assert x.array.tolist() == [1, 2]


def test_gradcheck_of_one_tensor_in_two_places() -> None:
    x = leaf([1.0, 2.0])
    assert ag.gradcheck(lambda a, b: a * b, [x, x])


def test_gradcheck_of_nothing_is_no_pass() -> None:
    for f in (lambda x: x > 0, lambda x: ()):
        with pytest.raises(TypeError, match="no floating point output"):
            ag.gradcheck(f, [leaf([1.0])])


# ---- Modes


def test_a_context_manager_made_of_a_generator_passes_the_mode_on() -> None:
    @contextlib.contextmanager
    def evaluating() -> Iterator[None]:
        with ag.no_grad():
            yield

    with evaluating():
        assert not ag.is_grad_enabled()
        with ag.enable_grad():
            assert ag.is_grad_enabled()
        assert not ag.is_grad_enabled()
    assert ag.is_grad_enabled()

    @contextlib.asynccontextmanager
    async def evaluating_too() -> AsyncIterator[None]:
        with ag.no_grad():
            yield

    async def main() -> None:
        async with evaluating_too():
            assert not ag.is_grad_enabled()
        assert ag.is_grad_enabled()

    asyncio.run(main())


def test_decorated_asynchronous_generators_receive_what_is_sent_and_thrown() -> None:
    @ag.no_grad()
    async def echo() -> AsyncIterator[object]:
        got: object = "start"
        while True:
            try:
                got = yield (got, ag.is_grad_enabled())
            except ValueError as error:
                got = str(error)

    async def main() -> None:
        generator = echo()
        assert await generator.__anext__() == ("start", False)
        assert await generator.asend("sent") == ("sent", False)
        assert ag.is_grad_enabled()
        assert await generator.athrow(ValueError("thrown")) == ("thrown", False)
        await generator.aclose()
        assert ag.is_grad_enabled()

    asyncio.run(main())


# ---- Forward mode


def test_tangents_of_tangents_without_recording() -> None:
    def slope(t: ag.Tensor) -> ag.Tensor:
        return ag.jvp(lambda x: x[0:1] ** 2, (ag.tensor([3.0]),), (t,))[1]

    with ag.no_grad():  # a general operation's tangent lost those of outer levels
        assert ag.jvp(slope, (ag.ones(1),), (ag.ones(1),))[1].item() == 6.0


def test_tangents_through_a_linearized_function() -> None:
    _, push = ag.linearize(lambda x: x**2, 3.0)
    assert ag.jvp(push, (1.0,), (2.0,))[1].item() == 12.0


# ---- The small engine


def test_powers_of_a_value() -> None:
    x = Value(3.0)
    (x ** np.int64(2)).backward()
    assert x.grad == 6
    zero = Value(0.0)
    (zero**0.5).backward()
    assert zero.grad == float("inf")
    with pytest.raises(ValueError, match="is no real number"):
        Value(-8.0) ** (1 / 3)


def test_errors_of_formats_and_axes() -> None:
    with pytest.raises(TypeError, match=re.escape("format '.2f' needs a 0-d tensor, got shape [2]")):
        f"{ag.zeros(2):.2f}"
    with pytest.raises(ValueError, match="transpose: axis 1 is outside"):
        ag.zeros(1).transpose(0, 1)
    with pytest.raises(TypeError, match="concat takes a sequence of arrays, got int"):
        ag.concat(5)


def test_operators_have_names_and_descriptions() -> None:
    assert ag.Tensor.__add__.__qualname__ == "Tensor.__add__"
    assert ag.Tensor.__radd__.__doc__ == "`arraygrad.add`, with the operands the other way round."
    assert ag.Tensor.__iadd__.__name__ == "__iadd__"
    assert dir(ag) == ag.__all__

"""Two GPUs, simulated: what stays where, what moves, and where memory ends."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import simulated_cupy
from devices import make, to_host
from hypothesis import given, settings
from inplace_programs import Instruction, Library
from simulated_arrays import Device, OutOfMemoryError, state
from test_writes import compare, programs

import arraygrad as ag
from arraygrad import backends
from arraygrad.declare import ArrayLike, elementwise


@pytest.fixture(autouse=True, scope="module")
def simulation() -> Iterator[None]:
    with simulated_cupy.installed():
        yield


def second(values: Any, **kwargs: Any) -> ag.Tensor:
    return make("cuda:1", values, **kwargs)


# ---- "cuda" is the current device, wherever the operand is

PLACING: dict[str, Callable[[ag.Tensor], ag.Tensor]] = {
    "to": lambda x: x.to("cuda"),
    "to_device": lambda x: ag.to_device(x, "cuda"),
    "method": lambda x: x.to_device("cuda"),
    "astype": lambda x: ag.astype(x, ag.float32, device="cuda"),
    "asarray": lambda x: ag.asarray(x, device="cuda"),
    "asarray of a raw array": lambda x: ag.asarray(x.array, device="cuda"),
    "asarray of a list": lambda x: ag.asarray([x[0], x[1]], device="cuda"),
    "from_dlpack": lambda x: ag.from_dlpack(x.detach(), device="cuda"),
    "tensor": lambda x: ag.tensor(x.detach(), device="cuda"),
    "full": lambda x: ag.full((2,), x[0], device="cuda"),
    "full_like": lambda x: ag.full_like(x, x[0], device="cuda"),
    "zeros_like": lambda x: ag.zeros_like(x, device="cuda"),
    "linspace": lambda x: ag.linspace(x[0], x[1], 2, device="cuda"),
    "zeros": lambda x: ag.zeros(2, device="cuda"),
    "random": lambda x: ag.random.default_rng(0, device="cuda").normal(size=2),
    "inside vmap": lambda x: ag.vmap(lambda case: case.to("cuda") * 1.0)(x),
    "a tangent": lambda x: ag.jvp(lambda x: x.to("cuda"), (x.detach(),), (x.detach(),))[1],
}


@pytest.mark.parametrize("current", [0, 1])
@pytest.mark.parametrize("name", PLACING)
def test_the_name_without_a_number_is_the_current_device(name: str, current: int) -> None:
    x = second([1.0, 2.0], requires_grad=True)
    with Device(current):
        placed = PLACING[name](x)
    assert placed.device == f"cuda:{current}"
    assert state.current == [0]
    if placed.requires_grad and placed is not x:
        placed.sum().backward()
        assert x.grad.device == "cuda:1"


def test_the_default_device_without_a_number_follows_the_current_one() -> None:
    ag.set_default_device("cuda")
    try:
        for number in (0, 1):
            with Device(number):
                made = [ag.zeros(2), ag.tensor([1.0]), ag.exp(1.0), ag.random.default_rng(0).normal(size=2)]
            assert {tensor.device for tensor in made} == {f"cuda:{number}"}
    finally:
        ag.set_default_device(None)


def test_what_is_there_already_is_the_tensor_itself() -> None:
    x = second([1.0, 2.0], requires_grad=True)
    with Device(1):
        for name in ("cuda", "cuda:1"):
            assert x.to(name) is ag.to_device(x, name) is ag.asarray(x, device=name) is x
    raw = ag.to_device(x.array, "cuda:1")
    assert raw.array is x.array


def test_a_gradient_comes_back_to_its_device() -> None:
    x = second([1.0, 2.0], requires_grad=True)
    (x.to("cuda") * ag.tensor([3.0, 5.0], device="cuda")).sum().backward()
    assert (x.grad.device, to_host(x.grad).tolist()) == ("cuda:1", [3, 5])


def test_the_ends_of_linspace_are_moved() -> None:
    start = second(1.0, requires_grad=True)
    values = ag.linspace(start, ag.tensor(3.0, device="cpu"), 3, device="cuda:0")
    assert (values.device, to_host(values).tolist()) == ("cuda:0", [1, 2, 3])
    values.sum().backward()
    assert (start.grad.device, start.grad.item()) == ("cuda:1", 1.5)


# ---- Where memory ends


class Exponential(ag.Function):
    @staticmethod
    def forward(ctx: Any, x: ag.Tensor) -> ag.Tensor:
        return ag.exp(x)


FAILING: dict[str, tuple[Callable[[ag.Tensor, ag.Tensor], Any], str]] = {
    "unary": (lambda x, y: ag.exp(x), "exp got float64 [2]"),
    "binary": (lambda x, y: x * y, "multiply got float64 [2] and float64 [3, 1]"),
    "a number": (lambda x, y: 2.0 - x, "subtract got 2.0 and float64 [2]"),
    "a raw array": (lambda x, y: x * y.array, "multiply got float64 [2] and float64 [3, 1]"),
    "generic": (lambda x, y: ag.sum(y, axis=0), "sum got float64 [3, 1]"),
    "a sequence": (lambda x, y: ag.concat([x, x]), "concat got float64 [2] and float64 [2]"),
    "several outputs": (lambda x, y: ag.linalg.svd(y), "svd got float64 [3, 1]"),
    "a write": (lambda x, y: x.add_(y.to(ag.float32)[:2, 0]), "add_ got float64 [2] and float32 [2]"),
    "assignment": (lambda x, y: x.__setitem__(slice(None), [1, 2]), "__setitem__ got float64 [2] and [1, 2]"),
    "adding at indices": (lambda x, y: x.index_add_(0, [0, 0], y[1:, 0]), "index_add_ got float64 [2] and float64 [2]"),
    "a recorded write": (lambda x, y: x.mul_(x[0].clone().requires_grad_()), "multiply got float64 [2] and float64 []"),
    "a Function": (lambda x, y: Exponential.apply(y), "exp got float64 [3, 1]"),
    "cases": (lambda x, y: ag.vmap(ag.exp)(y), "exp got float64 [1]"),
    "a tangent": (lambda x, y: ag.jvp(ag.sin, (x,), (x,)), "cos got float64 [2]"),
    "a copy to the GPU": (lambda x, y: ag.zeros(2, device="cpu").to(x.device), "to_device got float64 [2]"),
}  # fmt: skip


@pytest.fixture(params=["cuda:0", "cuda:1"])
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    """One GPU alone, for which operations enter no scope, and the second of two."""
    several = set(backends.several_devices)
    if request.param == "cuda:0":
        backends.several_devices.clear()
    forget_kernels()
    yield request.param
    backends.several_devices.update(several)
    forget_kernels()


def forget_kernels() -> None:
    """Callers find the kernel of a type once, with its scope or without."""
    for known in gc.get_objects():
        if type(known) is dict and callable(known.get(simulated_cupy.ndarray)):
            del known[simulated_cupy.ndarray]


def failures(function: Callable[[], Any]) -> list[MemoryError]:
    """What is raised where the first allocation fails, the second, and so on until none does."""
    errors: list[MemoryError] = []
    while True:
        state.allocations_left = len(errors)
        try:
            function()
        except OutOfMemoryError as error:
            errors.append(error)
            assert state.current == [0]
        else:
            return errors
        finally:
            state.allocations_left = None


@pytest.mark.parametrize("name", FAILING)
def test_a_lack_of_memory_says_where_and_how_much_there_is(name: str, device: str) -> None:
    function, text = FAILING[name]

    def fresh() -> Any:
        left, state.allocations_left = state.allocations_left, None
        x, y = make(device, [1.0, 2.0]), make(device, [[1.0], [2.0], [3.0]])
        state.allocations_left = left
        return function(x, y)

    errors = failures(fresh)
    assert all(str(error).startswith("Out of memory allocating ") for error in errors)
    memory = f"{device} has 750 of 1,000 MiB free (see arraygrad.memory_info)"
    assert {error.__notes__[0] for error in errors} == {memory}
    assert [text] in [error.__notes__[1:] for error in errors]


def test_a_failed_operation_is_held_by_nobody(device: str) -> None:
    """Not even by a cycle: the memory is there as soon as the error has been handled."""
    x = make(device, [1.0, 2.0], requires_grad=True)
    y = x * 3.0
    kept = weakref.ref(y.array)
    gc.disable()
    try:
        for function in (ag.exp, lambda y: y + 1.0, ag.sum, lambda y: y.copy_(np.ones(2))):
            state.allocations_left = 0
            with pytest.raises(MemoryError):
                function(y)
            state.allocations_left = None
        del y
        assert kept() is None
    finally:
        gc.enable()


def written(x: ag.Tensor) -> ag.Tensor:
    """Write to memory that a tensor and a view have saved, each in a box of its own."""
    y = x * 2.0
    loss = ag.sum(y * y) + ag.sum(y[:1] ** 3)
    failures(lambda: y.mul_(x))
    return loss + ag.sum(y)


def assigned(x: ag.Tensor) -> ag.Tensor:
    """The same by an assignment, at indices that repeat."""
    y = x * 2.0
    loss = ag.sum(y[:1] ** 3) + ag.sum(y * y)
    failures(lambda: y.__setitem__(ag.asarray([0, 0], device=x.device), x))
    return loss + ag.sum(y)


@pytest.mark.parametrize("program", [written, assigned])
def test_a_write_that_fails_may_be_tried_again(program: Callable[[ag.Tensor], ag.Tensor], device: str) -> None:
    x = make(device, [0.5, -1.5], requires_grad=True)
    here = ag.tensor(to_host(x), requires_grad=True)
    program(here).backward()
    program(x).backward()
    assert to_host(x.grad).tolist() == pytest.approx(to_host(here.grad).tolist())


def test_a_write_without_history_after_one_that_failed_is_found(device: str) -> None:
    x = make(device, [0.5, -1.5], requires_grad=True)
    for stops_at in (0, 1):
        y = x * 2.0
        loss = ag.sum(y * y) + ag.sum(y[:1] ** 3)
        state.allocations_left = stops_at
        with pytest.raises(MemoryError):
            y[...] = x
        state.allocations_left = None
        with ag.no_grad():
            y.fill_(7.0)
        with pytest.raises(ag.VersionError):
            loss.backward()


class Failing(Library):
    """Runs out of memory at every allocation of every write, and tries again."""

    def write(self, x: Any, index: Any, value: Any) -> None:
        index = self.index(x, index)
        with self.refusals():
            failures(lambda: x.__setitem__(index, value))

    def update(self, x: Any, name: str, value: Any) -> None:
        with self.refusals():
            failures(lambda: getattr(x, f"{name}_")(value))


@settings(max_examples=60)
@given(programs)
def test_random_programs_whose_writes_fail_first(program: list[Instruction]) -> None:
    compare(program, "cuda:1", Failing)


def branches(x: ag.Tensor, w: ag.Tensor) -> ag.Tensor:
    y = x * w
    y[:1] = ag.exp(w[1:])
    return ag.sum(y * y) + ag.sum(
        ag.cumulative_sum(x)[ag.asarray([0, 0], device=x.device)] * y.to("cuda:0").to(x.device)
    )


def values_of(leaves: list[ag.Tensor]) -> list[Any]:
    return [None if leaf.grad is None else to_host(leaf.grad).tolist() for leaf in leaves]


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("grads", ["none", "arrays", "read-only", "with history"])
def test_a_backward_that_fails_leaves_gradients_as_they_were(grads: str, create_graph: bool, device: str) -> None:
    def fresh(device: str) -> list[ag.Tensor]:
        leaves = [make(device, [0.5, -1.5], requires_grad=True), make(device, [2.0, 3.0], requires_grad=True)]
        for leaf in leaves if grads != "none" else ():
            leaf.grad = {
                "arrays": lambda leaf: leaf.detach() * 1.0,
                "read-only": lambda leaf: ag.broadcast_to(leaf.detach()[0] * 1.0, (2,)),
                "with history": lambda leaf: leaf * 2.0,
            }[grads](leaf)
        return leaves

    leaves = fresh(device)
    before = values_of(leaves)
    loss = branches(*leaves)
    errors: list[MemoryError] = []
    while True:
        state.allocations_left = len(errors)
        try:
            loss.backward(retain_graph=True, create_graph=create_graph)
        except OutOfMemoryError as error:
            state.allocations_left = None
            errors.append(error)
            assert values_of(leaves) == before
        else:
            state.allocations_left = None
            break
    assert len(errors) > 5
    others = fresh("cpu")
    branches(*others).backward()
    for leaf, other in zip(leaves, others, strict=True):
        assert (leaf.grad.device, to_host(leaf.grad).tolist()) == (device, pytest.approx(to_host(other.grad).tolist()))


def test_a_leaf_that_was_overwritten_gets_zeros_on_its_device() -> None:
    x = second([1.0, 2.0], requires_grad=True)
    y = x * 3.0
    y[...] = second([4.0, 5.0])
    y.sum().backward()
    assert (x.grad.device, to_host(x.grad).tolist()) == ("cuda:1", [0, 0])


# ---- What users do with the second device


def test_anomaly_detection_looks_where_the_numbers_are() -> None:
    x = second([1.0, 2.0], requires_grad=True)
    with ag.detect_anomaly(), np.errstate(all="ignore"):
        ag.sum(ag.exp(x).to("cuda:0")).backward()
        with pytest.raises(ag.GraphError, match="log made the first NaN"):
            ag.log(-x)
        y = ag.sqrt(x - x) * 0.0
        with pytest.raises(ag.GraphError, match="SqrtBackward returned NaN"):
            y.sum().backward()


def test_cases_meet_what_is_the_same_in_all() -> None:
    x, scale = second([[1.0, 2.0], [3.0, 4.0]]), second([5.0, 7.0])
    result = ag.vmap(lambda row: ag.sum(row * scale))(x)
    assert (result.device, to_host(result).tolist()) == ("cuda:1", [19, 43])
    jacobian = ag.jacobian(lambda x: ag.cumulative_sum(x) * scale)(x[0])
    assert (jacobian.device, to_host(jacobian).tolist()) == ("cuda:1", [[5, 0], [7, 7]])


@pytest.mark.parametrize("index", [[0, 1], [True, False]])
@pytest.mark.parametrize("other", ["cpu", "cuda:0"])
def test_an_index_on_another_device_is_refused(other: str, index: list[Any]) -> None:
    x, there = second([1.0, 2.0]), ag.tensor(index, device=other)
    for access in (lambda: x[there], lambda: x[None, there], lambda: x.__setitem__(there, 1.0), lambda: x[there.array]):
        with pytest.raises(ag.DeviceError, match=f"indexing got arrays on two devices, cuda:1 and {other}; move one"):
            access()
    assert to_host(x[index]).tolist() == [1, 2][: 2 if index[1] else 1]  # a list goes where it is wanted


def test_the_stream_of_a_generator_can_be_set_back() -> None:
    for device in ("cuda:0", "cuda:1"):
        rng = ag.random.default_rng(0, device=device)
        rng.normal(size=3)
        before = rng.state
        first = to_host(rng.uniform(size=4)).tolist()
        assert to_host(rng.uniform(size=4)).tolist() != first
        for _ in range(2):
            rng.state = before
            assert to_host(rng.uniform(size=4)).tolist() == first


def test_a_checkpoint_draws_the_same_numbers_again() -> None:
    x, rng = second([1.0, 2.0], requires_grad=True), ag.random.default_rng(0, device="cuda:1")
    drawn: list[Any] = []

    def noisy(x: ag.Tensor) -> ag.Tensor:
        drawn.append(rng.normal(size=2))
        return ag.exp(x) * drawn[-1]

    ag.checkpoint(noisy, x).sum().backward()
    first, again = map(to_host, drawn)
    assert first.tolist() == again.tolist()
    np.testing.assert_allclose(to_host(x.grad), np.exp(to_host(x)) * first)


@pytest.mark.parametrize("other", ["cpu", "cuda:0"])
def test_a_gradient_that_a_hook_moves_is_refused(other: str) -> None:
    def moved(g: ag.Tensor | None) -> ag.Tensor | None:
        return None if g is None else g.to(other)

    x = second([1.0, 2.0], requires_grad=True)
    y = x * 2.0
    y.register_hook(moved)
    z = x * 2.0
    z.grad_fn.register_hook(lambda grads, outputs: tuple(map(moved, grads)))
    text = f"a hook on MultiplyBackward returned a gradient on {other} in place of one on cuda:1; move it back"
    for tensor in (y, z):
        for create_graph in (False, True):
            with pytest.raises(ag.GraphError, match=text):
                tensor.sum().backward(create_graph=create_graph, retain_graph=True)
    assert x.grad is None


class Doubled(ag.Function):
    """Computes on the CPU, and forgets to bring the gradient back."""

    @staticmethod
    def forward(ctx: Any, x: ag.Tensor) -> ag.Tensor:
        return x.to("cpu") * 2.0

    @staticmethod
    def backward(ctx: Any, g: ag.Tensor) -> ag.Tensor:
        return g * 2.0


@pytest.mark.usefixtures("own_op")
@pytest.mark.parametrize("create_graph", [False, True])
def test_a_gradient_that_a_rule_leaves_elsewhere_is_refused(create_graph: bool) -> None:
    @elementwise(lambda g, xp: backends.move(g, "cpu"))
    def lost(xp: Any, x: ArrayLike, /) -> Any:
        return x * 1.0

    x = second([1.0, 2.0], requires_grad=True)
    with pytest.raises(
        ag.GraphError,
        match="DoubledBackward returned an invalid gradient at index 0 - expected device cuda:1 but got cpu",
    ):
        Doubled.apply(x).sum().backward(create_graph=create_graph)
    if not create_graph:
        with pytest.raises(ag.DeviceError, match="backward got arrays on two devices, cuda:1 and cpu"):
            lost(x).sum().backward()
    assert x.grad is None


def test_a_checkpoint_runs_again_with_the_same_current_device() -> None:
    x = second([0.5, 1.0], requires_grad=True)

    def there_and_back(x: ag.Tensor) -> ag.Tensor:
        return ag.exp(ag.exp(x.to("cuda")).to("cuda:1") * ag.ones(2, device="cuda:1"))

    y = ag.checkpoint(there_and_back, x)
    with Device(1):
        y.sum().backward()
    np.testing.assert_allclose(to_host(x.grad), np.exp(np.exp(to_host(x)) + to_host(x)))
    assert (x.grad.device, state.current) == ("cuda:1", [0])


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("is_leaf", [False, True])
def test_gradients_from_two_devices_meet_on_that_of_the_tensor(is_leaf: bool, create_graph: bool) -> None:
    x = second([1.0, 2.0], requires_grad=True)
    y = x if is_leaf else x * 1.0
    loss = ag.sum(y[:1].to("cuda:0") * 3.0) + ag.sum((y * 5.0).to("cuda:0")) + ag.sum(y.to("cuda:0") * 7.0)
    (loss + ag.sum(y.to("cpu") * 11.0).to("cuda:0") + ag.sum(y[1:]).to("cuda:0")).backward(create_graph=create_graph)
    assert (x.grad.device, to_host(x.grad).tolist()) == ("cuda:1", [26, 24])
    x.zero_grad()
    outputs = [ag.sum(x.to("cuda:0") * 3.0), ag.sum(x * 5.0), x[0].to("cpu")]
    found = ag.gradients(outputs, x, create_graph=create_graph)
    assert (found.device, to_host(found).tolist()) == ("cuda:1", [9, 8])


def test_gradients_of_each_case() -> None:
    x, there = second([1.0, 2.0]), ag.tensor([3.0, 5.0], device="cuda:0")
    cubes = ag.vmap(ag.grad(lambda x: x**3))(x)
    assert (cubes.device, to_host(cubes).tolist()) == ("cuda:1", [3, 12])
    moved = ag.vmap(ag.grad(lambda x, w: x.to("cuda:0") ** 2 * w))(x, there)
    assert (moved.device, to_host(moved).tolist()) == ("cuda:1", [6, 20])


def test_singular_values_are_differentiated_twice() -> None:
    x = np.asarray([[1.0, 2.0], [3.0, 4.5]])

    def f(x: ag.Tensor) -> ag.Tensor:
        u, s, vh = ag.linalg.svd(x, full_matrices=False)
        return ag.sum((u * s**2) @ vh)

    for derivative in (ag.hessian(f), ag.jacobian(ag.grad(f), mode="forward")):
        np.testing.assert_allclose(to_host(derivative(second(x))), to_host(derivative(ag.tensor(x))), rtol=1e-10)


def test_adding_at_indices_along_an_axis() -> None:
    x = second([[1.0, 2.0], [3.0, 4.0]])
    x.scatter_add_(0, second([[1, 1], [1, 0]]), second([[10.0, 20.0], [30.0, 40.0]]))
    assert to_host(x).tolist() == [[1, 42], [43, 24]]

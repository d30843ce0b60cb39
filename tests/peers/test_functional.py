"""Every row of the table in docs/functional.md, with JAX and torch.func installed. Run by ci/peers."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax")
torch = pytest.importorskip("torch")

import jax.numpy as jnp  # noqa: E402
from torch.utils.checkpoint import checkpoint as torch_checkpoint  # noqa: E402

import arraygrad as ag  # noqa: E402

pytestmark = [
    pytest.mark.peers,
    # PyTorch's own, in forward mode and in linearize.
    pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Attempted to insert a get_attr Node:UserWarning"),
]

jax.config.update("jax_enable_x64", True)

X, Y = np.array([0.5, -1.2, 2.0]), np.array([1.5, 0.3, -0.7])
V, G = np.array([1.0, -2.0, 0.5]), np.array([0.3, 1.0, -1.0])
Z, W = np.array([0.5 + 1.0j, -1.2 + 0.3j]), np.array([1.0 - 0.5j, 0.25 + 2.0j])


def ours(x: Any) -> ag.Tensor:
    return ag.tensor(x)


#: For each library: its namespace of functions, and what makes an array of a NumPy one.
LIBRARIES: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "arraygrad": (ag, ours),
    "jax": (jnp, jnp.asarray),
    "torch": (torch, torch.tensor),
}


def vector(xp: Any) -> Callable[..., Any]:
    return lambda x, y=Y: xp.sin(x) * x[0] + LIBRARIES[name_of(xp)][1](y) * x


def scalar(xp: Any) -> Callable[..., Any]:
    return lambda x, y: (xp.exp(x * y) * x).sum()


def name_of(xp: Any) -> str:
    return next(name for name, (namespace, _) in LIBRARIES.items() if namespace is xp)


def with_aux(f: Callable[..., Any]) -> Callable[..., Any]:
    def function(*args: Any) -> Any:
        out = f(*args)
        return out, {"double": 2.0 * out}

    return function


def flat(tree: Any) -> list[np.ndarray]:
    """All arrays of a result, in order."""
    if isinstance(tree, dict):
        return [array for key in sorted(tree) for array in flat(tree[key])]
    if isinstance(tree, tuple | list):
        return [array for item in tree for array in flat(item)]
    if isinstance(tree, ag.Tensor | torch.Tensor):
        return [tree.detach().resolve_conj().numpy() if isinstance(tree, torch.Tensor) else tree.detach().numpy()]
    return [np.asarray(tree)]


def check(results: dict[str, Any]) -> None:
    """Compare the results of the libraries, each in its own arrays."""
    first = flat(results["arraygrad"])
    for name, result in results.items():
        found = flat(result)
        assert len(found) == len(first), name
        for one, other in zip(first, found, strict=True):
            assert one.shape == other.shape, name
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14, err_msg=name)


def arrays(*values: Any) -> dict[str, list[Any]]:
    return {name: [make(value) for value in values] for name, (_, make) in LIBRARIES.items()}


def check_grad() -> None:
    a = arrays(X, Y)
    for argnums in (0, 1, (0, 1)):
        check(
            {
                "arraygrad": ag.grad(scalar(ag), argnums)(*a["arraygrad"]),
                "jax": jax.grad(scalar(jnp), argnums)(*a["jax"]),
                "torch": torch.func.grad(scalar(torch), argnums)(*a["torch"]),
            }
        )
    check(
        {
            "arraygrad": ag.grad(with_aux(scalar(ag)), has_aux=True)(*a["arraygrad"]),
            "jax": jax.grad(with_aux(scalar(jnp)), has_aux=True)(*a["jax"]),
            "torch": torch.func.grad(with_aux(scalar(torch)), has_aux=True)(*a["torch"]),
        }
    )
    trees = {name: {"a": x, "b": [y]} for name, (x, y) in a.items()}

    def of_tree(xp: Any) -> Callable[..., Any]:
        return lambda p: scalar(xp)(p["a"], p["b"][0])

    check(
        {
            "arraygrad": ag.grad(of_tree(ag))(trees["arraygrad"]),
            "jax": jax.grad(of_tree(jnp))(trees["jax"]),
            "torch": torch.func.grad(of_tree(torch))(trees["torch"]),
        }
    )


def check_value_and_grad() -> None:
    a = arrays(X, Y)
    grad, value = torch.func.grad_and_value(scalar(torch), (0, 1))(*a["torch"])  # the other way round
    check(
        {
            "arraygrad": ag.value_and_grad(scalar(ag), (0, 1))(*a["arraygrad"]),
            "jax": jax.value_and_grad(scalar(jnp), (0, 1))(*a["jax"]),
            "torch": (value, grad),
        }
    )
    grad, value = torch.func.grad_and_value(with_aux(scalar(torch)), has_aux=True)(*a["torch"])
    check(
        {
            "arraygrad": ag.value_and_grad(with_aux(scalar(ag)), has_aux=True)(*a["arraygrad"]),
            "jax": jax.value_and_grad(with_aux(scalar(jnp)), has_aux=True)(*a["jax"]),
            "torch": (value, grad),
        }
    )


def check_vjp() -> None:
    a = arrays(X, G)
    out: dict[str, Any] = {}
    for name, vjp in (("arraygrad", ag.vjp), ("jax", jax.vjp), ("torch", torch.func.vjp)):
        f = vector(LIBRARIES[name][0])
        y, pullback = vjp(f, a[name][0])
        g = pullback(a[name][1])
        assert isinstance(g, tuple)
        y_aux, pullback, aux = vjp(with_aux(f), a[name][0], has_aux=True)
        out[name] = (y, g, y_aux, pullback(a[name][1]), aux)
    check(out)


def check_jvp() -> None:
    a = arrays(X, V)
    out = {}
    for name, jvp in (("arraygrad", ag.jvp), ("jax", jax.jvp), ("torch", torch.func.jvp)):
        f = vector(LIBRARIES[name][0])
        x, v = a[name]
        out[name] = (jvp(f, (x,), (v,)), jvp(with_aux(f), (x,), (v,), has_aux=True))
    check(out)


def check_linearize() -> None:
    a = arrays(X, V)
    out = {}
    for name, linearize in (("arraygrad", ag.linearize), ("jax", jax.linearize), ("torch", torch.func.linearize)):
        y, push = linearize(vector(LIBRARIES[name][0]), a[name][0])
        out[name] = (y, push(a[name][1]), push(2.0 * a[name][1]))
    check(out)


def check_jacobian() -> None:
    a = arrays(X, Y)
    for mode, of_jax, of_torch in (
        ("reverse", jax.jacrev, torch.func.jacrev),
        ("forward", jax.jacfwd, torch.func.jacfwd),
    ):
        check(
            {
                "arraygrad": ag.jacobian(vector(ag), mode=mode)(a["arraygrad"][0]),
                "jax": of_jax(vector(jnp))(a["jax"][0]),
                "torch": of_torch(vector(torch))(a["torch"][0]),
            }
        )
        check(
            {
                "arraygrad": ag.jacobian(with_aux(scalar(ag)), (0, 1), has_aux=True, mode=mode)(*a["arraygrad"]),
                "jax": of_jax(with_aux(scalar(jnp)), (0, 1), has_aux=True)(*a["jax"]),
                "torch": of_torch(with_aux(scalar(torch)), (0, 1), has_aux=True)(*a["torch"]),
            }
        )


def check_hessian() -> None:
    a = arrays(X, Y)
    for argnums in (0, (0, 1)):
        check(
            {
                "arraygrad": ag.hessian(scalar(ag), argnums)(*a["arraygrad"]),
                "jax": jax.hessian(scalar(jnp), argnums)(*a["jax"]),
                "torch": torch.func.hessian(scalar(torch), argnums)(*a["torch"]),
            }
        )


def check_hvp() -> None:
    a = arrays(X, V)

    def f(xp: Any) -> Callable[..., Any]:
        return lambda x: scalar(xp)(x, LIBRARIES[name_of(xp)][1](Y))

    (x, v), (jx, jv), (tx, tv) = a["arraygrad"], a["jax"], a["torch"]
    check(
        {
            "arraygrad": ag.hvp(f(ag), (x,), (v,)),
            "jax": jax.jvp(jax.grad(f(jnp)), (jx,), (jv,))[1],
            "torch": torch.func.jvp(torch.func.grad(f(torch)), (tx,), (tv,))[1],
            "torch.autograd.functional": torch.autograd.functional.hvp(f(torch), tx, tv)[1],
        }
    )


def check_vmap() -> None:
    rows = np.array([X, Y, V, G])
    a = arrays(rows, Y)
    check(
        {
            "arraygrad": ag.vmap(scalar(ag), in_axes=(0, None))(*a["arraygrad"]),
            "jax": jax.vmap(scalar(jnp), in_axes=(0, None))(*a["jax"]),
            "torch": torch.func.vmap(scalar(torch), in_dims=(0, None))(*a["torch"]),
        }
    )
    check(
        {
            "arraygrad": ag.vmap(vector(ag), 0, 1)(a["arraygrad"][0]),
            "jax": jax.vmap(vector(jnp), 0, 1)(a["jax"][0]),
            "torch": torch.func.vmap(vector(torch), 0, 1)(a["torch"][0]),
        }
    )


def check_elementwise_grad() -> None:
    a = arrays(X)
    check(
        {
            "arraygrad": ag.elementwise_grad(lambda x: ag.sin(x) * x)(a["arraygrad"][0]),
            "jax": jax.vmap(jax.grad(lambda x: jnp.sin(x) * x))(a["jax"][0]),
            "torch": torch.func.vmap(torch.func.grad(lambda x: torch.sin(x) * x))(a["torch"][0]),
        }
    )


def check_checkpoint() -> None:
    a = arrays(X)
    x = a["torch"][0].requires_grad_()
    torch_checkpoint(vector(torch), x, use_reentrant=False).sum().backward()
    check(
        {
            "arraygrad": ag.grad(lambda x: ag.sum(ag.checkpoint(vector(ag), x)))(a["arraygrad"][0]),
            "jax": jax.grad(lambda x: jnp.sum(jax.checkpoint(vector(jnp))(x)))(a["jax"][0]),
            "torch": x.grad,
        }
    )


ROWS = {name.removeprefix("check_"): check for name, check in dict(globals()).items() if name.startswith("check_")}


def test_every_row_of_the_table_is_checked() -> None:
    page = (Path(__file__).parents[2] / "docs" / "functional.md").read_text()
    table, _, _ = page.partition("## Neighbours")
    assert list(ROWS) == re.findall(r"^\| `(\w+)\(", table, re.MULTILINE)
    assert all(hasattr(ag, name) for name in ROWS)


@pytest.mark.parametrize("row", ROWS)
def test_row(row: str) -> None:
    ROWS[row]()


def test_the_gradient_of_complex_numbers_is_pytorchs_and_the_conjugate_of_jaxs() -> None:
    a = arrays(Z)

    def f(xp: Any) -> Callable[..., Any]:
        return lambda z: (xp.abs(z * z + 1.0) ** 2).sum()

    ours, theirs = ag.grad(f(ag))(a["arraygrad"][0]), jax.grad(f(jnp))(a["jax"][0])
    check({"arraygrad": ours, "torch": torch.func.grad(f(torch))(a["torch"][0]), "jax": jnp.conj(theirs)})


def test_pullbacks_of_complex_numbers_are_pytorchs() -> None:
    a = arrays(Z, W)
    _, pullback = ag.vjp(lambda z: z * z, a["arraygrad"][0])
    _, of_torch = torch.func.vjp(lambda z: z * z, a["torch"][0])
    _, of_jax = jax.vjp(lambda z: z * z, a["jax"][0])
    check(
        {
            "arraygrad": pullback(a["arraygrad"][1]),
            "torch": of_torch(a["torch"][1]),
            "jax": jnp.conj(of_jax(jnp.conj(a["jax"][1]))[0]),
        }
    )


def test_tangents_and_jacobians_of_holomorphic_functions_need_no_convention() -> None:
    a = arrays(Z, W)
    (z, w), (jz, jw), (tz, tw) = a["arraygrad"], a["jax"], a["torch"]
    f: dict[str, Any] = {name: lambda z, xp=xp: xp.exp(z) * z[0] for name, (xp, _) in LIBRARIES.items()}
    check(
        {
            "arraygrad": ag.jvp(f["arraygrad"], (z,), (w,)),
            "jax": jax.jvp(f["jax"], (jz,), (jw,)),
            "torch": torch.func.jvp(f["torch"], (tz,), (tw,)),
        }
    )
    check(
        {
            "arraygrad": ag.jacobian(f["arraygrad"], mode="forward")(z),
            "in reverse": ag.jacobian(f["arraygrad"], mode="reverse")(z),
            "jax": jax.jacfwd(f["jax"], holomorphic=True)(jz),
        }
    )
    with pytest.raises(RuntimeError, match="Expected all inputs to be real"):
        torch.func.jacfwd(f["torch"])(tz)

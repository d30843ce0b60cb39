"""Minimizing a function of tensors with SciPy's methods, which get their derivatives from here."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import arraygrad as ag
from arraygrad.backends import NUMPY, namespaces
from arraygrad.backends import scipy as scipy_backend
from arraygrad.errors import DeviceError, ShapeError, format_shape
from arraygrad.modes import no_grad
from arraygrad.ravel import Ravel
from arraygrad.tensor import Tensor
from arraygrad.transforms import hvp, value_and_grad

#: What each of SciPy's methods is given: nothing, the gradient, and products with the Hessian, or the Hessian itself.
METHODS = {
    **dict.fromkeys(["Nelder-Mead", "Powell", "COBYLA", "COBYQA"], ""),
    **dict.fromkeys(["CG", "BFGS", "L-BFGS-B", "TNC", "SLSQP"], "jac"),
    **dict.fromkeys(["Newton-CG", "trust-ncg", "trust-krylov", "trust-constr"], "hessp"),
    **dict.fromkeys(["dogleg", "trust-exact"], "hess"),
}


@dataclass(frozen=True)
class MinimizeResult:
    """What `minimize` returns."""

    #: Where the minimum was found, structured as `x0`, on its device and with its data types.
    x: Any
    #: The value there.
    fun: float
    #: The gradient there, structured as `x0`; None for methods that use none.
    grad: Any
    #: Whether the method says that it has found a minimum, its code for why it has stopped, and its words.
    success: bool
    status: int
    message: str
    #: Numbers of iterations, and of evaluations of the function, of its gradient and of Hessian-vector products.
    nit: int
    nfev: int
    njev: int
    nhev: int


def minimize(
    f: Callable[..., Any],
    x0: Any,
    *,
    args: Sequence[Any] = (),
    method: str = "BFGS",
    callback: Callable[[Any, float], Any] | None = None,
    tol: float | None = None,
    options: dict[str, Any] | None = None,
    progress: bool = False,
) -> MinimizeResult:
    """Minimize `f(x, *args)`, a real number, over `x`, with a method of `scipy.optimize.minimize`.

    `x0` may be a nested container of tensors on any device. SciPy sees one float64 vector on the CPU, `f` gets `x`
    structured as `x0`, with its data types; where these are float32, a tolerance below 1e-6 cannot be reached. Complex
    numbers are optimized as their real and imaginary parts. The methods get gradients, and those that use them
    (Newton-CG, trust-ncg, trust-krylov, trust-constr) products with the Hessian by `hvp`; dogleg and trust-exact, which
    need the Hessian itself, get it from as many products as there are unknowns; Nelder-Mead, Powell, COBYLA and COBYQA
    use no derivatives. The result has no history; derivatives of the minimum by `args` are those of
    `implicit_root(grad(f), x0, *args)`, with this function as its solver or with its own.

    Args:
        callback: is called after each iteration with the current `x` and the value; may raise StopIteration.
        tol: the method's tolerance; its other options, such as `maxiter`, go into `options`.
        progress: show a bar with the value and the gradient's norm; needs tqdm.

    Raises:
        ShapeError: there is no such method, or `f` does not return one real number.
        DtypeError: a leaf of `x0` is not of a floating point type.
        DeviceError: SciPy, or tqdm for `progress`, is not installed.

    >>> import arraygrad as ag
    >>> def banana(p):
    ...     return (1.0 - p["x"]) ** 2 + 100.0 * (p["y"] - p["x"] ** 2) ** 2
    >>> result = ag.minimize(banana, {"x": -1.0, "y": 2.0}, method="Newton-CG")
    >>> result.success, round(result.x["x"].item(), 3), round(result.x["y"].item(), 3)
    (True, 1.0, 1.0)
    """
    kinds = {name.lower(): kind for name, kind in METHODS.items()}
    kind = kinds.get(method.lower()) if isinstance(method, str) else None
    if kind is None:
        raise ShapeError(f"minimize has no method {method!r}; SciPy's are {', '.join(METHODS)}")
    problem = _Problem(f, x0, args, callback, kind != "")
    derivatives: dict[str, Any] = {} if kind == "" else {"jac": True}
    if kind == "hessp":
        derivatives["hessp"] = problem.hessp
    elif kind == "hess":
        derivatives["hess"] = problem.hessian
    with no_grad(), _bar(progress) as problem.bar:
        found = scipy_backend.minimize(
            problem.value if kind == "" else problem.value_and_grad,
            problem.host(problem.ravel.flat(x0)),
            method=method,
            callback=problem.after_iteration if callback is not None or progress else None,
            tol=tol,
            options=options,
            **derivatives,
        )
        grad = None if kind == "" else problem.tensors(found["grad"] if "grad" in found else found["jac"])
        x = problem.tensors(found.x)
    return MinimizeResult(
        x,
        float(found.fun),
        grad,
        bool(found.success),
        int(found.status),
        str(found.message),
        *(int(found.get(name, 0)) for name in ("nit", "nfev", "njev", "nhev")),
    )


class _Problem:
    """What SciPy calls, on vectors of the host."""

    bar: Any

    def __init__(self, f: Callable[..., Any], x0: Any, args: Sequence[Any], callback: Any, has_gradient: bool) -> None:
        self.ravel = Ravel("minimize", x0)
        self.f: Callable[[Any], Any] = lambda x: f(x, *args)
        self.both = value_and_grad(self.f)
        self.callback, self.has_gradient = callback, has_gradient
        #: Value and norm of the gradient at the points seen in this iteration: its result is one of them.
        self.seen: dict[bytes, tuple[float, float]] = {}

    def tensors(self, vector: Any) -> Any:
        return self.ravel.unflat(ag.tensor(vector, dtype=self.ravel.dtype, device=self.ravel.device))

    def host(self, vector: Tensor) -> Any:
        return NUMPY.host_array(namespaces[type(vector.array)].to_host(vector.array), "float64")

    def value(self, vector: Any) -> float:
        out = ag.asarray(self.f(self.tensors(vector)))
        if out.size != 1 or out.dtype.kind == "c":
            raise ShapeError(
                f"minimize needs a function whose result is one real number, got {out.dtype} {format_shape(out.shape)}"
            )
        self.seen[vector.tobytes()] = float(out), 0.0
        return float(out)

    def value_and_grad(self, vector: Any) -> tuple[float, Any]:
        value, grad = self.both(self.tensors(vector))
        slope = self.host(self.ravel.flat(grad))
        self.seen[vector.tobytes()] = float(value), float(slope @ slope) ** 0.5
        return float(value), slope

    def hessp(self, vector: Any, direction: Any) -> Any:
        return self.host(self.ravel.flat(hvp(self.f, (self.tensors(vector),), (self.tensors(direction),))))

    def hessian(self, vector: Any) -> Any:
        return NUMPY.stack([self.hessp(vector, unit) for unit in NUMPY.eye(len(vector))])

    def after_iteration(self, vector: Any, *_: Any) -> None:
        if vector.tobytes() not in self.seen:
            self.value(vector)
        value, slope = self.seen[vector.tobytes()]
        self.seen.clear()
        if self.bar is not None:
            self.bar.set_postfix({"f": f"{value:.6g}"} | ({"|grad|": f"{slope:.2e}"} if self.has_gradient else {}))
            self.bar.update()
        if self.callback is not None:
            self.callback(self.tensors(vector), value)


def _bar(is_wanted: bool) -> contextlib.AbstractContextManager[Any]:
    """A progress bar, or None."""
    if not is_wanted:
        return contextlib.nullcontext()
    try:
        bar: contextlib.AbstractContextManager[Any] = importlib.import_module("tqdm").tqdm(unit="iteration")
    except ModuleNotFoundError as error:
        raise DeviceError("minimize(progress=True) needs tqdm: pip install tqdm") from error
    return bar

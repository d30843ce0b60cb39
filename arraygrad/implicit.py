"""Derivatives of what is only known as the solution of equations: roots and fixed points, by any solver.

For `f(x, a) = 0`, a change `da` moves the root by `dx = -(df/dx)^-1 (df/da) da`; backward solves with the transpose.
The solver's own steps are not differentiated. The rule is made of operations on `a` and on the root, which has that
rule as its history, so derivatives of every order follow. Up to `DENSE` unknowns the Jacobian is made and solved with;
above, the linear equations are solved by GMRES with products alone, and are implicit functions of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import arraygrad as ag
from arraygrad.errors import ConvergenceError, GraphError, ShapeError
from arraygrad.forward import Dual
from arraygrad.function import Function
from arraygrad.modes import enable_grad
from arraygrad.ravel import Ravel
from arraygrad.solvers import anderson, epsilon, gmres, newton
from arraygrad.tensor import Tensor
from arraygrad.transforms import jvp, vjp
from arraygrad.tree import leaves, rebuild
from arraygrad.vectorize import jacobian

#: Up to so many unknowns (complex ones count twice) the Jacobian is made as a matrix.
DENSE = 64

#: The residual of a vector x of unknowns and a vector a of parameters.
Residual = Callable[[Tensor, Tensor], Tensor]


def implicit_root(f: Callable[..., Any], x0: Any, *args: Any, solver: Callable[..., Any] | None = None) -> Any:
    """Solve `f(x, *args) = 0` for `x`, beginning at `x0`: a root that has derivatives by `args`, of every order.

    `x` is structured as `x0`, which may be a nested container of tensors, as may the arguments; `f` returns as many
    numbers as `x` has, in any structure. Complex numbers count by their real and imaginary parts, so `f` need not be
    holomorphic. `x0` has no influence on the derivatives, and what `f` needs of tensors with history must be among
    `args`. Up to 64 unknowns the Jacobian is made as a matrix; above, GMRES needs products with it alone.

    Args:
        solver: `solver(f, x0, *args)` returns `x`; it gets tensors without history, and is not differentiated. Of its
            `x` the derivatives are as right as it is. By default Newton's method with halved steps, where `x0` is.

    Raises:
        ConvergenceError: no root was found, or the Jacobian is singular at the root.
        ShapeError: there are not as many equations as unknowns, or the solver's result is not structured as `x0`.
        GraphError: `f` uses a tensor with history that is not among `args`.

    >>> import arraygrad as ag
    >>> def root(a):
    ...     return ag.implicit_root(lambda x, a: x * x - a, 1.0, a)
    >>> root(ag.tensor(4.0)).item(), ag.grad(root)(4.0).item(), ag.grad(ag.grad(root))(4.0).item()
    (2.0, 0.25, -0.03125)
    """
    return _Problem("implicit_root", f, x0, args).solution(args, solver)


def fixed_point(
    f: Callable[..., Any],
    x0: Any,
    *args: Any,
    solver: Callable[..., Any] | None = None,
    tol: float | None = None,
    maxiter: int = 500,
    memory: int = 5,
) -> Any:
    """Solve `x = f(x, *args)`, beginning at `x0`: a fixed point that has derivatives by `args`, of every order.

    Everything is as in `implicit_root`, but `f` returns what is structured as `x0`. Nothing of the iteration is kept.

    Args:
        solver: `solver(f, x0, *args)` returns `x`. By default `f` is iterated, with Anderson's extrapolation.
        tol: until `f(x) - x` is shorter than `tol * (1 + |x|)`. By default three quarters of the data type's digits.
        maxiter: the most iterations.
        memory: from how many steps is extrapolated; 0 for the plain iteration.

    Raises:
        ConvergenceError: `maxiter` iterations were not enough.

    >>> import arraygrad as ag
    >>> def cosine(a):
    ...     return ag.fixed_point(lambda x, a: ag.cos(a * x), 0.5, a)
    >>> round(cosine(ag.tensor(1.0)).item(), 10), round(ag.grad(cosine)(1.0).item(), 10)
    (0.7390851332, -0.2974743415)
    """
    problem = _Problem("fixed_point", f, x0, args)

    def iterate(residual: Residual, x: Tensor, a: Tensor) -> Tensor:
        goal = epsilon(x) ** 0.75 if tol is None else tol
        return anderson(lambda x: x + residual(x, a), x, goal, maxiter, memory)

    return problem.solution(args, solver, iterate)


class _Problem:
    """A root or a fixed point of containers, as one of vectors."""

    def __init__(self, name: str, f: Callable[..., Any], x0: Any, args: tuple[Any, ...]) -> None:
        self.name, self.f = name, f
        self.unknowns = Ravel(name, x0)
        self.items = leaves(args)
        self.places = [i for i, x in enumerate(self.items) if isinstance(x, Tensor) and x.dtype.kind in "fc"]
        self.parameters = Ravel(name, [self.items[i] for i in self.places])
        self.items = [None if i in self.places else x for i, x in enumerate(self.items)]  # or the graph would hold them
        self.structure = rebuild(args, self.items)
        self.x0 = Tensor(self.unknowns.flat(x0).array)

    def arguments(self, a: Tensor) -> Any:
        items = list(self.items)
        for place, x in zip(self.places, self.parameters.unflat(a), strict=True):
            items[place] = x
        return rebuild(self.structure, items)

    def residual(self, x: Tensor, a: Tensor) -> Tensor:
        """`f` of vectors."""
        unknowns = self.unknowns
        out = self.f(unknowns.unflat(x), *self.arguments(a))
        if self.name == "fixed_point":
            return unknowns.flat(out, "what f returned") - x
        equations = Ravel("implicit_root: what f returned", out)
        if equations.size != unknowns.size:
            raise ShapeError(
                f"implicit_root: f returned {equations.size} numbers for {unknowns.size} unknowns "
                "(complex ones count twice); there must be an equation for each"
            )
        return ag.astype(equations.flat(out), unknowns.dtype, copy=False)

    def check(self, a: Tensor) -> None:
        """Refuse equations that do not fit, and those whose derivatives would be incomplete."""
        with enable_grad():
            r = self.residual(self.x0, Tensor(a.array))
        if isinstance(r, Dual) or r.requires_grad:
            raise GraphError(
                f"{self.name}: f uses a tensor with history that is not among its arguments, whose gradient would be "
                f"lost; pass it as an argument after x0, or detach() it"
            )

    def solution(self, args: tuple[Any, ...], solver: Callable[..., Any] | None, default: Any = None) -> Any:
        items = leaves(args)
        parameters = self.parameters.flat([items[i] for i in self.places])
        self.check(parameters)
        unknowns, size = self.unknowns, self.unknowns.size

        def solve(system: _System, a: Tensor, x0: Tensor) -> Tensor:
            if solver is not None:
                found = solver(self.f, unknowns.unflat(x0), *self.arguments(a))
                x = unknowns.flat(found, "what the solver returned")
            elif default is not None:
                x = default(self.residual, x0, a)
            else:
                x = newton(lambda x: self.residual(x, a), lambda r, x: system.divide(r, x, a), x0)
            if not ag.all(ag.isfinite(x)):
                raise ConvergenceError(f"{self.name}: the solver has found numbers that are not finite")
            return Tensor(x.array)

        return unknowns.unflat(_Root.apply(parameters, self.x0, _System(self.name, self.residual, size), solve))


class _System:
    """Equations for so many unknowns, and what it takes to differentiate their solution."""

    def __init__(self, name: str, residual: Residual, size: int) -> None:
        self.name, self.residual, self.size = name, residual, size

    def jacobian(self, x: Tensor, a: Tensor) -> Tensor:
        """The matrix."""
        return jacobian(lambda x: self.residual(x, a), mode="reverse")(x)

    def divide(self, b: Tensor, x: Tensor, a: Tensor) -> Tensor:
        """The solution of `jacobian @ v = b`."""
        if self.size <= DENSE:
            return ag.linalg.solve(self.jacobian(x, a), b)
        return self._without_matrix(lambda v, x, a: jvp(lambda x: self.residual(x, a), (x,), (v,))[1], b, x, a)

    def divide_transposed(self, b: Tensor, x: Tensor, a: Tensor) -> Tensor:
        """The solution of `jacobian.T @ v = b`."""
        if self.size <= DENSE:
            return ag.linalg.solve(ag.matrix_transpose(self.jacobian(x, a)), b)
        return self._without_matrix(lambda v, x, a: vjp(lambda x: self.residual(x, a), x)[1](v)[0], b, x, a)

    def _without_matrix(self, product: Callable[..., Tensor], b: Tensor, x: Tensor, a: Tensor) -> Tensor:
        """The root `v` of `product(v, x, a) - b`, which depends on b, x and a."""
        known = Ravel(self.name, (b, x, a))

        def residual(v: Tensor, p: Tensor) -> Tensor:
            b, x, a = known.unflat(p)
            return product(v, x, a) - b

        def solve(system: _System, p: Tensor, _: None) -> Tensor:
            b, x, a = known.unflat(p)
            return gmres(lambda v: product(v, x, a), b)

        return _Root.apply(known.flat((b, x, a)), None, _System(self.name, residual, self.size), solve)


class _Root(Function):
    """The root of a system as a function of its parameters."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, x0: Tensor | None, system: _System, solve: Callable[..., Tensor]) -> Tensor:
        x = solve(system, a, x0)
        ctx.save_for_backward(x, a)
        ctx.system = system
        return x

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Any, ...]:
        (x, a), system = ctx.saved_tensors, ctx.system
        v = _divided(system, system.divide_transposed, g, x, a)
        return -vjp(lambda a: system.residual(x, a), a)[1](v)[0], None, None, None

    @staticmethod
    def jvp(ctx: Any, t: Tensor, *_: Any) -> Tensor:
        (x, a), system = ctx.saved_tensors, ctx.system
        return -_divided(system, system.divide, jvp(lambda a: system.residual(x, a), (a,), (t,))[1], x, a)


def _divided(system: _System, divide: Callable[..., Tensor], b: Tensor, x: Tensor, a: Tensor) -> Tensor:
    try:
        return divide(b, x, a)
    except (ShapeError, ConvergenceError) as error:
        raise ConvergenceError(
            f"{system.name}: the Jacobian of f by x cannot be inverted at the solution, so it has no derivative there "
            f"({error})"
        ) from error

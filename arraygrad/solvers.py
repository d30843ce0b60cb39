"""What implicit.py solves with, written with this library's functions: it runs on every device.

All of them work on plain vectors; each size and scale that decides how they go on is read on the host.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import arraygrad as ag
from arraygrad.backends import namespaces
from arraygrad.errors import ConvergenceError, ShapeError
from arraygrad.tensor import Tensor

Map = Callable[[Tensor], Tensor]


def norm(x: Tensor) -> float:
    """The Euclidean length."""
    return float(ag.vector_norm(x))


def epsilon(x: Tensor) -> float:
    """The distance from 1 to the next number of the data type."""
    return float(ag.finfo(x.dtype).eps)


def newton(residual: Map, solve: Callable[[Tensor, Tensor], Tensor], x: Tensor, maxiter: int = 100) -> Tensor:
    """A root by Newton's method, with steps halved until the residual falls; `solve(r, x)` divides by the Jacobian.

    Raises:
        ConvergenceError: it has not been found.
    """
    tiny = math.sqrt(epsilon(x))
    r = residual(x)
    size = norm(r)
    for done in range(maxiter):
        if size == 0:
            return x
        try:
            step = solve(r, x)
        except (ShapeError, ConvergenceError) as error:
            raise _lost(f"the Jacobian cannot be inverted after {done} of Newton's steps ({error})", size) from error
        length, scale = norm(step), norm(x)
        if length <= tiny * scale:
            return x - step  # its error is about the square of the step's
        fraction = 1.0
        while fraction > 1e-10:
            new_x = x - fraction * step
            new_r = residual(new_x)
            new_size = norm(new_r)
            if new_size < (1 - 1e-4 * fraction) * size:
                break
            fraction /= 2
        else:
            if length <= tiny * (1 + scale):
                return x  # the residual is nothing but rounding
            raise _lost(f"Newton's method found no way down after {done} steps", size)
        x, r, size = new_x, new_r, new_size
    raise _lost(f"Newton's method has not converged in {maxiter} steps", size)


def _lost(what: str, size: float) -> ConvergenceError:
    return ConvergenceError(
        f"implicit_root: {what}; the residual's norm is {size:.3g}: start nearer to the root, or pass solver="
    )


def anderson(step: Map, x: Tensor, tol: float, maxiter: int, memory: int) -> Tensor:
    """A fixed point of `step`, by its iteration, extrapolated from the last `memory` steps (none: the plain one).

    Raises:
        ConvergenceError: it has not been found.
    """
    moves: list[Tensor] = []
    changes: list[Tensor] = []
    r = step(x) - x
    done = 0
    while math.isfinite(size := norm(r)):
        if size <= tol * (1 + norm(x)):
            return x + r
        if done == maxiter:
            break
        done += 1
        move = r
        if moves:
            # The combination of the last steps that would have left the least residual.
            past = ag.stack(changes, axis=1)
            move = r - (ag.stack(moves, axis=1) + past) @ (ag.linalg.pinv(past) @ r)
        new_x = x + move
        new_r = step(new_x) - new_x
        if memory:
            moves, changes = [*moves, move][-memory:], [*changes, new_r - r][-memory:]
        x, r = new_x, new_r
    raise ConvergenceError(
        f"fixed_point: {done} iterations have not converged: f(x) - x has the norm {size:.3g} and should have "
        f"{tol * (1 + norm(x)):.3g}; start nearer, raise tol or maxiter, or pass solver="
    )


def gmres(matvec: Map, b: Tensor, restart: int = 40, cycles: int = 25) -> Tensor:
    """The `x` for which `matvec(x)` is `b`, by GMRES: to rounding, or as near as it comes.

    Raises:
        ConvergenceError: not half of the digits are right.
    """
    x, scale = ag.zeros_like(b), norm(b)
    r, size, goal = b, scale, 10 * epsilon(b) * scale
    for _ in range(cycles):
        if size <= goal:
            return x
        x = x + _cycle(matvec, r, size, min(restart, b.size), goal)
        last, r = size, b - matvec(x)
        size = norm(r)
        if not size <= 0.95 * last:
            break
    if not size <= math.sqrt(epsilon(b)) * scale:
        raise ConvergenceError(
            f"GMRES left {size / scale:.1e} of the right-hand side after {restart * cycles} products at most: the "
            "Jacobian by x is singular or badly conditioned at the root"
        )
    return x


def _cycle(matvec: Map, r: Tensor, size: float, steps: int, goal: float) -> Tensor:
    """The correction from one Krylov space: least squares by rotations, as the space grows."""
    basis = ag.zeros((steps + 1, r.size), dtype=r.dtype, device=r.device)
    basis[0] = r / size
    columns: list[list[float]] = []
    rotations: list[tuple[float, float]] = []
    rest = [size]
    for k in range(steps):
        w, known = matvec(basis[k]), basis[: k + 1]
        h = ag.zeros(k + 1, dtype=r.dtype, device=r.device)
        for _ in range(2):  # once is not orthogonal enough
            part = known @ w
            w, h = w - part @ known, h + part
        column, left = _floats(h), norm(w)
        for i, (c, s) in enumerate(rotations):
            column[i], column[i + 1] = c * column[i] + s * column[i + 1], c * column[i + 1] - s * column[i]
        diagonal = math.hypot(column[k], left)
        if not diagonal > 0 or not math.isfinite(diagonal):
            break
        c, s = column[k] / diagonal, left / diagonal
        rotations.append((c, s))
        columns.append([*column[:k], diagonal])
        rest[k:] = [c * rest[k], -s * rest[k]]
        if abs(rest[-1]) <= goal:
            break
        basis[k + 1] = w / left
    y: list[float] = [0.0] * len(columns)
    for i in reversed(range(len(columns))):
        y[i] = (rest[i] - sum(columns[j][i] * y[j] for j in range(i + 1, len(y)))) / columns[i][i]
    return ag.tensor(y, dtype=r.dtype, device=r.device) @ basis[: len(y)] if y else ag.zeros_like(r)


def _floats(x: Tensor) -> list[float]:
    values: list[float] = namespaces[type(x.array)].to_host(x.array).tolist()
    return values

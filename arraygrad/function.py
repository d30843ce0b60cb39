"""Operations as classes with a forward and a backward, as PyTorch has them.

function_calls.py says how they are recorded.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from arraygrad import function_calls
from arraygrad.backends import namespaces
from arraygrad.errors import GraphError
from arraygrad.forward import Dual
from arraygrad.function_calls import Context, plain, refusing
from arraygrad.modes import no_grad
from arraygrad.recording import RECORDING
from arraygrad.tensor import Tensor
from arraygrad.tree import leaves, tree_map
from arraygrad.views import history


class Function:
    """An operation with a derivative of its own: subclass it, write two static methods, and call `apply`.

    `forward(ctx, *args)` gets the arguments of `apply`, tensors without their history, and returns a tensor or a tuple
    of them. `backward(ctx, *grads)` gets a cotangent for each result, and returns one for each argument, None for what
    is no tensor. If it is written with this library's functions on what `ctx.save_for_backward` has kept of the
    arguments and results, gradients of gradients and forward mode follow; `jvp(ctx, *tangents)`, where there is one, is
    used for forward mode instead, and gets None for arguments without a tangent. Nothing is undone for you: cotangents
    must have the shapes of the arguments.

    Raises:
        GraphError: the wrong number or shape of gradients; a derivative is asked for that `backward` does not have; a
            tensor with history is inside a container among the arguments.
        DtypeError: `forward` returns something other than tensors.
        InplaceError: `forward` writes to an argument.

    >>> import arraygrad as ag
    >>> class Cube(ag.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x * x
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         (x,) = ctx.saved_tensors
    ...         return 3.0 * x * x * g
    >>> ag.grad(Cube.apply)(2.0).item(), ag.grad(ag.grad(Cube.apply))(2.0).item()
    (12.0, 12.0)
    """

    forward: Callable[..., Any]
    backward: Callable[..., Any] | None = None
    jvp: Callable[..., Any] | None = None

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Call `forward`, and record `backward`."""
        return function_calls.apply(cls, args).out


def once_differentiable(function: Callable[..., Any]) -> Callable[..., Any]:
    """Say that a backward, or a rule of a declaration, has no derivative: asking for one raises.

    A backward so marked gets plain tensors, a rule raw arrays, and may compute with anything.

    >>> import arraygrad as ag
    >>> class Square(ag.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     @ag.once_differentiable
    ...     def backward(ctx, g):
    ...         (x,) = ctx.saved_tensors
    ...         return ag.asarray(2.0 * x.numpy() * g.numpy())
    >>> ag.grad(Square.apply)(3.0).item()
    6.0
    >>> ag.grad(ag.grad(Square.apply))(3.0)
    Traceback (most recent call last):
        ...
    arraygrad.errors.GraphError: trying to differentiate twice a function that was marked with once_differentiable: Square.backward
    """  # noqa: E501  one line is what is raised
    name = function.__qualname__
    message = f"trying to differentiate twice a function that was marked with once_differentiable: {name}"

    @functools.wraps(function)
    def wrapper(*args: Any) -> Any:
        ctx = args[0] if isinstance(args[0], Context) else None
        tensors = [x for x in (*args, *leaves(list(vars(ctx).values()) if ctx else ())) if isinstance(x, Tensor)]
        if any(isinstance(x, Dual) for x in tensors):
            raise GraphError(message)
        with no_grad():
            if ctx is not None:
                grads = function(ctx._mapped(plain, Tensor), *map(plain, args[1:]))
            elif not tensors:
                return function(*args)
            else:
                xp = namespaces[type(tensors[0].array)]
                grads = function(*[x.array if isinstance(x, Tensor) else xp if x is RECORDING else x for x in args])
        edges = tuple([node for x in tensors if (node := history(x)) is not None])
        return tree_map(lambda grad: refusing(grad, edges, message) if edges else grad, grads)

    wrapper._is_once_differentiable = True  # type: ignore[attr-defined]
    return wrapper

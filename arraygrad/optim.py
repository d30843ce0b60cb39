"""Optimizers that update parameters in place: SGD, Adam and AdamW, with PyTorch's names, options and formulas.
`GradScaler` scales the loss for those that are computed in float16.

Parameters are leaves that require grad: a sequence or any nested container of them, or a list of groups, which are
dicts `{"params": ..., "lr": ...}` with options of their own. The state of a parameter lies on its device, with its
data type (that of its real and imaginary parts, where it is complex).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import arraygrad as ag
from arraygrad.errors import DtypeError, GraphError, ShapeError, format_shape
from arraygrad.grad_scaler import GradScaler
from arraygrad.modes import enable_grad, no_grad
from arraygrad.tensor import Tensor
from arraygrad.tree import leaves, tree_map

__all__ = ["SGD", "Adam", "AdamW", "GradScaler", "Optimizer"]


class Optimizer:
    """What all optimizers share: groups of parameters, and a state for each parameter.

    A subclass has a method `_update(p, grad, state, group)`, which is called inside `no_grad` and writes to `p`.
    `param_groups` is a list of dicts: write to `param_groups[0]["lr"]` to change the learning rate on the way.
    """

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        self._defaults = defaults
        self.param_groups: list[dict[str, Any]] = []
        self.state: dict[Tensor, dict[str, Any]] = {}
        # A generator is a sequence, too; a tensor alone would be iterated over.
        params = params if isinstance(params, Tensor | dict) else list(params)
        is_grouped = isinstance(params, list) and bool(params) and all(_is_group(group) for group in params)
        for group in params if is_grouped else [{"params": params}]:
            self.add_param_group(group)

    def add_param_group(self, group: dict[str, Any]) -> None:
        """Add parameters with options of their own: a dict with "params", and whatever differs from the defaults.

        Raises:
            DtypeError: a parameter is no tensor.
            GraphError: a parameter is no leaf that requires grad, or is there already.
            ShapeError: there are no parameters, or an option is unknown or out of range.
        """
        name = type(self).__name__
        params = group["params"]
        params = leaves(params if isinstance(params, Tensor | list | tuple | dict) else list(params))
        if not params:
            raise ShapeError(f"{name} got an empty parameter list")
        known = [p for other in self.param_groups for p in other["params"]]
        for position, p in enumerate(params):
            if not isinstance(p, Tensor):
                raise DtypeError(f"{name} optimizes tensors, got {type(p).__name__} as parameter {position}")
            if not (p.is_leaf and p.requires_grad):
                raise GraphError(
                    f"{name} can't optimize a tensor that is no leaf or does not require grad: parameter {position}; "
                    "make it with requires_grad=True"
                )
            if any(p is other for other in known):
                raise GraphError(f"{name} got a parameter twice: number {position}, of shape {format_shape(p.shape)}")
            known.append(p)
        options = self._defaults | {key: value for key, value in group.items() if key != "params"}
        if unknown := options.keys() - self._defaults.keys():
            raise ShapeError(f"{name} has no option {sorted(unknown)[0]!r}; it has {sorted(self._defaults)}")
        self._check(options)
        self.param_groups.append({"params": params} | options)

    def _check(self, options: dict[str, Any]) -> None:
        """Refuse options that are out of range."""
        for key in ("lr", "momentum", "weight_decay", "eps"):
            if not options.get(key, 0) >= 0:
                raise ShapeError(f"{type(self).__name__}: {key} must not be negative, got {options[key]}")
        if not all(0 <= beta < 1 for beta in options.get("betas", ())):
            raise ShapeError(f"{type(self).__name__}: betas must lie in [0, 1), got {options['betas']}")

    def zero_grad(self) -> None:
        """Set the `grad` of every parameter to None."""
        for group in self.param_groups:
            for p in group["params"]:
                p.zero_grad()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient; with `closure`, which computes the loss anew, return the loss."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with no_grad():
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        self._update(p, p.grad, self.state.setdefault(p, {}), group)
        return loss

    def _update(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        raise NotImplementedError

    def state_dict(self) -> dict[str, Any]:
        """Return a copy of the state and the options, with numbers in the place of parameters, as PyTorch's."""
        parameters = [p for group in self.param_groups for p in group["params"]]
        number = {p: i for i, p in enumerate(parameters)}
        state = {number[p]: {key: _copied(value) for key, value in of.items()} for p, of in self.state.items()}
        groups = [group | {"params": [number[p] for p in group["params"]]} for group in self.param_groups]
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue where the optimizer of a `state_dict` was; the state is copied to each parameter's device.

        Raises:
            ShapeError: it has other numbers of groups or parameters, or a state of another shape.
        """
        groups = state_dict["param_groups"]
        sizes, own = ([len(group["params"]) for group in each] for each in (groups, self.param_groups))
        if sizes != own:
            raise ShapeError(
                f"load_state_dict got groups of {sizes} parameters, but {type(self).__name__} has groups of {own}"
            )
        parameters = [p for group in self.param_groups for p in group["params"]]
        numbers = [number for group in groups for number in group["params"]]
        state = {}
        for number, p in zip(numbers, parameters, strict=True):
            if number in state_dict["state"]:
                state[p] = {key: _placed(value, p) for key, value in state_dict["state"][number].items()}
        self.state = state
        for group, saved in zip(self.param_groups, groups, strict=True):
            group.update({key: value for key, value in saved.items() if key != "params"})


class SGD(Optimizer):
    """Stochastic gradient descent, with momentum.

    Args:
        lr: the learning rate.
        momentum: how much of the last step's direction is kept.
        dampening: how much less of the gradient enters the direction.
        weight_decay: adds `weight_decay * p` to the gradient.
        nesterov: look ahead along the direction.

    Raises:
        ShapeError: an option is out of range; `nesterov` without a momentum, or with dampening.

    >>> import arraygrad as ag
    >>> w = ag.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = ag.optim.SGD([w], lr=0.1)
    >>> ag.sum(w * w).backward()
    >>> optimizer.step()
    >>> w
    tensor([0.8, 1.6], dtype=float64, device='cpu', requires_grad=True)
    >>> optimizer.zero_grad()
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
    ) -> None:
        defaults = {"lr": lr, "momentum": momentum, "dampening": dampening}
        super().__init__(params, defaults | {"weight_decay": weight_decay, "nesterov": nesterov})

    def _check(self, options: dict[str, Any]) -> None:
        super()._check(options)
        if options["nesterov"] and (options["momentum"] <= 0 or options["dampening"] != 0):
            raise ShapeError("SGD: Nesterov momentum requires a momentum and zero dampening")

    def _update(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        if group["weight_decay"]:
            grad = grad + group["weight_decay"] * p
        if momentum := group["momentum"]:
            if "momentum_buffer" in state:
                state["momentum_buffer"] *= momentum
                state["momentum_buffer"] += (1 - group["dampening"]) * grad
            else:
                state["momentum_buffer"] = ag.copy(grad)
            direction = state["momentum_buffer"]
            grad = grad + momentum * direction if group["nesterov"] else direction
        p -= group["lr"] * grad


class Adam(Optimizer):
    """Adam: steps along the running mean of the gradient, over its running magnitude.

    Args:
        lr: the learning rate.
        betas: how slowly the running means of the gradient and of its square forget.
        eps: is added to the magnitude.
        weight_decay: adds `weight_decay * p` to the gradient; for AdamW see there.
        amsgrad: divide by the largest magnitude so far.

    Raises:
        ShapeError: an option is out of range.

    >>> import arraygrad as ag
    >>> w = ag.tensor(3.0, requires_grad=True)
    >>> optimizer = ag.optim.Adam([w], lr=0.5)
    >>> for _ in range(100):
    ...     optimizer.zero_grad()
    ...     ag.square(w - 1.0).backward()
    ...     optimizer.step()
    >>> abs(w.item() - 1.0) < 1e-2
    True
    """

    _decays_weights = False

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
    ) -> None:
        defaults = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad}
        super().__init__(params, defaults)

    def _update(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        decay, (beta1, beta2) = group["weight_decay"], group["betas"]
        if decay and self._decays_weights:
            p *= 1 - group["lr"] * decay
        elif decay:
            grad = grad + decay * p
        grad = _as_real(grad)
        if not state:
            state |= {"step": 0, "exp_avg": ag.zeros_like(grad), "exp_avg_sq": ag.zeros_like(grad)}
            if group["amsgrad"]:
                state["max_exp_avg_sq"] = ag.zeros_like(grad)
        state["step"] += 1
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        mean += (1 - beta1) * (grad - mean)
        square *= beta2
        square += (1 - beta2) * grad * grad
        if group["amsgrad"]:
            square = state["max_exp_avg_sq"] = ag.maximum(state["max_exp_avg_sq"], square)
        # Both running means start at zero: what is missing from them yet.
        correction1, correction2 = 1 - beta1 ** state["step"], 1 - beta2 ** state["step"]
        magnitude = ag.sqrt(square) / math.sqrt(correction2) + group["eps"]
        p -= _like(mean / magnitude, p) * (group["lr"] / correction1)


class AdamW(Adam):
    """Adam whose weight decay shrinks the parameters themselves: `p *= 1 - lr * weight_decay`.

    Everything else is as in `Adam`, but `weight_decay` is 0.01 by default.

    >>> import arraygrad as ag
    >>> w = ag.tensor([2.0], requires_grad=True)
    >>> optimizer = ag.optim.AdamW([w], lr=0.1, weight_decay=0.5)
    >>> ag.sum(w).backward()
    >>> optimizer.step()
    >>> w
    tensor([1.8], dtype=float64, device='cpu', requires_grad=True)
    """

    _decays_weights = True

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad)


def _is_group(params: Any) -> bool:
    return isinstance(params, dict) and "params" in params


def _as_real(x: Tensor) -> Tensor:
    """The real and imaginary parts along a new last axis, of a complex tensor: each has a magnitude of its own."""
    return ag.stack([ag.real(x), ag.imag(x)], axis=-1) if x.dtype.kind == "c" else x


def _like(x: Tensor, p: Tensor) -> Tensor:
    return x[..., 0] + 1j * x[..., 1] if p.dtype.kind == "c" else x


def _copied(value: Any) -> Any:
    return tree_map(lambda leaf: ag.copy(leaf.detach()) if isinstance(leaf, Tensor) else leaf, value)


def _placed(value: Any, p: Tensor) -> Any:
    """A copy of an item of a saved state, on the parameter's device and with its data type."""
    if not isinstance(value, Tensor):
        return value
    if value.shape not in (p.shape, (*p.shape, 2)):
        raise ShapeError(
            f"load_state_dict got a state of shape {format_shape(value.shape)} for a parameter of shape "
            f"{format_shape(p.shape)}"
        )
    value = ag.copy(value.detach().to(p.device))
    return value.to(p.dtype if value.dtype.kind == p.dtype.kind else ag.real(p).dtype)

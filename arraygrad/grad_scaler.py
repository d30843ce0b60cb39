"""Loss scaling: what lets gradients of small numbers be computed in float16. Public as `arraygrad.optim.GradScaler`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import arraygrad as ag
from arraygrad.errors import DtypeError, GraphError, ShapeError
from arraygrad.modes import no_grad
from arraygrad.tensor import Tensor
from arraygrad.tree import tree_map

if TYPE_CHECKING:
    from arraygrad.optim import Optimizer

_STATE = ("scale", "growth_factor", "backoff_factor", "growth_interval", "_growth_tracker")


class GradScaler:
    """Multiply the loss so that float16 gradients do not vanish, and leave out the steps in which they overflow.

    Parameters, their gradients and the loss are float32, what lies between is computed in float16: convert with
    `astype`. The scale halves when a step is left out and doubles after `growth_interval` steps that were not, so
    that it stays near the largest that fits. Names and rules are PyTorch's. On a GPU `step` waits, once for each
    device that parameters are on, since Python has to know whether to leave it out; nothing else here does. NumPy warns
    of overflows: `np.errstate(over="ignore", invalid="ignore")`.

    Args:
        init_scale: the scale to begin with.
        growth_factor: what the scale is multiplied by when it grows.
        backoff_factor: what the scale is multiplied by after gradients that are infinite or NaN.
        growth_interval: the number of finite steps in a row after which the scale grows.
        enabled: False makes `step` the optimizer's own, and the other methods do nothing.

    Raises:
        ShapeError: an option is out of range.

    >>> import arraygrad as ag
    >>> w = ag.tensor([1.0], dtype=ag.float32, requires_grad=True)
    >>> optimizer, scaler = ag.optim.SGD([w], lr=2.0**27), ag.optim.GradScaler()
    >>> half = w.astype(ag.float16) * 2.0**-14
    >>> loss = ag.sum(half.astype(ag.float32)) * 2.0**-14  # its gradient, 2**-28, is 0 in float16
    >>> scaler.scale(loss).backward()
    >>> scaler.step(optimizer)
    >>> scaler.update()
    >>> w
    tensor([0.5], dtype=float32, device='cpu', requires_grad=True)
    """

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        for option, value, low, high in (
            ("init_scale", init_scale, 0, math.inf),
            ("growth_factor", growth_factor, 1, math.inf),
            ("backoff_factor", backoff_factor, 0, 1),
            ("growth_interval", growth_interval, 0, math.inf),
        ):
            if not (isinstance(value, int | float) and low < value < high):
                raise ShapeError(f"GradScaler: {option} must be a number between {low} and {high}, got {value!r}")
        self._enabled, self._was_asked = enabled, False
        self._scale, self._growth_tracker = init_scale, 0
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval = growth_interval
        #: For each optimizer since the last update: whether a gradient was not finite, one answer for each device.
        self._found: dict[Optimizer, list[Any]] = {}
        self._stepped: set[Optimizer] = set()

    def scale(self, outputs: Any) -> Any:
        """Multiply a loss, or each in a nested container, by the scale; a float16 one becomes float32.

        Raises:
            DtypeError: it is no tensor.
        """
        self._was_asked = True
        return tree_map(self._scaled, outputs) if self._enabled else outputs

    def _scaled(self, output: Any) -> Tensor:
        if not isinstance(output, Tensor):
            raise DtypeError(f"GradScaler.scale takes tensors, got {type(output).__name__}")
        return (output.to(ag.float32) if output.dtype == ag.float16 else output) * self._scale

    def unscale_(self, optimizer: Optimizer) -> None:
        """Divide the gradients of an optimizer's parameters by the scale, before they are clipped, say.

        `step` does it where it has not been done.

        Raises:
            GraphError: it has been done since the last `update`.
            DtypeError: a gradient is float16, and hence its parameter.
        """
        if not self._enabled:
            return
        if not self._was_asked:
            raise GraphError("GradScaler: gradients are to be unscaled, but no loss has been scaled; call scale(loss)")
        if optimizer in self._found:
            raise GraphError(
                "GradScaler: unscale_() has already been called on this optimizer since the last update(); step() does "
                "it, too: call unscale_() once, before step(), and update() at the end of the iteration"
            )
        grads = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        if any(grad.dtype == ag.float16 for grad in grads):
            raise DtypeError(
                "GradScaler: attempting to unscale float16 gradients, which would lose them; keep the parameters in "
                "float32 and compute with their astype(float16)"
            )
        found: dict[str, Tensor] = {}
        with no_grad():
            for grad in grads:
                bad = ag.logical_not(ag.all(ag.isfinite(grad)))
                found[grad.device] = ag.logical_or(found[grad.device], bad) if grad.device in found else bad
                grad *= 1.0 / self._scale
        self._found[optimizer] = list(found.values())

    def step(self, optimizer: Optimizer) -> Any:
        """Unscale the gradients and, if all of them are finite, do and return `optimizer.step()`.

        Raises:
            GraphError: it has been done since the last `update`, or no parameter has a gradient.
        """
        if not self._enabled:
            return optimizer.step()
        if optimizer in self._stepped:
            raise GraphError("GradScaler: step() has already been called since the last update(); call update() first")
        if optimizer not in self._found:
            self.unscale_(optimizer)
        if not self._found[optimizer]:
            raise GraphError("GradScaler: no parameter of the optimizer has a gradient; call scale(loss).backward()")
        is_bad = any(map(bool, self._found[optimizer]))
        self._found[optimizer] = [is_bad]
        result = None if is_bad else optimizer.step()
        self._stepped.add(optimizer)
        return result

    def update(self, new_scale: float | None = None) -> None:
        """Let the scale shrink or grow, at the end of an iteration; or set it.

        Raises:
            GraphError: there has been no `step` since the last `update`.
        """
        if not self._enabled:
            return
        answers = [answer for each in self._found.values() for answer in each]
        if new_scale is not None:
            self._scale = float(new_scale)
        elif not answers:
            raise GraphError("GradScaler: update() without a step() since the last one; call step(optimizer) first")
        elif any(answers):
            self._scale *= self._backoff_factor
            self._growth_tracker = 0
        else:
            self._growth_tracker += 1
            if self._growth_tracker >= self._growth_interval:
                grown = self._scale * self._growth_factor
                self._scale = grown if grown <= float(ag.finfo(ag.float32).max) else self._scale
                self._growth_tracker = 0
        self._found, self._stepped = {}, set()

    def get_scale(self) -> float:
        """Return the scale, 1.0 where scaling is not enabled."""
        self._was_asked = True
        return self._scale if self._enabled else 1.0

    def is_enabled(self) -> bool:
        """Whether anything is scaled."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """Return the scale and the options, under PyTorch's names; nothing where scaling is not enabled."""
        return {name: getattr(self, "_" + name.lstrip("_")) for name in _STATE} if self._enabled else {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue where the scaler of a `state_dict` was.

        Raises:
            GraphError: that one was not enabled.
        """
        if not self._enabled:
            return
        if not state_dict:
            raise GraphError("GradScaler: the state is empty; was it saved from a scaler that is not enabled?")
        for name in _STATE:
            setattr(self, "_" + name.lstrip("_"), state_dict[name])

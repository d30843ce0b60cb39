"""Recompute instead of save: `checkpoint`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from arraygrad.backends import namespaces, several_devices
from arraygrad.errors import GraphError, VersionError
from arraygrad.forward import Dual
from arraygrad.hooks import saved_tensors_hooks
from arraygrad.modes import enable_grad, is_grad_enabled
from arraygrad.random import drawn_from
from arraygrad.storage import box_of, storage_of
from arraygrad.tensor import Tensor
from arraygrad.tree import leaves, rebuild


def checkpoint(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call `f(*args, **kwargs)` without saving anything for backward: what is needed is computed again then.

    Arguments and results may be nested containers, and `f` may use tensors that it closes over. It must compute the
    same again: generators of `arraygrad.random` are set back for it, other sources of randomness are its own affair.
    Checkpoints nest, and derivatives of any order are right.

    Raises:
        VersionError: in backward, an argument has been written to since, without history.
        GraphError: in backward, `f` saved other values the second time.

    >>> import arraygrad as ag
    >>> x = ag.tensor(0.5, requires_grad=True)
    >>> y = ag.checkpoint(lambda x: ag.exp(ag.sin(x)), x)
    >>> y.backward()
    >>> round(x.grad.item(), 6)
    1.417424
    """
    if not is_grad_enabled() or any(isinstance(x, Dual) for x in leaves((args, kwargs))):
        return f(*args, **kwargs)  # nothing is saved
    return _Run(f, args, kwargs).first(args, kwargs)


class _Run:
    """One checkpointed call: how to run it again, and what it has saved then."""

    def __init__(self, f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        inputs = leaves((args, kwargs))
        self.f, self.structure = f, rebuild((args, kwargs), [None] * len(inputs))
        # A write to an argument that carries history leaves a copy in its box, any other empties it.
        self.inputs = [(_box(x), x.requires_grad) if isinstance(x, Tensor) else x for x in inputs]
        self.generators: dict[Any, Any] = {}
        self.current_devices = _current_devices()  # backward runs with others
        self.count = 0
        self.found: dict[int, Tensor] = {}

    def first(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The call itself: each value that it saves is replaced by its number."""
        with saved_tensors_hooks(self._number, self._value), _noting(self.generators):
            return self.f(*args, **kwargs)

    def _number(self, value: Tensor) -> int:
        self.count += 1
        return self.count - 1

    _number.recomputes = True  # type: ignore[attr-defined]  # a later write changes nothing: see storage.PackedBox

    def _value(self, number: int) -> Tensor:
        if number not in self.found:
            self.found = dict(enumerate(self._again()))
        return self.found.pop(number)

    def _again(self) -> list[Tensor]:
        kept: list[Tensor] = []

        def keep(value: Tensor) -> int:
            kept.append(value.detach())
            return len(kept) - 1

        args, kwargs = rebuild(self.structure, [_input(x) if type(x) is tuple else x for x in self.inputs])
        after = {generator: generator.state for generator in self.generators}
        try:
            for generator, state in self.generators.items():
                generator.state = state
            with self.current_devices(), enable_grad(), saved_tensors_hooks(keep, kept.__getitem__):
                self.f(*args, **kwargs)
        finally:
            for generator, state in after.items():
                generator.state = state
        if len(kept) != self.count:
            raise GraphError(
                f"checkpoint: the function saved {self.count} values when it was called, and {len(kept)} when it was "
                "called again for backward; it must compute the same"
            )
        return kept


def _box(x: Tensor) -> list[Any]:
    storage_of(x)  # a box that is listed there from the start
    return box_of(x)


def _input(saved: tuple[list[Any], bool]) -> Tensor:
    box, requires_grad = saved
    if len(box) != 1:
        raise VersionError(
            "checkpoint: an argument has been modified by an inplace operation since the call, which cannot be repeated"
        )
    return Tensor(box[0]).requires_grad_(requires_grad)


@contextmanager
def _noting(generators: dict[Any, Any]) -> Iterator[None]:
    """Note the generators that are drawn from, with their states before."""
    outer = drawn_from.get()
    drawn_from.set(generators)
    try:
        yield
    finally:
        drawn_from.set(outer)
        if outer is not None:
            for generator, state in generators.items():
                outer.setdefault(generator, state)


def _current_devices() -> Callable[[], ExitStack]:
    """What makes the devices that are now the current ones so again."""
    backends = [namespaces[array_type] for array_type in several_devices]
    current = [(xp, device) for xp in backends if (device := xp.current_device()) is not None]

    def enter() -> ExitStack:
        stack = ExitStack()
        for xp, device in current:
            stack.enter_context(xp.scope(device))
        return stack

    return enter

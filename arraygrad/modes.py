"""Whether operations record: `no_grad`, `enable_grad`, `set_grad_enabled`.

The mode is a ContextVar: each thread has its own, an asyncio task inherits the one that was set when
it was created, and nothing leaks back. A ContextVar alone does leak out of a generator, since a
generator runs in its caller's context:

    def batches():
        with no_grad():
            yield x          # the caller would be left in no_grad here

So a mode entered from the frame of a generator or coroutine is a `_FrameMode`, which holds only while
that frame runs. (Generators made into context managers by contextlib are an exception: there the leak is
the purpose.) Modes form a chain (each knows the one outside it) and are restored by value: leaving
one unlinks it wherever it stands in the chain, so interleaved generators may leave in any order.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
from collections.abc import Callable
from contextvars import ContextVar
from types import FrameType
from typing import Any, ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")


def _shares_context(frame: FrameType) -> bool:
    """Tell whether others run in the context of this frame while it is suspended.

    A coroutine of an asyncio task does not: the task has a context of its own, which tasks created in it
    are to inherit. One that is stepped by hand does.
    """
    flags = frame.f_code.co_flags
    if flags & (inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR):
        # The generator behind a context manager sets the mode for the block of its caller.
        return frame.f_back is None or frame.f_back.f_code.co_filename != contextlib.__file__
    if not flags & inspect.CO_COROUTINE:
        return False
    try:
        return sys.modules["asyncio"].current_task() is None
    except (KeyError, RuntimeError):  # asyncio is not imported, or no loop is running
        return True


class _FrameMode:
    """A mode entered in a suspendable frame: `flag` while the frame runs, else what is outside."""

    __slots__ = ("flag", "frame", "outer")

    def __init__(self, flag: bool, frame: FrameType, outer: bool | _FrameMode) -> None:
        self.flag, self.frame, self.outer = flag, frame, outer

    def __bool__(self) -> bool:
        # A suspended generator's or coroutine's frame has no caller.
        return self.flag if self.frame.f_back is not None else bool(self.outer)


_mode: ContextVar[bool | _FrameMode] = ContextVar("arraygrad_grad_mode", default=True)

#: The hot path's question, truthy when operations record; `is_grad_enabled` is the public form.
grad_enabled = _mode.get


def is_grad_enabled() -> bool:
    """Tell whether operations on tensors that require grad are being recorded.

    >>> import arraygrad as ag
    >>> ag.is_grad_enabled()
    True
    """
    return bool(_mode.get())


def _enter(flag: bool, frame: FrameType) -> tuple[bool | _FrameMode, bool | _FrameMode]:
    """Set the mode to `flag`; return what was set and what was outside it."""
    outer = _mode.get()
    entered = _FrameMode(flag, frame, outer) if _shares_context(frame) else flag
    _mode.set(entered)
    return entered, outer


def _leave(entered: bool | _FrameMode, outer: bool | _FrameMode) -> None:
    """Take `entered` out of the chain. A plain flag hides all before it, so it ends the chain."""
    mode = link = _mode.get()
    inner = None
    while isinstance(link, _FrameMode) and link is not entered:
        inner, link = link, link.outer
    if isinstance(entered, _FrameMode):
        if link is not entered:
            return  # what it stood in has been left already
        outer = entered.outer
    if inner is None:
        _mode.set(outer)
    else:
        inner.outer = outer
        _mode.set(mode)


class _GradMode:
    """Context manager and decorator that sets the mode to `flag`; one thread may enter it again and again."""

    flag: bool

    def __init__(self) -> None:
        self._entered: list[tuple[bool | _FrameMode, bool | _FrameMode]] = []

    def __enter__(self) -> None:
        self._entered.append(_enter(self.flag, sys._getframe(1)))

    def __exit__(self, *exception: object) -> None:
        _leave(*self._entered.pop())

    def __call__(self, function: Callable[P, R], /) -> Callable[P, R]:
        """Decorate a function, generator function, coroutine function or asynchronous generator."""
        mode = self._again
        wrapper: Any
        if inspect.isasyncgenfunction(function):

            async def wrapper(*args: P.args, **kwargs: P.kwargs) -> Any:
                with mode():
                    generator = function(*args, **kwargs)
                    step = generator.__anext__()
                    while True:
                        try:
                            item = await step
                        except StopAsyncIteration:
                            return
                        try:
                            step = generator.asend((yield item))
                        except GeneratorExit:
                            await generator.aclose()
                            raise
                        except BaseException as error:
                            step = generator.athrow(error)

        elif inspect.iscoroutinefunction(function):

            async def wrapper(*args: P.args, **kwargs: P.kwargs) -> Any:
                with mode():
                    return await function(*args, **kwargs)

        elif inspect.isgeneratorfunction(function):

            def wrapper(*args: P.args, **kwargs: P.kwargs) -> Any:
                with mode():
                    return (yield from function(*args, **kwargs))

        else:

            def wrapper(*args: P.args, **kwargs: P.kwargs) -> Any:
                with mode():
                    return function(*args, **kwargs)

        return cast("Callable[P, R]", functools.wraps(function)(wrapper))

    def _again(self) -> _GradMode:
        return enable_grad() if self.flag else no_grad()


class no_grad(_GradMode):  # noqa: N801  lower case as in PyTorch: it is used like a function
    """Record nothing inside: for inference and for updates of parameters.

    As a decorator too, of functions, generators and coroutines. In a generator a block holds while the
    generator runs, not in between for its caller; `contextlib.contextmanager` makes one that does.

    >>> import arraygrad as ag
    >>> x = ag.tensor([1.0], requires_grad=True)
    >>> with ag.no_grad():
    ...     (x * 2).requires_grad
    False
    """

    flag = False


class enable_grad(_GradMode):  # noqa: N801  as above
    """Record again inside a `no_grad` block.

    >>> import arraygrad as ag
    >>> x = ag.tensor([1.0], requires_grad=True)
    >>> with ag.no_grad(), ag.enable_grad():
    ...     (x * 2).requires_grad
    True
    """

    flag = True


class set_grad_enabled(_GradMode):  # noqa: N801  as above
    """Set the mode to `flag` from this line on; as a context manager, restore it at the end.

    >>> import arraygrad as ag
    >>> with ag.set_grad_enabled(False):
    ...     ag.is_grad_enabled()
    False
    """

    def __init__(self, flag: bool) -> None:
        super().__init__()
        self.flag = flag
        self._entered.append(_enter(flag, sys._getframe(1)))

    def __enter__(self) -> None:
        if not self._entered:  # used again after it was left
            self._entered.append(_enter(self.flag, sys._getframe(1)))

    def __call__(self, function: Callable[P, R], /) -> Callable[P, R]:
        """Decorate a function; its callers keep their mode."""
        if self._entered:  # a decorator sets the mode for its function alone
            _leave(*self._entered.pop())
        return super().__call__(function)


_checks_values = True


def are_values_checked() -> bool:
    """Tell whether operations look at values to refuse wrong ones; see `set_value_checks`.

    >>> import arraygrad as ag
    >>> ag.are_values_checked()
    True
    """
    return _checks_values


def set_value_checks(flag: bool) -> None:
    """Say whether operations look at values to refuse wrong ones, for which a GPU has to wait.

    On every device: targets of `cross_entropy` that are no class. On CUDA, where CuPy does not look by
    itself: indices outside their axis (without the check they wrap around) and singular matrices (whose
    inverses are then wrong numbers). NumPy checks these two whatever the flag says.

    Switch it off for speed in code that has run with it. It holds for all threads.

    >>> import arraygrad as ag
    >>> ag.set_value_checks(False)
    >>> ag.set_value_checks(True)
    """
    global _checks_values
    _checks_values = bool(flag)

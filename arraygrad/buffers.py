"""What the engine keeps for a node with several consumers until the last of them has delivered."""

from __future__ import annotations

from typing import Any

from arraygrad.accumulate import Buffer, Part
from arraygrad.backends import Array, Backend, namespaces


class Shared(Buffer):
    """The buffer of a node with several consumers, and how many of them are still to deliver."""

    __slots__ = ("remaining",)

    def __init__(self) -> None:
        super().__init__()
        self.remaining = 1


class SharedAmongDevices(Shared):
    """The same where what moves to another device may be a consumer: the engine is then inside the scope of that."""

    __slots__ = ()

    def add(self, xp: Backend, grad: Array) -> None:
        """Add on the device of what was delivered."""
        with xp.scope(xp.device(grad)):
            super().add(xp, grad)

    def add_owned(self, xp: Backend, grad: Array) -> None:
        """Add on the device of what was delivered."""
        with xp.scope(xp.device(grad)):
            super().add_owned(xp, grad)

    def add_part(self, xp: Backend, part: Part) -> None:
        """Add on the device of the part."""
        with xp.scope(xp.device(part.g)):
            super().add_part(xp, part)

    def total(self, xp: Backend, shape: tuple[int, ...], dtype: Any) -> Array:
        """Return the sum, on the device of what was delivered."""
        array = self.parts[0].g if self.array is None else self.array
        xp = namespaces.get(type(array), xp)
        with xp.scope(xp.device(array)):
            return super().total(xp, shape, dtype)

"""Reverse mode on single numbers: the whole idea of this library, to be read in ten minutes.

>>> a, b, c = Value(2.0), Value(-3.0), Value(10.0)
>>> f = (a * b + c) ** 2
>>> f.backward()
>>> f.data, a.grad, b.grad, c.grad
(16.0, -24.0, 16.0, 8.0)
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence


class Value:
    """A number that remembers which values it was computed from, and its derivative by each.

    `grad` holds the derivative of the last root by this value. On values that were not computed it adds
    up over calls of `backward`; on results it starts anew in each.
    """

    __slots__ = ("data", "grad", "operation", "parents", "slopes")

    def __init__(
        self, data: float, parents: Sequence[Value] = (), slopes: Sequence[float] = (), operation: str = ""
    ) -> None:
        self.data = float(data)
        self.grad = 0.0
        self.parents, self.slopes, self.operation = tuple(parents), tuple(slopes), operation

    def __repr__(self) -> str:
        return f"Value(data={self.data}, grad={self.grad})"

    def __add__(self, other: Value | float) -> Value:
        other = _lift(other)
        return Value(self.data + other.data, (self, other), (1.0, 1.0), "+")

    def __mul__(self, other: Value | float) -> Value:
        other = _lift(other)
        return Value(self.data * other.data, (self, other), (other.data, self.data), "*")

    def __pow__(self, exponent: float) -> Value:
        if not isinstance(exponent, numbers.Real):
            raise TypeError(f"Value ** exponent takes a constant number, got {type(exponent).__name__}")
        k = float(exponent)
        if self.data < 0 and not k.is_integer():
            raise ValueError(f"{self.data} ** {k} is no real number")
        if self.data == 0 and 0 < k < 1:
            slope = math.inf
        else:
            slope = k * self.data ** (k - 1) if k else 0.0
        return Value(self.data**k, (self,), (slope,), f"**{exponent}")

    def __neg__(self) -> Value:
        return self * -1.0

    def __sub__(self, other: Value | float) -> Value:
        return self + -_lift(other)

    def __truediv__(self, other: Value | float) -> Value:
        return self * _lift(other) ** -1

    def __rsub__(self, other: float) -> Value:
        return _lift(other) - self

    def __rtruediv__(self, other: float) -> Value:
        return _lift(other) / self

    __radd__ = __add__
    __rmul__ = __mul__

    def exp(self) -> Value:
        """`e` to the power of the value."""
        result = math.exp(self.data)
        return Value(result, (self,), (result,), "exp")

    def tanh(self) -> Value:
        """Hyperbolic tangent."""
        result = math.tanh(self.data)
        return Value(result, (self,), (1.0 - result * result,), "tanh")

    def relu(self) -> Value:
        """The value if it is positive, else 0. The derivative at 0 is 0."""
        return Value(max(self.data, 0.0), (self,), (float(self.data > 0),), "relu")

    def backward(self) -> None:
        """Add the derivative of this value by each value it came from to that value's `grad`."""
        order = _inputs_first(self)
        for value in order:
            if value.parents:
                value.grad = 0.0
        self.grad += 1.0
        # Consumers before their inputs: a gradient is complete before it is passed on.
        for value in reversed(order):
            for parent, slope in zip(value.parents, value.slopes, strict=True):
                parent.grad += slope * value.grad


def _lift(value: Value | float) -> Value:
    return value if isinstance(value, Value) else Value(value)


def _inputs_first(root: Value) -> list[Value]:
    """Every value that `root` came from, each after its inputs; without recursion, so at any depth."""
    order: list[Value] = []
    seen: set[int] = set()
    pending = [(root, False)]
    while pending:
        value, inputs_done = pending.pop()
        if inputs_done:
            order.append(value)
        elif id(value) not in seen:
            seen.add(id(value))
            pending.append((value, True))
            pending.extend((parent, False) for parent in value.parents)
    return order

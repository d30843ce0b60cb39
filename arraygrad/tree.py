"""Nested containers of tensors: tuples, lists, dicts, named tuples and dataclasses. Anything else is a leaf.

(Forty lines of our own instead of a library for trees, since the core needs nothing but NumPy and array-api-compat.)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from arraygrad.errors import ShapeError


def leaves(tree: Any) -> list[Any]:
    """The leaves of a tree, in order."""
    children = _children(tree)
    return [tree] if children is None else [leaf for child in children for leaf in leaves(child)]


def rebuild(tree: Any, new_leaves: Sequence[Any]) -> Any:
    """A tree of the same structure with other leaves."""
    return _rebuild(tree, iter(new_leaves))


def tree_map(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """Apply a function to each leaf, and the leaves of other trees in the same places."""
    columns = [leaves(tree), *(leaves_like(tree, other) for other in others)]
    return rebuild(tree, [function(*row) for row in zip(*columns, strict=True)])


def leaves_like(tree: Any, other: Any, what: str = "tree") -> list[Any]:
    """The leaves of `other`, which must be structured as `tree` is.

    Raises:
        ShapeError: it is not.
    """
    if structure(tree) != structure(other):
        raise ShapeError(f"{what}: expected the structure {structure(tree)}, got {structure(other)}")
    return leaves(other)


def structure(tree: Any) -> Any:
    """The tree with `*` for each leaf, as text."""
    if isinstance(tree, dict):
        return "{" + ", ".join(f"{key!r}: {structure(child)}" for key, child in tree.items()) + "}"
    children = _children(tree)
    if children is None:
        return "*"
    inner = ", ".join(map(structure, children))
    if type(tree) is list:
        return f"[{inner}]"
    return f"({inner})" if type(tree) is tuple else f"{type(tree).__name__}({inner})"


def _children(tree: Any) -> list[Any] | None:
    if isinstance(tree, list | tuple):
        return list(tree)
    if isinstance(tree, dict):
        return list(tree.values())
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        return [getattr(tree, field.name) for field in dataclasses.fields(tree)]
    return None


def _rebuild(tree: Any, stream: Iterator[Any]) -> Any:
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*[_rebuild(child, stream) for child in tree])
    if isinstance(tree, list | tuple):
        return type(tree)([_rebuild(child, stream) for child in tree])
    if isinstance(tree, dict):
        return type(tree)((key, _rebuild(child, stream)) for key, child in tree.items())
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        fields = dataclasses.fields(tree)
        return dataclasses.replace(tree, **{f.name: _rebuild(getattr(tree, f.name), stream) for f in fields})
    return next(stream)

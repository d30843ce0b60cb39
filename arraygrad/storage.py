"""Memory that is saved for backward, and what becomes of it when it is written to.

A *box* is a list with one array, shared by all nodes that saved the same tensor since it was last
written to. A write that carries history puts a copy into the box: the savers keep the value that they saved. Any
other write empties it: it then holds the version that was saved and the Storage that counts, more items than
the one that unpacking expects. So a check costs nothing until there is a write.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ClassVar

from arraygrad.backends import Array, namespaces
from arraygrad.errors import VersionError

if TYPE_CHECKING:
    from arraygrad.node import AccumulateGrad, FunctionNode
    from arraygrad.tensor import Tensor


class SharedBox(list[Any]):
    """A box of a tensor whose memory has other owners; weakly listed by their Storage."""

    __slots__ = ("__weakref__",)

    def keep(self) -> None:
        """Take a copy, since the memory is about to be written to."""
        self[0] = namespaces[type(self[0])].copy(self[0])


class PackedBox(SharedBox):
    """A box that holds what a hook made of the array (see hooks.py)."""

    __slots__ = ("pack", "unpack")
    pack: Callable[[Any], Any]
    unpack: Callable[[Any], Any]

    def keep(self) -> None:
        """Pack a copy, unless what is packed does not depend on the memory."""
        if not getattr(self.pack, "recomputes", False):
            self[0] = self.pack(self.unpack(self[0]).clone())


class Storage:
    """The memory that a tensor, its views and its `detach()` aliases share; made when first needed."""

    __slots__ = ("_boxes", "_first_box", "_limit", "epoch", "version")

    #: A box that a node may still hold has been emptied: from now on backward looks for stale ones first.
    any_stale: ClassVar[bool] = False

    def __init__(self, first_box: list[Any] | None) -> None:
        #: The number of writes, and of those that carried history.
        self.version = self.epoch = 0
        self._first_box = first_box  # made before there was a Storage
        self._boxes: list[weakref.ref[SharedBox]] = []
        self._limit = 8

    def new_box(self, array: Array) -> SharedBox:
        """Make a box for one tensor of this memory, and list it."""
        box = SharedBox((array,))
        self.list_box(box)
        return box

    def list_box(self, box: SharedBox) -> None:
        """List a box, weakly."""
        self._boxes.append(weakref.ref(box))
        if len(self._boxes) > self._limit:  # a parameter's views come and go: forget the dead ones
            self._boxes = [reference for reference in self._boxes if reference() is not None]
            self._limit = 2 * len(self._boxes) + 8

    def take_boxes(self) -> list[list[Any]]:
        """Return the boxes that hold this memory, and forget them: a write is about to change it."""
        found = [self._first_box, *[reference() for reference in self._boxes]]
        self._first_box, self._boxes = None, []
        return [box for box in found if box is not None]

    def put_back(self, boxes: list[list[Any]]) -> None:
        """List boxes again, which still hold this memory."""
        for box in boxes:
            if isinstance(box, SharedBox):
                self.list_box(box)
            else:
                self._first_box = box


def box_of(tensor: Tensor) -> list[Any]:
    """Return the box that all nodes share which save `tensor` as it is now."""
    box = tensor._box
    if box is None or box[0] is not tensor.array:
        storage = tensor._storage
        box = tensor._box = [tensor.array] if storage is None else storage.new_box(tensor.array)
    return box


def storage_of(tensor: Tensor) -> Storage:
    """Return the record of the memory of `tensor`."""
    storage = tensor._storage
    if storage is None:
        storage = tensor._storage = Storage(tensor._box)
    return storage


def keep_saved(tensor: Tensor) -> None:
    """Before a write: give those that saved this memory a copy of what they saved."""
    storage = storage_of(tensor)
    boxes = storage.take_boxes()
    try:
        while boxes:
            box = boxes[-1]
            if isinstance(box, SharedBox):
                box.keep()
            else:
                box[0] = namespaces[type(box[0])].copy(box[0])
            boxes.pop()
    finally:
        storage.put_back(boxes)  # memory may end at any copy: the rest still holds what the next write changes
    tensor._box = None


def mark_written(tensor: Tensor, site: str | None = None) -> None:
    """Count a write to the memory of `tensor`, and empty the boxes that held what was there."""
    storage = storage_of(tensor)
    tensor._box = None
    for box in storage.take_boxes():
        box[:] = [storage.version, storage, site]
        Storage.any_stale = True
    storage.version += 1


_keeps_saved: ContextVar[bool] = ContextVar("arraygrad_keeps_saved", default=False)
#: Whether writes without history, too, leave a copy to those that saved the memory.
keeps_saved = _keeps_saved.get


@contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[None]:
    """Let any write inside the block leave a copy to the graphs that saved the memory.

    For other people's code that reuses its constants: without it, backward refuses a graph that saved a tensor which
    was then written to without history (a plain one, or inside no_grad). PyTorch has it under the same name.

    >>> import arraygrad as ag
    >>> x, scale = ag.tensor(2.0, requires_grad=True), ag.tensor(3.0)
    >>> with ag.allow_mutation_on_saved_tensors():
    ...     y = x * scale
    ...     scale += 1.0
    >>> y.backward()
    >>> x.grad.item()
    3.0
    """
    before = _keeps_saved.get()
    _keeps_saved.set(True)
    try:
        yield
    finally:
        _keeps_saved.set(before)


def check_saved(node: FunctionNode | AccumulateGrad) -> None:
    """Refuse to run a node if something that it saved has been written to since."""
    for box in node.saved or ():
        if box is not None and len(box) != 1:
            saved_version, storage, site = box
            saved_at = (node.extras or {}).get("site")
            raise VersionError(
                "one of the variables needed for gradient computation has been modified by an inplace "
                f"operation: expected version {saved_version}, got {storage.version}; {node.name} saved it"
                + (f" at {saved_at}" if saved_at else "")
                + (f", and the write was at {site}" if site else "")
                + ": write to a copy, or compute anew instead of in place"
                + ("" if site else "; with anomaly detection on, this message says where the write was")
            )

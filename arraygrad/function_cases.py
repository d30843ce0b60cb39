"""Functions on batches: the methods of a Function know one case, so under `vmap` they are called for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import arraygrad as ag
from arraygrad.batching import Batched, one_case_of
from arraygrad.tensor import Tensor
from arraygrad.tree import tree_map
from arraygrad.vectorize import hide, show


def has_cases(args: Sequence[Any]) -> bool:
    """Whether a tensor among the arguments is a batch."""
    return any(isinstance(x, Tensor) and isinstance(x.array, Batched) for x in args)


def case_by_case(function: Callable[..., Any], args: Sequence[Any]) -> Any:
    """Call for each case of the innermost batch, and make a batch of the results. Gradients and tangents pass."""
    batches: list[Any] = [x.array for x in args if isinstance(x, Tensor) and isinstance(x.array, Batched)]
    level = max(batch.level for batch in batches)
    own = [batch for batch in batches if batch.level == level]
    cases = max(batch.value.shape[0] for batch in own)
    has_level = [isinstance(x, Tensor) and isinstance(x.array, Batched) and x.array.level == level for x in args]
    rows = [show(None, x, level, 0, cases) if is_batch else x for x, is_batch in zip(args, has_level, strict=True)]

    def joined(*parts: Any) -> Any:
        return None if parts[0] is None else hide(None, ag.stack(parts), level, 0, cases)

    with one_case_of(level):
        results = [
            function(*[row[i] if is_batch else row for row, is_batch in zip(rows, has_level, strict=True)])
            for i in range(cases)
        ]
    return tree_map(joined, *results)

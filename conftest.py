"""Settings for all tests, before anything that reads them is imported."""

from __future__ import annotations

import os
from collections.abc import Iterator

# Small products of matrices: threads of BLAS would only wait for each other. Before NumPy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# SciPy reads this when it is first imported: its functions then take arrays of the standard (tests/clients).
os.environ.setdefault("SCIPY_ARRAY_API", "1")  # ci/clients names a backend

import pytest
from hypothesis import settings

import arraygrad

for _name in arraygrad.__all__:  # chapters that are imported when first asked for: the op table wants all of them
    getattr(arraygrad, _name)

settings.register_profile("seeded", derandomize=True, deadline=None)
settings.load_profile("seeded")


@pytest.fixture
def own_op() -> Iterator[None]:
    """Forget the operations that a test declares."""
    from arraygrad.op import OPS

    before = dict(OPS)
    yield
    OPS.clear()
    OPS.update(before)

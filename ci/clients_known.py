"""What fails in the suites that ci/clients runs, by its reason: a test's id after the file, or its name for all its cases."""

from __future__ import annotations

KNOWN: dict[str, str] = {}
IN_GRAD_MODE: dict[str, str] = {}
LEAKS: dict[str, int] = {}

_ITER = "iter() of a million elements makes a view of each at once (see test_iter_is_lazy in tests/test_tensor.py)"
TOO_SLOW = {"TestDifferentialEntropy::test_consistency": _ITER}

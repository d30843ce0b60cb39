"""Run SciPy's own array API tests on arraygrad: `pytest -p scipy_plugin --pyargs scipy.special -m array_api_backends`.

SciPy's suites test array-api-strict; this puts arraygrad in its place. What fails, and why, is in KNOWN: those tests
are expected to fail, strictly, so that a mended one is noticed. ci/clients calls it.
"""

from __future__ import annotations

import sys

import pytest

import arraygrad as ag

sys.modules["array_api_strict"] = ag
ag.set_array_api_strict_flags = lambda **flags: None  # type: ignore[attr-defined]  # SciPy's conftest calls it
ag.get_array_api_strict_flags = lambda: {"api_version": "2025.12"}  # type: ignore[attr-defined]  # and this

GENERIC = "SciPy's generic chdtrc differs from its own kernel in where it is NaN"
HARNESS = "the test's harness joins strict's list of devices, where the standard has a tuple"
TEXT = "the test asks for the text or the type of strict's own error"
LOGSPACE = "the test calls logspace, which is not in the standard"
NUMPY = "the test mixes NumPy arrays in, or hands its array to a function of NumPy's alone"

KNOWN = {
    "test_support_alternative_backends[array_api_strict-chdtrc-float32-shapes3]": GENERIC,
    "test_support_alternative_backends[array_api_strict-chdtrc-float64-shapes2]": GENERIC,
    "test_support_alternative_backends[array_api_strict-chdtrc-float64-shapes3]": GENERIC,
    "test_support_alternative_backends[array_api_strict-chdtrc-intp-shapes2]": GENERIC,
    "test_support_alternative_backends[array_api_strict-chdtrc-intp-shapes3]": GENERIC,
    "TestLogSumExp::test_device[array_api_strict-1.0]": HARNESS,
    "TestLogSumExp::test_device[array_api_strict-1j]": HARNESS,
    "TestLogSumExp::test_device[array_api_strict-x_raw2]": HARNESS,
    "TestDerivative::test_initial_step[array_api_strict]": LOGSPACE,
    "test_xp_errors[array_api_strict]": TEXT,
    "TestBracketMinimum::test_input_validation[array_api_strict]": NUMPY,
    "test_Heap[array_api_strict]": NUMPY,
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for name, reason in KNOWN.items():
            if item.nodeid.endswith("::" + name):
                item.add_marker(pytest.mark.xfail(reason=reason, strict=True))

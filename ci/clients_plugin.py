"""Run other libraries' own array API tests on arraygrad: `pytest -p clients_plugin --pyargs scipy.special ...`.

SciPy's and scikit-learn's suites test array-api-strict; this puts arraygrad in its place. What fails, and why, is in
clients_known.py: those tests are expected to fail, strictly, so that a mended one is noticed. ci/clients calls it.

With ARRAYGRAD_CLIENTS_GRAD=1 all floating point tensors that are made require grad. The suites' own code may still
convert them to NumPy arrays; where the library itself does so, the tensor refuses. Those tests are many: they are
known by that error, and counted.
"""

from __future__ import annotations

import functools
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from clients_known import IN_GRAD_MODE, KNOWN, LEAKS

import arraygrad as ag
from arraygrad.inspection import NamespaceInfo

GRAD = os.environ.get("ARRAYGRAD_CLIENTS_GRAD") == "1"

# What the suites ask of strict beyond the standard.
sys.modules["array_api_strict"] = ag
ag.set_array_api_strict_flags = lambda **flags: None  # type: ignore[attr-defined]
ag.get_array_api_strict_flags = lambda: {"api_version": "2025.12"}  # type: ignore[attr-defined]
ag.Device = lambda name: "cpu"  # type: ignore[attr-defined]
devices = NamespaceInfo.devices
NamespaceInfo.devices = lambda self: list(devices(self))  # type: ignore[assignment, method-assign, return-value]


# ---- Which tests


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    known = [
        (name, reason)
        for table in ([KNOWN, IN_GRAD_MODE] if GRAD else [KNOWN])
        for reason, names in table.items()
        for name in names.split()
    ]
    for item in items:
        _, _, test = item.nodeid.partition("::")
        for name, reason in known:
            if test == name or test.startswith((f"{name}[", f"{name}::")):
                item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
                break


# ---- Everything requires grad


def _requiring_grad(create: Callable[..., ag.Tensor]) -> Callable[..., ag.Tensor]:
    @functools.wraps(create)
    def wrapper(*args: Any, **kwargs: Any) -> ag.Tensor:
        result = create(*args, **kwargs)
        if result.dtype.kind not in "fc" or result.requires_grad:
            return result
        return ag.copy(ag.copy(result).requires_grad_())  # not a leaf, since tests write in place to what they made

    return wrapper


def _is_suites(frame: Any) -> bool:
    """Whether a suite itself, and not the library, wants a NumPy array."""
    while os.path.basename(frame.f_code.co_filename) == "_array_api.py":  # for both: who calls?
        frame = frame.f_back
    file = frame.f_code.co_filename
    return (
        f"{os.sep}tests{os.sep}" in file
        or f"numpy{os.sep}testing" in file
        or os.path.basename(file) in ("conftest.py", "_testing.py", "estimator_checks.py")
    )


def _lenient_to_suites(export: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: ag.Tensor, *args: Any, **kwargs: Any) -> Any:
        return export(self.detach() if _is_suites(sys._getframe(1)) else self, *args, **kwargs)

    return method


if GRAD:
    for name in "arange asarray empty eye from_dlpack full linspace ones zeros".split():
        setattr(ag, name, _requiring_grad(getattr(ag, name)))
    for name in "__array__ __dlpack__".split():
        setattr(ag.Tensor, name, _lenient_to_suites(getattr(ag.Tensor, name)))

leaks = 0


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Iterator[Any]:
    global leaks
    report = yield
    error: BaseException | None = call.excinfo.value if call.excinfo else None
    while GRAD and report.failed and error is not None:
        if isinstance(error, ag.GraphError) and "would lose" in str(error):
            leaks += 1
            *_, place = [f for f in traceback.extract_tb(error.__traceback__) if "site-packages" in f.filename]
            report.outcome, report.wasxfail = "skipped", f"conversion in {place.filename}:{place.lineno}"
        error = error.__cause__ or error.__context__
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    expected = LEAKS.get(session.config.args[0], 0)
    if GRAD and leaks != expected:
        print(f"\n{leaks} tests lost history by a conversion, {expected} were expected: see LEAKS in clients_known.py")
        session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED

"""SciPy's optimizers, imported when they are first asked for."""

from __future__ import annotations

from typing import Any

from arraygrad.errors import DeviceError


def minimize(*args: Any, **kwargs: Any) -> Any:
    """`scipy.optimize.minimize`.

    Raises:
        DeviceError: SciPy is not installed.
    """
    try:
        from scipy import optimize
    except ModuleNotFoundError as error:
        raise DeviceError("minimize needs SciPy: pip install 'arraygrad[special]'") from error
    return optimize.minimize(*args, **kwargs)

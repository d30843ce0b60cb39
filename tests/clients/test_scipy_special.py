"""`scipy.special` made differentiable: its functions on tensors, with SCIPY_ARRAY_API=1 (see conftest.py).

The gradient of each call through arraygrad is compared with finite differences of the same call on NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special as special
from finite_differences import assert_differentiable, like
from op_table import draw

X, P, V = draw((4, 3)), draw((6,), 0.3, 2.0), draw((6,), -1.0, 1.0)
U = draw((5,), 0.1, 0.9)

#: name: function, input. The function gets an array or a tensor.
CALLS: dict[str, tuple[Callable[[Any], Any], np.ndarray]] = {
    **{
        name: (getattr(special, name), V)
        for name in "cosm1 erf erfc exp10 exp2 expit i0 i0e i1 i1e j0 j1 log_ndtr ndtr".split()
    },
    **{
        name: (getattr(special, name), P)
        for name in "cbrt entr exp1 expi gamma gammaln k0 k0e k1 k1e psi y0 y1".split()
    },
    **{name: (getattr(special, name), U) for name in "erfinv logit ndtri".split()},
    "polygamma": (lambda x: special.polygamma(1, x), P),
    "zeta": (lambda x: special.zeta(2.5, x), P),
    "xlogy": (lambda x: special.xlogy(x, x + 1.0), P),
    "xlog1py": (lambda x: special.xlog1py(x, x), P),
    "rel_entr": (lambda x: special.rel_entr(x, x[::-1] + 0.5), P),
    "betaln": (lambda x: special.betaln(x, x + 1.0), P),
    "huber": (lambda x: special.huber(0.5 * x, x * x), P),
    "boxcox": (lambda x: special.boxcox(x, x + 0.5), P),
    "boxcox1p": (lambda x: special.boxcox1p(x, x + 0.5), P),
    "betainc": (lambda x: special.betainc(x + 1.0, x + 2.0, x), U),
    "betaincc": (lambda x: special.betaincc(x + 1.0, x + 2.0, x), U),
    "betaincinv": (lambda x: special.betaincinv(x + 1.0, x + 2.0, x), U),
    "gammainc": (lambda x: special.gammainc(x + 1.0, x), P),
    "gammaincc": (lambda x: special.gammaincc(x + 1.0, x), P),
    "gammaincinv": (lambda x: special.gammaincinv(x + 1.0, x), U),
    "gammainccinv": (lambda x: special.gammainccinv(x + 1.0, x), U),
    "gdtr": (lambda x: special.gdtr(x, x + 1.0, x), P),
    "gdtrc": (lambda x: special.gdtrc(x, x + 1.0, x), P),
    "stdtr": (lambda x: special.stdtr(x + 2.0, x), V),
    "stdtrit": (lambda x: special.stdtrit(x + 2.0, x), U),
    "chdtr": (lambda x: special.chdtr(x + 2.0, x), P),
    "chdtrc": (lambda x: special.chdtrc(x + 2.0, x), P),
    "chdtri": (lambda x: special.chdtri(x + 2.0, x), U),
    "fdtr": (lambda x: special.fdtr(x + 2.0, x + 3.0, x), P),
    "fdtrc": (lambda x: special.fdtrc(x + 2.0, x + 3.0, x), P),
    "fdtri": (lambda x: special.fdtri(x + 2.0, x + 3.0, x), U),
    "softmax": (special.softmax, X),
    "softmax axis": (lambda x: special.softmax(x, axis=1), X),
    "log_softmax": (lambda x: special.log_softmax(x, axis=1), X),
    "logsumexp": (special.logsumexp, X),
    "logsumexp axis": (lambda x: special.logsumexp(x, axis=1), X),
    "logsumexp b": (lambda x: special.logsumexp(x, b=like(x, np.arange(1.0, 4.0)), axis=1), X),
    "logsumexp sign": (lambda x: special.logsumexp(x, b=x * x, return_sign=True)[0], X),
}


@pytest.mark.parametrize("name", list(CALLS))
def test_gradient(name: str) -> None:
    assert_differentiable(*CALLS[name])


def test_the_table_is_long() -> None:
    assert len(CALLS) >= 58

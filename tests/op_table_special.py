"""Rows of `arraygrad.special`: values against scipy.special, gradients in the inputs that have one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special

import arraygrad as ag
from arraygrad.ops import information

PARTS = {
    "log_of_weighted_sum": lambda a, b, **k: scipy.special.logsumexp(a, b=b, **k, return_sign=True)[0],
    "sign_of_weighted_sum": lambda a, b, **k: scipy.special.logsumexp(a, b=b, **k, return_sign=True)[1],
}


def rows(unary: Any, binary: Any, op: Callable[..., Any], draw: Callable[..., np.ndarray]) -> list[Any]:
    def one(name: str, low: float = -2.0, high: float = 2.0, away_from: Any = ()) -> Any:
        """A function of one array."""
        samples = {str(list(shape)): (draw(shape, low, high, away_from),) for shape in [(), (3,), (2, 3), (0, 2)]}
        return op(name, getattr(scipy.special, name), samples, function=getattr(ag.special, name))

    def two(name: str, x1: tuple[float, float], x2: tuple[float, float], away_from: Any = ()) -> Any:
        """A function of two arrays, both with gradients."""
        shapes = [((), ()), ((3,), (3,)), ((2, 3), (3,)), ((1, 4), (3, 1)), ((0, 3), (3,)), ((2, 1), ())]
        samples: dict[str, Any] = {
            f"{list(s1)}x{list(s2)}": (draw(s1, *x1, away_from), np.asarray(draw(s2, *x2, away_from) + 0.013))
            for s1, s2 in shapes
        }
        a, b = draw((3,), *x1, away_from), draw((3,), *x2, away_from)
        samples |= {"[3]xnumber": (a, b[0].item()), "numberx[3]": (a[0].item(), b)}
        samples |= {"[3]xintegers": (a, np.array([1, 2, 3])), "integersx[3]": (np.array([[1], [2]]), b)}
        return op(name, getattr(scipy.special, name), samples, function=getattr(ag.special, name))

    def three(name: str, x1: tuple[float, float], x2: tuple[float, float], x3: tuple[float, float]) -> Any:
        """A function of three arrays, all with gradients."""
        ends = (x1, x2, x3)
        shapes = [((), (), ()), ((2, 3), (3,), (2, 1)), ((0, 3), (3,), (3,))]
        samples: dict[str, Any] = {
            " x ".join(str(list(shape)) for shape in sample): tuple(
                draw(shape, *end) for shape, end in zip(sample, ends, strict=True)
            )
            for sample in shapes
        }
        samples |= {
            "numbers and an array": (1.5, 2.5, draw((3,), *x3)),
            "array and numbers": (draw((3,), *x1), 2.5, 0.6),
            "integers": (np.array([[1], [2]]), draw((3,), *x2), draw((2, 1), *x3)),
        }
        return op(name, getattr(scipy.special, name), samples, function=getattr(ag.special, name))

    def quantile(name: str) -> Any:
        """A function of a parameter and a probability, both with gradients."""
        a, p = draw((2, 3), 0.8, 3.0), draw((3,), 0.1, 0.4)
        samples: dict[str, Any] = {
            "[2, 3]x[3]": (a, p),
            "0-d": (draw((), 0.8, 3.0), draw((), 0.1, 0.4)),
            "size 0": (a[:0], p),
            "column": (a[:, :1], p),
            "number and array": (1.5, p),
            "array and number": (a, 0.3),
            "integers": (np.array([[1], [3]]), p),
        }
        return op(name, getattr(scipy.special, name), samples, function=getattr(ag.special, name))

    def last(name: str, parameters: int, low: float, high: float, whole: bool = False) -> Any:
        """A function whose last argument has a gradient; the parameters before are numbers and integers."""
        x = draw((2, 3), low, high)
        numbers, columns = [2.5, 3.25][:parameters], [np.array([[1], [3]]), np.array([2, 1, 4])][:parameters]
        samples: dict[str, Any] = {
            "integers": (*columns, x),
            "one": (*[1] * parameters, x),
            "0-d": (*[2, 3][:parameters], draw((), low, high)),
            "size 0": (*[2, 3][:parameters], draw((0, 2), low, high)),
            "column": (*columns[::-1], draw((2, 1), low, high)),
        }
        if not whole:
            samples["numbers"] = (*numbers, x)
        return op(name, getattr(scipy.special, name), samples, function=getattr(ag.special, name))

    x = draw((2, 3))
    b = draw((2, 3), -1.5, 1.5, away_from=[0.0])
    sums = {
        "all": (x, b),
        "axis=0": ((x, b), {"axis": 0}),
        "axis=-1 keepdims": ((x, b), {"axis": -1, "keepdims": True}),
        "axes": ((draw((2, 3, 2)), draw((2, 3, 2), 0.5, 1.5)), {"axis": (0, 2)}),
        "0-d": (draw(()), draw((), 0.3, 1.0)),
        "large": (x * 300, b),
        "integers": ((x, np.array([[1, 0, -2], [3, 1, 1]])), {"axis": 1}),
    }
    all_axes = {"all": (x,), "axis": (x, 0), "axes": (draw((2, 3, 2)), (0, 2)), "keyword": ((x,), {"axis": 1})}
    return [
        one("erf"),
        one("erfc"),
        one("erfinv", -0.9, 0.9),
        one("erfcx"),
        op("erfcx", scipy.special.erfcx, {"tails": (draw((2, 3), 4.0, 9.0),)}, function=ag.special.erfcx),
        one("ndtr"),
        one("ndtri", 0.1, 0.9),
        one("log_ndtr"),
        op("log_ndtr", scipy.special.log_ndtr, {"tails": (draw((6,), -9.0, 5.0),)}, function=ag.special.log_ndtr),
        one("expit"),
        one("log_expit"),
        one("logit", 0.1, 0.9),
        one("gamma", 0.4, 3.0),
        one("gammaln", 0.4, 3.0),
        one("digamma", 0.6, 3.0),
        op("gamma", scipy.special.gamma, {"negative": (np.array([-0.6, -1.4]),)}, function=ag.special.gamma),
        op("digamma", scipy.special.digamma, {"negative": (np.array([-0.6, -1.4]),)}, function=ag.special.digamma),
        last("polygamma", 1, 1.2, 3.0, whole=True),
        op("polygamma", scipy.special.polygamma, {"0": (0, x + 4.0)}, function=ag.special.polygamma),
        op(
            "zeta",
            scipy.special.zeta,
            {"number": (2.5, x + 3.0), "integers": (np.array([2, 3, 4]), x + 3.0), "0-d": (2, draw((), 1.0, 2.0))},
            function=ag.special.zeta,
        ),
        two("betaln", (0.5, 3.0), (0.5, 3.0)),
        one("i0"),
        one("i0e", away_from=[0.0]),
        one("i1"),
        one("i1e", away_from=[0.0]),
        one("j0", -4.0, 4.0),
        one("j1", -4.0, 4.0),
        *[
            op(name, getattr(scipy.special, name), {"far": (np.array([-620.0, 480.0, 530.0]),)}, function=getattr(ag.special, name))
            for name in ("i0e", "i1e")
        ],
        *[one(name, 0.4, 4.0) for name in ("k0", "k0e", "k1", "k1e", "y0", "y1")],
        *[one(name) for name in ("cosm1", "exp2", "exp10")],
        one("cbrt", away_from=[0.0]),
        one("exp1", 0.3, 2.0),
        one("expi", away_from=[0.0]),
        one("entr", 0.2, 2.0),
        two("xlogy", (-2.0, 2.0), (0.3, 2.0)),
        two("xlog1py", (-2.0, 2.0), (-0.5, 2.0)),
        two("rel_entr", (0.3, 2.0), (0.3, 2.0)),
        two("kl_div", (0.3, 2.0), (0.3, 2.0)),
        op("kl_div", scipy.special.kl_div, {"far": (np.array([0.1, 5.0]), np.array([4.0, 0.2]))}, function=ag.special.kl_div),
        two("huber", (0.6, 1.1), (-2.0, 2.0), away_from=[0.0]),
        two("pseudo_huber", (0.6, 1.4), (-2.0, 2.0)),
        two("boxcox", (0.3, 2.0), (-2.0, 2.0)),
        two("boxcox1p", (-0.5, 2.0), (-2.0, 2.0)),
        op("boxcox", scipy.special.boxcox, {"log": (x + 3.0, 0), "0-d lmbda 0": (x + 3.0, np.array(0.0))}, function=ag.special.boxcox),
        one("exprel"),
        one("sinc"),
        op("exprel", scipy.special.exprel, {"wide": (np.array([-30.0, -0.3, 0.0, 0.4, 4.0]),)}, function=ag.special.exprel),
        op("sinc", scipy.special.sinc, {"wide": (np.array([-3.3, -0.2, 0.0, 0.1, 1.0]),)}, function=ag.special.sinc),
        op("i1", scipy.special.i1, {"zero": (np.array([0.0, 1e-3]),)}, function=ag.special.i1),
        op("j1", scipy.special.j1, {"zero": (np.array([0.0, 1e-3]),)}, function=ag.special.j1),
        op("logsumexp", scipy.special.logsumexp, all_axes, function=ag.special.logsumexp),
        op("softmax", scipy.special.softmax, all_axes, function=ag.special.softmax),
        op("log_softmax", scipy.special.log_softmax, all_axes, function=ag.special.log_softmax),
        op("log_of_weighted_sum", PARTS["log_of_weighted_sum"], sums, function=information._log_of_weighted_sum),
        op(
            "sign_of_weighted_sum",
            PARTS["sign_of_weighted_sum"],
            sums,
            function=information._sign_of_weighted_sum,
            has_gradient=False,
        ),
        two("gammainc", (0.4, 3.0), (0.4, 3.0)),
        two("gammaincc", (0.4, 3.0), (0.4, 3.0)),
        three("betainc", (0.4, 3.0), (0.5, 2.5), (0.1, 0.9)),
        three("betaincc", (0.4, 3.0), (0.5, 2.5), (0.1, 0.9)),
        two("stdtr", (0.6, 3.0), (-2.0, 2.0), away_from=[0.0]),
        two("chdtr", (0.6, 3.0), (0.4, 3.0)),
        two("chdtrc", (0.6, 3.0), (0.4, 3.0)),
        three("fdtr", (0.6, 3.0), (0.7, 2.5), (0.4, 3.0)),
        three("fdtrc", (0.6, 3.0), (0.7, 2.5), (0.4, 3.0)),
        three("gdtr", (0.6, 2.0), (0.7, 2.5), (0.4, 1.5)),
        three("gdtrc", (0.6, 2.0), (0.7, 2.5), (0.4, 1.5)),
        quantile("gammaincinv"),
        quantile("gammainccinv"),
        quantile("chdtri"),
        quantile("stdtrit"),
        three("betaincinv", (0.6, 3.0), (0.7, 2.5), (0.1, 0.9)),
        three("fdtri", (0.8, 3.0), (0.9, 2.5), (0.1, 0.8)),
    ]  # fmt: skip

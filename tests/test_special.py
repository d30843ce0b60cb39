"""`arraygrad.special` where the op table does not reach: tails, zeros and limits, missing derivatives, SciPy."""

from __future__ import annotations

import inspect
import math
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import scipy.special
from devices import NAMES, make, to_host

import arraygrad as ag
from arraygrad import special
from arraygrad.backends import NUMPY
from arraygrad.backends.special import Special
from arraygrad.op import OPS
from arraygrad.ops.special import NoGradient

inf, nan = math.inf, math.nan


def slope(name: str, args: list[Any], of: int, dtype: Any = None) -> Any:
    x = ag.tensor(args[of], dtype=dtype, requires_grad=True)
    getattr(special, name)(*args[:of], x, *args[of + 1 :]).backward()
    return x.grad


# The derivative by an argument, from mpmath with 80 digits: numerically, and on one side at the end of a domain.
SLOPES: list[tuple[str, list[float], int, float]] = [
    ("erf", [0.0], 0, 1.1283791670955126),
    ("erf", [5.0], 0, 1.5670866531017336e-11),
    ("erfc", [26.0], 0, -2.9470349932662697e-294),
    ("erfcx", [-5.0], 0, -1440097986747.7388),
    ("erfcx", [0.0], 0, -1.1283791670955126),
    ("erfcx", [5.9], 0, -0.015554960545253594),
    ("erfcx", [6.1], 0, -0.014588702597569852),
    ("erfcx", [100.0], 0, -5.6410497625993184e-05),
    ("erfcx", [100000000.0], 0, -5.641895835477562e-17),
    ("ndtr", [-37.0], 0, 2.1200065515246056e-298),
    ("log_ndtr", [-40.0], 0, 40.02496884720726),
    ("log_ndtr", [-1000000.0], 0, 1000000.000001),
    ("log_ndtr", [0.0], 0, 0.7978845608028654),
    ("log_ndtr", [-1e-09], 0, 0.7978845614394852),
    ("log_ndtr", [8.0], 0, 5.052271083536895e-15),
    ("log_ndtr", [37.0], 0, 2.1200065515246056e-298),
    ("expit", [40.0], 0, 4.248354255291589e-18),
    ("expit", [-700.0], 0, 9.85967654375977e-305),
    ("log_expit", [40.0], 0, 4.248354255291589e-18),
    ("log_expit", [-800.0], 0, 1.0),
    ("logit", [1e-20], 0, 1e20),
    ("gamma", [-10.5], 0, -6.331643456778778e-07),
    ("gamma", [20.0], 0, 3.6134968930314074e17),
    ("gammaln", [10000000000.0], 0, 23.025850929890456),
    ("gammaln", [-20.3], 0, 5.317549924239749),
    ("digamma", [1e-05], 0, 10000000001.644909),
    ("digamma", [-3.3], 0, 14.817739525515929),
    ("digamma", [1000000.0], 0, 1.0000005000001667e-06),
    ("polygamma", [2, 0.1], 1, 60004.51287679026),
    ("polygamma", [0, 3.5], 1, 0.3303577561002349),
    ("zeta", [3, 0.2], 1, -1876.6224974323625),
    ("zeta", [1.5, 30.0], 1, -0.0062400638607683825),
    ("i0", [0.0], 0, 0.0),
    ("i1", [0.0], 0, 0.5),
    ("i1", [1e-09], 0, 0.5),
    ("i1", [0.99], 0, 0.6966397491143657),
    ("i1", [1.01], 0, 0.7052280978557482),
    ("i1", [20.0], 0, 41435533.890297145),
    ("i0e", [3.0], 0, -0.046173640864524544),
    ("i0e", [-499.0], 0, 1.7908372417438297e-05),
    ("i0e", [501.0], 0, -1.7801190182730053e-05),
    ("i0e", [1000000000.0], 0, -6.307831307415837e-15),
    ("i1e", [0.0], 0, 0.5),
    ("i1e", [0.5], 0, 0.17577286089453498),
    ("i1e", [-30.0], 0, -0.0011675951363651794),
    ("i1e", [499.0], 0, -1.7854512582868012e-05),
    ("i1e", [-501.0], 0, -1.7747866530871158e-05),
    ("i1e", [1000000000.0], 0, -6.3078312979540896e-15),
    ("j0", [0.0], 0, 0.0),
    ("j1", [0.0], 0, 0.5),
    ("j1", [1e-09], 0, 0.5),
    ("j1", [0.99], 0, 0.32838703672797176),
    ("j1", [1.01], 0, 0.32188418435587995),
    ("j1", [50.0], 0, 0.05776256423175532),
    ("entr", [1e-300], 0, 689.7755278982137),
    ("xlogy", [0.0, 3.0], 0, 1.0986122886681098),
    ("xlog1py", [0.0, 1e-20], 0, 1e-20),
    ("rel_entr", [1e-300, 1e300], 0, -1380.5510557964274),
    ("kl_div", [1.0, 1.0000001], 0, -9.999999505838704e-08),
    ("kl_div", [1.0, 1.0000001], 1, 9.99999900583877e-08),
    ("kl_div", [3.0, 3.0], 0, 0.0),
    ("betaln", [0.01, 100.0], 0, -105.16114780722349),
    ("betaln", [0.01, 100.0], 1, -0.00010049661672168522),
    ("pseudo_huber", [1e-10, 3.0], 0, 2.9999999998),
    ("pseudo_huber", [10000000000.0, 3.0], 0, 2.025e-29),
    ("pseudo_huber", [10000000000.0, 3.0], 1, 3.0),
    ("pseudo_huber", [1e-10, 3.0], 1, 1e-10),
    ("boxcox", [3.0, 0.0], 1, 0.603474480406291),
    ("boxcox", [3.0, 1e-09], 1, 0.6034744808482806),
    ("boxcox", [1e-05, 5.0], 1, 0.04),
    ("boxcox", [100000.0, 5.0], 1, 2.2625850929940456e25),
    ("boxcox1p", [1e-12, 2.0], 0, 1.000000000001),
    ("boxcox1p", [1e-12, 2.0], 1, 5.000000000001666e-25),
    ("boxcox1p", [3.0, 0.0], 0, 0.25),
    ("exprel", [0.0], 0, 0.5),
    ("exprel", [1e-09], 0, 0.5000000003333334),
    ("exprel", [0.499], 0, 0.7020704329252174),
    ("exprel", [0.501], 0, 0.7030448584405907),
    ("exprel", [-0.499], 0, 0.36104632867158903),
    ("exprel", [-0.501], 0, 0.36058592293258435),
    ("exprel", [-10000000000.0], 0, 1e-20),
    ("exprel", [1.0], 0, 1.0),
    ("sinc", [0.0], 0, 0.0),
    ("sinc", [1e-09], 0, -3.289868133696453e-09),
    ("sinc", [0.2499], 0, -0.7725678112027068),
    ("sinc", [0.2501], 0, -0.773108423349039),
    ("sinc", [2.0], 0, 0.5),
    ("gammainc", [1.0, 0.0], 1, 1.0),
    ("gammainc", [3.0, 0.0], 1, 0.0),
    ("gammainc", [100.0, 250.0], 1, 7.119290720969087e-28),
    ("gammainc", [10000.0, 10000.0], 1, 0.003989389558962826),
    ("gammaincc", [2.0, 700.0], 1, -6.90177358063184e-302),
    ("betainc", [1.0, 3.0, 0.0], 2, 3.0),
    ("betainc", [2.0, 1.0, 1.0], 2, 2.0),
    ("betainc", [50.0, 70.0, 0.001], 2, 4.9982666914087865e-112),
    ("betaincc", [3.0, 2.0, 0.999999999], 2, -1.1999999636616824e-08),
    ("stdtr", [3.0, -100000.0], 1, 3.3079733705459684e-20),
    ("stdtr", [1000000000.0, 1.5], 1, 0.12951759565172574),
    ("stdtr", [1.0, 0.0], 1, 0.3183098861837907),
    ("chdtr", [2.0, 0.0], 1, 0.5),
    ("chdtr", [7.0, 300.0], 1, 2.9747444167483705e-61),
    ("fdtr", [2.0, 5.0, 0.0], 2, 1.0),
    ("fdtr", [7.0, 3.0, 10000.0], 2, 2.2857664480197906e-10),
    # of exp(-x / 2), 1 / (1 + x), exp(-rate * x), -log(y), 1 - sqrt(1 - y), -2 * log(p) and tan(pi * (p - 1 / 2))
    ("chdtrc", [2.0, 1000.0], 1, -3.562288203370643e-218),
    ("fdtrc", [2.0, 2.0, 1e8], 2, -9.999999800000005e-17),
    ("gdtrc", [2.0, 1.0, 300.0], 0, -7.951189659012932e-259),
    ("gammainccinv", [1.0, 1e-30], 1, -1e30),
    ("gammaincinv", [1.0, 1e-30], 1, 1.0),
    ("betaincinv", [1.0, 2.0, 1e-12], 2, 0.50000000000025),
    ("chdtri", [2.0, 1e-300], 1, -2e300),
    ("stdtrit", [1.0, 1e-6], 1, 318309886184.83795),
    ("fdtri", [2.0, 2.0, 0.999], 2, 1e6),
    ("cbrt", [-8e300], 0, 8.333333333333334e-202),
    ("cosm1", [1e-9], 0, -1e-9),
    ("exp10", [-300.0], 0, 2.302585092994046e-300),
    ("exp1", [500.0], 0, -1.424915281348257e-220),
    ("expi", [-500.0], 0, -1.424915281348257e-220),
]


@pytest.mark.parametrize(("name", "args", "of", "expected"), SLOPES)
def test_slopes_at_hard_points(name: str, args: list[float], of: int, expected: float) -> None:
    rtol = 1e-10 if args == [10000.0, 10000.0] else 1e-12  # the logarithms' terms are 1e5 there
    np.testing.assert_allclose(slope(name, args, of).item(), expected, rtol=rtol, atol=0.0)


# By the parameters of distribution functions, from mpmath with 100 digits: central differences of series.
PARAMETER_SLOPES: list[tuple[str, list[float], int, float]] = [
    ("gammainc", [0.001, 0.001], 0, -6.2932038249004245),
    ("gammainc", [0.001, 1.0], 0, -0.219832728883122),
    ("gammainc", [0.001, 20.0], 0, -9.906877326777444e-11),
    ("gammainc", [0.001, 700.0], 0, -1.4266790230882356e-307),
    ("gammainc", [0.03, 1e-300], 0, -7.017911051922274e-07),
    ("gammainc", [0.5, 1e-30], 0, -7.798684600842023e-14),
    ("gammainc", [1.0, 1.0], 0, -0.4317297106348987),
    ("gammainc", [1.0, 1.0000001], 0, -0.4317296894003203),
    ("gammainc", [2.5, 0.001], 0, -7.61728094459622e-08),
    ("gammainc", [2.5, 2.0], 0, -0.27455132194588155),
    ("gammainc", [2.5, 100.0], 0, -1.1112692390622655e-40),
    ("gammainc", [10.0, 1.0], 0, -2.630331275915804e-07),
    ("gammainc", [30.0, 30.0], 0, -0.07303937077258078),
    ("gammainc", [99.0, 150.0], 0, -1.6835968764188876e-06),
    ("gammainc", [1000.0, 500.0], 0, -2.2911095748452634e-86),
    ("gammainc", [1000.0, 999.5], 0, -0.012618291313261452),
    ("gammainc", [1000.0, 2000.0], 0, -4.756465407623239e-136),
    ("gammainc", [10000.0, 9000.0], 0, -2.2037781167867484e-26),
    ("gammainc", [10000.0, 10000.0], 0, -0.003989456049453668),
    ("gammainc", [10000.0, 10300.0], 0, -4.768499514046361e-05),
    ("gammaincc", [3.0, 700.0], 0, 1.3638195030923308e-298),
    ("betainc", [0.01, 0.01, 1e-12], 0, -29.443243929330407),
    ("betainc", [0.01, 0.01, 0.5], 0, -25.0040094276327),
    ("betainc", [0.01, 0.01, 0.9999999990686774], 1, 28.74959041264976),
    ("betainc", [0.01, 1000.0, 1e-12], 0, -16.482439075379475),
    ("betainc", [0.3, 1000.0, 0.1], 1, 2.4512749524407003e-49),
    ("betainc", [1.0, 1.0, 0.5], 0, -0.34657359027997264),
    ("betainc", [1.0, 3.0, 1e-12], 1, 9.999999999975e-13),
    ("betainc", [2.5, 30.0, 0.08], 0, -0.24770530053785486),
    ("betainc", [2.5, 30.0, 0.08], 1, 0.019841226533192875),
    ("betainc", [30.0, 2.5, 0.9], 1, 0.19976330141021106),
    ("betainc", [50.0, 70.0, 0.001], 0, -6.052552750563656e-116),
    ("betainc", [1000.0, 1000.0, 0.5], 0, -0.008922479336000141),
    ("betainc", [1000.0, 1000.0, 0.45], 1, 3.671310796992065e-07),
    ("betainc", [1000.0, 0.01, 0.9999999990686774], 0, -8.757390365126755e-06),
    ("betainc", [1000.0, 2.5, 0.999], 1, 0.18020433216543952),
    ("betainc", [1000.0, 1000.0, 0.6], 0, -1.518902420317229e-20),
    ("betaincc", [30.0, 2.5, 0.9], 1, -0.19976330141021106),
    ("betaincc", [3.0, 2.0, 0.999999], 0, 3.4999913335408723e-12),
    ("stdtr", [0.1, -10000.0], 0, -1.74149342323107),
    ("stdtr", [1.0, -2.0], 0, -0.09683194233054404),
    ("stdtr", [3.0, 1e-06], 0, 9.732981649993131e-09),
    ("stdtr", [30.0, -20.0], 0, -2.974350493909995e-19),
    ("stdtr", [30.0, 1.5], 0, 0.00017296409189266232),
    ("stdtr", [1000.0, -2.0], 0, -1.351049489460594e-07),
    ("chdtr", [2.0, 0.002], 0, -0.00366356272732246),
    ("chdtr", [7.0, 300.0], 0, -1.1839788742884713e-60),
    ("chdtr", [2000.0, 1990.0], 0, -0.006245359213608999),
    ("fdtr", [0.1, 0.2, 0.001], 0, -3.0138467318062983),
    ("fdtr", [2.0, 5.0, 1.5], 1, 0.014669328828061955),
    ("fdtr", [7.0, 3.0, 10000.0], 0, 1.950640756656885e-08),
    ("fdtr", [7.0, 3.0, 10000.0], 1, 6.290071535595552e-06),
    ("fdtr", [100.0, 50.0, 1.1], 0, 0.00011405502405639943),
    ("fdtr", [1000.0, 1000.0, 0.9], 1, -3.90305192556291e-05),
]


@pytest.mark.parametrize(("name", "args", "of", "expected"), PARAMETER_SLOPES)
def test_slopes_in_parameters_at_hard_points(name: str, args: list[float], of: int, expected: float) -> None:
    rtol = 1e-8 if name in ("stdtr", "fdtr") else 1e-10
    np.testing.assert_allclose(slope(name, args, of).item(), expected, rtol=rtol, atol=0.0)


@pytest.mark.parametrize(
    ("name", "args", "of", "expected"),
    [
        # where 0 times something is 0 by convention
        ("xlogy", [0.0, 0.0], 0, 0.0),
        ("xlogy", [0.0, -1.0], 0, 0.0),
        ("xlogy", [0.0, 0.0], 1, 0.0),
        ("xlogy", [0.0, 2.0], 1, 0.0),
        ("xlog1py", [0.0, -1.0], 0, 0.0),
        ("xlog1py", [0.0, -1.0], 1, 0.0),
        ("rel_entr", [0.0, 0.0], 1, 0.0),
        ("rel_entr", [0.0, 2.0], 1, 0.0),
        ("rel_entr", [0.0, 0.0], 0, 1.0),  # as everywhere where both are the same
        ("kl_div", [0.0, 0.0], 0, 0.0),
        ("kl_div", [0.0, 0.0], 1, 1.0),
        ("kl_div", [0.0, 2.0], 1, 1.0),
        # kinks and ends
        ("i0e", [0.0], 0, 0.0),
        ("huber", [1.0, 1.0], 0, 0.0),
        ("huber", [1.0, 1.0], 1, 1.0),
        ("huber", [1.0, -3.0], 0, 2.0),
        ("huber", [1.0, -3.0], 1, -1.0),
        ("pseudo_huber", [0.0, -3.0], 0, 3.0),
        ("pseudo_huber", [0.0, -3.0], 1, 0.0),
        ("pseudo_huber", [0.0, 0.0], 0, 0.0),
        ("pseudo_huber", [0.0, 0.0], 1, 0.0),
        ("erf", [inf], 0, 0.0),
        ("erfcx", [inf], 0, 0.0),
        ("log_ndtr", [100.0], 0, 0.0),
        ("log_expit", [-inf], 0, 1.0),
        ("exprel", [800.0], 0, inf),
        ("betainc", [3.0, 1.0, 0.0], 2, 0.0),
        ("stdtr", [3.0, inf], 1, 0.0),
        # where a distribution function is constant in its parameters
        ("gammainc", [0.5, 0.0], 0, 0.0),
        ("gammainc", [3.0, inf], 0, 0.0),
        ("betainc", [0.5, 2.0, 0.0], 0, 0.0),
        ("betainc", [0.5, 2.0, 1.0], 1, 0.0),
        ("stdtr", [3.0, 0.0], 0, 0.0),
        ("stdtr", [3.0, -inf], 0, 0.0),
        ("chdtr", [3.0, 0.0], 0, 0.0),
        ("fdtr", [3.0, 2.0, 0.0], 0, 0.0),
        ("fdtr", [3.0, 2.0, inf], 1, 0.0),
    ],
)
def test_conventions(name: str, args: list[float], of: int, expected: float) -> None:
    assert slope(name, args, of).item() == expected


def test_infinite_slopes_at_ends_of_domains() -> None:
    with np.errstate(divide="ignore"):
        assert slope("entr", [0.0], 0).item() == inf
        assert slope("rel_entr", [0.0, 1.0], 0).item() == -inf
        assert slope("kl_div", [0.0, 1.0], 0).item() == -inf
        assert slope("logit", [0.0], 0).item() == inf
        assert slope("boxcox", [0.0, 0.5], 1).item() == 4.0  # of -1 / lmbda
    assert slope("erfinv", [1.0], 0).item() == inf
    assert slope("ndtri", [0.0], 0).item() == inf
    assert slope("betainc", [0.5, 1.0, 0.0], 2).item() == inf


MISSING = [
    (op.name, name) for op in OPS.values() for name, rule in op.rules.items() if type(rule.function) is NoGradient
]


def test_the_missing_derivatives_are_known() -> None:
    assert set(MISSING) == {("polygamma", "n"), ("zeta", "x")}


@pytest.mark.parametrize(("name", "argument"), MISSING)
def test_a_missing_derivative_is_named_when_it_is_asked_for(name: str, argument: str) -> None:
    inputs = OPS[name].inputs
    leaves = [
        ag.tensor(value, requires_grad=key == argument) for key, value in zip(inputs, [2.0, 3.0, 0.5], strict=False)
    ]
    result = getattr(special, name)(*leaves)
    rule = OPS[name].rules[argument].function
    assert (rule.op, rule.input) == (name, argument)
    with pytest.raises(ag.GraphError, match=f"^{name} has no derivative with respect to {argument} yet$"):
        result.backward()
    assert all(leaf.grad is None for leaf in leaves)
    # Nobody who does not ask is bothered.
    last = ag.tensor(0.5, requires_grad=True)
    getattr(special, name)(*[leaf.detach() for leaf in leaves[:-1]], last).backward()
    assert math.isfinite(last.grad.item())


def test_names() -> None:
    assert special.__all__ == sorted(special.__all__)
    names = """
        erf erfc erfinv erfcx ndtr ndtri log_ndtr entr expit log_expit logit gamma gammaln digamma psi polygamma zeta
        i0 i0e i1 i1e j0 j1 xlogy xlog1py rel_entr kl_div betaln huber pseudo_huber boxcox boxcox1p exprel sinc
        logsumexp softmax log_softmax stdtr chdtr fdtr betainc betaincc gammainc gammaincc
            cbrt chdtrc cosm1 exp1 exp10 exp2 expi fdtrc gdtr gdtrc k0 k0e k1 k1e y0 y1
            betaincinv chdtri fdtri gammainccinv gammaincinv stdtrit"""
    assert set(special.__all__) == set(names.split())
    assert special.psi is special.digamma
    for name in special.__all__:
        assert hasattr(scipy.special, name)
        assert name in OPS or name == "psi"


@pytest.mark.parametrize("name", ["logsumexp", "softmax", "log_softmax"])
def test_signatures_are_scipys(name: str) -> None:
    ours, theirs = (inspect.signature(getattr(module, name)) for module in (special, scipy.special))
    assert [(p.name, p.default) for p in ours.parameters.values()] == [
        (p.name, p.default) for p in theirs.parameters.values()
    ]


def test_scipy_itself_finds_them() -> None:
    code = """
import arraygrad as ag, scipy.special
x = ag.tensor([0.2, 0.5], requires_grad=True)
y = scipy.special.gammaln(x) + scipy.special.betainc(2.0, ag.tensor(3.0), x) + scipy.special.xlogy(x, x)
y.sum().backward()
print([node.name for node, _ in scipy.special.erf(x).grad_fn.next_functions], x.grad)
"""
    environment = os.environ | {"SCIPY_ARRAY_API": "1"}
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert result.returncode == 0, result.stderr
    x = np.array([0.2, 0.5])
    expected = scipy.special.digamma(x) + 12 * x * (1 - x) ** 2 + np.log(x) + 1
    assert result.stdout == f"['AccumulateGrad'] {ag.tensor(expected)}\n"


def test_without_scipy_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NUMPY, "special", Special(NUMPY))
    monkeypatch.setitem(sys.modules, "scipy.special", None)
    with pytest.raises(ag.DeviceError, match=r"^gammaln on 'cpu' needs SciPy: pip install 'arraygrad\[special\]'$"):
        special.gammaln(ag.tensor(1.0))
    special.softmax(ag.tensor([1.0, 2.0]))


def test_complex_numbers_are_refused() -> None:
    with pytest.raises(ag.DtypeError, match=r"^gammaln of complex numbers is not supported; it takes real ones$"):
        special.gammaln(ag.tensor(1.0 + 1.0j))


ONE_INPUT = [op.name for op in OPS.values() if op.name in special.__all__ and len(op.inputs) == 1]


@pytest.mark.parametrize("name", sorted(ONE_INPUT))
def test_float16_stays_float16(name: str) -> None:
    x = ag.tensor([0.25, 0.5], dtype=ag.float16, requires_grad=True)
    y = getattr(special, name)(x)
    assert y.dtype == np.float16
    y.sum().backward()
    assert x.grad.dtype == np.float16
    assert np.all(np.isfinite(to_host(x.grad)))


@pytest.mark.parametrize("device", NAMES)
def test_numbers_do_not_widen_and_arrays_of_integers_do_as_in_numpy(device: str) -> None:
    x = make(device, np.array([0.25, 0.5], np.float32), requires_grad=True)
    for parameter, dtype in ((2, np.float32), (2.5, np.float32), (make(device, np.array([2, 3])), np.float64)):
        for result in (special.stdtr(parameter, x), special.betainc(parameter, 3, x)):
            assert result.dtype == dtype
            result.sum().backward()
    assert special.polygamma(2, x).dtype == np.float32
    assert x.grad.dtype == np.float32


def test_zeta_with_one_argument_is_riemanns() -> None:
    np.testing.assert_allclose(to_host(special.zeta(ag.tensor([2.0, -1.0]))), [math.pi**2 / 6, -1 / 12], rtol=1e-14)


@pytest.mark.parametrize("device", [name for name in NAMES if name != "cpu-readonly"])
@pytest.mark.parametrize("kwargs", [{}, {"axis": 1}, {"axis": 0, "keepdims": True}, {"axis": (0, 1)}], ids=str)
def test_logsumexp_with_weights(kwargs: dict[str, Any], device: str) -> None:
    values, weights = np.array([[0.5, -1.0, 2.0], [1000.0, 999.0, 3.0]]), np.array([1.5, -0.5, 2.0])
    a, b = make(device, values, requires_grad=True), make(device, weights, requires_grad=True)
    result, sign = special.logsumexp(a, b=b, return_sign=True, **kwargs)
    expected, expected_sign = scipy.special.logsumexp(values, b=weights, return_sign=True, **kwargs)
    np.testing.assert_allclose(to_host(result), expected, rtol=1e-14)
    np.testing.assert_array_equal(to_host(sign), expected_sign)
    assert not sign.requires_grad
    assert ag.gradcheck(lambda a, b: special.logsumexp(a, b=b, return_sign=True, **kwargs)[0], [a, b])


def test_signs_and_zeros_in_logsumexp() -> None:
    a = ag.tensor([0.0, 1.0], requires_grad=True)
    assert math.isnan(special.logsumexp(a, b=ag.tensor([1.0, -1.0])).item())
    assert special.logsumexp(a, b=2.0).item() == pytest.approx(math.log(2 * (1 + math.e)))
    result, sign = special.logsumexp(ag.tensor([-inf, -inf]), return_sign=True)
    assert (result.item(), sign.item()) == (-inf, 0.0)
    result, sign = special.logsumexp(a, return_sign=True)
    assert (result.item(), sign.item()) == (pytest.approx(math.log(1 + math.e)), 1.0)

    # What has the weight 0 is not there, however large, but would be if its weight were not 0.
    a, b = ag.tensor([30.0, 2.0], requires_grad=True), ag.tensor([0.0, 3.0], requires_grad=True)
    result = special.logsumexp(a, b=b)
    assert result.item() == pytest.approx(2.0 + math.log(3.0))
    result.backward()
    np.testing.assert_allclose(to_host(a.grad), [0.0, 1.0])
    np.testing.assert_allclose(to_host(b.grad), [math.exp(28.0) / 3.0, 1 / 3])

    # All -inf: 0, not NaN.
    a, b = ag.tensor([-inf, -inf], requires_grad=True), ag.tensor([1.0, 2.0], requires_grad=True)
    special.logsumexp(a, b=b).backward()
    assert to_host(a.grad).tolist() == to_host(b.grad).tolist() == [0.0, 0.0]


def test_softmax_is_over_all_axes_by_default() -> None:
    x = ag.tensor([[0.0, 1.0], [2.0, 3.0]])
    assert special.softmax(x).sum().item() == pytest.approx(1.0)
    np.testing.assert_allclose(to_host(special.log_softmax(x)), scipy.special.log_softmax(to_host(x)))

"""`scipy.stats` made differentiable: statistics and p-values, with SCIPY_ARRAY_API=1 (see conftest.py).

The gradient of each call through arraygrad is compared with finite differences of the same call on NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats as stats
from finite_differences import SCIPY, assert_differentiable, like, xp_of
from op_table import draw

X, P, N = draw((4, 3)), draw((6,), 0.3, 2.0), draw((12,))
U = draw((5,), 0.1, 0.9)
ANGLES = draw((6,), 0.5, 1.5)


def other(x: Any) -> Any:
    """A second sample that depends on the first."""
    return x[::-1] ** 2 + 0.3


def both(
    name: str, test: Callable[[Any], Any], values: np.ndarray
) -> dict[str, tuple[Callable[[Any], Any], np.ndarray]]:
    """A test's statistic and its p-value."""
    return {
        f"{name} statistic": (lambda x: test(x).statistic, values),
        f"{name} p-value": (lambda x: test(x).pvalue, values),
    }


#: name: function, input. The function gets an array or a tensor.
CALLS: dict[str, tuple[Callable[[Any], Any], np.ndarray]] = {
    **{name: (getattr(stats, name), X) for name in "describe kurtosis sem skew zscore".split() if name != "describe"},
    **{
        name: (getattr(stats, name), P)
        for name in "circmean circstd circvar differential_entropy entropy gmean gstd gzscore hmean iqr median_abs_deviation tmean tsem tstd tvar variation".split()
    },
    "describe mean": (lambda x: stats.describe(x).mean, X),
    "describe variance": (lambda x: stats.describe(x).variance, X),
    "describe skewness": (lambda x: stats.describe(x).skewness, X),
    "describe kurtosis": (lambda x: stats.describe(x).kurtosis, X),
    "describe minmax": (lambda x: stats.describe(x).minmax[1], X),
    "gmean weights": (lambda x: stats.gmean(x, weights=x), P),
    "hmean axis": (lambda x: stats.hmean(x * x + 0.2, axis=1), X),
    "pmean": (lambda x: stats.pmean(x, 3), P),
    "entropy two": (lambda x: stats.entropy(x, x[::-1] + 0.5), P),
    "entropy base": (lambda x: stats.entropy(x, base=2), P),
    "differential_entropy ebrahimi": (lambda x: stats.differential_entropy(x, method="ebrahimi"), N),
    "directional_stats": (lambda x: stats.directional_stats(x).mean_direction, X),
    "directional_stats length": (lambda x: stats.directional_stats(x).mean_resultant_length, X),
    "zmap": (lambda x: stats.zmap(x, x * 2.0), X),
    "zscore ddof": (lambda x: stats.zscore(x, axis=None, ddof=1), X),
    "skew unbiased": (lambda x: stats.skew(x, axis=1, bias=False), X),
    "kurtosis unbiased": (lambda x: stats.kurtosis(x, bias=False), X),
    "moment": (lambda x: stats.moment(x, 3), X),
    "moment center": (lambda x: stats.moment(x, 2, center=0.5), X),
    "kstat": (lambda x: stats.kstat(x, 3), P),
    "kstat 4": (lambda x: stats.kstat(x, 4), P),
    "kstatvar": (lambda x: stats.kstatvar(x, 1), P),
    "tmin": (stats.tmin, N),
    "tmax": (stats.tmax, N),
    "tmean limits": (lambda x: stats.tmean(x, (-1.0, 1.5)), N),
    "tvar limits": (lambda x: stats.tvar(x, (-1.0, 1.5)), N),
    "iqr axis": (lambda x: stats.iqr(x, axis=0), X),
    "quantile": (lambda x: stats.quantile(x, 0.3), P),
    "quantile p": (lambda p: stats.quantile(like(p, np.sort(N)), p), U),
    "quantile weibull": (lambda x: stats.quantile(x, 0.3, method="weibull"), P),
    "boxcox_llf": (lambda x: stats.boxcox_llf(0.5, x), P),
    "boxcox_llf lambda": (lambda lmb: stats.boxcox_llf(lmb, like(lmb, P)), np.array(0.7)),
    "yeojohnson_llf": (lambda x: stats.yeojohnson_llf(0.5, x), P),
    "trim_mean": (lambda x: stats.trim_mean(x, 0.2), P),
    "sigmaclip": (lambda x: stats.sigmaclip(x, 1.5, 1.5).clipped, N),
    "lmoment": (lambda x: stats.lmoment(x, order=2), P),
    "lmoment standardized": (lambda x: stats.lmoment(x, order=4), P),
    "median_abs_deviation scale": (lambda x: stats.median_abs_deviation(x, axis=1, scale=0.7), X),
    "variation ddof": (lambda x: stats.variation(x, ddof=1), P),
    "false_discovery_control": (stats.false_discovery_control, U),
    "false_discovery_control by": (lambda x: stats.false_discovery_control(x, method="by"), U),
    **both("skewtest", stats.skewtest, N),
    **both("kurtosistest", stats.kurtosistest, draw((22,))),
    **both("normaltest", stats.normaltest, draw((22,))),
    **both("jarque_bera", stats.jarque_bera, N),
    **both("ttest_1samp", lambda x: stats.ttest_1samp(x, 0.1), X),
    **both("ttest_ind", lambda x: stats.ttest_ind(x, other(x)), X),
    **both("ttest_ind welch", lambda x: stats.ttest_ind(x, other(x), equal_var=False), X),
    **both("ttest_ind one-sided", lambda x: stats.ttest_ind(x, other(x), alternative="less"), X),
    **both("ttest_rel", lambda x: stats.ttest_rel(x, other(x)), X),
    **both("pearsonr", lambda x: stats.pearsonr(x, other(x)), P),
    **both("bartlett", lambda x: stats.bartlett(x, other(x)), P),
    **both("levene", lambda x: stats.levene(x, other(x)), P),
    **both("f_oneway", lambda x: stats.f_oneway(x, other(x)), P),
    **both("f_oneway welch", lambda x: stats.f_oneway(x, other(x), equal_var=False), P),
    **both("alexandergovern", lambda x: stats.alexandergovern(x, other(x)), P),
    **both("epps_singleton_2samp", lambda x: stats.epps_singleton_2samp(x, other(x)), N),
    **both("chisquare", lambda x: stats.chisquare(x / xp_of(x).sum(x) * 6.0, xp_of(x).ones_like(x)), P),
    **both("power_divergence", lambda x: stats.power_divergence(x / xp_of(x).sum(x) * 6.0, lambda_="neyman"), P),
    **both("ttest_1samp greater", lambda x: stats.ttest_1samp(x, 0.1, alternative="greater"), X),
    **{
        key: call
        for method in ("fisher", "pearson", "mudholkar_george", "stouffer")
        for key, call in both(f"combine_pvalues {method}", lambda x, method=method: stats.combine_pvalues(x, method=method), U).items()
    },
    "combine_pvalues tippett": (lambda x: stats.combine_pvalues(x, method="tippett").pvalue, U),
    "ttest_1samp interval": (lambda x: stats.ttest_1samp(x, 0.1).confidence_interval().low, X),
    "ttest_ind interval": (lambda x: stats.ttest_ind(x, other(x)).confidence_interval().high, X),
    "pearsonr interval": (lambda x: stats.pearsonr(x, other(x)).confidence_interval().low, P),
    "bootstrap": (
        lambda x: stats.bootstrap((x,), xp_of(x).mean, n_resamples=50, method="percentile", rng=np.random.default_rng(1)).confidence_interval.low,
        N,
    ),
    "bootstrap error": (
        lambda x: stats.bootstrap((x,), xp_of(x).mean, n_resamples=50, method="percentile", rng=np.random.default_rng(1)).standard_error,
        N,
    ),
    "permutation_test": (
        lambda x: stats.permutation_test(
            (x, other(x)), lambda a, b, axis: xp_of(x).mean(a, axis=axis) - xp_of(x).mean(b, axis=axis),
            vectorized=True, n_resamples=20, rng=np.random.default_rng(1),
        ).null_distribution,
        P,
    ),
    "monte_carlo_test": (
        lambda x: stats.monte_carlo_test(
            x, lambda size: like(x, np.random.default_rng(1).normal(size=size)),
            lambda a, axis: xp_of(x).mean(a * a, axis=axis), n_resamples=20, vectorized=True,
        ).statistic,
        P,
    ),
    "xp_mean weights": (lambda x: stats._stats_py._xp_mean(x, weights=x * x, axis=0), X),
}  # fmt: skip
if SCIPY >= (1, 18):  # before, they are in test_scipy_refusals.py
    CALLS["linregress intercept"] = (lambda x: stats.linregress(x, other(x)).intercept, P)
    CALLS["linregress p-value"] = (lambda x: stats.linregress(x, other(x)).pvalue, P)
    CALLS |= both("ttest_ind trimmed", lambda x: stats.ttest_ind(x, other(x), trim=0.2), N)
    CALLS["linregress slope"] = (lambda x: stats.linregress(x, other(x)).slope, P)

#: What runs and is not right, and why. Strict: whoever mends one takes it out.
WRONG = {
    "tvar limits": "SciPy puts NaN outside the limits and masks their squares: 0 times NaN is NaN in backward",
    "boxcox_llf lambda": "SciPy takes math.log of lambda: what float() makes of a tensor has no history",
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.xfail(reason=WRONG[name])) if name in WRONG else name for name in CALLS],
)
@pytest.mark.filterwarnings("ignore")  # SciPy's and NumPy's own, at the points where it probes
def test_gradient(name: str) -> None:
    assert_differentiable(*CALLS[name])


def test_the_table_is_long() -> None:
    assert len(CALLS) - len(WRONG) >= 100

"""SciPy's functions that leave for NumPy or for compiled code: a tensor that requires grad is refused, never cut off.

Each call works on a plain tensor or on NumPy arrays, and would return a result without history.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.cluster.hierarchy
import scipy.cluster.vq
import scipy.fft
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import scipy.signal
import scipy.spatial
import scipy.spatial.distance
import scipy.stats
from finite_differences import SCIPY, like
from op_table import draw
from scipy.spatial.transform import Rotation

import arraygrad as ag

X, V = draw((4, 4)), np.sort(draw((16,), 0.3, 2.0))
SQUARE = X @ X.T + np.eye(4)

#: name: function, input.
CALLS: dict[str, tuple[Callable[[Any], Any], np.ndarray]] = {
    **{f"fft.{name}": (getattr(scipy.fft, name), V) for name in "dct idct dst idst".split()},
    **{f"fft.{name}": (getattr(scipy.fft, name), X) for name in "dctn idctn dstn idstn".split()},
    "signal.bilinear": (lambda x: scipy.signal.bilinear(x, x + 1.0, 2.0), V),
    "signal.convolve direct": (lambda x: scipy.signal.convolve(x, x[:3], method="direct"), V),
    "signal.correlate direct": (lambda x: scipy.signal.correlate(x, x[:3], method="direct"), V),
    "signal.convolve2d": (lambda x: scipy.signal.convolve2d(x, x[:2]), X),
    "signal.correlate2d": (lambda x: scipy.signal.correlate2d(x, x[:2]), X),
    "signal.cspline1d": (scipy.signal.cspline1d, V),
    "signal.decimate": (lambda x: scipy.signal.decimate(x, 2, n=2), V),
    "signal.detrend": (scipy.signal.detrend, V),
    "signal.filtfilt": (lambda x: scipy.signal.filtfilt(x[:2], x[1:3], x), V),
    "signal.lfilter": (lambda x: scipy.signal.lfilter(x[:2], x[1:3], x), V),
    "signal.medfilt": (scipy.signal.medfilt, V),
    "signal.periodogram": (lambda x: scipy.signal.periodogram(x)[1], V),
    "signal.resample_poly": (lambda x: scipy.signal.resample_poly(x, 2, 3), V),
    "signal.savgol_filter": (lambda x: scipy.signal.savgol_filter(x, 5, 2), V),
    "signal.sosfilt": (lambda x: scipy.signal.sosfilt(like(x, [[1.0, 0.5, 0.0, 1.0, 0.2, 0.1]]), x), V),
    "signal.stft": (lambda x: scipy.signal.stft(x, nperseg=8)[2], V),
    "signal.upfirdn": (lambda x: scipy.signal.upfirdn(x[:3], x), V),
    "signal.welch": (lambda x: scipy.signal.welch(x, nperseg=8)[1], V),
    "signal.wiener": (scipy.signal.wiener, V),
    "signal.zpk2sos": (lambda x: scipy.signal.zpk2sos(x, -x, 1.5), V),
    **{
        f"ndimage.{name}": (lambda x, function=getattr(scipy.ndimage, name): function(x, 1.0), X)
        for name in "gaussian_filter gaussian_laplace gaussian_gradient_magnitude rotate shift zoom".split()
    },
    **{
        f"ndimage.{name}": (lambda x, function=getattr(scipy.ndimage, name): function(x, 3), X)
        for name in "uniform_filter median_filter maximum_filter minimum_filter".split()
    },
    **{
        f"ndimage.{name}": (getattr(scipy.ndimage, name), X)
        for name in "sobel prewitt laplace spline_filter center_of_mass mean sum standard_deviation variance".split()
    },
    "ndimage.convolve": (lambda x: scipy.ndimage.convolve(x, x), X),
    "ndimage.map_coordinates": (lambda x: scipy.ndimage.map_coordinates(x, x[:2]), X),
    "interpolate.CubicSpline": (lambda x: scipy.interpolate.CubicSpline(x, x)(0.5), V),
    "interpolate.PchipInterpolator": (lambda x: scipy.interpolate.PchipInterpolator(x, x)(0.5), V),
    "interpolate.Akima1DInterpolator": (lambda x: scipy.interpolate.Akima1DInterpolator(x, x)(0.5), V),
    "interpolate.make_interp_spline": (lambda x: scipy.interpolate.make_interp_spline(x, x)(0.5), V),
    "interpolate.BarycentricInterpolator": (lambda x: scipy.interpolate.BarycentricInterpolator(x, x)(0.5), V),
    "interpolate.RegularGridInterpolator": (lambda x: scipy.interpolate.RegularGridInterpolator((x,), x)(x[:2]), V),
    "interpolate.interp1d": (lambda x: scipy.interpolate.interp1d(x, x)(0.5), V),
    **{
        f"linalg.{name}": (getattr(scipy.linalg, name), SQUARE)
        for name in "cholesky det eigvalsh expm inv logm lu pinv polar qr schur sqrtm svd svdvals".split()
    },
    "linalg.norm": (scipy.linalg.norm, V),
    "linalg.solve": (lambda x: scipy.linalg.solve(x, x), SQUARE),
    "linalg.lstsq": (lambda x: scipy.linalg.lstsq(x, x)[0], SQUARE),
    "linalg.fiedler_companion": (scipy.linalg.fiedler_companion, V),
    "cluster.vq.vq": (lambda x: scipy.cluster.vq.vq(x, x[:2])[1], X),
    "cluster.vq.kmeans": (lambda x: scipy.cluster.vq.kmeans(x, x[:2])[0], X),
    "cluster.hierarchy.linkage": (scipy.cluster.hierarchy.linkage, X),
    "spatial.distance.pdist": (scipy.spatial.distance.pdist, X),
    "spatial.distance.cdist": (lambda x: scipy.spatial.distance.cdist(x, x), X),
    "spatial.distance.euclidean": (lambda x: scipy.spatial.distance.euclidean(x, x * x), V),
    "spatial.KDTree": (scipy.spatial.KDTree, X),
    "spatial.ConvexHull": (scipy.spatial.ConvexHull, X[:, :2]),
    "integrate.solve_ivp": (lambda x: scipy.integrate.solve_ivp(lambda t, y: -y, (0.0, 1.0), x).y, V),
    "optimize.minimize": (lambda x: scipy.optimize.minimize(lambda t: np.sum(t * t), x).x, V),
    "optimize.newton": (lambda x: scipy.optimize.newton(lambda t: t * t - 2.0, x), V),
    "optimize.curve_fit": (lambda x: scipy.optimize.curve_fit(lambda t, a: a * t, x, x)[0], V),
    "optimize.least_squares": (lambda x: scipy.optimize.least_squares(lambda t: t - 1.0, x).x, V),
    "stats.norm.pdf": (scipy.stats.norm.pdf, V),
    "stats.norm.logcdf": (scipy.stats.norm.logcdf, V),
    "stats.multivariate_normal": (lambda x: scipy.stats.multivariate_normal.logpdf(x, x, 2.0), V),
    "stats.Normal": (lambda x: scipy.stats.Normal(mu=x).pdf(0.0), V),
    "stats.gaussian_kde": (lambda x: scipy.stats.gaussian_kde(x)(0.5), V),
    "stats.wasserstein_distance": (lambda x: scipy.stats.wasserstein_distance(x, x * x), V),
    "stats.energy_distance": (lambda x: scipy.stats.energy_distance(x, x * x), V),
    "stats.boxcox": (lambda x: scipy.stats.boxcox(x)[0], V),
    "stats.yeojohnson": (lambda x: scipy.stats.yeojohnson(x)[0], V),
}  # fmt: skip
if SCIPY < (1, 18):  # then, they are in test_scipy.py and test_scipy_stats.py
    CALLS["integrate.simpson"] = (scipy.integrate.simpson, V)
    CALLS["stats.linregress"] = (lambda x: scipy.stats.linregress(x, x * x).slope, V)

#: Refused by other words, and why.
OTHERWISE: dict[str, tuple[Callable[[Any], Any], np.ndarray, type[Exception], str]] = {
    "linalg.toeplitz": (scipy.linalg.toeplitz, V, AttributeError, "strides"),  # it asks for NumPy's memory layout
    "signal.deconvolve": (  # compiled code words the refusal anew
        lambda x: scipy.signal.deconvolve(x, x[:2])[0],
        V,
        ValueError,
        "could not convert b, a, and x to a common type",
    ),
    "Rotation.from_matrix": (  # it writes the nearest rotation into its argument, as long as that isn't one
        lambda x: Rotation.from_matrix(x).as_quat(),
        np.eye(3)[None] + 0.1 * draw((2, 3, 3)),
        ag.InplaceError,
        "a leaf tensor that requires grad is being used in the in-place operation",
    ),
}

#: What returns a number without history, and why. Strict: whoever mends one takes it out.
NUMBERS: dict[str, tuple[Callable[[Any], Any], np.ndarray]] = {
    "integrate.quad": (lambda x: scipy.integrate.quad(lambda t: t * x[0], 0.0, 1.0)[0], V),
    "optimize.brentq": (lambda x: scipy.optimize.brentq(lambda t: t - x[0], 0.0, 3.0), V),
}


@pytest.mark.parametrize("name", list(CALLS))
@pytest.mark.filterwarnings("ignore")
def test_history_is_not_lost_silently(name: str) -> None:
    function, values = CALLS[name]
    function(values)  # the call is a right one
    with pytest.raises(ag.GraphError, match="a conversion to a NumPy array would lose the history"):
        function(ag.tensor(values, requires_grad=True))


@pytest.mark.parametrize("name", list(OTHERWISE))
@pytest.mark.filterwarnings("ignore")
def test_refusals_by_other_words(name: str) -> None:
    function, values, error, text = OTHERWISE[name]
    function(values)
    with pytest.raises(error, match=text):
        function(ag.tensor(values, requires_grad=True))


@pytest.mark.parametrize("name", list(NUMBERS))
@pytest.mark.xfail(reason="compiled code takes float() of a tensor, which gives a number though it requires grad")
def test_numbers(name: str) -> None:
    function, values = NUMBERS[name]
    with pytest.raises(ag.GraphError):
        function(ag.tensor(values, requires_grad=True))


def test_the_table_is_long() -> None:
    assert len(CALLS) >= 95

"""SciPy made differentiable: integrate, optimize, differentiate, fft, signal, spatial and others on tensors.

With SCIPY_ARRAY_API=1 (see conftest.py). The gradient of each call through arraygrad is compared with finite
differences of the same call on NumPy arrays. test_scipy_special.py and test_scipy_stats.py have the largest modules.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.cluster.vq
import scipy.constants
import scipy.differentiate
import scipy.fft
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.optimize
import scipy.optimize.elementwise
import scipy.signal
import scipy.spatial.distance
from finite_differences import SCIPY, assert_differentiable, like, xp_of
from op_table import draw
from scipy.spatial.transform import RigidTransform, Rotation, Slerp

import arraygrad as ag

X, P, V = draw((4, 3)), draw((6,), 0.3, 2.0), draw((6,), -1.0, 1.0)
U = draw((5,), 0.1, 0.9)
Q = draw((2, 4))


def power(z: Any) -> Any:
    """Real numbers of complex ones."""
    return abs(z) ** 2


def from_first(x: Any) -> Any:
    """A rigid transform of one row."""
    return RigidTransform.from_components(x[..., :3], Rotation.from_rotvec(x[..., 3:]))


#: name: function, input. The function gets an array or a tensor.
CALLS: dict[str, tuple[Callable[[Any], Any], np.ndarray]] = {
    # ---- integrate
    "integrate.trapezoid": (scipy.integrate.trapezoid, X),
    "integrate.trapezoid x": (lambda x: scipy.integrate.trapezoid(x * x, x), P),
    "integrate.cumulative_trapezoid": (scipy.integrate.cumulative_trapezoid, X),
    "integrate.cumulative_simpson": (scipy.integrate.cumulative_simpson, X),
    "integrate.romb": (scipy.integrate.romb, draw((5,))),
    "integrate.tanhsinh": (
        lambda x: scipy.integrate.tanhsinh(lambda t, a: xp_of(x).exp(-a * t * t), 0.0 * x, 0.0 * x + 1.0, args=(x,)).integral,
        P[:2],
    ),
    "integrate.cubature": (
        lambda x: scipy.integrate.cubature(lambda t: xp_of(x).exp(-t * x[0]), 0.0 * x[:1], x[1:2] * 0.0 + 1.0).estimate,
        P[:2],
    ),
    "integrate.tanhsinh limits": (
        lambda x: scipy.integrate.tanhsinh(lambda t: xp_of(x).exp(-t * t), x - 1.0, x).integral,
        P[:2],
    ),
    "integrate.tanhsinh infinite": (
        lambda x: scipy.integrate.tanhsinh(lambda t, a: xp_of(x).exp(-a * t), 0.0 * x, 0.0 * x + np.inf, args=(x,)).integral,
        P[:2],
    ),
    "integrate.cubature limits": (
        lambda x: scipy.integrate.cubature(lambda t: xp_of(x).exp(-t[:, 0]), 0.0 * x[:1], x[1:2]).estimate,
        P[:2],
    ),
    "integrate.nsum": (
        lambda x: scipy.integrate.nsum(lambda k, a: 1.0 / k ** (a + 1.5), like(x, 1.0), like(x, np.inf), args=(x,)).sum,
        P[:2],
    ),
    "integrate.nsum finite": (
        lambda x: scipy.integrate.nsum(lambda k, a: xp_of(x).exp(-a * k), like(x, 1.0), like(x, 5.0), args=(x,)).sum,
        P[:2],
    ),
    "integrate.qmc_quad": (
        lambda x: scipy.integrate.qmc_quad(
            lambda t: xp_of(x).exp(-t[0] * x[0] - t[1]), like(x, [0.0, 0.0]), like(x, [1.0, 1.0]), n_estimates=2, n_points=16, qrng=scipy.stats.qmc.Halton(2, rng=1)
        ).integral,
        P[:2],
    ),
    "integrate.trapezoid dx": (lambda x: scipy.integrate.trapezoid(x, dx=0.3, axis=0), X),
    "integrate.cumulative_trapezoid initial": (lambda x: scipy.integrate.cumulative_trapezoid(x, initial=0), X),
    "integrate.cumulative_trapezoid x": (lambda x: scipy.integrate.cumulative_trapezoid(x * x, x), P),
    "integrate.cumulative_simpson x": (lambda x: scipy.integrate.cumulative_simpson(x * x, x=xp_of(x).cumulative_sum(x)), P),
    "integrate.romb axis": (lambda x: scipy.integrate.romb(x, dx=0.5, axis=0), draw((5, 2))),
    "integrate.quad_vec": (lambda x: scipy.integrate.quad_vec(lambda t: xp_of(x).exp(-t * x), 0.0, 1.0)[0], P),
    "integrate.fixed_quad": (lambda x: scipy.integrate.fixed_quad(lambda t: xp_of(x).exp(-t * x[0]), 0.0, 1.0)[0], P),
    # ---- optimize, differentiate
    "optimize.rosen": (scipy.optimize.rosen, P),
    "optimize.rosen_der": (scipy.optimize.rosen_der, P),
    "optimize.rosen_hess": (scipy.optimize.rosen_hess, P),
    "optimize.rosen_hess_prod": (lambda x: scipy.optimize.rosen_hess_prod(x, x * 2.0), P),
    "optimize.elementwise.find_root": (
        lambda x: scipy.optimize.elementwise.find_root(lambda t, a: t * t * t - a, (0.0 * x, 0.0 * x + 3.0), args=(x,)).x,
        P[:2],
    ),
    "differentiate.derivative": (lambda x: scipy.differentiate.derivative(xp_of(x).exp, x).df, P[:2]),
    "optimize.elementwise.find_minimum": (
        lambda x: scipy.optimize.elementwise.find_minimum(
            lambda t, a: (t - a) ** 2 + 0.1 * t**4, (0.0 * x - 3.0, 0.0 * x + 0.5, 0.0 * x + 4.0), args=(x,)
        ).f_x,
        P[:2],
    ),
    "optimize.rosen axis": (scipy.optimize.rosen, X),
    "differentiate.derivative argument": (
        lambda x: scipy.differentiate.derivative(lambda t, a: xp_of(x).sin(a * t), 0.0 * x + 0.5, args=(x,)).df,
        P[:2],
    ),
    "differentiate.derivative order": (lambda x: scipy.differentiate.derivative(xp_of(x).sin, x, order=4, initial_step=0.1, maxiter=3).df, P[:2]),
    "differentiate.jacobian": (
        lambda x: scipy.differentiate.jacobian(lambda t: xp_of(x).stack([t[0] * t[1], xp_of(x).sin(t[0])]), x).df,
        P[:2],
    ),
    "differentiate.hessian": (lambda x: scipy.differentiate.hessian(lambda t: xp_of(x).exp(t[0]) * t[1] ** 3, x).ddf, P[:2]),
    # ---- fft, signal
    "fft.fft": (lambda x: power(scipy.fft.fft(x)), P),
    "fft.ifft": (lambda x: abs(scipy.fft.ifft(x)) ** 2, P),
    "fft.rfft": (lambda x: abs(scipy.fft.rfft(x)) ** 2, P),
    "fft.irfft": (scipy.fft.irfft, P),
    "fft.hfft": (scipy.fft.hfft, P),
    "fft.fftn": (lambda x: abs(scipy.fft.fftn(x)) ** 2, X),
    "fft.fft2": (lambda x: abs(scipy.fft.fft2(x)) ** 2, X),
    "fft.rfftn": (lambda x: abs(scipy.fft.rfftn(x)) ** 2, X),
    "fft.rfft2": (lambda x: abs(scipy.fft.rfft2(x)) ** 2, X),
    "fft.fftshift": (scipy.fft.fftshift, P),
    "fft.ifftshift": (scipy.fft.ifftshift, P),
    "signal.fftconvolve": (lambda x: scipy.signal.fftconvolve(x, x * x), P),
    "signal.fftconvolve same": (lambda x: scipy.signal.fftconvolve(x, x[:3], mode="same"), P),
    "signal.convolve": (lambda x: scipy.signal.convolve(x, x[:3], method="fft"), P),
    "signal.correlate": (lambda x: scipy.signal.correlate(x, x[:3], method="fft"), P),
    "signal.resample": (lambda x: scipy.signal.resample(x, 8), P),
    "signal.hilbert": (lambda x: abs(scipy.signal.hilbert(x)), P),
    "signal.oaconvolve": (lambda x: scipy.signal.oaconvolve(x, x[:3]), draw((20,))),
    "signal.freqz": (lambda x: abs(scipy.signal.freqz(x, worN=8)[1]), P),
    "signal.freqz_zpk": (lambda x: abs(scipy.signal.freqz_zpk(x, x * 0.5, 1.0, worN=4)[1]), U[:2]),
    "signal.vectorstrength": (lambda x: scipy.signal.vectorstrength(x, 1.5)[0], P),
    "signal.gauss_spline": (lambda x: scipy.signal.gauss_spline(x, 3), P),
    "fft.ihfft": (lambda x: power(scipy.fft.ihfft(x)), P),
    "fft.ifftn": (lambda x: power(scipy.fft.ifftn(x)), X),
    "fft.ifft2": (lambda x: power(scipy.fft.ifft2(x)), X),
    "fft.irfftn": (scipy.fft.irfftn, X),
    "fft.irfft2": (scipy.fft.irfft2, X),
    "fft.fft n": (lambda x: power(scipy.fft.fft(x, n=9, norm="ortho")), P),
    "fft.rfft axis": (lambda x: power(scipy.fft.rfft(x, axis=0, norm="forward")), X),
    "fft.fht": (lambda x: scipy.fft.fht(x, 0.1, 0.5), draw((8,))),
    "fft.ifht": (lambda x: scipy.fft.ifht(x, 0.1, 0.5), draw((8,))),
    "signal.fftconvolve valid": (lambda x: scipy.signal.fftconvolve(x, x[:2, :2], mode="valid"), X),
    "signal.fftconvolve axes": (lambda x: scipy.signal.fftconvolve(x, x[:2] * x[:2], axes=0), X),
    "signal.oaconvolve same": (lambda x: scipy.signal.oaconvolve(x, x[:3], mode="same"), draw((20,))),
    "signal.convolve same": (lambda x: scipy.signal.convolve(x, x[:2], mode="same", method="fft"), X),
    "signal.correlate valid": (lambda x: scipy.signal.correlate(x, x[:3], mode="valid", method="fft"), P),
    "signal.hilbert N": (lambda x: power(scipy.signal.hilbert(x, N=8)), P),
    "signal.hilbert2": (lambda x: power(scipy.signal.hilbert2(x)), X),
    "signal.envelope": (lambda x: scipy.signal.envelope(x, bp_in=(1, None)), P),
    "signal.resample down": (lambda x: scipy.signal.resample(x, 2, axis=0), X),
    "signal.resample window": (lambda x: scipy.signal.resample(x, 8, window=("kaiser", 2.0)), P),
    "signal.freqz a": (lambda x: power(scipy.signal.freqz(x, x + 1.0, worN=4)[1]), P[:3]),
    "signal.freqz_sos": (
        lambda x: power(scipy.signal.freqz_sos(xp_of(x).concat([x[:, :3], xp_of(x).ones_like(x[:, :1]), x[:, 4:]], axis=1), worN=4)[1]),
        draw((2, 6)),
    ),
    "signal.freqs": (lambda x: power(scipy.signal.freqs(x, x + 1.0, worN=like(x, [0.3, 1.1]))[1]), P[:3]),
    "signal.freqs_zpk": (lambda x: power(scipy.signal.freqs_zpk(x, -2.0 * x, 1.0, worN=like(x, [0.3, 1.1]))[1]), P[:3]),
    "signal.group_delay": (lambda x: scipy.signal.group_delay((x, x + 1.0), w=4)[1], P[:3]),
    "signal.bilinear_zpk": (lambda x: power(scipy.signal.bilinear_zpk(x, -x, 1.5, 2.0)[0]), P[:3]),
    "signal.bilinear_zpk gain": (lambda x: scipy.signal.bilinear_zpk(x, -x, 1.5, 2.0)[2], P[:3]),
    "signal.lp2lp": (lambda x: scipy.signal.lp2lp(x, x + 1.0, 2.0)[0], P[:3]),
    "signal.lp2hp": (lambda x: scipy.signal.lp2hp(x, x + 1.0, 2.0)[1], P[:3]),
    "signal.lp2bp": (lambda x: scipy.signal.lp2bp(x, x + 1.0, 2.0)[1], P[:3]),
    "signal.lp2bs": (lambda x: scipy.signal.lp2bs(x, x + 1.0, 2.0)[1], P[:3]),
    "signal.lp2lp_zpk": (lambda x: scipy.signal.lp2lp_zpk(x[:2], -x, 1.5, 2.0)[1], P[:3]),
    "signal.lp2hp_zpk": (lambda x: power(scipy.signal.lp2hp_zpk(x[:2], -x, 1.5, 2.0)[1]), P[:3]),
    "signal.lp2bp_zpk": (lambda x: power(scipy.signal.lp2bp_zpk(x[:2], -x, 1.5, 2.0)[1]), P[:3]),
    "signal.lp2bs_zpk": (lambda x: power(scipy.signal.lp2bs_zpk(x[:2], -x, 1.5, 2.0)[1]), P[:3]),
    "signal.sos2zpk": (lambda x: xp_of(x).sort(power(scipy.signal.sos2zpk(xp_of(x).concat([x[:, :3], xp_of(x).ones_like(x[:, :1]), x[:, 4:]], axis=1))[0])), draw((2, 6), 0.5, 2.0)),
    "signal.zpk2tf": (lambda x: scipy.signal.zpk2tf(x, -x, 1.5)[0], P[:3]),
    "signal.tf2zpk": (lambda x: xp_of(x).sort(power(scipy.signal.tf2zpk(x, x + 1.0)[0])), P[:4]),
    "signal.normalize": (lambda x: scipy.signal.normalize(x, x + 1.0)[0], P[:3]),
    "signal.firwin cutoff": (lambda x: scipy.signal.firwin(5, x, pass_zero=False), np.array([0.3, 0.6])),
    "signal.vectorstrength phase": (lambda x: scipy.signal.vectorstrength(x, 1.5)[1], P),
    "signal.gauss_spline x": (lambda x: scipy.signal.gauss_spline(x, 2), V),
    "signal.get_window": (lambda x: x * scipy.signal.get_window(("gaussian", 1.5), 6, xp=xp_of(x)), P),
    "interpolate.RBFInterpolator": (lambda x: scipy.interpolate.RBFInterpolator(x, x[:, 0] ** 2, kernel="gaussian", epsilon=0.7)(x[:2] * 0.3), X[:, :2]),
    "interpolate.RBFInterpolator values": (lambda y: scipy.interpolate.RBFInterpolator(like(y, X[:, :2]), y, kernel="gaussian", epsilon=0.7)(like(y, X[:, 1:])), P[:4]),
    # ---- rotations
    "Rotation.from_rotvec": (lambda x: Rotation.from_rotvec(x).as_matrix(), X),
    "Rotation.from_quat": (lambda x: Rotation.from_quat(x).as_rotvec(), draw((2, 4))),
    "Rotation.from_euler": (lambda x: Rotation.from_euler("xyz", x).as_quat(), X),
    "Rotation.from_mrp": (lambda x: Rotation.from_mrp(x).as_matrix(), X * 0.3),
    "Rotation.as_euler": (lambda x: Rotation.from_rotvec(x * 0.4).as_euler("xyz"), X),
    "Rotation.apply": (lambda x: Rotation.from_quat(x).apply(x[..., :3]), draw((2, 4))),
    "Rotation product": (lambda x: (Rotation.from_rotvec(x) * Rotation.from_rotvec(x * 0.3)).as_matrix(), X),
    "Rotation.inv": (lambda x: Rotation.from_rotvec(x).inv().as_matrix(), X),
    "Rotation.magnitude": (lambda x: Rotation.from_rotvec(x).magnitude(), X),
    "RigidTransform": (lambda x: RigidTransform.from_translation(x).as_matrix(), X),
    "Rotation.from_matrix": (lambda x: Rotation.from_matrix(x * 1.0).as_quat(), np.eye(3) + 0.2 * draw((2, 3, 3))),
    "Rotation.from_davenport": (lambda x: Rotation.from_davenport(like(x, np.eye(3)), "extrinsic", x).as_quat(), X),
    "Rotation.as_davenport": (lambda x: Rotation.from_rotvec(x * 0.4).as_davenport(like(x, np.eye(3)), "extrinsic"), X),
    "Rotation.as_mrp": (lambda x: Rotation.from_rotvec(x).as_mrp(), X),
    "Rotation.as_rotvec": (lambda x: Rotation.from_euler("zyx", x * 0.4).as_rotvec(), X),
    "Rotation.as_quat canonical": (lambda x: Rotation.from_rotvec(x).as_quat(canonical=True, scalar_first=True), X),
    "Rotation power": (lambda x: (Rotation.from_rotvec(x) ** 0.3).as_matrix(), X),
    "Rotation.mean": (lambda x: Rotation.from_rotvec(x * 0.4).mean().as_matrix(), X),
    "Rotation.approx": (lambda x: Rotation.concatenate([Rotation.from_rotvec(x), Rotation.from_rotvec(0.5 * x)]).as_quat(), X),
    "Rotation.reduce": (lambda x: Rotation.from_rotvec(x).reduce().as_quat(), X),
    "Rotation.align_vectors": (lambda x: Rotation.align_vectors(x, x * x + 0.3)[0].as_matrix(), X),
    "Slerp": (
        lambda x: Slerp(like(x, np.arange(4.0)), Rotation.from_rotvec(x * 0.4))(like(x, [0.3, 1.7])).as_matrix(),
        X,
    ),
    "Slerp times": (
        lambda t: Slerp(like(t, np.arange(4.0)), Rotation.from_rotvec(like(t, X * 0.4)))(t).as_matrix(),
        U,
    ),
    "RigidTransform.apply": (lambda x: from_first(x).apply(x[:, :3]), draw((2, 6))),
    "RigidTransform.from_exp_coords": (lambda x: RigidTransform.from_exp_coords(x).as_matrix(), draw((2, 6))),
    "RigidTransform.as_exp_coords": (lambda x: from_first(x).as_exp_coords(), draw((2, 6))),
    "RigidTransform.from_dual_quat": (lambda x: RigidTransform.from_dual_quat(x).as_matrix(), draw((2, 8))),
    "RigidTransform.as_dual_quat": (lambda x: from_first(x).as_dual_quat(), draw((2, 6))),
    "RigidTransform.inv": (lambda x: from_first(x).inv().as_matrix(), draw((2, 6))),
    "RigidTransform product": (lambda x: (from_first(x) * from_first(0.5 * x)).as_matrix(), draw((2, 6))),
    "RigidTransform power": (lambda x: (from_first(x) ** 0.3).as_matrix(), draw((2, 6))),
    "RigidTransform.from_matrix": (lambda x: RigidTransform.from_matrix(from_first(x).as_matrix()).as_matrix(), draw((2, 6))),
    # ---- linalg, cluster, constants, spatial
    "linalg.block_diag": (lambda x: scipy.linalg.block_diag(x, x[:2] * x[:2]), X),
    "linalg.orthogonal_procrustes": (lambda x: scipy.linalg.orthogonal_procrustes(x, x * x + 0.3)[0], X),
    "linalg.orthogonal_procrustes scale": (lambda x: scipy.linalg.orthogonal_procrustes(x, x * x + 0.3)[1], X),
    "linalg.fiedler": (scipy.linalg.fiedler, P),
    "cluster.vq.whiten": (scipy.cluster.vq.whiten, X),
    "constants.convert_temperature": (lambda x: scipy.constants.convert_temperature(x, "Celsius", "Fahrenheit"), X),
    "constants.lambda2nu": (lambda x: scipy.constants.lambda2nu(x) * 1e-8, P),
    "constants.nu2lambda": (lambda x: scipy.constants.nu2lambda(x) * 1e-8, P),
}  # fmt: skip
if SCIPY >= (1, 18):  # before, they are in test_scipy_refusals.py
    CALLS["integrate.simpson"] = (scipy.integrate.simpson, X)
    CALLS["integrate.simpson x"] = (lambda x: scipy.integrate.simpson(x * x, x=xp_of(x).cumulative_sum(x)), P)

#: SciPy writes to constants of its own which a product with x has saved.
SPOILS_CONSTANTS = {"integrate.romb", "integrate.romb axis"}


#: What runs and is not right, and why. Strict: whoever mends one takes it out.
WRONG = {
    "integrate.tanhsinh infinite": "SciPy evaluates at infinity and masks what comes of it: 0 times inf is NaN in backward",
    "integrate.nsum": "as tanhsinh, which integrates the tail",
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.xfail(reason=WRONG[name])) if name in WRONG else name for name in CALLS],
)
@pytest.mark.filterwarnings("ignore")  # SciPy's and NumPy's own, at the points where it probes
def test_gradient(name: str) -> None:
    assert_differentiable(*CALLS[name], copies=name in SPOILS_CONSTANTS)


@pytest.mark.parametrize("name", sorted(SPOILS_CONSTANTS))
def test_spoiled_constants_are_found(name: str) -> None:
    function, values = CALLS[name]
    with pytest.raises(ag.VersionError):
        ag.sum(function(ag.tensor(values, requires_grad=True))).backward()


def test_the_table_is_long() -> None:
    assert len(CALLS) - len(WRONG) >= 130

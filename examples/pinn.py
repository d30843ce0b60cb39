"""Learn a law of motion and its constants from a few noisy measurements: a physics-informed fit.

    pip install 'arraygrad[examples,special]'
    python examples/pinn.py                    on the CPU, half a minute
    python examples/pinn.py --device cuda      the same on a GPU, with CuPy

A pendulum swings far, with friction, and is measured for half of the time. A small network is to be its angle at all
times: it should pass near the measurements, and obey the differential equation

    angle'' + friction * angle' + stiffness * sin(angle) = 0

everywhere, for a friction and a stiffness that nobody has told it. The derivatives by time are exact, from forward mode
twice; the gradient by the weights and the two constants goes through them in reverse. The same network without the
equation shows what the equation is good for. What comes out is a picture, `out/pinn.png`.
"""

from __future__ import annotations

import argparse
import itertools
import math
import os
from pathlib import Path
from typing import Any

# NumPy reads this once, when it is imported: products this small gain nothing from threads.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import matplotlib

matplotlib.use("Agg")  # draws into files: no screen is needed

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from scipy.integrate import solve_ivp

import arraygrad as ag

END, MEASURED_UNTIL = 12.0, 6.0
FRICTION, STIFFNESS, START = 0.2, 2.0, 2.2
MEASUREMENTS, NOISE = 18, 0.05
BLUE, ORANGE, RED, GREY = "#2b6cb0", "#dd6b20", "#c53030", "#4a5568"


def true_angle(times: np.ndarray) -> np.ndarray:
    """The pendulum itself, from a solver of differential equations."""

    def motion(t: float, state: np.ndarray) -> list[float]:
        angle, speed = state
        return [speed, -FRICTION * speed - STIFFNESS * math.sin(angle)]

    return solve_ivp(motion, (0, END), [START, 0.0], t_eval=times, rtol=1e-10, atol=1e-10).y[0]


def network(rng: np.random.Generator, device: str) -> list[dict[str, ag.Tensor]]:
    """The weights of layers of 1, 32, 32 and 1 units."""
    sizes = [1, 32, 32, 1]
    return [
        {
            "weights": ag.tensor(rng.normal(size=(a, b)) * math.sqrt(1 / a), device=device),
            "bias": ag.tensor(rng.normal(size=b) * 0.5, device=device),
        }
        for a, b in itertools.pairwise(sizes)
    ]


def angle(layers: list[dict[str, ag.Tensor]], times: ag.Tensor) -> ag.Tensor:
    x = ag.expand_dims(times * (4.0 / END) - 2.0, axis=1)
    for layer in layers[:-1]:
        x = ag.tanh(x @ layer["weights"] + layer["bias"])
    return (x @ layers[-1]["weights"] + layers[-1]["bias"])[:, 0]


def motion(layers: list[dict[str, ag.Tensor]], times: ag.Tensor) -> tuple[ag.Tensor, ag.Tensor, ag.Tensor]:
    """The angle and its two derivatives by time: all times at once, since none knows of the others."""
    ones = ag.ones_like(times)

    def with_speed(times: ag.Tensor) -> tuple[ag.Tensor, ag.Tensor]:
        return ag.jvp(lambda t: angle(layers, t), (times,), (ones,))

    (position, speed), (_, acceleration) = ag.jvp(with_speed, (times,), (ones,))
    return position, speed, acceleration


def loss(unknowns: dict[str, Any], measured: tuple[ag.Tensor, ag.Tensor], times: ag.Tensor, weight: float) -> ag.Tensor:
    """The mean square of the misfit and, with a weight, that of the equation; the constants stay positive."""
    misfit = angle(unknowns["layers"], measured[0]) - measured[1]
    total = ag.mean(misfit * misfit)
    if not weight:
        return total
    position, speed, acceleration = motion(unknowns["layers"], times)
    friction, stiffness = constants(unknowns)
    residual = acceleration + friction * speed + stiffness * ag.sin(position)
    return total + weight * ag.mean(residual * residual)


def constants(unknowns: dict[str, Any]) -> tuple[ag.Tensor, ag.Tensor]:
    logs = unknowns["log constants"]
    return ag.exp(logs[0]), ag.exp(logs[1])


def draw_motion(axes: Axes, times: np.ndarray, truth: np.ndarray, fits: dict[str, np.ndarray], measured: Any) -> None:
    axes.axvspan(0, MEASURED_UNTIL, color="#edf2f7", zorder=0)
    axes.text(MEASURED_UNTIL / 2, -2.45, "measured", ha="center", color=GREY)
    axes.text((MEASURED_UNTIL + END) / 2, -2.45, "only the equation is known here", ha="center", color=GREY)
    axes.plot(times, truth, color="black", linewidth=4, alpha=0.2, label="the pendulum")
    axes.plot(times, fits["without"], color=ORANGE, linestyle="--", label="network without the equation")
    axes.plot(times, fits["with"], color=BLUE, linewidth=2, label="network that obeys the equation")
    axes.plot(*measured, "o", color=RED, markersize=5, label=f"{MEASUREMENTS} measurements")
    axes.set(xlim=(0, END), ylim=(-2.7, 3.1), xlabel="time (s)", ylabel="angle (rad)")
    axes.set_title("A pendulum, measured for a while", fontweight="bold")
    axes.legend(framealpha=1, edgecolor="none", ncols=2, loc="upper right")


def draw_constants(axes: Axes, history: list[tuple[float, float, float]]) -> None:
    frictions, stiffnesses, _ = zip(*history, strict=True)
    for values, true, color, name in (
        (stiffnesses, STIFFNESS, BLUE, "stiffness"),
        (frictions, FRICTION, RED, "friction"),
    ):
        axes.plot(values, color=color, label=f"{name}: {values[-1]:.3f} found, {true:g} true")
        axes.axhline(true, color=color, linestyle=":", linewidth=1)
    axes.set(xlabel="iteration", ylim=(0, 1.4 * STIFFNESS))
    axes.set_title("The constants, found on the way", fontweight="bold")
    axes.legend(frameon=False, loc="center right")


def draw_loss(axes: Axes, history: list[tuple[float, float, float]]) -> None:
    axes.semilogy([value for _, _, value in history], color=GREY)
    axes.axhline(NOISE**2, color=ORANGE, linestyle=":", label="the noise of the measurements")
    axes.set(xlabel="iteration", ylabel="loss")
    axes.set_title("The fit", fontweight="bold")
    axes.legend(frameon=False)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Fit a network and the constants of a differential equation.")
    parser.add_argument("--device", default="cpu", help="cpu or cuda (default: cpu)")
    parser.add_argument("--iterations", type=int, default=1200, help="at most (default: 1200)")
    parser.add_argument("--output", type=Path, default=Path("out"), help="folder for the picture (default: out)")
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    rng = np.random.default_rng(1)
    when = np.sort(rng.uniform(0, MEASURED_UNTIL, MEASUREMENTS))
    measured = when, true_angle(when) + NOISE * rng.normal(size=MEASUREMENTS)
    measured_here = tuple(ag.tensor(x, device=arguments.device) for x in measured)
    times = ag.linspace(0.0, END, 150, device=arguments.device)
    shown = np.linspace(0, END, 400)

    history: list[tuple[float, float, float]] = []
    fits: dict[str, np.ndarray] = {}
    for name, weight in (("without", 0.0), ("with", 0.1)):
        start = {
            "layers": network(np.random.default_rng(0), arguments.device),
            "log constants": ag.zeros(2, device=arguments.device),
        }

        def note(unknowns: dict[str, Any], value: float) -> None:
            friction, stiffness = constants(unknowns)
            history.append((friction.item(), stiffness.item(), value))

        history.clear()
        result = ag.minimize(
            loss,
            start,
            args=(measured_here, times, weight),
            method="L-BFGS-B",
            callback=note,
            options={"maxiter": arguments.iterations, "maxfun": 10 * arguments.iterations, "ftol": 1e-12, "gtol": 1e-9},
            progress=True,
        )
        fits[name] = angle(result.x["layers"], ag.tensor(shown, device=arguments.device)).to("cpu").numpy()

    truth = true_angle(shown)
    figure, axes = plt.subplot_mosaic("AA;BC", figsize=(12, 8), layout="constrained", height_ratios=[3, 2])
    draw_motion(axes["A"], shown, truth, fits, measured)
    draw_constants(axes["B"], history)
    draw_loss(axes["C"], history)
    for axis in axes.values():
        axis.grid(alpha=0.3)
        axis.spines[["top", "right"]].set_visible(False)
    arguments.output.mkdir(parents=True, exist_ok=True)
    picture = arguments.output / "pinn.png"
    figure.savefig(picture, dpi=120)
    print(f"picture: {picture}")
    print(f"friction {history[-1][0]:.3f}, stiffness {history[-1][1]:.3f}")
    print(f"largest error {np.max(np.abs(fits['with'] - truth)):.3f}")


if __name__ == "__main__":
    main()

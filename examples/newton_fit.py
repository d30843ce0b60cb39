"""Fit a model with second derivatives: Newton's method on real data, beside methods that know the gradient alone.

    pip install 'arraygrad[examples,special]'
    python examples/newton_fit.py                    on the CPU, a few seconds
    python examples/newton_fit.py --device cuda      the same on a GPU, with CuPy

The data are the 569 biopsies of breast tumours that come with scikit-learn: 30 measurements of the cells' nuclei each,
and whether the tumour was malignant. A logistic regression with a small penalty is fitted by `ag.minimize`. Newton-CG
gets products with the Hessian, each for about the price of two gradients: near the minimum, every step doubles the
digits. The Hessian itself, from `ag.hessian`, then says how well each weight is known. What comes out is a picture,
`out/newton_fit.png`.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any, NamedTuple

# NumPy reads this once, when it is imported: products this small gain nothing from threads.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import matplotlib

matplotlib.use("Agg")  # draws into files: no screen is needed

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from sklearn.datasets import load_breast_cancer
from tqdm import tqdm

import arraygrad as ag

PENALTY = 0.1
METHODS = {"Newton-CG": "#2b6cb0", "trust-krylov": "#2c7a7b", "L-BFGS-B": "#dd6b20", "BFGS": "#d69e2e", "CG": "#c53030"}
BLUE, RED, GREY = "#2b6cb0", "#c53030", "#4a5568"


class Data(NamedTuple):
    """Measurements in units of their standard deviation, and 1 for malignant tumours."""

    measurements: ag.Tensor
    is_malignant: ag.Tensor


class Run(NamedTuple):
    """How the loss fell: the number of evaluations of the model, forward and backward, and the loss then."""

    work: list[int]
    losses: list[float]
    result: ag.MinimizeResult


def scores(model: dict[str, ag.Tensor], data: Data) -> ag.Tensor:
    """The logarithm of the odds that a tumour is malignant."""
    return data.measurements @ model["weights"] + model["bias"]


def loss(model: dict[str, ag.Tensor], data: Data) -> ag.Tensor:
    """Minus the logarithm of the likelihood, and a penalty on the weights."""
    odds = scores(model, data)
    likelihood = ag.sum(data.is_malignant * odds - ag.logaddexp(odds, ag.zeros_like(odds)))
    return 0.5 * PENALTY * ag.sum(model["weights"] ** 2) - likelihood


def fit(method: str, start: dict[str, ag.Tensor], data: Data) -> Run:
    work, losses = [1], [loss(start, data).item()]
    calls = 0

    def counted(model: dict[str, ag.Tensor], data: Data) -> ag.Tensor:
        nonlocal calls
        calls += 1
        return loss(model, data)

    def note(_: Any, value: float) -> None:
        work.append(calls)
        losses.append(value)

    tolerance = {"xtol": 1e-10} if method == "Newton-CG" else {"gtol": 1e-7}
    options = tolerance | ({"ftol": 1e-15} if method == "L-BFGS-B" else {}) | {"maxiter": 500}
    result = ag.minimize(counted, start, args=(data,), method=method, callback=note, options=options)
    return Run(work, losses, result)


def uncertainties(model: dict[str, ag.Tensor], data: Data) -> np.ndarray:
    """The standard error of each weight: the square roots on the diagonal of the inverse Hessian."""
    sizes = model["weights"].size

    def of_vector(vector: ag.Tensor) -> ag.Tensor:
        return loss({"weights": vector[:sizes], "bias": vector[sizes]}, data)

    vector = ag.concat([model["weights"], ag.reshape(model["bias"], (1,))])
    covariance = ag.linalg.inv(ag.hessian(of_vector)(vector))
    return ag.sqrt(ag.linalg.diagonal(covariance))[:sizes].to("cpu").numpy()


def draw_methods(axes: Axes, runs: dict[str, Run]) -> None:
    least = min(min(run.losses) for run in runs.values())
    for name, run in runs.items():
        gaps = np.maximum(np.array(run.losses) - least, 1e-11)
        label = f"{name}: {run.work[-1]} gradients and products"
        axes.semilogy(gaps, marker="o", markersize=3, color=METHODS[name], label=label)
    axes.set(xlabel="iteration", ylabel="loss above its minimum")
    axes.set_title("How fast each method is", fontweight="bold")
    axes.legend(frameon=False, fontsize=9)


def draw_weights(axes: Axes, weights: np.ndarray, errors: np.ndarray, names: Any) -> None:
    order = np.argsort(np.abs(weights))[-15:]
    places = np.arange(len(order))
    colors = [RED if weight > 0 else BLUE for weight in weights[order]]
    axes.barh(places, weights[order], color=colors, alpha=0.35)
    axes.errorbar(weights[order], places, xerr=errors[order], fmt="o", color=GREY, markersize=4, capsize=3)
    axes.set_yticks(places, [names[i] for i in order])
    axes.axvline(0, color=GREY, linewidth=0.8)
    axes.set(xlabel="weight, with its standard error")
    axes.set_title("The 15 largest weights: to the right speaks for malignant", fontweight="bold")


def draw_test(axes: Axes, probabilities: np.ndarray, is_malignant: np.ndarray) -> None:
    parts = [probabilities[is_malignant == 0], probabilities[is_malignant == 1]]
    axes.hist(parts, bins=np.linspace(0, 1, 11), color=[BLUE, RED], alpha=0.7, label=["benign", "malignant"])
    axes.axvline(0.5, color=GREY, linestyle=":")
    wrong = int(np.sum((probabilities > 0.5) != is_malignant))
    axes.set(xlabel="probability of a malignant tumour", ylabel="biopsies")
    axes.set_title(f"Test: {wrong} of {len(is_malignant)} misjudged", fontweight="bold")
    axes.legend(frameon=False, loc="upper right")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Fit a logistic regression with first and second derivatives.")
    parser.add_argument("--device", default="cpu", help="cpu or cuda (default: cpu)")
    parser.add_argument("--output", type=Path, default=Path("out"), help="folder for the picture (default: out)")
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    rng = np.random.default_rng(0)
    source = load_breast_cancer()
    measurements = (source.data - source.data.mean(0)) / source.data.std(0)
    is_malignant = (source.target == 0).astype(np.float64)
    parts = np.split(rng.permutation(len(measurements)), [len(measurements) * 3 // 4])
    training, test = (
        Data(*(ag.tensor(x[part], device=arguments.device) for x in (measurements, is_malignant))) for part in parts
    )

    start = {
        "weights": ag.zeros(measurements.shape[1], device=arguments.device),
        "bias": training.is_malignant[0] * 0.0,
    }
    runs: dict[str, Run] = {}
    for method in (progress := tqdm(METHODS, unit="method")):
        progress.set_postfix(method=method)
        runs[method] = fit(method, start, training)

    model = runs["Newton-CG"].result.x
    probabilities = ag.sigmoid(scores(model, test)).to("cpu").numpy()
    figure, axes = plt.subplot_mosaic("AB;CB", figsize=(13, 8), layout="constrained", width_ratios=[4, 5])
    draw_methods(axes["A"], runs)
    draw_test(axes["C"], probabilities, is_malignant[parts[1]])
    draw_weights(axes["B"], model["weights"].to("cpu").numpy(), uncertainties(model, training), source.feature_names)
    for axis in axes.values():
        axis.grid(alpha=0.3)
        axis.spines[["top", "right"]].set_visible(False)
    arguments.output.mkdir(parents=True, exist_ok=True)
    picture = arguments.output / "newton_fit.png"
    figure.savefig(picture, dpi=120)
    print(f"picture: {picture}")
    for name, run in runs.items():
        print(f"{name}: loss {run.losses[-1]:.9f} after {run.work[-1]} gradients and products")
    print(f"test accuracy {np.mean((probabilities > 0.5) == is_malignant[parts[1]]):.4f}")


if __name__ == "__main__":
    main()

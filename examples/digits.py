"""Read handwritten digits: a small convolutional network, trained with arraygrad alone.

    pip install 'arraygrad[examples]'
    python examples/digits.py                    on the CPU, a few seconds
    python examples/digits.py --device cuda      the same on a GPU, with CuPy
    python examples/digits.py --half             forward and backward in float16, the parameters in float32

The data are the 1,797 real scans of 8 x 8 pixels that come with scikit-learn. A fifth of them is kept for
the test and never seen in training. What comes out is a picture, `out/digits.png`: how the loss fell, what the
network reads in digits of the test, and the graph that arraygrad records in one step.
"""

from __future__ import annotations

import argparse
import math
import os
from pathlib import Path
from typing import Any

# NumPy reads this once, when it is imported. Products this small gain nothing from threads, which wait for
# each other where other programs use the cores, and then make training thirty times slower.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import matplotlib

matplotlib.use("Agg")  # draws into files: no screen is needed

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import SubFigure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from sklearn.datasets import load_digits
from tqdm import tqdm

import arraygrad as ag

BATCH = 64
LEARNING_RATE = 2e-3
BLUE, ORANGE, RED, GREY = "#2b6cb0", "#dd6b20", "#c53030", "#4a5568"


class Network:
    """A convolution of 3 x 3 pixels to 16 channels, a hidden layer of 64 units, and 10 scores."""

    def __init__(self, rng: np.random.Generator, device: str) -> None:
        def weights(inputs: int, outputs: int) -> ag.Tensor:
            values = rng.normal(size=(inputs, outputs)) * math.sqrt(2 / inputs)
            return ag.tensor(values, dtype=ag.float32, device=device, requires_grad=True)

        def bias(outputs: int) -> ag.Tensor:
            return ag.zeros(outputs, dtype=ag.float32, device=device).requires_grad_()

        self.parameters = {
            "kernels": weights(9, 16),
            "kernel bias": bias(16),
            "hidden weights": weights(36 * 16, 64),
            "hidden bias": bias(64),
            "output weights": weights(64, 10),
            "output bias": bias(10),
        }
        pixels = np.arange(64).reshape(8, 8)
        windows = np.lib.stride_tricks.sliding_window_view(pixels, (3, 3))
        self.windows = ag.tensor(windows.reshape(36, 9), device=device)

    def __call__(self, images: ag.Tensor) -> ag.Tensor:
        # The parameters as numbers of the images' type: with --half, of float16.
        parameters = [p.to(images.dtype) for p in self.parameters.values()]
        kernels, kernel_bias, hidden_weights, hidden_bias, output_weights, output_bias = parameters
        patches = images[:, self.windows]  # (images, 36 places, 9 pixels): a convolution is an index and a product
        features = ag.relu(patches @ kernels + kernel_bias).reshape(-1, 36 * 16)
        hidden = ag.relu(features @ hidden_weights + hidden_bias)
        return hidden @ output_weights + output_bias


@ag.no_grad()
def read(network: Network, images: ag.Tensor) -> ag.Tensor:
    """The digit that the network sees in each image."""
    return ag.argmax(network(images), axis=1)


def accuracy(predicted: ag.Tensor, labels: ag.Tensor) -> float:
    return ag.mean((predicted == labels).astype(ag.float32)).item()


def train(
    network: Network,
    training: tuple[ag.Tensor, ag.Tensor],
    test: tuple[ag.Tensor, ag.Tensor],
    rng: np.random.Generator,
    epochs: int,
) -> tuple[list[float], list[float]]:
    """Train in place; return the loss of each step and the accuracy in the test after each epoch."""
    images, labels = training
    optimizer = ag.optim.Adam(network.parameters, betas=(0.9, 0.99))
    scaler = ag.optim.GradScaler(growth_interval=100, enabled=images.dtype == ag.float16)
    losses: list[float] = []
    accuracies: list[float] = []
    starts = range(0, len(images), BATCH)
    # What overflows in float16 is no mistake: the scaler leaves that step out.
    with tqdm(total=epochs * len(starts), unit="step") as progress, np.errstate(over="ignore", invalid="ignore"):
        for epoch in range(epochs):
            order = ag.tensor(rng.permutation(len(images)), device=images.device)
            for start in starts:
                batch = order[start : start + BATCH]
                optimizer.param_groups[0]["lr"] = LEARNING_RATE * (1 - len(losses) / progress.total)
                optimizer.zero_grad()
                loss = ag.cross_entropy(network(images[batch]).to(ag.float32), labels[batch])
                scaler.scale(loss).backward()
                scaler.step(optimizer)
                scaler.update()
                losses.append(loss.item())
                progress.set_postfix(epoch=epoch + 1, loss=f"{losses[-1]:.4f}", refresh=False)
                progress.update()
            accuracies.append(accuracy(read(network, test[0]), test[1]))
    return losses, accuracies


def draw_training(figure: SubFigure, losses: list[float], accuracies: list[float]) -> None:
    above, below = figure.subplots(2, 1, sharex=True)
    figure.suptitle("Training", fontweight="bold")
    steps = np.arange(1, len(losses) + 1)
    window = len(losses) // len(accuracies)
    smooth = np.convolve(losses, np.ones(window) / window, mode="valid")
    above.semilogy(steps, losses, color=BLUE, alpha=0.3, linewidth=0.8, label="each step")
    above.semilogy(steps[window - 1 :], smooth, color=BLUE, linewidth=1.8, label="mean of an epoch")
    above.set_ylabel("loss (cross entropy)")
    above.legend(frameon=False)
    epoch_ends = np.arange(1, len(accuracies) + 1) * window
    label = f"{accuracies[-1]:.4f} at the end"
    below.plot(epoch_ends, accuracies, color=ORANGE, marker="o", markersize=3.5, label=label)
    below.legend(frameon=False, loc="lower right")
    below.set(xlabel="step", ylabel="test accuracy after each epoch")
    for axes in (above, below):
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)


def draw_digits(figure: SubFigure, images: np.ndarray, labels: np.ndarray, predicted: np.ndarray) -> None:
    rows, columns = 5, 8
    is_wrong = predicted != labels
    mistakes = np.flatnonzero(is_wrong)
    chosen = [*mistakes, *np.flatnonzero(~is_wrong)][: rows * columns]
    figure.suptitle(f"Digits of the test: {len(mistakes)} of {len(labels)} misread, these first", fontweight="bold")
    for axes, i in zip(figure.subplots(rows, columns).flat, chosen, strict=True):
        axes.imshow(images[i].reshape(8, 8), cmap="gray_r", vmin=0, vmax=1)
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set(color=RED if is_wrong[i] else "#cbd5e0", linewidth=2.5 if is_wrong[i] else 1)
        title = f"{predicted[i]}, but is {labels[i]}" if is_wrong[i] else str(predicted[i])
        axes.set_title(title, color=RED if is_wrong[i] else GREY, fontsize=10, pad=4)


def columns_of(root: Any) -> dict[Any, int]:
    """The length of the longest way from `root` to each node of its recorded graph."""
    columns = {root: 0}
    pending = [root]
    while pending:
        node = pending.pop()
        for edge, _ in node.next_functions:
            if edge is not None and columns.get(edge, 0) <= columns[node]:
                columns[edge] = columns[node] + 1
                pending.append(edge)
    return columns


def draw_graph(figure: SubFigure, loss: ag.Tensor, names: dict[ag.Tensor, str]) -> None:
    """Operations in a row, in the order of backward; parameters below."""
    figure.suptitle("The graph of one step: backward() walks from the loss to the parameters", fontweight="bold")
    axes = figure.subplots()
    taken: set[tuple[int, int]] = set()
    boxes = {}
    for node, x in columns_of(loss.grad_fn).items():
        is_parameter = node.name == "AccumulateGrad"
        y = -1 if is_parameter else 0
        while (x, y) in taken:
            y += -1 if is_parameter else 1
        taken.add((x, y))
        name = names[node.variable] if is_parameter else node.name.removesuffix("Backward")
        color, shape = (ORANGE, "square") if is_parameter else (BLUE, "round")
        boxes[node] = axes.text(
            x,
            y,
            f"{name}\n{list(node.shape) if node.shape else 'a number'}",
            ha="center",
            va="center",
            fontsize=10,
            color=color,
            bbox={"boxstyle": f"{shape},pad=0.5", "facecolor": "white", "edgecolor": color},
        )
    for node, box in boxes.items():
        for edge, _ in node.next_functions:
            if edge is not None:
                ends = {"patchA": box.get_bbox_patch(), "patchB": boxes[edge].get_bbox_patch()}
                arrow = {"arrowstyle": "-|>", "color": GREY, "shrinkA": 0, "shrinkB": 0, **ends}
                axes.annotate("", boxes[edge].get_position(), box.get_position(), arrowprops=arrow)
    xs, ys = zip(*taken, strict=True)
    axes.set(xlim=(-0.5, max(xs) + 0.5), ylim=(min(ys) - 0.4, max(ys) + 0.4))
    axes.axis("off")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Train a small network on scans of handwritten digits.")
    parser.add_argument("--device", default="cpu", help="cpu or cuda (default: cpu)")
    parser.add_argument("--half", action="store_true", help="compute in float16 (on the CPU slower, not faster)")
    parser.add_argument("--epochs", type=int, default=30, help="passes over the training data (default: 30)")
    parser.add_argument("--output", type=Path, default=Path("out"), help="folder for the picture (default: out)")
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    device, dtype = arguments.device, ag.float16 if arguments.half else ag.float32
    rng = np.random.default_rng(0)
    pixels, digits = load_digits(return_X_y=True)
    pixels = (pixels / 16).astype(np.float32)
    train_part, test_part = np.split(rng.permutation(len(pixels)), [len(pixels) * 4 // 5])
    training, test = (
        (ag.tensor(pixels[part], dtype=dtype, device=device), ag.tensor(digits[part], device=device))
        for part in (train_part, test_part)
    )

    network = Network(rng, device)
    losses, accuracies = train(network, training, test, rng, arguments.epochs)

    figure = plt.figure(figsize=(15, 10), layout=ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.1))
    top, bottom = figure.subfigures(2, 1, height_ratios=[3, 1])
    left, right = top.subfigures(1, 2, width_ratios=[2, 3])
    draw_training(left, losses, accuracies)
    draw_digits(right, pixels[test_part], digits[test_part], read(network, test[0]).to("cpu").numpy())
    step_loss = ag.cross_entropy(network(training[0][:BATCH]), training[1][:BATCH])
    draw_graph(bottom, step_loss, {p: name for name, p in network.parameters.items()})
    arguments.output.mkdir(parents=True, exist_ok=True)
    picture = arguments.output / "digits.png"
    figure.savefig(picture, dpi=120)
    print(f"picture: {picture}")
    print(f"test accuracy {accuracies[-1]:.4f}")


if __name__ == "__main__":
    main()

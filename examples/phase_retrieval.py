"""See through an aperture without a lens: an image from the magnitudes of its Fourier transform alone.

    pip install 'arraygrad[examples]'
    python examples/phase_retrieval.py                    on the CPU, some seconds
    python examples/phase_retrieval.py --device cuda      the same on a GPU, with CuPy

A detector far behind an aperture records the magnitudes of the Fourier transform of the light in it; the phases, and
with them the picture, are lost. What brings them back: the magnitudes are those of a picture twice as wide, that is
dark outside the aperture and nowhere negative. (Fienup, "Phase retrieval algorithms: a comparison", 1982,
https://doi.org/10.1364/AO.21.002758)

Half the squared distance of the magnitudes, `sum((abs(fftn(x)) - measured) ** 2) / 2`, has a gradient of which one full
step leads to the nearest picture with these magnitudes; arraygrad finds it from that line. Plain descent, which sets
to zero what cannot be after each step, stops early. The hybrid input-output method pushes it the other way instead
and arrives. The picture, `out/phase_retrieval.png`, shows both, on a photograph that comes with scikit-learn.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # draws into files: no screen is needed

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_sample_image
from tqdm import tqdm

import arraygrad as ag

SIZE = 160
FEEDBACK = 0.9
BLUE, ORANGE = "#2b6cb0", "#dd6b20"


def photograph() -> np.ndarray:
    """A square of the photograph of a temple, grey, from 0 to 1."""
    pixels = load_sample_image("china.jpg").mean(axis=2)[:320, 40:360] / 255
    return pixels.reshape(SIZE, 2, SIZE, 2).mean(axis=(1, 3))


def aperture() -> np.ndarray:
    """Where light comes through: a disc that lacks a part, or the picture turned by 180 degrees would fit as well."""
    y, x = np.mgrid[-1 : 1 : SIZE * 1j, -1 : 1 : SIZE * 1j]
    return (x**2 + y**2 < 0.98) & (y < 0.6 * x + 0.75)


def misfit(guess: ag.Tensor, measured: ag.Tensor) -> ag.Tensor:
    """Half the squared distance of the magnitudes of `guess` from the measured ones."""
    return ag.sum((ag.abs(ag.fft.fftn(guess.astype(ag.complex64), norm="ortho")) - measured) ** 2) / 2


def retrieve(
    measured: ag.Tensor, support: ag.Tensor, start: ag.Tensor, steps: int, feedback: float
) -> tuple[list[float], dict[int, np.ndarray]]:
    """The relative distance from the measurement after each step, and the picture after some of them."""
    guess = start.clone().requires_grad_()
    norm = ag.sum(measured**2).item()
    distances, pictures = [], {0: visible(start)}
    progress = tqdm(range(1, steps + 1), desc="hybrid input-output" if feedback else "plain descent", unit="step")
    for step in progress:
        misfit(guess, measured).backward()
        with ag.no_grad():
            nearest = guess - guess.grad
            allowed = support & (nearest >= 0)
            picture = ag.where(allowed, nearest, 0.0)
            guess.copy_(ag.where(allowed, nearest, guess - feedback * nearest) if feedback else picture)
            guess.zero_grad()
            distances.append((2 * misfit(picture, measured).item() / norm) ** 0.5)
        if step in (10, 50, steps):
            pictures[step] = visible(picture)
        progress.set_postfix(distance=f"{distances[-1]:.5f}", refresh=False)
    return distances, pictures


def visible(picture: ag.Tensor) -> np.ndarray:
    """The part of a picture in front of which the aperture is, on the CPU."""
    return picture[:SIZE, :SIZE].to("cpu").numpy()


def draw(
    path: Path, truth: np.ndarray, measured: np.ndarray, results: dict[str, tuple[list[float], dict[int, np.ndarray]]]
) -> None:
    figure = plt.figure(figsize=(15, 10.5), layout="constrained")
    grid = figure.add_gridspec(3, 4, height_ratios=[1, 1, 0.7])

    def show(row: int, column: int, image: np.ndarray, title: str) -> None:
        axes = figure.add_subplot(grid[row, column])
        axes.imshow(image, cmap="gray", vmin=0, vmax=1)
        axes.set(xticks=[], yticks=[])
        axes.set_title(title, fontsize=11)

    spectrum = np.log(np.fft.fftshift(measured))
    low, high = np.quantile(spectrum, [0.02, 0.999])
    show(0, 0, (spectrum - low) / (high - low), "What is measured: magnitudes, no phases (log)")
    (plain, plain_pictures), (_, pictures) = results["plain descent"], results["hybrid input-output"]
    for column, step in enumerate(list(pictures)[:3], 1):
        show(0, column, pictures[step], f"After {step} steps" if step else "Where it starts: random numbers")
    show(1, 0, list(pictures.values())[-1], f"Hybrid input-output, after {list(pictures)[-1]} steps")
    show(1, 1, truth, "What stood behind the aperture")
    show(1, 2, 20 * np.abs(list(pictures.values())[-1] - truth), "Their difference, times 20")
    show(1, 3, list(plain_pictures.values())[-1], f"Plain descent, after {len(plain)} steps")
    axes = figure.add_subplot(grid[2, :])
    for (name, (distances, _)), color in zip(results.items(), (ORANGE, BLUE), strict=True):
        axes.semilogy(range(1, len(distances) + 1), distances, color=color, linewidth=2)
        axes.annotate(
            name, (len(distances), distances[-1]), (6, 0), textcoords="offset points", color=color, va="center"
        )
    axes.set(xlabel="step", xlim=(0, len(plain) * 1.13), title="Distance from the measured magnitudes, relative")
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description="Recover an image from the magnitudes of its Fourier transform.")
    parser.add_argument("--device", default="cpu", help="cpu or cuda (default: cpu)")
    parser.add_argument("--steps", type=int, default=600, help="steps of each method (default: 600)")
    parser.add_argument("--output", type=Path, default=Path("out"), help="folder for the picture (default: out)")
    arguments = parser.parse_args()

    open_parts = aperture()
    truth = np.where(open_parts, photograph(), 0.0)
    margin = ((0, SIZE), (0, SIZE))  # twice as wide: two samples of the transform for each pixel and direction
    magnitudes = np.abs(np.fft.fftn(np.pad(truth, margin), norm="ortho"))
    measured = ag.tensor(magnitudes, dtype=ag.float32, device=arguments.device)
    support = ag.tensor(np.pad(open_parts, margin), device=arguments.device)
    rng = ag.random.default_rng(0, device=arguments.device)
    start = ag.where(support, rng.uniform(size=support.shape, dtype=ag.float32), 0.0)

    results = {
        "plain descent": retrieve(measured, support, start, arguments.steps, feedback=0.0),
        "hybrid input-output": retrieve(measured, support, start, arguments.steps, FEEDBACK),
    }
    picture = arguments.output / "phase_retrieval.png"
    draw(picture, truth, magnitudes, results)
    found = list(results["hybrid input-output"][1].values())[-1]
    print(f"picture: {picture}")
    print(f"relative error {np.linalg.norm(found - truth) / np.linalg.norm(truth):.4f}")


if __name__ == "__main__":
    main()

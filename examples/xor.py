"""XOR: the smallest problem that no straight line separates, learnt by a network of 2, 4 and 1 units.

    python examples/xor.py              train until the mean squared error is below 0.01
    python examples/xor.py --no-zero    never clear the gradients, and see training fail

`backward()` adds to `grad`. Unless each step clears it, a step follows the sum of all gradients so far:
it gathers momentum that nothing slows, shoots past the solution and does not come back.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np

import arraygrad as ag

LEARNING_RATE = 0.05
STEPS = 10_000
GOAL = 0.01
HIDDEN = 4

INPUTS = ag.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
TARGETS = ag.tensor([[0.0], [1.0], [1.0], [0.0]])


def train(zero_gradients: bool) -> Iterator[tuple[float, ag.Tensor]]:
    """Take gradient steps, and yield the loss and the predictions that each one starts from."""
    rng = np.random.default_rng(0)
    hidden_weights = ag.tensor(rng.normal(size=(2, HIDDEN)), requires_grad=True)
    hidden_bias = ag.zeros(HIDDEN).requires_grad_()
    output_weights = ag.tensor(rng.normal(size=(HIDDEN, 1)) / HIDDEN**0.5, requires_grad=True)
    output_bias = ag.zeros(1).requires_grad_()
    parameters = [hidden_weights, hidden_bias, output_weights, output_bias]

    for _ in range(STEPS):
        hidden = ag.tanh(INPUTS @ hidden_weights + hidden_bias)
        predictions = hidden @ output_weights + output_bias
        loss = ag.mean((predictions - TARGETS) ** 2)
        yield loss.item(), predictions.detach()

        if zero_gradients:
            for p in parameters:
                p.zero_grad()
        loss.backward()
        with ag.no_grad():
            for p in parameters:
                p -= LEARNING_RATE * p.grad


def show_success() -> None:
    for step, (loss, predictions) in enumerate(train(zero_gradients=True)):
        if step % 100 == 0 or loss < GOAL:
            print(f"step {step:4d}  loss {loss:.5f}")
        if loss < GOAL:
            print("predictions", predictions[:, 0].numpy().round(3))
            break


def show_failure() -> None:
    losses, predictions = zip(*train(zero_gradients=False), strict=True)
    early, late = losses[:1000], losses[1000:]
    print(f"lowest loss before step 1,000: {min(early):.3f} at step {early.index(min(early))}")
    print(f"loss from step 1,000 to step {STEPS:,}: {min(late):.3f} to {max(late):.3f}")
    print("predictions", predictions[-1][:, 0].numpy().round(3))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Learn XOR.")
    parser.add_argument("--no-zero", action="store_true", help="never clear the gradients")
    if parser.parse_args().no_zero:
        show_failure()
    else:
        show_success()

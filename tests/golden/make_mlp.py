"""Write mlp.json: one step of a two-layer perceptron as PyTorch computes it, for test_golden_mlp.py to replay.

    python tests/golden/make_mlp.py

Needs PyTorch, which the tests do not. JSON keeps every digit: Python writes the shortest decimal that reads
back as the same double. The values depend on PyTorch's random numbers, so a rerun may change the file; the
values in it were made by the version that it names.
"""

import json
from pathlib import Path

import torch

SEED, ROWS, FEATURES, HIDDEN, CLASSES = 20260, 6, 4, 5, 3


def main() -> None:
    torch.manual_seed(SEED)
    torch.set_default_dtype(torch.float64)
    x = torch.randn(ROWS, FEATURES)
    targets = torch.randint(CLASSES, (ROWS,))
    parameters = {
        "w1": torch.randn(FEATURES, HIDDEN),
        "b1": torch.randn(HIDDEN),
        "w2": torch.randn(HIDDEN, CLASSES),
        "b2": torch.randn(CLASSES),
    }
    for parameter in parameters.values():
        parameter.requires_grad_()

    hidden = torch.tanh(x @ parameters["w1"] + parameters["b1"])
    log_probabilities = torch.log_softmax(hidden @ parameters["w2"] + parameters["b2"], dim=1)
    loss = -log_probabilities.gather(1, targets[:, None]).mean()
    loss.backward()

    fixture = {
        "made_by": f"torch {torch.__version__.partition('+')[0]}, seed {SEED}",
        "x": x.tolist(),
        "targets": targets.tolist(),
        **{name: parameter.tolist() for name, parameter in parameters.items()},
        "loss": loss.item(),
        **{f"{name}_grad": parameter.grad.tolist() for name, parameter in parameters.items()},
    }
    path = Path(__file__).with_name("mlp.json")
    rows = [f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in fixture.items()]
    path.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()

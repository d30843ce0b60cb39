"""Write docs/numpy-names.md, the table of NumPy's functions that keep the graph. A test keeps it true.

python docs/make_numpy_table.py
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from numpy_calls import CALLS
from numpy_calls_more import METHOD_CALLS, UFUNC_CALLS

from arraygrad import numpy_names
from arraygrad.numpy_functions import REFUSED
from arraygrad.numpy_functions.creation import LIKE
from arraygrad.numpy_ufuncs import METHODS, UFUNCS

HEAD = """# NumPy's names on tensors

Code that calls NumPy's functions works on tensors as it is, and keeps the graph: `np.sin(t)`, `np.sum(t, axis=0)`,
`np.maximum.accumulate(t)`, `t.cumsum()`. What is not in this table raises, and names the nearest call that is there; a
result is never cut off from the graph in silence. (This page is written by `docs/make_numpy_table.py`.)

There are **{count} call forms**: {names} functions and ufuncs by their names, {ufunc_methods} methods of ufuncs,
and {methods} methods and properties of arrays. {derivatives} of them have derivatives; the others are constant almost
everywhere (`sign`, `argsort`, comparisons), or facts. A form counts once, whatever its parameters, and NumPy's second
names for the same function do not count ({aliases}).

The tests make a call of every form, and compare its value with NumPy's and its gradient with finite differences of
NumPy's. Parameters are NumPy's and do what they do there; `out=` and others that are not supported are refused with a
message that lists those that are.

"""
DIFFERENTIABLE = {label.split()[0] for label in [*CALLS, *UFUNC_CALLS, *METHOD_CALLS]}
#: Second names of functions in the table.
ALIASES = (
    "abs acos acosh asin asinh atan atan2 atanh bitwise_invert bitwise_left_shift bitwise_not bitwise_right_shift "
    "concat conj mod permute_dims pow true_divide"
).split()


def _row(title: str, names: Iterable[str]) -> str:
    names = sorted(names)
    constant = [name for name in names if name not in DIFFERENTIABLE]
    differentiable = ", ".join(name for name in names if name in DIFFERENTIABLE)
    return f"| {title} ({len(names)}) | {differentiable} | {', '.join(constant)} |"


def table() -> str:
    """The page."""
    forms = numpy_names.forms()
    methods = [name for name in forms if name.startswith("t.")]
    functions = [name for name in numpy_names.FUNCTIONS if "." not in name]
    of_ufuncs = [f"{name}.{method}" for name, method in METHODS]
    head = HEAD.format(
        count=len(forms),
        names=len(forms) - len(of_ufuncs) - len(methods),
        ufunc_methods=len(of_ufuncs),
        methods=len(methods),
        derivatives=len(DIFFERENTIABLE),
        aliases=", ".join(ALIASES),
    )
    rows = [
        "| | with a derivative | constant |",
        "| --- | --- | --- |",
        _row("Ufuncs", UFUNCS),
        *(
            _row(f"`ufunc.{method}`", [name for name in of_ufuncs if name.endswith("." + method)])
            for method in ("reduce", "accumulate", "reduceat", "outer")
        ),
        _row("Functions", functions),
        *(
            _row(f"`np.{module}`", [name for name in numpy_names.FUNCTIONS if name.startswith(module + ".")])
            for module in ("linalg", "fft", "emath")
        ),
        _row("With `like=t`: on its device", LIKE),
        _row("Methods and properties", methods),
    ]
    reasons: dict[str, list[str]] = {}
    for name, reason in REFUSED.items():
        reasons.setdefault(reason, []).append(name)
    refused = ["Refused, with what to do instead:", ""]
    refused += [f"- {', '.join(names)}: {reason}." for reason, names in reasons.items()]
    return "\n".join([head.rstrip() + "\n", *rows, "", *refused]) + "\n"


if __name__ == "__main__":
    (Path(__file__).parent / "numpy-names.md").write_text(table())

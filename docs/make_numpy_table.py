"""Write docs/numpy-names.md, the table of NumPy's functions that keep the graph. A test keeps it true.

python docs/make_numpy_table.py
"""

from __future__ import annotations

from pathlib import Path

from arraygrad import numpy_names

HEAD = """# NumPy's names on tensors

Code that calls NumPy's functions works on tensors as it is, and keeps the graph: `np.sin(t)`, `np.sum(t, axis=0)`,
`np.concatenate([t, u])`. What is not in this table raises, and names the nearest call that is there; a result is
never cut off from the graph in silence. (This page is written by `docs/make_numpy_table.py`.)

"""


def table() -> str:
    """The page."""
    functions = sorted(numpy_names.FUNCTIONS)
    groups = {
        "Ufuncs": sorted(numpy_names.UFUNCS),
        "Methods of ufuncs": [
            *(f"{name}.reduce" for name in numpy_names.REDUCTIONS),
            *(f"{name}.accumulate" for name in numpy_names.ACCUMULATIONS),
            "outer of every ufunc of two arguments",
        ],
        "Functions": [name for name in functions if "." not in name],
        "`np.linalg`": [name for name in functions if name.startswith("linalg.")],
        "`np.fft`": [name for name in functions if name.startswith("fft.")],
    }
    rows = [f"| {title} ({len(names)}) | {', '.join(names)} |" for title, names in groups.items()]
    return HEAD + "\n".join(["| | |", "| --- | --- |", *rows]) + "\n"


if __name__ == "__main__":
    (Path(__file__).parent / "numpy-names.md").write_text(table())

"""Facts about the project as a whole: names, imports, sizes."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import arraygrad as ag

PACKAGE = Path(ag.__file__).parent
SOURCES = sorted(PACKAGE.rglob("*.py"))


def test_public_names_are_sorted_and_exist() -> None:
    assert ag.__all__ == sorted(ag.__all__)
    for name in ag.__all__:
        getattr(ag, name)
    public = {name for name in vars(ag) if not name.startswith("_") or name.startswith("__array")}
    modules = {path.stem for path in PACKAGE.glob("*.py")} | {"backends", "numpy_functions", "ops"}
    assert set(ag.__all__) - {"__version__"} <= public
    assert public - set(ag.__all__) <= modules


def test_importing_loads_neither_cupy_nor_scipy_nor_strict() -> None:
    code = (
        "import sys, arraygrad as ag; x = ag.tensor([1.0], requires_grad=True); (x @ x).sum().backward();"
        "print([m for m in ('cupy', 'cupyx', 'scipy', 'array_api_strict') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"


def test_names_that_are_imported_later_are_those_that_type_checkers_see() -> None:
    (block,) = [
        node
        for node in ast.parse((PACKAGE / "__init__.py").read_text()).body
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
    ]
    seen = {
        (str(node.module), alias.name)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    later = {(module, name) for module, names in ag._LATER.items() for name in names.split()}
    assert seen == later | {("arraygrad", module) for module in ag._MODULES}


def test_each_name_can_be_the_first_that_is_asked_for() -> None:
    code = (
        "import os, arraygrad\n"
        "for name in arraygrad.__all__:\n"
        "    if name not in vars(arraygrad):\n"
        "        child = os.fork()\n"
        "        if not child:\n"
        "            getattr(arraygrad, name)\n"
        "            os._exit(0)\n"
        "        assert os.waitpid(child, 0)[1] == 0, name\n"
        "        count = globals().get('count', 0) + 1\n"
        "print(count)\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(result.stdout) > 80, "importing arraygrad has imported what it leaves for later"


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="module 'arraygrad' has no attribute 'sofmax'"):
        ag.sofmax  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'sofmax' from 'arraygrad'"):
        from arraygrad import sofmax  # type: ignore[attr-defined]  # noqa: F401


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_libraries_are_imported_in_backends_alone(path: Path) -> None:
    imported = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            imported |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add((node.module or "").partition(".")[0])
    ours = imported - set(sys.stdlib_module_names) - {"arraygrad"}
    allowed = {"numpy", "cupy", "cupyx", "scipy", "array_api_compat", "array_api_strict"}
    assert ours <= (allowed if path.parent.name == "backends" else set())


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(path: Path) -> None:
    """`ops -> op -> node`, `engine -> node, accumulate`; backends import nothing of ours but errors."""
    layers = ["errors", "modes", "backends", "accumulate", "node", "debug", "tensor", "record", "op", "ops", "inplace"]
    name = path.parent.name if path.parent != PACKAGE else path.stem
    if name not in layers or path.stem == "tensor":
        return
    above = set(layers[layers.index(name) + 1 :])
    tree = ast.parse(path.read_text())
    typing_only = {
        child
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
        for child in ast.walk(node)
    }
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node not in typing_only and (node.module or "").startswith("arraygrad"):
            names = [node.module.removeprefix("arraygrad").lstrip(".").partition(".")[0]]
            names += [alias.name for alias in node.names] if node.module == "arraygrad" else []
            assert not above & set(names), f"{name} imports {names}"


def test_files_are_short_and_the_core_is_readable_in_one_sitting() -> None:
    lines = {path: len(path.read_text().splitlines()) for path in SOURCES}
    for path, count in lines.items():
        assert count <= (600 if path.stem == "linalg" else 420), path
    core = ["tensor", "record", "calling", "operands", "kernels", "op", "node", "engine", "buffers", "accumulate"]

    def code(path: Path) -> int:
        """Lines without blank ones, comments and docstrings."""
        tree = ast.parse(path.read_text())
        text = {
            line
            for node in ast.walk(tree)
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
            for line in range(node.lineno, node.end_lineno + 1)
        }
        return sum(
            bool(line.strip()) and not line.strip().startswith("#") and number not in text
            for number, line in enumerate(path.read_text().splitlines(), 1)
        )

    assert sum(code(PACKAGE / f"{name}.py") for name in core) <= 1420

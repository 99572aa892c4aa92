"""The shape of the house: which folder imports which, and what importing costs."""

import ast
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import locallinear

ROOT = Path(locallinear.__file__).parent
PACKAGE = "locallinear"

# What the modules of each folder may import beside those of their own, lazily or not; "" is the
# package's door, which offers the public names. CONTRIBUTING.md says what lives where.
BELOW_MODELS = {"arrays", "kernels", "runtime", "checks", "geometry", "io", "explain"}
BELOW_TABLES = BELOW_MODELS | {"grids", "models", "search", "ensemble"}
MAY_IMPORT = {
    "arrays": set(),
    "kernels": {"arrays"},
    "runtime": {"arrays"},
    "grids": set(),
    "checks": {"arrays", "runtime"},
    "io": {"arrays", "runtime", "checks"},
    "datasets": {"runtime"},
    "geometry": {"arrays", "kernels", "runtime", "checks"},
    "explain": {"kernels", "runtime", "checks"},
    "models": BELOW_MODELS,
    "search": BELOW_MODELS | {"grids", "models"},
    "tune": {"grids", "models", "search"},
    "ensemble": BELOW_MODELS | {"grids", "models", "search"},
    "network": {"kernels", "runtime", "checks", "geometry"},
    "tables": BELOW_TABLES,
    "dask": BELOW_MODELS | {"grids", "models", "search"},
    "": BELOW_TABLES | {"network", "tables", "datasets"},
    "cli": BELOW_TABLES | {"", "tables", "datasets", "dask"},
    "paper": {"", "grids", "tune", "runtime", "datasets", "cli"},
    "__main__": {"cli", "paper"},
}


def dotted(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {dotted(path): path for path in ROOT.rglob("*.py")}


def imports_of(name):
    """Modules of the package that this one names anywhere in its code."""
    package = [PACKAGE, *name.split(".")] if name else [PACKAGE]
    if MODULES[name].name != "__init__.py":
        package = package[:-1]
    for node in ast.walk(ast.parse(MODULES[name].read_text())):
        if isinstance(node, ast.Import):
            found = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = above + (node.module.split(".") if node.module else [])
            found = [[*base, alias.name] for alias in node.names]
        else:
            continue
        for parts in found:
            if parts[0] == PACKAGE:
                while ".".join(parts[1:]) not in MODULES:
                    parts = parts[:-1]
                yield ".".join(parts[1:])


def room(name):
    return name.split(".")[0]


@pytest.mark.parametrize("name", MODULES)
def test_a_module_imports_only_what_its_folder_may(name):
    assert {room(other) for other in imports_of(name)} <= MAY_IMPORT[room(name)] | {room(name)}


def test_no_imports_form_a_cycle():
    graph = {name: {other for other in imports_of(name) if other != name} for name in MODULES}
    list(TopologicalSorter(graph).static_order())


def modules_after(code):
    code += "; import sys; print(*{m.split('.')[0] for m in sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_the_package_imports_no_more_than_scikit_learn_does():
    # scikit-learn itself looks for pandas, so what it loads is no fault of this package.
    given = modules_after("import sklearn.neighbors, sklearn.linear_model, sklearn.cluster")
    loaded = modules_after(f"import {PACKAGE}") - given
    assert PACKAGE in loaded
    assert "numba" not in loaded
    assert loaded - set(sys.stdlib_module_names) == {PACKAGE}


HIDDEN = """
import sys

class Hidden:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name in {"numba", "pandas", "matplotlib"}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Hidden)
"""


def test_only_the_lasso_needs_the_compiler_and_nothing_needs_the_extras():
    fit = "FALLRegressor(n_neighbors=1).fit([[0.], [1.]], [0., 1.]).explain([[0.]])"
    assert PACKAGE in modules_after(f"{HIDDEN}from {PACKAGE} import FALLRegressor; {fit}")

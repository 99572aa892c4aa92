"""The shape of the house: who imports whom, and what importing costs."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import locallinear

ROOT = Path(locallinear.__file__).parent
PACKAGE = "locallinear"

# From the ground up; a module may import those of its own and of lower storeys. Modules that
# are not named here are held by the rules on cycles and kernels alone.
STOREYS = [
    {"kernels", "grids"},
    {"_chunks", "_extras", "_files", "_progress", "_samples", "_scaling", "_threads"},
    {"_encoding", "_explanation", "_read_table", "_tables", "_validation"},
    {"_structures", "io"},
    {"_neighborhoods"},
    {"_anchors", "_network_graph"},
    {"_metric"},
    {"_forest"},
    {"_trees"},
    {"_nearness"},
    {"_fall", "_folds", "_scores"},
    {"_estimators", "_network_lasso", "_search", "_tabular"},
    {"_grids", "_localized_lasso", "_search_display", "explain", "datasets"},
    {"_cv", "_members", "tune"},
    {"_ensemble"},
    {"_ensemble_estimators"},
    {"paper", "cli", "_comparison", "_demo", "_outputs", "_steps", "_summary", "_watching"},
]

# The one stair that goes up: an explanation draws itself, when it is asked to.
UPWARD = {("_explanation", "explain")}


def module_name(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in ROOT.rglob("*.py")}


def imports_of(name):
    """Modules of the package that this one names anywhere in its code; "" is the door.

    Without those of `UPWARD`.
    """
    path = MODULES[name]
    package = [] if not name else name.split(".")
    if path.name != "__init__.py":
        package = package[:-1]
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            named = [a.name.split(".") for a in node.names if a.name.split(".")[0] == PACKAGE]
            found |= {nearest_module(parts[1:]) for parts in named}
        if isinstance(node, ast.ImportFrom):
            base = (node.module or "").split(".") if node.module else []
            if node.level:
                base = package[: len(package) - node.level + 1] + base
            elif base[:1] == [PACKAGE]:
                base = base[1:]
            else:
                continue
            found |= {nearest_module([*base, alias.name]) for alias in node.names}
    return found - {name} - {other for source, other in UPWARD if source == name}


def nearest_module(parts):
    """The longest beginning of a dotted name that is a module."""
    while parts and ".".join(parts) not in MODULES:
        parts = parts[:-1]
    return ".".join(parts)


def storey(name):
    top = name.split(".")[0]
    return next((i for i, names in enumerate(STOREYS) if top in names), None)


def test_the_reader_of_imports_sees_those_that_are_there():
    assert {"_estimators", "io"} <= imports_of("")
    assert {"_anchors", "_neighborhoods", "kernels.combine", "io"} <= imports_of("_fall")
    assert "kernels.elastic_net" in imports_of("kernels.anchors")


@pytest.mark.parametrize("name", [name for name in MODULES if name.startswith("kernels")])
def test_kernels_import_nothing_of_the_package_but_kernels(name):
    assert all(other.startswith("kernels") for other in imports_of(name))


@pytest.mark.parametrize("name", [name for name in MODULES if name and storey(name) is not None])
def test_layers_import_only_downward(name):
    for other in imports_of(name) - {""}:
        if storey(other) is not None:
            assert storey(other) <= storey(name), f"{name} imports {other}"


@pytest.mark.parametrize("name", [name for name in MODULES if name])
def test_nobody_but_the_reader_of_files_goes_through_the_door(name):
    # A file names its estimator; only the door knows all of them.
    assert "" not in imports_of(name) or name == "io" or storey(name) == len(STOREYS) - 1


@pytest.mark.parametrize(("source", "other"), UPWARD)
def test_what_goes_up_does_so_within_a_function(source, other):
    tree = ast.parse(MODULES[source].read_text())
    named = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    at_the_top = [node.module for node in tree.body if isinstance(node, ast.ImportFrom)]
    assert other in named
    assert other not in at_the_top


def test_imports_make_no_cycle():
    done, path = set(), []

    def visit(name):
        assert name not in path, " -> ".join([*path, name])
        if name in done:
            return
        path.append(name)
        for other in imports_of(name) - {""}:
            visit(other)
        done.add(path.pop())

    for name in MODULES:
        if name:
            visit(name)


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

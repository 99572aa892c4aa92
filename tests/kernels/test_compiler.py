"""Compiled code works where nothing can be written, and is kept where it can."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import locallinear

PACKAGE = Path(locallinear.__file__).parent

FIT = """
from locallinear import FALLRegressor
X = [[0.0], [1.0], [2.0], [3.0]]
model = FALLRegressor(1, n_neighbors=4, weights="uniform", anchor_l1_ratio=0.5)
print(model.fit(X, [0.0, 1.0, 2.0, 3.0]).predict([[1.5]]))
"""
KERNEL = """
import numpy
from locallinear.kernels.trees.growth import next_word
next_word(numpy.zeros(1, dtype=numpy.uint64))
"""


@pytest.fixture
def locked(tmp_path):
    """A copy of the package in which no folder for compiled code can be made, by nobody."""
    copy = tmp_path / "site" / "locallinear"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [copy, *(path for path in copy.rglob("*") if path.is_dir())]:
        (folder / "__pycache__").write_text("a file, where a folder is wanted")
    return copy


def run(code, package, **environment):
    """Run code in a process of its own whose home cannot be written."""
    path = {"PYTHONPATH": str(package.parent), "HOME": os.devnull, "XDG_CACHE_HOME": os.devnull}
    inherited = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**inherited, **path, **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done


def test_without_a_place_for_compiled_code_it_is_kept_in_memory_with_one_warning(locked):
    done = run(FIT, locked)
    assert done.stdout == "[1.5]\n"
    assert done.stderr.count("RuntimeWarning: compiled code cannot be kept") == 1
    assert "let NUMBA_CACHE_DIR name a folder" in done.stderr


def test_compiled_code_is_kept_where_the_user_says(locked, tmp_path):
    done = run(KERNEL, locked, NUMBA_CACHE_DIR=str(tmp_path / "kept"))
    assert done.stderr == ""
    assert list((tmp_path / "kept").rglob("*.nbc"))


def imports_numba(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] == "numba" for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield not node.level and node.module.split(".")[0] == "numba"


def test_every_kernel_uses_this_compiler():
    users = [path for path in PACKAGE.rglob("*.py") if any(imports_numba(path))]
    assert users == [PACKAGE / "kernels" / "compiler.py"]

"""Model files that were altered at random and have a right checksum: refused, or fully usable.

More of them: LOCALLINEAR_ALTERED=2000 pytest tests/files/test_altered_files.py.
"""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from frames import fitted_table
from locallinear import (
    FALLClassifier,
    FALLEnsembleClassifier,
    FALLEnsembleRegressor,
    FALLRegressor,
    TableClassifier,
    TableRegressor,
)

N_ALTERED = int(os.environ.get("LOCALLINEAR_ALTERED", "120"))
HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a file of each kind of estimator, feature space and neighbourhood."""
    folder = tmp_path_factory.mktemp("models")
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(40, 3))
    y, v = X.sum(axis=1), rng.uniform(0, 2, 40)
    few = {"n_anchors": 4, "n_anchor_neighbors": 8, "random_state": 0}
    kinds = ["euclidean", "learned", "forest", "boosted", "piecewise"]
    models = {kind: FALLRegressor(neighborhood=kind, **few) for kind in kinds}
    models["quantile"] = FALLRegressor(scaling="quantile", anchor_l1_ratio=0.5, **few)
    models["features"] = FALLRegressor(neighborhood="learned", neighborhood_features=[0, 2], **few)
    models["given"] = FALLRegressor(anchor_models=rng.normal(size=(3, 4, 1)), n_neighbors=3)
    for name, model in models.items():
        model.fit(X, y, v if name in ("learned", "forest") else None).save(folder / f"{name}.model")
    models["given"].forget([3]).save(folder / "forgot.model")
    together = {"n_estimators": 3, "n_neighborhoods": 2, "random_state": 0}
    labels = np.where(y > 1.5, "high", "low")
    FALLClassifier(**few).fit(X, labels).save(folder / "classes.model")
    grid = {"n_neighbors": [3, 5]}
    ensemble = FALLEnsembleRegressor(search=grid, **together).fit(X, y)
    ensemble.save(folder / "ensemble.model")
    classes = FALLEnsembleClassifier(search=grid, **together).fit(X, labels)
    classes.save(folder / "ensemble-classes.model")
    few = {"n_anchors": 4, "n_anchor_neighbors": 8}
    table = fitted_table(TableRegressor, FALLRegressor(**few), target="log")
    table.save(folder / "table.model")
    table.companion(2)
    table.save(folder / "companion.model")
    table = fitted_table(TableClassifier, FALLClassifier(**few))
    table.save(folder / "table-classes.model")
    table.companion(2)
    table.save(folder / "companion-classes.model")
    return folder


def test_an_altered_file_is_refused_or_usable(folder):
    command = [sys.executable, str(HERE / "altering.py"), str(folder), "0", str(N_ALTERED)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(HERE.parent), *sys.path])}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    lines = done.stdout.splitlines()
    broken = [line for line in lines if line.startswith("broken")]
    assert broken == []
    counts = Counter(line.split()[0] for line in lines)
    assert counts["refused"] > N_ALTERED // 3
    assert counts["usable"] > N_ALTERED // 20
    assert len(lines) == N_ALTERED

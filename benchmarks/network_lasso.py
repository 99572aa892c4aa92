"""Network lasso against the published reweighted iteration, and how it grows with n.

    OMP_NUM_THREADS=2 LOCALLINEAR_DATA=... python -m benchmarks.network_lasso

Both methods get the same graph and run in one process, so only ratios matter. Writes a section
to benchmarks/results/network_lasso.md, and the growth as a figure where matplotlib is installed.
"""

import os
import platform
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split

from locallinear._network_graph import merge_samples, neighbor_graph
from locallinear._network_lasso import NetworkLassoRegressor

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
sys.path.insert(0, str(ROOT / "tests"))
from reference_network import objective, reweighted  # noqa: E402

SMALL = ["concrete", "qsar_aquatic_toxicity", "qsar_fish_toxicity"]
LARGE = ["parkinsons", "superconductivity"]
SIZES = [1_000, 3_000, 10_000, 30_000, 100_000]


def load(name):
    """Training part of the paper's first split, raw features."""
    frame = pd.read_csv(Path(os.environ["LOCALLINEAR_DATA"]) / f"{name}.csv")
    target = "motor_UPDRS" if name == "parkinsons" else frame.columns[-1]
    dropped = ["subject#", "motor_UPDRS", "total_UPDRS"] if name == "parkinsons" else [target]
    X, y = frame.drop(columns=dropped).to_numpy(float), frame[target].to_numpy(float)
    return train_test_split(X, y, test_size=0.1, random_state=0)[::2]


def distinct_problem(X, y):
    """What the estimator minimises: distinct rows scaled by √copies, and what no model can fit."""
    node, edges, weights = neighbor_graph(X, 5)
    rows, targets, unavoidable = merge_samples(X, y[:, None], node, fit_intercept=False)
    return rows, targets, edges, weights, np.unique(node, return_index=True)[1], unavoidable


def timed(function, *arguments):
    start = time.perf_counter()
    result = function(*arguments)
    return result, time.perf_counter() - start


def fit(model, X, y):
    """Fit and say whether it converged."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    return not any(issubclass(w.category, ConvergenceWarning) for w in caught)


def against_reweighting():
    """Best of three fits against one run of the naive method."""
    rows = []
    for name in SMALL:
        X, y = load(name)
        distinct, targets, edges, weights, first, unavoidable = distinct_problem(X, y)
        for alpha in [0.01, 1, 100]:
            model = NetworkLassoRegressor(alpha, fit_intercept=False)
            seconds = min(timed(fit, model, X, y)[1] for _ in range(3))
            arguments = (distinct, targets, edges, weights, alpha)
            W, naive_seconds = timed(reweighted, *arguments)
            naive = objective(W, *arguments) + unavoidable
            ours = objective(model.coef_[first], *arguments) + unavoidable
            rows.append((name, len(X), alpha, ours, naive, seconds, naive_seconds))
            print(*rows[-1], flush=True)
    header = "| data | n | alpha | objective | naive objective | s | naive s | ratio |"
    lines = [header, "|---|---|---|---|---|---|---|---|"]
    lines += [
        f"| {name} | {n} | {alpha:g} | {ours:.6f} | {naive:.6f} | {s:.3f} | {slow:.2f} "
        f"| {slow / s:.0f} |"
        for name, n, alpha, ours, naive, s, slow in rows
    ]
    return lines


def large_sets():
    lines = [
        "| data | n | d | s | converged | gap / objective | groups | peak GB |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in LARGE:
        X, y = load(name)
        model = NetworkLassoRegressor(1.0)
        converged, seconds = timed(fit, model, X, y)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        lines.append(
            f"| {name} | {len(X)} | {X.shape[1]} | {seconds:.1f} | {converged} | "
            f"{model.duality_gap_ / model.objective_:.1e} | {np.unique(model.labels_).size} | "
            f"{peak:.2f} |"
        )
        print(lines[-1], flush=True)
    return lines


def growth():
    """Seconds from 1,000 to 100,000 samples at d = 10, and the exponent of a straight line."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(max(SIZES), 10))
    y = np.abs(X[:, 0]) + X[:, 1] * (X[:, 2] > 0) + 0.1 * rng.normal(size=len(X))
    seconds = []
    for n in SIZES:
        model = NetworkLassoRegressor(1.0)
        converged, elapsed = timed(fit, model, X[:n], y[:n])
        seconds.append(elapsed)
        print(n, elapsed, converged, model.n_iter_, flush=True)
    exponent = np.polyfit(np.log(SIZES), np.log(seconds), 1)[0]
    lines = ["| n | s |", "|---|---|"]
    lines += [f"| {n:,} | {s:.2f} |" for n, s in zip(SIZES, seconds, strict=True)]
    plot_growth(seconds, exponent)
    return [*lines, "", f"Time grows as n^{exponent:.2f}."]


def plot_growth(seconds, exponent):
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return
    figure = Figure(figsize=(5, 3.5), layout="constrained")
    axis = figure.add_subplot()
    axis.loglog(SIZES, seconds, "o-", label=f"fit, exponent {exponent:.2f}")
    axis.set(xlabel="samples", ylabel="seconds", title="Network lasso, d = 10, alpha = 1")
    axis.legend()
    figure.savefig(RESULTS / "network_lasso_growth.svg", metadata={"Date": None})


def main(parts=("small", "large", "growth")):
    sections = {
        "small": ("Against ten reweighted iterations", against_reweighting),
        "large": ("Large sets, alpha = 1, tol = 1e-4", large_sets),
        "growth": ("Growth", growth),
    }
    fit(NetworkLassoRegressor(), *load("concrete"))  # compiles
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True
    ).stdout.strip()
    lines = [
        "# Network lasso",
        "",
        f"`python -m benchmarks.network_lasso {' '.join(parts)}` at {commit or 'no commit'}, "
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}.",
    ]
    RESULTS.mkdir(exist_ok=True)
    for part in parts:
        title, run = sections[part]
        lines += ["", f"## {title}", "", *run()]
        (RESULTS / "network_lasso.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main(sys.argv[1:] or ("small", "large", "growth"))

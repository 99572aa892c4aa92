"""Network lasso beside the published reweighted iteration, on large sets, and as n grows.

Both methods get the same graph and the same distinct rows, and run in one process. The reweighted
iteration is a naive transcription and solves ten sparse systems over all coefficients. It is
measured in two forms: as the paper of the localized lasso states it (Woodbury's identity, n
right-hand sides per system), and with a direct solution, which is faster. Ours runs until its
duality gap is within `tol=1e-4`. The data are the training parts of the paper's first split, with
raw features.
"""

import resource
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split

from benchmarks._run import Table, duration, seconds, verdict
from locallinear import NetworkLassoRegressor, datasets
from locallinear.network.graph import merge_samples, neighbor_graph

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))
from reference_network import as_published, directly, objective, reweighted  # noqa: E402

LONG = True  # takes half an hour: it runs only when it is asked for by name
SMALL = {
    "Concrete": datasets.fetch_concrete,
    "Aquatic toxicity": datasets.fetch_qsar_aquatic_toxicity,
    "Fish toxicity": datasets.fetch_qsar_fish_toxicity,
}
LARGE = {
    "Parkinsons": (datasets.fetch_parkinsons, 30),
    "Superconductivity": (datasets.fetch_superconductivity, 300),
}
SIZES = [1_000, 3_000, 10_000, 30_000, 100_000]


def run() -> Iterator[Table]:
    fit(NetworkLassoRegressor(), *load(datasets.fetch_concrete))  # compiles
    yield against_reweighting()
    yield large_sets()
    yield growth()


def load(fetch):
    return train_test_split(*fetch(return_X_y=True), test_size=0.1, random_state=0)[::2]


def fit(model: NetworkLassoRegressor, X, y) -> bool:
    """Fit; returns whether it converged."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    return not any(issubclass(w.category, ConvergenceWarning) for w in caught)


def against_reweighting() -> Table:
    header = ["set", "samples", "alpha", "objective", "reweighted objective", "time"]
    header += ["published form", "ratio", "target (10)", "solved directly", "ratio", "target (10)"]
    table = Table("Against ten reweighted iterations", header)
    for name, fetch in SMALL.items():
        X, y = load(fetch)
        node, edges, weights = neighbor_graph(X, 5)
        # As in the estimator: identical rows share a model, and part of their error is unavoidable.
        rows, targets, unavoidable = merge_samples(X, y[:, None], node, fit_intercept=False)
        first = np.unique(node, return_index=True)[1]
        for alpha in (0.01, 1, 100):
            model = NetworkLassoRegressor(alpha, fit_intercept=False)
            ours = min(seconds(lambda model=model, X=X, y=y: fit(model, X, y)) for _ in range(5))
            problem = (rows, targets, edges, weights, alpha)
            (direct, W), (published, _) = (
                timed(*problem, solve=s) for s in (directly, as_published)
            )
            values = [objective(V, *problem) + unavoidable for V in (model.coef_[first], W)]
            table.rows.append(
                [
                    name,
                    str(len(X)),
                    f"{alpha:g}",
                    *(f"{value:.6g}" for value in values),
                    duration(ours),
                    *against(published, ours),
                    *against(direct, ours),
                ]
            )
    return table


def against(theirs: float, ours: float) -> list[str]:
    """Their time, its ratio to ours, and whether the ratio reaches the target."""
    ratio = theirs / ours
    return [duration(theirs), f"{ratio:.1f}", verdict(ratio, 10, at_least=True)]


def timed(*problem, solve) -> tuple[float, np.ndarray]:
    """Seconds that the reweighted iteration takes, the faster of two runs; and its models."""
    found: list[np.ndarray] = []
    runs = [seconds(lambda: found.append(reweighted(*problem, solve=solve))) for _ in range(2)]
    return min(runs), found[0]


def large_sets() -> Table:
    header = ["set", "samples", "features", "time", "converged", "gap / objective", "groups"]
    table = Table("Large sets, alpha = 1", [*header, "peak memory", "target"])
    for name, (fetch, limit) in LARGE.items():
        X, y = load(fetch)
        model, converged = NetworkLassoRegressor(1.0), []
        taken = seconds(lambda m=model, c=converged, X=X, y=y: c.append(fit(m, X, y)))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        table.rows.append(
            [
                name,
                str(len(X)),
                str(X.shape[1]),
                duration(taken),
                "yes" if converged[0] else "no",
                f"{model.duality_gap_ / model.objective_:.1e}",
                str(len(np.unique(model.labels_))),
                f"{peak:.2f} GB",
                f"{limit} s: {verdict(taken, limit)}",
            ]
        )
    return table


def growth() -> Table:
    """From 1,000 to 100,000 samples at d = 10, best of three: the exponent of a straight line."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(max(SIZES), 10))
    y = np.abs(X[:, 0]) + X[:, 1] * (X[:, 2] > 0) + 0.1 * rng.normal(size=len(X))
    table = Table("Growth, 10 features, alpha = 1", ["samples", "time"])
    times = []
    for n in SIZES:
        runs = (lambda n=n: fit(NetworkLassoRegressor(1.0), X[:n], y[:n]) for _ in range(3))
        times.append(min(map(seconds, runs)))
        table.rows.append([f"{n:,}", duration(times[-1])])
    exponent = np.polyfit(np.log(SIZES), np.log(times), 1)[0]
    plot_growth(times, exponent)
    table.note = (
        f"Time grows as the number of samples to the power {exponent:.2f} (target 1.3: "
        f"{verdict(exponent, 1.3)}). ![growth](network_lasso_growth.svg)"
    )
    return table


def plot_growth(times: list[float], exponent: float) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 3.5), layout="constrained")
    axis = figure.add_subplot()
    axis.loglog(SIZES, times, "o-", label=f"fit, exponent {exponent:.2f}")
    axis.set(xlabel="samples", ylabel="seconds", title="Network lasso, d = 10, alpha = 1")
    axis.legend()
    figure.savefig(HERE / "network_lasso_growth.svg", metadata={"Date": None})

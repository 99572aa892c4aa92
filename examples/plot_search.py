"""Which parameters matter? The scores of a whole grid as a curve and a map."""

from gallery import finish, settings
from matplotlib import pyplot as plt
from sklearn.datasets import load_diabetes

from locallinear import FALLRegressorCV, SearchDisplay


def main() -> None:
    options = settings(__doc__)
    X, y = load_diabetes(return_X_y=True)
    fewer = 3 if options.quick else 1
    grid = {
        "n_anchors": [1, 3, 10, 30, 100],
        "n_anchor_neighbors": [10, 20, 40, 80, 160][::fewer],
        "anchor_alpha": [0.001, 0.01, 0.1, 1.0][::fewer],
        "alpha": [0.1, 1.0, 10.0, 100.0, 1000.0],
        "n_neighbors": [2, 5, 10, 20, 40, 80],
    }
    search = FALLRegressorCV(grid, random_state=0).fit(X, y)
    print(f"{search.n_configurations_:,} configurations; the best: {search.best_params_}")
    figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    SearchDisplay.from_estimator(search, "n_neighbors").plot(ax=axes[0])
    SearchDisplay.from_estimator(search, "n_neighbors", "n_anchor_neighbors").plot(ax=axes[1])
    finish(options.out, search=figure)


if __name__ == "__main__":
    main()

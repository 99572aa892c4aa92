"""What local linear models are and what they are good for, in half a minute.

1. FALL against KNN and ridge on the diabetes data of scikit-learn, by cross-validation.
2. The exact linear model behind one prediction, in the units of the data.
3. The step function of the paper, as a picture: data, anchors, clusters, predictions.
"""

import argparse
from pathlib import Path

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GridSearchCV, KFold, RepeatedKFold, cross_validate
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from locallinear import FALLRegressor

FEATURES = {
    "age": "age, years",
    "sex": "sex, 1 or 2",
    "bmi": "body mass index, kg/m²",
    "bp": "blood pressure, mm Hg",
    "s1": "total cholesterol, mg/dl",
    "s2": "LDL, mg/dl",
    "s3": "HDL, mg/dl",
    "s4": "total cholesterol / HDL",
    "s5": "log of triglycerides",
    "s6": "blood sugar, mg/dl",
}

# Okabe and Ito's palette, which colour-blind readers can tell apart.
BLUE, ORANGE, GREEN, INK, PALE = "#0072B2", "#D55E00", "#009E73", "#333333", "#C4C4C4"
MARKS = ((BLUE, "o"), (ORANGE, "s"))  # of each anchor: colour, and shape for print


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("demo"), help="folder of the picture")
    out = parser.parse_args().out
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    X = X.rename(columns=FEATURES)
    compare(X, y)
    explain_one(X, y)
    out.mkdir(parents=True, exist_ok=True)
    picture = out / "step-function.png"
    draw_step_function(picture)
    print(f"\nThe step function of the paper, step by step: {picture}")


# --- 1. How good ---------------------------------------------------------------------------------


def tuned_fall() -> GridSearchCV:
    grid = {"n_neighbors": [10, 20, 40], "n_anchor_neighbors": [50, 150], "alpha": [1, 10, 100]}
    fall = FALLRegressor(n_anchors=50, anchor_alpha=0.1, random_state=0)
    return GridSearchCV(fall, grid, cv=KFold(5, shuffle=True, random_state=0))


def candidates() -> dict[str, GridSearchCV | Pipeline]:
    knn = Pipeline([("scale", StandardScaler()), ("knn", KNeighborsRegressor(weights="distance"))])
    return {
        "ridge: one linear model for all": make_pipeline(
            StandardScaler(), RidgeCV(np.logspace(-3, 3, 13))
        ),
        "KNN: the neighbours' values": GridSearchCV(
            knn,
            {"knn__n_neighbors": [5, 10, 20, 40]},
            cv=KFold(5, shuffle=True, random_state=0),
        ),
        "FALL: the neighbours' linear models": tuned_fall(),
    }


def compare(X, y) -> None:
    folds = RepeatedKFold(n_splits=5, n_repeats=2, random_state=0)
    print(
        f"Diabetes: {len(X)} patients, {X.shape[1]} measurements; the target is a score of the\n"
        f"disease one year later, from {y.min():.0f} to {y.max():.0f}. Five-fold cross-validation, "
        "twice; every\nmodel is tuned inside the training folds.\n"
    )
    print(f"{'':36} {'R²':>5}   {'mean absolute error':>19}")
    for name, model in candidates().items():
        scores = cross_validate(
            model, X, y, cv=folds, scoring=("r2", "neg_mean_absolute_error"), error_score="raise"
        )
        error = -scores["test_neg_mean_absolute_error"]
        print(
            f"{name:36} {scores['test_r2'].mean():5.2f}   {error.mean():11.1f} ± {error.std():.1f}"
        )
    print(
        "\n± is the spread over the folds. These data are close to linear, so that ridge is hard\n"
        "to beat here; what FALL adds is a model of its own for every patient."
    )


# --- 2. Why --------------------------------------------------------------------------------------


def explain_one(X, y, patient: int = 0) -> None:
    others = X.index != patient
    model = tuned_fall().fit(X[others], y[others]).best_estimator_
    query, mean = X.loc[[patient]], X[others].mean()
    explanation = model.explain(query)
    coef = explanation.coef[0, :, 0]
    effect = coef * (query.iloc[0] - mean)
    prediction, measured = float(explanation.prediction[0]), y[patient]

    print(
        f"\nPatient {patient}, left out of the fit: predicted {prediction:.1f}, measured "
        f"{measured:.0f}. The prediction is this\nlinear model, exactly:\n"
    )
    print(f"{'':26} {'patient':>8} {'average':>8} {'per unit':>9} {'effect':>8}")
    for name in effect.abs().sort_values(ascending=False).index:
        j = X.columns.get_loc(name)
        print(
            f"{name:26} {query.iloc[0][name]:8.1f} {mean[name]:8.1f} {coef[j]:+9.3f} "
            f"{effect[name]:+8.1f}"
        )
    print(f"{'all effects together':53} {effect.sum():+8.1f}")
    print(f"{'the same model for the average patient':53} {prediction - effect.sum():8.1f}")
    print(f"{'prediction':53} {prediction:8.1f}")

    by_hand = explanation.intercept[0, 0] + coef @ query.iloc[0]
    np.testing.assert_allclose(by_hand, model.predict(query)[0])
    n_clusters, n_anchors = len(set(explanation.neighbor_labels[0])), len(model.anchor_models_)
    print(
        f"\nIt is the average of the models of the {model.n_neighbors} patients most like this "
        f"one,\nwho belong to {n_clusters} of {n_anchors} clusters. Worked out by hand, it gives "
        "what predict gives."
    )


# --- 3. How --------------------------------------------------------------------------------------


def step(x):
    return np.where((x > 3.5) & (x < 6.5), 2.0, 1.0)


def step_models(lambdas, n_near: int = 12) -> tuple[np.ndarray, np.ndarray, list[FALLRegressor]]:
    """Noisy samples of a step, and FALL on them with two anchors and each penalty λ."""
    rng = np.random.default_rng(5)
    x = np.linspace(0.0, 10.0, 80) + rng.uniform(-0.06, 0.06, 80)
    y = step(x) + rng.normal(scale=0.13, size=x.size)
    models = [
        FALLRegressor(
            anchor_selection=[[1.8], [5.0]],
            n_anchor_neighbors=n_near,
            anchor_alpha=1000 / n_near,  # the paper's ridge, α = 1000, in ElasticNet's scaling
            alpha=alpha,
            n_neighbors=3,
            scaling=None,
        ).fit(x[:, None], y)
        for alpha in lambdas
    ]
    return x, y, models


def draw_step_function(path: Path) -> None:
    import matplotlib.pyplot as plt

    lambdas = (0.1, 30.0, 10_000.0)
    x, y, models = step_models(lambdas)
    grid = np.linspace(0, 10, 2001)
    with plt.rc_context({"font.size": 11, "axes.titlesize": 12, "axes.titlelocation": "left"}):
        figure, axes = plt.subplots(2, 2, figsize=(10, 6), sharex=True, sharey=True, dpi=120)
        for axis in axes.flat:
            axis.spines[["top", "right"]].set_visible(False)
        draw_data(axes[0, 0], x, y, grid)
        draw_anchors(axes[0, 1], x, y, grid, models[0])
        draw_clusters(axes[1, 0], x, y, models[0])
        draw_predictions(axes[1, 1], x, y, grid, dict(zip(lambdas, models, strict=True)))
        axes[0, 0].set(xlim=(-0.2, 10.2), ylim=(0.55, 2.7))
        for axis in axes[1]:
            axis.set_xlabel("x")
        for axis in axes[:, 0]:
            axis.set_ylabel("y")
        figure.tight_layout()
        figure.savefig(path)
        plt.close(figure)


def draw_data(axis, x, y, grid) -> None:
    axis.set_title("1  Noisy samples of a step")
    axis.plot(x, y, ".", color=INK, label="samples")
    axis.plot(grid, step(grid), color=GREEN, lw=2, label="truth")
    axis.legend(frameon=False, loc="upper right")


def draw_anchors(axis, x, y, grid, model) -> None:
    axis.set_title("2  Anchors: linear models of two places")
    axis.plot(x, y, ".", color=PALE)
    lines = model.anchor_models_[:, :, 0]
    for number, (color, marker) in enumerate(MARKS):
        point, (slope, intercept) = model.anchor_points_[number, 0], lines[number]
        near = np.argsort(np.abs(x - point))[: model.n_anchor_neighbors]
        axis.axvspan(x[near].min(), x[near].max(), color=color, alpha=0.12, lw=0)
        axis.plot(grid, slope * grid + intercept, color=color, lw=2)
        axis.plot(x[near], y[near], marker, ms=5, color=color)
        axis.plot(point, slope * point + intercept, "*", ms=20, color=color, mec="white", mew=1.2)
        axis.text(point, 2.5, f"anchor {number + 1}", color=color, ha="center")


def draw_clusters(axis, x, y, model) -> None:
    axis.set_title("3  Clusters: each sample's best anchor")
    for number, (color, marker) in enumerate(MARKS):
        mine = model.labels_ == number
        axis.plot(x[mine], y[mine], marker, ms=5, color=color, label=f"of anchor {number + 1}")
    axis.legend(frameon=False, loc="upper right")


def draw_predictions(axis, x, y, grid, models) -> None:
    axis.set_title("4  Predictions: λ pulls to the anchors")
    axis.plot(x, y, ".", color=INK, ms=4)
    styles = [(PALE, 3.0), ("#56B4E9", 1.8), ("#000000", 1.2)]
    for (alpha, model), (color, width) in zip(models.items(), styles, strict=True):
        line = model.predict(grid[:, None])
        axis.plot(grid, line, color=color, lw=width, label=f"λ = {alpha:,g}")
    axis.legend(frameon=False, loc="upper right")


if __name__ == "__main__":
    main()

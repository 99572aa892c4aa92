"""What makes concrete strong? Regimes, equations and effects from 1,030 measurements.

The data are mixes of Yeh (1998): seven ingredients in kg/m³, the age in days and the strength in
MPa. The first run downloads them and keeps them; `docs/datasets.md` says where.
"""

import sys

import numpy as np
import pandas as pd
from gallery import finish, settings
from sklearn.linear_model import RidgeCV
from sklearn.metrics import root_mean_squared_error
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from locallinear import FALLRegressorCV, LocalExplanation
from locallinear.datasets import fetch_concrete
from locallinear.explain import AlphaPathDisplay, CoefficientDisplay, RegimeDisplay

# Few regimes, with equations in the units of the data that a reader can follow.
READABLE = {
    "n_anchors": [6, 10],
    "n_anchor_neighbors": [40, 80, 160],
    "anchor_alpha": [0.01, 0.1],
    "alpha": [1.0, 10.0, 100.0],
    "n_neighbors": [5, 8, 12],
    "assignment_neighbors": [15],
    "neighborhood": ["learned"],
}


def main() -> None:
    options = settings(__doc__)
    X, y = load()
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=0)
    grid = {name: values[:1] for name, values in READABLE.items()} if options.quick else READABLE
    model = FALLRegressorCV(grid, random_state=0).fit(X_train, y_train)

    print_errors(model, X_train, X_test, y_train, y_test)
    regimes = RegimeDisplay.from_estimator(model).plot(max_regimes=6)
    print("\nThe largest regimes, each with one equation:")
    for size, equation in list(zip(regimes.sizes, regimes.equations, strict=True))[:3]:
        print(f"  {size} mixes: {equation}")
    why = model.explain(X_test)
    print_effects(why, X)

    age = CoefficientDisplay.from_estimator(model, X_test, "age (days)").plot()
    water = CoefficientDisplay.from_estimator(model, X_test, "water").plot()
    print_effect_of_age(age)
    # The strongest mix whose model averages several neighbours: no training mix equals it.
    averaged = why.neighbor_weights.min(axis=1) > 0.05
    strongest = int(np.argmax(np.where(averaged, why.prediction, 0)))
    waterfall = why.plot(strongest)
    corrected = largest_correction(model, X_train)
    path = AlphaPathDisplay.from_estimator(model, X_train, y_train, row=corrected).plot()
    finish(
        options.out,
        concrete_regimes=regimes.figure_,
        concrete_age=age.figure_,
        concrete_water=water.figure_,
        concrete_strongest=waterfall.figure_,
        concrete_alpha=path.figure_,
    )


def load() -> tuple[pd.DataFrame, pd.Series]:
    try:
        X, y = fetch_concrete(return_X_y=True, as_frame=True)
    except OSError as error:
        sys.exit(f"The data are not available: {error}")
    names = {"age_day": "age (days)"}
    X = X.rename(columns=lambda name: names.get(name, name.replace("_", " ")))
    return X, y.rename("strength (MPa)")


def print_errors(
    model: FALLRegressorCV,
    X_train: pd.DataFrame,
    X_test: pd.DataFrame,
    y_train: pd.Series,
    y_test: pd.Series,
) -> None:
    rivals = {
        "FALL": model,
        "KNN": make_pipeline(StandardScaler(), KNeighborsRegressor(5, weights="distance")),
        "ridge": make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 3, 7))),
    }
    print(f"Error on {len(X_test)} mixes that no model has seen (root mean square, in MPa):")
    for name, rival in rivals.items():
        fitted = rival if rival is model else rival.fit(X_train, y_train)
        print(f"  {name:6} {root_mean_squared_error(y_test, fitted.predict(X_test)):.1f}")


def print_effects(why: LocalExplanation, X: pd.DataFrame) -> None:
    """Print what one standard deviation more of each feature changes, in the models of all rows."""
    steps = pd.DataFrame(why.coef[:, :, 0] * X.std().to_numpy(), columns=X.columns)
    table = steps.quantile([0.1, 0.5, 0.9]).T
    table = table.loc[table[0.5].abs().sort_values(ascending=False).index]
    print("\nOne standard deviation more of a feature changes the strength by this many MPa")
    print("(quantiles over the mixes):")
    print(table.to_string(float_format="{:+.1f}".format, header=["10 %", "50 %", "90 %"]))


def print_effect_of_age(age: CoefficientDisplay) -> None:
    young, old = age.values <= 14, age.values >= 90
    print(
        f"\nOne day more adds {np.median(age.coef[young]):.2f} MPa to a mix of up to 14 days, and "
        f"{np.median(age.coef[old]):.3f} MPa to a mix of 90 days or more."
    )


def largest_correction(model: FALLRegressorCV, X: pd.DataFrame) -> int:
    """The mix whose model is furthest from the equation of its regime."""
    part = model.explain(X).correction_part[:, :, 0]
    correction = (part[:, :-1] * X.to_numpy()).sum(axis=1) + part[:, -1]
    return int(np.argmax(np.abs(correction)))


if __name__ == "__main__":
    main()

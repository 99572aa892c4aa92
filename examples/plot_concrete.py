"""What makes concrete strong? From the raw measurements to insight.

1,030 mixes of Yeh (1998): seven ingredients in kg/m³, the age in days, and the strength in MPa.
The data are fetched on the first run and kept; `docs/datasets.md` says where.
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

from locallinear import FALLRegressorCV
from locallinear.datasets import fetch_concrete
from locallinear.explain import AlphaPathDisplay, CoefficientDisplay, RegimeDisplay

# Few regimes, in the units of the data: an equation each that can be read.
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

    how_good(model, X_train, X_test, y_train, y_test)
    regimes = RegimeDisplay.from_estimator(model).plot(max_regimes=6)
    print("\nThe largest regimes, each with one equation:")
    for size, equation in list(zip(regimes.sizes, regimes.equations, strict=True))[:3]:
        print(f"  {size} mixes: {equation}")
    why = model.explain(X_test)
    drivers(why, X)

    age = CoefficientDisplay.from_estimator(model, X_test, "age (days)").plot()
    water = CoefficientDisplay.from_estimator(model, X_test, "water").plot()
    say_where_age_changes(age)
    # The strongest of the mixes that no other equals: its model averages several neighbours.
    alone = why.neighbor_weights.min(axis=1) > 0.05
    strongest = int(np.argmax(np.where(alone, why.prediction, 0)))
    waterfall = why.plot(strongest)
    odd = furthest_from_its_equation(model, X_train)
    path = AlphaPathDisplay.from_estimator(model, X_train, y_train, row=odd).plot()
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
        sys.exit(f"The data cannot be had: {error}")
    names = {"age_day": "age (days)"}
    X = X.rename(columns=lambda name: names.get(name, name.replace("_", " ")))
    return X, y.rename("strength (MPa)")


def how_good(model, X_train, X_test, y_train, y_test) -> None:
    rivals = {
        "FALL": model,
        "KNN": make_pipeline(StandardScaler(), KNeighborsRegressor(5, weights="distance")),
        "ridge": make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 3, 7))),
    }
    print(f"Error on {len(X_test)} mixes that no model has seen (root mean square, in MPa):")
    for name, rival in rivals.items():
        fitted = rival if rival is model else rival.fit(X_train, y_train)
        print(f"  {name:6} {root_mean_squared_error(y_test, fitted.predict(X_test)):.1f}")


def drivers(why, X) -> None:
    """The effect of a usual step of each feature, in the models of all rows."""
    steps = pd.DataFrame(why.coef[:, :, 0] * X.std().to_numpy(), columns=X.columns)
    table = steps.quantile([0.1, 0.5, 0.9]).T
    table = table.loc[table[0.5].abs().sort_values(ascending=False).index]
    print("\nOne standard deviation more changes the strength by so many MPa (of ten mixes, the")
    print("second lowest, the middle and the second highest):")
    print(table.to_string(float_format="{:+.1f}".format, header=["low", "middle", "high"]))


def say_where_age_changes(age: CoefficientDisplay) -> None:
    young, old = age.values <= 14, age.values >= 90
    print(
        f"\nA day more adds {np.median(age.coef[young]):.2f} MPa to a mix of up to 14 days, and "
        f"{np.median(age.coef[old]):.3f} MPa to one of 90 or more: the effect of age changes."
    )


def furthest_from_its_equation(model, X) -> int:
    """The mix that its regime's equation alone would miss by most."""
    part = model.explain(X).correction_part[:, :, 0]
    correction = (part[:, :-1] * X.to_numpy()).sum(axis=1) + part[:, -1]
    return int(np.argmax(np.abs(correction)))


if __name__ == "__main__":
    main()

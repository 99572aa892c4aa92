"""Why does a model expect this patient to get worse? The explanation of one prediction.

Diabetes data of scikit-learn: ten measurements, and the progression of the disease in one year. The
prediction for a patient is one linear model: the average of the models of similar patients.
"""

import numpy as np
from gallery import finish, settings
from sklearn.datasets import load_diabetes

from locallinear import FALLRegressor
from locallinear.explain import CoefficientDisplay, PredictionDisplay

NAMES = {
    "bmi": "body mass index",
    "bp": "blood pressure",
    "s1": "total cholesterol",
    "s2": "LDL",
    "s3": "HDL",
    "s4": "cholesterol / HDL",
    "s5": "log of triglycerides",
    "s6": "blood sugar",
}


def main() -> None:
    out = settings(__doc__).out
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    X, y = X.rename(columns=NAMES), y.rename("progression in a year")
    model = FALLRegressor(
        n_anchors=20, n_anchor_neighbors=120, anchor_alpha=0.1, n_neighbors=25, random_state=0
    ).fit(X[40:], y[40:])

    patients = X[:40]
    why = model.explain(patients)
    patient = int(np.argmax(why.prediction))
    lines = why.to_frame().loc[patients.index[patient]]
    print(f"Patient {patient}: predicted {why.prediction[patient]:.0f}, measured {y[patient]:.0f}")
    print(lines.droplevel("target").to_string(float_format="{:.2f}".format))
    by_hand = (lines["coef"] * lines["value"].fillna(1)).sum()
    print(f"The sum of value times coefficient: {by_hand:.0f}")

    finish(
        out,
        patient=why.plot(patient).figure_,
        patient_body_mass=CoefficientDisplay.from_estimator(model, X, "body mass index")
        .plot(max_regimes=5)
        .figure_,
        patient_predictions=PredictionDisplay.from_estimator(model, patients, y[:40])
        .plot()
        .figure_,
    )


if __name__ == "__main__":
    main()

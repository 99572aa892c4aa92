"""Why is this wine a Barolo? Explanations of a classifier.

Each class has a linear score: what adds to the score of the predicted class and of the second one.
"""

import numpy as np
from gallery import finish, settings
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

from locallinear import FALLClassifier
from locallinear.explain import ContributionDisplay, RegimeDisplay

GRAPES = np.array(["Barolo", "Grignolino", "Barbera"])


def main() -> None:
    out = settings(__doc__).out
    X, number = load_wine(return_X_y=True, as_frame=True)
    X = X.rename(columns=lambda name: name.replace("_", " ").replace("od280/od315 of ", ""))
    grape = GRAPES[number]
    X_train, X_test, y_train, y_test = train_test_split(X, grape, random_state=0, stratify=grape)
    model = FALLClassifier(
        n_anchors=6, n_anchor_neighbors=50, anchor_alpha=0.1, n_neighbors=10, random_state=0
    ).fit(X_train, y_train)
    print(
        f"{model.score(X_test, y_test):.0%} of {len(X_test)} unseen wines are classified correctly."
    )

    probabilities = model.predict_proba(X_test)
    least_certain = int(np.argmin(probabilities.max(axis=1)))
    order = np.argsort(-probabilities[least_certain])
    print("The least certain prediction:")
    for c in order:
        print(f"  {model.classes_[c]:10} {probabilities[least_certain, c]:.0%}")
    first, second = (
        ContributionDisplay.from_estimator(model, X_test, row=least_certain, target=int(c)).plot(
            max_features=6
        )
        for c in order[:2]
    )
    regimes = RegimeDisplay.from_estimator(model, target=int(order[0])).plot()
    finish(
        out,
        classes_first=first.figure_,
        classes_second=second.figure_,
        classes_regimes=regimes.figure_,
    )


if __name__ == "__main__":
    main()

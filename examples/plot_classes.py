"""Why is this wine a Barolo, and not another? Classes with a reason each.

A linear score a class: what adds to the predicted one, and what speaks for the next best.
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
    print(f"{model.score(X_test, y_test):.0%} of {len(X_test)} unseen wines are named rightly.")

    chances = model.predict_proba(X_test)
    doubtful = int(np.argmin(chances.max(axis=1)))
    order = np.argsort(-chances[doubtful])
    for place in order:
        print(f"  {model.classes_[place]:10} {chances[doubtful, place]:.0%}")
    first, second = (
        ContributionDisplay.from_estimator(model, X_test, row=doubtful, target=int(t)).plot(
            max_features=6
        )
        for t in order[:2]
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

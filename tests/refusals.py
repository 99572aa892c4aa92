"""What the tests of bad input share: data without fault, and the message of a refusal."""

import numpy as np
import pytest

from locallinear import FALLClassifier, FALLRegressor

ESTIMATORS = [FALLRegressor, FALLClassifier]


def data(n=40, d=3):
    """Inputs without fault, and two classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, (X[:, 0] > 0).astype(int)


def message(estimator, X, y, method="fit", options=None, **arguments):
    """The error message of fitting with these options."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        getattr(estimator(**(options or {})), method)(X, y, **arguments)
    return str(caught.value)

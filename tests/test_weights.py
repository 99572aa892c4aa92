"""Sample weights count samples, in all that is learned from them: fits, errors, tables, pages."""

from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from locallinear import FALLClassifier, FALLRegressor

RNG = np.random.default_rng(0)
N, N_WILD = 90, 100
X, Q = RNG.normal(size=(N, 3)), RNG.normal(size=(12, 3))
Y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * RNG.normal(size=N)
LABELS = np.where(Y > 0, "up", "down")
GROUPS = np.arange(N) // 9

# Rows that are far away, in a range of their own, and whose targets are anything.
WILD_X, WILD_Y = 1e4 + 1e3 * RNG.normal(size=(N_WILD, 3)), 1e6 * RNG.normal(size=N_WILD)
WILD_LABELS = RNG.choice(["up", "down"], N_WILD)
ALL_GROUPS = np.concatenate([GROUPS, RNG.integers(0, 30, N_WILD)])
WEIGHTS = np.repeat([1.0, 0.0], [N, N_WILD])


def assert_equal(one, other):
    """Numbers are equal up to rounding, and texts are the same, at all depths."""
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        one, other = list(one.values()), list(other.values())
    if isinstance(one, list | tuple):
        assert len(one) == len(other)
        for pair in zip(one, other, strict=True):
            assert_equal(*pair)
        return
    one, other = np.asarray(one), np.asarray(other)
    if one.dtype.kind in "biuf":
        assert_allclose(other, one, rtol=1e-6, atol=1e-9)
    else:
        assert_array_equal(other, one)


def small(**options):
    given = {"n_anchors": 8, "n_neighbors": 6, "n_anchor_neighbors": 20, "random_state": 0}
    return FALLRegressor(**given | options)


# By name: the model, and what to ask it. `groups` are those of the samples.
MODELS = {
    "euclidean": small,
    "learned": lambda: small(neighborhood="learned", scaling=None),
    "forest": lambda: small(neighborhood="forest", scaling="quantile"),
    "boosted": lambda: small(neighborhood="boosted"),
    "piecewise": lambda: small(neighborhood="piecewise"),
    "classes": lambda: FALLClassifier(8, n_neighbors=6, neighborhood="boosted", random_state=0),
}


@cache
def fitted(name):
    """The model fitted without and with the wild rows, which have weight 0."""
    y, wild = (LABELS, WILD_LABELS) if "classes" in name else (Y, WILD_Y)
    alone = MODELS[name]().fit(X, y)
    both = np.vstack([X, WILD_X]), np.concatenate([y, wild])
    return alone, MODELS[name]().fit(*both, sample_weight=WEIGHTS)


def interval(model, groups):
    return model.predict_interval(Q, 0.8), model.predict_interval(Q, 0.8, groups=groups)


def with_a_guarantee(model, groups):
    options = {"method": "cv+", "groups": groups}
    return model.predict_interval(Q, 0.8, method="cv+"), model.predict_interval(Q, 0.8, **options)


def extremes(model, groups):
    return model.predict_quantiles(Q, [1e-3, 0.999])


def novelty(model, groups):
    return model.novelty(Q)


def errors_of_coefficients(model, groups):
    why = model.explain(Q)
    return why.coef_std, why.slopes_std, why.baseline


def influence(model, groups):
    own = model.degrees_of_freedom(without_itself=True)
    return model.influence(Q).toarray()[:, :N], model.degrees_of_freedom(), own


def sets(model, groups):
    return model.predict_set(Q, 0.8), model.predict_proba(Q), model.novelty(Q)


ANSWERS = [
    *(
        (name, ask)
        for name in ("euclidean", "learned", "forest", "boosted", "piecewise")
        for ask in (interval, novelty)
    ),
    *(("euclidean", ask) for ask in (with_a_guarantee, extremes, influence)),
    ("learned", errors_of_coefficients),
    ("classes", sets),
]


@pytest.mark.parametrize(("name", "ask"), ANSWERS)
def test_rows_of_weight_zero_change_nothing(name, ask):
    alone, both = fitted(name)
    assert_equal(ask(alone, GROUPS), ask(both, ALL_GROUPS))


def test_groups_of_samples_without_weight_are_none():
    _, both = fitted("euclidean")
    with pytest.raises(ValueError, match=r"at least two groups, but all samples \(with"):
        both.predict_interval(Q, 0.8, groups=WEIGHTS)


def test_intervals_with_a_guarantee_need_only_as_many_samples_as_have_weight():
    weights = np.zeros(400)
    weights[::10] = 1.0
    x = np.random.default_rng(0).normal(size=(400, 2))
    model = small().fit(x, x[:, 0], sample_weight=weights)
    alone = small().fit(x[::10], x[::10, 0])
    found = model.predict_interval(Q[:, :2], 0.8, method="cv+")
    assert_allclose(found, alone.predict_interval(Q[:, :2], 0.8, method="cv+"))

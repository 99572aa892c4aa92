"""A model beside the laws that made its table: what is compared is what was meant."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from locallinear import FALLRegressor, TableRegressor
from locallinear.cli.laws import check_laws, law_lines
from locallinear.datasets import make_rentals


def model_of(simulated, **options):
    fall = FALLRegressor(**{"n_anchors": 20, "random_state": 0, **options})
    return TableRegressor(fall, target="identity").fit(simulated.frame, "rentals")


@pytest.fixture(scope="module")
def new():
    return make_rentals(200, random_state=1)


@pytest.fixture(scope="module")
def simulated():
    return make_rentals(400, random_state=0)


@pytest.fixture(scope="module")
def model(simulated):
    return model_of(simulated)


def test_each_number_is_that_of_a_loop_over_rows(model, simulated, new):
    found, why = check_laws(model, simulated, new), model.explain(new.data)
    names = why.feature_names
    for law in range(3):
        rows = np.flatnonzero(new.law == law)
        assert found.rows[law] == len(rows)
        assert_allclose(found.means[law], [new.truth[rows].mean(), why.prediction[rows].mean()])
        for s, name in enumerate(new.slope_names):
            said = np.mean([why.coef[i, names.index(name), 0] for i in rows])
            assert_allclose(found.slopes[law, s], [new.slopes[name][rows].mean(), said])
    same = [
        sum(w for j, w in zip(near, weights, strict=True) if simulated.law[j] == law)
        for near, weights, law in zip(why.neighbors, why.neighbor_weights, new.law, strict=True)
    ]
    assert found.same_law == pytest.approx(np.mean(same))


def test_a_linear_model_finds_a_law_that_is_linear():
    # The hours of the night alone: one law, which is linear.
    many = make_rentals(4000, noise=0, missing=0, random_state=0)
    night = np.flatnonzero(many.law == 0)
    for name in ("data", "frame", "slopes"):
        many[name] = many[name].iloc[night].reset_index(drop=True)
    many.truth, many.law = many.truth[night], many.law[night]
    many.law_names = many.law_names[:1]
    linear = {"n_anchors": 1, "n_anchor_neighbors": 4000, "anchor_alpha": 1e-9, "alpha": 1e6}
    found = check_laws(model_of(many, **linear), many, many)
    assert_allclose(found.slopes[0, :, 1], [0, 1.5, 0, 0], atol=1e-4)
    assert found.explained == pytest.approx(1)
    assert (found.same_law, found.by_chance, found.pure) == (pytest.approx(1), 1, 1)


def test_neighbours_at_random_follow_the_same_law_as_often_as_said(model, simulated, new):
    found = check_laws(model, simulated, new)
    pairs = simulated.law[:, None] == new.law
    assert found.by_chance == pytest.approx(pairs.mean())
    assert found.by_chance < found.same_law <= 1
    assert 1 / 3 < found.pure <= 1


def test_the_lines_fit_a_terminal_and_name_each_law(model, simulated, new):
    lines = law_lines(model, simulated, new)
    assert max(map(len, lines)) <= 100
    for name in new.law_names:
        assert sum(line.startswith(f"  {name} ") for line in lines) == 1

"""FALLRegressor against the paper written naively, over all options."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import random_array

from locallinear import FALLRegressor
from reference import ReferenceFALL

PRECISION = 1e-9


def assert_equal(actual, expected, precision=PRECISION):
    """Equal relative to the largest entry of the expected array."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape
    gap = np.abs(actual - expected).max()
    assert gap <= precision * max(np.abs(expected).max(), 1e-300), gap


@dataclass
class Problem:
    """A drawn problem: data as the user passes them, and all options."""

    X: np.ndarray
    Y: np.ndarray
    queries: np.ndarray
    sample_weight: np.ndarray | None
    graph: Any
    selection: Any
    n_anchors: int
    options: dict
    seed: int

    def fit(self):
        """The estimator and the reference, fitted; the labels of ties are the estimator's."""
        model = FALLRegressor(
            self.n_anchors,
            anchor_selection=self.selection,
            random_state=self.seed,
            **self.options,
        )
        model.fit(self.X, self.Y, self.sample_weight, self.graph)
        X, Y = self.X.astype(float), self.Y.astype(float)
        oracle = ReferenceFALL(anchor_points=self.points(X, model), **self.options)
        oracle.fit(X, Y.reshape(len(X), -1), self.sample_weight, self.graph)
        return model, oracle

    def points(self, X, model):
        """Anchor points, chosen anew where they are random."""
        if isinstance(self.selection, str) and self.selection == "random":
            if self.sample_weight is not None:
                X = X[self.sample_weight > 0]
            distinct = np.unique(X, axis=0)
            order = np.random.RandomState(self.seed).permutation(len(distinct))
            return distinct[order[: self.n_anchors]]
        return model.anchor_points_


@st.composite
def problems(draw):
    n, d, m = draw(st.integers(6, 40)), draw(st.integers(1, 5)), draw(st.integers(1, 3))
    seed = draw(st.integers(0, 2**31))
    rng = np.random.default_rng(seed)
    scaling = draw(st.sampled_from([None, "standard", "quantile"]))
    # Ties are exact, and so decided alike, only between whole numbers and between equal rows;
    # equal steps of the quantile ranks are avoided by uneven weights.
    kind = draw(st.sampled_from(["smooth", "repeated"] + ["grid"] * (scaling is None)))
    weighting = draw(st.sampled_from(["none", "whole", "uneven"]))
    if scaling == "quantile":
        weighting = "uneven"
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-1, 2, d) + rng.normal(size=d)
    if kind == "repeated":
        X = X[rng.integers(0, n, n)]
    if kind == "grid":
        X = rng.integers(-2, 3, size=(n, d))
    else:
        X = X.astype(draw(st.sampled_from([np.float64, np.float32])))
    Y = np.sin(X.astype(float) @ rng.normal(size=(d, m))) + rng.normal(size=(n, m))
    queries = np.vstack([rng.normal(size=(6, d)) * 3, X[rng.integers(0, n, 3)]])
    weights = {
        "none": None,
        "whole": rng.permutation(np.resize([0.0, 1, 1, 2, 3], n)),
        "uneven": rng.uniform(0.1, 2.5, n) * (rng.uniform(size=n) > 0.1 * (n > 20)),
    }[weighting]
    available = n if weights is None else int((weights > 0).sum())
    graph = None
    if draw(st.booleans()) and draw(st.booleans()):
        graph = random_array((n, n), density=0.3, random_state=rng, format="coo")
    selections = ["random", X[:4].astype(float)]
    if graph is None and kind != "grid":
        selections += ["kmeans", rng.normal(size=(3, d))]
    # The lasso is unique, and can be compared, only where no two features agree in size.
    lasso = 0.999 if kind == "grid" or scaling == "quantile" else 1.0
    options = {
        "n_anchor_neighbors": draw(st.integers(1, 45)),
        "anchor_alpha": draw(st.sampled_from([0.01, 0.1, 1.0, 10.0])),
        "anchor_l1_ratio": draw(st.sampled_from([0.0, 0.3, 0.9, lasso])),
        "alpha": draw(st.sampled_from([1e-3, 0.1, 1.0, 100.0])),
        "n_neighbors": draw(st.integers(1, min(available, 12))),
        "weights": draw(st.sampled_from(["distance", "uniform", lambda d: np.exp(-d)])),
        "fit_intercept": draw(st.booleans()),
        "scaling": scaling,
        "assignment_neighbors": draw(st.sampled_from([1, 1, 2, 5, 50])),
    }
    if draw(st.integers(0, 5)) == 0:
        options["anchor_models"] = rng.normal(size=(4, d + 1, m))
    if graph is not None and weights is not None:
        selections = ["random"]
    return Problem(
        X=X,
        Y=Y[:, 0] if m == 1 and draw(st.booleans()) else Y,
        queries=queries,
        sample_weight=weights,
        graph=graph,
        selection=draw(st.sampled_from(selections)),
        n_anchors=draw(st.integers(1, 10)),
        options=options,
        seed=seed,
    )


def in_units(oracle, models):
    return np.array([oracle.space.to_units(W) for W in models])


def follow_ties(oracle, labels):
    """Check that the labels are optimal, and let the oracle use them where several are."""
    chosen = np.take_along_axis(oracle.errors, labels[:, None], axis=1)[:, 0]
    scale = np.abs(oracle.errors).max()
    assert (chosen <= oracle.errors.min(axis=1) + PRECISION * scale).all()
    return oracle.make_models(labels)


@settings(max_examples=120)
@given(problems())
def test_anchor_models_equal_the_reference(problem):
    model, oracle = problem.fit()
    assert_equal(model.anchor_models_, in_units(oracle, oracle.anchors))


@settings(max_examples=120)
@given(problems())
def test_labels_and_local_models_equal_the_reference(problem):
    model, oracle = problem.fit()
    follow_ties(oracle, model.labels_)
    assert_equal(model.local_models(), in_units(oracle, oracle.models))


@settings(max_examples=120)
@given(problems())
def test_predictions_equal_the_reference(problem):
    model, oracle = problem.fit()
    follow_ties(oracle, model.labels_)
    expected = np.array([oracle.predict_one(x)[0] for x in problem.queries])
    if problem.Y.ndim == 1:
        expected = expected[:, 0]
    assert_equal(model.predict(problem.queries), expected)


@settings(max_examples=120)
@given(problems())
def test_explanations_equal_the_reference(problem):
    model, oracle = problem.fit()
    follow_ties(oracle, model.labels_)
    told = model.explain(problem.queries)
    for i, query in enumerate(problem.queries):
        _, W, R, C, near, a = oracle.predict_one(query)
        assert_equal(np.vstack([told.coef[i], told.intercept[i]]), oracle.space.to_units(W))
        assert_equal(told.anchor_part[i], oracle.space.to_units(R))
        assert_equal(told.anchor_part[i] + told.correction_part[i], oracle.space.to_units(R + C))
        assert_equal(told.neighbor_weights[i], a)
        np.testing.assert_array_equal(told.neighbors[i], near)
        np.testing.assert_array_equal(told.neighbor_labels[i], model.labels_[near])

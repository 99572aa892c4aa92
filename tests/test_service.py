"""The web service of the examples: it scores, learns, forgets, and keeps what it learned."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import locallinear
from locallinear import FALLEnsembleRegressor, FALLRegressor

pytest.importorskip("fastapi")
pytest.importorskip("httpx2")

EXAMPLES = Path(__file__).parent.parent / "examples"
MODELS = {
    "single": FALLRegressor(20, random_state=0),
    "ensemble": FALLEnsembleRegressor(3, search=None, random_state=0),
}


@pytest.fixture(params=MODELS)
def model(request, make_problem, path):
    """A model whose file is there for a service."""
    X, y, _ = make_problem()
    model = MODELS[request.param].fit(X, y)
    model.save(path)
    return model


@pytest.fixture
def serve(path, monkeypatch):
    """A function that starts the service of the file, as a context."""
    monkeypatch.syspath_prepend(EXAMPLES)
    from fastapi.testclient import TestClient
    from service import make_app

    return lambda: TestClient(make_app(path))


def asked(client, **question):
    reply = client.post("/score", json=question)
    assert reply.status_code == 200, reply.text
    return reply.json()


def test_values_intervals_and_explanations_are_those_of_the_model(model, serve, make_problem):
    Q = make_problem()[2]
    with serve() as client:
        found = asked(client, rows=Q.tolist(), interval=0.8, explain=True)
    assert found["state"] == 0
    assert_array_equal(found["values"], model.predict(Q))
    assert_allclose(found["intervals"], model.predict_interval(Q, 0.8), rtol=1e-12)
    for value, parts in zip(found["values"], found["explanations"], strict=True):
        layers = parts["all samples"] + parts["samples like it"]
        assert_allclose(layers + sum(parts["how it differs"].values()), value)


def test_what_the_service_learns_and_forgets_changes_its_answers_and_stays(
    model, serve, make_problem
):
    Q = make_problem()[2]
    rows, targets = Q[:3].tolist(), [50.0, 60.0, 70.0]
    with serve() as client:
        reply = client.post("/learn", json={"rows": rows, "targets": targets})
        assert reply.json() == {"state": 1, "n_samples": 123}
        assert client.post("/forget", json={"samples": [0, 1]}).json()["n_samples"] == 121
        model.partial_fit(rows, targets).forget([0, 1])
        found = asked(client, rows=rows, interval=0.9)
        assert found["state"] == 2
        assert_array_equal(found["values"], model.predict(rows))
        lows, highs = np.transpose(found["intervals"])
        assert (lows <= found["values"]).all()
        assert (found["values"] <= highs).all()
    with serve() as client:  # a new process
        assert client.get("/state").json() == {"state": 2, "n_samples": 121}
        assert_array_equal(asked(client, rows=rows)["values"], model.predict(rows))


def test_what_the_model_refuses_is_said_and_changes_nothing(model, serve, path):
    with serve() as client:
        for reply, words in [
            (client.post("/score", json={"rows": [[1.0, 2.0]]}), "expecting 3 features"),
            (client.post("/learn", json={"rows": [[1, 2, 3]], "targets": []}), "0 sample"),
            (client.post("/forget", json={"samples": [10**6]}), "120"),
            (client.post("/learn", json={"rows": [["a", 2, 3]], "targets": [1]}), "valid number"),
        ]:
            assert reply.status_code == 422
            assert words in reply.text
        assert client.get("/state").json()["state"] == 0
    assert locallinear.load(path).n_samples_fit_ == 120

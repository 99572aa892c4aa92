"""A web service that scores rows, learns and forgets while it does, and keeps what it learned.

    MODEL=flats.model uvicorn --app-dir examples --factory service:make_app

`flats.model` is a file that `save` wrote, of a single regressor, a search or an ensemble. Each
answer names the state of the model that it comes from: the number of the last call that had changed
it.
"""

import copy
import os
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from locallinear.io import open_online
from locallinear.io.online import OnlineModel


class Questions(BaseModel):
    rows: list[list[float]]
    interval: float | None = None  # the share of targets that intervals contain, such as 0.9
    explain: bool = False


class Examples(BaseModel):
    rows: list[list[float]]
    targets: list[float]


class Samples(BaseModel):
    samples: list[int]


class Answers(BaseModel):
    state: int
    values: list[float]
    intervals: list[tuple[float, float]] | None = None
    explanations: list[dict[str, Any]] | None = None


class State(BaseModel):
    state: int
    n_samples: int


class Errors:
    """A moment of the model whose errors are known, for intervals; renewed now and then.

    An interval needs the errors of all samples, each predicted without itself, and these change
    with every call. The errors of some minutes ago are as good. They are first computed when an
    interval is asked for.
    """

    def __init__(self, online: OnlineModel, seconds: float):
        self._online, self._seconds = online, seconds
        self._model: Any = None
        self._turn, self._stopped = threading.Lock(), threading.Event()

    def _renew(self) -> None:
        model = copy.copy(self._online.model)  # a copy keeps errors of its own
        model.predict_interval(np.zeros((1, model.n_features_in_)))  # the first call computes them
        self._model = model

    def _run(self) -> None:
        while not self._stopped.wait(self._seconds):
            self._renew()

    def stop(self) -> None:
        self._stopped.set()

    def intervals(self, X: np.ndarray, values: np.ndarray, coverage: float) -> np.ndarray:
        """Intervals round values that the model of now predicts for X."""
        with self._turn:
            if self._model is None:
                self._renew()
                threading.Thread(target=self._run, daemon=True).start()
        model = self._model
        return model.predict_interval(X, coverage) + (values - model.predict(X))[:, None]


def explanations(model: Any, X: np.ndarray) -> list[dict[str, Any]]:
    """For each row what its parts are: they sum to the prediction."""
    why = model.explain(X)
    return [
        {
            "all samples": float(why.baseline[0]),
            "samples like it": float(why.neighborhood_part[i, 0]),
            "how it differs": dict(
                zip(why.feature_names, why.difference_parts[i, :, 0].tolist(), strict=True)
            ),
        }
        for i in range(len(X))
    ]


def make_app(path: str | Path | None = None, *, errors_every: float = 300.0) -> FastAPI:
    """The service of a model file; by default of the one that MODEL names."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        with open_online(path or os.environ["MODEL"]) as online:
            app.state.online, app.state.errors = online, Errors(online, errors_every)
            yield
            app.state.errors.stop()

    app = FastAPI(title="locallinear", lifespan=lifespan)

    @app.exception_handler(ValueError)
    async def refused(request: Request, error: ValueError) -> JSONResponse:
        return JSONResponse({"detail": str(error)}, status_code=422)

    # FastAPI runs functions without `async` in threads: readers do not wait for each other.
    @app.post("/score")
    def score(asked: Questions) -> Answers:
        model, state = app.state.online.numbered()  # one moment for the whole answer
        X = np.array(asked.rows, dtype=np.float64)
        values = model.predict(X)
        answers = Answers(state=state, values=values.tolist())
        if asked.interval is not None:
            found = app.state.errors.intervals(X, values, asked.interval)
            answers.intervals = [(low, high) for low, high in found.tolist()]
        if asked.explain:
            answers.explanations = explanations(model, X)
        return answers

    @app.post("/learn")
    def learn(given: Examples) -> State:
        number = app.state.online.partial_fit(given.rows, given.targets)  # durable from here on
        return State(state=number, n_samples=app.state.online.model.n_samples_fit_)

    @app.post("/forget")
    def forget(given: Samples) -> State:
        number = app.state.online.forget(given.samples)
        return State(state=number, n_samples=app.state.online.model.n_samples_fit_)

    @app.get("/state")
    def state() -> State:
        model, number = app.state.online.numbered()
        return State(state=number, n_samples=model.n_samples_fit_)

    return app

"""Functions whose gradients are known, with samples, noise and queries, and the rentals as numbers.

Axis letters: n samples, q queries, d features.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from locallinear.datasets import make_rentals
from locallinear.tables.encoding import fit_encoding
from locallinear.tables.table import as_table

N, Q = 1500, 500
NOISE = 0.1  # of the function's standard deviation


@dataclass(frozen=True)
class Problem:
    """Samples X (n, d) and y (n,), and queries (q, d) with the truth about them.

    `gradients` (q, s) are those of the features in `sloped` (s,), which are all that are numbers
    and do not decide alone where the function jumps, and `sample_gradients` (n, s) those at the
    samples; `truth` (q,) is the function itself.
    """

    name: str
    X: NDArray
    y: NDArray
    queries: NDArray
    truth: NDArray
    gradients: NDArray
    sample_gradients: NDArray
    sloped: NDArray

    @property
    def scale(self) -> NDArray:
        """Standard deviations of the features with gradients, (s,)."""
        return self.X[:, self.sloped].std(axis=0)


def friedman(X: NDArray) -> tuple[NDArray, NDArray]:
    """10 sin(π x0 x1) + 20 (x2 − ½)² + 10 x3 + 5 x4; five more features count for nothing."""
    a, b, c, d, e = X.T[:5]
    gradients = np.zeros_like(X)
    gradients[:, 0] = 10 * np.pi * b * np.cos(np.pi * a * b)
    gradients[:, 1] = 10 * np.pi * a * np.cos(np.pi * a * b)
    gradients[:, 2] = 40 * (c - 0.5)
    gradients[:, 3:5] = 10, 5
    return 10 * np.sin(np.pi * a * b) + 20 * (c - 0.5) ** 2 + 10 * d + 5 * e, gradients


def bump(X: NDArray) -> tuple[NDArray, NDArray]:
    """3 exp(−x0² − x1²) + x2 x3; one more feature counts for nothing."""
    hill = 3 * np.exp(-(X[:, 0] ** 2) - X[:, 1] ** 2)
    gradients = np.zeros_like(X)
    gradients[:, :2] = -2 * X[:, :2] * hill[:, None]
    gradients[:, 2], gradients[:, 3] = X[:, 3], X[:, 2]
    return hill + X[:, 2] * X[:, 3], gradients


def related(X: NDArray) -> tuple[NDArray, NDArray]:
    """2 x0 + sin 2 x1 + x2² / 2; x3 and x4 count for nothing, and all features are correlated."""
    gradients = np.zeros_like(X)
    gradients[:, 0] = 2
    gradients[:, 1] = 2 * np.cos(2 * X[:, 1])
    gradients[:, 2] = X[:, 2]
    return 2 * X[:, 0] + np.sin(2 * X[:, 1]) + X[:, 2] ** 2 / 2, gradients


def regimes(X: NDArray) -> tuple[NDArray, NDArray]:
    """3 x1 − 2 x2 where x0 > 0, else 4 − 2 x1 + x3; one more feature counts for nothing."""
    first = X[:, :1] > 0
    slopes = np.where(first, [0, 3, -2, 0, 0], [0, -2, 0, 1, 0]).astype(float)
    return (X * slopes).sum(axis=1) + 4 * ~first[:, 0], slopes


def uniform(rng: np.random.Generator, n: int) -> NDArray:
    return rng.uniform(size=(n, 10))


def normal(rng: np.random.Generator, n: int) -> NDArray:
    return rng.normal(size=(n, 5))


def correlated(rng: np.random.Generator, n: int) -> NDArray:
    """Five normal features, each two with a correlation of 0.7."""
    return np.sqrt(0.7) * rng.normal(size=(n, 1)) + np.sqrt(0.3) * rng.normal(size=(n, 5))


# Function, inputs, and the first feature with a gradient: at a jump, x0 has none.
FUNCTIONS: dict[str, tuple[Callable, Callable, int]] = {
    "Friedman 1": (friedman, uniform, 0),
    "bump and product": (bump, normal, 0),
    "correlated features": (related, correlated, 0),
    "two regimes": (regimes, normal, 1),
}


def problems() -> list[Problem]:
    """Four functions of numbers, and the rentals: the last two have regimes."""
    return [*(simulated(name) for name in FUNCTIONS), rentals()]


def simulated(name: str, n: int = N, q: int = Q) -> Problem:
    function, draw, first = FUNCTIONS[name]
    rng = np.random.default_rng(0)
    X, queries = draw(rng, n), draw(rng, q)
    (clean, at_samples), (truth, gradients) = function(X), function(queries)
    y = clean + NOISE * clean.std() * rng.normal(size=n)
    sloped = np.arange(first, X.shape[1])
    return Problem(name, X, y, queries, truth, gradients[:, sloped], at_samples[:, sloped], sloped)


def rentals(n: int = N, q: int = Q) -> Problem:
    """The simulated rentals without gaps, one 0/1 feature per weekday and weather."""
    table, new = (make_rentals(size, missing=0, random_state=i) for i, size in enumerate((n, q)))
    encoding = fit_encoding(as_table(table.data))
    starts = np.searchsorted(encoding.owners, [encoding.names.index(s) for s in new.slope_names])
    return Problem(
        "rentals",
        encoding.inputs(as_table(table.data)).to_numpy(),
        table.target.to_numpy(),
        encoding.inputs(as_table(new.data)).to_numpy(),
        new.truth,
        new.slopes.to_numpy(),
        table.slopes.to_numpy(),
        starts,
    )

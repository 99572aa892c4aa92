"""The paper's two synthetic sets."""

from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from sklearn.datasets import make_moons
from sklearn.utils import Bunch, check_random_state

STEP_RANGE = 1.5
STEP_EDGE = 0.5


def step_function(x: ArrayLike) -> NDArray[np.float64]:
    """The function behind :func:`load_step`: 1 where ``|x| < 0.5``, else 0.

    Parameters
    ----------
    x : array-like of any shape

    Returns
    -------
    ndarray of the same shape

    Examples
    --------
    >>> from locallinear.datasets._synthetic import step_function
    >>> step_function([-1.0, 0.0, 1.0])
    array([0., 1., 0.])
    """
    return (np.abs(np.asarray(x, dtype=float)) < STEP_EDGE).astype(float)


def load_step(
    n_samples: int = 100,
    *,
    noise: float = 0.1,
    random_state: int | RandomState | None = None,
    return_X_y: bool = False,
) -> Any:
    """The paper's step function: two values, and a jump at each edge of the middle part.

    The paper draws the set and does not state its numbers. With those chosen here, an anchor inside
    the step and one outside lie near each other, and ``||x||²`` is near 1, so that the effect of
    the penalty is visible for alpha between 0.001 and 1000.

    Parameters
    ----------
    n_samples : int, default=100
        Number of samples, their inputs uniform in [-1.5, 1.5].
    noise : float, default=0.1
        Standard deviation of the Gaussian noise on the target.
    random_state : int, RandomState or None, default=None
        Determines the inputs and the noise.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    Bunch
        ``data`` (n, 1), ``target`` (n,), ``truth`` (n,: the target without noise),
        ``feature_names``, ``target_names``, ``DESCR``.

    Examples
    --------
    >>> from locallinear.datasets import load_step
    >>> step = load_step(50, noise=0.0, random_state=0)
    >>> step.data.shape, sorted(set(step.target.tolist()))
    ((50, 1), [0.0, 1.0])
    """
    rng = check_random_state(random_state)
    x = rng.uniform(-STEP_RANGE, STEP_RANGE, n_samples)
    truth = step_function(x)
    target = truth + noise * rng.standard_normal(n_samples)
    if return_X_y:
        return x[:, None], target
    return Bunch(
        data=x[:, None],
        target=target,
        truth=truth,
        frame=None,
        feature_names=["x"],
        target_names=["y"],
        DESCR="A step function with Gaussian noise: 1 for |x| < 0.5, else 0.",
    )


def load_moons(
    n_samples: int = 200,
    *,
    noise: float = 0.1,
    random_state: int | RandomState | None = None,
    return_X_y: bool = False,
) -> Any:
    """The paper's two moons: two interleaved half circles, one per class.

    Parameters
    ----------
    n_samples : int, default=200
        Number of samples, half of them in each class.
    noise : float, default=0.1
        Standard deviation of the Gaussian noise on the inputs.
    random_state : int, RandomState or None, default=None
        Determines the noise and the order of the samples.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    Bunch
        ``data`` (n, 2), ``target`` (n,: 0 or 1), ``feature_names``, ``target_names``, ``DESCR``.

    Examples
    --------
    >>> from locallinear.datasets import load_moons
    >>> X, y = load_moons(40, random_state=0, return_X_y=True)
    >>> X.shape, y.sum().item()
    ((40, 2), 20)
    """
    data, target = make_moons(n_samples, noise=noise, random_state=random_state)
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        frame=None,
        feature_names=["x", "y"],
        target_names=["upper", "lower"],
        DESCR="Two interleaved half circles with Gaussian noise, one per class.",
    )

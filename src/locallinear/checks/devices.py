"""What arrays of other kinds than NumPy's may be used for, and the error messages for the rest."""

from typing import Any

from sklearn import get_config

from ..arrays import AnyArray, compatibility, device_of, is_numpy, namespace

TURN_ON = "sklearn.set_config(array_api_dispatch=True)"


def stays_on_device(estimator: Any, X: Any) -> bool:
    """Whether X is an array of torch or CuPy that is used where it is; refused if it cannot be."""
    if is_numpy(X):
        return False
    compat = compatibility()
    if not (compat.is_torch_array(X) or compat.is_cupy_array(X) or _is_strict(X)):
        return False
    dispatches = get_config()["array_api_dispatch"]
    if dispatches and getattr(estimator, "takes_devices", False):
        return True
    if not dispatches and str(device_of(X)).lower().startswith("cpu"):
        return False  # NumPy reads it
    name = type(estimator).__name__
    if not dispatches:
        raise ValueError(
            f"X is {place_of(X)}, which {name} uses only after {TURN_ON}; call that, or pass a "
            "NumPy array"
        )
    raise ValueError(
        f"{name} takes NumPy arrays, but X is {place_of(X)}; pass a NumPy array, or use a single "
        "model, FALLRegressor or FALLClassifier"
    )


def _is_strict(x: Any) -> bool:
    return type(x).__module__.startswith("array_api_strict")


def place_of(x: AnyArray) -> str:
    """Where an array is, in words: its kind and its device.

    Examples
    --------
    >>> import numpy as np
    >>> place_of(np.ones(2))
    'a NumPy array'
    """
    if is_numpy(x):
        return "a NumPy array"
    kind = namespace(x).__name__.split(".")[-1]
    return f"an array of {kind} on {device_of(x)}"


def same_place(x: AnyArray, y: Any) -> bool:
    """Whether two arrays are of one kind and on one device."""
    if is_numpy(x) or is_numpy(y) or not compatibility().is_array_api_obj(y):
        return is_numpy(x) and is_numpy(y)
    return namespace(x) is namespace(y) and device_of(x) == device_of(y)


def check_same_place(estimator: Any, X: AnyArray) -> None:
    """Refuse inputs that are elsewhere than the fitted model."""
    held = getattr(estimator, "model_array", X)
    if not same_place(X, held):
        hint = 'model.to("cpu")' if is_numpy(X) else "model.to(X.device)"
        if compatibility().is_cupy_array(X):
            hint = 'model.to("cupy")'
        raise ValueError(
            f"Inputs of a fitted {type(estimator).__name__} must use the same namespace and device "
            f"as those passed to fit: X is {place_of(X)}, but the model holds {place_of(held)}; "
            f"move X, or the model with {hint}, and leave array_api_dispatch on"
        )


def check_trees_on_processor(Z: AnyArray, neighborhood: str) -> None:
    """Refuse neighbourhoods by trees for arrays that are not NumPy's."""
    if not is_numpy(Z):
        raise ValueError(
            f'neighborhood "{neighborhood}" grows trees, which only NumPy arrays can, but this is '
            f'{place_of(Z)}; use neighborhood "euclidean" or "learned", or NumPy arrays'
        )


def check_on_processor(estimator: Any, array: AnyArray, what: str) -> None:
    """Refuse what is computed for NumPy arrays alone, where a model is elsewhere."""
    if not is_numpy(array):
        raise ValueError(
            f"{what} can only be had from a model of NumPy arrays, but this "
            f'{type(estimator).__name__} holds {place_of(array)}; call model.to("cpu") first, and '
            "pass NumPy arrays"
        )

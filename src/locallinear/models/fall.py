"""FALL: fast anchor-regularised local linear models, on numeric targets.

Every training sample has its own linear model: the best of a few anchor models, corrected towards
the sample's own target. A prediction averages the models of the nearest samples. `fitting` reads as
the paper's Algorithms 1 and 3, `predictor` as Algorithm 2; docs/math.md maps symbols to names.
This is the estimator round them: its parameters, and how it learns, forgets and is saved.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import check_is_fitted

from ..arrays import at, moved, to_numpy
from ..checks import arguments as checks
from ..checks.parameters import FALL_PARAMETERS, check_after_fit
from ..checks.stored import check_stored_calibration
from ..io import save
from .devices import an_array_on
from .fitted import Fitted, append_samples, forget_samples
from .fitting import fit_together
from .intervals import HowSure
from .neighbors import Rule
from .onnx_graph import onnx_graph
from .predictor import Predictor
from .samples import Made
from .stored import PARTS, described, revived

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

# What a file holds of a model beside its `Fitted`, where the model has it.
ATTRIBUTES = ["n_features_in_", "feature_names_in_", "classes_", "calibration_"]
ATTRIBUTES += ["_target_names", "_one_target"]

# All attributes in a file; an estimator on other engines has them under these names.
FITTED = [*PARTS, *ATTRIBUTES]

# What siblings have of their inputs, as the model has it that they are fitted with.
INPUTS = ["n_features_in_", "feature_names_in_", "classes_", "_target_names", "_one_target"]


class FALL(HowSure, Predictor):
    """What regression and classification share: everything but the meaning of the targets.

    Z (n, d) are the inputs in the feature space of `scaling` (with learned weights in it where
    the neighbourhood has them), Y (n, m) numeric targets.
    """

    _parameter_constraints: dict = FALL_PARAMETERS
    takes_devices = True  # arrays of torch and CuPy, where they are
    _private_fitted: ClassVar[tuple[str, ...]] = ("_fitted", "_target_names", "_one_target")

    def __init__(
        self,
        n_anchors: int = 100,
        *,
        anchor_selection: Any = "random",
        anchor_models: ArrayLike | None = None,
        n_anchor_neighbors: int = 20,
        anchor_alpha: float = 1.0,
        anchor_l1_ratio: float = 0.0,
        alpha: float = 1.0,
        n_neighbors: int = 5,
        weights: Rule = "distance",
        fit_intercept: bool = True,
        scaling: str | None = "standard",
        neighborhood: str = "euclidean",
        metric_iterations: int = 4,
        neighborhood_features: ArrayLike | None = None,
        indicators: ArrayLike | None = None,
        assignment_neighbors: int = 1,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_anchors = n_anchors
        self.anchor_selection = anchor_selection
        self.anchor_models = anchor_models
        self.n_anchor_neighbors = n_anchor_neighbors
        self.anchor_alpha = anchor_alpha
        self.anchor_l1_ratio = anchor_l1_ratio
        self.alpha = alpha
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.fit_intercept = fit_intercept
        self.scaling = scaling
        self.neighborhood = neighborhood
        self.metric_iterations = metric_iterations
        self.neighborhood_features = neighborhood_features
        self.indicators = indicators
        self.assignment_neighbors = assignment_neighbors
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_is_fitted__(self) -> bool:
        return "_fitted" in self.__dict__

    @property
    def regime_model(self) -> "FALL":
        """The model whose anchors and labels are the regimes that pictures show: this one."""
        check_is_fitted(self)
        return self

    @property
    def members(self) -> "list[FALL]":
        """The fitted models whose mean this is: itself."""
        return [self.regime_model]

    # --- Learning -----------------------------------------------------------------------------

    def _fit(
        self,
        X: Array,
        Y: Array,
        sample_weight: Any,
        graph: Any = None,
        siblings: "Sequence[FALL]" = (),
    ) -> None:
        """Fit this model, which nobody reads yet, and its siblings on checked samples."""
        models = [self, *siblings]
        for model, fitted in zip(
            models, fit_together(models, X, Y, sample_weight, graph), strict=True
        ):
            for name in INPUTS:
                if hasattr(self, name):
                    setattr(model, name, getattr(self, name))
            model._known, model._fitted = {}, fitted

    def _append(self, X: Array, Y: Array, sample_weight: Any) -> None:
        """Add checked samples."""
        (self._fitted,) = self._appended([], X, Y, sample_weight, {})

    def _appended(
        self, siblings: "Sequence[FALL]", X: Array, Y: Array, sample_weight: Any, made: Made
    ) -> list[Fitted]:
        """What this model and its siblings are with more samples; `made` as in `Samples.append`."""
        check_after_fit(self)
        weights = checks.check_sample_weights(sample_weight, X.shape[0])
        return append_samples(
            [model.fitted for model in (self, *siblings)],
            X,
            Y,
            None if weights is None else moved(weights, X),
            made,
            assignment_neighbors=self.assignment_neighbors,
            n_jobs=self.n_jobs,
        )

    def forget(self, indices: ArrayLike) -> Self:
        """Remove samples; what is left of the model stays as it is.

        Parameters
        ----------
        indices : array-like of int
            Which samples. Those after a removed one move up.

        Returns
        -------
        self
        """
        with self.writing():
            (self._fitted,) = forget_samples([self.fitted], self.check_forget(indices), {})
        return self

    def forgotten(self, siblings: "Sequence[FALL]", numbers: Rows, made: Made) -> "list[FALL]":
        """Itself and its siblings without samples; `numbers` are from `check_forget`."""
        models = [self, *siblings]
        fitted = forget_samples([model.fitted for model in models], numbers, made)
        return [model.with_fitted(each) for model, each in zip(models, fitted, strict=True)]

    def check_forget(self, indices: ArrayLike) -> Rows:
        """The numbers of samples that `forget` can remove; an error where it cannot."""
        samples = self.fitted.samples
        numbers = np.unique(checks.check_indices(indices, len(samples)))
        if len(numbers) == len(samples):
            raise ValueError(
                f"forget would remove all {len(numbers)} samples, and a model needs some; fit a "
                "new one instead"
            )
        mask = samples.searchable
        lost = len(numbers)
        if mask is not None:
            lost = int(np.count_nonzero(to_numpy(at(mask, samples.rows(numbers)))))
        checks.check_enough_samples(self.n_neighbors, samples.n_searchable - lost)
        return numbers

    def with_fitted(self, fitted: Fitted) -> Self:
        """The same estimator, with something else fitted."""
        other = self.at_this_moment()
        other._fitted = fitted
        return other

    def refitted(self, numbers: Rows, siblings: "Sequence[FALL]" = ()) -> "list[FALL]":
        """Itself and its siblings, fitted again on the samples with these numbers alone."""
        again = [clone(model) for model in [self, *siblings]]
        first = again[0]
        for name in ("n_features_in_", "classes_", "_target_names", "_one_target"):
            if hasattr(self, name):
                setattr(first, name, getattr(self, name))
        for model in again:
            if model.random_state is None:
                model.random_state = 0  # the same model whenever it is asked for
        X, Y = self.training_samples()
        weights = self.training_weights()
        part = None if weights is None else weights[numbers]
        first._fit(X[numbers], Y[numbers], part, None, again[1:])
        return again

    # --- Devices ------------------------------------------------------------------------------

    def to(self, device: Any, dtype: str | None = None) -> Self:
        """Move the fitted model, so that it takes and returns arrays of another place.

        Parameters
        ----------
        device : str or torch.device
            "cpu" for NumPy arrays, "cuda", "cuda:1" or another device of torch for its tensors, or
            "cupy" for CuPy arrays.
        dtype : {"float32", "float64"}, optional
            Precision of the moved model; that of the model as it is by default. NumPy models are
            always in float64.

        Returns
        -------
        self

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from locallinear import FALLRegressor
        >>> model = FALLRegressor(random_state=0).fit(*load_diabetes(return_X_y=True))
        >>> type(model.to("cpu").anchor_models_).__name__
        'ndarray'
        """
        with self.writing(learns=False):
            fitted = self.fitted
            self._fitted = fitted.moved(an_array_on(device, dtype, fitted.models))
            self._known = {}
        return self

    # --- Files, and what ensembles compare ----------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write the fitted model to a file that `locallinear.load` reads.

        The file is an archive of plain arrays, without code; it is whole or absent.

        Parameters
        ----------
        path : str or Path
        """
        save(self, path)

    def to_onnx(self) -> Any:
        """The fitted model as a graph that ONNX runtimes compute, without Python.

        For neighbourhoods "euclidean" and "learned" and weights that are no function. The graph
        takes X (q, d) in float64, and returns what `predict` does, to rounding; it checks nothing.
        It has no index of neighbours: every row is compared with all samples. It needs the package
        onnx.

        Returns
        -------
        onnx.ModelProto
            A regressor's output is ``prediction``; a classifier has ``label`` and
            ``probabilities``. ``onnx.save`` writes it to a file.
        """
        return onnx_graph(self.at_this_moment())

    def fitted_state(self, like: "FALL | None" = None) -> dict[str, Any]:
        """What a file has to hold of the fitted model, as plain values and arrays.

        `like` is in the file too: what this model shares with it is left out.
        """
        now = self.at_this_moment()
        state = described(now.fitted, None if like is None else like.fitted)
        state["attributes"] |= {n: getattr(now, n) for n in ATTRIBUTES if hasattr(now, n)}
        return state

    def restore(self, state: dict[str, Any], like: "FALL | None" = None) -> None:
        """Become the fitted model that `fitted_state` described."""
        self._known = {}
        self._fitted = revived(state, None if like is None else like.fitted)
        attributes = state["attributes"]
        check_stored_calibration(attributes)
        if is_classifier(self) != ("classes_" in attributes):
            raise ValueError("it is of classes and of numbers")
        for name in ATTRIBUTES:
            if name in attributes:
                setattr(self, name, attributes[name])
        checks.check_enough_samples(self.n_neighbors, self.fitted.samples.n_searchable)

    def signature(self) -> tuple[Any, ...]:
        """What members of one ensemble must have alike: scaling, samples, targets and names."""
        fitted, names = self.fitted, self.feature_names
        samples, classes = fitted.samples, getattr(self, "classes_", np.empty(0)).tolist()
        alike = samples["Z"].shape, fitted.models.shape[2], "weights" in samples, *classes
        return self.scaling, getattr(self, "_one_target", None), *names, *alike

    @property
    def state_key(self) -> tuple[Any, ...]:
        """What predictions depend on: equal keys, equal predictions."""
        return self.fitted, self.alpha, self.n_neighbors, self.weights

"""What pictures, reports and ensembles ask of a fitted model beside its predictions."""

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from ..arrays import at, cast, namespace, to_numpy
from ..checks.devices import check_on_processor
from ..geometry.nearness import Nearness
from ..geometry.spaces import Space
from .anchor_samples import AnchorSamples
from .assignment import stored_targets
from .fitted import Fitted
from .names import Named
from .samples import Samples

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


class Facts(Named):
    """Names, samples and regimes of one fitted model.

    What users may ask is of one moment. Who asks for several things that belong together asks
    `at_this_moment` first.
    """

    _fitted: Fitted
    _target_names: list[str]
    _one_target: bool

    @property
    def fitted(self) -> Fitted:
        """The fitted model as a value, which no update changes."""
        if "_fitted" not in self.__dict__:  # scikit-learn's check alone would take longer
            check_is_fitted(self)
        return self._fitted

    @property
    def model_array(self) -> Array:
        """An array of the model: all others are of its kind, and on its device."""
        return self.fitted.models

    # --- Fitted attributes --------------------------------------------------------------------

    @property
    def labels_(self) -> Rows:
        """The anchor of each sample, (n,)."""
        samples = self.fitted.samples
        rows = samples.rows()
        return cast(at(samples["labels"], rows), rows)

    @property
    def n_samples_fit_(self) -> int:
        """How many samples the model keeps."""
        return len(self.fitted.samples)

    @property
    def n_counted(self) -> int:
        """How many of the samples that the model keeps have weight."""
        return self.fitted.samples.n_searchable

    @property
    def anchor_points_(self) -> Array:
        """The anchors in the units of X, (k, d); NaN where their models were given."""
        return self.fitted.anchor_points

    @property
    def anchor_models_(self) -> Array:
        """The models of the anchors, (k, d + 1, m), in the same units as `local_models`."""
        return self.fitted.anchor_models

    @property
    def feature_weights_(self) -> Array:
        """How much each feature decides which samples are near, (d,)."""
        weights = self.fitted.geometry.nearness.feature_weights
        if weights is None:
            raise AttributeError("all features count alike in deciding who is near")
        return weights

    # --- Names --------------------------------------------------------------------------------

    @property
    def target_names(self) -> list[str]:
        """Names of the targets, or the classes as text."""
        check_is_fitted(self)
        return list(self._target_names)

    @property
    def one_target(self) -> bool:
        """Whether predictions are (q,) and not (q, m); scores of classes never are."""
        if "_one_target" not in self.__dict__:
            check_is_fitted(self)
        return getattr(self, "_one_target", False)

    def take_names(self, other: "Facts") -> None:
        """Call features and targets as another model of the same samples does."""
        self._target_names = other.target_names
        if hasattr(other, "feature_names_in_"):
            self.feature_names_in_ = other.feature_names_in_

    # --- Geometry and anchors -----------------------------------------------------------------

    @property
    def feature_space(self) -> Space:
        """Where the models live, and the way from the units of X to it and back."""
        return self.fitted.geometry.space

    @property
    def nearness(self) -> Nearness:
        """How near is measured; siblings, which were fitted together, have the same object."""
        return self.fitted.geometry.nearness

    @property
    def anchor_samples(self) -> AnchorSamples | None:
        """The samples that shaped the anchors; None if these are not linear in the targets."""
        return self.fitted.anchor_samples

    @property
    def constant(self) -> float:
        """The constant feature of every input: 1, or 0 without an intercept."""
        return self.fitted.constant

    def anchor_prediction(self, Z: Array, anchor: int) -> Array:
        """What one anchor model predicts for inputs in the feature space, (q, m)."""
        model = self.fitted.models[anchor]
        return Z @ model[:-1] + model[-1]

    @property
    def has_seen_targets(self) -> bool:
        """Whether who is near, or an anchor, depends on a sample's target in an unknown way."""
        fitted = self.fitted
        given = bool(np.isnan(to_numpy(fitted.anchor_points)).any())
        return fitted.geometry.uses_targets or (fitted.anchor_samples is None and not given)

    # --- Samples ------------------------------------------------------------------------------

    @property
    def samples(self) -> Samples:
        """The samples that the model keeps, in its feature space."""
        return self.fitted.samples

    @property
    def located_samples(self) -> Array:
        """The inputs of all samples in the feature space, (n, d)."""
        return self.fitted.located_samples

    @property
    def mean_target(self) -> Array:
        """The weighted mean of the samples' numeric targets, (m,); of classes their shares."""
        mean = self.fitted.mean_target
        return namespace(mean).asarray(mean, copy=True)

    def training_samples(self) -> tuple[Array, Array]:
        """The samples that the model keeps, in units.

        Returns
        -------
        X : array (n, d)
        Y : array (n, m)
            Numeric targets; for a classifier 1 for the sample's class and 0 for the others.
        """
        fitted = self.fitted
        return fitted.sample_inputs(), self._targets_of(fitted, None)

    def targets(self, numbers: Rows | None = None) -> Array:
        """Numeric targets (c, m) of the samples with these numbers; without numbers, of all."""
        return self._targets_of(self.fitted, numbers)

    def _targets_of(self, fitted: Fitted, numbers: Rows | None) -> Array:
        Y = stored_targets(fitted.samples, fitted.models, fitted.samples.rows(numbers))
        # A class is 1 or 0, which a residual plus its model is only up to rounding.
        return namespace(Y).round(Y) + 0.0 if is_classifier(self) else Y

    def training_weights(self) -> Array | None:
        """The weights of the samples that the model keeps, (n,); None where all are 1."""
        samples = self.fitted.samples
        weights = samples.get("weights")
        return None if weights is None else at(weights, samples.rows())

    @property
    def total_weight(self) -> float:
        """How many samples the model keeps, each as often as its weight says."""
        samples = self.fitted.samples
        weights = samples.get("weights")
        if weights is None:
            return float(len(samples))
        return float(namespace(weights).sum(at(weights, samples.rows())))

    def draw_samples(self, size: int, rng: np.random.RandomState) -> Array:
        """At most so many of the samples that have weight, drawn at random, in units: (·, d)."""
        fitted = self.fitted
        check_on_processor(self, fitted.models, "a background of samples")
        rows, mask = fitted.samples.rows(), fitted.samples.searchable
        drawn = np.arange(len(rows)) if mask is None else np.flatnonzero(mask[rows])
        if len(drawn) > size:
            drawn = np.sort(rng.choice(drawn, size, replace=False))
        return fitted.sample_inputs()[drawn]

    def out_of_fold(self) -> None:
        """Predictions by models that had not seen the sample: a single model has none."""
        return

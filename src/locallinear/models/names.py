"""Names of features, for models wherever their samples are."""

from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted


class Named:
    """A model that knows what its features are called."""

    n_features_in_: int
    feature_names_in_: NDArray

    @property
    def feature_names(self) -> list[str]:
        """Names of the features: those of a frame, or x0, x1 and so on."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        return [f"x{j}" for j in range(self.n_features_in_)] if names is None else list(names)

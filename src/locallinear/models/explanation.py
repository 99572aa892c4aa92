"""Why a prediction is what it is: the exact linear model behind it, and what it was made from."""

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import at, from_device
from ..checks.arguments import check_indices
from ..checks.devices import check_on_processor
from ..kernels.logs import exponential
from ..runtime.extras import extra
from .coefficient_errors import combination_errors
from .explanation_frame import frame_of
from .pulls import Pulls, changes_if_forgotten, pulls_of
from .shapley import shapley_of

if TYPE_CHECKING:
    import pandas

Array = NDArray[np.float64]

# The fields with one entry per query; those in ROWS may be None.
ARRAYS = ["prediction", "coef", "intercept", "contributions", "anchor_part", "correction_part"]
ARRAYS += ["neighborhood_part", "difference_parts", "slopes"]
ARRAYS += ["neighbors", "neighbor_weights", "neighbor_labels"]
ROWS = ["ranks", "X", "index", "samples", "growth"]


@dataclass(frozen=True, eq=False, repr=False)
class LocalExplanation:
    """The exact linear models behind q predictions.

    Each prediction is ``contributions.sum(axis=1) + intercept``, to rounding, and each
    contribution is a coefficient times the feature's value (with scaling "quantile", its rank).
    Axis letters: q queries, d features, m targets (for a classifier, one per class), K neighbours.
    For an ensemble, models are means over the members, and neighbours are those of any member with
    their total weights, heaviest first; where a query has fewer neighbours than another, its first
    one is repeated with weight 0.

    Attributes
    ----------
    prediction : array (q,) or (q, m)
        The predictions; for a classifier the linear scores of the classes, whose nearest
        probabilities `predict_proba` returns.
    coef : array (q, d, m)
        Coefficients in the units of X; with scaling "quantile" those of `ranks`.
    intercept : array (q, m)
    contributions : array (q, d, m)
        What each original feature adds to the prediction.
    anchor_part, correction_part : arrays (q, d + 1, m)
        The mixture of anchor models and the correction added to it, intercept last; their sum is
        the model. (R_pred and C_pred of the paper.)
    baseline : array (m,)
        The mean of the training targets, by their weights; for a classifier the classes' shares.
    neighborhood_part : array (q, m)
        What the level of its neighbours adds to the baseline: the weighted mean of what their
        models predict for the neighbours themselves, minus the baseline.
    difference_parts : array (q, d, m)
        What each original feature adds because the query differs from its neighbours in it. The
        prediction is ``baseline + neighborhood_part + difference_parts.sum(axis=1)``.
    slopes : array (q, d, m)
        How fast the prediction's linear model changes with each feature, in the units of X for
        every scaling: `coef`, and with scaling "quantile" `coef` times the slope of the map from
        values to ranks, taken over the nearest six of a hundred samples around the query's value.
        Of a column of dates it is the slope of the trend, per year.
    neighbors : array (q, K)
        The samples whose models were averaged, nearest first.
    neighbor_weights : array (q, K)
        Their weights, which sum to one.
    neighbor_labels : array (q, K)
        Their anchors.
    feature_weights : array (d,) or None
        How much each feature decides which samples are near; the weights sum to one. With
        neighborhood "learned" they are for features in standard deviations. With trees they are
        the share of the target's variation that the splits of each feature explain (with
        "piecewise", of what linear models leave). None where all features count alike.
    feature_names, target_names : lists of str
    ranks : array (q, d) or None
        What the coefficients multiply with scaling "quantile": the rank of each value among the
        samples, from -1.73, the lowest, to 1.73, the highest. Values outside the data have ranks
        beyond these. None where the coefficients multiply X.
    X : array (q, d) or None
        The queries; for a `TableRegressor` a frame of its columns as they are in the table.
    index : sequence (q,) or None
        The names of the queries, where they came in a pandas frame; numbers of explained samples.
    samples : array (q,) or None
        The numbers of the samples, where samples were explained without themselves; -1 for
        queries among them that are no samples.
    model : estimator or None
        The model that was asked, for pictures and reports.
    encoded : LocalExplanation or None
        For a `TableRegressor`, whose features are columns, the same by feature of its estimator: a
        column of text has one feature per category.
    log : LocalExplanation or None
        Where the log of the target was modelled, the same on that scale; here it is in units. The
        linear model of the prediction then is its tangent at the query.
    growth : array (q, m) or None
        How much a prediction grows per unit of the log scale.
    """

    prediction: Array
    coef: Array
    intercept: Array
    contributions: Array
    anchor_part: Array
    correction_part: Array
    baseline: Array
    neighborhood_part: Array
    difference_parts: Array
    slopes: Array
    neighbors: NDArray[np.intp]
    neighbor_weights: Array
    neighbor_labels: NDArray[np.intp]
    feature_weights: Array | None
    feature_names: list[str]
    target_names: list[str]
    ranks: Array | None = None
    X: Any = None
    index: Any = None
    samples: NDArray[np.intp] | None = None
    model: Any = None
    encoded: "LocalExplanation | None" = None
    log: "LocalExplanation | None" = None
    growth: Array | None = None

    def __repr__(self) -> str:
        (q, d, m), K = self.contributions.shape, self.neighbors.shape[1]
        counts = [(q, "prediction"), (d, "feature"), (m, "target"), (K, "neighbour")]
        predictions, *others = (f"{n} {word}{'' if n == 1 else 's'}" for n, word in counts)
        return (
            f"LocalExplanation of {predictions}: {', '.join(others)}; see to_frame, plot, to_html"
        )

    @property
    def regressors(self) -> Any:
        """What the coefficients multiply, (q, d): X, or with scaling "quantile" its ranks.

        For a `TableRegressor`, `encoded` has them; by column, the coefficient of a text multiplies
        1.
        """
        return self.X if self.ranks is None else self.ranks

    @property
    def times(self) -> Array | None:
        """What each feature multiplies the prediction by, (q, d, m), on the log scale; else None.

        1.2 means a fifth more because the query differs from its neighbours in the feature.
        """
        return None if self.log is None else exponential(self.log.difference_parts)

    @property
    def times_per_unit(self) -> Array | None:
        """What a unit more of each feature multiplies the prediction by, (q, d, m); else None."""
        return None if self.log is None else exponential(self.log.slopes)

    @cached_property
    def coef_std(self) -> Array:
        """Standard deviations of `coef`, (q, d, m): computed when they are first read.

        Three parts, added as variances: how far noise in the targets moves the coefficients while
        neighbours, labels and weights stay, with a noise as large as the errors near each sample;
        how far penalties flatten a linear function; and how far the models of the neighbours, in
        all members of an ensemble, differ by more than noise makes them differ. Anchors that are
        no ridge models are taken as known.

        coef ± 1.645 coef_std is meant to contain the slope at the very point in 90 % of cases. It
        contains it less often where the function bends much within the neighbourhood.
        """
        if self.log is not None and self.growth is not None:
            return self.log.coef_std * self.growth[:, None]
        return self._errors_of(np.ones(self.coef.shape[:2]))

    @cached_property
    def slopes_std(self) -> Array:
        """Standard deviations of `slopes`, (q, d, m), as `coef_std`."""
        if self.log is not None and self.growth is not None:
            return self.log.slopes_std * self.growth[:, None]
        return self._errors_of(self.slope_factors, of_slopes=True)

    @property
    def slope_factors(self) -> Array:
        """What `coef` is multiplied by for `slopes`, (q, d): 1 but for scaling "quantile"."""
        if self.encoded is not None:
            return self.model.slope_factors(self.encoded.slope_factors)
        return self.model.regime_model.feature_space.slopes(self.X)

    def _errors_of(self, factors: Array, *, of_slopes: bool = False) -> Array:
        """Standard deviations of the coefficients times factors (q, d)."""
        self._check_on_processor("errors of coefficients")
        raw = self if self.encoded is None else self.encoded
        q, d, _ = raw.coef.shape
        identity = np.broadcast_to(np.eye(d), (q, d, d))
        combined = identity
        if self.encoded is not None:
            combined = self.model.combinations(raw, of_slopes=of_slopes)
        combined = factors[:, :, None] * combined
        return combination_errors(raw.model, raw.X, combined, raw.coef, raw.samples)

    def _check_on_processor(self, what: str) -> None:
        check_on_processor(self.model, self.coef, what)

    def take(self, rows: ArrayLike) -> "LocalExplanation":
        """The explanation of some of the queries.

        Parameters
        ----------
        rows : int or array-like of int
            Numbers of the queries, or a mask.

        Returns
        -------
        LocalExplanation
        """
        mask = np.asarray(from_device(rows))
        if mask.dtype == bool and mask.shape == (len(self.coef),):
            rows = np.flatnonzero(mask)
        rows = check_indices(rows, len(self.coef))
        taken: dict[str, Any] = {name: at(getattr(self, name), rows) for name in ARRAYS}
        for name in ROWS:
            of_queries = getattr(self, name)
            if hasattr(of_queries, "iloc"):
                taken[name] = of_queries.iloc[rows]
            elif of_queries is not None:
                in_place = name in ("X", "ranks")
                taken[name] = at(of_queries, rows) if in_place else of_queries[rows]
        inner = {name: getattr(self, name) for name in ("encoded", "log")}
        taken |= {name: one if one is None else one.take(rows) for name, one in inner.items()}
        return replace(self, **taken)

    def influence(self, row: int = 0) -> Pulls:
        """The training samples that pull one prediction up or down, strongest first.

        Parameters
        ----------
        row : int
            Which of the queries.

        Returns
        -------
        Pulls
            With `to_frame`. `influence` of the models says what counts, and what is refused.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from locallinear import FALLRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> why = FALLRegressor(random_state=0).fit(X, y).explain(X[:1] + 0.01)
        >>> because = why.influence(0)
        >>> round(float(because.baseline[0] + because.pulls.sum() - why.prediction[0]), 6)
        0.0
        """
        self._check_on_processor("the influence of samples")
        if self.encoded is not None:
            return self.encoded.influence(row)
        one = self.take(row)
        return pulls_of(self.model, one.X, one.samples, self.target_names)

    def if_forgotten(self, row: int = 0) -> tuple[NDArray[np.intp], Array]:
        """Which samples, if forgotten, would change one prediction most, and by how much.

        `forget` keeps the anchors, so only neighbours of the query change it: the next nearest
        sample takes the place of a forgotten one.

        Parameters
        ----------
        row : int
            Which of the queries; not one of samples that are explained without themselves.

        Returns
        -------
        samples : array (r,)
            Numbers of the samples, the one with the largest change first.
        changes : array (r, m)
            The prediction without each of them minus the prediction as it is.
        """
        if self.log is not None and self.growth is not None:
            samples, changes = self.log.if_forgotten(row)
            lowest = -np.reshape(at(self.prediction, [row]), (1, -1))  # no prediction is below 0
            return samples, np.maximum(lowest, self.growth[row] * np.expm1(changes))
        if self.encoded is not None:
            return self.encoded.if_forgotten(row)
        one = self.take(row)
        if one.samples is not None and one.samples[0] >= 0:
            raise ValueError(
                "if_forgotten needs a query, but this explanation is of samples without "
                "themselves; explain the inputs of the samples instead"
            )
        neighbors = np.unique(one.neighbors[one.neighbor_weights > 0])
        now = np.reshape(one.prediction, (1, -1))
        changes = changes_if_forgotten(self.model, one.X, neighbors, now)
        order = np.argsort(-np.abs(changes).max(axis=1), kind="stable")
        return neighbors[order], changes[order]

    def shapley(
        self, background: Any = None, n_permutations: int = 2, random_state: Any = None
    ) -> Array:
        """Shapley values of the model's own predictions: what each feature adds, level included.

        Every feature gets its mean effect on the prediction when its value replaces that of a
        background row, over orders in which the features are replaced. Neighbours are searched
        again at each step, so that who is near counts too. The values of a query add up to its
        prediction minus the mean prediction of the background (to rounding, for any number of
        permutations). Samples that were explained without themselves (`samples`) are attributed
        so too: the sample is no neighbour in any of these predictions.

        Parameters
        ----------
        background : array-like (b, d), optional
            Rows that stand for "in general"; by default at most 100 training samples, drawn at
            random. A `TableRegressor` takes a frame.
        n_permutations : int, default=2
            Random orders per background row, in pairs of an order and its reverse. The error
            falls with the root of n_permutations times b. With two orders and 100 background rows
            it was 5 % of a row's largest value with neighborhood "euclidean" and 1 % with the
            others, on 3,000 simulated rentals with 12 features (benchmarks/RESULTS.md).
        random_state : int, RandomState or None, default=None
            Chance in the orders and in the choice of a background.

        Returns
        -------
        values : array (q, d, m)
            For a classifier, of the linear scores of the classes.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from locallinear import FALLRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = FALLRegressor(n_neighbors=20, random_state=0).fit(X[:400], y[:400])
        >>> why = model.explain(X[400:402])
        >>> values = why.shapley(X[:50], random_state=0)
        >>> values.shape
        (2, 10, 1)
        >>> total = values.sum(axis=1)[:, 0] + model.predict(X[:50]).mean()
        >>> bool(abs(total - why.prediction).max() < 1e-9)
        True
        """
        self._check_on_processor("Shapley values")
        return shapley_of(self, background, n_permutations, random_state)

    def to_shap(self, **options: Any) -> Any:
        """The Shapley values as an `Explanation` of the package shap, for its plots.

        Parameters
        ----------
        options : as for `shapley`

        Returns
        -------
        shap.Explanation
            Values (q, d), or (q, d, m) for several targets or classes, with base values so that
            both add up to the predictions. Needs shap.
        """
        shap = extra("shap", None, "Explanations for the package shap")
        values = self.shapley(**options)
        bases = self.prediction.reshape(len(values), -1) - values.sum(axis=1)
        one = self.prediction.ndim == 1
        return shap.Explanation(
            values=values[:, :, 0] if one else values,
            base_values=bases[:, 0] if one else bases,
            data=np.asarray(self.X),
            feature_names=list(self.feature_names),
            output_names=self.target_names[0] if one else list(self.target_names),
        )

    def to_frame(self) -> "pandas.DataFrame":
        """One line per query, target and feature, with its value and what it adds.

        Columns: `value`; `slope`, in units; `part`, the layers of the prediction; and the linear
        model itself, `coef` and `contribution` (with scaling "quantile" also `rank`, which the
        coefficient multiplies; where the log of the target was modelled `times`, what the feature
        multiplies the prediction by). The parts of a query add up to its prediction over the lines
        "(baseline)", "(neighborhood)" and those of the features, and so do the contributions over
        those of the features and "(intercept)". Queries have the names of the frame that they
        came in. Needs pandas.
        """
        self._check_on_processor("a frame")
        return frame_of(self)

    def plot(
        self,
        row: int = 0,
        target: int | str = 0,
        ax: Any = None,
        *,
        sure: bool = True,
        **options: Any,
    ) -> Any:
        """Draw the layers of one prediction, and the neighbours that it was made from.

        Parameters
        ----------
        row : int
        target : int or str
            Which target or class, by number or name.
        ax : matplotlib Axes, optional
        sure : bool, default=True
            Whether to draw how sure the prediction and its slopes are; for the first row of a
            model this takes as long as some predictions of all samples.
        options : as for `locallinear.explain.ContributionDisplay.plot`

        Returns
        -------
        locallinear.explain.ContributionDisplay
        """
        self._check_on_processor("a picture")
        from ..explain import ContributionDisplay  # loaded when a picture is wanted

        display = ContributionDisplay.from_explanation(self, row=row, target=target, sure=sure)
        return display.plot(ax=ax, **options)

    def to_html(self, path: str | Path, **options: Any) -> None:
        """Write the report on the model and these queries: one file that needs no network.

        Parameters
        ----------
        path : str or Path
        options : as for `locallinear.explain.data_of_explanation`
        """
        self._check_on_processor("a report")
        from ..explain import data_of_explanation, write_report  # as in `plot`

        write_report(path, data_of_explanation(self.log or self, **options))

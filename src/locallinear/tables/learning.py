"""How a model of a raw table learns: its fit, rows that come and go later, and its file.

`TableRegressor` and `TableClassifier` share this, and give the targets their meaning. `fit` reads
as what happens: read the table, decide on the encoding, choose the scale of the target, learn and
judge. `answers.py` has what a fitted model says. Axis letters: n or q rows, c columns, d features,
m targets.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.utils import Tags
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from ..checks.arguments import check_groups, check_sample_weights, check_some_weight
from ..checks.inputs import all_classes
from ..checks.parameters import N_JOBS, TIME_BUDGET
from ..io import save
from ..models.moments import Kept
from ..runtime.budgets import Budget
from ..search.seeds import fixed_seed
from .answers import TableAnswers
from .cells import pandas_module
from .companions import described, revived
from .encoding import Encoding, fit_encoding
from .inputs import (
    check_some_targets,
    copies_of,
    named_targets,
    read_inputs,
    rows_with_targets,
    targets_in,
)
from .procedure import Task, best_params, fold_numbers, learn
from .stored import check_stored_attributes
from .table import as_table, collected
from .targets import read_text
from .wanted import Wanted

Array = NDArray[np.float64]

# What a file holds of a fitted model beside its parts.
FITTED = ["best_params_", "cv_prediction_", "cv_score_", "target_names_"]
FITTED += ["n_features_in_", "feature_names_in_", "_folds"]


class TableEstimator(TableAnswers):
    """A model of raw tables without the meaning of the targets, which a subclass gives."""

    _parameter_constraints: ClassVar[dict] = {
        "prefer": [StrOptions({"accurate", "simple"})],
        "time_budget": TIME_BUDGET,
        "types": [None, dict],
        "n_jobs": N_JOBS,
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }
    _private_fitted: ClassVar[tuple[str, ...]] = ("_encoding", "_folds", "_scales")

    def __init__(
        self,
        model: Any = "single",
        *,
        prefer: str = "accurate",
        time_budget: float | None = None,
        types: dict[str, Wanted] | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.model = model
        self.prefer = prefer
        self.time_budget = time_budget
        self.types = types
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Understand the columns, choose parameters, fit, and judge on unseen rows.

        Parameters
        ----------
        X : DataFrame of pandas or polars, or array-like (n, c)
            A LazyFrame of polars is collected; a table of Arrow is taken too.
        y : array-like (n,), for regression also (n, m), or the name of a column of X
            Its name, or names, are those of the targets. Rows without a value in a column that is
            named are left out, with a warning.
        sample_weight : array-like (n,), optional
            How often each row counts. Rows of weight 0 are kept, but nothing is learned from them,
            not even what a column is.
        groups : array-like (n,), optional
            Which rows belong together, such as those of one person: they are in one fold.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight, groups)

    def _fit(self, X: Any, y: Any, sample_weight: Any, groups: Any, classes: Any = None) -> Self:
        budget = Budget(self.time_budget)
        with self.writing():
            fresh = self.unfitted()
            fresh._fit_fresh(budget, X, y, sample_weight, groups, classes)
            self.become(fresh)
        budget.warn_if_late(stacklevel=5)
        return self

    def _fit_fresh(
        self, budget: Budget, X: Any, y: Any, sample_weight: Any, groups: Any, classes: Any
    ) -> None:
        """Fit, as an estimator that nobody reads yet; y may lack some of the `classes`."""
        X, sample_weight, groups = rows_with_targets(X, y, sample_weight, groups)
        table, y, types = read_inputs(self, X, y, self.types)
        targets, self.target_names_ = self._read_targets(y)
        self._check_lengths(table, targets)
        weights = check_sample_weights(sample_weight, len(table))
        check_some_weight(weights)
        counted = table if weights is None else table.take(weights > 0)
        encoding = fit_encoding(counted, types, ignore=copies_of(counted, y, weights))
        grouped = check_groups(groups, len(table))
        seed = fixed_seed(self.random_state)
        task = Task(
            X=encoding.inputs(table),
            y=targets,
            classify=self._is_classifier,
            weights=weights,
            folds=fold_numbers(targets, self._is_classifier, seed, grouped, weights),
            indicators=encoding.indicators,
            prefer=self.prefer,
            n_jobs=self.n_jobs,
            seed=seed,
            verbose=self.verbose,
            budget=budget,
            classes=None if classes is None else all_classes(classes, targets),
        )
        self._choose_scale(task)
        task = replace(task, y=self.to_model_scale(targets, weights))
        learnt = learn(self.model, task)
        self.estimator_, self._encoding = learnt.estimator, encoding
        self.search_ = learnt.search
        self.best_params_ = best_params(learnt)
        self._folds = task.folds
        self._set_judgement(targets, learnt.unseen, weights)

    def of_parts(self, encoding: Encoding, estimator: Any, target_names: list[str]) -> Self:
        """Become the model of parts that were fitted elsewhere, without a judgement.

        Parameters
        ----------
        encoding : Encoding
        estimator : a fitted model of its features
        target_names : list of str
        """
        self.estimator_, self._encoding, self.search_ = estimator, encoding, None
        self._known = {}
        self.target_names_, self.best_params_ = target_names, {}
        names = [name for name, _ in encoding.reasons]
        self.n_features_in_, self.feature_names_in_ = len(names), np.array(names, dtype=object)
        self._folds = np.zeros(0, dtype=np.intp)
        self._forget_judgement()
        return self

    def learn_and_note(self, X: Any, y: Any, sample_weight: Any) -> tuple[Array, NDArray]:
        """Add rows to a fitted model, whose encoding stays; returns them as `as_arrays` does."""
        with self.writing():
            # Once: the rows of a LazyFrame may change.
            arrays = self.as_arrays(X, y, sample_weight)
            self.learn_arrays(*arrays, sample_weight)
        return arrays

    def as_arrays(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[Array, NDArray]:
        """Rows as plain arrays that `learn_arrays` takes: features, and targets of the model.

        What becomes of a cell is decided by the fit, so these say all that the rows do.
        """
        X = collected(X)
        targets = self._targets_of(X, y)
        inputs = self.encode(X)
        self._check_lengths(inputs, targets)
        weights = check_sample_weights(sample_weight, len(targets))
        return inputs.to_numpy(), self.to_model_scale(targets, weights)

    def learn_arrays(self, X: Array, y: NDArray, sample_weight: Any) -> Self:
        """Add rows that `as_arrays` returned, whether by this model or by an earlier copy of it."""
        inputs = pandas_module().DataFrame(X, columns=self.estimator_.feature_names_in_)
        return self._changed(lambda model: model.partial_fit(inputs, y, sample_weight))

    def _targets_of(self, X: Any, y: Any, *, reads_text: bool = False) -> NDArray:
        """Checked targets of rows, which y holds, or names as columns of X.

        Numbers in text are read where many rows decide together how they are written.
        """
        check_some_targets(self, y)
        names = named_targets(X, y)
        if names:
            if names != self.target_names_:
                raise ValueError(
                    f"the model's target is {', '.join(self.target_names_)}, not "
                    f"{', '.join(names)}; name the target that it was fitted to, or fit another "
                    "model"
                )
            table = as_table(X)
            y = targets_in(read_text(table, names) if reads_text else table, names)
        return self._read_targets(collected(y))[0]

    def _to_score(self, X: Any, y: Any) -> tuple[Any, NDArray]:
        """Rows and their targets, which y holds or names, as scikit-learn's scores take them."""
        X = collected(X)
        table = self.read(X)
        targets = self._targets_of(X, y, reads_text=not self._is_classifier)
        self._check_lengths(table, targets)
        return table, targets

    def forget(self, indices: ArrayLike) -> Self:
        """Remove rows, by their numbers in the order in which they came.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        return self._changed(lambda model: model.forget(indices))

    def _changed(self, change: Callable[[Any], object]) -> Self:
        """Become the model whose estimator was changed so; readers see all of it or nothing."""
        with self.writing():
            changed = self.at_this_moment()
            change(changed.estimator_)
            changed._forget_judgement()
            return self.become(changed)

    def _forget_judgement(self) -> None:
        """The judgement was of other rows."""
        self.cv_prediction_, self.cv_score_ = None, np.nan

    # --- Files -----------------------------------------------------------------------------------

    def save(self, path: str | Path | IO[bytes]) -> None:
        """Write the model to a file that `locallinear.load` reads; it is complete or absent."""
        check_is_fitted(self)
        save(self, path)

    def fitted_state(self) -> dict[str, Any]:
        """What a file holds of the model."""
        now = self.at_this_moment()
        attributes = {name: getattr(now, name) for name in FITTED if hasattr(now, name)}
        companion = now._kept_companion()
        return {
            "encoding": now._encoding.to_dict(),
            "estimator": now.estimator_,
            "attributes": attributes,
            "companion": companion and described(companion),
            **now._extra_state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take over the state that `fitted_state` returned."""
        self._encoding = Encoding.from_dict(state["encoding"])
        columns = [name for name, _ in self._encoding.reasons]
        check_stored_attributes(state["attributes"], columns)
        for name in FITTED:
            if name in state["attributes"]:
                setattr(self, name, state["attributes"][name])
        self._restore_extra(state)
        n_inputs = len(self._encoding.owners)
        if state["estimator"].n_features_in_ != n_inputs:
            raise ValueError(
                f"its table has {n_inputs} features, and its model "
                f"{state['estimator'].n_features_in_}"
            )
        names = getattr(
            state["estimator"], "feature_names_in_", np.array(self._encoding.input_names)
        )
        if names.tolist() != self._encoding.input_names:
            raise ValueError("its model has features of other names than its table")
        self.estimator_, self._known = state["estimator"], {}
        if state.get("companion") is not None:
            companion = revived(state["companion"], self.estimator_)
            self._known["companion"] = Kept.of(self.estimator_.members, companion)

    def _extra_state(self) -> dict[str, Any]:
        """What a file holds beside the common parts."""
        return {}

    def _restore_extra(self, state: dict[str, Any]) -> None:
        """Take over what `_extra_state` returned."""

    # --- The meaning of the targets --------------------------------------------------------------

    def _check_lengths(self, table: Any, y: NDArray) -> None:
        if len(table) != len(y):
            raise ValueError(
                f"X has {len(table)} rows, but y has {len(y)} targets; give one target per row"
            )

    def _read_targets(self, y: Any) -> tuple[NDArray, list[str]]:
        """Checked targets and their names."""
        raise NotImplementedError

    def _choose_scale(self, task: Task) -> None:
        """Decide on the scale of the targets."""

    def _set_judgement(self, y: NDArray, unseen: NDArray, weights: Array | None) -> None:
        """Set `cv_prediction_` and `cv_score_`."""
        raise NotImplementedError

"""How an ensemble chooses its members: kinds by a search, features by chance, shares by data.

A kind is a configuration of FALL and the part of the features that its neighbourhoods use. All
kinds have one scaling, so that the members' coefficients have one meaning and can be averaged.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from sklearn.model_selection import KFold, StratifiedKFold

from ..geometry.metric import learn_metric
from ..geometry.trees import GROWERS
from ..search.splits import Split, make_splits

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

# Folds where nobody asks for others. For targets of few samples there are more folds: so many that
# all folds together have about FOLD_SAMPLES samples, but each tests at least MIN_TESTED.
N_FOLDS, MAX_FOLDS = 3, 10
FOLD_SAMPLES, MIN_TESTED = 4000, 10
# A kind whose error in the search is this many times the best one's is not tried.
WORST_KIND = 2.0
# A linear model of all samples: its penalties, a number of samples that no table reaches, and a
# pull towards the anchor that leaves nothing of the correction.
PENALTIES = (0.01, 0.1, 1.0)
ALL, STIFF = 2**31, 1e9
# Penalty on the squares of shares, as a part of the kinds' mean squared error: equal kinds share.
LEAST_PENALTY = 1e-6
# Rounds of learning behind the chances of the features.
ROUNDS = 4
# Samples that members are fitted on, at most, to compare kinds where some of many chose them.
MAX_WIDE = 50_000


@dataclass(frozen=True)
class Kind:
    """A configuration, and the part of the features that its neighbourhoods use.

    `configuration` is its row in the results of the search, where that has scored the kind.
    """

    params: dict[str, Any]
    max_features: float
    configuration: int | None = None


def splits_of(
    cv: Any,
    X: Array,
    y: NDArray,
    groups: Any,
    max_samples: int | None,
    seed: int,
    *,
    classes: bool,
    counted: Rows,
) -> list[Split]:
    """Folds: those of `cv`, or by default shuffled ones, since files are often in some order.

    Only the `counted` samples, which have weight, are in folds that are made here.
    """
    if cv is None:
        n = len(counted)
        if n < N_FOLDS:
            raise ValueError(
                f"n_samples={n} samples are too few to choose parameters by {N_FOLDS} folds, which "
                "hold those with sample_weight above zero; give more, or search=None for members "
                "as they are"
            )
        n_drawn = n if max_samples is None else min(n, max_samples)
        kind, number = (StratifiedKFold, N_FOLDS) if classes else (KFold, n_folds(n_drawn))
        cv = kind(number, shuffle=True, random_state=seed)
    return make_splits(
        cv, X, y, groups, max_samples=max_samples, seed=seed, classifier=classes, among=counted
    )


def n_folds(n: int) -> int:
    """The number of folds for n samples: more for few samples, whose choice is left to chance."""
    return int(np.clip(min(FOLD_SAMPLES // n, n // MIN_TESTED), N_FOLDS, MAX_FOLDS))


def wide_split(splits: list[Split], counted: Rows, seed: int) -> Split:
    """Test samples of the first splits, and all others that are counted, or some of very many.

    The test samples are those of one split, or of more while they are a third of all at most.
    """
    sizes = np.cumsum([len(test) for _, test in splits])
    n_splits = max(1, int((sizes <= len(counted) // 3).sum()))
    tested = np.unique(np.concatenate([test for _, test in splits[:n_splits]]))
    others = np.setdiff1d(counted, tested)
    if len(others) > MAX_WIDE:
        drawn = np.random.RandomState(seed).choice(others, MAX_WIDE, replace=False)
        others = np.sort(drawn)
    return others, tested


def kinds_of(search: Any, names: Iterable[str], max_features: float) -> list[Kind]:
    """The best configuration of each neighbourhood in the best one's scaling, as kinds.

    Distances come with the asked part of the features as well: where a few features decide
    everything, members without them are of little use, elsewhere the parts make members differ.
    Trees differ without it. `names` are the parameters that kinds set.
    """
    results, best = search.cv_results_, search.best_index_
    scores = results["mean_test_score"]
    same = np.isfinite(scores)
    if "param_scaling" in results:
        same &= results["param_scaling"] == results["param_scaling"][best]
    perfect = 1.0 if search.scoring is None else 0.0  # R² and accuracy, or a negative error
    worst = perfect - WORST_KIND * (perfect - scores[best])
    neighborhoods = results.get("param_neighborhood", np.array([None] * len(scores), dtype=object))
    kinds = []
    for neighborhood in dict.fromkeys(neighborhoods[same].tolist()):
        place = np.flatnonzero(same & (neighborhoods == neighborhood))
        top = place[np.argmax(scores[place])]
        if scores[top] >= min(worst, scores[best]):
            params = _plain({name: results[f"param_{name}"][top] for name in names})
            kinds.append(Kind(params, 1.0, int(top)))
            if max_features < 1 and neighborhood not in GROWERS:
                kinds.append(Kind(params, max_features))
    return kinds


def plain_kinds(search: Any) -> list[Kind]:
    """One linear model of all samples, with each of some penalties, as kinds.

    It is FALL with one anchor, whose neighbourhood has all samples, and with a pull towards the
    anchor that leaves no correction.
    """
    plain = {
        "n_anchors": 1,
        "n_anchor_neighbors": ALL,
        "alpha": STIFF,
        "scaling": search.best_params_["scaling"],
        "neighborhood": "euclidean",  # it changes nothing, and other ones take longer
    }
    return [Kind(plain | {"anchor_alpha": penalty}, 1.0) for penalty in PENALTIES]


def best_kind(search: Any, names: Iterable[str]) -> Kind:
    """The best configuration of a search, with all features."""
    params = _plain({name: search.best_params_[name] for name in names})
    return Kind(params, 1.0, int(search.best_index_))


def _plain(params: dict[str, Any]) -> dict[str, Any]:
    return {n: v.item() if isinstance(v, np.generic) else v for n, v in params.items()}


def feature_chances(Z: Array, Y: Array, weights: Array | None, n_jobs: int) -> Array:
    """How likely each feature is drawn: half alike for all, half as much as it decides."""
    found, _ = learn_metric(Z, Y, weights, ROUNDS, n_jobs)
    return 0.5 / Z.shape[1] + 0.5 * found / found.sum()


def draw_features(
    chances: Array, allowed: Rows | None, max_features: float, random: np.random.RandomState
) -> Rows | None:
    """Numbers of the features that a member's neighbourhoods use, None for all.

    They are drawn from those allowed, where not all are.
    """
    possible = np.arange(len(chances)) if allowed is None else allowed
    n_drawn = max(1, round(max_features * len(possible)))
    if n_drawn >= len(possible):
        return allowed
    share = chances[possible] / chances[possible].sum()
    return np.sort(random.choice(possible, n_drawn, replace=False, p=share))


class OutOfFold:
    """Predictions (c, n, m) of c kinds for samples that they were not fitted on.

    A sample that several splits test gets the mean, one that none tests is left out.
    """

    def __init__(self, splits: list[Split], n: int, m: int):
        self._of_kinds: list[Array] = []
        self._shape = n, m
        self._tests = [test for _, test in splits]
        self._times = np.zeros(n)
        for test in self._tests:
            self._times[test] += 1

    def add(self, predictions: list[Array]) -> None:
        """Take note of the next kind's predictions (q, m) for the test samples of each split."""
        sums = np.zeros(self._shape)
        for test, prediction in zip(self._tests, predictions, strict=True):
            sums[test] += prediction
        self._of_kinds.append(sums[self.tested] / self._times[self.tested, None])

    @property
    def n_kinds(self) -> int:
        """How many kinds have predictions."""
        return len(self._of_kinds)

    @property
    def tested(self) -> NDArray[np.bool_]:
        """Which samples some split tests, (n,)."""
        return self._times > 0

    def predictions(self) -> Array:
        """Of the tested samples, by the kinds in the order in which they came."""
        return np.stack(self._of_kinds)

    def mean(self, shares: Array) -> Array:
        """Predictions (n, m) by all kinds in these shares; NaN where no split tests."""
        scores = np.full(self._shape, np.nan)
        scores[self.tested] = np.tensordot(shares, self.predictions(), axes=1)
        return scores


def fold_numbers(splits: list[Split], counted: Rows, n: int) -> Rows | None:
    """The number of the fold that tests each of n samples; None where it is not one of k folds.

    In k folds each counted sample is tested once, by members that were fitted on all other folds.
    Samples that no fold tests have -1.
    """
    numbers, times = np.full(n, -1), np.zeros(n)
    for number, (_, test) in enumerate(splits):
        numbers[test] = number
        times[test] += 1
    once = (times[counted] == 1).all()
    whole = all(np.isin(counted, np.concatenate(split)).all() for split in splits)
    apart = all(not np.isin(train, test).any() for train, test in splits)
    return numbers if once and whole and apart else None


def best_shares(
    predictions: Array, Y: Array, weights: Array | None, *, classes: bool = False
) -> Array:
    """Shares of kinds, which sum to one, whose mean prediction has the least squared error.

    The errors of classes depend much on chance: the relative error of their sum is about 1 / √n.
    A penalty of this size on the squares of the shares draws them towards equal ones.

    Parameters
    ----------
    predictions : (c, n, m) of each of c kinds for samples that it was not fitted on
    Y, weights : (n, m) and (n,) or None
    classes : whether Y are classes as 0 and 1
    """
    root = np.ones(len(Y)) if weights is None else np.sqrt(weights)
    n = np.square(root).sum()
    penalty = LEAST_PENALTY + (1 / np.sqrt(max(n, 1.0)) if classes else 0.0)
    # Errors, not predictions: for shares that sum to one, their mean is the error of the mean.
    errors = ((predictions - Y) * root[:, None]).reshape(len(predictions), -1)
    gram = errors @ errors.T
    gram += penalty * np.trace(gram) / len(gram) * np.eye(len(gram))
    if not np.trace(gram) > 0:
        return np.full(len(gram), 1 / len(gram))
    # The minimum of sᵀGs with sum(s) = 1 and s ≥ 0 is that of sᵀGs − 2 sum(s), made to sum to one.
    factor = np.linalg.cholesky(gram / np.trace(gram))
    shares = nnls(factor.T, np.linalg.solve(factor, np.ones(len(gram))))[0]
    return shares / shares.sum()


def in_turns(counts: Rows) -> Rows:
    """The numbers of the kinds, each as often as its count, in an order that mixes them evenly.

    The most frequent kind comes first, and each beginning of the order is about as mixed as all.
    """
    kinds = np.repeat(np.arange(len(counts)), counts)
    turn = np.concatenate([(np.arange(count) + 0.5) / count for count in counts if count])
    return kinds[np.argsort(turn, kind="stable")]


def counts_of(shares: Array, total: int) -> Rows:
    """Whole numbers near shares · total that sum to the total."""
    counts = np.floor(shares * total).astype(np.intp)
    missing = total - counts.sum()
    counts[np.argsort(counts - shares * total, kind="stable")[:missing]] += 1
    return counts


def merge_neighbors(rows_of: Sequence[Rows], weights_of: Sequence[Array]) -> tuple[Rows, Array]:
    """All members' neighbours of each query, heaviest first, and their total weights, (q, K).

    A query with fewer than the most is filled up with its first neighbour at weight 0.
    """
    rows, weights = np.hstack(rows_of), np.hstack(weights_of) / len(rows_of)
    order = np.argsort(rows, axis=1, kind="stable")
    rows = np.take_along_axis(rows, order, axis=1)
    new = np.ones(rows.shape, dtype=bool)
    new[:, 1:] = rows[:, 1:] != rows[:, :-1]
    group = np.cumsum(new, axis=1) - 1
    query = np.arange(len(rows))[:, None]
    total = np.zeros(rows.shape)
    np.add.at(total, (query, group), np.take_along_axis(weights, order, axis=1))
    merged = np.repeat(rows[:, :1], rows.shape[1], axis=1)
    merged[query, group] = rows
    order = np.argsort(-total, axis=1, kind="stable")[:, : group.max(initial=0) + 1]
    heaviest = np.take_along_axis(merged, order, axis=1)
    total = np.take_along_axis(total, order, axis=1)
    return np.where(total > 0, heaviest, heaviest[:, :1]), total

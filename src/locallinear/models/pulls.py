"""The training samples behind one prediction: how far each pulls it, or would change it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..runtime.extras import extra

if TYPE_CHECKING:
    import pandas

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Pulls:
    """The training samples that a prediction is made of, strongest pull first.

    Attributes
    ----------
    samples : array (r,)
        Their numbers.
    weights : array (r,)
        How much their targets count in the prediction: their `influence`.
    targets : array (r, m)
        Their targets.
    pulls : array (r, m)
        The weight times how far the target is from `baseline`, in the units of the target. With an
        intercept, all pulls and the baseline add up to the prediction.
    baseline : array (m,)
        The mean of the training targets.
    target_names : list of str
    """

    samples: Rows
    weights: Array
    targets: Array
    pulls: Array
    baseline: Array
    target_names: list[str]

    def __len__(self) -> int:
        return len(self.samples)

    def to_frame(self) -> "pandas.DataFrame":
        """One line per sample, by its number. Needs pandas."""
        pandas = extra("pandas", "report", "Frames")
        columns: dict[str, Any] = {"weight": self.weights}
        for t, name in enumerate(self.target_names):
            columns |= {name: self.targets[:, t], f"pull on {name}": self.pulls[:, t]}
        return pandas.DataFrame(columns, index=pandas.Index(self.samples, name="sample"))


def pulls_of(model: Any, x: Array, without: Rows | None, target_names: list[str]) -> Pulls:
    """The pulls on one prediction, of x (1, d); `without` (1,) is a sample to leave out."""
    row = model.influence_checked(x, without)
    samples = row.indices.astype(np.intp)
    first = model.members[0]
    targets, baseline = first.targets(samples), first.mean_target
    pulls = row.data[:, None] * (targets - baseline)
    order = np.argsort(-np.abs(pulls).max(axis=1), kind="stable")
    return Pulls(
        samples[order], row.data[order], targets[order], pulls[order], baseline, target_names
    )


def changes_if_forgotten(model: Any, x: Array, neighbors: Rows, prediction: Array) -> Array:
    """How the prediction (m,) of x (1, d) would change without each of its neighbours, (r, m)."""
    without = model.predict_checked(np.repeat(x, len(neighbors), axis=0), neighbors)
    return without - prediction

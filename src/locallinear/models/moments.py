"""Estimators that can be read while they learn, and that an interrupt leaves whole.

What is fitted is never changed where a reader can see it. A reader works on the estimator as it is
at one moment (`at_this_moment`). Writers take turns (`writing`), make what is new beside what is
old, and put it in place by one assignment: in `fit` the whole `__dict__` (`unfitted`, `become`), in
updates one attribute. Whatever breaks off before that assignment leaves the estimator as it was.
"""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import RLock
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from ..runtime.interrupts import interruptible

# Belongs to one estimator in one process: whose turn it is to write, what was computed once from
# the samples (see `intervals`), and why it refuses to learn.
NOT_COPIED = ("_turn", "_known", "_only_read")


def same_states(members: Sequence[Any], states: Sequence[tuple[Any, ...]]) -> bool:
    """Whether models are still in these states; what was fitted is compared by identity."""
    return len(members) == len(states) and all(
        member.state_key[0] is state[0] and member.state_key[1:] == state[1:]
        for member, state in zip(members, states, strict=True)
    )


@dataclass(frozen=True, eq=False)
class Kept:
    """A value that was computed once from fitted models, and the states that these had."""

    value: Any
    states: list[tuple[Any, ...]]

    @classmethod
    def of(cls, members: Sequence[Any], value: Any) -> "Kept":
        """A value that was computed from models as they are now."""
        return cls(value, [member.state_key for member in members])

    def holds_for(self, members: Sequence[Any]) -> bool:
        """Whether nothing of the models has changed since."""
        return same_states(members, self.states)


class Moments(BaseEstimator):
    """Reading at one moment, and writing in turns."""

    # Private attributes that a fit sets; those that users see end in an underscore.
    _private_fitted: ClassVar[tuple[str, ...]] = ()
    _known: dict[str, Any]

    def at_this_moment(self) -> Self:
        """The estimator as it is now: later updates and parameters do not reach it."""
        now = object.__new__(type(self))
        now.__dict__ = self.__dict__.copy()
        return now

    def only_to_read(self, why: str) -> Self:
        """The estimator as it is now, which refuses to learn or forget with this sentence."""
        now = self.at_this_moment()
        now.__dict__["_only_read"] = why
        return now

    @contextmanager
    def writing(self, *, learns: bool = True) -> Iterator[None]:
        """Context for one writer at a time; readers do not wait for it.

        `learns` says whether what is fitted becomes another model.
        """
        if learns and "_only_read" in self.__dict__:
            raise ValueError(self.__dict__["_only_read"])
        # Made when it is first needed: scikit-learn allows an __init__ nothing but parameters.
        with self.__dict__.setdefault("_turn", RLock()), interruptible():
            yield

    def unfitted(self) -> Self:
        """The estimator with nothing fitted, to be fitted in its place."""
        fresh = object.__new__(type(self))
        fresh.__dict__ = {
            name: value
            for name, value in self.__dict__.items()
            if not name.endswith("_") and name not in self._private_fitted
        }
        fresh.__dict__["_known"] = {}
        return fresh

    def become(self, fitted: Self) -> Self:
        """Hold what was fitted, all at once; parameters stay as they are by now."""
        mine = {name: getattr(self, name) for name in self._get_param_names()}
        self.__dict__ = fitted.__dict__ | mine
        return self

    def as_arrays(self, X: Any, y: Any) -> tuple[NDArray, NDArray]:
        """Samples as plain arrays that `learn_arrays` takes, for a journal."""
        return np.asarray(X, dtype=np.float64), np.asarray(y)

    def learn_and_note(self: Any, X: Any, y: Any, sample_weight: Any) -> tuple[NDArray, NDArray]:
        """Add samples; returns them as `as_arrays` does, for a journal."""
        self.partial_fit(X, y, sample_weight)
        return self.as_arrays(X, y)

    def learn_arrays(self: Any, X: NDArray, y: NDArray, sample_weight: Any) -> Any:
        """Add samples that `as_arrays` returned."""
        with warnings.catch_warnings():
            # Their names were checked before.
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            return self.partial_fit(X, y, sample_weight)

    def __getstate__(self) -> dict[str, Any]:
        state: Any = super().__getstate__()
        return {name: value for name, value in state.items() if name not in NOT_COPIED}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._known = {}

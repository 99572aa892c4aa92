"""Models for services: what they learn and forget is written down before the call returns.

An online model is a model file and a journal beside it. The file says which call of the journal is
the last that it holds, so that no call is ever applied twice, whenever a process was killed.
Opening applies the calls that came since, one by one as they were made, writes a new file and
removes them from the journal.
"""

import warnings
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..runtime.files import sync_folder
from .journal import Journal, JournalError
from .model_file import read_model, write_model


def open_online(path: str | Path, *, fsync: bool = True) -> "OnlineModel":
    """Open a model file for a service that learns.

    What the model learns and forgets goes into a journal beside the file, `path` with ``.journal``
    behind it: an SQLite database without pickle or code. When a call returns, it is durable. A
    process that is killed at any moment loses nothing that a call had returned for; opening the
    file again applies what the journal has. One process at a time can have the file open; another
    one is told who has it.

    Parameters
    ----------
    path : str or Path
        A file that `save` wrote: of a single model, of a search or of an ensemble.
    fsync : bool, default=True
        Whether calls wait for the disk. Without it they are much faster; what was learned then
        survives the death of the process, but not a failure of the machine.

    Returns
    -------
    OnlineModel

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from locallinear import FALLRegressor
    >>> from locallinear.io import open_online
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "line.model"
    >>> FALLRegressor(n_neighbors=1).fit([[0.0], [1.0]], [0.0, 1.0]).save(path)
    >>> with open_online(path) as online:
    ...     online.partial_fit([[3.0]], [9.0])
    >>> with open_online(path) as online:
    ...     online.model.predict([[3.0]])
    array([9.])
    """
    return OnlineModel(Path(path), fsync=fsync)


class OnlineModel:
    """A fitted model, and a journal of what it learned and forgot; `open_online` makes them.

    Threads may share it: readers take `model`, and writers take turns.
    """

    def __init__(self, path: Path, *, fsync: bool):
        self.path, self._fsync, self._closed = path, fsync, False
        self._turn = RLock()
        model, notes = read_model(path)
        _check_learns(model, path)
        self._journal = Journal(path.with_name(path.name + ".journal"), fsync=fsync)
        try:
            self._begin(model, notes)
        except BaseException:
            self._journal.close()
            raise

    def _begin(self, model: Any, notes: dict[str, Any]) -> None:
        """Apply what the journal has beyond the model file, and let the file hold it."""
        known = notes.get("journal")
        held = int(notes.get("call", 0))
        if known != self._journal.id:
            if self._journal.last:
                raise JournalError(
                    f"{self._journal.path} belongs to another model file than {self.path}; move "
                    "it away to begin a new journal, or put its model file back"
                )
            held = 0
        if held > self._journal.last:
            raise JournalError(
                f"{self._journal.path} is older than {self.path}: the model holds {held} calls, "
                f"and the journal knows of {self._journal.last}; restore both from copies of the "
                "same time, or move the journal away to go on with what the model file holds"
            )
        # The model, and the number of the last call that is in it: replaced together.
        self._state = model, held
        self._catch_up()
        if known != self._journal.id or self._state[1] != held:
            self.compact()

    @property
    def model(self) -> Any:
        """The model as it is now. What others learn later does not reach it."""
        return self._state[0].at_this_moment()

    @property
    def n_calls(self) -> int:
        """How many calls were ever written down."""
        return self._state[1]

    def partial_fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> None:
        """Add samples, durably; parameters as for the model's `partial_fit`."""
        call = {
            "call": "partial_fit",
            "X": np.asarray(X, dtype=np.float64),
            "y": np.asarray(y),
            "sample_weight": _numbers(sample_weight),
        }
        self._apply(call, lambda model: model.partial_fit(X, y, sample_weight))

    def forget(self, indices: ArrayLike) -> None:
        """Remove samples, durably; `indices` as for the model's `forget`."""
        call = {"call": "forget", "indices": np.asarray(indices).tolist()}
        self._apply(call, lambda model: model.forget(indices))

    def _apply(self, call: dict[str, Any], change: Any) -> None:
        """Change a copy of the model, write the call down, and then let readers see the copy."""
        with self._turn:
            if self._closed:
                raise ValueError(f"{self.path} was closed; open it again with open_online")
            self._catch_up()  # an interrupted call can be in the journal and not in the model
            changed = self.model
            change(changed)
            self._state = changed, self._journal.append(call)

    def _catch_up(self) -> None:
        """Apply the calls that the journal has beyond the model."""
        model, held = self._state
        if self._journal.last == held:
            return
        with warnings.catch_warnings():
            # Calls hold numbers without the names of features, which were checked before.
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            changed = model.at_this_moment()
            for number, call in self._journal.calls_after(held):
                held = number
                if call["call"] == "forget":
                    changed.forget(call["indices"])
                else:
                    changed.partial_fit(call["X"], call["y"], call["sample_weight"])
        self._state = changed, held

    def compact(self) -> None:
        """Write a model file that holds all calls, and remove these from the journal.

        Readers go on meanwhile; writers wait.
        """
        with self._turn:
            model, number = self._state
            write_model(model, self.path, journal=self._journal.id, call=number)
            if self._fsync:
                sync_folder(self.path.resolve().parent)  # the file first, on the disk
            self._journal.remove_until(number)

    def close(self) -> None:
        """Let another process open the file. The model stays as it is."""
        with self._turn:
            self._journal.close()
            self._closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _numbers(values: ArrayLike | None) -> NDArray[np.float64] | None:
    return None if values is None else np.asarray(values, dtype=np.float64)


def _check_learns(model: Any, path: Path) -> None:
    """Refuse models that cannot learn sample by sample."""
    if not all(hasattr(model, name) for name in ("partial_fit", "forget", "members")):
        raise ValueError(
            "open_online needs a single model or an ensemble, which learn sample by sample from "
            f"arrays, but {path} holds a {type(model).__name__}; use load"
        )

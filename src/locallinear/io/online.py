"""Models for services: what they learn and forget is written down before the call returns.

An online model is a model file and a journal beside it. The file says which call of the journal is
the last that it holds, so that no call is ever applied twice, whenever a process was killed.
Opening applies the calls that came since, one by one as they were made, writes a new file and
removes them from the journal.
"""

import os
from collections.abc import Callable
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..runtime.files import sync_folder
from .journal import Journal, JournalError
from .model_file import model_path, read_model, write_model

# What `OnlineModel.model` says where it should learn.
ONLY_READ = (
    "this model is only to read, and what it learns would be lost: call partial_fit or forget of "
    "what open_online returned, or take a copy.copy(model) that is your own"
)


def open_online(path: str | Path, *, fsync: bool = True) -> "OnlineModel":
    """Open a model file for a service that learns.

    What the model learns and forgets goes into a journal beside the file, `path` with ``.journal``
    behind it: an SQLite database without pickle or code. When a call returns, it is durable. A
    process that is killed at any moment loses nothing that a call had returned for; opening the
    file again applies what the journal has. One process at a time can have the file open, also by
    a symbolic link; another one is told who has it. A hard link is a copy, with a journal of its
    own.

    Parameters
    ----------
    path : str or Path
        A file that `save` wrote: of a single model, of a search, of an ensemble or of a table.
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
    ...     online.partial_fit([[3.0]], [9.0])  # the first call
    1
    >>> with open_online(path) as online:
    ...     online.model.predict([[3.0]])
    array([9.])
    """
    # Symbolic links are followed, and folders named in full: a file keeps its one journal when the
    # process changes its folder. A hard link is another file as soon as one of them is written.
    return OnlineModel(Path(os.path.realpath(model_path(path))), fsync=fsync)


class OnlineModel:
    """A fitted model, and a journal of what it learned and forgot; `open_online` makes them.

    Threads may share it: readers take `model`, and writers take turns. A process that was forked
    from the one that opened it can read, and nothing else.
    """

    def __init__(self, path: Path, *, fsync: bool):
        self.path, self._fsync, self._closed = path, fsync, False
        self._turn, self._process = RLock(), os.getpid()
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
        """The model as it is now, to read: it refuses to learn, since nobody would write that down.

        What others learn later does not reach it. `copy.copy` of it may learn.
        """
        return self.numbered()[0]

    @property
    def n_calls(self) -> int:
        """How many calls were ever written down."""
        return self._state[1]

    def numbered(self) -> tuple[Any, int]:
        """The model as it is now, and the number of the last call that it holds."""
        model, number = self._state
        return model.only_to_read(ONLY_READ), number

    def partial_fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> int:
        """Add samples, durably; parameters as for the model's `partial_fit`.

        Returns
        -------
        int
            The number of the call: `numbered` tells whether a model holds it.
        """

        def learn(model: Any) -> dict[str, Any]:
            features, targets = model.learn_and_note(X, y, sample_weight)
            weights = None if sample_weight is None else np.asarray(sample_weight, np.float64)
            return {"call": "partial_fit", "X": features, "y": targets, "sample_weight": weights}

        return self._apply(learn)

    def forget(self, indices: ArrayLike) -> int:
        """Remove samples, durably; `indices` as for the model's `forget`.

        Returns
        -------
        int
            The number of the call.
        """

        def forget(model: Any) -> dict[str, Any]:
            model.forget(indices)
            return {"call": "forget", "indices": np.asarray(indices).tolist()}

        return self._apply(forget)

    def _apply(self, change: Callable[[Any], dict[str, Any]]) -> int:
        """Change a copy of the model, write the call down, and then let readers see the copy."""
        with self._turn:
            self._check_open()
            self._catch_up()  # an interrupted call can be in the journal and not in the model
            changed = self._state[0].at_this_moment()
            call = change(changed)
            number = self._journal.append(call)
            self._state = changed, number
            return number

    def _check_open(self) -> None:
        if self._closed:
            raise ValueError(f"{self.path} was closed; open it again with open_online")
        if os.getpid() != self._process:
            raise JournalError(
                f"{self.path} was opened by process {self._process}, from which this one was "
                "forked, and one process at a time can write: close it there, and open it here "
                "with open_online"
            )

    def _catch_up(self) -> None:
        """Apply the calls that the journal has beyond the model."""
        model, held = self._state
        if self._journal.last == held:
            return
        changed = model.at_this_moment()
        for number, call in self._journal.calls_after(held):
            held = number
            if call["call"] == "forget":
                changed.forget(call["indices"])
            else:
                changed.learn_arrays(call["X"], call["y"], call["sample_weight"])
        self._state = changed, held

    def compact(self) -> None:
        """Write a model file that holds all calls, and remove these from the journal.

        Readers go on meanwhile; writers wait.
        """
        with self._turn:
            self._check_open()
            model, number = self._state
            write_model(model, self.path, journal=self._journal.id, call=number)
            if self._fsync:
                sync_folder(self.path.resolve().parent)  # the file first, on the disk
            self._journal.remove_until(number)

    def close(self) -> None:
        """Let another process open the file. The model stays as it is."""
        if os.getpid() == self._process:
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


def _check_learns(model: Any, path: Path) -> None:
    """Refuse models that cannot learn sample by sample."""
    if not all(hasattr(model, name) for name in ("partial_fit", "forget", "learn_arrays")):
        raise ValueError(
            "open_online needs a single model, an ensemble or a model of a table, which learn "
            f"sample by sample, but {path} holds a {type(model).__name__}; use load"
        )

"""Models with a journal: nothing acknowledged is lost, and nothing is applied twice.

More kills: LOCALLINEAR_KILLS=200 pytest tests/files/test_online.py.
"""

import copy
import gc
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from itertools import takewhile

import numpy as np
import pandas
import pytest
from numpy.testing import assert_array_equal

import locallinear
from frames import as_frame, fitted_table
from locallinear import (
    FALLClassifier,
    FALLEnsembleRegressor,
    FALLRegressor,
    FALLRegressorCV,
    TableClassifier,
    TableRegressor,
)
from locallinear.io import open_online
from locallinear.io.journal import JournalError
from locallinear.io.online import OnlineModel

N_KILLS = int(os.environ.get("LOCALLINEAR_KILLS", "3"))
Q = np.random.default_rng(9).uniform(size=(5, 3))


def fitted(kind=FALLRegressor, **parameters):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(60, 3))
    y = X.sum(axis=1)
    if kind is FALLClassifier:
        y = np.where(y > 1.5, "high", "low")
    return kind(**parameters, random_state=0).fit(X, y)


MODELS = {
    "single": lambda: fitted(assignment_neighbors=3),
    "classes": lambda: fitted(FALLClassifier),
    "search": lambda: fitted(FALLRegressorCV, grid={"n_neighbors": [3, 5]}),
    "ensemble": lambda: fitted(FALLEnsembleRegressor, n_estimators=3, search=None),
    "table": lambda: fitted_table(
        TableRegressor, FALLRegressor(20, assignment_neighbors=3), target="log"
    ),
    "classes of a table": lambda: fitted_table(TableClassifier, FALLClassifier(20)),
}


def change(model, number):
    """Call number `number` of a fixed story; online models and others can go through it."""
    rng = np.random.default_rng(number)
    if number % 4 == 3:
        model.forget(rng.integers(0, 50, 2))
        return
    X = rng.uniform(size=(rng.integers(1, 4), 3))
    y, now = 10 * X[:, 0], model.model if isinstance(model, OnlineModel) else model
    if hasattr(now, "encoding_"):
        X, y = as_frame(X), pandas.Series(y)
    if hasattr(now, "classes_"):
        y = np.where(y > 5, "high", "low")
    model.partial_fit(X, y, None if number % 3 else rng.uniform(0.5, 2, len(X)))


def answers(model):
    rows = as_frame(Q) if hasattr(model, "encoding_") else Q
    return model.predict_proba(rows) if hasattr(model, "classes_") else model.predict(rows)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_that_is_opened_again_is_the_one_that_saw_the_same_calls(name, path):
    alone = MODELS[name]()
    alone.save(path)
    alone = locallinear.load(path)
    for start in (0, 6, 12):
        with open_online(path) as online:
            assert_array_equal(answers(online.model), answers(alone))
            for number in range(start, start + 6):
                change(online, number)
                change(alone, number)
            assert_array_equal(answers(online.model), answers(alone))
            assert online.n_calls == start + 6
    with open_online(path) as online:
        assert_array_equal(answers(online.model), answers(alone))
    assert_array_equal(answers(locallinear.load(path)), answers(alone))  # opening has compacted


def test_frames_with_names_are_replayed_without_a_warning(path):
    frame = pandas.DataFrame(np.random.default_rng(0).uniform(size=(30, 2)), columns=["a", "b"])
    FALLRegressor(random_state=0).fit(frame, frame["a"]).save(path)
    with open_online(path) as online:
        online.partial_fit(frame[:3], frame["b"][:3])
    with open_online(path) as online:
        assert online.model.n_samples_fit_ == 33


def test_a_call_that_the_model_refuses_is_not_in_the_journal(path):
    fitted().save(path)
    with open_online(path) as online:
        before = online.model.predict(Q)
        with pytest.raises(ValueError, match="NaN"):
            online.partial_fit([[np.nan, 0, 0]], [0.0])
        with pytest.raises(ValueError, match="all 60 samples"):
            online.forget(range(60))
        assert online.n_calls == 0
        assert_array_equal(online.model.predict(Q), before)
    with open_online(path) as online:
        assert_array_equal(online.model.predict(Q), before)


def test_rows_that_a_table_refuses_are_not_in_the_journal(path):
    MODELS["table"]().save(path)
    with open_online(path) as online:
        before = answers(online.model)
        with pytest.raises(ValueError, match="no column 'day'"):
            online.partial_fit(as_frame(Q).drop(columns="day"), Q[:, 0])
        with pytest.raises(ValueError, match="log"):
            online.partial_fit(as_frame(Q), -Q[:, 0])
        assert online.n_calls == 0
        assert_array_equal(answers(online.model), before)


def test_a_table_may_hold_its_target_as_a_column(path):
    MODELS["table"]().save(path)
    alone, rows = locallinear.load(path), as_frame(Q).assign(target=1.0 + Q[:, 0])
    with open_online(path) as online:
        online.partial_fit(rows, "target")
    alone.partial_fit(rows, "target")
    with open_online(path) as online:
        assert_array_equal(answers(online.model), answers(alone))


def test_the_number_of_a_call_says_which_models_hold_it(path):
    fitted().save(path)
    with open_online(path) as online:
        assert online.partial_fit(Q, Q[:, 0]) == 1
        model, number = online.numbered()
        assert (number, model.n_samples_fit_) == (1, 65)
        assert online.forget([0]) == 2
        assert (number, model.n_samples_fit_) == (1, 65)


def test_a_journal_that_cannot_be_written_leaves_the_model_as_it_was(path):
    fitted().save(path)
    with open_online(path) as online:
        before = online.model.predict(Q)
        online._journal._base.execute("PRAGMA query_only = ON")
        with pytest.raises(JournalError, match=r"cannot be written .*the model stays as it was"):
            online.partial_fit(Q, Q[:, 0])
        online._journal._base.execute("PRAGMA query_only = OFF")
        assert_array_equal(online.model.predict(Q), before)
        online.partial_fit(Q, Q[:, 0])
        assert online.n_calls == 1


def test_a_call_that_was_interrupted_after_it_was_written_is_caught_up_with(path, monkeypatch):
    fitted().save(path)
    alone = locallinear.load(path)
    with open_online(path) as online:
        append = online._journal.append

        def interrupted(call):
            append(call)
            raise KeyboardInterrupt

        monkeypatch.setattr(online._journal, "append", interrupted)
        with pytest.raises(KeyboardInterrupt):
            change(online, 0)
        monkeypatch.undo()
        change(online, 1)
        for number in (0, 1):
            change(alone, number)
        assert_array_equal(online.model.predict(Q), alone.predict(Q))


def test_readers_keep_the_model_that_they_took(path):
    fitted().save(path)
    with open_online(path) as online:
        taken = online.model
        before = taken.predict(Q)
        copy.copy(taken).partial_fit(Q, 100 * Q[:, 0])
        assert_array_equal(online.model.predict(Q), before)
        online.partial_fit(Q, -100 * Q[:, 0])
        assert_array_equal(taken.predict(Q), before)
        assert (online.model.predict(Q) != before).any()


def test_threads_take_turns(path):
    fitted().save(path)
    with open_online(path, fsync=False) as online:
        threads = [
            threading.Thread(target=online.partial_fit, args=([[i, i, i]], [float(i)]))
            for i in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (online.n_calls, online.model.n_samples_fit_) == (8, 68)


# --- Kills --------------------------------------------------------------------------------------

# Makes a process per line that it reads, so that Python starts once for all of them.
NURSERY = """
import os, sys
sys.path[:0] = sys.argv[1:]
from test_online import in_the_nursery
for line in sys.stdin:
    task, _, path = line.rstrip("\\n").partition(" ")
    child = os.fork()
    if not child:
        in_the_nursery(task, path)
        os._exit(0)
    os.waitpid(child, 0)
    print("end", flush=True)
"""


def in_the_nursery(task, path):
    """What a process does that is not the one of the tests; it prints its own number first."""
    print(os.getpid(), flush=True)
    try:
        with open_online(path) as online:
            for number in range(online.n_calls, 100_000 if task == "learn" else 0):
                change(online, number)
                print(number, flush=True)
                if number % 10 == 9:
                    online.compact()
    except JournalError as error:
        print(error, flush=True)


@pytest.fixture(scope="module")
def nursery():
    """A process that makes others: returns a function that has one do a task."""
    if not hasattr(os, "fork"):
        pytest.skip("no processes by fork, and no SIGKILL")
    folder = os.path.dirname(__file__)
    command = [sys.executable, "-c", NURSERY, folder, os.path.dirname(folder)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}

    with subprocess.Popen(command, **pipes) as process:

        def begin(task, path):
            """Begin the task; returns the number of its process, and the lines that it prints."""
            print(task, path, file=process.stdin, flush=True)
            number = int(process.stdout.readline())
            # A process that is killed while it prints may leave a line without its end.
            return number, takewhile(lambda line: not line.endswith("end\n"), process.stdout)

        yield begin
        process.stdin.close()


@pytest.mark.parametrize(("name", "kills"), [("single", N_KILLS), ("table", -(-N_KILLS // 4))])
def test_a_process_that_is_killed_at_any_moment_loses_nothing_and_repeats_nothing(
    name, kills, path, nursery
):
    MODELS[name]().save(path)
    alone, told = locallinear.load(path), 0
    chance = random.Random(0)
    for _ in range(kills):
        number, lines = nursery("learn", path)
        first = next(lines)
        threading.Timer(chance.uniform(0, 0.2), os.kill, (number, signal.SIGKILL)).start()
        acknowledged = int([first, *lines][-1]) + 1
        with open_online(path) as online:
            # The last call may be in the journal without the word that it is.
            assert acknowledged <= online.n_calls <= acknowledged + 1
            for number in range(told, online.n_calls):
                change(alone, number)
            told = online.n_calls
            assert_array_equal(answers(online.model), answers(alone))
            held = [getattr(model, "estimator_", model).labels_ for model in (online.model, alone)]
            assert_array_equal(*held)


@pytest.mark.parametrize("name", ["single", "table"])
def test_a_torn_end_of_the_journal_loses_only_what_was_never_acknowledged(name, path, tmp_path):
    MODELS[name]().save(path)
    journal = path.with_name(path.name + ".journal")
    log = journal.with_name(journal.name + "-wal")
    online = open_online(path)
    sizes, expected = [log.stat().st_size], [answers(online.model)]
    for number in range(4):
        change(online, number)
        sizes.append(log.stat().st_size)
        expected.append(answers(online.model))
    copies = tmp_path / "copies"
    rng = np.random.default_rng(0)
    for cut in [*rng.integers(sizes[0], sizes[-1] + 1, 12).tolist(), *sizes[1:]]:
        # What the disk has if the machine stops when so many bytes are written.
        copies.mkdir()
        for file in (path, journal, log):
            shutil.copy(file, copies / file.name)
        os.truncate(copies / log.name, cut)
        with open_online(copies / path.name) as torn:
            whole = sum(size <= cut for size in sizes[1:])
            assert torn.n_calls == whole
            assert_array_equal(answers(torn.model), expected[whole])
        shutil.rmtree(copies)
    online.close()


@pytest.mark.parametrize("stop", ["write_model", "remove_until"])
def test_a_compaction_that_is_interrupted_applies_nothing_twice(path, stop, monkeypatch):
    fitted().save(path)
    online = open_online(path)
    for number in range(5):
        change(online, number)
    expected = answers(online.model)

    def interrupted(*given, **notes):
        raise KeyboardInterrupt

    if stop == "write_model":
        monkeypatch.setattr("locallinear.io.online.write_model", interrupted)
    else:
        monkeypatch.setattr(online._journal, "remove_until", interrupted)
    with pytest.raises(KeyboardInterrupt):
        online.compact()
    online.close()
    monkeypatch.undo()
    with open_online(path) as again:
        assert again.n_calls == 5
        assert_array_equal(answers(again.model), expected)


# --- Refused --------------------------------------------------------------------------------------


def test_a_second_writer_is_told_who_holds_the_journal(path, nursery):
    fitted().save(path)
    with open_online(path):
        _, lines = nursery("open", path)
        assert f"is held by process {os.getpid()} on " in "".join(lines)
    with open_online(path) as online:
        assert online.n_calls == 0


def test_a_copy_of_the_journal_leaves_the_lock_where_it_is(path, nursery, tmp_path):
    fitted().save(path)
    with open_online(path) as online:
        change(online, 0)
        for name in ("", "-wal", ".holder"):  # as a backup does, in the process of the service
            shutil.copy(f"{path}.journal{name}", tmp_path / f"backup{name}")
        _, lines = nursery("open", path)
        assert f"is held by process {os.getpid()} on " in "".join(lines)
        change(online, 1)
    with open_online(path) as online:
        assert online.n_calls == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes by fork")
def test_a_forked_process_reads_and_takes_nothing_from_the_journal(path, tmp_path):
    fitted().save(path)
    online = open_online(path)
    change(online, 0)
    child = os.fork()
    if not child:
        said = ""
        for call in (lambda: change(online, 1), online.compact, online.close):
            try:
                call()
            except JournalError as error:
                said += str(error)
        (tmp_path / "said").write_text(f"{said} {online.n_calls}")
        del call, online
        gc.collect()
        os._exit(0)
    os.waitpid(child, 0)
    said = (tmp_path / "said").read_text()
    assert said.count(f"was opened by process {os.getpid()}, from which this one was forked") == 2
    assert said.endswith(" 1")
    change(online, 1)
    online.close()
    with open_online(path) as again:
        assert again.n_calls == 2


def test_a_model_file_keeps_its_journal_when_the_process_changes_its_folder(
    path, tmp_path, monkeypatch
):
    fitted().save(path)
    monkeypatch.chdir(path.parent)
    with open_online(path.name) as online:
        change(online, 0)
        other = tmp_path / "other"
        other.mkdir()
        monkeypatch.chdir(other)
        online.compact()
        assert not list(other.iterdir())
    with open_online(path) as online:
        assert online.n_calls == 1


@pytest.mark.parametrize("kind", MODELS)
def test_the_model_of_an_online_model_refuses_to_learn_what_would_be_lost(kind, path):
    MODELS[kind]().save(path)
    with open_online(path) as online:
        before = online.model.n_samples_fit_
        for model in (online.model, online.numbered()[0], online.model.at_this_moment()):
            with pytest.raises(ValueError, match=r"only to read, .* partial_fit or forget of what"):
                change(model, 0)
            with pytest.raises(ValueError, match="only to read, and what it learns would be lost"):
                model.forget([0])
            assert model.n_samples_fit_ == before
        own = copy.copy(online.model)
        own.forget([0])
        assert (own.n_samples_fit_, online.model.n_samples_fit_) == (before - 1, before)
        change(online, 0)
        assert online.model.n_samples_fit_ > before
        again = path.with_name("again.model")
        online.model.save(again)
        locallinear.load(again).forget([0])


def test_a_hard_link_is_a_copy_with_a_journal_of_its_own(path):
    fitted().save(path)
    other = path.with_name("other.model")
    os.link(path, other)
    before = locallinear.load(path).predict(Q)
    with open_online(path) as online, open_online(other) as second:
        change(online, 0)
        assert (online.n_calls, second.n_calls) == (1, 0)
        assert_array_equal(second.model.predict(Q), before)
        learned = online.model.predict(Q)
    for name, expected in ((path, learned), (other, before)):
        with open_online(name) as again:
            assert_array_equal(again.model.predict(Q), expected)


def test_a_model_file_has_one_journal_also_by_a_symbolic_link(path):
    fitted().save(path)
    alias = path.with_name("alias.model")
    alias.symlink_to(path)
    with open_online(alias) as online:
        change(online, 0)
        with pytest.raises(JournalError, match="is held by process"):
            open_online(path)
    with open_online(path) as online:
        assert online.n_calls == 1


@pytest.mark.parametrize("name", [".journal", ".journal-wal"])
def test_a_journal_that_is_replaced_while_it_is_open_takes_no_calls(path, name):
    fitted().save(path)
    file = path.with_name(path.name + name)
    with open_online(path) as online:
        change(online, 0)
        file.rename(path.with_name("away"))
        shutil.copy(path.with_name("away"), file)
        with pytest.raises(JournalError, match="replaced while it was open"):
            change(online, 1)
        assert online.n_calls == 1


def test_a_journal_of_another_model_file_is_refused(path):
    fitted().save(path)
    with open_online(path) as online:
        change(online, 0)
    fitted(n_neighbors=3).save(path)
    with pytest.raises(JournalError, match="belongs to another model file"):
        open_online(path)


@pytest.mark.parametrize("older", ["journal", "model"])
def test_a_journal_and_a_model_file_of_different_times_are_refused(path, older):
    fitted().save(path)
    journal = path.with_name(path.name + ".journal")
    old = {}
    for calls in ((0, 1), (2, 3, 4)):
        with open_online(path) as online:
            for number in calls:
                change(online, number)
            online.compact()
        old = old or {"journal": journal.read_bytes(), "model": path.read_bytes()}
    (journal if older == "journal" else path).write_bytes(old[older])
    with pytest.raises(JournalError, match=r"older than .*copies of the same time"):
        open_online(path)


def test_a_closed_model_is_read_and_not_changed(path):
    fitted().save(path)
    with open_online(path) as online:
        pass
    assert len(online.model.predict(Q)) == len(Q)
    with pytest.raises(ValueError, match="was closed; open it again with open_online"):
        change(online, 0)
    with pytest.raises(ValueError, match="was closed; open it again with open_online"):
        online.compact()
    online.close()  # a second time, as `with` and a handler may


def test_bytes_that_are_no_journal_are_refused(path):
    fitted().save(path)
    path.with_name(path.name + ".journal").write_bytes(b"no database" * 100)
    with pytest.raises(JournalError, match="is no journal of locallinear"):
        open_online(path)


def test_a_folder_in_the_place_of_the_journal_is_refused(path):
    fitted().save(path)
    path.with_name(path.name + ".journal").mkdir()
    with pytest.raises(JournalError, match="cannot be written: it is a folder"):
        open_online(path)
    assert not path.with_name(path.name + ".journal.holder").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="no limit on the size of files")
def test_a_full_disk_leaves_the_model_and_the_journal_as_they_were(path):
    import resource

    fitted().save(path)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with open_online(path) as online:
        resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, limits[1]))
        try:
            for number in range(3):
                change(online, number)
            with pytest.raises(JournalError, match="look at the space on the disk"):
                online.partial_fit(np.ones((1000, 3)), np.ones(1000))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            signal.signal(signal.SIGXFSZ, ignored)
        acknowledged = online.n_calls
        assert acknowledged
        change(online, acknowledged)
    with open_online(path) as online:
        assert online.n_calls == acknowledged + 1


def test_a_damaged_or_missing_call_is_refused_by_its_number(path):
    fitted().save(path)
    journal = path.with_name(path.name + ".journal")
    with open_online(path) as online:
        for number in range(3):
            change(online, number)
    whole = journal.read_bytes()
    for change_journal, message in [
        ("UPDATE calls SET content = zeroblob(50) WHERE number = 2", "call 2 in .* is damaged"),
        ("DELETE FROM calls WHERE number = 2", "call 2 is missing"),
        ("DELETE FROM about WHERE name = 'last'", "damaged one .it does not say its last"),
        ("UPDATE about SET value = '1' WHERE name = 'last'", "has call 3, but says that call 1"),
        ("UPDATE about SET value = 'x' WHERE name = 'last'", "'x' is not the number"),
    ]:
        journal.write_bytes(whole)
        with sqlite3.connect(journal) as base:
            base.execute(change_journal)
        base.close()
        with pytest.raises(JournalError, match=message):
            open_online(path)


def test_a_model_that_cannot_learn_is_refused(path, monkeypatch):
    fitted().save(path)
    monkeypatch.delattr(FALLRegressor, "partial_fit")
    with pytest.raises(ValueError, match="holds a FALLRegressor; use load"):
        open_online(path)
    with pytest.raises(FileNotFoundError, match="no model file"):
        open_online(path.with_name("none"))


@pytest.mark.parametrize("reader", [locallinear.load, open_online])
def test_what_is_no_name_of_a_file_is_refused(reader):
    for name in (None, b"x", 5):
        with pytest.raises(TypeError, match="expected the name of a model file, but got"):
            reader(name)
    with pytest.raises(FileNotFoundError, match="name of the model file is empty"):
        reader("")

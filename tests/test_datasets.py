import doctest
import hashlib
import io
import os
import socket
import sys
import threading
import time
import zipfile
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from locallinear import datasets
from locallinear.datasets import _cache, _download, _fetch, _sources
from locallinear.datasets._convert import tidy_csv
from locallinear.datasets._sources import SOURCES

TINY = _sources.Source(
    name="tiny",
    title="Tiny",
    archive="1/tiny+data.zip",
    original="tiny.data",
    sha256=None,
    layout="named",
    n_samples=3,
    inputs=("a", "b"),
    targets=("y",),
    licence="none",
    citation="nobody",
)
ORIGINAL = b"y,a,b\n1.50,2,3e-005\n4,5,6\n7,8,9\n"
TIDY = b"a,b,y\n2,3e-005,1.50\n5,6,4\n8,9,7\n"


def shared_folder():
    folder = os.environ.get("LOCALLINEAR_DATA")
    if not folder or not (Path(folder) / "concrete.csv").exists():
        pytest.skip("LOCALLINEAR_DATA names no folder with the data sets")
    return Path(folder)


def shared_original(source):
    path = shared_folder() / "raw" / source.original
    if not path.exists():
        pytest.skip(f"the folder of LOCALLINEAR_DATA has no raw/{source.original}")
    return path.read_bytes()


# --- the real files -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name, source in SOURCES.items() if source.sha256])
def test_real_original_converts_to_the_tidy_file_byte_for_byte(name):
    source = SOURCES[name]
    original = shared_original(source)
    assert hashlib.sha256(original).hexdigest() == source.sha256
    assert tidy_csv(source, original) == (shared_folder() / f"{name}.csv").read_bytes()


@pytest.mark.parametrize("name", SOURCES)
def test_fetch_gives_the_shapes_of_the_source_table(name):
    source = SOURCES[name]
    bunch = getattr(datasets, f"fetch_{name}")(data_home=shared_folder())
    assert bunch.data.shape == (source.n_samples, len(source.inputs))
    assert bunch.target.shape == (source.n_samples,)
    assert bunch.feature_names == list(source.inputs)
    assert source.citation in bunch.DESCR
    assert source.licence in bunch.DESCR
    assert bunch.frame is None


def test_frame_holds_the_same_numbers_as_the_arrays():
    folder = shared_folder()
    X, y = datasets.fetch_qsar_fish_toxicity(data_home=folder, return_X_y=True)
    bunch = datasets.fetch_qsar_fish_toxicity(data_home=folder, as_frame=True)
    np.testing.assert_array_equal(bunch.data.to_numpy(), X)
    np.testing.assert_array_equal(bunch.target.to_numpy(), y)
    assert list(bunch.frame.columns) == [*bunch.feature_names, "LC50"]


def test_parkinsons_keeps_the_subject_and_the_other_score_out_of_the_inputs():
    motor = datasets.fetch_parkinsons(data_home=shared_folder())
    total = datasets.fetch_parkinsons(data_home=shared_folder(), target="total_UPDRS")
    assert motor.data.shape[1] == 19
    assert not {"subject#", "motor_UPDRS", "total_UPDRS"} & set(motor.feature_names)
    assert len(np.unique(motor.groups)) == 42
    assert motor.target[0] == 28.199
    assert total.target[0] == 34.398


def test_examples_of_the_fetch_functions_hold_on_the_real_data(monkeypatch):
    monkeypatch.setenv("LOCALLINEAR_DATA", str(shared_folder()))
    parser = doctest.DocTestParser()
    runner = doctest.DocTestRunner()
    for name in SOURCES:
        function = getattr(_fetch, f"fetch_{name}")
        text = function.__doc__.replace("# doctest: +SKIP", "")
        runner.run(parser.get_doctest(text, {}, name, None, None))
    assert runner.failures == 0
    assert runner.tries > len(SOURCES)


# --- the synthetic sets -------------------------------------------------------------------------


def test_step_takes_two_values_and_noise_is_added_to_them():
    step = datasets.load_step(500, noise=0.1, random_state=0)
    assert set(step.truth) == {0.0, 1.0}
    np.testing.assert_array_equal(step.truth, np.abs(step.data[:, 0]) < 0.5)
    assert np.std(step.target - step.truth) == pytest.approx(0.1, rel=0.1)


@pytest.mark.parametrize("load", [datasets.load_step, datasets.load_moons])
def test_synthetic_sets_depend_on_the_random_state_alone(load):
    first, again = load(60, random_state=3), load(60, random_state=3)
    X, y = load(60, random_state=3, return_X_y=True)
    np.testing.assert_array_equal(first.data, again.data)
    np.testing.assert_array_equal(first.data, X)
    np.testing.assert_array_equal(first.target, y)
    assert not np.array_equal(load(60, random_state=4).data, X)


# --- folders ------------------------------------------------------------------------------------


def test_folder_is_the_argument_then_the_variable_then_the_home(monkeypatch, tmp_path):
    monkeypatch.setenv("LOCALLINEAR_DATA", str(tmp_path / "variable"))
    assert _cache.data_folder(tmp_path / "argument") == tmp_path / "argument"
    assert _cache.data_folder() == tmp_path / "variable"
    monkeypatch.delenv("LOCALLINEAR_DATA")
    assert _cache.data_folder() == Path.home() / ".locallinear"
    assert _cache.data_folder("~/x") == Path.home() / "x"


def test_tidy_file_in_the_folder_is_used_as_it_is(tmp_path):
    (tmp_path / "tiny.csv").write_bytes(b"a,b,y\n1,2,3\n")
    bunch = _cache.fetch(TINY, "y", tmp_path, False, False, False)
    np.testing.assert_array_equal(bunch.data, [[1, 2]])
    np.testing.assert_array_equal(bunch.target, [3])


def test_archive_put_into_the_folder_by_hand_is_converted(tmp_path):
    (tmp_path / "tiny+data.zip").write_bytes(zipped({"tiny.data": ORIGINAL}))
    bunch = _cache.fetch(TINY, "y", tmp_path, False, False, False)
    assert (tmp_path / "tiny.csv").read_bytes() == TIDY
    np.testing.assert_array_equal(bunch.target, [1.5, 4, 7])


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"a,y,b\n1,2,3\n", "should start with the columns a, b, y"),
        (b"", "should start with the columns"),
        (b"a,b,y\n1,2,x\n", "should hold numbers alone"),
        (b"a,b,y\n1,2\n1,2,3\n", "should hold numbers alone"),
    ],
)
def test_tidy_file_that_is_something_else_is_refused(tmp_path, content, complaint):
    (tmp_path / "tiny.csv").write_bytes(content)
    with pytest.raises(ValueError, match=complaint):
        _cache.fetch(TINY, "y", tmp_path, False, False, False)


def test_without_data_and_without_download_the_error_names_address_and_folder(tmp_path):
    with pytest.raises(OSError, match="download_if_missing is False") as caught:
        datasets.fetch_concrete(data_home=tmp_path, download_if_missing=False)
    assert SOURCES["concrete"].address in str(caught.value)
    assert str(tmp_path) in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_unknown_target_is_refused(tmp_path):
    with pytest.raises(ValueError, match="motor_UPDRS"):
        datasets.fetch_parkinsons(data_home=tmp_path, target="tremor")


@pytest.mark.parametrize(
    ("original", "complaint"),
    [
        (b"y,a,c\n1,2,3\n", "no column 'b'"),
        (b"", "no column 'a'"),
        (b"a,b,y\n1,2,3\n", "should have 3 rows of 3 columns; it has 1 rows"),
        (b"a,b,y\n1,2,3\n1,nan,3\n1,2,3\n", "no finite numbers in row 2"),
        (b"a,b,y\n1,2,3\n1,2,3\n1,?,3\n", "no finite numbers in row 3"),
    ],
)
def test_original_that_is_something_else_is_refused(original, complaint):
    with pytest.raises(ValueError, match=complaint):
        tidy_csv(TINY, original)


# --- a server that misbehaves -------------------------------------------------------------------


def zipped(members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


GOOD = zipped({"readme.txt": b"hello", "tiny.data": ORIGINAL})


class Server(ThreadingHTTPServer):
    """Answers each request by the next of its behaviours, the last one again and again."""

    daemon_threads = True

    def __init__(self, *behaviours):
        super().__init__(("127.0.0.1", 0), Handler)
        self.behaviours = list(behaviours)
        self.n_requests = 0
        self.closing = threading.Event()

    def handle_error(self, request, client_address):
        """A client that hangs up on an endless body is part of the play."""


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        number = self.server.n_requests
        self.server.n_requests += 1
        self.server.behaviours[min(number, len(self.server.behaviours) - 1)](self)

    def log_message(self, *args):
        pass

    def reply(self, body, status=200, length=None):
        self.send_response(status)
        if length is not False:
            self.send_header("Content-Length", str(length or len(body)))
        self.end_headers()
        self.wfile.write(body)


def good(handler):
    handler.reply(GOOD)


def not_found(handler):
    handler.reply(b"gone", status=404)


def overloaded(handler):
    handler.reply(b"later", status=503)


def silent(handler):
    handler.server.closing.wait(10)


def cut_with_length(handler):
    handler.reply(GOOD[:50], length=len(GOOD))


def cut_without_length(handler):
    handler.reply(GOOD[:50], length=False)


def reset(handler):
    handler.connection.shutdown(socket.SHUT_RDWR)


def wrong_bytes(handler):
    handler.reply(zipped({"tiny.data": ORIGINAL.replace(b"1.50", b"9.99")}))


def no_zip(handler):
    handler.reply(b"<html>Please log in</html>")


def another_zip(handler):
    handler.reply(zipped({"other.data": ORIGINAL}))


def leaving_zip(handler):
    handler.reply(zipped({"../tiny.data": ORIGINAL, "/tmp/tiny.data": ORIGINAL}))


def bomb(handler):
    handler.reply(zipped({"tiny.data": b"0" * 200_000}))


def announced_too_large(handler):
    handler.reply(b"", length=10**12)


def endless(handler):
    handler.send_response(200)
    handler.end_headers()
    while not handler.server.closing.is_set():
        handler.wfile.write(b"x" * 10_000)


def dripping(handler):
    handler.send_response(200)
    handler.end_headers()
    while not handler.server.closing.wait(0.02):
        handler.wfile.write(b"x")


def redirecting_elsewhere(handler):
    handler.send_response(302)
    handler.send_header("Location", "ftp://127.0.0.1/tiny.zip")
    handler.end_headers()


@pytest.fixture
def serve(monkeypatch):
    """Start a server with the given behaviours in place of the repository."""
    started = []
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(_download, "TIMEOUT_S", 0.6)
    monkeypatch.setattr(_download, "DEADLINE_S", 0.3)
    monkeypatch.setattr(_download, "BACKOFF_S", 0.0)
    monkeypatch.setattr(_download, "MAX_BYTES", 100_000)

    def start(*behaviours):
        server = Server(*behaviours)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        started.append((server, thread))
        monkeypatch.setattr(_sources, "BASE_ADDRESS", f"http://127.0.0.1:{server.server_port}")
        return server

    yield start
    for server, thread in started:
        server.closing.set()
        server.shutdown()
        thread.join()
        server.server_close()


CHECKED = replace(TINY, sha256=hashlib.sha256(ORIGINAL).hexdigest())


def fetch_tiny(folder, source=CHECKED):
    return _cache.fetch(source, "y", folder, True, False, False)


def test_download_is_converted_and_cached(serve, tmp_path):
    server = serve(good)
    folder = tmp_path / "not" / "there" / "yet"
    first, second = fetch_tiny(folder), fetch_tiny(folder)
    assert server.n_requests == 1
    assert [path.name for path in folder.iterdir()] == ["tiny.csv"]
    assert (folder / "tiny.csv").read_bytes() == TIDY
    np.testing.assert_array_equal(first.data, second.data)


@pytest.mark.parametrize(
    "behaviour", [overloaded, silent, cut_with_length, cut_without_length, reset, no_zip, dripping]
)
def test_passing_trouble_is_tried_again(serve, tmp_path, behaviour):
    server = serve(behaviour, good)
    fetch_tiny(tmp_path)
    assert server.n_requests == 2
    assert (tmp_path / "tiny.csv").read_bytes() == TIDY


@pytest.mark.parametrize(
    ("behaviour", "reason", "n_requests"),
    [
        (not_found, "answered 404", 1),
        (overloaded, "answered 503", 4),
        (silent, "timed out", 4),
        (cut_with_length, r"cut after 50 of \d+ bytes", 4),
        (cut_without_length, "damaged or no zip", 4),
        (reset, "connection failed", 4),
        (wrong_bytes, "wrong checksum", 1),
        (no_zip, "damaged or no zip", 4),
        (another_zip, "no file named tiny.data", 1),
        (leaving_zip, "no file named tiny.data", 1),
        (bomb, "larger than 100000 bytes", 1),
        (announced_too_large, "announces 1000000000000 bytes", 1),
        (endless, "more than 100000 bytes", 1),
        (dripping, "not complete after", 4),
        (redirecting_elsewhere, "redirects to ftp://", 1),
    ],
)
def test_trouble_that_stays_gives_one_clear_error_and_writes_nothing(
    serve, tmp_path, behaviour, reason, n_requests
):
    server = serve(behaviour)
    folder = tmp_path / "cache"
    with pytest.raises(OSError, match=reason) as caught:
        fetch_tiny(folder)
    assert server.n_requests == n_requests
    assert CHECKED.address in str(caught.value)
    assert str(folder) in str(caught.value)
    assert list(tmp_path.rglob("*")) == []


def test_original_without_a_known_checksum_is_checked_by_shape_and_header(serve, tmp_path):
    serve(good)
    with pytest.raises(OSError, match="should have 4 rows of 3 columns; it has 3 rows"):
        fetch_tiny(tmp_path, replace(TINY, n_samples=4))
    assert list(tmp_path.iterdir()) == []


def test_folder_that_cannot_be_written_is_named(serve, tmp_path):
    serve(good)
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(OSError, match=r"cannot write .*Pass a data_home"):
        fetch_tiny(tmp_path / "file")


def test_failure_while_writing_leaves_nothing_behind(monkeypatch, tmp_path):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_cache.os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        _cache.write_whole(tmp_path / "tiny.csv", TIDY)
    assert list(tmp_path.iterdir()) == []


def test_waits_double_between_attempts(serve, tmp_path, monkeypatch):
    serve(overloaded)
    waits = []
    monkeypatch.setattr(_download, "BACKOFF_S", 1.0)
    monkeypatch.setattr(time, "sleep", waits.append)
    with pytest.raises(OSError, match="503"):
        fetch_tiny(tmp_path)
    assert waits == [1.0, 2.0, 4.0]


def test_progress_is_shown_without_tqdm_too(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with _download.progress_bar("Tiny data", 2_000_000) as advance:
        advance(500_000)
        advance(1_500_000)
    shown = capsys.readouterr().err
    assert "Tiny data: 0.5 of 2.0 MB" in shown
    assert shown.endswith("2.0 of 2.0 MB\n")

import hashlib
import socket
import sys
import threading
import time
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import numpy as np
import pytest

from locallinear.datasets import _cache, _download, _sources
from locallinear.runtime import files as _files
from tiny_data import ORIGINAL, TIDY, TINY, zipped

# --- a server that misbehaves -------------------------------------------------------------------


GOOD = zipped({"readme.txt": b"hello", "tiny.data": ORIGINAL})


class Server(ThreadingHTTPServer):
    """Answers each request by the next behaviour, and repeats the last one."""

    daemon_threads = True

    def __init__(self, *behaviours):
        super().__init__(("127.0.0.1", 0), Handler)
        self.behaviours = list(behaviours)
        self.n_requests = 0
        self.closing = threading.Event()

    def handle_error(self, request, client_address):
        """A client that hangs up on an endless body is expected."""


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
def test_download_is_tried_again_after_a_failure_that_may_pass(serve, tmp_path, behaviour):
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
def test_failure_that_stays_gives_one_clear_error_and_writes_nothing(
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

    monkeypatch.setattr(_files.os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        _files.write_whole(tmp_path / "tiny.csv", TIDY)
    assert list(tmp_path.iterdir()) == []


def test_waits_double_between_attempts(serve, tmp_path, monkeypatch):
    serve(overloaded)
    waits = []
    monkeypatch.setattr(_download, "BACKOFF_S", 1.0)
    monkeypatch.setattr(time, "sleep", waits.append)
    with pytest.raises(OSError, match="503"):
        fetch_tiny(tmp_path)
    assert waits == [1.0, 2.0, 4.0]


class SlowResponse:
    """A response of 2 MB that comes in two parts."""

    headers: ClassVar = {"Content-Length": "2000000"}

    def __init__(self):
        self.parts = [bytes(500_000), bytes(1_500_000), b""]

    def read1(self, n_bytes):
        return self.parts.pop(0)


def test_progress_is_shown_without_tqdm_too(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    assert len(_download.read_body(SlowResponse(), "Tiny data")) == 2_000_000
    shown = capsys.readouterr().err
    assert "Tiny data: 0.5 of 2.0 MB" in shown
    assert shown.endswith("2.0 of 2.0 MB\n")

"""One file of a zip on the network, as bytes: limited in time and size, tried again, checked.

`sklearn.datasets.fetch_file` limits neither the size nor the time of a download, asks four times
for a page that does not exist, does not ask again after a reset connection, and follows
redirections from HTTPS to anything else. Nothing is written here, so no archive chooses a path.
"""

import hashlib
import http.client
import io
import time
import urllib.error
import urllib.parse
import urllib.request
import zipfile
import zlib
from contextlib import suppress
from typing import IO

from ..runtime.progress import Bar

TIMEOUT_S = 30.0  # of one connection or one read
DEADLINE_S = 900.0  # of the whole body, against a server that sends a few bytes at a time
MAX_BYTES = 100 * 2**20  # of an archive or of the file inside; the largest of ours is 24 MB
ATTEMPTS = 4
BACKOFF_S = 1.0  # before the second attempt; doubles after each
CHUNK_BYTES = 2**16


class DownloadError(OSError):
    """The download failed, or gave the wrong bytes; the message is the reason alone."""


class TransientError(DownloadError):
    """A failure after which another attempt may succeed."""


class SameSchemeRedirect(urllib.request.HTTPRedirectHandler):
    """Follows redirections, except from HTTPS to anything else."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        """The request that follows a redirection."""
        if urllib.parse.urlsplit(newurl).scheme != req.type:
            fp.close()
            raise DownloadError(f"the server redirects to {newurl}, which is not {req.type}")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def download_member(address: str, member: str, sha256: str | None, title: str) -> bytes:
    """Download a zip and return the file `member` of it; try again where that may help.

    `sha256` is the checksum of the file, where it is known; `title` names the progress bar.
    """
    for attempt in range(ATTEMPTS - 1):
        with suppress(TransientError):
            return read_member(download(address, title), member, sha256)
        time.sleep(BACKOFF_S * 2**attempt)
    return read_member(download(address, title), member, sha256)


def download(address: str, title: str) -> bytes:
    """Download the whole body behind an address, in one attempt."""
    opener = urllib.request.build_opener(SameSchemeRedirect)
    request = urllib.request.Request(address, headers={"User-Agent": "locallinear"})
    try:
        with opener.open(request, timeout=TIMEOUT_S) as response:
            return read_body(response, title)
    except urllib.error.HTTPError as error:
        error.close()  # it holds the connection
        # 5xx and 429 pass; a page that is missing or forbidden stays so.
        kind = TransientError if error.code >= 500 or error.code == 429 else DownloadError
        raise kind(f"the server answered {error.code} {error.reason}") from error
    except DownloadError:
        raise
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        raise TransientError(f"the connection failed ({reason or type(error).__name__})") from error


def read_body(response: http.client.HTTPResponse, title: str) -> bytes:
    """Read a response to its end, within MAX_BYTES and DEADLINE_S."""
    length = response.headers.get("Content-Length", "")
    total = int(length) if length.isdigit() else None
    if total is not None and total > MAX_BYTES:
        raise DownloadError(f"the server announces {total} bytes, more than {MAX_BYTES}")
    deadline = time.monotonic() + DEADLINE_S
    body = bytearray()
    with Bar(total, "MB", title=title, scale=1e-6) as bar:
        # read1 returns what has arrived, so that the deadline is checked while bytes come slowly.
        while chunk := response.read1(CHUNK_BYTES):
            body += chunk
            bar.advance(len(chunk))
            if len(body) > MAX_BYTES:
                raise DownloadError(f"the server sent more than {MAX_BYTES} bytes")
            if time.monotonic() > deadline:
                raise TransientError(f"the download was not complete after {DEADLINE_S:g} s")
    if total is not None and len(body) < total:
        raise TransientError(f"the connection was cut after {len(body)} of {total} bytes")
    return bytes(body)


def read_member(archive: bytes, member: str, sha256: str | None) -> bytes:
    """Read one file of a zip in memory; other members and their paths are ignored."""
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as opened:
            if member not in opened.namelist():
                raise DownloadError(f"the archive holds no file named {member}")
            with opened.open(member) as file:
                content = file.read(MAX_BYTES + 1)
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError) as error:
        # A body that was cut, and came without Content-Length, is noticed only here.
        raise TransientError(f"the archive is damaged or no zip ({error})") from error
    if len(content) > MAX_BYTES:
        raise DownloadError(f"{member} in the archive is larger than {MAX_BYTES} bytes")
    found = hashlib.sha256(content).hexdigest()
    if sha256 is not None and found != sha256:
        raise DownloadError(f"{member} has the wrong checksum: sha256 {found}, expected {sha256}")
    return content

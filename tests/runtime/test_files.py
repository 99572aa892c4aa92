"""Files are written as a careful program writes them."""

import os
import signal
import stat
import subprocess
import sys
import threading
import time

import pytest

from locallinear.runtime import files
from locallinear.runtime.files import check_destination, whole_file, write_whole

# Other processes need this one module, which imports no other.
LOAD = f"import runpy; files = runpy.run_path({files.__file__!r});"


def parts(folder):
    return sorted(path.name for path in folder.iterdir() if path.name.endswith(".part"))


def test_a_link_is_followed_and_stays(tmp_path):
    (tmp_path / "real").mkdir()
    target, link = tmp_path / "real" / "model", tmp_path / "latest"
    target.write_bytes(b"old")
    link.symlink_to(target)
    write_whole(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert not target.is_symlink()


def test_a_link_to_nothing_makes_the_file_that_it_names(tmp_path):
    (tmp_path / "link").symlink_to("later")
    write_whole(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "later").read_bytes() == b"new"


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666, 0o755])
def test_a_file_that_is_replaced_keeps_its_mode(tmp_path, mode):
    path = tmp_path / "model"
    path.write_bytes(b"old")
    path.chmod(mode)
    write_whole(path, b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_new_file_has_the_mode_that_the_user_wants(tmp_path):
    old = os.umask(0o027)
    try:
        write_whole(tmp_path / "model", b"new")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "model").stat().st_mode) == 0o640


@pytest.mark.skipif(os.geteuid() != 0, reason="only an administrator can give files away")
def test_a_file_that_is_replaced_keeps_its_owner(tmp_path):
    path = tmp_path / "model"
    path.write_bytes(b"old")
    os.chown(path, 1234, 4321)
    path.chmod(0o600)
    write_whole(path, b"new")
    found = path.stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (1234, 4321, 0o600)


def test_a_read_only_file_is_refused_and_stays(tmp_path):
    path = tmp_path / "model"
    path.write_bytes(b"old")
    path.chmod(0o444)
    with pytest.raises(PermissionError, match=r"model cannot be written: it is read-only; allow"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert parts(tmp_path) == []


def test_a_device_is_written_to_and_stays_a_device():
    before = os.stat("/dev/null")
    write_whole("/dev/null", b"new")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    assert os.stat("/dev/null").st_ino == before.st_ino
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
        write_whole("/dev/full", b"new")
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)


def test_a_named_pipe_passes_the_content_on(tmp_path):
    path, got = tmp_path / "pipe", []
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: got.append(path.read_bytes()), daemon=True)
    reader.start()
    with whole_file(path) as file:
        file.write(b"0...")
        file.seek(0)
        file.write(b"1")
    reader.join(10)
    assert got == [b"1..."]
    assert stat.S_ISFIFO(path.stat().st_mode)


def test_the_file_behind_standard_output_is_continued_and_not_replaced(tmp_path):
    log = tmp_path / "log"
    log.write_text("before\n")
    code = LOAD + "files['write_whole']('/dev/stdout', b'new\\n')"
    with log.open("a") as stream:
        subprocess.run([sys.executable, "-c", code], stdout=stream, check=True)
    assert log.read_text() == "before\nnew\n"


def test_an_open_file_receives_everything_at_the_end(tmp_path):
    with (tmp_path / "out").open("wb") as out:
        with whole_file(out) as file:
            file.write(b"new")
            assert (tmp_path / "out").read_bytes() == b""
        assert (tmp_path / "out").read_bytes() == b"new"


def test_an_error_leaves_the_old_file_and_no_part(tmp_path):
    path = tmp_path / "model"
    path.write_bytes(b"old")

    def fail():
        with whole_file(path) as file:
            file.write(b"half")
            assert len(parts(tmp_path)) == 1
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert path.read_bytes() == b"old"
    assert parts(tmp_path) == []


WRITER = """
import sys, time
with files['whole_file'](sys.argv[1]) as file:
    file.write(b"half")
    print("ready", flush=True)
    time.sleep(60)
"""


def test_the_part_of_a_killed_run_is_removed_and_that_of_a_living_one_is_not(tmp_path):
    command = [sys.executable, "-c", LOAD + WRITER, str(tmp_path / "other")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as run:
        run.stdout.readline()
        mine = parts(tmp_path)
        assert len(mine) == 1
        write_whole(tmp_path / "model", b"new")
        assert parts(tmp_path) == mine
        run.send_signal(signal.SIGKILL)
    assert parts(tmp_path) == mine
    write_whole(tmp_path / "model", b"newer")
    assert parts(tmp_path) == []
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_files_of_others_with_similar_names_stay(tmp_path):
    similar = [".locallinear-1.part", ".model.part", "locallinear-0123456789abcdef.part"]
    for name in similar:
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "kept").write_bytes(b"")
    link = tmp_path / ".locallinear-0123456789abcdef.part"
    link.symlink_to("kept")
    pipe = tmp_path / ".locallinear-0123456789abcde0.part"
    os.mkfifo(pipe)
    write_whole(tmp_path / "model", b"new")
    assert {path.name for path in tmp_path.iterdir()} == {
        *similar, "kept", "model", link.name, pipe.name
    }  # fmt: skip


def test_writers_at_the_same_time_never_lose_a_file(tmp_path):
    failures = []

    def write(name):
        for i in range(30):
            try:
                write_whole(tmp_path / name, f"{name} {i}".encode())
            except OSError as error:
                failures.append(error)
            time.sleep(0)

    writers = [threading.Thread(target=write, args=(f"model{t}",)) for t in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert failures == []
    assert {path.read_text() for path in tmp_path.iterdir()} == {f"model{t} 29" for t in range(4)}


def test_a_name_of_the_greatest_length_can_be_written(tmp_path):
    name = "m" * 255
    write_whole(tmp_path / name, b"new")
    assert (tmp_path / name).read_bytes() == b"new"


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("loop", "loop cannot be written: it is a link that leads back to itself; remove the link"),
        ("m" * 256, "m cannot be written: File name too long"),
        ("file/model", "model cannot be written: there is no folder .*file; make it first"),
        ("none/model", "model cannot be written: there is no folder .*none; make it first"),
        ("lost", "lost cannot be written: there is no folder .*none; make it first"),
        ("folder", "folder cannot be written: it is a folder; name a file in it"),
        ("a\0b", "cannot be written: no name may hold a null byte"),
    ],
)
def test_what_cannot_be_written_is_refused_in_a_sentence(tmp_path, name, sentence):
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "lost").symlink_to("none/model")
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match=sentence):
        check_destination(tmp_path / name)


def test_an_empty_name_is_refused():
    with pytest.raises(FileNotFoundError, match="the name of the file to write is empty"):
        check_destination("")


def test_a_file_of_another_user_is_refused_and_not_taken_over(tmp_path, monkeypatch):
    path = tmp_path / "model"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
    with pytest.raises(PermissionError, match="it belongs to another user or group, and the new"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"

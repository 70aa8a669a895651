import errno
import fcntl
import os
import stat
import subprocess
import sys

import pytest

from pybroker.daemon.data_folder import claim_data_folder
from pybroker.daemon.start_error import StartError

HOLD = """
import sys
from pathlib import Path
from pybroker.daemon.data_folder import claim_data_folder
folder = claim_data_folder(Path(sys.argv[1]), "", "a@b")
print("held", flush=True)
sys.stdin.read()
"""


def claim(path, name=""):
    return claim_data_folder(path, name, "default@host")


def refusal(path, name=""):
    with pytest.raises(StartError) as caught:
        claim(path, name)
    return caught.value


def test_a_new_folder_is_private_and_named(tmp_path):
    path = tmp_path / "deep" / "data"
    folder = claim(path, "a@b")
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert folder.node_name == "a@b"
    assert (path / "node_id").read_text() == "a@b\n"
    assert (path / ".lock").read_text() == f"{os.getpid()}\n"
    folder.release()


def test_an_empty_folder_is_made_private(tmp_path):
    path = tmp_path / "data"
    path.mkdir(mode=0o755)
    (path / "lost+found").mkdir()
    claim(path).release()
    assert stat.S_IMODE(path.stat().st_mode) == 0o700


def test_without_a_name_the_folder_knows_it(tmp_path):
    claim(tmp_path / "d", "a@b").release()
    folder = claim(tmp_path / "d")
    assert folder.node_name == "a@b"
    folder.release()


def test_a_new_folder_gets_the_default_name(tmp_path):
    folder = claim(tmp_path / "d")
    assert folder.node_name == "default@host"
    folder.release()


def test_another_nodes_folder_is_refused(tmp_path):
    claim(tmp_path / "d", "a@b").release()
    error = refusal(tmp_path / "d", "c@d")
    assert error.code == 78
    assert error.text == (
        f"the data folder {tmp_path}/d belongs to the node a@b: start with --node a@b, or specify another "
        "folder for c@d with --data-dir"
    )
    # The refusal holds no lock.
    claim(tmp_path / "d").release()


def test_a_folder_in_use_is_refused_and_the_process_named(tmp_path):
    path = tmp_path / "d"
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert holder.stdout.readline() == b"held\n"
        error = refusal(path)
        assert error.code == 69
        assert error.text == f"the data folder {path} is in use by another pybroker, process {holder.pid}"
        assert (path / ".lock").read_text() == f"{holder.pid}\n"
        holder.kill()
        holder.wait(60)
        claim(path).release()
    finally:
        holder.kill()
        holder.communicate(timeout=60)


def test_without_its_lock_file_a_folder_in_use_is_refused(tmp_path):
    holder = claim(tmp_path / "d")
    (tmp_path / "d" / ".lock").unlink()
    error = refusal(tmp_path / "d")
    assert error.text == f"the data folder {tmp_path / 'd'} is in use by another pybroker, process unknown"
    holder.release()
    claim(tmp_path / "d").release()


def test_where_folders_cannot_be_locked_the_file_is(tmp_path, monkeypatch):
    flock = fcntl.flock

    def only_files(fd, operation):
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            raise OSError(errno.EBADF, "Bad file descriptor")
        flock(fd, operation)

    monkeypatch.setattr(fcntl, "flock", only_files)
    holder = claim(tmp_path / "d")
    assert "is in use by another pybroker" in refusal(tmp_path / "d").text
    holder.release()


def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path):
    path = tmp_path / "home"
    path.mkdir(mode=0o755)
    (path / "letter.txt").touch()
    error = refusal(path)
    assert error.code == 73
    assert error.text == f"the folder {path} is neither empty nor a data folder of pybroker: specify another --data-dir"
    assert stat.S_IMODE(path.stat().st_mode) == 0o755
    assert [entry.name for entry in path.iterdir()] == ["letter.txt"]


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "f").touch()
    assert refusal(tmp_path / "f").text == f"the data folder {tmp_path}/f is not a folder"


def test_a_folder_below_a_file_cannot_be_made(tmp_path):
    (tmp_path / "f").touch()
    error = refusal(tmp_path / "f" / "d")
    assert error.code == 73
    assert error.text == f"cannot use the data folder {tmp_path}/f/d: Not a directory"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_is_refused(tmp_path):
    tmp_path.chmod(0o500)
    assert refusal(tmp_path / "d").code == 77

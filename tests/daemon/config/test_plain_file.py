"""Files that are read while the node runs: whatever is in their place, nobody waits."""

import os
import socket
from pathlib import Path

import pytest

from pybroker.daemon.config.plain_file import read_octets


def test_a_file_is_read_up_to_a_limit(tmp_path):
    (tmp_path / "file").write_bytes(b"abcdef")
    assert read_octets(tmp_path / "file", 6) == b"abcdef"
    assert read_octets(tmp_path / "file", 4) == b"abcde"
    assert read_octets(Path("/dev/null"), 4) == b""
    assert read_octets(Path("/dev/zero"), 4) == bytes(5)


def test_what_is_no_file_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        read_octets(tmp_path / "pipe", 4)
    with pytest.raises(IsADirectoryError):
        read_octets(tmp_path, 4)
    with pytest.raises(FileNotFoundError):
        read_octets(tmp_path / "missing", 4)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        with pytest.raises(OSError, match="No such device"):
            read_octets(tmp_path / "socket", 4)

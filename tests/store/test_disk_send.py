"""Files that the system sends to a socket itself, as far as it has them in memory."""

import errno
import os
import random
import socket

import pytest

from pybroker.store.disk import PROBE_DISTANCE, Disk
from tests.store.faulty_disk import FaultyDisk


@pytest.fixture(params=["real", "faulty"])
def disk(request, tmp_path):
    return Disk(tmp_path) if request.param == "real" else FaultyDisk()


@pytest.fixture
def pair():
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    theirs.settimeout(5)
    yield ours, theirs
    ours.close()
    theirs.close()


def test_what_the_system_has_in_memory_can_be_sent_at_once(disk, pair):
    disk.write_file("a", b"0123456789")
    file, (ours, theirs) = disk.open("a"), pair
    assert (disk.send_now(file, 3, 4, ours.fileno()), theirs.recv(9)) == (4, b"3456")
    assert disk.send_now(file, 10, 1, ours.fileno()) == 0
    disk.close(file)


def test_a_socket_takes_what_it_has_room_for(tmp_path, pair):
    disk, octets = Disk(tmp_path), random.Random(5).randbytes(3_000_000)
    disk.write_file("a", octets)
    file, (ours, theirs) = disk.open("a"), pair
    sent = got = 0
    while sent < len(octets):
        try:
            sent += disk.send_now(file, sent, len(octets) - sent, ours.fileno())
        except BlockingIOError:
            part = theirs.recv(1 << 20)
            assert part == octets[got : got + len(part)]
            got += len(part)
    assert 0 < got < sent
    theirs.close()
    with pytest.raises(BrokenPipeError):
        disk.send_now(file, 0, 9, ours.fileno())


def test_what_the_system_has_not_in_memory_is_not_sent(monkeypatch, tmp_path, pair):
    disk, (ours, theirs) = Disk(tmp_path), pair
    disk.write_file("a", bytes(2 * PROBE_DISTANCE))
    file, preadv, absent = disk.open("a"), os.preadv, PROBE_DISTANCE

    def forgetful(file, buffers, offset, flags):
        if offset >= absent:
            raise BlockingIOError
        return preadv(file, buffers, offset, flags)

    monkeypatch.setattr(os, "preadv", forgetful)
    assert disk.send_now(file, 5, 2 * PROBE_DISTANCE - 5, ours.fileno()) == 0
    assert disk.send_now(file, 5, 100, ours.fileno()) == 100
    absent += 10
    sent = disk.send_now(file, 5, 2 * PROBE_DISTANCE - 5, ours.fileno())
    assert 0 < sent <= PROBE_DISTANCE
    assert len(theirs.recv(100 + sent, socket.MSG_WAITALL)) == 100 + sent


def test_a_file_that_cannot_be_read_is_not_sent(monkeypatch, tmp_path, pair):
    disk = Disk(tmp_path)
    disk.write_file("a", b"0123456789")

    def broken(*_arguments):
        raise OSError(errno.EIO, "")

    monkeypatch.setattr(os, "sendfile", broken)
    assert disk.send_now(disk.open("a"), 0, 4, pair[0].fileno()) == 0

"""Room that is kept for a shortage: taken off a file's length, filled up when the shortage is over."""

import pytest

from pybroker.daemon.telemetry import reserve as telemetry_reserve
from pybroker.daemon.telemetry.reserve import Reserve

OCTETS = 10_000


class Disk:
    def __init__(self):
        self.spare = 1 << 30

    def __call__(self):
        return self.spare


@pytest.fixture
def disk():
    return Disk()


@pytest.fixture
def reserve(tmp_path, disk):
    return Reserve(tmp_path / "telemetry" / "reserve", disk, OCTETS)


def test_it_is_room_on_the_disk(tmp_path, reserve):
    reserve.open()
    path = tmp_path / "telemetry" / "reserve"
    assert (reserve.octets, path.stat().st_size, path.stat().st_mode & 0o777) == (OCTETS, OCTETS, 0o600)
    assert path.stat().st_blocks * 512 >= OCTETS
    assert reserve.release(4_000)
    assert path.stat().st_size == reserve.octets == 6_000
    assert not reserve.release(6_001)
    assert reserve.octets == 6_000


def test_a_start_on_a_short_disk_has_what_the_last_one_left(tmp_path, disk, reserve):
    reserve.open()
    reserve.release(7_000)
    disk.spare = -1
    again = Reserve(tmp_path / "telemetry" / "reserve", disk, OCTETS)
    again.open()
    assert (again.is_short, again.octets) == (True, 3_000)
    disk.spare = OCTETS
    again.measure()
    assert (again.is_short, again.octets) == (False, OCTETS)


def test_none_is_made_where_that_would_make_the_disk_short(tmp_path, disk, reserve):
    disk.spare = OCTETS - 1
    reserve.open()
    assert (reserve.is_short, reserve.octets) == (False, 0)
    assert not (tmp_path / "telemetry" / "reserve").exists()


def test_a_file_system_that_gives_none_is_asked_again_after_a_shortage(disk, reserve, monkeypatch, caplog):
    def refuse(*_):
        raise OSError(95, "Operation not supported")

    with monkeypatch.context() as patch:
        patch.setattr(telemetry_reserve.os, "posix_fallocate", refuse)
        reserve.open()
        reserve.measure()
    assert caplog.text.count("the telemetry has no reserve") == 1
    reserve.measure()
    assert reserve.octets == 0
    for disk.spare in (-1, OCTETS):
        reserve.measure()
    assert reserve.octets == OCTETS

"""Descriptors that are kept for when none is left."""

import os
import resource
import sys
from pathlib import Path

import pytest

from pybroker import descriptors
from pybroker.descriptors import Reserve


@pytest.fixture
def few(monkeypatch):
    """Leave the process three descriptors; there may be holes among those that it has."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(path.name) for path in Path("/proc/self/fd").iterdir())
    holes = []
    while not holes or holes[-1] < highest + 1:
        holes.append(os.open(os.devnull, os.O_RDONLY))
    resource.setrlimit(resource.RLIMIT_NOFILE, (holes[-1] + 4, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)
    for hole in holes:
        os.close(hole)


def test_a_reserve_takes_what_there_is_and_gives_it_back(few):
    reserve = Reserve(9)
    reserve.fill()
    assert len(reserve) == 3
    with pytest.raises(OSError, match="Too many open files"):
        os.open(os.devnull, os.O_RDONLY)
    assert reserve.release()
    os.close(os.open(os.devnull, os.O_RDONLY))
    assert not reserve.release()


def test_no_limit_is_very_much(monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY,) * 2)
    assert descriptors.limit() == sys.maxsize


def test_the_limit_of_open_files_is_raised():
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, before[1]))
    try:
        assert descriptors.raise_limit() == resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 64
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_a_limit_that_is_high_already_stays(monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1_000_000, 1_000_000))
    assert descriptors.raise_limit() == 1_000_000

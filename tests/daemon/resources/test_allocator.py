"""daemon/resources/allocator.py: what was freed goes back to the system."""

import ctypes
import subprocess
import sys

import pytest

from pybroker.daemon.resources.allocator import FREE_OCTETS_MIN, Allocator

SCRIPT = """
from pybroker.daemon.resources.allocator import Allocator
def rss():
    return int(open("/proc/self/statm").read().split()[1]) * 4096
blocks = [bytes(60_000) for _ in range(1500)]
keep = blocks[-1]
full = rss()
del blocks
allocator = Allocator()
%s
print(full - rss())
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="needs glibc 2.33")
@pytest.mark.parametrize("how", ["allocator.tick(); allocator._look_at_s = 0; allocator.tick()", "allocator.trim()"])
def test_freed_memory_is_returned_although_a_block_above_it_is_still_in_use(how):
    done = subprocess.run([sys.executable, "-c", SCRIPT % how], capture_output=True, text=True, timeout=60, check=True)
    assert int(done.stdout) > 60_000_000


class Libc:
    """malloc with so much free; what was trimmed it still calls free."""

    fordblks = 0
    trims = 0

    def mallinfo2(self):
        return self

    def malloc_trim(self, _):
        self.trims += 1


@pytest.fixture
def _no_time(monkeypatch):
    """Have every look last no time."""
    monkeypatch.setattr("pybroker.daemon.resources.allocator.monotonic", lambda: 0.0)


@pytest.mark.usefixtures("_no_time")
def test_what_was_given_back_is_not_given_back_again_and_again():
    allocator = Allocator()
    allocator._libc = libc = Libc()
    libc.fordblks = 100 * FREE_OCTETS_MIN
    assert allocator.free_octets() == 100 * FREE_OCTETS_MIN
    for _ in range(10):
        allocator.tick()
    assert (libc.trims, allocator.free_octets()) == (1, 0)
    libc.fordblks -= 3 * FREE_OCTETS_MIN  # it is used again
    allocator.tick()
    libc.fordblks += FREE_OCTETS_MIN  # and freed
    for _ in range(10):
        allocator.tick()
    assert libc.trims == 2


@pytest.mark.usefixtures("_no_time")
def test_what_is_free_for_a_moment_is_kept():
    allocator = Allocator()
    allocator._libc = libc = Libc()
    for free in (FREE_OCTETS_MIN, FREE_OCTETS_MIN - 1) * 3:
        libc.fordblks = free
        allocator.tick()
    assert libc.trims == 0


def test_without_glibc_nothing_is_done():
    allocator = Allocator()
    allocator._libc = None
    allocator.tick()
    allocator.trim()
    assert allocator.free_octets() == 0


def test_a_look_that_lasts_long_is_not_repeated_soon(monkeypatch):
    now_s = [100.0]
    monkeypatch.setattr("pybroker.daemon.resources.allocator.monotonic", lambda: now_s[0])
    looks = []

    class Slow(Libc):
        def mallinfo2(self):
            looks.append(now_s[0])
            now_s[0] += 0.002
            return self

    allocator = Allocator()
    allocator._libc = Slow()
    for _ in range(25):
        allocator.tick()
        now_s[0] += 1
    assert [round(each) for each in looks] == [100, 110, 120]

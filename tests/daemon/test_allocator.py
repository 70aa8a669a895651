"""daemon/allocator.py: what was freed goes back to the system."""

import ctypes
import subprocess
import sys

import pytest

SCRIPT = """
from pybroker.daemon.allocator import Allocator
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
@pytest.mark.parametrize("how", ["allocator.tick(); allocator.tick()", "allocator.trim()"])
def test_freed_memory_is_returned_although_a_block_above_it_is_still_in_use(how):
    done = subprocess.run([sys.executable, "-c", SCRIPT % how], capture_output=True, text=True, timeout=30, check=True)
    assert int(done.stdout) > 60_000_000

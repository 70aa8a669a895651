"""Test 2: the power goes, under publishers, transactions, declares, deletes and imports (`storm.py`)."""

import subprocess
import time
from pathlib import Path

import pytest

from tests.checker import Verdict
from tests.faults.cuts import LIFE, life
from tests.faults.disks import need_root

FULL_S = 540


@pytest.fixture
def memory(tmp_path):
    """Return a folder in memory for images, else the test's own."""
    folder = Path("/dev/shm") / f"pybroker-{tmp_path.parent.name}-{tmp_path.name}"
    if not folder.parent.is_dir():
        yield tmp_path
        return
    folder.mkdir()
    yield folder
    subprocess.run(["rm", "-rf", str(folder)], check=True)


def cuts(memory, number, seed, seconds):
    need_root("mkfs.ext4", "losetup")
    total, starts_s = Verdict(), []
    until = time.monotonic() + seconds
    while total.faults < number and not total.bad and time.monotonic() < until:
        wanted = min(LIFE, number - total.faults)
        total.add(life(memory, wanted, seed + total.faults, starts_s, lambda _: time.monotonic() < until))
    return total, {"start_p50_s": round(sorted(starts_s)[len(starts_s) // 2], 3)}


def test_what_was_answered_outlives_a_power_cut(memory, seed, publish_line):
    total, figures = cuts(memory, 2, seed, 60)
    publish_line(total, **figures)
    assert (total.bad, total.void, total.faults) == ({}, "", 2)


@pytest.mark.slow
@pytest.mark.timeout(FULL_S + 120)
def test_what_was_answered_outlives_power_cuts_for_nine_minutes(memory, seed, publish_line):
    total, figures = cuts(memory, 10_000, seed, FULL_S)
    publish_line(total, **figures)
    assert (total.bad, total.void) == ({}, "")
    assert total.faults >= 60

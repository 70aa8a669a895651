"""Test 3: signal 9, and orderly stops, under publishers, transactions, declares, deletes and imports (`storm.py`)."""

import pytest

from tests.checker import Verdict
from tests.faults.kills import BLOCK, block, small_disk


def kills(folder, number, seed):
    """Return the verdict on so many lifetimes, and how long the starts took; ends with the first block that is bad."""
    total, starts_s = Verdict(), []
    for at in range(0, number, BLOCK):
        with small_disk(folder / f"image{at}", folder / f"b{at}") as disk:
            total.add(block(disk, min(BLOCK, number - at), seed + at, starts_s))
        if total.bad:
            break
    return total, {"restart_p99_s": round(sorted(starts_s)[int(len(starts_s) * 0.99)], 3)}


def test_what_was_answered_outlives_a_few_kills(tmp_path, seed, publish_line):
    total, figures = kills(tmp_path, 3, seed)
    publish_line(total, **figures)
    assert (total.bad, total.void) == ({}, "")


@pytest.mark.slow
@pytest.mark.timeout(1_800)
def test_what_was_answered_outlives_200_kills(tmp_path, seed, publish_line):
    total, figures = kills(tmp_path, 200, seed)
    publish_line(total, **figures)
    assert (total.bad, total.void) == ({}, "")
    assert total.faults == 200
    assert total.in_flight >= 2_000
    assert total.transactions >= 1_000
    assert total.stops >= 10

"""A batch is whole when as many records came as its head said, all of them sound."""

import pytest

from pybroker.store.recovery.reading import UNKNOWN, BatchRead
from pybroker.store.segments.scan import Damaged


@pytest.mark.parametrize(
    ("records", "came", "damaged", "whole", "unreadable"),
    [
        (2, 2, 0, True, False),
        (2, 1, 0, False, False),
        (2, 2, 1, False, False),
        (UNKNOWN, 0, 0, False, True),
        (UNKNOWN, 1, 1, False, True),
        (UNKNOWN, 2, 1, False, False),
    ],
)
def test_it_is_whole_or_unreadable_or_neither(records, came, damaged, whole, unreadable):
    batch = BatchRead(None, 1, 64, records)
    batch.left -= came
    batch.damaged = [Damaged(64, 10, 0)] * damaged
    assert (whole, unreadable) == (batch.whole, batch.unreadable)

"""Garbage: Python's collections of what only points at itself, kept so small that nobody notices one.

A collection walks over every container of its generation, some 0.3 microseconds each: of a million queues five seconds,
and everybody waits. Hence the young and the middle generation are bounded, and the old one is left alone. There is
little to be found in it: connections, channels and queues that end leave no circles
(tests/daemon/resources/test_garbage.py).
"""

import gc
from typing import Final

# Containers born since the last young collection, which takes some 0.2 ms then, a middle one half a millisecond. With
# 4,000 of them clients that come by the hundred are seen in the latency of others. In the end both cost the same.
YOUNG_MAX: Final = 1_000
# Young collections before one of the middle generation, which has what those left.
MIDDLE_MAX: Final = 2
# Middle collections before one of the old generation: never.
OLD_MAX: Final = 1_000_000_000


def begin() -> None:
    """Take what stands now for good, and bound the collections from now on."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_MAX, MIDDLE_MAX, OLD_MAX)


def collect_young() -> None:
    """Collect what is not old: twice a second, and when memory is short.

    Python counts what is born less what is freed. While a backlog goes out as fast as it comes in that is nothing,
    and the young would become as many as there are messages.
    """
    gc.collect(1)
